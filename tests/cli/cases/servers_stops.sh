# parameter servers without a barrier in each step: signals, a killed server, a bad row, a worker and a server that stand still
mpi_leaks
[ -f "$(dirname "$CRANK")/comm-mpich.so" ] || skip "crank was built without comm-mpich.so (package libmpich-dev)"
tiny_config
tiny_data 960 300
some="--threads 1 --set train_config.num_epochs=2 --set train_config.save_checkpoints_steps=5"
sgd='train_config.sparse_optimizer={sgd_optimizer: {lr: 0.05}, constant_learning_rate: {}}'
dense_sgd='train_config.dense_optimizer={sgd_optimizer: {lr: 0.05, momentum: 0}, constant_learning_rate: {}}'
# a signal to a worker or to the server: all end behind the same step, with a checkpoint, and go on from it
for strategy in half_async async geo; do
    for who in 1 2; do
        rm -rf stop
        point=step
        [ $who = 1 ] || point=push
        # shellcheck disable=SC2086
        run env CRANK_TEST_KILL=$point:3:TERM CRANK_TEST_KILL_IF=RANK=$who crank launch --ps 1 --workers 2 -- train tiny.yaml --strategy $strategy --model_dir stop $some \
            --set data_config.batch_size=60 --set "$sgd" --set "$dense_sgd" --set train_config.servers.k_steps=2 --set train_config.save_checkpoints_steps=100
        ends 1
        has_err "...stopped by a signal; the checkpoint is saved, --continue_train goes on from it..."
    done
    # shellcheck disable=SC2086
    run crank launch --ps 2 --workers 1 -- train stop/pipeline.config --strategy $strategy --continue_train $some --set data_config.batch_size=120
    ends 0
    is_there stop/model.ckpt-15
done
# A server that is killed comes back with all others from the last checkpoint. The steps behind it are made again.
may_be_killed=yes
# shellcheck disable=SC2086
run env CRANK_TEST_KILL=push:15 CRANK_TEST_KILL_IF="RANK=2 TORCHELASTIC_RESTART_COUNT=0" crank launch --ps 1 --workers 2 --max_restarts 1 -- \
    train tiny.yaml --strategy async --model_dir killed $some --set data_config.batch_size=60
ends 0
has_err "...rank 2 on host ... was killed by signal 9 (Killed); restart 1 of 1, from the last checkpoint"
has_err "...Restoring checkpoint from killed/model.ckpt-5..."
is_there killed/model.ckpt-15
may_be_killed=
# a bad row of one worker ends all with its place
sed '500s/.*/x,y,z/' train.csv >bad.csv
# shellcheck disable=SC2086
run crank launch --ps 1 --workers 2 -- train tiny.yaml --strategy async --model_dir bad $some --set data_config.batch_size=60 --train_input_path bad.csv
ends 3
grep -q 'bad.csv' "$err" || fail "$(cat "$err")"
# a worker that stands still is named by the server within the limit that is set
run env CRANK_TEST_KILL=step:3:HANG CRANK_TEST_KILL_IF=RANK=1 crank launch --ps 1 --workers 2 -- train tiny.yaml --strategy async --model_dir hang --threads 1 \
    --set data_config.batch_size=60 --set train_config.servers.worker_update_interval_secs=2
ends 1
has_err "...worker 1 (rank 1) has sent nothing for 2 s, which is the limit of train_config.servers.worker_update_interval_secs; look for what holds it, then go on with --continue_train..."
# a server that stands still is named by a worker
run env CRANK_TEST_KILL=push:3:HANG CRANK_TEST_KILL_IF=RANK=2 crank launch --ps 1 --workers 2 -- train tiny.yaml --strategy async --model_dir hang2 --threads 1 \
    --set data_config.batch_size=60 --set train_config.servers.rpc_deadline=700 --set train_config.servers.rpc_retry_times=3
ends 1
has_err "...took more than 2 s, which rpc_deadline and rpc_retry_times of train_config.servers allow..."
