#!/bin/sh
# .jobs.sh VERB ID - what 'crank jobs' asks Kubernetes
case $1 in
state) kubectl -n recsys get mpijob "$2" -o 'jsonpath={.status.conditions[?(@.status=="True")].type}' | awk '{ print $NF }' ;;
logs) kubectl -n recsys logs job/deepfm-launcher ;;
follow) kubectl -n recsys logs -f job/deepfm-launcher ;;
stop) kubectl -n recsys delete mpijob "$2" ;;
esac
