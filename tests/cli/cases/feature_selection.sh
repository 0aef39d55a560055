# variational dropout tells features from noise, and feature_selection makes a config of what it found
awk 'BEGIN { s = 11; print "y,g1,n1,g2,n2,x,z"; for (i = 0; i < 8000; i++) {
    for (k = 0; k < 7; k++) { s = (s * 1103515245 + 12345) % 2147483648; r[k] = int(s / 65536) }
    a = r[0] % 8; b = r[1] % 8; x = r[2] % 100 / 50 - 1
    p = 1 / (1 + exp(-(a - 3.5) * 0.7 - (b % 2 ? 1.2 : -1.2) - 1.5 * x))
    printf "%d,%d,%d,%d,%d,%.2f,%.2f\n", r[3] % 1000 < p * 1000, a, r[4] % 8, b, r[5] % 8, x, r[6] % 100 / 50 - 1 } }' >f.csv
cat >f.yaml <<'YAML'
train_input_path: f.csv
eval_input_path: f.csv
model_dir: m
train_config:
  sparse_optimizer: {adagrad_optimizer: {lr: 0.05}, constant_learning_rate: {}}
  dense_optimizer: {adam_optimizer: {lr: 0.01}, constant_learning_rate: {}}
  num_epochs: 12
data_config: {dataset_type: CsvDataset, batch_size: 100, fg_mode: FG_NORMAL, with_header: true, label_fields: [y], shuffle: true}
feature_configs: # g1, g2 and x decide, n1, n2 and z are noise
  - id_feature: {feature_name: g1, expression: "user:g1", num_buckets: 8, embedding_dim: 4}
  - id_feature: {feature_name: n1, expression: "user:n1", num_buckets: 8, embedding_dim: 4}
  - id_feature: {feature_name: g2, expression: "user:g2", num_buckets: 8, embedding_dim: 4}
  - id_feature: {feature_name: n2, expression: "user:n2", num_buckets: 8, embedding_dim: 4}
  - raw_feature: {feature_name: x, expression: "user:x"}
  - raw_feature: {feature_name: z, expression: "user:z"}
model_config:
  feature_groups:
    - {group_name: all, feature_names: [g1, n1, g2, n2, x, z]}
  multi_tower: {towers: [{input: all, mlp: {hidden_units: [16]}}], final: {hidden_units: [8]}}
  variational_dropout: {regularization_lambda: 0.5}
  losses: [{binary_cross_entropy: {}}]
  metrics: [{auc: {}}]
