#!/bin/sh
# mpirun.sh CRANK - ranks that mpirun (Open MPI) and mpiexec (MPICH) start on several hosts, and what a job of Kubeflow's mpi-operator runs.
#
# The hosts are network namespaces (net.sh). The launcher reaches them by a script in the place of ssh, which has the contract of
# `kubectl exec` and of ssh: it gets a host and a command for a shell, and none of the caller's variables. The bytes are those of
# one process; a killed rank and a cut link end the job in the stated time, with one line that names the rank.
# Exit code 77: this machine cannot run it, and why.
set -u
[ $# -eq 1 ] && [ -x "$1" ] || { echo "usage: mpirun.sh CRANK" >&2; exit 2; }
CRANK=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
HOSTS=3
. "$(dirname "$0")/net.sh"
unset CRANK_JOB_SECRET UCX_TLS

# The names that a job deepfm of the name space recsys has in Kubernetes; host 2 is the pod of the launcher.
host_name() { [ "$1" -eq 2 ] && echo deepfm-launcher || echo "deepfm-worker-$1"; }
mkdir etc
printf '127.0.0.1 localhost\n10.77.0.3 deepfm-launcher\n' >etc/hosts
for i in 0 1; do printf '10.77.0.%d deepfm-worker-%d.deepfm.recsys.svc deepfm-worker-%d\n' $((i + 1)) $i $i; done >>etc/hosts
cat >rsh <<END2
#!/bin/sh
# rsh HOST COMMAND...: as kubectl exec does it; flags of ssh that mpi-operator gives are read and mean nothing here
while :; do case \$1 in -o) shift 2 ;; -*) shift ;; *) break ;; esac done
host=\$1
shift
i=\${host#deepfm-worker-}
i=\${i%%.*}
cd "$CASE_DIR" || exit 1
# shellcheck disable=SC2016
exec env -i $mark PATH="$PATH" HOME=/root ${ASAN_OPTIONS:+ASAN_OPTIONS=$ASAN_OPTIONS} unshare --uts --mount sh -c \\
    'hostname "\$0"; mount --bind etc/hosts /etc/hosts; exec ip netns exec "\$@"' "deepfm-worker-\$i" "${tag}n\$i" sh -c "\$*"
END2
chmod +x rsh
mkdir mpi # /etc/mpi of the pods
for i in 0 1; do echo "deepfm-worker-$i.deepfm.recsys.svc slots=2"; done >mpi/hostfile
for i in 0 1; do echo "deepfm-worker-$i.deepfm.recsys.svc:2"; done >mpi/hostfile.mpich

# open_mpi DIR VARIABLES... : as the launcher of an MPIJob runs it: the operator's variables, and the command of its manifest; it is $pid
open_mpi() {
    dir=$1
    shift
    # shellcheck disable=SC2086
    on 2 env K_MPI_JOB_ROLE=launcher OMPI_MCA_orte_default_hostfile="$CASE_DIR/mpi/hostfile" OMPI_MCA_orte_keep_fqdn_hostnames=true \
        OMPI_MCA_plm_rsh_args="-o ConnectionAttempts=10" OMPI_MCA_orte_set_default_slots=2 OMPI_MCA_plm_rsh_agent="$CASE_DIR/rsh" \
        mpirun.openmpi --allow-run-as-root -np 4 --bind-to none $* "$CRANK" train tiny.yaml --model_dir "$dir" --threads 1 $settings ${more:-} >out.2 2>err.2 &
    pid=$!
    last="mpirun into $dir"
}
mpich() { # the same with mpiImplementation: MPICH
    dir=$1
    shift
    # shellcheck disable=SC2086
    on 2 env K_MPI_JOB_ROLE=launcher HYDRA_HOST_FILE="$CASE_DIR/mpi/hostfile.mpich" HYDRA_LAUNCH_EXTRA_ARGS="-o ConnectionAttempts=10" \
        HYDRA_LAUNCHER_EXEC="$CASE_DIR/rsh" HYDRA_LAUNCHER=ssh \
        mpiexec.hydra -n 4 -genv UCX_TLS self,tcp $* "$CRANK" train tiny.yaml --model_dir "$dir" --threads 1 $settings ${more:-} >out.2 2>err.2 &
    pid=$!
    last="mpiexec into $dir"
}
ended() { # ended well|badly: the launcher
    code=0
    wait "$pid" || code=$?
    case $1:$code in well:0 | badly:[1-9]*) ;; *) fail "the launcher ended with $code: $(tail -n 20 err.2)" ;; esac
}
once() { # once TEXT: one line of stderr has it
    [ "$(grep -c -- "$1" err.2)" -eq 1 ] || fail "not said once: $1: $(tail -n 20 err.2)"
}
which=
if [ ! -f "$(dirname "$CRANK")/comm-openmpi.so" ]; then
    skipped "crank was built without comm-openmpi.so (package libopenmpi-dev)"
elif ! command -v mpirun.openmpi >/dev/null; then
    skipped "mpirun.openmpi is not installed (package openmpi-bin)"
else
    which=open_mpi
fi
if command -v mpiexec.hydra >/dev/null; then which="$which mpich"; else skipped "mpiexec.hydra is not installed (package mpich)"; fi

for mpi in $which; do
    if [ $mpi = open_mpi ]; then x="-x" is="="; else x="-genv" is=" "; fi
    $mpi "$mpi"
    ended well
    same_weights one "$mpi"
    grep -q "placing of tables on 4 ranks" err.2 || fail "$(cat err.2)"
    none_left
    passed "$mpi: an MPIJob with two workers of two slots: the bytes of one process"

    # rank 3, on the second worker, is held before its step 7 and then killed
    rank=OMPI_COMM_WORLD_RANK=3
    [ $mpi = open_mpi ] || rank=PMI_RANK=3
    $mpi "$mpi.killed" "$x CRANK_TEST_KILL${is}step:7:STOP $x CRANK_TEST_KILL_IF${is}$rank"
    until_stopped_in "$mpi.killed"
    since
    kill -9 "$held"
    ended badly
    within 20
    none_left
    more=--continue_train
    $mpi "$mpi.killed"
    more=
    ended well
    same_weights one "$mpi.killed"
    none_left
    passed "$mpi: a killed rank ends the job, and --continue_train ends with the same bytes"

    # a cut link: neither launcher notices; the ranks do, after PROCESS_GROUP_TIMEOUT_SECONDS
    $mpi "$mpi.cut" "$x CRANK_TEST_KILL${is}step:7:STOP $x CRANK_TEST_KILL_IF${is}$rank $x PROCESS_GROUP_TIMEOUT_SECONDS${is}5"
    until_stopped_in "$mpi.cut"
    since
    cut_link 1
    kill -CONT "$held"
    until_text err.2 "rank [01] of 4 cannot reach the others: .* took more than 5 s; no answer comes from rank 2, 3"
    within 15
    for k in $(seq 200); do # the ranks of both sides end; mpirun itself waits for the lost host
        [ -n "$(ours "^$CRANK train")" ] || break
        sleep 0.1
    done
    [ -z "$(ours "^$CRANK train")" ] || fail "ranks still run"
    within 40
    # the first rank that says it may end the others of its host before they do
    grep -h "cannot reach the others" err.2 | sed 's/.*\(rank [0-9] of 4\).*/\1/' | sort | uniq -d | grep -q . && fail "a rank says it twice"
    heal_link 1
    ended badly
    none_left
    passed "$mpi: a cut link: the ranks name those that are lost, and end on both sides"
done
finish
