"""Golden rows of the CTR accessor: tests/golden/data/ctr.txt.

A plain model of the accessor, written from its formulas and from nothing of crank's code but the
generator of first values: a dictionary of rows, each of which is pushed to, shrunk at the end of a
day, and saved in one of the four modes. Numbers are computed in double and kept in float32, in the
order of the formulas, so the tests compare every row exactly.
Run with any python: python3 tools/golden/ctr.py
"""

import math
import os
import random
import struct

MASK = (1 << 64) - 1
RULES = ["naive", "adagrad", "std_adagrad", "adam", "shared_adam"]
PUSH, SHRINK, SAVE = 0, 1, 2


def f32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def mix64(x):
    x ^= x >> 30
    x = x * 0xBF58476D1CE4E5B9 & MASK
    x ^= x >> 27
    x = x * 0x94D049BB133111EB & MASK
    return x ^ (x >> 31)


def first_values(key, first, n, scale):
    """n numbers of the stream `key`, evenly between -scale and scale."""
    low, width = f32(-scale), f32(2 * scale)
    out = []
    for i in range(first, first + n):
        u = f32((mix64((key + (i + 1) * 0x9E3779B97F4A7C15) & MASK) >> 40) * 2.0**-24)
        out.append(f32(low + f32(width * u)))
    return out


class Rule:
    def __init__(self, kind, lr, scale, low, high, g0=3.0, b1=0.9, b2=0.999, eps=1e-8):
        self.kind, self.lr, self.scale, self.low, self.high = kind, lr, scale, low, high
        self.g0, self.b1, self.b2, self.eps = g0, b1, b2, eps

    def numbers(self):
        return [RULES.index(self.kind), self.lr, self.scale, self.low, self.high, self.g0, self.b1, self.b2, self.eps]

    def state(self, n):
        if n == 0 or self.kind == "naive":
            return []
        if self.kind == "adagrad":
            return [0.0]
        if self.kind == "std_adagrad":
            return [0.0] * n
        moments = n if self.kind == "adam" else 1
        return [0.0] * (2 * moments) + [f32(self.b1), f32(self.b2)]

    def bound(self, w):
        return f32(min(max(w, self.low), self.high))

    def update(self, w, s, grads):
        n = len(w)
        if n == 0:
            return
        if self.kind == "naive":
            for i, g in enumerate(grads):
                w[i] = self.bound(w[i] - self.lr * g)
        elif self.kind == "adagrad":
            squares = 0.0
            for i, g in enumerate(grads):
                w[i] = self.bound(w[i] - self.lr * g * math.sqrt(self.g0 / (self.g0 + s[0])))
                squares += g * g
            s[0] = f32(s[0] + squares / n)
        elif self.kind == "std_adagrad":
            for i, g in enumerate(grads):
                w[i] = self.bound(w[i] - self.lr * g * math.sqrt(self.g0 / (self.g0 + s[i])))
                s[i] = f32(s[i] + g * g)
        else:
            rate = self.lr * math.sqrt(1 - s[-1]) / (1 - s[-2])
            shared = self.kind == "shared_adam"
            m0, v0 = s[0], s[1]
            sum_m = sum_v = 0.0
            for i, g in enumerate(grads):
                m = self.b1 * (m0 if shared else s[i]) + (1 - self.b1) * g
                v = self.b2 * (v0 if shared else s[n + i]) + (1 - self.b2) * g * g
                w[i] = self.bound(w[i] - rate * (m / (math.sqrt(v) + self.eps)))
                if shared:
                    sum_m += m
                    sum_v += v
                else:
                    s[i], s[n + i] = f32(m), f32(v)
            if shared:
                s[0], s[1] = f32(sum_m / n), f32(sum_v / n)
            s[-2], s[-1] = f32(s[-2] * self.b1), f32(s[-1] * self.b2)


