# Parquet: killed at steps, also inside of row groups and windows, then --continue_train: the bytes of the undisturbed run
tiny_config
tiny_data 6000 100
edit 11 '  num_epochs: 3'
edit 12 '  save_checkpoints_steps: 20'
tiny_parquet 700
may_be_killed=yes
for shuffle in false true; do
    flags="--set data_config.shuffle=$shuffle --threads 2"
    rm -rf whole cut
    run crank train tiny_pq.yaml $flags --model_dir whole
    ends 0
    more=
    for step in 37 1 61 22 150 99 200; do
        run env CRANK_TEST_KILL=step:$step crank train tiny_pq.yaml $flags --model_dir cut $more
        ends 137
        more=--continue_train
    done
    run crank train tiny_pq.yaml $flags --model_dir cut $more
    ends 0
    same_weights whole cut
done
# files that changed since the checkpoint
rm -rf cut
run crank train tiny_pq.yaml --model_dir cut --set train_config.num_steps=30 --set train_config.num_epochs=0
ends 0
tiny_rows train.csv 300 5
tiny_parquet 700
run crank train tiny_pq.yaml --model_dir cut --continue_train
ends 3
