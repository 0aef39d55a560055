# Checkpoints that are written while training goes on (no evaluation is due): kill -9 at every point, on both threads, then
# --continue_train: the model_dir of the undisturbed run, file by file; it is also that of a run that waits for its checkpoints.
work=$(mktemp -d /dev/shm/crank-kill.XXXXXX 2>/dev/null) || work=$PWD # where syncs cost nothing
[ "$work" = "$PWD" ] || trap 'rm -rf "$work"' EXIT
cd "$work"
tiny_config
tiny_data 640 60
edit 2 ''
edit 11 '  num_epochs: 1'
may_be_killed=yes
# checkpoints 3, 6, 9; the newest two stay
set -- --threads 2 --set data_config.batch_size=64 --set data_config.shuffle=true --set train_config.save_checkpoints_steps=3 \
    --set train_config.keep_checkpoint_max=2 --set train_config.use_tensorboard=false
train() { run env CRANK_TEST_KILL="$kill" crank train tiny.yaml "$@"; }
kill=
train "$@" --set train_config.save_in_background=false
ends 0
has_err "...Saved checkpoint to model/model.ckpt-3: ... in 2 files, training stood still for 0... s"
no_err "...went on while it was written"
mv model whole
sed -i '/save_in_background/d' whole/pipeline.config
train "$@"
ends 0
has_err "...Saving checkpoint to model/model.ckpt-3..."
has_err "...Saved checkpoint to model/model.ckpt-3: ... in 2 files, training stood still for 0... s and went on while it was written"
last="undisturbed"
rm whole/manifest.json # it has the digest of the config
cp model/manifest.json whole/
same_but_logs whole model
n=0
while :; do
    n=$((n + 1))
    kill=any:$n
    rm -rf model
    train "$@"
    [ $code -ne 0 ] || break
    ends 137
    if [ $((n % 8)) -eq 0 ] && [ -d model/model.ckpt-3 ]; then
        run crank check "$(newest model)" -q
        ends 0
    fi
    kill=
    train "$@" --continue_train
    ends 0
    last="killed at point any:$n"
    same_but_logs whole model
done
echo "$n points"
[ $n -gt 80 ] || fail "only $n points"
# a signal while a checkpoint is written: both are there
kill=step:5:TERM
rm -rf model
train "$@"
ends 1
is_there model/model.ckpt-3
is_there model/model.ckpt-4
kill=
train "$@" --continue_train
ends 0
same_but_logs whole model
cd "$CASE_DIR/work"
