#!/bin/sh
# run.sh DATA_DIR [WORK_DIR [validate]] - trains pipeline.yaml on MovieTweetings and compares it with two baselines.
#
# DATA_DIR holds ratings.dat and movies.dat; everything is written to WORK_DIR (work). Ratings are put in order of
# time: the first 80 % train, the last 20 % test. validate: the same within the first 80 %, the test rows are not read.
# CRANK names the program, crank by default.
set -eu
data=${1:?usage: run.sh DATA_DIR [WORK_DIR [validate]]}
work=${2:-work}
mode=${3:-test}
crank=${CRANK:-crank}
here=$(cd "$(dirname "$0")" && pwd)
export LC_ALL=C
for f in "$data/ratings.dat" "$data/movies.dat"; do
    [ -r "$f" ] || { echo "run.sh: $f cannot be read; README.md says where the data comes from" >&2; exit 1; }
done

mkdir -p "$work"
rm -rf "$work/model" "$work/predictions"
# fields 2, 4 and 6 are the empty ones inside "::"; equal times keep the order of the file
sort -s -t : -k 7,7n "$data/ratings.dat" >"$work/sorted.dat"
n=$(awk 'END { print int(NR * 0.8) }' "$work/sorted.dat")
if [ "$mode" = validate ]; then
    head -n "$n" "$work/sorted.dat" >"$work/first.dat"
    mv "$work/first.dat" "$work/sorted.dat"
    n=$((n * 8 / 10))
fi
awk -v n_train="$n" -v out_train="$work/train.csv" -v out_test="$work/test.csv" -f "$here/prepare.awk" \
    "$data/movies.dat" "$work/sorted.dat"
"$crank" train "$here/pipeline.yaml" --train_input_path "$work/train.csv" --eval_input_path "$work/test.csv" \
    --model_dir "$work/model" --quiet
"$crank" predict --pipeline_config_path "$work/model/pipeline.config" --predict_input_path "$work/test.csv" \
    --predict_output_path "$work/predictions" --reserved_columns rating,mean,baseline,user_n,movie_n --quiet

# errors of the three, and the gain over the baseline with its 95 % interval (paired, rows taken as independent)
awk -F, '
    NR == 1 { for (i = 1; i <= NF; i++) col[$i] = i; next }
    {
        r = $col["rating"]
        p = $col["mean"] + $col["y"]
        e0 = (r - $col["mean"]) ^ 2
        e1 = (r - $col["baseline"]) ^ 2
        e2 = (r - p) ^ 2
        s0 += e0; s1 += e1; s2 += e2
        d = e1 - e2
        sd += d; sdd += d * d
        n++
        if ($col["user_n"] == 0) new_users++
        if ($col["movie_n"] == 0) new_movies++
    }
    END {
        printf "test rows %d, of a new user %.1f %%, of a new movie %.1f %%\n", n, 100 * new_users / n, 100 * new_movies / n
        printf "rmse mean      %.4f\n", sqrt(s0 / n)
        printf "rmse baseline  %.4f\n", sqrt(s1 / n)
        printf "rmse model     %.4f\n", sqrt(s2 / n)
        m = sd / n
        h = 1.96 * sqrt((sdd / n - m * m) / n)
        printf "gain in squared error over the baseline %.4f, 95 %% interval %.4f to %.4f\n", m, m - h, m + h
    }' "$work/predictions/part-0.csv"
