'use strict'
/*
 * make_files.js DIR - files written by DuckDB, parquet-wasm and hyparquet-writer into DIR, with what
 * was put into them.
 *
 * cases.json lists {name, writer, what, file, truth, golden}; truth is a file of rows in the form of
 * canon.js, made from the writer's input, never by reading a Parquet file. Cases marked golden are
 * small enough to be kept (golden.js).
 */
const fs = require('fs')
const path = require('path')
const zlib = require('zlib')
const canon = require('./canon.js')
const { duckdb, duckRows } = require('./readers.js')
const { FLAT, NESTED, EXTRA, SKEWED } = require('./tables.js')

const cases = []
let dir

function truthFile(name, rows) {
  const file = name + '.truth'
  const fd = fs.openSync(path.join(dir, file), 'w')
  for (let i = 0; i < rows.length; i += 1000) fs.writeSync(fd, rows.slice(i, i + 1000).map(r => JSON.stringify(r) + '\n').join(''))
  fs.closeSync(fd)
  return file
}

function add(writer, name, what, truth, golden) {
  const file = `${writer}_${name}.parquet`
  cases.push({ name: `${writer}_${name}`, writer, what, file, truth, golden: !!golden })
  return path.join(dir, file)
}

const ROWS = 3000
const tables = {
  flat: FLAT(ROWS), nested: NESTED(ROWS), extra: EXTRA(ROWS), skewed: SKEWED(20000),
  flat_small: FLAT(25), nested_small: NESTED(30), extra_small: EXTRA(12),
  flat_0: FLAT(0), nested_0: NESTED(0), flat_1: FLAT(1), nested_1: NESTED(1), flat_2: `SELECT * FROM (${FLAT(3)}) WHERE id = 2`,
  nested_2: `SELECT * FROM (${NESTED(4)}) WHERE id = 3`,
  wide: `SELECT ${Array.from({ length: 10000 }, (_, k) => (k % 3 === 0 ? `(i * ${k})::INTEGER` : k % 3 === 1 ? `CASE WHEN i = ${k % 5} THEN NULL ELSE i + 0.5 END::DOUBLE` : `'c${k}_' || i`) + ` AS c${k}`).join(', ')} FROM range(5) r(i)`,
  long: `SELECT * FROM (VALUES (0, 'short'), (1, (SELECT string_agg(md5(i::VARCHAR), '') FROM range(3125000) r(i))), (2, NULL), (3, repeat('0123456789', 10000000)), (4, '')) v(id, s) ORDER BY id`,
}

/* ---- DuckDB ---- */

async function byDuckdb(conn, truths) {
  const codecs = ['uncompressed', 'snappy', 'gzip', 'zstd', 'brotli', 'lz4_raw']
  const copy = async (table, name, what, options, golden) => {
    const file = add('duckdb', name, what, truths[table], golden)
    await conn.run(`COPY (SELECT * FROM ${table}) TO '${file}' (FORMAT parquet${options ? ', ' + options : ''})`)
  }
  for (const version of ['V1', 'V2']) {
    for (const codec of codecs) {
      for (const t of ['flat', 'nested']) await copy(t, `${t}_${codec}_${version}`, `${t}, ${codec}, ${version}`, `CODEC '${codec}', PARQUET_VERSION ${version}`)
    }
    await copy('extra', `extra_${version}`, `UUID, interval, enum, ${version}`, `PARQUET_VERSION ${version}`)
    await copy('skewed', `skewed_${version}`, `long runs, ${version}`, `PARQUET_VERSION ${version}, ROW_GROUP_SIZE 4096`)
    await copy('skewed', `skewed_nodict_${version}`, `no dictionary, ${version}`, `PARQUET_VERSION ${version}, DICTIONARY_SIZE_LIMIT 0`)
    await copy('skewed', `skewed_dict_${version}`, `dictionary of any size, ${version}`, `PARQUET_VERSION ${version}, DICTIONARY_SIZE_LIMIT 1000000`)
    await copy('flat', `flat_groups_${version}`, `row groups of 2048, ${version}`, `PARQUET_VERSION ${version}, ROW_GROUP_SIZE 2048`)
    await copy('flat_small', `flat_small_${version}`, `flat, ${version}`, `CODEC 'zstd', PARQUET_VERSION ${version}`, true)
    await copy('nested_small', `nested_small_${version}`, `nested, ${version}`, `CODEC 'snappy', PARQUET_VERSION ${version}`, true)
    await copy('wide', `wide_${version}`, `10,000 columns, ${version}`, `PARQUET_VERSION ${version}`)
  }
  await copy('extra_small', 'extra_small', 'UUID, interval, enum', '', true)
  for (const t of ['flat_0', 'nested_0', 'flat_1', 'nested_1', 'flat_2', 'nested_2']) await copy(t, t, t.replace('_', ', ') + ' row(s)', '', t.endsWith('0'))
  await copy('long', 'long_snappy', 'strings of 100 MB, snappy', "CODEC 'snappy'")
  await copy('long', 'long_zstd_V2', 'strings of 100 MB, zstd, V2', "CODEC 'zstd', PARQUET_VERSION V2")
}

