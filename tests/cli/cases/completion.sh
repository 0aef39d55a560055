# scripts that complete commands and flags, and manual pages, both from the tables
run crank completion bash
ends 0
cp "$out" crank.bash
cat >ask.sh <<'END'
. ./crank.bash
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
compopt() { :; }
_crank
printf '%s\n' "${COMPREPLY[@]}" | sort
END
if command -v bash >/dev/null; then
    bash ask.sh crank tra >got
    echo train >want
    same want got
    bash ask.sh crank train --model_ >got
    echo --model_dir >want
    same want got
    : >pipeline.yaml
    bash ask.sh crank train pipel >got
    echo pipeline.yaml >want
    same want got
    bash ask.sh crank train --threads '' >got
    echo >want # a number: nothing is offered
    same want got
fi
for shell in zsh fish; do
    run crank completion $shell
    ends 0
    grep -q 'model_dir' "$out" || fail "no flags for $shell"
    command -v $shell >/dev/null || continue
    cp "$out" script
    $shell -n script || fail "$shell does not read its script"
done
run crank completion tcsh
ends 2
has_err "crank completion: the shell is 'tcsh' and must be bash, zsh or fish"
# manual pages
run crank manual -o man
ends 0
for c in train eval predict init; do
    grep -q '^.SH OPTIONS' man/crank-$c.1 || fail "no options in man/crank-$c.1"
done
grep -q 'crank\\-train' man/crank.1 || fail "the main page does not list train"
crank help | sed -n 's/^  \([a-z_]*\) .*/\1/p' | sed '/^crank$/d' | while read -r c; do
    [ -f "man/crank-$c.1" ] || [ "$c" = add_feature_info_to_config ] || fail "no page of $c"
done || fail "pages are missing"
if command -v groff >/dev/null; then
    for f in man/*.1; do
        groff -man -Tutf8 -ww -z "$f" 2>warnings || fail "groff does not read $f"
        [ ! -s warnings ] || fail "$f: $(head -n 3 warnings)"
    done
fi
