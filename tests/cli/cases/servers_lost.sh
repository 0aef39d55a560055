# parameter servers: a worker that is killed or stands still does not stop the others (half_async, async, geo); its rows are taken over,
# or reported as lost, or the job ends; a killed server, and workers that are lost where all ranks meet, restart the job
mpi_leaks
[ -f "$(dirname "$CRANK")/comm-mpich.so" ] || skip "crank was built without comm-mpich.so (package libmpich-dev)"
tiny_config
tiny_data 960 64
sgd='train_config.sparse_optimizer={sgd_optimizer: {lr: 0.05}, constant_learning_rate: {}}'
dense_sgd='train_config.dense_optimizer={sgd_optimizer: {lr: 0.05, momentum: 0}, constant_learning_rate: {}}'
may_be_killed=yes
# lose WHO STRATEGY POINT FLAGS...: worker WHO is hit at POINT, in its first life
lose() {
    who=$1
    strategy=$2
    point=$3
    shift 3
    rm -rf m
    # shellcheck disable=SC2086
    run env CRANK_TEST_KILL=$point CRANK_TEST_KILL_IF="RANK=$who TORCHELASTIC_RESTART_COUNT=0" crank launch --ps 2 --workers 3 ${launch:-} -- \
        train tiny.yaml --strategy "$strategy" --model_dir m --threads 1 --set train_config.num_epochs=2 --set train_config.save_checkpoints_steps=6 \
        --set data_config.batch_size=20 --set train_config.lanes=8 --set "$sgd" --set "$dense_sgd" --set train_config.servers.k_steps=2 "$@"
}
# 32 steps; a checkpoint behind every sixth, so that the round of the loss ends at step 12 with a checkpoint that was due anyway
whole() { # whole: the job has ended as one without a loss does, and with no restart counted
    ends 0
    for n in 6 12 18 24 30 31; do is_there m/model.ckpt-$n/state.json; done
    [ "$(find m -maxdepth 1 -name 'model.ckpt-*' | wc -l)" -eq 6 ] || fail "other checkpoints: $(ls m)"
    [ "$(wc -l <m/train_eval_result_v2.txt)" -eq 6 ] || fail "not one evaluation of each: $(cat m/train_eval_result_v2.txt)"
    ! grep -q 'restart 1 of' "$err" || fail "$(cat "$err")"
}
for case in "1 async" "0 geo" "2 half_async"; do
    # shellcheck disable=SC2086
    lose $case step:9
    whole
    has_err "...rank ${case%% *} on host ... was killed by signal 9 (Killed); the others go on without it"
    has_err "...worker ${case%% *} (rank ${case%% *}) was lost; its rows of ... steps, ... to 12, were trained by the others"
    has_err "...Restoring checkpoint from m/model.ckpt-12..."
done
# in the last round, and where no checkpoint was due: that of the loss goes when there is a later one
lose 1 async step:32 --set train_config.save_checkpoints_steps=100
ends 0
is_there m/model.ckpt-31/state.json
lose 1 async step:9 --set train_config.eval_interval_steps=12
whole
# its rows are not taken over
lose 1 async step:9 --set train_config.servers.lost_worker=report
whole
has_err "...its rows of ... steps, ... to 12, are lost (train_config.servers.lost_worker)"
# one that stands still: its agent gives it up and kills it
launch="--fault_timeout 2"
lose 1 async step:9:STOP
whole
has_err "...rank 1 on host ... is stalled: it has given no sign of life for 2 s; the others go on without it"
launch=
# the loss of a worker ends the job, or is a restart from the last checkpoint
lose 1 async step:9 --set train_config.servers.lost_worker=end
ends 137
launch="--max_restarts 1"
lose 1 async step:9 --set train_config.servers.lost_worker=end
ends 0
has_err "...rank 1 on host ... was killed by signal 9 (Killed); restart 1 of 1, from the last checkpoint"
# a server, and a worker while all ranks save, evaluate or meet
lose 4 async push:20
ends 0
has_err "...rank 4 on host ... was killed by signal 9 (Killed); restart 1 of 1, from the last checkpoint"
lose 1 async evaluate:1
ends 0
is_there m/model.ckpt-31/state.json
launch=
# mistakes
run crank launch --ps 1 --workers 2 -- train tiny.yaml --strategy async --model_dir no --set train_config.servers.lost_worker=ignore
ends 2
has_err "...lost_worker is 'ignore' and must be take_over, report or end"
run crank launch --ps 1 --workers 2 -- train tiny.yaml --strategy sync --model_dir warned --threads 1 --set train_config.servers.lost_worker=report
ends 0
has_err "...lost_worker has no effect with strategy sync, whose steps need all workers..."
# workers that may be lost do not talk through shared memory of MPI: a message that a killed process has half written stops all others
unset UCX_TLS
rm -rf m
"$CRANK" launch --ps 1 --workers 1 -- train tiny.yaml --strategy async --model_dir m --threads 1 --set "$sgd" --set "$dense_sgd" >"$out" 2>"$err" &
pid=$!
for k in $(seq 200); do
    child=$(cat "/proc/$pid/task/$pid/children" 2>/dev/null)
    child=${child%% *}
    [ -z "$child" ] || ! tr '\0' '\n' <"/proc/$child/environ" 2>/dev/null | grep -q '^PMI_RANK=' || break
    sleep 0.01
done
tr '\0' '\n' <"/proc/$child/environ" >environ
grep -q '^PMI_RANK=' environ || fail "no rank was seen: $(cat "$err")"
! grep '^UCX_TLS=' environ || fail "the launcher chooses how MPI talks"
wait $pid || fail "$(cat "$err")"
