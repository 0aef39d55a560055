# models of PaddleRec over histories, texts, sessions, documents and pairs: train, evaluate, migrate

# rows N FORM: made-up rows; what is right follows from the first id
rows() {
    awk -v n="$1" -v form="$2" 'function r(k) { x = (x * 1103515245 + 12345) % 2147483648; return int(x / 65536) % k }
    BEGIN { x = 7; for (i = 0; i < n; i++) {
        id = r(30); y = (id % 3 == 0); m = 1 + r(5)
        if (form == "clicks") {
            printf "userid:%d", r(20)
            for (k = 0; k < m; k++) printf " history:%d", (k ? r(30) : id)
            for (k = 0; k < m; k++) printf " cate:%d", r(5)
            for (k = 0; k < m; k++) printf " position:%d", k
            printf " target:%d target_cate:%d target_position:0 label:%d\n", id, r(5), y
        } else if (form == "history") {
            a = ""; b = ""
            for (k = 0; k < m; k++) { a = a (k ? " " : "") r(30); b = b (k ? " " : "") r(5) }
            printf "%s;%s;%d;%d;%d\n", a, b, id, r(5), y
        } else if (form == "session") {
            printf "%d", id
            for (k = 1; k <= m; k++) printf " %d", (id + k) % 30
            print " "
        } else if (form == "log") {
            printf "%d,%d,%d\n", i % 12, (i % 12 + i) % 29 + 1, i
        } else if (form == "found") {
            printf "user_id:%d target_item:0", i
            for (k = 0; k < m; k++) printf " hist_item:%d", 1 + (id + k) % 29
            printf " eval_item:%d eval_item:%d\n", 1 + (id + m) % 29, 1 + r(29)
        } else if (form == "vectors") {
            for (g = 0; g < 3; g++) { for (k = 0; k < 4; k++) printf "%s%.2f", (k ? "," : ""), (k == id % 4); printf ";" }
            print id % 4
        } else if (form == "documents" || form == "pairs") {
            for (g = 0; g < (form == "pairs" ? 2 : 3); g++) {
                for (k = 0; k < 6; k++) printf "%s%d", (k ? "," : ""), (k == (g < 2 ? id % 6 : (id + 3) % 6))
                printf (g + 1 < (form == "pairs" ? 2 : 3) ? "\t" : "\n")
            }
        } else if (form == "titles") {
            for (k = 0; k < m; k++) printf "0:%d ", id
            for (k = 0; k < m; k++) printf "1:%d ", id + 30
            for (k = 0; k < m; k++) printf "2:%d ", r(30) + 60
            print ""
        } else if (form == "tags") {
            printf "%d,%d", id % 4, id % 4
            for (k = 0; k < m; k++) printf " %d", r(30)
            print " "
        } else if (form == "words") {
            for (k = 0; k < 6; k++) printf "%d ", (k ? r(30) : id)
            print 6, y
        } else if (form == "seeds") {
            for (k = 0; k < m; k++) printf "user_seeds:%d ", id
            printf "target_user:%d label:%d\n", (y ? id : r(30)), y
        } else if (form == "avazu") {
            for (k = 0; k < 23; k++) printf "%d,", (k == 1 ? id % 10 : r(10))
            print y
        } else if (form == "flen") {
            printf "click:%d", y
            for (k = 0; k < 12; k++) printf " user_%d:%d", k, (k ? r(10) : id % 10)
            for (k = 0; k < 3; k++) printf " item_%d:%d", k, r(10)
            for (k = 0; k < 6; k++) printf " contex_%d:%d", k, r(10)
            print ""
        } else if (form == "feat") {
            printf "label:%d", y
            for (k = 1; k <= 39; k++) printf " feat_idx:%d", (k == 1 ? id : r(900)) + 1
            for (k = 1; k <= 39; k++) printf " feat_value:%.2f", (k < 14 ? r(100) / 100 : 1)
            print ""
        } else if (form == "criteo") {
            printf "click:%d", y
            for (k = 1; k <= 13; k++) printf " dense_feature:%.2f", r(100) / 100
            for (k = 1; k <= 26; k++) printf " %d:%d", k, (k == 1 ? id : r(900)) + 1
            print ""
        }
    } }'
}

