#!/bin/sh
# image.sh [NAME] - builds the Dockerfile with buildah, on a base image that debootstrap makes from the packages of this machine's
# Debian archive, so that no registry is needed. Needs root, debootstrap and buildah. The image NAME (crank) is then among buildah's and
# podman's images of root; `buildah --storage-driver vfs push crank docker-archive:crank.tar` makes a file of it.
set -eu
name=${1:-crank}
cd "$(dirname "$0")/.."
for tool in debootstrap buildah; do
    command -v $tool >/dev/null || { echo "image.sh: $tool is missing; apt-get install $tool" >&2; exit 1; }
done
mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null |
    sed -n 's/^URIs: *\([^ ]*\).*/\1/p; s/^deb  *\(\[[^]]*\] *\)\{0,1\}\([^ ]*\).*/\2/p' | grep -m1 -E '/debian/?$')
[ -n "$mirror" ] || { echo "image.sh: no Debian archive in /etc/apt" >&2; exit 1; }
# no kernel features that a container on a build machine may lack
set -- --storage-driver vfs
if ! buildah "$@" inspect --type image localhost/debian:bookworm >/dev/null 2>&1; then
    root=$(mktemp -d)/debian
    trap 'rm -rf --one-file-system "${root%/debian}"' EXIT
    debootstrap --variant=minbase --include=ca-certificates bookworm "$root" "$mirror" >/dev/null
    cp /etc/apt/apt.conf.d/*prox* "$root/etc/apt/apt.conf.d/" 2>/dev/null || true
    rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/*
    base=$(buildah "$@" from scratch)
    buildah "$@" copy -q "$base" "$root" / >/dev/null
    buildah "$@" config --cmd /bin/sh "$base"
    buildah "$@" commit -q "$base" localhost/debian:bookworm >/dev/null
    buildah "$@" rm "$base" >/dev/null
fi
buildah "$@" build --isolation chroot --network host --build-arg BASE=localhost/debian:bookworm -t "$name" .
