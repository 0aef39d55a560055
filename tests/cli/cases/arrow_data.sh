# Arrow: the same model as from CSV, and predictions as Arrow files, which can be trained on
tiny_config
tiny_data 1500 300
tiny_parquet 200
run crank train tiny.yaml --model_dir csv
ends 0
run crank export tiny.yaml --model_dir csv --export_dir export
ends 0
# the columns of the data, written beside the predictions
for f in train eval; do
    run crank predict --scripted_model_path export --predict_input_path $f.parquet --predict_output_path $f.arrow \
        --reserved_columns label,user,item,tags,price
    ends 0
done
[ "$(head -c 6 train.arrow)" = ARROW1 ] || fail "train.arrow is no Arrow file"
sed 's/CsvDataset/ArrowDataset/; s/_path: \(.*\)\.csv/_path: \1.arrow/' tiny.yaml >tiny_arrow.yaml
for t in 1 2 3; do
    run crank train tiny_arrow.yaml --model_dir m$t --threads $t
    ends 0
    same_weights csv m$t
    same csv/train_eval_result_v2.txt m$t/train_eval_result_v2.txt
done
# shuffled: the same for any number of threads
for t in 1 3; do
    run crank train tiny_arrow.yaml --model_dir s$t --threads $t --set data_config.shuffle=true
    ends 0
done
same_weights s1 s3
a=$(newest csv) b=$(newest s1)
if cmp -s "$a"/model-*.safetensors "$b"/model-*.safetensors; then fail "shuffle changes nothing"; fi
# stopped and continued
run crank train tiny_arrow.yaml --model_dir half --set train_config.num_epochs=0 --set train_config.num_steps=7
ends 0
run crank train tiny_arrow.yaml --model_dir half --continue_train
ends 0
same_weights csv half
# the ending says the format; the result has the format of the input
run crank predict --scripted_model_path export --predict_input_path eval.arrow --predict_output_path pa --reserved_columns user,tags
ends 0
[ -f pa/part-0.arrow ] || fail "predictions of Arrow files are not written as one"
run crank predict --scripted_model_path export --predict_input_path eval.arrow --predict_output_path pc.csv --reserved_columns user,tags
ends 0
run crank predict --scripted_model_path export --predict_input_path eval.parquet --predict_output_path pp.csv --reserved_columns user,tags
ends 0
same pc.csv pp.csv
run crank predict --scripted_model_path export --predict_input_path eval.csv --predict_output_path out.csv --writer_type ArrowWriter
ends 2
has_err "crank predict: --writer_type ArrowWriter does not fit the ending of --predict_output_path out.csv; leave it out, or name a file that ends in .arrow"
# mistakes have a place, a cause and a cure
head -c 3000 train.arrow >cut.arrow
run crank train tiny_arrow.yaml --model_dir none --train_input_path cut.arrow
ends 3
has_err "cut.arrow: the mark ARROW1 is missing at its end; it is cut short; the file is damaged, write it again"
run crank train tiny_arrow.yaml --model_dir none --train_input_path train.csv
ends 3
has_err "train.csv: it is neither an Arrow file nor a stream; leave it out, or set data_config.dataset_type to what it is"
run crank check tiny_arrow.yaml
ends 0
has_out "train     1500 of 1500 rows sampled, mean label ..., 0 bad rows: train.arrow"
