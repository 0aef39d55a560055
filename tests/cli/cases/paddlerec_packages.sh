# iprec of PaddleRec (2.0): packages of an item, its publisher and friends, in lines of JSON
mkdir -p iprec/data/train iprec/data/test
cat >iprec/config.yaml <<END
runner:
  train_data_dir: "./data/train"
  train_reader_path: "reader"
  train_batch_size: 5
  model_save_path: "output"
  use_auc: True
  use_gpu: False
  epochs: 2
  print_interval: 1
  test_data_dir: "./data/test"
  infer_reader_path: "reader"
  infer_batch_size: 5
  infer_load_path: "output"
  infer_start_epoch: 1
  infer_end_epoch: 2
hyper_parameters:
  optimizer:
    class: adam
    learning_rate: 0.01
  num_users: 30
  num_items: 20
  num_bizs: 10
  hidden_units: 4
  f_max_len: 2
  k: 3
  u_max_i: 3
  u_max_f: 4
  u_max_pack: 2
  pack_max_nei_b: 2
  pack_max_nei_f: 2
  dropout_rate: 0.4
END
# lines SEED N: packages have two friends, of which one may be 0
lines() {
    awk -v x="$1" -v n="$2" 'function r(k) { x = (x * 1103515245 + 12345) % 2147483648; return int(x / 65536) % k }
    function list(n, m,   t, i) { for (i = 0; i < n; i++) t = t (i ? ", " : "") 1 + r(m); return "[" t "]" }
    function packs(n,   t, i) { for (i = 0; i < n; i++) t = t (i ? ", " : "") 1 + r(20) ", " 1 + r(10) ", " 1 + r(30) ", " r(2) * r(30); return "[" t "]" }
    BEGIN { for (i = 0; i < n; i++) {
        printf "{\"user\": %d, \"item\": %d, \"biz\": %d, \"friends\": %s, \"user_items\": %s, \"user_bizs\": %s, ", 1 + r(30), 1 + r(20), 1 + r(10), list(1 + r(2), 30), list(r(5), 20), list(r(3), 10)
        printf "\"user_friends\": %s, \"user_packages\": %s, \"pack_neighbors_b\": %s, \"pack_neighbors_f\": %s, \"label\": %d, \"label2\": 0}\n", list(r(6), 30), packs(r(4)), packs(r(3)), packs(r(3)), r(2) } }'
}
lines 3 32 >iprec/data/train/train.jsonl
lines 4 12 >iprec/data/test/test.jsonl
echo '{"user": 3, "item": 5, "biz": 2, "friends": [7, 0, 9], "user_items": [1, 2, 3, 4], "user_bizs": [], "user_friends": [8, 0], "user_packages": [4, 1, 6, 0, 3, 2, 0, 0, 9, 9, 9, 9], "pack_neighbors_b": [0, 0, 0, 0], "pack_neighbors_f": [2, 3, 4, 5], "label": 1, "label2": 0}' >>iprec/data/test/test.jsonl

run crank run -m iprec/config.yaml --threads 1
ends 0
has_err "...output/rows/train holds 32 rows, users with packages, made from the lines in iprec/./data/train"
has_out "... - INFO - epoch: 1, batch_id: 5, auc:..., loss:..., avg_reader_cost: ..."
run crank run -m iprec/config.yaml --infer
ends 0
has_out "... - INFO - epoch: 1 done, auc: ..., epoch time: ... s"
# lists are cut, zeros and padding are left out, the package that is judged is last
[ "$(tail -n 1 output/rows/test/rows.txt)" = "1;3;8;1 2 3;;4 3 2 5;1 2 3 2;1 1 0 0;0 0 0 0;0 0 1 0;6 4 5 7;0 2 2 3" ] || fail "the last row: $(tail -n 1 output/rows/test/rows.txt)"
mv output one
run crank run -m iprec/config.yaml --threads 3
ends 0
same_weights one output
mv output whole
may_be_killed=yes
CRANK_TEST_KILL=step:9 run crank run -m iprec/config.yaml
may_be_killed=
ends bad
run crank run -m iprec/config.yaml --continue_train
ends 0
same_weights whole output

# in a folder of another name, the hyper-parameters tell the model
cp -r iprec mine
run crank run -m mine/config.yaml -o runner.epochs=1
ends 0
has_err "mine/config.yaml:...: note: the hyper-parameters are those of PaddleRec's iprec, so that is the model; ..."

# mistakes
run crank run -m iprec/config.yaml -o hyper_parameters.num_bizs=3
ends 3
has_err "iprec/./data/train/train.jsonl:...: ... is missing or not as it should be: ids are whole numbers from 0 to num_users, num_items and num_bizs, packages have 4 of them, and the label is 0 or 1; correct the line"
run crank run -m iprec/config.yaml -o hyper_parameters.f_max_len=3
ends 3
has_err "...: user_packages is missing or not as it should be: ..., packages have 5 of them, ..."
echo '{"user": 3}' >iprec/data/train/train.jsonl
run crank run -m iprec/config.yaml
ends 3
has_err "iprec/./data/train/train.jsonl:1: label is missing or not as it should be: ..."
: >iprec/data/train/train.jsonl
run crank run -m iprec/config.yaml
ends 3
has_err "...the folder 'iprec/./data/train' has no line of data; name another one"
