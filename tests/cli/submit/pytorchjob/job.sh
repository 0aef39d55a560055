#!/bin/sh
# job.sh - submits this folder; run it again after changes: sh job.sh
cd "$(dirname "$0")" || exit 1
# the nodes of this job know each other by it
[ -s secret ] || (umask 077 && head -c 32 /dev/urandom | base64 >secret) || exit 1
if kubectl -n recsys get pytorchjob deepfm >/dev/null 2>&1; then
    echo "there is a pytorchjob deepfm already; end it first: kubectl -n recsys delete pytorchjob deepfm" >&2
    exit 1
fi
kubectl -n recsys create configmap deepfm-files \
    --from-file=tiny.yaml \
    --dry-run=client -o yaml | kubectl -n recsys apply -f - >&2 || exit 1
kubectl -n recsys create secret generic deepfm-secret --from-file=secret \
    --dry-run=client -o yaml | kubectl -n recsys apply -f - >&2 || exit 1
kubectl apply -f job.yaml >.answer
code=$?
cat .answer
exit $code
