#!/bin/sh
# check_style.sh [ROOT] - what a formatter does not see.
#
# Tabs, blanks at the end of a line, a missing last newline, invisible characters, TODO without an
# issue number, FIXME, files in src/ over 900 lines, output past the function that escapes it, a table's memory outside of its file,
# `extern const` in a .c file. Text kinds only: test data may hold anything.
# Every finding is one line file:line: cause; the exit code is 1 when there is one.
set -eu
root=${1:-$(dirname "$0")/..}
cd "$root"

dirs=
for d in src tests docs tools examples; do
    if [ -d "$d" ]; then dirs="$dirs $d"; fi
done
if [ ! -d src ]; then
    echo "check_style: no src under $root" >&2
    exit 1
fi
# shellcheck disable=SC2086
files=$({
    find $dirs -name node_modules -prune -o -type f \( -name '*.c' -o -name '*.h' -o -name '*.inc' -o -name '*.sh' -o -name '*.py' \
        -o -name '*.md' -o -name 'meson.build' -o -path 'tools/*.txt' \) -print
    find . -maxdepth 1 -type f \( -name '*.md' -o -name 'meson*' \) | sed 's,^\./,,'
} | LC_ALL=C sort)

status=0
# Bytes, not characters: the C locale makes every awk agree. The invisible ones, as UTF-8:
# soft hyphen, no-break space (C2 AD, C2 A0), zero width and direction marks (E2 80 8B-8F,
# E2 80 A8-AE), word joiner and invisible operators (E2 81 A0-AF), byte order mark (EF BB BF).
# shellcheck disable=SC2086
LC_ALL=C awk '
function finding(text) {
    printf "%s:%d: %s\n", FILENAME, FNR, text
    bad++
}
function close_file() {
    if (lines > 900 && last ~ /^src\//) {
        printf "%s:%d: %d lines; look for the second idea in it and split\n", last, lines, lines
        bad++
    }
}
FNR == 1 {
    close_file()
    last = FILENAME
    n_files++
}
{ lines = FNR }
/\t/ { finding("tab; use blanks") }
/[ \t\r]$/ { finding("blank at the end of the line") }
/[\001-\010\013-\037\177]/ { finding("control character") }
/\302[\240\255]|\342\200[\213-\217\250-\256]|\342\201[\240-\257]|\357\273\277/ { finding("invisible character") }
# results hold names of others: only ui.c (and main.c, whose texts are ours) writes to stdout
FILENAME ~ /^src\// && FILENAME !~ /^src\/cli\/(ui|main)\.c$/ && /(^|[^A-Za-z0-9_])(v?printf|puts|putchar|fputs|fputc|fwrite) *\(/ && !/^ *\*/ {
    finding("writes past cr_ui_say, which escapes control characters")
}
# rows may lie elsewhere: the memory of a table is known to its own file alone
FILENAME ~ /^src\// && FILENAME !~ /^src\/emb\/table\.[ch]$/ && /(->|\.)records([^A-Za-z0-9_]|$)/ {
    finding("memory of a table; ask for a view (cr_table_view) or a row")
}
FILENAME ~ /^src\/.*\.c$/ && /^extern const / { finding("declaration in a .c file; a header or the list of its family declares it") }
FILENAME ~ /^(src|tests)\// && /(^|[^A-Za-z0-9_])(TODO|FIXME)($|[^A-Za-z0-9_])/ {
    rest = $0
    gsub(/TODO\(#[0-9]+\)/, "", rest)
    if (rest ~ /(^|[^A-Za-z0-9_])(TODO|FIXME)($|[^A-Za-z0-9_])/) finding("TODO without an issue; write TODO(#123) or do it")
}
END {
    close_file()
    if (bad) { printf "check_style: %d finding(s)\n", bad; exit 1 }
    printf "check_style: %d files, no findings\n", n_files
}
' $files || status=1

# one process for the last bytes of all files; which one it is matters only when one is wrong
# shellcheck disable=SC2086
if [ "$(tail -q -c 1 $files | tr -d '\n' | wc -c)" -ne 0 ]; then
    for f in $files; do
        if [ -s "$f" ] && [ -n "$(tail -c 1 "$f")" ]; then
            echo "$f: no newline at the end of the file"
            status=1
        fi
    done
fi
exit $status
