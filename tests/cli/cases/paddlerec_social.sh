# mhcn of PaddleRec (2.0): ratings and relations of users as a graph of all of them
mkdir -p mhcn/data
cat >mhcn/config.yaml <<END
runner:
  train_data_dir: "data"
  rating_file: "data/ratings.txt"
  relation_file: "data/trusts.txt"
  train_batch_size: 8
  train_reader_path: "lastfm_reader"
  use_gpu: False
  use_auc: False
  epochs: 6
  print_interval: 10
  model_save_path: "output"
  test_data_dir: "data"
  infer_batch_size: 8
  infer_reader_path: "lastfm_reader"
  infer_load_path: "output"
  infer_start_epoch: 5
  infer_end_epoch: 6
  top_k: 2
  is_train: True
hyper_parameters:
  optimizer: {class: Adam, learning_rate: 0.01}
  n_layer: 2
  num_factors: 8
END
# 12 users in two circles of friends, and each circle has items of its own; user 99 is new in the evaluation,
# and so is item new; a rating below 1 is none, and a user without ratings trusts another one
awk 'BEGIN { print "99\t0\t5"
             for (u = 0; u < 12; u++) for (i = 0; i < 5; i++) {
                 if (u == 0 && i == 4) print "1\tnew\t3"
                 print u "\t" (u % 2) * 8 + (u + i) % 8 "\t" 1 + i }
             print "0\t15\t0.5" }' >mhcn/data/ratings.txt
awk 'BEGIN { for (u = 0; u < 12; u++) { print u "\t" (u + 2) % 12; if (u % 3) print (u + 2) % 12 "\t" u }; print "77\t1" }' >mhcn/data/trusts.txt
run crank run -m mhcn/config.yaml --threads 1
ends 0
has_err "...output/rows/train holds 49 ratings and the graph of all users, made from mhcn/data/ratings.txt and mhcn/data/trusts.txt"
has_out "... - INFO - epoch: 5, batch_id: 0, loss:..."
[ "$(head -n 1 output/rows/train/.graph)" = "12 16 1" ] || fail "the sizes of the graph"
[ "$(sed -n 3p output/rows/train/.graph | tr ',' '\n' | wc -l)" = 40 ] || fail "the relations of users with ratings"
# PaddleRec's own infer.py
cd mhcn
run crank python -u infer.py -m config.yaml -o runner.infer_load_path=../output
ends 0
cd ..
has_err "...output/rows/test holds 13 ratings and ..."
has_out "... - INFO - Top 2"
has_out "...Precision:0..."
has_out "...Recall:0..."
has_out "...F1:0..."
has_out "...NDCG:0..."
[ "$(grep -c batch_id "$out")" = 0 ] || fail "its evaluation has no lines of batches"
[ "$(grep -c '^-1;1;' output/rows/test/rows.txt)" = 1 ] || fail "the item that training does not have"
grep -q '^[0-9]*;12;$' output/rows/test/rows.txt || fail "the user whom training does not have"

# the same bits for any number of threads, and after a pause
mv output first
run crank run -m mhcn/config.yaml --threads 3 -o runner.epochs=2
ends 0
run crank run -m mhcn/config.yaml --threads 2 --continue_train
ends 0
same_weights first output
# in a folder of another name, the hyper-parameters tell the model
cp -r mhcn mine
run crank run -m mine/config.yaml -o runner.epochs=1
ends 0
has_err "mine/config.yaml:...: note: the hyper-parameters are those of PaddleRec's mhcn, so that is the model; ..."

# mistakes
printf 'x\ty\n' >mine/data/trusts.txt
run crank run -m mine/config.yaml -o runner.epochs=1
ends 0
has_err "...mine/data/trusts.txt has no two users whom mine/data/ratings.txt has, so the model learns from ratings alone"
printf '0 x\n' >output/rows/train/.graph
run crank train mhcn/config.yaml
ends 2
has_err "...: the file 'output/rows/train/.graph' is damaged; 'crank run -m' writes it anew"
run crank run -m mhcn/config.yaml -o runner.rating_file=data/none.txt
ends 1
has_err "mhcn/data/none.txt: cannot open: ..."
printf '1\t2\n' >mhcn/data/ratings.txt
run crank run -m mhcn/config.yaml
ends 3
has_err "mhcn/data/ratings.txt:1: '1...2' is not user, item and rating with tabs between them, the last a number; correct the line"
printf '1\t2\t3\n1\t2\t3\n' >mhcn/data/ratings.txt
run crank run -m mhcn/config.yaml
ends 3
has_err "...'mhcn/data/ratings.txt' needs ratings of two or more items, user, item and rating with tabs between them; one in five is for the evaluation"
printf '1\n' >mhcn/data/trusts.txt
run crank run -m mhcn/config.yaml
ends 3
has_err "mhcn/data/trusts.txt:1: '1' is not two users with a tab between them; correct the line"
