# files of several ranks that Open MPI's mpirun started, after kills and on full disks; little memory
command -v mpirun.openmpi >/dev/null || skip "mpirun.openmpi is not installed (package openmpi-bin)"
plug=comm-openmpi.so
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM
ranks() {
    n=$1
    shift
    if [ "$1" = crank ]; then shift && set -- "$CRANK" "$@"; fi
    mpirun.openmpi --oversubscribe --mca mpi_yield_when_idle 1 -n "$n" "$@"
}
. "$CLI/ranks_files.sh"
