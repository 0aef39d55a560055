#!/usr/bin/python3
"""ranks.py - several ranks beside one process, and beside PyTorch's DistributedDataParallel.

  ranks.py [--build build] [--peers ../shared/bench] [--out out/bench] [--rounds 5] [--only deepfm,dlrm,din,ddp,start,restart]

  models  2 ranks x 1 thread against 1 rank x 2 threads, the same global batch, with the planner's placing and with
          all tables cut by rows; the bytes that ranks send per row, and the least that the placing needs
  ddp     deepfm, global batch 2048 and 8192, 2 ranks of one thread, with the usual 8 lanes and with fewer, against two
          processes of PyTorch with gloo, tables synchronised
  start   4 local ranks: seconds from the command to the first step
  restart 2 local ranks: seconds from `kill -9` of one to the next step of both, by crank launch --max_restarts

The sides run in turns and the best of all rounds counts: other work on the machine then hits all of them alike. Data and
configs are those of peers.py. Prints a table with the floors and writes OUT/ranks.json.
"""
import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
import peers  # noqa: E402

MPIEXEC = next((p for p in ("mpiexec.hydra", "mpiexec") if shutil.which(p)), None)
FEWER_LANES = {2048: "train_config.lanes=2", 8192: "train_config.lanes=2"}  # one lane per rank: more rows that share products
ROWS = "train_config.global_embedding_constraints.sharding_types=[row_wise]"


def bench(a, config, batch, ranks, threads, *sets):
    argv = [a.build + "/crank", "bench", "train", config, "--json", "--threads", str(threads), "--seconds", str(a.seconds), "--set",
            f"data_config.batch_size={batch // ranks}"]
    for s in sets:
        argv += ["--set", s]
    if ranks > 1:
        argv = [MPIEXEC, "-n", str(ranks)] + argv
    return json.loads(peers.run(argv))


