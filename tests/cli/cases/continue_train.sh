# a run in pieces ends with the bytes of a run in one go
tiny_config
tiny_data 1500 100
edit 19 '  label_fields: [label]
  shuffle: true'
sed -i 's/deep: {hidden_units: \[16, 8\]}/deep: {hidden_units: [16, 8], use_bn: true, dropout_ratio: [0.2]}/' tiny.yaml
edit 10 '    exponential_decay_learning_rate: {decay_size: 20, decay_factor: 0.8}'
run crank train tiny.yaml --model_dir whole --set train_config.num_epochs=4
ends 0
run crank train tiny.yaml --model_dir parts --set train_config.num_epochs=1
ends 0
run crank train tiny.yaml --model_dir parts --set train_config.num_epochs=3
ends 2
has_err "...parts...--continue_train..."
run crank train tiny.yaml --model_dir parts --set train_config.num_epochs=3 --continue_train --threads 1
ends 0
run crank train tiny.yaml --model_dir parts --set train_config.num_epochs=4 --continue_train --threads 3
ends 0
same_weights whole parts
# nothing left to do
run crank train tiny.yaml --model_dir parts --set train_config.num_epochs=4 --continue_train
ends 0
same_weights whole parts
has_err "...nothing left to train: the checkpoint is at step 187 already; to go on, raise train_config.num_epochs, which is 4"
# its evaluation is recorded already: it is told and not made again
has_out "metrics of the last evaluation"
[ "$(grep -c '"global_step": 187,' parts/train_eval_result_v2.txt)" -eq 1 ] || fail "$(cat parts/train_eval_result_v2.txt)"
# the config of model_dir stays the one that its checkpoints were made with
cp parts/pipeline.config kept
run crank train tiny.yaml --model_dir parts --set train_config.num_epochs=4 --continue_train --accept_changed_features --train_input_path eval.csv --set 'data_config.null_values=[NA]'
ends 0
has_err "...null_values is..."
cmp kept parts/pipeline.config || fail "a run that trained nothing changed the config"
run crank eval parts/pipeline.config
ends 0
# keep_checkpoint_max
run crank train tiny.yaml --model_dir few --set train_config.keep_checkpoint_max=2
ends 0
[ "$(ls -d few/model.ckpt-* | wc -l)" -eq 2 ] || fail "$(ls few)"
# state of another optimizer, or without averages: one line and a way on
for other in 'dense_optimizer={sgd_optimizer {lr: 0.1} constant_learning_rate {}}' 'dense_optimizer.ema={decay: 0.9}' 'gradient_accumulation_steps=2'; do
    run crank train tiny.yaml --model_dir few --set train_config.num_epochs=3 --set "train_config.$other" --continue_train -q
    ends 1
    [ "$(wc -l <"$err")" -eq 1 ] || fail "not one line"
    has_err "few/model.ckpt-...: the optimizer's state does not fit the config: ...tensor 'state.model...and others; take the settings it was trained with (optimizers, ema, gradient_accumulation_steps), or begin with new state by --ignore_restore_optimizer"
done
run crank train tiny.yaml --model_dir few --set train_config.num_epochs=3 --set train_config.gradient_accumulation_steps=2 --continue_train --ignore_restore_optimizer
ends 0
