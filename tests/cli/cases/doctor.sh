# crank check as a doctor of data: a table per feature, and every finding with its cure
tiny_config
tiny_data 640 400
run crank check tiny.yaml
ends 0
has_out "features  of the 640 rows of train data, as the model gets them"
has_out "  feature   missing  distinct        min        25%        50%        75%        max       mean         sd"
has_out "  user            0        50  ids, 1 per row"
has_out "  price           0       ...      ...      ..."
has_out "no problems found"

# numbers of a huge scale: the line to paste is made from the data, and helps
awk -F, -v OFS=, 'NR == 1 { print; next } { $5 = 1000 + 90 * $5; print }' train.csv >far.csv
awk -F, -v OFS=, 'NR == 1 { print; next } { $5 = 1000 + 90 * $5; print }' eval.csv >far_eval.csv
awk -F, -v OFS=, 'NR == 1 { print; next } { $5 = NR % 10 ? 0 : 7000 * $5; print }' train.csv >skew.csv
sed -i 's/FG_NONE/FG_NORMAL/' tiny.yaml
sed -i 's/feature_name: tags, /feature_name: tags, separator: "|", /' tiny.yaml
run crank check tiny.yaml --train_input_path far.csv --eval_input_path far_eval.csv
ends 0
has_err "tiny.yaml:24:...: warning: feature 'price': its numbers in train data lie between 10... and 1...; write normalizer: \"method=zscore,mean=...,standard_deviation=...\", or boundaries: [..., ...] and embedding_dim: 8"
has_out "1 warning"
line=$(sed -n 's/.*write \(normalizer: "[^"]*"\).*/\1/p' "$err")
sed "s/expression: \"item:price\"/expression: \"item:price\", $line/" tiny.yaml >cured.yaml
run crank check cured.yaml --train_input_path far.csv --eval_input_path far_eval.csv
has_out "no problems found"
line=$(crank check tiny.yaml --train_input_path far.csv --eval_input_path far_eval.csv 2>&1 >/dev/null | sed -n 's/.*, or \(boundaries: .*\]\) and \(embedding_dim: 8\).*/\1, \2/p')
sed "s/expression: \"item:price\"/expression: \"item:price\", $line/" tiny.yaml >cured.yaml
run crank check cured.yaml --train_input_path far.csv --eval_input_path far_eval.csv
has_out "no problems found"
run crank check tiny.yaml --train_input_path skew.csv
has_err "...feature 'price': ...write normalizer: \"method=expression,expr=log10(1+x)\", or boundaries: [...] and embedding_dim: 8"
run crank check tiny.yaml --train_input_path skew.csv --set data_config.fg_mode=FG_NONE
has_err "...feature 'price': ...; write them smaller, or let crank do it with fg_mode: FG_NORMAL in data_config and normalizer: ..."

# the label among the features, and copies of it
run crank check tiny.yaml --set 'feature_configs[3].raw_feature.expression=item:label'
has_err "...feature 'price' reads the label's own column 'label', which no new row has; remove the feature, or name another column"
awk -F, -v OFS=, 'NR == 1 { print; next } { $5 = 3 - 2 * $1; print }' train.csv >copy.csv
run crank check tiny.yaml --train_input_path copy.csv
has_err "...feature 'price' gives away the label 'label' in all 640 sampled rows of train data; it looks like a copy of the label; remove it, unless..."
awk -F, -v OFS=, 'NR == 1 { print; next } { $3 = $1 ? 3 : 8; print }' train.csv >copy.csv
run crank check tiny.yaml --train_input_path copy.csv
has_err "...feature 'item' gives away the label 'label' in all ..."

