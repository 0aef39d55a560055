# a misspelled key: place, cause, nearest name
tiny_config
tiny_data
edit 11 '  num_epoch: 2'
run crank check tiny.yaml
ends 2
has_err "tiny.yaml:11:3: unknown key 'num_epoch' in train_config; did you mean 'num_epochs'?"
run crank train tiny.yaml
ends 2
has_err "tiny.yaml:11:3: unknown key 'num_epoch' in train_config; did you mean 'num_epochs'?"
is_gone model
# a part of a name
run crank check tiny.yaml --set 'train_config.sparse_optimizer={adam: {lr: 0.1}}'
ends 2
has_err "--set:1:32: unknown key 'adam' in sparse_optimizer; did you mean 'adam_optimizer'?"
