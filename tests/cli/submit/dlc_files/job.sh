#!/bin/sh
# job.sh [DATE] - submits this folder; run it again after changes: sh job.sh
cd "$(dirname "$0")" || exit 1
# the nodes of this job know each other by it
[ -s secret ] || (umask 077 && head -c 32 /dev/urandom | base64 >secret) || exit 1
stage=$PWD/.stage/FOLDER
rm -rf .stage && mkdir -p "$stage" || exit 1
for f in *; do
    case $f in job.sh | job.ini | crank.tar.gz) ;; *) cp -r "$f" "$stage/" || exit 1 ;; esac
done
(umask 077 && cat job.ini >.job.ini)
cp -r "$stage" HERE/storage/ || exit 1
dlc submit pytorchjob --job_file .job.ini >.answer
code=$?
cat .answer
exit $code
