# a bad row names file, line, column and value; max_bad_rows decides what happens
tiny_config
tiny_data 640 64
awk -F, -v OFS=, 'NR == 41 { $2 = "u7" } { print }' train.csv >bad.csv
run crank train tiny.yaml --model_dir m --train_input_path bad.csv
ends 3
has_err "...bad.csv:41: column 'user', value 'u7': ..."
is_gone m/model.ckpt-0
# a short row and a long one
awk 'NR == 7 { print "1,2,3"; next } NR == 9 { print $0 ",x"; next } { print }' train.csv >short.csv
run crank train tiny.yaml --model_dir m2 --train_input_path short.csv
ends 3
has_err "...short.csv:7: the row has 3 fields, the header has 5..."
run crank train tiny.yaml --model_dir m3 --train_input_path short.csv --set data_config.max_bad_rows=2 --set train_config.num_epochs=1
ends 0
grep -q 'short.csv:7' "$err" || fail "the skipped row is not told"
# the same rows as a file without them
awk 'NR != 7 && NR != 9' train.csv >good.csv
run crank train tiny.yaml --model_dir m4 --train_input_path good.csv --set train_config.num_epochs=1
ends 0
same_weights m3 m4
run crank train tiny.yaml --model_dir m5 --train_input_path short.csv --set data_config.max_bad_rows=1
ends 3
# a quote that never closes, a label that is no number
awk 'NR == 600 { sub(/^./, "\""); print; next } { print }' train.csv >quote.csv
run crank train tiny.yaml --model_dir m6 --train_input_path quote.csv
ends 3
has_err "...quote.csv:600: a quote opened in this row is never closed..."
awk -F, -v OFS=, 'NR == 12 { $1 = "yes" } { print }' train.csv >label.csv
run crank train tiny.yaml --model_dir m7 --train_input_path label.csv
ends 3
has_err "...label.csv:12: column 'label', value 'yes': ..."
# crank check finds it without training
run crank check tiny.yaml --train_input_path bad.csv
ends 3
has_err "...bad.csv:41: column 'user', value 'u7': ..."
