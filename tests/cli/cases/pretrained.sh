# first values of one table from a safetensors file
tiny_config
tiny_data 640 100
run crank train tiny.yaml --model_dir first
ends 0
file=$(ls "$(newest first)"/model-*.safetensors)
emb=model.embedding_group.emb_impls.__BASE__.ebc.embedding_bags
cp "$file" vectors.safetensors
with() { # with FEATURE TEXT: adds TEXT to a feature of tiny.yaml
    sed "s,feature_name: $1\\,,feature_name: $1\\, $2\\,," tiny.yaml
}
# frozen, so that the end shows what it began with
with user "pretrained_path: vectors.safetensors\\, pretrained_tensor: $emb.user_emb.weight\\, trainable: false" >pre.yaml
run crank train pre.yaml --model_dir second --set train_config.num_steps=2 --set train_config.num_epochs=0
ends 0
has_err "...Table user_emb: first values from vectors.safetensors"
run crank diff first second --json
ends 1
if grep -q "\"$emb.user_emb.weight\"" "$out"; then fail "the table is another one"; fi
grep -q "\"$emb.item_emb.weight\"" "$out" || fail "the other tables are not their own"
# a checkpoint to go on with, or to start from, comes first
run crank train pre.yaml --model_dir second --continue_train --set train_config.num_steps=4 --set train_config.num_epochs=0
ends 0
no_err "...first values from..."
# wrong: another shape, another name, no file, several tensors, no table
with tags "pretrained_path: vectors.safetensors\\, pretrained_tensor: $emb.user_emb.weight" >bad.yaml
for verb in train check; do
    run crank $verb bad.yaml $([ $verb = train ] && echo --model_dir x)
    ends 2
    has_err "bad.yaml:23:...: pretrained_path 'vectors.safetensors': tensor '$emb.user_emb.weight' is (50, 4), table tags_emb of feature tags is (20, 4); the shapes must be equal"
done
with user "pretrained_path: vectors.safetensors\\, pretrained_tensor: $emb.usr_emb.weight" >bad.yaml
run crank check bad.yaml
ends 2
has_err "bad.yaml:21:...: ...there is no tensor '$emb.usr_emb.weight'; did you mean '$emb.user_emb.weight'?"
with user "pretrained_path: vectors.safetensors" >bad.yaml
run crank check bad.yaml
ends 2
has_err "bad.yaml:21:...: ...the file holds 12 tensors; name one with pretrained_tensor"
with user "pretrained_path: nowhere.safetensors" >bad.yaml
run crank check bad.yaml
ends 1
has_err "bad.yaml:21:...: pretrained_path 'nowhere.safetensors': no such checkpoint; check the path"
with price "pretrained_path: vectors.safetensors" >bad.yaml
run crank check bad.yaml
ends 2
has_err "bad.yaml:24:...: feature 'price' has no table that pretrained_path could fill; remove it"
with user "pretrained_tensor: x" >bad.yaml
run crank check bad.yaml
ends 2
has_err "bad.yaml:21:...: pretrained_tensor is given without pretrained_path; name the file too"
# values that are not finite: 20 x 4 floats, a NaN in row 13
head='{"v":{"dtype":"F32","shape":[20,4],"data_offsets":[0,320]}}'
{
    # shellcheck disable=SC2059
    printf "\\$(printf %o ${#head})\0\0\0\0\0\0\0%s" "$head"
    head -c 216 /dev/zero
    printf '\0\0\300\177'
    head -c 100 /dev/zero
} >odd.safetensors
with tags "pretrained_path: odd.safetensors" >bad.yaml
run crank train bad.yaml --model_dir odd
ends 3
has_err "bad.yaml:23:...: pretrained_path 'odd.safetensors': tensor 'v', row 13: a value is not finite; correct the file"
# a file of another kind
with tags "pretrained_path: train.csv" >bad.yaml
run crank check bad.yaml
ends 1
has_err "bad.yaml:23:...: pretrained_path 'train.csv': not a safetensors file..."
