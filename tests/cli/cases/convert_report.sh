# what has no counterpart in a config of EasyRec is told, and so is what is no such config
cat >er.config <<'END'
train_input_path: "train.csv"
model_dir: "model"
train_config {
  optimizer_config {
    rms_prop_optimizer { learning_rate { poly_decay_learning_rate { learning_rate_base: 0.01 total_steps: 10 power: 1 } } decay: 0.8 }
  }
  fine_tune_checkpoint: "model.ckpt-0"
  num_gpus_per_worker: 2
  dead_line: "20220508 23:59:59"
}
eval_config { metrics_set { gauc { uid_field: "who" } } metrics_set { max_f1 {} } }
data_config {
  input_type: TFRecordInput
  label_fields: "y"
  input_fields { input_name: "y" input_type: INT32 default_val: "0" }
  input_fields { input_name: "a" input_type: STRING }
  input_fields { input_name: "b" input_type: STRING }
  input_fields { input_name: "who" input_type: STRING }
}
feature_configs { input_names: "a" feature_type: IdFeature embedding_dim: 4 hash_bucket_size: 10 separator: "," ev_params { filter_freq: 2 } }
feature_configs { input_names: "b" feature_type: IdFeature embedding_dim: 4 hash_bucket_size: 10 separator: "," }
model_config {
  model_class: "MultiTower"
  feature_groups { group_name: "all" feature_names: ["a", "b"] }
  multi_tower { towers { input: "all" dnn { hidden_units: [4] activation: "my.gelu" } } final_dnn { hidden_units: [4] } l2_regularization: 0 }
  losses { loss_type: CLASSIFICATION }
  losses { loss_type: F1_REWEIGHTED_LOSS weight: 2 f1_reweighted_loss { f1_beta_square: 2 } }
}
END
run crank convert er.config --output_tzrec_config_path out.config
ends 0
says_err <<'END'
er.config:3:14: warning: neither num_steps nor num_epochs is given, with which EasyRec trains without end; num_epochs: 1 was written
er.config:5:5: warning: the momentum_optimizer_value of 0.9 that rms_prop_optimizer has is left out: there is none here
er.config:5:67: warning: poly_decay_learning_rate has no counterpart: the rate stays at 0.01; choose another schedule (crank help optimizers)
er.config:7:3: warning: 'train_config.fine_tune_checkpoint' is left out: checkpoints of TensorFlow cannot be read; train anew, or write the tables as safetensors (pretrained_path of a feature)
er.config:8:3: note: 'train_config.num_gpus_per_worker' is left out: this is one process on a CPU; results do not depend on it
er.config:9:3: warning: 'train_config.dead_line' is left out: no training ends at a time of day; use timeout(1) and --continue_train
er.config:11:36: note: rows are grouped by a feature here: the id_feature 'who' was added for the column 'who', with a hash_bucket_size of 1000000
er.config:11:71: warning: max_f1 is left out: f1 is measured at one threshold (f1 { threshold: 0.5 })
er.config:13:3: warning: input_type: crank reads CSV and Parquet files: write the rows as Parquet with a column per input field; dataset_type became ParquetDataset
er.config:15:52: note: 'data_config.input_fields.default_val' is left out where no feature reads the column alone; defaults belong to features here
er.config:20:98: note: 'feature_config.separator' is left out: EasyRec does not use it in this type of feature (also in line 21)
er.config:20:113: warning: 'feature_config.ev_params' is left out: tables have as many rows as hash_bucket_size or num_buckets says; choose them large enough
er.config:25:63: warning: activation: 'my.gelu' is left out: it is a function in Python, and the layers have ReLU now; write an activation of torch
er.config:27:12: warning: the loss F1_REWEIGHTED_LOSS is left out: it has no counterpart; choose one (crank help losses)
END
has_out "report 10 keys left out or changed ..., 5 without effect (notes)"
# the same stands at the head of the file, and the file trains
grep -q '^#   7: warning: .train_config.fine_tune_checkpoint. is left out: ' out.config || fail "no report in the file"
run crank synth --for out.config --rows 500 --eval_rows 200 -o data
ends 0
run crank train data/pipeline.yaml
ends 0

