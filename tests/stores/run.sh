#!/bin/sh
# run.sh [BUILD_DIR [SECONDS]] - the stores tier: S3 beside s3rver, an implementation of somebody else, which npm installs; HDFS with
# Kerberos (kerberos.sh); then trainings on every stand-in while requests fail at random, for SECONDS (120) in all. Hours are for a quiet night:
#   sh tests/stores/run.sh build 14400
# Each round is a training with checkpoints on the store that is killed at a random step, continued and compared with a local
# run, bit for bit; HDFS by its own protocol is only read, so the checkpoints of its rounds are on the disk. The seed of a round
# is printed; CRANK_FAULT_SEED=N gives the same step and the same row of faults, which requests of many threads meet in their order.
# CRANK_FAULT_STORES="s3 hdfs" chooses among s3, oss, hdfs, native and odps, which share the seconds.
set -eu
cd "$(dirname "$0")/../.."
build=${1:-build}
seconds=${2:-120}
crank=$PWD/$build/crank
root=$PWD
here=$root/tests/stores
[ -f "$build/http-curl.so" ] || { echo "crank was built without libcurl"; exit 77; }
command -v python3 >/dev/null || { echo "python3 is not installed (the stand-ins of stores need it)"; exit 77; }
sh tools/npm.sh tests/stores
ninja -C "$build" crank tests/cli/weights_diff >/dev/null
tmp=$(mktemp -d)
server=
trap 'kill $server 2>/dev/null || true; rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM
cd "$tmp"
passed=0
fail() {
    echo "FAIL: $*"
    tail -n 20 log server.err 2>/dev/null || true
    exit 1
}
run() { "$@" >log 2>&1 || fail "$*"; }
start() { # start COMMAND...: a server that prints its ports in one line; $ports
    : >ports
    "$@" >ports 2>server.err &
    server=$!
    for _ in $(seq 600); do
        [ ! -s ports ] || break
        sleep 0.1
    done
    ports=$(sed -n 's/^[a-z]* //p' ports)
    [ -n "$ports" ] || fail "it does not start: $*"
}
over() {
    kill $server
    wait $server 2>/dev/null || true
    server=
}
same_weights() { # the newest checkpoints of two folders
    a=$(ls -d "$1"/model.ckpt-* | sort -t- -k2 -n | tail -n 1) b=$(ls -d "$2"/model.ckpt-* | sort -t- -k2 -n | tail -n 1)
    for f in "$a"/*.safetensors; do
        "$root/$build/tests/cli/weights_diff" "$f" "$b/$(basename "$f")" >log 2>&1 || fail "$1 and $2 differ: $f"
    done
}
control() { # control PORT JSON: changes the faults of a stand-in; an empty JSON shows its counters
    python3 -c 'import sys, urllib.parse, urllib.request as u; print(u.urlopen("http://127.0.0.1:%s/%s" % (sys.argv[1], sys.argv[2] and "__control?json=" + urllib.parse.quote(sys.argv[2]) or "__stats")).read().decode())' "$1" "$2"
}
count() { # count PORT NAME: a counter of a stand-in
    control "$1" "" | sed "s/.*\"$2\": \([0-9]*\).*/\1/"
}
new_seed() { # $seed
    seed=${CRANK_FAULT_SEED:-$(od -An -N2 -tu2 /dev/urandom | tr -d ' ')}
}
ok() { # ok TEXT
    passed=$((passed + 1))
    echo "PASS $1"
}
# keys of the servers, which are the same for all
export AWS_EC2_METADATA_DISABLED=true AWS_ACCESS_KEY_ID=S3RVER AWS_SECRET_ACCESS_KEY=S3RVER HOME="$tmp"
"$crank" synth census --rows 4k --eval_rows 500 --format parquet -o data --quiet >/dev/null
config="data/pipeline.yaml --set data_config.batch_size=100 --set train_config.num_epochs=1 --set train_config.save_checkpoints_epochs=0 --set train_config.save_checkpoints_steps=7"
# shellcheck disable=SC2086
run "$crank" train $config --model_dir near --quiet

