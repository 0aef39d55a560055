# the commands that the guides of PaddleRec print, with crank in front

mkdir -p models/rank/dnn/data
awk 'BEGIN { for (i = 0; i < 64; i++) { printf "click:%d", i % 3 == 0; for (k = 1; k <= 13; k++) printf " dense_feature:%.2f", (i * k % 17) / 17
    for (k = 1; k <= 26; k++) printf " %d:%d", k, (i * k) % 90 + 1; print "" } }' >models/rank/dnn/data/part-0
cat >models/rank/dnn/config.yaml <<'END'
runner:
  train_data_dir: "data"
  train_reader_path: "criteo_reader"
  use_gpu: False
  train_batch_size: 8
  epochs: 2
  print_interval: 4
  model_save_path: "output_model_dnn"
  infer_batch_size: 8
  test_data_dir: "data"
  infer_load_path: "output_model_dnn"
  infer_start_epoch: 0
  infer_end_epoch: 1
  use_inference: False
  save_inference_feed_varnames: ["1", "2", "dense_input"]
  save_inference_fetch_varnames: ["sigmoid_0.tmp_0"]
hyper_parameters:
  optimizer: {class: Adam, learning_rate: 0.01, strategy: async}
  sparse_inputs_slots: 27
  sparse_feature_number: 101
  sparse_feature_dim: 4
  dense_input_dim: 13
  fc_sizes: [8, 4]
END
sed 's/model_save_path: .*/model_save_path: "output_static"\n  model_init_path: "output_model_dnn\/0"/' models/rank/dnn/config.yaml >models/rank/dnn/config_to_static.yaml

# from the folder of the model
cd models/rank/dnn || exit 1
for script in trainer.py static_trainer.py static_ps_trainer.py; do
    run crank python -u ../../../tools/$script -m config.yaml -o runner.epochs=1
    ends 0
    has_out "... - INFO - Already save model in output_model_dnn/0"
done
for script in infer.py static_infer.py static_ps_infer.py; do
    run crank python -u ../../../tools/$script -m config.yaml
    ends 0
    has_out "... - INFO - epoch: 0 done, auc: ..., epoch time: ... s"
done
# a model to serve of a checkpoint; again, in the place of the first
for again in 1 2; do
    run crank python -u ../../../tools/to_static.py -m config_to_static.yaml
    ends 0
    has_out "... - INFO - Already save inference model in output_static/tostatic"
    is_there output_static/tostatic/schema.json
done
run crank predict --scripted_model_path output_static/tostatic --predict_input_path data/part-0 --predict_output_path scores
ends 0
run crank python -u ../../../tools/to_static.py -m config.yaml
ends 2
has_err "crank run: --to_static exports runner.model_init_path, which config.yaml does not name; add it, or use 'crank export'"
# BF16 products
run crank python -u ../../../tools/static_ps_trainer.py -m config.yaml -bf16 True -o runner.epochs=1
ends 0
grep -q 'mixed_precision: "BF16"' output_model_dnn/pipeline.config || fail "no BF16"
run crank python -u ../../../tools/static_ps_trainer.py -m config.yaml -bf16 False
ends 0
grep -q 'mixed_precision: "BF16"' output_model_dnn/pipeline.config && fail "BF16"
# an export per epoch
run crank python -u ../../../tools/static_trainer.py -m config.yaml -o runner.use_inference=True
ends 0
has_out "... - INFO - Already save inference model in output_model_dnn/inference_0"
is_there output_model_dnn/inference_1/schema.json
# a folder that is no export stays
rm -r output_model_dnn/inference_0
mkdir output_model_dnn/inference_0
echo mine >output_model_dnn/inference_0/text
run crank run -m config.yaml -o runner.use_inference=True
ends bad
is_there output_model_dnn/inference_0/text

