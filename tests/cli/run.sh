#!/bin/sh
# run.sh CRANK [CASE...] - end-to-end tests of the command line.
#
# A case is a script cases/NAME.sh that runs commands and states what they print and how they end, with
# the words of lib.sh. Each runs in its own folder below $TMPDIR, which is kept when it fails. A
# case that cannot run here says why and is skipped. Exit code: 1 a case failed, 77 all were skipped.
set -u
here=$(cd "$(dirname "$0")" && pwd)
if [ $# -lt 1 ] || [ ! -x "$1" ]; then
    echo "usage: run.sh CRANK [CASE...]" >&2
    exit 2
fi
crank=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
shift
if [ $# -eq 0 ]; then
    set -- $(cd "$here/cases" && ls ./*.sh | sed 's,^\./,,; s,\.sh$,,')
fi

passed=0
failed=0
skipped=0
for name; do
    if [ ! -f "$here/cases/$name.sh" ]; then
        echo "FAIL $name: there is no cases/$name.sh"
        failed=$((failed + 1))
        continue
    fi
    dir=$(mktemp -d "${TMPDIR:-/tmp}/crank-cli.XXXXXX") || exit 1
    mkdir "$dir/bin" "$dir/work"
    ln -s "$crank" "$dir/bin/crank"
    # a case sees nothing of the user's settings
    env -i PATH="$dir/bin:$PATH" HOME="$dir" TMPDIR="$dir" LC_ALL=C CASE_DIR="$dir" CLI="$here" CRANK="$crank" \
        PQ_MAKE="$(dirname "$crank")/tests/cli/pq_make" H5_MAKE="$(dirname "$crank")/tests/cli/h5_make" PNG_MAKE="$(dirname "$crank")/tests/cli/png_make" PTY="$(dirname "$crank")/tests/cli/pty" \
        WEIGHTS_DIFF="$(dirname "$crank")/tests/cli/weights_diff" STRANGER="$(dirname "$crank")/tests/cli/stranger" DEAD_FS="$(dirname "$crank")/tests/cli/dead_fs" \
        ASAN_OPTIONS="${ASAN_OPTIONS:-}" UBSAN_OPTIONS="${UBSAN_OPTIONS:-}" CRANK_CPU="${CRANK_CPU:-}" \
        sh -eu -c 'cd "$CASE_DIR/work"; . "$CLI/lib.sh"; . "$CLI/cases/$0.sh"; settled' "$name" >"$dir/log" 2>&1
    case $? in
    0)
        passed=$((passed + 1))
        echo "PASS $name"
        rm -rf "$dir"
        ;;
    77)
        skipped=$((skipped + 1))
        echo "SKIP $name: $(tail -n 1 "$dir/log")"
        rm -rf "$dir"
        ;;
    *)
        failed=$((failed + 1))
        echo "FAIL $name (kept: $dir)"
        sed 's/^/    /' "$dir/log"
        ;;
    esac
done
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ] || exit 1
[ $passed -gt 0 ] || [ $skipped -eq 0 ] || exit 77
