# exporter_type best: the best evaluated checkpoint outlives keep_checkpoint_max and is exported
tiny_config
tiny_data 640 200
best='--set export_config.exporter_type=best --set export_config.best_exporter_metric=auc --set train_config.keep_checkpoint_max=1'
# shellcheck disable=SC2086
run crank train tiny.yaml $best --set train_config.num_epochs=3 --set train_config.eval_interval_steps=7
ends 0
# the best of the steps that were saved; evaluations between checkpoints do not count
want=$(awk -F'[:,}]' '{ s = $2 + 0; for (i = 3; i < NF; i++) if ($i ~ /"auc"/) a = $(i + 1)
    if ((s % 10 == 0 || s == 59) && s > 0 && (n++ == 0 || a > b)) { b = a; w = s } } END { print w }' model/train_eval_result_v2.txt)
is_there "model/model.ckpt-$want"
is_there model/model.ckpt-59
n=$(ls -d model/model.ckpt-* | wc -l)
[ "$n" -le 2 ] || fail "$n checkpoints are left"
# shellcheck disable=SC2086
run crank export tiny.yaml $best --export_dir e
ends 0
has_out "...model.ckpt-$want"
run crank export tiny.yaml --export_dir f
ends 0
has_out "...model.ckpt-59"
# shellcheck disable=SC2086
run crank export tiny.yaml $best --export_dir g --set export_config.best_exporter_metric=gauc
ends 2
has_err "...no metric 'gauc'; set export_config.best_exporter_metric to one of: auc, binary_cross_entropy"
is_gone g
# without a name it is the first AUC, as in TorchEasyRec: in training, in export, and in what stays. The least one is
# that of the first checkpoint
default='--set export_config.exporter_type=best --set export_config.metric_larger_is_better=false --set train_config.keep_checkpoint_max=1'
# shellcheck disable=SC2086
run crank train tiny.yaml $default --set train_config.num_epochs=3 --model_dir unnamed
ends 0
has_out "  best               unnamed/model.ckpt-10, auc 0..."
is_there unnamed/model.ckpt-10
is_gone unnamed/model.ckpt-20
run crank export unnamed/pipeline.config --export_dir unnamed_e
ends 0
has_out "...model.ckpt-10"
# the metric by which checkpoints are kept must be there, too
run crank check tiny.yaml --set train_config.keep_best_checkpoints=true --set export_config.best_exporter_metric=loudness
ends 2
has_err "--set...: no metric or loss is called 'loudness'; set best_exporter_metric to one of: ..."
run crank check tiny.yaml --set export_config.exporter_type=best --set 'model_config.metrics=[{accuracy: {}}]'
ends 2
has_err "--set...: exporter_type is best, but no metric is named; set best_exporter_metric to one of: accuracy, binary_cross_entropy"
# a digit that changed in the result file would choose another checkpoint: the checkpoints know their metrics too
sed -i "s/\(\"global_step\": 59, \"auc\": 0\)\../\1.1/" model/train_eval_result_v2.txt
run crank check model
ends 1
has_err "model/train_eval_result_v2.txt: says auc 0.1... for step 59, but model.ckpt-59 says 0...; correct the file"
# shellcheck disable=SC2086
run crank export tiny.yaml $best --export_dir h
ends 0
has_err "...model/train_eval_result_v2.txt: says auc 0.1... for step 59, but model.ckpt-59 says ..."

# a smaller loss is better, without being told; what the run prints, what it keeps and what export takes agree
loss='--set export_config.exporter_type=best --set export_config.best_exporter_metric=binary_cross_entropy --set train_config.keep_checkpoint_max=1'
# shellcheck disable=SC2086
run crank train tiny.yaml $loss --set train_config.num_epochs=3 --model_dir small
ends 0
no_err "...metric_larger_is_better..."
least=$(awk -F'[:,}]' '{ for (i = 3; i < NF; i++) if ($i ~ /"binary_cross_entropy"/ && (n++ == 0 || $(i + 1) + 0 < b)) { b = $(i + 1) + 0; w = $2 + 0 } } END { print w }' small/train_eval_result_v2.txt)
has_out "  best               small/model.ckpt-$least, binary_cross_entropy 0..."
is_there "small/model.ckpt-$least"
run crank export small/pipeline.config --export_dir small_e
ends 0
has_out "...model.ckpt-$least"
# the opposite, when given, gets a warning
# shellcheck disable=SC2086
run crank check tiny.yaml $loss --set export_config.metric_larger_is_better=true
ends 0
has_err "--set...: warning: the smallest 'binary_cross_entropy' is the best one, but metric_larger_is_better is true; remove it, or set it to false"
# a metric that is an error
run crank check tiny.yaml --set export_config.best_exporter_metric=logloss --set 'model_config.metrics=[{auc: {}}, {logloss: {}}]' --set export_config.metric_larger_is_better=true
has_err "--set...: warning: the smallest 'logloss' is the best one, ..."
