# configs in the shape of TorchEasyRec's dbmtl, mmoe and ple with sequences: two grouped sequences of ids and numbers, a target attention
# over each in the DEEP group, tasks ctr and cvr, batches of 8192. The whole way, any threads
awk 'function r(m) { s = (s * 16807) % 2147483647; return int(s / 64) % m }
function steps(name, n,    j, a, b, c, d, bar) {
    a = b = c = d = ""
    for (j = 0; j < n; j++) {
        bar = j ? "|" : ""
        a = a bar r(200); b = b bar r(20); c = c bar r(4); d = d bar r(100) / 50 - 1
    }
    return a "," b "," c "," d
}
BEGIN {
    s = 7
    for (f = 0; f < 2; f++) {
        name = f ? "eval.csv" : "train.csv"
        print "clk,buy,user,ad,shop,price,heat,click_seq__ad,click_seq__shop,click_seq__price,click_seq__heat,buy_seq__ad,buy_seq__shop,buy_seq__price,buy_seq__heat" >name
        for (i = 0; i < (f ? 900 : 17000); i++) {
            y = r(3) == 0
            printf "%d,%d,%d,%d,%d,%d,%g,%s,%s\n", y, y && r(2), r(500), r(200), r(20), r(4), r(100) / 50 - 1, steps("c", r(9)), steps("b", r(3)) >name
        }
    }
}'
ids() { # ids NAME BUCKETS DIM
    echo "id_feature { feature_name: \"$1\" num_buckets: $2 embedding_dim: $3 }"
}
seq() { # seq NAME
    echo "feature_configs { sequence_feature { sequence_name: \"$1\", sequence_length: 50 sequence_delim: \"|\""
    echo "  features { $(ids ad 200 16) } features { $(ids shop 20 8) }"
    echo "  features { raw_feature { feature_name: \"price\" boundaries: [0.2, 0.4, 0.6] embedding_dim: 16 } }"
    echo "  features { raw_feature { feature_name: \"heat\" } } } }"
}
seq_group() { # seq_group NAME
    echo "sequence_groups { group_name: \"$1\" feature_names: \"ad\" feature_names: \"shop\" feature_names: \"price\" feature_names: \"heat\""
    for f in ad shop price heat; do echo "feature_names: \"$1__$f\""; done
    echo "} sequence_encoders { din_encoder { input: \"$1\" attn_mlp { hidden_units: [32, 8] } } }"
}
tower() { # tower NAME LABEL MORE
    echo "task_towers { tower_name: \"$1\" label_name: \"$2\" mlp { hidden_units: [32, 16] } metrics { auc {} } losses { binary_cross_entropy {} } ${3:-} }"
}
config() { # config MODEL
    cat <<END
train_input_path: "train.csv"
eval_input_path: "eval.csv"
model_dir: "$1"
train_config {
  sparse_optimizer { adagrad_optimizer { lr: 0.001 } constant_learning_rate {} }
  dense_optimizer { adam_optimizer { lr: 0.001 } constant_learning_rate {} }
  num_epochs: 1
}
eval_config {}
data_config { batch_size: 8192 dataset_type: CsvDataset fg_mode: FG_NONE with_header: true label_fields: "clk" label_fields: "buy" num_workers: 8 }
feature_configs { $(ids user 500 16) }
feature_configs { $(ids ad 200 16) }
feature_configs { $(ids shop 20 8) }
feature_configs { raw_feature { feature_name: "price" boundaries: [0.2, 0.4, 0.6] embedding_dim: 16 } }
feature_configs { raw_feature { feature_name: "heat" } }
$(seq click_seq)
$(seq buy_seq)
model_config {
  feature_groups {
    group_name: "all" feature_names: ["user", "ad", "shop", "price", "heat"] group_type: DEEP
    $(seq_group click_seq)
    $(seq_group buy_seq)
  }
END
    case $1 in
    dbmtl) echo "dbmtl { bottom_mlp { hidden_units: [64] } $(tower ctr clk) $(tower cvr buy 'relation_tower_names: "ctr" relation_mlp { hidden_units: [16] }') } }" ;;
    mmoe) echo "mmoe { expert_mlp { hidden_units: [64, 32] } num_expert: 3 $(tower ctr clk) $(tower cvr buy) } }" ;;
    ple)
        echo "ple { extraction_networks { network_name: \"l1\" expert_num_per_task: 2 share_num: 1 task_expert_net { hidden_units: [64] } share_expert_net { hidden_units: [64] } }"
        echo "$(tower ctr clk) $(tower cvr buy) } }"
        ;;
    esac
}
# with other losses, and features that may be dropped
config dbmtl | sed 's/binary_cross_entropy {}/binary_focal_loss {}/; s/^dbmtl/variational_dropout {} dbmtl/' >more.config
run crank train more.config --model_dir more
ends 0
for m in dbmtl mmoe ple; do
    config $m >$m.config
    run crank train $m.config --threads 1
    ends 0
    run crank train $m.config --threads 2 --model_dir ${m}2
    ends 0
    same_weights $m ${m}2
    run crank eval $m/pipeline.config --eval_result_filename again.txt
    ends 0
    has $m/again.txt '..."auc_ctr"...' || fail "no auc_ctr"
    has $m/again.txt '..."auc_cvr"...' || fail "no auc_cvr"
    run crank export $m/pipeline.config --export_dir ${m}_export
    ends 0
    run crank predict --scripted_model_path ${m}_export --predict_input_path eval.csv --predict_output_path ${m}_a
    ends 0
    run crank predict --pipeline_config_path $m/pipeline.config --predict_input_path eval.csv --predict_output_path ${m}_b --threads 1 --set data_config.batch_size=37
    ends 0
    same ${m}_a/part-0.csv ${m}_b/part-0.csv
    run crank params $m
    ends 0
    has_out "...model.embedding_group._group_name_to_seq_encoders.all.1.mlp.mlp.1.perceptron.0.weight ..."
    has_out "...model.embedding_group.seq_emb_impls.__BASE__.ec_dict.8.embeddings.click_seq__shop_emb.weight ..."
    has_out "...model.embedding_group.seq_emb_impls.__BASE__.ec_dict.16.embeddings.ad_emb.weight ..."
done
