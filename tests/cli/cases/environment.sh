# environment variables: USE_RTP lands in the config, wrong values are errors, those without effect are told once per cause
cat >s.csv <<'EOF'
y,u,clicks_item,clicks_shop
0,1,4;5;6,a;b;c
1,2,1;2,b;a
0,3,8,b
1,4,9;1,b;a
EOF
printf 'a\nb\n' >shop.txt
cat >s.yaml <<'EOF'
train_input_path: s.csv
eval_input_path: s.csv
model_dir: m
train_config:
  sparse_optimizer: {adagrad_optimizer: {lr: 0.1}, constant_learning_rate: {}}
  dense_optimizer: {sgd_optimizer: {lr: 0.01}, constant_learning_rate: {}}
  num_epochs: 1
data_config: {dataset_type: CsvDataset, batch_size: 3, fg_mode: FG_NORMAL, with_header: true, label_fields: [y]}
feature_configs:
  - id_feature: {feature_name: u, expression: "user:u", num_buckets: 10, embedding_dim: 4}
  - sequence_feature:
      sequence_name: clicks
      sequence_length: 3
      features:
      - id_feature: {feature_name: item, expression: "item:item", num_buckets: 100, embedding_dim: 4}
      - id_feature: {feature_name: shop, expression: "item:shop", vocab_file: shop.txt, default_bucketize_value: 1, embedding_dim: 4}
model_config:
  feature_groups:
    - group_name: all
      group_type: DEEP
      feature_names: [u]
      sequence_groups: [{group_name: c, feature_names: [clicks_item, clicks_shop]}]
      sequence_encoders: [{pooling_encoder: {input: c}}]
  multi_tower:
    towers: [{input: all, mlp: {hidden_units: [4]}}]
    final: {hidden_units: [4]}
  losses: [{binary_cross_entropy: {}}]
  metrics: [{auc: {}}]
EOF
run crank check s.yaml
ends 2
has_err "s.yaml:22:...: sequence group 'c' names an unknown feature 'clicks_item'; did you mean 'clicks__item'?"
run env USE_RTP=1 crank train s.yaml -q
ends 0
has m/pipeline.config '  use_rtp: true' || fail "the config that is kept does not say how features are named"
# afterwards the model does not depend on the environment, whatever that says
run crank eval m/pipeline.config -q
ends 0
no_err "...environment..."
run env USE_RTP=0 crank export m/pipeline.config --export_dir e -q
ends 0
has_err "m/pipeline.config:...: warning: data_config.use_rtp is true here, but the environment has USE_RTP=0; the config wins: change it, or unset the variable"
run env USE_RTP=1 USE_FARM_HASH_TO_BUCKETIZE=true TORCH_MANUAL_SEED=2026 crank eval m/pipeline.config -q
ends 0
says_err <<'EOF'
m/pipeline.config:...: warning: data_config.use_farm_hash is false here, but the environment has USE_FARM_HASH_TO_BUCKETIZE=true; the config wins: change it, or unset the variable
EOF
rm shop.txt # the export has its own copy, found by the feature's name
run crank predict --scripted_model_path e --predict_input_path s.csv --predict_output_path p --debug_level 1 -q
ends 0
has p/part-0.csv '..."u:1;clicks_item:4,5,6;clicks_shop:0,1,1"'
printf 'a\nb\n' >shop.txt
# JSON in camelCase: the choice finds its place there, too, and a flag replaces the path
cat >s.json <<'EOF'
{"trainInputPath": "s.csv", "modelDir": "nowhere",
 "trainConfig": {"sparseOptimizer": {"sgdOptimizer": {"lr": 0.1}, "constantLearningRate": {}},
                 "denseOptimizer": {"sgdOptimizer": {"lr": 0.1}, "constantLearningRate": {}}, "numEpochs": 1},
 "dataConfig": {"datasetType": "CsvDataset", "withHeader": true, "labelFields": ["y"]},
 "featureConfigs": [{"idFeature": {"featureName": "u", "numBuckets": 10, "embeddingDim": 4}}],
 "modelConfig": {"featureGroups": [{"groupName": "all", "groupType": "DEEP", "featureNames": ["u"]}],
                 "multiTower": {"towers": [{"input": "all", "mlp": {"hiddenUnits": [4]}}]},
                 "losses": [{"binaryCrossEntropy": {}}], "metrics": [{"auc": {}}]}}
