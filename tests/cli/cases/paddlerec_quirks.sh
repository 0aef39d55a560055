# oddities of PaddleRec: what crank makes of each (docs/guide/paddlerec.md, What differs)

mkdir -p afm/data
awk 'BEGIN { for (i = 0; i < 21; i++) { printf "label:%d", i % 2; for (k = 1; k <= 39; k++) printf " feat_idx:%d", (i + k) % 50 + 1; for (k = 1; k <= 39; k++) printf " feat_value:1"; print "" } }' >afm/data/b.txt
cp afm/data/b.txt afm/data/a.txt
config() { # config FILE RUNNER MORE: a config of the old kind
    cat >"afm/$1" <<END
workspace: "afm"
mode: t
dataset: [{name: d, type: DataLoader, batch_size: 8, data_path: "{workspace}/data", sparse_slots: "label feat_idx", dense_slots: "feat_value:39"}]
hyper_parameters: {optimizer: {class: Adam, learning_rate: 0.01}, sparse_feature_number: 60, sparse_feature_dim: 4, hidden1_attention_size: 3}
runner:
- {name: t, class: train, epochs: 3, save_checkpoint_path: "ckpt", $2}
- {name: e, class: infer, init_model_path: "ckpt", print_interval: 1}
phase:
- {name: phase1, model: "{workspace}/model.py", dataset_name: d}
- {name: phase10, model: "{workspace}/model.py", dataset_name: d}
$3
END
}

# an interval of -1 saves every epoch; device may be missing; phase10 is not phase1 too
config config.yaml 'save_checkpoint_interval: -1, phases: phase10' ''
run crank run -m afm/config.yaml
ends 0
for epoch in 0 1 2; do is_there "ckpt/$epoch/state.json"; done
no_err "...phase1...trains 2 phases..."
has_err "afm/config.yaml:...: note: phases names 'phase10', so PaddleRec would run phase 'phase1', too; here names are compared exactly"
# training drops the incomplete last batch: 42 rows are 5 batches of 8; files come in order
run crank config afm/config.yaml
ends 0
has_out "  drop_remainder: true"
has_out "train_input_path: afm/data"
# evaluation reads all rows, epochs in order
run crank run -m afm/config.yaml -o mode=e
ends 0
has_out "Infer phase1 of epoch 0 done, use time: ..., global metrics: AUC=[...]"
has_out "Infer phase1 of epoch 2 done, use time: ..., global metrics: AUC=[...]"
has_out "...[Infer] batch: 5, ..."
# as shipped it drops the last batch there, too, and AUC goes on from epoch to epoch
aucs() { sed -n 's/^epoch \([0-9]\) done.*AUC=\[\([0-9.]*\).*/\1 \2/p' "$out"; }
run crank run -m afm/config.yaml --compat paddlerec --set train_config.metrics_over_epochs=false -o runner.t.save_checkpoint_path=shipped
aucs >shipped.txt
run crank run -m afm/config.yaml --compat paddlerec -o runner.t.save_checkpoint_path=over
aucs >over.txt
[ "$(wc -l <over.txt)" -eq 3 ] || fail "not an AUC for each of three epochs"
[ "$(sed -n 1p over.txt)" = "$(sed -n 1p shipped.txt)" ] || fail "the AUC of the first epoch"
[ "$(sed -n 3p over.txt)" != "$(sed -n 3p shipped.txt)" ] || fail "the AUC did not go on"
run crank run -m afm/config.yaml --compat paddlerec -o mode=e runner.e.init_model_path=over
ends 0
has_out "...[Infer] batch: 4, ..."
grep -q "batch: 5," "$out" && fail "the incomplete batch was evaluated"
run crank run -m afm/config.yaml --compat paddlerec -o mode=e runner.e.init_model_path=over dataset.d.batch_size=50
ends 3
has_err "...: data_config.eval_drop_remainder leaves nothing of 'afm/data' to evaluate: it holds fewer rows than a batch of 50; ..."
# crank config takes the same choices, and tells where they mean nothing
run crank config afm/config.yaml --compat paddlerec -o runner.t.epochs=7
ends 0
has_out "  eval_drop_remainder: true"
has_out "  metrics_over_epochs: true"
has_out "  num_epochs: 7"
cp "$out" native.yaml
run crank config native.yaml --compat paddlerec
ends 2
has_err "crank config: --compat is for configs of PaddleRec, and native.yaml is none; leave it out"

