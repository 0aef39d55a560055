# every example's config, on data made for it: check, train, eval, export, predict
examples=$(cd "$CLI/../../examples" && pwd)
export CRANK_INCLUDE=$CLI/../../include # own_feature and own_plugin compile a library
n=0
for dir in "$examples"/*/; do
    name=$(basename "$dir")
    config=$(cd "$dir" && ls ./*.yaml ./*.config ./*.json 2>/dev/null | head -n 1)
    [ -n "$config" ] || fail "$name has no config"
    d=$PWD/$name
    cp -r "$dir" "$name.src" # vocabularies lie beside the config
    cd "$name.src"
    if grep '^cc ' README.md >build.sh; then # a library, as its README makes it
        run sh -eu build.sh
        ends 0
        trust ./*.so
    fi
    run crank synth --for "$config" --rows 6k --eval_rows 2k -o "$d"
    ends 0
    run crank check "$d/pipeline.yaml"
    ends 0
    has_out "train..., 0 bad rows..."
    no_err "...warning: feature..."
    run crank train "$d/pipeline.yaml" --set train_config.num_epochs=2
    ends 0
    run crank eval "$d/model/pipeline.config"
    ends 0
    auc=$(tail -n 1 "$d/model/eval_result.txt" | sed -n 's/.*"auc[_a-z]*": *\([0-9.]*\).*/\1/p')
    [ -z "$auc" ] || awk -v x="$auc" 'BEGIN { exit !(x > 0.6) }' || fail "$name: AUC $auc"
    run crank export "$d/model/pipeline.config" --export_dir "$d/export"
    ends 0
    run crank predict --scripted_model_path "$d/export" --predict_input_path "$d/eval/*" --predict_output_path "$d/scores" --writer_type CsvWriter
    ends 0
    cd "$d"
    [ "$(sed 1d scores/part-0.csv | wc -l)" -eq 2000 ] || fail "$name: rows are missing"
    cd ..
    n=$((n + 1))
done
[ $n -ge 8 ] || fail "only $n examples"
