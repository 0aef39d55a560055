# synth --for: data for a config that uses every feature type, in every mode, as CSV and as Parquet
cp "$CLI/all_features.yaml" all.yaml
cp "$CLI/../golden/tokenizers/byte_level.json" .
for mode in FG_DAG FG_NONE FG_BUCKETIZE; do
    for format in csv parquet; do
        d=$mode.$format
        run crank synth --for all.yaml --set data_config.fg_mode=$mode --rows 4k --eval_rows 1k --format $format -o $d
        ends 0
        has_out "  ...clk: ...% positive, best possible AUC on eval 0.8..."
        run crank check $d/pipeline.yaml
        ends 0
        has_out "train...4000...rows sampled..., 0 bad rows..."
        # all that the features say about the data: nothing is missing, out of range or unknown throughout
        grep -v 'warning: fg_mode FG_NONE reads the column' "$err" >said || true
        if has said "...warning..."; then fail "the data made for all.yaml gets a warning"; fi
        run crank train $d/pipeline.yaml --set train_config.num_epochs=4
        ends 0
        tail -n 1 $d/model/train_eval_result_v2.txt >$d.metrics
        auc=$(sed 's/.*"auc_click": *\([0-9.]*\).*/\1/' $d.metrics)
        awk -v x="$auc" 'BEGIN { exit !(x > 0.6) }' || fail "$d: AUC $auc"
    done
    # the same rows in both formats
    same $mode.csv.metrics $mode.parquet.metrics
done

# the same bytes for any number of threads, others for another seed
run crank synth --for all.yaml --rows 2k --threads 1 -o one
ends 0
run crank synth --for all.yaml --rows 2k --threads 3 -o three
ends 0
same one/train three/train
same one/eval three/eval
same one/synth.json three/synth.json
run crank synth --for all.yaml --rows 2k --seed 2 -o two
ends 0
differ one/train two/train
# a longer train part begins with the rows of a shorter one, and the eval part stays
run crank synth --for all.yaml --format csv --rows 2k --eval_rows 1k -o short
ends 0
run crank synth --for all.yaml --format csv --rows 3k --eval_rows 1k -o long
ends 0
same short/eval long/eval
cat short/train/*.csv | grep -v '^uid,' >a
cat long/train/*.csv | grep -v '^uid,' | head -n 2000 >b
same a b

# columns of declared types: lists, lists of lists, maps, 32 bits; and one that nothing reads
sed 's/^data_config:$/&\
  input_fields:\
    - {input_name: uid, input_type: INT64}\
    - {input_name: note, input_type: STRING}\
    - {input_name: tags, input_type: ARRAY_STRING}\
    - {input_name: prices, input_type: MAP_STRING_DOUBLE}\
    - {input_name: shop_scores, input_type: MAP_INT64_STRING}\
    - {input_name: cats, input_type: MAP_STRING_FLOAT}\
    - {input_name: seq2, input_type: ARRAY_ARRAY_INT64}\
    - {input_name: f32, input_type: FLOAT}\
    - {input_name: i32, input_type: INT32}/' all.yaml >typed.yaml
run crank synth --for typed.yaml --rows 2k -o typed
ends 0
run crank parquet typed/train/part-00000.parquet --schema
ends 0
for line in "  required INT64 uid;" "  required BYTE_ARRAY note (string);" "  required group tags (LIST) {" \
    "  required group shop_scores (MAP) {" "      required INT64 key;" "  required FLOAT f32;" "  required INT32 i32;"; do
    has_out "$line"
done
run crank train typed/pipeline.yaml
ends 0
# a text file cannot hold them
run crank synth --for typed.yaml --rows 2k --format csv -o typed_csv
ends 2
has_err "typed.yaml:...: a column of a CSV file cannot be ARRAY_STRING; use STRING and let the feature split the text"
is_gone typed_csv

# CSV without a header has the columns of input_fields in their order, with its delimiter
cat >plain.yaml <<'END'
train_config: {num_epochs: 1, sparse_optimizer: {adagrad_optimizer: {lr: 0.1}, constant_learning_rate: {}}, dense_optimizer: {adam_optimizer: {lr: 0.01}, constant_learning_rate: {}}}
data_config:
  dataset_type: CsvDataset
  batch_size: 128
  delimiter: "\t"
  input_fields_str: "user:STRING;unused:DOUBLE;y:INT64;price:FLOAT"
  fg_mode: FG_NORMAL
  label_fields: [y]
feature_configs:
- id_feature: {feature_name: user, expression: "user:user", hash_bucket_size: 100, embedding_dim: 4}
- raw_feature: {feature_name: price, expression: "item:price"}
model_config:
  feature_groups: [{group_name: deep, feature_names: [user, price]}]
  multi_tower: {towers: [{input: deep, mlp: {hidden_units: [8]}}], final: {hidden_units: [4]}}
  losses: [{binary_cross_entropy: {}}]
  metrics: [{auc: {}}]
END
run crank synth --for plain.yaml --rows 2k -o plain
ends 0
head -n 1 plain/train/part-00000.csv >got
printf 'u[0-9]*\t[-0-9.]*\t[01]\t[-0-9.]*\n' >want
grep -q -x "$(cat want)" got || fail "columns of plain"
run crank train plain/pipeline.yaml
ends 0

# mistakes
run crank synth --rows 100 -o d
ends 2
has_err "crank synth: nothing says which data; give criteo, taobao or census, or --for CONFIG"
run crank synth census --for all.yaml --rows 100 -o d
ends 2
has_err "crank synth: NAME and --for are two kinds of data; give one of them"
run crank synth census --set data_config.batch_size=5 -o d
ends 2
has_err "crank synth: --set and --edit_config_json edit the config of --for; give that"
run crank synth --for nothing.yaml -o d
ends 1
has_err "nothing.yaml: cannot open: ...; check the path"
run crank synth --for all.yaml --set 'feature_configs[0].id_feature.vocab_file=none.txt' -o d
ends 2
is_gone d

# a data set that is not on this machine: Parquet in its place
sed 's/dataset_type: CsvDataset/dataset_type: OdpsDataset/; /delimiter/d; /input_fields_str/d' plain.yaml >odps.yaml
run crank synth --for odps.yaml --rows 1k -o odps
ends 0
is_there odps/train/part-00000.parquet
run crank train odps/pipeline.yaml
ends 0

# a loss over lists takes any label, and needs rows that are not positive
cp "$CLI/../golden/data/loss_listwise_fixed/pipeline.config" list.config
run crank synth --for list.config -o list --rows 2000 --format csv
ends 0
run crank train list/pipeline.yaml --model_dir list/model
ends 0
has_err "...auc:0.7..." # which takes the labels 0 and 1 only
