# models of PaddleRec that find items: gnn, fasttext, tdm, match_pyramid, the demo's two; checkpoints and values of batches

tab=$(printf '\t')
# rows N FORM: made-up rows; what is right follows from the first id
rows() {
    awk -v n="$1" -v form="$2" 'function r(k) { x = (x * 1103515245 + 12345) % 2147483648; return int(x / 65536) % k }
    BEGIN { x = 7; for (i = 0; i < n; i++) {
        id = 1 + r(12); m = 1 + r(4)
        if (form == "clicked") {
            printf "%d", id
            for (k = 1; k < m; k++) printf ",%d", 1 + (id + k) % 12
            printf "\t%d\n", 1 + (id + m) % 12
        } else if (form == "texts" || form == "graded") {
            for (k = 0; k < 4; k++) printf "%s%d", (k ? "," : ""), (k < m ? id + k : 29)
            printf "\t"
            for (k = 0; k < 8; k++) printf "%s%d", (k ? "," : ""), (k < 5 ? (i % 8 < 4 ? id + k : 20) : 29)
            if (form == "graded") printf "\t%d\t%d", (i % 8 < 4 ? 1 + r(2) : 0), int(i / 8)
            print ""
        } else if (form == "vectors") {
            for (k = 0; k < 4; k++) printf "%s%.2f", (k ? " " : ""), (k == i % 4)
            printf "\t%d\n", i % 4
        } else if (form == "ratings") {
            printf "logid:%d time:0 userid:%d gender:%d age:%d occupation:%d movieid:%d title:%d title:%d genres:%d label:%d\n", i, id, r(2), r(9), r(9), r(12), r(9), r(9), r(9), 1 + id % 5
        } else if (form == "words") {
            for (k = 0; k < 6; k++) printf "%d ", r(6)
            print ""
        }
    } }'
}
old_model() { # old_model NAME FORM TEST_FORM DATASET INFER HYPER [RUNNER]
    mkdir -p "old/$1/train" "old/$1/test"
    rows 64 "$2" >"old/$1/train/part-0"
    rows 24 "$3" >"old/$1/test/part-0"
    cat >"old/$1/config.yaml" <<END
workspace: "old/$1"
mode: [t, e]
dataset:
- {name: d, type: DataLoader, batch_size: 8, data_path: "{workspace}/train", $4}
- {name: i, type: DataLoader, batch_size: 4, data_path: "{workspace}/test", $5}
hyper_parameters: {optimizer: {class: ADAM, learning_rate: 1e-2}, $6}
runner:
- {name: t, class: train, device: cpu, epochs: 2, save_checkpoint_path: "ckpt_$1", print_interval: 2${7:-}, phases: p}
- {name: e, class: infer, device: cpu, init_model_path: "ckpt_$1", print_interval: 2, phases: q}
phase: [{name: p, model: "{workspace}/model.py", dataset_name: d}, {name: q, model: "{workspace}/model.py", dataset_name: i}]
END
}
reader='data_converter: "{workspace}/reader.py"'
slots='sparse_slots: "logid time userid gender age occupation movieid title genres label", dense_slots: ""'
pyramid='vocab_size: 30, emb_size: 4, sentence_left_size: 4, sentence_right_size: 8, kernel_num: 2, hidden_size: 6, hidden_act: relu, out_size: 1, channels: 1, conv_filter: [2, 3], conv_act: relu, pool_size: [2, 4], pool_stride: [2, 4], pool_type: max, pool_padding: VALID'
tree='tree: {load_tree_from_numpy: True, load_paddle_model: False, tree_layer_path: "{workspace}/layers.txt", tree_travel_path: "{workspace}/travel.npy", tree_info_path: "{workspace}/info.npy", tree_emb_path: none}'
old_model gnn clicked clicked "$reader" "$reader" 'sparse_feature_number: 13, sparse_feature_dim: 6, corpus_size: 64, gnn_propogation_steps: 1'
old_model match-pyramid texts graded "$reader" "$reader" "$pyramid, emb_path: none"
old_model movie_rank ratings ratings "$slots" "$slots" 'sparse_feature_number: 40, sparse_feature_dim: 4, dense_input_dim: 13, fc_sizes: [8, 4]'
old_model movie_recall ratings ratings "$slots" "$slots" 'sparse_feature_number: 40, sparse_feature_dim: 4, dense_input_dim: 13, fc_sizes: [8, 4]' ', save_step_interval: 3, save_step_path: steps, runner_result_dump_path: dumped/values'
old_model tdm vectors vectors "$reader" "$reader" "max_layers: 2, node_nums: 7, leaf_node_nums: 4, layer_node_num_list: [2, 4], child_nums: 2, node_emb_size: 6, input_emb_size: 4, neg_sampling_list: [1, 2], output_positive: True, topK: 2, act: tanh, $tree" ', startup_class_path: "{workspace}/tdm_startup.py"'
old_model fasttext words words "$reader, word_count_dict_path: \"{workspace}/counts.txt\", word_ngrams_path: \"{workspace}/ngrams.txt\"" "$reader, word_id_dict_path: \"{workspace}/ids.txt\"" 'sparse_feature_number: 20, sparse_feature_dim: 4, with_shuffle_batch: False, neg_num: 2, window_size: 2, min_n: 3, max_n: 5'

