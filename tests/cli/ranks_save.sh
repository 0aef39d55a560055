# ranks_save.sh - checkpoints that several ranks write while something else goes on: an evaluation of that checkpoint, a step
# that fails, a signal. For the cases ranks_save_mpich and ranks_save_openmpi, which define ranks as for ranks.sh.
[ -f "$(dirname "$CRANK")/$plug" ] || skip "crank was built without $plug"
mpi_leaks
tiny_config
tiny_data 960 300
# the files take longer to write than the next steps and the evaluation, so that these end first
sed 's/num_buckets: 50,/num_buckets: 300000,/' tiny.yaml >large.yaml
set -- --threads 1 --set train_config.lanes=8 --set train_config.num_epochs=1 --set train_config.save_checkpoints_steps=5 \
    --set train_config.use_tensorboard=false
goes_on="and went on while it was written"
told_once() { # told_once CODE TEXT
    ends "$1"
    [ "$(grep -c "$2" "$err")" -eq 1 ] || fail "not told once: $2"
}
nothing_left() { # nothing_left DIR: no hidden folder
    [ -z "$(ls -A "$1" | grep '^\.')" ] || fail "left behind: $(ls -A "$1")"
}
# ---- a checkpoint is evaluated while it is written; both are as if training had waited ----
run crank train large.yaml --model_dir waits "$@" --set data_config.batch_size=120 --set train_config.save_in_background=false
ends 0
no_err "...$goes_on"
for p in 1 2 3; do
    run ranks $p crank train large.yaml --model_dir eval$p "$@" --set data_config.batch_size=$((120 / p))
    ends 0
    for step in 5 7; do
        has_err "...Saved checkpoint to eval$p/model.ckpt-$step: ...$goes_on"
        same waits/model.ckpt-$step eval$p/model.ckpt-$step
    done
    same waits/train_eval_result_v2.txt eval$p/train_eval_result_v2.txt
    nothing_left eval$p
done
# a disk that is full for one rank: nothing is recorded of an evaluation whose checkpoint is not there. The limit of 8 MB leaves room
# for the files of MPI.
rm -rf full
run ranks 2 sh -c 'if [ "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}" = 1 ]; then ulimit -f 16384; fi; exec "$0" "$@"' \
    "$CRANK" train large.yaml --model_dir full "$@" --set data_config.batch_size=60 --set 'feature_configs[0].id_feature.num_buckets=1000000'
told_once 1 'rank 1: cannot write: File too large'
is_gone full/train_eval_result_v2.txt
[ -z "$(ls -A full | grep ckpt)" ] || fail "left behind: $(ls -A full)"
# a kill between the evaluation and its record: the checkpoint is there, and the run that goes on evaluates it again
may_be_killed=yes
for who in 0 1; do
    rm -rf killed
    run ranks 2 env WHO=$who sh -c 'if [ "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}" = "$WHO" ]; then CRANK_TEST_KILL=evaluated:1; export CRANK_TEST_KILL; fi; exec "$0" "$@"' \
        "$CRANK" train large.yaml --model_dir killed "$@" --set data_config.batch_size=60
    [ "$code" -ne 0 ] || fail "a killed rank was not noticed"
    ends "$code"
    is_there killed/model.ckpt-5
    run crank train large.yaml --model_dir killed --continue_train "$@" --set data_config.batch_size=120
    ends 0
    same waits/train_eval_result_v2.txt killed/train_eval_result_v2.txt
    same waits/model.ckpt-5 killed/model.ckpt-5
    same waits/model.ckpt-7 killed/model.ckpt-7
    nothing_left killed
done
may_be_killed=
# ---- a row of the step after the checkpoint is wrong: the checkpoint stays, as in one process ----
head -n 721 train.csv >good.csv # the rows of steps 0 to 5; a file with a wrong row is not begun
sed '2,721d; 750s/^\([^,]*\),[^,]*,/\1,x,/' train.csv >bad.csv
for p in 1 2 3; do
    run ranks $p crank train large.yaml --model_dir bad$p "$@" --set data_config.batch_size=$((120 / p)) --train_input_path good.csv,bad.csv --eval_input_path=
    told_once 3 "bad.csv:30: "
    has_err "...Saved checkpoint to bad$p/model.ckpt-5: ..."
    same bad1/model.ckpt-5 bad$p/model.ckpt-5
    nothing_left bad$p
done
# the evaluation of the checkpoint fails while it is written
sed '20s/^\([^,]*\),[^,]*,/\1,x,/' eval.csv >bad_eval.csv
for p in 1 2; do
    run ranks $p crank train large.yaml --model_dir bad_eval$p "$@" --set data_config.batch_size=$((120 / p)) --eval_input_path eval.csv,bad_eval.csv
    told_once 3 "bad_eval.csv:20: "
    same bad_eval1/model.ckpt-5 bad_eval$p/model.ckpt-5
    nothing_left bad_eval$p
    is_gone bad_eval$p/train_eval_result_v2.txt
done
# ---- a signal to one rank: the checkpoint that is being written stays, and there is one of the signal ----
for point in step:7 batch:2; do
    rm -rf stop
    run ranks 2 env POINT=$point sh -c 'if [ "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}" = 1 ]; then CRANK_TEST_KILL=$POINT:TERM; export CRANK_TEST_KILL; fi; exec "$0" "$@"' \
        "$CRANK" train large.yaml --model_dir stop "$@" --set data_config.batch_size=60
    told_once 1 "stopped by a signal; the checkpoint is saved"
    is_there stop/model.ckpt-5
    run ranks 3 crank train large.yaml --model_dir stop --continue_train "$@" --set data_config.batch_size=40
    ends 0
    same waits/train_eval_result_v2.txt stop/train_eval_result_v2.txt
    same waits/model.ckpt-7 stop/model.ckpt-7
    nothing_left stop
done
