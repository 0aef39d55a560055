# data_config.eval_fraction: a part of the training data is kept for evaluation
tiny_config
tiny_data 1280 64
sed -i '/^eval_input_path/d' tiny.yaml
run crank eval tiny.yaml
ends 2
has_err "...eval_input_path is not set; give it in the config or with --eval_input_path, or keep a part of the training data with data_config.eval_fraction"
sed 's/^data_config:/&\n  eval_fraction: 0.2/' tiny.yaml >rows.yaml
sed 's/^data_config:/&\n  eval_fraction: 0.2\n  eval_fraction_field: user/' tiny.yaml >users.yaml

# the rows of both sides together are all rows, and about a fifth is for evaluation
sides() { # sides CONFIG: rows of train and eval
    run crank check "$@"
    ends 0
    sed -n 's/^train *\([0-9]*\)[a-z0-9 ]* rows sampled.*/\1/p' "$out" >n.train
    sed -n 's/^eval *\([0-9]*\)[a-z0-9 ]* rows sampled.*/\1/p' "$out" >n.eval
}
for c in rows users; do
    sides $c.yaml
    [ $(($(cat n.train) + $(cat n.eval))) -eq 1280 ] || fail "$c: $(cat n.train) and $(cat n.eval) rows are not 1280"
    awk -v n="$(cat n.eval)" 'BEGIN { exit !(n > 150 && n < 380) }' || fail "$c: $(cat n.eval) rows for evaluation"
    no_err "...metrics tell what was learned by heart..."
done
has_out "eval ... rows sampled, ... 0 bad rows: train.csv, eval_fraction"
# by a column no value is on both sides
run crank check users.yaml --json
ends 0
grep -o '"name": "user", "missing": 0, "distinct": [0-9]*' "$out" | sed 's/.* //' >distinct
[ "$(wc -l <distinct)" -eq 2 ] && [ "$(awk '{ n += $1 } END { print n }' distinct)" -eq 50 ] || fail "users of both sides: $(cat distinct)"

for c in rows users; do
    run crank train $c.yaml --model_dir $c --threads 1
    ends 0
    run crank train $c.yaml --model_dir $c.3 --threads 3
    ends 0
    same_weights $c $c.3
    same $c/train_eval_result_v2.txt $c.3/train_eval_result_v2.txt
    # a pause anywhere gives the same model
    run crank train $c.yaml --model_dir $c.parts --set train_config.num_steps=13 --set train_config.num_epochs=0
    ends 0
    run crank train $c.yaml --model_dir $c.parts --continue_train
    ends 0
    same_weights $c $c.parts
    # evaluation sees the same rows however they are batched
    for b in 7 32 1000; do
        run crank eval $c.yaml --model_dir $c --set data_config.eval_batch_size=$b --eval_result_filename $c.$b.txt
        ends 0
        sed 's/"binary_cross_entropy".*//' $c/$c.$b.txt >$c.$b
        same $c.$b $c.7
    done
done
# the split by users as files: what training sees is exactly the rest
run crank train users.yaml --model_dir seen --set train_config.num_epochs=1
ends 0
grep -o '"name": "user", "rows": [0-9]*' seen/feature_counts.json >counted
[ "$(cat counted)" = "\"name\": \"user\", \"rows\": $(cat n.train)" ] || fail "training saw $(cat counted), not $(cat n.train) rows"

# by a column the order, number and format of files do not matter
head -n 401 train.csv >b.csv
(head -n 1 train.csv; tail -n +402 train.csv) >a.csv
cat a.csv | gzip >a.csv.gz
sides users.yaml
cat n.train n.eval >one
for paths in a.csv,b.csv b.csv,a.csv.gz; do
    sides users.yaml --train_input_path $paths
    cat n.train n.eval >two
    same one two
done
tiny_parquet 100
for c in rows users; do
    sed "s/CsvDataset/ParquetDataset/; s/train.csv/train.parquet/" $c.yaml >$c.pq.yaml