# npy ROWS COLUMNS NUMBER...: a matrix as NumPy saves it
npy() {
    printf '\223NUMPY\1\0v\0'
    head=$(printf "{'descr': '<i4', 'fortran_order': False, 'shape': (%d, %d), }" "$1" "$2")
    printf '%-117s\n' "$head"
    shift 2
    for x; do printf "\\$(printf %o "$x")\\0\\0\\0"; done
}
npy 4 2 1 3 1 4 2 5 2 6 >old/tdm/travel.npy
npy 7 5 0 0 0 1 2 0 1 0 3 4 0 1 0 5 6 0 2 1 0 0 1 2 1 0 0 2 2 2 0 0 3 2 2 0 0 >old/tdm/info.npy
printf '1,2\n3,4,5,6\n' >old/tdm/layers.txt
awk 'BEGIN { for (i = 0; i < 6; i++) print "<w" i ">", i + 1 }' >old/fasttext/counts.txt
awk 'BEGIN { for (i = 0; i < 6; i++) print i, 6 + i, 12 }' >old/fasttext/ngrams.txt
awk 'BEGIN { for (i = 0; i < 6; i++) { print "<w" i ">", i; print "<w" i, 6 + i; print "w" i ">", 12 } print "<UNK> 13" }' >old/fasttext/ids.txt
printf ': heading\nw0 w1 w2 w3\nw4 w5 w1 other\n' >old/fasttext/test/part-0

for m in gnn match-pyramid movie_rank movie_recall; do
    run crank run -m "old/$m/config.yaml" --threads 2
    ends 0
    is_there "ckpt_$m/1/state.json"
    has_out "Infer q of epoch 1 done, use time: ..., global metrics: ...=[...]"
    run crank config "old/$m/config.yaml"
    ends 0
    cp "$out" "$m.yaml"
    run crank train "$m.yaml" --model_dir "one_$m" --threads 1
    ends 0
    run crank train "$m.yaml" --model_dir "three_$m" --threads 3
    ends 0
    same_weights "one_$m" "three_$m"
done
# match-pyramid shows the scores of an evaluation, as its eval.py reads them
run crank run -m old/match-pyramid/config.yaml
ends 0
has_out "... - INFO: ${tab}[Infer] batch: 2, time_each_interval: ...s, prediction: [[...] [...] [...] [...]]"
# the old form of a line for other models
run crank run -m old/gnn/config.yaml
ends 0
has_out "... - INFO: ${tab}[Infer] batch: 2, time_each_interval: ...s, ACC...: [...]"

