#!/bin/sh
# quickstart.sh [BUILD_DIR] - from nothing to predictions, in under two minutes: builds crank, makes a
# data set whose best score is known, trains, evaluates, exports, predicts, and says what to try next.
set -eu
cd "$(dirname "$0")/.."
build=${1:-build}
out=out/quickstart
rows=400000

step() { printf '\n\033[1m== %s\033[0m\n' "$*"; }
[ -t 1 ] || step() { printf '\n== %s\n' "$*"; }
show() { # the command as a user would type it, then run it
    printf '$'
    for word; do
        case $word in *\**) printf " '%s'" "$word" ;; *) printf ' %s' "$word" ;; esac
    done
    printf '\n'
    "$@"
}
value() { # value FILE KEY: a number of a JSON file, four digits
    sed -n "s/.*\"$2\": *\([0-9.eE+-]*\).*/\1/p" "$1" | tail -n 1 | awk '{ printf "%.4f", $1 }'
}

began=$(date +%s)
step "1/6 install what is missing, build"
make BUILD="$build" all
crank=$build/crank

step "2/6 make $rows rows of click data with a known best score"
rm -rf "$out"
mkdir -p "$out"
show "$crank" synth criteo --rows $rows --scale 0.01 --seed 1 -o $out/data

step "3/6 train a DeepFM on them"
show "$crank" train $out/data/pipeline.yaml --model_dir $out/model

step "4/6 evaluate the checkpoint"
show "$crank" eval $out/model/pipeline.config

step "5/6 export it"
show "$crank" export $out/model/pipeline.config --export_dir $out/export

step "6/6 predict with the export alone"
show "$crank" predict --scripted_model_path $out/export --predict_input_path "$out/data/eval/*.csv" \
    --predict_output_path $out/predictions --reserved_columns label

step "done in $(($(date +%s) - began)) s"
cat <<END
data         $out/data          $rows rows; the best reachable AUC is $(value $out/data/synth.json auc)
model        $out/model         AUC $(value $out/model/eval_result.txt auc) on rows it has not seen
export       $out/export        $(du -sh $out/export | cut -f1), all that is needed to predict
predictions  $out/predictions   $(sed 1d $out/predictions/part-0.csv | wc -l) rows, in input order

To try next:
  head -n 5 $out/predictions/part-0.csv
  $crank check $out/data/pipeline.yaml          what crank makes of this config
  $crank help deepfm                                  every option of the model
  $crank train $out/data/pipeline.yaml --model_dir $out/wider --set 'model_config.deepfm.deep.hidden_units=[256]'
  examples/README.md                                  configs for your own data
  docs/guide/quickstart.md                            the same steps, explained
END