/* ---- parquet-wasm ---- */

/* What DuckDB wrote, read and written again by parquet-wasm: the truth is still DuckDB's table. */
function byWasmAgain(truths) {
  const wasm = require('parquet-wasm/node')
  const { Compression: C, Encoding: E, WriterVersion: V, EnabledStatistics: S } = wasm
  const put = (table, from, name, what, props, golden) => {
    const t = wasm.readParquet(new Uint8Array(fs.readFileSync(path.join(dir, `duckdb_${from}.parquet`))))
    let b = new wasm.WriterPropertiesBuilder()
    for (const [f, ...args] of props) b = b[f](...args)
    fs.writeFileSync(add('wasm', name, what, truths[table], golden), wasm.writeParquet(t, b.build()))
  }
  const codecs = { UNCOMPRESSED: C.UNCOMPRESSED, SNAPPY: C.SNAPPY, GZIP: C.GZIP, BROTLI: C.BROTLI, LZ4: C.LZ4, ZSTD: C.ZSTD, LZ4_RAW: C.LZ4_RAW }
  for (const v of ['V1', 'V2']) {
    for (const c in codecs) {
      for (const t of ['flat', 'nested']) put(t, `${t}_uncompressed_V1`, `${t}_${c}_${v}`, `${t}, ${c}, ${v}`, [['setWriterVersion', V[v]], ['setCompression', codecs[c]]])
    }
    for (const t of ['flat', 'nested']) {
      const base = [['setWriterVersion', V[v]]]
      put(t, `${t}_uncompressed_V1`, `${t}_nodict_${v}`, `${t}, no dictionary, ${v}`, [...base, ['setDictionaryEnabled', false]])
      put(t, `${t}_uncompressed_V1`, `${t}_pages_${v}`, `${t}, small pages, page index, ${v}`, [...base, ['setDataPageSizeLimit', 200], ['setWriteBatchSize', 16], ['setStatisticsEnabled', S.Page], ['setCompression', C.ZSTD]])
      put(t, `${t}_uncompressed_V1`, `${t}_tiny_dict_${v}`, `${t}, dictionary given up, ${v}`, [...base, ['setDictionaryPageSizeLimit', 64], ['setWriteBatchSize', 32], ['setDataPageSizeLimit', 500]])
      put(t, `${t}_uncompressed_V1`, `${t}_groups_${v}`, `${t}, row groups of 700, no statistics, ${v}`, [...base, ['setMaxRowGroupSize', 700], ['setStatisticsEnabled', S.None]])
    }
    const e = (col, enc) => [['setColumnEncoding', col, enc], ['setColumnDictionaryEnabled', col, false]]
    const enc = [
      ...['id', 'i8', 'i16', 'i32', 'i64', 'u8', 'u16', 'u32', 'u64', 'date', 'ts', 'ts_ms', 'ts_ns', 'time', 'same'].flatMap(c => e(c, E.DELTA_BINARY_PACKED)),
      ...['f32', 'f64', 'd4', 'd9', 'd18', 'd38'].flatMap(c => e(c, E.BYTE_STREAM_SPLIT)),
      ...e('few', E.DELTA_BYTE_ARRAY), ...e('many', E.DELTA_BYTE_ARRAY), ...e('blob', E.DELTA_LENGTH_BYTE_ARRAY), ...e('bool', E.RLE),
    ]
    put('flat', 'flat_uncompressed_V1', `flat_delta_${v}`, `delta and split encodings, ${v}`, [['setWriterVersion', V[v]], ...enc])
    put('flat', 'flat_uncompressed_V1', `flat_delta_pages_${v}`, `delta and split encodings, small pages, ${v}`, [['setWriterVersion', V[v]], ['setDataPageSizeLimit', 300], ['setWriteBatchSize', 50], ...enc])
    put('flat_small', 'flat_small_V1', `flat_delta_small_${v}`, `delta and split encodings, ${v}`, [['setWriterVersion', V[v]], ...enc], v === 'V2')
    if (v === 'V1') put('flat_small', 'flat_small_V1', 'flat_small_LZ4', 'flat, LZ4', [['setWriterVersion', V[v]], ['setCompression', C.LZ4]], true)
    put('nested_small', 'nested_small_V1', `nested_pages_small_${v}`, `nested, a few rows per page, ${v}`, [['setWriterVersion', V[v]], ['setDataPageSizeLimit', 10], ['setWriteBatchSize', 4], ['setCompression', C.LZ4_RAW]], true)
    const split = ['i32', 'i64', 'u32', 'ts', 'date', 'f32', 'f64'].flatMap(c => e(c, E.BYTE_STREAM_SPLIT)).concat(e('few', E.DELTA_LENGTH_BYTE_ARRAY), e('many', E.DELTA_LENGTH_BYTE_ARRAY), e('blob', E.DELTA_BYTE_ARRAY))
    put('flat', 'flat_uncompressed_V1', `flat_split_${v}`, `integers split, delta lengths, ${v}`, [['setWriterVersion', V[v]], ['setCompression', C.BROTLI], ...split])
    put('flat_small', 'flat_small_V1', `flat_split_small_${v}`, `integers split, delta lengths, ${v}`, [['setWriterVersion', V[v]], ...split], v === 'V1')
    put('skewed', 'skewed_V1', `skewed_delta_${v}`, `long runs, delta, ${v}`, [['setWriterVersion', V[v]], ...['runs', 'mixed', 'rising'].flatMap(c => e(c, E.DELTA_BINARY_PACKED)), ...e('words', E.DELTA_BYTE_ARRAY)])
    for (const t of ['flat_0', 'nested_0', 'flat_1', 'nested_1', 'flat_2', 'nested_2']) put(t, t, `${t}_${v}`, `${t.replace('_', ', ')} row(s), ${v}`, [['setWriterVersion', V[v]]])
  }
  /* V2 of so many columns does not fit into the 4 GB of WebAssembly */
  put('wide', 'wide_V1', 'wide_V1', '10,000 columns, V1', [['setWriterVersion', V.V1]])
  put('long', 'long_snappy', 'long_zstd', 'strings of 100 MB, zstd', [['setCompression', C.ZSTD], ['setDictionaryEnabled', false], ['setStatisticsEnabled', S.None]])
  put('long', 'long_snappy', 'long_delta', 'strings of 100 MB, delta', [['setCompression', C.ZSTD], ['setWriterVersion', V.V2], ['setDictionaryEnabled', false], ['setEncoding', E.DELTA_BYTE_ARRAY], ['setColumnEncoding', 'id', E.PLAIN]])
}