done
sides users.pq.yaml
cat n.train n.eval >two
same one two
run crank train users.pq.yaml --model_dir users.pq
ends 0
same_weights users users.pq
# text or number, the value is the same
pq_make -c text.parquet 'label:int32, user:string, item:int64, tags:string, price:double' 300 <train.csv
run crank train users.pq.yaml --model_dir users.text --train_input_path text.parquet
ends 0
same_weights users users.text
# rows of Parquet, shuffled, through a pause
run crank train rows.pq.yaml --model_dir pq --set data_config.shuffle=true
ends 0
run crank train rows.pq.yaml --model_dir pq.parts --set data_config.shuffle=true --set train_config.num_steps=17 --set train_config.num_epochs=0
ends 0
run crank train rows.pq.yaml --model_dir pq.parts --set data_config.shuffle=true --continue_train --threads 2
ends 0
same_weights pq pq.parts

# a bad row belongs to one side, and has its own line
for k in $(seq 2 60); do
    awk -F, -v OFS=, -v n=$k 'NR == n { $5 = "x" } { print }' train.csv >bad.csv
    run crank check users.yaml --train_input_path bad.csv
    ends 3
    has_err "bad.csv:$k: column 'price', value 'x': ..."
    [ "$(grep -c ', 1 bad row:' "$out")" -eq 1 ] || fail "line $k is bad on both sides or none"
    if grep -q '^eval.*, 1 bad row:' "$out"; then break; fi
done
grep -q '^eval.*, 1 bad row:' "$out" || fail "no row of the first 60 is for evaluation"
pq_make -c bad.parquet 'label:int32, user:int64, item:int64, tags:string, price:string' 25 <bad.csv
run crank check users.pq.yaml --train_input_path bad.parquet
ends 3
has_err "bad.parquet: row $((k - 2)) (from 0): column 'price', value 'x': ..."
# the same for a column that the reader itself makes a number of
run crank check users.yaml --train_input_path bad.csv --set 'data_config.input_fields_str="label:INT64;user:INT64;item:INT64;tags:STRING;price:DOUBLE"'
ends 3
[ "$(grep -c ', 1 bad row:' "$out")" -eq 1 ] || fail "a typed column is bad on both sides or none"
grep -q '^eval.*, 1 bad row:' "$out" || fail "a bad number changed sides"

# mistakes
run crank check users.yaml --set data_config.eval_fraction_field=usr
ends 2
has_err "...column 'usr', which eval_fraction_field needs; did you mean 'user'?..."
run crank check rows.yaml --set data_config.eval_fraction=1
ends 2
has_err "--set:1:27: eval_fraction 1 leaves no rows for training; write for example 0.1"
run crank check tiny.yaml --set data_config.eval_fraction_field=user
ends 0
has_err "--set:1:33: warning: eval_fraction_field does nothing without eval_fraction; ..."
run crank train rows.yaml --model_dir none --set data_config.eval_fraction=1e-9
ends 3
has_err "--set:1:27: eval_fraction 1e-09 of 'train.csv' gives no rows; raise it"
# eval_input_path wins
(cat rows.yaml; echo 'eval_input_path: eval.csv') >both.yaml
run crank train both.yaml --model_dir both
ends 0
has_err "both.yaml:...: warning: eval_fraction does nothing beside eval_input_path, so training reads all rows; remove one of them"
run crank train tiny.yaml --model_dir all --eval_input_path eval.csv
ends 0
same_weights both all
run crank eval rows/pipeline.config --eval_input_path eval.csv
ends 0
no_err "...warning..."
# another split of a training that goes on
run crank train rows.yaml --model_dir rows --continue_train --set train_config.num_epochs=3 --set data_config.eval_fraction=0.3
ends 0
has_err "...warning: made with eval_fraction 0.2, now it is eval_fraction 0.3; evaluation may see rows that were trained on"
