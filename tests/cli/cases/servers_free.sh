# parameter servers without a barrier in each step: half_async, async and geo; their settings, staleness, going on with sync, mistakes
mpi_leaks
[ -f "$(dirname "$CRANK")/comm-mpich.so" ] || skip "crank was built without comm-mpich.so (package libmpich-dev)"
tiny_config
tiny_data 960 300
some="--threads 1 --set train_config.num_epochs=2 --set train_config.save_checkpoints_steps=5"
sgd='train_config.sparse_optimizer={sgd_optimizer: {lr: 0.05}, constant_learning_rate: {}}'
dense_sgd='train_config.dense_optimizer={sgd_optimizer: {lr: 0.05, momentum: 0}, constant_learning_rate: {}}'
# One worker of half_async does what one process does, whatever the number of servers: pull, step, push, receive.
# shellcheck disable=SC2086
run crank train tiny.yaml --model_dir one $some --set data_config.batch_size=60
ends 0
for s in 1 3; do
    # shellcheck disable=SC2086
    run crank launch --ps $s --workers 1 -- train tiny.yaml --strategy half_async --model_dir half$s $some --set data_config.batch_size=60
    ends 0
    same_weights one half$s
    same one/train_eval_result_v2.txt half$s/train_eval_result_v2.txt
    has_err "...half_async: staleness of gradients in batches: 0: 100.0 %; at most 0"
done
# every strategy with several of both; the checkpoint is like any other: one process evaluates it, and sync goes on from it
for strategy in half_async async geo; do
    rm -rf free
    # shellcheck disable=SC2086
    run crank launch --ps 2 --workers 2 -- train tiny.yaml --strategy $strategy --model_dir free $some --set data_config.batch_size=60 --set "$sgd" --set "$dense_sgd"
    ends 0
    is_there free/model.ckpt-15
    grep -q '^trained  1.9k rows, 16 steps' "$out" || fail "$(cat "$out")"
    [ $strategy = geo ] || has_err "...$strategy: staleness of gradients in batches: ..."
    run crank eval free/pipeline.config
    ends 0
    # shellcheck disable=SC2086
    run crank launch --ps 1 --workers 1 -- train free/pipeline.config --strategy sync --continue_train $some --set train_config.num_epochs=3 --set data_config.batch_size=120
    ends 0
    is_there free/model.ckpt-23
done
# the settings of async, from the config and from Paddle's environment, of which the older name is one; the config that is kept has them
# shellcheck disable=SC2086
run env FLAGS_communicator_max_send_grad_num_before_recv=2 FLAGS_communicator_independent_recv_thread=1 FLAGS_communicator_thread_pool_size=32 \
    crank launch --ps 2 --workers 2 -- train tiny.yaml --strategy async --model_dir set $some --set data_config.batch_size=60 \
    --set train_config.servers.max_merge_var_num=3 --set train_config.servers.send_wait_times=2 --set train_config.servers.send_queue_size=2
ends 0
has_err "...FLAGS_communicator_thread_pool_size of the environment has no effect here..."
for line in 'strategy: "async"' 'max_merge_var_num: 3' 'min_send_grad_num_before_recv: 2' 'independent_recv_thread: true' 'send_queue_size: 2'; do
    grep -q "$line" set/pipeline.config || fail "pipeline.config has no '$line': $(cat set/pipeline.config)"
done
# shellcheck disable=SC2086
run crank launch --ps 2 --workers 2 -- train tiny.yaml --strategy async --model_dir apart $some --set data_config.batch_size=60 \
    --set train_config.servers.max_merge_var_num=3 --set train_config.servers.merge_sparse_grad=false
ends 0
# every flag of Paddle's communicator has its key, of two names the later one wins, a flag that means nothing here says so, and a value
# that is none is a mistake with the name of its key
# shellcheck disable=SC2086
run env FLAGS_communicator_max_merge_var_num=2 FLAGS_communicator_send_queue_size=3 FLAGS_communicator_send_wait_times=4 \
    FLAGS_communicator_max_send_grad_num_before_recv=5 FLAGS_communicator_min_send_grad_num_before_recv=6 FLAGS_communicator_independent_recv_thread=true \
    FLAGS_communicator_is_sgd_optimizer=0 FLAGS_communicator_merge_sparse_grad=False FLAGS_communicator_fake_rpc=1 FLAGS_rpc_deadline=7000 \
    FLAGS_rpc_retry_times=8 FLAGS_worker_update_interval_secs=90 FLAGS_communicator_merge_sparse_bucket=1 FLAGS_rpc_send_thread_num=2 \
    FLAGS_rpc_get_thread_num=3 FLAGS_rpc_prefetch_thread_num=4 FLAGS_rpc_disable_reuse_port=1 \
    crank launch --ps 1 --workers 1 -- train tiny.yaml --strategy async --model_dir flags --threads 1 --set train_config.num_epochs=1
