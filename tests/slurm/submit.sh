#!/bin/sh
# submit.sh CRANK - crank submit, crank jobs and crank bundle with a real Slurm of two nodes on this machine (cluster.sh).
#
# A config becomes a trained model with the bytes of one process; a lost node requeues the job, which goes on from its checkpoint; logs
# are followed and jobs are stopped by crank's own words; the signal before the time limit saves a checkpoint and requeues the job.
# Exit code 77: this machine cannot run it, and why.
set -u
[ $# -eq 1 ] && [ -x "$1" ] || { echo "usage: submit.sh CRANK" >&2; exit 2; }
CRANK=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
HERE=$(cd "$(dirname "$0")" && pwd)
CLI=$HERE/../cli
plugs=$(dirname "$CRANK")
[ -f "$plugs/comm-mpich.so" ] || { echo "crank was built without comm-mpich.so (package libmpich-dev)"; exit 77; }
CASE_DIR=$(mktemp -d "${TMPDIR:-/tmp}/crank-submit.XXXXXX")
WEIGHTS_DIFF=$plugs/tests/cli/weights_diff
CRANK_JOBS_DIR=$CASE_DIR/jobs
export CASE_DIR WEIGHTS_DIFF CRANK_JOBS_DIR
sh "$HERE/cluster.sh" start "$CASE_DIR/slurm" 2
code=$?
[ $code -eq 0 ] || { rm -rf "$CASE_DIR"; exit $code; }
trap 'sh "$HERE/cluster.sh" stop "$CASE_DIR/slurm"' EXIT
trap 'exit 130' INT TERM
SLURM_CONF=$CASE_DIR/slurm/slurm.conf
UCX_TLS=self,tcp # nodes of one machine could share memory, and hosts cannot
export SLURM_CONF UCX_TLS

mkdir "$CASE_DIR/work" && cd "$CASE_DIR/work" || exit 1
. "$CLI/lib.sh"
PATH=$plugs:$PATH
mpi_leaks
tiny_config
tiny_data 960 64
settings="--set data_config.batch_size=10 --set train_config.lanes=8 --set train_config.save_checkpoints_steps=4 --set train_config.num_epochs=2"
passed() {
    echo "ok: $*"
    n_passed=$((n_passed + 1))
}
n_passed=0
port=$((31000 + $$ % 1000))
backend() { # backend NAME: two nodes, each with two ranks, into the folder NAME
    port=$((port + 1))
    cat >slurm.yaml <<END
backend: slurm
job_name: $1
nodes: 2
ranks_per_node: 2
model_dir: $PWD/$1
master_port: $port
time: "01:00:00"
END
}
is_state() { # is_state JOB STATE: within 60 s
    for i in $(seq 300); do
        state=$("$CRANK" jobs show "$1" 2>/dev/null | sed -n 's/^state *//p')
        [ "$state" != "$2" ] || return 0
        sleep 0.2
    done
    fail "job $1 is $state and not $2: $("$CRANK" jobs logs "$1")"
}
none_left() {
    for i in $(seq 100); do
        [ -n "$(squeue -h)$(pgrep -f "crank train $CASE_DIR/")" ] || return 0
        sleep 0.1
    done
    fail "still there: $(squeue; pgrep -af "crank train $CASE_DIR/")"
}
again() { # again JOB: a requeued job waits for two minutes, unless it is told not to
    is_state "$1" PENDING
    sleep 2 # a node compares seconds, and takes a job that starts in the second of its end for the one that it has ended
    for i in $(seq 150); do
        scontrol update JobId="$1" StartTime=now 2>/dev/null
        [ "$(squeue -h -j "$1" -o %T 2>/dev/null)" = PENDING ] || break
        sleep 0.2
    done
}
# a rank that has stopped itself gives no sign of life until Slurm, which looks at time limits twice a minute, sends its signal; so these
# jobs have a long --fault_timeout
until_stopped_rank() { # until_stopped_rank DIR: a rank that trains into DIR has stopped itself
    for i in $(seq 600); do
        for p in $(pgrep -f "crank train .*--model_dir $1"); do
            if grep -q '^State:.T' "/proc/$p/status" 2>/dev/null; then return 0; fi
        done
        sleep 0.1
    done
    fail "no rank came to its step: $("$CRANK" jobs logs last)"
}

# shellcheck disable=SC2086
run "$CRANK" train tiny.yaml --model_dir one --threads 2 --quiet $settings --set data_config.batch_size=40
ends 0

# ---- from a config to a trained model ----
backend two
# shellcheck disable=SC2086
run "$CRANK" submit tiny.yaml -b slurm.yaml $settings
ends 0
has_out "client: .../sbatch, slurm...22..."
job=$(sed -n 's/^job id: //p' "$out")
folder=$(sed -n 's/^The task submission folder is generated at //p' "$out")
is_there "$folder/crank.tar.gz"
run timeout 120 "$CRANK" jobs logs -f "$job"
ends 0
has_out "...2 nodes with 2 ranks each, as the variables of Slurm say (SLURM_NNODES=2, SLURM_NODEID=0)..."
has_out "...metrics on 64 rows..."
is_state "$job" COMPLETED
same_weights one two
run "$CRANK" jobs show "$job"
ends 0
has_out "last step  47"
run "$CRANK" jobs list
has_out "...$job ... two_...  slurm ... COMPLETED..."
none_left
passed "crank submit with a bundle: two nodes, four ranks, the bytes of one process; logs -f, show, list"

# ---- submitted again by hand after an edit; a node is lost while the job runs ----
backend lost
# shellcheck disable=SC2086
run "$CRANK" submit tiny.yaml -b slurm.yaml --dry-run $settings
ends 0
folder=$(sed -n 's/^The task submission folder is generated at //p' "$out")
run "$CRANK" jobs show last
has_out "state      not submitted"
# shellcheck disable=SC2016
sed -i 's/ launch / launch --fault_timeout 600 /; s/^cd .*/[ -n "${SLURM_RESTART_COUNT-}" ] || export CRANK_TEST_KILL=step:7:STOP CRANK_TEST_KILL_IF="RANK=3 TORCHELASTIC_RESTART_COUNT=0"\n&/' "$folder/job.sbatch"
run sh "$folder/job.sh"
ends 0
job=$(cat "$out")
until_stopped_rank "$PWD/lost"
scontrol update NodeName=n2 State=DOWN Reason=test || fail "n2 is not down"
is_state "$job" PENDING
for p in $(pgrep -f "crank (train|launch) .*--model_dir $PWD/lost"); do kill -9 "$p" 2>/dev/null; done # the lost node runs nothing
scontrol update NodeName=n2 State=RESUME 2>/dev/null # it may be back by itself (ReturnToService)
scontrol release "$job" 2>/dev/null
again "$job"
is_state "$job" COMPLETED
same_weights one lost
none_left
passed "a lost node: the job is requeued and goes on from its checkpoint, to the same bytes"

# ---- the time limit: Slurm signals the batch script before it, a checkpoint is saved, and the job goes on in its next life ----
backend limit
echo 'signal_seconds: 119' >>slurm.yaml
# shellcheck disable=SC2086
run "$CRANK" submit tiny.yaml -b slurm.yaml --dry-run $settings
ends 0
folder=$(sed -n 's/^The task submission folder is generated at //p' "$out")
grep -qx '#SBATCH --signal=B:USR1@119' "$folder/job.sbatch" || fail "$(cat "$folder/job.sbatch")"
# shellcheck disable=SC2016
sed -i 's/ launch / launch --fault_timeout 600 /; s/^cd .*/[ -n "${SLURM_RESTART_COUNT-}" ] || export CRANK_TEST_KILL=step:6:STOP CRANK_TEST_KILL_IF="RANK=3 TORCHELASTIC_RESTART_COUNT=0"\n&/' "$folder/job.sbatch"
run sh "$folder/job.sh"
ends 0
job=$(cat "$out")
until_stopped_rank "$PWD/limit"
# now the limit is two minutes away, so that the signal is due
minutes=$(squeue -h -j "$job" -o %M | awk -F '[:-]' '{ print (NF > 2 ? 60 * $(NF - 2) : 0) + $(NF - 1) }')
scontrol update JobId="$job" TimeLimit=$((minutes + 2)) || fail "the limit cannot be set"
for i in $(seq 1800); do # the launchers hear of it
    if grep -q "signal 15 (Terminated) came at host" "$folder/job-$job.out"; then break; fi
    sleep 0.1
done
grep -q "signal 15 (Terminated) came at host" "$folder/job-$job.out" || fail "no signal came: $(cat "$folder/job-$job.out")"
for p in $(pgrep -f "crank train .*--model_dir $PWD/limit"); do kill -CONT "$p"; done
is_state "$job" PENDING
scontrol update JobId="$job" TimeLimit=60
again "$job"
is_state "$job" COMPLETED
# checkpoints of the schedule have multiples of four
grep -q -E "Restoring checkpoint from .*/limit/model.ckpt-[567]\b" "$folder/job-$job.out" || fail "$(cat "$folder/job-$job.out")"
same_weights one limit
none_left
passed "before the time limit: SIGUSR1, a checkpoint, a requeue, and the same bytes in the end"

# ---- stop saves a checkpoint; the folder goes on from it ----
backend stopped
# shellcheck disable=SC2086
run "$CRANK" submit tiny.yaml -b slurm.yaml --dry-run $settings
ends 0
folder=$(sed -n 's/^The task submission folder is generated at //p' "$out")
cp "$folder/job.sbatch" job.sbatch.as_made
sed -i 's/ launch / launch --fault_timeout 600 /; s/^cd .*/export CRANK_TEST_KILL=step:7:STOP CRANK_TEST_KILL_IF="RANK=3 TORCHELASTIC_RESTART_COUNT=0"\n&/' "$folder/job.sbatch"
run sh "$folder/job.sh"
ends 0
job=$(cat "$out")
until_stopped_rank "$PWD/stopped"
run "$CRANK" jobs stop "$job"
ends 0
is_state "$job" CANCELLED
none_left
cat job.sbatch.as_made >"$folder/job.sbatch"
run sh "$folder/job.sh"
ends 0
is_state "$(cat "$out")" COMPLETED
same_weights one stopped
passed "crank jobs stop, then sh job.sh again: the same bytes"

# ---- an array: two tasks, each with its own output, port and model, of which crank jobs knows all ----
backend tasks
# shellcheck disable=SC2016
sed -i 's/^nodes: 2/nodes: 1/; /^model_dir/d' slurm.yaml
printf 'array: 0-1\nargs: "--model_dir %s/task$SLURM_ARRAY_TASK_ID"\n' "$PWD" >>slurm.yaml
# shellcheck disable=SC2086
run "$CRANK" submit tiny.yaml -b slurm.yaml $settings
ends 0
job=$(sed -n 's/^job id: //p' "$out")
run timeout 300 "$CRANK" jobs logs -f "$job"
ends 0
[ "$(grep -c 'metrics on 64 rows' "$out")" -ge 2 ] || fail "the logs of a task are missing"
is_state "$job" COMPLETED
cp "$out" followed
run "$CRANK" jobs logs "$job"
LC_ALL=C sort followed >one.sorted
LC_ALL=C sort "$out" >two.sorted
same one.sorted two.sorted
run "$CRANK" jobs show "$job"
has_out "last step  95"
same_weights task0 task1
none_left
passed "an array: the logs of both tasks, one state"

# ---- a refusal of sbatch ----
backend refused
echo 'partition: nowhere' >>slurm.yaml
# shellcheck disable=SC2086
run "$CRANK" submit tiny.yaml -b slurm.yaml $settings
ends 1
has_err "...invalid partition specified: nowhere..."
has_err "...: the client refused the job: job.sh ended with exit code 1; correct the files there and run 'sh job.sh' again"
passed "sbatch refuses, and crank says so"

sh "$HERE/cluster.sh" stop "$CASE_DIR/slurm"
trap - EXIT
left=$(pgrep -af "$CASE_DIR")
[ -z "$left" ] || fail "still running: $left"
rm -rf "$CASE_DIR"
echo "$n_passed passed, 0 failed, 0 skipped"
