# ranks.sh - training as several ranks, for the cases ranks_mpich and ranks_openmpi. The case sets
# plug (the plug-in's file) and defines ranks N CMD..., which starts CMD as N ranks.
[ -f "$(dirname "$CRANK")/$plug" ] || skip "crank was built without $plug"
mpi_leaks
tiny_config
tiny_data 960 300
# more state than the tiny config has: clipping, accumulation, averages, metrics of training
settings="--set train_config.lanes=8 --set train_config.num_epochs=2 --set train_config.save_checkpoints_steps=3
 --set train_config.grad_clipping.clipping_type=norm --set train_config.grad_clipping.max_gradient=0.5 --set train_config.gradient_accumulation_steps=2"
# shellcheck disable=SC2086
run crank train tiny.yaml --model_dir one --threads 2 $settings --set data_config.batch_size=120
ends 0
same_run() { # same_run DIR: the checkpoint and the results are those of one process
    same_weights one "$1"
    same one/train_eval_result_v2.txt "$1/train_eval_result_v2.txt"
}
for n in 2 3; do
    # shellcheck disable=SC2086
    run ranks $n crank train tiny.yaml --model_dir r$n --threads 1 $settings --set data_config.batch_size=$((120 / n))
    ends 0
    same_run r$n
    [ "$(grep -c '^trained ' "$out")" -eq 1 ] || fail "not one summary"
    grep -q '^trained  1.9k rows' "$out" || fail "rows of the job: $(grep '^trained' "$out")"
    grep -q '^  sent  .* per row to other ranks$' "$out" || fail "$(cat "$out")"
done
# tables cut over the ranks in every way; half of the run with one way and two ranks, the rest with
# another way and four
placed() { echo "--set train_config.global_embedding_constraints.sharding_types=[$1]"; }
for kind in table_wise row_wise table_row_wise; do
    # shellcheck disable=SC2086,SC2046
    run ranks 2 crank train tiny.yaml --model_dir $kind --threads 1 $settings $(placed $kind) --set data_config.batch_size=60
    ends 0
    same_run $kind
    grep -q "\"sharding_type\": \"$kind\"" $kind/plan.json || fail "$(cat $kind/plan.json)"
done
# The same through MPI alone, as between machines, and a wish that is neither
for kind in data_parallel row_wise; do
    # shellcheck disable=SC2086,SC2046
    CRANK_RINGS=off run ranks 2 crank train tiny.yaml --model_dir mpi_$kind --threads 1 $settings $(placed $kind) --set data_config.batch_size=60
    ends 0
    same_run mpi_$kind
done
CRANK_RINGS=yes run ranks 2 crank train tiny.yaml --model_dir no --threads 1
ends 2
grep -q "CRANK_RINGS of the environment is 'yes' and must be on or off" "$err" || fail "$(cat "$err")"
# the bytes that ranks send are at most 1.2 times the least that the placing needs
for kind in data_parallel table_wise row_wise; do
    # shellcheck disable=SC2046
    run ranks 2 crank bench train tiny.yaml --threads 1 --seconds 0.05 --json --set train_config.lanes=2 $(placed $kind) --set data_config.batch_size=60
    ends 0
    times=$(sed -n 's/.*"sent_to_least": \([0-9.]*\),.*/\1/p' "$out")
    awk -v x="$times" 'BEGIN { exit !(x >= 1 && x <= 1.2) }' || fail "$kind: '$times' times the least: $(cat "$out")"
done
# shellcheck disable=SC2086,SC2046
CRANK_TEST_KILL=step:7:TERM run ranks 2 crank train tiny.yaml --model_dir cut --threads 1 $settings $(placed row_wise) --set data_config.batch_size=60
ends 1
# shellcheck disable=SC2086,SC2046
run ranks 4 crank train tiny.yaml --model_dir cut --continue_train --threads 1 $settings $(placed column_wise,table_wise) --set data_config.batch_size=30
ends 0
same_weights one cut
# an evaluation by itself, of another number of ranks
run crank eval one/pipeline.config --eval_result_filename alone.txt
ends 0
run ranks 2 crank eval one/pipeline.config --eval_result_filename by_two.txt --set data_config.batch_size=60 --set train_config.lanes=8
ends 0
same one/alone.txt one/by_two.txt
[ "$(grep -c '^evaluated ' "$out")" -eq 1 ] || fail "not one summary"
# Ranks share the files of a checkpoint, and the checkpoint is that of one process, byte for byte. What four ranks saved, one
# process, two or three ranks go on from, to the same bytes; so they do while checkpoints are written (no evaluation is due).
more="$settings --set train_config.save_checkpoints_steps=5 --set train_config.keep_checkpoint_max=1 --eval_input_path="
# shellcheck disable=SC2086
run crank train tiny.yaml --model_dir alone --threads 2 $more --set data_config.batch_size=120
ends 0
# shellcheck disable=SC2086
run ranks 4 sh -c 'if [ "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}" = 2 ]; then CRANK_TEST_KILL=step:9:TERM; export CRANK_TEST_KILL; fi; exec "$0" "$@"' \
    "$CRANK" train tiny.yaml --model_dir four --threads 1 $more --set data_config.batch_size=30
