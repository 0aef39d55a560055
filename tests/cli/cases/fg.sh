# crank fg: what each feature became, from CSV and Parquet, in every mode, the same as predict says
cat >f.yaml <<'EOF'
train_input_path: f.csv
model_dir: m
train_config:
  sparse_optimizer: {adagrad_optimizer: {lr: 0.1}, constant_learning_rate: {}}
  dense_optimizer: {sgd_optimizer: {lr: 0.01}, constant_learning_rate: {}}
  num_epochs: 1
data_config: {dataset_type: CsvDataset, batch_size: 3, fg_mode: FG_DAG, with_header: true, label_fields: [y]}
feature_configs:
  - id_feature: {feature_name: u, expression: "user:u", num_buckets: 10, embedding_dim: 4}
  - id_feature: {feature_name: tag, expression: "item:tag", separator: "|", vocab_list: [a, b], embedding_dim: 4}
  - combo_feature: {feature_name: cross, expression: ["user:u", "item:tag"], separator: "|", hash_bucket_size: 100, embedding_dim: 4}
  - raw_feature: {feature_name: cut, expression: "item:w", normalizer: "method=minmax,min=0,max=5", stub_type: true}
  - expr_feature: {feature_name: score, variables: ["feature:cut"], expression: "cut*2", boundaries: [0.5, 1], embedding_dim: 4}
  - raw_feature: {feature_name: w, expression: "item:w", default_value: "0.5"}
  - sequence_id_feature: {feature_name: clicks, expression: "user:clicks", num_buckets: 10, sequence_length: 2, embedding_dim: 4}
model_config:
  feature_groups:
    - {group_name: all, group_type: DEEP, feature_names: [u, tag, cross, score, w]}
  multi_tower:
    towers: [{input: all, mlp: {hidden_units: [4]}}]
    final: {hidden_units: [4]}
  losses: [{binary_cross_entropy: {}}]
EOF
cat >f.csv <<'EOF'
y,u,tag,w,clicks
1,3,a|c,2,1;2;3
0,12,,,
0,7,b,x,4
1,7
1,9,b,5,4;
EOF
run crank fg f.yaml
ends 0
says_out <<'EOF'
row 0, f.csv line 2, y 1
  u       u="3" -> ["3"] -> ids [3]
  tag     tag="a|c" -> ["a", "c"] -> ids [2, 1]...
  cross   u="3" tag="a|c" -> ["3_a", "3_c"] -> ids [...]
  cut     w="2" -> 0.4 (stub)
  score   feature:cut=0.4 -> [0.8] -> ids [1]
  w       w="2" -> floats [2]
  clicks  clicks="1;2;3" -> ["1", "2"] -> ids [[1], [2]]  (cut to 2 steps)
row 1, f.csv line 3, y 0
  u       u="12" -> ["12"] -> ids [0]  (1 outside the table, taken as 0)
  tag     tag="" -> [] -> ids []  (missing)
  cross   u="12" tag="" -> [] -> ids []  (missing)
  cut     w="" -> 0 (stub)
  score   feature:cut=0 -> [0] -> ids [0]
  w       w="" -> floats [0.5]  (missing)
  clicks  clicks="" -> ["0"] -> ids [[0]]  (1 step missing)
row 2, f.csv line 4, y 0
  bad row, left out: ...
  u       u="7" -> ["7"] -> ids [7]
...
no row, f.csv line 5
  bad row, left out: the row has 2 fields, the header has 5
row 3, f.csv line 6, y 1
...
  clicks  clicks="4;" -> ["4", "0"] -> ids [[4], [0]]  (1 step missing)
EOF
run crank fg f.yaml --skip 1 --rows 1 --features w,clicks --json
ends 0
says_out <<'EOF'
{"row": 1, "file": "f.csv", "line": 3, "labels": {"y": 0}, "features": {"w": {"type": "raw_feature", "inputs": {"w": ""}, "value": 0.5, "floats": [0.5], "missing": 1}, "clicks": {"type": "sequence_id_feature", "inputs": {"clicks": ""}, "value": ["0"], "ids": [[0]], "missing": 1}}}
EOF
# a model and data without labels, in Parquet: nulls are nulls, lists are lists
sed -e '/,x,/d' -e '/^1,7$/d' f.csv >good.csv
run crank train f.yaml --train_input_path good.csv
ends 0
run crank export m/pipeline.config --export_dir e
ends 0
pq_make p.parquet "u:int64, tag:list<string>, w:double, clicks:list<int64>" 2 <<'EOF'
3|[a,c]|2|[1,2,3]
null|null|null|null
9|[b]|5|[4]
EOF
run crank fg e --input p.parquet --skip 1
ends 0
says_out <<'EOF'
row 1, p.parquet
  u       u=null -> [] -> ids []  (missing)
  tag     tag=null -> [] -> ids []  (missing)
  cross   u=null tag=null -> [] -> ids []  (missing)
  cut     w=null -> 0 (stub)
  score   feature:cut=0 -> [0] -> ids [0]
  w       w=null -> floats [0.5]  (missing)
  clicks  clicks=null -> ["0"] -> ids [[0]]  (1 step missing)