# model NAME FORM TEST_FORM HYPER [MORE]: a folder of the new kind with data and config
model() {
    mkdir -p "models/$1/train" "models/$1/test"
    rows 96 "$2" >"models/$1/train/part-0"
    rows 40 "$3" >"models/$1/test/part-0"
    cat >"models/$1/config.yaml" <<END
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
${5:-}
hyper_parameters:
  optimizer: {class: Adam, learning_rate: 0.01, strategy: async}
$4
END
}
items='  use_DataLoader: True
  item_emb_size: 4
  cat_emb_size: 4
  is_sparse: False
  item_count: 31
  cat_count: 6'
model bst clicks clicks "$items
  position_emb_size: 4
  position_count: 9
  user_count: 21
  n_encoder_layers: 1
  d_model: 12
  d_key: 6
  d_value: 6
  n_head: 2
  dropout_rate: 0.1
  postprocess_cmd: \"da\"
  preprocess_cmd: \"n\"
  prepostprocess_dropout: 0.1
  d_inner_hid: 8
  relu_dropout: 0.1
  act: \"relu\"
  fc_sizes: [16, 8]"
model dien history history "$items
  act: \"sigmoid\""
model dssm documents pairs '  trigram_d: 6
  neg_num: 1
  slice_end: 8
  fc_sizes: [8, 4]
  fc_acts: ["relu", "relu"]'
model multiview-simnet titles titles '  query_encoder: "gru"
  title_encoder: "cnn"
  query_encode_dim: 6
  title_encode_dim: 6
  sparse_feature_dim: 100
  embedding_dim: 4
  hidden_size: 8
  margin: 0.1
  query_len: 9
  pos_len: 9
  neg_len: 9'
model tagspace tags tags '  vocab_text_size: 40
  vocab_tag_size: 4
  emb_dim: 6
  hid_dim: 12
  win_size: 3
  margin: 0.1
  neg_size: 3
  num_devices: 1
  text_len: 9'
model textcnn words words '  dict_dim: 40
  max_len: 6
  cnn_dim: 6
  cnn_filter_size1: 1
  cnn_filter_size2: 2
  cnn_filter_size3: 3
  emb_dim: 4
  hid_dim: 8
  class_dim: 2
  is_sparse: False'
model flen avazu avazu '  sparse_inputs_slots: 22
  sparse_feature_number: 20
  sparse_num_field: 3
  sparse_feature_dim: 4
  layer_sizes_dnn: [8, 4]
  distributed_embedding: 0'
awk 'BEGIN { for (i = 0; i < 30; i++) print "w" i, i + 1 }' >counts.txt
model word2vec session session '  sparse_feature_number: 40
  sparse_feature_dim: 4
  with_shuffle_batch: False
  neg_num: 3
  window_size: 2' '  word_count_dict_path: "../../counts.txt"
  word_id_dict_path: "../../ids.txt"'
model mind log found '  item_count: 31
  embedding_dim: 4
  hidden_size: 4
  neg_samples: 6
  maxlen: 5
  pow_p: 1.0' '  batches_per_epoch: 100'

for m in bst dien dssm multiview-simnet tagspace textcnn flen mind; do
    run crank run -m "models/$m/config.yaml" --threads 2
    ends 0
    has_out "... - INFO - epoch: 1 done, ...:..., epoch time: ... s"
    is_there "output_$m/0/state.json"
    run crank run -m "models/$m/config.yaml" --infer
    ends 0
    has_out "... - INFO - epoch: 1 done, ...: ..., epoch time: ... s"
    [ $m != mind ] || has_out "... - INFO - epoch: 1 done, recall@50: 0.98750, ndcg@50: ..., hitrate@50: 1.00000, epoch time: ... s"
    run crank config "models/$m/config.yaml"
    ends 0
    cp "$out" "$m.yaml"
    run crank check "$m.yaml"
    ends 0
    # the same bytes for any number of threads
    run crank train "$m.yaml" --model_dir "one_$m" --threads 1
    ends 0
    run crank train "$m.yaml" --model_dir "three_$m" --threads 3
    ends 0
    same_weights "one_$m" "three_$m"
