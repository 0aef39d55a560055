# wrong configs and wrong data of PaddleRec: each mistake is one line with its place, and nothing runs

mkdir -p dnn/data deepfm/data
awk 'BEGIN { for (i = 0; i < 40; i++) { printf "click:%d", i % 3 == 0; for (k = 1; k <= 13; k++) printf " dense_feature:%.2f", (i * k % 17) / 17
    for (k = 1; k <= 26; k++) printf " %d:%d", k, (i * k) % 90 + 1; print "" } }' >dnn/data/part-0
cat >dnn/config.yaml <<'END_OF_CONFIG'
workspace: "dnn"
mode: [t]
dataset:
- {name: d, type: DataLoader, batch_size: 8, data_path: "{workspace}/data", sparse_slots: "click 1 2 3", dense_slots: "dense_feature:13"}
hyper_parameters: {optimizer: {class: Adam, learning_rate: 0.01}, sparse_feature_number: 101, sparse_feature_dim: 4, dense_input_dim: 13, fc_sizes: [8]}
runner:
- {name: t, class: train, epochs: 1, save_checkpoint_path: ckpt, phases: [p]}
phase:
- {name: p, model: "{workspace}/model.py", dataset_name: d}
END_OF_CONFIG
wrong() { # wrong SED TEXT: a config with this change is refused with this line, and with no other
    sed -e "$1" dnn/config.yaml >dnn/bad.yaml
    cmp -s dnn/config.yaml dnn/bad.yaml && fail "$1 changes nothing"
    run crank run -m dnn/bad.yaml -q
    ends 2
    has_err "dnn/bad.yaml:$2"
    [ "$(grep -c . "$err")" -eq 1 ] || fail "more than one line: $(cat "$err")"
    is_gone ckpt
}

# a dense slot without its width, or with one that is none
wrong 's/dense_feature:13/dense_feature/' "4:...: dense_slots: 'dense_feature' is not name:width, such as dense_var:13"
wrong 's/dense_feature:13/dense_feature:/' "4:...: dense_slots: 'dense_feature:' is not name:width, such as dense_var:13"
wrong 's/dense_feature:13/dense_feature:[]/' "4:...: dense_slots: 'dense_feature:[]' is not name:width, such as dense_var:13"
wrong 's/dense_feature:13/dense_feature:-3/' "4:...: dense_slots: 'dense_feature:-3' is not name:width, such as dense_var:13"
# a key that is needed and has no value is missing; no slots, or the label alone
wrong 's/sparse_feature_number: 101/sparse_feature_number: /' "5:...: hyper_parameters.sparse_feature_number is not given, and the model needs it: dnn; ..."
wrong 's/dataset_name: d/dataset_name: /' "9:...: phase.dataset_name is not given; ..."
wrong 's/sparse_slots: "click 1 2 3"/sparse_slots: ""/' "4:...: sparse_slots names no slot; the first one is the label"
wrong 's/sparse_slots: "click 1 2 3"/sparse_slots: click/; s/"{workspace}\/model.py"/builtin:deepfm/' "4:...: sparse_slots names 'click' alone, which is the label; add the slots of ids that the model reads"
# nothing to do is a mistake, too
wrong 's/^mode: .*/mode: []/' "2:7: mode is an empty list, so nothing would run; name a runner in it"
wrong 's/phases: \[p\]/phases: []/' "7:...: runner 't' has no phase, so it would do nothing; name one in phases"
# of two with the same name nobody knows which is meant
wrong 's/^- {name: t, .*/&\n&/' "8:3: another runner, on line 7, is called 't', too; rename one of them"
wrong 's/^- {name: d, .*/&\n&/' "5:3: another dataset, on line 4, is called 'd', too; rename one of them"
wrong 's/^- {name: p, .*/&\n&/' "10:3: another phase, on line 9, is called 'p', too; rename one of them"
# keys at the top have no section in front of them
wrong 's/^workspace: .*//' "2:1: workspace is not given; add it"
wrong 's/^workspace: .*/workspace: [a]/' "1:12: workspace is a list and must be a text"
# a model that crank does not have
wrong 's/"{workspace}\/model.py"/builtin:dnm/' "9:20: crank has no model 'dnm' of PaddleRec; did you mean 'dnn'?"
wrong 's/"{workspace}\/model.py"/builtin:warp/' "9:20: crank has no model 'warp' of PaddleRec; known are afm, ..."
# folders of data: empty, and not for this user
mkdir dnn/none
wrong 's,{workspace}/data,{workspace}/none,' "4:...: the folder 'dnn/none' holds no files; name the folder of the data files"
if [ "$(id -u)" -ne 0 ]; then
    chmod 0 dnn/none
    sed 's,{workspace}/data,{workspace}/none,' dnn/config.yaml >dnn/bad.yaml
    run crank run -m dnn/bad.yaml -q
    ends 2
    has_err "dnn/none: cannot open: Permission denied; ..."
    chmod 755 dnn/none