# ---- s3rver ----
mkdir s3
start node "$here/s3rver.js" s3
export AWS_ENDPOINT_URL=http://127.0.0.1:$ports
at=s3://demo-bucket
run "$crank" cp -r data/train "$at/data/dt=2025 01+01/train"
run "$crank" cp -r data/eval "$at/data/eval"
run "$crank" ls "$at/data"
grep -q 'eval/' log || fail "a listing"
# shellcheck disable=SC2086
run "$crank" train $config --train_input_path "$at/data/dt=*/train/*.parquet" --eval_input_path "$at/data/eval/*.parquet" --model_dir "$at/exp/one" --quiet
run "$crank" cp -r "$at/exp/one" back
same_weights near back
head -c 20000000 /dev/urandom >big.bin
run "$crank" cp big.bin "$at/big.bin"
run "$crank" cp "$at/big.bin" big_back.bin
cmp -s big.bin big_back.bin || fail "a file in parts came back otherwise"
if AWS_SECRET_ACCESS_KEY=wrong "$crank" ls "$at/data" >log 2>&1; then fail "a wrong key was taken"; fi
grep -q SignatureDoesNotMatch log || fail "what is said of a wrong key"
over
ok "s3rver: listing, training, checkpoints, parts, a wrong key"

# ---- Kerberos ----
skipped=0
if sh "$here/kerberos.sh" "$build" >kerberos.log 2>&1; then
    passed=$((passed + $(grep -c ^PASS kerberos.log)))
    grep ^PASS kerberos.log
elif [ $? -eq 77 ]; then
    skipped=1
    echo "SKIP kerberos: $(cat kerberos.log)"
else
    cat kerberos.log
    exit 1
fi

# ---- faults ----
round() { # round NAME ROOT SEED MODEL_DIR: one training on a store
    rm -rf log
    points=$(($3 % 35 + 1))
    # shellcheck disable=SC2086
    CRANK_TEST_KILL=step:$points "$crank" train $config --train_input_path "$2/data/train/*.parquet" --eval_input_path "$2/data/eval/*.parquet" --model_dir "$4" --quiet >log 2>&1 || true
    # shellcheck disable=SC2086
    "$crank" train $config --train_input_path "$2/data/train/*.parquet" --eval_input_path "$2/data/eval/*.parquet" --model_dir "$4" --continue_train --quiet >log 2>&1 ||
        fail "$1, seed $3: the run does not go on"
}
store() { # store NAME ROOT CONTROL_PORT SECONDS: rounds on a store, with faults
    began=$(date +%s)
    n=0
    run "$crank" cp -r data/train "$2/data/train"
    run "$crank" cp -r data/eval "$2/data/eval"
    while [ $n -eq 0 ] || [ $(($(date +%s) - began)) -lt "$4" ]; do
        new_seed
        echo "$1, seed $seed"
        control "$3" "{\"fault_rate\": 0.05, \"seed\": $seed}" >/dev/null
        rm -rf back
        round "$1" "$2" "$seed" "$2/exp/$n"
        "$crank" cp -r "$2/exp/$n" back >log 2>&1 || fail "$1, seed $seed: the result cannot be copied"
        same_weights near back
        n=$((n + 1))
        [ -z "${CRANK_FAULT_SEED:-}" ] || break
    done
    faults=$(count "$3" faults)
    [ "$faults" -gt 0 ] || fail "$1: no faults were met"
    ok "$1: $n rounds, $faults faults"
}
stores=${CRANK_FAULT_STORES:-s3 oss hdfs native odps}
# shellcheck disable=SC2086
each=$((seconds / $(echo $stores | wc -w)))
chosen() { # chosen NAME
    case " $stores " in *" $1 "*) return 0 ;; esac
    return 1
}
export AWS_ACCESS_KEY_ID=AKIDEXAMPLE AWS_SECRET_ACCESS_KEY=SECRETEXAMPLE OSS_ACCESS_KEY_ID=AKIDEXAMPLE OSS_ACCESS_KEY_SECRET=SECRETEXAMPLE OSS_REGION=cn-hangzhou
for kind in s3 oss; do
    chosen $kind || continue
    start python3 "$here/object_server.py" --kind $kind
    export AWS_ENDPOINT_URL="http://127.0.0.1:$ports" OSS_ENDPOINT="http://127.0.0.1:$ports"
    store $kind $kind://demo-bucket "$ports" $each
    over
done
export HADOOP_USER_NAME=alice
if chosen hdfs; then
    start python3 "$here/hdfs_server.py"
    store hdfs "webhdfs://127.0.0.1:${ports%% *}" "${ports%% *}" $each
    over
fi

