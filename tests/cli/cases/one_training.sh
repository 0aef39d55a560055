# one training at a time in a model_dir; those who only read are let in; a dead owner keeps nothing
tiny_config
tiny_data 6000 100
edit 11 '  num_epochs: 3'
edit 12 '  save_checkpoints_steps: 50'
run crank train tiny.yaml --model_dir whole
ends 0
is_gone whole/train.lock
# the first training stands still before step 60
stops_at step:60 crank train tiny.yaml
first_err=$CASE_DIR/first_err
mv "$err" "$first_err"
is_there model/model.ckpt-50
host=$(uname -n)
grep -q "^host $host\$" model/train.lock || fail "no host: $(cat model/train.lock)"
grep -q "^process $pid\$" model/train.lock || fail "no process: $(cat model/train.lock)"
for flag in --continue_train -q; do
    run crank train tiny.yaml $flag
    ends 1
    has_err "model: process $pid on $host has been training in this model_dir since 20...; wait for it, stop it, or choose another --model_dir"
done
# readers
run crank eval tiny.yaml
ends 0
run crank export tiny.yaml --export_dir e
ends 0
run crank predict --pipeline_config_path tiny.yaml --checkpoint_path model --predict_input_path eval.csv --predict_output_path p
ends 0
run crank params model
ends 0
grep -q '^State:.T' /proc/$pid/status || fail "the first training ended: $(tail -n 3 "$first_err")"
# the owner dies; its file stays and stops nobody
kill -9 $pid
wait $pid || true
is_there model/train.lock
rm -rf model
mkdir model
printf 'host %s\nprocess %s\nsince 2001-01-01 00:00:00\nstart_ticks 1\n' "$host" $$ >model/train.lock
run crank train tiny.yaml
ends 0
has_err "...model: process $$, which had trained here since 2001-01-01 00:00:00, ended without removing its lock; this run takes over"
is_gone model/train.lock
same_weights whole model
# an owner on another machine that left its file: the lock says that it has ended, a mount that keeps locks to one machine would not
rm -rf model
mkdir model
printf 'host elsewhere\nprocess 12\nsince 2001-01-01 00:00:00 +0000\nstart_ticks 1\n' >model/train.lock
run crank train tiny.yaml
ends 0
has_err "...model: process 12 on elsewhere has trained here since 2001-01-01 00:00:00 +0000 and did not remove its lock; this machine cannot see whether it still runs where locks are kept to one machine (NFS with nolock or local_lock): make sure that it has ended"
is_gone model/train.lock
# a folder that is removed or replaced under a run: no two runs in one folder, and no lock of another run is taken away
at_step() { # at_step STEP OPTIONS...: a training that stops itself before the step; its process is $pid
    step=$1
    shift
    stops_at step:$step crank train tiny.yaml -q --threads 1 --set train_config.num_epochs=1 "$@"
}
rm -rf model
at_step 70 --set train_config.save_checkpoints_steps=50
first=$pid
rm -r model
err=$CASE_DIR/err2
at_step 70 --set train_config.save_checkpoints_steps=40
err=$CASE_DIR/err
goes_on $first
[ $code -eq 1 ] || fail "exit code $code"
has_err "model: this model_dir was replaced by another folder while the run was training in it; the run stops and leaves that folder alone. Give each run a --model_dir of its own"
is_there model/train.lock
goes_on
[ $code -eq 0 ] || fail "exit code $code"
[ "$(echo model/model.ckpt-*)" = "model/model.ckpt-120 model/model.ckpt-160 model/model.ckpt-187 model/model.ckpt-40 model/model.ckpt-80" ] || fail "$(ls model)"
# nobody else is there: the run goes on
for what in model model/train.lock; do
    rm -rf model
    at_step 70 --set train_config.save_checkpoints_steps=50
    rm -r $what
    goes_on
    [ $code -eq 0 ] || fail "exit code $code"
    has_err "...$what: ... was removed while this run was training; it is made anew..."
    is_there model/model.ckpt-187
    is_gone model/train.lock
done
