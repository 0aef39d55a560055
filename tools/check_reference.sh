#!/bin/sh
# check_reference.sh BINARY [ROOT] - are the pages in docs/reference those that BINARY makes?
#
# The pages come from the tables in src/. When a table changed, run
# `BINARY reference -o docs/reference` and commit the pages. The exit code is 1 when they are stale.
set -eu
if [ $# -lt 1 ] || [ ! -x "$1" ]; then
    echo "usage: check_reference.sh BINARY [ROOT]" >&2
    exit 2
fi
root=${2:-$(dirname "$0")/..}
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
"$1" reference -o "$made"
if ! diff -r "$root/docs/reference" "$made" >"$made.diff" 2>&1; then
    head -n 20 "$made.diff"
    rm -f "$made.diff"
    echo "check_reference: docs/reference is stale; run 'crank reference -o docs/reference'"
    exit 1
fi
rm -f "$made.diff"
echo "check_reference: $(find "$made" -name '*.md' | wc -l) pages, no findings"