# ---- HDFS by its own protocol: two name nodes that change roles, three data nodes that fail in turn; files of many blocks ----
native_rounds() {
    mkdir -p root conf
    cp -r data near root
    printf '<configuration></configuration>\n' >conf/core-site.xml
    start python3 "$here/hdfs_native_server.py" --root root --page 2 --block 40000
    echo "$ports" | {
        read -r a b _
        printf '<configuration><property><name>dfs.nameservices</name><value>ns1</value></property>
<property><name>dfs.ha.namenodes.ns1</name><value>a,b</value></property>
<property><name>dfs.namenode.rpc-address.ns1.a</name><value>127.0.0.1:%s</value></property>
<property><name>dfs.namenode.rpc-address.ns1.b</name><value>127.0.0.1:%s</value></property></configuration>\n' "$a" "$b" >conf/hdfs-site.xml
    }
    export HADOOP_CONF_DIR="$tmp/conf" CRANK_HDFS=native
    at=${ports##* }
    began=$(date +%s)
    n=0
    while [ $n -eq 0 ] || [ $(($(date +%s) - began)) -lt $each ]; do
        new_seed
        echo "native hdfs, seed $seed"
        control "$at" "{\"fault_rate\": 0.05, \"change_rate\": 0.05, \"seed\": $seed}" >/dev/null
        rm -rf native back
        round "native hdfs" hdfs://ns1 "$seed" native
        same_weights near native
        "$crank" cp -r hdfs://ns1/near back >log 2>&1 || fail "native hdfs, seed $seed: a folder cannot be copied"
        diff -r near back >log || fail "native hdfs, seed $seed: a folder came back otherwise"
        n=$((n + 1))
        [ -z "${CRANK_FAULT_SEED:-}" ] || break
    done
    faults=$(count "$at" faults) failovers=$(count "$at" failovers)
    [ "$faults" -gt 0 ] || fail "native hdfs: no faults were met"
    ok "native hdfs: $n rounds, $faults faults, $failovers of them fail-overs"
    over
    unset CRANK_HDFS HADOOP_CONF_DIR
}
if chosen native; then native_rounds; fi

# ---- MaxCompute: tables by both ways, with keys that end ----
odps_rounds() {
    "$crank" synth census --rows 4k --eval_rows 500 --format csv -o csv --quiet >/dev/null
    python3 - <<'END'
import csv, glob, json, os
for part in "train", "eval":
    os.makedirs("tables/" + part)
    files = [list(csv.reader(open(f))) for f in sorted(glob.glob("csv/%s/*.csv" % part))]
    whole = [all(r[i].lstrip("-").isdigit() for f in files for r in f[1:]) for i in range(len(files[0][0]))]
    json.dump({"columns": [[n, "BIGINT" if w else "STRING"] for n, w in zip(files[0][0], whole)], "partitions": ["dt"]}, open("tables/%s/schema.json" % part, "w"))
    for k, f in enumerate(files):
        with open("tables/%s/dt=%d.jsonl" % (part, k), "w") as out:
            for r in f[1:]:
                out.write(json.dumps([int(x) if w else x for x, w in zip(r, whole)]) + "\n")
END
    start python3 -B "$here/odps_server.py" --dir tables
    export ODPS_ENDPOINT="http://127.0.0.1:$ports/api" ODPS_REGION_NAME=cn-hangzhou ALIBABA_CLOUD_ECS_METADATA_DISABLED=true ALIBABA_CLOUD_CREDENTIALS_URI="http://127.0.0.1:$ports/creds"
    unset OSS_ACCESS_KEY_ID OSS_ACCESS_KEY_SECRET
    control "$ports" '{"fault_rate": 0.05, "rotate_each": 25, "keys": ["TEMP", "SECRET", "TOKEN"], "batch_rows": 333}' >/dev/null
    began=$(date +%s)
    n=0
    while [ $n -lt 2 ] || [ $(($(date +%s) - began)) -lt $each ]; do
        new_seed
        control "$ports" "{\"seed\": $seed}" >/dev/null
        how=$([ $((n % 2)) -eq 0 ] && echo OdpsDataset || echo OdpsDatasetV1)
        echo "odps by $how, seed $seed"
        rm -rf table
        for again in "" --continue_train; do
            # shellcheck disable=SC2086
            CRANK_TEST_KILL=$([ "$again" ] || echo step:$((seed % 35 + 1))) "$crank" train $config --set data_config.dataset_type=$how --train_input_path odps://demo/tables/train --eval_input_path odps://demo/tables/eval \
                --model_dir table $again --quiet >log 2>&1 || [ ! "$again" ] || fail "odps by $how, seed $seed: the run does not go on"
        done
        same_weights near table
        n=$((n + 1))
        [ -z "${CRANK_FAULT_SEED:-}" ] || [ $n -lt 2 ] || break
    done
    faults=$(count "$ports" faults)
    [ "$faults" -gt 0 ] || fail "odps: no faults were met"
    ok "odps: $n rounds, $faults faults"
    over
}
if chosen odps; then odps_rounds; fi
echo "$passed passed, 0 failed, $skipped skipped"