ends 0
for line in 'max_merge_var_num: 2' 'send_queue_size: 3' 'send_wait_times: 4' 'min_send_grad_num_before_recv: 6' 'independent_recv_thread: true' \
    'is_sgd_optimizer: false' 'merge_sparse_grad: false' 'fake_rpc: true' 'rpc_deadline: 7000' 'rpc_retry_times: 8' 'worker_update_interval_secs: 90'; do
    grep -q "^ *$line\$" flags/pipeline.config || fail "pipeline.config has no '$line': $(cat flags/pipeline.config)"
done
has_err "...FLAGS_communicator_merge_sparse_bucket, FLAGS_rpc_send_thread_num, FLAGS_rpc_get_thread_num, FLAGS_rpc_prefetch_thread_num, FLAGS_rpc_disable_reuse_port of the environment have no effect here..."
run env FLAGS_communicator_send_queue_size=many crank launch --ps 1 --workers 1 -- train tiny.yaml --strategy async --model_dir no
ends 2
has_err "FLAGS_... of the environment 'train_config.servers.send_queue_size=many':1:...: send_queue_size: 'many' is not an integer; give an integer from 1 to 1000"
run env FLAGS_communicator_fake_rpc=maybe crank launch --ps 1 --workers 1 -- train tiny.yaml --strategy async --model_dir no
ends 2
has_err "FLAGS_... of the environment 'train_config.servers.fake_rpc=maybe':1:...: fake_rpc: ..."
# the computing alone
# shellcheck disable=SC2086
run crank launch --ps 1 --workers 2 -- train tiny.yaml --strategy async --model_dir fake $some --set data_config.batch_size=60 --set train_config.servers.fake_rpc=true
ends 0
has_err "...fake_rpc: nothing is sent to the parameter servers and nothing comes from them; the speed is that of computing alone, and nothing is learned"
# mistakes, before the first step
refused() { # refused STRATEGY SET MESSAGE
    run crank launch --ps 1 --workers 1 -- train tiny.yaml --model_dir no --strategy "$1" --set "$2"
    ends 2
    has_err "$3"
}
refused geo train_config.seed=1 "...strategy geo trains on the workers and servers keep no optimizer state, so the optimizer must be sgd_optimizer, for dense parameters with momentum: 0, and it is ad...; change it, or use --strategy async"
refused half_async train_config.servers.max_merge_var_num=4 "...max_merge_var_num is 4, and with strategy half_async it must be the number of batches that a worker computes at a time, which is 1: more would be waited for for ever; remove it, and raise data_config.batch_size for larger steps"
refused async train_config.grad_clipping.clipping_type=norm "...grad_clipping limits the gradients of a step, and with strategy async no step has all workers; remove it, or use --strategy sync"
refused async train_config.gradient_accumulation_steps=2 "...gradient_accumulation_steps counts the batches of a step, and with strategy async no step has all workers; remove it, or use --strategy sync"
refused async 'train_config.sparse_optimizer={adam_optimizer: {lr: 0.01, mode: DENSE}, constant_learning_rate: {}}' "...the optimizer adam over all rows moves every row of a table in each step, which a server would do for each gradient of strategy async; use mode: LAZY, or --strategy sync"
refused geo train_config.servers.fake_rpc=true "...fake_rpc leaves out the letters of half_async and async, and the strategy is geo..."
refused async train_config.servers.send_queue_size=0 "...send_queue_size..."

# a pull asks for each id of a batch once: where all rows have the same id a row costs a few bytes
awk 'BEGIN { print "label,user"; for (i = 0; i < 640; i++) print i % 2 "," i }' >many.csv
awk 'BEGIN { print "label,user"; for (i = 0; i < 640; i++) print i % 2 ",7" }' >same.csv
cat >once.yaml <<'END'
train_input_path: many.csv
eval_input_path: same.csv
model_dir: once
train_config: {num_epochs: 1}
data_config: {dataset_type: CsvDataset, batch_size: 64, label_fields: [label], with_header: true, fg_mode: FG_NORMAL}
feature_configs: [{id_feature: {feature_name: user, expression: "user:user", num_buckets: 640, embedding_dim: 16}}]
model_config:
  feature_groups: [{group_name: wide, feature_names: [user], group_type: WIDE}, {group_name: deep, feature_names: [user], group_type: DEEP}]
  wide_and_deep: {deep: {hidden_units: [2]}}
  losses: [{binary_cross_entropy: {}}]
  metrics: [{auc: {}}]
END
for strategy in sync half_async async geo; do
    for data in many same; do
        rm -rf once
        run crank launch --ps 1 --workers 2 -- train once.yaml --strategy $strategy --threads 1 --set "$sgd" --set "$dense_sgd" --train_input_path $data.csv
        ends 0
        awk '$1 == "sent" { print $2 * ($3 == "KB" ? 1000 : 1) }' "$out" >sent_$data
    done
    awk 'NR == FNR { many = $1; next } { exit !(many > 100 && $1 > 0 && $1 < many / 5) }' sent_many sent_same ||
        fail "$strategy: $(cat sent_same) bytes per row for one id, $(cat sent_many) for one per row"
done
