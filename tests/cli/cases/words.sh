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
mkdir a b
cp text a/text
cp other b/text
refused 'same a b' 'FAIL: a and b differ' ' last' '+more'
cp text b/text
echo 1 >a/train_log.jsonl
echo 2 >b/train_log.jsonl
same_but_logs a b
refused 'same a b' '-1' '+2'
echo 3 >a/new
refused 'same_but_logs a b' 'FAIL: a and b differ' 'Only in a: new'
# weights that differ are told by tensor and element, with both values as hex floats
tiny_data 320 32
tiny_config
run crank train tiny.yaml -q
ends 0
cp -r model other_model
same_weights model other_model
ckpt=$(newest other_model)
file=$ckpt/model-00001-of-00001.safetensors
flip "$file" $(($(wc -c <"$file") - 1)) # in the last element of the last tensor
refused 'same_weights model other_model'
grep -q -x -E "FAIL: tensor 'model\..*' differs first at \[[0-9, ]*\]: -?0x[01][0-9a-f.]*p[+-][0-9]+ \(0x[0-9a-f]{8}\) in model/.*/model-00001-of-00001.safetensors, -?0x[01][0-9a-f.]*p[+-][0-9]+ \(0x[0-9a-f]{8}\) in $file" log ||
    fail "$(cat log)"
refused 'same model other_model' "$(sed -n 's/^FAIL: //p' log)"
rm "$ckpt"/*
cp "$(newest model)"/model-* "$ckpt"
refused 'same_weights other_model other_model' "FAIL: $ckpt holds 1 safetensors files; weights and optimizer state were expected"
refused 'same_weights model other_model' "FAIL: $ckpt/optimizer-00001-of-00001.safetensors is missing"
mv "$ckpt" other_model/model.ckpt-70
refused 'same_weights model other_model' "FAIL: newest checkpoints are $(newest model) and other_model/model.ckpt-70"
# a command that stops at a kill point, and one that ends before it
stops_at step:3 crank train tiny.yaml -q --model_dir stopped
is_gone stopped/model.ckpt-9
goes_on
ends 0
is_there stopped/model.ckpt-19
refused 'stops_at step:1000 crank train tiny.yaml -q --model_dir ended' 'FAIL: it ended before step:1000'
