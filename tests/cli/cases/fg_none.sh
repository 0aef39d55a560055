# FG_NONE, the default mode: keys that it does not apply get one warning, and values that are no ids name the same cure
cat >f.csv <<'EOF'
y,name,city,price,age_group,age,code
0,ann,rome,10,1,33,1
1,bob,oslo,20,2,44,2
EOF
config() { # config FEATURE...: each on a line of its own, from line 13 on
    cat >f.yaml <<'EOF'
train_input_path: f.csv
eval_input_path: f.csv
model_dir: m
train_config:
  sparse_optimizer: {adagrad_optimizer: {lr: 0.1}, constant_learning_rate: {}}
  dense_optimizer: {sgd_optimizer: {lr: 0.01}, constant_learning_rate: {}}
  num_epochs: 1
data_config:
  dataset_type: CsvDataset
  with_header: true
  label_fields: [y]
feature_configs:
EOF
    names=
    for f; do
        printf '  - %s\n' "$f" >>f.yaml
        names="$names${names:+, }$(printf '%s' "$f" | sed 's/.*feature_name: \([a-z_]*\).*/\1/')"
    done
    cat >>f.yaml <<EOF
model_config:
  feature_groups: [{group_name: all, group_type: DEEP, feature_names: [$names]}]
  multi_tower: {towers: [{input: all, mlp: {hidden_units: [4]}}], final: {hidden_units: [4]}}
  losses: [{binary_cross_entropy: {}}]
  metrics: [{auc: {}}]
EOF
}
# text where ids are expected
config 'id_feature: {feature_name: name, expression: "user:name", hash_bucket_size: 10, embedding_dim: 4}'
run crank train f.yaml
ends 3
has_err "f.csv:2: column 'name', value 'ann': not an integer id; fg_mode FG_NONE does not apply hash_bucket_size, set fg_mode: FG_NORMAL in data_config if it is to..."
no_err '...warning...' # hash_bucket_size is how FG_NONE is told the size of a table
# the cure cures
run crank train f.yaml --set data_config.fg_mode=FG_NORMAL -q
ends 0
rm -r m
# in the syntax of the file
cat >f.json <<'EOF'
{"train_input_path": "f.csv", "model_dir": "m",
 "train_config": {"sparse_optimizer": {"sgd_optimizer": {"lr": 0.1}, "constant_learning_rate": {}},
                  "dense_optimizer": {"sgd_optimizer": {"lr": 0.1}, "constant_learning_rate": {}}, "num_epochs": 1},
 "data_config": {"dataset_type": "CsvDataset", "with_header": true, "label_fields": ["y"]},
 "feature_configs": [{"id_feature": {"feature_name": "city_id", "expression": "user:city", "vocab_list": ["rome"], "embedding_dim": 4}}],
 "model_config": {"feature_groups": [{"group_name": "all", "group_type": "DEEP", "feature_names": ["city_id"]}],
                  "multi_tower": {"towers": [{"input": "all", "mlp": {"hidden_units": [4]}}]},
                  "losses": [{"binary_cross_entropy": {}}], "metrics": [{"auc": {}}]}}
EOF
run crank train f.json
ends 2
says_err <<'EOF'
f.json:5:79: warning: fg_mode FG_NONE reads ... does not apply expression of 'city_id'; vocab_list of 'city_id'; set "fg_mode": "FG_NORMAL" in data_config if the columns hold raw values
f.json:5:54: f.csv has no column 'city_id', which feature 'city_id' needs; fg_mode FG_NONE does not apply vocab_list, set "fg_mode": "FG_NORMAL" in data_config if it is to
EOF

# one line for all keys that are not applied
config 'id_feature: {feature_name: code, expression: "user:code", num_buckets: 10, embedding_dim: 4}' \
    'raw_feature: {feature_name: price, expression: "item:price", normalizer: "method=log10"}' \
    'raw_feature: {feature_name: age_group, expression: "user:age", boundaries: [40, 50], default_value: "1", embedding_dim: 4}' \
    'id_feature: {feature_name: age, expression: "user:name", vocab_list: [ann, bob], separator: "|", embedding_dim: 4}'
run crank train f.yaml -q
ends 0
says_err <<'EOF'
f.yaml:14:78: warning: fg_mode FG_NONE reads the column that has the feature's name and takes its values as they are; it does not apply expression of 'age_group', 'age'; normalizer of 'price'; vocab_list of 'age'; separator of 'age'; default_value of 'age_group'; set fg_mode: FG_NORMAL in data_config if the columns hold raw values
[...][WARNING] feature 'age': 2 ids outside its table of 4 rows were taken as 0, e.g. 33; raise its size or clean the data; or, fg_mode FG_NONE does not apply vocab_list, set fg_mode: FG_NORMAL in data_config if it is to
EOF
# ids that no table has
run crank check f.yaml
has_err "...feature 'age': 2 of 2 sampled ids of train data lie outside 0 .. 3 (e.g. 33) and are taken as 0; raise the number of its table's rows or fix the data; or, fg_mode FG_NONE does not apply vocab_list, set fg_mode: FG_NORMAL in data_config if it is to"
# columns of floats
pq_make f.parquet 'y:int32, price:double' <<'EOF'
0|1.5
1|2.5
EOF
config 'raw_feature: {feature_name: price, expression: "item:price", boundaries: [1, 2], embedding_dim: 4}'
sed 's/CsvDataset/ParquetDataset/; s/f\.csv/f.parquet/' f.yaml >p.yaml
run crank train p.yaml --model_dir p
ends 3
has_err "p.yaml:13:...: column 'price' holds ...double...; feature 'price' needs integers or text: ...; or, fg_mode FG_NONE does not apply boundaries, set fg_mode: FG_NORMAL in data_config if it is to"
# a feature that computes: a column with its name is expected
config 'combo_feature: {feature_name: both, expression: ["user:name", "user:city"], hash_bucket_size: 10, embedding_dim: 4}'
run crank check f.yaml
ends 2
has_err "f.yaml:13:...: f.csv has no column 'both', which feature 'both' needs; fg_mode FG_NONE does not apply combo_feature, set fg_mode: FG_NORMAL in data_config if it is to"
has_err "f.yaml:13:...: warning: ... does not apply the operator of 'both'; set ..."
run crank train f.yaml --set data_config.fg_mode=FG_NORMAL --model_dir both -q
ends 0
says_err </dev/null
