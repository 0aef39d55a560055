# keys of other releases of TorchEasyRec: those that mean something here, and an answer for the rest
tiny_config
tiny_data
keep() { cp tiny.yaml was.yaml; }
back() { cp was.yaml tiny.yaml; }
keep

# custom_model is Python; its google.protobuf.Any is read over
run crank config tiny.yaml --format pbtxt
ends 0
sed 's/^  wide_and_deep {/  custom_model { class_path: "my.models.Net" config { [type.googleapis.com\/my.Net] { n: 3 } } }\n  wide_and_deep {/' "$out" >custom.config
run crank check custom.config
ends 2
has_err "custom.config:...: model 'custom_model' cannot be used: it is Python code, which crank does not run; write the model in C as a library and name it with plugin { library: ... type: ... }, or build it of blocks with backbone (docs/guide/own_models.md)"

# a user who asks for an upload and gets none must not believe otherwise
edit 12 '  delta_embedding_dump_config: {feature_store_config: {region: r}}'
run crank train tiny.yaml
ends 2
has_err "tiny.yaml:12:...: 'feature_store_config' is known but not available in this version; crank uploads nothing; remove it and upload the files of output_dir"
is_gone model
back

# older releases: another name of multi_tower_din
data=$CLI/../golden/data/multi_tower_din
cp "$data/data.csv" .
cp "$data/pipeline.config" new.config
sed 's/multi_tower_din {/multi_tower_din_trt {/' new.config >old.config
run crank train new.config --model_dir din_new
ends 0
run crank train old.config --model_dir din_old
ends 0
has_err "old.config:...: warning: 'multi_tower_din_trt' of older releases is multi_tower_din with an export for TensorRT, and is read as that; write multi_tower_din"
same_weights din_new din_old
run crank check tiny.yaml --set data_config.enable_hstu=false
ends 0
run crank check tiny.yaml --set data_config.enable_hstu=true
ends 2
has_err "...: 'enable_hstu' is known but not available in this version; remove it"

# curves that nothing writes: one warning
run crank check tiny.yaml --set 'model_config.summaries_set=[{pcoc: {}}, {scalars: {name: a, feature_name: user}}]'
ends 0
has_err "...warning: 'summaries_set' has no effect in this version; these curves are not written; metrics { copc {} } evaluates the calibration"

# FTRL by both sets of names, a straight line down
run crank train tiny.yaml --model_dir one --set 'train_config.sparse_optimizer={ftrl_optimizer: {lr: 0.1, ftrl_beta: 0.5, l1_reg: 0.001, l2_reg: 0.01}, linear_decay_learning_rate: {num_training_steps: 40, warmup_size: 5}}' --threads 1
ends 0
run crank train tiny.yaml --model_dir two --set 'train_config.sparse_optimizer={ftrl_optimizer: {lr: 0.1, beta: 0.5, l1: 0.001, l2: 0.01}, linear_decay_learning_rate: {num_training_steps: 40, warmup_size: 5}}' --threads 1
ends 0
same_weights one two
run crank check tiny.yaml --set 'train_config.sparse_optimizer={ftrl_optimizer: {beta: 1, ftrl_beta: 1}, constant_learning_rate: {}}'
ends 2
has_err "...: ftrl_beta and beta are one thing; keep one"
run crank check tiny.yaml --set 'train_config.sparse_optimizer={ftrl_optimizer: {learning_rate_power: 0.5}, linear_decay_learning_rate: {num_training_steps: 4, warmup_size: 4}}'
ends 2
has_err "...: learning_rate_power: 0.5 is out of range; give a number of at most 0"
has_err "...: warmup_size is 4 and must be below num_training_steps, 4, which counts it; make one smaller or the other larger"
run crank check tiny.yaml --set 'train_config.sparse_optimizer={ftrl_optimizer: {}, linear_decay_learning_rate: {}}'
ends 2
has_err "...: num_training_steps must be given and above 0: the steps from the start to min_learning_rate"