# the tables of settings come before a run, with long values cut and secrets hidden
config tables.yaml 'phases: [phase1], fs_ugi: "me,secret", afs_token: secret1, mounts: [{path: /a, passwd: secret2}], note: "a text of more than fifty characters, of which the end is shown"' ''
run crank run -m afm/tables.yaml -o mode=e
ends 0
sed -n '2,18p' "$out" | sed 's/ *$//' >table
cat >want <<'END'
====================================================================================================
                Runtime Envs                      Value
----------------------------------------------------------------------------------------------------
train.trainer.trainer                             GeneralTrainer
train.trainer.executor_mode                       infer
train.trainer.threads                             2
train.trainer.platform                            LINUX
train.trainer.engine                              single
====================================================================================================


====================================================================================================
            paddlerec Global Envs                 Value
----------------------------------------------------------------------------------------------------
workspace                                         afm
mode                                              e
dataset.d.name                                    d
END
same want table
has_out "runner.t.phases                                   ['phase1']                                        "
grep -q '^runner.t.note                                     [.][.][.] an fifty characters, of which the end is shown$' "$out" || fail "the long value"
has_out "runner.t.fs_ugi                                   (hidden)..."
has_out "runner.t.afs_token                                (hidden)..."
has_out "runner.t.mounts                                   [{'path': '/a', 'passwd': (hidden)}]..."
grep -q secret "$out" && fail "a secret is shown"
has_out "Running SingleInferStartup."
# a list of runners is replaced by one of them; other lists cannot be edited
sed 's/^mode: t/mode: [t, e]/' afm/tables.yaml >afm/list.yaml
run crank run -m afm/list.yaml -o mode=e
ends 0
has_out "PaddleRec: Runner e Begin"
grep -q 'Runner t Begin' "$out" && fail "the other runner ran"
run crank run -m afm/list.yaml -o runner.t.phases=phase1
ends 2
has_err "-o 'runner.t.phases=phase1': 'runner.t.phases' is a list, which -o cannot change; change it in the file"
# a run that fails ends with PaddleRec's summary, beside the error with its place
run crank run -m afm/tables.yaml -o mode=e runner.e.init_model_path=nowhere
ends 1
has_out "PaddleRec Error Message Summary:"
has_out "Exit PaddleRec. catch exception in precoss status: [train_pass], except: ...there is no checkpoint of an epoch in it..."
has_err "nowhere: there is no checkpoint of an epoch in it; train first, or change init_model_path"

# of doubled keys the last counts, which is told with both lines
config double.yaml 'device: cpu, phases: phase1' 'mode: e'
run crank run -m afm/double.yaml
ends 0
has_err "afm/double.yaml:11:1: warning: key 'mode' is given twice (first on line 2); the last counts"
has_out "Infer phase1 of epoch 2 done, use time: ..., global metrics: AUC=[...]"
[ "$(grep -c 'given twice' "$err")" -eq 1 ] || fail "it is told more than once"

# user code is refused, and a built-in model can be named
config code.yaml 'trainer_class: mine.py, phases: phase1' ''
run crank run -m afm/code.yaml
ends 2
has_err "afm/code.yaml:...: trainer_class names Python code, which crank does not run; ..."
config named.yaml 'phases: phase1' ''
sed 's/"{workspace}\/model.py"/builtin:fm/' afm/named.yaml >afm/as_fm.yaml
sed 's/, hidden1_attention_size: 3//' afm/as_fm.yaml >afm/fm.yaml
run crank run -m afm/fm.yaml
ends 0

