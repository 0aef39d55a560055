# A byte that changed in a checkpoint or an export: the same scores or a refusal that names the file; `crank check` always finds it
awk 'BEGIN { print "y,name,city,price"; s = 5; for (i = 0; i < 120; i++) { s = (s * 1103 + 12345) % 1048573; a = s % 9; b = s % 3
    printf "%d,n%d,%s,%.1f\n", (a + b) % 2, a, b == 0 ? "rome" : b == 1 ? "oslo" : "lima", s % 100 / 7 } }' >f.csv
printf 'rome\noslo\nlima\n' >city.txt
cat >f.yaml <<'END2'
train_input_path: f.csv
eval_input_path: f.csv
model_dir: m
train_config:
  sparse_optimizer: {adagrad_optimizer: {lr: 0.1}, constant_learning_rate: {}}
  dense_optimizer: {adam_optimizer: {lr: 0.01}, constant_learning_rate: {}}
  num_epochs: 1
data_config:
  dataset_type: CsvDataset
  batch_size: 50
  fg_mode: FG_NORMAL
  with_header: true
  label_fields: [y]
feature_configs:
  - id_feature: {feature_name: name, expression: "user:name", hash_bucket_size: 10, embedding_dim: 2}
  - id_feature: {feature_name: city, expression: "user:city", vocab_file: city.txt, default_bucketize_value: 0, embedding_dim: 2}
  - raw_feature: {feature_name: price, expression: "item:price", boundaries: [1, 5, 10], embedding_dim: 2}
model_config:
  feature_groups:
    - {group_name: all, group_type: DEEP, feature_names: [name, city, price]}
  multi_tower:
    towers: [{input: all, mlp: {hidden_units: [4]}}]
    final: {hidden_units: [2]}
  losses: [{binary_cross_entropy: {}}]
  metrics: [{auc: {}}]
END2
run crank train f.yaml -q
ends 0
run crank export f.yaml --export_dir e -q
ends 0
ckpt=$(newest m)
for f in pipeline.config features.json fg.json schema.json model_acc.json index.json manifest.json; do is_there e/$f; done
for f in state.json features.json index.json manifest.json; do is_there "$ckpt/$f"; done

# what was verified is said
run crank check e
ends 0
has_out "files     e: 9 files, ... KB, digests compared: all as they were written"
has_out "model     multi_tower, ..."
run crank check "$ckpt"
ends 0
has_out "files     $ckpt: 6 files, ... KB, digests compared: all as they were written"
run crank check m
ends 0
has_out "files     m: 3 files, ..., digests compared: all as they were written"
has_out "files     $ckpt: 6 files, ..."
run crank check "$ckpt" --json
ends 0
grep -q '"files": \[{"path": "'"$ckpt"'", "has_digests": true, "files": 6, "bytes": [0-9]*, "damaged": 0}\]' "$out" || fail "JSON"

predict() {
    rm -rf p
    run crank predict --scripted_model_path e --predict_input_path f.csv --predict_output_path p --threads 1 -q
}
evaluate() { run crank eval f.yaml --checkpoint_path "$ckpt" --eval_result_filename "$PWD/result" --threads 1 -q; }
predict
ends 0
mv p whole
evaluate
ends 0
mv result whole.txt
tried=0
refused=0
damaged() { # damaged FILE WHAT: the last command gave the same as before, or refused and named the file
    tried=$((tried + 1))
    ends any
    if [ "$code" -ne 0 ]; then
        refused=$((refused + 1))
        has_err "...$(basename "$1")..."
    else
        "$2"
    fi
}
same_scores() { same p/part-0.csv whole/part-0.csv; }
same_metrics() {
    same result whole.txt
    rm -f result
}
for f in e/* "$ckpt"/*; do
    size=$(wc -c <"$f")
    for part in 0 1 2 3 4 5 6 7; do
        at=$(((size - 1) * part / 7))
        flip "$f" $at
        run crank check "$(dirname "$f")" -q
        ends bad
        has_err "...$(basename "$f")..."
        case $f in
        e/*)
            predict
            damaged "$f" same_scores
            ;;
        *)
            evaluate
            damaged "$f" same_metrics
            ;;
        esac
        flip "$f" $at
    done
done
predict
ends 0
same_scores
echo "$tried tried, $refused refused"
# only files of the optimizer are not read by these commands
[ $((tried - refused)) -le 8 ] || fail "$refused of $tried were refused"
# the commands that look into weights
f=$(ls "$ckpt"/model-*.safetensors)
at=$(($(wc -c <"$f") - 2))
flip "$f" $at
run crank params "$ckpt"
ends 1
has_err "$f: its content does not fit its digest in manifest.json; the file is damaged: copy the checkpoint again, or use another one"
run crank params "$ckpt" --verify --json
ends 1
run crank diff "$ckpt" e
ends 2
run crank train f.yaml --model_dir tuned --fine_tune_checkpoint "$ckpt" -q
ends 1
has_err "$f: its content does not fit its digest in manifest.json; the file is damaged: copy the checkpoint again, or use another one"
flip "$f" $at
# a file that is gone, one that is longer
mv e/fg.json fg.json
predict
ends 1
has_err "e/fg.json: the file is missing; the folder is damaged: copy the export again, or make it again with crank export"
cp fg.json e/fg.json
echo >>e/fg.json
predict
ends 1
has_err "e/fg.json: ... bytes, manifest.json says ...; the file is damaged: copy the export again, or make it again with crank export"
cp fg.json e/fg.json
mv e/manifest.json manifest.json
predict
ends 1
has_err "e/manifest.json: the file is missing; the folder is damaged: copy the export again, or make it again with crank export"
cp manifest.json e/manifest.json
# what is not of crank is named, and is no error
echo hello >e/NOTES
run crank check e
ends 0
has_out "files     e: ...; not checked, because not of crank: NOTES"
# an export goes where its data is not
mv f.csv g.csv
run crank check e
ends 0
mv g.csv f.csv
# the config of a model_dir may be edited by a person, so that is a warning
echo '# mine' >>m/pipeline.config
run crank eval m/pipeline.config -q
ends 0
has_err "m/pipeline.config: warning: is not as training wrote it; unless you edited it, it is damaged"
run crank check m
ends 0
has_err "m/pipeline.config: warning: is not as training wrote it; unless you edited it, it is damaged"

# folders of older versions are read, with one warning
old_version e
old_version "$ckpt"
predict
ends 0
same_scores
[ "$(grep -c 'an older version wrote it' "$err")" -eq 1 ] || fail "not one warning"
has_err "...e: an older version wrote it, without manifest.json; damage is found in its weights but not in its other files"
run crank check e
ends 0
has_out "files     e: an older version wrote it, without digests"
run crank train f.yaml --continue_train --set train_config.num_epochs=2 -q
ends 0
[ "$(grep -c 'an older version wrote it' "$err")" -eq 1 ] || fail "not one warning"
is_there "$(newest m)/manifest.json"
