# maml of PaddleRec since 2.0: tasks that are drawn from PNG pictures, inner steps, batch norm by the rows of a task
[ -f "$(dirname "$CRANK")/png.so" ] || skip "crank was built without libpng"
# character C: five pictures of 32 x 32, a bar whose direction and place tell the character
character() {
    mkdir -p "maml/data/alphabet/$1"
    for n in 1 2 3 4 5; do
        awk -v c="${1#c}" -v n=$n 'BEGIN { for (y = 0; y < 32; y++) { for (x = 0; x < 32; x++) {
            a = c % 2 ? x : y; m = c > 2 ? 9 : 21; print (a >= m + n % 3 - 2 && a <= m + n % 2 + 2) ? 0 : 255 } } }' |
            "$PNG_MAKE" "maml/data/alphabet/$1/$n.png" 32 32
    done
}
for c in c1 c2 c3 c4; do character $c; done
cat >maml/config.yaml <<END
runner:
  train_data_dir: "data"
  train_reader_path: "omniglot_reader"
  use_gpu: False
  use_auc: False
  train_batch_size: 32
  epochs: 1
  print_interval: 10
  model_save_path: "output"
  test_data_dir: "data"
  infer_reader_path: "omniglot_reader"
  infer_batch_size: 320
  infer_load_path: "output"
  infer_start_epoch: 0
  infer_end_epoch: 1
hyper_parameters:
  meta_optimizer:
    class: Adam
    learning_rate: 0.01
    strategy: async
  base_optimizer:
    class: SGD
    learning_rate: 0.1
    strategy: async
  update_step: 2
  update_step_test: 3
  n_way: 3
  k_spt: 1
  k_query: 2
  imgsize: 16
  conv_stride: 1
  conv_padding: 1
  conv_kernal: [3, 3]
  bn_channel: 4
END
run crank run -m maml/config.yaml --threads 1
ends 0
has_err "...output/rows/train holds 28800 rows of 3200 tasks, made from the pictures in maml/data"
has_out "... - INFO - epoch: 0, batch_id: 90, acc:0..., loss:..., avg_reader_cost: ..."
[ "$(head -n 1 output/rows/train/rows-00000.txt | tr -cd ' ' | wc -c)" = 255 ] || fail "the numbers of a picture"
[ "$(cut -d ';' -f 1 output/rows/train/rows-00000.txt | head -n 3 | sort | tr -d '\n')" = 012 ] || fail "the support rows of a task"
run crank run -m maml/config.yaml --infer
ends 0
has_err "...output/rows/test holds 90 rows of 10 tasks, made from the pictures in maml/data"
has_out "... - INFO - epoch: 0 done, acc: ..., epoch time: ... s"
# the characters are easy to tell
awk -F 'acc: ' '/done, acc/ { exit !($2 + 0 > 0.8) }' "$out" || fail "it has learned nothing"
# other threads give the same bits
mv output first
run crank run -m maml/config.yaml --threads 3
ends 0
same first/rows/train output/rows/train
same_weights first output
# in a folder of another name, the hyper-parameters tell the model
cp -r maml mine
run crank config mine/config.yaml
ends 0
has_err "mine/config.yaml:...: note: the hyper-parameters are those of PaddleRec's maml, so that is the model; ..."
# a signal ends it while it draws rows, of which there are many more to come
"$CRANK" run -m mine/config.yaml -o hyper_parameters.imgsize=64 -o runner.model_save_path=large >stopped 2>&1 &
pid=$!
for _ in $(seq 600); do
    [ ! -e large/rows/train/rows-00000.txt ] || break
    sleep 0.1
done
kill -TERM $pid
if wait $pid; then fail "it did not stop"; fi
has stopped "...stopped by a signal while rows were written to 'large/rows/train'; they are drawn anew by the next run" || fail "how it stopped"
rm -r large

# mistakes
run crank run -m maml/config.yaml -o hyper_parameters.conv_stride=2
ends 2
has_err "...: conv_kernal must be [3, 3] with conv_stride 1 and conv_padding 1, as PaddleRec's config has them"
run crank run -m maml/config.yaml -o hyper_parameters.n_way=5
ends 3
has_err "maml/data: the folder has 4 characters, and a task draws 5; it must hold <alphabet>/<character>/<picture>.png"
run crank run -m maml/config.yaml -o hyper_parameters.k_query=5
ends 3
has_err "maml/data/alphabet/c1: the folder has 5 pictures, and a task draws 6; add some, or lower k_spt or k_query"
head -c 60 maml/data/alphabet/c2/3.png >cut
cp cut maml/data/alphabet/c2/3.png
run crank run -m maml/config.yaml
ends 3
has_err "maml/data/alphabet/c2/3.png: it is damaged: ...; copy it anew"
echo text >maml/data/alphabet/c2/3.png
run crank run -m maml/config.yaml
ends 3
has_err "maml/data/alphabet/c2/3.png: it is no PNG: ...; copy it anew"
