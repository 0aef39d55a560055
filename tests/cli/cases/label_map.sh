# labels that are words: label_map, in every syntax, from CSV and Parquet
tiny_config
tiny_data 640 64
for f in train eval; do
    cp $f.csv $f.numbers
    awk -F, -v OFS=, 'NR > 1 { $1 = $1 == 1 ? ">50K" : "<=50K" } { print }' $f.numbers >$f.csv
done
# without a map the cure shows what the column holds
run crank train tiny.yaml
ends 3
has_err "eval.csv:2: column 'label', value '>50K': not a number; give texts numbers with data_config.label_map, seen here: '>50K', '<=50K'; ..."
is_gone model/model.ckpt-0
# the same model as from numbers
run crank train tiny.yaml --model_dir numbers --train_input_path train.numbers --eval_input_path eval.numbers
ends 0
cp tiny.yaml plain.yaml
edit 19 '  label_fields: [label]
  label_map: [{label: label, map: {">50K": 1, "<=50K": 0}}]'
run crank check tiny.yaml
ends 0
has_out "train     640 rows sampled, mean label 0.4219, 0 bad rows..."
run crank train tiny.yaml
ends 0
same_weights model numbers
same model/train_eval_result_v2.txt numbers/train_eval_result_v2.txt
run crank eval tiny.yaml --eval_result_filename words.txt
ends 0
run crank eval plain.yaml --model_dir numbers --eval_input_path eval.numbers --eval_result_filename numbers.txt
ends 0
same model/words.txt numbers/numbers.txt
# from Parquet, where the words are a column of strings
for f in train eval; do
    pq_make -c $f.parquet 'label:string, user:int64, item:int64, tags:string, price:double' 100 <$f.csv
done
sed 's/CsvDataset/ParquetDataset/; s/_path: \(.*\)\.csv/_path: \1.parquet/' tiny.yaml >words_pq.yaml
run crank train words_pq.yaml --model_dir parquet
ends 0
same_weights parquet numbers
# protobuf text and JSON say the same
run crank config tiny.yaml --format pbtxt
ends 0
cp "$out" tiny.config
grep -q 'label_map {' tiny.config || fail "no label_map in protobuf text"
run crank train tiny.config --model_dir pbtxt
ends 0
same_weights pbtxt numbers
run crank train plain.yaml --model_dir json --edit_config_json '{"data_config.label_map": [{"map": {">50K": 1, "<=50K": 0}}]}'
ends 0
same_weights json numbers
# a column of numbers may have a map, too: here one of a Parquet file
awk -F, -v OFS=, 'NR > 1 { $1 = $1 == 1 ? 1 : -1 } { print }' train.numbers >signs.csv
for t in int32 double; do
    pq_make -c signs.$t.parquet "label:$t, user:int64, item:int64, tags:string, price:double" 100 <signs.csv
    run crank train words_pq.yaml --model_dir $t --train_input_path signs.$t.parquet --eval_input_path signs.$t.parquet \
        --set 'data_config.label_map=[{map: {"1.0": 1, "-1": 0}}]'
    ends 0
    same_weights $t numbers
done
# predictions need no labels and are the same
run crank export tiny.yaml --export_dir e1
ends 0
run crank export plain.yaml --model_dir numbers --export_dir e2
ends 0
cut -d, -f2- eval.csv >new.csv
for e in e1 e2; do
    run crank predict --scripted_model_path $e --predict_input_path new.csv --predict_output_path $e.out --reserved_columns user
    ends 0