ends 1
has_err "crank train: stopped by a signal; the checkpoint is saved, --continue_train goes on from it"
for n in 1 2 3; do
    rm -rf by$n
    cp -R four by$n
    # shellcheck disable=SC2086
    run ranks $n crank train tiny.yaml --model_dir by$n --continue_train --threads 1 $more --set data_config.batch_size=$((120 / n))
    ends 0
    same "$(newest alone)" "$(newest by$n)"
done
# shellcheck disable=SC2086
run ranks 4 crank train tiny.yaml --model_dir by4 --threads 1 $more --set data_config.batch_size=30
ends 0
has_err "...Saved checkpoint to by4/model.ckpt-5: ...training stood still for ... s and went on while it was written"
[ "$(grep -c 'Saved checkpoint to by4/model.ckpt-5' "$err")" -eq 1 ] || fail "told more than once"
same "$(newest alone)" "$(newest by4)"
# a rank that is killed while it writes its files: what is there is whole, and one process goes on to the same bytes
may_be_killed=yes
for point in write:1 torn:2 sync:3 renamed:2; do
    rm -rf torn
    # shellcheck disable=SC2086
    run ranks 2 env POINT=$point sh -c 'if [ "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}" = 1 ]; then CRANK_TEST_KILL=$POINT; export CRANK_TEST_KILL; fi; exec "$0" "$@"' \
        "$CRANK" train tiny.yaml --model_dir torn --threads 1 $more --set data_config.batch_size=60
    [ "$code" -ne 0 ] || fail "the rank did not pass $point"
    ends "$code"
    # shellcheck disable=SC2086
    run crank train tiny.yaml --model_dir torn --continue_train --threads 2 $more --set data_config.batch_size=120
    ends 0
    same "$(newest alone)" "$(newest torn)"
    [ -z "$(ls -A torn | grep '^\.')" ] || fail "left behind: $(ls -A torn)"
done
may_be_killed=
# A rank whose files cannot be written ends all with its message, whether training waits for the checkpoint or not. The limit of
# 8 MB leaves room for the files of MPI.
sed 's/num_buckets: 50,/num_buckets: 1000000,/' tiny.yaml >large.yaml
for background in true false; do
    rm -rf full
    # shellcheck disable=SC2086
    run ranks 2 sh -c 'if [ "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}" = 1 ]; then ulimit -f 16384; fi; exec "$0" "$@"' \
        "$CRANK" train large.yaml --model_dir full --threads 1 $more --set data_config.batch_size=60 --set train_config.save_in_background=$background
    ends 1
    [ "$(grep -c 'rank 1: cannot write: File too large' "$err")" -eq 1 ] || fail "$(cat "$err")"
    [ -z "$(ls -A full | grep ckpt)" ] || fail "left behind: $(ls -A full)"
done
# a signal to one rank ends all; another number of ranks goes on to the same bytes
# shellcheck disable=SC2086
run ranks 2 sh -c 'if [ "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}" = 1 ]; then CRANK_TEST_KILL=step:5:TERM; export CRANK_TEST_KILL; fi; exec "$0" "$@"' \
    "$CRANK" train tiny.yaml --model_dir stop --threads 1 $settings --set data_config.batch_size=60
ends 1
has_err "crank train: stopped by a signal; the checkpoint is saved, --continue_train goes on from it"
[ "$(grep -c 'stopped by a signal' "$err")" -eq 1 ] || fail "told more than once"
has_out "next  mpi... -n 2 crank train stop/pipeline.config --continue_train"
# shellcheck disable=SC2086
run ranks 3 crank train tiny.yaml --model_dir stop --continue_train --threads 1 $settings --set data_config.batch_size=40
ends 0
same_weights one stop
# a rank that is killed ends all; one process goes on to the same bytes
may_be_killed=yes
# shellcheck disable=SC2086
run ranks 2 sh -c 'if [ "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}" = 1 ]; then CRANK_TEST_KILL=step:6; export CRANK_TEST_KILL; fi; exec "$0" "$@"' \
    "$CRANK" train tiny.yaml --model_dir kill --threads 1 $settings --set data_config.batch_size=60
