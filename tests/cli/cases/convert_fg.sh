# fg.json: features as the feature generator made them, for a config of EasyRec
cat >fg.json <<'END'
{
  "reserves": ["click"],
  "features": [
    {"feature_name": "user", "feature_type": "id_feature", "value_type": "String", "expression": "user:user_id", "default_value": "0", "combiner": "mean", "hash_bucket_size": 77},
    {"feature_name": "price", "feature_type": "raw_feature", "value_type": "Double", "expression": "item:price_yuan", "bucketize_boundaries": "1,2,3"},
    {"feature_name": "liked", "feature_type": "lookup_feature", "map": "user:likes", "key": "item:cate", "needDiscrete": true, "combiner": "sum", "hash_bucket_size": 50},
    {"feature_name": "cross", "feature_type": "combo_feature", "expression": ["user:user_id", "item:cate"], "value_type": "String", "hash_bucket_size": 60},
    {"sequence_name": "seen", "sequence_length": 9, "sequence_delim": ";", "sequence_pk": "user:seen", "features": [
      {"feature_name": "cate", "feature_type": "id_feature", "value_type": "String", "expression": "item:cate", "hash_bucket_size": 40}]},
    {"feature_name": "spell", "feature_type": "magic_feature", "expression": "user:spell"}
  ]
}
END
cat >er.config <<'END'
model_dir: "model"
train_config { optimizer_config { adam_optimizer { learning_rate { constant_learning_rate { learning_rate: 0.01 } } } } num_steps: 10 }
eval_config { metrics_set { auc {} } }
data_config {
  input_type: ParquetInput batch_size: 64 label_fields: "click"
  input_fields { input_name: "click" input_type: INT32 }
  input_fields { input_name: "user" }
  input_fields { input_name: "price" }
  input_fields { input_name: "liked" }
  input_fields { input_name: "cross" }
  input_fields { input_name: "seen__cate" }
}
feature_config {
  features { input_names: "user" feature_type: IdFeature embedding_dim: 8 hash_bucket_size: 500 }
  features { input_names: "price" feature_type: RawFeature embedding_dim: 8 boundaries: [5, 6] }
  features { input_names: "liked" feature_type: TagFeature embedding_dim: 8 hash_bucket_size: 50 }
  features { input_names: "cross" feature_type: IdFeature embedding_dim: 8 hash_bucket_size: 60 }
  features { input_names: "seen__cate" feature_type: SequenceFeature embedding_dim: 8 hash_bucket_size: 40 }
}
model_config {
  model_class: "MultiTower"
  feature_groups {
    group_name: "all" feature_names: ["user", "price", "liked", "cross"]
    sequence_features { group_name: "hist" seq_att_map { key: "user" hist_seq: "seen__cate" } }
  }
  multi_tower { towers { input: "all" dnn { hidden_units: [8] } } final_dnn { hidden_units: [8] } }
}
END
in_config() {
    tr -s ' \n' ' ' <"$1" | grep -F -q -e "$2" || fail "$1 does not hold: $2"
}
trains() { # trains CONFIG
    rm -rf data
    run crank synth --for "$1" --rows 500 --eval_rows 200 -o data
    ends 0
    run crank train data/pipeline.yaml
    ends 0
}
run crank convert er.config --fg_json_path fg.json --output_tzrec_config_path new.config
ends 0
has_err "fg.json:10:...: warning: the feature type 'magic_feature' has no counterpart and 'spell' is left out"
# tables and boundaries of EasyRec's config count; inputs, defaults and types are those of fg.json
in_config new.config 'id_feature { feature_name: "user" expression: "user:user_id" embedding_dim: 8 hash_bucket_size: 500 pooling: "mean" default_value: "0"'
in_config new.config 'raw_feature { feature_name: "price" expression: "item:price_yuan" embedding_dim: 8 boundaries: [5, 6] }'
in_config new.config 'lookup_feature { feature_name: "liked" map: "user:likes" key: "item:cate" need_discrete: true'
in_config new.config 'combo_feature { feature_name: "cross" expression: ["user:user_id", "item:cate"]'
in_config new.config 'sequence_feature { sequence_name: "seen" sequence_length: 9 sequence_delim: ";" sequence_pk: "user:seen" features { id_feature { feature_name: "cate" expression: "item:cate" embedding_dim: 8 hash_bucket_size: 40 } } }'
trains new.config

run crank convert er.config --fg_json_path fg.json --use_old_fg --output_tzrec_config_path old.config
ends 0
in_config old.config 'id_feature { feature_name: "user" expression: "user:user_id"'
in_config old.config 'raw_feature { feature_name: "price" expression: "item:price_yuan"'
trains old.config

# the config may name the file itself
{ echo 'fg_json_path: "fg.json"'; cat er.config; } >named.config
run crank convert named.config --output_tzrec_config_path named_out.config
ends 0
sed '/^#/d' new.config >a
sed '/^#/d' named_out.config >b
same a b
run crank convert er.config --fg_json_path no.json --output_tzrec_config_path x.config
ends 1
has_err "no.json: ..."
echo '[1]' >no.json
run crank convert er.config --fg_json_path no.json --output_tzrec_config_path x.config
ends 2
is_gone x.config
