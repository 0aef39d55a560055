#!/usr/bin/python3
"""curves.py - how the speed of the training step changes with threads, batch, width, table rows, ids per row and
number of features, and that of target attention with the length of its sequences.

  curves.py [--build build] [--out out/bench] [--docs docs/img] [--rounds 2] [--seconds 1] [--only NAME,...]

Makes configs and data, runs `crank bench train --json` for every point in turns, and keeps the best of the
rounds. Writes OUT/curves.json and one plot per curve, DOCS/bench_NAME.svg: rows/s, and dashed what they
would be if a row's cost grew from the first point on exactly as its work (--plot draws from the JSON alone).
Points that would not fit into memory are left out, with a line that says so.
"""
import argparse
import json
import math
import os
import random
import shutil
import subprocess
import sys
import time

DENSE = 13
CARD = [min(c, 148000) for c in (1460, 583, 10131227, 2202608, 305, 24, 12517, 633, 3, 93145, 5683, 8351593, 3194, 27, 14992,
                                 5461306, 10, 5652, 2173, 4, 7046547, 18, 15, 286181, 105, 142572)]  # as Criteo's, capped
SPARE = 1 << 30  # bytes left free when a size is judged


# ---- data and configs ----

def zipf(rng, n, a=1.05):
    """an id of [0, n), few of them often, scattered"""
    r = min(n - 1, int((1 - rng.random() * (1 - (n + 1) ** (1 - a))) ** (1 / (1 - a))) - 1)
    return r * 2654435761 % n


def uniform(rng, n):
    return int(rng.random() * n)


def write_data(path, rows, cards, draw=zipf, ids=None):
    """label, DENSE numbers, one id of each of cards, and where ids is set a field of so many ids"""
    if os.path.exists(path):
        return path
    rng = random.Random(1)
    numbers = ["%.4g" % rng.gauss(0, 1) for _ in range(9973)]
    with open(path + ".part", "w") as f:
        names = ["label"] + [f"int_{i}" for i in range(DENSE)] + [f"cat_{i}" for i in range(len(cards))]
        f.write(",".join(names + (["many"] if ids else [])) + "\n")
        for _ in range(rows):
            cells = ["1" if rng.random() < 0.25 else "0"] + rng.choices(numbers, k=DENSE)
            cells += [str(draw(rng, c)) for c in cards]
            if ids:
                cells.append("|".join(str(draw(rng, 100000)) for _ in range(ids)))
            f.write(",".join(cells) + "\n")
    os.rename(path + ".part", path)
    return path


def write_config(path, data, cards, batch, dim=16, many=False):
    """YAML is a superset of JSON, so the config is written as JSON: deepfm over all columns"""
    dense = [f"int_{i}" for i in range(DENSE)]
    sparse = [f"cat_{i}" for i in range(len(cards))] + (["many"] if many else [])
    features = [{"raw_feature": {"feature_name": n, "expression": "user:" + n}} for n in dense]
    features += [{"id_feature": {"feature_name": n, "expression": "item:" + n, "num_buckets": c, "embedding_dim": dim}}
                 for n, c in zip(sparse, list(cards) + [100000])]
    group = lambda name, names, kind="DEEP": {"group_name": name, "group_type": kind, "feature_names": names}
    rule = lambda name: {name: {"lr": 0.001}, "constant_learning_rate": {}}
    conf = {"train_input_path": data, "model_dir": "model",
            "train_config": {"sparse_optimizer": rule("adagrad_optimizer"), "dense_optimizer": rule("adam_optimizer"), "num_epochs": 1},
            "data_config": {"dataset_type": "CsvDataset", "batch_size": batch, "fg_mode": "FG_NONE", "with_header": True,
                            "fg_encoded_multival_sep": "|", "label_fields": ["label"]},
            "feature_configs": features,
            "model_config": {"feature_groups": [group("wide", sparse, "WIDE"), group("fm", sparse),
                                                group("deep", dense + sparse)],
                             "deepfm": {"wide_embedding_dim": 1, "deep": {"hidden_units": [512, 256, 128]},
                                        "final": {"hidden_units": [64]}},
                             "losses": [{"binary_cross_entropy": {}}]}}
    with open(path, "w") as f:
        json.dump(conf, f)
    return path


def write_sequences(path, rows, steps, cards):
    """label, an item of three ids, and as many sequences, exactly `steps` long"""
    if os.path.exists(path):
        return path
    rng = random.Random(2)
    names = [f"item_{i}" for i in range(len(cards))]
    with open(path + ".part", "w") as f:
        f.write(",".join(["label"] + names + ["clicks__" + n for n in names]) + "\n")
        for _ in range(rows):
            cells = ["1" if rng.random() < 0.25 else "0"] + [str(zipf(rng, c)) for c in cards]
            cells += ["|".join(str(zipf(rng, c)) for _ in range(steps)) for c in cards]
            f.write(",".join(cells) + "\n")
    os.rename(path + ".part", path)
    return path