[ "$code" -ne 0 ] || fail "a killed rank was not noticed"
ends "$code"
may_be_killed=
# shellcheck disable=SC2086
run crank train tiny.yaml --model_dir kill --continue_train --threads 2 $settings --set data_config.batch_size=120
ends 0
same_weights one kill
# a rank that is stopped: the others wait so long, call the roll and name it; those who wait, too, answer
may_be_killed=yes
for who in 0 1; do
    # shellcheck disable=SC2086,SC2016
    run ranks 3 env WHO=$who PROCESS_GROUP_TIMEOUT_SECONDS=2 sh -c 'if [ "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}" = "$WHO" ]; then CRANK_TEST_KILL=step:6:STOP; export CRANK_TEST_KILL; fi; exec "$0" "$@"' \
        "$CRANK" train tiny.yaml --model_dir roll$who --threads 1 $settings --set data_config.batch_size=40
    [ "$code" -ne 0 ] || fail "a stopped rank was not noticed"
    ends "$code"
    has_err "...rank ... of 3 cannot reach the others: ... took more than 2 s; no answer comes from rank ...$who...; see the message of the rank that ended first..."
done
may_be_killed=
# what one rank alone finds wrong in the middle of a step or an evaluation ends all, in its words: before, the others waited for ever
slow="timeout -k 2 60"
awk 'BEGIN {
    print "label,item,a,b"
    for (i = 0; i < 240; i++) printf "%d,%d,%d;%d,%d;%d%s\n", i % 2, i % 30, i % 7, i % 5, i % 3, i % 11, i == 230 ? ";1" : ""
}' >uneven.csv
head -n 200 uneven.csv >even.csv
cat >seq.yaml <<'END'
train_input_path: uneven.csv
eval_input_path: even.csv
train_config:
  sparse_optimizer: {adagrad_optimizer: {lr: 0.05}, constant_learning_rate: {}}
  dense_optimizer: {adam_optimizer: {lr: 0.005}, constant_learning_rate: {}}
  num_epochs: 1
  lanes: 8
data_config: {dataset_type: CsvDataset, batch_size: 60, fg_mode: FG_NORMAL, with_header: true, label_fields: [label]}
feature_configs:
  - id_feature: {feature_name: item, expression: "item:item", num_buckets: 30, embedding_dim: 4}
  - id_feature: {feature_name: item2, expression: "item:item", num_buckets: 30, embedding_dim: 4}
  - sequence_id_feature: {feature_name: a, expression: "user:a", num_buckets: 30, embedding_dim: 4}
  - sequence_id_feature: {feature_name: b, expression: "user:b", num_buckets: 30, embedding_dim: 4}
model_config:
  feature_groups:
    - {group_name: deep, group_type: DEEP, feature_names: [item]}
    - {group_name: seq, group_type: SEQUENCE, feature_names: [item, item2, a, b]}
  multi_tower_din:
    towers: [{input: deep, mlp: {hidden_units: [4]}}]
    din_towers: [{input: seq, attn_mlp: {hidden_units: [4]}}]
    final: {hidden_units: [4]}
  losses: [{binary_cross_entropy: {}}]
  metrics: [{auc: {}}]
