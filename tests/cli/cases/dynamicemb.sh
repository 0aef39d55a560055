# tables with dynamicemb: an id gets a row when it is first seen, or has been seen often enough. The same bytes for any number
# of threads and ranks and after a kill; checkpoints and exports have the rows that there are; evaluation changes nothing.
tiny_data 960 300
tiny_config
sed 's/expression: "user:user", num_buckets: 50/expression: "user:user", dynamicemb: {max_capacity: 1000000}/
     s/expression: "item:item", num_buckets: 30/expression: "item:item", dynamicemb: {max_capacity: 12, score_strategy: LFU, initializer_args: {mode: NORMAL, std_dev: 0.05}}/
     s/expression: "item:tags", num_buckets: 20/expression: "item:tags", dynamicemb: {max_capacity: 15, eval_initializer_args: {mode: CONSTANT, value: 0.1}, init_capacity_per_rank: 8, frequency_admission_strategy: {threshold: 40, counter_capacity: 9}}/' tiny.yaml >dyn.yaml
[ "$(grep -c max_capacity dyn.yaml)" -eq 3 ] || fail "$(cat dyn.yaml)"
run crank train dyn.yaml --threads 1 --model_dir one
ends 0
run crank train dyn.yaml --threads 3 --set train_config.eval_interval_steps=7
ends 0
same_weights one model
rm -rf model
may_be_killed=yes
CRANK_TEST_KILL=step:25 run crank train dyn.yaml
ends 137
run crank train dyn.yaml --continue_train
ends 0
no_err "...table '...the model..."
same_weights one model
# rows: those of the ids that were seen, and one for all others; not a million
run crank params "$(newest one)"
has_out "...ebc.embedding_bags.user_emb.weight ...[51, 4] ..."
has_out "...ebc.embedding_bags.user_emb._mch_sorted_raw_ids ...[51] ...I64 ..."
has_out "...ebc.embedding_bags.item_emb.weight ...[13, 4] ..."
has_out "...tags_emb._history_counts ...I64 ..."
# the most frequent ids
run crank params one --table item_emb --top 3
ends 0
has_out "table item_emb: 12 ids have rows"
[ "$(wc -l <"$out")" -eq 5 ] || fail "$(cat "$out")"
tail -n 3 "$out" | awk '{ print $2 }' | sort -rn >sorted
tail -n 3 "$out" | awk '{ print $2 }' >given
same sorted given
run crank params one --table item_emb --top 1 --json
has_out "...\"ids\": 12..."
run crank params one --table nothing
ends 2
has_err "one/model.ckpt-59: no table 'nothing' with zch or dynamicemb; there are item_emb, ..."
run crank export one/pipeline.config --export_dir export
ends 0
run crank params export --table item_emb
ends 2
has_err "export: an export has no counts of ids; name a checkpoint"
run crank params export
has_out "...ebc.embedding_bags.user_emb.weight ...[51, 4] ..."
run crank predict --scripted_model_path export --predict_input_path eval.csv --predict_output_path from_export
ends 0
run crank predict --pipeline_config_path one/pipeline.config --predict_input_path eval.csv --predict_output_path from_ckpt --threads 2
ends 0
same from_export/part-0.csv from_ckpt/part-0.csv
run crank eval one/pipeline.config --eval_result_filename again.txt
ends 0
tail -n 1 one/train_eval_result_v2.txt >last.txt
same last.txt one/again.txt
# a table whose rows are enough for all ids, each with the first values of its own: more room changes nothing
run crank train dyn.yaml --model_dir roomy --set 'feature_configs[0].id_feature.dynamicemb.max_capacity=1000' \
    --set 'feature_configs[0].id_feature.dynamicemb.initializer_args={mode: UNIFORM, lower: -0.001, upper: 0.001}'
ends 0
run crank train dyn.yaml --model_dir roomier --set 'feature_configs[0].id_feature.dynamicemb.max_capacity=60' \
    --set 'feature_configs[0].id_feature.dynamicemb.initializer_args={mode: UNIFORM, lower: -0.001, upper: 0.001}'
