# predictions from standard input, to standard output and into a single file
tiny_config
tiny_data 640 64
run crank train tiny.yaml -q
ends 0
run crank export tiny.yaml --export_dir e
ends 0
predict() { run crank predict --scripted_model_path e --reserved_columns user,item "$@"; }
predict --predict_input_path eval.csv --predict_output_path folder
ends 0
good=folder/part-0.csv
[ "$(wc -l <$good)" -eq 65 ] || fail "not a row per input row"

# standard output gets the rows and nothing else; what people read goes to stderr
predict --predict_input_path eval.csv --predict_output_path -
ends 0
same "$out" $good
has_err "predicted  64 rows..."
is_gone -
predict --predict_input_path eval.csv --predict_output_path - -q
ends 0
same "$out" $good
[ ! -s "$err" ] || fail "--quiet is not quiet"
# a reader that leaves needs no words
pad=$(printf '%0400d' 0)
(echo "$(head -n 1 eval.csv),pad"; yes "$(sed "1d; s/\$/,$pad/" eval.csv)" | head -n 64000) >many.csv
(crank predict --scripted_model_path e --predict_input_path many.csv --predict_output_path - -q 2>left.err || echo $? >left.code) | head -n 2 >left.out
[ "$(wc -l <left.out)" -eq 2 ] || fail "no rows for head"
[ "$(cat left.code)" = 1 ] || fail "exit code $(cat left.code) when the reader left"
[ ! -s left.err ] || fail "words about a reader that left: $(cat left.err)"
# a full disk is told
if [ -e /dev/full ]; then
    code=0
    crank predict --scripted_model_path e --predict_input_path many.csv --predict_output_path - -q >/dev/full 2>"$err" || code=$?
    ends 1
    has_err "standard output: cannot write: No space left on device..."
fi

# standard input: a pipe, a packed one, a file; with all columns, whose names are read first
cat eval.csv | crank predict --scripted_model_path e --reserved_columns user,item --predict_input_path - --predict_output_path - >piped 2>"$err"
same piped $good
gzip -c eval.csv | crank predict --scripted_model_path e --reserved_columns user,item --predict_input_path /dev/stdin --predict_output_path - >piped 2>"$err"
same piped $good
crank predict --scripted_model_path e --reserved_columns user,item --predict_input_path - --predict_output_path - <eval.csv >piped 2>"$err"
same piped $good
predict --predict_input_path eval.csv --predict_output_path all --reserved_columns ALL_COLUMNS
ends 0
cat eval.csv | crank predict --scripted_model_path e --reserved_columns ALL_COLUMNS --predict_input_path - --predict_output_path - >piped 2>"$err"
same piped all/part-0.csv
# more than is kept of a pipe, the same rows with any number of threads
predict --predict_input_path many.csv --predict_output_path many.out
ends 0
for n in 1 3; do
    cat many.csv | crank predict --scripted_model_path e --reserved_columns user,item --threads $n --predict_input_path - --predict_output_path many.$n.csv -q
    same many.$n.csv many.out/part-0.csv
done
# a bad row names its line
code=0
(head -n 9 eval.csv; echo '1,u7,3,4,5') | crank predict --scripted_model_path e --predict_input_path - --predict_output_path bad.out.csv >"$out" 2>"$err" || code=$?
ends 3
has_err "/dev/stdin:10: column 'user', value 'u7': ..."
is_gone bad.out.csv
# nothing at all
crank predict --scripted_model_path e --predict_input_path - --predict_output_path - </dev/null >piped 2>"$err"
[ "$(cat piped)" = logits,probs ] || fail "no header for no rows"
has_err "/dev/stdin: warning: the file is empty and is skipped"
# Parquet: a file, but no pipe
tiny_parquet
crank predict --scripted_model_path e --reserved_columns user,item --predict_input_path - --predict_output_path - <eval.parquet >piped 2>"$err"
same piped $good
code=0
cat eval.parquet | crank predict --scripted_model_path e --predict_input_path - --predict_output_path - >"$out" 2>"$err" || code=$?
ends 1
has_err "/dev/stdin: it is not a regular file, but Parquet is read from the end; copy it into a file first"

