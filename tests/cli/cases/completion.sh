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
    # words where a command knows them, and files behind them
    bash ask.sh crank completion '' >got
    printf 'bash\nfish\nzsh\n' >want
    same want got
    bash ask.sh crank synth ta >got
    echo taobao >want
    same want got
    bash ask.sh crank help tu >got
    echo tune >want
    same want got
    bash ask.sh crank help mod >got
    echo models >want
    same want got
    bash ask.sh crank bench lim >got
    echo limits >want
    same want got
    bash ask.sh crank bench train pipel >got
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
    grep -q 'criteo taobao census' "$out" || fail "no words for $shell"
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
# a command that is added has its page, is completed by all shells, and stands in the lists of the documents
for shell in zsh fish; do crank completion $shell >crank.$shell; done
crank help | sed -n 's/^  \([a-z_]*\) .*/\1/p' | sed '/^crank$/d' >commands
[ "$(wc -l <commands)" -gt 30 ] || fail "crank help lists few commands: $(cat commands)"
while read -r c; do
    is_there "man/crank-$c.1"
    grep -q "^    $c)" crank.bash || fail "bash does not complete $c"
    grep -q "^    $c)" crank.zsh || fail "zsh does not complete $c"
    grep -q "__fish_use_subcommand -a $c " crank.fish || fail "fish does not complete $c"
    for page in README.md README.zh-CN.md; do
        grep -q "\`$c\`" "$CLI/../../$page" || fail "$page does not name crank $c"
    done
    grep -q "\`crank $c[ \`]" "$CLI/../../docs/guide/commands.md" || fail "docs/guide/commands.md has no row for crank $c"
done <commands
if command -v groff >/dev/null; then
    for f in man/*.1; do
        groff -man -Tutf8 -ww -z "$f" 2>warnings || fail "groff does not read $f"
        [ ! -s warnings ] || fail "$f: $(head -n 3 warnings)"
    done
fi
