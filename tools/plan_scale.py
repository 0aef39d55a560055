#!/usr/bin/python3
"""plan_scale.py - where time and memory of a large training go: `crank plan` for 8 to 4,096 ranks and tables of 10^9 to 10^11 rows.

  plan_scale.py [--crank build/crank] [--out out/plan] [--docs docs/img]

The machines are stated, not measured (MACHINE below), so that the result is the same everywhere. Prints Markdown tables
and writes DOCS/plan_time.svg (parts of a step), plan_memory.svg (memory of the fullest rank) and plan_rows.svg (rows/s).
"""
import argparse
import json
import math
import os
import subprocess

RANKS = (8, 64, 512, 4096)
PER_NODE, CORES, MEMORY = 8, 8, 512e9
ROWS = (1e9, 1e10, 1e11)
BATCH = 2048  # of a rank
MACHINE = {  # a core of an AMD EPYC (Zen 4); 100 Gbit/s per machine, shared by its ranks
    "flops_per_core": 100e9, "stream_bytes_per_s_per_core": 10e9, "seconds_per_miss": 20e-9, "cache_bytes": 32e6,
    "intra_node_bytes_per_s": 5e9, "cross_node_bytes_per_s": 12.5e9 / PER_NODE,
    "intra_node_seconds_per_message": 1e-6, "cross_node_seconds_per_message": 5e-6}
# shares of the rows that the large tables have, and tables that do not grow
LARGE = (0.5, 0.25, 0.15, 0.07, 0.03)
SMALL = (1460, 583, 305, 24, 12517, 633, 3, 93145, 5683, 3194, 27, 14992, 10, 5652, 2173, 4, 18, 15, 286181, 105, 142572)
PARTS = (("dense", "#4c78a8"), ("lookup", "#54a24b"), ("update", "#b9a13f"), ("network", "#e45756"), ("sync", "#f2a07b"),
         ("messages", "#9d6fb5"))
COLORS = ("#4c78a8", "#54a24b", "#e45756")


def config(path, rows):
    """deepfm over 26 ids and 13 numbers, width 16"""
    f = [{"id_feature": {"feature_name": f"large_{i}", "expression": f"item:large_{i}", "hash_bucket_size": int(rows * s),
                         "embedding_dim": 16}} for i, s in enumerate(LARGE)]
    f += [{"id_feature": {"feature_name": f"small_{i}", "expression": f"item:small_{i}", "num_buckets": n, "embedding_dim": 16}}
          for i, n in enumerate(SMALL)]
    f += [{"raw_feature": {"feature_name": f"number_{i}", "expression": f"item:number_{i}"}} for i in range(13)]
    names = [list(x.values())[0]["feature_name"] for x in f]
    c = {"train_config": {"sparse_optimizer": {"adagrad_optimizer": {"lr": 0.01}, "constant_learning_rate": {}},
                          "dense_optimizer": {"adam_optimizer": {"lr": 0.001}, "constant_learning_rate": {}}, "num_epochs": 1},
         "data_config": {"dataset_type": "ParquetDataset", "batch_size": BATCH, "fg_mode": "FG_NORMAL", "label_fields": ["label"]},
         "feature_configs": f,
         "model_config": {"feature_groups": [{"group_name": "deep", "group_type": "DEEP", "feature_names": names}],
                          "multi_tower": {"towers": [{"input": "deep", "mlp": {"hidden_units": [1024, 512, 256]}}]},
                          "losses": [{"binary_cross_entropy": {}}]}}
    with open(path, "w") as out:
        json.dump(c, out)


# ---- plots ----

W, H, LEFT, RIGHT, TOP, BOTTOM = 560, 320, 66, 16, 46, 46


def short(v):
    for unit, size in ((" TB", 1e12), (" GB", 1e9), (" MB", 1e6)):
        if v >= size:
            return f"{v / size:g}{unit}"
    return f"{v:g}"


def frame(title, note):
    return [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {W} {H}" width="{W}" height="{H}" font-family="sans-serif" '
            f'font-size="11">', f'<rect width="{W}" height="{H}" fill="#fff"/>',
            f'<text x="{LEFT}" y="17" font-size="13" fill="#222">{title}</text>', f'<text x="{LEFT}" y="33" fill="#666">{note}</text>']


