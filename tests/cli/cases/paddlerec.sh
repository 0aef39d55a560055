# configs of PaddleRec run as they are: both kinds, all built-in models, their readers, their lines

tab=$(printf '\t')
# rows N FORM: made-up rows of one of PaddleRec's forms; the label follows the first id
rows() {
    awk -v n="$1" -v form="$2" 'function r(k) { x = (x * 1103515245 + 12345) % 2147483648; return int(x / 65536) % k }
    BEGIN { x = 7; for (i = 0; i < n; i++) {
        id = r(50); y = (id % 3 == 0)
        if (form == "criteo") {
            printf "click:%d", y
            for (k = 1; k <= 13; k++) printf " %s:%.2f", (dense ? dense : "dense_feature"), r(100) / 100
            for (k = 1; k <= 26; k++) printf " %d:%d", k, (k == 1 ? id : r(900)) + 1
            print ""
        } else if (form == "feat" || form == "places") {
            sep = form == "feat" ? "label:" : ""; printf "%s%d", sep, y
            for (k = 1; k <= 39; k++) printf " %s%d", (form == "feat" ? "feat_idx:" : ""), (k == 1 ? id : r(900)) + 1
            for (k = 1; k <= 39; k++) printf " %s%.2f", (form == "feat" ? "feat_value:" : ""), (k < 14 ? r(100) / 100 : 1)
            print ""
        } else if (form == "adult") {
            printf "label:%d", y
            for (k = 1; k <= 8; k++) printf " wide_input:%d", (k == 1 ? y : r(2))
            for (k = 1; k <= 58; k++) printf " deep_input:%.2f", r(100) / 100
            print ""
        } else if (form == "census") {
            printf "%d,%d", y, r(2)
            for (k = 1; k <= 12; k++) printf ",%.1f", (k == 1 ? y : r(10) / 10)
            print ""
        } else if (form == "aliccp") {
            printf "%d,%d,%d,210:%d", i, y, (y && r(2)), r(90)
            printf ",101:%d,205:%d,205:%d,150_14:%d\n", id, r(90), r(90), r(90)
        } else if (form == "ratings") {
            printf "%d,%d,%d\n", r(40), id, y
        } else if (form == "signs") {
            printf "%d:1 1844674407370955%d:2 %d:3 %d:3\n", y, 1000 + id, r(90), r(90)
        } else if (form == "dcn") {
            printf "label:%d", y
            for (k = 1; k <= 13; k++) printf " I%d:%.2f", k, r(100) / 100
            for (k = 1; k <= 26; k++) printf " C%d:%d", k, (k == 1 ? id : r(40))
            print ""
        } else if (form == "history") {
            m = 1 + r(6); a = ""; b = ""
            for (k = 0; k < m; k++) { a = a (k ? " " : "") r(90); b = b (k ? " " : "") r(9) }
            printf "%s;%s;%d;%d;%d\n", a, b, id, r(9), y
        }
    } }'
}

# model NAME FORM HYPER: a folder of the new kind with data and config
model() {
    mkdir -p "models/$1/data"
    rows 64 "$2" >"models/$1/data/part-0"
    cat >"models/$1/config.yaml" <<EOF
runner:
  train_data_dir: "data"
  train_reader_path: "some_reader"
  use_gpu: False
  use_auc: True
  train_batch_size: 8
  epochs: 2
  print_interval: 4
  model_save_path: "output_$1"
  infer_batch_size: 5
  test_data_dir: "data"
  infer_load_path: "output_$1"
  infer_start_epoch: 0
  infer_end_epoch: 2
hyper_parameters:
  optimizer: {class: Adam, learning_rate: 0.01, strategy: async}
$3
EOF
}
criteo='  sparse_inputs_slots: 27
  sparse_feature_number: 1001
  sparse_feature_dim: 4
  dense_input_dim: 13'
census='  feature_size: 12
  tower_size: 4'

model dnn criteo "$criteo
  fc_sizes: [16, 8]
  distributed_embedding: 0"
model fm criteo "$criteo"
model ffm criteo "$criteo"
model deepfm criteo "$criteo
  fc_sizes: [16, 8]"
model wide_deep criteo "$criteo
  fc_sizes: [16, 8]"
model dcn criteo "$criteo
  fc_sizes: [16, 8]
  cross_num: 2
  l2_reg_cross: 0.00005
  dnn_use_bn: False
  clip_by_norm: 100.0
  is_sparse: False"
model dcn_v2 criteo "$criteo
  is_Stacked: True
  use_low_rank_mixture: True
  low_rank: 3
  num_experts: 2
  fc_sizes: [16, 8]
  cross_num: 2
  l2_reg_cross: 0.00003
  clip_by_norm: 10.0"
