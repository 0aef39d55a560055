#!/bin/sh
# .jobs.sh VERB ID - what 'crank jobs' asks the client; change the lines where your client has other words.
. ./.client.sh
eval "$(grep -E '^(ak|sk)=' job.sh)"
unset http_proxy https_proxy
ask() { paddlecloud job --ak @ak --sk @sk "$@"; }
texts() { tr ',{}' '\n\n\n' | sed -n 's/^ *"'"$1"'" *: *"\([^"]*\)".*/\1/p'; }
state() { ask state "$1" | texts jobStatus | head -n 1; }
pods() { ask info "$1" | texts logUrl; }
# http://HOST/x/y/CONTAINER/... is the page of a trainer
log() {
    host=$(echo "$2" | cut -d / -f 3) container=$(echo "$2" | cut -d / -f 6)
    curl -sS -f "http://$host/filetree?action=cat&path=/home/work/containers_backup/$container/root/paddlejob/workspace/log/train.log" ||
        echo "the log is at $2" >&2
}
case $1 in
state) state "$2" ;;
stop) ask kill "$2" ;;
logs) pods "$2" | while read -r pod; do log "$2" "$pod" </dev/null; done ;;
follow)
    seen=.seen.$$
    trap 'rm -f $seen.*' EXIT
    trap 'exit 130' INT TERM
    while :; do
        now=$(state "$2")
        pods "$2" | while read -r pod; do
            i=$((i + 1))
            log "$2" "$pod" </dev/null >$seen.log
            tail -n +$(($(cat $seen.$i 2>/dev/null) + 1)) $seen.log
            wc -l <$seen.log >$seen.$i
        done
        case $now in *success* | *fail* | *killed*) exit 0 ;; esac
        # clusters limit questions
        sleep "${CRANK_POLL:-60}"
    done
    ;;
esac
