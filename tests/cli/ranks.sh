# ranks.sh - training as several ranks, for the cases ranks_mpich and ranks_openmpi. The case sets
# plug (the plug-in's file) and defines ranks N CMD..., which starts CMD as N ranks.
[ -f "$(dirname "$CRANK")/$plug" ] || skip "crank was built without $plug"
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
done
# an evaluation by itself, of another number of ranks
run crank eval one/pipeline.config --eval_result_filename alone.txt
ends 0
run ranks 2 crank eval one/pipeline.config --eval_result_filename by_two.txt --set data_config.batch_size=60 --set train_config.lanes=8
ends 0
same one/alone.txt one/by_two.txt
[ "$(grep -c '^evaluated ' "$out")" -eq 1 ] || fail "not one summary"
# a signal to one rank ends all; another number of ranks goes on to the same bytes
# shellcheck disable=SC2086
run ranks 2 sh -c 'if [ "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}" = 1 ]; then CRANK_TEST_KILL=step:5:TERM; export CRANK_TEST_KILL; fi; exec "$0" "$@"' \
    "$CRANK" train tiny.yaml --model_dir stop --threads 1 $settings --set data_config.batch_size=60
ends 1
has_err "crank train: stopped by a signal; the checkpoint is saved, --continue_train goes on from it"
[ "$(grep -c 'stopped by a signal' "$err")" -eq 1 ] || fail "told more than once"
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
run ranks 2 crank export one/pipeline.config --export_dir e
ends 2
[ "$(grep -c "this command runs as one process in this version" "$err")" -eq 1 ] || fail "$(cat "$err")"
