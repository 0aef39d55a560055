#!/bin/sh
# run.sh [BUILD_DIR] - Arrow beside other implementations (compare.js): DuckDB, apache-arrow's JavaScript
# and arrow-rs, with the packages of tests/parquet. About a minute.
set -eu
cd "$(dirname "$0")/../.."
build=${1:-build}
sh tools/npm.sh tests/parquet
[ -f "$build/build.ninja" ] || meson setup "$build" >/dev/null
ninja -C "$build" tests/arrow/arrow_tool
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM
node tests/arrow/compare.js "$build/tests/arrow/arrow_tool" "$tmp/files"
