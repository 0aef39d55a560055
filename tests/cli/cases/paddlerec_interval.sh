# tisas of PaddleRec since 2.0: a log of users with times
mkdir -p tisas/data
cat >tisas/config.yaml <<END
runner:
  train_data_dir: "data"
  train_reader_path: "movielens_reader"
  train_batch_size: 4
  model_save_path: "output"
  mode: "train"
  use_gpu: False
  epochs: 3
  print_interval: 1
  test_data_dir: "data"
  infer_reader_path: "movielens_reader"
  infer_batch_size: 1
  infer_load_path: "output"
  infer_start_epoch: 2
  infer_end_epoch: 3
hyper_parameters:
  optimizer: {class: adam, learning_rate: 0.01}
  num_users: 20
  num_items: 9
  num_blocks: 2
  num_heads: 2
  maxlen: 4
  hidden_units: 8
  time_span: 6
END
# ten users go around the items 11 to 18; item 5 is rare, and user 99 has few items
awk 'BEGIN { for (u = 0; u < 10; u++) for (i = 0; i < 7; i++) printf "%d\t%d\t5\t%d\n", u + 1, 11 + (u + i) % 8, 1000 + 60 * i * i
             print "1\t5\t5\t9999"; print "99\t11\t5\t1" }' >tisas/data/log.txt
run crank run -m tisas/config.yaml --threads 1
ends 0
has_err "...output/rows/train holds 10 rows, made from the log in tisas/data"
has_out "... epoch: 2, batch_id: 2, loss:..."
# five items are learned: four steps, in units of the shortest time, at the last places, each with the next item
[ "$(head -n 1 output/rows/train/rows.txt | cut -d ';' -f 1-4)" = "1 2 3 4;1 2 5 10;0 1 2 3;2 3 4 5" ] || fail "the steps of the first user"
[ "$(head -n 1 output/rows/train/rows.txt | cut -d ';' -f 6-8)" = "4;0;" ] || fail "the end of the first row"
# drawn items are none of the user's
if head -n 1 output/rows/train/rows.txt | cut -d ';' -f 5 | grep -q '[1-5]'; then fail "an item of the user was drawn"; fi
run crank run -m tisas/config.yaml --infer
ends 0
[ "$(head -n 1 output/rows/test/rows.txt | cut -d ';' -f 1-4)" = "3 4 5 6;5 10 17 26;0 1 2 3;4 5 6 7" ] || fail "the last steps of the first user"
[ "$(head -n 1 output/rows/test/rows.txt | cut -d ';' -f 8 | wc -w)" = 101 ] || fail "a hundred candidates and the right one"
has_out "... epoch: 2 done, NDCG@10: ...,HR@10: ..., epoch time: ..."
mv output first
run crank run -m tisas/config.yaml --threads 3
ends 0
same first/rows/train output/rows/train
same_weights first output
# ratings may be missing, and a rate of dropout may be given
cut -f 1,2,4 tisas/data/log.txt >short && mv short tisas/data/log.txt
run crank run -m tisas/config.yaml -o runner.epochs=1 hyper_parameters.dropout_rate=0
ends 0
same first/rows/train output/rows/train
# in a folder of another name, the hyper-parameters tell the model
cp -r tisas mine
run crank run -m mine/config.yaml -o runner.epochs=1
ends 0
has_err "mine/config.yaml:...: note: the hyper-parameters are those of PaddleRec's tisas, so that is the model; ..."

# mistakes
run crank run -m tisas/config.yaml -o hyper_parameters.num_heads=3
ends 2
has_err "...: hidden_units 8 is not a multiple of num_heads 3; make it one"
run crank run -m tisas/config.yaml -o hyper_parameters.num_items=7
ends 3
has_err "...the log in 'tisas/data' has 8 items that occur 5 times or more, and num_items is 7; raise it"
printf "1\t2\t3\n" >tisas/data/log.txt
run crank run -m tisas/config.yaml
ends 3
has_err "...the log in 'tisas/data' has no user with enough items that occur 5 times or more; name another folder"
printf "1\t2\tnow\n" >tisas/data/log.txt
run crank run -m tisas/config.yaml
ends 3
has_err "tisas/data/log.txt:1: '1...2...now' is not user, item, rating and time with tabs between them, the first two whole numbers; correct the line"