# a class that does not exist, a mode that names nothing
sed 's/class: train/class: trian/' afm/named.yaml >afm/class.yaml
run crank run -m afm/class.yaml
ends 2
has_err "afm/class.yaml:...: class is 'trian' and must be train, infer, local_cluster_train or cluster_train; did you mean 'train'?"
run crank run -m afm/named.yaml -o mode=nobody
ends 2
has_err "-o 'mode=nobody': mode names the runner 'nobody', and there is none of that name"

# the variant as shipped: all weights of afm's pairs are 1
run crank run -m afm/named.yaml --compat paddlerec
ends 0
run crank params ckpt
no_err "...attention..."

run crank config afm/named.yaml
ends 0
grep -q epsilon "$out" && fail "an epsilon without --compat"
grep -q 'epsilon: 0.0001' ckpt/pipeline.config || fail "no epsilon: $(grep -n -A3 losses ckpt/pipeline.config)"

# scripts that are not part of crank say what to do
run crank python -u tools/paddle_infer.py --model_dir x
ends 2
has_err "crank python: paddle_infer.py of PaddleRec is not part of crank; 'crank predict' writes a score per line"

# the optimizer of the config is obeyed, and the shipped one is told
mkdir -p dnn/data
awk 'BEGIN { for (i = 0; i < 40; i++) { printf "click:%d", i % 3 == 0; for (k = 1; k <= 13; k++) printf " dense_feature:%.2f", (i * k % 17) / 17
    for (k = 1; k <= 26; k++) printf " %d:%d", k, (i * k) % 90 + 1; print "" } }' >dnn/data/part-0
cat >dnn/config.yaml <<'END'
runner: {train_data_dir: data, train_reader_path: criteo_reader, train_batch_size: 8, epochs: 2, print_interval: 1, model_save_path: out_dnn, infer_load_path: out_dnn, test_data_dir: data, infer_batch_size: 7}
hyper_parameters: {optimizer: {class: SGD, learning_rate: 0.01}, sparse_feature_number: 101, sparse_feature_dim: 4, dense_input_dim: 13, fc_sizes: [8]}
END
run crank run -m dnn/config.yaml
ends 0
grep 'Training Epoch' "$err" | tail -n 1 | grep -q ' auc:0.[0-9]*[1-9]' || fail "the last line has no AUC: $(grep 'Training Epoch' "$err" | tail -n 1)"
has_err "dnn/config.yaml:...: note: PaddleRec's dnn always takes Adam; SGD of the config is used, and --compat paddlerec takes the other"
# the AUC of an evaluation is that of its rows, whatever training counted: twice the same
run crank run -m dnn/config.yaml --infer -o runner.infer_end_epoch=1
ends 0
sed -n 's/.*epoch: 0 done, \(auc: [0-9.]*\),.*/\1/p' "$out" >first
run crank run -m dnn/config.yaml --infer -o runner.infer_end_epoch=1
ends 0
sed -n 's/.*epoch: 0 done, \(auc: [0-9.]*\),.*/\1/p' "$out" >second
[ -s first ] && cmp -s first second || fail "AUC of two evaluations"
# a key that is nearly another one
sed 's/fc_sizes: /fc_size: /' dnn/config.yaml >dnn/typo.yaml
run crank run -m dnn/typo.yaml
ends 2
has_err "dnn/typo.yaml:2:...: hyper_parameters.fc_sizes is not given, and the model needs it: dnn; is 'fc_size' meant to be it?"
run crank run -m dnn/config.yaml -o runner.epoch=3
ends 2
has_err "-o 'runner.epoch=3': unknown key 'epoch'; did you mean 'epochs', which is given too?"
# an odd number of files over two workers: none is dropped
split -l 14 dnn/data/part-0 dnn/data/part-1
rm dnn/data/part-0
mpi_leaks
run crank launch --standalone --nproc-per-node 2 -- run -m dnn/config.yaml -o runner.epochs=1 runner.train_batch_size=1
ends 0
grep -q '"rows": *40' out_dnn/train_log.jsonl || fail "rows of three files: $(tail -n 3 out_dnn/train_log.jsonl)"

