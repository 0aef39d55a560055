tiny_config
tiny_data
edit 15 '  batch_size: -4'
run crank check tiny.yaml
ends 2
has_err "tiny.yaml:15:15: batch_size: -4 is out of range; give an integer from ..."
tiny_config
edit 30 '    deep: {hidden_units: [16, 8], dropout_ratio: [1.5]}'
run crank check tiny.yaml
ends 2
has_err "tiny.yaml:30:51: dropout_ratio: 1.5 is out of range; ..."
