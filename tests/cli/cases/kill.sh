# kill -9 at any moment, then --continue_train: the bytes of the undisturbed run
tiny_config
tiny_data 6000 100
edit 11 '  num_epochs: 3'
edit 12 '  save_checkpoints_steps: 20'
may_be_killed=yes
run crank train tiny.yaml --model_dir whole --threads 2
ends 0
kills=0
round=0
while [ $round -lt 4 ]; do
    round=$((round + 1))
    rm -rf cut
    flag=
    tries=0
    while :; do
        tries=$((tries + 1))
        [ $tries -lt 60 ] || fail "never finishes"
        # a delay of its own for every start: 10 ms to 200 ms, longer when it never gets on
        delay=$(awk -v s="$round$tries" -v n="$tries" 'BEGIN { printf "%.3f", (0.01 + ((s * 7919) % 190) / 1000) * int(1 + n / 8) }')
        crank train tiny.yaml --model_dir cut --threads 2 $flag >"$out" 2>"$err" &
        pid=$!
        sleep "$delay"
        if kill -9 $pid 2>/dev/null; then :; fi
        code=0
        wait $pid 2>/dev/null || code=$?
        [ $code -eq 137 ] || break
        kills=$((kills + 1))
        flag=--continue_train
        # what is there is usable
        if ls cut/model.ckpt-*/ >/dev/null 2>&1; then
            run crank eval tiny.yaml --model_dir cut --eval_result_filename between.txt
            [ $code -eq 0 ] || run crank eval cut/pipeline.config --eval_result_filename between.txt
            ends 0
        fi
    done
    ends 0
    same_weights whole cut
done
echo "$kills kills"
[ $kills -ge 4 ] || fail "only $kills kills came in time"
ls cut | grep -v -E '^(model\.ckpt-[0-9]+|pipeline\.config|version|eval|eval_val|events\.out\.tfevents\..*|train_log\.jsonl|.*\.txt|.*\.json)$' >left || true
[ ! -s left ] || fail "left behind: $(cat left)"
