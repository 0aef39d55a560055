# what a process says that a launcher started as one of several and that cannot be: nothing here needs an MPI
tiny_config
tiny_data 64 64
as_rank() { env PMI_RANK=0 PMI_SIZE=2 "$@"; }
# a command that knows no ranks
run as_rank crank synth census -o e
ends 2
says_err <<'EOT'
crank synth: this command runs as one process, but mpiexec (MPICH) started 2; start it without mpiexec
EOT
run env OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=3 crank synth census -o e
ends 2
has_err "...but mpirun (Open MPI) started 3; start it without mpirun"
# a limit of waits that is none
run as_rank env PROCESS_GROUP_TIMEOUT_SECONDS=soon crank train tiny.yaml
ends 2
has_err "...PROCESS_GROUP_TIMEOUT_SECONDS of the environment is 'soon' and must be a number of seconds from 1 on; unset it to wait 1800 s"
# a crank without its plug-in, with a file that is none, with one of another version: one cure each
mkdir own
cp "$CRANK" own/crank
run as_rank own/crank train tiny.yaml
ends 1
has_err "...mpiexec (MPICH) started 2 ranks, but this crank cannot join them: comm-mpich.so is missing beside .../own/crank; build crank with libmpich-dev installed"
run env OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 own/crank train tiny.yaml
ends 1
has_err "...mpirun (Open MPI) started 2 ranks, but ...; build crank with libopenmpi-dev installed"
run own/crank launch --standalone --nproc-per-node 2 -- train tiny.yaml
ends 1
has_err "...crank launch started 2 ranks, but this crank cannot join them: comm-mpich.so is missing ..."
echo text >own/comm-mpich.so
run as_rank own/crank train tiny.yaml
ends 1
has_err "...cannot join them: .../own/comm-mpich.so does not load: ...; install what it needs"
command -v cc >/dev/null || exit 0
echo 'const int cr_comm_plug_of[64] = {-1};' >old.c
cc -shared -fPIC -o own/comm-mpich.so old.c
run as_rank own/crank train tiny.yaml
ends 1
has_err "...cannot join them: .../own/comm-mpich.so belongs to another version of crank; build or install the two together"
