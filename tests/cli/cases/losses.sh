# losses over sessions: the same bytes for any number of threads; what is wrong is one line
tiny_config
tiny_data 640 64
for loss in '{jrc_loss: {session_name: user}}' '{pairwise_loss: {session_name: user, max_negatives: 3}}' \
    '{binary_focal_loss: {}}' '{pairwise_loss: {kind: HINGE}}' \
    '{binary_cross_entropy: {}, weight: 0.5}, {listwise_rank_loss: {session_name: item}, weight: 0.1}'; do
    class=1
    case $loss in *jrc*) class=2 ;; esac
    for n in 1 3; do
        rm -rf "m$n"
        run crank train tiny.yaml --model_dir "m$n" --threads $n --set "model_config.losses=[$loss]" \
            --set model_config.num_class=$class --set model_config.embedding_regularization=0.001
        ends 0
        has_err "...embedding_regularization:..."
    done
    same_weights m1 m3
done
# mistakes
run crank check tiny.yaml --set 'model_config.losses=[{jrc_loss: {session_name: user}}]'
ends 2
has_err "...jrc_loss needs num_class 2, it is 1; ..."
run crank check tiny.yaml --set 'model_config.losses=[{jrc_loss: {session_name: usr}}]' --set model_config.num_class=2
ends 2
has_err "...session_name names the unknown feature 'usr'; did you mean 'user'?..."
run crank check tiny.yaml --set 'model_config.losses=[{pairwise_loss: {session_name: price}}]'
ends 2
has_err "...session_name 'price' is a dense feature and has no ids; ..."
run crank check tiny.yaml --set 'model_config.losses=[{listwise_rank_loss: {}}, {weight: 2}]'
ends 2
has_err "...'session_name' is missing in listwise_rank_loss; add it: sparse feature whose first id is the list"
has_err "...this message names no loss; write for example binary_cross_entropy: {}"
run crank check tiny.yaml --set 'model_config.losses=[{listwise_rank_loss: {session_name: item, temperature_init: 0}}]'
ends 2
has_err "...temperature_init must be above 0, since logits are divided by it; leave it out for 0.07"
run crank check tiny.yaml --set data_config.sample_weight_fields=[price] --set 'model_config.losses=[{listwise_rank_loss: {session_name: item}}]'
ends 2
has_err "...listwise_rank_loss compares whole lists and takes no weight per row; remove sample_weight_fields, or this loss"
# a temperature goes with training only; it is a parameter of the checkpoint and none of the export
run crank train tiny.yaml --model_dir list --set 'model_config.losses=[{listwise_rank_loss: {session_name: item}}]'
ends 0
run crank params list
ends 0
has_out "...model._loss_modules.listwise_rank_loss.logit_scale ...[] ..."
run crank export list/pipeline.config --export_dir list/e
ends 0
run crank predict --scripted_model_path list/e --predict_input_path eval.csv --predict_output_path list/p --reserved_columns label
ends 0

# rows without an id of the session or group: a group of their own, or with id 0 as in TorchEasyRec
sed 's/$/,group/; 2,$s/,group$//' train.csv | awk -F, -v OFS=, 'NR > 1 { $6 = NR % 3 ? NR % 2 : "" } { print }' >blank.csv
awk -F, -v OFS=, 'NR > 1 && $6 == "" { $6 = 0 } { print }' blank.csv >zero.csv
cp tiny.yaml group.yaml
sed -i 's/^model_config:/  - id_feature: {feature_name: group, expression: "user:group", num_buckets: 9, embedding_dim: 4}\n&/; s/^  metrics:/&\n    - grouped_auc: {grouping_key: group}/' group.yaml
for how in 'blank false' 'blank true' 'zero false'; do
    # shellcheck disable=SC2086
    set -- $how
    for loss in 'jrc_loss: {session_name: group}' 'listwise_rank_loss: {session_name: group}' 'pairwise_loss: {session_name: group}'; do
        class=1
        case $loss in jrc*) class=2 ;; esac
        kind=${loss%%:*}
        run crank train group.yaml --model_dir "$1_$2_$kind" --train_input_path "$1.csv" --eval_input_path "$1.csv" --threads 1 \
            --set "model_config.losses=[{$loss}]" --set model_config.num_class=$class --set model_config.missing_id_is_zero="$2"
        ends 0
    done
