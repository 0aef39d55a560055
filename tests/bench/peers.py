#!/usr/bin/python3
"""peers.py - crank beside PyTorch and ONNX Runtime: the same data, models, batches and threads.

  peers.py [--build build] [--peers ../shared/bench] [--out out/bench] [--rounds 3] [--only NAME,...]

The peers are programs of another folder (peer_torch.py, serve_torch.py, node/ort_bench.mjs); without
it nothing is measured. Each round runs every program once, one after the other, and the best of all
rounds counts: other work on the machine then hits all of them alike. The first lines, and peers.json, name
the CPU and the kernels that each side computes with: figures without these say nothing.

  train, bf16, x3   training: FP32, mixed precision (peer: autocast), and products of three BF16 products
                    (train_config.cuda_matmul_allow_tf32), which are only run when --only asks for x3
  tuned  the best variant of the peer with the allocator and OpenMP settings of its env_tuned.sh
  plain  the variant a user would write first, with nothing set. OpenBLAS gets the right kernels in both
         (openblas.py of the peers): it does not know CPUs newer than itself and takes its slowest ones
  from   files: whole pieces are timed, parsing by pandas included. CSV: numbers and ids. raw TSV: Criteo's
         layout with blanks and hexadecimal words; log(1 + x) and hashing are part of the work. Parquet: the
         rows of the CSV, and the peer's rate is that from CSV

Prints a table (rows/s, how many times a peer's rate, met or not) and writes OUT/peers.json. Needs
Debian's python3-torch and python3-pandas, for ONNX Runtime npm, for Parquet the DuckDB of tests/parquet.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys

ROWS = 262144  # as many as the peers hold in memory at batch 8192, drawn in the same order
CHUNK = 65536  # rows that pandas parses at a time
LOSS_STEPS = 64
PYTHON = "/usr/bin/python3"
HERE = os.path.dirname(os.path.abspath(__file__))
VARIANTS = {"deepfm": ["manual", "fused", "fused17", "manual17"], "dlrm": ["manual", "fused"]}
DENSE = [f"int_{i}" for i in range(13)]
SPARSE = [f"cat_{i}" for i in range(26)]

DIN_FEATURES = ["user", "cms_segid", "cms_group", "gender", "age", "pvalue", "shopping", "occupation", "class_level", "adgroup",
                "cate", "campaign", "customer", "brand", "price", "pid"]
DIN_KEYS = ["adgroup", "cate", "brand"]

# the bars: name -> {peer: (floor, goal)}
BARS = {
    "deepfm, batch 8192": {"tuned": (2.5, 5), "plain": (3.5, 7)},
    "deepfm, batch 512": {"tuned": (2, 4), "plain": (7, 14)},
    "dlrm, batch 8192": {"tuned": (4, 7), "plain": (4.5, 8)},
    "multi_tower_din, batch 2048": {"tuned": (3.5, 6), "padded": (7, 14), "plain": (12, 20)},
    "deepfm from CSV, batch 8192": {"tuned": (15, 30), "plain": (15, 30)},
    "deepfm from raw TSV, batch 8192": {"tuned": (15, 30), "plain": (15, 30)},
    "deepfm from Parquet, batch 8192": {"tuned": (15, 30), "plain": (15, 30)},
    "predict deepfm, batch 8192": {"torch": (3, 6), "onnxruntime": (1, 2)},
    "predict deepfm, batch 512": {"torch": (3, 6), "onnxruntime": (1, 2)},
    "deepfm, threads 2 of 1": {"one thread": (1.85, 1.95)},
    "deepfm BF16, batch 8192": {"autocast": (3.6, 5.4)},
    "deepfm BF16, batch 512": {"autocast": (4, 6.5)},
    "dlrm BF16, batch 8192": {"autocast": (3.3, 5.3)},
    "multi_tower_din BF16, batch 2048": {"autocast": (4.8, 7)},
    "predict deepfm BF16, batch 8192": {"onnxruntime": (3, 6)},
    "predict deepfm BF16, batch 512": {"onnxruntime": (3, 6)},
    "deepfm x3, batch 8192": {"tuned": (4, 5.5)},
    "deepfm x3, batch 512": {"tuned": (3.5, 5)},
    "dlrm x3, batch 8192": {"tuned": (4.5, 6)},
    "multi_tower_din x3, batch 2048": {"tuned": (5, 7)},
    "predict deepfm x3, batch 8192": {"onnxruntime": (2, 3)},
    "predict deepfm x3, batch 512": {"onnxruntime": (2, 3)},
}
TRAIN = (("deepfm", 8192), ("deepfm", 512), ("dlrm", 8192), ("multi_tower_din", 2048))
# what --only may name: what it adds to the model's name, crank's setting, the peer's flag, and what the peer is called
PRECISION = {"train": ("", None, [], "tuned"),
             "bf16": (" BF16", "train_config.mixed_precision=BF16", ["--amp"], "autocast"),
             "x3": (" x3", "train_config.cuda_matmul_allow_tf32=true", [], "tuned")}
PARTS = [*PRECISION, "files", "predict", "losses"]


class Skip(Exception):
    """why a measurement cannot be made here"""


def run(argv, cwd=None, env=None):
    r = subprocess.run(argv, cwd=cwd, env=env, capture_output=True, text=True)
    if r.returncode != 0:
        last = (r.stderr or r.stdout).strip().splitlines()
        raise Skip(f"{os.path.basename(argv[0])}: {last[-1] if last else 'failed'}")
    return r.stdout


# ---- data and configs ----

def write_csv(path, peers):
    sys.path.insert(0, peers)
    sys.dont_write_bytecode = True
    from common import cards, criteo_batches
    card = cards("cap1m")
    if not os.path.exists(path):
        x, ids, y = criteo_batches(card, ROWS, 1)
        with open(path + ".part", "w") as f:
            for r in range(ROWS):
                f.write("%d,%s,%s\n" % (y[r], ",".join("%.6g" % v for v in x[r]), ",".join(map(str, ids[r]))))
        os.rename(path + ".part", path)
    return card


def write_config(path, model, card, data, kind="csv"):
    """YAML is a superset of JSON, so the config is written as JSON"""
    raw = kind == "tsv"
    more = {"normalizer": "method=expression,expr=log(1+x)", "default_value": "0"} if raw else {}
    buckets = "hash_bucket_size" if raw else "num_buckets"
    features = [{"raw_feature": {"feature_name": n, "expression": "user:" + n, **more}} for n in DENSE]
    features += [{"id_feature": {"feature_name": n, "expression": "item:" + n, buckets: c, "embedding_dim": 16}}
                 for n, c in zip(SPARSE, card)]
    group = lambda name, names, kind="DEEP": {"group_name": name, "group_type": kind, "feature_names": names}
    if model == "deepfm":
        groups = [group("wide", SPARSE, "WIDE"), group("fm", SPARSE), group("deep", DENSE + SPARSE)]
        body = {"wide_embedding_dim": 1, "deep": {"hidden_units": [512, 256, 128]}, "final": {"hidden_units": [64]}}
    else:
        groups = [group("dense", DENSE), group("sparse", SPARSE)]
        body = {"dense_mlp": {"hidden_units": [512, 256, 64, 16]}, "arch_with_sparse": False,
                "final": {"hidden_units": [512, 256]}}
    dc = {"dataset_type": "ParquetDataset" if kind == "parquet" else "CsvDataset", "batch_size": 8192,
          "fg_mode": "FG_NORMAL" if raw else "FG_NONE", "label_fields": ["label"]}
    if raw:
        dc["delimiter"] = "\t"
    if kind != "parquet":
        ids = ":STRING" if raw else ":INT64"
        dc["input_fields_str"] = ";".join(["label:FLOAT"] + [n + ":FLOAT" for n in DENSE] + [n + ids for n in SPARSE])
    rule = lambda name: {name: {"lr": 0.001}, "constant_learning_rate": {}}
    conf = {"train_input_path": data, "model_dir": os.path.dirname(path) + "/model",
            "train_config": {"sparse_optimizer": rule("adagrad_optimizer"), "dense_optimizer": rule("adam_optimizer"),
                             "num_epochs": 2, "log_step_count_steps": 1},
            "data_config": dc, "feature_configs": features,
            "model_config": {"feature_groups": groups, model: body, "losses": [{"binary_cross_entropy": {}}],
                             "metrics": [{"auc": {}}]}}
    with open(path, "w") as f:
        json.dump(conf, f, indent=1)
    return path


def write_din(path, peers):
    """rows of the peer's own making: 16 ids, and sequences of up to 100 steps of three ids"""
    sys.path.insert(0, peers)
    from common import TAOBAO_CTX, TAOBAO_ITEM, TAOBAO_USER, din_batches
    csv, card = path + ".csv", dict(zip(DIN_FEATURES, TAOBAO_USER + TAOBAO_ITEM + TAOBAO_CTX))
    keys = ["clicks__" + k for k in DIN_KEYS]
    if not os.path.exists(csv):
        rows = 16384
        deep, seq, length, y = din_batches(rows, 1, 100, False)
        with open(csv + ".part", "w") as f:
            f.write(",".join(["label"] + DIN_FEATURES + keys) + "\n")
            for r in range(rows):
                steps = seq[r, :length[r]]
                cells = [str(int(y[r]))] + [str(v) for v in deep[r]]
                f.write(",".join(cells + ["|".join(map(str, steps[:, k])) for k in range(len(keys))]) + "\n")
        os.rename(csv + ".part", csv)
    feature = lambda n: {"id_feature": {"feature_name": n, "expression": "user:" + n, "num_buckets": card[n], "embedding_dim": 16}}
    rule = lambda name: {name: {"lr": 0.001}, "constant_learning_rate": {}}
    conf = {"train_input_path": csv, "model_dir": path + ".model",
            "train_config": {"sparse_optimizer": rule("adagrad_optimizer"), "dense_optimizer": rule("adam_optimizer"), "num_epochs": 1},
            "data_config": {"dataset_type": "CsvDataset", "batch_size": 2048, "fg_mode": "FG_NONE", "with_header": True,
                            "label_fields": ["label"]},
            "feature_configs": [feature(n) for n in DIN_FEATURES] + [{"sequence_feature": {
                "sequence_name": "clicks", "sequence_length": 100, "sequence_delim": "|", "features": [feature(n) for n in DIN_KEYS]}}],
            "model_config": {"feature_groups": [
                {"group_name": "deep", "group_type": "DEEP", "feature_names": DIN_FEATURES},
                {"group_name": "clicks", "group_type": "SEQUENCE", "feature_names": DIN_KEYS + keys}],
                "multi_tower_din": {"towers": [{"input": "deep", "mlp": {"hidden_units": [512, 256, 128]}}],
                                    "din_towers": [{"input": "clicks", "attn_mlp": {"hidden_units": [256, 64]}}],
                                    "final": {"hidden_units": [64]}},
                "losses": [{"binary_cross_entropy": {}}]}}
    with open(path + ".yaml", "w") as f:
        json.dump(conf, f, indent=1)
    return path + ".yaml"


