# sources, kinds of files and rows of a Cruise config; readers of JSON lines and TFRecords
. "$CLI/gandalf.sh"
gandalf_data
gandalf_config >x.yaml
for p in train/20221230 train/20221231 val/20221215; do
    mkdir -p "j/$p" "t/$p"
    crank parquet "data/$p/part-0.parquet" --rows_json -q >"j/$p/part-0.jsonl"
done
set -- --threads 1 -q --data.data_factory.shuffle=false --trainer.max_epochs=1 --trainer.log_every_n_steps=1
json="--data.data_factory.type=JsonLDataFactory --data.dataset.input_dir=j/train --data.dataset.val_input_dir=j/val"
run crank run --config=x.yaml --fit "$@" --trainer.default_root_dir=parquet
run crank run --config=x.yaml --fit "$@" $json --trainer.default_root_dir=json
run crank align parquet json --tolerance 0
same_weights parquet json
if command -v python3 >/dev/null; then
    for p in train/20221230 train/20221231 val/20221215; do
        python3 "$CLI/tf_make.py" "j/$p/part-0.jsonl" "t/$p/part-0.tfrecord"
    done
    tf="--data.data_factory.type=TFRecordDataFactory --data.dataset.input_dir=t/train --data.dataset.val_input_dir=t/val"
    run crank run --config=x.yaml --fit "$@" $tf --trainer.default_root_dir=records
    same_weights parquet records
    # a run that was killed goes on at its record
    may_be_killed=yes run env CRANK_TEST_KILL=step:8 crank run --config=x.yaml --fit "$@" $tf --trainer.default_root_dir=killed
    ends 137
    run crank run --config=x.yaml --fit "$@" $tf --trainer.default_root_dir=killed
    same_weights parquet killed
    # a damaged byte of a record; a file that was cut off; another file
    cp -r t bad
    printf '\377' | dd of=bad/train/20221230/part-0.tfrecord bs=1 seek=300 conv=notrunc 2>/dev/null
    run crank run --config=x.yaml --fit "$@" $tf --data.dataset.input_dir=bad/train --trainer.default_root_dir=r1
    ends 3
    has_err "bad/train/20221230/part-0.tfrecord:2: record 2: its checksum differs: the data is damaged; ..."
    head -c 3000 t/train/20221230/part-0.tfrecord >bad/train/20221230/part-0.tfrecord
    run crank run --config=x.yaml --fit "$@" $tf --data.dataset.input_dir=bad/train --trainer.default_root_dir=r2
    ends 3
    has_err "bad/train/20221230/part-0.tfrecord:...: record ...: the file ends inside of it; write the file again"
    cp rows.txt bad/train/20221230/part-0.tfrecord
    run crank run --config=x.yaml --fit "$@" $tf --data.dataset.input_dir=bad/train --trainer.default_root_dir=r3
    ends 3
    has_err "...record 1: its length is damaged, or this is no TFRecord file..."
fi
run crank run --config=x.yaml --fit --data.data_factory.type=KVDataFactory --trainer.default_root_dir=kv
ends 2
has_err "...the files of KVDataFactory are not published, so crank cannot read them; ..."

# JSON lines: what is wrong in a line
mkdir lines
cat >lines.yaml <<'CONFIG'
train_input_path: lines/a.jsonl
model_dir: lines/model
train_config: {num_epochs: 1}
data_config: {batch_size: 2, dataset_type: JsonDataset, fg_mode: FG_NORMAL, label_fields: [y]}
feature_configs:
  - raw_feature: {feature_name: a, expression: "user:a"}
  - id_feature: {feature_name: t, expression: "user:t", hash_bucket_size: 10, embedding_dim: 4}
  - raw_feature: {feature_name: v, expression: "user:v", value_dim: 2}
model_config:
  feature_groups: [{group_name: all, feature_names: [a, t, v]}]
  backbone: {blocks: [{name: deep, inputs: [{feature_group_name: all}], mlp: {hidden_units: [4]}}]}
