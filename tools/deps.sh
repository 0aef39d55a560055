#!/bin/sh
# deps.sh [build] [test] [full] - installs the Debian packages that building and testing need.
#
# Looks first and installs only what is missing, so that a machine that has everything needs no root.
# What is there by other means than a package (a compiler, pkg-config files) counts as well.
set -eu

missing=
need() { # need PACKAGE TEST...: the package when the test fails
    pkg=$1
    shift
    if ! "$@" >/dev/null 2>&1; then missing="$missing $pkg"; fi
}
have() { command -v "$1" || command -v "/usr/sbin/$1"; }
# a library is there when its header compiles and links
lib() { # lib HEADER LINK
    command -v cc && printf '#include <%s>\nint main(void) { return 0; }\n' "$1" |
        cc -x c - -o /dev/null "-l$2"
}

have_font() { find /usr/share/fonts -name "$1" | grep -q .; }
lib_pcre2() {
    printf '#define PCRE2_CODE_UNIT_WIDTH 8\n#include <pcre2.h>\nint main(void) { return 0; }\n' |
        cc -x c - -o /dev/null -lpcre2-8
}

lib_hdf5() { pkg-config --exists hdf5-serial || pkg-config --exists hdf5; }

for set_ in "${@:-build}"; do
    case $set_ in
    build)
        need gcc have cc
        need libc6-dev lib stdio.h m
        need meson have meson
        need ninja-build have ninja
        need pkg-config have pkg-config
        need libfyaml-dev lib libfyaml.h fyaml
        need libjansson-dev lib jansson.h jansson
        need zlib1g-dev lib zlib.h z
        need libzstd-dev lib zstd.h zstd
        need libsnappy-dev lib snappy-c.h snappy
        need liblz4-dev lib lz4.h lz4
        need libpcre2-dev lib_pcre2
        need libutf8proc-dev lib utf8proc.h utf8proc
        need libbrotli-dev lib brotli/decode.h brotlidec
        need libxxhash-dev lib xxhash.h xxhash
        need nettle-dev lib nettle/sha2.h nettle
        need libcurl4-openssl-dev lib curl/curl.h curl
        need librdkafka-dev lib librdkafka/rdkafka.h rdkafka
        need libmicrohttpd-dev lib microhttpd.h microhttpd
        need libhdf5-dev lib_hdf5
        need libpng-dev lib png.h png
        need nodejs have node
        need npm have npm
        ;;
    test)
        need binutils have nm
        need gzip have gzip
        need zstd have zstd
        need util-linux have setpriv
        need mpich have mpiexec.hydra
        need libmpich-dev pkg-config --exists mpich
        ;;
    full)
        need openmpi-bin have mpirun.openmpi
        need libopenmpi-dev pkg-config --exists ompi-c
        need munge have munged
        need slurmctld have slurmctld
        need slurmd have slurmd
        need slurm-client have srun
        need krb5-kdc have krb5kdc
        need krb5-admin-server have kadmin.local
        need krb5-user have kinit
        need python3-gssapi /usr/bin/python3 -c 'import gssapi'
        need clang have clang
        need clang-tidy have clang-tidy
        need cppcheck have cppcheck
        need valgrind have valgrind
        need protobuf-compiler have protoc
        need python3-protobuf /usr/bin/python3 -c 'import google.protobuf'
        need nodejs have node
        need npm have npm
        need chromium have chromium
        need fonts-dejavu-core have_font DejaVuSans.ttf
        ;;
    *)
        echo "deps.sh: unknown set '$set_'; use build, test or full" >&2
        exit 2
        ;;
    esac
done
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null 2>&1; then
    echo "missing:$missing (names of Debian packages); install them with this system's own tool" >&2
    exit 1
fi
as_root=
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
        echo "missing:$missing; run as root: apt-get install$missing" >&2
        exit 1
    fi
    as_root=sudo
fi
echo "installing:$missing"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# shellcheck disable=SC2086
if ! { $as_root apt-get update -qq &&
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing; } >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    echo "could not install$missing; see the lines above" >&2
    exit 1
fi
