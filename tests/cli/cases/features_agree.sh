# features as TorchEasyRec makes them: maps with weights, tables without vectors, steps as values
cat >f.yaml <<'YAML'
train_input_path: f.parquet
model_dir: m
train_config:
  sparse_optimizer: {adagrad_optimizer: {lr: 0.1}, constant_learning_rate: {}}
  dense_optimizer: {sgd_optimizer: {lr: 0.01}, constant_learning_rate: {}}
  num_epochs: 1
data_config: {dataset_type: ParquetDataset, batch_size: 2, fg_mode: FG_DAG, label_fields: [y]}
feature_configs:
  - id_feature: {feature_name: w, expression: "user:kv", num_buckets: 10, weighted: true, embedding_dim: 4}
  - id_feature: {feature_name: keys, expression: "user:kv", vocab_list: ["1", "3"], embedding_dim: 4}
  - lookup_feature: {feature_name: found, map: "user:kv", key: "user:k", boundaries: [0.75], combiner: "", embedding_dim: 4}
  # in no group: no embedding_dim is needed
  - id_feature: {feature_name: unused, expression: "user:k", num_buckets: 10}
  - sequence_id_feature: {feature_name: steps, expression: "user:clicks", stub_type: true}
  - id_feature: {feature_name: clicked, expression: "feature:steps", num_buckets: 10, embedding_dim: 4}
model_config:
  feature_groups:
    - {group_name: all, group_type: DEEP, feature_names: [w, keys, found, clicked]}
  multi_tower:
    towers: [{input: all, mlp: {hidden_units: [4]}}]
    final: {hidden_units: [4]}
  losses: [{binary_cross_entropy: {}}]
YAML
pq_make f.parquet "y:int64, kv:map<string,float>, k:list<int64>, clicks:list<int64>" 2 <<'ROWS'
1|{1:0.5,2:1.5}|[2,1]|[3,4]
0|{3:2}|[9]|[5]
1|null|null|null
ROWS
run crank train f.yaml
ends 0
run crank fg f.yaml --features w,keys,found,steps,clicked
ends 0
says_out <<'OUT'
row 0, f.parquet, y 1
  w        kv=[["1", 0.5], ["2", 1.5]] -> ["1:0.5", "2:1.5"] -> ids [1, 2] weights [0.5, 1.5]
  keys     kv=[["1", 0.5], ["2", 1.5]] -> ["1", "2"] -> ids [2, 1]  (1 not in the vocabulary)
  found    kv=[["1", 0.5], ["2", 1.5]] k=[2, 1] -> [1.5, 0.5] -> ids [1, 0]
  steps    clicks=[3, 4] -> ["3", "4"] (stub)
  clicked  feature:steps=["3", "4"] -> ["3", "4"] -> ids [3, 4]
row 1, f.parquet, y 0
  w        kv=[["3", 2]] -> ["3:2"] -> ids [3] weights [2]
...
row 2, f.parquet, y 1
  w        kv=null -> [] -> ids [] weights []  (missing)
...
OUT
# where a group needs a vector, embedding_dim is asked for
sed 's/feature_names: \[w, /&unused, /' f.yaml >needs.yaml
run crank check needs.yaml
ends 2
has_err "needs.yaml:13:32: feature 'unused' becomes a vector in the feature group 'all' and has no embedding_dim; add for example embedding_dim: 16"
