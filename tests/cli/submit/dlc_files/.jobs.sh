#!/bin/sh
# .jobs.sh VERB ID - what 'crank jobs' asks DLC
workspace=12345
detail() { dlc get job "$1" --workspace_id="$workspace" | tr -d '\n'; }
state() { detail "$1" | sed 's/"Pods" *: *\[[^]]*\]//; s/.*"Status" *: *"\([^"]*\)".*/\1/'; echo; }
pods() { detail "$1" | grep -o '"PodId" *: *"[^"]*"' | sed 's/.*"\([^"]*\)"$/\1/'; }
logs() { for pod in $(pods "$1"); do dlc logs "$1" "$pod"; done; }
case $1 in
state) state "$2" ;;
logs) logs "$2" ;;
follow)
    # the platform limits questions: once a minute
    seen=0
    while :; do
        now=$(state "$2")
        logs "$2" >.log
        tail -n +$((seen + 1)) .log
        seen=$(wc -l <.log)
        case $now in Succeeded | Failed | Stopped) exit 0 ;; esac
        sleep "${CRANK_POLL:-60}"
    done
    ;;
stop) dlc stop job "$2" --workspace_id="$workspace" --force --quiet ;;
esac
