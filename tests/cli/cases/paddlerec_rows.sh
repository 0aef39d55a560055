# models of PaddleRec whose rows lie in several files: crank run makes the rows first

# config NAME HYPER [RUNNER] [OPTIMIZER]
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
  optimizer: {${4:-class: Adam, learning_rate: 0.01}}
$2
END
}

# crosses N: two files, four ids per row; the label follows from the first two
crosses() {
    awk -v n="$1" -v x_file="$2_x.txt" -v y_file="$2_y.txt" '
    function r(k) { x = (x * 1103515245 + 12345) % 2147483648; return int(x / 65536) % k }
    BEGIN { x = 11; for (i = 0; i < n; i++) { a = r(4); b = r(4)
        print a, 4 + b, 8 + r(4), 12 + r(4) >x_file; print (a + b) % 2 >y_file } }'
}

# ---- autofis ----
config autofis '  num_inputs: 4
  input_size: 16
  embedding_size: 4
  width: 8
  depth: 2
  n_col: 6
  pairs: 6
  grad_c: 0.05
  grad_mu: 0.8' '' 'class: Adam, learning_rate: 0.01, gamma: 0.9'
crosses 160 autofis/train/part
crosses 40 autofis/test/part
run crank run -m autofis/config.yaml --threads 2
ends 0
has_out "... - INFO - epoch: 1 done, auc: 0...,log_loss: 0...,loss:..., epoch time: ... s"
has_err "...output_autofis/rows/train holds 160 rows, made from the ids and labels in autofis/train"
has_err "...comb_mask.npy names the ... of 6 pairs of fields that are left; -o stage=1 trains with them alone"
[ "$(head -n 1 output_autofis/rows/train/rows.txt | wc -w)" = 5 ] || fail "label and ids in a line"
run crank run -m autofis/config.yaml --infer
ends 0
has_out "... - INFO - epoch: 1 done, auc: 0...,log_loss: 0..., epoch time: ... s"
# the rate falls five times in an epoch of 20 batches, but not that of GRDA
run crank config autofis/config.yaml
ends 0
has_out "...decay_size: 4..."
has_out "...decay_factor: 0.9..."
has_out "...grda_optimizer:..."
# stage 1 reads the pairs that are left; here a search that lasts longer leaves fewer
run crank run -m autofis/config.yaml -o runner.epochs=8 hyper_parameters.grad_c=0.2
ends 0
run crank run -m autofis/config.yaml -o stage=1
ends 0
run crank params output_autofis/1
grep -q 'model.blocks.weighed.weight *\[[1-5]\]' "$out" || fail "not all pairs are in stage 1"
run crank run -m autofis/config.yaml --infer -o stage=1
ends 0
run crank run -m autofis/config.yaml --compat paddlerec -o runner.epochs=1
ends 0
# mistakes
run crank run -m autofis/config.yaml -o hyper_parameters.pairs=7
ends 2
has_err "-o 'hyper_parameters.pairs=7': pairs is 7, and 4 fields have 6 pairs; set it to that"
printf x >comb_mask.npy
run crank run -m autofis/config.yaml -o stage=1
ends 2
has_err "...: stage 1 reads the pairs that stage 0 has left over: ..."
echo "1 5 9 13" >>autofis/train/part_x.txt
run crank run -m autofis/config.yaml
ends bad
has_err "autofis/train/part_x.txt:161: the line has no label in 'autofis/train/part_y.txt'; both files have a line per row"
rm autofis/train/*
echo 1 >autofis/train/y.txt
run crank run -m autofis/config.yaml
ends bad
has_err "...the folder 'autofis/train' holds no rows; ids are in a file that ends in x.txt and their labels in one that ends in y.txt"
rm -r output_autofis
run crank train autofis/config.yaml
ends 2
has_err "autofis/config.yaml:...: the data is read as rows of one file, which lie in 'output_autofis/rows/train' and are not there; 'crank run -m' makes them"

# ---- naml ----

# news N DIR: eight articles and N lines; the clicked article has the category of the browsed ones
news() {
    awk -v n="$1" -v articles="$2/article.txt" -v lines="$2/browse.txt" '
    function r(k) { x = (x * 1103515245 + 12345) % 2147483648; return int(x / 65536) % k }
    BEGIN { x = 5; OFS = "\t"; for (i = 0; i < 8; i++) print "n" i, i % 2, i % 3, r(20) " " r(20), r(20) " " r(20) " " r(20) " " r(20) " " r(20) >articles
        for (i = 0; i < n; i++) { c = r(2); print "n" 2 * r(4) + c " n" 2 * r(4) + c " unknown", "n" 2 * r(4) + c, "n" 2 * r(4) + 1 - c " n" 2 * r(4) + 1 - c " n1" >lines } }'
}
sizes='  article_content_size: 4
  article_title_size: 3
  browse_size: 4
  neg_condidate_sample_size: 2
  word_dimension: 4
  category_size: 2
  sub_category_size: 3
  category_dimension: 4
  word_dict_size: 20
  conv_out_channel_size: 8
  attention_projection_size: 4'
config naml "$sizes"
news 96 naml/train
news 40 naml/test
printf 'n1\tn2\tn3\n' >>naml/train/browse.txt
run crank run -m naml/config.yaml --threads 2
ends 0
has_out "... - INFO - epoch: 1 done, auc: 0...,loss:..., epoch time: ... s"
has_err "...output_naml/rows/train holds 96 rows, made from the articles in naml/train; 1 lines have too few others"
[ "$(head -n 1 output_naml/rows/train/rows.txt | cut -f 2 | wc -w)" = 7 ] || fail "three candidates and four browsed ones"
run crank run -m naml/config.yaml --infer
ends 0
has_out "... - INFO - epoch: 1 done, auc: 0..., epoch time: ... s"
run crank run -m naml/config.yaml --compat paddlerec -o runner.epochs=1
ends 0
run crank config naml/config.yaml
ends 0
cp "$out" naml.yaml
for n in 1 3; do
    run crank train naml.yaml --model_dir "${n}_naml" --threads $n
    ends 0
done
same_weights 1_naml 3_naml
# mistakes
sed 's/vectors: 3$/vectors: 5/' naml.yaml >wrong.yaml
run crank train wrong.yaml --model_dir wrong
ends 2
has_err "wrong.yaml:...: block 'title_words': 21 vectors are no whole number of groups of 5; correct vectors, or its inputs"
printf 'n9\t1\tx\t1\t2\n' >>naml/train/article.txt
run crank run -m naml/config.yaml
ends bad
has_err "naml/train/article.txt:9: 'n9...' is not article, category, subcategory, title and text with tabs between them, all but the first whole numbers; correct the line"
sed -i '$d' naml/train/article.txt
echo n1 >naml/train/browse.txt
run crank run -m naml/config.yaml
ends bad
has_err "naml/train/browse.txt:1: 'n1' is not browsed articles, the clicked one and others with tabs between them; correct the line"
rm naml/train/browse.txt
run crank run -m naml/config.yaml
ends bad
has_err "...the folder 'naml/train' has no line with as many other articles as the model reads, 2, in a file browse.txt; its articles are in article.txt"

# ---- fastformer ----
config fastformer "$sizes
  hidden_size: 8
  hidden_dropout_prob: 0.1
  num_hidden_layers: 2
  num_attention_heads: 2
  intermediate_size: 6
  max_position_embeddings: 8
  layer_norm_eps: 1e-12
  initializer_range: 0.02
  pooler_type: weightpooler"
news 96 fastformer/train
news 40 fastformer/test
run crank run -m fastformer/config.yaml --threads 2
ends 0
has_out "... - INFO - epoch: 1 done, auc: 0...loss:..., epoch time: ... s"
[ "$(head -n 1 output_fastformer/rows/train/rows.txt | cut -f 6 | cut -c 1-11)" = "1 1 0 1 1 0" ] || fail "words and padding of titles"
run crank run -m fastformer/config.yaml --infer
ends 0
has_out "... - INFO - epoch: 1 done, auc: ..., epoch time: ... s"
run crank run -m fastformer/config.yaml --compat paddlerec -o runner.epochs=1
ends 0
run crank run -m fastformer/config.yaml -o hyper_parameters.pooler_type=mean
ends 2
has_err "-o 'hyper_parameters.pooler_type=mean': pooler_type is 'mean' and must be weightpooler"
run crank run -m fastformer/config.yaml -o hyper_parameters.num_attention_heads=3
ends 2
has_err "...: block 'title_view': its first input must be whole groups of 3 vectors (it has 21) of a width that 3 heads divide (it is 8), and a second input has a number for each of them"
