#!/bin/sh
# job.sh - submits this folder; run it again after changes: sh job.sh
cd "$(dirname "$0")" || exit 1
if kubectl -n recsys get mpijob deepfm >/dev/null 2>&1; then
    echo "there is a mpijob deepfm already; end it first: kubectl -n recsys delete mpijob deepfm" >&2
    exit 1
fi
kubectl -n recsys create configmap deepfm-files \
    --from-file=tiny.yaml \
    --dry-run=client -o yaml | kubectl -n recsys apply -f - >&2 || exit 1
kubectl apply -f job.yaml >.answer
code=$?
cat .answer
exit $code
