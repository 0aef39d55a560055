# sequence encoders in a DEEP group. The label says whether the row's item is in its history: without the history there is nothing to learn, with
# one that is only pooled a part of it, an encoder that compares learns nearly all (of 20 labels 1 is turned). The whole way, any threads, and mistakes
awk 'function r(m) { s = (s * 16807) % 2147483647; return int(s / 64) % m }
BEGIN {
    s = 99
    for (f = 0; f < 2; f++) {
        name = f ? "eval.csv" : "train.csv"
        print "clk,user,item,clicks__item,clicks__price,shops" >name
        for (i = 0; i < (f ? 2000 : 16000); i++) {
            v = r(30); n = 2 + r(8); y = r(2); at = r(n); seq = prices = shops = ""
            for (j = 0; j < n; j++) {
                w = (v + 1 + r(29)) % 30
                if (y && j == at) w = v
                seq = seq (j ? ";" : "") w
                prices = prices (j ? ";" : "") r(11) / 10
                shops = shops (j ? ";" : "") w % 5
            }
            printf "%d,%d,%d,%s,%s,%s\n", y != (r(20) == 0), r(50), v, seq, prices, shops >name
        }
    }
}'
cat >plain.yaml <<'END'
train_input_path: train.csv
eval_input_path: eval.csv
model_dir: model
train_config:
  sparse_optimizer: {adagrad_optimizer: {lr: 0.1}, constant_learning_rate: {}}
  dense_optimizer: {adam_optimizer: {lr: 0.005}, constant_learning_rate: {}}
  num_epochs: 6
data_config: {dataset_type: CsvDataset, batch_size: 256, fg_mode: FG_NORMAL, with_header: true, label_fields: [clk]}
feature_configs:
  - id_feature: {feature_name: user, expression: "user:user", num_buckets: 50, embedding_dim: 8}
  - id_feature: {feature_name: item, expression: "item:item", embedding_name: item_emb, num_buckets: 30, embedding_dim: 8}
  - sequence_feature:
      sequence_name: clicks
      sequence_length: 50
      features:
      - id_feature: {feature_name: item, expression: "item:item", embedding_name: item_emb, num_buckets: 30, embedding_dim: 8}
      - raw_feature: {feature_name: price, expression: "item:price"}
  - sequence_id_feature: {feature_name: shops, expression: "user:shops", num_buckets: 5, embedding_dim: 4}
model_config:
  feature_groups:
    - group_name: deep
      group_type: DEEP
      feature_names: [user, item]
  multi_tower:
    towers: [{input: deep, mlp: {hidden_units: [32]}}]
    final: {hidden_units: [16]}
  losses: [{binary_cross_entropy: {}}]
  metrics: [{auc: {}}]
END
auc_of() { sed -n 's/.*"auc": *\([0-9.]*\).*/\1/p' "$1/train_eval_result_v2.txt" | tail -n 1; }
# with TO GROUPS ENCODERS: plain.yaml with these in its group, at lines 24 and 25
with() {
    awk -v g="$2" -v e="$3" '{ print } /feature_names: \[user, item\]/ { print "      sequence_groups: [" g "]"; print "      sequence_encoders: [" e "]" }' plain.yaml >$1
}
attn='attn_mlp: {hidden_units: [32, 16]}'
clicks='{feature_names: [item, clicks__item]}'
run crank train plain.yaml
ends 0
plain=$(auc_of model)
try() { # try NAME GROUPS ENCODER LEAST MOST
    with $1.yaml "$2" "{$3}"
    run crank train $1.yaml --threads 1 --model_dir $1
    ends 0
    run crank train $1.yaml --threads 2 --model_dir $1_2
    ends 0
    same_weights $1 $1_2
    auc=$(auc_of $1)
    awk -v a="$auc" -v l="$4" -v m="$5" -v p="$plain" 'BEGIN { exit !(a > l && a < m && p < 0.55) }' || fail "auc of $1 '$auc', without sequences '$plain'"
    run crank export $1/pipeline.config --export_dir $1_export
    ends 0
    run crank predict --scripted_model_path $1_export --predict_input_path eval.csv --predict_output_path $1_a
    ends 0
    run crank predict --pipeline_config_path $1/pipeline.config --predict_input_path eval.csv --predict_output_path $1_b --threads 1 --set data_config.batch_size=37
    ends 0
    same $1_a/part-0.csv $1_b/part-0.csv
}
try din "$clicks" "din_encoder: {$attn}" 0.92 0.97
try simple "$clicks" "simple_attention: {}" 0.92 0.97
try windows "$clicks" "multi_window_din_encoder: {$attn, windows_len: [3, 3, 4]}" 0.92 0.97
try pooled '{feature_names: [clicks__item]}' "pooling_encoder: {pooling_type: sum}" 0.6 0.9
try self '{feature_names: [clicks__item]}' "self_attention_encoder: {multihead_attn_dim: 16, num_heads: 2, dropout: 0.1}" 0.6 0.9
# a pause does not matter, also for what is drawn
run crank train self.yaml --model_dir paused --set train_config.num_steps=100 --set train_config.num_epochs=0
ends 0
run crank train self.yaml --model_dir paused --continue_train
ends 0
same_weights self paused