model xdeepfm criteo "$criteo
  fc_sizes: [16, 8]
  layer_sizes_dnn: [16, 8]
  layer_sizes_cin: [6, 4]"
model dlrm criteo "$criteo
  bot_layer_sizes: [8, 4]
  top_layer_sizes: [16, 2]
  num_field: 26"
model logistic_regression feat "  sparse_feature_number: 1000
  num_field: 39
  reg: 0.001"
model AutoInt places "  feature_number: 1000
  embedding_dim: 4
  fc_sizes: []
  use_residual: True
  scaling: True
  use_wide: True
  use_sparse: True
  head_num: 2
  num_field: 39
  attn_layer_sizes: [8, 8]"
model mmoe census "$census
  expert_num: 3
  expert_size: 4
  gate_num: 2"
model share-bottom census "$census
  bottom_size: 6
  task_num: 2"
model ple census "$census
  task_num: 2
  shared_num: 2
  exp_per_task: 3
  level_number: 1
  expert_size: 4"
model esmm aliccp "  sparse_feature_number: 100
  sparse_feature_dim: 4
  num_field: 23
  ctr_fc_sizes: [8]
  cvr_fc_sizes: [8]"
model din history "  use_DataLoader: True
  item_emb_size: 4
  cat_emb_size: 4
  is_sparse: False
  item_count: 100
  cat_count: 10
  act: \"sigmoid\""

model ncf ratings '  num_users: 50
  num_items: 60
  mf_dim: 4
  mode: "NCF_NeuMF"
  fc_layers: [16, 8, 4]'
model slot_dnn signs "  dict_dim: 1000
  emb_dim: 9
  sparse_feature_dim: 4
  slot_num: 3
  layer_sizes: [8, 8]
  distributed_embedding: 0"

# every model: train, then evaluate the saved epochs; the config of crank says the same
for m in dnn fm ffm deepfm wide_deep dcn dcn_v2 xdeepfm dlrm logistic_regression AutoInt mmoe share-bottom ple esmm din ncf slot_dnn; do
    run crank run -m "models/$m/config.yaml" --threads 2
    ends 0
    has_out "... - INFO - epoch: 1 done, auc...:..., epoch time: ... s"
    has_out "... - INFO - Already save model in output_$m/1"
    is_there "output_$m/0/state.json"
    run crank python -u ../tools/infer.py -m "models/$m/config.yaml"
    ends 0
    has_out "... - INFO - load model epoch 1"
    has_out "... - INFO - epoch: 1, batch_id: 12, ...: ...,... avg_reader_cost: ... sec, avg_batch_cost: ... sec, avg_samples: ..., ips: ... ins/s"
    has_out "... - INFO - epoch: 1 done, auc...:..., epoch time: ... s"
    run crank config "models/$m/config.yaml"
    ends 0
    cp "$out" "$m.yaml"
    run crank check "$m.yaml"
    ends 0
done

# dlrm alone shows its accuracy
run crank run -m models/dlrm/config.yaml -o runner.epochs=1
ends 0
has_out "... - INFO - epoch: 0, batch_id: 4, auc:0..., accuracy:..., loss:..., avg_reader_cost: ..."
has_out "... - INFO - epoch: 0 done, auc: 0...,accuracy: ...,loss:..., epoch time: ... s"
run crank run -m models/dlrm/config.yaml --infer -o runner.infer_end_epoch=1
ends 0
has_out "... - INFO - epoch: 0 done, auc: 0...,accuracy: ..., epoch time: ... s"

# the lines of a training
run crank python -u tools/trainer.py -m models/dnn/config.yaml -o runner.epochs=1 hyper_parameters.optimizer.learning_rate=0.02
ends 0
has_out "... - INFO - **************common.configs**********"
has_out "... - INFO - use_gpu: False, train_batch_size: 8, train_data_dir: data, epochs: 1, print_interval: 4, model_save_path: output_dnn"
has_out "... - INFO - epoch: 0, batch_id: 4, auc:..., loss:..., avg_reader_cost: ... sec, avg_batch_cost: ... sec, avg_samples: 8.00000, ips: ... ins/s"
has_err "...output_dnn holds 2 checkpoints of an earlier run, which this run replaces"
is_gone output_dnn/1

# the variant as PaddleRec ships it
run crank run -m models/dlrm/config.yaml --compat paddlerec -o runner.epochs=1
ends 0
run crank run -m models/dlrm/config.yaml --compat other
ends 2

