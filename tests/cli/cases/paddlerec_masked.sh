# bert4rec of PaddleRec since 2.0: sessions with masked places, candidates in a pickle
# config LINES [HYPER]
config() {
    cat >bert4rec/config.yaml <<END
runner:
  train_data_dir: "data/train"
  train_reader_path: "data_reader"
  use_gpu: False
  train_batch_size: 1
  data_batch_size: $1
  epochs: 3
  print_interval: 1
  model_save_path: "output"
  test_data_dir: "data/test"
  infer_reader_path: "data_reader"
  infer_batch_size: 1
  infer_load_path: "output"
  infer_start_epoch: 0
  infer_end_epoch: 3
hyper_parameters:
  optimizer: {learning_rate: 0.01, weight_decay: 0.01}
  _emb_size: 8
  _n_layer: 2
  _n_head: 2
  _voc_size: 14
  _max_position_seq_len: 6
  _sent_types: 2
  hidden_act: "gelu"
  _dropout: 0.1
  _attention_dropout: 0.1
  _param_initializer: 0.02
  num_test_user: 4
${2:-}
END
}
mkdir -p bert4rec/data/train bert4rec/data/test
# items follow each other; 13 is the mask
awk 'BEGIN { for (i = 0; i < 60; i++) { a = i % 7 + 1; printf "%d; %d, 13, %d, 13, 0, 0; 1, 1, 1, 1, 0, 0; 0, 1, 2, 3, 0, 0; 1, 3; %d, %d\n", i, a, a + 2, a + 1, a + 3 } }' >bert4rec/data/train/part.txt
for a in 1 3; do
    echo "$a; $a, $((a + 1)), $((a + 2)), 13, 0, 0; 1, 1, 1, 1, 0, 0; 0, 1, 2, 3, 0, 0; 3; $((a + 3))"
done >bert4rec/data/test/test.txt
# pickle.dumps([[4, 9, 1], [6, 2]], 2)
printf '\200\002]q\000(]q\001(K\004K\011K\001e]q\002(K\006K\002ee.' >bert4rec/data/test/some.candidate
config 20
run crank run -m bert4rec/config.yaml --threads 1
ends 0
has_err "...output/rows/train holds 60 rows, made from the sessions in bert4rec/data/train"
has_out "... epoch: 2, batch_id: 2, loss:..."
[ "$(head -n 1 output/rows/train/rows.txt)" = "1 13 3 13;0 1 2 3;1 3;2 4;4;2;" ] || fail "the first row"
run crank run -m bert4rec/config.yaml --infer
ends 0
[ "$(head -n 1 output/rows/test/rows.txt)" = "1 2 3 13;0 1 2 3;3;4;4;1;4 9 1" ] || fail "the first row of the evaluation"
has_out "... epoch: 2 done, MRR: ...,NDCG@10: ...,HR@10: 1.000000, epoch time: ..."
# training with other threads gives the same bits; the evaluation's rows lie in the same folder
mv output first
run crank run -m bert4rec/config.yaml --threads 3
ends 0
same first/rows/train output/rows/train
same_weights first output

# as shipped, each place of a batch weighs the same
run crank run -m bert4rec/config.yaml -o runner.epochs=1 --compat paddlerec
ends 0
grep -q 'sample_weight_fields' output/pipeline.config || fail "no weights as shipped"
# in a folder of another name, the hyper-parameters tell the model
cp -r bert4rec mine
run crank run -m mine/config.yaml -o runner.epochs=1
ends 0
has_err "mine/config.yaml:...: note: the hyper-parameters are those of PaddleRec's bert4rec, so that is the model; ..."

# mistakes
config 20 '  _n_heads: 3'
run crank run -m bert4rec/config.yaml
ends 2
has_err "bert4rec/config.yaml:...: unknown key '_n_heads'; did you mean '_n_head', which is given too?"
config 20
run crank run -m bert4rec/config.yaml -o hyper_parameters._n_head=3
ends 2
has_err "...: _emb_size 8 is not a multiple of _n_head 3; make it one"
run crank run -m bert4rec/config.yaml -o runner.train_batch_size=4
ends 2
has_err "...: a batch has data_batch_size lines, and train_batch_size counts such batches; it must be 1"
run crank run -m bert4rec/config.yaml -o hyper_parameters._voc_size=9
ends 3
has_err "bert4rec/data/train/part.txt:1: an item is not below _voc_size; correct the line"
wrong() { # wrong LINE MESSAGE
    echo "$1" >bert4rec/data/train/part.txt
    run crank run -m bert4rec/config.yaml
    ends 3
    has_err "bert4rec/data/train/part.txt:1: $2"
}
wrong "1; 1, 2; 1, 1; 0, 1; 1" "'1; 1, 2; 1, 1; 0, 1; 1' is not user; items; mask; positions; places; labels, lists of whole numbers with commas; correct the line"
wrong "1; 1, x; 1, 1; 0, 1; 1; 2" "'1; 1, x; 1, 1; 0, 1; 1; 2' is not user; ..."
wrong "1; 1, 2; 1; 0, 1; 1; 2" "items, mask and positions differ in length; correct the line"
wrong "1; 1, 2; 1, 1; 0, 1; 1, 0; 2" "there are not as many labels as places; correct the line"
wrong "1; 1, 2; 1, 1; 0, 6; 1; 2" "a position is not below _max_position_seq_len; correct the line"
wrong "1; 1, 2; 1, 0; 0, 1; 1; 2" "a place is outside of the line, or its mask is not 1; correct the line"
wrong "1; 1, 2; 1, 1; 0, 1; 2; 2" "a place is outside of the line, or its mask is not 1; correct the line"
rm bert4rec/data/train/part.txt
echo >bert4rec/data/train/part.txt
run crank run -m bert4rec/config.yaml
ends 3
has_err "...the folder 'bert4rec/data/train' has no line of data; name another one"
bad() { # bad PICKLE MESSAGE
    # shellcheck disable=SC2059
    printf "$1" >bert4rec/data/test/some.candidate
    run crank run -m bert4rec/config.yaml --infer
    ends 3
    has_err "bert4rec/data/test/some.candidate: $2"
}
bad '\200\002]q\000]q\001K\004aa.' "it has no list of candidates for line 2 of the data; write a list with a list of items for each line"
bad '\200\002]q\000(]q\001K\005a]q\002K\006ae.' "the first candidate of line 1 is 5, and the item at the last place of that line is 4; the right item comes first"
bad '\200\002]q\000(]q\001(K\004K\016e]q\002K\006ae.' "candidate 2 of line 1 is no item below _voc_size 14; correct it, or raise _voc_size"
bad '\200\002cos\nsystem\nX\004\000\000\000true\205R.' "byte 13: it names os.system of Python, which is not run here; write numbers, texts, lists, ..."
bad 'words' "byte 1: a value that is no number, text, list, tuple, mapping or array, or no pickle at all; ..."
printf '\200\002]q\000.' >bert4rec/data/test/more.candidate
run crank run -m bert4rec/config.yaml --infer
ends 3
has_err "bert4rec/data/test/some.candidate: 'bert4rec/data/test/more.candidate' has candidates, too; keep one of the files"
