#!/usr/bin/python3
"""precision.py - loss curves of one model under every kind of matrix products, beside FP32.

  precision.py [--build build] [--out out/bench] [--docs docs/img] [--rows 200k] [--threads N]

Makes data of a known best score (`crank synth criteo`), trains the same DeepFM from the same start once per kind
and takes the training loss at every step, then the loss and AUC of the evaluation. "FP32, other sums" is FP32
with another number of lanes: gradients are summed in another order, which nobody would call another precision,
so this is how far two curves of FP32 lie apart. All kinds run in the common order of sums (CRANK_CPU=avx512).

Prints the table of docs/guide/precision.md, writes OUT/precision.json and the figure DOCS/precision.svg: the
distance from FP32's loss as a share of it, mean of 16 steps at a time (--plot draws from the JSON alone).
"""
import argparse
import json
import math
import os
import shutil
import subprocess
import sys

KINDS = {"FP32": [], "FP32, other sums": ["train_config.lanes=2"], "BF16": ["train_config.mixed_precision=BF16"],
         "BF16x3": ["train_config.fp32_matmul=BF16x3"], "BF16x6": ["train_config.fp32_matmul=BF16x6"]}
COLORS = {"BF16": "#c2571a", "BF16x3": "#1b6ca8", "BF16x6": "#2a8a4a", "FP32, other sums": "#777777"}
AT = (1, 4, 16, 64, 256)
MEAN = 16  # steps that a point of the figure stands for


def run(argv, **more):
    r = subprocess.run(argv, capture_output=True, text=True, **more)
    if r.returncode != 0:
        sys.exit(f"{' '.join(argv)}: {(r.stderr or r.stdout).strip().splitlines()[-1]}")
    return r.stdout


def train(a, work, kind):
    """losses of the steps, and what the evaluation says"""
    log, model = work + "/log.jsonl", work + "/model"
    shutil.rmtree(model, ignore_errors=True)
    if os.path.exists(log):
        os.remove(log)
    sets = ["train_config.log_step_count_steps=1", "train_config.num_epochs=1", "data_config.batch_size=1024",
            "train_config.save_checkpoints_steps=1000000", *KINDS[kind]]
    argv = [a.build + "/crank", "train", work + "/data/pipeline.yaml", "--quiet", "--model_dir", model, "--log_json", log]
    for s in sets:
        argv += ["--set", s]
    if a.threads:
        argv += ["--threads", str(a.threads)]
    run(argv, env=dict(os.environ, CRANK_CPU="avx512"))
    with open(log) as f:
        events = [json.loads(line) for line in f]
    losses = [e["train.loss"] for e in events if e["event"] == "train"]
    last = [e for e in events if e["event"] == "eval"][-1]
    return {"losses": losses, "eval": {k: v for k, v in last.items() if isinstance(v, float)}}


# ---- the figure ----

W, H, LEFT, RIGHT, TOP, BOTTOM = 560, 320, 62, 24, 44, 46


def distances(kinds, name):
    """(step, mean share of FP32's loss by which the losses differ)"""
    pairs = list(zip(kinds["FP32"]["losses"], kinds[name]["losses"]))
    out = []
    for i in range(0, len(pairs) - MEAN + 1, MEAN):
        part = [abs(y - x) / x for x, y in pairs[i:i + MEAN]]
        out.append((i + MEAN, max(sum(part) / MEAN, 1e-9)))
    return out


