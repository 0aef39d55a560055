# sign of PaddleRec (2.0): the ids of a row are a graph whose pairs have gates
# ids N: a label and three ids, of which the largest is 29
ids() {
    awk -v n="$1" 'function r(k) { x = (x * 1103515245 + 12345) % 2147483648; return int(x / 65536) % k }
    BEGIN { x = 9; print "1.0 0 29 7"; for (i = 1; i < n; i++) { a = r(10); b = r(10); print ((a + b) % 2) ".0 " a " " 10 + b " " 20 + r(10) } }'
}
mkdir -p sign/train sign/test
cat >sign/config.yaml <<EOF
runner:
  train_data_dir: "train"
  train_reader_path: "sign_reader"
  use_gpu: False
  use_auc: True
  is_train: True
  train_batch_size: 16
  epochs: 2
  print_interval: 2
  model_save_path: "output_model_sign"
  test_data_dir: "test"
  infer_batch_size: 16
  infer_reader_path: "sign_reader"
  infer_load_path: "output_model_sign"
  infer_start_epoch: 1
  infer_end_epoch: 2
hyper_parameters:
  pred_edges: 1
  dim: 4
  hidden_layer: 6
  l0_para: [0.66, -0.1, 1.1]
  l0_weight: 0.001
  l2_weight: 0.001
  optimizer:
    class: adam
    learning_rate: 0.05
    strategy: async
EOF
ids 96 >sign/train/part-0
ids 40 >sign/test/part-0

run crank run -m sign/config.yaml --threads 2
ends 0
has_out "... - INFO - epoch: 1 done, AUC: ...,ACC: ...,loss:..., epoch time: ... s"
run crank params output_model_sign/1
ends 0
has_out "...embedding_bags.feature_emb.weight...[30, 4]..."
has_out "...embedding_bags.feature_emb_wide.weight...[30, 4]..."
run crank run -m sign/config.yaml --infer
ends 0
has_out "... - INFO - epoch: 1 done, AUC: ...,ACC: ..., epoch time: ... s"
run crank run -m sign/config.yaml --compat paddlerec -o runner.epochs=1
ends 0
has_err "...: note: PaddleRec's sign always takes Adagrad, so that is used, and not adam"
grep -q 'binary_log: true' output_model_sign/pipeline.config || fail "the gates are not as shipped"

# the same gates are drawn by any number of threads
run crank config sign/config.yaml
ends 0
cp "$out" sign.yaml
for n in 1 3; do
    run crank train sign.yaml --model_dir $n --threads $n
    ends 0
done
same_weights 1 3

# the size of the tables is known without the training data when the config gives it
run crank run -m sign/config.yaml -o runner.epochs=1 hyper_parameters.n_feature=50
ends 0
run crank params output_model_sign/0
ends 0
has_out "...feature_emb.weight...[50, 4]..."
run crank run -m sign/config.yaml --infer -o runner.train_data_dir=gone runner.infer_start_epoch=0 runner.infer_end_epoch=1
ends 2
has_err "...: the largest id of runner.train_data_dir tells the size of the tables, and 'sign/gone' is not a folder; name it, or give hyper_parameters.n_feature"
sed '/train_data_dir/d; s/dim: 4/dim: 4\n  n_feature: 50/' sign/config.yaml >sign/alone.yaml
run crank run -m sign/alone.yaml --infer -o runner.infer_start_epoch=0 runner.infer_end_epoch=1
ends 0
has_out "... - INFO - epoch: 0 done, AUC: ..."

# in a folder of another name, the hyper-parameters tell the model
cp -r sign mine
run crank run -m mine/config.yaml -o runner.epochs=1
ends 0
has_err "mine/config.yaml:...: note: the hyper-parameters are those of PaddleRec's sign, so that is the model; ..."

# mistakes
run crank run -m sign/config.yaml -o hyper_parameters.pred_edges=0
ends 2
has_err "-o 'hyper_parameters.pred_edges=0': pred_edges: 0 reads the pairs of each row from a file, ...; leave it 1 to learn them"
sed 's/-0.1, 1.1/0.1, 1.1/' sign/config.yaml >sign/gates.yaml
run crank run -m sign/gates.yaml
ends 2
has_err "sign/gates.yaml:...: hyper_parameters.l0_para must be three numbers: ..., such as [0.66, -0.1, 1.1]"
sed 's/"train"/"none"/' sign/config.yaml >sign/none.yaml
run crank run -m sign/none.yaml
ends 2
has_err "sign/none.yaml:...: 'sign/none' is not a folder; name the folder of the data files"
mkdir sign/none
printf '1.0\n\n' >sign/none/part-0
run crank run -m sign/none.yaml
ends 2
has_err "sign/none.yaml:...: 'sign/none' has no line with a label and ids, such as '1 4 17 23'"
# a line with fewer ids than the first one
printf '1.0 3 4 5\n0.0 3 4\n' >sign/none/part-0
run crank run -m sign/none.yaml -o runner.train_batch_size=1
ends 3
has_err "...sign/none/part-0:2:...the row ends before slot 'id_3'..."
