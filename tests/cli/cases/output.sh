# results go to stdout or files, the log to stderr
tiny_config
tiny_data 640 64
run crank train tiny.yaml
ends 0
grep -q -E '^\[[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{8},[0-9]{3}\]\[INFO\] ' "$err" || fail "no log line in the usual form"
has_err "...Saving checkpoint to model/model.ckpt-10..."
has_err "...Eval Result Epoch-0 model-10: auc:...binary_cross_entropy:..."
has_err "...Training Epoch 0: ...it [...] lr_g0:0.05... binary_cross_entropy:... total_loss: ..."
LOG_LEVEL=ERROR
export LOG_LEVEL
run crank train tiny.yaml --model_dir quiet
ends 0
no_err "...INFO..."
unset LOG_LEVEL
run crank train tiny.yaml --model_dir q --quiet
ends 0
no_err "...INFO..."
