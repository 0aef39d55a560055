# create_fg_json, add_feature_info_to_config: TorchEasyRec's tools under their names, with their flags
cat >t.config <<'EOF'
train_input_path: "t.csv"
model_dir: "m"
train_config { sparse_optimizer { adagrad_optimizer { lr: 0.1 } constant_learning_rate {} } dense_optimizer { sgd_optimizer { lr: 0.1 } constant_learning_rate {} } num_epochs: 1 }
data_config { dataset_type: CsvDataset batch_size: 3 fg_mode: FG_DAG with_header: true label_fields: "y" }
feature_configs { id_feature { feature_name: "u" expression: "user:u" hash_bucket_size: 100 embedding_dim: 4 } }
feature_configs { id_feature { feature_name: "shop" expression: "item:shop" vocab_file: "shop.txt" default_bucketize_value: 1 embedding_dim: 4 } }
feature_configs { raw_feature { feature_name: "price" expression: "item:price" boundaries: [1.5, 10] embedding_dim: 4 } }
feature_configs { sequence_feature { sequence_name: "clk" sequence_length: 5 features { id_feature { feature_name: "i" expression: "item:i" num_buckets: 9 embedding_dim: 4 } } } }
feature_configs { custom_feature { feature_name: "ed" operator_name: "EditDistance" operator_lib_file: "pyfg/lib/libedit_distance.so" expression: ["user:u", "item:shop"]
  operator_params { fields { key: "encoding" value { string_value: "utf-8" } } } } }
model_config {
  feature_groups { group_name: "all" feature_names: ["u", "shop", "price", "ed"] group_type: DEEP }
  multi_tower { towers { input: "all" mlp { hidden_units: [4] } } final { hidden_units: [4] } }
  losses { binary_cross_entropy {} }
}
EOF
printf 'a\nb\n' >shop.txt
run crank python -m tzrec.tools.create_fg_json --pipeline_config_path t.config --fg_output_dir fg/out --reserves 'y, request_id'
ends 0
says_out <<'EOF'
wrote  fg/out/fg.json, 5 features
EOF
says fg/out/fg.json <<'EOF'
{
    "features": [
        {
            "feature_type": "id_feature",
            "feature_name": "u",
            "default_value": "",
            "expression": "user:u",
            "value_type": "string",
            "need_prefix": false,
            "hash_bucket_size": 100,
            "value_dim": 0
        },
        {
            "feature_type": "id_feature",
            "feature_name": "shop",
...
            "vocab_file": "shop_...txt",
            "default_bucketize_value": 1,
            "value_dim": 0
        },
        {
            "feature_type": "raw_feature",
            "feature_name": "price",
            "default_value": "0",
            "expression": "item:price",
            "value_type": "float",
            "boundaries": [
                1.5,
                10
            ]
        },
        {
            "sequence_name": "clk",
            "sequence_length": 5,
            "sequence_delim": ";",
            "sequence_pk": "user:clk",
            "features": [
                {
                    "feature_type": "id_feature",
                    "feature_name": "i",
                    "default_value": "0",
...
                    "num_buckets": 9,
                    "value_dim": 1
                }
            ]
        },
        {
            "feature_type": "custom_feature",
            "feature_name": "ed",
            "default_value": "0",
            "operator_name": "EditDistance",
            "operator_lib_file": "pyfg/lib/libedit_distance.so",
            "is_op_thread_safe": false,
            "expression": [
                "user:u",
                "item:shop"
            ],
            "value_type": "float",
            "encoding": "utf-8",
            "value_dim": 1
        }
    ],
    "reserves": [
        "y",
        "request_id"
    ]
}
EOF
[ "$(cat fg/out/shop_*.txt)" = "$(cat shop.txt)" ] || fail "the vocabulary was not copied"
# the same bytes again, and from another spelling of the config
run crank config t.config
cp "$out" t.yaml
run crank create_fg_json t.yaml --fg_output_dir again --reserves y,request_id
ends 0
same fg/out again
run crank create_fg_json t.config --fg_output_dir plain --remove_bucketizer true
ends 0
if grep -E -q 'hash_bucket_size|vocab|boundaries|num_buckets' plain/fg.json; then fail "buckets are left in plain/fg.json"; fi
grep -q default_bucketize_value plain/fg.json || fail "TorchEasyRec keeps default_bucketize_value"
# a parameter that an operator never looks at is most likely misspelled
run crank create_fg_json t.config --fg_output_dir odd --set 'feature_configs[:].custom_feature.operator_params={encodng: utf-8}'
ends 0
has_err "--set:...: warning: feature 'ed': operator 'EditDistance' does not read the parameter 'encodng'; check its name, or leave it out"
run crank create_fg_json t.config --fg_output_dir x --fg_resource_name r
ends 2
has_err "crank create_fg_json: --fg_resource_name is known but not in this version; leave it out"
run crank create_fg_json t.config --fg_output_dir x --remove_bucketizer maybe
ends 2
has_err "crank create_fg_json: --remove_bucketizer is 'maybe' and must be true or false"

