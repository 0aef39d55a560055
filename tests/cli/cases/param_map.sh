# fine_tune_checkpoint in every form, with a parameter map
tiny_config
tiny_data 640 100
run crank train tiny.yaml --model_dir first
ends 0
ckpt=$(newest first)
emb=model.embedding_group.emb_impls.__BASE__.ebc.embedding_bags
# a checkpoint, its model_dir, a folder of safetensors, one file: the same weights
mkdir bare
cp "$ckpt"/model-*.safetensors bare/
cp "$ckpt"/model-*.safetensors one.safetensors
for from in first "$ckpt" "$ckpt/" bare one.safetensors; do
    rm -rf tuned
    run crank train tiny.yaml --model_dir tuned --fine_tune_checkpoint "$from" --ignore_restore_optimizer --set train_config.num_epochs=1
    ends 0
    has_err "...Restored 12 parameters, 0 keep their first values"
    if [ -e want ]; then same_weights want tuned; else mv tuned want; fi
done
# without state in it: said once
rm -rf tuned
run crank train tiny.yaml --model_dir tuned --fine_tune_checkpoint one.safetensors
ends 0
has_err "...one.safetensors has no optimizer state; it begins anew"
# the tables of `user` have other names here
sed 's/feature_name: user,/feature_name: user, embedding_name: person_emb,/' tiny.yaml >other.yaml
cat >map.txt <<END
# name here, name there

$emb.person_emb.weight $emb.user_emb.weight
$emb.person_emb_wide.weight $emb.user_emb_wide.weight
END
for key in fine_tune_ckpt_param_map fine_tune_ckpt_var_map; do
    rm -rf tuned
    run crank train other.yaml --model_dir tuned --fine_tune_checkpoint first --set train_config.$key=map.txt --set train_config.num_steps=1 --set train_config.num_epochs=0
    ends 0
    has_err "...Restored 12 parameters, 0 keep their first values"
    no_err "...Skip restore..."
done
# without the map they are missing, and said so; optimizer state too
rm -rf tuned
run crank train other.yaml --model_dir tuned --fine_tune_checkpoint first
ends 0
has_err "...Skip restore state [$emb.person_emb.weight]: not in the checkpoint"
has_err "...Skip restore state [state.$emb.person_emb_wide.weight.sum] and others: not in the checkpoint; optimizer state that is missing begins anew"
# mistakes name the line; `crank check` finds them too
cat >bad.txt <<END
$emb.persn_emb.weight $emb.user_emb.weight
$emb.item_emb.weight $emb.usr_emb.weight
model.output_mlp.weight $emb.tags_emb_wide.weight
END
for verb in train check; do
    rm -rf tuned
    run crank $verb other.yaml $([ $verb = train ] && echo --model_dir tuned) --set train_config.fine_tune_checkpoint=first --set train_config.fine_tune_ckpt_param_map=bad.txt
    ends 2
    has_err "bad.txt:1: the model has no parameter '$emb.persn_emb.weight'; did you mean '$emb.person_emb.weight'?"
    has_err "bad.txt:2: $ckpt has no tensor '$emb.usr_emb.weight'; did you mean '$emb.user_emb.weight'?"
    no_err "...Skip restore..."
    has_err "bad.txt:3: 'model.output_mlp.weight' is (1, 8) in the model, '$emb.tags_emb_wide.weight' is (20, 4) in $ckpt; map it to one of its shape, or to -"
done
printf 'lonely\n' >bad.txt
run crank train other.yaml --model_dir tuned --fine_tune_checkpoint first --set train_config.fine_tune_ckpt_param_map=bad.txt
ends 2
has_err "bad.txt:1: one name only; write 'name_in_model name_in_checkpoint'"
run crank train other.yaml --model_dir tuned --fine_tune_checkpoint first --set train_config.fine_tune_ckpt_param_map=nowhere.txt
ends 1
has_err "...nowhere.txt..."
# both spellings at once; a map without a checkpoint
sed 's/^train_config:/&\n  fine_tune_ckpt_param_map: map.txt\n  fine_tune_ckpt_var_map: map.txt/' tiny.yaml >both.yaml
run crank check both.yaml
ends 2
has_err "...fine_tune_ckpt_var_map and fine_tune_ckpt_param_map are one thing; keep one"
run crank check tiny.yaml --set train_config.fine_tune_ckpt_param_map=map.txt
ends 0
has_err "...warning: fine_tune_ckpt_param_map has no effect without fine_tune_checkpoint"
# its state is not told besides
echo "model.output_mlp.bias model.deep_mlp.mlp.0.perceptron.0.bias" >bad.txt
run crank train tiny.yaml --model_dir tuned --fine_tune_checkpoint first --set train_config.fine_tune_ckpt_param_map=bad.txt
ends 2
has_err "bad.txt:1: 'model.output_mlp.bias' is (1) in the model, 'model.deep_mlp.mlp.0.perceptron.0.bias' is (16) in ...; map it to one of its shape, or to -"
no_err "...state...."
# a dense layer of another shape is refused with both, and may be left out
run crank train tiny.yaml --model_dir tuned --fine_tune_checkpoint first --set 'model_config.wide_and_deep.deep.hidden_units=[16, 9]'
ends 1
has_err "...is (8, 16) in the checkpoint, (9, 16) in the model; a line '<name> -' in fine_tune_ckpt_param_map leaves it out"
names=$(crank params first 2>/dev/null | sed -n 's/^  \(model\.[^ ]*mlp\.1\.[^ ]*\) .*/\1/p; s/^  \(model\.output_mlp\.weight\) .*/\1/p')
for name in $names; do echo "$name -"; done >map.txt
run crank train tiny.yaml --model_dir tuned --fine_tune_checkpoint first --set 'model_config.wide_and_deep.deep.hidden_units=[16, 9]' --set train_config.fine_tune_ckpt_param_map=map.txt
ends 0
has_err "...Restored 9 parameters, 3 keep their first values"
