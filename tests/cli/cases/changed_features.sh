# A model is used only with features of the meaning it was trained with, unless the user accepts others
awk 'BEGIN { print "y,name,city,price"; s = 5; for (i = 0; i < 300; i++) { s = (s * 1103 + 12345) % 1048573; a = s % 9; b = s % 3
    printf "%d,n%d,%s,%.1f\n", (a + b) % 2, a, b == 0 ? "rome" : b == 1 ? "oslo" : "lima", s % 100 / 7 } }' >f.csv
printf 'rome\noslo\nlima\n' >city.txt
cat >f.yaml <<'END2'
train_input_path: f.csv
eval_input_path: f.csv
model_dir: m
train_config:
  sparse_optimizer: {adagrad_optimizer: {lr: 0.1}, constant_learning_rate: {}}
  dense_optimizer: {adam_optimizer: {lr: 0.01}, constant_learning_rate: {}}
  num_epochs: 2
data_config:
  dataset_type: CsvDataset
  batch_size: 50
  fg_mode: FG_NORMAL
  with_header: true
  label_fields: [y]
feature_configs:
  - id_feature: {feature_name: name, expression: "user:name", hash_bucket_size: 100, embedding_dim: 4}
  - id_feature: {feature_name: city, expression: "user:city", vocab_file: city.txt, default_bucketize_value: 0, embedding_dim: 4}
  - raw_feature: {feature_name: price, expression: "item:price", boundaries: [1, 5, 10], embedding_dim: 4}
model_config:
  feature_groups:
    - {group_name: all, group_type: DEEP, feature_names: [name, city, price]}
  multi_tower:
    towers: [{input: all, mlp: {hidden_units: [8]}}]
    final: {hidden_units: [4]}
  losses: [{binary_cross_entropy: {}}]
  metrics: [{auc: {}}]
END2
run crank train f.yaml -q
ends 0
has m/pipeline.config '  use_farm_hash: false' || fail "the config that is kept does not say which hash was used"
is_there "$(newest m)/features.json"

# the same features, written another way: a default that is given, another path of the same file
mkdir other
cp city.txt other/places.txt
sed 's,city.txt,other/places.txt,; s/hash_bucket_size: 100/hash_bucket_size: 100, separator: "\\x1d", pooling: sum, embedding_name: name_emb/' f.yaml >same.yaml
run crank eval same.yaml -q
ends 0
# the config that training kept decides the hash, whatever the environment says now
run env USE_FARM_HASH_TO_BUCKETIZE=true crank eval m/pipeline.config -q
ends 0

changed() { # changed PATTERN COMMAND...: refused with this line; accepted with the flag and a warning
    what=$1
    shift
    run "$@" -q
    ends 2
    has_err "$what"
    run "$@" --accept_changed_features -q
    ends 0
    has_err "...warning: ... was made with ..."
}
changed 'USE_FARM_HASH_TO_BUCKETIZE: data_config.use_farm_hash is true here, but m/model.ckpt-... was made with false; put that back, or accept other numbers with --accept_changed_features' \
    env USE_FARM_HASH_TO_BUCKETIZE=true crank eval f.yaml
