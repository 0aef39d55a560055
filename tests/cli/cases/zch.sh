# tables with zch: ids of 63 bits, rows for the best of them. The same bytes for any number of threads and ranks and after a
# kill inside an interval; evaluation changes nothing; checkpoint, export and training give the same scores.
zch_config() {
    tiny_config
    sed 's/expression: "user:user", num_buckets: 50/expression: "user:user", zch: {zch_size: 30, eviction_interval: 3, lfu: {}}/
         s/expression: "item:item", num_buckets: 30/expression: "item:item", zch: {zch_size: 20, lru: {}}/
         s/expression: "item:tags", num_buckets: 20/expression: "item:tags", zch: {zch_size: 12, eviction_interval: 4, distance_lfu: {decay_exponent: 0.5}, threshold_filtering_func: "lambda x: (x > 2, 2)"}/' tiny.yaml >zch.yaml
    [ "$(grep -c zch_size zch.yaml)" -eq 3 ] || fail "$(cat zch.yaml)"
}
tiny_data 960 300
zch_config
run crank train zch.yaml --threads 1 --model_dir one
ends 0
run crank train zch.yaml --threads 3 --set train_config.eval_interval_steps=7
ends 0
same_weights one model
# killed in the middle of an interval
rm -rf model
may_be_killed=yes
CRANK_TEST_KILL=step:25 run crank train zch.yaml
ends 137
run crank train zch.yaml --continue_train
ends 0
same_weights one model
# the maps are there, and full; an export has the ids with their rows and nothing more
last_ckpt=$(newest one)
run crank params "$last_ckpt"
has_out "...mc_ebc._managed_collision_collection._managed_collision_modules.user_emb._mch_sorted_raw_ids ...[30] ...I64 ..."
has_out "...mc_ebc._managed_collision_collection._managed_collision_modules.tags_emb_wide._mch_counts ...[12] ...I64 ..."
has_out "...mc_ebc._embedding_module.embedding_bags.item_emb.weight ...[20, 4] ..."
run crank export one/pipeline.config --export_dir export
ends 0
run crank params export
has_out "...user_emb._mch_remapped_ids_mapping ..."
if grep -q '_mch_counts\|_history' "$out"; then fail "the export has the state of training"; fi
# one score everywhere
run crank predict --scripted_model_path export --predict_input_path eval.csv --predict_output_path from_export
ends 0
run crank predict --pipeline_config_path one/pipeline.config --predict_input_path eval.csv --predict_output_path from_ckpt --threads 2
ends 0
same from_export/part-0.csv from_ckpt/part-0.csv
run crank eval one/pipeline.config --eval_result_filename again.txt
ends 0
tail -n 1 one/train_eval_result_v2.txt >last.txt
same last.txt one/again.txt
run crank export one/pipeline.config --export_dir export_int8 --embedding_dtype INT8
ends 0
run crank predict --scripted_model_path export_int8 --predict_input_path eval.csv --predict_output_path int8
ends 0
# a table with more rows keeps what it has learned, one with fewer begins anew; with its map in both cases
for size in 25 15; do
    rm -rf model
    cp -r one model
    sed "s/zch_size: 20/zch_size: $size/" zch.yaml >other.yaml
    run crank train other.yaml --continue_train --set train_config.num_epochs=3
    ends 0
    [ $size -eq 15 ] || has_err "...table '...item_emb.weight' is (20, 4) in the checkpoint, (25, 4) in the model: its rows are taken, the new ones are free"
    [ $size -eq 25 ] || has_err "...table '...item_emb.weight' is (20, 4) in the checkpoint, (15, 4) in the model: it has fewer rows now, so the table begins anew"
done
# ranks: the same bytes, with tables that are cut
if [ -f "$(dirname "$CRANK")/comm-mpich.so" ]; then
    mpi_leaks
    for kind in data_parallel row_wise; do
        run crank launch --nproc_per_node 2 -- train zch.yaml --model_dir $kind --threads 1 --set data_config.batch_size=16 \
            --set train_config.lanes=2 --set "train_config.global_embedding_constraints.sharding_types=[$kind]"
        ends 0
    done
    run crank train zch.yaml --model_dir lanes --set train_config.lanes=2
    ends 0
    same_weights lanes data_parallel
    same_weights lanes row_wise
    # one rank is killed between two updates of a map, and one process goes on
    CRANK_TEST_KILL=step:31 run crank launch --nproc_per_node 2 -- train zch.yaml --model_dir cut --threads 1 --set data_config.batch_size=16 \
        --set train_config.lanes=2
    ends bad
    run crank train zch.yaml --model_dir cut --set train_config.lanes=2 --continue_train
    ends 0
    same_weights lanes cut
fi
# mistakes
bad() { # bad SED TEXT
    sed "$1" zch.yaml >bad.yaml
    run crank check bad.yaml
    ends 2
    has_err "$2"
}
bad 's/, lru: {}//' "bad.yaml:22:...: ...eviction policy..."
bad 's/zch_size: 20/zch_size: 1/' "bad.yaml:22:...: zch_size is 1 and must lie between 2 ..."
bad 's/lambda x: (x > 2, 2)/lambda x: (torch.log(x) > 2, 2)/' "bad.yaml:23:...: feature 'tags': crank reads threshold_filtering_func of the forms..."
bad 's/zch: {zch_size: 20, lru: {}}/embedding_name: user_emb, &/' "bad.yaml:22:...: features 'user' and 'item' share the table 'user_emb' but differ in number of rows..."
bad 's/zch: {zch_size: 20, lru: {}}/embedding_name: user_emb, zch: {zch_size: 30, lru: {}}/' "bad.yaml:22:...: features 'user' and 'item' share the table 'user_emb' but differ in eviction_interval..."
