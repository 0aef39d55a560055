# ctrl-c: a checkpoint is saved; going on gives the bytes of the undisturbed run
tiny_config
tiny_data 6000 100
edit 11 '  num_epochs: 30'
edit 12 '  save_checkpoints_steps: 1000000'
run crank train tiny.yaml --model_dir whole
ends 0
: >"$err" # what the run before said is not waited for
crank train tiny.yaml --model_dir cut >"$out" 2>"$err" &
pid=$!
# once it trains: before that a signal just ends it
tries=0
until grep -q 'Training Epoch' "$err" || ! kill -0 $pid 2>/dev/null || [ $tries -ge 3000 ]; do
    tries=$((tries + 1))
    sleep 0.01
done
kill -INT $pid 2>/dev/null || kill -TERM $pid 2>/dev/null || true
code=0
wait $pid || code=$?
last="crank train, interrupted"
if [ $code -ne 0 ]; then
    ends 1
    is_there "$(newest cut)"
    run crank train tiny.yaml --model_dir cut --continue_train
    ends 0
fi
same_weights whole cut
