#!/bin/sh
# why_pictures.sh DATA_DIR [BUILD_DIR [OUT_DIR]] - makes the pictures of docs/guide/why.md again: trains examples/adult and
# writes importance.svg and reliability.svg to OUT_DIR (docs/img). DATA_DIR holds adult.data and adult.test as UCI gives them.
set -eu
data=$(cd "${1:?usage: why_pictures.sh DATA_DIR [BUILD_DIR [OUT_DIR]]}" && pwd)
cd "$(dirname "$0")/.."
crank=$(pwd)/${2:-build}/crank
out=$(mkdir -p "${3:-docs/img}" && cd "${3:-docs/img}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
CRANK=$crank sh examples/adult/run.sh "$data" "$work"
"$crank" importance "$work/model" --eval_input_path "$work/test.csv" --svg "$out/importance.svg"
"$crank" eval "$work/model/pipeline.config" --eval_input_path "$work/test.csv" --slice sex --slice age --reliability "$out/reliability.svg"
