# crank launch: a rank that is killed with SIGKILL at each named point of its life is started again, to the same bytes
mpi_leaks
[ -f "$(dirname "$CRANK")/comm-mpich.so" ] || skip "crank was built without comm-mpich.so (package libmpich-dev)"
tiny_config
tiny_data 480 64
set -- --set train_config.lanes=4 --set train_config.save_checkpoints_steps=4 --set train_config.num_epochs=2 --set train_config.keep_checkpoint_max=2
run crank train tiny.yaml --model_dir one --threads 2 "$@" --set data_config.batch_size=60
ends 0
# rank, point (src/base/kill_point.h): only rank 0 makes folders and renames; files of a checkpoint are shared
for where in 0:life 1:life 0:meet 1:meet 0:met 1:met 0:mkdir 0:lock 0:step 1:step 0:write 0:torn 0:sync 0:rename 0:renamed 0:remove 1:write 1:torn 1:sync \
    0:evaluate 1:evaluate 0:batch 1:batch 0:evaluated 1:evaluated; do
    rank=${where%%:*} point=${where#*:}
    rm -rf again
    run env CRANK_TEST_KILL="$point:1" CRANK_TEST_KILL_IF="RANK=$rank TORCHELASTIC_RESTART_COUNT=0" \
        crank launch --standalone --nproc-per-node 2 --max_restarts 1 -- train tiny.yaml --model_dir again "$@" --set data_config.batch_size=30
    ends 0
    has_err "...rank $rank on host ... was killed by signal 9 (Killed); restart 1 of 1..."
    same_weights one again
    same one/train_eval_result_v2.txt again/train_eval_result_v2.txt
done