# the old kind: runners of mode in order, phases, datasets; a slot that never occurs is told
mkdir -p old/dnn/data
rows 64 criteo >old/dnn/data/part-0
cat >old/dnn/config.yaml <<'EOF'
workspace: "old/dnn"
mode: [train_runner, infer_runner]
dataset:
- {name: d1, type: DataLoader, batch_size: 4, data_path: "{workspace}/data", sparse_slots: "click 1 2 3", dense_slots: "dense_var:13"}
- {name: d2, type: QueueDataset, batch_size: 4, data_path: "{workspace}/data", sparse_slots: "click 1 2 3", dense_slots: "dense_var:13"}
hyper_parameters: {optimizer: {class: adam, learning_rate: 0.001}, sparse_feature_number: 1001, sparse_feature_dim: 4, fc_sizes: [8]}
runner:
- {name: train_runner, class: train, device: cpu, epochs: 4, save_checkpoint_interval: 2, save_checkpoint_path: ckpt, print_interval: 3, phases: [p1]}
- {name: infer_runner, class: infer, init_model_path: ckpt, phases: p2}
- {name: cluster, class: cluster_train, device: gpu, fleet_mode: ps, epochs: 1, save_checkpoint_path: ckpt2, phases: [p1]}
phase:
- {name: p1, model: "{workspace}/model.py", dataset_name: d1, thread_num: 2}
- {name: p2, model: "{workspace}/model.py", dataset_name: d2}
EOF
run crank python -m paddlerec.run -m old/dnn/config.yaml
ends 0
has_err "old/dnn/config.yaml:...: warning: slot 'dense_var', which feature 'dense_var' needs, does not occur in the first 64 lines of ..., so that all of them get its default; slots that occur and are not read: 'dense_feature' (13 per line), ..."
has_out "PaddleRec: Runner train_runner Begin"
has_out "... - INFO: ${tab}[Train],  epoch: 0,  batch: 3, time_each_interval: ...s, AUC: [...], BATCH_AUC: [...]"
has_out "epoch 3 done, use time: ..., global metrics: AUC=[...]"
has_out "${tab}save epoch_id:1 model into: \"ckpt/1\""
has_out "Infer p2 of epoch 1 done, use time: ..., global metrics: AUC=[...]"
has_out "Infer p2 of epoch 3 done, use time: ..., global metrics: AUC=[...]"
is_gone ckpt/0

# a batch of thread_num replicas
run crank config old/dnn/config.yaml
ends 0
has_out "  batch_size: 8"

# clusters: submitting is refused, a node trains
run crank run -m old/dnn/config.yaml -o mode=cluster
ends 2
run env PADDLE_PADDLEREC_ROLE=WORKER crank run -m old/dnn/config.yaml -o runner.cluster.print_interval=5
ends 0
sed 's/^mode: .*/mode: cluster/' old/dnn/config.yaml >old/dnn/cluster.yaml
run crank run -m old/dnn/cluster.yaml
ends 2
has_err "old/dnn/cluster.yaml:...: runner 'cluster' submits a job to a cluster; give -b backend.yaml, set PADDLE_PADDLEREC_ROLE=WORKER ..."
run env PADDLE_PADDLEREC_ROLE=WORKER crank run -m old/dnn/cluster.yaml -o runner.cluster.fleet_mode=collective
ends 0
has_err "old/dnn/cluster.yaml:...: warning: runner 'cluster' trains without parameter servers; as several processes it starts with 'crank launch --nproc-per-node N -- run ...'"
has_err "old/dnn/cluster.yaml:...: warning: device asks for a gpu; crank computes on the CPU"