# a program that sends nothing more does not keep crank from stopping
mkfifo waits
exec 9<>waits
for rows in no some; do
    crank predict --scripted_model_path e --predict_input_path - --predict_output_path - -q <&9 >"$out" 2>"$err" &
    pid=$!
    until grep -q '^SigCgt:.*[4-7c-f]...$' /proc/$pid/status; do sleep 0.01; done # SIGTERM has its handler
    # this is more than a pipe holds, so crank has read most of it when head ends
    [ $rows = no ] || head -c 1000000 many.csv >&9
    kill -TERM $pid
    code=0
    wait $pid || code=$?
    ends 1
    has_err "crank predict: stopped by a signal..."
done
exec 9>&-

# a single file, by its ending; whole or not at all
predict --predict_input_path eval.csv --predict_output_path new/scores.csv
ends 0
same new/scores.csv $good
[ "$(ls new)" = scores.csv ] || fail "other files beside scores.csv: $(ls new)"
has_out "  output  new/scores.csv"
predict --predict_input_path eval.csv --predict_output_path scores.csv.gz
ends 0
gzip -dc scores.csv.gz >unpacked
same unpacked $good
predict --predict_input_path eval.csv --predict_output_path scores.csv.gz
ends 0
has_err "...scores.csv.gz is there already and will be replaced"
# what was written can be read again
for f in all.csv.zst all.csv.gz all.parquet; do
    run crank predict --scripted_model_path e --predict_input_path eval.csv --predict_output_path $f --reserved_columns ALL_COLUMNS
    ends 0
    predict --predict_input_path $f --predict_output_path again.csv
    ends 0
    same again.csv $good
done
predict --predict_input_path eval.parquet --predict_output_path pq
ends 0
predict --predict_input_path eval.parquet --predict_output_path pq.csv
ends 0
same pq.csv $good
cp eval.csv short.csv
echo '1,x,y,z,0.5' >>short.csv
predict --predict_input_path short.csv --predict_output_path new/scores.csv
ends 3
same new/scores.csv $good
predict --predict_input_path short.csv --predict_output_path other/scores.csv
ends 3
is_gone other
# a folder stays a folder
mkdir d.csv
predict --predict_input_path eval.csv --predict_output_path d.csv
ends 0
same d.csv/part-0.csv $good
# what contradicts itself
predict --predict_input_path eval.csv --predict_output_path s.csv --writer_type ParquetWriter
ends 2
has_err "crank predict: --writer_type ParquetWriter does not fit the ending of --predict_output_path s.csv; leave it out, or name a file that ends in .parquet"
predict --predict_input_path eval.csv --predict_output_path - --writer_type ParquetWriter
ends 2
has_err "crank predict: ParquetWriter cannot write to standard output, which gets CSV; ..."
predict --predict_input_path eval.csv --predict_output_path s.csv --is_profiling
ends 2
has_err "crank predict: --is_profiling writes trace.json beside the result; give a folder to --predict_output_path"
predict --predict_input_path eval.csv --predict_output_path ./eval.csv
ends 2
has_err "crank predict: the result would replace ./eval.csv, which is among the input; give another path to --predict_output_path"

# an evaluation reads its data once
run crank eval tiny.yaml --eval_result_filename file.txt
ends 0
cat eval.csv | crank eval tiny.yaml --eval_input_path - --eval_result_filename pipe.txt >"$out" 2>"$err"
same model/file.txt model/pipe.txt
# training does not
for flag in train eval; do
    code=0
    cat train.csv | crank train tiny.yaml --model_dir m2 --${flag}_input_path - >"$out" 2>"$err" || code=$?
    ends 2
    has_err "--${flag}_input_path: '-': standard input can be read only once, and this data is read again in every epoch or evaluation, and when training is continued; write it to a file and name that"
done
code=0
cat train.csv | crank check tiny.yaml --train_input_path - >"$out" 2>"$err" || code=$?
ends 2
has_err "--train_input_path: '-': standard input can be read only once, ..."
