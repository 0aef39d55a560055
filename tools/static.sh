#!/bin/sh
# static.sh [BUILD_DIR [OUT_DIR]] - makes a tarball that needs nothing of the machine but an x86-64 kernel:
# OUT_DIR/crank-VERSION-linux-x86_64.tar.gz with crank, bin/ (the program and its plug-ins) and lib/ (all libraries, the
# C library and its loader). The same build gives the same bytes.
set -eu
build=${1:-build}
out=${2:-out}
cd "$(dirname "$0")/.."
version=$("$build/crank" version | sed -n '1s/^crank \([^ ]*\).*/\1/p')
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
top=$stage/crank-$version
mkdir -p "$top/bin" "$top/lib" "$out"
${CC:-cc} -std=c11 -D_GNU_SOURCE -O2 -Wall -Wextra -static -o "$top/crank" tools/static/start.c
cp "$build/crank" "$build"/*.so "$top/bin/"
libraries() { # libraries FILE...: all that the loader would load for them
    for f; do
        ldd "$f" | grep -q 'not found' && { echo "static.sh: $f needs a library that is not here: $(ldd "$f" | grep 'not found'); install it" >&2; exit 1; }
        ldd "$f" | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p; s/^[[:space:]]*\(\/[^ ]*ld-linux[^ ]*\) .*/\1/p'
    done
}
modules=
for file in $(libraries "$top/bin"/*); do
    cp -L "$file" "$top/lib/"
    # UCX, below MPICH, loads its modules from the folder ucx beside it
    case $file in */libucs.so*) [ ! -d "${file%/*}/ucx" ] || modules=${file%/*}/ucx ;; esac
done
if [ -n "$modules" ]; then
    mkdir "$top/lib/ucx"
    cp -L "$modules"/*.so* "$top/lib/ucx/"
    for file in $(libraries "$top/lib/ucx"/*); do
        [ -e "$top/lib/${file##*/}" ] || cp -L "$file" "$top/lib/"
    done
fi
# the C library finds hosts and users by modules of its own, where it has not built them in
for name in libnss_files.so.2 libnss_dns.so.2 libresolv.so.2 libgcc_s.so.1; do
    file=$(${CC:-cc} -print-file-name=$name)
    [ ! -e "$file" ] || [ -e "$top/lib/$name" ] || cp -L "$file" "$top/lib/"
done
chmod -R u=rwX,go=rX "$top"
chmod 755 "$top/crank" "$top/bin/crank" "$top/lib/ld-linux-x86-64.so.2"
strip "$top/crank" "$top/bin"/* 2>/dev/null || true
cp LICENSE README.md "$top/"
kernel=$(file -L "$top/lib/libc.so.6" "$top/crank" "$top/bin/crank" | sed -n 's/.*for GNU\/Linux \([0-9.]*\).*/\1/p' | sort -V | tail -n 1)
tarball=$out/crank-$version-linux-x86_64.tar.gz
tar -C "$stage" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --format=ustar -cf - "crank-$version" | gzip -9n >"$tarball.tmp"
mv "$tarball.tmp" "$tarball"
echo "$tarball: $(ls "$top/bin" | grep -c '\.so$') plug-ins, $(ls "$top/lib" | grep -c '\.so') libraries, $(wc -c <"$tarball" | awk '{ printf "%.1f MB", $1 / 1e6 }'); needs x86-64 Linux ${kernel:-3.2.0} or newer and /proc"
