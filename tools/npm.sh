#!/bin/sh
# npm.sh FOLDER - installs what FOLDER/package-lock.json names into FOLDER/node_modules, once.
#
# For tests that read our files with somebody else's code. The lock file fixes versions and checksums,
# so every machine gets the same bytes from whichever registry npm is set to; install scripts do not run.
# A copy of the lock file beside the packages says that they are whole and which ones they are.
# A new folder: write package.json with exact versions and "private": true, then in that folder
#   npm install --package-lock-only --omit-lockfile-registry-resolved
set -eu
[ $# -eq 1 ] && [ -f "$1/package-lock.json" ] || {
    echo "npm.sh: usage: npm.sh FOLDER, a folder with package.json and package-lock.json" >&2
    exit 2
}
cd "$1"
if cmp -s package-lock.json node_modules/.installed; then exit 0; fi
for tool in node npm; do
    command -v $tool >/dev/null || {
        echo "npm.sh: $tool is not installed: apt install nodejs npm" >&2
        exit 1
    }
done
echo "installing: npm packages of $1"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! npm ci --ignore-scripts --no-audit --no-fund >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    echo "npm.sh: could not install the packages of $1; see the lines above" >&2
    exit 1
fi
cp package-lock.json node_modules/.installed
