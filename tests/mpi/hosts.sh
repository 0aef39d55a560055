#!/bin/sh
# hosts.sh CRANK [quick] - crank launch on several hosts, which are network namespaces that this test makes and removes.
#
# quick: only what belongs to the quick tier. Two hosts train to the bytes of one process, and a killed rank, agent and node 0 are found.
# Each host has its own name, address and link to a bridge; ranks talk TCP. Killed agents, a killed node 0, a cut link, a slow and
# lossy link (where tc has netem), nodes that come and go: every run ends, says why in one line, leaves nothing running, and
# where it may go on it ends with the bytes of one process. Exit code 77: this machine cannot run it, and why.
set -u
[ $# -ge 1 ] && [ -x "$1" ] || { echo "usage: hosts.sh CRANK [quick]" >&2; exit 2; }
CRANK=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
HOSTS=3
. "$(dirname "$0")/net.sh"

# host I DIR FLAGS...: crank launch on host I, as $pid_I, with 2 ranks
host() {
    i=$1
    dir=$2
    shift 2
    # shellcheck disable=SC2086
    on "$i" "$CRANK" launch --master_addr 10.77.0.1 --nproc-per-node 2 --fault_timeout 3 "$@" -- train tiny.yaml --model_dir "$dir" $settings ${more:-} >"out.$i" 2>"err.$i" &
    eval "pid_$i=$!"
    last="crank launch $* on host $i into $dir"
}
both() { # both DIR FLAGS...
    both_dir=$1
    shift
    host 1 "$both_dir" --nnodes 2 --node_rank 1 "$@"
    host 0 "$both_dir" --nnodes 2 --node_rank 0 "$@"
}
# both_held DIR FLAGS...: the same; rank 3, which is on host 1, stops itself before step 7 of its first life, and is $held
both_held() {
    CRANK_TEST_KILL=step:7:STOP CRANK_TEST_KILL_IF="RANK=3 TORCHELASTIC_RESTART_COUNT=0"
    export CRANK_TEST_KILL CRANK_TEST_KILL_IF
    both "$@"
    unset CRANK_TEST_KILL CRANK_TEST_KILL_IF
    until_stopped_in "$1"
}
host_ends() { # host_ends I CODE
    eval "p=\$pid_$1"
    code=0
    # shellcheck disable=SC2154
    wait "$p" || code=$?
    [ "$code" -eq "$2" ] || fail "host $1 ended with $code, expected $2: $(cat "err.$1")"
}
tells() { # tells I TEXT: one line of host I, and no other line like it
    [ "$(grep -c -- "$2" "err.$1")" -eq 1 ] || fail "host $1 does not say '$2' once: $(cat "err.$1")"
}

both two
host_ends 0 0
host_ends 1 0
same_weights one two
none_left
for i in 0 1; do # the user of each host reads what happens
    tells $i "host host1 has come$"
    tells $i "starting ranks $((2 * i)) to $((2 * i + 1)) of 4; this is node $i of 2"
    tells $i "4 ranks: the first step was done"
done
tells 1 "this node has reached node 0 at 10.77.0.1:29500"
tells 1 "the job has ended here with exit code 0"
passed "two hosts, four ranks: the bytes of one process"

both_held rank --max_restarts 1 --fault_timeout 20
kill -9 "$held"
host_ends 0 0
host_ends 1 0
for i in 0 1; do
    tells $i "rank 3 on host host1 was killed by signal 9 (Killed); restart 1 of 1, from the last checkpoint"
    tells $i "this is node $i of 2; training goes on from the last checkpoint"
done
same_weights one rank
none_left
passed "a killed rank on another host"

both_held killed --fault_timeout 20
since
kill -9 "$pid_1"
host_ends 0 137
within 5
tells 0 "crank launch: host host1 with ranks 2 to 3 is gone: the connection was closed"
wait "$pid_1"
none_left
passed "a killed agent"

both_held head --fault_timeout 20
since
kill -9 "$pid_0"
host_ends 1 137
within 5
tells 1 "crank launch: node 0 at 10.77.0.1:29500 is gone: the connection was closed"
wait "$pid_0"
none_left
passed "a killed node 0"
[ "${2:-}" != quick ] || finish

both_held head2 --max_restarts 2 --fault_timeout 20
kill -9 "$pid_0"
wait "$pid_0"
until_text err.1 "waits for node 0 to come back"
host 0 head2 --nnodes 2 --node_rank 0 --max_restarts 2 --fault_timeout 20
host_ends 0 0
host_ends 1 0
same_weights one head2
none_left
passed "a killed node 0 that comes back: from the last checkpoint, the same bytes"

both_held cut
since
cut_link 1
kill -CONT "$held"
host_ends 0 137
host_ends 1 137
within 10
tells 0 "crank launch: host host1 with ranks 2 to 3 is gone: nothing was heard of it for 5 s"
tells 1 "crank launch: node 0 at 10.77.0.1:29500 is gone: nothing was heard of it for 3 s"
heal_link 1
none_left
passed "a cut link"

both_held heal --max_restarts 2
cut_link 1
kill -CONT "$held"
until_text err.0 "restart 1 of 2, from the last checkpoint"
heal_link 1
host_ends 0 0
host_ends 1 0
same_weights one heal
none_left
passed "a link that is cut and heals: the same bytes"

both_held pause --max_restarts 2 --fault_timeout 6
kill -TSTP "$pid_1"
until_text err.0 "host host1 with ranks 2 to 3 is gone: nothing was heard of it for 8 s; restart 1 of 2"
kill -CONT "$pid_1"
host_ends 0 0
host_ends 1 0
tells 1 "node 0 at 10.77.0.1:29500 is gone: .*; the ranks of this node were ended, and it waits for node 0 to come back"
same_weights one pause
none_left
passed "Ctrl-Z at another host, for too long: its ranks do not go on, and the job does when the host comes back"

both_held term --fault_timeout 20
kill -INT "$pid_1"
kill -CONT "$held"
host_ends 0 130
host_ends 1 130
tells 0 "stopped by a signal; the checkpoint is saved"
tells 0 "signal 2 (Interrupt) came at host host1: the job ends on all nodes"
tells 1 "the job has ended here with exit code 130"
none_left
more=--continue_train
both term
more=
host_ends 0 0
host_ends 1 0
same_weights one term
passed "Ctrl-C at another host: a checkpoint everywhere, and the same bytes from there"

both_held platform --fault_timeout 20 # a platform ends the job: SIGTERM everywhere, and more than one
for p in $pid_1 $pid_0 $held $pid_1 $pid_0; do kill -TERM "$p"; done
kill -CONT "$held"
host_ends 0 143
host_ends 1 143
tells 0 "stopped by a signal; the checkpoint is saved"
none_left
passed "SIGTERM at all hosts at once: a checkpoint"

host 1 bad --nnodes 2 --node_rank 1
more="--train_input_path missing.csv" host 0 bad --nnodes 2 --node_rank 0
host_ends 0 2
host_ends 1 2
tells 0 "runs its ranks with other arguments than node 0"
tells 0 "missing.csv"
tells 1 "crank launch: rank 0 on host host0 ended with exit code 2: .*missing.csv"
none_left
CRANK_TEST_KILL=inside:1:FAIL CRANK_TEST_KILL_IF=RANK=3 # the error of one rank
export CRANK_TEST_KILL CRANK_TEST_KILL_IF
both inside
unset CRANK_TEST_KILL CRANK_TEST_KILL_IF
host_ends 0 1
host_ends 1 1
tells 0 "crank launch: rank 3 on host host1 ended with exit code 1: .*cannot go on"
tells 1 "rank 3 .*cannot go on"
tells 1 "crank launch: rank 3 on host host1 ended with exit code 1$"
none_left
passed "other arguments on one host; what its rank says is read once on every host"

for flags in "--nproc-per-node 1" "--nnodes 2:3" "--fault_timeout 4"; do
    # shellcheck disable=SC2086
    host 1 bad --nnodes 2 --node_rank 1 $flags
    host 0 bad --nnodes 2 --node_rank 0 --rdzv_conf join_timeout=5
    host_ends 1 2
    tells 1 "crank launch: host host1 has .* and node 0 has .*; give all nodes the same"
    kill -INT "$pid_0"
    host_ends 0 130
done
none_left
passed "hosts whose flags do not fit together"

# the name of node 0 has an IPv6 address, which comes first and where packets vanish, and one that works
if ip netns exec "${tag}n1" ip addr add fd77::2/64 dev eth0 nodad 2>/dev/null &&
    ip netns exec "${tag}n1" ip neigh add fd77::1 lladdr 02:00:00:00:77:77 dev eth0 nud permanent; then
    mkdir etc
    printf '127.0.0.1 localhost\nfd77::1 node0\n10.77.0.1 node0\n' >etc/hosts
    both filtered --master_addr node0 --fault_timeout 20 --rdzv_conf join_timeout=60
    host_ends 0 0
    host_ends 1 0
    same_weights one filtered
    none_left
    passed "an address of node 0 that does not answer: the next one is tried"
    # when none of them answers, the reasons of all are told
    host 1 nobody --nnodes 2 --node_rank 1 --master_addr node0 --rdzv_conf join_timeout=4
    host_ends 1 1
    tells 1 "node 0 at node0:29500 is not reached yet: fd77::1: no answer; 10.77.0.1: Connection refused; this node tries for 4 s"
    tells 1 "crank launch: node 0 at node0:29500 was not reached in 4 s: fd77::1: no answer; 10.77.0.1: Connection refused; is crank"
    # a resolver that does not answer does not keep Ctrl-C away
    echo "nameserver fd77::1" >etc/resolv.conf
    host 1 nobody --nnodes 2 --node_rank 1 --master_addr unknown.example
    until_text err.1 "the nodes meet at unknown.example:29500"
    since
    sleep 0.5
    kill -INT "$pid_1"
    host_ends 1 130
    within 3
    rm -r etc
    none_left
    passed "addresses and resolvers that do not answer are told, and Ctrl-C ends at once"
else
    skipped "no IPv6 here"
fi

# a firewall that lets only the master port through: what the ranks send to each other vanishes
vanish() { # vanish I PEER WHICH: packets of host I to PEER vanish, unless their WHICH (sport, dport) is the master port
    ip netns exec "${tag}n$1" ip neigh replace 10.77.0.99 lladdr 02:00:00:00:77:99 dev eth0 nud permanent &&
        ip netns exec "${tag}n$1" ip route add "$2" via 10.77.0.99 dev eth0 table 77 &&
        ip netns exec "${tag}n$1" ip rule add pref 10 ipproto tcp "$3" 29500 lookup main &&
        ip netns exec "${tag}n$1" ip rule add pref 20 to "$2" lookup 77
}
if vanish 0 10.77.0.2 sport 2>/dev/null && vanish 1 10.77.0.1 dport 2>/dev/null; then
    both firewall --fault_timeout 20 --rdzv_conf start_timeout=5
    host_ends 0 137
    host_ends 1 137
    tells 0 "crank launch: rank [0-3] on host host[01] is stalled: it has not met the other ranks by MPI for 5 s; all hosts must reach each other on all ports;"
    none_left
    passed "filtered ports between the ranks"
else
    skipped "no rules for ports here"
fi
for i in 0 1; do
    ip netns exec "${tag}n$i" ip rule del pref 10 2>/dev/null
    ip netns exec "${tag}n$i" ip rule del pref 20 2>/dev/null
done

# a host that is taken away, by SIGTERM, from a job that may be smaller: a checkpoint, no restart, the same bytes
both_held away --nnodes 1:2 --rdzv_conf last_call_timeout=2 --fault_timeout 20
kill -TERM "$pid_1"
until_text err.1 "signal 15 (Terminated) came at host host1, which leaves the job"
kill -CONT "$held"
host_ends 1 143
host_ends 0 0
tells 0 "signal 15 (Terminated) came at host host1, which leaves the job"
tells 0 "starting ranks 0 to 1 of 2; this is node 0 of 1; training goes on from the last checkpoint"
same_weights one away
none_left
passed "a host that leaves by SIGTERM"

# nodes that go and come: the global batch stays that of the first generation, so the bytes stay too
elastic="--nnodes 1:2 --rdzv_conf last_call_timeout=2 --max_restarts 1 --fault_timeout 20"
# the first two lives are held before a step of their own: rank 3, then rank 1
CRANK_TEST_KILL=step:7:STOP CRANK_TEST_KILL_IF="RANK=3 TORCHELASTIC_RESTART_COUNT=0"
export CRANK_TEST_KILL CRANK_TEST_KILL_IF
# shellcheck disable=SC2086
host 1 elastic $elastic
CRANK_TEST_KILL_IF="RANK=1 TORCHELASTIC_RESTART_COUNT=1"
# shellcheck disable=SC2086
host 0 elastic $elastic
unset CRANK_TEST_KILL CRANK_TEST_KILL_IF
until_stopped_in elastic
kill -9 "$pid_1"
wait "$pid_1"
until_text err.0 "] 2 ranks: the first step was done"
# shellcheck disable=SC2086
host 2 elastic $elastic
until_text err.0 "host host2 has come"
# it goes on, unless the wish to stop reached it before its step
for p in $(ours 'crank train.*--model_dir elastic'); do kill -CONT "$p" 2>/dev/null; done
until_text err.0 "begin again with host host2"
host_ends 0 0
host_ends 2 0
tells 0 "host host1 with ranks 2 to 3 is gone: the connection was closed; restart 1 of 1, from the last checkpoint"
tells 0 "] 1 of 1 to 2 nodes is here; the ranks start when no more come for 2 s"
tells 2 "the ranks save a checkpoint and begin again with host host2"
same_weights one elastic
none_left
passed "four ranks, then two, then four on another host: the same bytes"

if ip netns exec "${tag}n1" tc qdisc add dev eth0 root netem delay 5ms loss 1% 2>/dev/null; then
    both slow
    host_ends 0 0
    host_ends 1 0
    same_weights one slow
    none_left
    ip netns exec "${tag}n1" tc qdisc del dev eth0 root
    passed "a link with 5 ms of delay and 1 % of loss"
else
    skipped "tc has no netem here"
fi
finish
