# configs of EasyRec become configs that train
easyrec=$(cd "$CLI/../easyrec" && pwd)
for path in "$easyrec"/*.config; do
    name=$(basename "$path" .config)
    run crank convert "$path" --output_tzrec_config_path "$name.config"
    ends 0
    has_out "wrote  $name.config: ..."
    run crank synth --for "$name.config" --rows 1500 --eval_rows 700 -o "$name"
    ends 0
    run crank train "$name/pipeline.yaml"
    ends 0
    rm -r "$name"
done

# what is worked out, not only renamed
in_config() { # in_config FILE TEXT: the text stands there, whatever the blanks and line ends between
    tr -s ' \n' ' ' <"$1" | grep -F -q -e "$2" || fail "$1 does not hold: $2"
}
in_config deepfm.config 'sparse_optimizer { adagrad_optimizer { lr: 0.1 initial_accumulator_value: 0.2 } constant_learning_rate {} }'
in_config deepfm.config 'adam_optimizer { lr: 0.001 beta1: 0.8 weight_decay: 0.001 }'
in_config deepfm.config 'decay_size: 500 decay_factor: 0.5 warmup_learning_rate: 0.001 warmup_size: 20 min_learning_rate: 0.0001'
in_config deepfm.config 'ema { decay: 0.99 }'
in_config deepfm.config 'clipping_type: "norm" max_gradient: 5 enable_global_grad_clip: true'
in_config deepfm.config 'shuffle: true shuffle_buffer_size: 10'
in_config deepfm.config 'eval_config { num_steps: 10 early_stopping_patience: 3 }'
in_config deepfm.config 'feature_name: "user" expression: "user:user" embedding_dim: 8 hash_bucket_size: 1000 default_value: "nobody" init_fn: "nn.init.normal_,mean=0,std=0.02"'
in_config deepfm.config 'num_buckets: 50 pooling: "mean" default_value: "0"'
in_config deepfm.config 'vocab_list: ["ios", "android"] default_bucketize_value: 0'
in_config deepfm.config 'boundaries: [18, 25, 40] default_value: "30"'
in_config deepfm.config 'normalizer: "method=expression,expr=ln(1+((x-(1))/8))"'
in_config deepfm.config 'boundaries: [0, 0.25, 0.5, 0.75] normalizer: "method=minmax,min=1,max=9"'
in_config deepfm.config 'separator: "|" weighted: true'
in_config deepfm.config 'mlp {} value_dim: 3 separator: ","'
in_config deepfm.config 'combo_feature { feature_name: "user_os" expression: ["user:user", "user:os"]'
in_config deepfm.config 'map: "user:prefs" key: "user:tags"'
in_config deepfm.config 'expression: "(age>=40) & (city<25)" variables: ["user:age", "user:city"]'
in_config deepfm.config 'feature_name: "f3" expression: "user:f3" embedding_name: "f"'
in_config deepfm.config 'feature_names: ["user", "city", "f1", "f2", "f3"] group_type: WIDE'
in_config deepfm.config 'dropout_ratio: [0.1, 0.1] activation: "nn.LeakyReLU(negative_slope=0.2)" use_bn: true'
in_config deepfm.config 'embedding_regularization: 0.0032'
in_config deepfm.config 'grouped_auc { grouping_key: "user" weighted: true }'
# the layer of one unit that scores a step is built in; keys become features of the group
in_config din.config 'din_encoder { input: "inner" attn_mlp { hidden_units: [12, 6] use_bn: false } }'
in_config din.config 'group_name: "item" feature_names: ["price", "item"]'
in_config din.config 'group_name: "outer" feature_names: ["item", "clicks", "prices"] group_type: SEQUENCE'
in_config din.config 'T_max: 90 warmup_learning_rate: 0.001 warmup_size: 10'
in_config dbmtl.config 'losses { binary_cross_entropy {} weight: 0.5 }'
in_config dbmtl.config 'weight: 3 task_space_indicator_label: "click" in_task_space_weight: 1.5 out_task_space_weight: 0.5'
in_config mmoe.config 'num_expert: 2 task_towers { tower_name: "ctr" label_name: "click"'
in_config esmm.config 'bottom_mlp { hidden_units: [24, 12] use_bn: true }'
in_config wide_and_deep.config 'part_optimizers { ftrl_optimizer { lr: 0.1 ftrl_beta: 0 l1_reg: 0.01 initial_accumulator_value: 0.1 } regex_pattern: ".*_wide\\.weight" constant_learning_rate {} }'
in_config wide_and_deep.config 'label_fields: ["buy", "click"]'
in_config fm.config 'group_name: "fm"'
in_config fm.config 'losses { listwise_rank_loss { session_name: "user" temperature_init: 0.5 learnable_temperature: false } weight: 0.1 }'
in_config blocks.config 'name: "cross" inputs { feature_group_name: "all" } cross_v2 { cross_num: 2 low_rank: 24 }'
in_config blocks.config 'name: "deep_1" inputs { block_name: "normed" } mlp { hidden_units: [16]'
in_config blocks.config 'name: "logit_input_1" inputs { feature_group_name: "wide" } sum { fields: true }'
in_config blocks.config 'autodis { num_channels: 5 temperature: 0.5 keep_prob: 0.7 form: EASYREC }'
in_config block_tasks.config 'name: "cvr_relation" inputs { block_name: "cvr_dnn" } inputs { block_name: "ctr_relation" }'

# TorchEasyRec's own line, the other syntax, and the same bytes again
run crank python -m tzrec.tools.convert_easyrec_config_to_tzrec_config --easyrec_config_path "$easyrec/dcn.config" \
    --output_tzrec_config_path again.config --easyrec_package_path easy_rec.whl
ends 0
same dcn.config again.config
run crank convert "$easyrec/dcn.config" --output_tzrec_config_path dcn.yaml
ends 0
sed '/^#/d' dcn.config >plain.config
sed '/^#/d' dcn.yaml >plain.yaml
crank config plain.config --format yaml >a.yaml
crank config plain.yaml --format yaml >b.yaml
same a.yaml b.yaml

# a config of EasyRec in the place of one of ours is one line, and its cure works
cp "$easyrec/deepfm.config" old.config
for command in check train config; do
    run crank $command old.config
    ends 2
    has_err "old.config:6:3: 'optimizer_config' is a key of EasyRec, the predecessor of TorchEasyRec; convert the config: crank convert old.config -o old_tzrec.config"
    [ "$(wc -l <"$err")" -eq 1 ] || fail "not one line"
done
run crank convert old.config -o old_tzrec.config
ends 0
run crank config old_tzrec.config
ends 0
