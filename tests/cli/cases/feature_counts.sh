# what features met in the data: warnings, a table, JSON; the same for any number of threads and from Parquet
cat >f.yaml <<'YAML'
train_input_path: f.csv
eval_input_path: f.csv
model_dir: m
train_config:
  sparse_optimizer: {rowwise_adagrad_optimizer: {lr: 0.1}, constant_learning_rate: {}}
  dense_optimizer: {sgd_optimizer: {lr: 0.01}, constant_learning_rate: {}}
  num_epochs: 2
data_config:
  dataset_type: CsvDataset
  batch_size: 50
  shuffle: true
  fg_mode: FG_NORMAL
  with_header: true
  label_fields: [y]
feature_configs:
  - id_feature: {feature_name: id, expression: "user:id", num_buckets: 300, embedding_dim: 4}
  - id_feature: {feature_name: city, expression: "user:city", vocab_list: [rome, oslo], embedding_dim: 4}
  - id_feature: {feature_name: none, expression: "user:none", num_buckets: 9, embedding_dim: 4, default_value: "0"}
  - raw_feature: {feature_name: same, expression: "item:same"}
  - sequence_id_feature: {feature_name: seq, expression: "user:seq", num_buckets: 9, embedding_dim: 4, sequence_length: 2}
  - id_feature: {feature_name: item, expression: "item:item", num_buckets: 9, embedding_dim: 4}
model_config:
  feature_groups:
    - {group_name: all, group_type: DEEP, feature_names: [id, city, none, same, item]}
    - {group_name: s, group_type: SEQUENCE, feature_names: [item, seq]}
  multi_tower_din:
    towers: [{input: all, mlp: {hidden_units: [8]}}]
    din_towers: [{input: s, attn_mlp: {hidden_units: [4]}}]
    final: {hidden_units: [4]}
  losses: [{binary_cross_entropy: {}}]
  metrics: [{auc: {}}]
YAML
# every 3rd id is missing, ids from 300 on are out of range; 1 of 4 cities is unknown; rows with 1, 2, 3 steps
awk 'BEGIN { print "y,id,city,none,same,seq,item"; for (i = 0; i < 400; i++) {
    s = i % 3 == 0 ? "1" : i % 3 == 1 ? "1;2" : "1;2;3"
    printf "%d,%s,%s,,7,%s,%d\n", i % 2, i % 3 ? i : "", i % 4 == 0 ? "lima" : i % 2 ? "rome" : "oslo", s, i % 9 } }' >f.csv
