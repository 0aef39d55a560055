#!/usr/bin/env python3
"""hdfs_native_server.py - a stand-in for HDFS's own protocol on loopback, for tests: two name nodes, of which one may be on standby, and three
data nodes that all have every block. Written from the public description of the protocol (message numbers, packets), not from crank's client.
It serves a folder of the disk, and reads only.

  hdfs_native_server.py --root DIR [--user U] [--page N] [--block BYTES] [--chunk BYTES] [--sum crc32|crc32c|none]

It prints "nodes NN1 NN2 DN1 DN2 DN3 CONTROL" with their ports. A file that is replaced on the disk has new blocks, and data nodes do not have
the old ones any more. Before it starts, it takes two published messages apart and makes them again. GET /__control?json={...} of CONTROL
changes the faults, /__stats tells what was asked:

  standby: 0|1       this name node is on standby (-1: none)
  kerberos: 1        name nodes refuse users that show no ticket
  coded, encrypted, building: PATH   this file is erasure-coded, in an encryption zone, or being written
  rpc: KIND          the next answer of a name node is spoiled, once: drop, close (after it), garbage, huge, cut, other
  web: 1             name nodes answer as a web server does
  dead: [I...]       these data nodes close every connection
  deny: [I...]       these data nodes have no block
  data: KIND         the next read is spoiled, once: sum, cut, short, length, huge, place, garbage, answer, more
  spoil: [I...]      these data nodes give wrong checksums, always
  stall: SECONDS     the next read stops in the middle for so long, once
  fault_rate: P      each answer is spoiled with this chance
  change_rate: P     before each answer, with this chance, the cluster changes, and stays so until the next change: a data node dies, gives wrong
                     checksums or loses its blocks (one of the three always works), or the name nodes change their roles, both of them being on
                     standby for a moment
  seed: N            random numbers begin anew from N
"""
import argparse
import http.server
import json
import os
import random
import socket
import struct
import sys
import threading
import time
import urllib.parse
import zlib

PROTOCOL = "org.apache.hadoop.hdfs.protocol.ClientProtocol"
LOCK = threading.RLock()
FAULTS = {"standby": -1}
STATS = {"faults": 0, "connections": 0, "calls": 0, "getFileInfo": 0, "getListing": 0, "getBlockLocations": 0, "standby": 0, "reads": 0, "fine": 0, "refused": 0,
         "changes": 0, "failovers": 0}
BLOCKS = {}  # number -> (path, offset, size, identity)
NUMBERS = {}  # (identity, offset) -> number
TOKENS = {}  # number -> bytes
SUMS = {}
PORTS = []
ARGS = None


# ---- protobuf ----

def varint(x):
    out = b""
    while x > 127:
        out += bytes([x & 127 | 128])
        x >>= 7
    return out + bytes([x])


def field(number, value):
    """a field: a number, text, bytes, a list of such values, or a ready field of fixed size"""
    if isinstance(value, list):
        return b"".join(field(number, v) for v in value)
    if isinstance(value, str):
        value = value.encode()
    if isinstance(value, bytes):
        return varint(number << 3 | 2) + varint(len(value)) + value
    return varint(number << 3) + varint(int(value))


def message(*pairs):
    return b"".join(field(n, v) for n, v in pairs if v is not None)


def delimited(m):
    return varint(len(m)) + m


class Broken(Exception):
    pass


def read_varint(data, at):
    x = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise Broken("a number")
        x |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return x, at


def fields(data):
    """number -> values, in order"""
    out, at = {}, 0
    while at < len(data):
        tag, at = read_varint(data, at)
        if tag & 7 == 0:
            value, at = read_varint(data, at)
        elif tag & 7 == 2:
            n, at = read_varint(data, at)
            if n > len(data) - at:
                raise Broken("a length")
            value = data[at:at + n]
            at += n
        else:
            raise Broken("a wire type")
        out.setdefault(tag >> 3, []).append(value)
    return out