ends 0
same_weights roomy roomier
# a full table without eviction keeps its first ids
run crank train dyn.yaml --model_dir full --set 'feature_configs[1].id_feature.dynamicemb.score_strategy=NO_EVICTION'
ends 0
# from zch to dynamicemb and back, by name: weights, optimizer state and ids
sed 's/dynamicemb: {max_capacity: 1000000}/zch: {zch_size: 60, lfu: {}}/
     s/dynamicemb: {max_capacity: 12, .*0.05}}/zch: {zch_size: 40, lfu: {}}/' dyn.yaml >mixed.yaml
[ "$(grep -c zch_size mixed.yaml)" -eq 2 ] || fail "$(cat mixed.yaml)"
run crank train mixed.yaml --model_dir mixed --train_input_path train.csv --fine_tune_checkpoint one
ends 0
no_err "...Skip restore state..."
run crank train dyn.yaml --model_dir again --fine_tune_checkpoint mixed --set 'feature_configs[1].id_feature.dynamicemb.max_capacity=50'
ends 0
no_err "...Skip restore state..."
has_err "...Restored ... parameters, 0 keep their first values"
# ranks: the same bytes, with tables that are cut
if [ -f "$(dirname "$CRANK")/comm-mpich.so" ]; then
    mpi_leaks
    run crank train dyn.yaml --model_dir lanes --set train_config.lanes=2
    ends 0
    run crank launch --nproc_per_node 2 -- train dyn.yaml --model_dir two --threads 1 --set data_config.batch_size=16 \
        --set train_config.lanes=2 --set "train_config.global_embedding_constraints.sharding_types=[row_wise]"
    ends 0
    same_weights lanes two
    CRANK_TEST_KILL=step:31 run crank launch --nproc_per_node 2 -- train dyn.yaml --model_dir cut --threads 1 --set data_config.batch_size=16 \
        --set train_config.lanes=2 --set "train_config.global_embedding_constraints.sharding_types=[row_wise]"
    ends bad
    run crank train dyn.yaml --model_dir cut --set train_config.lanes=2 --continue_train
    ends 0
    same_weights lanes cut
    run crank launch --nproc_per_node 2 -- eval lanes/pipeline.config --eval_result_filename by_two.txt --set data_config.batch_size=16
    ends 0
    run crank eval lanes/pipeline.config --eval_result_filename alone.txt
    ends 0
    same lanes/alone.txt lanes/by_two.txt
fi
# mistakes
bad() { # bad SED TEXT
    sed "$1" dyn.yaml >bad.yaml
    run crank check bad.yaml
    ends 2
    has_err "$2"
}
bad 's/score_strategy: LFU/score_strategy: CUSTOMIZED/' "bad.yaml:22:...: score_strategy 'CUSTOMIZED' needs a program that sets scores..."
bad 's/score_strategy: LFU/score_strategy: LRU/' "bad.yaml:22:...: unknown score_strategy 'LRU'; use STEP, TIMESTAMP, LFU or NO_EVICTION"
bad 's/mode: CONSTANT, value: 0.1/mode: NORMAL/' "bad.yaml:23:...: eval_initializer_args: ids without a row share one vector..."
bad 's/threshold: 40/threshold: 0/' "bad.yaml:23:...: threshold must be 1 or more..."
bad 's/max_capacity: 12/max_capacity: 0/' "bad.yaml:22:...: max_capacity is 0 and must lie between 1 and ..."
bad 's/dynamicemb: {max_capacity: 12/pretrained_path: one, &/' "bad.yaml:22:...: feature 'item': no row of its table belongs to an id yet..."
bad 's/mode: NORMAL/mode: normal/' "bad.yaml:22:...: unknown mode 'normal'..."
bad 's/dynamicemb: {max_capacity: 12/embedding_name: user_emb, dynamicemb: {max_capacity: 1000000/' "bad.yaml:22:...: features 'user' and 'item' share the table 'user_emb' but differ in init_fn..."
