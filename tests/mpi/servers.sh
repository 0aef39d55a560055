#!/bin/sh
# servers.sh CRANK [quick] - parameter servers on several hosts, which are network namespaces (net.sh), and every shape of 1 to 4 servers and 1 to 4
# workers on one.
#
# Each host has one process, with the variables that PaddleCloud gives it: hosts 0 and 1 serve, hosts 2 and 3 train. sync has the bytes of
# one process; in async a trainer's host that dies or is cut off does not stop the other; the loss of a server's host, or a link to it
# that is cut, is found in time and restarts the job. quick: only what belongs to the quick tier. Exit code 77: this machine cannot run
# it, and why.
set -u
[ $# -ge 1 ] && [ -x "$1" ] || { echo "usage: servers.sh CRANK [quick]" >&2; exit 2; }
CRANK=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
HOSTS=4
. "$(dirname "$0")/net.sh"

# the optimizer of geo, in words without blanks
plain_sgd='--set train_config.sparse_optimizer={"sgd_optimizer":{"lr":0.05},"constant_learning_rate":{}}
 --set train_config.dense_optimizer={"sgd_optimizer":{"lr":0.05,"momentum":0},"constant_learning_rate":{}}'
# pod I DIR STRATEGY FLAGS...: the process of host I; it is $pid_I
pod() {
    i=$1
    dir=$2
    strategy=$3
    shift 3
    own="TRAINING_ROLE=PSERVER POD_IP=10.77.0.$((i + 1)) PADDLE_PORT=30240"
    [ "$i" -lt 2 ] || own="TRAINING_ROLE=TRAINER PADDLE_TRAINER_ID=$((i - 2))"
    # shellcheck disable=SC2086
    on "$i" env PADDLE_PSERVERS_IP_PORT_LIST=10.77.0.1:30240,10.77.0.2:30240 PADDLE_TRAINERS_NUM=2 $own "$CRANK" launch --fault_timeout 3 "$@" -- \
        train tiny.yaml --strategy "$strategy" --model_dir "$dir" --threads 1 $settings --set data_config.batch_size=20 >"out.$i" 2>"err.$i" &
    eval "pid_$i=$!"
    last="crank launch $* in pod $i into $dir"
}
pods() { # pods DIR STRATEGY FLAGS...
    for k in 3 1 2 0; do pod $k "$@"; done
}
pod_ends() { # pod_ends I CODE
    eval "p=\$pid_$1"
    code=0
    # shellcheck disable=SC2154
    wait "$p" || code=$?
    [ "$code" -eq "$2" ] || fail "pod $1 ended with $code, expected $2: $(cat "err.$1")"
}
all_end() { for k in 0 1 2 3; do pod_ends $k 0; done; }
held_in() { # held_in DIR POINT RANK STRATEGY FLAGS...: all pods, with a rank that stops itself at POINT in its first life, as $held
    CRANK_TEST_KILL=$2:STOP CRANK_TEST_KILL_IF="RANK=$3 TORCHELASTIC_RESTART_COUNT=0"
    export CRANK_TEST_KILL CRANK_TEST_KILL_IF
    held_dir=$1
    shift 3
    pods "$held_dir" "$@"
    unset CRANK_TEST_KILL CRANK_TEST_KILL_IF
    until_stopped_in "$held_dir"
}

pods sync sync
all_end
same_weights one sync
none_left
passed "sync, two servers and two trainers on four hosts: the bytes of one process"

given=$settings
for strategy in half_async async geo; do
    [ $strategy != geo ] || settings="$settings --set train_config.servers.k_steps=4 $plain_sgd"
    pods $strategy $strategy
    all_end
    [ -d $strategy/model.ckpt-47 ] || fail "$strategy did not train to its end: $(ls $strategy)"
    none_left
done
settings=$given
passed "half_async, async and geo on four hosts"

# the process of a trainer is killed; its agent lives, and starts it again where the others meet
CRANK_TEST_KILL=step:7 CRANK_TEST_KILL_IF="RANK=1 TORCHELASTIC_RESTART_COUNT=0"
export CRANK_TEST_KILL CRANK_TEST_KILL_IF
pods killed async
unset CRANK_TEST_KILL CRANK_TEST_KILL_IF
all_end
grep -q "rank 1 on host host3 was killed by signal 9 (Killed); the others go on without it" err.2 || fail "$(cat err.2)"
grep -q "were trained by the others" err.2 || fail "$(cat err.2)"
[ -d killed/model.ckpt-47 ] || fail "$(ls killed)"
none_left
passed "a killed trainer: the other one goes on"
[ "${2:-}" != quick ] || finish

# its host dies as a whole; another one takes its place
held_in dead step:7 1 async
kill -9 "$pid_3"
wait "$pid_3" 2>/dev/null
until_text err.0 "host host3 is gone: .*; the others go on without it"
until_text err.2 "1 (rank 1) was lost"
pod 3 dead async
all_end
[ -d dead/model.ckpt-47 ] || fail "$(ls dead)"
none_left
passed "the host of a trainer dies: the other one goes on, and a new host takes its place"

# its link is cut, and heals later
held_in cut step:7 1 async --max_restarts 1
cut_link 3
since
until_text err.0 "host host3 is gone: nothing was heard of it for 5 s; the others go on without it"
within 12
until_text err.2 "1 (rank 1) was lost"
heal_link 3
all_end
[ -d cut/model.ckpt-47 ] || fail "$(ls cut)"
none_left
passed "a trainer is cut off: the other one goes on, and begins again with it when the link heals"

# a server's host dies: all ranks begin again from the last checkpoint
held_in server push:12 3 async --max_restarts 1
kill -9 "$pid_1"
wait "$pid_1" 2>/dev/null
until_text err.0 "host host1 with rank 3 is gone"
pod 1 server async --max_restarts 1
all_end
grep -q "restart 1 of 1" err.2 || fail "$(cat err.2)"
none_left
passed "the host of a server dies: a restart from the last checkpoint"

if ip netns exec "${tag}n3" tc qdisc add dev eth0 root netem delay 20ms 2>/dev/null; then
    pods slow async
    all_end
    none_left
    ip netns exec "${tag}n3" tc qdisc del dev eth0 root
    passed "a trainer behind a link with 20 ms of delay"
else
    skipped "tc has no netem here"
fi

# ---- every shape on one machine ----
unset UCX_TLS
sgd='train_config.sparse_optimizer={sgd_optimizer: {lr: 0.05}, constant_learning_rate: {}}'
dense_sgd='train_config.dense_optimizer={sgd_optimizer: {lr: 0.05, momentum: 0}, constant_learning_rate: {}}'
for w in 1 2 3 4; do
    batch=$((24 / w))
    # shellcheck disable=SC2086
    run "$CRANK" train tiny.yaml --model_dir alone$w --threads 1 $settings --set data_config.batch_size=$((batch * w)) --set "$sgd" --set "$dense_sgd"
    ends 0
    for s in 1 2 3 4; do
        for strategy in sync half_async async geo; do
            rm -rf shape
            # shellcheck disable=SC2086
            run "$CRANK" launch --ps $s --workers $w -- train tiny.yaml --strategy $strategy --model_dir shape --threads 1 $settings --set data_config.batch_size=$batch \
                --set "$sgd" --set "$dense_sgd" --set train_config.servers.k_steps=3 --set train_config.save_checkpoints_steps=30
            ends 0
            [ -d shape/model.ckpt-79 ] || fail "$strategy with $s servers and $w workers: $(ls shape)"
            [ $strategy != sync ] || same_weights alone$w shape
        done
    done
done
passed "1 to 4 servers and 1 to 4 workers, four strategies; sync has the bytes of one process"
finish
