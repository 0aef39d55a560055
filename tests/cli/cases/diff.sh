# two checkpoints, and where their runs part
tiny_config
tiny_data 640 100
run crank train tiny.yaml --model_dir a
ends 0
run crank train tiny.yaml --model_dir b --threads 1
ends 0
run crank diff a b
ends 0
has_out "config: no key differs"
has_out "metrics: all ... are equal"
has_out "logs: equal up to step 39 (train_log.jsonl)"
has_out "parameters: all ... are equal"
run crank diff a/model.ckpt-10 a/model.ckpt-10 --json
ends 0
has_out '..."equal": true...'
# the learning rate changes after some steps: the logs say when
run crank train tiny.yaml --model_dir c --set 'train_config.sparse_optimizer.constant_learning_rate=' \
    --set 'train_config.sparse_optimizer={adagrad_optimizer: {lr: 0.05}, exponential_decay_learning_rate: {decay_size: 15, decay_factor: 0.5, staircase: true}}'
ends 0
run crank diff a c
ends 1
says_out <<'END'
A  a/model.ckpt-39, step 39, seed 2026
B  c/model.ckpt-39, step 39, seed 2026

config: 1 key differs
  key                                        A                       B
  ...onfig.sparse_optimizer.<learning_rate>  constant_learning_rate  exponential_decay_learning_rate

metrics: ... differ
  metric ... A ... B ... B - A
  auc ...
...

logs: differ first at step ... (train_log.jsonl; equal up to step ...)
  val.auc is ... and ...

parameters: ... of ... differ
  parameter ... values that differ ... max abs  max rel
...
  and ... tensors of optimizer state; --all lists them
END
run crank diff a c --all
ends 1
has_out "  state.model..."
run crank diff a c --json
ends 1
has_out '..."config": [{"key": "train_config.sparse_optimizer.<learning_rate>", "a": "constant_learning_rate", "b": "exponential_decay_learning_rate"}], "metrics": [{"metric": "auc", "a": ..., "b": ...}...'
has_out '..."first_different_step": ...'
# a long value and long names are cut to the screen
for width in 80 100; do
    COLUMNS=$width run crank diff a c
    ends 1
    [ "$(awk -v w=$width 'length > w' "$out" | wc -l)" -eq 0 ] || fail "lines are longer than $width columns"
done
# other shapes, other parameters
run crank train tiny.yaml --model_dir d --set 'feature_configs[1].id_feature.num_buckets=31' --set 'feature_configs[0].id_feature.embedding_name=other'
ends 0
run crank diff a d
ends 1
has_out "  feature_configs[user].id_feature.embedding_name ...\"\" (default) ...\"other\""
has_out "  feature_configs[item].id_feature.num_buckets ...30 ...31"
has_out "  other shape ...A ...B"
has_out "...item_emb.weight ... (30, 4)  (31, 4)"
has_out "  only in A ...shape ...type"
has_out "...user_emb.weight ... (50, 4)  F32"
has_out "  only in B ...shape ...type"
has_out "...other.weight ... (50, 4)  F32"
# neither equal nor different
run crank diff a
ends 2
has_err "...1 checkpoint given; diff takes two: crank diff CKPT_A CKPT_B"
run crank diff a nowhere
ends 2
has_err "nowhere: no such checkpoint; check the path"
printf 'no tensors' >x.safetensors
run crank diff a x.safetensors
ends 2
has_err "x.safetensors: ..."
# an export against its checkpoint: the weights
run crank export a/pipeline.config --export_dir e
ends 0
run crank diff "$(newest a)" e
ends 0
has_out "parameters: all 12 are equal"
has_out "... tensors of optimizer state are only in A and were left aside"
run crank diff e "$(newest a)" --json
ends 0
has_out '..."equal": true, "config": [...], "n_parameters": 12, "n_differ": 0, "optimizer_state_only_in": "b"...'
