# the same bytes for 1, 2 and 3 threads, with shuffle, dropout and batch norm
tiny_config
tiny_data 1500 300
edit 19 '  label_fields: [label]
  shuffle: true'
sed -i 's/deep: {hidden_units: \[16, 8\]}/deep: {hidden_units: [16, 8], use_bn: true, dropout_ratio: [0.2]}/' tiny.yaml
for t in 1 2 3; do
    run crank train tiny.yaml --threads $t --model_dir m$t
    ends 0
done
same_weights m1 m2
same_weights m1 m3
same m1/train_eval_result_v2.txt m2/train_eval_result_v2.txt
same m1/train_eval_result_v2.txt m3/train_eval_result_v2.txt
# another seed is another run
run crank train tiny.yaml --threads 2 --model_dir m4 --set train_config.seed=99
ends 0
a=$(newest m1) b=$(newest m4)
if cmp -s "$a"/model-*.safetensors "$b"/model-*.safetensors; then fail "the seed changes nothing"; fi
