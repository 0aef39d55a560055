# text by tokenizers: pooled, as a sequence, cleaned first; an export that holds its files; the same from Parquet
files=$CLI/../golden/tokenizers
cp "$files/byte_level.json" "$files/unigram.model" .
printf '!\n?\n' >stop.txt
awk 'BEGIN { s = 5; split("the thing hello World and other abc", w, " "); print "y,title"
    for (i = 0; i < 300; i++) { t = ""; y = 0; for (k = 0; k < i % 4; k++) { s = (s * 1103 + 12345) % 1048573; j = 1 + s % 7; y += j == 3; t = t (k ? " " : "") w[j] "!" }
    printf "%d,%s\n", (y > 0), t } }' >t.csv
cat >t.yaml <<'EOF'
train_input_path: t.csv
eval_input_path: t.csv
model_dir: m
train_config:
  sparse_optimizer: {adagrad_optimizer: {lr: 0.1}, constant_learning_rate: {}}
  dense_optimizer: {adam_optimizer: {lr: 0.01}, constant_learning_rate: {}}
  num_epochs: 5
data_config: {dataset_type: CsvDataset, batch_size: 30, fg_mode: FG_DAG, with_header: true, label_fields: [y]}
feature_configs:
  - tokenize_feature: {feature_name: words, expression: "item:title", vocab_file: byte_level.json, embedding_dim: 8}
  - tokenize_feature:
      feature_name: pieces
      expression: "item:title"
      vocab_file: unigram.model
      tokenizer_type: sentencepiece
      default_value: the
      embedding_dim: 8
      text_normalizer: {stop_char_file: stop.txt, norm_options: [TEXT_FILTER, TEXT_UPPER2LOWER]}
  - tokenize_feature: {feature_name: steps, expression: "item:title", vocab_file: byte_level.json, tokens_as_sequence: true, sequence_length: 3, embedding_dim: 8}
model_config:
  feature_groups:
    - {group_name: all, group_type: DEEP, feature_names: [words, pieces]}
  multi_tower:
    towers: [{input: all, mlp: {hidden_units: [8]}}]
    final: {hidden_units: [4]}
  losses: [{binary_cross_entropy: {}}]
  metrics: [{auc: {}}]
EOF
run crank check t.yaml
ends 0
run crank train t.yaml
ends 0
auc=$(sed -n 's/.*"auc": *\([0-9.]*\).*/\1/p' m/train_eval_result_v2.txt | tail -n 1)
awk -v a="$auc" 'BEGIN { exit !(a > 0.99) }' || fail "auc $auc: one word decides the label"
run crank export m/pipeline.config --export_dir e
ends 0
run crank predict --scripted_model_path e --predict_input_path t.csv --predict_output_path p
ends 0
mkdir elsewhere
mv byte_level.json unigram.model stop.txt elsewhere # the export has its own copies
run crank predict --scripted_model_path e --predict_input_path t.csv --predict_output_path p2
ends 0
same p/part-0.csv p2/part-0.csv
pq_make -c t.parquet "y:int64, title:string" 100 <t.csv
run crank predict --scripted_model_path e --predict_input_path t.parquet --predict_output_path p3 --writer_type CsvWriter
ends 0
same p/part-0.csv p3/part-0.csv
run crank fg e --input t.csv --skip 3 --rows 1
ends 0
says_out <<'EOF'
row 3, t.csv line 5, y ...
  words   title="...!" -> [...] -> ids [...]
  pieces  title="...!" -> [...] -> ids [...]
  steps   title="...!" -> [...] -> ids [[...], [...], [...]]  (cut to 3 steps)
EOF
run crank check t.yaml
ends 1
has_err "t.yaml:...: feature 'words': vocab_file: byte_level.json: cannot open...: No such file or directory..."
mv elsewhere/* .
sed 's/feature_names: \[words, pieces\]/feature_names: [words, steps]/' t.yaml >bad.yaml
run crank check bad.yaml
ends 2
has_err "bad.yaml:...: feature group 'all' names 'steps', which is a sequence; use a group of type SEQUENCE or sequence_groups"
printf '{"model": {"type": "WordPiece"}}' >byte_level.json
run crank check t.yaml
ends 2
has_err "t.yaml:10:...: feature 'words': vocab_file 'byte_level.json': model 'WordPiece' is not in this version; BPE is"
