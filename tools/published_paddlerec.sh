#!/bin/sh
# published_paddlerec.sh CRANK TREE... - prints tables of docs/guide/paddlerec_published.md: which configs of a
# checkout of PaddleRec's repository go from training to evaluation with its sample data, and why the others do
# not. A TREE is RELEASE=DIR, a name and the folder that holds `models`.
#
# Configs run unchanged, from the folder that their release says, but for one epoch (-o runner.epochs=1, the edit
# that PaddleRec has) where a config of 2.0 asks for more. Where `mode` of 1.8.5 names only a training, its runner of
# the class infer runs behind it (-o mode=NAME). The demo runs from its own folder, as its train.sh does. Those for full data sets, which the repository does not
# hold (config_bigdata and the like), are left out. ONLY, a pattern of paths, limits the run.
set -eu
[ $# -ge 2 ] && [ -x "$1" ] || {
    echo "usage: published_paddlerec.sh CRANK RELEASE=DIR ..." >&2
    exit 2
}
crank=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
shift
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT INT TERM

# the first error of a command; long lists in it are cut
why() {
    grep -v -e ': warning: ' -e ': note: ' -e '\]\[' -e ' - INFO' err | grep -e ':' | head -n 1 |
        sed "s|^$1:||; s|^[0-9]*:[0-9]*: ||; s|$2/||g; s/ Known are .*//; s/|/\\\\|/g" | cut -c1-220
}
one() { # one DIR CONFIG OLD
    rm -rf "$tmp/run"
    mkdir "$tmp/run"
    cp -r "$1/models" "$tmp/run/"
    cd "$tmp/run"
    if [ "$3" = 1 ]; then
        case $2 in models/demo/*) cd models/demo/movie_recommand ;; esac
        config=$2
        [ -e "$config" ] || config=${2#models/demo/movie_recommand/}
        # the last name before the class infer
        infer=$(awk '/^ *- *name:/ { name = $3 } /^ *class: *infer/ { print name; exit }' "$config" | tr -d '"')
        if timeout 600 "$crank" run -m "$config" -q >out 2>err; then
            if grep -q '^Infer ' out; then
                result="train, infer"
            elif [ -z "$infer" ]; then
                result="train (it has no evaluation)"
            elif timeout 600 "$crank" run -m "$config" -o mode="$infer" -q >out 2>err; then
                result="train, infer with \`-o mode=$infer\`"
            else
                result="train; infer: $(why "$config" "$1")"
            fi
        else
            result="no: $(why "$config" "$1")"
        fi
        cd "$tmp/run"
    elif timeout 900 "$crank" run -m "$2" -o runner.epochs=1 -q >out 2>err; then
        if timeout 300 "$crank" run -m "$2" -o runner.infer_start_epoch=0 runner.infer_end_epoch=1 --infer -q >out 2>err; then
            result="train, infer"
        else
            result="train; infer: $(why "$2" "$1")"
        fi
    else
        result="no: $(why "$2" "$1")"
    fi
    cd /
    echo "| \`${2#models/}\` | $result |"
}
for tree; do
    dir=$(cd "${tree#*=}" && pwd)
    printf '## %s\n\n| config | |\n|---|---|\n' "${tree%%=*}"
    (cd "$dir" && find models -name 'config*.yaml' | grep -v -e bigdata -e kunlun -e gpubox -e gpups -e config_ub | sort |
        grep -e "${ONLY:-.}") >"$tmp/list"
    while read -r config; do
        grep -q '^ *- *{\{0,1\}name:' "$dir/$config" && grep -q '^phase' "$dir/$config" && old=1 || old=0
        one "$dir" "$config" $old </dev/null
    done <"$tmp/list"
    echo
done
