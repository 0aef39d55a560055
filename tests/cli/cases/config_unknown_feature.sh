# a feature group that names no feature
tiny_config
tiny_data
edit 28 '    - {group_name: deep, group_type: DEEP, feature_names: [usr, item, price]}'
run crank check tiny.yaml
ends 2
has_err "tiny.yaml:28:60: feature group 'deep' names the unknown feature 'usr'; did you mean 'user'?"
# a model that needs a group that is not there
tiny_config
edit 28 '    - {group_name: depp, group_type: DEEP, feature_names: [user, item, price]}'
run crank check tiny.yaml
ends 2
has_err "tiny.yaml:...: ...feature group...'deep'...'depp'..."
# named twice, and a width that means nothing: warnings
tiny_config
edit 24 '  - raw_feature: {feature_name: price, expression: "item:price", embedding_dim: 4}'
edit 28 '    - {group_name: deep, group_type: DEEP, feature_names: [user, item, tags, price, user]}'
run crank check tiny.yaml --set train_input_path= --set eval_input_path=
ends 0
has_err "tiny.yaml:24:81: warning: embedding_dim has no effect on a plain number; give boundaries, mlp: {} or autodis to make it a vector"
has_err "tiny.yaml:28:85: warning: feature group 'deep' names 'user' again; remove it"
