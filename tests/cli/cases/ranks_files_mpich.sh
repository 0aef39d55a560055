# files of several ranks that MPICH's mpiexec started, after kills and on full disks; little memory
command -v mpiexec.hydra >/dev/null || skip "mpiexec.hydra is not installed (package mpich)"
plug=comm-mpich.so
ranks() {
    n=$1
    shift
    if [ "$1" = crank ]; then shift && set -- "$CRANK" "$@"; fi
    mpiexec.hydra -n "$n" "$@"
}
. "$CLI/ranks_files.sh"