def split(packet):
    out, at = [], 0
    while at < len(packet):
        n, at = read_varint(packet, at)
        if n > len(packet) - at:
            raise Broken("a length")
        out.append(packet[at:at + n])
        at += n
    return out


def unzigzag(x):
    return (x >> 1) ^ -(x & 1)


def zigzag(x):
    return 2 * x if x >= 0 else -2 * x - 1


# ---- the published bytes ----

def request_header(call, client):
    return message((1, 2), (2, 0), (3, zigzag(call)), (4, client))


def hello_bytes(user, client):
    packet = delimited(request_header(-3, client)) + delimited(message((2, message((1, user))), (3, PROTOCOL)))
    return b"hrpc\x09\x00\x00" + struct.pack(">I", len(packet)) + packet


def call_bytes(call, client, method, request):
    packet = delimited(request_header(call, client)) + delimited(message((1, method), (2, PROTOCOL), (3, 1))) + delimited(request)
    return struct.pack(">I", len(packet)) + packet


def check_published():
    client = b"crank-0123456789"
    hello = bytes.fromhex("68727063090000000000531808021000180522106372616e6b2d303132333435363738393912070a05616c6963651a2e6f72672e6170616368652e6861646f6f702e6864"
                          "66732e70726f746f636f6c2e436c69656e7450726f746f636f6c")
    ask = bytes.fromhex("000000711808021000180022106372616e6b2d303132333435363738393f0a0b67657446696c65496e666f122e6f72672e6170616368652e6861646f6f702e686466"
                        "732e70726f746f636f6c2e436c69656e7450726f746f636f6c1801170a152f747261696e2f706172742d302e70617271756574")
    assert hello == hello_bytes("alice", client)
    assert ask == call_bytes(0, client, "getFileInfo", message((1, "/train/part-0.parquet")))
    assert zlib.crc32(b"123456789") == 0xCBF43926 and crc32c(b"123456789") == 0xE3069283


# ---- checksums ----

TABLE = []
for _i in range(256):
    _c = _i
    for _ in range(8):
        _c = _c >> 1 ^ (0x82F63B78 if _c & 1 else 0)
    TABLE.append(_c)


def crc32c(data):
    c = 0xFFFFFFFF
    for b in data:
        c = TABLE[(c ^ b) & 255] ^ c >> 8
    return c ^ 0xFFFFFFFF


def sum_of(chunk):
    if ARGS.sum == "none":
        return b""
    if ARGS.sum == "crc32":
        return struct.pack(">I", zlib.crc32(chunk))
    if chunk not in SUMS:
        SUMS[chunk] = crc32c(chunk)
    return struct.pack(">I", SUMS[chunk])


# ---- the folder ----

def local(path):
    if not path.startswith("/") or "//" in path or (path != "/" and path.endswith("/")) or ".." in path.split("/"):
        raise Refused("org.apache.hadoop.fs.InvalidPathException", "Invalid path name " + path)
    return os.path.join(ARGS.root, path[1:])


def identity(st):
    return (st.st_ino, st.st_mtime_ns, st.st_size)


class Refused(Exception):
    def __init__(self, name, text):
        super().__init__(name, text)
        self.name, self.text = name, text


