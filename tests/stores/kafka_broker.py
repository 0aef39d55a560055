#!/usr/bin/env python3
"""kafka_broker.py - a broker of Kafka on loopback, for what the mock cluster of librdkafka does not have: messages found by their time, topics
that are not there, offsets of a group, messages that were removed. Written from the description of the protocol (ApiVersions 0, Metadata 1,
ListOffsets 1, Fetch 2 with messages of version 1, FindCoordinator 0, OffsetFetch 1). It serves one topic, to readers only.

  kafka_broker.py FILE.csv TOPIC PARTITIONS ROWS_OF_A_MESSAGE TYPES

The rows of the file are Arrow messages of arrow_plain.py, with columns of MaxCompute's TYPES ("INT,BIGINT,..."). Message i goes to partition
i mod PARTITIONS, and its time is 1,700,000,000,000 ms and i seconds. It prints "brokers HOST:PORT" and then obeys lines of standard input, each
of which it answers with "ok":

  trim N         messages before offset N are gone, in every partition
  commit G N     group G has committed offset N of every partition
  fail API K E   the next K requests of this number (2: offsets by time) are answered with error E

It ends with standard input.
"""
import csv
import os
import socket
import struct
import sys
import threading
import zlib

sys.dont_write_bytecode = True
import arrow_plain

FIRST_MS = 1700000000000
VERSIONS = {0: (0, 2), 1: (0, 2), 2: (0, 1), 3: (0, 1), 9: (0, 1), 10: (0, 0), 18: (0, 0)}
LOCK = threading.Lock()
LOGS = []  # per partition: (time, bytes) in the order of offsets
LOW = [0]
COMMITTED = {}
FAILS = {}  # number of a request -> [times, error]
TOPIC = b""
PORT = 0


class Take:
    """what a request holds, front to back"""
    def __init__(self, data):
        self.d, self.at = data, 0

    def num(self, fmt):
        v = struct.unpack_from(">" + fmt, self.d, self.at)[0]
        self.at += struct.calcsize(fmt)
        return v

    def bytes(self, fmt="h"):
        n = self.num(fmt)
        self.at += max(n, 0)
        return self.d[self.at - max(n, 0):self.at] if n >= 0 else None

    def array(self, one):
        return [one() for _ in range(max(self.num("i"), 0))]


def text(b, fmt="h"):
    return struct.pack(">" + fmt, -1 if b is None else len(b)) + (b or b"")


def array(items):
    return struct.pack(">i", len(items)) + b"".join(items)


def error_of(api):
    """the error that this request is to get, else 0"""
    with LOCK:
        left = FAILS.get(api)
        if not left or left[0] == 0:
            return 0
        left[0] -= 1
        return left[1]


def there(topic, partition):
    return 0 if topic == TOPIC and partition < len(LOGS) else 3  # UNKNOWN_TOPIC_OR_PARTITION


def metadata(t):
    names = t.array(t.bytes) or [TOPIC]
    node = struct.pack(">i", 1) + text(b"127.0.0.1") + struct.pack(">i", PORT) + text(None)
    parts = [struct.pack(">hii", 0, i, 1) + array([struct.pack(">i", 1)]) * 2 for i in range(len(LOGS))]
    topics = [struct.pack(">h", there(n, 0)) + text(n) + b"\0" + array([] if there(n, 0) else parts) for n in names]
    return array([node]) + struct.pack(">i", 1) + array(topics)


def each_topic(t, one):
    """an answer per partition of the topics that the request lists"""
    return array([text(name) + array(t.array(lambda: one(name))) for name in iter_names(t)])


def iter_names(t):
    for _ in range(t.num("i")):
        yield t.bytes()


def list_offsets(t):
    t.num("i")
    error = error_of(2)

    def one(topic):
        p, ms = t.num("i"), t.num("q")
        e = there(topic, p) or (error if ms >= 0 else 0)
        if e:
            return struct.pack(">ihqq", p, e, -1, -1)
        if ms < 0:
            return struct.pack(">ihqq", p, 0, -1, min(LOW[0], len(LOGS[p])) if ms == -2 else len(LOGS[p]))
        found = [(k, m[0]) for k, m in enumerate(LOGS[p]) if m[0] >= ms and k >= LOW[0]][:1] or [(-1, -1)]
        return struct.pack(">ihqq", p, 0, found[0][1], found[0][0])
    return each_topic(t, one)


