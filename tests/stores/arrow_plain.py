"""arrow_plain.py - Arrow streams in plain Python, for the stand-in of MaxCompute: written from the description of the
format (Columnar.rst, Message.fbs, Schema.fbs) and not from crank's code, so that the two check each other.

Types are MaxCompute's: BIGINT, INT, FLOAT, DOUBLE, STRING, ARRAY<...>, MAP<...,...>.
"""
import struct


# ---- FlatBuffers: objects are written front to back, and references are filled in behind ----

class Table:
    def __init__(self, *fields):
        self.fields = fields  # None, (format, value), or something with write()


class Text:
    def __init__(self, s):
        self.s = s.encode()

    def write(self, out):
        pad(out, 4)
        at = len(out)
        out += struct.pack("<I", len(self.s)) + self.s + b"\0"
        return at


class Tables:
    def __init__(self, items):
        self.items = items

    def write(self, out):
        pad(out, 4)
        at = len(out)
        out += struct.pack("<I", len(self.items)) + bytes(4 * len(self.items))
        for i, t in enumerate(self.items):
            place = at + 4 + 4 * i
            struct.pack_into("<I", out, place, t.write(out) - place)
        return at


class Structs:
    def __init__(self, fmt, rows):
        self.fmt, self.rows = fmt, rows

    def write(self, out):
        while (len(out) + 4) % 8:
            out += b"\0"
        at = len(out)
        out += struct.pack("<I", len(self.rows))
        for r in self.rows:
            out += struct.pack("<" + self.fmt, *r)
        return at


def pad(out, n):
    while len(out) % n:
        out += b"\0"


def write_table(self, out):
    offsets, at, body, refs = [], 4, bytearray(4), []
    for f in self.fields:
        if f is None:
            offsets.append(0)
            continue
        fmt, value = f if isinstance(f, tuple) else ("I", f)
        size = struct.calcsize("<" + fmt)
        while len(body) % size:
            body += b"\0"
        offsets.append(len(body))
        if not isinstance(f, tuple):
            refs.append((len(body), value))
            value = 0
        body += struct.pack("<" + fmt, value)
    pad(out, 8)
    vtable = len(out)
    out += struct.pack("<HH", 4 + 2 * len(offsets), len(body))
    for o in offsets:
        out += struct.pack("<H", o)
    pad(out, 8)
    at = len(out)
    struct.pack_into("<i", body, 0, at - vtable)
    out += body
    for place, value in refs:
        to = value.write(out)
        struct.pack_into("<I", out, at + place, to - at - place)
    return at


Table.write = write_table


def buffer_of(root):
    out = bytearray(8)
    struct.pack_into("<I", out, 0, root.write(out))
    pad(out, 8)
    return bytes(out)


# ---- types ----

def split_type(t):
    """'MAP<STRING,ARRAY<INT>>' -> ('MAP', ['STRING', 'ARRAY<INT>'])"""
    t = t.strip()
    if "<" not in t:
        return t.upper(), []
    name, rest = t.split("<", 1)
    rest, parts, depth, cur = rest[:-1], [], 0, ""
    for c in rest:
        depth += c == "<"
        depth -= c == ">"
        if c == "," and depth == 0:
            parts.append(cur)
            cur = ""
        else:
            cur += c
    return name.strip().upper(), parts + [cur]


def field(name, t, nullable=True):
    kind, parts = split_type(t)
    number = {"BIGINT": 2, "INT": 2, "FLOAT": 3, "DOUBLE": 3, "STRING": 5, "ARRAY": 12, "MAP": 17}[kind]
    types = {"BIGINT": Table(("i", 64), ("B", 1)), "INT": Table(("i", 32), ("B", 1)), "FLOAT": Table(("h", 1)),
             "DOUBLE": Table(("h", 2)), "MAP": Table(("B", 0))}
    children = []
    if kind == "ARRAY":
        children = [field("item", parts[0])]
    if kind == "MAP":
        children = [Table(Text("entries"), ("B", 0), ("B", 13), Table(), None,
                          Tables([field("key", parts[0], False), field("value", parts[1])]))]
    return Table(Text(name), ("B", nullable), ("B", number), types.get(kind, Table()), None, Tables(children))


