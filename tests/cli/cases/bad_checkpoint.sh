# truncated, foreign, missing checkpoints
tiny_config
tiny_data 640 64
run crank train tiny.yaml
ends 0
ckpt=$(newest model)
file=$(ls "$ckpt"/model-*.safetensors)
cp -r "$ckpt" cut
size=$(wc -c <"$file")
for n in 0 4 $((size / 2)) $((size - 1)); do
    head -c "$n" "$file" >"cut/$(basename "$file")"
    run crank eval model/pipeline.config --checkpoint_path cut
    ends 1
    has_err "...$(basename "$file")..."
done
# bytes of another kind
cp -r "$ckpt" noise
printf 'these are not tensors at all, and not even JSON' >"noise/$(basename "$file")"
run crank eval model/pipeline.config --checkpoint_path noise
ends 1
has_err "...$(basename "$file")..."
# a checkpoint of another model
run crank train tiny.yaml --model_dir other --set 'feature_configs[0].id_feature.embedding_dim=8'
ends 0
run crank eval model/pipeline.config --checkpoint_path "$(newest other)"
ends 1
has_err "...user_emb...was the config changed?"
run crank eval model/pipeline.config --checkpoint_path nowhere/model.ckpt-1
ends 1
has_err "...nowhere/model.ckpt-1..."
# the newest one is damaged: said, and the one before it is used; the end is the same
cp -r model broken
head -c 10 "$file" >"broken/$(basename "$ckpt")/$(basename "$file")"
run crank train tiny.yaml --model_dir broken --continue_train
ends 0
has_err "...broken/$(basename "$ckpt")/$(basename "$file"): 10 bytes, ...damaged..."
same_weights model broken
# a half-written checkpoint folder of a killed run is no checkpoint
mkdir model/.model.ckpt-9999.tmp
printf x >model/.model.ckpt-9999.tmp/model-00001-of-00001.safetensors
run crank eval model/pipeline.config
ends 0
# no checkpoint at all
run crank eval tiny.yaml --model_dir empty
[ $code -ne 0 ] || fail "evaluated nothing"
has_err "...empty..."
