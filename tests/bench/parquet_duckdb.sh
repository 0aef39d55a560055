#!/bin/sh
# parquet_duckdb.sh BUILD_DIR [OUT_DIR [ROWS [ROUNDS]]] - our Parquet reader beside DuckDB's.
#
# DuckDB (the npm package of tests/parquet) writes a table of 40 columns (parquet_table.sql) with snappy, zstd and uncompressed; then both
# read all of it, in turns, ROUNDS times with one and with two threads, and the best of each counts. Ours reads into vectors
# (bench_parquet); DuckDB's time is the better of two ways to have every column read and nothing kept (bench_duckdb). The files are in
# the system's cache. Leaves OUT_DIR/parquet.json. Ends with 0 and a line when DuckDB cannot be installed here.
set -eu
cd "$(dirname "$0")/../.."
build=${1:?usage: parquet_duckdb.sh BUILD_DIR [OUT_DIR [ROWS [ROUNDS]]]}
out=${2:-out/bench}
rows=${3:-2000000}
rounds=${4:-5}
if ! why=$(sh tools/npm.sh tests/parquet 2>&1); then
    echo "skipped: DuckDB is not here: $(printf '%s\n' "$why" | tail -n 1)"
    exit 0
fi
lib=$(find tests/parquet/node_modules/@duckdb -name 'libduckdb.so' | head -n 1)
if [ -z "$lib" ]; then
    echo "skipped: DuckDB's npm package has no library for this system"
    exit 0
fi
ninja -C "$build" tests/bench/bench_parquet tests/bench/bench_duckdb >/dev/null
ours=$build/tests/bench/bench_parquet
theirs=$build/tests/bench/bench_duckdb
dir=$out/parquet-$rows
mkdir -p "$dir"
# made once: the formulas give the same bytes every time
sum=$(cat tests/bench/parquet_table.sql "$0" | cksum)
if [ "$(cat "$dir/made" 2>/dev/null)" != "$sum" ]; then
    rm -f "$dir"/*
    sql=$(sed "s/ROWS/$rows/" tests/bench/parquet_table.sql)
    for codec in snappy zstd uncompressed; do
        sql="$sql COPY log TO '$dir/$codec.parquet' (FORMAT parquet, COMPRESSION $codec);"
    done
    "$theirs" "$lib" run "$sql"
    printf '%s' "$sum" >"$dir/made"
fi
runs=$dir/runs.txt
: >"$runs"
for codec in snappy zstd uncompressed; do
    file=$dir/$codec.parquet
    for threads in 1 2; do
        i=0
        while [ $i -lt "$rounds" ]; do
            echo "$codec $threads ours $("$ours" "$file" $threads 3)" >>"$runs"
            echo "$codec $threads duckdb $("$theirs" "$lib" read "$file" $threads 2)" >>"$runs"
            i=$((i + 1))
        done
    done
done
bytes=$(wc -c <"$dir/snappy.parquet")
awk -v rows="$rows" -v size="$bytes" -v json="$out/parquet.json" '
function field(line, name,   m) {
    m = index(line, "\"" name "\": ")
    line = substr(line, m + length(name) + 4)
    sub(/[,}].*/, "", line)
    return line
}
{
    key = $1 " " $2
    who = $3
    s = field($0, "seconds")
    c = field($0, "cpu_s")
    if (!((key, who) in best)) { best[key, who] = s; cpu[key, who] = c; line[key, who] = $0 }
    if (s + 0 < best[key, who] + 0) { best[key, who] = s; line[key, who] = $0 }
    if (c + 0 < cpu[key, who] + 0) cpu[key, who] = c
    if (!(key in seen)) { seen[key] = 1; order[n++] = key }
}
END {
    version = field(line[order[0], "duckdb"], "version")
    gsub(/"/, "", version)
    printf "%d rows x 40 columns (%.0f MB as snappy), DuckDB %s\n", rows, size / 1e6, version
    printf "%-14s %7s %9s %9s %8s %7s %9s  %s\n", "codec", "threads", "crank s", "DuckDB s", "times", "scaling", "cpu times", "read / decompress / decode"
    printf "[" >json
    for (i = 0; i < n; i++) {
        k = order[i]
        split(k, part, " ")
        a = best[k, "ours"]
        b = best[k, "duckdb"]
        l = line[k, "ours"]
        scaling = best[part[1] " 1", "ours"] / a
        printf "%-14s %7s %9.4f %9.4f %8.2f %7.2f %9.2f  %2.0f%% / %2.0f%% / %2.0f%%\n", part[1], part[2], a, b, b / a, scaling, \
            cpu[k, "duckdb"] / cpu[k, "ours"], 100 * field(l, "read"), 100 * field(l, "decompress"), 100 * field(l, "decode")
        printf "%s{\"codec\": \"%s\", \"threads\": %d, \"crank_s\": %.4f, \"duckdb_s\": %.4f, \"times\": %.3f, \"cpu_times\": %.3f, " \
            "\"scaling\": %.3f, \"rows_per_s\": %.0f, \"read\": %.3f, \"decompress\": %.3f, \"decode\": %.3f}", i ? ",\n " : "", \
            part[1], part[2], a, b, b / a, cpu[k, "duckdb"] / cpu[k, "ours"], scaling, rows / a, field(l, "read"), \
            field(l, "decompress"), field(l, "decode") >json
    }
    print "]" >json
}' "$runs"
