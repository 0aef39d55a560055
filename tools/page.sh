#!/bin/sh
# page.sh [BUILD_DIR] - fetches the chart library that the page of `crank board` is built with, and lets an
# existing build know of it.
#
# It comes from npm, with the version and checksum of web/package-lock.json. Without it crank is whole but
# for its page, so `make` goes on where this fails: where there is no npm, or no registry. `make page` tries again.
set -eu
cd "$(dirname "$0")/.."
if [ ! -f web/node_modules/uplot/dist/uPlot.iife.min.js ] && ! { command -v npm >/dev/null 2>&1 && sh tools/npm.sh web; }; then
    echo "page.sh: no chart library, so 'crank board' will have no page; install npm and run 'make page'" >&2
    exit 1
fi
if [ -n "${1:-}" ] && [ -f "$1/build.ninja" ] && ! grep -q uPlot.iife.min.js "$1/build.ninja"; then
    meson setup --reconfigure "$1" >/dev/null
fi
