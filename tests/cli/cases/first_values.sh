# first values of dense parameters, by patterns of their names
tiny_config
tiny_data 64 64
sed 's/^model_config:/&\n  first_values:\n  - {regex_pattern: "model[.].*[.]bias", init_fn: "nn.init.constant_,val=0.25"}\n  - {regex_pattern: ".*deep.*", init_fn: "nn.init.normal_,mean=3,std=0.001"}/' tiny.yaml >first.yaml
grep -q first_values first.yaml || fail "no model_config"
run crank train first.yaml -q --set train_config.dense_optimizer.adam_optimizer.lr=1e-30
ends 0
run crank params model
sed '/^optimizer/,$d' "$out" >params
# all biases, and of the rest the weights of the deep part; the first pattern counts
awk '$1 ~ /bias$/ && !($(NF - 1) == 0.25 && $NF == 0.25) { bad = 1 } $1 ~ /bias$/ { n++ } END { exit bad || !n }' params || fail "$(cat params)"
awk '$1 ~ /deep.*weight$/ && !($(NF - 1) > 2.9 && $NF < 3.1) { bad = 1 } $1 ~ /deep.*weight$/ { n++ } END { exit bad || !n }' params || fail "$(cat params)"
# mistakes
run crank check tiny.yaml --set 'model_config.first_values=[{regex_pattern: "model.nothing", init_fn: "nn.init.zeros_"}]'
ends 2
has_err "--set:1:...: 'model.nothing' matches the whole name of no dense parameter, or an entry before it takes them all; 'crank params CHECKPOINT' prints the names"
run crank check tiny.yaml --set 'model_config.first_values=[{regex_pattern: "(", init_fn: "nn.init.zeros_"}, {regex_pattern: ".*", init_fn: "nn.init.zero_"}, {regex_pattern: ".*"}]'
ends 2
has_err "--set:1:...: '(' cannot be read: ...; correct it"
has_err "--set:1:...: ...zero_..."
has_err "--set:1:...: ...init_fn... missing..."
