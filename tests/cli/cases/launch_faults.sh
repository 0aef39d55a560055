# crank launch: killed, stopped and signalled ranks; restarts from checkpoints to the same bytes; nothing is left running
mpi_leaks
[ -f "$(dirname "$CRANK")/comm-mpich.so" ] || skip "crank was built without comm-mpich.so (package libmpich-dev)"
[ -r /proc/self/environ ] || skip "no /proc"
tiny_config
tiny_data 960 64
mark=CRANK_TEST_MARK=$$.$(date +%s%N)
export "${mark?}"
settings="--set data_config.batch_size=30 --set train_config.lanes=4 --set train_config.save_checkpoints_steps=4 --set train_config.num_epochs=2"
# ours PATTERN: processes of this test whose command line fits, by the mark in their environment
ours() {
    for p in /proc/[0-9]*; do
        grep -qz "^$mark\$" "$p/environ" 2>/dev/null || continue
        tr '\0' ' ' <"$p/cmdline" 2>/dev/null | grep -q -- "$1" || continue
        echo "${p#/proc/}"
    done
}
none_left() {
    left=$(ours 'crank')
    [ -z "$left" ] || fail "still running: $left"
}
# rank N of the model_dir D that runs now
rank_pid() {
    for p in $(ours "crank train.*--model_dir $2"); do
        if grep -qz "^RANK=$1\$" "/proc/$p/environ" 2>/dev/null; then echo "$p"; fi
    done
}
# shellcheck disable=SC2086
run crank train tiny.yaml --model_dir one --threads 2 $settings --set data_config.batch_size=60
ends 0
launch() { # launch DIR FLAGS...: in the background, as $pid; more arguments of train: $more
    dir=$1
    shift
    # shellcheck disable=SC2086
    crank launch --standalone --nproc-per-node 2 --fault_timeout 2 "$@" -- train tiny.yaml --model_dir "$dir" $settings ${more:-} >"$out" 2>"$err" &
    pid=$!
    last="crank launch $* into $dir"
}
# launch_held DIR FLAGS...: the same; rank 1 stops itself before step 7, and is $held
launch_held() {
    CRANK_TEST_KILL=step:7:STOP CRANK_TEST_KILL_IF="RANK=1 TORCHELASTIC_RESTART_COUNT=0"
    export CRANK_TEST_KILL CRANK_TEST_KILL_IF
    launch "$@"
    unset CRANK_TEST_KILL CRANK_TEST_KILL_IF
    until held=$(rank_pid 1 "$dir") && [ -n "$held" ] && grep -q '^State:.T' "/proc/$held/status"; do
        kill -0 $pid || fail "it ended early"
        sleep 0.02
    done
}
pid=
trap 'kill -9 $pid 2>/dev/null || true' EXIT
over() {
    code=0
    wait $pid || code=$?
    none_left
}
# killed by SIGKILL in the middle: restarted, to the same bytes
launch_held kill --max_restarts 2 --fault_timeout 20
kill -9 "$held"
over
ends 0
has_err "...rank 1 on host ... was killed by signal 9 (Killed); restart 1 of 2, from the last checkpoint"
same_weights one kill
# Ctrl-Z stops the ranks too; they go on with the launcher. None of them has opened a port
launch_held pause --fault_timeout 6
kill -TSTP $pid
until_stopped $pid || fail "the launcher did not stop"
until_stopped "$(rank_pid 0 pause)" || fail "rank 0 did not stop"
for p in $pid $(ours "crank train.*--model_dir pause"); do
    for f in /proc/"$p"/fd/*; do
        case $(readlink "$f" || true) in
        socket:*)
            inode=$(readlink "$f" | tr -dc 0-9)
            ! grep -q " 0A .* $inode " /proc/net/tcp /proc/net/tcp6 2>/dev/null || fail "process $p listens on a port"
            ;;
        esac
    done
done
sleep 7 # longer than --fault_timeout
kill -CONT $pid
over
ends 0
no_err "...restart..."
same_weights one pause
# without restarts the exit code is the rank's
launch_held kill0 --fault_timeout 20
kill -9 "$(rank_pid 0 kill0)"
over
ends 137
has_err "crank launch: rank 0 on host ... was killed by signal 9 (Killed)"
[ "$(grep -c 'rank 0 on host' "$err")" -eq 1 ] || fail "told more than once"
no_err "...cannot reach the others..."
# a rank that is stopped is found, named and ended
launch_held stop --max_restarts 1
began=$(date +%s)
over
ends 0
[ $(($(date +%s) - began)) -lt 25 ] || fail "it took too long"
has_err "...rank 1 on host ... is stalled: it has given no sign of life for 2 s; restart 1 of 1, from the last checkpoint"
same_weights one stop
# a rank that is stopped before its first sign of life, and one whose main thread hangs before MPI is loaded, or before all ranks
# have met, while its sign of life goes on: found, named, ended. A busy machine may make others slow, too, so there is more than one restart
for how in life:1:STOP meet:1:HANG met:1:HANG; do
    CRANK_TEST_KILL=$how CRANK_TEST_KILL_IF="RANK=1 TORCHELASTIC_RESTART_COUNT=0"
    export CRANK_TEST_KILL CRANK_TEST_KILL_IF
    launch "start_${how%%:*}" --max_restarts 3 --fault_timeout 20 --rdzv_conf start_timeout=5
    unset CRANK_TEST_KILL CRANK_TEST_KILL_IF
    over
    ends 0
    case $how in
    life:*) has_err "...rank 1 on host ... is stalled: it has given no sign of life in the 5 s since its start; if a start may be so slow, raise --rdzv_conf start_timeout=SECONDS; restart 1 of 3" ;;
    meet:*) has_err "...rank 1 on host ... is stalled: it has not met the other ranks by MPI for 5 s; if a start ...; restart 1 of 3" ;;
    met:*) has_err "...rank ... on host ... is stalled: it has not met the other ranks by MPI for 5 s; if a start ...; restart 1 of 3" ;;
    esac
    same_weights one "start_${how%%:*}"
done
# one that is busy for longer than that, and lives, is left alone
CRANK_TEST_KILL=step:1:HANG CRANK_TEST_KILL_IF=RANK=1
export CRANK_TEST_KILL CRANK_TEST_KILL_IF
launch busy --fault_timeout 4 --rdzv_conf start_timeout=4
unset CRANK_TEST_KILL CRANK_TEST_KILL_IF
sleep 10
kill -0 $pid || fail "a rank that lives was ended"
kill -INT $pid
sleep 0.5
kill -INT $pid
over
ends 130
no_err "...is stalled..."
# a killed launcher leaves no ranks behind
launch_held orphan --fault_timeout 20
kill -9 $pid
wait $pid || true
for i in $(seq 100); do
    [ -n "$(ours 'crank')" ] || break
    sleep 0.05
done
none_left
# SIGTERM to the launcher saves a checkpoint; going on from it gives the same bytes
launch_held term --fault_timeout 20
kill -TERM $pid
kill -CONT "$held"
over
ends 143
has_err "crank train: stopped by a signal; the checkpoint is saved, --continue_train goes on from it"
[ "$(grep -c 'stopped by a signal' "$err")" -eq 1 ] || fail "told more than once"
more=--continue_train
launch term
over
more=
ends 0
same_weights one term
# Ctrl-C twice ends at once
launch_held int --fault_timeout 20
kill -INT $pid
sleep 0.5 # two at once could become one
kill -INT $pid
over
ends 130
# a disk that is full when a checkpoint is written: the rank's own error is told, and it is tried again
[ "$(id -u)" -eq 0 ] || exit 0 # a small tmpfs needs root
mkdir small
mount -t tmpfs -o size=64k none small 2>/dev/null || exit 0
trap 'kill -9 $pid 2>/dev/null || true; umount small' EXIT
# shellcheck disable=SC2086
run crank launch --standalone --nproc-per-node 2 --max_restarts 1 -- train tiny.yaml --model_dir small/m $settings
ends 1
has_err "...rank ... on host ... ended with exit code 1; restart 1 of 1..."
has_err "crank launch: rank ... on host ... ended with exit code 1; all restarts are used up (--max_restarts)"
[ "$(grep -c 'No space left' "$err")" -eq 2 ] || fail "not once per attempt: $(cat "$err")"
none_left
