# parameter servers whose roles the environment gives: PaddleCloud's processes, mpiexec with Paddle's variables, PaddleRec's MPI jobs;
# local_cluster_train and cluster_train of PaddleRec; mistakes
mpi_leaks
[ -f "$(dirname "$CRANK")/comm-mpich.so" ] || skip "crank was built without comm-mpich.so (package libmpich-dev)"
tiny_config
tiny_data 640 64
CRANK_JOB_SECRET=$(od -An -N16 -tx1 /dev/urandom | tr -d " \n")
export CRANK_JOB_SECRET
# below 32768, from where the system takes ports for connections
port=$((20000 + ($$ + 9000) % 12000))
settings="--threads 1 --set data_config.batch_size=32 --set train_config.lanes=4 --set train_config.num_epochs=1"
# shellcheck disable=SC2086
run crank train tiny.yaml --model_dir one $settings --set data_config.batch_size=64
ends 0
# pod ROLE INDEX COMMAND...: one process as PaddleCloud starts it, with two servers and two trainers
pids=
trap 'kill -9 $pids 2>/dev/null || true' EXIT
pod() {
    list=127.0.0.1:$port,127.0.0.1:$((port + 1))
    own="PADDLE_TRAINER_ID=$2"
    [ "$1" = TRAINER ] || own="POD_IP=127.0.0.1 PADDLE_PORT=$((port + $2))"
    name=$1.$2
    role=$1
    shift 2
    # shellcheck disable=SC2086
    env TRAINING_ROLE=$role PADDLE_PSERVERS_IP_PORT_LIST=$list PADDLE_TRAINERS_NUM=2 PADDLE_PADDLEREC_ROLE=WORKER $own "$@" >"out.$name" 2>"err.$name" &
    pids="$pids $!"
}
pods() { # pods COMMAND...: all four, which end well
    pids=
    for i in 1 0; do
        pod TRAINER $i "$@"
        pod PSERVER $i "$@"
    done
    for p in $pids; do
        code=0
        wait "$p" || code=$?
        [ $code -eq 0 ] || fail "a process ended with $code: $(cat err.*)"
    done
    pids=
    port=$((port + 2))
}
# shellcheck disable=SC2086
pods crank launch -- train tiny.yaml --strategy sync --model_dir cloud $settings
same_weights one cloud
grep -q '4 nodes with 1 rank each, as TRAINING_ROLE says, with 2 servers and 2 trainers; this is node 2' err.PSERVER.0 || fail "$(cat err.PSERVER.0)"
grep -q '^trained ' out.TRAINER.0 || fail "the first trainer does not speak for all: $(cat out.*)"
[ ! -s out.PSERVER.0 ] || fail "a server prints results: $(cat out.PSERVER.0)"
# under mpiexec with a role each, in any order of ranks
cat >role.sh <<'END'
case ${PMI_RANK:-$OMPI_COMM_WORLD_RANK} in
0) export TRAINING_ROLE=PSERVER POD_IP=10.0.0.1 PADDLE_PORT=2 ;;
1) export TRAINING_ROLE=TRAINER PADDLE_TRAINER_ID=1 ;;
2) export TRAINING_ROLE=TRAINER PADDLE_TRAINER_ID=0 ;;
esac
export PADDLE_PSERVERS_IP_PORT_LIST=10.0.0.1:2 PADDLE_TRAINERS_NUM=2
exec "$@"
END
flavours=
command -v mpiexec.hydra >/dev/null && flavours="mpiexec.hydra"
[ -f "$(dirname "$CRANK")/comm-openmpi.so" ] && command -v mpirun.openmpi >/dev/null && flavours="$flavours mpirun.openmpi"
for mpi in $flavours; do
    start=$mpi
    [ $mpi = mpiexec.hydra ] || start="mpirun.openmpi --allow-run-as-root --oversubscribe"
    # shellcheck disable=SC2086
    run $start -n 3 sh role.sh crank train tiny.yaml --strategy sync --model_dir by_$mpi $settings
    ends 0
    same_weights one by_$mpi
    # shellcheck disable=SC2086
    run env PADDLEREC_CLUSTER_TYPE=MPI $start -n 4 crank train tiny.yaml --strategy sync --model_dir even_$mpi $settings
    ends 0
    same_weights one even_$mpi
    has_err "...on 2 servers, which 2 workers use..."
