#!/bin/sh
# check_kernels.sh [ROOT] - the tests in tests/kern call every kernel of src/kern/list.h.
#
# The preprocessor (CC, cc) makes the names of CR_KERNELS and writes out the macros of the tests; calls in a
# function bench(), and those in headers of src/, do not count. Every kernel that no test calls is
# one line; the exit code is 1 when there is one.
set -eu
root=${1:-$(dirname "$0")/..}
cd "$root"
cc=${CC:-cc}
flags='-std=c11 -D_GNU_SOURCE -Isrc -Iinclude -Itests -E'
exempt=' peak peak_bf16 ' # measure the CPU; their result is a time

# shellcheck disable=SC2086
names=$(printf '#include "kern/list.h"\n#define NAME(ret, name, args) KERNEL name;\nCR_KERNELS(NAME)\nCR_KERNELS_UNITS(NAME)\n' |
    $cc $flags -x c - | tr ';' '\n' | sed -n 's/^ *KERNEL *\([A-Za-z0-9_]*\)$/\1/p')
# the part of a line "# 12 "tests/kern/act.c"" on belongs to that file
# shellcheck disable=SC2086
calls=$(for t in tests/kern/*.c; do
    $cc $flags "$t"
done | awk '
/^# [0-9]+ "/ { own = $3 ~ /tests\/kern\//; next }
own && /^static void bench\(void\)/ { bench = 1 }
own && !bench {
    while (match($0, /(->|\.)[A-Za-z0-9_]+ *\(/)) {
        name = substr($0, RSTART, RLENGTH)
        gsub(/[->. (]/, "", name)
        print name
        $0 = substr($0, RSTART + RLENGTH)
    }
}
/^}/ { bench = 0 }' | LC_ALL=C sort -u)

n=0
bad=0
for name in $names; do
    n=$((n + 1))
    case $exempt in *" $name "*) continue ;; esac
    if ! printf '%s\n' "$calls" | grep -qx "$name"; then
        echo "src/kern/list.h: no test in tests/kern calls the kernel '$name'; add one that compares each level"
        bad=$((bad + 1))
    fi
done
if [ $n -eq 0 ]; then
    echo "check_kernels: no kernels found in src/kern/list.h"
    exit 1
fi
if [ $bad -gt 0 ]; then
    echo "check_kernels: $bad of $n kernels are not tested"
    exit 1
fi
echo "check_kernels: $n kernels, no findings"
