# a label that the loss cannot take is a bad row with its line, in training, evaluation and check
tiny_config
tiny_data 640 64
awk -F, -v OFS=, 'NR == 33 { $1 = 2 } { print }' train.csv >two.csv
run crank train tiny.yaml --model_dir m --train_input_path two.csv
ends 3
has_err "...two.csv:33: column 'label', value '2': binary_cross_entropy takes the labels 0 and 1..."
is_gone m/model.ckpt-0
run crank check tiny.yaml --train_input_path two.csv
ends 3
has_err "...two.csv:33: column 'label', value '2': ..."
run crank train tiny.yaml --model_dir m2 --train_input_path two.csv --set data_config.max_bad_rows=1
ends 0
# evaluation data
run crank train tiny.yaml --model_dir m3 --eval_input_path two.csv
ends 3
has_err "...two.csv:33: column 'label', value '2': ..."
# shares: only where the loss is told so
awk -F, -v OFS=, 'NR == 40 { $1 = 0.25 } { print }' train.csv >share.csv
run crank train tiny.yaml --model_dir m4 --train_input_path share.csv
ends 3
has_err "...share.csv:40: column 'label', value '0.25': ..."
run crank train tiny.yaml --model_dir m5 --train_input_path share.csv \
    --set 'model_config.losses=[{binary_cross_entropy: {soft_labels: true}}]'
ends 0
run crank train tiny.yaml --model_dir m6 --train_input_path two.csv \
    --set 'model_config.losses=[{binary_cross_entropy: {soft_labels: true}}]'
ends 3
has_err "...two.csv:33: column 'label', value '2': binary_cross_entropy takes labels from 0 to 1..."
# classes
run crank train tiny.yaml --model_dir m7 --train_input_path two.csv --set model_config.num_class=3 \
    --set 'model_config.losses=[{softmax_cross_entropy: {}}]' --set 'model_config.metrics=[{accuracy: {}}]'
ends 0
awk -F, -v OFS=, 'NR == 50 { $1 = 3 } { print }' train.csv >three.csv
run crank train tiny.yaml --model_dir m8 --train_input_path three.csv --set model_config.num_class=3 \
    --set 'model_config.losses=[{softmax_cross_entropy: {}}]' --set 'model_config.metrics=[{accuracy: {}}]'
ends 3
has_err "...three.csv:50: column 'label', value '3': softmax_cross_entropy takes whole numbers from 0 to 2..."
# any number
run crank train tiny.yaml --model_dir m9 --train_input_path three.csv \
    --set 'model_config.losses=[{l2_loss: {}}]' --set 'model_config.metrics=[{xauc: {}}]'
ends 0
# values are shown as the file has them
awk -F, -v OFS=, 'NR == 5 { $1 = "1e39" } NR == 7 { $1 = 12.68 } { print }' train.csv >large.csv
run crank train tiny.yaml --model_dir m10 --train_input_path large.csv
ends 3
has_err "large.csv:5: column 'label', value '1e39': too large for float32; ..."
sed 5d large.csv >odd.csv
run crank train tiny.yaml --model_dir m10 --train_input_path odd.csv
ends 3
has_err "odd.csv:6: column 'label', value '12.68': binary_cross_entropy takes the labels 0 and 1; ..."
# one task, one label
run crank check tiny.yaml --set 'data_config.label_fields=[label, price]'
ends 0
has_err "--set:1:34: warning: label_fields names 2 columns; a model with one task learns the first, 'label'"
# a label that is the same in all rows: one warning, after the first epoch or after 100 batches; none where it varies
awk -F, -v OFS=, 'NR > 1 { $1 = 0 } { print }' train.csv >zeros.csv
for epochs in 1 3; do
    run crank train tiny.yaml --model_dir same$epochs --train_input_path zeros.csv --set train_config.num_epochs=$epochs -q
    ends 0
    has_err "...label 'label' is 0 in all 640 rows so far, so there is nothing to learn; check data_config.label_fields, or shuffle the rows if they are sorted by the label"
    [ "$(grep -c 'nothing to learn' "$err")" -eq 1 ] || fail "not one warning"
done
run crank train tiny.yaml --model_dir steps --train_input_path zeros.csv --set data_config.batch_size=4 --set train_config.num_epochs=0 --set train_config.num_steps=120 -q
ends 0
has_err "...label 'label' is 0 in all 400 rows so far, ..."
awk -F, -v OFS=, 'NR > 1 { $1 = NR == 641 } { print }' train.csv >last.csv
run crank train tiny.yaml --model_dir varies --train_input_path last.csv -q
ends 0
no_err "...nothing to learn..."
