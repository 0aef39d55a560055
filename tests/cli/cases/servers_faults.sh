# parameter servers: a signal, a killed worker and a killed server; another shape, no servers or one process goes on to the same bytes
mpi_leaks
[ -f "$(dirname "$CRANK")/comm-mpich.so" ] || skip "crank was built without comm-mpich.so (package libmpich-dev)"
tiny_config
tiny_data 960 300
settings="--set train_config.lanes=8 --set train_config.num_epochs=2 --set train_config.save_checkpoints_steps=3
 --set train_config.grad_clipping.clipping_type=norm --set train_config.grad_clipping.max_gradient=0.5 --set train_config.gradient_accumulation_steps=2"
# shellcheck disable=SC2086
run crank train tiny.yaml --model_dir one --threads 2 $settings --set data_config.batch_size=120
ends 0
# a signal to a worker or to the server ends all with a checkpoint; another shape, ranks without servers and one process go on to the
# same bytes
for who in 1 2; do
    rm -rf stop
    # shellcheck disable=SC2086
    run env CRANK_TEST_KILL=step:7:TERM CRANK_TEST_KILL_IF=RANK=$who crank launch --ps 1 --workers 2 -- train tiny.yaml --model_dir stop --threads 1 $settings \
        --set data_config.batch_size=60
    ends 1
    has_err "...stopped by a signal; the checkpoint is saved, --continue_train goes on from it..."
    has_out "next  crank launch --ps ... --workers ... -- train stop/pipeline.config --continue_train"
done
for shape in 2x3 0x2 0x1; do
    s=${shape%x*} w=${shape#*x}
    rm -rf go
    cp -R stop go
    with="--ps $s --workers $w"
    [ "$s" != 0 ] || with="--nproc-per-node $w"
    # shellcheck disable=SC2086
    run crank launch --standalone $with -- train tiny.yaml --model_dir go --continue_train --threads 1 $settings --set data_config.batch_size=$((120 / w))
    ends 0
    same_weights one go
done
# a rank that is killed: the job begins again from the last checkpoint, to the same bytes, whether it is a worker or the server
may_be_killed=yes
for who in 1 2; do
    rm -rf killed
    # shellcheck disable=SC2086
    run env CRANK_TEST_KILL=step:8 CRANK_TEST_KILL_IF="RANK=$who TORCHELASTIC_RESTART_COUNT=0" crank launch --ps 1 --workers 2 --max_restarts 1 -- \
        train tiny.yaml --model_dir killed --threads 1 $settings --set data_config.batch_size=60
    ends 0
    same_weights one killed
    has_err "...rank $who on host ... was killed by signal 9..."
done
may_be_killed=
