# every model and every feature type has an example, and the whole config that help prints is right
cp "$CLI/../golden/tokenizers/byte_level.json" tokenizer.json
run cc -O2 -shared -fPIC -I "$CLI/../../include" "$CLI/../../examples/own_plugin/faded.c" -o libfaded.so
ends 0
trust libfaded.so
n=0
for list in models features; do
    run crank help $list
    ends 0
    for key in $(sed '/known, not in this version/,$d' "$out" | sed -n 's/^  \([a-z_0-9]*\)  .*/\1/p'); do
        [ $key != multi_tower_din_trt ] || continue # an old name of multi_tower_din, which check warns of
        run crank help "$key"
        ends 0
        has_out "example ('crank help $key --example' prints a whole config):"
        # the lines of the page stand in the whole config
        sed "1,/^example ('crank help/d; /^See also/,\$d" "$out" | sed 's/^  //' | grep . >part
        run crank help "$key" --example
        ends 0
        cp "$out" $key.yaml
        [ -s part ] || fail "the example of $key is empty"
        awk 'NR == FNR { part = part $0 "\n"; next } { whole = whole $0 "\n" } END { exit !index(whole, part) }' part $key.yaml ||
            fail "the lines of $key are not in its whole config"
        grep -q "^ .*$key:" part || fail "the example of $key does not use it"
        run crank synth --for $key.yaml --rows 1k -o $key --quiet
        ends 0
        run crank check $key/pipeline.yaml
        ends 0
        [ ! -s "$err" ] || fail "crank check warns of the example of $key"
        n=$((n + 1))
    done
done
[ $n -ge 48 ] || fail "only $n models and feature types were found"
# one of them trains
run crank train deepfm/pipeline.yaml --model_dir model --quiet
ends 0
# what has no example
run crank help train_config --example
ends 2
has_err "crank help: there is no example of 'train_config'; see 'crank help models' and 'crank help features' for what has one"
run crank help --example
ends 2
has_err "crank help: --example needs a model or a feature: crank help deepfm --example"
