# tf_make.py IN.jsonl OUT: JSON lines as a TFRecord file of tf.train.Example messages, without TensorFlow
import json
import struct
import sys

TABLE = []
for i in range(256):
    c = i
    for _ in range(8):
        c = c >> 1 ^ (0x82F63B78 if c & 1 else 0)
    TABLE.append(c)


def masked(data):
    c = 0xFFFFFFFF
    for b in data:
        c = c >> 8 ^ TABLE[(c ^ b) & 255]
    c ^= 0xFFFFFFFF
    return ((c >> 15 | c << 17) + 0xA282EAD8) & 0xFFFFFFFF


def varint(n):
    n &= (1 << 64) - 1
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(k, data):
    return varint(k << 3 | 2) + varint(len(data)) + data


def feature(v):
    v = v if isinstance(v, list) else [v]
    if all(isinstance(x, str) for x in v):
        return field(1, b"".join(field(1, x.encode()) for x in v))
    if all(isinstance(x, int) for x in v):
        return field(3, field(1, b"".join(varint(x) for x in v)))
    return field(2, field(1, struct.pack("<%df" % len(v), *v)))


with open(sys.argv[2], "wb") as out:
    for line in open(sys.argv[1]):
        row = {k: v for k, v in json.loads(line).items() if v is not None}
        data = field(1, b"".join(field(1, field(1, k.encode()) + field(2, feature(v))) for k, v in row.items()))
        size = struct.pack("<Q", len(data))
        out.write(size + struct.pack("<I", masked(size)) + data + struct.pack("<I", masked(data)))
