"""Cases of paddle.py over graphs of a row's ids; the gates are drawn as crank draws them (src/base/rng.h)."""

import math

import numpy as np
import torch

from paddle_lists import BITS, hashed, mix, sub
from paddle_nets import BAGS, N, Case, block, classes, new, write

CASES = {}
SEED, BATCH = 12345, 16

# ---- sign: three ids per row, six pairs ----

IDS, NODES = 11, 3
PAIRS = [(i, j) for i in range(NODES) for j in range(i, NODES)]
LOW, HIGH, TEMPERATURE, L0, L2 = -0.2, 1.3, 0.7, 0.05, 0.03


def sign_rows(rng, folder):
    ids, label = rng.integers(0, IDS, (N, NODES)), rng.integers(0, 2, N)
    ids[3, 1] = IDS - 1  # the largest one tells the size of the tables
    write(folder, ["%d.0 %s" % (y, " ".join("%d" % v for v in r)) for y, r in zip(label, ids)])
    return dict(ids=ids, row=np.arange(N)), label


def drawn(row, n):
    """What cr_rng_f32 gives for the columns of a row of the global batch, in the middle of its step of 2^-24."""
    key = sub(sub(mix(SEED + 0x9E3779B97F4A7C15 & BITS), hashed("hard_concrete")), hashed("blocks.gates"))
    key = sub(sub(key, row // BATCH), row % BATCH)
    return [(mix((key + (i + 1) * 0x9E3779B97F4A7C15) & BITS) >> 40) * 2.0**-24 + 2.0**-25 for i in range(n)]


def sign_net(P, x, train, compat=False):
    log = torch.log2 if compat else torch.log

    def products(v):
        return torch.stack([v[:, i] * v[:, j] for i, j in PAIRS], 1)
    v = P[BAGS % "feature_emb"][x["ids"]]
    e = P[BAGS % "feature_emb_wide"][x["ids"]]
    loc = block(P, "edge", torch.relu(block(P, "edge_hidden", products(e)))).squeeze(2)
    z = torch.sigmoid(loc)
    if train:
        u = torch.tensor([drawn(int(r), len(PAIRS)) for r in x["row"]], dtype=v.dtype)
        z = torch.sigmoid((loc + log(u) - log(1 - u)) / TEMPERATURE)
    s = (LOW + (HIGH - LOW) * z).clamp(0, 1)
    m = block(P, "messages", torch.relu(block(P, "node_hidden", products(v)))) * s.unsqueeze(2)
    open_ = (s > 0).to(v.dtype).detach()
    nodes = []
    for f in range(NODES):
        mine = [p for p, (i, j) in enumerate(PAIRS) if j == f or (i == f and not compat)]
        nodes.append((m[:, mine] * open_[:, mine].unsqueeze(2)).sum(1) / open_[:, mine].sum(1, keepdim=True).clamp(min=1))
    nodes = torch.stack(nodes, 1)
    p = torch.sigmoid(loc - TEMPERATURE * (math.log2 if compat else math.log)(-LOW / HIGH))
    more = L0 * p.mean() + L0 * (nodes**2).sum() if compat else L0 * p.sum(1).mean() + L2 * (nodes**2).sum((1, 2)).mean()
    return block(P, "scores", nodes.mean(1)), more


SIZES = ("pred_edges: 1, dim: 4, hidden_layer: 5, l0_para: [%g, %g, %g], l0_weight: %g, l2_weight: %g, dropout_rate: 0"
         % (TEMPERATURE, LOW, HIGH, L0, L2))
CASES["sign"] = Case("sign", new(SIZES), sign_rows, sign_net, classes, 0.1)
CASES["sign_compat"] = Case("sign", new(SIZES, rate=0.01), sign_rows, lambda P, x, t: sign_net(P, x, t, True), classes, 0.01, "Adagrad")
