#!/bin/sh
# check_test.sh - do the checks find what they are for?
#
# Builds small trees with one mistake each and expects the named finding and exit code 1; a clean
# tree must pass. Needs cc, ar and nm for the symbol check.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failed=0
n=0

fresh() { # a clean tree
    rm -rf "$tmp/t"
    mkdir -p "$tmp/t/src/base" "$tmp/t/src/data" "$tmp/t/src/graph" "$tmp/t/tools" "$tmp/t/tests" "$tmp/t/docs"
    printf '# level module\n0 base\n2 data\n2 graph\n' >"$tmp/t/tools/layers.txt"
    printf '#include "data/a.h"\n#include "base/b.h"\n#include <stdio.h>\n' >"$tmp/t/src/data/a.c"
    printf 'text \303\251 \344\270\255\n' >"$tmp/t/docs/a.md"
}

expect() { # expect CODE PATTERN COMMAND...
    want=$1 pattern=$2
    shift 2
    n=$((n + 1))
    code=0
    out=$("$@" 2>&1) || code=$?
    if [ "$code" -ne "$want" ] || ! printf '%s\n' "$out" | grep -q -e "$pattern"; then
        echo "check_test: case $n: expected exit $want and '$pattern', got exit $code:"
        printf '%s\n' "$out"
        failed=1
    fi
}

layers() { expect "$1" "$2" "$here/check_layers.sh" "$tmp/t"; }
style() { expect "$1" "$2" "$here/check_style.sh" "$tmp/t"; }

fresh
layers 0 'no findings'
printf '#include "data/a.h"\n' >"$tmp/t/src/base/b.h"
layers 1 'src/base/b.h:1: .*lies above'
fresh
printf '\n  #  include "graph/g.h"\n' >"$tmp/t/src/data/a.c"
layers 1 'src/data/a.c:2: .*neighbour'
fresh
printf '#include "a.h"\n' >"$tmp/t/src/data/a.c"
layers 1 'lacks its folder'
printf '#include "base/b_int.h"\n' >"$tmp/t/src/data/a.c"
layers 1 'is internal to base'
printf '#include "other/b.h"\n' >"$tmp/t/src/data/a.c"
layers 1 'in no folder'
fresh
mkdir "$tmp/t/docs/design"
printf '| 0 | `base` | x |\n| 2 | `data`, `graph` | `y` |\n' >"$tmp/t/docs/design/architecture.md"
layers 0 'no findings'
printf '| 0 | `base` | x |\n| 1 | `data` |\n| 2 | `old` |\n' >"$tmp/t/docs/design/architecture.md"
layers 1 'architecture.md:2: "data" is level 2'
layers 1 'architecture.md:3: "old" is no folder'
layers 1 'the table of layers lacks "graph"'
fresh
mkdir "$tmp/t/src/new"
echo >"$tmp/t/src/new/x.c"
layers 1 '"new" is not in tools/layers.txt'
rm -rf "$tmp/t/src"
layers 1 'src'

fresh
stores() { expect "$1" "$2" "$here/check_stores.sh" "$tmp/t"; }
stores 0 'no findings'
printf 'void f(void) {\n    int fd = open("x", 0);\n}\n' >"$tmp/t/src/data/x.c"
stores 1 'src/data/x.c:2: a file without its store'
printf 'void f(void) {\n    f->open(x); /* stat(y) */\n}\n' >"$tmp/t/src/data/x.c"
mkdir "$tmp/t/src/store"
printf 'int fd = open("x", 0);\n' >"$tmp/t/src/store/x.c"
stores 1 'src/data/x.c:2'
printf 'void f(void) {\n    f->open(x);\n}\n' >"$tmp/t/src/data/x.c"
stores 0 'no findings'

fresh
style 0 'no findings'
printf 'static void f(void) {\n    printf("x");\n}\n' >"$tmp/t/src/data/x.c"
style 1 'src/data/x.c:2: writes past cr_ui_say'
fresh
printf 'float *f(cr_table *t) {\n    return t->records + 1;\n}\n' >"$tmp/t/src/data/x.c"
style 1 'src/data/x.c:2: memory of a table'
fresh
printf 'extern const int cr_x;\n' >"$tmp/t/src/data/x.c"
style 1 'src/data/x.c:1: declaration in a .c file'
fresh
printf 'a\tb\n' >"$tmp/t/src/data/x.c"
style 1 'src/data/x.c:1: tab'
printf 'ok\na \n' >"$tmp/t/src/data/x.c"
style 1 'src/data/x.c:2: blank at the end'
printf 'a\r\n' >"$tmp/t/src/data/x.c"
style 1 'blank at the end'
printf 'a' >"$tmp/t/src/data/x.c"
style 1 'src/data/x.c: no newline'
printf '// TODO later\n' >"$tmp/t/src/data/x.c"
style 1 'TODO without'
printf '// TODO(#12): this, TODO that\n' >"$tmp/t/src/data/x.c"
style 1 'TODO without'
printf '// FIXME(#3)\n' >"$tmp/t/src/data/x.c"
style 1 'TODO without'
printf '// TODO(#12): this\nint MY_TODO_LIST;\n' >"$tmp/t/src/data/x.c"
style 0 'no findings'
for c in '\0342\0200\0213' '\0342\0200\0256' '\0357\0273\0277' '\0302\0240' '\0302\0255' '\0342\0201\0240'; do
    printf 'a%bb\n' "$c" >"$tmp/t/docs/a.md"
    style 1 'docs/a.md:1: invisible'
