# models that PaddleRec has since 2.1: train, evaluate, migrate, and their mistakes

# criteo N: made-up rows; the label follows from the first id
criteo() {
    awk -v n="$1" 'function r(k) { x = (x * 1103515245 + 12345) % 2147483648; return int(x / 65536) % k }
    BEGIN { x = 7; for (i = 0; i < n; i++) {
        id = r(30); printf "click:%d", (id % 3 == 0)
        for (k = 1; k <= 13; k++) printf " dense_feature:%.2f", r(100) / 100
        for (k = 1; k <= 26; k++) printf " %d:%d", k, (k == 1 ? id : r(90)) + 1
        print ""
    } }'
}

# purchases N: click, purchase and three ids
purchases() {
    awk -v n="$1" 'function r(k) { x = (x * 1103515245 + 12345) % 2147483648; return int(x / 65536) % k }
    BEGIN { x = 3; for (i = 0; i < n; i++) { id = r(30); c = (id % 3 == 0); printf "%d,%d,%d,%d,%d\n", c, (c && id % 2), id, r(8), r(4) } }'
}

# clicks N: id, click, buy, and features of fields
clicks() {
    awk -v n="$1" 'function r(k) { x = (x * 1103515245 + 12345) % 2147483648; return int(x / 65536) % k }
    BEGIN { x = 5; for (i = 0; i < n; i++) { id = r(30); c = (id % 3 == 0); printf "%d,%d,%d,101:%d,121:%d,301:%d,301:%d\n", i, c, (c && id % 2), id + 1, r(8) + 40, r(4) + 60, r(4) + 70 } }'
}

# config NAME HYPER [RUNNER]
config() {
    mkdir -p "$1/train" "$1/test"
    cat >"$1/config.yaml" <<END
runner:
  train_data_dir: "train"
  train_reader_path: "some_reader"
  use_gpu: False
  train_batch_size: 8
  epochs: 2
  print_interval: 4
  model_save_path: "output_$1"
  infer_batch_size: 5
  test_data_dir: "test"
  infer_load_path: "output_$1"
  infer_start_epoch: 0
  infer_end_epoch: 2
${3:-}
hyper_parameters:
  optimizer: {class: Adam, learning_rate: 0.01, strategy: async}
$2
END
}
sizes='  sparse_inputs_slots: 27
  sparse_feature_number: 101
  sparse_feature_dim: 3
  dense_input_dim: 13
  distributed_embedding: 0'
config gatenet "$sizes
  fc_sizes: [8, 4]
  use_embedding_gate: True
  use_hidden_gate: True"
config difm '  sparse_inputs_slots: 27
  dense_input_dim: 13
  sparse_field_num: 26
  sparse_feature_num: 101
  sparse_feature_dim: 3
  dense_feature_dim: 13
  att_factor_dim: 2
  att_head_num: 2
  fen_layers_size: [8, 27]
  dense_layers_size: [8, 3]'
config deepfefm "$sizes
  fc_sizes: [8, 4]"
config fat_deepffm "$sizes
  layer_sizes_dnn: [8, 4]"
config aitm '  embedding_size: 3
  dims: [8, 4]
  drop_prob: [0.1, 0.3]
  feature_vocabulary: [["101", 30], ["121", 8], ["122", 4]]'
for m in gatenet difm deepfefm fat_deepffm; do
    criteo 96 >$m/train/part-0
    criteo 40 >$m/test/part-0
done
{
    echo click,purchase,101,121,122
    purchases 96
} >aitm/train/train.csv
purchases 40 >aitm/test/test.csv

config escm2 '  sparse_feature_number: 100
  sparse_feature_dim: 3
  num_field: 23
  ctr_fc_sizes: [8, 4]
  cvr_fc_sizes: [8, 4]
  global_w: 1.0
  counterfactual_w: 0.01
  feature_size: 69
  expert_num: 3
  gate_num: 3
  expert_size: 4
  tower_size: 4' '  counterfact_mode: "DR"'
clicks 96 >escm2/train/part-0
clicks 40 >escm2/test/part-0

for m in gatenet difm deepfefm fat_deepffm aitm escm2; do
    # the metrics have the names that PaddleRec prints
    case $m in
    aitm) names='click_auc: ..., purchase_auc: ...,' ;;
    escm2) names='auc_ctr: ..., auc_cvr: ..., auc_ctcvr: ...,' ;;
    *) names='auc: ...,' ;;
    esac
    run crank run -m "$m/config.yaml" --threads 2
    ends 0
    has_out "... - INFO - epoch: 1 done, $(echo "$names" | sed 's/, /,/g')loss:..., epoch time: ... s"
    run crank run -m "$m/config.yaml" --infer
    ends 0
    [ $m != escm2 ] || names='auc_ctcvr: ..., auc_ctr: ..., auc_cvr: ...,' # by name
    has_out "... - INFO - epoch: 1 done, $(echo "$names" | sed 's/, /,/g') epoch time: ... s"
    run crank run -m "$m/config.yaml" --compat paddlerec -o runner.epochs=1
    ends 0
    run crank config "$m/config.yaml"
    ends 0
    cp "$out" "$m.yaml"
    # the same bytes for any number of threads
    for n in 1 3; do
        run crank train "$m.yaml" --model_dir "${n}_$m" --threads $n
        ends 0
    done
    same_weights "1_$m" "3_$m"
done

# without imputed losses, and where the first label is not there
run crank run -m escm2/config.yaml -o runner.counterfact_mode=IPW runner.model_save_path=ipw
ends 0
run crank params ipw/1
has_out "...model.blocks.experts.gate_finals.1.weight..."
grep -q "gate_finals.2" "$out" && fail "a third gate"
sed 's/condition: .*/condition: clik/' escm2.yaml >wrong.yaml
run crank train wrong.yaml --model_dir wrong
ends 2
has_err "wrong.yaml:...: 'clik' is not among label_fields; add it there"

# in a folder of another name, their hyper-parameters tell them
for m in gatenet difm; do
    cp -r $m mine
    run crank run -m mine/config.yaml -o runner.epochs=1
    ends 0
    has_err "mine/config.yaml:...: note: the hyper-parameters are those of PaddleRec's $m, so that is the model; ..."
    rm -r mine
done

# mistakes at their place
sed 's/fen_layers_size: \[8, 27\]/fen_layers_size: [8, 26]/' difm/config.yaml >difm/wrong.yaml
run crank run -m difm/wrong.yaml
ends 2
has_err "difm/wrong.yaml:...: the last of fen_layers_size must be the number of fields and 1, 27, and the last of dense_layers_size that of sparse_feature_dim, 3"
sed 's/\["121", 8\]/["121"]/' aitm/config.yaml >aitm/wrong.yaml
run crank run -m aitm/wrong.yaml
ends 2
has_err "aitm/wrong.yaml:20:37: feature_vocabulary: item 2 must be a name and a number of values, such as ['101', 238635]"
sed 's/drop_prob: \[0.1, 0.3\]/drop_prob: [0.1]/' aitm/config.yaml >aitm/wrong.yaml
run crank run -m aitm/wrong.yaml
ends 2
has_err "aitm/wrong.yaml:19:14: drop_prob must have a number for each of dims, 2"
