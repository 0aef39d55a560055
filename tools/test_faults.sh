#!/bin/sh
# test_faults.sh [BUILD_DIR [few|many|all]] - builds crank and the shim, and makes system calls and
# allocations fail in a small train, export and predict (tests/faults/run.sh says how). `many`, about
# 4000 runs, is the usual amount; `all` tries every single call.
set -eu
cd "$(dirname "$0")/.."
build=${1:-build}
sh tools/deps.sh build test
[ -f "$build/build.ninja" ] || meson setup "$build" >/dev/null
ninja -C "$build" crank tests/faults/fault_shim.so >/dev/null
exec sh tests/faults/run.sh "$build/crank" "$build/tests/faults/fault_shim.so" "${2:-many}"
