# the words of the cases themselves (lib.sh): what has to fail does
refused() { # refused COMMANDS TEXT...: the commands fail a case, and each TEXT is a line of what it says
    if (eval "$1") >log 2>&1; then fail "it passes: $1"; fi
    rm -f "$CASE_DIR/owed"
    commands=$1
    shift
    for text; do
        grep -q -x -F -e "$text" log || fail "$commands does not say '$text': $(cat log)"
    done
}
# an exit code that nothing expects, at the next run and at the end, in a subshell too
wrong="FAIL: 'false' ended with exit code 1, and the case does not say that it expects this (ends N)"
refused 'run false; run true' "$wrong" 'after: false (exit code 1)'
refused 'run false; settled' "$wrong"
refused '(run false); settled' "$wrong"
refused 'run false; ends 2' 'FAIL: exit code 1, expected 2'
refused 'run true; ends 1 2' 'FAIL: exit code 0, expected 1 2'
refused 'run true; ends bad' 'FAIL: exit code 0, expected bad'
run false
ends 1
run false
ends 2 1
run false
ends bad
run false
ends any
run true
# texts that differ are shown as a diff, without the lines that fit
printf 'one 1\ntwo\nthree 3\nmany\nmany\nlast\n' >text
run cat text
says_out <<'END'
one ...
two
...
last
END
refused 'printf "one ...\ntwo\nthree ...\n...\nend\n" | says_out' 'FAIL: unexpected out' ' one 1' ' three 3' '-end' '+last'
cp text other
echo more >>other
refused 'same text other' 'FAIL: text and other differ' '+more'
