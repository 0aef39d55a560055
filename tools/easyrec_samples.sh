#!/bin/sh
# easyrec_samples.sh CRANK EASYREC_DIR - a Markdown table of all configs in samples/model_config and
# examples/configs of EasyRec's repository: which become configs that crank takes, which of these
# train on data made for them, and why the others do not. Nothing is written outside a temporary folder.
set -eu
crank=$1
dir=$2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT INT TERM
cd "$dir"

# the first error, without its place and with the path of the input cut off
why() {
    grep -v ': warning: \|: note: ' "$1" | grep -v '^wrote\|^report\|^next\|^  ' | head -n 1 |
        sed "s|^[^ ]*:[0-9]*:[0-9]*: |line $(grep -v ': warning: \|: note: ' "$1" | grep -v '^wrote\|^report\|^next\|^  ' |
            head -n 1 | sed -n 's/^[^:]*:\([0-9]*\):.*/\1/p'): |; s/|/\\|/g" | cut -c1-200
}
row() { echo "| $1 | $2 | $3 | $4 |"; }
echo '| config | model | result | why |'
echo '|---|---|---|---|'
for f in samples/model_config/*.config examples/configs/*.config; do
    out=$tmp/one.config
    rm -rf "$out" "$tmp/data"
    model=$(sed -n 's/^.*model_class *: *["'"'"']\([A-Za-z0-9_]*\)["'"'"'].*/\1/p' "$f" | head -n 1)
    name=$(basename "$f" .config)
    if ! "$crank" convert "$f" --output_tzrec_config_path "$out" >"$tmp/say" 2>"$tmp/err"; then
        [ -f "$out" ] && row "$name" "$model" 'in part' "$(why "$tmp/err")" || row "$name" "$model" 'no' "$(why "$tmp/err")"
        continue
    fi
    # tables of millions of rows would only cost time and memory here
    awk '$1 ~ /^(hash_bucket_size|num_buckets):$/ && $2 > 100000 { sub($2, 100000) } { print }' "$out" >"$out.small"
    mv "$out.small" "$out"
    lost=$(sed -n 's/^report \([0-9]*\) .*/\1/p' "$tmp/say")
    if ! "$crank" synth --for "$out" --rows 1500 --eval_rows 500 -o "$tmp/data" >"$tmp/say" 2>"$tmp/err"; then
        row "$name" "$model" 'converts' "$(why "$tmp/err")"
        continue
    fi
    if ! "$crank" check "$tmp/data/pipeline.yaml" >"$tmp/say" 2>"$tmp/err"; then
        row "$name" "$model" 'converts' "$(why "$tmp/err")"
        continue
    fi
    if ! "$crank" train "$tmp/data/pipeline.yaml" --set train_config.num_steps=3 --set train_config.num_epochs=0 \
        --set data_config.batch_size=256 --set data_config.eval_batch_size=256 >"$tmp/say" 2>"$tmp/err"; then
        row "$name" "$model" 'checks' "$(why "$tmp/err")"
        continue
    fi
    row "$name" "$model" 'trains' "$([ "$lost" = 0 ] || echo "$lost warnings")"
done