def plot(kinds):
    lines = {k: distances(kinds, k) for k in COLORS}
    steps = max(x for v in lines.values() for x, _ in v)
    lo = min(y for v in lines.values() for _, y in v) / 2
    hi = max(y for v in lines.values() for _, y in v) * 2
    sx = lambda x: LEFT + (W - LEFT - RIGHT) * x / steps
    sy = lambda y: TOP + (H - TOP - BOTTOM) * math.log(hi / y) / math.log(hi / lo)
    s = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {W} {H}" width="{W}" height="{H}" '
         f'font-family="sans-serif" font-size="11">', f'<rect width="{W}" height="{H}" fill="#fff"/>',
         f'<text x="{LEFT}" y="17" font-size="13" fill="#222">distance from the training loss of FP32</text>',
         f'<text x="{LEFT}" y="33" fill="#666">as a share of it, mean of {MEAN} steps; DeepFM, synthetic Criteo, batch 1024</text>']
    for e in range(-9, 1):
        if lo <= 10 ** e <= hi:
            s += [f'<line x1="{LEFT}" y1="{sy(10 ** e):.1f}" x2="{W - RIGHT}" y2="{sy(10 ** e):.1f}" stroke="#e4e4e4"/>',
                  f'<text x="{LEFT - 6}" y="{sy(10 ** e) + 4:.1f}" text-anchor="end" fill="#444">1e{e}</text>']
    for x in range(0, steps + 1, 32):
        s.append(f'<text x="{sx(x):.1f}" y="{H - BOTTOM + 17}" text-anchor="middle" fill="#444">{x}</text>')
    s.append(f'<path d="M{LEFT} {TOP}V{H - BOTTOM}H{W - RIGHT}" fill="none" stroke="#888"/>')
    s.append(f'<text x="{(LEFT + W - RIGHT) / 2}" y="{H - 10}" text-anchor="middle" fill="#444">step</text>')
    for name, v in lines.items():
        path = " ".join(f"{'L' if i else 'M'}{sx(x):.1f} {sy(y):.1f}" for i, (x, y) in enumerate(v))
        s.append(f'<path d="{path}" fill="none" stroke="{COLORS[name]}" stroke-width="2"/>')
        at = H - BOTTOM - 12 - 15 * (len(lines) - 1 - list(lines).index(name))
        s.append(f'<text x="{W - RIGHT - 10}" y="{at}" text-anchor="end" fill="{COLORS[name]}">{name}</text>')
    return "\n".join(s + ["</svg>"]) + "\n"


def table(kinds):
    n = len(kinds["FP32"]["losses"])
    at = [i for i in AT if i < n] + [n]
    print("| | " + " | ".join(f"step {i}" for i in at) + " | evaluation: loss | AUC |")
    print("|---" * (len(at) + 3) + "|")
    base = kinds["FP32"]
    for name, k in kinds.items():
        cells = [f"{k['losses'][i - 1]:.6f}" for i in at]
        loss = next(v for m, v in k["eval"].items() if "cross_entropy" in m or m.endswith("loss"))
        auc = next(v for m, v in k["eval"].items() if m.endswith("auc"))
        print(f"| {name} | " + " | ".join(cells) + f" | {loss:.6f} | {auc:.6f} |")
    for name, k in kinds.items():
        worst = max(abs(y - x) / x for x, y in zip(base["losses"], k["losses"]))
        print(f"{name}: largest distance of a step's loss from FP32's {worst:.1e}", file=sys.stderr)


def main():
    ap = argparse.ArgumentParser(description="loss curves of every kind of products")
    ap.add_argument("--build", default="build")
    ap.add_argument("--out", default="out/bench")
    ap.add_argument("--docs", default="docs/img")
    ap.add_argument("--rows", default="200k")
    ap.add_argument("--threads", type=int, default=0)
    ap.add_argument("--plot", action="store_true", help="only draw what OUT/precision.json holds")
    a = ap.parse_args()
    os.chdir(os.path.dirname(os.path.abspath(__file__)) + "/../..")
    kept, work = a.out + "/precision.json", os.path.abspath(a.out) + "/precision"
    os.makedirs(work, exist_ok=True)
    if not a.plot:
        shutil.rmtree(work + "/data", ignore_errors=True)
        run([a.build + "/crank", "synth", "criteo", "--rows", a.rows, "--scale", "0.02", "-o", work + "/data", "-q"])
        kinds = {}
        for name in KINDS:
            kinds[name] = train(a, work, name)
            print(f"{name}: {len(kinds[name]['losses'])} steps, {kinds[name]['eval']}", file=sys.stderr, flush=True)
        with open(kept, "w") as f:
            json.dump(kinds, f)
        shutil.rmtree(work)
    with open(kept) as f:
        kinds = json.load(f)
    os.makedirs(a.docs, exist_ok=True)
    with open(a.docs + "/precision.svg", "w") as f:
        f.write(plot(kinds))
    table(kinds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