EOF
run env USE_RTP=1 crank config s.json --model_dir m
ends 0
has_out '  use_rtp: true'
has_out 'model_dir: m'
# a config of ours says it by itself
run crank eval s.yaml --set data_config.use_rtp=true -q
ends 0

# wrong values, all at once
run env USE_RTP=maybe STORAGE_RESERVE_PERCENT=5 USE_FARM_HASH_TO_BUCKETIZE=1 crank check s.yaml
ends 2
has_err "USE_RTP: the environment says 'maybe', but it must be 0 or 1; set it to 1, or unset it"
has_err "STORAGE_RESERVE_PERCENT: the environment says '5', but it must be a share from 0 to below 1; write 0.15 for 15 percent, or unset it"
has_err "USE_FARM_HASH_TO_BUCKETIZE: the environment says '1', but it must be true or false; set it to true, or unset it"
run env INTRA_NODE_BANDWIDTH=fast CROSS_NODE_BANDWIDTH=0 FORCE_LOAD_SHARDING_PLAN=yes crank check s.yaml
ends 2
has_err "INTRA_NODE_BANDWIDTH: the environment says 'fast', but it must be a number above 0, in bytes per millisecond; correct it or unset it"
has_err "CROSS_NODE_BANDWIDTH: the environment says '0', but it must be a number above 0, ..."
has_err "FORCE_LOAD_SHARDING_PLAN: the environment says 'yes', but it must be 0 or 1; ..."

# without effect: one line per cause, none for values that ask for nothing or that machines set
run env TZREC_DP_HBM_BINS_PER_DEVICE=1 TZREC_DP_DDR_BINS_PER_DEVICE=2 INTRA_NODE_BANDWIDTH=1 ODPS_ENDPOINT=x ODPS_CONFIG_FILE_PATH=y ONLINE_DENSE_EXPORT_STEPS=3 \
    OMP_NUM_THREADS=1 USE_FSSPEC=0 FORCE_LOAD_SHARDING_PLAN= ALIBABA_CLOUD_REGION=z crank eval m/pipeline.config -q
ends 0
says_err <<'EOF'
crank eval: warning: TZREC_DP_HBM_BINS_PER_DEVICE, TZREC_DP_DDR_BINS_PER_DEVICE of the environment have no effect here: the planner of tables counts memory in bytes
crank eval: warning: ONLINE_DENSE_EXPORT_STEPS of the environment has no effect here: exports beside the training are not in this version; run crank export instead
EOF
# a command that reads no config has nothing to say about them
run env USE_RTP=maybe ODPS_ENDPOINT=x crank version
ends 0
says_err </dev/null

# the share of memory that is to stay free
sed 's/num_buckets: 100,/num_buckets: 100000000,/' s.yaml >big.yaml
run env USE_RTP=1 STORAGE_RESERVE_PERCENT=0.9999 crank check big.yaml
ends 1
has_err "big.yaml:10:...: training needs about ..., this machine has ... free, of which STORAGE_RESERVE_PERCENT keeps 99.99 %; shrink ..."

run crank help environment
ends 0
has_out '  USE_RTP'
has_out '      seconds that a table read waits: a request ends after 30 s without a kilobyte per second, and is made again'
# each variable has one row
sed -n 's/^  \([A-Za-z_*]*\)$/\1/p' "$out" | sort | uniq -d >twice
[ ! -s twice ] || fail "listed twice: $(cat twice)"
