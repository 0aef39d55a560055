#!/usr/bin/env python3
"""why_cost.py [--crank build/crank] [--work DIR] [--repeats 3] [--adult DATA_DIR] - what `crank importance` and `crank profile` cost.

The aim of `crank importance` is at most 0.2 x features x one evaluation of the same rows, or about a third of a second where that is more. The script
trains small models on data of `crank synth` (and on UCI Adult, where --adult names the folder of its files), runs `crank eval`,
`crank importance` and `crank importance --rows all` in turns on one thread, and prints the least user time of each with the ratios. User time
of whole commands: reading the checkpoint counts on both sides. Of `crank profile` it prints rows per second of user time. The exit code is 1
when the aim is missed by a tenth.
"""
import argparse, json, os, subprocess, sys

p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
p.add_argument("--crank", default="build/crank")
p.add_argument("--work", default="out/bench/why")
p.add_argument("--repeats", type=int, default=3)
p.add_argument("--adult")
a = p.parse_args()
crank = os.path.abspath(a.crank)
here = os.path.abspath(os.path.dirname(__file__))
os.makedirs(a.work, exist_ok=True)
os.chdir(a.work)


def user(*args):
    """Runs crank and returns its user time and output."""
    r = subprocess.Popen([crank, *args], stdout=subprocess.PIPE)
    out = r.stdout.read()
    _, status, used = os.wait4(r.pid, 0)
    if status:
        sys.exit("why_cost: crank %s failed" % " ".join(args))
    return used.ru_utime, out


def synth(name, kind, rows, *more):
    if not os.path.exists(name + "_model"):
        user("synth", kind, "--rows", "40k", "--eval_rows", str(rows), "-o", name, "-q", *more)
        user("train", name + "/pipeline.yaml", "--model_dir", name + "_model", "-q")
    return [name + "/pipeline.yaml", "--model_dir", name + "_model"]


cases = [("three towers, taobao 50k rows", synth("taobao", "taobao", 50000)),
         ("three towers, taobao 200k rows", synth("taobao_200k", "taobao", 200000)),
         ("DeepFM 512, 256, 128, criteo 50k rows", synth("criteo", "criteo", 50000, "--scale", "0.01"))]
if a.adult:
    subprocess.run(["sh", here + "/../../examples/adult/run.sh", os.path.abspath(a.adult), "adult"], check=True,
                   env=dict(os.environ, CRANK=crank), stdout=subprocess.DEVNULL)
    cases.insert(0, ("DeepFM, UCI Adult", [here + "/../../examples/adult/pipeline.yaml", "--model_dir", "adult/model", "--eval_input_path",
                                           "adult/test.csv"]))
missed = False
print("%-40s %8s %8s %8s %14s %6s %9s" % ("", "eval s", "worth s", "ratio", "rows", "all s", "ratio all"))
for name, flags in cases:
    flags = flags + ["--threads", "1", "-q"]
    e = w = full = float("inf")
    for _ in range(a.repeats):
        e = min(e, user("eval", *flags)[0])
        s, out = user("importance", *flags, "--json", "--output", "importance.json")
        w = min(w, s)
        full = min(full, user("importance", *flags, "--rows", "all", "--json", "--output", "all.json")[0])
    r = json.loads(out)
    n = sum(u["kind"] == "feature" or u["kind"] == "sequence" and u["features"] == 1 for u in r["units"])
    ratio = w / n / e
    missed |= ratio > 0.22 and w > 0.6
    print("%-40s %8.3f %8.3f %8.2f %6d of %6d %6.2f %9.2f" % (name, e, w, ratio, r["rows"], r["read_rows"], full, full / n / e))

rows = 500000
if not os.path.exists("wide"):
    user("synth", "criteo", "--rows", str(rows), "--eval_rows", "1k", "-o", "wide", "-q")
s = min(user("profile", "wide/train/*.csv", "--threads", "1", "-q")[0] for _ in range(a.repeats))
print("\nprofile, 40 CSV columns: %d rows in %.2f s, %.2f million rows per second" % (rows, s, rows / s / 1e6))
sys.exit(missed)
