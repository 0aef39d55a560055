"""peer_hook.py N WARM WEIGHTS FLAG... - runs peer_torch.py of the current folder with the flags, but instead of
its own way to time takes WARM steps and then N: prints their rate and their losses. For files, where the
peer's best window may be one without any parsing.

WEIGHTS: '' or a file of one of our checkpoints; then both start from the same weights, with empty
optimizer state, at the first row (variant manual).
"""
import json
import runpy
import struct
import sys
import time

sys.path.insert(0, ".")
import openblas  # noqa: F401  before numpy and torch, as in peer_torch.py
import numpy as np
import torch
import common

n, warm, weights = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]


def tensors_of(path):
    with open(path, "rb") as f:
        raw = f.read()
    size = struct.unpack("<Q", raw[:8])[0]
    out = {}
    for name, h in json.loads(raw[8:8 + size]).items():
        if name != "__metadata__":
            at = h["data_offsets"][0] + 8 + size
            t = np.frombuffer(raw, "<f4", int(np.prod(h["shape"])), at).reshape(h["shape"])
            out[name.replace("model.", "", 1)] = torch.from_numpy(t.copy())
    return out


def load(g):
    ours, dlrm = tensors_of(weights), g["a"].model == "dlrm"
    parts = {"bot": "dense_mlp", "top": "final_mlp"} if dlrm else {"deep": "deep_mlp", "final": "final_mlp"}
    for name, p in g["dense"].named_parameters():
        part, *rest = name.split(".")
        w = ours["output_mlp." + rest[0] if part == "out" else
                 "%s.mlp.%d.perceptron.0.%s" % (parts[part], int(rest[0]) // 2, rest[1])]
        if name == "top.0.weight":  # ours: pairs (0,1) (0,2) .. (1,2) .., dense; theirs: dense, (1,0) (2,0) (2,1) ..
            at = {pair: i for i, pair in enumerate((i, j) for i in range(27) for j in range(i + 1, 27))}
            w = w[:, list(range(351, 367)) + [at[j, i] for i in range(27) for j in range(i)]]
        p.data.copy_(w)
    for e, end in [(g["emb"], "_emb.weight")] + ([] if dlrm else [(g["wide"], "_emb_wide.weight")]):
        bag = "embedding_group.emb_impls.__BASE__.ebc.embedding_bags.cat_%d"
        e.table.weight.data.copy_(torch.cat([ours[bag % i + end] for i in range(e.n)]))
        e.state.zero_()
    g["opt_d"].state.clear()
    g["it"] = g["mem_loader"]()


def hook(step, batch, *_args, **_named):
    if weights:
        load(step.__globals__)
    for _ in range(warm):
        step()
    t = time.perf_counter()
    losses = [float(step()) for _ in range(n)]
    print("@ rate", n * batch / (time.perf_counter() - t), "samples/s")
    print("@losses", json.dumps(losses))
    sys.exit()


common.best_rate = hook
sys.argv = ["peer_torch.py"] + sys.argv[4:]
runpy.run_path("peer_torch.py", run_name="__main__")
