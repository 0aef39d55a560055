# YAML, protobuf text and JSON of the same config train the same bytes
tiny_config
tiny_data 320 64
run crank config tiny.yaml
ends 0
cp "$out" from_yaml
cat >tiny.config <<'END'
train_input_path: "train.csv" eval_input_path: 'eval.csv' model_dir: "model"
train_config {
  sparse_optimizer { adagrad_optimizer { lr: 0.05 } constant_learning_rate {} }
  dense_optimizer: { adam_optimizer < lr: 5e-3 > constant_learning_rate {} }
  num_epochs: 2; save_checkpoints_steps: 10  # a comment
}
data_config {
  dataset_type: CsvDataset, batch_size: 32 fg_mode: FG_NONE fg_encoded_multival_sep: "\x7c" with_header: true
  label_fields: "label"
}
feature_configs { id_feature { feature_name: "user" expression: "user:user" num_buckets: 50 embedding_dim: 4 } }
feature_configs { id_feature { feature_name: "item" expression: "item:" "item" num_buckets: 0x1e embedding_dim: 4 } }
feature_configs { id_feature { feature_name: "tags" expression: "item:tags" num_buckets: 20 embedding_dim: 4 } }
feature_configs { raw_feature { feature_name: "price" expression: "item:price" } }
model_config {
  feature_groups { group_name: "wide" group_type: WIDE feature_names: ["user", "item", "tags"] }
  feature_groups { group_name: "deep" group_type: DEEP feature_names: "user" feature_names: "item" feature_names: "tags" feature_names: "price" }
  wide_and_deep { deep { hidden_units: [16, 8] } }
  losses { binary_cross_entropy {} }
  metrics { auc {} }
}
END
cat >tiny.json <<'END'
{"trainInputPath": "train.csv", "eval_input_path": "eval.csv", "modelDir": "model",
 "trainConfig": {
  "sparseOptimizer": {"adagradOptimizer": {"lr": 0.05}, "constantLearningRate": {}},
  "denseOptimizer": {"adamOptimizer": {"lr": 0.005}, "constantLearningRate": {}},
  "numEpochs": 2, "save_checkpoints_steps": 10},
 "dataConfig": {"datasetType": "CsvDataset", "batchSize": 32, "fgMode": "FG_NONE", "fgEncodedMultivalSep": "|",
  "withHeader": true, "labelFields": ["label"]},
 "featureConfigs": [
  {"idFeature": {"featureName": "user", "expression": "user:user", "numBuckets": "50", "embeddingDim": 4}},
  {"idFeature": {"featureName": "item", "expression": "item:item", "numBuckets": 30, "embeddingDim": 4}},
  {"idFeature": {"featureName": "tags", "expression": "item:tags", "numBuckets": 20, "embeddingDim": 4}},
  {"rawFeature": {"featureName": "price", "expression": "item:price"}}],
 "modelConfig": {
  "featureGroups": [
   {"groupName": "wide", "groupType": "WIDE", "featureNames": ["user", "item", "tags"]},
   {"groupName": "deep", "groupType": "DEEP", "featureNames": ["user", "item", "tags", "price"]}],
  "wideAndDeep": {"deep": {"hiddenUnits": [16, 8]}},
  "losses": [{"binaryCrossEntropy": {}}], "metrics": [{"auc": {}}]}}
END
for c in tiny.config tiny.json; do
    run crank config $c
    ends 0
    same "$out" from_yaml
done
run crank train tiny.yaml --model_dir a
ends 0
run crank train tiny.config --model_dir b
ends 0
run crank train tiny.json --model_dir c
ends 0
same_weights a b
same_weights a c
