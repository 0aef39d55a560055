#!/bin/sh
# run.sh DATA_DIR [WORK_DIR [validate]] - trains and evaluates a config on UCI Adult.
#
# DATA_DIR holds adult.data and adult.test as UCI gives them; everything is written to WORK_DIR (work).
# validate: trains on the first 80 % of adult.data, evaluates on the rest and leaves adult.test alone.
# CRANK names the program, crank by default; CONFIG the config beside this script, pipeline.yaml or best.yaml.
set -eu
data=${1:?usage: run.sh DATA_DIR [WORK_DIR [validate]]}
work=${2:-work}
mode=${3:-test}
crank=${CRANK:-crank}
config=${CONFIG:-pipeline.yaml}
here=$(cd "$(dirname "$0")" && pwd)
export LC_ALL=C
for f in "$data/adult.data" "$data/adult.test"; do
    [ -r "$f" ] || { echo "run.sh: $f cannot be read; README.md says where the data comes from" >&2; exit 1; }
done

# ", " becomes ",", the label 0 or 1 (adult.test ends its labels with a full stop), lines without 15 fields go
to_csv() {
    awk -F ', ' -v OFS=, '
        BEGIN { print "age,workclass,fnlwgt,education,education_num,marital,occupation,relationship,race,sex,capital_gain,capital_loss,hours,country,label" }
        NF == 15 { $15 = $15 ~ />50K/ ? 1 : 0; print }' "$1"
}
mkdir -p "$work"
rm -rf "$work/model"
to_csv "$data/adult.data" >"$work/train.csv"
to_csv "$data/adult.test" >"$work/test.csv"
if [ "$mode" = validate ]; then
    n=$(awk 'END { print int((NR - 1) * 0.8) + 1 }' "$work/train.csv")
    awk -v n="$n" 'NR == 1 || NR > n' "$work/train.csv" >"$work/test.csv"
    awk -v n="$n" 'NR <= n' "$work/train.csv" >"$work/first.csv"
    mv "$work/first.csv" "$work/train.csv"
fi
"$crank" train "$here/$config" --train_input_path "$work/train.csv" --eval_input_path "$work/test.csv" \
    --model_dir "$work/model" --quiet
