# ranks_rest.sh - what ranks do besides training: prediction, export, counts, logs, metrics, the checks at the start, and
# faults of one rank. For the cases ranks_rest_mpich and ranks_rest_openmpi, which define ranks as for ranks.sh.
[ -f "$(dirname "$CRANK")/$plug" ] || skip "crank was built without $plug"
mpi_leaks
tiny_config
tiny_data 960 300
tiny_parquet
lanes="--set train_config.lanes=8"
told_once() { # told_once CODE TEXT
    ends "$1"
    [ "$(grep -c "$2" "$err")" -eq 1 ] || fail "not told once: $2"
}
# on_one 'SHELL COMMANDS' N CMD...: rank 1 of N runs the commands first; they see CMD and its arguments as "$@"
on_one() {
    one=$1 n=$2
    shift 2
    if [ "$1" = crank ]; then shift && set -- "$CRANK" "$@"; fi
    # shellcheck disable=SC2016
    ONE=$one ranks "$n" timeout -k 2 60 sh -c 'if [ "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}" = 1 ]; then eval "$ONE"; fi; exec "$@"' sh "$@"
}

# ---- training's other files, metrics of all kinds, averages, the best checkpoint ----
sed 's/^  metrics:/  metrics: [{auc: {}}, {precision: {}}, {recall: {threshold: 0.3}}, {f1: {threshold: 0.25}}, {copc: {}},\
    {average_output: {}}, {average_label: {}}, {normalized_entropy: {}}, {xauc: {}}, {grouped_xauc: {grouping_key: user}},\
    {grouped_auc: {grouping_key: user}}, {logloss: {}}, {accuracy: {}}, {mean_absolute_error: {}}, {mean_squared_error: {}}]/; /^    - auc: {}/d' tiny.yaml >many.yaml
printf '%s\n' 'export_config: {exporter_type: best, best_exporter_metric: auc}' 'eval_config: {early_stopping_patience: 1}' >>many.yaml
more="$lanes --set train_config.num_epochs=6 --set train_config.save_checkpoints_steps=4 --set train_config.keep_checkpoint_max=2
 --set train_config.dense_optimizer.ema.decay=0.9 --set feature_configs[1].id_feature.num_buckets=20"
# shellcheck disable=SC2086
run crank train many.yaml --model_dir many1 --threads 1 $more --set data_config.batch_size=120
ends 0
for p in 2 3; do
    # shellcheck disable=SC2086
    run ranks $p crank train many.yaml --model_dir many$p $more --set data_config.batch_size=$((120 / p)) --log_dir logs$p --log_json json$p
    ends 0
    same_weights many1 many$p
    same many1/train_eval_result_v2.txt many$p/train_eval_result_v2.txt
    same many1/feature_counts.json many$p/feature_counts.json
    # shellcheck disable=SC2010
    [ "$(ls many1 | grep -v -e '^events' -e plan.json -e '^train_log.rank-')" = "$(ls many$p | grep -v -e '^events' -e plan.json -e '^train_log.rank-')" ] || fail "files: $(ls many$p)"
    # once each: a summary, the reason of the end, a warning that all ranks have, a set of events, the cores
    for line in "Training stops early" "WARNING.*feature 'item'.*ids outside its table" "$p ranks share the cores of"; do
        [ "$(grep -c "$line" "$err")" -eq 1 ] || fail "not told once: $line"
    done
    # shellcheck disable=SC2010
    [ "$(ls many$p | grep -c '^events')" -eq 1 ] || fail "not one file of events"
    [ "$(grep -c '"start"' json$p)" -eq 1 ] || fail "not one start in the JSON lines"
    for r in $(seq 0 $((p - 1))); do
        head -n 1 "logs$p/rank-$r.log" | grep -q "^rank $r of $p, host $(uname -n), pid [0-9]*, crank .* train many.yaml" || fail "$(head -n 1 "logs$p/rank-$r.log")"
        grep -q 'Eval Result Epoch-0' "logs$p/rank-$r.log" || fail "rank $r logs no evaluation"
    done
done
run crank eval many1/pipeline.config --eval_result_filename one.txt
ends 0
run ranks 3 crank eval many1/pipeline.config --eval_result_filename three.txt --set data_config.batch_size=40
ends 0
same many1/one.txt many1/three.txt
# weights of another training to begin with
for p in 1 2; do
    # shellcheck disable=SC2086
    run ranks $p crank train tiny.yaml --model_dir tuned$p $lanes --set train_config.num_epochs=1 --fine_tune_checkpoint many1 --set data_config.batch_size=$((120 / p)) \
        --set feature_configs[1].id_feature.num_buckets=20
    ends 0
