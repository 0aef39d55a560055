#!/usr/bin/python3
"""servers.py - parameter servers beside ranks without servers, on the same cores.

  servers.py [--build build] [--out out/servers] [--rows 400k] [--batch 2048] [--workers 2] [--servers 1] [--rounds 3]
             [--only rate,auc]

  rate  rows/s, bytes per row and how busy the servers are: WORKERS ranks without servers, then each strategy with as many workers and
        SERVERS servers, all with one thread per process and on the same cores; `computing` is async with fake_rpc, which sends nothing
  auc   the AUC of each strategy on rows that were not trained, its distance from sync, and how old gradients were

The sides run in turns, and the best of all rounds counts: other work on the machine then hits all of them alike. The data is made by
`crank synth criteo`, whose best AUC is known. Prints Markdown tables and writes OUT/servers.json.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys

SGD = ("train_config.sparse_optimizer={sgd_optimizer: {lr: 0.5}, constant_learning_rate: {}}",
       "train_config.dense_optimizer={sgd_optimizer: {lr: 0.05, momentum: 0}, constant_learning_rate: {}}")
ADA = ("train_config.sparse_optimizer={adagrad_optimizer: {lr: 0.05}, constant_learning_rate: {}}",
       "train_config.dense_optimizer={adagrad_optimizer: {lr: 0.01}, constant_learning_rate: {}}")


def cpu():
    with open("/proc/cpuinfo") as f:
        names = [x.split(":", 1)[1].strip() for x in f if x.startswith("model name")]
    return f"{names[0] if names else 'unknown CPU'}, {os.cpu_count()} cores"


def number(text):
    for unit, size in (("k", 1e3), ("M", 1e6), ("G", 1e9)):
        if text.endswith(unit):
            return float(text[:-1]) * size
    return float(text)


def train(a, side, sets, *more):
    """one training; side: collective, or a strategy"""
    work = f"{a.out}/run"
    shutil.rmtree(work, ignore_errors=True)
    start = ["--nproc-per-node", str(a.workers)]
    own = []
    if side != "collective":
        start = ["--ps", str(a.servers), "--workers", str(a.workers)]
        own = ["--strategy", side]
    argv = [a.build + "/crank", "launch", "--standalone"] + start + ["--", "train", f"{a.out}/data/pipeline.yaml", "--model_dir", work, "--threads", "1"]
    for s in (f"data_config.batch_size={a.batch}", "train_config.num_epochs=1", "train_config.use_tensorboard=false", "train_config.lanes=8") + tuple(sets):
        argv += ["--set", s]
    r = subprocess.run(argv + own + list(more), capture_output=True, text=True)
    if r.returncode != 0:
        raise SystemExit(f"{' '.join(argv)}\n{r.stderr[-2000:]}")
    out = {"rows_per_s": number(re.search(r"speed +(\S+) rows/s", r.stdout).group(1))}
    m = re.search(r"sent +(\S+) (B|KB|MB) per row", r.stdout)
    if m:
        out["bytes_per_row"] = float(m.group(1)) * {"B": 1, "KB": 1024, "MB": 1 << 20}[m.group(2)]
    m = re.search(r"auc +([0-9.]+)", r.stdout)
    if m:
        out["auc"] = float(m.group(1))
    for m in re.finditer(r"staleness of gradients in batches: (.*); at most (\d+)", r.stderr):
        out["staleness"], out["most_stale"] = m.group(1), int(m.group(2))
    for m in re.finditer(r"busy (\d+) % of the round, at most (\d+) %: ([0-9.]+) ms per pull, ([0-9.]+) ms per push", r.stderr):
        out["busy"], out["pull_ms"], out["push_ms"] = int(m.group(2)), float(m.group(3)), float(m.group(4))
    return out


def rate(a):
    sides = ("collective", "sync", "half_async", "async", "geo", "computing")
    best = {}
    for _ in range(a.rounds):
        for s in sides:
            sets = (SGD if s == "geo" else ADA) + ("eval_input_path=''",)
            if s == "computing":
                r = train(a, "async", sets + ("train_config.servers.fake_rpc=true",))
            else:
                r = train(a, s, sets)
            if s not in best or r["rows_per_s"] > best[s]["rows_per_s"]:
                best[s] = r
    print(f"\n{a.workers} workers and {a.servers} server{'s' if a.servers > 1 else ''}, batches of {a.batch} rows, {cpu()}\n")
    print("| | rows/s | of collective | bytes per row | server busy | ms per pull | ms per push |\n|---|---|---|---|---|---|---|")
    for s in sides:
        v = best[s]
        print(f"| {s} | {v['rows_per_s']:,.0f} | {v['rows_per_s'] / best['collective']['rows_per_s']:.2f} | {v.get('bytes_per_row', 0):,.0f} | "
              + (f"{v['busy']} % | {v['pull_ms']:.2f} | {v['push_ms']:.2f} |" if "busy" in v else "| | |"))
    return best


def auc(a):
    out = {}
    print("\n| | AUC | from sync | staleness in batches |\n|---|---|---|---|")
    for s in ("sync", "half_async", "async", "geo"):
        out[s] = train(a, s, SGD, "--set", "train_config.servers.k_steps=10") if s == "geo" else train(a, s, SGD)
        print(f"| {s} | {out[s]['auc']:.4f} | {out[s]['auc'] - out['sync']['auc']:+.4f} | {out[s].get('staleness', '')} |")
    return out


def main():
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    p = argparse.ArgumentParser()
    p.add_argument("--build", default=f"{root}/build")
    p.add_argument("--out", default="out/servers")
    p.add_argument("--rows", default="400k")
    p.add_argument("--batch", type=int, default=2048)
    p.add_argument("--workers", type=int, default=2)
    p.add_argument("--servers", type=int, default=1)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--only", default="rate,auc")
    a = p.parse_args()
    os.makedirs(a.out, exist_ok=True)
    if not os.path.exists(f"{a.out}/data/pipeline.yaml"):
        subprocess.run([a.build + "/crank", "synth", "criteo", "--rows", a.rows, "--scale", "0.1", "-q", "-o", f"{a.out}/data"], check=True)
    found = {"cpu": cpu(), "workers": a.workers, "servers": a.servers, "batch": a.batch, "rows": a.rows}
    for name, f in (("rate", rate), ("auc", auc)):
        if name in a.only.split(","):
            found[name] = f(a)
    with open(f"{a.out}/servers.json", "w") as f:
        json.dump(found, f, indent=1)


if __name__ == "__main__":
    sys.exit(main())