# the template and the table of TorchEasyRec's own test
cat >template.config <<'EOF'
feature_configs { id_feature { feature_name: "user_id" expression: "user:user_id" embedding_dim: 4 } }
feature_configs { id_feature { feature_name: "item_id" expression: "item:item_id" embedding_dim: 4 } }
feature_configs { id_feature { feature_name: "author" expression: "item:author" embedding_dim: 4 } }
feature_configs { id_feature { feature_name: "day_h" expression: "user:day_h" embedding_dim: 4 } }
feature_configs { raw_feature { feature_name: "item_cnt" expression: "item:item_cnt" embedding_dim: 4 } }
feature_configs { sequence_feature { sequence_name: "click_50_seq" sequence_length: 50 sequence_delim: ";"
  features { id_feature { feature_name: "item_id" expression: "item:item_id" } }
  features { id_feature { feature_name: "author" expression: "item:author" } }
  features { raw_feature { feature_name: "ts" expression: "user:ts" } } } }
feature_configs { sequence_feature { sequence_name: "like_50_seq" sequence_length: 50 sequence_delim: ";"
  features { id_feature { feature_name: "item_id" expression: "item:item_id" } }
  features { id_feature { feature_name: "author" expression: "item:author" } }
  features { raw_feature { feature_name: "ts" expression: "user:ts" embedding_dim: 2 } } } }
