# brokers.sh - the mock cluster of librdkafka with the rows of train.parquet, for cases that train on a topic. Sets k.yaml, the
# config of tiny.yaml with KafkaDataset and without an evaluation, whose files would be of another kind.
MOCK=$(dirname "$CRANK")/tests/stores/kafka_mock
[ -x "$MOCK" ] && [ -f "$(dirname "$CRANK")/kafka-rdkafka.so" ] || skip "crank was built without librdkafka"
tiny_config
tiny_data 960 300
tiny_parquet 100
mock=
trap 'kill $mock 2>/dev/null || true' EXIT
brokers() { # brokers PARTITIONS FIRST HOW: a topic with the first messages of train.parquet, 10 rows each; $at is its address
    listen "$MOCK" train.parquet clicks "$1" 10 "$2" "$3"
}
broker() { # broker PARTITIONS: the same with all messages of train.csv, by kafka_broker.py
    listen python3 "$CLI/../stores/kafka_broker.py" train.csv clicks "$1" 10 INT,BIGINT,BIGINT,STRING,DOUBLE
}
listen() { # listen COMMAND...
    rm -f in "$CASE_DIR/mock"
    mkfifo in
    : >"$CASE_DIR/mock"
    "$@" <in >"$CASE_DIR/mock" 2>"$CASE_DIR/mock.err" &
    mock=$!
    exec 5>in
    for _ in $(seq 300); do
        [ ! -s "$CASE_DIR/mock" ] || break
        sleep 0.1
    done
    at=kafka://$(sed -n 's/brokers //p' "$CASE_DIR/mock")/clicks
    [ "$at" != kafka:///clicks ] || fail "the brokers do not start: $(cat "$CASE_DIR/mock.err")"
}
tell() { # tell COMMAND: to the brokers
    n=$(grep -c ok "$CASE_DIR/mock" || true)
    echo "$*" >&5
    for _ in $(seq 300); do
        [ "$(grep -c ok "$CASE_DIR/mock" || true)" -eq "$n" ] || return 0
        sleep 0.1
    done
    fail "the brokers do not obey: $(cat "$CASE_DIR/mock.err")"
}
gone() {
    exec 5>&-
    wait $mock || fail "the brokers: $(cat "$CASE_DIR/mock.err")"
}
all='group.id=g&auto.offset.reset=earliest'
sed 's/ParquetDataset/KafkaDataset/; /train_input_path/d; /eval_input_path/d' tiny_pq.yaml >k.yaml
grep -q KafkaDataset k.yaml || fail "no KafkaDataset in the config"