# raw values of Criteo get the ids of PaddleRec's slot files, by Python 2's hash; an empty one that of its column
cat >raw.yaml <<'END'
train_input_path: raw.csv
eval_input_path: raw.csv
model_dir: raw
train_config: {num_epochs: 1}
data_config: {dataset_type: CsvDataset, batch_size: 2, fg_mode: FG_DAG, with_header: true, label_fields: [click]}
feature_configs:
- id_feature: {feature_name: C1, expression: "user:C1", hash_bucket_size: 1000001, python2_hash: "14", embedding_dim: 1}
- id_feature: {feature_name: C19, expression: "user:C19", hash_bucket_size: 1000001, python2_hash: "32", embedding_dim: 1}
model_config:
  feature_groups: [{group_name: wide, group_type: WIDE, feature_names: [C1, C19]}]
  logistic_regression: {}
  losses: [{binary_cross_entropy: {}}]
  metrics: [{auc: {}}]
END
printf 'click,C1,C19\n1,05db9164,\n0,68fd1e64,x\n' >raw.csv
run crank fg raw.yaml --json
ends 0
has_out "...737395...26230..."
has_out "...715353..."
sed 's/hash_bucket_size: 1000001, python2_hash: "32"/num_buckets: 9, python2_hash: "32"/' raw.yaml >wrong.yaml
run crank check wrong.yaml
ends 2
has_err "wrong.yaml:8:...: feature 'C19': python2_hash says how hash_bucket_size hashes; give that, or remove it"

# a model whose folder has another name: its slots, its reader or --builtin tell it
mkdir mine
cp -r dnn/data mine/data
ids=$(seq -s ' ' 26)
cat >mine/config.yaml <<END_OF_CONFIG
workspace: "./"
mode: t
dataset: [{name: d, type: DataLoader, batch_size: 8, data_path: "{workspace}/data", sparse_slots: "click $ids", dense_slots: "dense_feature:13"}]
hyper_parameters: {optimizer: {class: Adam, learning_rate: 0.01}, sparse_feature_number: 101, sparse_feature_dim: 4, dense_input_dim: 13, fc_sizes: [8]}
runner: [{name: t, class: train, epochs: 1, save_checkpoint_path: ckpt, phases: [p]}]
phase: [{name: p, model: "{workspace}/model.py", dataset_name: d}]
END_OF_CONFIG
(cd mine && crank run -m config.yaml) >"$out" 2>"$err" || fail "$(cat "$err")"
has_err "config.yaml:4:...: note: the data and hyper-parameters are those of PaddleRec's dnn, so that is the model; --builtin NAME takes another"
(cd mine && crank run -m config.yaml --builtin dnn) >"$out" 2>"$err" || fail "$(cat "$err")"
no_err "...so that is the model..."
sed 's/model_save_path: out_dnn/model_save_path: out_new/' dnn/config.yaml >mine/new.yaml
run crank run -m mine/new.yaml
ends 2
has_err "mine/new.yaml:2:...: neither the folder 'mine' nor the hyper-parameters tell which model is meant, and crank runs no Python; add --builtin NAME, or put the config into a folder NAME, ..."
run crank run -m mine/new.yaml --builtin dnm
ends 2
has_err "--builtin: crank has no model 'dnm' of PaddleRec; did you mean 'dnn'?"
run crank run -m mine/new.yaml --builtin DNN -q
ends 0
is_there out_new/1
# the folder that the data of a config begin in
mkdir away
cp mine/new.yaml away/config.yaml
run crank run -m away/config.yaml -o config_abs_dir=dnn runner.model_save_path=out_away -q
ends 0
is_there out_away/1
for reader in dinReader:din dien_reader:dien amazon_reader:bst avazu_reader:flen word2vec_reader:word2vec letor_reader:match_pyramid; do
    printf 'runner: {train_data_dir: data, train_reader_path: %s, train_batch_size: 8, epochs: 1}\nhyper_parameters: {optimizer: {class: SGD, learning_rate: 1}}\n' "${reader%:*}" >mine/reader.yaml
    run crank run -m mine/reader.yaml
    ends 2
    has_err "mine/reader.yaml:2:...: note: the data and hyper-parameters are those of PaddleRec's ${reader#*:}, so that is the model; ..."
