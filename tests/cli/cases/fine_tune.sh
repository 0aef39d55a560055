# start from another run's checkpoint
tiny_config
tiny_data 640 100
run crank train tiny.yaml --model_dir first
ends 0
run crank train tiny.yaml --model_dir second --fine_tune_checkpoint first
ends 0
run crank train tiny.yaml --model_dir third --fine_tune_checkpoint first --ignore_restore_optimizer
ends 0
run crank train tiny.yaml --model_dir fourth --fine_tune_checkpoint nowhere
[ $code -ne 0 ] || fail "went on without the checkpoint"
has_err "...nowhere..."
a=$(newest second) b=$(newest third)
if cmp -s "$a"/model-*.safetensors "$b"/model-*.safetensors; then fail "optimizer state changes nothing"; fi
