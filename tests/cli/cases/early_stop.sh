# early_stopping_patience ends a run at the same step however it was interrupted; the printed export command
# takes the best checkpoint
tiny_config
tiny_data 640 200
stop='--set eval_config.early_stopping_patience=2 --set train_config.num_epochs=30'
# shellcheck disable=SC2086
run crank train tiny.yaml $stop --model_dir whole
ends 0
has_err "...Training stops early at step ...: auc has not been better than 0... (step ...) in 2 evaluations"
has_out "  stopped early      auc has not been better than 0... (step ...) in 2 evaluations"
best=$(sed -n 's/^  best  *\([^,]*\),.*/\1/p' "$out")
stopped=$(newest whole)
[ "$best" != "$stopped" ] || fail "the best checkpoint is the newest"
has_out "next  crank export whole/pipeline.config --checkpoint_path $best --export_dir whole/export"
grep -q '"early_stop": *"auc has not been better' whole/train_log.jsonl || fail "the log does not say why it ended"
# with exporter_type best the command needs no flag
# shellcheck disable=SC2086
run crank train tiny.yaml $stop --model_dir chosen --set export_config.exporter_type=best --set export_config.best_exporter_metric=auc
ends 0
has_out "next  crank export chosen/pipeline.config --export_dir chosen/export"
same_weights whole chosen

# a run that has stopped says so and trains nothing
# shellcheck disable=SC2086
run crank train tiny.yaml $stop --model_dir whole --continue_train
ends 0
has_out "trained  nothing: training had stopped early before"
has_err "...training has stopped early at step ...: auc has not been better ...; to go on, raise eval_config.early_stopping_patience, which is 2"
[ "$(newest whole)" = "$stopped" ] || fail "it went on to $(newest whole)"
run crank train tiny.yaml --set eval_config.early_stopping_patience=4 --set train_config.num_epochs=30 --model_dir whole --continue_train
ends 0
[ "$(newest whole)" != "$stopped" ] || fail "it did not go on"

# interrupted at each checkpoint, also before the evaluation of that checkpoint was recorded
for drop in no yes; do
    rm -rf cut
    steps=11
    flag=
    while :; do
        # shellcheck disable=SC2086
        run crank train tiny.yaml --set eval_config.early_stopping_patience=2 --set train_config.num_epochs=0 --set train_config.num_steps=$steps --model_dir cut $flag
        ends 0
        flag=--continue_train
        if grep -q 'stopped early' "$out"; then break; fi
        [ $drop = no ] || sed -i '$d' cut/train_eval_result_v2.txt
        steps=$((steps + 10))
        [ $steps -lt 700 ] || fail "it never stops"
    done
    [ "$(basename "$(newest cut)")" = "$(basename "$stopped")" ] || fail "it stopped at $(newest cut), the whole run at $stopped"
    same_weights chosen cut
done

# what it needs; the doctor says the same
for command in "crank train tiny.yaml --model_dir none" "crank check tiny.yaml"; do
    # shellcheck disable=SC2086
    run $command --set eval_config.early_stopping_patience=2 --set eval_input_path=''
    ends 2
    has_err "...early_stopping_patience needs evaluations; give eval_input_path, or data_config.eval_fraction"
    # shellcheck disable=SC2086
    run $command --set eval_config.early_stopping_patience=2 --set export_config.best_exporter_metric=gauc
    ends 2
    has_err "...early_stopping_patience compares evaluations by 'gauc', which is no metric or loss of this model; set export_config.best_exporter_metric to one of: auc, binary_cross_entropy"
done

# the best step of all may have no checkpoint; the printed command takes the best one that there is
run crank train tiny.yaml --model_dir between --set train_config.eval_interval_steps=7 --set train_config.num_epochs=4
ends 0
all=$(awk -F'[:,]' '$4 > b { b = $4; w = $2 + 0 } END { print w }' between/train_eval_result_v2.txt)
saved=$(awk -F'[:,]' '($2 % 10 == 0 || $2 == 79) && $4 > b { b = $4; w = $2 + 0 } END { print w }' between/train_eval_result_v2.txt)
[ "$all" != "$saved" ] && [ "$saved" != 79 ] || fail "the data no longer show the case: best $all, best checkpoint $saved"
has_out "  best               step $all, auc 0..., without a checkpoint"
has_out "  best checkpoint    between/model.ckpt-$saved, auc 0..."
has_out "next  crank export between/pipeline.config --checkpoint_path between/model.ckpt-$saved --export_dir between/export"