done
for mpi in $flavours; do
    [ $mpi = mpiexec.hydra ] || continue
    run env PADDLEREC_CLUSTER_TYPE=MPI mpiexec.hydra -n 3 crank train tiny.yaml --model_dir no
    ends 2
    has_err "...PADDLEREC_CLUSTER_TYPE=MPI makes even ranks parameter servers and odd ranks trainers, and there are 3 ranks; start two on each node (mpirun -npernode 2), or unset it..."
    sed 's/PADDLE_TRAINER_ID=1/PADDLE_TRAINER_ID=0/' role.sh >twice.sh
    run mpiexec.hydra -n 3 sh twice.sh crank train tiny.yaml --model_dir no
    ends 2
    has_err "...two processes have the same role, of which one is on host ...; give each trainer its own PADDLE_TRAINER_ID, and each server its own POD_IP and PADDLE_PORT..."
    run mpiexec.hydra -n 3 sh role.sh crank train tiny.yaml --ps 1 --workers 2 --model_dir no
    ends 2
    has_err "...TRAINING_ROLE of the environment gives each rank its role; leave out --ps and --workers, or unset it..."
    run mpiexec.hydra -n 2 sh role.sh crank train tiny.yaml --model_dir no
    ends 2
    has_err "...mpiexec has started 2 ranks, and the environment has 1 parameter servers and 2 trainers (TRAINING_ROLE); start as many ranks, or unset it..."
done
# mistakes
run env TRAINING_ROLE=TRAINER PADDLE_PSERVERS_IP_PORT_LIST=h:1 PADDLE_TRAINERS_NUM=2 PADDLE_TRAINER_ID=1 crank train tiny.yaml
ends 2
has_err "crank train: the platform started this process as trainer 1 of 2 (TRAINING_ROLE); start it with 'crank launch -- train ...', by which servers and trainers meet, or unset TRAINING_ROLE"
run env TRAINING_ROLE=TRAINER PADDLE_PSERVERS_IP_PORT_LIST=h:1 PADDLE_TRAINERS_NUM=2 PADDLE_TRAINER_ID=1 crank launch --ps 1 --workers 2 -- train tiny.yaml
ends 2
has_err "...the platform has given this process one role (TRAINING_ROLE), so it is one rank, and the flags ask for 3; leave out --nproc-per-node, --ps and --workers, or unset TRAINING_ROLE"
run env TRAINING_ROLE=PSERVER crank launch -- train tiny.yaml
ends 2
has_err "...the environment makes this process a parameter server (TRAINING_ROLE=PSERVER) and does not set PADDLE_PSERVERS_IP_PORT_LIST, the ip:port of all servers; the platform sets both"

# ---- configs of PaddleRec ----
mkdir -p dnn/data
awk 'BEGIN { for (i = 0; i < 128; i++) printf "click:%d dense_feature:%.2f 1:%d 2:%d\n", i % 3 == 0, i % 7 / 7, i % 50 + 1, i * 7 % 90 + 1 }' >dnn/data/part-0
cat >dnn/config.yaml <<'END'
workspace: "dnn"
mode: [local, again]
dataset:
- {name: d, batch_size: 4, type: DataLoader, data_path: "{workspace}/data", sparse_slots: "click 1 2", dense_slots: "dense_feature:1"}
hyper_parameters: {optimizer: {class: sgd, learning_rate: 0.1}, sparse_feature_number: 101, sparse_feature_dim: 4, fc_sizes: [8]}
runner:
- {name: local, class: local_cluster_train, device: cpu, epochs: 2, worker_num: 2, server_num: 1, save_checkpoint_path: ckpt, print_interval: 3, phases: [p]}
- {name: again, class: infer, init_model_path: ckpt, phases: [p]}
- {name: cloud, class: cluster_train, device: cpu, epochs: 2, save_checkpoint_path: cloud_ckpt, print_interval: 3, phases: [p]}
- {name: many, class: local_cluster_train, device: cpu, epochs: 1, worker_num: 3, save_checkpoint_path: ckpt3, phases: [p]}
phase:
- {name: p, model: "builtin:dnn", dataset_name: d, thread_num: 2}
END
run crank run -m dnn/config.yaml
ends 0
has_out "Running PSRunner."
grep -q '^Infer p of epoch 1 done, ' "$out" || fail "$(cat "$out")"
is_there ckpt/1/state.json
has_err "...async: staleness of gradients in batches: ..."
run crank config dnn/config.yaml
for line in 'strategy: async' 'max_merge_var_num: 2' 'send_queue_size: 2' 'min_send_grad_num_before_recv: 2' 'send_wait_times: 5' 'is_sgd_optimizer: true' 'batch_size: 4'; do
    grep -q "^ *$line\$" "$out" || fail "no '$line': $(cat "$out")"
