#!/bin/sh
# check_layers.sh [ROOT] - who includes whom in src/.
#
# A file may include headers of its own folder and of folders of a lower level (tools/layers.txt);
# neighbours on a level never meet. Own headers are included with their folder ("data/batch.h"),
# and a header ending in _int.h stays inside its folder. The table of docs/design/architecture.md has
# every folder in the row of its level. Every finding is one line file:line: cause; the exit code is 1
# when there is one.
set -eu
root=${1:-$(dirname "$0")/..}
cd "$root"

files=$(find src -type f \( -name '*.c' -o -name '*.h' -o -name '*.inc' \) | LC_ALL=C sort)
if [ -z "$files" ]; then
    echo "check_layers: no sources under $root/src" >&2
    exit 1
fi

page=docs/design/architecture.md
[ -f $page ] || page=
# File names are ours and hold no blanks.
# shellcheck disable=SC2086
awk '
function finding(text) {
    printf "%s:%d: %s\n", FILENAME, FNR, text
    bad++
}
FILENAME == "tools/layers.txt" {
    if ($0 !~ /^#/ && NF == 2) { level[$2] = $1; n_levels++ }
    next
}
FILENAME == "docs/design/architecture.md" {
    has_page = 1
    if ($0 !~ /^\| [0-9]+ \|/) next
    split($0, column, "|")
    n = split(column[3], word, "`")
    for (i = 2; i <= n; i += 2) {
        shown[word[i]] = 1
        if (!(word[i] in level)) finding("\"" word[i] "\" is no folder of tools/layers.txt")
        else if (level[word[i]] + 0 != column[2] + 0)
            finding("\"" word[i] "\" is level " level[word[i]] " in tools/layers.txt")
    }
    next
}
FNR == 1 {
    n_files++
    split(FILENAME, part, "/")
    mod = part[2]
    if (!(mod in level)) finding("folder \"" mod "\" is not in tools/layers.txt; add it with its level")
}
/^[ \t]*#[ \t]*include[ \t]*"/ {
    name = $0
    sub(/^[^"]*"/, "", name)
    sub(/".*$/, "", name)
    slash = index(name, "/")
    if (slash == 0) {
        finding("\"" name "\" lacks its folder; write \"" mod "/" name "\"")
        next
    }
    to = substr(name, 1, slash - 1)
    if (to == mod || !(mod in level)) next
    if (!(to in level)) finding("\"" name "\" is in no folder of tools/layers.txt")
    else if (level[to] + 0 > level[mod] + 0)
        finding("\"" name "\" lies above: " mod " is level " level[mod] ", " to " is level " level[to])
    else if (level[to] + 0 == level[mod] + 0)
        finding("\"" name "\" is a neighbour: " mod " and " to " are both level " level[mod])
    else if (name ~ /_int\.h$/) finding("\"" name "\" is internal to " to "; use its public header")
}
END {
    for (mod in level)
        if (has_page && !(mod in shown)) {
            printf "docs/design/architecture.md: the table of layers lacks \"%s\"\n", mod
            bad++
        }
    if (n_levels == 0) { print "tools/layers.txt: no levels found"; bad++ }
    if (bad) { printf "check_layers: %d finding(s)\n", bad; exit 1 }
    printf "check_layers: %d files, no findings\n", n_files
}
' tools/layers.txt $page $files