# launchers
mpi_leaks
run crank python -m paddle.distributed.launch ../../../tools/trainer.py -m config.yaml -o runner.epochs=1
ends 0
run crank python -m paddle.distributed.launch --ips="127.0.0.1" --gpus 0,1 ../../../tools/trainer.py -m config.yaml -o runner.epochs=1
ends 0
has_err "...2 ranks..."
run crank fleetrun --worker_num=1 --server_num=1 ../../../tools/static_ps_trainer.py -m config.yaml -o runner.epochs=1
ends 0
has_out "... - INFO - Run Success, Exit."
run crank fleetrun --workers="127.0.0.1:6170,127.0.0.1:6171" --servers="127.0.0.1:6172" ../../../tools/static_ps_trainer.py -m config.yaml -o runner.epochs=1
ends 0
has_out "... - INFO - Run Success, Exit."
run crank fleetrun --workers "127.0.0.1:6170" --servers "127.0.0.1:6172" --started_port 6180 ../../../tools/static_ps_trainer.py -m config.yaml -o runner.epochs=1
ends 0
run crank fleetrun --workers=a:1,b:1,b:2 --servers=a:3 ../../../tools/static_ps_trainer.py -m config.yaml
ends 2
has_err "crank launch: --workers gives host a 1 and host b 2; give each the same number"
run crank fleetrun --workers=,a --servers=a:3 ../../../tools/static_ps_trainer.py -m config.yaml
ends 2
has_err "crank launch: --workers is ',a' and must be hosts with commas"

# scripts that crank has not say what to do
for script in static_gpubox_trainer static_pglbox_trainer static_fl_trainer static_ps_offline_infer paddle_infer feature_importance cal_pos_neg rec_client webserver; do
    run crank python -u ../../../tools/$script.py -m config.yaml
    ends 2
    has_err "crank python: $script.py of PaddleRec is not part of crank; ..."
done

# 1.8.5, from the folder of the package, by its name or its path
cd ../../.. || exit 1
mkdir -p models/rank/fnn/data
awk 'BEGIN { for (i = 0; i < 20; i++) { printf "label:%d", i % 2; for (k = 1; k <= 39; k++) printf " feat_idx:%d", (i + k) % 50 + 1; for (k = 1; k <= 39; k++) printf " feat_value:1"; print "" } }' >models/rank/fnn/data/part-0
cat >models/rank/fnn/config.yaml <<'END'
workspace: "models/rank/fnn"
mode: [t, e]
dataset: [{name: d, type: DataLoader, batch_size: 4, data_path: "{workspace}/data", sparse_slots: "label feat_idx", dense_slots: "feat_value:39"}]
hyper_parameters: {optimizer: {class: SGD, learning_rate: 0.01}, sparse_feature_number: 60, sparse_feature_dim: 4, num_field: 39, fc_sizes: [8], reg: 0}
runner:
- {name: t, class: train, device: cpu, epochs: 4, save_checkpoint_path: ckpt, save_inference_interval: 2, save_inference_path: served, save_inference_feed_varnames: [feat_idx], save_inference_fetch_varnames: [predict]}
- {name: e, class: infer, device: cpu, init_model_path: ckpt/3}
phase: [{name: p, model: "{workspace}/model.py", dataset_name: d}]
END
run crank python -m paddlerec.run -m paddlerec.models.rank.fnn
ends 0
has_out "Infer p of epoch 3 done, use time: ..., global metrics: AUC=[...]"
has_out "...save inference model into: \"served/3\""
is_there served/1/schema.json
is_gone served/0
run crank python -m paddlerec.run -m models/rank/fnn/config.yaml
ends 0
run crank python -m paddlerec.run -m paddlerec.models.rank.fnm
ends bad
has_err "models/rank/fnm/config.yaml: cannot open: ..."
# without names of inputs and outputs PaddleRec writes none
rm -r served
sed 's/feed_varnames: \[feat_idx\]/feed_varnames: []/' models/rank/fnn/config.yaml >models/rank/fnn/unnamed.yaml
run crank run -m models/rank/fnn/unnamed.yaml
ends 0
is_gone served