# a checkpoint of every third batch, beside those of epochs; the values of every batch
run crank run -m old/movie_recall/config.yaml
ends 0
for b in 0 3 6; do is_there "steps/epoch_0_batch_$b/state.json"; is_there "steps/epoch_1_batch_$b/state.json"; done
is_gone steps/epoch_0_batch_1
is_there ckpt_movie_recall/0/state.json
has_out "${tab}save epoch_id:1, batch_id:6 model into: \"steps/epoch_1_batch_6\""
has_out "Dump runner result in dumped/values_epoch_1"
grep -q '^\[{"MAE": \[.*\], "batch": 0}, .*"batch": 7}\]$' dumped/values_epoch_0 || fail "dumped values"
sed 's/init_model_path: "ckpt_movie_recall"/init_model_path: "steps\/epoch_1_batch_3"/; s/mode: .*/mode: e/; s/class: infer,/class: infer, runner_result_dump_path: scores.json,/' old/movie_recall/config.yaml >old/movie_recall/step.yaml
run crank run -m old/movie_recall/step.yaml
ends 0
has_out "Infer q of epoch epoch_1_batch_3 done, use time: ..., global metrics: MAE=[...]"
grep -q '"predict": \[\[[0-9.e-]*\], \[.*"batch": 5}\]$' scores.json || fail "dumped scores"

# tdm trains over nodes, and its evaluation searches the tree
run crank run -m old/tdm/config.yaml
ends 0
has_out "... - INFO: ${tab}[Train],  epoch: 0,  batch: 2, time_each_interval: ...s, AUC: [...], BATCH_AUC: [...]"
has_out "... - INFO: ${tab}[Infer] batch: 22, time_each_interval: ...s, item: [[... ...]]"
has_out "Infer q of epoch 1 done, use time: ..., global metrics: "
run crank config old/tdm/config.yaml
ends 0
cp "$out" tdm.yaml
run crank train tdm.yaml --model_dir one_tdm --threads 1
ends 0
run crank train tdm.yaml --model_dir three_tdm --threads 3
ends 0
same_weights one_tdm three_tdm
printf '1 2 3\t0\n' >>old/tdm/test/part-0
run crank run -m old/tdm/config.yaml
ends bad
has_err "old/tdm/test/part-0:25: the line is not a vector of 4 numbers with blanks between them; correct it"
sed 's/neg_sampling_list: \[1, 2\]/neg_sampling_list: [2, 2]/' old/tdm/config.yaml >old/tdm/many.yaml
run crank run -m old/tdm/many.yaml
ends bad
has_err "...layer 0 of the tree has 2 nodes, so 2 others than the right one cannot be drawn; lower its number in negatives"
printf '0 0 0 1\t9\n' >old/tdm/train/part-0
run crank run -m old/tdm/config.yaml
ends bad
has_err "...old/tdm/train/part-0:1: item 9 is not in the tree, which has the items 0 to 3..."
printf 'x' >old/tdm/travel.npy
run crank run -m old/tdm/config.yaml
ends bad
has_err "...travel.npy: the file is not a matrix of whole numbers as NumPy saves it ..."

# fasttext answers questions with the n-grams of words
run crank run -m old/fasttext/config.yaml
ends 0
has_out "Infer q of epoch 1 done, use time: ..., global metrics: ACC=[...]"
echo "0 x" >>old/fasttext/ngrams.txt
run crank run -m old/fasttext/config.yaml
ends bad
has_err "...ngrams.txt:7: the line is not an id and the ids of its parts, ...; correct the file"

# an odd batch has no halves
sed 's/batch_size: 8/batch_size: 7/' old/match-pyramid/config.yaml >old/match-pyramid/odd.yaml
run crank run -m old/match-pyramid/odd.yaml
ends 2
has_err "old/match-pyramid/odd.yaml:4:...: the first half of a batch are right texts and the second half wrong ones, so 7 rows are no batch; use an even number"
# the demo is found by its folders
mkdir -p demo/rank
sed 's/"{workspace}\/model.py"/"{workspace}\/rank\/model.py"/; s/workspace: "old\/movie_rank"/workspace: ".\/"/; s/{workspace}\/train/old\/movie_rank\/train/; s/{workspace}\/test/old\/movie_rank\/test/; s/mode: .*/mode: t/' old/movie_rank/config.yaml >demo/rank/config.yaml
run crank run -m demo/rank/config.yaml
ends 0
