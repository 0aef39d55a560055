#!/bin/sh
# deb.sh [BUILD_DIR [OUT_DIR]] - makes a Debian package of the built program: OUT_DIR/crank_VERSION_ARCH.deb.
#
# What is installed is what `make install` installs, below /usr. The packages that it needs are found by dpkg-shlibdeps;
# those of the plug-ins (MPI, libcurl) are suggestions, because crank works without them.
set -eu
build=${1:-build}
out=${2:-out}
cd "$(dirname "$0")/.."
for tool in dpkg-deb dpkg-shlibdeps; do
    command -v $tool >/dev/null || { echo "deb.sh: $tool is missing; install the package dpkg-dev" >&2; exit 1; }
done
version=$("$build/crank" version | sed -n '1s/^crank \([^ ]*\).*/\1/p')
arch=$(dpkg --print-architecture)
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
root=$stage/root
DESTDIR="$root" sh tools/install.sh "$build" /usr >/dev/null
chmod -R u=rwX,go=rX "$root"
find "$root/usr/share/man" -name '*.1' -exec gzip -9n {} +
doc=$root/usr/share/doc/crank
mkdir -p "$doc" "$root/DEBIAN" "$stage/debian"
cp README.md "$doc/"
gzip -9n <CHANGELOG.md >"$doc/changelog.gz"
printf 'Licence: Apache-2.0, see /usr/share/common-licenses/Apache-2.0\n' >"$doc/copyright"
printf 'Source: crank\nPackage: crank\nArchitecture: any\n' >"$stage/debian/control"
depends() { # depends FILE...: the packages whose libraries the files need
    (cd "$stage" && dpkg-shlibdeps -O --ignore-missing-info "$@" 2>/dev/null) | sed 's/^shlibs:Depends=//'
}
need=$(depends "$root/usr/bin/crank")
wish=$(for f in "$root"/usr/lib/crank/*.so; do depends "$f" | tr ',' '\n' | sed 's/^ *//'; done | grep -v '^libc6' | LC_ALL=C sort -u |
    awk 'NR > 1 { printf ", " } { printf "%s", $0 }')
cat >"$root/DEBIAN/control" <<CONTROL
Package: crank
Version: $version
Architecture: $arch
Maintainer: The crank authors <crank@localhost>
Depends: $need
Suggests: $wish
Section: science
Priority: optional
Description: trains, evaluates, exports and runs recommendation models
 One program for click-through, ranking, multi-task and matching models, from
 the config files of TorchEasyRec, PaddleRec and Cruise, on CPUs.
CONTROL
mkdir -p "$out"
dpkg-deb --root-owner-group --build "$root" "$out/crank_${version}_$arch.deb"
