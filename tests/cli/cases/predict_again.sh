# predict into a folder that has been used: an earlier result is replaced and told, leftovers of killed runs go
tiny_config
tiny_data
run crank train tiny.yaml --quiet
ends 0
predict() { run crank predict --pipeline_config_path model/pipeline.config --predict_input_path eval.csv --predict_output_path out "$@"; }
predict
ends 0
no_err "...will be replaced..."
cp out/part-0.csv first.csv
sh -c 'exit 0' &
dead=$!
wait $dead
echo half >"out/part-0.csv.tmp-$dead"
echo mine >"out/part-0.csv.tmp-$$"
echo other >"out/part-0.csv.tmp-note"
predict
ends 0
has_err "...out/part-0.csv is there already and will be replaced"
has_err "...Removing out/part-0.csv.tmp-$dead, left by a run that did not finish"
same out/part-0.csv first.csv
is_gone "out/part-0.csv.tmp-$dead"
is_there "out/part-0.csv.tmp-$$"
is_there "out/part-0.csv.tmp-note"
# a run that fails leaves the earlier result as it was
head -n 50 eval.csv >short.csv
echo '1,x,y,z,0.5' >>short.csv
run crank predict --pipeline_config_path model/pipeline.config --predict_input_path short.csv --predict_output_path out
ends 3
same out/part-0.csv first.csv
# killed: nothing but the leftover, which the next run removes
tiny_rows eval.csv 200000 5
may_be_killed=yes
rm -rf out
mkdir out
for point in write:2 torn:3 sync:1 rename:1; do
    run env CRANK_TEST_KILL=$point crank predict --pipeline_config_path model/pipeline.config --predict_input_path eval.csv --predict_output_path out --quiet
    ends 137
    ls out | grep -q '^part-0.csv.tmp-' || fail "nothing was written before the kill"
    is_gone out/part-0.csv
done
predict --quiet
ends 0
[ "$(ls out)" = "_feature_counts.json
part-0.csv" ] || fail "left behind: $(ls out)"
# a model_dir or a checkpoint in the place of an export
for what in model "$(newest model)"; do
    run crank predict --scripted_model_path "$what" --predict_input_path eval.csv --predict_output_path out
    ends 2
    has_err "crank predict: $what is not an export; make one with \`crank export\`, or give --pipeline_config_path (and --checkpoint_path) to predict from a checkpoint"
done
