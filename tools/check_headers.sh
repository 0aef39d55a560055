#!/bin/sh
# check_headers.sh [ROOT] - every header of src/ and include/ compiles on its own, twice in a row.
#
# Uses CC (cc). Every header that does not stand alone is one finding with the compiler's first line;
# the exit code is 1 when there is one.
set -eu
root=${1:-$(dirname "$0")/..}
cd "$root"
cc=${CC:-cc}
n=0
bad=0
for h in $(find src include -name '*.h' | LC_ALL=C sort); do
    n=$((n + 1))
    name=${h#src/}
    name=${name#include/}
    if ! msg=$(printf '#include "%s"\n#include "%s"\ntypedef int last;\n' "$name" "$name" |
        $cc -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -Wno-unused-function -fsyntax-only -Isrc -Iinclude -x c - 2>&1); then
        echo "$h: does not stand alone: $(printf '%s\n' "$msg" | grep -m1 error)"
        bad=$((bad + 1))
    fi
done
if [ $bad -gt 0 ] || [ $n -eq 0 ]; then
    echo "check_headers: $bad of $n headers need another one first"
    exit 1
fi
echo "check_headers: $n headers, no findings"
