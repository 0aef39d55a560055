# a signal while ranks wait for the rows of a stream is a stop like any other: a checkpoint behind the same step of all ranks, exit
# code 1, and a run that goes on from it; ranks of the collective mode, parameter servers with every strategy
mpi_leaks
[ -f "$(dirname "$CRANK")/comm-mpich.so" ] || skip "crank was built without comm-mpich.so (package libmpich-dev)"
. "$CLI/brokers.sh"
pid=
trap 'kill $mock $pid 2>/dev/null || true' EXIT
sgd='train_config.sparse_optimizer={sgd_optimizer: {lr: 0.05}, constant_learning_rate: {}}'
dense_sgd='train_config.dense_optimizer={sgd_optimizer: {lr: 0.05, momentum: 0}, constant_learning_rate: {}}'
launch() { # launch DIR WHICH RANKS... -- FLAGS: begins a training of two workers, 120 rows in a step; its process is $pid
    dir=$1 where=$2
    shift 2
    ranks=
    while [ "$1" != -- ]; do ranks="$ranks $1" && shift; done
    shift
    # shellcheck disable=SC2086
    "$CRANK" launch $ranks --fault_timeout 300 -- train k.yaml --train_input_path "$where" --model_dir "$dir" --threads 1 --set data_config.batch_size=60 \
        --set train_config.lanes=8 --set train_config.num_epochs=0 --set train_config.num_steps=8 --set train_config.log_step_count_steps=1 --set train_config.save_checkpoints_steps=100 \
        --set "$sgd" --set "$dense_sgd" "$@" >"$out" 2>"$err" &
    pid=$!
}
until_made() { # until_made STEP RANK...: these ranks have made it
    step=$1
    shift
    for r in "$@"; do
        log=train_log.jsonl
        [ "$r" = 0 ] || log=train_log.rank-$r.jsonl
        for _ in $(seq 600); do
            ! grep -q "\"step\": $step," "$dir/$log" 2>/dev/null || break
            kill -0 "$pid" 2>/dev/null || break
            sleep 0.1
        done
        grep -q "\"step\": $step," "$dir/$log" || fail "rank $r has not made step $step: $(cat "$err")"
    done
}
ended() { # ended CODE: of the training
    code=0
    wait "$pid" || code=$?
    ends "$1"
}
stopped() { # stopped STEP [CODE]: the training has stopped behind it, with a checkpoint
    ended "${2:-143}"
    has_err "...stopped by a signal; the checkpoint is saved, --continue_train goes on from it..."
    ! grep -q 'waited for a message' "$err" || fail "$(cat "$err")"
    is_there "$dir/model.ckpt-$1/state.json"
    [ "$(find "$dir" -maxdepth 1 -name 'model.ckpt-*' | wc -l)" -eq 1 ] || fail "other checkpoints: $(ls "$dir")"
}
# 60 messages of 10 rows are 5 steps; then all wait. A worker may wait for the rows of step 5 before it makes step 4.
for how in ranks sync half_async async geo; do
    brokers 3 60 stream
    flags="--ps 1 --workers 2"
    [ $how != ranks ] || flags="--nproc-per-node 2"
    more="--strategy $how --set train_config.servers.k_steps=3"
    [ $how != ranks ] || more=
    # shellcheck disable=SC2086
    launch $how "$at?$all" $flags -- $more
    until_made 3 0 1
    kill -TERM $pid
    stopped 4
    tell more 36
    # shellcheck disable=SC2086
    launch $how "$at?$all" $flags -- $more --continue_train
    ended 0
    is_there $how/model.ckpt-7/state.json
    gone
done
rank_pid() { # rank_pid RANK: sets $rank_pid
    rank_pid=
    for child in $(cat "/proc/$pid/task/$pid/children"); do
        ! tr '\0' '\n' <"/proc/$child/environ" | grep -qx "RANK=$1" || rank_pid=$child
    done
    [ -n "$rank_pid" ] || fail "rank $1 is not there"
}
# A worker that is behind the others when the signal comes reads the rows that they have trained on.
for how in half_async async geo; do
    brokers 3 24 stream
    launch behind_$how "$at?$all" --ps 2 --workers 2 -- --strategy $how --set train_config.servers.k_steps=3
    until_made 0 0 1
    rank_pid 1
    kill -STOP "$rank_pid"
    tell more 36
    until_made 3 0
    kill -TERM $pid
    kill -CONT "$rank_pid"
    stopped 4
    gone
done
# a signal for one worker ends all of them behind the same step, as soon as the other one gets rows
brokers 3 24 stream
launch one "$at?$all" --ps 1 --workers 2 -- --strategy async
until_made 0 0 1
rank_pid 1
kill -TERM "$rank_pid"
tell more 36
stopped 1 1
gone
# before the first step: a group without offsets begins at the end of the topic
brokers 3 24 stream
for flags in "--nproc-per-node 2 --" "--ps 1 --workers 2 -- --strategy half_async"; do
    rm -rf none
    # shellcheck disable=SC2086
    launch none "$at?group.id=g" $flags
    for _ in $(seq 600); do
        [ ! -e none/pipeline.config ] || break
        sleep 0.1
    done
    kill -TERM $pid
    ended 143
    has_err "...stopped by a signal before the first step; there is nothing to save"
    [ -z "$(find none -name 'model.ckpt-*')" ] || fail "a checkpoint of nothing"
done
gone
