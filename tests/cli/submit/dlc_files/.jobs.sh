#!/bin/sh
# .jobs.sh VERB ID - what 'crank jobs' asks DLC
workspace=12345
detail() { dlc get job "$1" --workspace_id="$workspace" | tr -d '\n'; }
# lists go first: pods and the history have states of their own
state() { detail "$1" | sed ':a; s/\[[^][]*\]//g; ta; s/.*"Status" *: *"\([^"]*\)".*/\1/'; echo; }
pods() { detail "$1" | grep -o '"PodId" *: *"[^"]*"' | sed 's/.*"\([^"]*\)"$/\1/'; }
# without a number the client shows 2000 lines
log() { dlc logs "$1" "$2" --max_events_num=100000; }
case $1 in
state) state "$2" ;;
stop) dlc stop job "$2" --workspace_id="$workspace" --force --quiet ;;
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
        case $now in Succeeded | Failed | Stopped) exit 0 ;; esac
        # clusters limit questions
        sleep "${CRANK_POLL:-60}"
    done
    ;;
esac