done
same_weights tuned1 tuned2
# classes
classes="$lanes --set model_config.num_class=3 --set train_config.num_epochs=1"
for p in 1 3; do
    # shellcheck disable=SC2086
    run ranks $p crank train tiny.yaml --model_dir class$p $classes --set data_config.batch_size=$((120 / p)) \
        --set 'model_config.losses=[{softmax_cross_entropy: {}}]' --set 'model_config.metrics=[{multiclass_auc: {}}, {recall_at_k: {top_k: 2}}]'
    ends 0
done
same class1/train_eval_result_v2.txt class3/train_eval_result_v2.txt

# ---- export, prediction: the bytes of one process ----
for type in FP32 FP16 BF16 INT8; do
    for p in 1 2 3; do
        run ranks $p crank export many1/pipeline.config --export_dir $type$p --embedding_dtype $type
        ends 0
        [ "$(grep -c '^exported ' "$out")" -eq 1 ] || fail "not one summary"
        same ${type}1 $type$p
    done
done
mv FP321 export1
awk 'BEGIN { for (i = 0; i < 2300; i++) printf "%d|%d|%d|%d|%.2f|%s|%s|%s\n", i % 2, i % 50, i % 33, i % 20, i % 97 / 10,
    i % 3 ? "[a" i ",null]" : i % 2 ? "null" : "[]", i % 5 ? "{k" i % 7 ":" i "}" : "null", i % 4 ? "[[" i "],[]]" : "null" }' |
    pq_make rows.parquet 'label:int32, user:int64, item:int64, tags:string, price:double, names:list<string>, m:map<string,int64>, ll:list<list<date>>' 700
predict() { # predict N OUT ARGS
    number=$1 to=$2
    shift 2
    run ranks "$number" crank predict --scripted_model_path export1 --predict_output_path "$to" "$@"
}
for p in 1 2 3; do
    predict $p csv$p --predict_input_path eval.csv --reserved_columns ALL_COLUMNS --debug_level 1 --batch_size $((120 / p))
    ends 0
    [ "$(grep -c '^predicted  300 rows' "$out")" -eq 1 ] || fail "not one summary"
    same csv1 csv$p
    # batches large enough that each rank reads its own rows only
    predict $p pq$p --predict_input_path rows.parquet --reserved_columns ALL_COLUMNS --batch_size $((1800 / p))
    ends 0
    same pq1 pq$p
    predict $p - --predict_input_path eval.csv --reserved_columns ALL_COLUMNS --batch_size 40 --debug_level 1 -q
    ends 0
    same "$out" csv1/part-0.csv
done
# a checkpoint, whose tables are divided among the ranks as in training; those of an export stay in its file
for p in 1 2 3; do
    run ranks $p crank predict --pipeline_config_path many1/pipeline.config --predict_output_path ckpt$p --predict_input_path eval.csv \
        --reserved_columns ALL_COLUMNS --batch_size $((120 / p)) --set 'train_config.global_embedding_constraints.sharding_types=[row_wise]'
    ends 0
    same ckpt1/part-0.csv ckpt$p/part-0.csv
    [ $p -eq 1 ] || has_err "...placing of tables on $p ranks: ... row_wise..."
done
predict 2 mapped --predict_input_path eval.csv
ends 0
! grep -q 'placing of tables' "$err" || fail "tables of an export are divided"
predict 2 packed.csv.gz --predict_input_path eval.csv --reserved_columns ALL_COLUMNS --debug_level 1
ends 0
gzip -dc packed.csv.gz | cmp - csv1/part-0.csv || fail "packed.csv.gz holds other rows"
# one file per rank: together they are all rows; fewer parts do not go over more of them
predict 3 parts --predict_input_path eval.csv --reserved_columns ALL_COLUMNS --debug_level 1 --batch_size 40 --part_per_rank
ends 0
[ "$(ls parts | tr '\n' ' ')" = "_feature_counts.json part-0.csv part-1.csv part-2.csv " ] || fail "$(ls parts)"
sort csv1/part-0.csv >want
for r in 0 1 2; do tail -n +2 parts/part-$r.csv; done | cat - parts/part-0.csv | sort -u | sort >got
same want got
same csv1/_feature_counts.json parts/_feature_counts.json
predict 2 parts --predict_input_path eval.csv
told_once 2 "parts/part-2.csv is of a result that had more parts\|parts/part-1.csv is of a result that had more parts"
predict 2 one.csv --predict_input_path eval.csv --part_per_rank
told_once 2 "part_per_rank writes several files; give a folder"
predict 2 none --predict_input_path -
told_once 2 "standard input reaches one rank only"
is_gone none
# fewer rows than ranks; steps that are left out
head -n 3 eval.csv >two.csv
for p in 1 3; do
    predict $p few$p --predict_input_path two.csv --batch_size $((120 / p))
    ends 0
    predict $p steps$p --predict_input_path eval.csv --batch_size $((120 / p)) --predict_steps 2
    ends 0