def status(path, name):
    st = os.stat(local(path))
    folder = os.path.isdir(local(path))
    return message((1, 1 if folder else 2), (2, name), (3, 0 if folder else st.st_size), (4, message((1, 0o644))), (5, "owner"), (6, "group"),
                   (7, st.st_mtime_ns // 1000000), (8, 0), (10, 0 if folder else 3), (11, ARGS.block), (13, st.st_ino), (14, 0),
                   (15, message((1, 1)) if FAULTS.get("encrypted") == path else None), (17, message((1, "RS-6-3-1024k")) if FAULTS.get("coded") == path else None))


def token(number):
    return TOKENS.setdefault(number, message((1, b"block-%d" % number), (2, os.urandom(8)), (3, "HDFS_BLOCK_TOKEN"), (4, "")))


def located(path, at, size, who):
    number = NUMBERS.setdefault((who, at), 1073741825 + len(NUMBERS))
    BLOCKS[number] = (path, at, size, who)
    nodes = [message((1, message((1, "127.0.0.1"), (2, "localhost"), (3, "uuid-%d" % i), (4, PORTS[2 + i]), (5, 9864), (6, 9867))), (2, 1 << 60), (10, 0)) for i in range(3)]
    return message((1, message((1, "BP-1-127.0.0.1-1"), (2, number), (3, 1001), (4, size))), (2, at), (3, nodes), (4, 0), (5, token(number)), (7, [0, 0, 0]), (8, ["a", "b", "c"]))


def locations(path, offset, length):
    st = os.stat(local(path))
    building = FAULTS.get("building") == path
    blocks, who = [], identity(st)
    for at in range(0, st.st_size, ARGS.block):
        size = min(ARGS.block, st.st_size - at)
        if at < offset + length and at + size > offset and not (building and at + size == st.st_size):
            blocks.append(located(path, at, size, who))
    return message((1, st.st_size), (2, blocks), (3, int(building)), (5, int(not building)))


def answer(method, request, user):
    f = fields(request)
    path = f[1][0].decode()
    STATS[method] = STATS.get(method, 0) + 1
    if user != ARGS.user:
        raise Refused("org.apache.hadoop.security.AccessControlException", "Permission denied: user=%s, access=READ\n\tat Fs.java" % user)
    there = os.path.exists(local(path))
    if method == "getFileInfo":
        return message((1, status(path, ""))) if there else b""
    if method == "getListing":
        if not there:
            return b""
        after = f[2][0].decode()
        names = sorted(n for n in os.listdir(local(path)) if n > after) if os.path.isdir(local(path)) else [""]
        some = names[:ARGS.page]
        return message((1, message((1, [status(path.rstrip("/") + "/" + n if n else path, n) for n in some]), (2, len(names) - len(some)))))
    if method == "getBlockLocations":
        if not there or os.path.isdir(local(path)):
            raise Refused("java.io.FileNotFoundException", "File does not exist: " + path)
        return message((1, locations(path, f[2][0], f[3][0])))
    raise Refused("org.apache.hadoop.ipc.RpcNoSuchMethodException", "Unknown method " + method)


# ---- connections ----

def take(s, n):
    out = b""
    while len(out) < n:
        more = s.recv(n - len(out))
        if not more:
            raise ConnectionError("closed")
        out += more
    return out


def once(name):
    """the fault of this name, which then has happened; at random where the rate says so"""
    with LOCK:
        kind = FAULTS.pop(name, None)
        if kind is None and random.random() < FAULTS.get("fault_rate", 0):
            kind = random.choice({"rpc": ("drop", "close", "garbage", "huge", "cut", "other"),
                                  "data": ("sum", "cut", "short", "length", "huge", "place", "garbage", "answer")}[name])
        if kind is not None:
            STATS["faults"] += 1
        return kind


def change():
    """at random, something of the cluster gets another state"""
    with LOCK:
        if random.random() >= FAULTS.get("change_rate", 0):
            return
        STATS["changes"] += 1
        STATS["faults"] += 1
        sick = random.sample(range(3), 2)  # the third one works
        kind = random.choice(("dead", "spoil", "deny", "both", "well", "failover", "failover"))
        if kind == "failover":
            STATS["failovers"] += 1
            FAULTS["standby"] = 1 - FAULTS["standby"] if FAULTS["standby"] >= 0 else random.randrange(2)
            FAULTS["none_until"] = time.monotonic() + random.random() * 0.5
            return
        for name in ("dead", "spoil", "deny"):
            FAULTS[name] = [sick[0]] if kind == name else []
        if kind == "both":
            FAULTS["dead"], FAULTS["spoil"] = sick[:1], sick[1:]


def standby(role):
    return FAULTS.get("standby", -1) == role or time.monotonic() < FAULTS.get("none_until", 0)


def name_node(s, role):
    begin = take(s, 7)
    assert begin == b"hrpc\x09\x00\x00", begin
    n = struct.unpack(">I", take(s, 4))[0]
    packet = take(s, n)
    header, context = split(packet)
    client = fields(header)[4][0]
    assert len(client) == 16
    user = fields(fields(context)[2][0])[1][0].decode()
    assert begin + struct.pack(">I", n) + packet == hello_bytes(user, client), "the first message has another form"
    while True:
        n = struct.unpack(">I", take(s, 4))[0]
        packet = take(s, n)
        header, what, request = split(packet)
        call = unzigzag(fields(header)[3][0])
        method = fields(what)[1][0].decode()
        assert struct.pack(">I", n) + packet == call_bytes(call, client, method, request), "a call has another form"
        change()
        spoil = "http" if FAULTS.get("web") else once("rpc")
        with LOCK:
            STATS["calls"] += 1
            try:
                if FAULTS.get("kerberos"):
                    raise Refused("org.apache.hadoop.security.AccessControlException", "SIMPLE authentication is not enabled.  Available:[TOKEN, KERBEROS]")
                if standby(role):
                    STATS["standby"] += 1
                    raise Refused("org.apache.hadoop.ipc.StandbyException", "Operation category READ is not supported in state standby. Visit https://s.apache.org/sbnn-error\n\tat a.b.c(D.java:1)")
                body = delimited(message((1, call), (2, 0), (3, 9), (7, client), (8, 1))) + delimited(answer(method, request, user))
                fatal = False
            except Refused as e:
                STATS["refused"] += 1
                fatal = FAULTS.get("kerberos")
                body = delimited(message((1, 0xFFFFFFFF if fatal else call), (2, 2 if fatal else 1), (3, 9), (4, e.name), (5, e.text), (6, 1)))
        if spoil == "drop":
            return
        if spoil == "garbage":
            body = bytes(random.randrange(256) for _ in range(200))
        if spoil == "other":
            body = delimited(message((1, call + 7), (2, 0))) + delimited(b"")
        head = struct.pack(">I", len(body))
        if spoil == "huge":
            head = b"\xff\xff\xff\xf0"
        if spoil == "http":
            head, body = b"HTTP", b"/1.1 404 Not Found\r\n\r\n"
        if spoil == "cut":
            body = body[:len(body) // 2]
        s.sendall(head + body)
        if fatal or spoil in ("cut", "huge", "close", "http"):
            return


def data_node(s, role):
    change()
    if role in FAULTS.get("dead", ()):
        return
    assert take(s, 3) == b"\x00\x1c\x51"
    n = b""
    while not n or n[-1] > 127:
        n += take(s, 1)
    op = fields(take(s, read_varint(n, 0)[0]))
    head = fields(op[1][0])
    base = fields(head[1][0])
    assert head[2][0], "a client without a name"
    block = fields(base[1][0])
    number, from_, length = block[2][0], op[2][0], op[3][0]
    spoil = once("data")
    with LOCK:
        STATS["reads"] += 1
        known = BLOCKS.get(number)
        fine = block[1][0] == b"BP-1-127.0.0.1-1" and block[3][0] == 1001 and known and base[2][0] == TOKENS[number] and role not in FAULTS.get("deny", ())
        if fine:
            path, at, size, who = known
            fine = os.path.exists(local(path)) and identity(os.stat(local(path))) == who and block[4][0] == size
        if not fine:
            STATS["refused"] += 1
    if not fine:
        return s.sendall(delimited(message((1, 1), (5, "Replica not found for BP-1:blk_%d_1001" % number))))
    if from_ > size or from_ + length > size:
        return s.sendall(delimited(message((1, 1), (5, "the range leaves the block"))))
    if spoil == "garbage":
        return s.sendall(bytes(random.randrange(256) for _ in range(400)))
    begin = from_ - from_ % ARGS.chunk
    end = min(size, -(-(from_ + length) // ARGS.chunk) * ARGS.chunk)
    with open(local(path), "rb") as f:
        f.seek(at + begin)
        data = f.read(end - begin)
    kind = {"none": 0, "crc32": 1, "crc32c": 2}[ARGS.sum]
    if spoil == "answer":
        return s.sendall(delimited(message((1, 0), (4, message((1, message((1, 7), (2, 0))), (2, begin))))))
    s.sendall(delimited(message((1, 0), (4, message((1, message((1, kind), (2, ARGS.chunk))), (2, begin))))))
    with LOCK:
        stall = FAULTS.pop("stall", 0)
    if spoil == "short":
        data = data[:max(0, from_ - begin + length - ARGS.chunk - 1)]
    if spoil == "more":
        data = data + bytes(4 * 65536)
    step = max(1, 65536 // ARGS.chunk) * ARGS.chunk
    for seq, k in enumerate(list(range(0, len(data), step)) + [len(data)]):
        part = data[k:k + step]
        sums = b"".join(sum_of(part[i:i + ARGS.chunk]) for i in range(0, len(part), ARGS.chunk))
        if part and (spoil == "sum" or role in FAULTS.get("spoil", ())):
            part = bytes([part[0] ^ 1]) + part[1:]
        place = begin + k + (512 if spoil == "place" else 0)
        header = b"\x09" + struct.pack("<q", place) + b"\x11" + struct.pack("<q", seq) + b"\x18" + bytes([int(not part)]) + b"\x25" + struct.pack("<i", len(part) + (100 if spoil == "length" else 0))
        packet = struct.pack(">IH", 0x7FFFFFFF if spoil == "huge" else 4 + len(sums) + len(part), len(header)) + header + sums + part
        if spoil == "cut" or stall:
            s.sendall(packet[:len(packet) // 2])
            time.sleep(stall)
            if spoil == "cut":
                return
            packet, stall = packet[len(packet) // 2:], 0
        s.sendall(packet)
    if take(s, 3) == b"\x02\x08\x06":
        with LOCK:
            STATS["fine"] += 1


def serve(listener, role):
    def one(s):
        with s:
            try:
                s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                name_node(s, role) if role < 2 else data_node(s, role - 2)
            except (ConnectionError, OSError):
                pass
    while True:
        s, _ = listener.accept()
        with LOCK:
            STATS["connections"] += role < 2
        threading.Thread(target=one, args=(s,), daemon=True).start()


class Control(http.server.BaseHTTPRequestHandler):
    def log_message(self, *a):
        pass

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        body = b""
        with LOCK:
            if url.path == "/__control":
                FAULTS.update(json.loads(urllib.parse.parse_qs(url.query)["json"][0]))
                if "seed" in FAULTS:
                    random.seed(FAULTS.pop("seed"))
            else:
                body = json.dumps(STATS).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main():
    global ARGS
    ap = argparse.ArgumentParser()
    ap.add_argument("--root", required=True)
    ap.add_argument("--user", default="alice")
    ap.add_argument("--page", type=int, default=1000)
    ap.add_argument("--block", type=int, default=1 << 27)
    ap.add_argument("--chunk", type=int, default=512)
    ap.add_argument("--sum", default="crc32c", choices=("crc32", "crc32c", "none"))
    ARGS = ap.parse_args()
    check_published()
    listeners = []
    for role in range(5):
        s = socket.create_server(("127.0.0.1", 0), backlog=64)
        listeners.append(s)
        PORTS.append(s.getsockname()[1])
    for role, s in enumerate(listeners):
        threading.Thread(target=serve, args=(s, role), daemon=True).start()
    control = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Control)
    print("nodes", *PORTS, control.server_address[1], flush=True)
    try:
        control.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    sys.exit(main())