sed 's/boundaries: \[1, 5, 10\]/boundaries: [1, 5, 11]/' f.yaml >b.yaml
changed "b.yaml:17:...: feature 'price': boundaries is [1, 5, 11] here, but m/model.ckpt-... was made with [1, 5, 10]; ..." crank eval b.yaml
sed 's/user:name/user:city/' f.yaml >x.yaml
changed "x.yaml:15:...: feature 'name': expression is \"user:city\" here, but ..." crank export x.yaml --export_dir e
# a vocabulary counts by its content
printf 'oslo\nrome\nlima\n' >city.txt
changed "f.yaml:16:...: feature 'city': vocab_file is a file of 15 bytes, hash ... here, but ... was made with a file of 15 bytes, hash ..." crank eval f.yaml
printf 'rome\noslo\nlima\n' >city.txt
# tables of one shape that change places, a pooling, the dense parts of a feature
sed 's/hash_bucket_size: 100, embedding_dim: 4/&, embedding_name: city_emb/; s/default_bucketize_value: 0, embedding_dim: 4/&, embedding_name: name_emb/; s/vocab_file/num_buckets: 100, vocab_file/' f.yaml >t.yaml
run crank eval t.yaml -q
ends 2
has_err "t.yaml:15:...: feature 'name': embedding_name is city_emb here, but m/model.ckpt-... was made with the default; ..."
has_err "t.yaml:16:...: feature 'city': embedding_name is name_emb here, but ..."
sed 's/hash_bucket_size: 100/&, pooling: mean/' f.yaml >p.yaml
changed "p.yaml:15:...: feature 'name': pooling is mean here, but m/model.ckpt-... was made with the default; ..." crank eval p.yaml
sed 's/boundaries: \[1, 5, 10\]/autodis: {num_channels: 3, negative_slope: 0.2}/' f.yaml >a.yaml
run crank train a.yaml --model_dir a -q
sed 's/negative_slope: 0.2/negative_slope: 0.3/' a.yaml >a2.yaml
changed "a2.yaml:17:...: feature 'price': autodis.negative_slope is 0.3 here, but a/model.ckpt-... was made with 0.2; ..." crank eval a2.yaml --checkpoint_path a
# labels turned round make a good model look bad; predictions need none
sed 's/  label_fields: \[y\]/&\n  label_map: [{label: y, map: {"0": 1, "1": 0}}]/' f.yaml >l.yaml
changed "l.yaml:...: data_config.label_map is [{label: \"y\", map: {\"0\": 1, \"1\": 0}}] here, but m/model.ckpt-... was made with the default; ..." crank eval l.yaml
run crank predict --pipeline_config_path l.yaml --checkpoint_path m --predict_input_path f.csv --predict_output_path lp -q
ends 0
# dense layers know their inputs by place: another order has the same shapes and other scores
sed 's/feature_names: \[name, city, price\]/feature_names: [city, name, price]/' f.yaml >o.yaml
changed "o.yaml:20:...: feature group 'all': feature_names is city, name, price here, but m/model.ckpt-... was made with name, city, price; ..." crank eval o.yaml
# features of a later version may mean more than this one can compare
cp -r "$(newest m)" later
old_version later
sed -i 's/"format": *1/"format": 2/' later/features.json
run crank eval f.yaml --checkpoint_path later -q
ends 1
has_err "later: features.json has format 2, this crank knows 1; use a newer one"
# a fine tune may change what features mean, and says so
run crank train b.yaml --model_dir tuned --fine_tune_checkpoint m -q
ends 0
has_err "b.yaml:17:...: warning: feature 'price': boundaries is ..."

# an export says it too: another number in its config is found
rm -r e
run crank export f.yaml --export_dir e -q
ends 0
run crank predict --scripted_model_path e --predict_input_path f.csv --predict_output_path p -q
ends 0
sed 's/boundaries: \[1, 5,/boundaries: [1, 6,/' e/pipeline.config >config
differ config e/pipeline.config
cp config e/pipeline.config
run crank predict --scripted_model_path e --predict_input_path f.csv --predict_output_path p2 -q
ends 1
is_gone p2

# training does not go on with other features either
changed "...feature 'price': boundaries is ..." crank train b.yaml --continue_train --set train_config.num_epochs=3

# what the environment decides is in the config that training keeps, also when it decides nothing
has m/pipeline.config '  seed: 2026' || fail "the config that is kept does not say the seed"
run env TORCH_MANUAL_SEED=7 crank train f.yaml --model_dir s -q
ends 0
has s/pipeline.config '  seed: 7' || fail "TORCH_MANUAL_SEED is not in the config"
run env TORCH_MANUAL_SEED=8 crank train s/pipeline.config --continue_train --set train_config.num_epochs=3 -q
ends 0
has s/pipeline.config '  seed: 7' || fail "another environment changed the seed of a run that goes on"
run env TORCH_MANUAL_SEED=8 crank config f.yaml --set train_config.seed=9
has_out '  seed: 9'
run env TORCH_MANUAL_SEED=x crank train f.yaml --model_dir t
ends 2
has_err "TORCH_MANUAL_SEED: the environment says 'x', but it must be an integer of at least 0; correct it or unset it"
