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
# --debug says where in the source a finding comes from, whatever kind it is
tiny_config
edit 11 '  num_epoch: 2'
run crank check tiny.yaml --debug
ends 2
has_err "tiny.yaml:11:3: unknown key 'num_epoch' in train_config; did you mean 'num_epochs'? [src/conf/keys.c:...]"
run crank check tiny.yaml
ends 2
no_err "...[src/..."
run crank params nowhere --debug
ends 1
has_err "nowhere: no such checkpoint; check the path [src/ckpt/choose.c:...]"
tiny_config
run crank eval tiny.yaml --model_dir nothing --debug
ends 1
has_err "crank eval: there is no checkpoint (model.ckpt-N) in nothing; ... [src/job/best.c:...]"
