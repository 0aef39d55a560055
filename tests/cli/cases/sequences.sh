# sequences from text columns: what they become, their vocabularies in an export, rows and groups that do not fit
cat >s.csv <<'EOF'
y,u,clicks__item,clicks__price,clicks__shop,words
0,1,4;5;6;7,0.5;1;2;3,a;b;c;a,x y;z
1,2,,,,
0,3,8,1.5,b,x
1,4,9;1,2;3,;a,z;
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
      - raw_feature: {feature_name: price, expression: "item:price"}
      - id_feature: {feature_name: shop, expression: "item:shop", vocab_file: shop.txt, default_bucketize_value: 1, embedding_dim: 4}
  - sequence_id_feature: {feature_name: words, expression: "user:words", vocab_list: [x, y], separator: " ", value_dim: 0, embedding_dim: 4}
model_config:
  feature_groups:
    - {group_name: all, group_type: DEEP, feature_names: [u]}
  multi_tower:
    towers: [{input: all, mlp: {hidden_units: [4]}}]
    final: {hidden_units: [4]}
  losses: [{binary_cross_entropy: {}}]
  metrics: [{auc: {}}]
EOF
run crank check s.yaml
ends 0
run crank train s.yaml
ends 0
run crank export m/pipeline.config --export_dir e
ends 0
rm shop.txt # the export has its own copy
run crank predict --scripted_model_path e --predict_input_path s.csv --predict_output_path p --debug_level 1
ends 0
sed 's/^[^,]*,[^,]*,//' p/part-0.csv >became
says became <<'EOF'
__features__
"u:1;clicks__item:4,5,6;clicks__price:0.5,1,2;clicks__shop:0,1,1;words:2|3,1"
u:2;clicks__item:0;clicks__price:0;clicks__shop:1;words:0
u:3;clicks__item:8;clicks__price:1.5;clicks__shop:1;words:2
"u:4;clicks__item:9,1;clicks__price:2,3;clicks__shop:1,0;words:1,0"
EOF
has e/fg.json '...{"sequence_name": "clicks", "sequence_length": 3, "sequence_delim": ";", "sequence_pk": "user:clicks", "features": [{...'
has e/fg.json '..."feature_name": "shop", "default_value": "0", ..."vocab_file": "shop_...txt"...'
has e/fg.json '...{"feature_type": "sequence_id_feature", "feature_name": "words", "default_value": "0", ..."vocab_list": ["0", "<OOV>", "x", "y"]...'
printf 'a\nb\n' >shop.txt
# columns of one block that disagree
sed 's/^0,3,8,1.5,b/0,3,8,1.5;2,b/' s.csv >short.csv
run crank check s.yaml --train_input_path short.csv
ends 3
has_err "...short.csv:4: columns 'clicks__item' and 'clicks__price' have 1 and 2 steps; those of sequence 'clicks' must agree..."
# a bad value in the middle of a sequence
sed 's/^1,4,9;1/1,4,9;one/' s.csv >word.csv
run crank check s.yaml --train_input_path word.csv
ends 3
has_err "...word.csv:5: column 'clicks__item', value 'one': not an integer..."
# groups that pool know no steps
sed 's/\[u\]/[u, clicks__item]/' s.yaml >deep.yaml
run crank check deep.yaml
ends 2
has_err "deep.yaml:21:...: feature group 'all' names 'clicks__item', which is a sequence; use a group of type SEQUENCE or sequence_groups"
sed 's/{auc: {}}/{grouped_auc: {grouping_key: words}}/' s.yaml >group.yaml
run crank check group.yaml
ends 2
has_err "group.yaml:...: grouping_key 'words' is a sequence; use a feature with one id per row"
