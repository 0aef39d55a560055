# tables with a CTR accessor: shows and clicks, the second part of rows, every rule. The same bytes for any number of threads and
# ranks and after a kill; checkpoints, exports and predictions; text models that are written and read back.
tiny_data 960 300
tiny_config
acc='ctr_accessor: {embedx_threshold: 5, embedx_sgd: {adagrad: {learning_rate: 0.1, initial_range: 0.05}}}'
sed "s/num_buckets: [0-9]*/growing: {$acc}/
     /feature_name: item/s/adagrad: {/std_adagrad: {/
     /feature_name: item/s/ctr_accessor: {/&pull: CVM, embed_sgd: {shared_adam: {learning_rate: 0.02}}, /
     /feature_name: tags/s/adagrad: {/adam: {/
     /feature_name: tags/s/ctr_accessor: {/&pull: SHOW_CLICK, zero_init: false, embed_sgd: {naive: {}}, slot: 77, /" tiny.yaml >ctr.yaml
[ "$(grep -c 'ctr_accessor' ctr.yaml)" -eq 3 ] || fail "$(cat ctr.yaml)"
run crank train ctr.yaml --model_dir one --threads 1
ends 0
run crank train ctr.yaml --threads 3 --set train_config.eval_interval_steps=7
ends 0
same_weights one model
run crank params "$(newest one)"
has_out "...ebc.embedding_bags.user_emb.weight ...[51, 7] ..."
has_out "...state...user_emb.weight.unseen_days ..."
run crank params one --table user_emb --top 2
ends 0
has_out "table user_emb: 50 ids have rows"
has_out "... shows      embedx ..."
rm -rf model
may_be_killed=yes
CRANK_TEST_KILL=step:25 run crank train ctr.yaml
ends 137
run crank train ctr.yaml --continue_train
ends 0
same_weights one model
# an export, a checkpoint and the end of training predict the same
run crank export one/pipeline.config --export_dir export
ends 0
run crank predict --scripted_model_path export --predict_input_path eval.csv --predict_output_path from_export
ends 0
run crank predict --pipeline_config_path one/pipeline.config --predict_input_path eval.csv --predict_output_path from_ckpt --threads 2
ends 0
same from_export/part-0.csv from_ckpt/part-0.csv
run crank eval one/pipeline.config --eval_result_filename again.txt
ends 0
tail -n 1 one/train_eval_result_v2.txt >last.txt
same last.txt one/again.txt
# ranks and servers: the same bytes
if [ -f "$(dirname "$CRANK")/comm-mpich.so" ]; then
    mpi_leaks
    run crank train ctr.yaml --model_dir lanes --set train_config.lanes=4 --set data_config.batch_size=24
    ends 0
    for ranks in 2 3; do
        run crank launch --nproc_per_node $ranks -- train ctr.yaml --model_dir "by_$ranks" --threads 1 \
            --set data_config.batch_size=$((24 / ranks)) --set train_config.lanes=4
        ends 0
        same_weights lanes "by_$ranks"
    done
    CRANK_TEST_KILL=step:31 run crank launch --nproc_per_node 3 -- train ctr.yaml --model_dir cut --threads 1 \
        --set data_config.batch_size=8 --set train_config.lanes=4
    ends bad
    run crank launch --nproc_per_node 2 -- train ctr.yaml --model_dir cut --threads 1 --set data_config.batch_size=12 \
        --set train_config.lanes=4 --continue_train
    ends 0
    same_weights lanes cut
    run crank launch --ps 2 --workers 2 -- train ctr.yaml --model_dir served --threads 1 --set data_config.batch_size=12 \
        --set train_config.lanes=4
    ends 0
    same_weights lanes served
fi
# mistakes
bad() { # bad SED TEXT
    sed "$1" ctr.yaml >bad.yaml
    run crank check bad.yaml
    ends 2
    has_err "$2"
}
bad '/feature_name: user/s/growing: {/&max_rows: 10, /' "bad.yaml:21:...: max_rows does not go with ctr_accessor..."
bad '/feature_name: user/s/embedding_dim/pooling: mean, &/' "bad.yaml:21:...: feature 'user' has a ctr_accessor, which counts shows of summed ids; set pooling: sum"
bad '/feature_name: tags/s/embedding_dim: 4/embedding_dim: 2/' "bad.yaml:23:...show, click and embed_w take 3 columns; raise embedding_dim"
bad '/feature_name: user/s/initial_range: 0.05/weight_bounds: [1]/' "bad.yaml:21:...: weight_bounds has two numbers..."
bad '/feature_name: user/s/embedx_threshold: 5/click_field: clicks/' "bad.yaml:21:...: 'clicks' is not among label_fields; add it there"
run crank train ctr.yaml --model_dir no --set 'train_config.grad_scaler={}'
ends 2
has_err "...grad_scaler scales the shows of feature 'user', which has a ctr_accessor..."
