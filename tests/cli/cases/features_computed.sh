# features that compute from several columns, and features that read features (FG_DAG): check, train, export, predict
awk 'BEGIN { s = 5; print "y,a,b,kv,nested,x,w,mask"
    for (i = 0; i < 400; i++) { s = (s * 1103 + 12345) % 1048573; a = s % 6; b = int(s / 7) % 5; x = s % 100
    printf "%d,a%d|a%d,b%d,a%d:%d|z:1,%s,%s,%d,%s\n", (a * 5 + b) % 2, a, a, b, a, b, b ? "a" a "^b" b ":2" : "", x % 9 ? x / 10 : "", b, a % 2 ? "true|false" : "0|1" } }' >f.csv
cat >f.yaml <<'END'
train_input_path: f.csv
eval_input_path: f.csv
model_dir: m
train_config:
  sparse_optimizer: {rowwise_adagrad_optimizer: {lr: 0.1}, constant_learning_rate: {}}
  dense_optimizer: {sgd_optimizer: {lr: 0.01}, constant_learning_rate: {}}
  num_epochs: 15
data_config:
  dataset_type: CsvDataset
  batch_size: 50
  fg_mode: FG_DAG
  with_header: true
  label_fields: [y]
feature_configs:
  - combo_feature: {feature_name: cross, expression: ["user:a", "item:b"], separator: "|", hash_bucket_size: 1000, embedding_dim: 8}
  - combine_feature: {feature_name: rank, expression: "user:a", separator: "|", value_map: {a0: 0, a1: 1, a2: 2}, combiner: max, boundaries: [0.5, 1.5], embedding_dim: 4}
  - lookup_feature: {feature_name: seen, map: "user:kv", key: "user:a", separator: "|", combiner: mean}
  - match_feature: {feature_name: hit, nested_map: "user:nested", pkey: "user:a", skey: "item:b", separator: "|", hash_bucket_size: 50, embedding_dim: 4}
  - expr_feature: {feature_name: formula, variables: ["user:x", "feature:cut"], expression: "x*cut + 1", boundaries: [2, 5, 9], embedding_dim: 4}
  - raw_feature: {feature_name: cut, expression: "item:w", normalizer: "method=minmax,min=0,max=5", stub_type: true}
  - overlap_feature: {feature_name: common, query: "user:a", title: "item:b", separator: "|", method: title_common_ratio}
  - kv_dot_product: {feature_name: dot, query: "user:kv", document: "user:a", separator: "|"}
  - bool_mask_feature: {feature_name: kept, expression: ["user:a", "user:mask"], separator: "|", vocab_list: [a0, a1], embedding_dim: 4}
  - id_feature: {feature_name: step, expression: "feature:cut", hash_bucket_size: 20, embedding_dim: 4}
model_config:
  feature_groups:
    - {group_name: all, group_type: DEEP, feature_names: [cross, rank, seen, hit, formula, common, dot, kept, step]}
  multi_tower:
    towers: [{input: all, mlp: {hidden_units: [16]}}]
    final: {hidden_units: [8]}
  losses: [{binary_cross_entropy: {}}]
  metrics: [{auc: {}}]
END
run crank check f.yaml
ends 0
run crank train f.yaml
ends 0
run crank export m/pipeline.config --export_dir e
ends 0
has e/fg.json '...match_feature...' || fail "fg.json has no match_feature"
run crank predict --scripted_model_path e --predict_input_path f.csv --predict_output_path p
ends 0
# the label is a matter of a and b together
auc=$(sed -n 's/.*"auc": *\([0-9.]*\).*/\1/p' m/train_eval_result_v2.txt | tail -n 1)
awk -v a="$auc" 'BEGIN { exit !(a > 0.9) }' || fail "auc $auc"
# one thread and two give the same
sed 's/^model_dir: m/model_dir: m2/' f.yaml >f2.yaml
run crank train f2.yaml --threads 2
ends 0
same_weights m m2
# the same rows from Parquet
pq_make -c f.parquet "y:int64, a:string, b:string, kv:string, nested:string, x:double, w:int64, mask:string" 100 <f.csv
sed -e 's/^model_dir: m/model_dir: m3/' -e 's/: f\.csv/: f.parquet/' -e 's/CsvDataset/ParquetDataset/' -e '/with_header/d' f.yaml >f3.yaml
run crank train f3.yaml
ends 0
same_weights m m3
# a group must not name what only feeds others; circles and formulas have places
sed 's/dot, kept, step/dot, kept, cut/' f.yaml >bad.yaml
run crank check bad.yaml
ends 2
has_err "bad.yaml:...: feature group 'all' names 'cut', which is only an input of other features (stub_type); remove one of the two"
sed 's/"item:w", normalizer/"feature:cut", normalizer/' f.yaml >bad.yaml
run crank check bad.yaml
ends 2
has_err "bad.yaml:20:...: feature 'cut' reads 'cut', which needs 'cut' itself; break the circle"
sed 's/x\*cut + 1/x*cutt + 1/' f.yaml >bad.yaml
run crank check bad.yaml
ends 2
has_err "bad.yaml:19:...: feature 'formula': expression, character 3: unknown name 'cutt'; did you mean 'cut'?"
