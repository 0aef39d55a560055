#!/bin/sh
# test_extend.sh - is adding something to crank one new file, one line of a list and one build line?
#
# Takes a copy of the tree, adds a toy of every kind (tests/extend), checks what git says of each,
# builds, and uses all of them: the toy op passes the gradient check, the toy optimizer the tests of
# all rules, and a training reads the toy reader's rows from the toy store into the toy feature,
# model, encoder, loss and metric; the toy writer writes predictions; a config of the toy dialect
# gives the same weights.
#
# Last line: N passed, N failed, 0 skipped. KEEP=DIR keeps the copy there.
set -eu
cd "$(dirname "$0")/.."
sh tools/deps.sh build test
if [ -n "${KEEP:-}" ]; then
    copy=$KEEP
    rm -rf "$copy"
    mkdir -p "$copy"
else
    copy=$(mktemp -d)
    trap 'rm -rf "$copy"' EXIT
fi
git ls-files --cached --others --exclude-standard | while IFS= read -r f; do
    [ ! -f "$f" ] || printf '%s\n' "$f"
done | tar -cf - -T - | tar -xf - -C "$copy"
toys=$PWD/tests/extend
cd "$copy"
git init -q .
log=$PWD/.git/toys.log stat=$PWD/.git/toys.stat
git_() { git -c user.name=toy -c user.email=toy@example.com -c commit.gpgsign=false "$@"; }
git_ add -A
git_ commit -q -m 'the tree'

passed=0
failed=0
ok() { # ok WHAT COMMAND...
    what=$1
    shift
    if "$@" >"$log" 2>&1; then
        passed=$((passed + 1))
        echo "ok      $what"
    else
        failed=$((failed + 1))
        echo "FAILED  $what"
        tail -n 20 "$log"
    fi
}

# only FILE: the index has FILE as a new file, and two other files with one new line each
only() {
    git_ diff --cached --numstat --no-renames >"$stat"
    cat "$stat"
    awk -v new="$1" '
        { n++; if ($2 != 0) bad = 1 }
        $3 == new { file = 1; next }
        $1 != 1 { bad = 1 }
        END { exit !(n == 3 && file && !bad) }' "$stat" &&
        [ "$(git_ diff --cached --name-only --diff-filter=A)" = "$1" ]
}

# add KIND FILE LIST AFTER LINE BUILD: src/FILE, LINE in src/LIST behind the first line with AFTER,
# and the name of the file in src/BUILD/meson.build
add() {
    [ -d "src/${2%/*}" ]
    cp "$toys/${1}_toy.c" "src/$2"
    name=${2##*/}
    [ "${2%/*}" = "$6" ] || name=../$2
    insert "src/$3" "$4" "    $5 \\"
    insert "src/$6/meson.build" 'folder_src = files(' "  '$name',"
    git_ add -A
    ok "$1: one file, one line in $3, one in $6/meson.build" only "src/$2"
    git_ commit -q -m "a toy $1"
}
insert() { # insert FILE AFTER LINE
    awk -v after="$2" -v line="$3" '
        { print }
        !done && index($0, after) { print line; done = 1 }
        END { exit !done }' "$1" >"$1.new"
    mv "$1.new" "$1"
}

add op op/toy.c op/list.h '#define CR_OPS(' 'X(toy)' op
add model model/toy.c model/list.h '#define CR_MODELS(' 'X(toy)' model
add optim optim/toy.c optim/list.h '#define CR_OPTIMIZERS(' 'BOTH(toy_optimizer, toy, toy)' optim
add loss layer/loss_toy.c layer/loss_list.h '#define CR_LOSSES(' 'X(toy_loss)' layer
add metric metric/toy.c metric/list.h '#define CR_METRICS(' 'EVAL(toy_rows)' metric
add feat feat/toy.c feat/list.h '#define CR_FEATURES(' 'X(toy_number, toy_number)' feat
add reader data/toy.c data/reader_list.h 'TFRecordDataset' \
    'READ(TOY, toy, "ToyDataset", "numbers")' data
add cmd cli/cmd_toy.c cli/list.h '#define CR_COMMANDS(' 'X(toy)' cli
add store store/toy.c base/fs_list.h '#define CR_STORES(' 'X(toy)' base
add encoder model/encoder_toy.c model/encoder_list.h '#define CR_ENCODERS(' 'X(toy_encoder)' model
add pred run/pred_toy.c run/pred_list.h 'X(csv)' 'X(toy)' run
add dialect dialect/toy.c dialect/list.h 'X(native)' 'X(toy)' dialect

ok 'the source checks' sh -c 'sh tools/check_layers.sh && sh tools/check_style.sh'
ok 'set up' meson setup build
ok 'build' ninja -C build crank tests/test_op_grad tests/test_optim_levels
[ -x build/crank ] || {
    printf '\n%d passed, %d failed, 0 skipped\n' $passed $failed
    exit 1
}

crank=$PWD/build/crank
ok 'op: gradient, threads and tiles' build/tests/test_op_grad
ok 'optimizer: the same bits at every CPU level' build/tests/test_optim_levels
mkdir run
cd run
seq 1 256 >rows.toy
sed -e 's/^train_config:/toy_train:/; s/^data_config:/toy_data:/; s/^feature_configs:/toy_features:/
    s/^model_config:/toy_model:/; s/^train_input_path:/toy_input:/; s/^eval_input_path:/toy_eval_input:/' \
    "$toys/native.yaml" >dialect.yaml
says() { # says TEXT COMMAND...: the command succeeds and prints TEXT
    text=$1
    shift
    "$@" >said 2>&1 || { cat said; return 1; }
    cat said
    grep -q -F -e "$text" said
}
ok 'command: crank toy' says 'hello from a toy command' "$crank" toy
ok 'command: its own flag' says 'hello from a toy command to all' "$crank" toy --name all
ok 'command: crank help names it' says 'Say hello' "$crank" help
ok 'reader, store, feature, model, encoder, loss, optimizer: crank train' "$crank" train "$toys/native.yaml"
ok 'metric: crank eval' says '2560.000000' "$crank" eval out/native/pipeline.config
ok 'export and predict' sh -c "'$crank' export out/native/pipeline.config --export_dir out/export &&
    '$crank' predict --scripted_model_path out/export --predict_input_path toy://rows.toy \
        --predict_output_path out/scores.csv --reserved_columns item && [ \$(wc -l <out/scores.csv) -eq 257 ]"
ok 'writer: crank predict' sh -c "'$crank' predict --scripted_model_path out/export \
    --predict_input_path toy://rows.toy --predict_output_path out/scores.toy && [ \$(wc -l <out/scores.toy) -eq 256 ]"
ok 'writer: by its name' sh -c "'$crank' predict --scripted_model_path out/export --predict_input_path toy://rows.toy \
    --predict_output_path out/scores --writer_type ToyWriter && cmp out/scores/part-0.toy out/scores.toy"
ok 'dialect: crank train' "$crank" train dialect.yaml --model_dir out/dialect
ok 'dialect: the same weights' sh -c 'n=0; for f in out/native/model.ckpt-*/*.safetensors; do
    cmp "$f" "out/dialect/${f#out/native/}" || exit 1; n=$((n + 1)); done; [ $n -gt 0 ]'
printf '\n%d passed, %d failed, 0 skipped\n' $passed $failed
[ $failed -eq 0 ]
