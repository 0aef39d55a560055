#!/bin/sh
# node.sh - what every container runs.
cd /mnt/data/jobs/FOLDER || exit 1
export MODE='a b'
chmod 600 secret
exec crank launch --nproc-per-node 2 --max_restarts 3 --secret_file secret -- train ./tiny.yaml --model_dir /mnt/data/model --set train_config.lanes=8 --continue_train
