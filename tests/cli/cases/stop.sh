# SIGINT, SIGTERM, SIGHUP: a checkpoint is saved; going on gives the model_dir of the undisturbed run. A checkpoint that
# only a signal made goes when a later one is there, so which ones stay does not depend on it
work=$(mktemp -d /dev/shm/crank-stop.XXXXXX 2>/dev/null) || work=$PWD
[ "$work" = "$PWD" ] || trap 'rm -rf "$work"' EXIT
cd "$work"
tiny_config
tiny_data 960 60
edit 11 '  num_epochs: 2'
set -- --threads 1 -q --set train_config.save_checkpoints_steps=20 --set train_config.eval_interval_steps=8 --set train_config.keep_checkpoint_max=2
# the tests themselves may run under nohup, which children inherit
train() { run env --default-signal=HUP CRANK_TEST_KILL="$kill" crank train tiny.yaml "$@"; }
kill=
train "$@"
ends 0
mv model whole
for signal in INT TERM HUP; do
    for point in step:1 step:14 step:21 step:58 step:60 evaluate:2 evaluate:3 evaluate:9 evaluated:3 sync:30 torn:40 rename:12; do
        kill=$point:$signal
        rm -rf model
        train "$@"
        ends 1
        has_err "crank train: stopped by a signal; the checkpoint is saved, --continue_train goes on from it"
        is_there "$(newest model)"
        again=$kill
        kill=
        train "$@" --continue_train
        ends 0
        kill=$again
        last="stopped at $kill"
        same_but_logs whole model
    done
done
# what a stop leaves: the checkpoint of the last step, and which one it is
kill=step:14:HUP
rm -rf model
train "$@"
ends 1
is_there model/model.ckpt-13
grep -q '"stopped": true' model/model.ckpt-13/state.json || fail "state.json does not say that a signal made it"
# stopped again before the next checkpoint is due: one of them is enough
kill=step:4:HUP
train "$@" --continue_train
ends 1
[ "$(ls -d model/model.ckpt-*)" = model/model.ckpt-17 ] || fail "$(ls model)"
# during an evaluation: what has been trained is saved
kill=evaluate:1:TERM
rm -rf model
train "$@"
ends 1
[ "$(ls -d model/model.ckpt-*)" = model/model.ckpt-8 ] || fail "$(ls model)"
grep -q '"metrics": null' model/model.ckpt-8/state.json || fail "state.json does not say that an evaluation is due"
# under nohup a terminal that closes stops nothing
kill=step:14:HUP
rm -rf model
run env CRANK_TEST_KILL="$kill" nohup crank train tiny.yaml "$@"
ends 0
last="stopped at $kill"
same_but_logs whole model
cd "$CASE_DIR/work"