done
# the log of users became sessions
[ "$(head -n 1 output_mind/sessions/sessions.txt)" = "1 13 25 8 20 3 15 27" ] || fail "sessions of the log"
run crank run -m models/mind/config.yaml --compat paddlerec -o runner.epochs=1
ends 0
# an evaluation of mind looks among all items; fewer are found among fewer
run crank run -m models/mind/config.yaml --infer --top_n 3 -o runner.infer_end_epoch=1
ends 0
has_out "... - INFO - epoch: 0 done, recall@3: 0..., ndcg@3: 0..., hitrate@3: 0..., epoch time: ... s"
echo "hist_item:5 eval_item:99" >>models/mind/test/part-0
run crank run -m models/mind/config.yaml --infer -o runner.infer_end_epoch=1
ends bad
has_err "models/mind/test/part-0:41: an item is not a whole number below 31, the number of items of the model; correct the line"
sed -i '$d' models/mind/test/part-0
echo "1,2" >>models/mind/train/part-0
run crank run -m models/mind/config.yaml
ends bad
has_err "models/mind/train/part-0:97: '1,2' is not user,item,time, three whole numbers; correct the line"
# word2vec trains, and its vectors answer questions
awk 'BEGIN { for (i = 0; i < 30; i++) print "w" i, i; print "<UNK> 31" }' >ids.txt
printf ': heading\nW1 w2 w3 w4\nw5 w6 w7 other\nw1 w2\n' >models/word2vec/test/part-0
run crank run -m models/word2vec/config.yaml
ends 0
has_out "... - INFO - epoch: 1 done, acc: ..., epoch time: ... s"
run crank run -m models/word2vec/config.yaml --infer
ends 0
has_out "... - INFO - epoch: 1 done, acc: ..., epoch time: ... s"
echo "w1" >>ids.txt
run crank run -m models/word2vec/config.yaml --infer
ends bad
has_err "...ids.txt:32: the line is not a word and its id; correct it"
echo ": nothing" >models/word2vec/test/part-0
sed -i '$d' ids.txt
run crank run -m models/word2vec/config.yaml --infer
ends bad
has_err "...the folder 'models/word2vec/test' holds no questions; a line is four words: a is to b as c is to d"
run crank run -m models/dien/config.yaml --compat paddlerec -o runner.epochs=1
ends 0
run crank run -m models/bst/config.yaml --compat paddlerec -o runner.epochs=1
ends 0

