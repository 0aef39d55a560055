# models of PaddleRec whose attention is of a form of their own: train, evaluate, migrate

# behaviour N: 50 actions, categories and brands, two masks, features, price, pid, label
behaviour() {
    awk -v n="$1" 'function r(k) { x = (x * 1103515245 + 12345) % 2147483648; return int(x / 65536) % k }
    BEGIN { x = 7; for (i = 0; i < n; i++) {
        len = 2 + r(6); s = ""
        for (k = 0; k < 3; k++) for (j = 0; j < 50; j++) s = s (j < 50 - len ? (k ? "0," : ",") : (1 + r(3)) ",")
        for (k = 0; k < 2; k++) for (j = 0; j < 50; j++) s = s (j >= 50 - len) ","
        id = r(6); s = s id
        for (k = 0; k < 13; k++) s = s "," r(3)
        print s ",0." r(10) "," r(2) "," (id % 2)
    } }'
}
# page N: items, categories and places of clicks, none in some lines; item, category, place and label of the target
page() {
    awk -v n="$1" 'function r(k) { x = (x * 1103515245 + 12345) % 2147483648; return int(x / 65536) % k }
    BEGIN { x = 5; for (i = 0; i < n; i++) {
        len = r(7); a = b = c = ""
        for (j = 0; j < len; j++) { b1 = j ? " " : ""; a = a b1 r(9); b = b b1 r(5); c = c b1 (1 + r(2)) }
        id = r(9); print a ";" b ";" c ";" id ";" r(5) ";" (1 + r(2)) ";" (r(4) ? id % 2 : r(2))
    } }'
}
# config NAME HYPER
config() {
    mkdir -p "$1/train" "$1/test"
    cat >"$1/config.yaml" <<END
runner:
  train_data_dir: "train"
  train_reader_path: "some_reader"
  use_gpu: False
  use_auc: True
  train_batch_size: 8
  epochs: 2
  print_interval: 4
  model_save_path: "output_$1"
  infer_batch_size: 5
  test_data_dir: "test"
  infer_load_path: "output_$1"
  infer_start_epoch: 0
  infer_end_epoch: 2
hyper_parameters:
  optimizer: {class: Adam, learning_rate: 0.01, strategy: async}
$2
END
}
sizes=$(for n in user cms_segid cms_group_id final_gender_code age_level pvalue_level shopping_level occupation new_user_class_level adgroup_id \
    cate campaign_id customer brand btag pid; do echo "  ${n}_size: 7"; done)
config dmr "$sizes
  main_embedding_size: 4
  other_embedding_size: 2"
behaviour 96 >dmr/train/part-0
behaviour 40 >dmr/test/part-0
config dpin "  is_sparse: True
  embedding_dim: 3
  K: 2
  L: 3
  max_item: 9
  max_context: 5
  d_model: 4
  h: 2
  num_layers: 2
  fc_sizes: [6, 5]"
page 96 >dpin/train/part-0
page 40 >dpin/test/part-0

for m in dmr dpin; do
    names='auc: ...,'
    run crank run -m "$m/config.yaml" --threads 2
    ends 0
    has_out "... - INFO - epoch: 1 done, $names...loss:..., epoch time: ... s"
    run crank run -m "$m/config.yaml" --infer
    ends 0
    [ $m = dmr ] || names="${names}PAUC: 0...,"
    has_out "... - INFO - epoch: 1 done, $names... epoch time: ... s"
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

# in a folder of another name, the hyper-parameters tell the model
cp -r dmr mine
run crank run -m mine/config.yaml -o runner.epochs=1
ends 0
has_err "mine/config.yaml:...: note: the hyper-parameters are those of PaddleRec's dmr, so that is the model; ..."

# blocks that do not fit
sed 's/leave_out: 1/leave_out: 1\n          softmax: false/' dmr.yaml >wrong.yaml
run crank train wrong.yaml --model_dir wrong
ends 2
has_err "wrong.yaml:...: block 'dm_before': leave_out is for the softmax; leave it out, or softmax: false"

# heads that do not divide the width
run crank run -m dpin/config.yaml -o hyper_parameters.h=3
ends 2
has_err "-o 'hyper_parameters.h=3': d_model 4 is not a multiple of h, the number of heads; make it one"
# each place has the first L of its clicks; as shipped, item 0 stands behind fewer
run crank run -m dpin/config.yaml -o runner.epochs=1
ends 0
if grep -q 'fill:' output_dpin/pipeline.config; then fail "padding without --compat"; fi
run crank run -m dpin/config.yaml -o runner.epochs=1 --compat paddlerec
ends 0
[ "$(grep -c 'fill: "0"' output_dpin/pipeline.config)" = 4 ] || fail "no padding as shipped"
