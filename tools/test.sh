#!/bin/sh
# test.sh [BUILD_DIR [MESON_TEST_ARGS...]] - the quick tier: installs what is missing, builds, runs all
# tests. The last line counts the cases of all programs: N passed, N failed, N skipped.
#
# A program that prints its own counts is taken at its word; one that does not is one case. A program
# that ends badly without naming a failed case (a crash, a timeout) is one failed case.
set -eu
cd "$(dirname "$0")/.."
build=${1:-build}
[ $# -eq 0 ] || shift

sh tools/deps.sh build test
[ -f "$build/build.ninja" ] || meson setup "$build" >/dev/null
ninja -C "$build"
rm -f "$build"/meson-logs/testlog*.txt # a wrapper's log has another name
code=0
# many tests wait for servers and other processes most of the time, so there are two for each core
meson test -C "$build" --no-rebuild --print-errorlogs --num-processes $(($(getconf _NPROCESSORS_ONLN) * 2)) "$@" || code=$?

awk '
function close_test() {
    if (!open) return
    if (!counted) {
        if (result == "exit status 0") p = 1
        else if (result == "exit status 77") s = 1
        else f = 1
    } else if (f == 0 && result != "exit status 0" && result != "exit status 77") f = 1
    passed += p; failed += f; skipped += s
    open = 0
}
/^test: / { close_test(); open = 1; counted = 0; result = ""; p = f = s = 0 }
open && /^result: / { result = $0; sub(/^result: +/, "", result); sub(/ or signal.*/, "", result) }
open && /^[0-9]+ passed, [0-9]+ failed(, [0-9]+ skipped)?$/ {
    counted = 1
    p += $1; f += $3
    if (NF == 6) s += $5
}
END {
    close_test()
    printf "\n%d passed, %d failed, %d skipped\n", passed, failed, skipped
    exit failed > 0 || passed == 0
}' "$build"/meson-logs/testlog*.txt || code=1
exit $code
