#!/bin/sh
# pods.sh CRANK - crank launch in the containers of PAI-DLC and of Kubeflow's PyTorchJob.
#
# The pods are network namespaces (net.sh) with the names of a job deepfm, and get the variables that the platforms give to containers
# and no flags of layout. The bytes are those of one process. Exit code 77: this machine cannot run it, and why.
set -u
[ $# -eq 1 ] && [ -x "$1" ] || { echo "usage: pods.sh CRANK" >&2; exit 2; }
CRANK=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
HOSTS=2
. "$(dirname "$0")/net.sh"

names="deepfm-master-0 deepfm-worker-0"
host_name() { # shellcheck disable=SC2086
    set -- "$1" $names
    shift "$(($1 + 1))"
    echo "$1"
}
write_hosts() { # the names that the cluster's service knows
    mkdir -p etc
    echo "127.0.0.1 localhost" >etc/hosts.new
    for i in 0 1; do echo "10.77.0.$((i + 1)) $(host_name $i)"; done >>etc/hosts.new
    cat etc/hosts.new >etc/hosts # the same file: pods have it mounted
    rm etc/hosts.new
}
# pod I DIR FLAGS VARIABLES...: the container of host I; it is $pid_I
pod() {
    i=$1
    dir=$2
    flags=$3
    shift 3
    # shellcheck disable=SC2086
    on "$i" env PYTHONUNBUFFERED=1 "$@" "$CRANK" launch $flags -- train tiny.yaml --model_dir "$dir" $settings >"out.$i" 2>"err.$i" &
    eval "pid_$i=$!"
    last="crank launch $flags in pod $i into $dir"
}
pods_end() { # pods_end DIR TEXT: all end well with the bytes of one process; the first pod says TEXT
    for i in 0 1; do
        eval "p=\$pid_$i"
        code=0
        # shellcheck disable=SC2154
        wait "$p" || code=$?
        [ $code -eq 0 ] || fail "pod $i ended with $code: $(cat "err.$i")"
    done
    same_weights one "$1"
    grep -q -- "$2" err.0 || fail "pod 0 does not say '$2': $(cat err.0)"
    none_left
}

write_hosts
for i in 1 0; do pod $i dlc "" MASTER_ADDR=deepfm-master-0 MASTER_PORT=23456 WORLD_SIZE=2 NPROC_PER_NODE=2 RANK=$i; done
pods_end dlc "2 nodes with 2 ranks each, as the variables of PAI-DLC say (WORLD_SIZE=2, RANK=0); this is node 0, the nodes meet at deepfm-master-0:23456"
passed "PAI-DLC: a PyTorch job with two nodes"

# Kubeflow: WORLD_SIZE counts processes, RANK counts pods. The name of the first pod is not known while the second one starts.
echo "127.0.0.1 localhost" >etc/hosts
pod 1 kubeflow "--max_restarts 3" MASTER_ADDR=deepfm-master-0 MASTER_PORT=23456 WORLD_SIZE=4 RANK=1 PET_NNODES=2 PET_NODE_RANK=1 PET_NPROC_PER_NODE=2
until_text err.1 "node 0 at deepfm-master-0:23456 is not reached yet"
write_hosts
pod 0 kubeflow "--max_restarts 3" MASTER_ADDR=deepfm-master-0 MASTER_PORT=23456 WORLD_SIZE=4 RANK=0 PET_NNODES=2 PET_NODE_RANK=0 PET_NPROC_PER_NODE=2
pods_end kubeflow "2 nodes with 2 ranks each, as the flags say; this is node 0, the nodes meet at deepfm-master-0:23456"
passed "PyTorchJob: master and worker, a name that is known late"

# elasticPolicy: workers only; who is node 0 follows from the address of PET_RDZV_ENDPOINT. The second pod is taken away and comes back.
names="deepfm-worker-0 deepfm-worker-1"
write_hosts
elastic="PET_NNODES=1:2 PET_RDZV_ENDPOINT=deepfm-worker-0:29400 PET_RDZV_BACKEND=c10d PET_RDZV_ID=deepfm PET_RDZV_CONF=last_call_timeout=30 PET_MAX_RESTARTS=3 PET_NPROC_PER_NODE=2"
CRANK_TEST_KILL=step:7:STOP CRANK_TEST_KILL_IF="RANK=3 TORCHELASTIC_RESTART_COUNT=0"
export CRANK_TEST_KILL CRANK_TEST_KILL_IF
# shellcheck disable=SC2086
pod 1 elastic "" $elastic
# shellcheck disable=SC2086
pod 0 elastic "" $elastic
unset CRANK_TEST_KILL CRANK_TEST_KILL_IF
until_stopped_in elastic
kill -9 "$pid_1"
wait "$pid_1"
until_text err.0 "host deepfm-worker-1 with ranks 2 to 3 is gone"
# shellcheck disable=SC2086
pod 1 elastic "" $elastic
pods_end elastic "restart 1 of 3, from the last checkpoint"
passed "PyTorchJob with elasticPolicy: a pod is lost and comes back"
finish
