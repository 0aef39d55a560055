# the examples on real data reach what their pages say; the data lies beside the checkout, in ../shared/data
examples=$(cd "$CLI/../../examples" && pwd)
data=$CLI/../../../shared/data
missing=
have() { # have FOLDER: the example runs, or its folder is noted as missing
    [ -d "$data/$1" ] || { missing="$missing $1"; return 1; }
}
number() { awk -v key="$1" 'index($0, key) == 1 { sub(/ *[,(].*/, ""); print $NF; exit }' "$out"; } # number KEY: last word of the part before a comma or a parenthesis
holds() { awk "BEGIN { exit !($1) }" || fail "not so: $1"; }

if have adult; then
    run sh "$examples/adult/run.sh" "$data/adult" adult
    ends 0
    has_out '  auc ...'
    auc=$(number '  auc ')
    # published split; libffm 0.9137, xLearn FFM 0.9150, Vowpal Wabbit 0.9107 on the same files
    holds "$auc >= 0.915 && $auc < 0.93"
    holds "$(number '  logloss ') < 0.295"
    run env CONFIG=best.yaml sh "$examples/adult/run.sh" "$data/adult" adult
    ends 0
    holds "$(number '  auc ') >= 0.928 && $(number '  logloss ') < 0.275" # XGBoost, 300 trees: 0.9276, 0.2766
    holds "$(awk 'END { print NR }' adult/train.csv) == 32562 && $(awk 'END { print NR }' adult/test.csv) == 16282"
    run sh "$examples/adult/run.sh" nowhere adult
    ends 1
    has_err 'run.sh: nowhere/adult.data cannot be read...'
fi
if have movietweetings-100k; then
    run sh "$examples/movietweetings/run.sh" "$data/movietweetings-100k" movies
    ends 0
    has_out 'gain in squared error...'
    holds "$(number 'test rows ') == 20000"
    model=$(number 'rmse model ')
    base=$(number 'rmse baseline ')
    holds "$(number 'rmse mean ') > 1.85 && $base > 1.6 && $base < 1.66"
    holds "$model < $base && $model > 1.55"
    # the program's own metric says the same as the script
    mse=$(number '  mean_squared_error ')
    holds "($model - sqrt($mse)) ^ 2 < 1e-6"
    # a test row's counters are those of training rows: none later than the last of them
    awk -F, 'FNR > 1 && FNR == NR { n[$2]++ } FNR > 1 && FNR != NR && $6 != n[$2] + 0 { exit 1 }' movies/train.csv movies/test.csv ||
        fail "user_n of a test row is not the user's count of training rows"
fi
if have open-bandit; then
    run sh "$examples/open_bandit/run.sh" "$data/open-bandit" bandit
    ends 0
    has_out 'test rows 20000, clicks 115'
    model=$(number 'auc model ')
    base=$(number 'auc baseline ')
    rule=$(number 'auc rule ')
    holds "$base > 0.45 && $base < 0.5 && $rule > 0.57 && $rule < 0.59"
    holds "$model > $base + 0.03 && $model > 0.53 && $model < 0.65"
    # DeLong's mean placement is the AUC of the program
    auc=$(number '  auc ')
    holds "($model - $auc) ^ 2 < 1e-6"
fi
[ -z "$missing" ] || skip "no real data beside the checkout: ../shared/data lacks$missing"
