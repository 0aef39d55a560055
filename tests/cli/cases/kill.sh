# kill -9 at every write, sync, rename, step and evaluation, then --continue_train: the model_dir of the undisturbed run,
# file by file. Logs differ by nature: train_log.jsonl, event files and feature_counts.json tell what each run did.
work=$(mktemp -d /dev/shm/crank-kill.XXXXXX 2>/dev/null) || work=$PWD # where syncs cost nothing
[ "$work" = "$PWD" ] || trap 'rm -rf "$work"' EXIT
cd "$work"
tiny_config
tiny_data 960 60
edit 11 '  num_epochs: 1'
may_be_killed=yes
# checkpoints 5, 10, 14; evaluations at 3, 6, 9, 12 besides; the best one stays, of the others the newest
set -- --threads 1 -q --set data_config.batch_size=64 --set data_config.shuffle=true --set train_config.save_checkpoints_steps=5 \
    --set train_config.eval_interval_steps=3 --set train_config.keep_checkpoint_max=1 --set export_config.exporter_type=best \
    --set export_config.best_exporter_metric=binary_cross_entropy --set export_config.metric_larger_is_better=false
train() { run env CRANK_TEST_KILL="$kill" crank train tiny.yaml "$@"; }
kill=
train "$@"
ends 0
mv model whole
[ "$(ls -d whole/model.ckpt-* | wc -l)" -eq 2 ] || fail "$(ls whole)"
n=0
while :; do
    n=$((n + 1))
    kill=any:$n
    rm -rf model
    train "$@"
    [ $code -ne 0 ] || break
    ends 137
    # what is there is whole
    if [ $((n % 8)) -eq 0 ] && [ -d model/model.ckpt-5 ]; then
        run crank check "$(newest model)" -q
        ends 0
    fi
    kill=
    train "$@" --continue_train
    ends 0
    kill=any:$n
    last="killed at point $kill"
    same_but_logs whole model
done
echo "$n points"
[ $n -gt 250 ] || fail "only $n points"
# killed again and again in one model_dir, each time a little later
rm -rf model
set -- "$@" --continue_train
n=100
kills=0
while :; do
    kill=any:$n
    train "$@"
    [ $code -ne 0 ] || break
    ends 137
    kills=$((kills + 1))
    n=$((n + 17))
done
[ $kills -ge 3 ] || fail "only $kills kills"
last="killed at point $kill"
same_but_logs whole model
# a finished run that is asked to go on changes nothing
kill=
train "$@"
ends 0
last="killed at point $kill"
same_but_logs whole model
ls -A model | grep -v -E '^(model\.ckpt-[0-9]+|pipeline\.config|version|manifest\.json|eval_val|events\.out\.tfevents\..*|train_log\.jsonl|train_eval_result_v2\.txt|feature_counts\.json)$' >left || true
[ ! -s left ] || fail "left behind: $(cat left)"
cd "$CASE_DIR/work"
