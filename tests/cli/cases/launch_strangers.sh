# crank launch: whoever finds the port without the secret gets nothing and hurts nothing; agents that do not fit are refused
mpi_leaks
[ -f "$(dirname "$CRANK")/comm-mpich.so" ] || skip "crank was built without comm-mpich.so (package libmpich-dev)"
tiny_config
tiny_data 640 64
CRANK_JOB_SECRET=$(od -An -N16 -tx1 /dev/urandom | tr -d " \n") # nodes of another run of this test are strangers
export CRANK_JOB_SECRET
# below 32768, from where the system takes ports for connections
port=$((20000 + $$ % 12000))
settings="--set data_config.batch_size=32 --set train_config.lanes=4 --set train_config.num_epochs=2"
# shellcheck disable=SC2086
run crank train tiny.yaml --model_dir one --threads 2 $settings --set data_config.batch_size=64
ends 0
node() { # node RANK DIR FLAGS...: crank launch on a node, all of them on this machine
    rank=$1
    dir=$2
    shift 2
    # shellcheck disable=SC2086
    crank launch --nnodes 2 --node_rank "$rank" --master_addr 127.0.0.1 --master_port $port --nproc-per-node 1 "$@" \
        -- train tiny.yaml --model_dir "$dir" $settings >"$out.$rank" 2>"$err.$rank" &
    node_pid=$!
    if [ "$rank" = 0 ]; then head=$node_pid; fi
}
node_ends() { # node_ends CODE: the node that was started last
    code=0
    wait $node_pid || code=$?
    [ $code -eq "$1" ] || fail "the node ended with $code: $(cat "$err.$rank")"
}
head=
trap 'kill -9 $head 2>/dev/null || true' EXIT
# strangers come before the second node does, and while the ranks run
node 0 two
for how in garbage oversize proof many; do
    run "$STRANGER" 127.0.0.1 $port $how
    ends 0
    case $how in
    oversize | proof) [ "$(cat "$out")" -le 44 ] || fail "$how was answered with $(cat "$out") bytes" ;; # magic, version, nonce
    *) [ "$(cat "$out")" -eq 0 ] || fail "$how was answered with $(cat "$out") bytes" ;;
    esac
done
"$STRANGER" 127.0.0.1 $port slow >slow.out &
slow=$!
secret=$CRANK_JOB_SECRET
CRANK_JOB_SECRET=fedcba9876543210fedcba9876543210
node 1 wrong
CRANK_JOB_SECRET=$secret
node_ends 2
grep -q "crank launch: node 0 at 127.0.0.1:$port: .*the same secret" "$err.1" || fail "$(cat "$err.1")"
node 1 wrong --rdzv_id other
node_ends 2
node 1 wrong --nproc-per-node 2
node_ends 2
grep -q "crank launch: host .* has --nproc-per-node 2 and node 0 has 1" "$err.1" || fail "$(cat "$err.1")"
cp "$CRANK" ./other
printf x >>other
cp "$(dirname "$CRANK")/comm-mpich.so" .
run ./other launch --nnodes 2 --node_rank 1 --master_addr 127.0.0.1 --master_port $port -- train tiny.yaml --model_dir wrong
ends 2
has_err "crank launch: host ... runs another crank (...) than node 0 (...)..."
wait $slow || fail "a slow stranger was kept"
[ "$(cat slow.out)" -eq 0 ] || fail "a slow stranger got $(cat slow.out) bytes"
"$STRANGER" 127.0.0.1 $port many >many.out &
many=$!
node 1 two
node_ends 0
wait $head || fail "node 0 ended with $?: $(cat "$err.0")"
wait $many || true
same_weights one two
is_gone wrong
grep -q "2 ranks: the first step was done" "$err.0" || fail "$(cat "$err.0")"
# a port that is taken, a node that does not come
node 0 three
first=$head
"$STRANGER" 127.0.0.1 $port garbage >/dev/null # waits until the port is open
node 0 four
node_ends 1
grep -q "crank launch: port $port cannot be opened: .*; choose another --master_port" "$err.0" || fail "$(cat "$err.0")"
kill -TERM $first
code=0
wait $first || code=$?
[ $code -eq 143 ] || fail "exit code $code after SIGTERM"
node 0 four --rdzv_conf join_timeout=1
node_ends 1
grep -q "crank launch: 1 of 2 nodes came to port $port in 1 s; missing: node 1; look at the messages there" "$err.0" || fail "$(cat "$err.0")"
# node 0 tells in the end that one with another secret came; not so of strangers
node 0 four --rdzv_conf join_timeout=4
"$STRANGER" 127.0.0.1 $port garbage >/dev/null
node_ends 1
grep -q "in 4 s; missing: node 1; look at the messages there" "$err.0" || fail "$(cat "$err.0")"
node 0 four --rdzv_conf join_timeout=6
"$STRANGER" 127.0.0.1 $port garbage >/dev/null # waits until the port is open
node 1 wrong --rdzv_id other
node_ends 2
node_pid=$head
rank=0
node_ends 1
grep -q "missing: node 1; one with another secret, --rdzv_id or version of crank was refused; look" "$err.0" || fail "$(cat "$err.0")"
node 1 four --rdzv_conf join_timeout=1
node_ends 1
grep -q "crank launch: node 0 at 127.0.0.1:$port was not reached in 1 s: Connection refused; is crank launch running there, with the same --master_port?" "$err.1" || fail "$(cat "$err.1")"
run crank launch --nnodes 2 --node_rank 1 --master_addr no..host --rdzv_conf join_timeout=1 -- train tiny.yaml --model_dir four
ends 1
has_err "crank launch: node 0 at no..host:29500 was not reached in 1 s: ...; check the name of --master_addr on this host"
is_gone four
