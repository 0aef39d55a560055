# metaheac of PaddleRec since 2.0: tasks that are drawn from a pickled frame of pandas; an evaluation fits the weights to each task
mkdir -p metaheac/data/train metaheac/data/test
frames=$CLI/../fuzz/corpus/pickle # rows of the advertisements 3, 7 and 12
cp "$frames/audience_4.pkl" metaheac/data/train/stage1.pkl
cp "$frames/audience_new_5.pkl" metaheac/data/test/stage1.pkl
cp "$frames/audience_4.pkl" metaheac/data/test/stage2.pkl
cat >metaheac/config.yaml <<END
runner:
  train_data_dir: "data/train"
  train_reader_path: "reader_train"
  use_gpu: False
  use_auc: True
  epochs: 2
  print_interval: 1
  model_save_path: "output"
  test_data_dir: "data/test"
  infer_reader_path: "reader_infer"
  infer_load_path: "output"
  infer_start_epoch: 0
  infer_end_epoch: 2
  use_inference: False
  infer_train_epoch: 2
  seed: 2021
hyper_parameters:
  max_idxs: [[3, 2, 9, 5, 7, 2, 1], [4, 5, 3, 9, 6, 5, 5], [3, 4, 2, 3, 3, 1]]
  embed_dim: 4
  mlp_dims: [5, 5]
  local_lr: 0.02
  num_expert: 3
  num_output: 2
  task_count: 2
  batch_size: 3
  optimizer:
    class: adam
    global_learning_rate: 0.01
    local_test_learning_rate: 0.02
    strategy: async
END
run crank run -m metaheac/config.yaml --threads 1
ends 0
has_err "...output/rows/train holds 60 rows of 10 tasks, made from the frame in metaheac/data/train"
has_out "... - INFO - epoch: 1, batch_id: 4, AUC:0..., loss:0..., avg_reader_cost: ..."
[ "$(head -n 1 output/rows/train/rows-00000.txt | tr -cd ';' | wc -c)" = 20 ] || fail "the columns of a row"
grep -q 'inner_loop' output/pipeline.config || fail "no inner steps"
# the evaluation, as the model's own infer.py makes it
run crank python -u infer.py -m metaheac/config.yaml
ends 0
has_err "...output/rows/test holds 26 rows of 3 tasks, made from the frame in metaheac/data/test"
has_out "... - INFO - epoch: 0, batch_id: 0, aid: 3 AUC: ..., avg_reader_cost: ..., avg_samples: 4..."
has_out "... - INFO - epoch: 1, batch_id: 2, aid: 12 AUC: ..."
has_out "... - INFO - epoch: 1 done, AUC: 0..., epoch time: ... s"
[ "$(wc -l <output/rows/test/7/support/rows-00000.txt)" = 5 ] || fail "the rows of a task"

# other threads, and a run that was killed and goes on, give the same bits
mv output first
run crank run -m metaheac/config.yaml --threads 3
ends 0
same first/rows/train output/rows/train
same_weights first output
may_be_killed=yes
rm -r output
run env CRANK_TEST_KILL=step:8 crank run -m metaheac/config.yaml --threads 2
ends 137
run crank run -m metaheac/config.yaml --continue_train
ends 0
same_weights first output
# an evaluation puts the weights back, so that the next task begins where this one did
run crank run -m metaheac/config.yaml --infer --threads 1
ends 0
grep -o 'aid: .*AUC: [0-9.]*' "$out" >one
run crank run -m metaheac/config.yaml --infer --threads 3
ends 0
grep -o 'aid: .*AUC: [0-9.]*' "$out" >three
same one three
tail -n 4 output/eval_result.txt | head -n 2 >one
tail -n 2 output/eval_result.txt >three
same one three

# the layers of an expert: all of them, or the first as shipped
[ "$(crank params output | grep -c 'expert_1[.].*weight  ')" = 2 ] || fail "the layers of an expert"
run crank run -m metaheac/config.yaml --compat paddlerec -o runner.epochs=1
ends 0
[ "$(crank params output | grep -c 'expert_1[.].*weight  ')" = 1 ] || fail "the layers of an expert as shipped"
run crank run -m metaheac/config.yaml --compat paddlerec --infer -o runner.infer_end_epoch=1
ends 0

# in a folder of another name, the hyper-parameters tell the model
cp -r metaheac mine
run crank run -m mine/config.yaml -o runner.epochs=1
ends 0
has_err "mine/config.yaml:...: note: the hyper-parameters are those of PaddleRec's metaheac, so that is the model; ..."

# mistakes
run crank run -m metaheac/config.yaml -o hyper_parameters.batch_size=5
ends 3
has_err "metaheac/data/train/stage1.pkl: the advertisement ... has 4 rows, and 5 are drawn for a task; lower hyper_parameters.batch_size, or leave it out of the data"
sed 's/^  max_idxs: .*/  max_idxs: [[3, 2], [4], [3]]/' metaheac/config.yaml >mine/config.yaml
run crank run -m mine/config.yaml
ends 2
has_err "mine/config.yaml:...: max_idxs must be three lists of 7, 7 and 6 largest ids, ..."
sed 's/^  mlp_dims: .*/  mlp_dims: [6, 5]/' metaheac/config.yaml >mine/config.yaml
run crank run -m mine/config.yaml --compat paddlerec
ends 2
has_err "mine/config.yaml:...: as shipped only the first layer of an expert runs, ..."
rm metaheac/data/test/stage2.pkl
run crank run -m metaheac/config.yaml --infer
ends 3
has_err "metaheac/data/test: the folder has 1 file, and an evaluation reads two, ..."
cp "$frames/frame_4.pkl" metaheac/data/train/stage1.pkl
run crank run -m metaheac/config.yaml
ends 3
has_err "metaheac/data/train/stage1.pkl: the frame has no column 'label'; add it, or name another folder"
