# cures show config text in the syntax of the file; of two keys that exclude each other the user hears which one counts
cat >c.yaml <<'EOF'
train_config: {}
eval_config: {use_dense_ema: true}
data_config: {dataset_type: CsvDataset}
model_config: {autoint: {}}
EOF
cat >c.config <<'EOF'
train_config {}
eval_config { use_dense_ema: true }
data_config { dataset_type: CsvDataset }
model_config { autoint {} }
EOF
cat >c.json <<'EOF'
{"train_config": {},
 "eval_config": {"use_dense_ema": true},
 "data_config": {"dataset_type": "CsvDataset"},
 "model_config": {"autoint": {}}}
EOF
run crank config c.yaml
ends 2
has_err '...; add for example num_epochs: 1'
has_err '...; add label_fields: ["<column>"]'
has_err '...; add for example attention_layers: [{num_heads: 2, head_dim: 32}]'
run crank config c.config
ends 2
has_err '...; add for example num_epochs: 1'
has_err '...; add label_fields: ["<column>"]'
has_err '...; add for example attention_layers { num_heads: 2 head_dim: 32 }'
run crank config c.json
ends 2
has_err '...; add for example "num_epochs": 1'
has_err '...; add "label_fields": ["<column>"]'
has_err '...; add for example "attention_layers": [{"num_heads": 2, "head_dim": 32}]'

tiny_data 64 8
tiny_config
edit 12 "  save_checkpoints_steps: 1"
sed -i.bak 's/^  num_epochs: 2/  num_epochs: 2\n  save_checkpoints_epochs: 1/' tiny.yaml
run crank train tiny.yaml -q
ends 0
has_err "tiny.yaml:13:27: warning: save_checkpoints_steps has no effect beside save_checkpoints_epochs: checkpoints are saved at the end of epochs; remove one of them"
[ "$(ls -d model/model.ckpt-* | wc -l)" -eq 2 ] || fail "checkpoints by steps"
# a computed feature says it in the file's syntax, too
tiny_config
tiny_data
sed -i '/^model_config:/i\  - expr_feature: {feature_name: twice, expression: "price*2", variables: ["item:price"], embedding_dim: 4}' tiny.yaml
set -- --set data_config.fg_mode=FG_NORMAL --set 'feature_configs[2].id_feature.separator=|'
run crank check tiny.yaml "$@"
ends 0
has_err "...embedding_dim has no effect on a plain number; give boundaries, mlp: {} or autodis..."
run crank config tiny.yaml --format json
ends 0
cp "$out" tiny.json
run crank check tiny.json "$@"
ends 0
has_err '...embedding_dim has no effect on a plain number; give boundaries, "mlp": {} or autodis...'
