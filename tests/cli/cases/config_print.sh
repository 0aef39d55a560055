# crank config prints the effective config; what it prints means the same
tiny_config
tiny_data 320 64
run crank config tiny.yaml --set train_config.num_epochs=1
ends 0
has_out "  num_epochs: 1"
cp "$out" printed.yaml
run crank config printed.yaml
ends 0
same "$out" printed.yaml
run crank train tiny.yaml --set train_config.num_epochs=1 --model_dir a
ends 0
run crank train printed.yaml --model_dir b
ends 0
same_weights a b
# the config that model_dir keeps trains the same model again
run crank train a/pipeline.config --model_dir c
ends 0
same_weights a c
