# meta-learning by inner steps: train_config.inner_loop and eval_config.inner_loop, in a config of crank's own
# rows SEED N: label, two ids and a list of ids
rows() {
    awk -v x="$1" -v n="$2" 'function r(k) { x = (x * 1103515245 + 12345) % 2147483648; return int(x / 65536) % k }
    BEGIN { for (i = 0; i < n; i++) { a = r(6); b = r(5); c = r(9); print (a + b + r(3) > 5) "," a "," b "," c "\003" (c + b) % 9 "," r(100) / 100 } }'
}
config() { # config MORE_OF_TRAIN_CONFIG MORE
    cat >tiny.yaml <<END
train_input_path: train.csv
model_dir: model
train_config: {num_epochs: 2, seed: 5, use_tensorboard: false, sparse_optimizer: {adam_optimizer: {lr: 0.02, mode: DENSE}},
  dense_optimizer: {adam_optimizer: {lr: 0.02}}$1}
data_config:
  dataset_type: CsvDataset
  fg_mode: FG_NONE
  batch_size: 24
  eval_batch_size: 5
  label_fields: [y]
  input_fields: [{input_name: y, input_type: INT32}, {input_name: a, input_type: INT64}, {input_name: b, input_type: INT64},
    {input_name: c, input_type: STRING}, {input_name: d, input_type: FLOAT}]
feature_configs:
- id_feature: {feature_name: a, num_buckets: 6, embedding_dim: 4}
- id_feature: {feature_name: b, num_buckets: 5, embedding_dim: 4}
- id_feature: {feature_name: c, num_buckets: 9, embedding_dim: 4, pooling: mean}
- raw_feature: {feature_name: d}
model_config:
  feature_groups: [{group_name: deep, group_type: DEEP, feature_names: [a, b, c, d]}]
  multi_tower: {towers: [{input: deep, mlp: {hidden_units: [8]}}]}
  losses: [{binary_cross_entropy: {}}]
  metrics: [{auc: {}}]
  train_metrics: [{auc: {}}]
${2:-}
END
}
inner=', inner_loop: {support_rows: 5, query_rows: 3, steps: 3, sgd_optimizer: {lr: 0.3, momentum: 0.5}}'
eval='eval_input_path: tasks
eval_config: {inner_loop: {steps: 2, adam_optimizer: {lr: 0.05}}}'
rows 1 240 >train.csv
for t in 2 10 b; do
    mkdir -p "tasks/$t/support" "tasks/$t/query"
    rows "1$(printf %d "'$t")" 12 >"tasks/$t/support/rows.csv"
    rows "2$(printf %d "'$t")" 9 >"tasks/$t/query/rows.csv"
done
config "$inner" "$eval"
run crank check tiny.yaml
ends 0
# the same bits for any number of threads, and after a kill
for n in 1 3; do
    run crank train tiny.yaml --model_dir $n --threads $n
    ends 0
done
has_err "...Eval Result Epoch-1 model-19: auc:... binary_cross_entropy:..."
same_weights 1 3
may_be_killed=yes
run env CRANK_TEST_KILL=step:14 crank train tiny.yaml --model_dir killed --set train_config.save_checkpoints_steps=5
ends 137
run crank train tiny.yaml --model_dir killed --continue_train
ends 0
same_weights 1 killed
# without inner steps it is another training
config '' "$eval"
run crank train tiny.yaml --model_dir plain
ends 0
run "$WEIGHTS_DIFF" "$(newest 1)/model-00001-of-00001.safetensors" "$(newest plain)/model-00001-of-00001.safetensors"
ends 1

# fitting a task is training on its support rows from the same weights, by the same rule; here Adam begins anew
config "$inner" "$eval"
one() { # one TASK: metrics of this task alone
    rm -rf only
    mkdir only
    cp -r "tasks/$1" only/
    run crank eval tiny.yaml --model_dir 1 --eval_input_path only
    ends 0
    sed -n 's/.*Eval Result: //p' "$err"
}
for t in 2 b; do
    config "$inner" "$eval"
    one $t >fitted
    config ', fine_tune_checkpoint: 1' ''
    run crank train tiny.yaml --model_dir "fit_$t" --train_input_path "tasks/$t/support/rows.csv" --eval_input_path "tasks/$t/query/rows.csv" \
        --ignore_restore_optimizer --set data_config.batch_size=5 --set train_config.sparse_optimizer.adam_optimizer.lr=0.05 \
        --set train_config.dense_optimizer.adam_optimizer.lr=0.05
    ends 0
    sed -n 's/.*Eval Result Epoch-1 model-[0-9]*: //p' "$err" | tail -n 1 >trained
    same fitted trained
done

# mistakes
wrong() { # wrong INNER_LOOP EDIT MESSAGE
    config "$1" "$eval"
    run crank train tiny.yaml --model_dir none $2
    ends 2
    has_err "$3"
}
wrong ', inner_loop: {support_rows: 5}' '' "tiny.yaml:...: a task needs support_rows and query_rows, its rows in a batch; add for example query_rows: 32"
wrong ', inner_loop: {support_rows: 5, query_rows: 4}' '' "tiny.yaml:...: batch_size 24 is no multiple of 9, the support_rows and query_rows of a task; change one of them"
wrong "$inner" '--set data_config.shuffle=true' "...: shuffle does not go with inner_loop: a task is consecutive rows; remove it"
wrong "$inner" '--set train_config.gradient_accumulation_steps=2' "...: gradient_accumulation_steps does not go with inner_loop: ..."
wrong "$inner" '--set train_config.grad_clipping.clipping_type=norm' "...: grad_clipping does not go with inner_loop: ..."
wrong "$inner" '--set eval_config.inner_loop.support_rows=3' "...: in an evaluation the files of a task tell its rows: ..."
config "$inner" "$eval"
head -n 237 train.csv >cut.csv
run crank train tiny.yaml --model_dir none --train_input_path cut.csv
ends 3
has_err "...: a batch of 21 rows is no number of tasks, which have 5 support rows and 3 query rows each; correct the data, or set data_config.drop_remainder"
run crank eval tiny.yaml --model_dir 1 --eval_input_path train.csv
ends 1
has_err "...: 'train.csv' is no folder; eval_config.inner_loop needs a folder with a folder for each task"
rm -r tasks/10/support
run crank eval tiny.yaml --model_dir 1
ends 1
has_err "tiny.yaml:...: eval_input_path 'tasks/10/support/*': no file found; check the path"