# mistakes: place, cause, cure
wrong() { # wrong GROUPS ENCODERS TEXT
    with bad.yaml "$1" "$2"
    run crank check bad.yaml
    ends 2
    has_err "$3"
}
wrong "$clicks" "{din_encoder: {$attn, input: click}}" "bad.yaml:25:...: there is no sequence group 'click' in feature group 'deep'; add it to its sequence_groups"
wrong "{group_name: clicks, feature_names: [item, clicks__item]}" "{din_encoder: {$attn, input: click}}" "bad.yaml:25:...: there is no sequence group 'click' in feature group 'deep'; did you mean 'clicks'?"
wrong "{group_name: a, feature_names: [item, clicks__item]}, {group_name: b, feature_names: [shops]}" "{pooling_encoder: {input: b}}, {simple_attention: {}}" \
    "bad.yaml:25:...: feature group 'deep' has 2 sequence_groups; say with input which one this encoder reads"
wrong "{group_name: a, feature_names: [item, clicks__item]}, {group_name: b, feature_names: [shops]}" "{pooling_encoder: {input: b}}" \
    "bad.yaml:24:...: no encoder of feature group 'deep' reads the sequence group 'a'; add one with input: \"a\", or remove the group"
wrong "{group_name: a, feature_names: [clicks__item]}, {feature_names: [shops]}" "{pooling_encoder: {input: a}}" \
    "bad.yaml:24:...: feature group 'deep' has several sequence_groups, so each needs a group_name; give this one a name"
wrong "{group_name: a, feature_names: [clicks__item]}, {group_name: a, feature_names: [shops]}" "{pooling_encoder: {input: a}}" \
    "bad.yaml:24:...: sequence group 'a' is already defined at line 24; give one of them another name"
wrong "$clicks" "" "bad.yaml:24:...: feature group 'deep' has sequence_groups but no sequence_encoders; add for example sequence_encoders: [{pooling_encoder: {}}]"
wrong "" "{pooling_encoder: {}}" "bad.yaml:25:...: feature group 'deep' has sequence_encoders but no sequence_groups; add the group that they read"
wrong "{feature_names: [item]}" "{pooling_encoder: {}}" "bad.yaml:24:...: sequence group 'deep' has no sequence among its features; add one of a sequence_feature (named sequence__feature)"
wrong "{feature_names: []}" "{pooling_encoder: {}}" "bad.yaml:24:...: sequence group 'deep' has no feature_names; list its features"
wrong "{feature_names: [clicks__itm]}" "{pooling_encoder: {}}" "bad.yaml:24:...: sequence group 'deep' names an unknown feature 'clicks__itm'; did you mean 'clicks__item'?"
wrong "{feature_names: [clicks__item]}" "{din_encoder: {$attn}}" "bad.yaml:25:...: attention compares the plain features of group 'deep' (0 wide) with its sequences (8 wide); add the target's features"
wrong "{feature_names: [user, item, clicks__item]}" "{din_encoder: {$attn}}" \
    "bad.yaml:25:...: attention compares the plain features of group 'deep' (16 wide) with its sequences (8 wide); the plain ones may not be wider"
wrong "{feature_names: [item, clicks__item, clicks__price]}" "{simple_attention: {}}" \
    "bad.yaml:25:...: simple_attention multiplies the plain features of group 'deep' (8 wide) with its sequences (9 wide); make both equally wide, or use din_encoder"