# the old kind
old_model() { # old_model NAME FORM SLOTS HYPER
    mkdir -p "old/$1/data"
    rows 64 "$2" >"old/$1/data/part-0"
    cat >"old/$1/config.yaml" <<END
workspace: "old/$1"
mode: [t, e]
dataset: [{name: d, type: DataLoader, batch_size: 8, data_path: "{workspace}/data", $3}]
hyper_parameters: {optimizer: {class: SGD, learning_rate: 1e-2}, $4}
runner:
- {name: t, class: train, device: cpu, epochs: 1, save_checkpoint_path: "ckpt_$1"}
- {name: e, class: infer, device: cpu, init_model_path: "ckpt_$1/0"}
phase: [{name: p, model: "{workspace}/model.py", dataset_name: d}]
END
}
reader='data_converter: "{workspace}/reader.py"'
feat='sparse_slots: "label feat_idx", dense_slots: "feat_value:39"'
sizes='sparse_feature_number: 1000, sparse_feature_dim: 4, num_field: 39, reg: 0'
slots=
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26; do slots="$slots $i"; done
flen=
for i in 0 1 2 3 4 5 6 7 8 9 10 11; do flen="$flen user_$i"; done
for i in 0 1 2; do flen="$flen item_$i"; done
for i in 0 1 2 3 4 5; do flen="$flen contex_$i"; done
old_model BST clicks 'sparse_slots: "label history cate position target target_cate target_position"' 'item_emb_size: 4, cat_emb_size: 4, position_emb_size: 4, item_count: 31, cat_count: 6, position_count: 9, n_encoder_layers: 1, d_model: 12, d_key: 6, d_value: 6, n_head: 2, d_inner_hid: 8, fc_sizes: [8], dropout_rate: 0'
old_model dien history "$reader" 'item_emb_size: 4, cat_emb_size: 4, item_count: 31, cat_count: 6, act: sigmoid, use_DataLoader: True'
old_model youtube_dnn vectors "$reader" 'watch_vec_size: 4, search_vec_size: 4, other_feat_size: 4, output_size: 4, layers: [8, 4]'
old_model gru4rec session "$reader" 'vocab_size: 40, hid_size: 6, recall_k: 5, emb_lr_x: 10.0'
old_model ssr session "$reader" 'vocab_size: 40, emb_dim: 6, hidden_size: 4'
old_model look-alike_recall seeds 'sparse_slots: "label user_seeds target_user"' 'user_count: 40, user_emb_size: 4, seeds_num: 20, transformed_size: 4, use_DataLoader: True'
old_model afm feat "$feat" "$sizes, hidden1_attention_size: 4, act: relu"
old_model pnn feat "$feat" "$sizes, deep_input_size: 6, use_inner_product: True, fc_sizes: [8], act: relu"
old_model fgcnn feat "$feat" "$sizes, filters: [3, 4], new_filters: [2, 2], pooling_size: [2, 2], fc_sizes: [8], act: relu, use_batchnorm: False"
old_model fibinet criteo "sparse_slots: \"click$slots\", dense_slots: \"dense_feature:13\"" 'sparse_feature_number: 1001, sparse_feature_dim: 4, dense_input_dim: 13, bilinear_type: all, reduction_ratio: 3, dropout_rate: 0.5, sparse_inputs_slots: 27'
old_model flen flen "sparse_slots: \"click$flen\", dense_slots: \"\"" 'sparse_feature_number: 100, sparse_feature_dim: 4, dense_input_dim: 1, dropout_rate: 0.5, sparse_inputs_slots: 21'
for m in BST dien youtube_dnn gru4rec ssr look-alike_recall afm pnn fgcnn fibinet flen; do
    for compat in "" "--compat paddlerec"; do
        run crank run -m "old/$m/config.yaml" $compat
        ends 0
        has_out "Infer p of epoch 0 done, use time: ..., global metrics: ...=[...]"
    done
done

# mistakes at their place
sed 's/d_key: 6/d_key: 5/' models/bst/config.yaml >models/bst/wrong.yaml
run crank run -m models/bst/wrong.yaml
ends 2
has_err "models/bst/wrong.yaml:...: d_model is the width of a step, ...; make them fit"
sed 's/"cnn"/"rnn"/' models/multiview-simnet/config.yaml >models/multiview-simnet/wrong.yaml
run crank run -m models/multiview-simnet/wrong.yaml
ends 2
has_err "models/multiview-simnet/wrong.yaml:...: title_encoder is 'rnn' and must be bow, cnn or gru"
sed 's/pooling_size: \[2, 2\]/pooling_size: [2]/' old/fgcnn/config.yaml >old/fgcnn/wrong.yaml
run crank run -m old/fgcnn/wrong.yaml
ends 2
has_err "old/fgcnn/wrong.yaml:...: filters, new_filters and pooling_size have 2, 2 and 1 numbers; give each layer one of each"
echo "w0" >counts.txt
run crank run -m models/word2vec/config.yaml
ends bad
has_err "...counts.txt:1: the line is not a word and its count; correct the file"

# every model that is built in is compared with PyTorch
mkdir -p own/folder/data
sed 's/^hyper_parameters:.*/hyper_parameters: {optimizer: {class: SGD, learning_rate: 1e-2}}/; s/old.ssr"/own\/folder"/' old/ssr/config.yaml >own/folder/config.yaml
run crank run -m own/folder/config.yaml
ends bad
known=$(sed -n "s/.*Known are //p" "$err" | tr -d ,)
[ "$(echo $known | wc -w)" -gt 40 ] || fail "the message lists few models: $known"
for m in $known; do
    case $m in
    kim) golden=own_knowledge ;; # its one block, with sizes that its config does not have
    *) golden=paddle_$m ;;
    esac
    [ -s "$CLI/../golden/data/$golden/expect.txt" ] || fail "$m has no golden values"
done
