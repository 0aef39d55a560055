#!/bin/sh
# check_stores.sh [ROOT] - files are opened, listed, moved and removed through base/fs.h alone.
#
# Calls of the kernel for files stand in src/store. The exceptions are named here, each with its
# reason. Every finding is one line file:line: cause; the exit code is 1 when there is one.
set -eu
root=${1:-$(dirname "$0")/..}
cd "$root"

# kill_point.c    tears a write apart, on purpose
# log.c, guard.c, mem.c   write to standard error
# cpu.c, self.c   /proc and /sys
# plugin.c        the linker opens libraries itself
# lock.c, synth/dir.c  a lock of the kernel, on local paths only
# cmd_run.c, run_lines.c, links.c  links to checkpoints, on local paths only
# tune_run.c      the output of trials, on local paths only
# stream.c        standard input
# comm.c, rings.c  the socket to the launcher; memory that ranks share
# src/submit/{folder,bundle,client}.c  modes of folders with secrets, /proc, pipes of clients, on local paths only
# src/submit/hide_args.c  code inside the programs of others, without the rest of crank
# src/launch      pipes of ranks, sockets, logs and the secret of this machine, before there is a job; data files that
#                 other ranks read and write here
exceptions='src/base/(kill_point|log|guard|mem|cpu|self|plugin)\.c|src/ckpt/lock\.c|src/cli/(cmd_run|run_lines)\.c|src/run/links\.c|src/data/stream\.c|src/tool/tune_run\.c|src/synth/dir\.c|src/comm/(comm|rings)\.c|src/launch/[a-z_]*\.c|src/submit/(folder|bundle|client|hide_args)\.c'
calls='open|openat|creat|fopen|freopen|stat|lstat|fstat|fstatat|rename|renameat|renameat2|unlink|unlinkat|remove|rmdir|mkdir|mkdtemp|mkstemp|opendir|readdir|scandir|glob|read|pread|write|pwrite|fsync|fdatasync|ftruncate|truncate|mmap|symlink|link|readlink|realpath|access'
bad=$(grep -rnE "(^|[^A-Za-z0-9_.>])($calls)\(" src --include='*.c' --include='*.h' |
    grep -vE "^src/store/|^($exceptions):" |
    grep -vE '^[^:]*:[0-9]+: *(\*|/\*|//)' |
    grep -vE "(static|extern|CR_CHECKED)[^(]* \**($calls)\(" || true)
if [ -n "$bad" ]; then
    echo "$bad" | sed 's/^\([^:]*:[0-9]*\):.*/\1: a file without its store; use base\/file.h or base\/fs.h/'
    echo "check_stores: $(echo "$bad" | wc -l) finding(s)"
    exit 1
fi
echo "check_stores: no findings"