done
same few1 few3
same steps1 steps3
[ "$(wc -l <steps3/part-0.csv)" -eq 241 ] || fail "two batches of 120 rows"

# ---- faults of one rank ----
sed '250s/^\([^,]*\),[^,]*,/\1,x,/' eval.csv >bad.csv
for how in "" --part_per_rank; do
    # shellcheck disable=SC2086
    predict 3 bad --predict_input_path bad.csv --batch_size 40 $how
    told_once 3 "bad.csv:250: ...*"
    is_gone bad
done
# too many bad rows, and fewer than the limit, are those of all ranks
run ranks 2 crank train tiny.yaml --model_dir limit $lanes --train_input_path bad.csv --set data_config.max_bad_rows=1 --set data_config.batch_size=60
ends 0
has_out "  bad rows           2, skipped"
[ "$(grep -c 'WARNING.*bad.csv:250' "$err")" -le 2 ] || fail "a bad row is told by several ranks"
# one rank has other settings, files, or another program
train="train tiny.yaml --model_dir other $lanes --set data_config.batch_size=60"
# shellcheck disable=SC2086
run on_one 'set -- "$@" --set train_config.seed=5' 2 crank $train
told_once 2 "^crank train: rank 1 (host $(uname -n)): another config, 'seed: 5' where rank 0 (host $(uname -n)) has 'seed: 2026'; start all ranks with the same config"
# shellcheck disable=SC2086
run on_one 'set -- "$@" --continue_train' 2 crank $train
told_once 2 "rank 1 (host .*): other flags, '--continue_train ' where rank 0 "
is_gone other
mkdir there
cp -p tiny.yaml train.csv eval.csv there
sed -i 's/,3/,4/' there/train.csv
# shellcheck disable=SC2086
run on_one 'cd there' 2 crank $train
told_once 2 "rank 1 (host .*): other data of train_input_path than rank 0 .*: another content of train.csv; give all hosts the same files"
cp -p train.csv there
head -n 200 eval.csv >there/eval.csv
# shellcheck disable=SC2086
run on_one 'cd there' 2 crank $train
told_once 2 "rank 1 (host .*): other data of eval_input_path than rank 0 .*: $(wc -c <there/eval.csv) bytes and not $(wc -c <eval.csv) in eval.csv; "
cp -p eval.csv there
# the weights that a training begins with: a checkpoint, the names in it, the table of a feature
for seed in 1 2; do
    run crank train tiny.yaml --model_dir first$seed -q --set train_config.num_epochs=1 --set train_config.seed=$seed
    ends 0
done
mv first2 there/first1
table=model.embedding_group.emb_impls.__BASE__.ebc.embedding_bags.user_emb.weight
echo "$table -" >names.txt
echo "$table $table" >there/names.txt
# shellcheck disable=SC2086
run on_one 'cd there' 2 crank $train --fine_tune_checkpoint first1
told_once 2 "rank 1 (host .*): another content of fine_tune_checkpoint, .* than rank 0 (host .*) has; give all hosts the same files"
# shellcheck disable=SC2086
run on_one 'cd there' 2 crank $train --set "feature_configs[0].id_feature.pretrained_path=first1" \
    --set "feature_configs[0].id_feature.pretrained_tensor=$table"
