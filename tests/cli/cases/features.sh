# FG_NORMAL: hashes, vocabularies, boundaries, weighted ids, AutoDis and MLP embeddings train and agree
cat >f.csv <<'END'
y,name,city,kv,price,vec
END
awk 'BEGIN { s = 5; for (i = 0; i < 400; i++) { s = (s * 1103 + 12345) % 1048573; a = s % 9; b = s % 4; c = s % 100
    printf "%d,n%d,%s,%s,%.1f,%d;%d\n", (a + b) % 2, a, b == 0 ? "" : b == 1 ? "rome" : b == 2 ? "oslo" : "lima", b ? "x" a ":0.5|y:2" : "", c / 7, a, b } }' >>f.csv
printf 'rome\noslo\n' >city.txt
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
  fg_mode: FG_NORMAL
  with_header: true
  label_fields: [y]
feature_configs:
  - id_feature: {feature_name: hashed, expression: "user:name", hash_bucket_size: 100, embedding_dim: 8}
  - id_feature: {feature_name: listed, expression: "user:city", vocab_list: [rome, oslo], embedding_dim: 8, default_value: rome}
  - id_feature: {feature_name: filed, expression: "user:city", vocab_file: city.txt, default_bucketize_value: 1, embedding_dim: 8}
  - id_feature: {feature_name: dict, expression: "user:city", vocab_dict: {rome: 2, oslo: 3}, embedding_dim: 8, embedding_name: shared}
  - id_feature: {feature_name: weighted, expression: "item:kv", hash_bucket_size: 50, embedding_dim: 8, weighted: true, separator: "|", pooling: mean}
  - raw_feature: {feature_name: bounded, expression: "item:price", boundaries: [1, 5, 10], embedding_dim: 8}
  - raw_feature: {feature_name: logged, expression: "item:price", normalizer: "method=log10,threshold=1e-3,default=-3"}
  - raw_feature: {feature_name: dis, expression: "item:price", embedding_dim: 8, autodis: {num_channels: 5}}
  - raw_feature: {feature_name: vec, expression: "item:vec", value_dim: 2, separator: ";", embedding_dim: 8, mlp: {}}
model_config:
  feature_groups:
    - {group_name: all, group_type: DEEP, feature_names: [hashed, listed, filed, dict, weighted, bounded, logged, dis, vec]}
  multi_tower:
    towers: [{input: all, mlp: {hidden_units: [16]}}]
    final: {hidden_units: [8]}
  losses: [{binary_cross_entropy: {}}]
  metrics: [{auc: {}}, {accuracy: {}}, {logloss: {}}, {grouped_auc: {grouping_key: hashed}}]
END
run crank check f.yaml
ends 0
run crank train f.yaml
ends 0
run crank export m/pipeline.config --export_dir e
ends 0
rm city.txt # the export has its own copy
run crank predict --scripted_model_path e --predict_input_path f.csv --predict_output_path p
ends 0
# the label depends on name and city alone: it is learnt
auc=$(sed -n 's/.*"auc": *\([0-9.]*\).*/\1/p' m/train_eval_result_v2.txt | tail -n 1)
awk -v a="$auc" 'BEGIN { exit !(a > 0.8) }' || fail "auc $auc"
