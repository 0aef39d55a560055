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
# one byte is enough, in whichever file: training takes the one before it, and the other commands too
for f in "$ckpt"/*; do
    case $(basename "$f") in train_log.jsonl) continue ;; esac
    rm -rf broken
    cp -r model broken
    bad=broken/$(basename "$ckpt")/$(basename "$f")
    flip "$bad" $(($(wc -c <"$f") / 2))
    run crank train tiny.yaml --model_dir broken --continue_train
    ends 0
    has_err "...$bad: ...damaged; passing over $(basename "$ckpt")"
    same_weights model broken
    rm -rf broken
    cp -r model broken
    flip "$bad" $(($(wc -c <"$f") / 2))
    run crank eval tiny.yaml --model_dir broken
    ends 0
    case $bad in
    *optimizer-*) no_err "...damaged..." ;; # evaluation does not read it
    *) has_err "...$bad: ...damaged; passing over $(basename "$ckpt")" ;;
    esac
    # one that cannot be read may be whole: nothing goes on with older weights
    rm "$bad"
    ln -s "$(basename "$bad")" "$bad" # leads to itself
    run crank train tiny.yaml --model_dir broken --continue_train
    ends 1
    has_err "$bad: cannot ...Too many levels of symbolic links; ...; or move $(basename "$ckpt") away, to use an older checkpoint"
    is_gone broken/train.lock
done
# only its optimizer state is damaged: what needs none goes on, training takes the one before it
cp -r model half
opt=$(basename "$(ls "$ckpt"/optimizer-*.safetensors)")
for damage in 'head -c 10' 'false'; do
    rm -rf e half-out "half/$(basename "$ckpt")/$opt"
    $damage "$ckpt/$opt" >"half/$(basename "$ckpt")/$opt" || rm "half/$(basename "$ckpt")/$opt"
    run crank eval tiny.yaml --model_dir half
    ends 0
    has_out "...half/$(basename "$ckpt")"
    no_err "...damaged..."
    run crank export tiny.yaml --model_dir half --export_dir e
    ends 0
    has_out "...half/$(basename "$ckpt")"
    run crank predict --pipeline_config_path tiny.yaml --checkpoint_path half --predict_input_path eval.csv --predict_output_path half-out
    ends 0
    no_err "...damaged..."
    run crank train tiny.yaml --model_dir tuned --fine_tune_checkpoint half --ignore_restore_optimizer
    ends 0
    rm -rf tuned
done
run crank train tiny.yaml --model_dir half --continue_train
ends 0
has_err "...half/$(basename "$ckpt")/$opt: ...damaged; passing over..."
same_weights model half
# averages lie with the optimizer state: then it is needed
run crank train tiny.yaml --model_dir ema --set train_config.dense_optimizer.ema.decay=0.9
ends 0
rm "$(newest ema)"/optimizer-*.safetensors
run crank eval ema/pipeline.config
ends 0
has_err "...the file is missing; the folder is damaged; passing over $(basename "$(newest ema)")"
# a checkpoint of another model is a few lines, however large it is
sed 's/hidden_units: \[16, 8\]/hidden_units: [12, 8, 7, 6, 5]/' tiny.yaml >large.yaml
run crank eval large.yaml
ends 1
has_err "...model.ckpt-...: ... more parameters do not fit; is it the checkpoint of another model?"
[ "$(grep -c 'model\.ckpt-[0-9]*: ' "$err")" -eq 4 ] || fail "$(wc -l <"$err") lines"
# a half-written checkpoint folder of a killed run is no checkpoint
mkdir model/.model.ckpt-9999.tmp
printf x >model/.model.ckpt-9999.tmp/model-00001-of-00001.safetensors
run crank eval model/pipeline.config
ends 0
# no checkpoint at all
run crank eval tiny.yaml --model_dir empty
ends 1
has_err "...empty..."