wrong "$clicks" "{pooling_encoder: {pooling_type: max}}" "bad.yaml:25:...: pooling_type is 'max'; write mean or sum"
wrong "$clicks" "{multi_window_din_encoder: {$attn}}" "bad.yaml:25:...: windows_len is empty; give from 1 to 1024 windows of some steps each"
wrong "$clicks" "{self_attention_encoder: {multihead_attn_dim: 10, num_heads: 4}}" "bad.yaml:25:...: multihead_attn_dim 10 is not a multiple of num_heads 4; make it one"
wrong "$clicks" "{self_attention_encoder: {dropout: 1}}" "bad.yaml:25:...: a dropout of 1 drops all attention; use a value below 1"
wrong "$clicks" "{self_attention_encoder: {dropout: 0.99999999}}" "bad.yaml:25:...: a dropout of 1 drops all attention; use a value below 1"
sed -i 's/group_type: DEEP/group_type: WIDE/' bad.yaml
run crank check bad.yaml
ends 2
has_err "bad.yaml:22:...: sequence_groups and sequence_encoders stand in groups of type DEEP; write group_type: DEEP in group 'deep', or move them to such a group"
# groups of sequences where a model needs one vector per row
for type in SEQUENCE JAGGED_SEQUENCE; do
    sed "s/group_type: DEEP/group_type: $type/; s/\[user, item\]/[item, clicks__item]/" plain.yaml >type.yaml
    run crank check type.yaml
    ends 2
    has_err "type.yaml:22:...: feature group 'deep' is of type $type, ...; put its features in sequence_groups of a group of type DEEP, with an encoder"
done
# and the other way round
sed "s/\[user, item\]/[item]/; s/  multi_tower:/  multi_tower_din:/; s/towers: .*/din_towers: [{input: deep, $attn}]/" plain.yaml >type.yaml
run crank check type.yaml
ends 2
has_err "type.yaml:22:...: feature group 'deep' is read as a query and its sequences; write group_type: SEQUENCE"
# no sequence is padded, so JAGGED_SEQUENCE is the same
for type in SEQUENCE JAGGED_SEQUENCE; do
    sed "s/group_type: DEEP/group_type: $type/; s/\[user, item\]/[item, clicks__item]/; s/  multi_tower:/  multi_tower_din:/; s/towers: .*/din_towers: [{input: deep, $attn}]/; s/num_epochs: 6/num_steps: 5/" plain.yaml >type.yaml
    run crank train type.yaml --model_dir $type
    ends 0
done
same_weights SEQUENCE JAGGED_SEQUENCE
sed "s/group_type: DEEP/group_type: SEQUENCE/; s/\[user, item\]/[item, clicks__item]/; s/  multi_tower:/  multi_tower_din:/; s/towers: .*/din_towers: [{input: deep, $attn}]/" pooled.yaml >type.yaml
run crank check type.yaml
ends 2
has_err "type.yaml:22:...: sequence_groups and sequence_encoders stand in groups of type DEEP; ..."
# what is no mistake but worth a word
with warn.yaml "$clicks" "{multi_window_din_encoder: {$attn, windows_len: [3, 4]}}, {pooling_encoder: {}}"
run crank check warn.yaml
ends 0
has_err "...warn.yaml:25:...: the windows hold 7 steps and sequences may have 50 (sequence_length); steps behind the last window do not count, add a window to read them"
with warn.yaml "$clicks" "{pooling_encoder: {}}"
run crank check warn.yaml
ends 0
has_err "...warn.yaml:24:...: the encoders of sequence group 'deep' read its sequences only; its plain features have no effect, remove them"
with warn.yaml "{feature_names: [clicks__item, clicks__item]}" "{pooling_encoder: {}}"
run crank check warn.yaml
ends 0
has_err "...warn.yaml:24:...: sequence group 'deep' names 'clicks__item' again; remove it"
# columns that disagree in their steps
with two.yaml "{feature_names: [clicks__item, shops]}" "{pooling_encoder: {}}"
sed '7s/,[^,]*$/,1;2;3;4;0;1;2;3;4;0;1;2/' train.csv >uneven.csv
run crank train two.yaml --train_input_path uneven.csv --model_dir uneven
ends 3
has_err "...the sequence 'clicks__item' has ... steps and 'shops' has 12; sequences of one group must be equally long: correct the data, or give each a group of its own"