done
same e1.out e2.out
# a word that the map lacks is a bad row, all that it lacks are shown
awk -F, -v OFS=, 'NR == 41 || NR == 50 { $1 = ">50K." } NR == 60 { $1 = "<=50K." } NR == 70 { $1 = "" } { print }' train.csv >dots.csv
run crank train tiny.yaml --model_dir bad --train_input_path dots.csv
ends 3
has_err "...dots.csv:41: column 'label', value '>50K.': not in label_map, which lacks '>50K.', '<=50K.'; ..."
run crank check tiny.yaml --train_input_path dots.csv
ends 3
has_err "...dots.csv:41: column 'label', value '>50K.': not in label_map, which lacks '>50K.', '<=50K.'..."
pq_make -c dots.parquet 'label:string, user:int64, item:int64, tags:string, price:double' 100 <dots.csv
run crank train words_pq.yaml --model_dir bad --train_input_path dots.parquet
ends 3
has_err "...dots.parquet: row 39 (from 0): column 'label', value '>50K.': not in label_map, which lacks '>50K.', '<=50K.'; ..."
run crank train tiny.yaml --model_dir left_out --train_input_path dots.csv --set data_config.max_bad_rows=4
ends 0
has_err "...dots.csv:70: column 'label' is empty; label_map has no number for \"\"..."
run crank train tiny.yaml --model_dir all_words --train_input_path dots.csv \
    --set 'data_config.label_map=[{map: {">50K": 1, "<=50K": 0, ">50K.": 1, "<=50K.": 0, "": 0}}]'
ends 0
# mistakes of the config, with their place
run crank check tiny.yaml --set 'data_config.label_map=[{label: labl, map: {a: 1}}, {map: {}}, {map: {a: .inf}}]'
ends 2
says_err <<'END'
--set:1:32: label_map: 'labl' is not in label_fields; did you mean 'label'?
--set:1:58: label_map: the map is empty; write for example map: {yes: 1, no: 0}
--set:1:63: label_map: there is a map without a label already; put all texts into one, or name the label
--set:1:70: label_map: the number of 'a' is not finite; a label is a float32
END
run crank check tiny.yaml --set 'data_config.label_map=[{map: {">50K": 2, "<=50K": 0}}]'
ends 2
has_err "--set:1:31: label_map makes '>50K' of label 'label' 2; binary_cross_entropy takes the labels 0 and 1"
# made-up data has the words
for format in csv parquet; do
    run crank synth --for tiny.yaml --rows 2k --eval_rows 500 --format $format -o made.$format
    ends 0
    run crank train made.$format/pipeline.yaml
    ends 0
done
same_weights made.csv/model made.parquet/model
grep -q '>50K' made.csv/train/*.csv || fail "no words in the made-up labels"
# several labels: one map for both
awk -F, -v OFS=, 'NR == 1 { $6 = "buy" } NR > 1 { $6 = $2 % 2 ? ">50K" : "<=50K" } { print }' train.csv >two.csv
run crank check tiny.yaml --train_input_path two.csv --eval_input_path two.csv --set data_config.label_fields='[label, buy]' \
    --set 'data_config.label_map=[{map: {">50K": 1, "<=50K": 0}}]'
ends 0
has_out "train     640 rows sampled, mean label label 0.4219 buy 0.5..., 0 bad rows..."
# of a long text the beginning is shown, cut between two characters
sed '3s/^[^,]*,/很喜欢很喜欢很喜欢很喜欢很喜欢,/' train.csv >long.csv
run crank train tiny.yaml --model_dir cut --train_input_path long.csv
ends 3
has_err "long.csv:3: column 'label', value '很喜欢很喜欢很喜欢很喜欢很喜欢': not in label_map, which lacks '很喜欢很喜欢很喜欢很喜欢很'..."
# a blank that the delimiter leaves in the value: what to do, and a sample without rows has no mean
sed '2,$s/^/ /' train.csv >blank.csv
run crank check tiny.yaml --train_input_path blank.csv --eval_input_path blank.csv --set 'data_config.label_map=[{map: {">50K": 1, "<=50K": 0}}]'
ends 3
has_err "blank.csv:2: column 'label', value ' <=50K': not in label_map, which lacks ' <=50K', ' >50K'; the blank is part of the value, unless data_config.delimiter has one too (\", \"); 640 bad rows among 640, ..."
has_out "train     0 rows sampled, 640 bad rows: blank.csv"
