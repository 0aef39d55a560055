# crank parquet: one file for people, its parts, JSON, rows; several files; what is wrong
files=$CLI/../fuzz/corpus/pq_file
cp "$files"/*.parquet .
export COLUMNS=110

run crank parquet duck_map_zstd_v2.parquet --rows 2
ends 0
says_out <<'END'
duck_map_zstd_v2.parquet
  8 rows in 1 row group, 2 columns (3 leaves)
  file 694 B: data 209 B, 422 B uncompressed (2.0x), footer 426 B
  written by DuckDB version ..., format version 2

columns
  column     type                nullable  codec  encodings   size  ratio  nulls  min  max
  m          map<int64, string>  yes       ZSTD              143 B   1.8x
    m.key    int64               no        ZSTD   delta       61 B   1.8x      0  0    8
    m.value  string              yes       ZSTD   dict        82 B   1.8x      8  a    a
  l          list<int64>         yes       ZSTD   delta       66 B   2.6x      8  1    7

first 2 rows
  m                   l
  [[0,"a"],[1,null]]  null
  [[1,"a"],[2,null]]  [1,null]
END

# too wide for the screen: turned
run env COLUMNS=60 crank parquet wasm_pages_v2.parquet --rows 3 --columns d,t,s,t
ends 0
has_out '  row  0 ...  1 ...'
has_out '  s    x0 ...  x1 ...'

run crank parquet duck_map_zstd_v2.parquet --schema
ends 0
says_out <<'END'
message duckdb_schema {
  optional group m (MAP) {
    repeated group key_value {
      required INT64 key (int64);
      optional BYTE_ARRAY value (string);
    }
  }
  optional group l (LIST) {
    repeated group list {
      optional INT64 element (int64);
    }
  }
}
END

run crank parquet groups.parquet --row_groups
ends 0
has_out '  2     7          1  47 B   1.0x          47 B       31'

run crank parquet wasm_pages_v2.parquet --pages s
ends 0
has_out 'column s, row group 0: 12 values in 2 pages, SNAPPY, page index'
has_out '  1      325  data v2     RLE_DICTIONARY      12          0      0    12            12  x0   x9'

run crank parquet i32_delta.parquet --json
ends 0
has_out '{"file": "i32_delta.parquet", "size": 176, "rows": 20, ..."min": -50, "max": 2218...}'
run crank parquet i32_delta.parquet --json --rows 2
has_out '..."first_rows": [{"a": -50}, {"a": -43}]}'

# rows: all, the first, of chosen columns and members
run crank parquet struct.parquet --rows_json
ends 0
[ "$(wc -l <"$out")" -eq 20 ] || fail "20 rows were expected"
has_out '{"s":{"x":2,"y":0.5}}'
run crank parquet struct.parquet --rows_json --rows 2 --columns s.y
says_out <<'END'
{"s.y":null}
{"s.y":0.25}
END
run crank parquet i32_gzip.parquet i32_brotli.parquet --rows_json --rows 2
says_out <<'END'
{"a":0}
{"a":1}
{"a":0}
{"a":1}
END
run crank parquet duck_lz4_v2.parquet --rows_json --rows 1 --columns s,d
says_out <<'END'
{"s":"x0","d":0}
END

# bytes without a logical type: text is shown as text, whatever it spells, and all else as hex
printf '%s\n' 'a|plain' 'b|\u00e9 \x41' "c|$(printf '\tx\357\277\275')" "d|$(printf '\310\036r')" "e|$(printf 'a\033[2J')" | pq_make raw.parquet 'k:string, v:binary'
run crank parquet raw.parquet --rows 5
ends 0
has_out '  a  plain'
has_out '  b  \u00e9 \x41'
has_out "$(printf '  c  \\tx\357\277\275')"
has_out '  d  0xc81e72'
has_out '  e  0x611b5b324a'

# several files, a folder, a glob
mkdir some
cp i32_gzip.parquet i32_delta.parquet some
run crank parquet some
ends 0
has_out '2 files, 40 rows, 358 B'
has_out 'the same columns and types in all'
run crank parquet '*_plain.parquet' struct.parquet
ends 0
has_out 'schemas differ:'
has_out "  f64_plain.parquet: column 'a' is double, in b_plain.parquet it is bool"
has_out "  struct.parquet: column 's' (struct<x: int32, y: double>) is not in b_plain.parquet"
has_out "  struct.parquet: column 'a' (bool) is missing"

# what is wrong: one line, the right code; the other files are still shown
head -c 100 flba.parquet >cut.parquet
run crank parquet cut.parquet
ends 3
says_err <<'END'
cut.parquet: it begins as a Parquet file and has no footer; it is cut short or still being written: wait, or write it again
END
run crank parquet cut.parquet flba.parquet
ends 3
has_err 'cut.parquet: it begins as a Parquet file...'
has_out '1 file, 20 rows, 216 B; 1 more cannot be read'
run crank parquet b_rle.parquet --columns b
ends 2
has_err "crank parquet: b_rle.parquet: no column 'b'; ..."
run crank parquet duck_lz4_v2.parquet --pages tt
ends 2
run crank parquet b_rle.parquet --json --schema
ends 2
has_err '...different outputs; choose one'
run crank parquet none.parquet
ends 1
run crank parquet
ends 2
echo "not Parquet at all" >text.parquet
run crank parquet text.parquet
ends 3
says_err <<'END'
text.parquet: not a Parquet file; check the path
END

# whoever reads the rows may leave; nobody waits for a pipe; budget and checksums name their flags
seq 1 50000 | pq_make long.parquet 'number:int64'
{ crank parquet long.parquet --rows_json; } 2>left.err | head -n 1 >/dev/null
[ ! -s left.err ] || fail "a reader that left is told: $(cat left.err)"
mkfifo pipe.parquet
run crank parquet pipe.parquet
ends 1
has_err "pipe.parquet: it is not a regular file, but Parquet is read from the end; copy it into a file first"
run crank parquet flba.parquet --budget 10
ends 3
has_err "flba.parquet: its footer has ... bytes, more than the budget of 10; raise it with --budget BYTES"
run crank parquet gs://bucket/a.parquet
ends 2
has_err "crank parquet: 'gs://bucket/a.parquet' is in Google Cloud Storage, which this version neither reads nor writes; give a local path, and copy the files with gsutil cp"
# files that differ in the same way share a line
mkdir many
for i in 1 2 3; do cp b_plain.parquet many/a$i.parquet; cp f64_plain.parquet many/b$i.parquet; done
run crank parquet many
ends 0
has_out "  many/b1.parquet and 2 more: column 'a' is double, in many/a1.parquet it is bool"

# a footer that tells of 2^62 rows of no columns: there is nothing to show, and their sum is a number
n='\200\200\200\200\200\200\200\200\200\001'
printf "PAR1\\025\\002\\031\\034\\110\\001r\\025\\000\\000\\026$n\\031\\034\\031\\014\\026\\000\\026$n\\000\\000\\050\\000\\000\\000PAR1" >rows.parquet
cp rows.parquet rows2.parquet
run crank parquet rows.parquet --rows_json
ends 0
[ ! -s "$out" ] || fail "rows of no columns are shown"
run crank parquet rows.parquet rows2.parquet
ends 0
has_out "2 files, 9223372036854775807 rows, 104 B"
run crank parquet many --rows 3
ends 2
has_err "crank parquet: --rows shows rows of one file, these are 6; name one, or add --rows_json"
# a glob without quotes
run crank predict --scripted_model_path x --predict_output_path y --predict_input_path many/a1.parquet many/a2.parquet
ends 2
has_err "crank predict: unexpected argument 'many/a2.parquet'; write its flag in front of it, or put globs in quotes, see 'crank predict --help'"