/* Arrow types that DuckDB does not write: required columns, halves, fixed bytes, other lists. */
function byWasmArrow() {
  const wasm = require('parquet-wasm/node')
  const arrow = require('apache-arrow')
  const n = 500
  const rows = Array.from({ length: n }, (_, i) => i)
  const bytes = (i, k) => Uint8Array.from({ length: k }, (_, j) => (i * 31 + j * 7) & 255)
  const col = {
    id: [new arrow.Int32(), rows, v => String(v)],
    half: [new arrow.Float16(), rows.map(i => (i % 7 === 0 ? null : [0, -0, 1.5, -2, 65504, Infinity, 2 ** -24][i % 7])), v => canon.float(v)],
    flba: [new arrow.FixedSizeBinary(5), rows.map(i => (i % 6 === 5 ? null : bytes(i, 5))), v => canon.hex(v)],
    i64r: [new arrow.Int64(), rows.map(i => BigInt(i) * -123456789012345n), v => String(v)],
    f64r: [new arrow.Float64(), rows.map(i => Math.tan(i)), v => canon.float(v)],
    text: [new arrow.Utf8(), rows.map(i => 'row ' + i), v => canon.text(v)],
    bin: [new arrow.Binary(), rows.map(i => (i % 3 ? bytes(i, i % 40) : null)), v => canon.hex(v)],
    dict: [new arrow.Dictionary(new arrow.Utf8(), new arrow.Int32(), 1), rows.map(i => 'd' + (i % 12)), v => canon.text(v)],
    fsl: [new arrow.FixedSizeList(3, new arrow.Field('item', new arrow.Float32(), false)), rows.map(i => [i, i + 0.5, -i]), v => v.map(canon.float)],
    ms: [new arrow.TimeMillisecond(), rows.map(i => i * 86400), v => 't' + BigInt(v) * 1000000n],
    ns: [new arrow.TimeNanosecond(), rows.map(i => BigInt(i) * 1000000007n), v => 't' + v],
  }
  const required = new Set(['id', 'i64r', 'f64r', 'text', 'fsl', 'ms', 'ns'])
  const fields = []
  const vectors = []
  for (const [name, [type, values]] of Object.entries(col)) {
    fields.push(new arrow.Field(name, type, !required.has(name)))
    vectors.push(arrow.vectorFromArray(values, type).data[0])
  }
  const schema = new arrow.Schema(fields)
  const batch = new arrow.RecordBatch(schema, arrow.makeData({ type: new arrow.Struct(fields), length: n, nullCount: 0, children: vectors }))
  const ipc = arrow.tableToIPC(new arrow.Table(schema, [batch]), 'stream')
  const truth = truthFile('arrow', rows.map(i => Object.values(col).map(([, values, f]) => (values[i] === null ? null : f(values[i])))))
  for (const v of ['V1', 'V2']) {
    for (const dictionary of [true, false]) {
      let b = new wasm.WriterPropertiesBuilder().setWriterVersion(wasm.WriterVersion[v]).setDictionaryEnabled(dictionary).setCompression(wasm.Compression.SNAPPY).setDataPageSizeLimit(1000).setWriteBatchSize(100)
      if (!dictionary) for (const c of ['half', 'flba', 'i64r', 'f64r']) b = b.setColumnEncoding(c, wasm.Encoding.BYTE_STREAM_SPLIT)
      fs.writeFileSync(add('wasm', `arrow_${dictionary ? 'dict' : 'split'}_${v}`, `Arrow types, ${dictionary ? 'dictionary' : 'split'}, ${v}`, truth), wasm.writeParquet(wasm.Table.fromIPCStream(ipc), b.build()))
    }
  }
}