def message(kind, header, body):
    meta = buffer_of(Table(("h", 4), ("B", kind), header, ("q", len(body))))
    return struct.pack("<iI", -1, len(meta)) + meta + body


def schema_message(columns):
    return message(1, Table(("h", 0), Tables([field(n, t) for n, t in columns])), b"")


def add_column(t, values, nodes, buffers):
    kind, parts = split_type(t)
    nulls = sum(v is None for v in values)
    nodes.append((len(values), nulls))
    bits = bytearray((len(values) + 7) // 8) if nulls else b""
    if nulls:
        for i, v in enumerate(values):
            if v is not None:
                bits[i >> 3] |= 1 << (i & 7)
    buffers.append(bytes(bits))
    fmt = {"BIGINT": "q", "INT": "i", "FLOAT": "f", "DOUBLE": "d"}.get(kind)
    if fmt:
        buffers.append(struct.pack("<%d%s" % (len(values), fmt), *[0 if v is None else v for v in values]))
        return
    lists = [[] if v is None else v for v in values] if kind != "STRING" else [b"" if v is None else v.encode() for v in values]
    off, at = [0], 0
    for v in lists:
        at += len(v)
        off.append(at)
    buffers.append(struct.pack("<%di" % len(off), *off))
    if kind == "STRING":
        buffers.append(b"".join(lists))
    elif kind == "ARRAY":
        add_column(parts[0], [x for v in lists for x in v], nodes, buffers)
    else:
        nodes.append((at, 0))
        buffers.append(b"")
        add_column(parts[0], [k for v in lists for k, _ in v], nodes, buffers)
        add_column(parts[1], [x for v in lists for _, x in v], nodes, buffers)


def xxh32_header(data):
    """xxHash32 of a few bytes, seed 0: for the header of an LZ4 frame"""
    m = 0xFFFFFFFF
    h = (374761393 + len(data)) & m
    for b in data:
        h = (h + b * 374761393) & m
        h = (((h << 11) | (h >> 21)) * 2654435761) & m
    h = ((h ^ (h >> 15)) * 2246822519) & m
    h = ((h ^ (h >> 13)) * 3266489917) & m
    return h ^ (h >> 16)


def lz4_frame(data):
    """a frame whose blocks are stored, which every decoder must read"""
    head = b"\x60\x70"
    out = b"\x04\x22\x4d\x18" + head + bytes([xxh32_header(head) >> 8 & 255])
    for i in range(0, len(data), 4 << 20):
        block = data[i:i + (4 << 20)]
        out += struct.pack("<I", len(block) | 0x80000000) + block
    return out + bytes(4)


def zstd_frame(data):
    out = b"\x28\xb5\x2f\xfd\xa0" + struct.pack("<I", len(data))
    pieces = [data[i:i + 131072] for i in range(0, len(data), 131072)] or [b""]
    for i, p in enumerate(pieces):
        out += struct.pack("<I", (i == len(pieces) - 1) | len(p) << 3)[:3] + p
    return out


def batch_message(columns, rows, codec=None):
    nodes, buffers, body, places = [], [], bytearray(), []
    for i, (_, t) in enumerate(columns):
        add_column(t, [r[i] for r in rows], nodes, buffers)
    for k, b in enumerate(buffers):
        if codec and b:
            packed = -1 if k % 5 == 4 else len(b)  # now and then a buffer that is stored plainly
            b = struct.pack("<q", packed) + (b if packed < 0 else lz4_frame(b) if codec == "LZ4_FRAME" else zstd_frame(b))
        places.append((len(body), len(b)))
        body += b
        pad(body, 8)
    how = Table(("b", 0 if codec == "LZ4_FRAME" else 1), ("b", 0)) if codec else None
    return message(3, Table(("q", len(rows)), Structs("qq", nodes), Structs("qq", places), how), bytes(body))


def stream(columns, rows, batch_rows, codec=None, with_schema=True):
    out = schema_message(columns) if with_schema else b""
    for i in range(0, len(rows), batch_rows):
        out += batch_message(columns, rows[i:i + batch_rows], codec)
    return out + struct.pack("<iI", -1, 0)


# ---- reading what crank wrote ----

class Reader:
    def __init__(self, data):
        self.d = data

    def table(self, at):
        return at, at - struct.unpack_from("<i", self.d, at)[0]

    def place(self, t, slot):
        at, v = t
        n = struct.unpack_from("<H", self.d, v)[0]
        off = struct.unpack_from("<H", self.d, v + 4 + 2 * slot)[0] if 4 + 2 * slot < n else 0
        return at + off if off else 0

    def num(self, t, slot, fmt, default=0):
        p = self.place(t, slot)
        return struct.unpack_from("<" + fmt, self.d, p)[0] if p else default

    def ref(self, t, slot):
        p = self.place(t, slot)
        return p + struct.unpack_from("<I", self.d, p)[0] if p else 0

    def vec(self, t, slot):
        p = self.ref(t, slot)
        return (p + 4, struct.unpack_from("<I", self.d, p)[0]) if p else (0, 0)

    def text(self, t, slot):
        p, n = self.vec(t, slot)
        return self.d[p:p + n].decode()


def read_field(r, t):
    kind = r.num(t, 2, "B")
    sub = r.table(r.ref(t, 3))
    at, n = r.vec(t, 5)
    kids = [read_field(r, r.table(at + 4 * i + struct.unpack_from("<I", r.d, at + 4 * i)[0])) for i in range(n)]
    bits = r.num(sub, 0, "i") if kind == 2 else r.num(sub, 0, "h") if kind == 3 else 0
    return {"name": r.text(t, 0), "kind": kind, "bits": bits, "kids": kids}


def read_column(f, take_node, take_buffer):
    n, nulls = take_node()
    bits = take_buffer()
    ok = [not nulls or bits[i >> 3] >> (i & 7) & 1 for i in range(n)]
    if f["kind"] in (2, 3):
        fmt = {2: {32: "i", 64: "q"}, 3: {1: "f", 2: "d"}}[f["kind"]][f["bits"]]
        v = struct.unpack_from("<%d%s" % (n, fmt), take_buffer())
    else:
        b = take_buffer()
        off = struct.unpack_from("<%di" % (n + 1), b) if n else (0,)
        if f["kind"] == 5:
            data = take_buffer()
            v = [data[off[i]:off[i + 1]].decode() for i in range(n)]
        elif f["kind"] == 12:
            items = read_column(f["kids"][0], take_node, take_buffer)
            v = [items[off[i]:off[i + 1]] for i in range(n)]
        elif f["kind"] == 17:
            take_node()
            take_buffer()
            keys, vals = [read_column(k, take_node, take_buffer) for k in f["kids"][0]["kids"]]
            v = [list(map(list, zip(keys, vals)))[off[i]:off[i + 1]] for i in range(n)]
        else:
            raise ValueError("type %d is not read here" % f["kind"])
    return [x if o else None for x, o in zip(v, ok)]


def read_stream(data):
    """names, rows"""
    at, fields, rows = 0, None, []
    while True:
        mark, n = struct.unpack_from("<iI", data, at)
        assert mark == -1, "a message without its mark"
        if n == 0:
            break
        assert n % 8 == 0 and at % 8 == 0, "a message that is not aligned"
        r = Reader(data[at + 8:at + 8 + n])
        m = r.table(struct.unpack_from("<I", r.d, 0)[0])
        body = data[at + 8 + n:at + 8 + n + r.num(m, 3, "q")]
        at += 8 + n + len(body)
        head = r.table(r.ref(m, 2))
        if r.num(m, 1, "B") == 1:
            p, k = r.vec(head, 1)
            fields = [read_field(r, r.table(p + 4 * i + struct.unpack_from("<I", r.d, p + 4 * i)[0])) for i in range(k)]
            continue
        np_, nn = r.vec(head, 1)
        bp, bn = r.vec(head, 2)
        nodes = iter([struct.unpack_from("<qq", r.d, np_ + 16 * i) for i in range(nn)])
        spans = iter([struct.unpack_from("<qq", r.d, bp + 16 * i) for i in range(bn)])

        def buf():
            a, z = next(spans)
            return body[a:a + z]
        cols = [read_column(f, lambda: next(nodes), buf) for f in fields]
        rows += [list(x) for x in zip(*cols)] if cols else []
    return [f["name"] for f in fields], rows
