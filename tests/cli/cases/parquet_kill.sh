# Parquet: kill -9 at any moment, then --continue_train: the bytes of the undisturbed run
tiny_config
tiny_data 6000 100
edit 11 '  num_epochs: 3'
edit 12 '  save_checkpoints_steps: 20'
tiny_parquet 700
may_be_killed=yes
kills=0
for shuffle in false true; do
    flags="--set data_config.shuffle=$shuffle --threads 2"
    rm -rf whole cut
    run crank train tiny_pq.yaml $flags --model_dir whole
    ends 0
    more=
    tries=0
    while :; do
        tries=$((tries + 1))
        [ $tries -lt 60 ] || fail "never finishes"
        delay=$(awk -v s="$tries" -v n="$tries" 'BEGIN { printf "%.3f", (0.03 + ((s * 7919) % 190) / 1000) * int(1 + n / 8) }')
        crank train tiny_pq.yaml $flags --model_dir cut $more >"$out" 2>"$err" &
        pid=$!
        sleep "$delay"
        if kill -9 $pid 2>/dev/null; then :; fi
        code=0
        wait $pid 2>/dev/null || code=$?
        [ $code -eq 137 ] || break
        kills=$((kills + 1))
        more=--continue_train
    done
    ends 0
    same_weights whole cut
done
[ $kills -ge 2 ] || fail "only $kills kills came in time"
# files that changed since the checkpoint
rm -rf cut
run crank train tiny_pq.yaml --model_dir cut --set train_config.num_steps=30 --set train_config.num_epochs=0
ends 0
tiny_rows train.csv 300 5
tiny_parquet 700
run crank train tiny_pq.yaml --model_dir cut --continue_train
[ $code -ne 0 ] || fail "other data is taken for the same"
