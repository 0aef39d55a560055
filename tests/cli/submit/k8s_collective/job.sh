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
start_cmd="CRANK_JOB_SECRET=\$(cat crank_secret) crank launch --nproc-per-node 1 -- run -m config.yaml"
wall_time="2000:00:00"
priority="normal"
ak="AKAKAK"
sk="SKSKSK"
k8s_trainers=2
k8s_cpu_cores=4
k8s_gpu_cards=1
is_standalone=0
distribute_job_type="--distribute-job-type NCCL2"
if [ ${k8s_trainers} -eq 1 ]; then
    is_standalone=1
    distribute_job_type="--job-remark single-trainer"
fi
if [ ${k8s_trainers} -eq 1 ] && [ ${k8s_gpu_cards} -eq 1 ]; then
    distribute_job_type="--job-remark single-gpu"
    echo "Attention: Use single GPU card for PaddleRec distributed training, please set runner class from 'cluster_train' to 'train' in config.yaml."
fi
paddlecloud job --ak @ak --sk @sk train \
    --job-name "${job_name}" \
    --group-name "${group_name}" \
    --job-conf config.ini \
    --start-cmd "${start_cmd}" \
    --files ./* \
    --job-version "${job_version}" \
    --k8s-trainers "${k8s_trainers}" \
    --k8s-cpu-cores "${k8s_cpu_cores}" \
    --k8s-gpu-cards "${k8s_gpu_cards}" \
    --k8s-priority "${priority}" \
    --wall-time "${wall_time}" \
    --is-standalone ${is_standalone} \
    --json \
    ${distribute_job_type} >.answer
code=$?
cat .answer
exit $code
