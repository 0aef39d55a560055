# every metric by its name; the log line of training; their state goes through a pause
tiny_config
tiny_data 1500 300
run crank train tiny.yaml --model_dir m --set 'model_config.metrics=[{auc: {}}, {precision: {}},
    {recall: {threshold: 0.3}}, {f1: {threshold: 0.25}}, {copc: {}}, {average_output: {}}, {average_label: {}},
    {normalized_entropy: {}}, {xauc: {exact: false, max_pairs: 100}}, {grouped_xauc: {grouping_key: user}},
    {grouped_auc: {grouping_key: user, weighted: true}}, {logloss: {}}]'
ends 0
for name in auc precision recall@0.3 f1@0.25 copc average_output average_label normalized_entropy xauc \
    grouped_xauc grouped_auc logloss; do
    has_out "  $name ..."
    grep -q "\"$name\"" m/train_eval_result_v2.txt || fail "no $name in the result file"
done
# the same numbers for another size of batches
run crank eval m/pipeline.config --eval_result_filename a.txt
ends 0
run crank eval m/pipeline.config --eval_result_filename b.txt --set data_config.eval_batch_size=37
ends 0
same m/a.txt m/b.txt
# classes
run crank train tiny.yaml --model_dir k --set model_config.num_class=3 \
    --set 'model_config.losses=[{softmax_cross_entropy: {}}]' \
    --set 'model_config.metrics=[{multiclass_auc: {}}, {recall_at_k: {top_k: 2}}]'
ends 0
has_out "  recall@2 ..."
run crank train tiny.yaml --model_dir k2 --set 'model_config.metrics=[{recall_at_k: {}}]'
ends 2
has_err "...metric recall_at_k needs a model with num_class of 2 or more..."
# one that does not fit is told at its place, before anything is read
cp tiny.yaml keep.yaml
edit 34 '    - multiclass_auc: {}'
run crank check tiny.yaml
ends 2
has_err "tiny.yaml:34:7: metric multiclass_auc needs a model with num_class of 2 or more, it is 1; use auc instead"
edit 34 '    - mean_squared_error: {}'
run crank train tiny.yaml --model_dir k4 --set model_config.num_class=3 --set 'model_config.losses=[{softmax_cross_entropy: {}}]'
ends 2
has_err "tiny.yaml:34:7: metric mean_squared_error needs one output, num_class is 3; use accuracy or logloss instead, or l2_loss"
edit 34 '    - logloss: {}'
run crank check tiny.yaml --set 'model_config.losses=[{l2_loss: {}}]'
ends 2
has_err "tiny.yaml:34:7: metric logloss needs probabilities, l2_loss makes plain values; use mean_squared_error instead"
run crank check tiny.yaml --set 'model_config.train_metrics=[{recall_at_k: {}}]'
ends 2
has_err "--set:1:30: metric recall_at_k needs a model with num_class of 2 or more..."
# labels that a metric cannot take, before the first step
edit 34 '    - auc: {}'
awk -F, -v OFS=, 'NR > 1 { $1 = $5 * 3 } { print }' eval.csv >numbers.csv
run crank train tiny.yaml --model_dir k5 --eval_input_path numbers.csv --set 'model_config.losses=[{l2_loss: {}}]'
ends 3
has_err "tiny.yaml:34:7: metric auc: the label of row 0 is ..., expected a whole number from 0 to 1; correct the label column or remove the metric"
no_err "...Training Epoch..."
# with both kinds of loss the distance metrics read the value
run crank train tiny.yaml --model_dir both --quiet --set 'model_config.losses=[{binary_cross_entropy: {}}, {l2_loss: {}}]' \
    --set 'model_config.metrics=[{mean_squared_error: {}}, {auc: {}}]' --set 'model_config.train_metrics=[{mean_squared_error: {}, decay_step: 1, decay_rate: 0}]'
ends 0
sed -n 's/.*"l2_loss": \([0-9.e-]*\),.*"mean_squared_error": \([0-9.e-]*\)}.*/\1 \2/p' both/train_eval_result_v2.txt |
    awk '{ d = $1 - $2; if (d < 0) d = -d; if (d > 1e-6 * $1) bad = 1; n++ } END { exit bad || n < 2 }' ||
    fail "mean_squared_error is not that of y: $(cat both/train_eval_result_v2.txt)"
cp keep.yaml tiny.yaml
# a metric that needs a column the data lacks
run crank check tiny.yaml --set 'model_config.metrics=[{grouped_xauc: {grouping_key: usr}}]'
ends 2
has_err "...grouping_key names the unknown feature 'usr'; did you mean 'user'?..."
cut -d, -f1,3- train.csv >lacks.csv
run crank train tiny.yaml --model_dir k3 --train_input_path lacks.csv --set 'model_config.metrics=[{grouped_auc: {grouping_key: user}}]'
ends 2
has_err "...user..."
# training
show='model_config.train_metrics=[{auc: {}, decay_step: 2}, {accuracy: {}, decay_step: 3, decay_rate: 0.5}, {xauc: {}, decay_step: 1}, {logloss: {}, decay_step: 4}]'
run crank train tiny.yaml --model_dir whole --set train_config.num_epochs=2 --set "$show"
ends 0
has_err "...total_loss: ... auc:0... accuracy:0... xauc:0... logloss:0..."
run crank train tiny.yaml --model_dir parts --set train_config.num_epochs=0 --set train_config.num_steps=5 --set "$show"
ends 0
run crank train tiny.yaml --model_dir parts --set train_config.num_epochs=2 --continue_train --set "$show" --threads 1
ends 0
same_weights whole parts
state_of() { sed 's/.*"train_metrics": "\([^"]*\)".*/\1/' "$(newest "$1")/state.json"; }
state_of whole >a
state_of parts >b
same a b
grep -q '^auc=' a || fail "no state of auc: $(cat a)"
# other settings: anew, with a warning
run crank train tiny.yaml --model_dir parts --set train_config.num_epochs=3 --continue_train \
    --set 'model_config.train_metrics=[{auc: {thresholds: 50}}, {mean_squared_error: {}}]'
ends 0
has_err "...training metric auc begins anew: the checkpoint kept it with other settings"
has_err "...training metric mean_squared_error begins anew: the checkpoint does not have it"
# the same metric or loss twice: keys of their own, in logs and in checkpoints that can be read
run crank train tiny.yaml --model_dir twice --set 'model_config.metrics=[{auc: {}}, {auc: {exact: false}}, {auc: {}}]' \
    --set 'model_config.train_metrics=[{auc: {}}, {auc: {thresholds: 50}}]' --set 'model_config.losses=[{binary_cross_entropy: {}}, {binary_cross_entropy: {label_smoothing: 0.1}}]'
ends 0
has_err "...Eval Result Epoch-... auc:0... auc_2:0... auc_3:0... binary_cross_entropy:0... binary_cross_entropy_2:0..."
run crank eval twice/pipeline.config
ends 0
no_err "...damaged..."
has_out "...auc_2..."