def ddp(a, batch):
    """the peer does not always end by itself, so it is ended once it has printed its rate"""
    env = dict(os.environ, PYTHONDONTWRITEBYTECODE="1", OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    p = subprocess.Popen([peers.PYTHON, "-u", "comm/ddp.py", "--world", "2", "--batch", str(batch), "--seconds", str(3 * a.seconds)],
                         cwd=a.peers, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True)
    try:
        for w in map(str.split, p.stdout):
            if w[:1] == ["@"] and w[1].startswith("ddp."):
                return float(w[2])
    finally:
        os.killpg(p.pid, signal.SIGKILL)
        p.wait()
    raise peers.Skip("the peer printed no rate")


def first_step(a, config, ranks):
    """seconds from the command to the end of the first step, by the JSON log"""
    work = a.out + "/start"
    shutil.rmtree(work, ignore_errors=True)
    log = a.out + "/start.jsonl"
    if os.path.exists(log):
        os.remove(log)
    t0 = time.time()
    p = subprocess.Popen([a.build + "/crank", "launch", "--standalone", f"--nproc-per-node={ranks}", "--", "train", config, "--model_dir", work,
                          "--threads", "1", "--log_json", log, "--set", "data_config.batch_size=512", "--set", "train_config.lanes=8",
                          "--set", "train_config.num_epochs=0", "--set", "train_config.num_steps=3"],
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    found = None
    while found is None and p.poll() is None:
        if os.path.exists(log) and '"train"' in open(log).read():
            found = time.time() - t0
        time.sleep(0.005)
    err = p.communicate()[1]
    if p.returncode != 0:
        raise peers.Skip(err.strip().splitlines()[-1] if err.strip() else "crank launch failed")
    return found if found is not None else time.time() - t0


def next_step(a, config, ranks):
    """seconds from kill -9 of a rank to the next step of all, by the launcher's lines"""
    work = a.out + "/restart"
    shutil.rmtree(work, ignore_errors=True)
    p = subprocess.Popen([a.build + "/crank", "launch", "--standalone", f"--nproc-per-node={ranks}", "--max_restarts", "1", "--", "train", config,
                          "--model_dir", work, "--threads", "1", "--set", "data_config.batch_size=512", "--set", "train_config.lanes=8",
                          "--set", "train_config.num_epochs=0", "--set", "train_config.num_steps=1000000",
                          "--set", "train_config.save_checkpoints_steps=5"],
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    killed, found, last = None, None, ""
    try:
        for line in p.stderr:
            last = line.strip() or last
            if killed is None and "Saved checkpoint" in line:
                pids = open(f"/proc/{p.pid}/task/{p.pid}/children").read().split()
                os.kill(int(pids[-1]), signal.SIGKILL)
                killed = time.time()
            elif killed and "the first step was done" in line:
                found = time.time() - killed
                break
    finally:
        p.kill()  # its ranks end with it
        p.communicate()
        shutil.rmtree(work, ignore_errors=True)
    if found is None:
        raise peers.Skip(last or "crank launch failed")
    return found


class Best:
    def __init__(self):
        self.v = {}

    def add(self, name, side, rate, least=False):
        row = self.v.setdefault(name, {})
        row[side] = min(rate, row.get(side, rate)) if least else max(rate, row.get(side, 0))

    def line(self, name, ours, peer, floor, goal):
        row = self.v.get(name, {})
        if ours not in row or peer not in row:
            return None
        r = row[ours] / row[peer]
        print(f"{name:42}{ours:>12}{row[ours] / 1e3:>9.1f}k  {peer:<20}{row[peer] / 1e3:>8.1f}k{r:>7.2f}{floor:>7}{goal:>6}  "
              f"{'met' if r >= floor else 'not met'}")
        return {"name": name, "ours": row[ours], "peer": peer, "peer_rate": row[peer], "ratio": r, "floor": floor, "met": r >= floor}


def main():
    ap = argparse.ArgumentParser(description="several ranks beside one process and PyTorch DDP")
    ap.add_argument("--build", default="build")
    ap.add_argument("--peers", default="../shared/bench")
    ap.add_argument("--out", default="out/bench")
    ap.add_argument("--rounds", type=int, default=5)
    ap.add_argument("--seconds", type=float, default=2.0, help="per measurement")
    ap.add_argument("--only", default="deepfm,dlrm,din,ddp,start,restart")
    a = ap.parse_args()
    os.chdir(os.path.dirname(os.path.abspath(__file__)) + "/../..")
    if not MPIEXEC:
        print("skipped: mpiexec is not installed (package mpich)")
        return 0
    if not os.path.exists(a.peers + "/common.py"):
        print(f"skipped: no peers in {a.peers} (common.py makes the rows); name their folder with --peers")
        return 0
    if peers.attempt("python3-numpy is needed", lambda: peers.run([peers.PYTHON, "-c", "import numpy"])) is None:
        return 0
    os.makedirs(a.out, exist_ok=True)
    a.out, a.build = os.path.abspath(a.out), os.path.abspath(a.build)
    csv = a.out + "/criteo.csv"
    card = peers.write_csv(csv, os.path.abspath(a.peers))
    configs = {m: peers.write_config(f"{a.out}/{m}.yaml", m, card, csv) for m in ("deepfm", "dlrm")}
    configs["din"] = peers.write_din(a.out + "/din", os.path.abspath(a.peers))
    only, best, sent = a.only.split(","), Best(), {}
    models = [(m, b) for m, b in (("deepfm", 8192), ("deepfm", 2048), ("dlrm", 8192), ("din", 2048)) if m in only]
    for _ in range(a.rounds):
        for m, batch in models:
            name = f"{m}, global batch {batch}"
            best.add(name, "1 x 2 threads", bench(a, configs[m], batch, 1, 2)["rows_per_s"])
            for side, sets in (("planned", ()), ("row_wise", (ROWS,))):
                r = bench(a, configs[m], batch, 2, 1, *sets)
                best.add(name, side, r["rows_per_s"])
                sent[f"{name}, {side}"] = (r["sent_bytes_per_row"], r["least_bytes_per_row"])
        for batch in (2048, 8192) if "ddp" in only else ():
            name = f"deepfm beside DDP, global batch {batch}"
            best.add(name, "planned", bench(a, configs["deepfm"], batch, 2, 1)["rows_per_s"])
            best.add(name, "fewer lanes", bench(a, configs["deepfm"], batch, 2, 1, FEWER_LANES[batch])["rows_per_s"])
            try:
                best.add(name, "DDP with gloo", ddp(a, batch))
            except peers.Skip as why:
                print(f"skipped: {name}: {why}")
        if "start" in only:
            try:
                best.add("start", "seconds", first_step(a, configs["deepfm"], 4), least=True)
            except peers.Skip as why:
                print(f"skipped: start: {why}")
        if "restart" in only:
            try:
                best.add("restart", "seconds", next_step(a, configs["deepfm"], 2), least=True)
            except peers.Skip as why:
                print(f"skipped: restart: {why}")
    print(f"\n{'':42}{'2 ranks':>12}{'rows/s':>10}  {'beside':<20}{'rows/s':>9}{'ratio':>7}{'floor':>7}{'goal':>6}")
    rows = []
    for name in best.v:
        for side in ("planned", "row_wise"):
            rows.append(best.line(name, side, "1 x 2 threads", 0.9, 0.97))
        rows.append(best.line(name, "planned", "DDP with gloo", 2.5, 5))
        rows.append(best.line(name, "fewer lanes", "DDP with gloo", 2.5, 5))
    rows = [r for r in rows if r]
    for name, (s, least) in sent.items():
        met = s <= 1.2 * least
        print(f"sent per row: {name:44}{s:>8.0f} bytes, least {least:>8.0f}, {s / least:.3f} times (1.2 allowed): {'met' if met else 'not met'}")
        rows.append({"name": name, "sent": s, "least": least, "met": met})
    if "start" in best.v:
        s = best.v["start"]["seconds"]
        print(f"start of 4 ranks to the first step: {s:.2f} s (1 allowed): {'met' if s < 1 else 'not met'}")
        rows.append({"name": "start of 4 ranks", "seconds": s, "met": s < 1})
    if "restart" in best.v:
        s = best.v["restart"]["seconds"]
        print(f"restart of 2 ranks after kill -9 to the next step: {s:.2f} s (5 allowed): {'met' if s < 5 else 'not met'}")
        rows.append({"name": "restart after a kill", "seconds": s, "met": s < 5})
    with open(a.out + "/ranks.json", "w") as f:
        json.dump(rows, f, indent=1)
    return 0 if all(r["met"] for r in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
