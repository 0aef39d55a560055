# checkpoints of several ranks that MPICH's mpiexec started, written while something else goes on
command -v mpiexec.hydra >/dev/null || skip "mpiexec.hydra is not installed (package mpich)"
plug=comm-mpich.so
ranks() {
    n=$1
    shift
    if [ "$1" = crank ]; then shift && set -- "$CRANK" "$@"; fi
    mpiexec.hydra -n "$n" "$@"
}
. "$CLI/ranks_save.sh"
