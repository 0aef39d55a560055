#!/bin/sh
# run.sh [BUILD_DIR [OUT_DIR]] - the tarball of `make static` on a machine that has nothing: a root with /proc, /tmp and two devices alone, no
# shell and no library, and with the system calls of Linux 3.10 only. Needs root for chroot.
set -eu
build=$(cd "${1:-build}" && pwd)
out=$(cd "${2:-out}" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
[ "$(id -u)" -eq 0 ] || { echo "SKIP: chroot and mknod need root"; exit 77; }
tarball=$(ls "$out"/crank-*-linux-x86_64.tar.gz)
root=$(mktemp -d)
mkdir "$root/proc" "$root/tmp" "$root/dev"
mount -t proc proc "$root/proc" || { rm -rf "$root"; echo "SKIP: /proc cannot be mounted"; exit 77; }
trap 'umount "$root/proc"; rm -rf "$root"' EXIT
mkdir "$root/dev/shm"
mknod "$root/dev/null" c 1 3
mknod "$root/dev/urandom" c 1 9
tar -C "$root" -xzf "$tarball"
mv "$root"/crank-* "$root/opt"
cc -std=c11 -O2 -Wall -static -o "$root/old_kernel" "$here/old_kernel.c"
"$build/crank" synth criteo --rows 20k --scale 0.001 -q -o "$root/data"
"$build/crank" init "$root/data/train" -q -o "$root/first.yaml" --model_dir /model --label label
sed -i "s,$root,,g" "$root/first.yaml"
inside() { # inside WHAT COMMAND...
    what=$1
    shift
    if chroot "$root" /old_kernel 314 "$@" >"$root/tmp/log" 2>&1; then
        echo "ok $what"
    else
        echo "FAIL $what: $*"
        cat "$root/tmp/log"
        exit 1
    fi
}
inside "version" /opt/crank version
inside "train" /opt/crank train /first.yaml --set train_config.num_epochs=1
inside "export" /opt/crank export /model/pipeline.config --export_dir /export
inside "predict" /opt/crank predict --scripted_model_path /export --predict_input_path /data/eval --predict_output_path /scores.csv
inside "tune, which starts itself" /opt/crank tune /first.yaml --try 'lr=[0.001,0.01]' --set train_config.num_epochs=1 --model_dir /tune
inside "launch, two ranks with MPICH" /opt/crank launch --nproc-per-node 2 -- train /first.yaml --set train_config.num_epochs=1 --model_dir /ranks
if "$build/crank" report "$root/model" -o "$root/outside.html" >/dev/null 2>&1; then # else this build has no page
    inside "report, with the page" /opt/crank report /model -o /run.html
fi
# the system's crank gives the same scores
(cd "$root" && "$build/crank" predict -q --scripted_model_path export --predict_input_path data/eval --predict_output_path same.csv)
cmp "$root/scores.csv" "$root/same.csv"
echo "ok the same scores as outside"
for file in "$root/opt/crank" "$root/opt/bin/crank" "$root/opt/lib/libc.so.6" "$root/opt/lib/ld-linux-x86-64.so.2"; do
    file -L "$file" | grep -o 'for GNU/Linux [0-9.]*' | sed "s,^,${file##*/} is ," || true
done