fi

# the value of an edit may have a sign of equality, as folders of days do
cp -r dnn/data dnn/dt=20200101
run crank run -m dnn/config.yaml -q -o dataset.d.data_path=dnn/dt=20200101
ends 0
is_there ckpt/0

# a slot that is missing is told once, whatever number of features is made of it
sed 's/dense_feature:/dense_var:/g' dnn/data/part-0 >deepfm/data/part-0
cat >deepfm/config.yaml <<'END_OF_CONFIG'
runner: {train_data_dir: data, train_reader_path: criteo_reader, train_batch_size: 8, epochs: 1, print_interval: 1, model_save_path: out}
hyper_parameters: {optimizer: {class: Adam, learning_rate: 0.01}, sparse_feature_number: 101, sparse_feature_dim: 4, dense_input_dim: 13, fc_sizes: [8]}
END_OF_CONFIG
run crank run -m deepfm/config.yaml
ends 0
has_err "deepfm/config.yaml:...: warning: slot 'dense_feature', which feature 'dense_feature_1' and 13 more need, does not occur in the first 40 lines of deepfm/data/part-0, so that all of them get its default; slots that occur and are not read: 'dense_var' (13 per line)"
[ "$(grep -c "warning: slot 'dense_feature'" "$err")" -eq 1 ] || fail "$(cat "$err")"

# rows that are wrong are left out as the message says, with an edit in crank's own keys
mkdir deepfm/cut
{ head -c 600 dnn/data/part-0 && echo && cat dnn/data/part-0; } >deepfm/cut/part-0
run crank run -m deepfm/config.yaml -q -o runner.train_data_dir=cut
ends 3
has_err "deepfm/cut/part-0:2: 'dense_f' has no colon; a token is slot:value; correct the row, or leave some out with data_config.max_bad_rows"
run crank run -m deepfm/config.yaml -q -o runner.train_data_dir=cut --set data_config.max_bad_rows=2
ends 0
has_err "...1 bad rows were skipped"
run crank run -m deepfm/config.yaml -q --set data_config.max_bad_row=2
ends 2
has_err "--set:1:...: unknown key 'max_bad_row' in data_config; did you mean 'max_bad_rows'?"

# the number of slots must be that of the reader
run crank run -m deepfm/config.yaml -q -o hyper_parameters.sparse_inputs_slots=20
ends 2
has_err "-o 'hyper_parameters.sparse_inputs_slots=20': sparse_inputs_slots is 20, but the reader of deepfm has 26 slots of ids and the label; write 27"

# the lines of a training in the form of other loggers; an evaluation keeps PaddleRec's
sed 's/^mode: .*/mode: [t, e]/; s/^- {name: t.*/&\n- {name: e, class: infer, init_model_path: ckpt, phases: [p]}/' dnn/config.yaml >dnn/both.yaml
run crank run -m dnn/both.yaml -q --log_format tcap
ends 0
has_out "TCAPPDLL ... - Epoch: 0 Iteration: 0  rank : 0  train.loss : ..."
has_out "Infer p of epoch 0 done, use time: ..., global metrics: AUC=[...]"
grep -q 'Running SingleNetwork' "$out" || fail "no lines of the evaluation"
grep -q 'Runner t Begin' "$out" && fail "PaddleRec's lines of the training"
is_there ckpt/tcap.json
run crank run -m dnn/both.yaml --log_format json
ends 2
has_err "crank run: --log_format is 'json' and must be dllogger or tcap"
