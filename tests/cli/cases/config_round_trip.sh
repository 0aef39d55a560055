# every config that is here, printed in one syntax after the other, stays the same config
n=0
for config in "$CLI"/../../examples/*/*.yaml "$CLI"/../../examples/*/*.config "$CLI"/../../examples/*/*.json "$CLI"/../published/*.config "$CLI"/*.yaml; do
    [ -f "$config" ] || continue
    grep -q model_config "$config" || continue
    # published configs read tables of MaxCompute
    run crank config "$config" --set data_config.dataset_type=ParquetDataset
    ends 0
    cp "$out" first.yaml
    cp "$out" now.yaml
    before=now.yaml
    # from each syntax to each other one
    for format in pbtxt json yaml json pbtxt yaml; do
        now=now.$format
        [ "$now" != "$before" ] || now=again.$format
        run crank config $before --format $format
        ends 0
        cp "$out" $now
        before=$now
        run crank config $now
        ends 0
        same first.yaml "$out"
    done
    n=$((n + 1))
done
[ $n -ge 40 ] || fail "only $n configs were found"
# other programs read the JSON
if command -v python3 >/dev/null; then
    tiny_config
    run crank config tiny.yaml --format json
    ends 0
    python3 -c 'import json, sys; c = json.load(open(sys.argv[1])); assert c["train_config"]["num_epochs"] == 2, c' "$out" || fail "python3 reads another config"
fi
run crank config tiny.yaml --format xml
ends 2
has_err "crank config: --format is 'xml' and must be yaml, pbtxt or json"
