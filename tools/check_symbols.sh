#!/bin/sh
# check_symbols.sh BUILD_DIR - every symbol our libraries export starts with cr_.
#
# Looks into the static libraries of a build. Names beginning with two underscores belong to the
# compiler (sanitizers, coverage) and are left alone. Every finding is one line library: symbol;
# the exit code is 1 when there is one.
set -eu
if [ $# -ne 1 ] || [ ! -d "$1" ]; then
    echo "usage: check_symbols.sh BUILD_DIR" >&2
    exit 2
fi
libs=$(find "$1" -name '*.a' -type f | LC_ALL=C sort)
if [ -z "$libs" ]; then
    echo "check_symbols: no static library in $1; build first" >&2
    exit 1
fi
for lib in $libs; do
    nm -g -P --defined-only "$lib" | sed "s|^|$(basename "$lib") |"
done | awk '
/:$/ { member = $NF; next }
$3 ~ /^[A-TV-Z]$/ && $2 !~ /^cr_/ && $2 !~ /^__/ {
    printf "%s: %s %s; make it static or name it cr_%s\n", $1, member, $2, $2
    bad++
}
{ n++ }
END {
    if (n == 0) { print "check_symbols: the libraries export nothing"; exit 1 }
    if (bad) { printf "check_symbols: %d finding(s)\n", bad; exit 1 }
    printf "check_symbols: %d symbols, no findings\n", n
}'