done
for kind in jrc_loss listwise_rank_loss pairwise_loss; do
    same_weights blank_true_$kind zero_false_$kind
    same blank_true_$kind/train_eval_result_v2.txt zero_false_$kind/train_eval_result_v2.txt
    differ blank_true_$kind/train_eval_result_v2.txt blank_false_$kind/train_eval_result_v2.txt
done
# without a session the whole batch is one: the same as a session that all rows share
awk -F, -v OFS=, 'NR > 1 { $6 = 5 } { print }' zero.csv >same.csv
for loss in jrc_loss pairwise_loss; do
    class=1
    case $loss in jrc*) class=2 ;; esac
    for how in '{}' '{session_name: group}'; do
        rm -rf "of$how"
        run crank train group.yaml --model_dir "of$how" --train_input_path same.csv --eval_input_path same.csv --threads 1 \
            --set "model_config.losses=[{$loss: $how}]" --set model_config.num_class=$class
        ends 0
    done
    same_weights 'of{}' 'of{session_name: group}'
done
# labels far from 0: check says so; label_mean is where training begins, and goes with the model
awk -F, -v OFS=, 'NR > 1 { $1 = 20 + $1 + $5 / 10 } { print }' train.csv >far.csv
awk -F, -v OFS=, 'NR > 1 { $1 = 20 + $1 + $5 / 10 } { print }' eval.csv >far_eval.csv
far='--train_input_path far.csv --eval_input_path far_eval.csv --set model_config.metrics=[{mean_squared_error:{}}]'
# shellcheck disable=SC2086
run crank check tiny.yaml $far --set 'model_config.losses=[{l2_loss: {}}]'
ends 0
has_err "--set 'model_config.losses=[{l2_loss: {}}]':1:23: warning: the labels lie around 20.9..., but l2_loss begins at 0, so the first steps only learn that number; write l2_loss: {label_mean: 20.9...}"
# shellcheck disable=SC2086
run crank check tiny.yaml $far --set 'model_config.losses=[{l2_loss: {label_mean: 21}}]'
ends 0
no_err "...warning..."
for mean in 0 21; do
    # shellcheck disable=SC2086
    run crank train tiny.yaml --model_dir far$mean $far --set train_config.num_epochs=1 --set "model_config.losses=[{l2_loss: {label_mean: $mean}}]"
    ends 0
    run crank export far$mean/pipeline.config --export_dir far$mean/e
    ends 0
    run crank predict --scripted_model_path far$mean/e --predict_input_path far_eval.csv --predict_output_path far$mean/p --reserved_columns label
    ends 0
    # the export's y is the y that was evaluated
    awk -F, 'NR > 1 { s += ($1 - $2) * ($1 - $2) } END { printf "%.4f\n", s / (NR - 1) }' far$mean/p/part-0.csv >far$mean/mse
    sed -n '$s/.*"mean_squared_error": \([0-9.e-]*\)}.*/\1/p' far$mean/train_eval_result_v2.txt | awk '{ printf "%.4f\n", $1 }' >far$mean/told
    same far$mean/mse far$mean/told
done
[ "$(cat far0/mse far21/mse | awk 'NR == 1 { a = $1 } NR == 2 { print $1 < a / 10 }')" = 1 ] || fail "label_mean does not help: $(cat far0/mse far21/mse)"
run crank check tiny.yaml --set 'model_config.losses=[{l2_loss: {label_mean: inf}}]'
ends 2
has_err "...label_mean must be finite; leave it out for 0"

# a number added to probabilities: the loss differs a little, and smoothed labels do not go with it
tiny_config
tiny_data 640 100
run crank train tiny.yaml --model_dir plain_loss --set train_config.num_epochs=1
run crank train tiny.yaml --model_dir eps_loss --set train_config.num_epochs=1 --set 'model_config.losses=[{binary_cross_entropy: {epsilon: 0.05}}]'
ends 0
run crank align plain_loss eps_loss --mode loss
ends 1
run crank check tiny.yaml --set 'model_config.losses=[{binary_cross_entropy: {epsilon: 0.0001, label_smoothing: 0.1}}]'
ends 2
has_err "--set...: epsilon and label_smoothing do not go together; leave one of them out"
