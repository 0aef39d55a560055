# best checkpoint, evaluation on its own interval, evaluation of some batches
tiny_config
tiny_data 1280 200
run crank train tiny.yaml --set train_config.eval_interval_steps=5 --set train_config.save_checkpoints_steps=20
ends 0
[ "$(wc -l <model/train_eval_result_v2.txt)" -gt "$(ls -d model/model.ckpt-* | wc -l)" ] || fail "no evaluations between checkpoints"
cat >>tiny.yaml <<'END'
export_config:
  exporter_type: best
  best_exporter_metric: auc
END
run crank train tiny.yaml --model_dir m
ends 0
run crank export tiny.yaml --model_dir m --export_dir e
ends 0
best=$(sed -n 's/.*"global_step": *\([0-9]*\).*"auc": *\([0-9.]*\).*/\2 \1/p' m/train_eval_result_v2.txt | sort -k1,1nr -k2,2n | head -n 1 | cut -d' ' -f2)
has_err "...model.ckpt-$best..."
run crank eval m/pipeline.config --set eval_config.num_steps=2
ends 0
# binned AUC on request
run crank train tiny.yaml --model_dir b --set 'model_config.metrics=[{auc: {thresholds: 200}}]'
ends 0
# a model_dir in the place of its config
run crank eval m
ends 1
has_err "m: it is a directory; name m/pipeline.config"