row 2, p.parquet
  u       u=9 -> ["9"] -> ids [9]
  tag     tag=["b"] -> ["b"] -> ids [3]
  cross   u=9 tag=["b"] -> ["9_b"] -> ids [...]
  cut     w=5 -> 1 (stub)
  score   feature:cut=1 -> [2] -> ids [2]
  w       w=5 -> floats [5]
  clicks  clicks=[4] -> ["4"] -> ids [[4]]
EOF
# the same as predict encodes, row by row against batches, from both formats
for i in good.csv p.parquet; do
    run crank predict --scripted_model_path e --predict_input_path $i --predict_output_path p --writer_type CsvWriter --debug_level 1 --output_columns logits
    ends 0
    sed '1d; s/^[^,]*,//; s/"//g' p/part-0.csv >predicted
    run crank fg e --input $i
    ends 0
    awk '/^row/ { if (n++) print line; line = ""; next }
        { name = $1; v = $0; if (!sub(/.*-> (ids|floats) \[/, "", v)) v = ""; sub(/\](  \(.*)?$/, "", v)
          seq = v ~ /^\[/; gsub(/\], \[/, ";", v); gsub(/[][]/, "", v); gsub(/, /, "|", v); gsub(/;/, ",", v)
          line = line (line ? ";" : "") name ":" v }
        END { print line }' "$out" >shown
    same predicted shown
done
# columns that hold ids already, or values before ids
sed -e 's/FG_DAG/FG_NONE/; /feature_name: \(cut\|score\|cross\)/d; s/ cross, score,//' f.yaml >none.yaml
printf 'y,u,tag,w,clicks\n1,3,1\0032,2,1;2;3\n' >none.csv
run crank fg none.yaml --input none.csv
ends 0
says_out <<'EOF'
row 0, none.csv line 2, y 1
  u       u="3" -> ids [3]
  tag     tag="1\u00032" -> ids [1, 2]
  w       w="2" -> floats [2]
  clicks  clicks="1;2;3" -> ids [[1], [2], [3]]
EOF
sed -e 's/FG_DAG/FG_BUCKETIZE/; /feature_name: cut/d' f.yaml >given.yaml
printf 'y,u,tag,w,clicks,cross,score\n1,3,a|b,2,1;2;3,3_a,0.8\n' >given.csv
run crank fg given.yaml --input given.csv --features tag,score
ends 0
says_out <<'EOF'
row 0, given.csv line 2, y 1
  tag    tag="a|b" -> ids [2, 3]
  score  score="0.8" -> ids [1]
EOF
run crank fg f.yaml --features clikcs
ends 2
says_err <<'EOF'
crank fg: --features names the unknown feature 'clikcs'; did you mean 'clicks'?
EOF
run crank fg f.yaml --input nix.csv
ends 1
says_err <<'EOF'
nix.csv: no file found; check the path
EOF
# a label that no float holds is a bad row, and the line is JSON all the same
printf 'y,u,tag,w,clicks\n1e300,3,a,1,1\n' >big.csv
run crank fg f.yaml --input big.csv --json --features w
ends 0
has_out '...'"\"bad\": \"column 'y', value '1e300': too large for float32\", \"labels\": {\"y\": \"inf\"}, ..."
# a value that an operator made is the feature's, not that of a column with its name
sed 's/raw_feature: {feature_name: w, .*/lookup_feature: {feature_name: w, map: "item:tag", key: "user:u", value_dim: 2}/' f.yaml >op.yaml
printf 'y,u,tag,w,clicks\n1,3,3:1,1,1\n1,3,"3:1,x",1,1\n' >op.csv
run crank fg op.yaml --input op.csv
ends 0
has_out "  bad row, left out: feature 'w': 1 value, value_dim is 2"
has_out "  bad row, left out: column 'tag', value 'x': not a number (feature 'w')"
# --input sets dataset_type inside data_config; what else is wrong there is still told at its line
sed 's/, label_fields: .y.//' f.yaml >nolabel.yaml
run crank fg nolabel.yaml --input f.csv
ends 2
has_err "nolabel.yaml:7:1: data_config names no label_fields; ..."
# nothing to show is said
run crank fg f.yaml --input op.csv --skip 9
ends 0
has_err "crank fg: warning: --skip passes over all 2 rows; lower it"
head -n 1 op.csv >none.csv
run crank fg f.yaml --input none.csv
ends 0
has_err "crank fg: warning: the input holds 0 rows; check the path"
# more values than value_dim takes
run crank fg f.yaml --features cross --rows 1 --set 'feature_configs[2].combo_feature.value_dim=1'
ends 0
has_out '  cross  u="3" tag="a|c" -> "3_a" -> ids [...]  (values above value_dim left out)'
