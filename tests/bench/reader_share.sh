#!/bin/sh
# reader_share.sh [BUILD_DIR [SECONDS]] - how much of the CPU time of training is reading and features: of
# multi_tower_din over text sequences (din.config) at batch 8192, on made-up data; and how many rows of each feature
# type a core makes. Below a quarter is what it is measured against.
set -eu
cd "$(dirname "$0")/../.."
crank=${1:-build}/crank
seconds=${2:-5}
out=out/bench/reader
rm -rf $out
mkdir -p $out
get() { sed "s/.*\"$1\": \([0-9.e+]*\).*/\1/" "$2"; }

"$crank" synth --for tests/bench/din.config --rows 100k -o $out/din --quiet >/dev/null
"$crank" bench features $out/din/pipeline.yaml --seconds "$seconds" --json --quiet >$out/features.json
"$crank" bench train $out/din/pipeline.yaml --seconds "$seconds" --json --quiet >$out/train.json
awk -v f="$(get rows_per_cpu_s $out/features.json)" -v t="$(get rows_per_cpu_s $out/train.json)" 'BEGIN {
    printf "reading and features  %8.1f us of CPU per row\n", 1e6 / f
    printf "training              %8.1f us of CPU per row\n", 1e6 / t
    printf "share of the former   %8.1f %% of both\n", 100 / f / (1 / f + 1 / t)
}'

sed "s#byte_level.json#tests/golden/tokenizers/&#" tests/cli/all_features.yaml >$out/all.yaml
"$crank" synth --for $out/all.yaml --rows 50k --format csv -o $out/all --quiet >/dev/null
echo
echo "rows per core and second of one feature, by type (CSV text):"
"$crank" bench features $out/all/pipeline.yaml --seconds "$seconds" --quiet | grep -E "_feature|kv_dot"
