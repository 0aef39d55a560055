#!/bin/sh
# cluster.sh start DIR [NODES [MPI]] | stop DIR - a private Slurm cluster on this machine, for tests of srun and sbatch.
#
# munge, slurmctld and one slurmd per node (2 unless told, named n1, n2 …), all on loopback, with ports, key, socket, logs and state of
# their own in DIR. Every node has its own host name and a list of hosts that knows all of them, so that programs below srun believe
# to be on several machines. MPI is srun's default (none unless told, as Debian has it). Use the cluster by `export
# SLURM_CONF=DIR/slurm.conf`. `stop` ends the processes whose numbers are in DIR/pids, and what they started; DIR stays.
# Another Slurm of the same machine is not touched. Exit code 77: this machine cannot run Slurm, and why.
set -u
[ $# -ge 2 ] || { echo "usage: cluster.sh start DIR [NODES [MPI]] | cluster.sh stop DIR" >&2; exit 2; }
how=$1
mkdir -p "$2" || exit 1
DIR=$(cd "$2" && pwd)
NODES=${3:-2}
PATH=$PATH:/usr/sbin:/sbin
SLURM_CONF=$DIR/slurm.conf
export SLURM_CONF

# What jobs of this cluster left: a slurmstepd has a file of DIR open, a task has DIR and a job in its environment.
rest() {
    for p in /proc/[0-9]*; do
        if { [ "$(cat "$p/comm" 2>/dev/null)" = slurmstepd ] && ls -l "$p/fd" 2>/dev/null | grep -qF " $DIR/"; } ||
            { grep -qzxF "SLURM_CONF=$SLURM_CONF" "$p/environ" && grep -qz '^SLURM_JOB_ID=' "$p/environ"; } 2>/dev/null; then
            echo "${p#/proc/}"
        fi
    done
}
until_none() { # until_none SECONDS COMMAND...: the command prints nothing
    n=$((10 * $1))
    shift
    while [ $n -gt 0 ] && [ -n "$("$@" 2>/dev/null)" ]; do
        sleep 0.1
        n=$((n - 1))
    done
}
running() { for p in $(cat "$DIR/pids"); do kill -0 "$p" 2>/dev/null && echo "$p"; done; }
stop() {
    [ -f "$DIR/pids" ] || return 0
    if [ -f "$DIR/ready" ]; then # the jobs first, while there is someone to end them
        scancel --quiet --user=root >/dev/null 2>&1
        until_none 3 squeue -h
        scancel --quiet --full --signal=KILL --user=root >/dev/null 2>&1
        until_none 3 squeue -h
    fi
    # shellcheck disable=SC2046
    kill $(running) 2>/dev/null
    until_none 5 running
    for p in $(running) $(rest); do kill -9 "$p" 2>/dev/null; done
    rm -f "$DIR/pids" "$DIR/ready"
}
daemon() { # daemon NAME COMMAND...: in the background; its number is kept
    name=$1
    shift
    "$@" </dev/null >"$DIR/$name.out" 2>&1 &
    echo $! >>"$DIR/pids"
}
cannot() { # cannot WHY
    stop
    echo "$*"
    exit 77
}
wait_for() { # wait_for WHAT COMMAND...: up to 20 s
    what=$1
    shift
    for i in $(seq 200); do
        "$@" >/dev/null 2>&1 && return
        sleep 0.1
    done
    stop
    echo "cluster.sh: $what does not start: $(tail -n 3 "$DIR"/*.out "$DIR"/*.log 2>/dev/null)" >&2
    exit 1
}
all_idle() { [ "$(sinfo -h -N -t idle -o %N | sort -u | grep -c .)" -eq "$NODES" ]; }
# a port is free when nobody listens at it; /proc has them in hexadecimal
is_free() { ! grep -q "$(printf ':%04X 0\\{8,32\\}:0000 0A' "$1")" /proc/net/tcp /proc/net/tcp6 2>/dev/null; }
first_free() { # first_free COUNT: so many free ports in a row
    at=$((21000 + $$ % 10000))
    run=0
    while [ $run -lt "$1" ]; do
        if is_free $((at + run)); then run=$((run + 1)); else at=$((at + run + 1)) run=0; fi
    done
}

[ "$how" != stop ] || { stop; exit 0; }
[ "$how" = start ] || { echo "cluster.sh: '$how' is neither start nor stop" >&2; exit 2; }
[ "$(id -u)" -eq 0 ] || { echo "slurmd needs root"; exit 77; }
for p in munged slurmctld slurmd srun; do
    command -v $p >/dev/null || { echo "$p is not installed (packages munge, slurmctld, slurmd, slurm-client)"; exit 77; }
done
unshare --uts --mount true 2>/dev/null || { echo "host names of their own (unshare --uts --mount) are not allowed here"; exit 77; }
[ ! -f "$DIR/pids" ] || { echo "cluster.sh: a cluster runs in $DIR; stop it first" >&2; exit 1; }

host=$(hostname -s)
first_free $((NODES + 1))
port=$at
rm -rf "$DIR/state" && mkdir -p "$DIR/state"
for i in $(seq "$NODES"); do mkdir -p "$DIR/tmp.n$i" "$DIR/spool.n$i"; done
{ echo "127.0.0.1 localhost $host" && for i in $(seq "$NODES"); do echo "127.0.0.1 n$i"; done; } >"$DIR/hosts"
cat >"$DIR/slurm.conf" <<EOF
ClusterName=crank
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
AuthType=auth/munge
AuthInfo=socket=$DIR/munge.socket
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation=$DIR/state
SlurmctldPidFile=$DIR/slurmctld.pid
SlurmctldLogFile=$DIR/slurmctld.log
SlurmdSpoolDir=$DIR/spool.%n
SlurmdPidFile=$DIR/slurmd.%n.pid
SlurmdLogFile=$DIR/slurmd.%n.log
TmpFS=$DIR/tmp.%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
MpiDefault=${4:-none}
ReturnToService=2
KillWait=5
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0
NodeName=n[1-$NODES] NodeHostname=$host NodeAddr=127.0.0.1 Port=[$((port + 1))-$((port + NODES))] CPUs=4 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
EOF
(umask 077 && head -c 128 /dev/urandom >"$DIR/munge.key")
: >"$DIR/pids"
# --force: the folder of a test may lie in one that all may write to, which munge calls insecure
daemon munged munged --foreground --force --num-threads=2 --key-file="$DIR/munge.key" --socket="$DIR/munge.socket" \
    --pid-file="$DIR/munged.pid" --log-file="$DIR/munged.log" --seed-file="$DIR/munged.seed"
wait_for munged test -S "$DIR/munge.socket"
daemon slurmctld slurmctld -D
for i in $(seq "$NODES"); do
    # shellcheck disable=SC2016
    daemon "slurmd.n$i" unshare --uts --mount sh -c 'hostname "$0" && mount --bind "$1" /etc/hosts && exec slurmd -D -N "$0"' "n$i" "$DIR/hosts"
done
for i in $(seq 200); do
    all_idle 2>/dev/null && break
    # a slurmd that cannot be told which node it is was built without several of them on one machine
    if grep -q "invalid option -- 'N'" "$DIR/slurmd.n1.out"; then cannot "this slurmd cannot run twice on one machine"; fi
    sleep 0.1
done
wait_for "a cluster of $NODES nodes" all_idle
: >"$DIR/ready"