/* ---- hyparquet-writer ---- */

async function byHyparquet() {
  const h = await import('hyparquet-writer')
  const compressors = { GZIP: b => new Uint8Array(zlib.gzipSync(b)), BROTLI: b => new Uint8Array(zlib.brotliCompressSync(b, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 4 } })) }
  const put = (name, what, truth, options, golden) => {
    fs.writeFileSync(add('hyparquet', name, what, truth, golden), Buffer.from(h.parquetWriteBuffer({ compressors, ...options })))
  }
  const el = (name, type, more) => ({ name, type, repetition_type: 'OPTIONAL', ...more })
  const flat = n => {
    const at = Array.from({ length: n }, (_, i) => i)
    const some = f => at.map(i => (i % 5 === 4 ? null : f(i)))
    return [
      [el('id', 'INT32', { repetition_type: 'REQUIRED' }), at, String],
      [el('b', 'BOOLEAN'), some(i => i % 3 === 0), v => v],
      [el('i32', 'INT32'), some(i => ((i * 7919) % 1000) - 500), String],
      [el('i64', 'INT64'), some(i => BigInt(i) * 1000003n - 5n), String],
      [el('u32', 'INT32', { converted_type: 'UINT_32' }), some(i => i), String],
      [el('f32', 'FLOAT'), some(i => Math.fround(Math.sin(i))), canon.float],
      [el('f64', 'DOUBLE'), some(i => [NaN, Infinity, -0, 1e300, Math.cos(i)][i % 6] ?? i), canon.float],
      [el('s', 'BYTE_ARRAY', { converted_type: 'UTF8' }), some(i => ['', 'ä', 'value ' + (i % 9), 'x'.repeat(i % 77)][i % 4]), canon.text],
      [el('bin', 'BYTE_ARRAY'), some(i => Uint8Array.from({ length: i % 9 }, (_, j) => (i + j) & 255)), canon.hex],
      [el('flba', 'FIXED_LEN_BYTE_ARRAY', { type_length: 3 }), some(i => Uint8Array.of(i & 255, 1, i >> 8)), canon.hex],
      [el('uuid', 'FIXED_LEN_BYTE_ARRAY', { type_length: 16, logical_type: { type: 'UUID' } }), some(i => Uint8Array.from({ length: 16 }, (_, j) => (i * j) & 255)), canon.uuid],
      [el('date', 'INT32', { converted_type: 'DATE' }), some(i => i * 100 - 3000), v => 'D' + v],
      [el('ms', 'INT64', { converted_type: 'TIMESTAMP_MILLIS' }), some(i => BigInt(i) * 86400123n), v => 'T' + v * 1000000n],
      [el('us', 'INT64', { converted_type: 'TIMESTAMP_MICROS' }), some(i => BigInt(i) * -86400000123n), v => 'T' + v * 1000n],
      [el('d32', 'INT32', { converted_type: 'DECIMAL', precision: 9, scale: 2 }), some(i => BigInt(i) * 101n - 700n), v => canon.decimal(v, 2)],
      [el('d64', 'INT64', { converted_type: 'DECIMAL', precision: 18, scale: 5 }), some(i => BigInt(i) * -1234567891n), v => canon.decimal(v, 5)],
      [el('dfix', 'FIXED_LEN_BYTE_ARRAY', { type_length: 9, converted_type: 'DECIMAL', precision: 20, scale: 4 }), some(i => BigInt(i) * -12345678912345n), v => canon.decimal(v, 4)],
    ]
  }
  const list = (name, ...item) => [{ name, repetition_type: 'OPTIONAL', converted_type: 'LIST', num_children: 1 }, { name: 'list', repetition_type: 'REPEATED', num_children: 1 }, ...item]
  const nested = n => {
    const at = Array.from({ length: n }, (_, i) => i)
    return [
      [list('l', el('element', 'INT64')), at.map(i => [null, [], [1n, null, BigInt(i)], [BigInt(i)]][i % 4]), v => v.map(x => (x === null ? null : String(x)))],
      [list('ll', ...list('element', el('element', 'BYTE_ARRAY', { converted_type: 'UTF8' }))), at.map(i => [null, [], [[], ['a', null]], [null, ['b' + i]]][i % 4]), v => v.map(x => x && x.map(y => (y === null ? null : canon.text(y))))],
      [[{ name: 's', repetition_type: 'OPTIONAL', num_children: 2 }, el('x', 'INT32'), el('y', 'DOUBLE', { repetition_type: 'REQUIRED' })], at.map(i => (i % 3 ? { x: i % 2 ? null : i, y: i / 4 } : null)), v => ({ x: v.x === null ? null : String(v.x), y: canon.float(v.y) })],
    ]
  }
  const write = (name, what, columns, options, per, golden, truth) => {
    const columnData = columns.map(([e, data]) => ({ name: (Array.isArray(e) ? e[0] : e).name, data, ...per?.((Array.isArray(e) ? e[0] : e).name) }))
    const schema = [{ name: 'root', num_children: columns.length }, ...columns.flatMap(([e]) => e)]
    put(name, what, truth, { columnData, schema, ...options }, golden)
  }
  const truthOf = (name, columns) => truthFile(name, columns[0][1].map((_, i) => columns.map(([, data, f]) => (data[i] === null ? null : f(data[i])))))
  const H = [[el('half', 'FIXED_LEN_BYTE_ARRAY', { type_length: 2, logical_type: { type: 'FLOAT16' } }), Array.from({ length: 300 }, (_, i) => (i % 5 === 4 ? null : [0.5, -2, 1024, 0, 65504, 2 ** -14][i % 6])), canon.float]]
  const th = truthOf('hy_half', H)
  write('half', 'halves', H, {}, null, false, th)
  write('half_plain', 'halves, plain, no statistics', H, { statistics: false }, () => ({ encoding: 'PLAIN' }), false, th)
  write('half_split', 'halves, split, no statistics', H, { statistics: false }, () => ({ encoding: 'BYTE_STREAM_SPLIT' }), false, th)
  const F = flat(1500)
  const N = nested(1500)
  const f = flat(40)
  const small = truthOf('hy_flat_small', f)
  const tf = truthOf('hy_flat', F)
  const tn = truthOf('hy_nested', N)
  for (const codec of ['UNCOMPRESSED', 'SNAPPY', 'GZIP', 'BROTLI']) {
    write(`flat_${codec}`, `flat, ${codec}`, F, { codec }, null, false, tf)
    write(`nested_${codec}`, `nested, ${codec}`, N, { codec, pageSize: 300 }, null, false, tn)
  }
  const deltas = name =>
    /^(id|i32|i64|u32|date|ms|us|d32|d64)$/.test(name) ? { encoding: 'DELTA_BINARY_PACKED' } : name === 's' ? { encoding: 'DELTA_BYTE_ARRAY' } : name === 'bin' ? { encoding: 'DELTA_LENGTH_BYTE_ARRAY' } : name === 'b' ? { encoding: 'RLE' } : /^(f32|f64|flba|dfix)$/.test(name) ? { encoding: 'BYTE_STREAM_SPLIT' } : {}
  write('flat_delta', 'delta and split encodings', F, { pageSize: 500 }, deltas, false, tf)
  for (const codec of ['GZIP', 'BROTLI']) write(`flat_small_${codec}`, `flat, ${codec}`, f, { codec }, null, true, small)
  write('flat_delta_small', 'delta and split encodings', f, {}, deltas, true, small)
  write('flat_split', 'integers split', F, {}, n => (/^(id|i32|i64|u32|date|ms|d64)$/.test(n) ? { encoding: 'BYTE_STREAM_SPLIT' } : n === 's' ? { encoding: 'DELTA_LENGTH_BYTE_ARRAY' } : {}), false, tf)
  write('flat_dict', 'dictionary everywhere', F, { pageSize: 400 }, n => (n === 'b' ? {} : { encoding: 'RLE_DICTIONARY', columnIndex: true, bloomFilter: true }), false, tf)
  write('flat_plain', 'plain, no statistics', F, { statistics: false }, () => ({ encoding: 'PLAIN' }), false, tf)
  write('flat_groups', 'row groups of 1, 0, 7, 0 and 100 rows', F, { rowGroupSize: [1, 0, 7, 0, 100] }, null, false, tf)
  write('nested_groups', 'nested, row groups of 1, 0, 7, 0 and 100 rows', N, { rowGroupSize: [1, 0, 7, 0, 100] }, null, false, tn)
  const nsmall = nested(12)
  write('nested_small', 'nested, an empty row group', nsmall, { rowGroupSize: [5, 0, 10] }, null, true, truthOf('hy_nested_small', nsmall))
  for (const k of [0, 1]) {
    const c = flat(k)
    const d = nested(k)
    write(`flat_${k}`, `flat, ${k} row(s)`, c, {}, null, false, truthOf(`hy_flat_${k}`, c))
    write(`nested_${k}`, `nested, ${k} row(s)`, d, {}, null, false, truthOf(`hy_nested_${k}`, d))
  }
  const wide = Array.from({ length: 10000 }, (_, k) => [el('c' + k, 'INT32'), [k, null, -k], String])
  write('wide', '10,000 columns', wide, { codec: 'UNCOMPRESSED' }, null, false, truthOf('hy_wide', wide))
  const long = [[el('id', 'INT32'), [0, 1, 2], String], [el('s', 'BYTE_ARRAY', { converted_type: 'UTF8' }), ['a', '0123456789'.repeat(10000000), null], canon.text]]
  write('long', 'strings of 100 MB', long, { codec: 'GZIP', statistics: false }, () => ({ encoding: 'PLAIN' }), false, truthOf('hy_long', long))
}

async function main() {
  if (process.argv.length !== 3) {
    console.error('make_files.js: usage: make_files.js DIR')
    process.exit(2)
  }
  dir = process.argv[2]
  fs.mkdirSync(dir, { recursive: true })
  const { conn } = await duckdb()
  const truths = {}
  for (const [name, sql] of Object.entries(tables)) {
    await conn.run(`CREATE TABLE ${name} AS ${sql}`)
    truths[name] = truthFile(name, await duckRows(`SELECT * FROM ${name}`))
  }
  await byDuckdb(conn, truths)
  byWasmAgain(truths)
  byWasmArrow()
  await byHyparquet()
  fs.writeFileSync(path.join(dir, 'cases.json'), JSON.stringify(cases, null, 1) + '\n')
  console.log(`${cases.length} files in ${dir}`)
}

main().catch(e => {
  console.error(e)
  process.exit(1)
})
