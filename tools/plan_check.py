#!/usr/bin/python3
"""plan_check.py - predicted against measured steps: how good the estimates of `crank plan` are on this machine.

  plan_check.py [--crank build/crank] [--out out/plan] [--ranks 1,2] [--threads 1] [--seconds 2] [--launch mpiexec]

Makes data for some configs, lets `crank plan --sample_rows` predict a step and `crank bench train` measure it, and
prints a Markdown table. With more than one rank, `bench train` is started by the launcher with one thread per rank;
`--bytes` compares the bytes that two ranks send per row instead, for every kind of placing.
`--cpu` compares with the time that the processor spent instead of the time that passed, for machines that have other
work (one rank only).
"""
import argparse
import json
import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# name, config or kind of synth, batch size, edits
CASES = [
    ("deepfm, criteo", "deepfm_criteo", 512, []),
    ("deepfm, criteo", "deepfm_criteo", 4096, []),
    ("dlrm, criteo", "dlrm_criteo", 512, []),
    ("dlrm, criteo", "dlrm_criteo", 4096, []),
    ("multi_tower, taobao", "multi_tower_taobao", 2048, []),
    ("dbmtl, taobao", "dbmtl_taobao", 2048, []),
]


def run(cmd):
    p = subprocess.run(cmd, capture_output=True, text=True)
    if p.returncode != 0:
        sys.exit(f"{' '.join(cmd)}\n{p.stderr}")
    return p.stdout


def config_of(a, name):
    """data made for an example, once; returns the config beside it"""
    folder = f"{a.out}/{name}"
    if not os.path.exists(f"{folder}/pipeline.yaml"):
        source = [f for f in sorted(os.listdir(f"{ROOT}/examples/{name}")) if f.endswith((".yaml", ".config", ".json"))]
        run([a.crank, "synth", "--for", f"{ROOT}/examples/{name}/{source[0]}", "--rows", str(a.rows), "-o", folder])
    return f"{folder}/pipeline.yaml"


KINDS = ("data_parallel", "table_wise", "row_wise", "column_wise")


def compare_bytes(a, machine):
    print("| model | placing | predicted | measured |\n|---|---|---|---|")
    for name, example, batch in (("deepfm, criteo", "deepfm_criteo", 2048), ("multi_tower, taobao", "multi_tower_taobao", 2048)):
        for kind in KINDS:
            edit = ["--set", f"data_config.batch_size={batch}", "--set", f"train_config.global_embedding_constraints.sharding_types=[{kind}]"]
            plan = json.loads(run([a.crank, "plan", config_of(a, example), "--nproc_per_node", "2", "--cores", "1", "--machine", machine,
                                   "--sample_rows", str(4 * batch), "--json", "-"] + edit))
            bench = json.loads(run([a.launch, "-n", "2", a.crank, "bench", "train", config_of(a, example), "--threads", "1", "--seconds",
                                    "0.2", "--json"] + edit).splitlines()[-1])
            sent = sum(r["sent_intra_bytes"] + r["sent_cross_bytes"] for r in plan["per_rank"]) / 2 / batch
            print(f"| {name} | `{kind}` | {sent:.0f} bytes | {bench['sent_bytes_per_row']:.0f} bytes |", flush=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--crank", default=f"{ROOT}/build/crank")
    p.add_argument("--out", default="out/plan")
    p.add_argument("--ranks", default="1")
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--seconds", type=float, default=2)
    p.add_argument("--rows", type=int, default=40000)
    p.add_argument("--launch", default=next((p for p in ("mpiexec.hydra", "mpiexec") if shutil.which(p)), "mpiexec"))
    p.add_argument("--machine", help="file with the figures of the machine; else it is measured for each case")
    p.add_argument("--bytes", action="store_true")
    p.add_argument("--parts", action="store_true", help="also print the measured parts")
    p.add_argument("--cpu", action="store_true")
    a = p.parse_args()
    os.makedirs(a.out, exist_ok=True)
    machine = a.machine
    if not machine:  # once for all cases
        machine = f"{a.out}/machine.json"
        run([a.crank, "plan", config_of(a, CASES[0][1]), "--cores", str(a.threads), "--json", machine])
    if a.bytes:
        return compare_bytes(a, machine)
    print("| model | ranks | batch of a rank | dense | lookup | update | network and sync | predicted | measured | ratio |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for ranks in (int(r) for r in a.ranks.split(",")):
        for name, example, batch, edits in CASES:
            config = config_of(a, example)
            edit = [x for e in edits + [f"data_config.batch_size={batch}"] for x in ("--set", e)]
            plan = json.loads(run([a.crank, "plan", config, "--nproc_per_node", str(ranks), "--cores", str(a.threads), "--machine",
                                   machine, "--sample_rows", str(4 * batch), "--json", "-"] + edit))
            start = [a.launch, "-n", str(ranks)] if ranks > 1 else []
            bench = json.loads(run(start + [a.crank, "bench", "train", config, "--threads", str(a.threads), "--seconds",
                                            str(a.seconds), "--json"] + edit).splitlines()[-1])
            rows = bench["rows_per_cpu_s"] * a.threads if a.cpu else bench["rows_per_s"]
            measured = bench["batch_size"] / rows
            if bench["batch_size"] == batch:  # of one rank
                measured *= 1 if ranks == 1 else ranks
            t = [plan[k] * 1000 for k in ("dense_s", "lookup_s", "update_s", "network_s", "sync_s", "messages_s", "step_s")]
            print(f"| {name} | {ranks} | {batch} | {t[0]:.2f} ms | {t[1]:.2f} ms | {t[2]:.2f} ms | {t[3] + t[4] + t[5]:.2f} ms | "
                  f"{t[6]:.2f} ms | {1000 * measured:.2f} ms | {t[6] / 1000 / measured:.2f} |", flush=True)
            if a.parts:
                print(f"    group {1000 * bench['group_s']:.3f} step {1000 * bench['step_s']:.3f} update "
                      f"{1000 * bench['update_s']:.3f} ms, {bench['flops_per_row'] / 1e6:.3f} MFLOP per row")


if __name__ == "__main__":
    main()
