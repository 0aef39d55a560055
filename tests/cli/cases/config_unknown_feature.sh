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
