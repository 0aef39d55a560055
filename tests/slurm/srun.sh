#!/bin/sh
# srun.sh CRANK - crank below a real Slurm: srun with MPICH and with Open MPI, crank launch below srun, sbatch, scancel.
#
# The cluster is a private one of two nodes on this machine (cluster.sh), made here and removed at the end. What srun trains has the
# bytes of one process; what goes wrong is told in one line and ends; nothing stays. Exit code 77: this machine cannot run it, and why.
set -u
[ $# -eq 1 ] && [ -x "$1" ] || { echo "usage: srun.sh CRANK" >&2; exit 2; }
CRANK=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
HERE=$(cd "$(dirname "$0")" && pwd)
CLI=$HERE/../cli
plugs=$(dirname "$CRANK")
[ -f "$plugs/comm-mpich.so" ] || { echo "crank was built without comm-mpich.so (package libmpich-dev)"; exit 77; }
CASE_DIR=$(mktemp -d "${TMPDIR:-/tmp}/crank-slurm.XXXXXX")
WEIGHTS_DIFF=$plugs/tests/cli/weights_diff
export CASE_DIR WEIGHTS_DIFF
sh "$HERE/cluster.sh" start "$CASE_DIR/slurm" 2
code=$?
[ $code -eq 0 ] || { rm -rf "$CASE_DIR"; exit $code; }
trap 'sh "$HERE/cluster.sh" stop "$CASE_DIR/slurm"' EXIT
trap 'exit 130' INT TERM
SLURM_CONF=$CASE_DIR/slurm/slurm.conf
export SLURM_CONF

cd "$CASE_DIR" || exit 1
. "$CLI/lib.sh"
PATH=$plugs:$PATH
mpi_leaks
tiny_config
tiny_data 960 64
settings="--set data_config.batch_size=20 --set train_config.lanes=8 --set train_config.save_checkpoints_steps=4 --set train_config.num_epochs=2"
more="--set data_config.batch_size=10" # four ranks, the same global batch
UCX_TLS=self,tcp                       # nodes of one machine could share memory, and hosts cannot
export UCX_TLS
n_passed=0
n_skipped=0
passed() {
    echo "ok: $*"
    n_passed=$((n_passed + 1))
}
none_left() {
    for i in $(seq 100); do
        [ -n "$(squeue -h)$(pgrep -f "$CRANK train ")" ] || return 0
        sleep 0.1
    done
    fail "still there: $(squeue; pgrep -af "$CRANK train ")"
}
until_state() { # until_state JOB STATE
    for i in $(seq 300); do
        [ "$(squeue -h -j "$1" -o %T 2>/dev/null)" != "$2" ] || return 0
        sleep 0.1
    done
    fail "job $1 is not $2: $(scontrol show job "$1" | grep -i state)"
}
ends_as() { # ends_as JOB STATE
    for i in $(seq 600); do
        state=$(scontrol show job "$1" | sed -n 's/.*JobState=\([A-Z_]*\).*/\1/p')
        case $state in PENDING | CONFIGURING | RUNNING | COMPLETING) sleep 0.1 ;; *) break ;; esac
    done
    [ "$state" = "$2" ] || fail "job $1 ended as $state: $(cat "job-$1.out")"
}
within() { # within SECONDS since $began
    [ $(($(date +%s) - began)) -le "$1" ] || fail "it took $(($(date +%s) - began)) s, more than $1"
}

# shellcheck disable=SC2086
run "$CRANK" train tiny.yaml --model_dir one --threads 2 --quiet $settings --set data_config.batch_size=40
ends 0
# shellcheck disable=SC2086
run srun -N 2 --mpi=pmi2 "$CRANK" train tiny.yaml --model_dir pmi2 --threads 1 $settings
ends 0
same_weights one pmi2
has_err "...placing of tables on 2 ranks..."
# shellcheck disable=SC2086
run srun -N 2 -n 4 --mpi=pmi2 "$CRANK" train tiny.yaml --model_dir four --threads 1 $settings $more
ends 0
same_weights one four
# where the cluster says so, srun needs no flag
# shellcheck disable=SC2086
SLURM_MPI_TYPE=pmi2 run srun -n 2 "$CRANK" train tiny.yaml --model_dir default --threads 1 $settings
ends 0
same_weights one default
passed "srun --mpi=pmi2 (MPICH), 2 and 4 ranks: the bytes of one process"

run "$CRANK" predict --checkpoint_path "$(newest one)" --pipeline_config_path tiny.yaml --predict_input_path eval.csv --predict_output_path p1
ends 0
run srun -N 2 --mpi=pmi2 "$CRANK" predict --checkpoint_path "$(newest one)" --pipeline_config_path tiny.yaml --predict_input_path eval.csv --predict_output_path p2
ends 0
same p1 p2
passed "srun --mpi=pmi2 crank predict: the bytes of one process"

if [ -f "$plugs/comm-openmpi.so" ] && srun --mpi=list 2>&1 | grep -q pmix; then
    # shellcheck disable=SC2086
    run srun -N 2 --mpi=pmix "$CRANK" train tiny.yaml --model_dir pmix --threads 1 $settings
    ends 0
    same_weights one pmix
    # shellcheck disable=SC2086
    run srun -N 2 -n 4 --mpi=pmix "$CRANK" train tiny.yaml --model_dir pmix4 --threads 1 $settings $more
    ends 0
    same_weights one pmix4
    passed "srun --mpi=pmix (Open MPI), 2 and 4 ranks: the bytes of one process"
