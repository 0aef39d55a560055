#!/bin/sh
# published.sh CRANK REPO_DIR - prints docs/guide/published.md: which configs in a checkout of TorchEasyRec's
# repository run in crank, from made-up data to predictions, and why the others do not.
#
# Every config runs in a temporary folder, with little data. Tables of more than 200,000 rows are cut, which
# is noted. Errors show the line of the config as it is in the repository, because the cut does not move lines.
set -eu
if [ $# -ne 2 ] || [ ! -x "$1" ] || [ ! -d "$2/tzrec" ]; then
    echo "usage: published.sh CRANK REPO_DIR" >&2
    exit 2
fi
crank=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
repo=$(cd "$2" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT INT TERM
cd "$tmp"

# the first error of the last command, and how many others there are
why() {
    grep -v -e ': warning: ' -e ': note: ' -e '\]\[INFO\]' err >errors || true
    # that the whole model is not available says more than what follows from it
    first=$({ grep -e ": model '" errors || cat errors; } | head -n 1 | sed "s|^$name.config:|line |; s|^D/pipeline.yaml:[0-9]*:[0-9]*: ||; s/; available: .*//; s/|/\\\\|/g")
    more=$(($(wc -l <errors) - 1))
    [ $more -le 0 ] || first="$first (and $more more)"
    echo "$first"
}
# try STAGE COMMAND...: false when it fails, with the reason in $result
try() {
    stage=$1
    shift
    if "$@" >out 2>err; then return 0; fi
    if [ "$stage" = config ]; then result="refused: $(why)"; else result="fails in \`crank $stage\`: $(why)"; fi
    return 1
}
# files that features of the config name: from the repository, or made up where it does not hold them
assets() {
    for file in $(sed -n 's/.*\(vocab_file\|stop_char_file\): *"\([^"]*\)".*/\2/p' "$name.config" | sort -u); do
        case $file in /* | *..*) continue ;; esac
        mkdir -p "$(dirname "$file")"
        if [ -f "$repo/$file" ]; then
            cp "$repo/$file" "$file"
        else
            seq 0 99 >"$file"
            mark="$mark ²"
        fi
    done
}
whole_way() {
    assets
    try config "$crank" synth --for "$name.config" --rows 2500 --eval_rows 900 -o D &&
        try train "$crank" train D/pipeline.yaml --threads 2 &&
        try eval "$crank" eval D/model/pipeline.config --threads 2 &&
        try export "$crank" export D/model/pipeline.config --export_dir D/export &&
        try predict "$crank" predict --scripted_model_path D/export --predict_input_path 'D/eval/*' \
            --predict_output_path D/scores --threads 2
}
one() { # one PATH
    name=$(basename "$1" .config)
    rm -rf D out err
    awk '{ line = $0 }
         match(line, /(num_buckets|hash_bucket_size): *[0-9]+/) {
             text = substr(line, RSTART, RLENGTH); number = text; sub(/^[^0-9]*/, "", number); key = text; sub(/[0-9]+$/, "", key)
             if (number + 0 > 200000) { line = substr(line, 1, RSTART - 1) key 200000 substr(line, RSTART + RLENGTH); cut = 1 }
         }
         { print line }
         END { exit cut ? 9 : 0 }' "$1" >"$name.config" && mark= || mark=' ¹'
    if whole_way; then result="runs$mark"; fi
    rm -f "$name.config"
    # the first message of model_config that is none of those that every model has
    model=$(sed -n '/^model_config/,$p' "$1" |
        sed -n 's/^ \{2,4\}\([a-z0-9_]*\) *{ *$/\1/p' | grep -v -e feature_groups -e losses -e metrics -e variational_dropout -e num_class | head -n 1)
    echo "| $(basename "$1" .config) | ${model:+\`$model\`} | $result |"
}
folder() { # folder DIR: a table of the configs in it
    echo
    echo "## \`$1\`"
    echo
    echo '| config | model | result |'
    echo '|---|---|---|'
    for path in $(cd "$repo/$1" && find . -name '*.config' | LC_ALL=C sort); do
        one "$repo/$1/$path" | sed "s#^| #| $(dirname "${path#./}" | sed 's#^\.$##; s#\(.\)$#\1/#')#"
    done
}
{
    folder examples
    folder tzrec/benchmark/configs
    folder tzrec/tests/configs
} >tables
total=$(grep -c '^| .* | .* | \(runs\|refused\|fails\)' tables)
runs=$(grep -c '^| .* | .* | runs' tables)
tzrec=$(sed -n 's/^__version__ = "\(.*\)"/\1/p' "$repo/tzrec/version.py")
version=$("$crank" version | head -n 1 | sed 's/^crank //; s/ .*//')
cat <<END
<!-- printed by tools/published.sh; run it again instead of editing this page -->

# Configs published for TorchEasyRec

This page lists the configs in the repository of TorchEasyRec $tzrec and the result of each one in crank $version: **$runs of $total run from data to
predictions.** The configs are unchanged except for the place of the data. Each config went through these commands:

\`\`\`sh
crank synth --for CONFIG --rows 2500 --eval_rows 900 -o D     # OdpsDataset becomes Parquet files, and the paths point to them
crank train D/pipeline.yaml && crank eval D/model/pipeline.config
crank export D/model/pipeline.config --export_dir D/export
crank predict --scripted_model_path D/export --predict_input_path 'D/eval/*' --predict_output_path D/scores
\`\`\`

A config that does not run is refused before the first step, with the place in the file and the reason.
\`tools/published.sh CRANK REPO_DIR\` prints this page for any checkout of TorchEasyRec. \`tests/published\` holds small configs of our own with the same
models, feature types, encoders, losses and metrics; the tests run each one the whole way.
END
cat tables
if grep -q '¹' tables; then
    echo
    echo '¹ Tables of more than 200,000 rows were cut to 200,000 rows for this run, to save time and memory.'
fi
if grep -q '²' tables; then
    echo
    echo '² The repository does not hold a vocabulary that this config names. A file with the numbers 0 to 99 took its place.'
fi
