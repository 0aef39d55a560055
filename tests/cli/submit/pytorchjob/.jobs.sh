#!/bin/sh
# .jobs.sh VERB ID - what 'crank jobs' asks Kubernetes
case $1 in
state) kubectl -n recsys get pytorchjob "$2" -o 'jsonpath={.status.conditions[?(@.status=="True")].type}' | awk '{ print $NF }' ;;
logs) kubectl -n recsys logs deepfm-master-0 ;;
follow) kubectl -n recsys logs -f deepfm-master-0 ;;
stop) kubectl -n recsys delete pytorchjob "$2" ;;
esac