done
printf 'a\033b\n' >"$tmp/t/docs/a.md"
style 1 'control character'
fresh
awk 'BEGIN { for (i = 0; i < 901; i++) print "x" }' >"$tmp/t/src/data/x.c"
style 1 '901 lines'
awk 'BEGIN { for (i = 0; i < 900; i++) print "x" }' >"$tmp/t/src/data/x.c"
style 0 'no findings'

build() { # build TEXT
    rm -rf "$tmp/o"
    mkdir "$tmp/o"
    printf '%s\n' "$1" >"$tmp/o/x.c"
    (cd "$tmp/o" && ${CC:-cc} -c x.c && ar rc libx.a x.o)
}
build 'static int hidden(void) { return 1; } int cr_seen(void) { return hidden(); } extern int other; int cr_o(void) { return other; }'
expect 0 'no findings' "$here/check_symbols.sh" "$tmp/o"
build 'int bare(void) { return 1; }'
expect 1 'libx.a: .*bare' "$here/check_symbols.sh" "$tmp/o"
build 'int cr_a(void) { return 1; } int table[3];'
expect 1 'libx.a: .*table' "$here/check_symbols.sh" "$tmp/o"
mkdir "$tmp/none"
expect 1 'no static library' "$here/check_symbols.sh" "$tmp/none"
expect 2 'usage' "$here/check_symbols.sh"

rm -rf "$tmp/k"
mkdir -p "$tmp/k/src/kern" "$tmp/k/tests/kern"
kernels() { # kernels CODE PATTERN TEST
    printf '%s\n' "$3" >"$tmp/k/tests/kern/a.c"
    expect "$1" "$2" "$here/check_kernels.sh" "$tmp/k"
}
printf '#define CR_MORE(X) X(int, mul,\\\n (int a, int b))\n#define CR_KERNELS(X) X(int, add, (int a, int b)) CR_MORE(X) X(double, peak, (void))\n' >"$tmp/k/src/kern/list.h"
kernels 0 '3 kernels, no findings' 'int f(T *k) { return k->add(1, k->mul(2, 3)); }'
kernels 0 'no findings' '#define CALL(n) k->n(1, 2)
int f(T *k) { return CALL(add) + CALL(mul); }'
kernels 1 "calls the kernel 'mul'" 'int f(T *k) { return k->add(1, 2) + k->mul_bwd(3) + (k->mul != 0); }'
kernels 1 "calls the kernel 'add'" 'static void bench(void) {
    k->add(1, 2);
}
int f(T *k) { return k->mul(3, 4); }'
kernels 1 '2 of 3' '/* k->add(1, k->mul(2, 3)) */'
printf '#define CR_KERNELS(X)\n' >"$tmp/k/src/kern/list.h"
kernels 1 'no kernels found' 'int x;'

rm -rf "$tmp/c"
mkdir -p "$tmp/c/src" "$tmp/c/docs/reference"
printf '| `seed` | integer |\n| `lanes` | integer |\n' >"$tmp/c/docs/reference/TrainConfig.md"
keys() { # keys CODE PATTERN TEXT
    printf '%s\n' "$3" >"$tmp/c/src/a.c"
    expect "$1" "$2" "$here/check_keys.sh" "$tmp/c"
}
keys 0 '2 keys, no findings' '"set train_config.seed" "or train_config.lanes: 4"'
keys 1 "TrainConfig.md: there is no key 'sed', which is named in: src/a.c" '"set train_config.sed"'
keys 1 'no keys found' 'int x;'

mkdir -p "$tmp/d/src/op" "$tmp/d/docs/design"
touch "$tmp/d/src/op/a.c"
files() { # files CODE PATTERN TEXT
    printf '%s\n' "$3" >"$tmp/d/docs/design/a.md"
    expect "$1" "$2" "$here/check_files.sh" "$tmp/d"
}
files 0 '2 names, no findings' 'see `op/a.c`
and src/op/a.c, not tests/op/b.c'
files 1 'docs/design/a.md:2: there is no src/op/b.c' 'op/a.c
(op/b.c)'
files 1 'no page names a file' 'a.c'

if [ $failed -ne 0 ]; then exit 1; fi
echo "check_test: $n cases pass"
