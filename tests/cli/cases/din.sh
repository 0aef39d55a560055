# target attention: the label is what was paid for the row's item in its history; the whole way, any threads
awk 'function r(m) { s = (s * 16807) % 2147483647; return int(s / 64) % m }
BEGIN {
    s = 99
    for (f = 0; f < 2; f++) {
        name = f ? "eval.csv" : "train.csv"
        print "label,user,item,clicks__item,clicks__price" >name
        for (i = 0; i < (f ? 1500 : 12000); i++) {
            v = r(40); n = 3 + r(6); at = r(n); seq = prices = ""
            for (j = 0; j < n; j++) {
                w = (v + 1 + r(39)) % 40; p = r(11)
                if (j == at) { w = v; y = p > 5 }
                seq = seq (j ? ";" : "") w
                prices = prices (j ? ";" : "") p / 10
            }
            printf "%d,%d,%d,%s,%s\n", y != (r(20) == 0), r(50), v, seq, prices >name
        }
    }
}'
cat >din.yaml <<'EOF'
train_input_path: train.csv
eval_input_path: eval.csv
model_dir: model
train_config:
  sparse_optimizer: {adagrad_optimizer: {lr: 0.1}, constant_learning_rate: {}}
  dense_optimizer: {adam_optimizer: {lr: 0.01}, constant_learning_rate: {}}
  num_epochs: 6
data_config: {dataset_type: CsvDataset, batch_size: 256, fg_mode: FG_NORMAL, with_header: true, label_fields: [label]}
feature_configs:
  - id_feature: {feature_name: user, expression: "user:user", num_buckets: 50, embedding_dim: 8}
  - id_feature: {feature_name: item, expression: "item:item", embedding_name: item_emb, num_buckets: 40, embedding_dim: 8}
  - sequence_feature:
      sequence_name: clicks
      sequence_length: 50
      features:
      - id_feature: {feature_name: item, expression: "item:item", embedding_name: item_emb, num_buckets: 40, embedding_dim: 8}
      - raw_feature: {feature_name: price, expression: "item:price"}
model_config:
  feature_groups:
    - {group_name: deep, group_type: DEEP, feature_names: [user, item]}
    - {group_name: seq, group_type: SEQUENCE, feature_names: [item, clicks__item, clicks__price]}
  multi_tower_din:
    towers: [{input: deep, mlp: {hidden_units: [16]}}]
    din_towers: [{input: seq, attn_mlp: {hidden_units: [32, 16], activation: "Dice"}}]
    final: {hidden_units: [16]}
  losses: [{binary_cross_entropy: {}}]
  metrics: [{auc: {}}]
EOF
auc_of() { sed -n 's/.*"auc": *\([0-9.]*\).*/\1/p' "$1/train_eval_result_v2.txt" | tail -n 1; }
run crank train din.yaml --threads 1
ends 0
run crank train din.yaml --threads 2 --model_dir two
ends 0
same_weights model two
din=$(auc_of model)
# without the sequence nothing is left to learn
sed 's/^  multi_tower_din:/  multi_tower:/; /din_towers/d; /group_name: seq/d' din.yaml >plain.yaml
run crank train plain.yaml --model_dir plain
ends 0
plain=$(auc_of plain)
awk -v d="$din" -v p="$plain" 'BEGIN { exit !(d > 0.85 && p < 0.6) }' || fail "auc with attention '$din', without '$plain'"
# eval, export and predict know the model as training does
run crank eval model/pipeline.config --eval_result_filename again.txt
ends 0
run crank export model/pipeline.config --export_dir export
ends 0
run crank predict --scripted_model_path export --predict_input_path eval.csv --predict_output_path from_export
ends 0
run crank predict --pipeline_config_path model/pipeline.config --predict_input_path eval.csv --predict_output_path from_model --threads 1 --set data_config.batch_size=37
ends 0
same from_export/part-0.csv from_model/part-0.csv
# mistakes
sed 's/\[item, clicks__item, clicks__price\]/[clicks__item, clicks__price]/' din.yaml >no_query.yaml
run crank check no_query.yaml
ends 2
has_err "no_query.yaml:24:26: attention compares the plain features of group 'seq' (0 wide) with its sequences (9 wide); add the target's features"
sed 's/\[item, clicks__item, clicks__price\]/[item]/' din.yaml >no_seq.yaml
run crank check no_seq.yaml
ends 2
has_err "no_seq.yaml:24:26: feature group 'seq' has no sequence among its features; add one of a sequence_feature (named sequence__feature)"
# groups that towers name are looked for before features are built, so all mistakes come at once
sed 's/{input: deep,/{input: depp,/; s/{input: seq,/{input: sq,/; s/num_buckets: 50/vocab_file: no_such_file/' din.yaml >names.yaml
run crank check names.yaml
ends 2
has_err "names.yaml:23:22: tower names the unknown feature group 'depp'; did you mean 'deep'?"
has_err "names.yaml:24:26: tower names the unknown feature group 'sq'; did you mean 'seq'?"
