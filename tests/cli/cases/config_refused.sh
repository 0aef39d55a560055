# a model that is refused is one mistake: nothing is said about losses, metrics and labels, which depend on it,
# nor about its own keys, which this version does not read
tiny_config
tiny_data
sed -i '/label_fields/d; s/binary_cross_entropy/softmax_cross_entropy/; s/auc: {}/recall_at_k: {top_k: 5}/' tiny.yaml
cp tiny.yaml other.yaml
sed -i 's/^  wide_and_deep:/  dssm:/; s/^    deep: .*/    user_tower: {input: wide, mlp: {hidden_units: [4], aktivation: x}}\n    similarity: COSIN\n    ouput_dim: 4/' tiny.yaml
run crank check tiny.yaml
ends 2
says_err <<'END'
tiny.yaml:28:3: model 'dssm' is known but not available in this version; available: ...deepfm...
END
run crank check tiny.yaml --set model_config.dssm.output_dim=4
ends 2
has_err "--set:1:19: 'dssm' is known but not available in this version; remove it"
# an unknown model as well
sed 's/^  wide_and_deep:/  my_own_thing:/' other.yaml >tiny.yaml
run crank check tiny.yaml
ends 2
says_err <<'END'
tiny.yaml:28:3: unknown key 'my_own_thing' in model_config; give one of ...deepfm...
END
# a misspelled key is not told again as missing
tiny_config
sed -i 's/label_fields/label_feilds/; s/feature_names: \[user, item, tags\]/feature_name: [user]/' tiny.yaml
run crank check tiny.yaml
ends 2
says_err <<'END'
tiny.yaml:19:3: unknown key 'label_feilds' in data_config; did you mean 'label_fields'?
tiny.yaml:27:44: unknown key 'feature_name' in feature_groups; did you mean 'feature_names'?
END
