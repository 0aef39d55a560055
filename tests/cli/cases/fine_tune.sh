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
ends 1
has_err "--fine_tune_checkpoint: 'nowhere': no such checkpoint; check the path"
edit 11 '  num_epochs: 2
  fine_tune_checkpoint: nowhere'
run crank check tiny.yaml
ends 1
has_err "tiny.yaml:12:25: fine_tune_checkpoint 'nowhere': no such checkpoint; check the path"
edit 12 '  fine_tune_checkpoint: first
  fine_tune_ckpt_param_map: nomap.txt'
run crank train tiny.yaml --model_dir fifth
ends 1
has_err "tiny.yaml:13:29: fine_tune_ckpt_param_map 'nomap.txt': cannot open: No such file or directory; check the path"
a=$(newest second) b=$(newest third)
if cmp -s "$a"/model-*.safetensors "$b"/model-*.safetensors; then fail "optimizer state changes nothing"; fi
