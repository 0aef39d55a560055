#!/bin/sh
# check_keys.sh [ROOT] - config keys that messages, comments and pages name exist.
#
# Every "data_config.key" (train_config, eval_config, export_config, model_config alike) in the sources and
# pages must be a row of that message's page in docs/reference: advice to set a key that crank does
# not have helps nobody. src/dialect speaks of the keys of other systems and is left out. Each one that is not is one line; the exit code is 1 when there is one.
set -eu
root=${1:-$(dirname "$0")/..}
cd "$root"
n=0
bad=0
for word in data train eval export model; do
    page=docs/reference/$(echo "$word" | cut -c1 | tr a-z A-Z)$(echo "$word" | cut -c2-)Config.md
    [ -f "$page" ] || continue
    # shellcheck disable=SC2046
    for key in $(grep -rhoE "(^|[^A-Za-z0-9_])${word}_config\.[a-z_0-9]+" $(ls -d src/[!d]* src/data include docs/guide docs/design docs/formats README*.md 2>/dev/null) |
        sed 's/.*\.//' | LC_ALL=C sort -u); do
        n=$((n + 1))
        if ! grep -q "^| \`$key\` " "$page"; then
            echo "$page: there is no key '$key', which is named in: $(grep -rlE "(^|[^A-Za-z0-9_])${word}_config\.$key($|[^a-z_0-9])" src include docs README*.md 2>/dev/null | tr '\n' ' ')"
            bad=$((bad + 1))
        fi
    done
done
if [ $n -eq 0 ]; then
    echo "check_keys: no keys found"
    exit 1
fi
if [ $bad -gt 0 ]; then exit 1; fi
echo "check_keys: $n keys, no findings"