done

# mmoe, ple and share_bottom of 2.0 as shipped: constant first values, and experts of ple that two tasks share by mistake
mkdir -p mmoe ple share_bottom census
awk 'BEGIN { for (i = 0; i < 16; i++) { printf "%d,%d", i % 2, i % 3 == 0; for (k = 1; k <= 4; k++) printf ",%.1f", (i * k % 10) / 10; print "" } }' >census/part-0
sizes() {
    case $1 in
    mmoe) echo 'expert_num: 3, expert_size: 4, gate_num: 2' ;;
    ple) echo 'task_num: 2, exp_per_task: 3, shared_num: 2, level_number: 2, expert_size: 4' ;;
    share_bottom) echo 'task_num: 2, bottom_size: 5' ;;
    esac
}
for m in mmoe ple share_bottom; do
    cat >$m/config.yaml <<END_OF_CONFIG
runner: {train_data_dir: ../census, train_reader_path: census_reader, train_batch_size: 8, epochs: 1, model_save_path: out_$m}
hyper_parameters: {optimizer: {class: Adam, learning_rate: 1e-30}, feature_size: 4, tower_size: 2, $(sizes $m)}
END_OF_CONFIG
    run crank run -m $m/config.yaml -q --compat paddlerec
    ends 0
    run crank params out_$m/0
    # name, least and largest value: both are equal where the first value is a constant
    sed '/^optimizer/,$d' "$out" | awk '$1 ~ /^model[.]/ && $(NF - 1) == $NF { print $1, $NF }' | sed 's/mlp[.]0[.]perceptron[.]0[.]//' >$m.txt
    grep -v ' 0.1$' $m.txt | grep -q bias && fail "biases of $m: $(cat $m.txt)"
done
for line in 'model.mmoe.expert_mlps.2.weight 0.001' 'model.mmoe.gate_finals.0.weight 0.1' 'model.mmoe.gate_finals.1.weight 0.01' 'model._task_tower.1.linear.weight 0.01'; do
    grep -qxF "$line" mmoe.txt || fail "$line: $(cat mmoe.txt)"
done
for line in 'model._extraction_nets.1._task_layers.1.1.weight 1e-05' 'model._extraction_nets.0._shared_layers.1.weight 0.01' 'model._extraction_nets.0._shared_gate.weight 0.1' 'model._task_tower.1.tower_mlp.weight 0.01'; do
    grep -qxF "$line" ple.txt || fail "$line: $(cat ple.txt)"
done
grep -q '_task_layers.1.2' ple.txt && fail "an expert that no task has"
grep -qxF 'model._task_tower.1.linear.weight 0.1' share_bottom.txt || fail "$(cat share_bottom.txt)"
grep -q bottom_mlp share_bottom.txt && fail "the bottom is constant: $(cat share_bottom.txt)"
# one expert for each task: that of the second is the first shared one
sed -i 's/exp_per_task: 3/exp_per_task: 1/' ple/config.yaml
run crank run -m ple/config.yaml -q --compat paddlerec
ends 0
run crank params out_ple/0
grep -q '_task_layers.1' "$out" && fail "an expert that no task has"
# without --compat the values are random, and every task has its experts
run crank run -m ple/config.yaml -q
ends 0
run crank params out_ple/0
grep -q '_task_layers.1.0' "$out" || fail "$(cat "$out")"
[ "$(sed '/^optimizer/,$d' "$out" | awk '$1 ~ /weight$/ && $(NF - 1) == $NF' | wc -l)" -eq 0 ] || fail "constant values"
