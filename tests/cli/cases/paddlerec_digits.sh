# dselect_k of PaddleRec since 2.0: pictures with two labels, in pickles of NumPy
mkdir dselect_k
cp -r "$CLI"/../golden/data/paddle_dselect_k/dselect_k/data dselect_k/
cat >dselect_k/config.yaml <<'EOF'
runner:
  train_data_dir: "data"
  train_reader_path: "multiMNIST_reader"
  use_gpu: False
  use_auc: True
  train_batch_size: 16
  epochs: 2
  print_interval: 4
  model_save_path: "output"
  test_data_dir: "data"
  infer_batch_size: 16
  infer_reader_path: "multiMNIST_reader"
  infer_load_path: "output"
  infer_start_epoch: 0
  infer_end_epoch: 2
  use_inference: False
  save_inference_feed_varnames: ["input"]
  save_inference_fetch_varnames: ["slice_0.tmp_0", "slice_1.tmp_0"]
hyper_parameters:
  feature_size: 256
  top_k: 2
  expert_num: 3
  gate_num: 2
  expert_size: 8
  tower_size: 8
  optimizer: {class: adam, learning_rate: 0.001, strategy: async}
EOF
run crank run -m dselect_k/config.yaml --threads 1
ends 0
has_err "...output/rows/train holds 160 rows, made from the pictures in dselect_k/data"
has_out "... epoch: 1, batch_id: 8, acc_left:..., acc_right:..., loss:..."
same output/rows/train "$CLI"/../golden/data/paddle_dselect_k/out/rows/train
run crank run -m dselect_k/config.yaml --infer
ends 0
has_out "... epoch: 1 done, acc_left: ...,acc_right: ..., epoch time: ..."
mv output first
run crank run -m dselect_k/config.yaml --threads 3
ends 0
same_weights first output
run crank run -m dselect_k/config.yaml --compat paddlerec -o runner.epochs=1
ends 0
# in a folder of another name, the hyper-parameters tell the model
cp -r dselect_k mine
run crank run -m mine/config.yaml -o runner.epochs=1
ends 0
has_err "mine/config.yaml:...: note: the hyper-parameters are those of PaddleRec's dselect_k, so that is the model; ..."

# mistakes
run crank run -m dselect_k/config.yaml -o hyper_parameters.gate_num=3
ends 2
has_err "...: gate_num is 3, and the data has labels for two tasks; set it to 2"
run crank run -m dselect_k/config.yaml -o hyper_parameters.top_k=4
ends 2
has_err "...it chooses 4 of 3 experts; give it two or more, and choose no more than there are"
run crank run -m dselect_k/config.yaml -o hyper_parameters.feature_size=1296
ends 3
has_err "dselect_k/data/train.pickle: it is not two arrays, pictures of feature_size 1296 numbers and two labels for each; write them with pickle.dump((x, y), file)"
rm mine/data/*
run crank run -m mine/config.yaml
ends 3
has_err "...the folder 'mine/data' has no picture; name another one"
sed 's/feature_size: 256/feature_size: 257/' dselect_k/config.yaml >mine/config.yaml
cp dselect_k/data/* mine/data/
run crank check mine/config.yaml
ends 2
has_err "...: feature_size is 257, and a picture is a square of 16 lines or more; use for example 1296"
