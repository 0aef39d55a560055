# dsin of PaddleRec since 2.0: histories in sessions, in pickles of NumPy and pandas
mkdir dsin
cp -r "$CLI"/../golden/data/paddle_dsin/dsin/data dsin/
cat >dsin/config.yaml <<'EOF'
runner:
  train_data_dir: "data"
  train_reader_path: "dsin_reader"
  use_gpu: False
  use_auc: True
  train_batch_size: 16
  epochs: 2
  print_interval: 4
  model_save_path: "output"
  test_data_dir: "data"
  infer_reader_path: "dsin_reader"
  infer_batch_size: 16
  infer_load_path: "output"
  infer_start_epoch: 1
  infer_end_epoch: 2
hyper_parameters:
  optimizer: {class: Adam, learning_rate: 0.01}
  user_size: 5
  cms_segid_size: 5
  cms_group_size: 5
  final_gender_size: 5
  age_level_size: 5
  pvalue_level_size: 5
  shopping_level_size: 5
  occupation_size: 5
  new_user_class_level_size: 5
  adgroup_size: 5
  cate_size: 5
  campaign_size: 5
  customer_size: 5
  brand_size: 5
  pid_size: 5
  feat_embed_size: 4
  sess_count: 3
  sess_max_length: 4
EOF
run crank run -m dsin/config.yaml --threads 1
ends 0
has_err "...output/rows/train holds 160 rows, made from the pickles in dsin/data"
has_out "... epoch: 1, batch_id: 8, auc:..., loss:..."
# a row has its label, 15 ids, the price, four lists of steps and one of sessions
[ "$(head -n 1 output/rows/train/rows.txt | tr ';' '\n' | wc -l)" = 22 ] || fail "the parts of a row"
same output/rows/train "$CLI"/../golden/data/paddle_dsin/out/rows/train
run crank run -m dsin/config.yaml --infer
ends 0
has_out "... epoch: 1 done, auc: ..., epoch time: ..."
mv output first
run crank run -m dsin/config.yaml --threads 3
ends 0
same_weights first output
run crank run -m dsin/config.yaml --compat paddlerec
ends 0
# in a folder of another name, the hyper-parameters tell the model
cp -r dsin mine
run crank run -m mine/config.yaml -o runner.epochs=1
ends 0
has_err "mine/config.yaml:...: note: the hyper-parameters are those of PaddleRec's dsin, so that is the model; ..."

# mistakes
run crank run -m dsin/config.yaml -o hyper_parameters.feat_embed_size=3
ends 2
has_err "...: a step has twice feat_embed_size 3 numbers, which is not a multiple of num_heads 8; make it one"
sed 's/sess_max_length: 4/sess_max_length: 5/' dsin/config.yaml >mine/config.yaml
run crank run -m mine/config.yaml
ends 3
has_err "mine/data/train_sess_input.pkl: it is no array of 160 rows, 6 lines (categories and brands of 3 sessions) and 5 steps; correct it, or sess_count and sess_max_length"
cp dsin/config.yaml mine/
cp mine/data/train_sess_input.pkl mine/data/train_label.pkl
run crank run -m mine/config.yaml
ends 3
has_err "mine/data/train_label.pkl: it is no array of 160 numbers, one for each row of the DataFrame; write such an array"
cp mine/data/train_session_length.pkl mine/data/train_feat_input.pkl
run crank run -m mine/config.yaml
ends 3
has_err "mine/data/train_feat_input.pkl: it is no DataFrame of pandas with numbers or lists in its columns; write one with DataFrame.to_pickle"
cp mine/data/train_feat_input.pkl mine/data/test_feat_input.pkl
run crank run -m mine/config.yaml
ends 3
has_err "...the folder 'mine/data' has test_feat_input.pkl and train_feat_input.pkl; keep the files of one of them"
rm mine/data/*_feat_input.pkl
run crank run -m mine/config.yaml
ends 3
has_err "...the folder 'mine/data' has no file whose name ends in _feat_input.pkl; name the folder of the data files"
