#!/bin/bash
# Runs a config of Gandalf: bash examples/gandalf/run_on_merlin.sh --config=FILE --fit [--val] ...
#
# On Arnold every node runs this script, and its variables say how many nodes and processes there
# are: crank launch reads them, and the ranks meet. Elsewhere one process runs, unless NPROC says
# otherwise. CRANK names the program. Paths of the config are taken from the folder that the script
# is started in.
set -eu
crank=${CRANK:-crank}
command -v "$crank" >/dev/null || {
    echo "run_on_merlin.sh: there is no program $crank; set CRANK to its path" >&2
    exit 1
}
if [ "${ARNOLD_WORKER_NUM:-1}" -gt 1 ]; then
    exec "$crank" launch -- run "$@"
elif [ "${NPROC:-1}" -gt 1 ]; then
    exec "$crank" launch --standalone --nproc-per-node "$NPROC" -- run "$@"
fi
exec "$crank" run "$@"
