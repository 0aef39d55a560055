# crank launch on the platforms whose variables it knows, two nodes of each, all on this machine; and TorchEasyRec's DLC line as printed
mpi_leaks
[ -f "$(dirname "$CRANK")/comm-mpich.so" ] || skip "crank was built without comm-mpich.so (package libmpich-dev)"
tiny_config
tiny_data 640 64
CRANK_JOB_SECRET=$(od -An -N16 -tx1 /dev/urandom | tr -d " \n") # nodes of another run of this test are strangers
export CRANK_JOB_SECRET
# below 32768, from where the system takes ports for connections
port=$((20000 + ($$ + 7000) % 12000))
settings="--set data_config.batch_size=32 --set train_config.lanes=4 --set train_config.num_epochs=1"
# shellcheck disable=SC2086
run crank train tiny.yaml --model_dir one --threads 2 $settings --set data_config.batch_size=64
ends 0
one=
two=
trap 'kill -9 $one $two 2>/dev/null || true' EXIT
both_end() { # both_end DIR: two nodes, as $one and $two, end well and with the bytes of one process
    for pid in $one $two; do
        code=0
        wait "$pid" || code=$?
        [ $code -eq 0 ] || fail "a node ended with $code: $(cat err.0 err.1)"
    done
    same_weights one "$1"
    port=$((port + 1)) # the old one may linger
}
# the line of the guide for PAI-DLC, which is the same on all nodes
dlc() {
    # shellcheck disable=SC2086
    crank torchrun --master_addr=$MASTER_ADDR --master_port=$MASTER_PORT --nnodes=$WORLD_SIZE --nproc-per-node=$NPROC_PER_NODE --node_rank=$RANK \
        -m tzrec.train_eval --pipeline_config_path tiny.yaml --model_dir dlc $settings >"out.$RANK" 2>"err.$RANK"
}
(MASTER_ADDR=127.0.0.1 MASTER_PORT=$port WORLD_SIZE=2 NPROC_PER_NODE=1 RANK=0 && export MASTER_ADDR MASTER_PORT WORLD_SIZE NPROC_PER_NODE RANK && dlc) &
one=$!
(MASTER_ADDR=127.0.0.1 MASTER_PORT=$port WORLD_SIZE=2 NPROC_PER_NODE=1 RANK=1 && export MASTER_ADDR MASTER_PORT WORLD_SIZE NPROC_PER_NODE RANK && dlc) &
two=$!
both_end dlc
# node I NAME VARIABLES...: without flags, the variables decide
node() {
    i=$1
    name=$2
    shift 2
    # shellcheck disable=SC2086
    env "$@" crank launch ${flags:-} -- train tiny.yaml --model_dir "$name" $settings >"out.$i" 2>"err.$i" &
}
says() { grep -q "2 nodes with 1 rank each, $1" err.0 || fail "$(cat err.0)"; }
for i in 0 1; do
    node $i dlc2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port WORLD_SIZE=2 NPROC_PER_NODE=1 RANK=$i
    one=${two:-} two=$!
done
both_end dlc2
says "as the variables of PAI-DLC say (WORLD_SIZE=2, RANK=0)"
for i in 0 1; do # WORLD_SIZE counts processes here
    node $i kubeflow PET_NNODES=2 PET_NPROC_PER_NODE=1 PET_NODE_RANK=$i MASTER_ADDR=127.0.0.1 MASTER_PORT=$port WORLD_SIZE=2 RANK=$i
    one=$two two=$!
done
both_end kubeflow
says "as the flags say"
flags="--master_port $port"
for i in 0 1; do
    node $i slurm SLURM_NNODES=2 SLURM_NODEID=$i SLURM_LOCALID=0 SLURM_JOB_NODELIST=127.0.0.1,other
    one=$two two=$!
done
both_end slurm
says "as the variables of Slurm say (SLURM_NNODES=2, SLURM_NODEID=0)"
flags=
for i in 0 1; do
    node $i paddle PADDLE_TRAINERS_NUM=2 PADDLE_TRAINER_ID=$i PADDLE_TRAINER_ENDPOINTS=127.0.0.1:$port,127.0.0.2:$port
    one=$two two=$!
done
both_end paddle
says "as the variables of PaddleCloud say (PADDLE_TRAINERS_NUM=2, PADDLE_TRAINER_ID=0)"