class Accessor:
    def __init__(self, X, embed, embedx, show_scale, zero_init, threshold):
        self.X, self.embed, self.embedx = X, embed, embedx
        self.show_scale, self.zero_init, self.threshold = show_scale, zero_init, threshold
        self.nonclk, self.click = 0.1, 1.0
        self.base, self.delta, self.keep = 1.5, 0.25, 2
        self.decay, self.least, self.most_days = 0.9, 0.5, 3
        self.rows = {}

    def numbers(self):
        return (
            [self.X, self.threshold, self.nonclk, self.click, self.base, self.delta, self.keep]
            + [self.decay, self.least, self.most_days, int(self.show_scale), int(self.zero_init)]
            + self.embed.numbers()
            + self.embedx.numbers()
        )

    @staticmethod
    def key(id_):
        return mix64(id_ + 12345)

    def score(self, show, click):
        return (show - click) * self.nonclk + click * self.click

    def push(self, id_, slot_shows, show, click, g):
        if id_ not in self.rows:
            w = 0.0 if self.zero_init else first_values(self.key(id_), 0, 1, self.embed.scale)[0]
            self.rows[id_] = dict(slot=0.0, unseen=0.0, delta=0.0, show=0.0, click=0.0, w=[w], s=self.embed.state(1), x=None)
        r = self.rows[id_]
        r["slot"] = float(round(slot_shows / show))
        r["show"] = f32(r["show"] + show)
        r["click"] = f32(r["click"] + click)
        r["delta"] = f32(r["delta"] + self.score(show, click))
        r["unseen"] = 0.0
        scaled = [v / show if self.show_scale else v for v in g]
        self.embed.update(r["w"], r["s"], scaled[:1])
        if r["x"] is not None:
            self.embedx.update(r["x"], r["xs"], scaled[1:])
        elif self.X > 0 and self.score(r["show"], r["click"]) >= self.threshold:
            r["x"] = first_values(self.key(id_), 1, self.X, self.embedx.scale)
            r["xs"] = self.embedx.state(self.X)

    def shrink(self):
        for id_ in list(self.rows):
            r = self.rows[id_]
            r["show"], r["click"] = f32(r["show"] * self.decay), f32(r["click"] * self.decay)
            if self.score(r["show"], r["click"]) < self.least or r["unseen"] > self.most_days:
                del self.rows[id_]

    def save(self, mode):
        ids = []
        for id_, r in sorted(self.rows.items()):
            worth = self.score(r["show"], r["click"]) >= self.base and r["unseen"] <= self.keep
            worth = worth and r["delta"] >= (0 if mode == 2 else self.delta)
            if mode in (1, 2) and not worth:
                continue
            ids.append(id_)
            if mode in (1, 2):
                r["delta"] = 0.0
            if mode == 3:
                r["unseen"] += 1
        return ids

    def lines(self):
        """All rows by id: id, whether there is a second part, then the values in the order of files."""
        out = []
        for id_, r in sorted(self.rows.items()):
            v = [id_, int(r["x"] is not None), r["slot"], r["unseen"], r["delta"], r["show"], r["click"]] + r["w"] + r["s"]
            more = r["x"] + r["xs"] if r["x"] is not None else [0.0] * (self.X + len(self.embedx.state(self.X)))
            out.append(v + more)
        return out


def text(v):
    return str(int(v)) if v == int(v) else f"{v:.9g}" if f32(v) == v else repr(v)


def emit(f, name, rows):
    sizes = f"{len(rows)} {len(rows[0]) if rows else 0}" if rows and isinstance(rows[0], list) else f"{len(rows)}"
    flat = [v for r in rows for v in r] if rows and isinstance(rows[0], list) else rows
    f.write(f"tensor {name} {sizes} : " + " ".join(map(text, flat)) + "\n")


def main():
    rnd = random.Random(16)
    here = os.path.dirname(os.path.abspath(__file__))
    path = os.path.join(here, "..", "..", "tests", "golden", "data", "ctr.txt")
    cases = []
    for i, kind in enumerate(RULES):
        low, high = (-0.02, 0.03) if kind == "naive" else (-10.0, 10.0)
        embed = Rule(kind, 0.05, 1e-4, low, high)
        embedx = Rule(RULES[(i + 1) % 5], 0.1, 0.25, -10.0, 10.0, g0=1.5, b1=0.8, b2=0.99, eps=1e-6)
        cases.append((kind, Accessor(3 if i != 2 else 0, embed, embedx, i % 2 == 0, i != 1, 2.0)))
    with open(path, "w") as f:
        f.write("# the CTR accessor, by tools/golden/ctr.py\n")
        for name, a in cases:
            emit(f, f"{name}/rules", [float(v) for v in a.numbers()])
            events, k = [], 0
            for step in range(60):
                width = 5 + a.X
                if step % 15 == 14:
                    event = [SHRINK] + [0.0] * width
                    a.shrink()
                elif step % 5 == 4:
                    mode = rnd.randrange(4)
                    event = [SAVE + mode] + [0.0] * width
                    emit(f, f"{name}/saved{k}", a.save(mode))
                else:
                    id_, show = rnd.choice([1, 2, 3, 5, 8, 1 << 40, 1 << 40, 77]), float(rnd.randrange(1, 5))
                    click = float(rnd.randrange(0, int(show) + 1)) if rnd.random() < 0.4 else 0.0
                    g = [f32(rnd.uniform(-2, 2)) for _ in range(1 + a.X)]
                    event = [PUSH, float(id_), 3.0 * show, show, click] + g
                    a.push(id_, 3.0 * show, show, click, g)
                    event += [0.0] * (1 + width - len(event))
                events.append([float(v) for v in event])
                if step % 5 == 4:
                    emit(f, f"{name}/rows{k}", a.lines())
                    k += 1
            emit(f, f"{name}/events", events)


if __name__ == "__main__":
    main()