def x_axis(s, sx):
    for x in RANKS:
        s.append(f'<text x="{sx(x):.1f}" y="{H - BOTTOM + 17}" text-anchor="middle" fill="#444">{x:,}</text>')
    s.append(f'<path d="M{LEFT} {TOP}V{H - BOTTOM}H{W - RIGHT}" fill="none" stroke="#888"/>')
    s.append(f'<text x="{(LEFT + W - RIGHT) / 2}" y="{H - 10}" text-anchor="middle" fill="#444">ranks</text>')


def bars(plans):
    """the parts of a step, one bar per number of ranks"""
    high = max(p["step_s"] for p in plans.values()) * 1000
    top = math.ceil(high / 10) * 10
    step = (W - LEFT - RIGHT) / len(RANKS)
    sx = lambda x: LEFT + step * (RANKS.index(x) + 0.5)
    sy = lambda y: H - BOTTOM - (H - TOP - BOTTOM) * y / top
    s = frame("milliseconds of a step", "tables of 10^10 rows, 2,048 rows per rank; nothing overlaps")
    for y in range(0, top + 1, max(10, top // 50 * 10)):
        s += [f'<line x1="{LEFT}" y1="{sy(y):.1f}" x2="{W - RIGHT}" y2="{sy(y):.1f}" stroke="#e4e4e4"/>',
              f'<text x="{LEFT - 6}" y="{sy(y) + 4:.1f}" text-anchor="end" fill="#444">{y}</text>']
    for x in RANKS:
        at = 0
        for name, color in PARTS:
            v = plans[x][name + "_s"] * 1000
            s.append(f'<rect x="{sx(x) - 26:.1f}" y="{sy(at + v):.1f}" width="52" height="{max(0, sy(at) - sy(at + v)):.1f}" fill="{color}"/>')
            at += v
        s.append(f'<text x="{sx(x):.1f}" y="{sy(at) - 5:.1f}" text-anchor="middle" fill="#222">{at:.1f}</text>')
    for k, (name, color) in enumerate(PARTS):
        s.append(f'<text x="{LEFT + 12}" y="{TOP + 14 + 15 * (len(PARTS) - 1 - k)}" fill="{color}">{name}</text>')
    x_axis(s, sx)
    return "\n".join(s + ["</svg>"]) + "\n"


def lines(title, note, series, limit=None, unit=short):
    """logarithmic lines; series: label -> {ranks: value}"""
    ys = [y for v in series.values() for y in v.values()] + ([limit] if limit else [])
    lo, hi = min(ys) / 1.5, max(ys) * 1.5
    sx = lambda x: LEFT + 24 + (W - LEFT - RIGHT - 48) * math.log(x / RANKS[0]) / math.log(RANKS[-1] / RANKS[0])
    sy = lambda y: TOP + (H - TOP - BOTTOM) * math.log(hi / y) / math.log(hi / lo)
    s = frame(title, note)
    for y in (10 ** e for e in range(14)):
        if lo <= y <= hi:
            s += [f'<line x1="{LEFT}" y1="{sy(y):.1f}" x2="{W - RIGHT}" y2="{sy(y):.1f}" stroke="#e4e4e4"/>',
                  f'<text x="{LEFT - 6}" y="{sy(y) + 4:.1f}" text-anchor="end" fill="#444">{unit(y)}</text>']
    if limit:
        s += [f'<line x1="{LEFT}" y1="{sy(limit):.1f}" x2="{W - RIGHT}" y2="{sy(limit):.1f}" stroke="#222" stroke-dasharray="5 4"/>',
              f'<text x="{W - RIGHT - 4}" y="{sy(limit) - 5:.1f}" text-anchor="end" fill="#222">what a rank may use: {limit / 1e9:.1f} GB</text>']
    for k, (label, v) in enumerate(series.items()):
        color = COLORS[k % len(COLORS)]
        d = " ".join(f"{'L' if i else 'M'}{sx(x):.1f} {sy(y):.1f}" for i, (x, y) in enumerate(sorted(v.items())))
        dash = ' stroke-dasharray="4 4" opacity="0.6"' if label.startswith("ideal") else ""
        s.append(f'<path d="{d}" fill="none" stroke="{color}" stroke-width="2"{dash}/>')
        s += [f'<circle cx="{sx(x):.1f}" cy="{sy(y):.1f}" r="3" fill="{color}"/>' for x, y in v.items()]
        s.append(f'<text x="{LEFT + 12}" y="{H - BOTTOM - 10 - 15 * (len(series) - 1 - k)}" fill="{color}">{label}</text>')
    x_axis(s, sx)
    return "\n".join(s + ["</svg>"]) + "\n"


def main():
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    p = argparse.ArgumentParser()
    p.add_argument("--crank", default=f"{root}/build/crank")
    p.add_argument("--out", default="out/plan")
    p.add_argument("--docs", default=f"{root}/docs/img")
    a = p.parse_args()
    os.makedirs(a.out, exist_ok=True)
    with open(f"{a.out}/stated.json", "w") as f:
        json.dump(MACHINE, f)
    plans = {}
    for rows in ROWS:
        config(f"{a.out}/scale.json", rows)
        for ranks in RANKS:
            r = subprocess.run([a.crank, "plan", f"{a.out}/scale.json", "--nnodes", str(ranks // PER_NODE), "--nproc_per_node",
                                str(PER_NODE), "--cores", str(CORES), "--memory", str(int(MEMORY)), "--machine",
                                f"{a.out}/stated.json", "--json", "-", "-q"], capture_output=True, text=True)
            if r.returncode not in (0, 1) or not r.stdout:
                raise SystemExit(r.stderr)
            plans[rows, ranks] = json.loads(r.stdout)
    exp = {r: f"10^{round(math.log10(r))}" for r in ROWS}
    print("| rows | ranks | memory of the fullest rank | fits | step | rows/s | sent per row | large tables |\n|---|---|---|---|---|---|---|---|")
    for (rows, ranks), v in plans.items():
        kinds = sorted({t["sharding_type"] for t in v["tables"] if t["name"].startswith("large")})
        full = v["per_rank"][v["fullest_rank"]]["memory_bytes"]
        slow = v["per_rank"][v["slowest_rank"]]
        sent = (slow["sent_intra_bytes"] + slow["sent_cross_bytes"]) / BATCH
        print(f"| {exp[rows]} | {ranks:,} | {full / 1e9:.2f} GB | {'yes' if v['fits'] else 'no'} | {v['step_s'] * 1000:.1f} ms | "
              f"{ranks * BATCH / v['step_s'] / 1e6:.2f} M | {sent:.0f} bytes | {', '.join(kinds)} |")
    print("\n| ranks | " + " | ".join(n for n, _ in PARTS) + " | step |\n|" + "---|" * (len(PARTS) + 2))
    for ranks in RANKS:
        v = plans[1e10, ranks]
        print(f"| {ranks:,} | " + " | ".join(f"{1000 * v[n + '_s']:.2f} ms" for n, _ in PARTS) + f" | {1000 * v['step_s']:.1f} ms |")
    memory = {f"tables of {exp[r]} rows": {k: plans[r, k]["per_rank"][plans[r, k]["fullest_rank"]]["memory_bytes"] for k in RANKS} for r in ROWS}
    limit = MEMORY * 0.85 / PER_NODE
    rate = {k: k * BATCH / plans[1e10, k]["step_s"] for k in RANKS}
    for name, text in (("time", bars({k: plans[1e10, k] for k in RANKS})),
                       ("memory", lines("memory of the fullest rank", "8 ranks on machines of 512 GB; Adagrad, width 16: 128 bytes per row", memory, limit)),
                       ("rows", lines("rows per second of the whole job", "tables of 10^10 rows, 2,048 rows per rank",
                                      {"predicted": rate, "ideal, from 8 ranks on": {k: rate[8] * k / 8 for k in RANKS}},
                                      unit=lambda v: f"{v / 1e6:g}M"))):
        with open(f"{a.docs}/plan_{name}.svg", "w") as f:
            f.write(text)


if __name__ == "__main__":
    main()
