#!/bin/sh
# run.sh DATA_DIR [WORK_DIR [validate]] - trains pipeline.yaml on the small Open Bandit Dataset, against a baseline.
#
# DATA_DIR holds random/ and bts/ with men/ and women/ each; everything is written to WORK_DIR (work).
# Trains on the rows of the random policy, tests on those of the other (bts). validate: four-fold cross validation on
# the former; the latter are not read.
# CRANK names the program, crank by default.
set -eu
data=${1:?usage: run.sh DATA_DIR [WORK_DIR [validate]]}
work=${2:-work}
mode=${3:-test}
crank=${CRANK:-crank}
here=$(cd "$(dirname "$0")" && pwd)
export LC_ALL=C
for f in "$data"/random/men/men.csv "$data"/random/women/women.csv "$data"/bts/men/men.csv "$data"/bts/women/women.csv; do
    [ -r "$f" ] || { echo "run.sh: $f cannot be read; README.md says where the data comes from" >&2; exit 1; }
done

rows() { # rows POLICY
    echo "label,campaign,item,position,user_0,user_1,user_2,user_3,affinity,history,item_0,item_1,item_2,item_3"
    for c in men women; do
        awk -v campaign=$c -f "$here/prepare.awk" "$data/random/$c/item_context.csv" "$data/$1/$c/$c.csv"
    done
}
fit() { # fit TRAIN TEST MODEL: adds to $work/scores
    rm -rf "$3" "$3.predictions"
    "$crank" train "$here/pipeline.yaml" --train_input_path "$1" --eval_input_path "$2" --model_dir "$3" --quiet
    "$crank" predict --pipeline_config_path "$3/pipeline.config" --predict_input_path "$2" \
        --predict_output_path "$3.predictions" --reserved_columns label --output_columns probs --quiet
    awk -f "$here/rates.awk" "$1" "$2" >"$3.rates"
    awk -F, 'NR > 1 { print $1, $2 }' "$3.predictions/part-0.csv" | paste -d ' ' - "$3.rates" |
        awk '{ print $1, $3, $4, $2 }' >>"$work/scores"
}
mkdir -p "$work"
: >"$work/scores"
rows random >"$work/train.csv"
if [ "$mode" = validate ]; then
    for k in 0 1 2 3; do
        awk -v k=$k 'NR == 1 || NR % 4 != k' "$work/train.csv" >"$work/train_$k.csv"
        awk -v k=$k 'NR == 1 || NR % 4 == k' "$work/train.csv" >"$work/test_$k.csv"
        fit "$work/train_$k.csv" "$work/test_$k.csv" "$work/model_$k"
    done
else
    rows bts >"$work/test.csv"
    fit "$work/train.csv" "$work/test.csv" "$work/model"
fi
sh "$here/auc.sh" "$work/scores"
