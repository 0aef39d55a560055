#!/bin/sh
# run.sh CRANK READER - trains a little and reads the event files with a reader that is not ours.
#
# READER: node (npm's tfrecord and protobufjs), python (Google's protobuf), same (both, and their
# lists must be equal). What is listed is compared with what train_log.jsonl and the results say.
# Exit code 77, with a reason, when the reader is not installed; `make test-full` installs them
# (tools/deps.sh full, tools/npm.sh tests/readers).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
crank=$(cd "$(dirname "$1")" && pwd)/$(basename "$1") reader=$2
dir=$(mktemp -d "${TMPDIR:-/tmp}/crank-readers.XXXXXX")
trap 'rm -rf "$dir"' EXIT

skip() {
    echo "skipped: $*"
    exit 77
}
modules=$here/node_modules
python=
find_readers() {
    case $1 in node | same)
        command -v node >/dev/null || skip "node is not installed"
        NODE_PATH=$modules node -e 'require("tfrecord/lib/record_reader"); require("protobufjs")' 2>/dev/null ||
            skip "npm's tfrecord and protobufjs are not installed: sh tools/npm.sh tests/readers"
        ;;
    esac
    case $1 in python | same)
        command -v protoc >/dev/null || skip "protoc is not installed: apt install protobuf-compiler"
        for p in python3 /usr/bin/python3; do
            if $p -c 'import google.protobuf' 2>/dev/null; then python=$p; fi
        done
        [ -n "$python" ] || skip "Python's protobuf is not installed: apt install python3-protobuf"
        protoc -I "$here" --python_out="$dir" "$here/events.proto"
        ;;
    esac
}
list() { # list READER FILE...
    r=$1
    shift
    case $r in
    node) NODE_PATH=$modules node "$here/read_events.js" "$@" ;;
    python) PYTHONPATH=$dir PYTHONDONTWRITEBYTECODE=1 "$python" "$here/read_events.py" "$@" ;;
    esac
}
fail() {
    echo "FAIL: $*"
    exit 1
}
count() { grep -c -E "$1" "$2" || true; }

find_readers "$reader"
cd "$dir"
"$crank" synth criteo --rows 4k --eval_rows 500 --scale 0.0002 -o data >/dev/null
train() {
    "$crank" train data/pipeline.yaml --model_dir m --quiet --set train_config.num_epochs=0 \
        --set data_config.batch_size=100 --set train_config.log_step_count_steps=5 --set train_config.save_checkpoints_epochs=0 \
        --set train_config.save_checkpoints_steps=20 --set 'train_config.tensorboard_summaries=[parameter, gradient, gradient_norm, global_gradient_norm]' \
        "$@" >out 2>err || fail "$(cat err)"
}
train --set train_config.num_steps=31
# event files are read in the order of their names, which begin with the second
until [ "$(date +%s)" -gt "$(ls m/events.out.tfevents.* | sed 's/.*tfevents\.\([0-9]*\).*/\1/')" ]; do sleep 0.05; done
train --set train_config.num_steps=36 --continue_train
"$crank" eval m/pipeline.config --quiet >out 2>err || fail "$(cat err)"

for r in node python; do
    if [ "$reader" != "$r" ] && [ "$reader" != same ]; then continue; fi
    list $r m/events.out.tfevents.* >$r.train
    list $r m/eval_val/events.out.tfevents.* >$r.eval_val
    list $r m/eval/events.out.tfevents.* >$r.eval
    [ "$(count '^0 version brain.Event:2 by crank$' $r.train)" = 2 ] || fail "$r: two files begin with their version"
    [ "$(count '^31 session 1$' $r.train)" = 1 ] || fail "$r: the second run says where it begins"
    [ "$(count ' text config/text_summary ' $r.train)" = 2 ] || fail "$r: each run has its config as text"
    steps=$(count '"event": "train"' m/train_log.jsonl)
    for tag in loss/total loss/binary_cross_entropy lr/g0 lr/g1 global_gradient_norm; do
        [ "$(count " scalar $tag " $r.train)" = "$steps" ] || fail "$r: $tag at each of $steps steps"
    done
    [ "$(count ' histogram .*\.weight/rank:0 ' $r.train)" -ge "$steps" ] || fail "$r: histograms of tables"
    [ "$(count ' histogram .*/gradient ' $r.train)" -ge "$steps" ] || fail "$r: histograms of gradients"
    [ "$(count ' scalar .*/gradient_norm ' $r.train)" -ge "$steps" ] || fail "$r: norms of gradients"
    evals=$(grep -c . m/train_eval_result_v2.txt)
    [ "$(count ' scalar metric/auc ' $r.eval_val)" = "$evals" ] || fail "$r: metric/auc of each of $evals evaluations"
    [ "$(count '^35 scalar metric/auc ' $r.eval)" = 1 ] || fail "$r: metric/auc of crank eval"
    echo "$r: $(grep -c . $r.train) values of training, $(grep -c . $r.eval_val) of evaluation"
done
if [ "$reader" = same ]; then
    for f in train eval_val eval; do cmp "node.$f" "python.$f" || fail "the readers see different values in $f"; done
fi
