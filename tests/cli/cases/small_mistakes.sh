# small mistakes of every day: each is told with a cure that works
tiny_config
tiny_data 640 64
# a sign of YAML as the only text of a list is taken as it is; in a file it wants quotes
run crank config tiny.yaml --set 'data_config.null_values=?'
ends 0
has_out '  null_values: ["?"]'
run crank config tiny.yaml --set 'data_config.null_values=NULL'
ends 0
has_out '  null_values: ["NULL"]'
sed 's/^  label_fields.*/&\n  null_values: ?/' tiny.yaml >sign.yaml
run crank config sign.yaml
ends 2
has_err "sign.yaml:...: not valid YAML: ...; put the value in quotes"
sed -i 's/null_values: ?/null_values: "?"/' sign.yaml
run crank config sign.yaml
ends 0
# names of other tools
run crank check tiny.yaml --set 'model_config.metrics=[{gauc: {}}]'
ends 2
has_err "--set:1:...: unknown key 'gauc' in metrics; did you mean 'grouped_auc'?"
run crank check tiny.yaml --set 'train_config.dense_optimizer={adam_optimizer: {learning_rate: 0.1}, constant_learning_rate: {}}'
ends 2
has_err "--set:1:...: unknown key 'learning_rate' in adam_optimizer; did you mean 'lr'?"
# two keys that exclude each other, in two places
run crank check tiny.yaml --set train_config.num_steps=5
ends 2
has_err "--set...:1:...: num_steps is 5 and num_epochs, at tiny.yaml:...:..., is 2; set one of them to 0 or remove it"
# an integer of more than 64 bits
run crank check tiny.yaml --set data_config.batch_size=99999999999999999999
ends 2
has_err "--set:1:...: batch_size: 99999999999999999999 is out of range; give an integer from 1 to 4294967295"
run crank synth census -o d --seed 99999999999999999999
ends 2
has_err "crank synth: --seed is '99999999999999999999' and must be an integer from 0 to 18446744073709551615"
# a number of processes that is none
run env WORLD_SIZE=x crank train tiny.yaml
ends 2
has_err "crank train: WORLD_SIZE of the environment is 'x' and must be 1, the number of processes; unset it"
is_gone model
run crank train tiny.yaml
ends 0
# the folder of an export is looked at before the weights are read
run crank export model/pipeline.config --export_dir tiny.yaml/e
ends 1
has_err "tiny.yaml/e: cannot write: Not a directory; ...; or choose another --export_dir"
no_err "...Restoring..."
run crank export model/pipeline.config --export_dir new/folders/e
ends 0
mv new/folders/e e
# a file that an export lacks is named
for f in index.json schema.json model_acc.json; do
    mv e/$f away
    run crank predict --scripted_model_path e --predict_input_path eval.csv --predict_output_path -
    ends 1
    has_err "...e/$f: the file is missing; the folder is damaged: copy the export again, or make it again with crank export"
    mv away e/$f
done
# a column that a prediction lacks: the label is not what is meant, whatever its name
cut -d, -f1-4 eval.csv >no_price.csv
run crank predict --scripted_model_path e --predict_input_path no_price.csv --predict_output_path -
ends 2
has_err "...no_price.csv has no column 'price', which feature 'price' needs; add it to the 4 that are there"
mkdir like
for f in train eval; do sed '1s/price/labels/' $f.csv >like/$f.csv; done
sed 's/price/labels/g; s,_path: ,&like/,; s,model_dir: .*,model_dir: like/model,' tiny.yaml >like.yaml
run crank train like.yaml -q
ends 0
run crank export like/model/pipeline.config --export_dir like/e -q
ends 0
run crank predict --scripted_model_path like/e --predict_input_path no_price.csv --predict_output_path -
ends 2
has_err "...no_price.csv has no column 'labels', which feature 'labels' needs; add it to the 4 that are there"
pq_make -c no_price.parquet 'label:int32, user:int64, item:int64, tags:string' <no_price.csv
run crank predict --scripted_model_path like/e --dataset_type ParquetDataset --predict_input_path no_price.parquet --predict_output_path -
ends 2
has_err "...no_price.parquet has no column 'labels', which feature 'labels' needs; ...crank parquet... shows its columns"
mkdir other
run crank predict --scripted_model_path other --predict_input_path eval.csv --predict_output_path -
ends 2
has_err "crank predict: other is not an export; ..."
# an export is evaluated by its folder: the same metrics as those of its checkpoint
run crank eval model/pipeline.config -q
ends 0
sed 's/^evaluated.*//; s/^  checkpoint.*//' "$out" >checkpoint.txt
run crank eval e -q
ends 0
has_out "  checkpoint  e"
sed 's/^evaluated.*//; s/^  checkpoint.*//' "$out" >export.txt
same checkpoint.txt export.txt
[ "$(wc -l <model/eval_result.txt)" -eq 2 ] || fail "$(cat model/eval_result.txt)"
mv model moved
run crank eval e -q
ends 0
is_gone model
is_there eval_result.txt
mv e/schema.json away
run crank eval e
ends 1
has_err "...e/schema.json: the file is missing; ..."
# a text that ends inside of a bracket is told at its end, not in a line that it does not have
run crank config tiny.yaml --edit_config_json '{"train_config.num_epochs": 2'
ends 2
has_err "--edit_config_json:1:30: not valid JSON: ...; close the bracket or quote that is open at the end of the text"
printf 'data_config:\n  label_fields: [label, b\n\n' >open.yaml
run crank check open.yaml
ends 2
has_err "open.yaml:2:26: not valid YAML: ...; close the bracket or quote that is open at the end of the text"
# a value that the shell has split, and a path without its flag
run crank config tiny.yaml --set model_config.wide_and_deep.deep.hidden_units=[16, 8]
ends 2
has_err "crank config: unexpected argument '8]' after 'tiny.yaml'; put a value that has blanks in quotes, ..."
run crank predict e --predict_input_path eval.csv --predict_output_path -
ends 2
has_err "crank predict: unexpected argument 'e'; write its flag in front of it, or put globs in quotes, see 'crank predict --help'"
run crank bench
ends 2
has_err "crank bench: say what to measure: 'crank bench WHAT CONFIG' with train, predict, read, features, lookup or gemm, or 'crank bench limits'"
# one mistake is one line: a group type that cannot be read is not also told as DEEP
sed 's/group_type: WIDE/group_type: WIDER/' tiny.yaml >wider.yaml
run crank check wider.yaml
ends 2
has_err "wider.yaml:...: group_type: unknown value 'WIDER'; did you mean 'WIDE'?"
no_err "...is of type DEEP..."
sed 's/group_type: WIDE/group_type: DEEP/' tiny.yaml >deep.yaml
run crank check deep.yaml
ends any
has_err "...warning: group 'wide' is of type DEEP..."
# a number of any size is a number
awk -F, -v OFS=, 'NR == 5 { $NF = "1e400" } { print }' train.csv >large.csv
head -n 1 train.csv | grep -q 'price$' || fail "price is not the last column"
run crank check tiny.yaml --train_input_path large.csv
ends 3
has_err "large.csv:5: column 'price', value '1e400': too large for float32..."
# one step is one step
run crank train tiny.yaml -q --model_dir one --set train_config.num_epochs=0 --set train_config.num_steps=1
has_out "trained  32 rows, 1 step in ..."
# rows that drop_remainder leaves out are not missing rows
run crank train tiny.yaml --model_dir dropped --set data_config.drop_remainder=true --set data_config.batch_size=10000
ends 3
has_err "...: drop_remainder leaves nothing of 'train.csv' to train on: it holds fewer rows than a batch of 10000; ..."
