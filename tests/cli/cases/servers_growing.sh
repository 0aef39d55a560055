# growing tables on parameter servers without a barrier: one worker of half_async has the bytes of one process, every strategy trains
# with one or two of both, checkpoints go on as any other, zch is refused
mpi_leaks
[ -f "$(dirname "$CRANK")/comm-mpich.so" ] || skip "crank was built without comm-mpich.so (package libmpich-dev)"
tiny_config
tiny_data 960 300
sed "s/expression: \"user:user\", num_buckets: [0-9]*/expression: \"user:user\", growing: {max_rows: 30, bucket_rows: 8, lfu: {}}/
     s/expression: \"item:item\", num_buckets: [0-9]*/expression: \"item:item\", growing: {frequency_admission: {threshold: 3}, absent_value: 0.1, expiry: {interval_steps: 4, decay_rate: 0.7, least_score: 1}}/
     s/num_buckets: [0-9]*/growing: {}/" tiny.yaml >grow.yaml
[ "$(grep -c growing grow.yaml)" -eq 3 ] || fail "$(cat grow.yaml)"
some="--threads 1 --set train_config.num_epochs=2 --set train_config.save_checkpoints_steps=5"
sgd='train_config.sparse_optimizer={sgd_optimizer: {lr: 0.05}, constant_learning_rate: {}}'
dense_sgd='train_config.dense_optimizer={sgd_optimizer: {lr: 0.05, momentum: 0}, constant_learning_rate: {}}'
# shellcheck disable=SC2086
run crank train grow.yaml --model_dir one $some --set data_config.batch_size=60
ends 0
for s in 1 2; do
    # shellcheck disable=SC2086
    run crank launch --ps $s --workers 1 -- train grow.yaml --strategy half_async --model_dir half$s $some --set data_config.batch_size=60
    ends 0
    same_weights one half$s
    same one/train_eval_result_v2.txt half$s/train_eval_result_v2.txt
done
run crank params one --table user_emb --top 3
ends 0
cp "$out" top_of_one
run crank params half2 --table user_emb --top 3
ends 0
same "$out" top_of_one
for strategy in half_async async geo; do
    for s in 1 2; do
        rm -rf free
        # shellcheck disable=SC2086
        run crank launch --ps $s --workers 2 -- train grow.yaml --strategy $strategy --model_dir free $some --set data_config.batch_size=60 --set "$sgd" --set "$dense_sgd"
        ends 0
        run crank eval free/pipeline.config
        ends 0
        run crank params free --table user_emb --top 1
        has_out "table user_emb: ... ids have rows"
    done
    # shellcheck disable=SC2086
    run crank launch --ps 1 --workers 1 -- train free/pipeline.config --strategy sync --continue_train $some --set train_config.num_epochs=3 --set data_config.batch_size=120
    ends 0
    is_there free/model.ckpt-23
done
sed "s/expression: \"user:user\", num_buckets: [0-9]*/expression: \"user:user\", zch: {zch_size: 20, eviction_interval: 2, lfu: {}}/" tiny.yaml >zch.yaml
run crank launch --ps 1 --workers 1 -- train zch.yaml --model_dir no --strategy async
ends 2
has_err "...zch looks at the ids of a step, and with strategy async no step has all workers; remove it, or use --strategy sync"

# rows that count shows and clicks have one strategy; the others are refused by name, with the cure
tiny_config
sed 's/num_buckets: [0-9]*/growing: {ctr_accessor: {}}/' tiny.yaml >ctr.yaml
for strategy in half_async async geo; do
    run crank launch --ps 1 --workers 1 -- train ctr.yaml --strategy $strategy --model_dir refused
    ends 2
    has_err "...feature 'user' has a ctr_accessor, which the strategy $strategy does not have; use sync"
done

# Tables of many megabytes, which move to other addresses while they grow: the bytes of one process, on ranks and on servers
tiny_config
awk 'BEGIN { print "label,user,item,tags,price"; for (i = 0; i < 24000; i++) printf "%d,%d,%d,%d,0.5\n", i % 3 == 0, i * 7 + 1, i % 20, i % 9 }' >many.csv
sed 's/num_buckets: 50, embedding_dim: 4/growing: {}, embedding_dim: 512/; s/train_input_path: .*/train_input_path: many.csv/' tiny.yaml >wide.yaml
grep -q 'growing: {}, embedding_dim: 512' wide.yaml || fail "$(cat wide.yaml)"
few="--threads 1 --set train_config.num_epochs=0 --set train_config.num_steps=8 --set train_config.save_checkpoints_steps=100 --set train_config.lanes=4 --set eval_input_path="
# shellcheck disable=SC2086
run crank train wide.yaml --model_dir wide_one $few --set data_config.batch_size=600
ends 0
for flags in "--nproc-per-node 2" "--ps 1 --workers 2"; do
    rm -rf wide_all
    # shellcheck disable=SC2086
    run crank launch --standalone $flags -- train wide.yaml --model_dir wide_all $few --set data_config.batch_size=300
    ends 0
    same_weights wide_one wide_all
done
# a server without memory for one more row says so, and all end
if [ -z "${sanitized:-}" ] && command -v mpiexec.hydra >/dev/null; then
    cat >limit.sh <<'END'
[ "$PMI_RANK" != 1 ] || ulimit -v 2000000
exec "$@"
END
    sed 's/embedding_dim: 512/embedding_dim: 8192/' wide.yaml >wider.yaml
    for strategy in sync async; do
        run mpiexec.hydra -n 2 sh limit.sh crank train wider.yaml --ps 1 --workers 1 --strategy $strategy --model_dir full_$strategy --threads 1 \
            --set data_config.batch_size=600 --set train_config.save_checkpoints_steps=1000 --set eval_input_path=
        ends 1
        has_err "...rank 1 (host ...) cannot go on: no ... for ...user_emb.weight: ... needed..."
    done
fi