# the same is told before training, of each data set by itself
sed '1!s/,,7,/,5,7,/' f.csv >e.csv
run crank check f.yaml --eval_input_path e.csv
ends 0
has_err "f.yaml:...: warning: feature 'none' is missing in all 400 sampled rows of train data; check the name and the content of its column"
has_err "f.yaml:...: warning: feature 'id': 66 of 266 sampled ids of train data (from 400 rows; a row can have several ids, or none) lie outside 0 .. 299 (e.g. ...) and are taken as 0; raise num_buckets or fix the data"
has_err "f.yaml:...: warning: feature 'same' is the same in all 400 sampled rows of train data, so the model learns nothing from it; check its column, or remove the feature"
has_err "f.yaml:...: warning: feature 'city' gives away the label 'y' in all ..."
[ "$(grep -c warning "$err")" = 4 ] || fail "not one warning per feature"
run crank train f.yaml --threads 1
ends 0
has_err "...[WARNING] feature 'none' has no value in any of 400 rows of train data, so it is its default everywhere; check column 'none', or remove the feature"
has_err "...[WARNING] feature 'same' is the same in all 400 rows of train data, so the model learns nothing from it; check column 'same', or remove the feature"
has_err "...[WARNING] feature 'id': 66 ids outside its table of 300 rows were taken as 0, e.g. ...; raise its size or clean the data"
has_err "...[INFO] Features of train data, epoch 0: 400 rows, 5 of 6 features to look at"
has_err "...[INFO]   feature          missing     out of range          unknown        truncated"
has_err "...[INFO]   id                   134               66                0                0"
has_err "...[INFO]   none                 400                0                0                0  constant"
has_err "...[INFO]   seq                    0                0                0              133"
has_err "...[INFO] Features of train data, epoch 1: 400 rows, counts as in the epoch before"
[ "$(grep -c "feature 'none'" "$err")" = 1 ] || fail "a warning is told again"
if grep -q "  item " "$err"; then fail "a feature without findings is told"; fi
grep -q '"name": "city", "rows": 400, "ids": 400, "missing": 0, "masked": 0, "out_of_range": 0, "unknown": 100,' m/feature_counts.json || fail "no count of unknown values"
grep -q '"name": "seq", "rows": 400, "steps": 666, "ids": 666, "missing": 0, "masked": 0, "out_of_range": 0, "unknown": 0, "not_finite": 0, "unparsable": 0, "truncated": 133, "cut": 0, "constant": false' m/feature_counts.json || fail "no counts of steps"
[ "$(grep -c '"event": "features", .*"data": "train", "epoch": [01], ' m/train_log.jsonl)" = 2 ] || fail "no line per epoch"
run crank train f.yaml --threads 2 --model_dir m2
ends 0
same m/feature_counts.json m2/feature_counts.json
run crank train f.yaml --model_dir m3 --log_level DEBUG
ends 0
has_err "...[DEBUG]   item ..."
# the model is there: that a feature is the same in other rows is no reason to remove it
run crank eval m/pipeline.config
ends 0
has_err "...[INFO] Features of eval data: 400 rows, 4 of 6 features to look at"
no_err "...feature 'same'..."
run crank predict --pipeline_config_path m/pipeline.config --predict_input_path f.csv --predict_output_path p
ends 0
has_err "...[WARNING] feature 'none' has no value in any of 400 rows of predict data, so it is its default everywhere; check column 'none'"
no_err "...remove the feature..."
# a few rows say nothing about features
head -n 4 f.csv >few.csv
run crank predict --pipeline_config_path m/pipeline.config --predict_input_path few.csv --predict_output_path few -q
ends 0
[ ! -s "$err" ] || fail "three rows bring advice"
# but for whose they are and when, all are the same
for f in m/feature_counts_eval.json p/_feature_counts.json; do
    sed 's/.*"features"/"features"/' $f >a
    sed 's/.*"features"/"features"/' m/feature_counts.json >b
    same a b
done
# from Parquet, in another order of rows
pq_make -c f.parquet 'y:int32, id:int64, city:string, none:int64, same:double, seq:string, item:int64' 70 <f.csv
run crank train f.yaml --model_dir mp --train_input_path f.parquet --eval_input_path f.parquet --set data_config.dataset_type=ParquetDataset
ends 0
same m/feature_counts.json mp/feature_counts.json
# what killed runs left of these files goes when they are written again; a living neighbour's stays
sh -c 'exit 0' &
dead=$!
wait $dead
for f in m/feature_counts_eval.json p/_feature_counts.json; do
    echo half >"$f.tmp-$dead"
    echo mine >"$f.tmp-$$"
done
run crank eval m/pipeline.config
ends 0
run crank predict --pipeline_config_path m/pipeline.config --predict_input_path f.csv --predict_output_path p
ends 0
for f in m/feature_counts_eval.json p/_feature_counts.json; do
    is_gone "$f.tmp-$dead"
    is_there "$f.tmp-$$"
done
# ids that are all out of range get the warning that says so, not a second one that they are all the same
sed '1!s/,[0-9]*,/,900,/' f.csv >far.csv
run crank train f.yaml --model_dir mf --train_input_path far.csv
ends 0
has_err "...[WARNING] feature 'id': 400 ids outside its table of 300 rows were taken as 0, e.g. 900; ..."
if grep -q "feature 'id' is the same" "$err"; then fail "the consequence is told beside the cause"; fi
