# net.sh - hosts that are network namespaces, and the words of a test on them. Read by the scripts of this folder, which set CRANK and
# HOSTS (how many) before; the current folder is then a new one, and the words of tests/cli/lib.sh are known too.
#
# Each host has its own name, the address 10.77.0.I+1 and a link to a bridge; files of the folder etc are those of every host's /etc.
# Ends the script with exit code 77 where this machine cannot make them, and says why.
#
#   on I CMD... &         runs CMD on host I, in the place of a subshell
#   cut_link I, heal_link I   takes the link of host I away, and gives it back
#   ours PATTERN          processes of this test whose command line fits
#   none_left             no process of crank is left
#   until_stopped_in DIR  waits for a rank that stopped itself and trains into DIR; it is $held
#   until_text FILE TEXT  waits for the text
#   since, within S       the time since `since` is S seconds at most
#   passed TEXT, skipped TEXT, finish
CLI=$(cd "$(dirname "$0")/../cli" && pwd)
[ -f "$(dirname "$CRANK")/comm-mpich.so" ] || { echo "crank was built without comm-mpich.so (package libmpich-dev)"; exit 77; }
[ "$(id -u)" -eq 0 ] || { echo "network namespaces need root"; exit 77; }
command -v ip >/dev/null && command -v unshare >/dev/null || { echo "ip or unshare is not installed"; exit 77; }
tag=cr$$
ip netns add "${tag}n0" 2>/dev/null || { echo "network namespaces are not allowed here"; exit 77; }
CASE_DIR=$(mktemp -d "${TMPDIR:-/tmp}/crank-hosts.XXXXXX")
WEIGHTS_DIFF=$(dirname "$CRANK")/tests/cli/weights_diff
mark=CRANK_TEST_MARK=$tag.$(date +%s)
export "${mark?}" CASE_DIR WEIGHTS_DIFF CLI CRANK
clean() {
    for p in $(ours .); do kill -9 "$p" 2>/dev/null; done
    for i in $(seq 0 $((HOSTS - 1))); do ip netns del "${tag}n$i" 2>/dev/null; done
    ip link del "${tag}b" 2>/dev/null
}
trap clean EXIT
trap "exit 130" INT TERM
ours() {
    for p in /proc/[0-9]*; do
        [ "${p#/proc/}" != $$ ] || continue
        grep -qz "^$mark\$" "$p/environ" 2>/dev/null || continue
        tr '\0' ' ' <"$p/cmdline" 2>/dev/null | grep -q -- "$1" && echo "${p#/proc/}"
    done
}
none_left() {
    for i in $(seq 40); do
        left=$(ours 'crank \(launch\|train\)')
        [ -n "$left" ] || return 0
        sleep 0.05
    done
    fail "still running: $(for p in $left; do tr '\0' ' ' <"/proc/$p/cmdline"; echo; done)"
}

ip link add "${tag}b" type bridge && ip link set "${tag}b" up || { echo "a bridge is not allowed here"; exit 77; }
for i in $(seq 0 $((HOSTS - 1))); do
    [ "$i" -eq 0 ] || ip netns add "${tag}n$i"
    ip link add "${tag}v$i" type veth peer name eth0 netns "${tag}n$i"
    ip link set "${tag}v$i" master "${tag}b" up
    ip netns exec "${tag}n$i" ip addr add "10.77.0.$((i + 1))/24" dev eth0
    ip netns exec "${tag}n$i" ip link set eth0 up
    ip netns exec "${tag}n$i" ip link set lo up
done
cut_link() { ip link set "${tag}v$1" down; }
heal_link() { ip link set "${tag}v$1" up; }
host_name() { echo "host$1"; } # a script may give other names
on() {
    on_host=$1
    shift
    # shellcheck disable=SC2016
    exec unshare --uts --mount sh -c 'hostname "$0"; for f in etc/*; do [ ! -f "$f" ] || mount --bind "$f" "/$f"; done; exec ip netns exec "$@"' \
        "$(host_name "$on_host")" "${tag}n$on_host" "$@"
}

cd "$CASE_DIR" || exit 1
. "$CLI/lib.sh"
mpi_leaks
tiny_config
tiny_data 960 64
CRANK_JOB_SECRET=$(od -An -N16 -tx1 /dev/urandom | tr -d " \n") # nodes of another run of this test are strangers
UCX_TLS=self,tcp # namespaces of one machine could share memory, and hosts cannot
export CRANK_JOB_SECRET UCX_TLS
settings="--set data_config.batch_size=10 --set train_config.lanes=8 --set train_config.save_checkpoints_steps=4 --set train_config.num_epochs=2"
# shellcheck disable=SC2086
"$CRANK" train tiny.yaml --model_dir one --threads 2 --quiet $settings --set data_config.batch_size=40 >/dev/null || fail "one process"

until_stopped_in() {
    for k in $(seq 3000); do
        for held in $(ours "crank train.*--model_dir $1"); do
            if grep -q '^State:.T' "/proc/$held/status" 2>/dev/null; then return; fi
        done
        sleep 0.02
    done
    fail "no rank came to its step: $(tail -n 5 err.*)"
}
until_text() { # until_text FILE TEXT
    for k in $(seq 1200); do
        grep -q -- "$2" "$1" 2>/dev/null && return
        sleep 0.05
    done
    fail "'$2' did not come to $1: $(tail -n 5 "$1")"
}
since() { now=$(date +%s); }
within() {
    [ $(($(date +%s) - now)) -le "$1" ] || fail "it took $(($(date +%s) - now)) s, more than $1"
}
n_passed=0
n_skipped=0
passed() {
    echo "ok: $*"
    n_passed=$((n_passed + 1))
}
skipped() {
    echo "skipped: $*"
    n_skipped=$((n_skipped + 1))
}
finish() {
    clean
    trap - EXIT
    rm -rf "$CASE_DIR"
    echo "$n_passed passed, 0 failed, $n_skipped skipped"
    exit 0
}
out=$CASE_DIR/out
err=$CASE_DIR/err