model_config {
  feature_groups { group_name: "all"
    feature_names: "user_id" feature_names: "item_id" feature_names: "author" feature_names: "day_h" feature_names: "item_cnt" group_type: DEEP
    sequence_groups { group_name: "click_50_seq" feature_names: ["item_id", "author", "click_50_seq__item_id", "click_50_seq__author", "click_50_seq__ts"] }
    sequence_groups { group_name: "like_50_seq" feature_names: "author" feature_names: "like_50_seq__author" feature_names: "like_50_seq__ts" }
    sequence_encoders { din_encoder { input: "click_50_seq" attn_mlp { hidden_units: [32] } } }
    sequence_encoders { din_encoder { input: "like_50_seq" attn_mlp { hidden_units: [32] } } }
  }
}
EOF
cat >info.csv <<'EOF'
feature,feature_info,message
user_id,"{""hash_bucket_size"": 8278840, ""embedding_dim"": 36}",
item_id,"{""hash_bucket_size"": 3848650, ""embedding_dim"": 28}",fine
day_h,"{""hash_bucket_size"": 240, ""embedding_dim"": 8}",
author,{},only one value: DROP IT
item_cnt,"{""boundary"": [-1023.9, 4.01, 461.01, 1057.01], ""embedding_dim"": 8}",
click_50_seq__item_id,"{""hash_bucket_size"": 3848650, ""embedding_dim"": 28}",
click_50_seq__author,{},DROP IT
click_50_seq__ts,"{""boundary"": [10, 20, 30, 40], ""embedding_dim"": 8}",
like_50_seq__item_id,{},DROP IT
like_50_seq__author,{},DROP IT
like_50_seq__ts,"{""boundary"": [10, 20, 30, 40], ""embedding_dim"": 8}",
EOF
run crank python -m tzrec.tools.add_feature_info_to_config --template_model_config_path template.config --model_config_path new.config --config_table_path info.csv --reader_type CsvReader
ends 0
says_out <<'EOF'
wrote  new.config, 7 features edited, 4 dropped
EOF
says new.config <<'EOF'
feature_configs {
  id_feature {
    feature_name: "user_id"
    expression: "user:user_id"
    embedding_dim: 36
    hash_bucket_size: 8278840
  }
}
feature_configs {
  id_feature {
    feature_name: "item_id"
    expression: "item:item_id"
    embedding_dim: 28
    hash_bucket_size: 3848650
  }
}
feature_configs {
  id_feature {
    feature_name: "day_h"
    expression: "user:day_h"
    embedding_dim: 8
    hash_bucket_size: 240
  }
}
feature_configs {
  raw_feature {
    feature_name: "item_cnt"
    expression: "item:item_cnt"
    embedding_dim: 8
    boundaries: [-1023.9, 4.01, 461.01, 1057.01]
  }
}
feature_configs {
  sequence_feature {
    sequence_name: "click_50_seq"
    sequence_length: 50
    sequence_delim: ";"
    features {
      id_feature {
        feature_name: "item_id"
        expression: "item:item_id"
        embedding_dim: 28
        hash_bucket_size: 3848650
      }
    }
    features {
      raw_feature {
        feature_name: "ts"
        expression: "user:ts"
        embedding_dim: 8
        boundaries: [10, 20, 30, 40]
      }
    }
  }
}
feature_configs {
  sequence_feature {
    sequence_name: "like_50_seq"
    sequence_length: 50
    sequence_delim: ";"
    features {
      raw_feature {
        feature_name: "ts"
        expression: "user:ts"
        embedding_dim: 8
        boundaries: [10, 20, 30, 40]
      }
    }
  }
}
model_config {
  feature_groups {
    group_name: "all"
    feature_names: ["user_id", "item_id", "day_h", "item_cnt"]
    group_type: DEEP
    sequence_groups {
      group_name: "click_50_seq"
      feature_names: ["item_id", "click_50_seq__item_id", "click_50_seq__ts"]
    }
    sequence_encoders {
      din_encoder {
        input: "click_50_seq"
        attn_mlp {
          hidden_units: [32]
        }
      }
    }
  }
}
EOF
# the same from a Parquet table, into YAML; features without a row stay, rows without a feature do nothing: a line for each kind
pq_make info.parquet "feature:string, feature_info:string, message:string" <<'EOF'
user_id|{"embedding_dim": 3, "hash_bucket_size": 7}|null
usr_id|{"embedding_dim": 3}|null
EOF
run crank add_feature_info_to_config --template_model_config_path template.config --model_config_path new.yaml --config_table_path info.parquet
ends 0
has_err "crank add_feature_info_to_config: warning: 10 features are not in the table and stay as they are: 'item_id', 'author', 'day_h', 'item_cnt', 'click_50_seq__item_id' ..."
has_err "info.parquet: warning: 'usr_id' is no feature of the config and nothing was done about it; compare the names (...)"
[ "$(grep -c warning "$err")" = 2 ] || fail "a line per feature"
has new.yaml '...hash_bucket_size: 7' || fail "new.yaml has no hash_bucket_size"
# with USE_RTP=1 features of a block have one _ in their names
sed 's/_50_seq__/_50_seq_/g' info.csv >rtp.csv
sed 's/_50_seq__/_50_seq_/g' template.config >rtp_template.config
run env USE_RTP=1 crank add_feature_info_to_config --template_model_config_path rtp_template.config --model_config_path rtp.config --config_table_path rtp.csv
ends 0
sed 's/_50_seq__/_50_seq_/g' new.config >want.config
same rtp.config want.config
# what may be wrong
printf 'feature,feature_info,message\nuser_id,{,\n' >bad.csv
run crank add_feature_info_to_config --template_model_config_path template.config --model_config_path bad.config --config_table_path bad.csv
ends 3
has_err "bad.csv: row 1, feature 'user_id': feature_info is no JSON: ..."
printf 'feature,feature_info,message\nuser_id,{},\n' >bad.csv
run crank add_feature_info_to_config --template_model_config_path template.config --model_config_path bad.config --config_table_path bad.csv
ends 3
has_err "bad.csv: row 1, feature 'user_id': feature_info has no embedding_dim of 1 to 65536; add it"
printf 'feature,message\nuser_id,\n' >bad.csv
run crank add_feature_info_to_config --template_model_config_path template.config --model_config_path bad.config --config_table_path bad.csv
ends 2
has_err "...feature_info..."
is_gone bad.config
# what the type of a feature does not take is told at its row
printf 'feature,feature_info,message\nitem_cnt,"{""embedding_dim"": 4, ""hash_bucket_size"": 9}",\n' >bad.csv
run crank add_feature_info_to_config --template_model_config_path template.config --model_config_path bad.config --config_table_path bad.csv
ends 3
has_err "bad.csv: row 1, feature 'item_cnt': raw_feature takes no hash_bucket_size; correct its row or its type"
for bad in 5 '[]' '{}' '[1, null]'; do
    printf 'feature,feature_info,message\nitem_cnt,"{""embedding_dim"": 4, ""boundary"": %s}",\n' "$bad" >bad.csv
    run crank add_feature_info_to_config --template_model_config_path template.config --model_config_path bad.config --config_table_path bad.csv
    ends 3
    has_err "bad.csv: row 1, feature 'item_cnt': boundary is not a list of numbers"
done
is_gone bad.config

# fg.json does not depend on where the rows and checkpoints lie, so stores that crank does not read are no hindrance
sed 's,"t.csv","odps://p/tables/t/ds=1",; s,model_dir: "m",model_dir: "oss://b/m",; s,CsvDataset,OdpsDataset,; s,num_epochs: 1,num_epochs: 1 fine_tune_checkpoint: "hdfs://n/c",' t.config >far.config
run crank create_fg_json far.config --fg_output_dir far --reserves 'y, request_id'
ends 0
same fg/out far
run crank create_fg_json far.config --fg_output_dir far --set 'feature_configs[0].id_feature.hash_bucket_size=7'
ends 0
grep -q '"hash_bucket_size": 7,' far/fg.json || fail "--set was forgotten"
run crank create_fg_json far.config --fg_output_dir far2 --set data_config.dataset_type=OddDataset
ends 2
has_err "--set:1:...: dataset_type: unknown value 'OddDataset'; ..."
