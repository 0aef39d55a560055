# listwise of PaddleRec 1.8.5: crank run draws its lists, trains and evaluates
mkdir -p models/rerank/listwise
# config BATCH [HYPER]
config() {
    cat >models/rerank/listwise/config.yaml <<EOF
workspace: "models/rerank/listwise"
dataset:
- {name: dataset_train, batch_size: $1, type: DataLoader, data_path: "{workspace}/data/train", data_converter: "{workspace}/random_reader.py"}
- {name: dataset_infer, batch_size: 3, type: DataLoader, data_path: "{workspace}/data/test", data_converter: "{workspace}/random_reader.py"}
hyper_parameters:
  optimizer: {class: sgd, learning_rate: 0.01, strategy: async}
  hidden_size: 8
  user_vocab: 20
  item_vocab: 50
  item_len: 4
  embed_size: 6
  batch_size: 1
${2:-}
mode: [train_runner, infer_runner]
runner:
- {name: train_runner, class: train, device: cpu, epochs: 3, save_checkpoint_interval: 2, save_checkpoint_path: out, print_interval: 1, phases: [train]}
- {name: infer_runner, class: infer, init_model_path: out/2, device: cpu, phases: [infer]}
phase:
- {name: train, model: "{workspace}/model.py", dataset_name: dataset_train, thread_num: 1}
- {name: infer, model: "{workspace}/model.py", dataset_name: dataset_infer, thread_num: 1}
EOF
}
config 5
run crank run -m models/rerank/listwise/config.yaml --threads 1
ends 0
has_err "...out/rows/train holds 20 rows of 5 lists, which are drawn: PaddleRec has no data for this model"
has_err "...out/rows/test holds 12 rows of 3 lists, which are drawn: PaddleRec has no data for this model"
has_out "epoch 2 done, use time: ..., global metrics: auc=[0...]"
has_out "Infer infer of epoch 2 done, use time: ..., global metrics: AUC=[0...]"
# a row per item: its label, the user, the list, and where the item is
[ "$(cut -d ';' -f 4 out/rows/train/rows.txt | head -n 4 | tr '\n' ';')" = "1 0 0 0;0 1 0 0;0 0 1 0;0 0 0 1;" ] || fail "the places of the items"
[ "$(cut -d ';' -f 2,3 out/rows/train/rows.txt | sort -u | wc -l)" = 5 ] || fail "five lists"
differ out/rows/train/rows.txt out/rows/test/rows.txt
is_gone out/2/rows

# the same lists and the same bits again, with other threads
mv out first
run crank run -m models/rerank/listwise/config.yaml --threads 3
ends 0
same first/rows out/rows
same_weights first out

# more lists than a batch; the last batch has fewer
config 5 '  list_num: 12'
run crank run -m models/rerank/listwise/config.yaml -o mode=train_runner
ends 0
has_err "...out/rows/train holds 48 rows of 12 lists, ..."
has_out "...[Train],  epoch: 0,  batch: 1, time_each_interval: ...s, auc: [0...]"

# other commands read the rows that are there, and say who makes them
run crank config models/rerank/listwise/config.yaml
ends 0
has_out "...reverse: true..."
rm -r out
run crank train models/rerank/listwise/config.yaml
ends 2
has_err "...the model reads lists that are drawn, which lie in 'out/rows/train' and are not there; 'crank run -m' makes them"
config 5 '  item_count: 12'
run crank run -m models/rerank/listwise/config.yaml
ends 2
has_err "...: nothing reads ...item_count..."
