# one training at a time in a model_dir; those who only read are let in; a dead owner keeps nothing
tiny_config
tiny_data 6000 100
edit 11 '  num_epochs: 3'
edit 12 '  save_checkpoints_steps: 50'
run crank train tiny.yaml --model_dir whole
ends 0
is_gone whole/train.lock
edit 11 '  num_epochs: 100000'
crank train tiny.yaml >first.out 2>first.err &
pid=$!
tries=0
until [ -d model/model.ckpt-50 ] || ! kill -0 $pid 2>/dev/null || [ $tries -ge 3000 ]; do
    tries=$((tries + 1))
    sleep 0.01
done
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
kill -0 $pid 2>/dev/null || fail "the first training ended: $(tail -n 3 first.err)"
# the owner dies; its file stays and stops nobody
kill -9 $pid
wait $pid || true
is_there model/train.lock
rm -rf model
mkdir model
printf 'host %s\nprocess %s\nsince 2001-01-01 00:00:00\nstart_ticks 1\n' "$host" $$ >model/train.lock
edit 11 '  num_epochs: 3'
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
