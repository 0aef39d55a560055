#!/bin/sh
# run.sh [BUILD_DIR] - `make install` with another prefix than that of the build, and the Debian package: all files are
# where they belong, the program runs from there and finds its plug-ins, and the build keeps its own prefix.
set -eu
cd "$(dirname "$0")/../.."
build=${1:-build}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM
passed=0
failed=0
prefix_of() { meson introspect "$build" --buildoptions | tr '{' '\n' | sed -n 's/.*"name": "prefix", "value": "\([^"]*\)".*/\1/p'; }
is_whole() { # is_whole FOLDER: an installation lies there
    for f in bin/crank lib/crank/httpd.so share/bash-completion/completions/crank share/zsh/site-functions/_crank share/fish/vendor_completions.d/crank.fish; do
        [ -s "$1/$f" ] || { echo "$1/$f is missing"; return 1; }
    done
    [ -n "$(find "$1/share/man/man1" -name 'crank-train.1*')" ] || { echo "no manual page in $1"; return 1; }
    "$1/bin/crank" version >"$tmp/version" || return 1
    "$1/bin/crank" board "$tmp/nowhere" 2>&1 | grep -q 'is no folder' || { echo "$1/bin/crank board does not start"; return 1; }
}
check() { # check NAME COMMAND...
    name=$1
    shift
    if "$@" >"$tmp/log" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "failed: $name"
        tail -n 5 "$tmp/log"
    fi
}
was=$(prefix_of)
check 'make install' env DESTDIR="$tmp/root" sh tools/install.sh "$build" /opt/crank-test
check 'what was installed' is_whole "$tmp/root/opt/crank-test"
check 'the prefix of the build' [ "$(prefix_of)" = "$was" ]
if command -v dpkg-shlibdeps >/dev/null; then
    check 'make deb' sh tools/deb.sh "$build" "$tmp/out"
    check 'unpacking' sh -c "dpkg-deb -x $tmp/out/crank_*.deb $tmp/deb"
    check 'what the package holds' is_whole "$tmp/deb/usr"
    echo "$passed passed, $failed failed, 0 skipped"
else
    echo "make deb: dpkg-dev is not installed"
    echo "$passed passed, $failed failed, 3 skipped"
fi
[ "$failed" -eq 0 ]