CONFIG
good='{"y": 1, "a": 0.5, "t": "x\u00e9\ud83d\ude00 \"q\"", "v": [1, 2.5], "more": {"deep": [[1], {"z": null}]}}'
printf '%s\n\n%s\r\n{"y": false, "a": NaN, "t": null, "v": [0, 1]}\n' "$good" "$good" >lines/a.jsonl
run crank train lines.yaml -q --threads 1
has_out "trained  3 rows, ..."
# without input_fields the first rows say what a key holds
rm -rf lines/model
printf '%s\n{"y": 1, "a": "one", "t": "x", "v": [1, 2]}\n' "$good" >lines/a.jsonl
run crank train lines.yaml -q --threads 1
ends 3
has_err "lines.yaml:6:...: key 'a' holds numbers and texts in lines/a.jsonl; say in data_config.input_fields what it is"
sed -i 's/label_fields: \[y\]/label_fields: [y], input_fields_str: "y:INT64;a:FLOAT;t:STRING;v:ARRAY<FLOAT>"/' lines.yaml
bad() { # bad LINE MESSAGE
    rm -rf lines/model
    printf '%s\n%s\n' "$good" "$1" >lines/a.jsonl
    run crank train lines.yaml -q --threads 1
    ends 3
    has_err "lines/a.jsonl:2: $2..."
}
bad '[1, 2]' "the line is no JSON object: it does not begin with '{'"
bad '{"y": 1, "a": 1, "t": "x", "v": [1, 2]' "the object does not end with '}'"
bad '{"y": 1, "a": 1, "t": "x", "v": [1, 2]} x' "something follows the object"
bad '{"y": 1, "a": "one", "t": "x", "v": [1, 2]}' "key 'a': is not a number"
bad '{"y": 1, "a": [1], "t": "x", "v": [1, 2]}' "key 'a': is a list; ..."
bad '{"y": 1, "a": 1, "a": 2, "t": "x", "v": [1, 2]}' "key 'a': is there twice"
bad '{"y": 1, "a": 1, "t": {"x": 1}, "v": [1, 2]}' "key 't': it is an object; ..."
bad '{"y": 1, "a": 1, "t": "\x", "v": [1, 2]}' "key 't': a text holds an escape that JSON does not have"
bad '{"y": 1, "a": 1, "t": "x", "v": [1, null]}' "key 'v': a list holds null; ..."
bad '{"y": 1, "a": nan, "t": "x", "v": [1, 2]}' "key 'a': a value is neither a number ..."
bad '{"y": 1, "a": 1, "t": "x' "key 't': a text has no closing quote"
rm -rf lines/model
sed -i 's/user:a"/user:aa"/' lines.yaml
printf '%s\n' "$good" >lines/a.jsonl
run crank train lines.yaml -q --threads 1
ends 3
has_err "lines.yaml:6:...: no key 'aa', which feature 'a' needs, is in the first 1 row of lines/a.jsonl; ..."

# several sources: each has its share of a batch, ranks and pauses change nothing
set -- --threads 1 -q --trainer.max_epochs=2 --trainer.log_every_n_steps=1 --trainer.val_check_interval=3 '--data.dataset.train_folder=20221230$20221231'
run crank run --config=x.yaml --fit "$@" --trainer.default_root_dir=equal
grep -q '"train.rows": 640' equal/train_log.jsonl || fail "160 rows of each source in an epoch"
run crank run --config=x.yaml --fit "$@" --data.data_factory.multiplex_dataset_weights='[0.25, 0.75]' --trainer.default_root_dir=weights
grep -q '"train.rows": 1280' weights/train_log.jsonl || fail "8 rows of 160 in a batch: 20 batches"
may_be_killed=yes run env CRANK_TEST_KILL=step:14 crank run --config=x.yaml --fit "$@" --data.data_factory.multiplex_dataset_weights='[0.25, 0.75]' --trainer.default_root_dir=again
ends 137
run crank run --config=x.yaml --fit "$@" --data.data_factory.multiplex_dataset_weights='[0.25, 0.75]' --trainer.default_root_dir=again
same_weights weights again
run crank run --config=x.yaml --fit "$@" --data.data_factory.multiplex_mix_batch=false --trainer.default_root_dir=apart
if [ -f "$(dirname "$CRANK")/comm-mpich.so" ]; then
    mpi_leaks
    run crank launch --standalone --nproc-per-node 2 -- run --config=x.yaml --fit --val "$@" --data.data_factory.batch_size=16 \
        --data.data_factory.multiplex_dataset_weights='[0.25, 0.75]' --trainer.default_root_dir=two
    has_out "metrics on 120 rows"
    same_weights weights two
    run crank align weights two --tolerance 0
fi
run crank run --config=x.yaml --fit "$@" --data.data_factory.multiplex_dataset_weights='[0.5]' --trainer.default_root_dir=no
ends 2
has_err "...multiplex_dataset_weights holds a number per source, 2"
run crank run --config=x.yaml --fit "$@" '--data.dataset.input_dir=a$b$c' --trainer.default_root_dir=no
ends 2
has_err "...input_dir names 3 sources (\$) and train_folder 2; ..."

# rows that are left out: by their reason, by their source; files that are too small
set -- --threads 1 -q --trainer.max_epochs=1 --trainer.log_every_n_steps=1
run crank run --config=x.yaml --fit "$@" --data.feature_provider.filtered_tags='tag_[0-9]' --trainer.default_root_dir=tags
grep -q '"train.rows": 288' tags/train_log.jsonl || fail "a tenth has a tag"
run crank run --config=x.yaml --fit "$@" --data.feature_provider.use_high_precision=false --trainer.default_root_dir=high
grep -q '"train.rows": 256' high/train_log.jsonl || fail "a fifth is of high precision"
run crank run --config=x.yaml --fit "$@" --data.feature_provider.filtered_tags='tag_[' --trainer.default_root_dir=no
ends 2
has_err "...'tag_[' cannot be read: ..."
gandalf_make data/train/20221229 4 9
run crank run --config=x.yaml --fit "$@" --data.dataset.train_folder='202212*' --data.data_factory.file_min_size=5000 --trainer.default_root_dir=large
grep -q '"train.rows": 320' large/train_log.jsonl || fail "the small file counts"