def write_din(path, data, cards, batch):
    """multi_tower_din: target attention with hidden layers 256, 64 over keys of three ids"""
    names = [f"item_{i}" for i in range(len(cards))]
    feature = lambda n, c: {"id_feature": {"feature_name": n, "expression": "item:" + n, "embedding_name": n,
                                           "num_buckets": c, "embedding_dim": 16}}
    features = [feature(n, c) for n, c in zip(names, cards)]
    sequence = {"sequence_name": "clicks", "sequence_length": 1000, "sequence_delim": "|", "features": list(features)}
    rule = lambda name: {name: {"lr": 0.001}, "constant_learning_rate": {}}
    conf = {"train_input_path": data, "model_dir": "model",
            "train_config": {"sparse_optimizer": rule("adagrad_optimizer"), "dense_optimizer": rule("adam_optimizer"), "num_epochs": 1},
            "data_config": {"dataset_type": "CsvDataset", "batch_size": batch, "fg_mode": "FG_NONE", "with_header": True,
                            "label_fields": ["label"]},
            "feature_configs": features + [{"sequence_feature": sequence}],
            "model_config": {"feature_groups": [{"group_name": "deep", "group_type": "DEEP", "feature_names": names},
                                                {"group_name": "clicks", "group_type": "SEQUENCE",
                                                 "feature_names": names + ["clicks__" + n for n in names]}],
                             "multi_tower_din": {"towers": [{"input": "deep", "mlp": {"hidden_units": [512, 256, 128]}}],
                                                 "din_towers": [{"input": "clicks", "attn_mlp": {"hidden_units": [256, 64]}}],
                                                 "final": {"hidden_units": [64]}},
                             "losses": [{"binary_cross_entropy": {}}]}}
    with open(path, "w") as f:
        json.dump(conf, f)
    return path


# ---- the curves ----

class Curve:
    """points: x -> (config, threads, bytes of tables and state). work: what a row costs, of x and a result"""

    def __init__(self, name, title, x, work, note):
        self.name, self.title, self.x, self.work, self.note = name, title, x, work, note
        self.lines = {}  # label of a line -> {x: point}

    def add(self, label, x, config, cards, dim=16, threads=0):
        # weights and Adagrad's sums, of the tables and of those of width 1
        self.lines.setdefault(label, {})[x] = (config, threads, sum(cards) * (dim + 1) * 8)


