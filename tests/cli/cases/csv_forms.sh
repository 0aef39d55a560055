# other delimiters, no header, quotes, Windows line ends, no last newline: the same bytes
tiny_config
tiny_data 640 64
run crank train tiny.yaml --model_dir plain
ends 0
tr ',' '\t' <train.csv | sed 1d >t.tsv
run crank train tiny.yaml --model_dir tab --train_input_path t.tsv --eval_input_path '' --set 'data_config.delimiter="\t"' \
    --set data_config.with_header=false --set 'data_config.input_fields_str=label:INT64;user:INT64;item:INT64;tags:STRING;price:FLOAT;'
ends 0
same_weights plain tab
sed 's/\([^,]*\),\([^,]*\)$/"\1","\2"/; s/$/\r/' train.csv >q.csv
run crank train tiny.yaml --model_dir quoted --train_input_path q.csv
ends 0
same_weights plain quoted
printf '%s' "$(cat train.csv)" >cut.csv
run crank train tiny.yaml --model_dir cut --train_input_path cut.csv
ends 0
same_weights plain cut
# columns in another order, and more of them
awk -F, -v OFS=, '{ print $5, "x", $3, $1, $4, $2 }' train.csv >order.csv
run crank train tiny.yaml --model_dir order --train_input_path order.csv
ends 0
same_weights plain order
# a header that the config does not expect is not taken for a row
run crank check tiny.yaml --set data_config.with_header=false --set 'data_config.input_fields_str=label:INT64;user:INT64;item:INT64;tags:STRING;price:FLOAT;'
ends 2
has_err "...: train.csv: the first line holds the names of the columns; set with_header: true in data_config"
