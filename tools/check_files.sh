#!/bin/sh
# check_files.sh [ROOT] - every file of src that a design page names with its folder is there.
set -eu
cd "${1:-$(dirname "$0")/..}"
folders=$(ls src | tr '\n' '|')
names=$(grep -HnoE "(^|[^a-zA-Z0-9_/.])(src/)?(${folders%|})/[a-z0-9_/]+\.[ch]\b" docs/design/*.md |
    sed -E 's/^([^:]*:[0-9]*):[^a-z]*(src\/)?/\1 /' | sort -u)
[ -n "$names" ] || { echo "check_files: no page names a file"; exit 1; }
wrong=$(echo "$names" | while read -r place file; do
    [ -e "src/$file" ] || echo "$place: there is no src/$file; name the file that took its place"
done)
[ -z "$wrong" ] || { echo "$wrong"; exit 1; }
echo "check_files: $(echo "$names" | wc -l) names, no findings"
