# deeprec of PaddleRec (2.0): an autoencoder of ratings, whose outputs are fed in again
mkdir -p deeprec/data/train deeprec/data/test
cat >deeprec/config.yaml <<END
runner:
  train_data_dir: "data/train"
  train_reader_path: "netflix_reader"
  use_gpu: False
  mode: "train"
  epochs: 3
  batch_size: 8
  reader_batch_size: 4
  print_interval: 2
  model_save_path: "output"
  test_data_dir: "data/test"
  infer_reader_path: "netflix_reader"
  infer_load_path: "output"
  infer_start_epoch: 2
  infer_batch_size: 4
  infer_end_epoch: 3
hyper_parameters:
  dp_drop_prob: 0.2
  layer_sizes: [9, 6, 3]
  optimizer:
    class: SGD
    learning_rate: 0.05
    momentum: 0.9
    weight_decay: 0.0
END
# twelve users with four of nine items each; one of these is rated twice, and a rating of 0 is none
awk 'BEGIN { for (u = 0; u < 12; u++) for (i = 0; i < 4; i++) printf "%d\t%d\t%g\n", 100 + u, 50 + (u + 2 * i) % 9, 1 + (u + i) % 5
             print "100\t50\t1.5"; print "100\t51\t0" }' >deeprec/data/train/part-0
awk 'BEGIN { for (u = 0; u < 12; u += 3) printf "%d\t%d\t%g\n", 100 + u, 50 + (u + 1) % 9, 2.5
             print "7\t50\t3"; print "100\t7\t3" }' >deeprec/data/test/part-0

(cd deeprec && run crank python -u trainer.py -m config.yaml --threads 1 && ends 0 &&
    has_err "config.yaml:7:...: note: PaddleRec's reader does not read batch_size, so a batch has 4 rows; reader_batch_size says how many" &&
    has_err "...output/rows/train holds 12 rows, users with their ratings, made from the files in data/train" &&
    has_out "... - INFO - epoch: 2, batch_id: 2, loss:...,rmse:..., avg_reader_cost: ..." &&
    has_out "... - INFO - epoch: 2 done, loss:...,rmse:..., epoch time: ... s" &&
    run crank python -u infer.py -m config.yaml && ends 0 &&
    has_err "...2 ratings in data/test are left out: data/train does not have their users or items" &&
    has_out "... - INFO - epoch: 2, batch_id: 0,  avg_reader_cost: ..." &&
    has_out "... - INFO - epoch: 2 done, RMSE: ... epoch time: ... s")
mv deeprec/output one
[ "$(head -n 1 one/rows/train/rows.txt)" = "0 1 2 3;2.5 2 3 4;0 1 2 3;2.5 2 3 4;4" ] || fail "the ratings of the first user"
[ "$(head -n 1 one/rows/test/rows.txt)" = "0 1 2 3;2.5 2 3 4;4;2.5;1" ] || fail "the test rating of the first user"
[ "$(wc -l <one/rows/test/rows.txt)" = 4 ] || fail "users with test ratings"

# the same bytes for any number of threads, and where a run was killed and goes on
run crank run -m deeprec/config.yaml --threads 3
ends 0
same_weights one output
mv output whole
may_be_killed=yes
CRANK_TEST_KILL=step:5 run crank run -m deeprec/config.yaml
may_be_killed=
ends bad
run crank run -m deeprec/config.yaml --continue_train
ends 0
same_weights whole output

# other numbers of steps with the outputs give other weights; without any there is one step for each batch
for n in 0 2; do
    run crank run -m deeprec/config.yaml -o runner.aug_step=$n
    ends 0
    if (same_weights whole output) >/dev/null 2>&1; then fail "aug_step $n changes nothing"; fi
done
run crank config deeprec/config.yaml
ends 0
has_out "...refeed_steps: 1..."
cp "$out" deeprec.yaml

# in a folder of another name, the hyper-parameters tell the model
cp -r deeprec mine
run crank run -m mine/config.yaml -o runner.epochs=1
ends 0
has_err "mine/config.yaml:...: note: the hyper-parameters are those of PaddleRec's deeprec, so that is the model; ..."

# mistakes
run crank run -m deeprec/config.yaml --set train_config.gradient_accumulation_steps=2
ends 2
has_err "...refeed_steps feeds outputs in again, in steps of their own; remove gradient_accumulation_steps, which joins steps, or remove refeed_steps"
sed 's/masked_error: {}/add: {}/; s/num_class: 9/num_class: 1/' deeprec.yaml >other.yaml
run crank train other.yaml
ends 2
has_err "...refeed_steps feeds outputs in again, so one block masked_error must read them; add it to the backbone, or remove refeed_steps"
printf '1\t2\n' >deeprec/data/train/part-1
run crank run -m deeprec/config.yaml
ends 3
has_err "deeprec/data/train/part-1:1: '1...2' is not a user, an item and a rating with tabs between them, such as 116, 341 and 3.7; correct the line"
printf '1\t2\t3\n' >deeprec/data/train/part-1
run crank run -m deeprec/config.yaml
ends 2
has_err "...the files in 'deeprec/data/train' rate 10 items, and layer_sizes begins with 9; begin it with the number of items"
rm deeprec/data/train/*
: >deeprec/data/train/part-0
run crank run -m deeprec/config.yaml
ends 3
has_err "...the folder 'deeprec/data/train' has no ratings; it needs lines with a user, an item and a rating, with tabs"
sed 's/layer_sizes: .*/layer_sizes: [5]/' deeprec/config.yaml >deeprec/short.yaml
run crank run -m deeprec/short.yaml
ends 2
has_err "...layer_sizes must be a list of two or more widths; the first one is the number of items"