def write_parquet(csv, build):
    """the same rows by DuckDB, columns as numbers"""
    run(["sh", "tools/npm.sh", "tests/parquet"])
    found = [os.path.join(d, n) for d, _, names in os.walk("tests/parquet/node_modules/@duckdb") for n in names
             if n == "libduckdb.so"]
    if not found:
        raise Skip("DuckDB's npm package has no library for this system")
    run(["ninja", "-C", build, "tests/bench/bench_duckdb"])
    names = [("label", "FLOAT")] + [(n, "FLOAT") for n in DENSE] + [(n, "BIGINT") for n in SPARSE]
    types = ", ".join(f"'{n}': '{t}'" for n, t in names)
    out = csv[:-4] + ".parquet"
    # in the order of the file: without, threads write row groups as they get ready
    sql = (f"SET preserve_insertion_order=true; COPY (SELECT * FROM read_csv('{csv}', header=false, columns={{{types}}})) "
           f"TO '{out}' (FORMAT parquet);")
    run([build + "/tests/bench/bench_duckdb", found[0], "run", sql])
    return out


# ---- the two sides ----

class Ours:
    def __init__(self, a):
        self.crank, self.a = a.build + "/crank", a

    def kernels(self):
        limits = json.loads(run([self.crank, "bench", "limits", "--json", "--seconds", "0.05"]))
        return {k: limits[k] for k in ("cpu", "kernels")}

    def bench(self, what, config, batch, threads, setting=None):
        more = ["--set", setting] if setting else []
        return json.loads(run([self.crank, "bench", what, config, "--json", "--threads", str(threads), "--seconds",
                               str(self.a.seconds), "--set", f"data_config.batch_size={batch}", *more]))

    def train(self, config, *flags):
        """events of a whole run"""
        work = os.path.dirname(config)
        log = work + "/train.jsonl"
        shutil.rmtree(work + "/model", ignore_errors=True)
        if os.path.exists(log):
            os.remove(log)
        run([self.crank, "train", config, "--quiet", "--threads", str(self.a.threads), "--log_json", log, *flags])
        with open(log) as f:
            return [json.loads(line) for line in f]

    def files(self, config):
        end = self.train(config)[-1]
        return end["rows"] / (end["seconds"] - end["seconds.save"])  # the peer saves nothing

    def losses(self, config):
        """of two epochs from the weights of a checkpoint, and that checkpoint"""
        first = self.train(config, "--set", "train_config.num_epochs=0", "--set", "train_config.num_steps=1")[-1]
        kept = os.path.dirname(config) + "/start"
        shutil.rmtree(kept, ignore_errors=True)
        os.rename(first["checkpoint"], kept)
        events = self.train(config, "--fine_tune_checkpoint", kept, "--ignore_restore_optimizer")
        return [e["train.loss"] for e in events if e["event"] == "train"], kept