# labels of one class, few positives
awk -F, -v OFS=, 'NR == 1 { print; next } { $1 = 1; print }' train.csv >ones.csv
run crank check tiny.yaml --train_input_path ones.csv
has_err "tiny.yaml:19:...: warning: label 'label' is 1 in all 640 sampled rows of train data, so there is nothing to learn; check label_fields; ..."
run crank check tiny.yaml --eval_input_path ones.csv
has_err "...label 'label' is 1 in all 640 sampled rows of eval data, so no metric there can tell a good model from a bad one; check label_fields; ..."
awk -F, -v OFS=, 'NR == 1 { print; next } { $1 = NR % 40 == 0; print }' eval.csv >few.csv
run crank check tiny.yaml --eval_input_path few.csv
has_err "...label 'label' is 1 in only 10 of 400 rows of eval data, so an AUC of 0.8 there means 0.6... to 0.9... (95%); use more rows, or do not choose between models by small differences"

# weights
for w in -1 0; do
    awk -F, -v OFS=, -v w=$w 'NR == 1 { print $0, "w"; next } { print $0, w ? NR % 2 * 2 - 1 : 0 }' train.csv >w.csv
    run crank check tiny.yaml --train_input_path w.csv --eval_input_path w.csv --set 'data_config.sample_weight_fields=[w]'
    [ $w = 0 ] || has_err "...sample weight 'w' is negative in train data (down to -1): the model learns the opposite of such a row; make weights 0 or more"
    [ $w != 0 ] || has_err "...sample weight 'w' is 0 in all 640 sampled rows of train data, so no row counts; check the column, or remove it from sample_weight_fields"
done

# files
cp train.csv other.csv
run crank check tiny.yaml --train_input_path 'train.csv,other.csv' --eval_input_path other.csv
ends 0
has_err "...train_input_path: file 2 of 2, other.csv, holds the same as file 1, train.csv, so its rows come twice; name each file once"
has_err "...eval_input_path: other.csv ... the training file ..., so metrics only show what the model has memorised; evaluate on rows that training does not see"
ln -s train.csv link.csv
run crank check tiny.yaml --eval_input_path link.csv
has_err "...eval_input_path: link.csv is the training file train.csv..."

# ids and rows: a row can have several ids
sed -i 's/num_buckets: 20,/num_buckets: 12,/' tiny.yaml
run crank check tiny.yaml
has_err "...feature 'tags': ... of ... sampled ids of train data (from 640 rows; a row can have several ids, or none) lie outside 0 .. 11 (e.g. 1...) and are taken as 0; raise num_buckets or fix the data"

# for programs
run crank check tiny.yaml --json
ends 0
grep -q '"check": *"out_of_range"' "$out" || fail "no finding in the JSON"
grep -q '"name": *"price", *"missing": *0, *"distinct": *[0-9]*, *"distinct_is_exact": *true, *"numbers": *640, *"min": *' "$out" || fail "no numbers of price in the JSON"

# an AUC comes with its positives and how sure it is
sed -i 's/num_buckets: 12,/num_buckets: 20,/' tiny.yaml
run crank train tiny.yaml
ends 0
has_out "  auc                   0...  (95%: 0... to 0..., ... positives)"
run crank eval tiny.yaml
has_out "  auc                   0...  (95%: 0... to 0..., $(awk -F, 'NR > 1' eval.csv | awk -F, '$1 == 1' | wc -l) positives)"

# sequences: a row without steps is missing, and what has no numbers has no smallest one
awk -F, 'NR == 1 { print $0 ",gaps,none"; next } { print $0 "," (NR % 4 ? "1;2" : "") "," }' train.csv >steps.csv
sed 's/FG_NORMAL/FG_NONE/; s/^model_config:/  - sequence_id_feature: {feature_name: gaps, num_buckets: 5}\n  - sequence_raw_feature: {feature_name: none}\n&/; s/^eval_input_path: .*//' tiny.yaml >steps.yaml
run crank check steps.yaml --train_input_path steps.csv
has_out "  gaps          160         2  ids, 1.5 per row"
has_out "  none          640         0  no numbers"
crank check steps.yaml --train_input_path steps.csv --json 2>/dev/null | grep -q '"name": "none", "missing": 640, "distinct": 0, "distinct_is_exact": true, "numbers": 0, "min": null' || fail "JSON of a feature without numbers"
