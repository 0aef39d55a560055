#!/bin/sh
# run.sh [BUILD_DIR] - Parquet beside other implementations: installs them, lets them and our writer
# write files, reads everything with everybody, compares (compare.js). About three minutes.
#
# PARQUET_TESTING: a copy of the Parquet project's test files (github.com/apache/parquet-testing), else
# ../shared/data/parquet-testing beside this project; without one that part is skipped, and the table in
# docs/design/parquet_interop.md is left as it is.
set -eu
cd "$(dirname "$0")/../.."
build=${1:-build}
testing=${PARQUET_TESTING:-../shared/data/parquet-testing}

sh tools/npm.sh tests/parquet
[ -f "$build/build.ninja" ] || meson setup "$build" >/dev/null
ninja -C "$build" crank tests/parquet/write_samples
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM
node tests/parquet/make_files.js "$tmp/made"
node tests/parquet/ours.js "$build/tests/parquet/write_samples" "$build/crank" "$tmp/ours"
if [ -d "$testing/data" ]; then report="--report docs/design/parquet_interop.md"; else report=; fi
# shellcheck disable=SC2086
node tests/parquet/compare.js --crank "$build/crank" --testing "$testing" --made "$tmp/made" --ours "$tmp/ours" \
    --tmp "$tmp/rows" $report
