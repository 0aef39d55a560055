#!/bin/sh
# chroot_check.sh [FOLDER] - does a fresh Debian 12 get from a clone to green tests?
#
# Builds a minimal bookworm in a temporary folder (debootstrap, root), with git and make and nothing
# else, clones HEAD of this repository into it and runs `make quickstart` and `make test` there.
# Packages come from wherever this machine gets its own. FOLDER: keep the system there for next time.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
[ "$(id -u)" -eq 0 ] || { echo "chroot_check: needs root" >&2; exit 2; }
command -v debootstrap >/dev/null || { echo "chroot_check: needs debootstrap; apt-get install debootstrap" >&2; exit 2; }

# the first Debian archive that apt is set up with
mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null |
    sed -n 's/^URIs: *\([^ ]*\).*/\1/p; s/^deb  *\(\[[^]]*\] *\)\{0,1\}\([^ ]*\).*/\2/p' | grep -m1 -E '/debian/?$')
[ -n "$mirror" ] || { echo "chroot_check: no Debian archive in /etc/apt" >&2; exit 2; }

root=${1:-$(mktemp -d)/debian}
clean() {
    umount "$root/proc" "$root/sys" 2>/dev/null || true
    [ -n "${keep:-}" ] || rm -rf --one-file-system "$root"
}
keep=${1:+yes}
trap clean EXIT
if [ ! -x "$root/usr/bin/make" ]; then
    debootstrap --variant=minbase --include=git,make,ca-certificates bookworm "$root" "$mirror" >/dev/null
fi
cp /etc/resolv.conf "$root/etc/resolv.conf" 2>/dev/null || true
mkdir -p "$root/proc"
mount -t proc proc "$root/proc"
mkdir -p "$root/sys"
mount -t sysfs -o ro sysfs "$root/sys"
rm -rf "$root/root/crank"
git clone -q "file://$here" "$root/root/crank"

in_root() { chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 sh -c "cd /root/crank && $1"; }
timed() {
    began=$(date +%s)
    "$@"
    echo "== $(($(date +%s) - began)) s: $*"
}
timed in_root 'make deps'
timed in_root 'make quickstart'
timed in_root 'make test'
