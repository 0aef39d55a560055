#!/bin/sh
# job.sh - submits the files of this folder; run it again after changes: sh job.sh
# It holds keys: keep the folder to yourself.
cd "$(dirname "$0")" || exit 1
. ./.client.sh
unset http_proxy https_proxy
# the nodes of this job know each other by it
[ -s crank_secret ] || (umask 077 && head -c 32 /dev/urandom | base64 >crank_secret)
job_name="ctr"
group_name=""
job_version="paddle-fluid-v1.7.1"
start_cmd="CRANK_JOB_SECRET=\$(cat crank_secret) crank run -m config.yaml"
wall_time="2000:00:00"
priority="normal"
ak="AKAKAK"
sk="SKSKSK"
paddlecloud job --ak @ak --sk @sk train \
    --job-name "${job_name}" \
    --group-name "${group_name}" \
    --job-conf config.ini \
    --start-cmd "${start_cmd}" \
    --files ./* \
    --job-version "${job_version}" \
    --k8s-priority "${priority}" \
    --wall-time "${wall_time}" \
    --k8s-trainers 2 \
    --k8s-cpu-cores 2 \
    --k8s-ps-num 3 \
    --k8s-ps-cores 4 \
    --is-standalone 0 \
    --distribute-job-type "PSERVER" \
    --json >.answer
code=$?
cat .answer
exit $code