def fetch(t):
    _, wait, _ = t.num("i"), t.num("i"), t.num("i")
    empty = [True]

    def one(topic):
        p, at, most = t.num("i"), t.num("q"), t.num("i")
        e, out = there(topic, p), b""
        if not e and not LOW[0] <= at <= len(LOGS[p]):
            e = 1  # OFFSET_OUT_OF_RANGE
        for k in range(at, len(LOGS[p]) if not e else at):
            ms, data = LOGS[p][k]
            body = b"\x01\x00" + struct.pack(">q", ms) + text(None, "i") + text(data, "i")
            m = struct.pack(">qiI", k, len(body) + 4, zlib.crc32(body)) + body
            if out and len(out) + len(m) > most:
                break
            out += m
        if out or e:
            empty[0] = False
        return struct.pack(">ihq", p, e, len(LOGS[p]) if not e else -1) + text(out, "i")
    body = struct.pack(">i", 0) + each_topic(t, one)
    if empty[0]:
        threading.Event().wait(min(wait, 200) / 1000)
    return body


def offset_fetch(t):
    group = t.bytes()
    return each_topic(t, lambda topic: struct.pack(">iq", t.num("i"), COMMITTED.get(group, -1)) + text(b"") + struct.pack(">h", 0))


def coordinator(t):
    t.bytes()
    return struct.pack(">hi", 0, 1) + text(b"127.0.0.1") + struct.pack(">i", PORT)


def versions(t):
    return array([struct.pack(">hhh", k, *v) for k, v in VERSIONS.items()])


ANSWERS = {1: fetch, 2: list_offsets, 3: metadata, 9: offset_fetch, 10: coordinator}


def exactly(s, n):
    out = b""
    while len(out) < n:
        more = s.recv(n - len(out))
        if not more:
            raise ConnectionError
        out += more
    return out


def serve(s):
    try:
        while True:
            t = Take(exactly(s, struct.unpack(">i", exactly(s, 4))[0]))
            api, version, number = t.num("h"), t.num("h"), t.num("i")
            if api == 18:  # a version that is not known here is answered as version 0, with UNSUPPORTED_VERSION
                body = struct.pack(">h", 35 if version > 0 else 0) + versions(t)
            else:
                assert VERSIONS[api][0] <= version <= VERSIONS[api][1], (api, version)
                t.bytes()
                body = ANSWERS[api](t)
                assert t.at == len(t.d), "a request is longer than it should be"
            s.sendall(struct.pack(">ii", len(body) + 4, number) + body)
    except (ConnectionError, OSError):
        pass
    finally:
        s.close()


def fill(path, n_partitions, per, types):
    value = {"BIGINT": int, "INT": int, "DOUBLE": float, "FLOAT": float, "STRING": str}
    with open(path, newline="") as f:
        names, *rows = csv.reader(f)
    rows = [[value[t](x) for t, x in zip(types, r)] for r in rows]
    LOGS.extend([] for _ in range(n_partitions))
    for i in range(0, len(rows), per):
        LOGS[i // per % n_partitions].append((FIRST_MS + 1000 * (i // per), arrow_plain.stream(list(zip(names, types)), rows[i:i + per], per)))


def main():
    global TOPIC, PORT
    path, topic, n_partitions, per, types = sys.argv[1:]
    TOPIC = topic.encode()
    fill(path, int(n_partitions), int(per), types.split(","))
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    PORT = listener.getsockname()[1]

    def accept():
        while True:
            threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
    threading.Thread(target=accept, daemon=True).start()
    print("brokers 127.0.0.1:%d" % PORT, flush=True)
    for line in sys.stdin:
        word, *rest = line.split()
        with LOCK:
            if word == "trim":
                LOW[0] = int(rest[0])
            elif word == "commit":
                COMMITTED[rest[0].encode()] = int(rest[1])
            elif word == "fail":
                FAILS[int(rest[0])] = [int(rest[1]), int(rest[2])]
            else:
                sys.exit("unknown command " + word)
        print("ok", flush=True)
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
