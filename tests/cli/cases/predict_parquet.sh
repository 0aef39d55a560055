# predictions as Parquet: the format of the input unless told, the scores of the CSV, reserved columns with their types
for f in csv parquet; do
    run crank synth taobao --rows 2000 --eval_rows 1000 --seed 3 --scale 0.01 --format $f -o $f
    ends 0
done
run crank train parquet/pipeline.yaml --quiet
ends 0
run crank export parquet/model/pipeline.config --export_dir export
ends 0
predict() { run crank predict --scripted_model_path export "$@"; }

predict --predict_input_path 'parquet/eval/*.parquet' --predict_output_path p --reserved_columns clk,user_cates,pid,price
ends 0
has_out "  output  p/part-0.parquet"
run crank parquet p --schema
ends 0
says_out <<'END'
message schema {
  required INT64 clk;
  required group user_cates (LIST) {
    repeated group list {
      required INT64 element;
    }
  }
  required BYTE_ARRAY pid (string);
  required DOUBLE price;
  required FLOAT logits;
  required FLOAT probs;
}
END
# the rows as they were, in their order
run crank parquet p/part-0.parquet --rows_json --columns clk,user_cates,pid,price
ends 0
cp "$out" got
for part in parquet/eval/*.parquet; do
    run crank parquet "$part" --rows_json --columns clk,user_cates,pid,price
    ends 0
    cat "$out" >>want
done
same want got
[ "$(wc -l <got)" -eq 1000 ] || fail "rows"

# the other format on request, either way, with the same scores
predict --predict_input_path 'parquet/eval/*.parquet' --predict_output_path pc --reserved_columns clk --writer_type CsvWriter
ends 0
is_gone pc/part-0.parquet
predict --predict_input_path 'csv/eval/*.csv' --predict_output_path c --reserved_columns clk --dataset_type CsvDataset \
    --set data_config.with_header=true --set 'feature_configs[9].id_feature.separator=|' --accept_changed_features
ends 0
same pc/part-0.csv c/part-0.csv
predict --predict_input_path 'csv/eval/*.csv' --predict_output_path cp --reserved_columns clk --dataset_type CsvDataset \
    --writer_type ParquetWriter --set data_config.with_header=true --set 'feature_configs[9].id_feature.separator=|' --accept_changed_features
ends 0
run crank parquet cp --schema
has_out "  optional BYTE_ARRAY clk (string);" # nobody said what it is
run crank parquet cp/part-0.parquet --rows_json --columns probs
cp "$out" a
run crank parquet p/part-0.parquet --rows_json --columns probs
cp "$out" b
same a b

# what can be wrong
predict --predict_input_path 'parquet/eval/*.parquet' --predict_output_path q --reserved_columns clk,clk
ends 2
has_err "crank predict: --reserved_columns names 'clk' twice; name it once"
predict --predict_input_path 'parquet/eval/*.parquet' --predict_output_path q --writer_type OrcWriter
ends 2
has_err "crank predict: writer_type 'OrcWriter' is not in this version; use CsvWriter or ParquetWriter or ArrowWriter or OdpsWriter"
predict --predict_input_path 'parquet/eval/*.parquet' --predict_output_path q --output_columns probs,probs
ends 2
has_err "crank predict: --output_columns names 'probs' twice; name it once"

# all that is there, and on top of that what the features became
predict --predict_input_path 'parquet/eval/*.parquet' --predict_output_path all --reserved_columns ALL_COLUMNS --debug_level 1
ends 0
run crank parquet all/part-0.parquet --rows_json --rows 1
has_out "...\"pid\":...\"logits\":...\"probs\":...\"__features__\":\"user_id:..."
predict --predict_input_path all/part-0.parquet --predict_output_path q --reserved_columns ALL_COLUMNS
ends 2
has_err "crank predict: '...' is a reserved column and a prediction; leave it out of --reserved_columns, or name other predictions with --output_columns"
is_gone q/part-0.parquet

# the same bytes whatever the number of threads
predict --predict_input_path 'parquet/eval/*.parquet' --predict_output_path again --reserved_columns clk
ends 0
cp again/part-0.parquet first
predict --predict_input_path 'parquet/eval/*.parquet' --predict_output_path again --reserved_columns clk --threads 1
ends 0
has_err "...again/part-0.parquet is there already and will be replaced"
same again/part-0.parquet first

# several numbers per row are a list
run crank train parquet/pipeline.yaml --quiet --model_dir two --set model_config.num_class=2 \
    --set 'model_config.losses=[{softmax_cross_entropy: {}}]' --set 'model_config.metrics=[{accuracy: {}}]'
ends 0
run crank predict --pipeline_config_path two/pipeline.config --predict_input_path 'parquet/eval/*.parquet' --predict_output_path lists
ends 0
run crank parquet lists/part-0.parquet --schema
has_out "  required group probs (LIST) {"
has_out "      required DOUBLE element;"
has_out "  required FLOAT probs1;"
run crank parquet lists/part-0.parquet --rows_json --rows 1
has_out "{\"logits\":[...,...],\"probs\":[...,...],\"probs1\":...}"

# a wrong --dataset_type is told as that flag
for t in 'ParquetDatset|; did you mean '"'ParquetDataset'"'?' 'parquet|; write ..., or leave it out'; do
    predict --predict_input_path 'parquet/eval/*.parquet' --predict_output_path wrong --dataset_type "${t%%|*}"
    ends 2
    has_err "crank predict: --dataset_type is '${t%%|*}'${t#*|}"
done
is_gone wrong
predict --predict_input_path 'parquet/eval/*.parquet' --predict_output_path wrong --reserved_columns nope
ends 2
has_err "parquet/eval/part-00000.parquet: it has no column 'nope', which --reserved_columns needs; ..."

# a limit on the size of files is an error like any other, and leaves nothing behind
run sh -c 'ulimit -f 1; exec "$@"' sh crank predict --scripted_model_path export --predict_input_path 'parquet/eval/*.parquet' \
    --predict_output_path limit --reserved_columns ALL_COLUMNS --quiet
ends 1
has_err "limit/part-0.parquet: cannot write: File too large..."
[ -z "$(ls limit)" ] || fail "something is left: $(ls limit)"

# a result never takes the place of its own input
mkdir own
cp parquet/eval/part-00000.parquet own/part-0.parquet
for in in own own/part-0.parquet 'own/*'; do
    predict --predict_input_path "$in" --predict_output_path own/../own
    ends 2
    has_err "crank predict: the result would replace own/../own/part-0.parquet, which is among the input; give another path to --predict_output_path"
done
same own/part-0.parquet parquet/eval/part-00000.parquet
predict --predict_input_path own --predict_output_path apart
ends 0
# every page carries a checksum: a bit that changed in the scores is found, whatever reads them
cp -r p damaged
f=damaged/part-0.parquet
run crank parquet $f --rows_json
ends 0
cp "$out" whole
size=$(wc -c <$f)
found=0
for part in 1 2 3 4 5 6 7 8 9; do
    at=$((size * part / 12)) # the pages; the footer is the end of the file
    flip $f $at
    run crank parquet $f --rows_json
    ends any
    if [ "$code" -eq 0 ]; then same "$out" whole; else
        has_err "...$f..."
        found=$((found + 1))
    fi
    flip $f $at
done
[ $found -ge 7 ] || fail "$found of 9 were found"
run crank parquet $f --rows_json
ends 0