def make(work, want):
    big = lambda: write_data(work + "/base.csv", 262144, CARD)
    flops = lambda x, r: r["flops_per_row"]
    same = lambda x, r: 1
    out = []

    def curve(*args):
        out.append(Curve(*args))
        return args[0] in want

    if curve("threads", "threads", "threads", lambda x, r: 1 / x, "batch 8192"):
        conf = write_config(work + "/threads.yaml", big(), CARD, 8192)
        for n in range(1, os.cpu_count() + 1):
            if n & (n - 1) == 0:
                out[-1].add("", n, conf, CARD, threads=n)
    if curve("batch", "batch size", "rows of a batch", same, "the dense weights are read, summed up and updated once per batch"):
        for k in range(8, 17):
            out[-1].add("", 1 << k, write_config(f"{work}/batch{1 << k}.yaml", big(), CARD, 1 << k), CARD)
    if curve("width", "embedding width", "floats of an embedding", flops, "batch 8192"):
        for dim in (4, 8, 16, 32, 64, 128):
            out[-1].add("", dim, write_config(f"{work}/width{dim}.yaml", big(), CARD, 8192, dim), CARD, dim)
    if curve("rows", "the rows of all tables", "table rows", same, "batch 8192, 26 tables of equal size"):
        for label, draw in (("ids by zipf's law", zipf), ("all ids equally often", uniform)):
            for k in range(4, 9):
                cards = [10 ** k // 26] * 26
                data = write_data(f"{work}/rows{k}{draw.__name__}.csv", 65536, cards, draw)
                out[-1].add(label, 10 ** k, write_config(f"{work}/rows{k}{draw.__name__}.yaml", data, cards, 8192), cards)
    if curve("ids", "the ids of a multi-value feature", "ids per row", lambda x, r: x + len(CARD), "batch 1024; dashed: as if looking up ids were all the work"):
        for n in (1, 3, 10, 30, 100, 300, 1000):
            data = write_data(f"{work}/ids{n}.csv", 8192, CARD, ids=n)
            out[-1].add("", n, write_config(f"{work}/ids{n}.yaml", data, CARD, 1024, many=True), CARD + [100000])
    if curve("features", "the number of id features", "features", flops, "batch 1024, width 16"):
        for n in (10, 30, 100, 300, 1000):
            cards = [10000] * n
            data = write_data(f"{work}/features{n}.csv", 4096, cards)
            out[-1].add("", n, write_config(f"{work}/features{n}.yaml", data, cards, 1024), cards)
    if curve("steps", "the length of sequences", "steps of a sequence", flops, "multi_tower_din, batch 512, keys of 3 ids"):
        cards = [846812, 12961, 461498]
        for n in (10, 30, 100, 300, 1000):
            data = write_sequences(f"{work}/steps{n}.csv", 2048, n, cards)
            out[-1].add("", n, write_din(f"{work}/steps{n}.yaml", data, cards, 512), cards * 2)
    if curve("start", "", "", same, ""):  # not a plot: time until 4 GB of tables are there
        cards = [4_000_000_000 // (17 * 8)]
        data = write_data(work + "/start.csv", 8192, cards)
        out[-1].add("", sum(cards), write_config(work + "/start.yaml", data, cards, 1024), cards)
    return [c for c in out if c.lines]


def available():
    with open("/proc/meminfo") as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith("MemAvailable"))


def bench(crank, config, threads, seconds):
    argv = [crank, "bench", "train", config, "--json", "--seconds", str(seconds)]
    r = subprocess.run(argv + (["--threads", str(threads)] if threads else []), capture_output=True, text=True)
    if r.returncode != 0:
        sys.exit(f"{' '.join(argv)}: {r.stderr.strip()}")
    return json.loads(r.stdout)


def measure(curves, a):
    best, skipped = {}, []
    for k in range(a.rounds):
        for c in curves:
            for label, points in c.lines.items():
                for x, (config, threads, size) in points.items():
                    key = (c.name, label, x)
                    if 1.1 * size + SPARE > available():
                        if k == 0:
                            skipped.append({"curve": c.name, "x": x, "bytes": size})
                            print(f"skipped: {c.name} {x} {label}: tables of {size / 1e9:.1f} GB do not fit into memory")
                        continue
                    r = bench(a.build + "/crank", config, threads, a.seconds)
                    old = best.get(key, r)
                    best[key] = dict(r if r["rows_per_s"] > old["rows_per_s"] else old,
                                     tables_ready_s=min(r["tables_ready_s"], old["tables_ready_s"]))
                    print(f"round {k + 1}: {c.name} {x} {label}: {r['rows_per_s']:.0f} rows/s", flush=True)
    out = []
    for c in curves:
        lines = []
        for label, points in c.lines.items():
            v = [dict(x=x, work=c.work(x, best[c.name, label, x]), **best[c.name, label, x]) for x in points
                 if (c.name, label, x) in best]
            lines.append({"label": label, "points": v})
        out.append({"name": c.name, "title": c.title, "x": c.x, "note": c.note, "lines": lines})
    return {"curves": out, "skipped": skipped}


def start_up(crank):
    best = 9.0
    for _ in range(50):
        t = time.perf_counter()
        subprocess.run([crank, "--version"], stdout=subprocess.DEVNULL, check=True)
        best = min(best, time.perf_counter() - t)
    return best


# ---- plots ----

W, H, LEFT, RIGHT, TOP, BOTTOM = 480, 300, 62, 24, 44, 46
COLORS = ["#1b6ca8", "#c2571a"]


def short(v):
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if v >= size and v % (size / 10) == 0:
            return f"{v / size:g}{unit}"
    return f"{v:.0f}" if v >= 10 else f"{v:g}"


def ticks(lo, hi, per):
    """round numbers between lo and hi"""
    return [m * 10 ** e for e in range(-1, 10) for m in per if lo * 0.999 <= m * 10 ** e <= hi * 1.001]


def plot(c):
    points = [p for line in c["lines"] for p in line["points"]]
    ideal = [[(p["x"], line["points"][0]["rows_per_s"] * line["points"][0]["work"] / p["work"]) for p in line["points"]]
             for line in c["lines"] if line["points"]]
    xs = sorted({p["x"] for p in points})
    ys = [p["rows_per_s"] for p in points] + [y for line in ideal for _, y in line]
    lo, hi = min(ys) / 1.3, max(ys) * 1.3
    if hi / lo < 8:  # a scale on which small changes stay small
        lo, hi = lo / math.sqrt(8 * lo / hi), hi * math.sqrt(8 * lo / hi)
    sx = lambda x: LEFT + (W - LEFT - RIGHT) * (math.log(x / xs[0]) / math.log(xs[-1] / xs[0]) if len(xs) > 1 else 0.5)
    sy = lambda y: TOP + (H - TOP - BOTTOM) * math.log(hi / y) / math.log(hi / lo)
    path = lambda v: " ".join(f"{'L' if i else 'M'}{sx(x):.1f} {sy(y):.1f}" for i, (x, y) in enumerate(v))
    s = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {W} {H}" width="{W}" height="{H}" '
         f'font-family="sans-serif" font-size="11">', f'<rect width="{W}" height="{H}" fill="#fff"/>',
         f'<text x="{LEFT}" y="17" font-size="13" fill="#222">rows/s against {c["title"]}</text>',
         f'<text x="{LEFT}" y="33" fill="#666">{c["note"]}</text>']
    for y in ticks(lo, hi, (1, 2, 5)):
        s += [f'<line x1="{LEFT}" y1="{sy(y):.1f}" x2="{W - RIGHT}" y2="{sy(y):.1f}" stroke="#e4e4e4"/>',
              f'<text x="{LEFT - 6}" y="{sy(y) + 4:.1f}" text-anchor="end" fill="#444">{short(y)}</text>']
    for x in xs:
        s += [f'<line x1="{sx(x):.1f}" y1="{H - BOTTOM}" x2="{sx(x):.1f}" y2="{H - BOTTOM + 4}" stroke="#888"/>',
              f'<text x="{sx(x):.1f}" y="{H - BOTTOM + 17}" text-anchor="middle" fill="#444">{short(x)}</text>']
    s.append(f'<path d="M{LEFT} {TOP}V{H - BOTTOM}H{W - RIGHT}" fill="none" stroke="#888"/>')
    s.append(f'<text x="{(LEFT + W - RIGHT) / 2}" y="{H - 10}" text-anchor="middle" fill="#444">{c["x"]}</text>')
    for k, (line, dashed) in enumerate(zip((v for v in c["lines"] if v["points"]), ideal)):
        color = COLORS[k % len(COLORS)]
        s.append(f'<path d="{path(dashed)}" fill="none" stroke="{color}" stroke-dasharray="4 4" opacity="0.6"/>')
        v = [(p["x"], p["rows_per_s"]) for p in line["points"]]
        s.append(f'<path d="{path(v)}" fill="none" stroke="{color}" stroke-width="2"/>')
        s += [f'<circle cx="{sx(x):.1f}" cy="{sy(y):.1f}" r="3" fill="{color}"/>' for x, y in v]
        if line["label"]:
            s.append(f'<text x="{LEFT + 12}" y="{H - BOTTOM - 10 - 15 * (len(c["lines"]) - 1 - k)}" fill="{color}">{line["label"]}</text>')
    return "\n".join(s + ["</svg>"]) + "\n"


