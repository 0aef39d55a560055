#!/usr/bin/python3
"""servers_scale.py - parameter servers for 32 to 1,000 workers, simulated from costs that were measured on one machine.

  servers_scale.py [--costs out/servers/servers.json] [--docs docs/img]

What is measured (tests/bench/servers.py, here or in --costs): the seconds that a worker computes a batch (async with fake_rpc), and the
seconds that one server needs for a pull and for a push of a batch. What is stated: the network, the cost of a letter, and how unequal
workers are (STATED). A letter goes to every server, with a part of the rows, so servers are alike and one of them is simulated: it takes
letters in the order of their arrival, as crank's servers do. Workers of async ask for the next rows while they compute, wait for them,
and let their gradients go; those of sync wait for each other. Prints Markdown tables and writes DOCS/servers_rows.svg and
servers_stale.svg.
"""
import argparse
import heapq
import json
import os
import random
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import plan_scale  # noqa: E402

WORKERS = (32, 100, 320, 1000)
BATCHES = 60
STATED = {"letter_s": 15e-6, "latency_s": 50e-6, "bytes_per_s": 12.5e9 / 8,  # 100 Gbit/s per machine of 8 processes
          "spread": 0.1,  # of the time of a batch; slow workers: one of fifty is half as fast
          "slow_share": 0.02, "slow_factor": 2.0}
COSTS = {"batch": 2048, "compute_s": 0.0676, "pull_s": 0.00149, "push_s": 0.00249, "delta_s": 0.0614, "bytes_per_row": 2458, "k_steps": 100,
         "cpu": "AMD EPYC (Zen 4)"}


def read_costs(path):
    with open(path) as f:
        x = json.load(f)
    r, n = x["rate"], x["servers"]
    return {"batch": x["batch"], "compute_s": x["batch"] * x["workers"] / r["computing"]["rows_per_s"], "pull_s": n * r["async"]["pull_ms"] / 1e3,
            "push_s": n * r["async"]["push_ms"] / 1e3, "delta_s": n * r["geo"]["push_ms"] / 1e3, "bytes_per_row": r["async"]["bytes_per_row"],
            "k_steps": 100, "cpu": x["cpu"]}


def simulate(c, workers, servers, strategy, unequal=False):
    """rows/s, mean and largest staleness, share of time that a server is busy. All workers make the same number of steps, as in a round
    of crank, so with `unequal` the slowest decides when it ends."""
    rng = random.Random(1)
    slow = [STATED["slow_factor"] if unequal and w % round(1 / STATED["slow_share"]) == 0 else 1.0 for w in range(workers)]
    letter, wire = STATED["letter_s"], c["batch"] * c["bytes_per_row"] / servers / STATED["bytes_per_s"] / 2
    cost = {k: c[k + "_s"] / servers + letter for k in ("pull", "push", "delta")}
    took = lambda w: c["compute_s"] * slow[w] * max(0.2, rng.gauss(1, STATED["spread"])) + 2 * servers * letter
    if strategy == "sync":
        step = sum(max(took(w) for w in range(workers)) for _ in range(BATCHES)) / BATCHES
        step += workers * (cost["pull"] + cost["push"]) + 4 * STATED["latency_s"] + 2 * wire
        return workers * c["batch"] / step, 0, 0, workers * (cost["pull"] + cost["push"]) / step
    free = busy = 0.0  # when the server is free again
    applied, stale, n_stale, most = 0, 0, 0, 0
    seen, done = [0] * workers, [0] * workers
    every = c["k_steps"] if strategy == "geo" else 1
    events = [(took(w) * rng.random(), w, w, "pull") for w in range(workers)]  # they do not begin at one moment
    heapq.heapify(events)
    ready, end, order = [0.0] * workers, [0.0] * workers, workers
    while events:
        at, _, w, kind = heapq.heappop(events)
        if kind == "work":  # the rows are here and the batch before is done
            done[w] += 1
            end[w] = at + took(w) * every
            order += 2
            if strategy == "geo":
                heapq.heappush(events, (end[w] + STATED["latency_s"] + wire, order, w, "delta"))
            else:
                if done[w] < BATCHES:
                    heapq.heappush(events, (at + STATED["latency_s"], order, w, "pull"))
                heapq.heappush(events, (end[w] + STATED["latency_s"] + wire, order + 1, w, "push"))
            continue
        begins = max(at, free)
        free = begins + cost[kind]
        busy += cost[kind]
        order += 1
        if kind == "pull":
            seen[w] = applied
            heapq.heappush(events, (max(free + STATED["latency_s"] + wire, end[w]), order, w, "work"))
        else:
            applied += 1
            late = max(0, applied - 1 - seen[w])
            stale, n_stale, most = stale + late, n_stale + 1, max(most, late)
            if kind == "delta" and done[w] < max(3, BATCHES // every):
                heapq.heappush(events, (free + STATED["latency_s"] + wire, order, w, "work"))
    total = max(max(end), free)
    return sum(done) * every * c["batch"] / total, stale / max(1, n_stale), most, busy / total


def main():
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    p = argparse.ArgumentParser()
    p.add_argument("--costs")
    p.add_argument("--docs", default=f"{root}/docs/img")
    a = p.parse_args()
    c = read_costs(a.costs) if a.costs else COSTS
    print("| workers | servers | strategy | rows/s | of the ideal | staleness, mean | most | server busy | with slow workers |\n|" + "---|" * 9)
    ideal = {w: w * c["batch"] / c["compute_s"] for w in WORKERS}
    rates = {"ideal: computing alone": ideal}
    stales = {}
    for name, strategy, share in (("async, a server for 8 workers", "async", 8), ("async, a server for 32", "async", 32), ("geo, a server for 32", "geo", 32),
                                  ("sync, a server for 8", "sync", 8)):
        for w in WORKERS:
            n = max(1, w // share)
            rate, mean, most, busy = simulate(c, w, n, strategy)
            held = simulate(c, w, n, strategy, True)[0]
            rates.setdefault(name, {})[w] = rate
            if strategy == "async":
                stales.setdefault(name, {})[w] = max(mean, 1)
            old = f"{mean:.0f} | {most}" if strategy == "async" else " | "
            print(f"| {w:,} | {n} | {strategy} | {rate / 1e6:.2f} M | {100 * rate / ideal[w]:.0f} % | {old} | {100 * busy:.0f} % | {held / 1e6:.2f} M |")
    plan_scale.RANKS = WORKERS
    plan_scale.COLORS = ("#888888", "#4c78a8", "#54a24b", "#9d6fb5", "#e45756")
    note = f"batches of {c['batch']:,} rows, one thread per worker; costs measured on {c.get('cpu', 'one machine')}"
    for name, text in (("rows", plan_scale.lines("rows per second of the whole job, simulated", note, rates, unit=lambda v: f"{v / 1e6:g}M")),
                       ("stale", plan_scale.lines("mean staleness of a gradient, in batches, simulated", note, stales))):
        with open(f"{a.docs}/servers_{name}.svg", "w") as f:
            f.write(text.replace(">ranks<", ">workers<"))


if __name__ == "__main__":
    main()
