# Parquet: the same model as from CSV, with any column types, row groups, files and threads
tiny_config
tiny_data 1500 300
tiny_parquet 200
run crank train tiny.yaml --model_dir csv
ends 0
for t in 1 2 3; do
    run crank train tiny_pq.yaml --model_dir m$t --threads $t
    ends 0
    same_weights csv m$t
    same csv/train_eval_result_v2.txt m$t/train_eval_result_v2.txt
done
# other types, more columns, ids as lists and as text
awk -F, 'NR > 1 { gsub(/\|/, ",", $4); print $1 "|" $2 "|" $3 "|[" $4 "]|" $5 "|z" }' train.csv |
    pq_make lists.parquet 'label:double, user:int32, item:string, tags:list<int64>, price:double, more:string' 333
run crank train tiny_pq.yaml --model_dir lists --train_input_path lists.parquet
ends 0
same_weights csv lists
# uneven files, one without rows, in a directory; a list of paths with a glob
mkdir parts
awk -F, 'NR > 1 { print > ("part." (NR < 10 ? 0 : NR < 12 ? 1 : 2)) }' train.csv
for i in 0 1 2; do
    tr '|' ';' <part.$i | tr ',' '|' | awk -F'|' '{ gsub(/;/, ",", $4); print $1 "|" $2 "|" $3 "|[" $4 "]|" $5 }' |
        pq_make parts/part-$i.parquet 'label:int32, user:int64, item:int64, tags:list<int32>, price:double' 100
done
: | pq_make parts/part-1a.parquet 'label:int32, user:int64, item:int64, tags:list<int32>, price:double'
echo done >parts/_SUCCESS
run crank train tiny_pq.yaml --model_dir parts-dir --train_input_path parts
ends 0
same_weights csv parts-dir
run crank train tiny_pq.yaml --model_dir parts-list --train_input_path 'parts/part-0.parquet,parts/part-1*.parquet, parts/part-2.parquet'
ends 0
same_weights csv parts-list
# shuffled: the same for any number of threads
for t in 1 2 3; do
    run crank train tiny_pq.yaml --model_dir s$t --threads $t --set data_config.shuffle=true
    ends 0
done
same_weights s1 s2
same_weights s1 s3
a=$(newest csv) b=$(newest s1)
if cmp -s "$a"/model-*.safetensors "$b"/model-*.safetensors; then fail "shuffle changes nothing"; fi
# eval, export, check and predict; scores are those of CSV
run crank eval tiny_pq.yaml --model_dir csv --eval_result_filename p.txt
ends 0
run crank eval tiny.yaml --model_dir csv --eval_result_filename c.txt
ends 0
same csv/p.txt csv/c.txt
run crank export tiny.yaml --model_dir csv --export_dir export
ends 0
run crank predict --scripted_model_path export --predict_input_path eval.csv --predict_output_path pc --reserved_columns user,tags
ends 0
run crank predict --scripted_model_path export --predict_input_path eval.parquet --predict_output_path pp \
    --reserved_columns user,tags --dataset_type ParquetDataset --writer_type CsvWriter
ends 0
same pc pp
# the ending says which format it is
run crank predict --scripted_model_path export --predict_input_path eval.parquet --predict_output_path pe \
    --reserved_columns user,tags --writer_type CsvWriter
ends 0
same pc pe
run crank check tiny_pq.yaml
ends 0
has_out "train     1500 of 1500 rows sampled, mean label ..., 0 bad rows: train.parquet"