else
    echo "skipped: no comm-openmpi.so (package libopenmpi-dev), or this srun has no pmix"
    n_skipped=$((n_skipped + 1))
fi

# shellcheck disable=SC2086
run srun -N 2 "$CRANK" train tiny.yaml --model_dir none --threads 1 $settings
ends 2
has_err "...srun started 2 tasks without MPI, and each of them would do the whole work; start ranks with 'srun --mpi=pmi2'..."
[ "$(grep -c "without MPI" "$err")" -eq 1 ] || fail "not said once"
is_gone none
run srun -N 2 "$CRANK" version
ends 0
passed "srun without MPI is refused before anything is written"

CRANK_TEST_KILL=step:7:KILL CRANK_TEST_KILL_IF=SLURM_PROCID=1
export CRANK_TEST_KILL CRANK_TEST_KILL_IF
began=$(date +%s)
may_be_killed=yes
# shellcheck disable=SC2086
run srun -N 2 --mpi=pmi2 --kill-on-bad-exit=1 "$CRANK" train tiny.yaml --model_dir killed --threads 1 $settings
ends 137
may_be_killed=
unset CRANK_TEST_KILL CRANK_TEST_KILL_IF
within 20
has_err "srun: error: n2: task 1: Killed"
none_left
# shellcheck disable=SC2086
run srun -N 2 -n 4 --mpi=pmi2 "$CRANK" train tiny.yaml --model_dir killed --threads 1 --continue_train $settings $more
ends 0
same_weights one killed
passed "a killed rank below srun, and --continue_train with other ranks"

CRANK_JOB_SECRET=$(od -An -N16 -tx1 /dev/urandom | tr -d " \n")
export CRANK_JOB_SECRET
port=$((31000 + $$ % 1000))
for mpi in none pmi2; do # where pmi2 is the default, srun gives its variables to the launchers too
    # shellcheck disable=SC2086
    run timeout 60 srun -N 2 --ntasks-per-node=1 --mpi=$mpi "$CRANK" launch --master_port $port --nproc-per-node 2 -- train tiny.yaml --model_dir launch.$mpi $settings $more
    ends 0
    same_weights one launch.$mpi
    has_err "...2 nodes with 2 ranks each, as the variables of Slurm say (SLURM_NNODES=2, SLURM_NODEID=0)..."
    port=$((port + 1))
done
run srun -n 2 "$CRANK" launch --nproc-per-node 2 -- train tiny.yaml --model_dir launch2
ends 2
has_err "...srun has started several launchers on this node (SLURM_LOCALID=0); start one: srun --ntasks-per-node=1 crank launch..."
is_gone launch2
unset CRANK_JOB_SECRET
passed "srun crank launch: the bytes of one process"

# the script of docs/guide/start_slurm.md; a rank is killed in its first life
cat >job.sh <<END2
#!/bin/sh
#SBATCH --job-name=deepfm
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=2
#SBATCH --output=job-%j.out
#SBATCH --open-mode=append
#SBATCH --requeue
export CRANK_JOB_SECRET=\$(head -c 32 /dev/urandom | base64)
srun crank launch --master_port $port --nproc-per-node 2 --max_restarts 3 -- train tiny.yaml --model_dir \$1 --continue_train $settings $more
END2
CRANK_TEST_KILL=step:7:KILL CRANK_TEST_KILL_IF="RANK=3 TORCHELASTIC_RESTART_COUNT=0"
export CRANK_TEST_KILL CRANK_TEST_KILL_IF
job=$(sbatch --parsable job.sh batch) || fail "sbatch"
ends_as "$job" COMPLETED
same_weights one batch
grep -q "rank 3 on host n2 was killed by signal 9 (Killed); restart 1 of 3, from the last checkpoint" "job-$job.out" ||
    fail "$(cat "job-$job.out")"
none_left
passed "sbatch with crank launch: a killed rank begins again by itself, the same bytes"

# scancel sends SIGTERM: a checkpoint is saved, and the same script goes on from it
CRANK_TEST_KILL=step:7:STOP
CRANK_TEST_KILL_IF="RANK=3 TORCHELASTIC_RESTART_COUNT=0"
job=$(sbatch --parsable job.sh cancelled) || fail "sbatch"
until_state "$job" RUNNING
for i in $(seq 300); do
    stopped=
    for p in $(pgrep -f "crank train .*--model_dir cancelled"); do if grep -q '^State:.T' "/proc/$p/status" 2>/dev/null; then stopped=$p; fi; done
    [ -z "$stopped" ] || break
    sleep 0.1
done
[ -n "$stopped" ] || fail "rank 3 did not come to step 7: $(cat "job-$job.out")"
unset CRANK_TEST_KILL CRANK_TEST_KILL_IF
scancel "$job"
ends_as "$job" CANCELLED
none_left
grep -q "the checkpoint is saved" "job-$job.out" || fail "no checkpoint after scancel: $(cat "job-$job.out")"
job=$(sbatch --parsable job.sh cancelled) || fail "sbatch"
ends_as "$job" COMPLETED
same_weights one cancelled
none_left
passed "scancel saves a checkpoint, and the script submitted again goes on from it: the same bytes"

sh "$HERE/cluster.sh" stop "$CASE_DIR/slurm"
trap - EXIT
left=$(pgrep -af "$CASE_DIR")
[ -z "$left" ] || fail "still running: $left"
rm -rf "$CASE_DIR"
echo "$n_passed passed, 0 failed, $n_skipped skipped"
