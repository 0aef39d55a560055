#!/bin/sh
# install.sh BUILD_DIR PREFIX - installs the built program below DESTDIR and PREFIX, and leaves the build as it was.
#
# Meson writes the folders of an installation down when it configures a build: a new prefix counts only after that, so
# build.ninja is made anew before and after. Nothing is compiled again, because crank finds its files by its own path.
set -eu
build=${1:?usage: install.sh BUILD_DIR PREFIX}
prefix=${2:?usage: install.sh BUILD_DIR PREFIX}
set_prefix() {
    meson configure "$build" -Dprefix="$1"
    ninja -C "$build" build.ninja >/dev/null
}
was=$(meson introspect "$build" --buildoptions | tr '{' '\n' | sed -n 's/.*"name": "prefix", "value": "\([^"]*\)".*/\1/p')
if [ "$was" != "$prefix" ]; then
    set_prefix "$prefix"
    trap 'set_prefix "$was"' EXIT
    trap 'exit 1' HUP INT TERM
fi
DESTDIR="${DESTDIR:-}" meson install -C "$build" --no-rebuild --strip