# old models over feat_idx and feat_value, the Adult data of wide_deep
old_model() { # old_model NAME FORM SLOTS HYPER
    mkdir -p "old/$1/data"
    rows 64 "$2" >"old/$1/data/part-0"
    cat >"old/$1/config.yaml" <<EOF
workspace: "paddlerec.old.$1"
mode: [t, e]
dataset: [{name: d, type: DataLoader, batch_size: 8, data_path: "{workspace}/data", $3}]
hyper_parameters: {optimizer: {class: SGD, learning_rate: 1e-2}, $4}
runner:
- {name: t, class: train, device: cpu, epochs: 1, save_checkpoint_path: "ckpt_$1"}
- {name: e, class: infer, device: cpu, init_model_path: "ckpt_$1/0"}
phase: [{name: p, model: "{workspace}/model.py", dataset_name: d}]
EOF
}
feat='sparse_slots: "label feat_idx", dense_slots: "feat_value:39"'
sizes='sparse_feature_number: 1000, sparse_feature_dim: 4, num_field: 39, reg: 0.001'
old_model fm feat "$feat" "$sizes"
old_model ffm feat "$feat" "$sizes"
old_model deepfm feat "$feat" "$sizes, fc_sizes: [8, 8], act: relu"
old_model xdeepfm feat "$feat" "$sizes, layer_sizes_cin: [4], layer_sizes_dnn: [8], act: relu"
old_model nfm feat "$feat" "$sizes, fc_sizes: [8]"
old_model fnn feat "$feat" "$sizes, fc_sizes: [8]"
old_model deep_crossing feat "$feat" "$sizes, residual_unit_num: 2, residual_w_dim: 8"
old_model logistic_regression feat "$feat" "$sizes"
old_model wide_deep adult 'sparse_slots: "label", dense_slots: "wide_input:8 deep_input:58"' 'hidden1_units: 8, hidden2_units: 6, hidden3_units: 4'
old_model AutoInt feat "$feat" 'sparse_feature_number: 1000, sparse_feature_dim: 8, num_field: 39, d_model: 8, d_key: 4, d_value: 4, n_head: 2, dropout_rate: 0, n_interacting_layers: 2'
dense= ids=
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13; do dense="$dense I$i:1"; done
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26; do
    ids="$ids C$i"
    echo "C$i 50" >>sizes.txt
done
old_model dcn dcn "sparse_slots: \"label$ids\", dense_slots: \"$dense\"" 'cross_num: 2, dnn_hidden_units: [8, 8], l2_reg_cross: 0.00005, dnn_use_bn: False, clip_by_norm: 100.0, cat_feat_num: sizes.txt, is_sparse: False'
for m in AutoInt dcn fm ffm deepfm xdeepfm nfm fnn deep_crossing logistic_regression wide_deep; do
    run crank run -m "old/$m/config.yaml" --compat paddlerec
    ends 0
    has_out "Infer p of epoch 0 done, use time: ..., global metrics: AUC=[...]"
done

# mistakes, at their place in the user's file
mkdir -p bad/dnn/data
rows 4 criteo >bad/dnn/data/part-0
wrong() { # wrong SED TEXT: a config with this change is refused with this text
    sed -e "$1" models/dnn/config.yaml >bad/dnn/config.yaml
    run crank run -m bad/dnn/config.yaml
    ends 2
    has_err "bad/dnn/config.yaml:$2"
}
wrong 's/fc_sizes: .*/fc_size: [16]/' "...: hyper_parameters.fc_sizes is not given, and the model needs it: dnn; is 'fc_size' meant to be it?"
wrong 's/sparse_feature_dim: 4/sparse_feature_dim: four/' "...:...: hyper_parameters.sparse_feature_dim is 'four' and must be a whole number from 1 to 65536"
wrong 's/epochs: 2/epoch: 2/' "...: runner.epochs is not given; ...epoch..."
wrong 's/print_interval: 4/print_interval: 4\n  print_intervall: 4/' "9:3: ...print_intervall..."
wrong 's/class: Adam/class: Lamb/' "...: configured optimizer can only supported SGD/Adam/Adagrad; 'Lamb' is none of them"
wrong 's/dense_input_dim: 13/dense_input_dim: 12/' "...: dense_input_dim is 12, and the dense slots have 13 numbers; make them equal"
wrong 's/train_data_dir: .*/train_data_dir: nowhere/' "2:19: 'bad/dnn/nowhere' is not a folder; name the folder of the data files"
mkdir -p mine
cp models/fm/config.yaml mine/config.yaml
run crank run -m mine/config.yaml
ends 2
has_err "mine/config.yaml:...: neither the folder 'mine' nor the hyper-parameters tell which model is meant, and crank runs no Python; ..."
mkdir -p models/deepwalk
cp models/din/config.yaml models/deepwalk/config.yaml
run crank run -m models/deepwalk/config.yaml
ends 2
has_err "models/deepwalk/config.yaml:...: the model 'deepwalk' of PaddleRec is not in this version of crank; build it from blocks ..."
run crank run -m models/dnn/config.yaml -o runner.epochs
ends 2
has_err "-o 'runner.epochs': an edit is a key, '=' and a value; write -o runner.epochs=2"
run crank run -m models/dnn/config.yaml -o hyper_parameters.fc_sizes=3
ends 2
has_err "-o 'hyper_parameters.fc_sizes=3': 'hyper_parameters.fc_sizes' is a list, which -o cannot change; change it in the file"
run crank run -m models/dnn/config.yaml --infer -o runner.infer_load_path=nothing
ends bad
has_err "nothing/0: there is no checkpoint of an epoch in it; train first, ..."