YAML
auc_of() { sed -n 's/.*"auc": *\([0-9.]*\).*/\1/p' "$1/train_eval_result_v2.txt" | tail -n 1; }
run crank feature_selection f.yaml --output_dir s
ends 1
has_err "crank feature_selection: there is no checkpoint (model.ckpt-N) in m; train first, or name another --model_dir"
run crank train f.yaml
ends 0
has_err "... all_feature_p_loss:0.0... total_loss: ..."
# evaluation, checkpoint and export see the same means
run crank eval m/pipeline.config
ends 0
grep -q "\"auc\": $(auc_of m)" m/eval_result.txt || fail "eval gives another auc"
run crank export m/pipeline.config --export_dir e
ends 0
run crank predict --scripted_model_path e --predict_input_path f.csv --predict_output_path pe --threads 1
ends 0
run crank predict --pipeline_config_path m/pipeline.config --predict_input_path f.csv --predict_output_path pm --threads 2
ends 0
same pe/part-0.csv pm/part-0.csv
run crank params m
has_out "  model.group_variational_dropouts.all.feature_p ...[6]..."
run crank feature_selection f.yaml --output_dir s --topk 3 --visualize --clear_variational_dropout
ends 0
has_out "  0...  n2  (out)"
has_out "3 of 6 feature configs stay, in s/f.yaml"
[ "$(sed -n 1p s/feature_dropout_ratio_all.csv)" = feature_name,mean_drop_p ] || fail "no header"
[ "$(sed -n 2,4p s/feature_dropout_ratio_all.csv | cut -d, -f1 | sort | tr '\n' ' ')" = "g1 g2 x " ] || fail "noise is found needed"
# what decides is hardly ever dropped, noise nearly always
awk -F, 'NR > 1 && NR < 5 && $2 > 0.3 || NR > 4 && $2 < 0.7 { exit 1 }' s/feature_dropout_ratio_all.csv || fail "noise and features are not told apart"
[ "$(grep -c '<rect' s/feature_dropout_pic_all.svg)" = 7 ] || fail "not a bar for each feature"
tail -n 1 s/feature_dropout_pic_all.svg | grep -q '^</svg>$' || fail "the picture is not whole"
grep -q 'feature_names: \["\?g1"\?, "\?g2"\?, "\?x"\?\]' s/f.yaml || fail "the group is not cut"
if grep -q 'variational_dropout\|n1\|n2' s/f.yaml; then fail "something is left"; fi
# the new config trains, as well as before
run crank train s/f.yaml --model_dir m2
ends 0
awk -v a="$(auc_of m)" -v b="$(auc_of m2)" 'BEGIN { exit !(a > 0.85 && b > a - 0.005) }' || fail "auc $(auc_of m), $(auc_of m2) with fewer features"
# TorchEasyRec's command line; all features by default; protobuf text stays what it is
run crank python -m tzrec.tools.feature_selection --pipeline_config_path m/pipeline.config --model_dir m --output_dir s2
ends 0
has_out "6 of 6 feature configs stay, in s2/pipeline.config"
grep -q '^  variational_dropout {' s2/pipeline.config || fail "variational_dropout is gone"
is_gone s2/feature_dropout_pic_all.svg
same s/feature_dropout_ratio_all.csv s2/feature_dropout_ratio_all.csv
# features that something else names or reads stay
run crank train f.yaml --model_dir m3 --set train_config.num_epochs=1 --set data_config.fg_mode=FG_DAG \
    --set 'feature_configs[2].id_feature.expression=feature:n2' \
    --set 'model_config.metrics=[{grouped_auc: {grouping_key: n1}}]' \
    --set 'model_config.feature_groups=[{group_name: all, feature_names: [g1, n1, g2, n2]}, {group_name: one, feature_names: [z]}, {group_name: both, feature_names: [x, z]}]' \
    --set 'model_config.multi_tower.towers=[{input: all, mlp: {hidden_units: [8]}}, {input: one}, {input: both}]'
ends 0
run crank feature_selection m3/pipeline.config --output_dir s3 --topk 1
ends 0
is_there s3/feature_dropout_ratio_both.csv
is_gone s3/feature_dropout_ratio_one.csv
for f in n1 z; do grep -q "feature_name: \"$f\"" s3/pipeline.config || fail "$f is gone"; done
run crank check s3/pipeline.config
ends 0
# mistakes
cp m/pipeline.config kept.config
run crank feature_selection m/pipeline.config --output_dir ./m --topk 3
ends 2
has_err "crank feature_selection: the new config would replace ./m/pipeline.config; give another folder to --output_dir"
mkdir elsewhere
cp m/pipeline.config elsewhere
run crank feature_selection elsewhere/pipeline.config --output_dir m
ends 2
has_err "crank feature_selection: the new config would replace m/pipeline.config; ..."
same m/pipeline.config kept.config
is_gone m/feature_dropout_ratio_all.csv
run crank feature_selection f.yaml --output_dir s4 --topk 0
ends 2
run crank feature_selection s/f.yaml --model_dir m --output_dir s4
ends 2
has_err "s/f.yaml:...: model_config has no variational_dropout, so nothing says which features matter; add variational_dropout: {} and train first"
run crank feature_selection f.yaml --model_dir m2 --output_dir s4
ends 1
has_err "m2/model.ckpt-...: holds no drop probabilities; it was trained without variational_dropout, or no group has several features"
run crank feature_selection f.yaml --output_dir s4 --set 'model_config.feature_groups[0].feature_names=[g1, n1]'
ends 2
has_err "...: group 'all' has 2 features, the checkpoint 6 drop probabilities; give the config the model was trained with"
