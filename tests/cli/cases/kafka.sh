# KafkaDataset: the weights of a run on files; stopped, killed and continued at the offsets of the checkpoint; start by time;
# brokers that fail. The brokers are the mock cluster of librdkafka.
. "$CLI/brokers.sh"
train() { # train DIR ADDRESS FLAGS...
    to=$1 from=$2
    shift 2
    run crank train k.yaml --train_input_path "$from" --model_dir "$to" --set train_config.save_checkpoints_steps=5 "$@"
}
run crank train tiny_pq.yaml --model_dir near --set train_config.num_epochs=1 --set train_config.save_checkpoints_steps=5 --set eval_input_path=
ends 0
brokers 3 96 stream
# all messages that are there, in the order of the file: one of each partition in turn
for t in 1 3; do
    train m$t "$at?$all&stop.at.end=true" --threads $t --set train_config.num_epochs=1
    ends 0
    same_weights near m$t
done
grep -q '"places": "clicks:0=0,[1-9][0-9]*,32 clicks:1=0,[1-9][0-9]*,32 clicks:2=0,[1-9][0-9]*,32 turn=[0-2]"' m1/model.ckpt-25/state.json || fail "$(cat m1/model.ckpt-25/state.json)"
# killed, and continued at the offsets of its checkpoint; the group has no say in it
may_be_killed=yes
CRANK_TEST_KILL=step:17 train killed "$at?$all&stop.at.end=true" --set train_config.num_epochs=1
ends 137
may_be_killed=
train killed "$at?group.id=other&stop.at.end=true" --set train_config.num_epochs=1 --continue_train
ends 0
same_weights near killed
# shuffled, two epochs, any number of threads, killed and continued
for t in 1 2; do
    train s$t "$at?$all&stop.at.end=true" --threads $t --set train_config.num_epochs=2 --set data_config.shuffle=true --set data_config.shuffle_buffer_size=4
done
same_weights s1 s2
may_be_killed=yes
CRANK_TEST_KILL=step:40 train s3 "$at?$all&stop.at.end=true" --set train_config.num_epochs=2 --set data_config.shuffle=true --set data_config.shuffle_buffer_size=4
ends 137
may_be_killed=
train s3 "$at?$all&stop.at.end=true" --continue_train --set train_config.num_epochs=2 --set data_config.shuffle=true --set data_config.shuffle_buffer_size=4
same_weights s1 s3
# fetches that fail, and a broker that goes away for a while
tell fail 5
train f "$at?$all&stop.at.end=true" --set train_config.num_epochs=1
same_weights near f
# the mock cluster knows no times and says that it has no such message; then auto.offset.reset counts, and a line tells it
train w "$at?$all&start.timestamp.ms=1700000030000&stop.timestamp.ms=1900000000000" --set train_config.num_epochs=1
same_weights near w
has_err "...clicks partition 2 has no message of start.timestamp.ms or later; it begins where auto.offset.reset says, at its first message"
# a group without offsets begins at the end: nothing comes, and a signal ends the wait
crank train k.yaml --train_input_path "$at?group.id=g" --model_dir none >"$out" 2>"$err" &
waits=$!
sleep 3
kill -TERM $waits
code=0
wait $waits || code=$?
[ $code -ne 0 ] || fail "an endless stream ended"
has_err "...stopped by a signal before the first step; there is nothing to save"
gone
# a stream that goes on: num_steps ends the run, and a later one goes on with what came meanwhile
brokers 3 60 stream
train live "$at?$all" --set train_config.num_steps=15 --set train_config.num_epochs=0
ends 0
tell more 100
train live "$at?$all" --set train_config.num_steps=30 --set train_config.num_epochs=0 --continue_train
ends 0
run crank train tiny_pq.yaml --model_dir near30 --set train_config.num_steps=30 --set train_config.num_epochs=0 --set train_config.save_checkpoints_steps=5 --set eval_input_path=
same_weights near30 live
# a message that is no Arrow data
tell bad nonsense
train bad "$at?$all&stop.at.end=true" --set train_config.num_epochs=1
ends bad
has_err "...clicks partition 0 offset 32: ..."
gone
# messages without a schema: input_fields says what they hold
brokers 2 96 bare
sed 's/^data_config:/data_config:\n  input_fields: [{input_name: label, input_type: INT32}, {input_name: user, input_type: INT64}, {input_name: item, input_type: INT64}, {input_name: tags, input_type: STRING}, {input_name: price, input_type: DOUBLE}]/' k.yaml >k_bare.yaml
run crank train k_bare.yaml --train_input_path "$at?$all&stop.at.end=true" --model_dir bare --set train_config.num_epochs=1 --set train_config.save_checkpoints_steps=5
ends 0
same_weights near bare
# what is there; brokers that are not
run crank ls "$at?$all"
ends 0
has_out "partition 0: offsets 0 to 48"
run crank ls "kafka://127.0.0.1:1/clicks?$all"
ends 1
has_err "kafka://127.0.0.1:1/clicks: cannot open the topic: ...; check the brokers, the topic and the keys of the address"
# mistakes
run crank train k.yaml --train_input_path "${at%/clicks}/other?$all" --model_dir x
ends bad
has_err "...other: partition 0 has no message that would tell the columns; list them in data_config.input_fields, or write a message first"
run crank train k.yaml --train_input_path "$at?auto.offset.reset=earliest" --model_dir x
ends bad
has_err "...has no group.id; write kafka://broker:9092/topic?group.id=NAME"
run crank train k.yaml --train_input_path "$at?group.id=g&no.such.key=secretvalue" --model_dir x
ends bad
has_err "...librdkafka does not take the key 'no.such.key'..."
run crank train k.yaml --train_input_path "$at?$all" --eval_input_path "$at?$all" --model_dir x
ends bad
has_err "...the stream has no end, so it can only be trained on; add stop.at.end=true..."
run crank train tiny.yaml --train_input_path "$at?$all" --model_dir x
ends bad
has_err "...this is a Kafka topic; topics are read as data only, with dataset_type: KafkaDataset"
run crank train tiny.yaml --model_dir "$at"
ends bad
gone
