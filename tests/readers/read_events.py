# read_events.py FILE... - lists event files: framing and checksums by the code here, messages by
# Google's protobuf (events_pb2 comes from protoc and must be in the path). read_events.js prints the
# same lines by other means.
import hashlib
import struct
import sys

import events_pb2


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17 & 0xFFFFFFFF) + 0xA282EAD8) & 0xFFFFFFFF


def records(path):
    data = open(path, "rb").read()
    at = 0
    while at < len(data):
        head = data[at:at + 8]
        (size,) = struct.unpack("<Q", head)
        body = data[at + 12:at + 12 + size]
        want = struct.unpack("<I", data[at + 8:at + 12])[0], struct.unpack("<I", data[at + 12 + size:at + 16 + size])[0]
        if want != (masked(head), masked(body)):
            raise SystemExit("%s: wrong checksum at byte %d" % (path, at))
        yield body
        at += 16 + size


def bits(x, kind):
    return struct.pack(kind, x).hex()


def show(event):
    what = event.WhichOneof("what")
    if what == "file_version":
        yield "%d version %s by %s" % (event.step, event.file_version, event.source_metadata.writer)
        return
    if what == "session_log":
        yield "%d session %d" % (event.step, event.session_log.status)
        return
    for v in event.summary.value:
        kind = v.WhichOneof("value")
        if kind == "simple_value":
            yield "%d scalar %s %s" % (event.step, v.tag, bits(v.simple_value, ">f"))
        elif kind == "histo":
            h = v.histo
            assert len(h.bucket) == len(h.bucket_limit) and sum(h.bucket) == h.num, v.tag
            assert all(a < b for a, b in zip(h.bucket_limit, h.bucket_limit[1:])), v.tag
            numbers = [h.min, h.max, h.num, h.sum, h.sum_squares]
            yield "%d histogram %s %s %d" % (event.step, v.tag, " ".join(bits(x, ">d") for x in numbers), len(h.bucket))
        else:
            assert v.metadata.plugin_data.plugin_name == "text" and v.tensor.dtype == 7, v.tag
            assert [d.size for d in v.tensor.tensor_shape.dim] == [1], v.tag
            yield "%d text %s %s" % (event.step, v.tag, hashlib.sha256(v.tensor.string_val[0]).hexdigest())


for path in sys.argv[1:]:
    for body in records(path):
        event = events_pb2.Event()
        event.ParseFromString(body)
        assert event.wall_time > 1e9
        for line in show(event):
            print(line)
