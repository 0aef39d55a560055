# docs/guide/security.md, "Exports": an export reads its own files only, and what is copied into one is told
tiny_data 320 64
tiny_config
mkdir elsewhere
awk 'BEGIN { for (i = 0; i < 50; i++) print i }' >users.txt
cp users.txt elsewhere/secret.txt
edit 16 "  fg_mode: FG_NORMAL"
edit 21 "  - id_feature: {feature_name: user, expression: 'user:user', vocab_file: users.txt, default_bucketize_value: 0, embedding_dim: 4}"
edit 23 "  - id_feature: {feature_name: tags, expression: 'item:item', num_buckets: 30, embedding_dim: 4}"
run crank train tiny.yaml --model_dir m
ends 0
run crank export m/pipeline.config --export_dir x
ends 0
has_err "...[INFO] Copied users.txt of feature user as users_...txt"
no_err "note: ..."
run crank predict --scripted_model_path x --predict_input_path eval.csv --predict_output_path o
ends 0
(cd x && run crank predict --scripted_model_path . --predict_input_path ../eval.csv --predict_output_path ../o2 && ends 0)
same o o2
vocab=$(cd x && ls users_*.txt)

# a person who changes an export makes its digests fit; here it becomes one of the first version, which has CRCs of the weights only
forge() { # forge DIR
    w=$(cd "$1" && ls *.safetensors)
    crc=$(gzip -c "$1/$w" | tail -c 8 | od -A n -t x1 -N 4 | awk '{ print $4 $3 $2 $1 }')
    sed "s/\"format_version\": 2/\"format_version\": 1/; s/\"name\": \"$w\", /&\"crc32\": \"$crc\", /" "$1/index.json" >index.new
    mv index.new "$1/index.json"
    rm "$1/manifest.json"
}

# ---- paths of an export stay inside ----
outside() { # outside TEXT: x/pipeline.config names TEXT as the vocabulary
    rm -rf y
    cp -r x y
    forge y
    sed "s,$vocab,$1," x/pipeline.config >y/pipeline.config
    for cmd in predict fg; do
        case $cmd in
        predict) run crank predict --scripted_model_path y --predict_input_path eval.csv --predict_output_path p ;;
        fg) run crank fg y --input eval.csv ;;
        esac
        ends 2
        has_err "y/pipeline.config:...: feature 'user': vocab_file: '...' lies outside of 'y'; an export reads its own files only: ..."
        is_gone p/part-0.csv
    done
}
outside "$PWD/elsewhere/secret.txt"
outside ../elsewhere/secret.txt
outside ../y/$vocab
# a link that leads out; one that stays inside is fine
rm -rf y
cp -r x y
forge y
mv y/$vocab y/real.txt
ln -s real.txt y/$vocab
run crank predict --scripted_model_path y --predict_input_path eval.csv --predict_output_path p
ends 0
rm y/$vocab
ln -s ../elsewhere/secret.txt y/$vocab
run crank predict --scripted_model_path y --predict_input_path eval.csv --predict_output_path p2
ends 2
has_err "...lies outside of 'y'..."
# the same for files that no config names; a link of the user that is none of the export's files is fine
for f in pipeline.config manifest.json index.json model-00001-of-00001.safetensors; do
    rm -rf y
    cp -r x y
    ln -s /etc y/of_the_user
    mv y/$f elsewhere/
    ln -s real_file y/$f
    cp elsewhere/$f y/real_file
    run crank predict --scripted_model_path y --predict_input_path eval.csv --predict_output_path p_$f
    ends 0
    ln -sf ../elsewhere/$f y/$f
    run crank predict --scripted_model_path y --predict_input_path eval.csv --predict_output_path p2
    ends 2
    has_err "...lies outside of 'y'..."
done
# ---- a file from outside of the folders of the user and of the config is named when it is copied, --quiet or not ----
mkdir work
cd work
cp ../train.csv ../eval.csv .
for from in ../elsewhere/secret.txt "$PWD/../elsewhere/secret.txt" link.txt; do
    rm -rf m x link.txt
    ln -s ../elsewhere/secret.txt link.txt
    sed "s,users.txt,$from," ../tiny.yaml >tiny.yaml
    run crank train tiny.yaml --model_dir m --quiet
    ends 0
    run crank export m/pipeline.config --export_dir x --quiet
    ends 0
    has_err "crank export: note: the export holds a copy of '$from', the vocab_file of feature 'user', as '...'; make sure that others may have it"
done
