# docs/guide/security.md, "Outputs": nothing is written through a link that other people put into the folder
tiny_data 320 64
tiny_config
run crank train tiny.yaml --model_dir m
ends 0
run crank export m/pipeline.config --export_dir x
ends 0
echo precious >precious
for ext in csv parquet; do
    case $ext in csv) w=CsvWriter ;; *) w=ParquetWriter ;; esac
    for target in ../precious ../nothing; do
        rm -rf o
        mkdir o
        ln -s $target o/part-0.$ext
        run crank predict --scripted_model_path x --predict_input_path eval.csv --predict_output_path o --writer_type $w
        ends 2
        has_err "crank predict: o/part-0.$ext is a symbolic link, and predictions are not written through one; remove it, or give another path to --predict_output_path"
        [ "$(cat precious)" = precious ] || fail "the file behind the link was written"
        is_gone nothing
    done
done
# nor are the files beside the result
for f in _feature_counts.json trace.json; do
    rm -rf o
    mkdir o
    ln -s ../precious o/$f
    run crank predict --scripted_model_path x --predict_input_path eval.csv --predict_output_path o --is_profiling --batch_size 2
    ends 2
    has_err "crank predict: o/$f is a symbolic link, and predictions are not written through one; remove it, or give another path to --predict_output_path"
    [ "$(cat precious)" = precious ] || fail "the file behind the link was written"
    is_gone o/part-0.csv
done
# what a killed run left of them goes
rm -rf o
mkdir o
touch o/_feature_counts.json.tmp-2147483647 o/part-0.csv.tmp-2147483647
run crank predict --scripted_model_path x --predict_input_path eval.csv --predict_output_path o
ends 0
is_gone o/_feature_counts.json.tmp-2147483647
is_gone o/part-0.csv.tmp-2147483647
# the folder itself may be a link: the user named it
rm -rf o real
mkdir real
ln -s real o
run crank predict --scripted_model_path x --predict_input_path eval.csv --predict_output_path o
ends 0
is_there real/part-0.csv
