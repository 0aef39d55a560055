# --set and --edit_config_json, right and wrong
tiny_config
tiny_data
run crank config tiny.yaml --set 'train_config.num_epochs=7' --set 'feature_configs[0].id_feature.embedding_dim=8' \
    --set 'model_config.wide_and_deep.deep.hidden_units=[5,6]'
ends 0
has_out "  num_epochs: 7"
has_out "...embedding_dim: 8"
run crank config tiny.yaml --edit_config_json '{"train_config.num_epochs": 9, "feature_configs[:].id_feature.embedding_dim": 2}'
run crank config tiny.yaml --edit_config_json '{"train_config.num_epochs": 9}'
ends 0
has_out "  num_epochs: 9"
run crank config tiny.yaml --set 'train_config.num_epoch=7'
ends 2
has_err "...unknown key 'num_epoch' in train_config; did you mean 'num_epochs'?"
run crank config tiny.yaml --set 'feature_configs[9].id_feature.embedding_dim=8'
ends 2
has_err "...'feature_configs' has 4 items; 9 is not among them"
run crank config tiny.yaml --set 'train_config.num_epochs'
ends 2
has_err "...'=' is missing in 'train_config.num_epochs'; write key.path=value"
run crank config tiny.yaml --edit_config_json '{"train_config.num_epochs": '
ends 2
