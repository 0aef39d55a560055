# training as several ranks that MPICH's mpiexec started: the bytes of one process, signals, a killed rank, mistakes
command -v mpiexec.hydra >/dev/null || skip "mpiexec.hydra is not installed (package mpich)"
plug=comm-mpich.so
ranks() {
    n=$1
    shift
    if [ "$1" = crank ]; then shift && set -- "$CRANK" "$@"; fi
    mpiexec.hydra -n "$n" "$@"
}
. "$CLI/ranks.sh"
# A crash below MPI, such as UCX's own when a rank is killed that it reads from, prints no page of addresses. The first signal is
# taken by crank's own handler, which restores the one before it.
last="a rank that crashes" code=0
# shellcheck disable=SC2016
ranks 2 timeout -k 2 60 sh -c 'echo $$ >crash.new.$PMI_RANK && mv crash.new.$PMI_RANK crash.$PMI_RANK
    if [ "$PMI_RANK" = 1 ]; then CRANK_TEST_KILL=step:2:STOP && export CRANK_TEST_KILL; fi
    exec "$0" "$@"' "$CRANK" train tiny.yaml --model_dir crash --threads 1 --set data_config.batch_size=60 >"$out" 2>"$err" &
job=$!
until [ -f crash.0 ] && [ -f crash.1 ]; do
    kill -0 $job || fail "it ended before it began"
    sleep 0.01
done
until_stopped "$(cat crash.1)" || fail "it ended before its second step"
kill -SEGV "$(cat crash.0)"
while grep -q '^State:.[SR]' "/proc/$(cat crash.0)/status" 2>/dev/null; do
    kill -SEGV "$(cat crash.0)" 2>/dev/null || true
    sleep 0.1
done
kill -CONT "$(cat crash.1)" 2>/dev/null || true
wait $job || code=$?
[ "$code" -ne 0 ] || fail "a rank that crashed was not noticed"
if grep 'backtrace (tid' "$err"; then fail "a page of addresses"; fi
