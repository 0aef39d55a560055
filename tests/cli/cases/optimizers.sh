# schedules, parts and clipping: what is wrong is one line at its place; a part that trains nothing is told
tiny_config
tiny_data
edit 10 '    manual_step_learning_rate: {schedule_sizes: [10, 30, 20], learning_rates: [0.1, 0.01, 0.001]}'
run crank check tiny.yaml
ends 2
has_err "tiny.yaml:10:58: schedule_sizes must rise, but 20 follows 30; sort them with their rates"
edit 10 '    manual_step_learning_rate: {schedule_sizes: [10], learning_rates: [0.1, 0.01]}'
run crank check tiny.yaml
ends 2
has_err "tiny.yaml:10:...: schedule_sizes has 1 values and learning_rates 2; give one rate for each size"
edit 10 '    cosine_annealing_learning_rate: {T_max: 0}'
run crank check tiny.yaml
ends 2
has_err "tiny.yaml:10:45: T_max must be given and above 0..."
tiny_config
edit 9 '    adam_optimizer: {lr: 0.005}
    part_optimizers: [{sgd_optimizer: {}, regex_pattern: "a(b"}]'
run crank check tiny.yaml
ends 2
has_err "tiny.yaml:10:58: 'a(b' cannot be read: regular expression, character 4: ...; correct it"
tiny_config
edit 9 '    adam_optimizer: {lr: 0.005}
    part_optimizers: [{sgd_optimizer: {lr: 0.1}, regex_pattern: "model.dep_mlp.*"}, {sgd_optimizer: {lr: 0.2}, regex_pattern: ".*bias"}]'
run crank train tiny.yaml
ends 0
has_err "tiny.yaml:10:65: warning: 'model.dep_mlp.*' matches the whole name of no dense parameter, so this part trains nothing; the most similar is model.deep_mlp.mlp.0.perceptron.0.weight"
has_err "...part_optim_params1: [model.deep_mlp.mlp.0.perceptron.0.bias,...model.output_mlp.bias]"
has_err "...Training Epoch 1: 39it...lr_g0:0.05000 lr_g1:0.00500 lr_g2:0.20000 binary_cross_entropy..."
no_err "...lr_g3..."
tiny_config
edit 12 '  grad_clipping: {clipping_type: norn}'
run crank check tiny.yaml
ends 2
has_err "tiny.yaml:12:34: unknown clipping_type 'norn'; use norm, value or none"
edit 12 '  grad_clipping: {clipping_type: value, max_gradient: 0}'
run crank check tiny.yaml
ends 2
has_err "tiny.yaml:12:55: max_gradient is 0, so nothing could be trained; raise it or leave grad_clipping out"
tiny_config
edit 6 '    adagrad_optimizer: {lr: 0.05, gradient_clipping: true, max_gradient: 0}'
run crank check tiny.yaml
ends 2
has_err "tiny.yaml:6:74: max_gradient is 0, so nothing could be trained; raise it or leave gradient_clipping out"
tiny_config
edit 9 '    adam_optimizer: {lr: 0.005, beta1: 1}'
run crank check tiny.yaml
ends 2
has_err "tiny.yaml:9:40: beta1 must be below 1: with 1 no gradient would count; leave it out for 0.9"
# a batch that overflowed waits among accumulated gradients; it must not reach the tables by the common norm
tiny_config
run crank train tiny.yaml --model_dir overflow --set train_config.mixed_precision=FP16 --set train_config.gradient_accumulation_steps=3 \
    --set 'train_config.grad_scaler={init_scale: 1e38}' --set 'train_config.grad_clipping={clipping_type: norm, enable_global_grad_clip: true}' \
    --set 'model_config.losses=[{pairwise_loss: {session_name: user}}]'
ends 0
has_err "...gradients are not finite, so it is left out; the loss scale is now..."
# clipping that is not chosen, averages that nobody makes
tiny_config
edit 12 '  grad_clipping: {max_gradient: 0.1}'
run crank check tiny.yaml
ends 0
has_err "tiny.yaml:12:3: warning: grad_clipping has no effect: clipping_type is not given and none is its default; write clipping_type: \"norm\" or \"value\""
edit 12 '
eval_config: {use_dense_ema: true}'
for verb in check train; do
    run crank $verb tiny.yaml $([ $verb = train ] && echo --model_dir averages)
    ends 2
    has_err "tiny.yaml:13:30: use_dense_ema needs averages, which this training does not make; add ema: {decay: 0.999} in dense_optimizer, or remove it"
done
