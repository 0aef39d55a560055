# PaddleRec 1.8.5, textcnn_pretrain: the weights to begin with, which finetune_startup.py reads; keys that name variables of Paddle

mkdir -p train
awk 'BEGIN { for (i = 0; i < 40; i++) print (i * 7) % 29 + 1, (i * 5) % 13 + 1, i % 11 + 1, 0, 0, 0, 3, i % 2 }' >train/part-0
config() { # config FILE MODEL_FOLDER RUNNER: a config of a folder with this name
    mkdir -p "models/$2"
    cat >"models/$2/$1" <<END
workspace: "models/$2"
mode: [t]
dataset:
- {name: d, type: DataLoader, batch_size: 8, data_path: train, data_converter: "{workspace}/reader.py"}
hyper_parameters: {optimizer: {class: ADAM, learning_rate: 1e-2}, max_len: 6, dict_dim: 40, cnn_dim: 6, emb_dim: 4, hid_dim: 8}
runner:
- {name: t, class: train, device: cpu, epochs: 2, print_interval: 2, phases: p, save_checkpoint_path: "out_${1%.yaml}"$3}
phase: [{name: p, model: "{workspace}/model.py", dataset_name: d}]
END
}
pre=', startup_class_path: "{workspace}/finetune_startup.py", init_pretraining_model_path'
config base.yaml textcnn ''
config cold.yaml textcnn_pretrain "$pre: ''"
config tuned.yaml textcnn_pretrain "$pre: out_base/1"
config hot.yaml textcnn_pretrain ', init_model_path: out_base/1'
config both.yaml textcnn_pretrain "$pre: out_tuned/1, init_model_path: out_base/1"
run crank run -m models/textcnn/base.yaml
ends 0
for m in cold tuned hot both; do
    run crank run -m "models/textcnn_pretrain/$m.yaml"
    ends 0
    is_there "out_$m/1/state.json"
done
same_weights out_cold out_base
same_weights out_tuned out_hot
same_weights out_both out_hot
! cmp -s out_tuned/1/model.safetensors out_cold/1/model.safetensors || fail "the weights of init_pretraining_model_path have no effect"
# the sizes of its Python file
config sizes.yaml textcnn_pretrain ''
sed -i 's/, dict_dim: .*}$/}/' models/textcnn_pretrain/sizes.yaml
run crank config models/textcnn_pretrain/sizes.yaml
ends 0
has_out "...num_buckets: 2000001..."
config none.yaml textcnn_pretrain "$pre: nowhere"
run crank run -m models/textcnn_pretrain/none.yaml
ends bad
has_err "models/textcnn_pretrain/none.yaml:7:...nowhere..."
# other code is not run, and crank has no variables of Paddle
config code.yaml textcnn ', startup_class_path: "{workspace}/my_startup.py", finetuning_aspect_varnames: ["fc_0.tmp_1"], load_vars: ["embedding_0.w_0"]'
run crank run -m models/textcnn/code.yaml
ends 2
has_err "models/textcnn/code.yaml:7:...: startup_class_path names Python code, which crank does not run; remove it to run the runner as PaddleRec's own classes would"
has_err "models/textcnn/code.yaml:7:...: finetuning_aspect_varnames names variables of Paddle, which crank does not have; remove it, and keep a table as it is with 'trainable: false' of its feature, other parameters with part_optimizers"
has_err "models/textcnn/code.yaml:7:...: load_vars names variables of Paddle, which crank does not have; remove it, and give the weights to begin with as init_model_path"
cat >models/textcnn/new.yaml <<'END'
runner: {train_data_dir: ../../train, train_batch_size: 8, epochs: 1, print_interval: 2, model_save_path: out_new, need_dump: True, use_save_data: True, use_out_vec: True, with_coordinator: True}
hyper_parameters: {optimizer: {class: adam, learning_rate: 0.01}, max_len: 6, dict_dim: 40, cnn_dim: 6, emb_dim: 4, hid_dim: 8}
END
run crank run -m models/textcnn/new.yaml
ends 2
has_err "models/textcnn/new.yaml:1:...: need_dump writes variables of Paddle for each row, which crank does not have; remove it, and take 'crank predict' for a score per row"
has_err "models/textcnn/new.yaml:1:...: use_save_data writes variables of Paddle for the last batch, which crank does not have; remove it, and take 'crank predict' for a score per row"
has_err "models/textcnn/new.yaml:1:...: use_out_vec takes the first vectors of the tree from out_vec_path; remove it, and give the weights to begin with as model_init_path"
has_err "models/textcnn/new.yaml:1:...: with_coordinator is for training by several owners of data, which crank does not have; remove it to train with servers and workers"