# a model without a counterpart: the rest is written, and the exit code says that it is no more than a start
sed 's/"MultiTower"/"CMBF"/' er.config >cmbf.config
run crank convert cmbf.config --output_tzrec_config_path start.config
ends 2
has_err "cmbf.config:23:3: the model 'CMBF' has no counterpart and is left out; ..."
has_out "       crank does not take it as it is: ..."
is_there start.config

# mistakes of the config itself, at their places
sed 's/hash_bucket_size: 10 separator/hash_bucket_sise: 10 separator/; s/embedding_dim: 4/embedding_dim: "4"/' er.config >bad.config
run crank convert bad.config --output_tzrec_config_path bad_out.config
ends 2
has_err "bad.config:20:...: EasyRec has no key 'hash_bucket_sise' in feature_config; did you mean 'hash_bucket_size'?"
has_err "bad.config:20:...: embedding_dim: ...4... is ..."

# files that are no config of EasyRec: nothing is written
refused() { # refused MESSAGE: of in.config
    rm -f none.config
    run crank convert in.config --output_tzrec_config_path none.config
    ends 2
    has_err "$1"
    is_gone none.config
}
: >in.config
refused "in.config: there is no config in it; ..."
crank config out.config >in.config 2>/dev/null || true
echo 'train_config { num_steps: 3 }' >in.config
refused "in.config: this is not a pipeline config of EasyRec: ..."
printf 'train_config {\n  num_steps: 3\n' >in.config
refused "in.config:...: ..."
tiny_config
crank config tiny.yaml --format pbtxt >in.config
refused "in.config:...: '...' says that this is a config for TorchEasyRec already; crank takes it as it is: ..."
run crank convert no_such.config --output_tzrec_config_path none.config
ends 1
has_err "no_such.config: ..."

# the way out
run crank convert er.config
ends 2
has_err "crank convert: --output_tzrec_config_path is ..."
cp er.config copy.config
run crank convert copy.config --output_tzrec_config_path ./copy.config
ends 2
has_err "...: --output_tzrec_config_path is the config to convert; give another name"
same er.config copy.config
run crank convert er.config --output_tzrec_config_path data
ends 2
has_err "...: --output_tzrec_config_path is the folder 'data'; give a file"
run crank convert er.config --output_tzrec_config_path no/such/folder/out.config
ends 1
has_err "no/such/folder/out.config: ..."
# an older result is replaced
echo old >out.config
run crank convert er.config --output_tzrec_config_path out.config
ends 0
grep -q model_config out.config || fail "the old file is still there"

# a message in two parts is one message
sed 's/^model_config {/train_config { num_steps: 7 }\nmodel_config {/' er.config >parts.config
run crank convert parts.config -o parts_out.config
ends 0
grep -q 'num_steps: 7' parts_out.config || fail "the second part of train_config is lost"
grep -q 'rmsprop_optimizer' parts_out.config || fail "the first part of train_config is lost"

# text of the user stays inside the comments at the head of the file
odd=$(printf 'odd\nmodel_dir: "elsewhere" #.config')
cp er.config "$odd"
run crank convert "$odd" -o odd_out.config
ends 0
! grep -q '^model_dir: "elsewhere"' odd_out.config || fail "a name became a key"

# other commands tell in one line that a config is EasyRec's, and how to go on
for path in "$CLI"/../easyrec/*.config; do
    cp "$path" theirs.config
    run crank check theirs.config
    ends 2
    has_err "theirs.config:...: '...' is a key of EasyRec, the predecessor of TorchEasyRec; convert the config: crank convert theirs.config -o theirs_tzrec.config"
    [ "$(wc -l <"$err")" -eq 1 ] || fail "more than one line"
done
# a key that is like no other may be of a newer TorchEasyRec; one that is like another is a mistake
tiny_config
tiny_data
edit 12 '  warp_drive: 5'
run crank check tiny.yaml
ends 2
has_err "tiny.yaml:12:3: unknown key 'warp_drive' in train_config; see 'crank help TrainConfig' for its keys, or remove it if it is newer than TorchEasyRec 1.4"
edit 12 '  num_stepz: 5'
run crank check tiny.yaml
ends 2
has_err "tiny.yaml:12:3: unknown key 'num_stepz' in train_config; did you mean 'num_steps'?"
