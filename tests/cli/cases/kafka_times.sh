# KafkaDataset where a run begins and ends by the time of messages, at the offsets of a group, or not at all: a topic that is not there,
# messages that were removed, brokers that refuse. The broker is tests/stores/kafka_broker.py.
. "$CLI/brokers.sh"
command -v python3 >/dev/null || skip "python3 is not installed (the stand-in of the broker needs it)"
broker 3
near() { # near DIR FIRST LAST: a local run on the rows of messages FIRST to LAST, of 10 rows each, which are numbered from 0
    { head -n 1 train.csv; sed -n "$((10 * $2 + 2)),$((10 * $3 + 11))p" train.csv; } >part.csv
    pq_make -c part.parquet 'label:int32, user:int64, item:int64, tags:string, price:double' 100 <part.csv
    run crank train tiny_pq.yaml --train_input_path part.parquet --model_dir "$1" --set train_config.num_epochs=1 --set eval_input_path=
    ends 0
}
far() { # far DIR KEYS FLAGS...
    to=$1 keys=$2
    shift 2
    run crank train k.yaml --train_input_path "$at?group.id=g&$keys" --model_dir "$to" --set train_config.num_epochs=1 "$@"
}
near all 0 95
near late 30 95
near middle 30 59
far a "auto.offset.reset=earliest&stop.at.end=true"
ends 0
same_weights all a
# a password of the address is in no output and no log; the config of the run keeps it, because the run goes on with it
secret='auto.offset.reset=earliest&stop.at.end=true&sasl.password=TOPSECRET'
far a_secret "$secret" --log_dir logs --log_json log.jsonl --debug
ends 0
if grep -rl TOPSECRET "$out" "$err" logs log.jsonl a_secret | grep -v pipeline.config; then fail "a password is shown"; fi
grep -q 'sasl.password=\*\*\*' log.jsonl || fail "no address in the log"
run crank check k.yaml --train_input_path "$at?group.id=g&$secret"
if grep TOPSECRET "$out" "$err"; then fail "a password is shown by check"; fi
run crank cp "$at?group.id=g&$secret" copy
ends 2
has_err "crank cp: '$at...sasl.password=***' is a Kafka topic, ..."
# by time: 30 s after the first message, and up to 60 s after it; whatever auto.offset.reset says
far b "start.timestamp.ms=1700000030000&stop.at.end=true"
ends 0
same_weights late b
far c "start.timestamp.ms=1700000029001&stop.timestamp.ms=1700000060000&auto.offset.reset=earliest"
ends 0
same_weights middle c
# one partition a question; killed and continued: the times are not asked for again
export TZREC_KAFKA_OFFSETS_FOR_TIMES_BATCH_SIZE=1
may_be_killed=yes
CRANK_TEST_KILL=step:7 far d "start.timestamp.ms=1700000030000&stop.timestamp.ms=1700000060000" --set train_config.save_checkpoints_steps=2
ends 137
may_be_killed=
far d "start.timestamp.ms=1700000000000&stop.timestamp.ms=1700000060000" --continue_train
ends 0
same_weights middle d
unset TZREC_KAFKA_OFFSETS_FOR_TIMES_BATCH_SIZE
# a time behind the last messages of some partitions: those begin where auto.offset.reset says, with a line about it
far e "start.timestamp.ms=1700000094000&stop.at.end=true"
ends 0
has_err "...clicks partition 0 has no message of start.timestamp.ms or later; it begins where auto.offset.reset says, at its end"
! grep -q "partition 1 has no message" "$err" || fail "partition 1 has one: $(cat "$err")"
# what a group has committed
tell commit g 10
far f "stop.at.end=true"
ends 0
same_weights late f
# brokers that refuse the question, once or always
tell fail 2 1 7
far g "start.timestamp.ms=1700000030000&stop.at.end=true"
ends 0
same_weights late g
tell fail 2 1000 29
far h "start.timestamp.ms=1700000030000&stop.at.end=true"
ends 1
has_err "kafka://...clicks: cannot find the offsets of a time: Broker: Topic authorization failed; check the brokers, the topic and the keys of the address"
tell fail 2 0 0
# messages that were removed: a new run begins behind them, one that had come to them does not go on
may_be_killed=yes
CRANK_TEST_KILL=step:7 far i "auto.offset.reset=earliest&start.timestamp.ms=0&stop.at.end=true" --set train_config.save_checkpoints_steps=2
ends 137
may_be_killed=
tell trim 20
far i "auto.offset.reset=earliest&start.timestamp.ms=0&stop.at.end=true" --continue_train
ends bad
has_err "...clicks partition ... is not there any more: the brokers have removed it; keep messages longer than a run stands still, or start anew"
near rest 60 95
far j "auto.offset.reset=earliest&start.timestamp.ms=0&stop.at.end=true"
ends 0
same_weights rest j
run crank ls "$at?group.id=g"
ends 0
has_out "partition 0: offsets 20 to 32"
# a topic that is not there
run crank ls "${at%/clicks}/other?group.id=g"
ends 1
has_err "kafka://...other: cannot open the topic: Broker: Unknown topic or partition; check the brokers, the topic and the keys of the address"
at=${at%/clicks}/other
far k "stop.at.end=true"
ends 1
has_err "kafka://...other: cannot open the topic: Broker: Unknown topic or partition; check the brokers, the topic and the keys of the address"
gone