def main():
    ap = argparse.ArgumentParser(description="rows/s against the sizes of a model")
    ap.add_argument("--build", default="build")
    ap.add_argument("--out", default="out/bench")
    ap.add_argument("--docs", default="docs/img")
    ap.add_argument("--rounds", type=int, default=2)
    ap.add_argument("--seconds", type=float, default=1.0)
    ap.add_argument("--only", default="threads,batch,width,rows,ids,features,steps,start")
    ap.add_argument("--plot", action="store_true", help="only draw what OUT/curves.json holds")
    ap.add_argument("--keep", action="store_true", help="keep the generated data")
    a = ap.parse_args()
    os.chdir(os.path.dirname(os.path.abspath(__file__)) + "/../..")
    kept, work = a.out + "/curves.json", os.path.abspath(a.out) + "/curves"
    os.makedirs(work, exist_ok=True)
    old = {}
    if os.path.exists(kept):
        with open(kept) as f:
            old = json.load(f)
    if not a.plot:
        new = measure(make(work, a.only.split(",")), a)
        names = {c["name"] for c in new["curves"]}
        new["curves"] += [c for c in old.get("curves", []) if c["name"] not in names]  # of earlier runs with --only
        new["version_s"] = start_up(a.build + "/crank")
        with open(kept, "w") as f:
            json.dump(new, f, indent=1)
        old = new
        if not a.keep:
            shutil.rmtree(work)
    os.makedirs(a.docs, exist_ok=True)
    for c in old["curves"]:
        if c["title"]:
            with open(f"{a.docs}/bench_{c['name']}.svg", "w") as f:
                f.write(plot(c))
    print(f"crank --version: {old['version_s'] * 1e3:.1f} ms")
    for c in old["curves"]:
        for p in [p for line in c["lines"] for p in line["points"]]:
            params = p["table_bytes"] + p["dense_bytes"] + p["state_bytes"]
            print(f"{c['name']:9}{short(p['x']):>8}{p['rows_per_s']:>11.0f} rows/s  tables and state {params / 1e6:>8.1f} MB in "
                  f"{p['tables_ready_s']:.2f} s, peak beyond 1.3 times that and the held batches "
                  f"{(p['peak_rss_bytes'] - p['batches_bytes'] - 1.3 * params) / 1e6:>7.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