done
# sync and half_async average the threads of a worker: a batch so much larger; CPU_NUM wins over thread_num
for strategy in sync half_async; do
    sed "s/^mode: .*/mode: local/; s/class: local_cluster_train,/& distribute_strategy: $strategy,/" dnn/config.yaml >dnn/$strategy.yaml
    run env CPU_NUM=3 crank config dnn/$strategy.yaml
    has_out "...strategy: $strategy..."
    has_out "...batch_size: 12..."
    run env CPU_NUM=3 FLAGS_communicator_max_merge_var_num=3 FLAGS_communicator_is_sgd_optimizer=0 crank run -m dnn/$strategy.yaml
    ends 0
done
run env CPU_NUM=3 FLAGS_communicator_max_merge_var_num=4 crank run -m dnn/half_async.yaml
ends 2
has_err "...max_merge_var_num is 4, and with strategy half_async it must be the number of batches that a worker computes at a time..."
sed 's/^mode: .*/mode: local/; s/class: local_cluster_train,/& distribute_strategy: geo,/; $a train: {strategy: {mode: {push_num: 7}}}' dnn/config.yaml >dnn/geo.yaml
run crank config dnn/geo.yaml
has_out "...k_steps: 7..."
run crank run -m dnn/geo.yaml
ends 0
# on a cluster the roles are those of the environment
sed 's/^mode: .*/mode: cloud/' dnn/config.yaml >dnn/cloud.yaml
pods crank run -m dnn/cloud.yaml
is_there cloud_ckpt/1/state.json
run env PADDLE_PADDLEREC_ROLE=WORKER crank run -m dnn/cloud.yaml
ends 2
has_err "...runner 'cloud' trains with the parameter servers of a cluster, and the environment gives this process no role (TRAINING_ROLE, ...); use class: local_cluster_train to start them on this machine, or class: train to do without"
sed 's/^mode: .*/mode: [local, many]/' dnn/config.yaml >dnn/two.yaml
run crank run -m dnn/two.yaml
ends 2
has_err "...runner 'local' has 1 servers and 2 workers, and runner 'many' has 1 and 3; run one after the other, with mode: local and then with mode: many"
run crank train dnn/config.yaml --model_dir no
ends 2
has_err "...the strategy 'async' is one of parameter servers, and no rank is a server; ..."
# the newer kind: sync_mode counts where there are servers
cat >dnn/new.yaml <<'END'
runner:
  train_data_dir: "data"
  train_reader_path: "criteo_reader"
  train_batch_size: 8
  epochs: 1
  print_interval: 4
  model_save_path: "new_ckpt"
  sync_mode: "geo"
  geo_step: 3
  thread_num: 2
  slots: "click 1 2"
hyper_parameters:
  optimizer: {class: SGD, learning_rate: 0.1}
  sparse_inputs_slots: 27
  sparse_feature_number: 101
  sparse_feature_dim: 4
  dense_input_dim: 13
  fc_sizes: [8]
END
sed -i '/slots: "click/d' dnn/new.yaml
awk 'BEGIN { for (i = 0; i < 64; i++) { printf "click:%d", i % 3 == 0; for (k = 1; k <= 13; k++) printf " dense_feature:%.2f", i % 7 / 7; for (k = 1; k <= 26; k++) printf " %d:%d", k, (i * k) % 90 + 1; print "" } }' >dnn/data/part-0
run crank launch --ps 1 --workers 2 -- run -m dnn/new.yaml
ends 0
grep -q 'strategy: "geo"' new_ckpt/pipeline.config && grep -q 'k_steps: 3' new_ckpt/pipeline.config || fail "$(cat new_ckpt/pipeline.config)"
run crank launch --ps 1 --workers 2 -- run -m dnn/new.yaml -o runner.sync_mode=heter
ends 2
has_err "...sync_mode is 'heter' and must be sync, async or geo"
# Paddle's launcher, with crank in front
rm -rf new_ckpt
run crank fleetrun --worker_num=2 --server_num=1 ../tools/static_ps_trainer.py -m dnn/new.yaml
ends 0
has_err "...of the ranks of each node 2 work and 1 serves"
grep -q 'strategy: "geo"' new_ckpt/pipeline.config || fail "$(cat new_ckpt/pipeline.config)"