class Peers:
    def __init__(self, a):
        self.a, self.node = a, a.out + "/peers/node"

    def python(self, args, tuned, threads):
        env = dict(os.environ, PYTHONDONTWRITEBYTECODE="1", OMP_NUM_THREADS=str(threads), OPENBLAS_NUM_THREADS=str(threads))
        argv = [PYTHON] + args
        if tuned:
            argv = ["bash", "-c", '. ./env_tuned.sh; exec env LD_PRELOAD="$TUNED_PRELOAD" "$@"', "bash"] + argv
        return run(argv, cwd=self.a.peers, env=env)

    def kernels(self):
        """what the libraries below PyTorch compute with, when they are set up as for the measurements"""
        return json.loads(self.python([HERE + "/peer_kernels.py"], True, self.a.threads).splitlines()[-1])

    @staticmethod
    def figures(text):
        return {w[1]: float(w[2]) for w in map(str.split, text.splitlines()) if w[:1] == ["@"]}

    def train(self, model, variant, batch, threads, tuned, *more):
        out = self.figures(self.python(["peer_torch.py", "--model", model, "--variant", variant, "--batch", str(batch),
                                        "--threads", str(threads), "--seconds", str(self.a.seconds), "--windows", "2", *more],
                                       tuned, threads))
        return next(v for k, v in out.items() if k.endswith(f".t{threads}"))

    def hooked(self, n, warm, weights, extra, tuned):
        return self.python([HERE + "/peer_hook.py", str(n), str(warm), weights, "--threads", str(self.a.threads)] + extra, tuned,
                           self.a.threads)

    def files(self, variant, loader, path, tuned):
        per = CHUNK // 8192  # the first step is taken before the hook
        return self.figures(self.hooked(3 * per, per - 1, "", ["--variant", variant, "--batch", "8192", "--loader",
                                                            loader, "--file", path], tuned))["rate"]

    def losses(self, model, checkpoint):
        text = self.hooked(LOSS_STEPS, 0, checkpoint + "/model-00001-of-00001.safetensors",
                           ["--model", model, "--variant", "manual", "--batch", "8192"], False)
        return next(json.loads(line[8:]) for line in text.splitlines() if line.startswith("@losses"))

    def serve(self, threads, batch):
        out = self.figures(self.python(["serve_torch.py", "--threads", str(threads)], True, threads))
        return {b: max(out[f"serve.torch_{k}.b{b}.t{threads}"] for k in ("eager", "jit_frozen")) for b in batch}

    def ort_setup(self):
        os.makedirs(self.node, exist_ok=True)
        if not os.path.isdir(self.node + "/node_modules/onnxruntime-node"):
            if not shutil.which("npm"):
                raise Skip("npm is not installed: apt install nodejs npm")
            with open(self.node + "/package.json", "w") as f:
                json.dump({"private": True, "dependencies": {"onnxruntime-node": "^1.20.0"}}, f)
            run(["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=self.node)
        shutil.copy(self.a.peers + "/node/ort_bench.mjs", self.node)
        self.python(["serve_torch.py", "--export", self.node + "/deepfm.onnx"], False, 1)
        return True

    def ort(self, threads, batch):
        out = self.figures(run(["node", "ort_bench.mjs", "deepfm.onnx", str(threads)], cwd=self.node))
        return {b: out[f"serve.ort.b{b}.t{threads}"] for b in batch}


def attempt(name, fn):
    try:
        return fn()
    except (Skip, OSError) as why:
        print(f"skipped: {name}: {why}", flush=True)
        return None


# ---- all of it ----

class Table:
    """best rate of each side of each comparison"""
    def __init__(self):
        self.best, self.skipped = {}, set()

    def add(self, name, side, rate):
        row = self.best.setdefault(name, {})
        row[side] = max(rate, row.get(side, 0))

    def measure(self, name, side, fn):
        """a side that cannot run is told once and left out"""
        if (name, side) in self.skipped:
            return
        rates = attempt(f"{name}, {side}", fn)
        if rates is None:
            self.skipped.add((name, side))
            return
        for n, rate in (rates.items() if isinstance(rates, dict) else [(name, rates)]):
            self.add(n, side, rate)

    def rows(self):
        for name, bars in BARS.items():
            if "ours" not in self.best.get(name, {}):
                continue
            sides = self.best[name]
            yield {"name": name, "ours": sides["ours"],
                   "against": {p: {"rows_per_s": sides[p], "ratio": sides["ours"] / sides[p], "floor": floor, "goal": goal,
                                   "met": sides["ours"] / sides[p] >= floor}
                               for p, (floor, goal) in bars.items() if p in sides},
                   "all": sides}

    def show(self, losses):
        print(f"\n{'':34}{'ours':>9}  {'peer':<12}{'rate':>9}{'ratio':>8}{'floor':>7}{'goal':>6}")
        for r in self.rows():
            lead = f"{r['name']:34}{r['ours'] / 1e3:>8.1f}k  "
            for peer, v in r["against"].items():
                print(f"{lead:45}{peer:<12}{v['rows_per_s'] / 1e3:>8.1f}k{v['ratio']:>7.2f}x{v['floor']:>6}x{v['goal']:>5}x  "
                      f"{'met' if v['met'] else 'not met'}")
                lead = ""
        for model, d in losses.items():
            print(f"losses of {model}: {d['steps']} steps, differ by at most {100 * d['worst']:.3f} % (1 % "
                  f"allowed): {'met' if d['met'] else 'not met'}")


def train(t, ours, peers, precision, model, batch, config, fastest):
    """one round of one model: crank, the fastest variants of the peer, and in FP32 the plain one"""
    T, (word, setting, flags, peer) = ours.a.threads, PRECISION[precision]
    name, din = f"{model}{word}, batch {batch}", model == "multi_tower_din"
    t.measure(name, "ours", lambda: ours.bench("train", config, batch, T, setting)["rows_per_s"])
    if precision == "x3" and f"{model}, batch {batch}" in fastest:  # the peer's rate is that in FP32
        t.add(name, peer, t.best[f"{model}, batch {batch}"][peer])
        return
    if din:
        t.measure(name, peer, lambda: peers.train("din", "fused", batch, T, True, "--din", "algebra", *flags))
    else:
        for v in fastest.get(name, VARIANTS[model]):  # the two best of the first round go on
            t.measure(name, f"{peer} {v}", lambda: peers.train(model, v, batch, T, True, *flags))
    rates = {s.split()[-1]: r for s, r in t.best.get(name, {}).items() if s.split()[0] == peer}
    if rates:
        fastest[name] = sorted((v for v in rates if v != peer), key=rates.get)[-2:]
        t.add(name, peer, max(rates.values()))
    if precision != "train":
        return
    if din:
        t.measure(name, "padded", lambda: peers.train("din", "fused", batch, T, True, "--din", "padded"))
        t.measure(name, "plain", lambda: peers.train("din", "naive", batch, T, False, "--din", "padded"))
    else:
        t.measure(name, "plain", lambda: peers.train(model, "naive", batch, T, False))
    if name == "deepfm, batch 8192" and T == 2 and "ours" in t.best.get(name, {}):
        t.measure("deepfm, threads 2 of 1", "one thread", lambda: ours.bench("train", config, batch, 1)["rows_per_s"])
        t.add("deepfm, threads 2 of 1", "ours", t.best[name]["ours"])


def main():
    ap = argparse.ArgumentParser(description="crank beside PyTorch and ONNX Runtime")
    ap.add_argument("--build", default="build")
    ap.add_argument("--peers", default="../shared/bench")
    ap.add_argument("--out", default="out/bench")
    ap.add_argument("--rounds", type=int, default=3)
    ap.add_argument("--seconds", type=float, default=1.0, help="per window")
    ap.add_argument("--threads", type=int, default=min(2, os.cpu_count()))
    ap.add_argument("--only", default="", help=f"of: {', '.join(PARTS)} (default: all but x3)")
    a = ap.parse_args()
    os.chdir(os.path.dirname(os.path.abspath(__file__)) + "/../..")
    if not os.path.exists(a.peers + "/peer_torch.py"):
        print(f"skipped: no peers in {a.peers} (peer_torch.py); name their folder with --peers")
        return 0
    if attempt("python3-torch and python3-pandas are needed", lambda: run([PYTHON, "-c", "import torch, pandas"])) is None:
        return 0
    a.peers, a.out = os.path.abspath(a.peers), os.path.abspath(a.out)
    work = a.out + "/peers"
    os.makedirs(work, exist_ok=True)
    want = [w for w in a.only.split(",") if w] or [w for w in PARTS if w != "x3"]
    for w in want:
        if w not in PARTS:
            ap.error(f"--only: there is no '{w}'; take {', '.join(PARTS)}")
    csv = work + "/train.csv"
    card = write_csv(csv, a.peers)
    conf = {m: write_config(f"{work}/{m}.yaml", m, card, csv) for m in VARIANTS}
    ours, peers, t, T = Ours(a), Peers(a), Table(), a.threads
    precisions = [p for p in PRECISION if p in want]
    if precisions:
        conf["multi_tower_din"] = write_din(work + "/din", a.peers)
    machine = {**ours.kernels(), **peers.kernels()}
    print(f"{machine['cpu']}, {T} threads\nours: kernels {machine['kernels']}\npeers: PyTorch {machine['torch']}, "
          f"FP32 products {machine['blas']}, BF16 products {machine['onednn']}", flush=True)
    losses, parquet = {}, "deepfm from Parquet, batch 8192"
    if "files" in want:
        if not os.path.exists(work + "/hex.tsv"):
            peers.python(["gen_data.py", work, str(ROWS)], False, 1)
            os.remove(work + "/int.csv")
        conf["tsv"] = write_config(work + "/tsv.yaml", "deepfm", card, work + "/hex.tsv", "tsv")
        path = attempt(parquet, lambda: write_parquet(csv, a.build))
        if path:
            conf["parquet"] = write_config(work + "/parquet.yaml", "deepfm", card, path, "parquet")
    ort = "predict" in want and attempt("onnxruntime", peers.ort_setup)
    fastest = {}
    for k in range(a.rounds):
        print(f"round {k + 1} of {a.rounds}", flush=True)
        for p, (model, batch) in ((p, m) for m in TRAIN for p in precisions):
            train(t, ours, peers, p, model, batch, conf[model], fastest)
        if "files" in want:
            if "parquet" in conf:
                t.measure(parquet, "ours", lambda: ours.files(conf["parquet"]))
            for name, c, loader, path in (("deepfm from CSV, batch 8192", "deepfm", "csv", csv),
                                          ("deepfm from raw TSV, batch 8192", "tsv", "csvhex", work + "/hex.tsv")):
                t.measure(name, "ours", lambda: ours.files(conf[c]))
                for side, variant in (("tuned", fastest.get("deepfm, batch 8192", ["fused17"])[-1]), ("plain", "naive")):
                    t.measure(name, side, lambda: peers.files(variant, loader, path, side == "tuned"))
                    if loader == "csv" and "parquet" in conf and side in t.best.get(name, {}):
                        t.add(parquet, side, t.best[name][side])
        if "predict" in want:
            label = lambda rates, word="": {f"predict deepfm{word}, batch {b}": r for b, r in rates.items()}
            for word, setting, _, _ in [PRECISION[p] for p in PRECISION if p == "train" or p in want]:
                t.measure("predict deepfm" + word, "ours", lambda: label(
                    {b: ours.bench("predict", conf["deepfm"], b, T, setting)["rows_per_s"] for b in (512, 8192)}, word))
            t.measure("predict deepfm", "torch", lambda: label(peers.serve(T, (512, 8192))))
            if ort:
                t.measure("predict deepfm", "onnxruntime", lambda: label(peers.ort(T, (512, 8192))))
                for name in [n for n in t.best if n.startswith("predict deepfm ")]:  # the peer's rate is that in FP32
                    fp32 = t.best.get(f"predict deepfm, batch {name.split()[-1]}", {})
                    if "onnxruntime" in fp32:
                        t.add(name, "onnxruntime", fp32["onnxruntime"])
    for model in VARIANTS if "losses" in want else ():
        x, kept = ours.losses(conf[model])
        y = attempt(f"losses of {model}", lambda: peers.losses(model, kept))
        if y:
            worst = max(abs(p - q) / q for p, q in zip(x, y))
            losses[model] = {"steps": len(x), "worst": worst, "met": worst <= 0.01 and len(x) == len(y), "ours": x, "peer": y}
    t.show(losses)
    with open(a.out + "/peers.json", "w") as f:
        json.dump({"bench": "peers", **machine, "threads": T, "rounds": a.rounds, "rows": list(t.rows()), "losses": losses}, f, indent=1)
    for d in ("/model", "/start"):
        shutil.rmtree(work + d, ignore_errors=True)
    print(f"kept in {os.path.relpath(a.out)}/peers.json")
    return 0


if __name__ == "__main__":
    sys.exit(main())