END
told_once() { # told_once CODE TEXT
    ends "$1"
    [ "$(grep -c "$2" "$err")" -eq 1 ] || fail "not told once: $2"
}
run ranks 2 $slow "$CRANK" train seq.yaml --model_dir uneven --threads 1
told_once 3 "the sequence 'a' has 2 steps and 'b' has 3"
run ranks 2 $slow "$CRANK" train seq.yaml --model_dir uneven2 --threads 1 --train_input_path even.csv --eval_input_path uneven.csv
told_once 3 "the sequence 'a' has 2 steps and 'b' has 3"
# a metric that fails for the rows of one rank, before a metric for which ranks meet
sed 's/binary_cross_entropy: {}/l2_loss: {}/; s/- auc: {}/- auc: {}\n    - xauc: {}/' tiny.yaml >two_metrics.yaml
awk -F, -v OFS=, 'NR == 195 { $1 = 2 } NR < 202' eval.csv >two.csv
run ranks 2 $slow "$CRANK" train two_metrics.yaml --model_dir two --threads 1 --eval_input_path two.csv --set data_config.batch_size=60 --set train_config.lanes=8
told_once 3 "metric auc: the label of row .* is 2"
# a file that is gone for one rank alone
for d in here there; do mkdir $d && cp -p tiny.yaml train.csv eval.csv $d; done
last="an evaluation whose data one rank cannot find" code=0
# shellcheck disable=SC2016
ranks 2 $slow sh -c 'cd here
    if [ "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}" = 1 ]; then
        cd ../there && echo $$ >pid.new && mv pid.new pid
        CRANK_TEST_KILL=evaluate:1:STOP && export CRANK_TEST_KILL
    fi
    exec "$0" "$@"' "$CRANK" train tiny.yaml --model_dir "$PWD/gone" --threads 1 --set data_config.batch_size=60 >"$out" 2>"$err" &
job=$!
until [ -f there/pid ]; do
    kill -0 $job || fail "it ended before it began"
    sleep 0.01
done
until_stopped "$(cat there/pid)" || fail "it ended before its evaluation"
rm there/eval.csv
kill -CONT "$(cat there/pid)"
wait $job || code=$?
told_once 1 "eval_input_path 'eval.csv': no file found"
# one trace of all ranks: a process each, with its own threads
# shellcheck disable=SC2016
run ranks 3 sh -c 'if [ "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}" = 2 ]; then n=3; else n=1; fi; exec "$0" "$@" --threads $n' \
    "$CRANK" train tiny.yaml --model_dir traced --set data_config.batch_size=40 --set train_config.lanes=8 --set train_config.is_profiling=true
ends 0
[ "$(grep -o '"rank [0-9] (host [^)]*)"' traced/trace.json | cut -d' ' -f2 | tr -d '\n')" = 012 ] || fail "no lane per rank in trace.json"
[ "$(grep -o '"data 1"' traced/trace.json | wc -l)" -eq 3 ] || fail "not a thread that reads for each rank in trace.json"
[ "$(grep -o '"data 3"' traced/trace.json | wc -l)" -eq 1 ] || fail "not three threads that read for rank 2"
for r in 0 1 2; do
    n=$(grep -o '"ProfilerStep#2",[^}]*"pid": '$r',' traced/trace.json | wc -l)
    [ "$n" -eq 1 ] || fail "$n times step 2 of rank $r in trace.json"
done
# rows that do not fill the last batch of an epoch: 7 are left, all of the first rank, and the others end with it
head -n 608 train.csv >rest.csv
# shellcheck disable=SC2086
run crank train tiny.yaml --model_dir rest1 --train_input_path rest.csv --threads 2 $settings --set data_config.batch_size=120
ends 0
# shellcheck disable=SC2086
run ranks 3 crank train tiny.yaml --model_dir rest3 --train_input_path rest.csv --threads 1 $settings --set data_config.batch_size=40
ends 0
same_weights rest1 rest3
# a row that cannot be read, which is one rank's, ends all and is told once
sed '300s/^\([^,]*\),[^,]*,/\1,x,/' train.csv >bad.csv
# shellcheck disable=SC2086
run ranks 2 crank train tiny.yaml --model_dir wrong --train_input_path bad.csv --threads 1 $settings --set data_config.batch_size=60
ends 3
[ "$(grep -c "bad.csv:300: column 'user', value 'x'" "$err")" -eq 1 ] || fail "$(cat "$err")"
rm -r wrong
# mistakes are told once
run ranks 2 crank train tiny.yaml --model_dir wrong --set data_config.batch_siz=3
ends 2
[ "$(grep -c "unknown key 'batch_siz'" "$err")" -eq 1 ] || fail "$(cat "$err")"
is_gone wrong
run ranks 3 crank train tiny.yaml --model_dir wrong --set data_config.batch_size=10
ends 2
[ "$(grep -c "a global batch of 30 rows has 2 lanes, which 3 ranks cannot share" "$err")" -eq 1 ] || fail "$(cat "$err")"
run ranks 2 crank train tiny.yaml --model_dir one
ends 2
[ "$(grep -c "one already holds checkpoints" "$err")" -eq 1 ] || fail "$(cat "$err")"
run ranks 2 crank synth census --rows 100 -o synth
ends 2
[ "$(grep -c "this command runs as one process" "$err")" -eq 1 ] || fail "$(cat "$err")"
is_gone synth
