'use strict'
/*
 * notes.js - where the readers disagree, who is right, and why.
 *
 * data: files of parquet-testing. `wrong` names the readers whose values are not those of the format's
 * definition; `args` are given to crank, which without them must refuse the file; `loose` are rows in which
 * nobody has to agree.
 * bad: files of bad_data. `valid`: they are fine by the definition, and crank reads them as all do.
 * made: what the others do not read, or read differently, of files whose contents are known.
 */
module.exports = {
  data: {
    'int96_from_spark.parquet': {
      wrong: ['wasm'],
      loose: [5],
      why: 'Times outside of what 64-bit nanoseconds hold: parquet-wasm wraps around in row 2. Row 5 was written with an overflow, its day and its time of day are negative, and no two readers agree on it; crank gives their exact sum.',
    },
    'repeated_no_annotation.parquet': {
      wrong: ['wasm'],
      why: 'The footer says 0 rows, the row group 6. parquet-wasm believes the footer; the rows are there.',
    },
    'repeated_primitive_no_list.parquet': {
      wrong: ['hyparquet'],
      why: 'A bare repeated field is a required list: without values it is empty, not null as in hyparquet.',
    },
    'large_string_map.brotli.parquet': { args: ['--budget', '3G'], why: 'Strings of 1 GiB: a dictionary of more than the default budget, which crank refuses unless told otherwise. parquet-wasm has no memory for them.' },
    'datapage_v1-corrupt-checksum.parquet': { args: ['--skip_crc'], why: 'The checksums do not match. None of the three checks them; crank refuses the file unless told not to look.' },
    'rle-dict-uncompressed-corrupt-checksum.parquet': { args: ['--skip_crc'], why: 'As above.' },
  },
  bad: {
    'ARROW-GH-43605.parquet': { valid: true, why: 'Dictionary codes of 0 bits: one entry, all values. Fine by the definition, and everybody reads it.' },
    'ARROW-GH-45185.parquet': { why: 'A row group that begins inside a row. DuckDB does not look.' },
    'ARROW-RS-GH-6229-LEVELS.parquet': { why: 'Fewer repetition levels than values. DuckDB does not look.' },
  },
  made: [
    { reader: 'duckdb', file: /^crank_bson/, state: 'cannot', why: 'BSON is not supported' },
    { reader: 'duckdb', file: /_lz4(_V[12])?\./i, state: 'cannot', why: 'the old LZ4 codec (Hadoop framing) is not supported' },
    { reader: 'duckdb', file: /^(wasm_flat_(delta|split)|wasm_arrow_split|hyparquet_(flat_delta|flat_split|half_split))/, state: 'cannot', why: 'BYTE_STREAM_SPLIT of integers, decimals and halves is not supported' },
    { reader: 'duckdb', file: /^hyparquet_half\./, state: 'cannot', why: 'hyparquet-writer gives halves statistics of 8 bytes; DuckDB refuses the file for it' },
    { reader: 'wasm', file: /^duckdb_flat.*_V2/, state: 'cannot', why: 'DuckDB writes DELTA_BINARY_PACKED differences of 32-bit columns in more than 32 bits. The sums are right modulo 2^32, so crank takes them; parquet-wasm refuses them' },
    { reader: 'hyparquet', file: /^duckdb_flat.*_V2/, state: 'differs', why: 'the same files; hyparquet cuts the sum off instead of taking it modulo 2^32' },
    { reader: 'wasm', file: /^(duckdb_extra|crank_rare|predict_interval)/, state: 'differs', why: 'the months of an interval are lost' },
    { reader: 'wasm', file: /^hyparquet_(flat|nested)_0/, state: 'cannot', why: 'hyparquet-writer gives the empty list of row groups no element type; parquet-wasm insists on one' },
    { reader: 'hyparquet', file: /^wasm_flat(_small)?_LZ4/, state: 'cannot', why: 'an LZ4 block that holds nothing (a column of nulls only)' },
  ],
}
