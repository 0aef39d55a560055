tiny_config
tiny_data
sed -i '29,30d' tiny.yaml # the model itself
run crank check tiny.yaml
ends 2
has_err "tiny.yaml:...: no model is given in model_config; give one of ..."
tiny_config
sed -i '13,19d' tiny.yaml # data_config
run crank check tiny.yaml
ends 2
has_err "tiny.yaml:...: 'data_config' is missing at the top level; add it: ..."