told_once 2 "rank 1 (host .*): another content of fine_tune_checkpoint, "
# shellcheck disable=SC2086
run on_one 'cd there' 2 crank $train --fine_tune_checkpoint "$PWD/first1" --set train_config.fine_tune_ckpt_param_map=names.txt
told_once 2 "rank 1 (host .*): another content of fine_tune_checkpoint, "
rm there/train.csv
# shellcheck disable=SC2086
run on_one 'cd there' 2 crank $train
told_once 1 "rank 1 (host .*): train_input_path 'train.csv': no file found"
cp -p train.csv eval.csv there
seq 0 49 >vocab.txt
seq 1 50 >there/vocab.txt
sed 's/num_buckets: 50/vocab_file: vocab.txt, default_bucketize_value: 0/; s/FG_NONE/FG_NORMAL/' tiny.yaml >vocab.yaml
cp vocab.yaml there
# shellcheck disable=SC2086
run on_one 'cd there' 2 crank train vocab.yaml --model_dir other $lanes --set data_config.batch_size=60
told_once 2 "rank 1 (host .*): files of features with another content, .* give all hosts the same vocabularies"
run crank export class1/pipeline.config --export_dir there/export1 -q
ends 0
run on_one 'cd there' 2 crank predict --scripted_model_path export1 --predict_input_path eval.csv --predict_output_path "$PWD/other"
told_once 2 "rank 1 (host .*): another config, "
rm -r there/export1
run crank export many1/pipeline.config --export_dir there/export1 -q --embedding_dtype FP16
ends 0
run on_one 'cd there' 2 crank predict --scripted_model_path export1 --predict_input_path eval.csv --predict_output_path "$PWD/other"
told_once 2 "rank 1 (host .*): other files in export1 than rank 0 (host .*) has; give all hosts the same folder"
mkdir bin
cp "$CRANK" "$(dirname "$CRANK")/$plug" bin
printf x >>bin/crank
# shellcheck disable=SC2086
run on_one 'shift; set -- bin/crank "$@"' 2 crank $train
told_once 2 "rank 1 (host .*): not the program of rank 0 .*; install the same crank on all hosts"
# another CPU level gives the same bits and is a note
CRANK_CPU=
for p in 1 2; do
    # shellcheck disable=SC2086
    run on_one 'CRANK_CPU=c; export CRANK_CPU' $p crank train tiny.yaml --model_dir level$p $lanes --set data_config.batch_size=$((120 / p))
    ends 0
done
same_weights level1 level2
# but for BF16 products, where the CPU has a level that sums them in another order
case $(crank version) in
*"cpu        avx512_bf16"* | *"cpu        amx"*)
    rm -rf other
    CRANK_CPU=avx512_bf16
    export CRANK_CPU
    for level in c avx512; do
        # shellcheck disable=SC2086
        run on_one "CRANK_CPU=$level" 2 crank $train --autocast True
        told_once 2 "^crank train: rank 1 (host $(uname -n)): BF16 products are summed in tiles (CPU level $level) where rank 0 (host $(uname -n)) sums them in pairs (avx512_bf16), so results would depend on the rank; set CRANK_CPU=avx512 on all hosts"
        is_gone other
    done
    # products of several parts have one order
    # shellcheck disable=SC2086
    run on_one 'CRANK_CPU=avx512' 2 crank $train --set train_config.num_epochs=1 --set train_config.fp32_matmul=BF16x3
    ends 0
    rm -r other
    CRANK_CPU=
    ;;
esac
# a full disk of the rank that writes
mkdir small
if [ "$(id -u)" -eq 0 ] && mount -t tmpfs -o size=64k none small 2>/dev/null; then
    trap 'umount small' EXIT
    for how in "" --part_per_rank; do
        # shellcheck disable=SC2086
        predict 2 small/full --predict_input_path rows.parquet --reserved_columns ALL_COLUMNS --writer_type CsvWriter --batch_size 60 $how
        told_once 1 "small/full/.*part-[01].csv.*: .*No space left on device"
        is_gone small/full
    done
fi
# a rank that is killed in the middle, a signal to one rank: nothing is left
may_be_killed=yes
run on_one 'CRANK_TEST_KILL=batch:2; export CRANK_TEST_KILL' 2 crank predict --scripted_model_path export1 --predict_input_path eval.csv --predict_output_path killed --batch_size 40
[ "$code" -ne 0 ] || fail "a killed rank was not noticed"
ends "$code"
may_be_killed=
is_gone killed/part-0.csv
run on_one 'CRANK_TEST_KILL=batch:2:TERM; export CRANK_TEST_KILL' 2 crank predict --scripted_model_path export1 --predict_input_path eval.csv --predict_output_path stopped --batch_size 40
told_once 1 "crank predict: stopped by a signal; no predictions were written"
is_gone stopped
