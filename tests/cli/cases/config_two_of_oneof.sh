tiny_config
tiny_data
edit 6 '    adagrad_optimizer: {lr: 0.05}
    sgd_optimizer: {lr: 0.1}'
run crank check tiny.yaml
ends 2
has_err "tiny.yaml:7:5: ...'sgd_optimizer' and 'adagrad_optimizer' (line 6) are both given; keep one"
