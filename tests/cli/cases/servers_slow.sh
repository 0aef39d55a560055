# parameter servers: every strategy learns about what sync learns; a slow worker and a slow server stop nobody, and gradients become older;
# a server that is full says so
mpi_leaks
[ -f "$(dirname "$CRANK")/comm-mpich.so" ] || skip "crank was built without comm-mpich.so (package libmpich-dev)"
run crank synth census --rows 12k --eval_rows 4k -q -o data
ends 0
# small enough rates that gradients of eight batches ago do no harm: how old they are is up to the machine
sgd='train_config.sparse_optimizer={sgd_optimizer: {lr: 0.15}, constant_learning_rate: {}}'
dense_sgd='train_config.dense_optimizer={sgd_optimizer: {lr: 0.05, momentum: 0}, constant_learning_rate: {}}'
learn() { # learn STRATEGY FLAGS...: sets $auc, of rows that were not trained
    strategy=$1
    shift
    rm -rf m
    run ${slow:-env} crank launch --ps 2 --workers 2 -- train data/pipeline.yaml --strategy "$strategy" --model_dir m --threads 1 --set train_config.num_epochs=2 \
        --set data_config.batch_size=64 --set train_config.save_checkpoints_steps=100000 --set "$sgd" --set "$dense_sgd" "$@"
    ends 0
    auc=$(awk '$1 == "auc" { print $2 }' "$out")
    [ -n "$auc" ] || fail "no AUC: $(cat "$out")"
}
near() { # near AUC: at most 0.01 below that of sync, as the guide says
    awk -v a="$1" -v b="$sync" 'BEGIN { exit !(a > b - 0.01 && a < b + 0.03) }' || fail "the AUC is $1, and with sync $sync"
}
most() { # the largest staleness, and the share of gradients that were not stale at all, are in one line
    grep -o 'staleness of gradients in batches: .*; at most [0-9]*' "$err" | sed 's/.*most //' | sort -n | tail -1
}
learn sync
sync=$auc
awk -v a="$sync" 'BEGIN { exit !(a > 0.7) }' || fail "sync learns nothing: $sync"
for strategy in half_async async geo; do
    # a short queue: on a busy machine gradients in a long one become too old for these learning rates
    learn $strategy --set train_config.servers.k_steps=10 --set train_config.servers.send_queue_size=1
    near "$auc"
    [ $strategy = geo ] || has_err "...$strategy: staleness of gradients in batches: ..."
    has_err "...$strategy: servers were busy ... % of the round, at most ... %: ... ms per pull, ... ms per push"
done
# a worker that is slow from its 20th step on: the other one does not wait and makes many steps in one of it, so the slow one's gradients are old.
# With two workers that wait for each other none is older than 2. (A run without a slow worker is no measure: on a busy machine one always is.)
slow="env CRANK_TEST_KILL=step:20:SLOW CRANK_TEST_KILL_IF=RANK=1"
learn async --set train_config.num_epochs=1
[ "$(most)" -ge 5 ] || fail "a slow worker's gradients are at most $(most) batches old"
# a slow server: all go on, and the queue holds the workers back
slow="env CRANK_TEST_KILL=push:20:SLOW CRANK_TEST_KILL_IF=RANK=2"
learn async --set train_config.num_epochs=1 --set train_config.servers.send_queue_size=2
busy=$(sed -n 's/.*async: servers were busy .*, at most \([0-9]*\) %.*/\1/p' "$err" | tail -n 1)
[ "${busy:-0}" -ge 70 ] || fail "the slow server was busy ${busy:-0} % of the round"
slow=
# a full server: before anything is allocated
tiny_config
tiny_data
sed 's/num_buckets: 50, embedding_dim: 4/num_buckets: 2000000000, embedding_dim: 512/' tiny.yaml >huge.yaml
run crank launch --ps 1 --workers 1 -- train huge.yaml --strategy async --model_dir no
ends 1
has_err "...the tables of this server need ...B and it may use ...B (...); start more than 1 servers (--ps), on more machines, or use rowwise_adagrad_optimizer or data_type: FP16 for tables..."
