#!/bin/sh
# run.sh [BUILD_DIR] [--update | --many] - the page of `crank board` in Chromium: every control, a run that trains, broken
# logs, hostile names, pictures. Needs node, npm and chromium (tools/deps.sh full). --update keeps the pictures
# as they are now in tests/browser/expected. --many opens 500 runs of 100,000 lines instead and measures.
set -eu
cd "$(dirname "$0")/../.."
build=build
update=
program=test.js
for arg; do
    case $arg in
    --update) update=--update ;;
    --many) program=many.js ;;
    *) build=$arg ;;
    esac
done
sh tools/npm.sh tests/browser
sh tools/page.sh "$build"
[ -f "$build/build.ninja" ] || meson setup "$build" >/dev/null
ninja -C "$build" crank >/dev/null
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM
node tests/browser/$program "$(cd "$build" && pwd)/crank" "$tmp" $update
