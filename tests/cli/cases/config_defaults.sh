# what a config need not say: optimizers, schedules, losses and metrics; the effective config shows them
tiny_data
cat >d.yaml <<'EOF'
train_input_path: train.csv
eval_input_path: eval.csv
model_dir: m
train_config: {num_epochs: 1}
data_config: {dataset_type: CsvDataset, batch_size: 32, with_header: true, label_fields: [label]}
feature_configs:
  - id_feature: {feature_name: user, num_buckets: 50, embedding_dim: 4}
model_config:
  feature_groups: [{group_name: deep, group_type: DEEP, feature_names: [user]}]
  multi_tower: {towers: [{input: deep, mlp: {hidden_units: [8]}}]}
EOF
run crank config d.yaml
ends 0
says_err </dev/null
cp "$out" full.yaml
sed -n '/^train_config/,/num_epochs/p; /losses/,$p' full.yaml >"$out"
says_out <<'EOF'
train_config:
  sparse_optimizer:
    adagrad_optimizer:
      lr: 0.02
    constant_learning_rate: {}
  dense_optimizer:
    adam_optimizer:
      lr: 0.001
    constant_learning_rate: {}
  num_epochs: 1
  losses:
    - binary_cross_entropy: {}
  metrics:
    - auc: {}
EOF
# written out it is the same config
run crank config full.yaml
same "$out" full.yaml
run crank train d.yaml -q
ends 0
has_out '  auc ...'
has m/pipeline.config '    adagrad_optimizer {' || fail "the config that training keeps does not hold the optimizer"
run crank eval m/pipeline.config -q
ends 0

# what is given stays, and only what is missing beside it is added
given() { # given EDIT...: the lines of the effective config
    for e; do set -- "$@" --set "$e"; shift; done
    run crank config d.yaml "$@"
    ends 0
}
given 'train_config.dense_optimizer={sgd_optimizer: {lr: 0.5}}' 'model_config.num_class=3'
has_out '    sgd_optimizer:'
has_out '    constant_learning_rate: {}'
has_out '    - softmax_cross_entropy: {}'
has_out '    - accuracy: {}'
if has "$out" '    adam_optimizer:'; then fail "a second optimizer"; fi
given 'train_config.sparse_optimizer={exponential_decay_learning_rate: {decay_size: 5, decay_factor: 0.9}}' 'model_config.num_class=2'
has_out '    adagrad_optimizer:'
has_out '    - softmax_cross_entropy: {}'
has_out '    - auc: {}'
given 'model_config.losses=[{l2_loss: {}}]'
has_out '    - mean_squared_error: {}'
if has "$out" '    - binary_cross_entropy...'; then fail "a second loss"; fi
given 'model_config.metrics=[{grouped_auc: {grouping_key: user}}]'
has_out '    - grouped_auc:'
if has "$out" '    - auc: {}'; then fail "a second metric"; fi

# tasks have them in their towers; protobuf text may give a message in parts
cat >t.config <<'EOF'
train_input_path: "train.csv"
train_config { sparse_optimizer { } num_epochs: 1 }
train_config { dense_optimizer { adam_optimizer { lr: 0.5 } } }
data_config { dataset_type: CsvDataset label_fields: "label" with_header: true }
feature_configs { id_feature { feature_name: "user" num_buckets: 50 embedding_dim: 4 } }
model_config {
  feature_groups { group_name: "deep" group_type: DEEP feature_names: "user" }
  mmoe {
    num_expert: 2 expert_mlp { hidden_units: 4 }
    task_towers { tower_name: "a" label_name: "label" }
    task_towers { tower_name: "b" label_name: "label" num_class: 3 metrics { accuracy {} } }
  }
}
EOF
run crank config t.config
ends 0
sed -n '/^train_config/,/num_epochs/p; /task_towers/,$p' "$out" >part
cp part "$out"
says_out <<'EOF'
train_config:
  sparse_optimizer:
    adagrad_optimizer:
      lr: 0.02
    constant_learning_rate: {}
  dense_optimizer:
    adam_optimizer:
      lr: 0.5
    constant_learning_rate: {}
  num_epochs: 1
    task_towers:
      - tower_name: a
        label_name: label
        metrics:
          - auc: {}
        losses:
          - binary_cross_entropy: {}
      - tower_name: b
        label_name: label
        metrics:
          - accuracy: {}
        losses:
          - softmax_cross_entropy: {}
        num_class: 3
EOF
# a misspelled choice is one mistake
sed 's/^train_config.*/train_config: {num_epochs: 1, dense_optimizer: {adm_optimizer: {lr: 1}}}/' d.yaml >wrong.yaml
run crank config wrong.yaml
ends 2
says_err <<'EOF'
wrong.yaml:4:49: unknown key 'adm_optimizer' in dense_optimizer; did you mean 'adam_optimizer'?
EOF
