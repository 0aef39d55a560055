# a loss that is no number: one line with the step, nothing lost
tiny_config
tiny_data 640 64
run crank train tiny.yaml --model_dir m --set train_config.dense_optimizer.adam_optimizer.lr=1e38 \
    --set train_config.sparse_optimizer.adagrad_optimizer.lr=1e38
ends 1
grep -i -E 'nan|inf|finite' "$err" | grep -q -i step || fail "no line names loss and step"
# NaN in the data is a bad row
awk -F, -v OFS=, 'NR == 5 { $5 = "nan" } { print }' train.csv >n.csv
run crank train tiny.yaml --model_dir n --train_input_path n.csv
ends 3
has_err "...n.csv:5...price...nan..."
