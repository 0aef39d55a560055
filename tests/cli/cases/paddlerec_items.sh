# ensfm of PaddleRec (2.0): users with all of their items, and a loss over all items
# pairs SEED N: a user of three features, and an item of two
pairs() {
    awk -v x="$1" -v n="$2" 'function r(k) { x = (x * 1103515245 + 12345) % 2147483648; return int(x / 65536) % k }
    BEGIN { for (i = 0; i < n; i++) { u = r(12); v = (u % 3) * 8 + r(8); print u "-" 12 + u % 2 "-" 14 + u % 5 "," v "-" 24 + v % 3 } }'
}
mkdir -p ensfm/data
cat >ensfm/config.yaml <<EOF
runner:
  train_data_dir: "data"
  train_reader_path: "movielens_reader"
  train_batch_size: 4
  model_save_path: "output_model_ensfm"
  mode: "train"
  use_gpu: False
  epochs: 3
  print_interval: 10
  test_data_dir: "data"
  infer_reader_path: "movielens_reader"
  infer_batch_size: 4
  infer_load_path: "output_model_ensfm"
  infer_start_epoch: 2
  infer_end_epoch: 3
hyper_parameters:
  optimizer:
    class: adam
    learning_rate: 0.05
  num_users: 20
  num_items: 30
  mf_dim: 4
  mode: "train"
  negative_weight: 0.5
EOF
pairs 3 90 >ensfm/data/train.csv
pairs 8 30 >ensfm/data/test.csv
echo "19-12-14,23-26" >>ensfm/data/test.csv # a user whom train.csv does not have

run crank run -m ensfm/config.yaml --threads 2
ends 0
has_err "...output_model_ensfm/rows/train holds 12 rows, users with all of their items, made from the pairs in ensfm/data"
has_out "... - INFO - epoch: 2 done, loss:..., epoch time: ... s"
[ "$(tr ';' '\n' <output_model_ensfm/rows/train/rows.txt | tr ' ' '\n' | wc -l)" = $((12 * 4 + 90)) ] || fail "not all items of the users"
run crank run -m ensfm/config.yaml --infer
ends 0
has_err "...output_model_ensfm/rows/test holds 31 rows, ..."
has_out "... - INFO - epoch: 2 done, ...HR@5: 0..., epoch time: ... s"
[ "$(tail -n 1 output_model_ensfm/rows/test/rows.txt | cut -d ';' -f 2-)" = "19;12;14;" ] || fail "the user without items"
run crank run -m ensfm/config.yaml --compat paddlerec -o runner.epochs=1
ends 0
has_err "...: note: PaddleRec's ensfm always takes Adagrad, so that is used, and not adam"

# the same bytes for any number of threads; the config holds the items
run crank config ensfm/config.yaml
ends 0
cp "$out" ensfm.yaml
for n in 1 3; do
    run crank train ensfm.yaml --model_dir $n --threads $n
    ends 0
done
same_weights 1 3

# in a folder of another name, the hyper-parameters tell the model
cp -r ensfm mine
run crank run -m mine/config.yaml -o runner.epochs=1
ends 0
has_err "mine/config.yaml:...: note: the hyper-parameters are those of PaddleRec's ensfm, so that is the model; ..."

# mistakes
run crank run -m ensfm/config.yaml -o hyper_parameters.num_items=20
ends 2
has_err "...: block 'scores': item ... has the feature 2..., and num_features is 20; raise it"
rm -r output_model_ensfm
run crank train ensfm/config.yaml
ends 2
has_err "...: the data is read as rows of one file, which lie in 'output_model_ensfm/rows/train' and are not there; 'crank run -m' makes them"
cp -r ensfm/data ensfm/wrong
echo "1-13,5-26" >>ensfm/wrong/train.csv
run crank run -m ensfm/config.yaml -o runner.train_data_dir=wrong
ends 3
has_err "ensfm/wrong/train.csv:91: '1-13,5-26' is not the features of a user and of an item, ..., here 3 and 2 of them; correct the line"
rm ensfm/wrong/train.csv
run crank run -m ensfm/config.yaml -o runner.train_data_dir=wrong
ends 1
has_err "ensfm/wrong/train.csv: cannot open: ..."
: >ensfm/wrong/train.csv
run crank run -m ensfm/config.yaml -o runner.train_data_dir=wrong
ends 3
has_err "crank run: the folder 'ensfm/wrong' needs lines with two or more items in train.csv, such as 1-6041-6042,3186-3711"
