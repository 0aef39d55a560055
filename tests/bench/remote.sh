#!/bin/sh
# remote.sh [BUILD_DIR [SECONDS [ROUNDS]]] - training from Parquet files in a store that is far, beside training from
# the same files on the disk: 50 ms from a request to its answer and 100 MB/s per connection, made by slow_store on
# loopback. 0.9 of the speed from the disk is what it is measured against.
#
# Both run at the same time, so that other work on the machine slows both; the server and the HTTP code take their CPU
# time from the same cores. A training that waits for data leaves the cores to the other one, so the ratio is not
# flattered. Sizes: 1 million rows in 4 files, in file order and shuffled; then reading alone, without a model, which no
# training reaches.
set -eu
cd "$(dirname "$0")/../.."
build=${1:-build}
crank=$build/crank
seconds=${2:-10}
rounds=${3:-3}
out=out/bench/remote
rm -rf $out
mkdir -p $out
ninja -C "$build" tests/stores/slow_store >/dev/null
"$crank" synth criteo --rows 1M --eval_rows 1k --scale 0.01 --format parquet -o $out/data --quiet >/dev/null
"$build/tests/stores/slow_store" $out/data 50 100 >$out/port &
server=$!
trap 'kill $server 2>/dev/null || true' EXIT
until [ -s $out/port ]; do sleep 0.1; done
export AWS_ENDPOINT_URL="http://127.0.0.1:$(sed -n 's/port //p' $out/port)" AWS_ACCESS_KEY_ID=any AWS_SECRET_ACCESS_KEY=any AWS_EC2_METADATA_DISABLED=true
get() { sed "s/.*\"$1\": \([0-9.e+-]*\).*/\1/" "$2"; }

pair() { # pair NAME WHAT FLAGS...: one line of the table
    name=$1 what=$2
    shift 2
    : >$out/near.txt
    : >$out/far.txt
    for _ in $(seq "$rounds"); do
        "$crank" bench "$what" $out/data/pipeline.yaml --train_input_path "$out/data/train/*.parquet" --seconds "$seconds" --json --quiet "$@" >$out/near.json &
        near=$!
        "$crank" bench "$what" $out/data/pipeline.yaml --train_input_path "s3://bucket/train/*.parquet" --seconds "$seconds" --json --quiet "$@" >$out/far.json
        wait $near
        get rows_per_s_median $out/near.json >>$out/near.txt
        get rows_per_s_median $out/far.json >>$out/far.txt
    done
    paste $out/near.txt $out/far.txt | awk -v name="$name" '{ near += $1; far += $2 } END {
        printf "%-24s %10.0f %10.0f %8.2f\n", name, near / NR, far / NR, far / near }'
}
printf '%-24s %10s %10s %8s\n' "rows per second" disk far ratio
pair "training" train --from_files
pair "training, shuffled" train --from_files --set data_config.shuffle=true
pair "reading alone" read
kill $server
wait $server 2>/dev/null || true
echo "requests of all rounds: $(tail -n 1 $out/port)"
