# help comes from the field tables
run crank help deepfm
ends 0
has_out "...wide_embedding_dim..."
run crank help model_config.deepfm.deep
ends 0
has_out "...hidden_units..."
run crank help train_config.num_steps
ends 0
has_out "...num_steps..."
run crank help id_feature
ends 0
has_out "...num_buckets..."
run crank help depfm
ends 2
has_err "...depfm...did you mean ...eep..."
for verb in train eval export predict check; do
    run crank help $verb
    ends 0
    has_out "...--threads..."
done
# a wrong key inside a path
run crank help train_config.num_epoch
ends 2
has_err "...nothing is called 'train_config.num_epoch'; did you mean 'train_config.num_epochs'?"
# a key with two meanings
run crank help rmsprop_optimizer
ends 0
has_out "rmsprop_optimizer (FusedRMSpropOptimizer): ..."
has_out "'rmsprop_optimizer' of DenseOptimizer is another one: crank help RMSpropOptimizer"

# the READMEs list every command
run crank help
ends 0
for c in $(sed -n '/^commands:/,/^$/s/^  \([a-z_]*\).*/\1/p' "$out"); do
    for f in README.md README.zh-CN.md; do
        grep -E '^\| (commands|命令) ' "$CLI/../../$f" | grep -q "\`$c\`" || fail "$f does not list $c"
    done
done
