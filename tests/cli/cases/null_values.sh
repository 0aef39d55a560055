# data_config.null_values: texts that mean a missing cell, from CSV and Parquet, before everything
tiny_config
tiny_data 640 64
edit 21 '  - id_feature: {feature_name: user, expression: "user:user", num_buckets: 50, embedding_dim: 4, fg_encoded_default_value: "3"}'
edit 24 '  - raw_feature: {feature_name: price, expression: "item:price", fg_encoded_default_value: "1.5"}'
# every fifth user, every seventh tag list and every ninth price is missing: as an empty cell, as texts
for f in train eval; do
    awk -F, -v OFS=, 'NR > 1 { if (NR % 5 == 0) $2 = ""; if (NR % 7 == 0) $4 = ""; if (NR % 9 == 0) $5 = "" } { print }' $f.csv >$f.empty
    awk -F, -v OFS=, 'NR > 1 { if (NR % 5 == 0) $2 = NR % 2 ? "NA" : "\\N"; if (NR % 7 == 0) $4 = "?"; if (NR % 9 == 0) $5 = "-999" } { print }' $f.csv >$f.texts
done
run crank train tiny.yaml --model_dir empty --train_input_path train.empty --eval_input_path eval.empty
ends 0
# without null_values the text is a mistake, with its cure
run crank train tiny.yaml --model_dir bad --train_input_path train.texts --eval_input_path eval.empty
ends 3
has_err "train.texts:5: column 'user', value 'NA': not an integer id; if it means a missing value, list it in data_config.null_values; ..."
run crank train tiny.yaml --model_dir bad --train_input_path train.texts --eval_input_path eval.empty --set 'data_config.null_values=[NA, "\\N"]'
ends 3
has_err "train.texts:7: column 'tags', value '?': not an integer id; if it means a missing value, list it in data_config.null_values; ..."
cp tiny.yaml plain.yaml
sed '/label_fields/a\
\  null_values: [NA, '"'\\\\N'"', "?", "-999"]' plain.yaml >tiny.yaml
run crank check tiny.yaml --train_input_path train.texts --eval_input_path eval.texts
ends 0
run crank train tiny.yaml --model_dir texts --train_input_path train.texts --eval_input_path eval.texts
ends 0
same_weights texts empty
# declared as numbers the reader itself looks
run crank train tiny.yaml --model_dir typed --train_input_path train.texts --eval_input_path eval.texts \
    --set 'data_config.input_fields_str="label:INT64;user:INT64;item:INT32;tags:STRING;price:DOUBLE"'
ends 0
same_weights typed empty
# columns of text in a Parquet file, with dictionaries and without
schema='label:int32, user:string, item:int64, tags:string, price:string'
for f in train eval; do
    pq_make -c $f.parquet "$schema" 100 <$f.texts
done
sed 's/CsvDataset/ParquetDataset/; s/_path: \(.*\)\.csv/_path: \1.parquet/' tiny.yaml >tiny_pq.yaml
run crank train tiny_pq.yaml --model_dir parquet
ends 0
same_weights parquet empty
# it belongs to the model: another list is another meaning
run crank train tiny.yaml --model_dir texts --train_input_path train.texts --eval_input_path eval.texts --continue_train \
    --set 'data_config.null_values=[NA, "\\N", "?", "-999", "zzz"]' --set train_config.num_epochs=3
ends 2
has_err "--set 'data_config.null_values=...: data_config.null_values is ... here, but texts/model.ckpt-... was made with ...; put that back, ..."
run crank eval plain.yaml --model_dir texts --eval_input_path eval.empty
ends 2
has_err "...data_config.null_values is the default here, but texts/model.ckpt-... was made with ...; put that back, ..."
# a model without them is as before
run crank train plain.yaml --model_dir empty --train_input_path train.empty --eval_input_path eval.empty --continue_train --set train_config.num_epochs=3
ends 0
grep -q null_values empty/pipeline.config && fail "null_values are written where there are none"
# an export keeps them, and predictions carry columns along as they are in the file
run crank export tiny.yaml --model_dir texts --export_dir e
ends 0
for f in texts empty; do
    cut -d, -f2- eval.$f >new.$f.csv
    run crank predict --scripted_model_path e --predict_input_path new.$f.csv --predict_output_path $f.out --reserved_columns user,tags,price
    ends 0
    cat $f.out/*.csv >all.$f
done
cut -d, -f4- all.texts >scores.texts
cut -d, -f4- all.empty >scores.empty
same scores.texts scores.empty
cut -d, -f1-3 all.texts >carried
cut -d, -f2,4,5 eval.texts >wanted
same carried wanted
run crank predict --scripted_model_path e --dataset_type ParquetDataset --predict_input_path eval.parquet --predict_output_path pq.out \
    --reserved_columns user --writer_type CsvWriter
ends 0
cat pq.out/*.csv | cut -d, -f2- >scores.pq
same scores.pq scores.empty
cat pq.out/*.csv | cut -d, -f1 >carried
cut -d, -f2 eval.texts >wanted
same carried wanted
# a label that is missing is a bad row
sed '40s/^./NA/' train.texts >label.csv
run crank train tiny.yaml --model_dir label --train_input_path label.csv --eval_input_path eval.texts
ends 3
has_err "label.csv:40: column 'label' is empty; a label must be a number; ..."
