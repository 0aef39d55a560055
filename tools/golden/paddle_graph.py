"""Cases of paddle.py over graphs of a row's ids, whose gates are drawn as crank draws them (src/base/rng.h), and over all items."""

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

# ---- ensfm: users with all of their items, of which there are seven ----

ITEMS, USERS, WEIGHT = 7, 170, 0.3


def ensfm_rows(rng, folder):
    user = np.stack([np.arange(N), rng.integers(N, N + 4, N), rng.integers(N + 4, USERS, N)], 1)
    feature = np.stack([np.arange(ITEMS), rng.integers(ITEMS, ITEMS + 3, ITEMS)], 1)
    owned = [rng.permutation(ITEMS)[:rng.integers(1, 5)] for _ in range(N)]
    number, lines = {}, []  # items are numbered in the order of the lines
    for u, mine in zip(user, owned):
        for i in mine:
            number.setdefault(int(i), len(number))
            lines.append("-".join("%d" % v for v in u) + "," + "-".join("%d" % v for v in feature[i]))
    write(folder, lines, "train.csv")
    write(folder, lines[:5], "test.csv")
    assert len(number) == ITEMS
    features = np.zeros_like(feature)
    for i, at in number.items():
        features[at] = feature[i]
    has = np.zeros((N, ITEMS))
    for r, mine in enumerate(owned):
        has[r, [number[int(i)] for i in mine]] = 1
    return dict(user=user, has=has, feature=np.tile(features, (N, 1, 1))), np.array([number[int(m[0])] for m in owned])


def ensfm_net(P, x, train):
    at = "model.blocks.scores."

    def cross(v):
        return (v.sum(1)**2 - (v**2).sum(1)) / 2 @ P[at + "cross.weight"]
    u = P[BAGS % "user_feature_emb"][x["user"]]
    i = P[at + "item_embedding.weight"][x["feature"][0]]
    a = cross(u) + P[BAGS % "user_feature_emb_wide"][x["user"]].sum((1, 2)) + P[at + "bias"]
    b = cross(i) + P[at + "item_bias.weight"][x["feature"][0]].sum((1, 2))
    r = (u.sum(1) * P[at + "match.weight"]) @ i.sum(1).T + a.unsqueeze(1) + b
    if not train:  # the items of the user are left out
        return torch.where(x["has"] > 0, torch.full_like(r, -1e9), r)
    return r, (WEIGHT * (r**2).sum(1) + (x["has"] * ((1 - WEIGHT) * r**2 - 2 * r)).sum(1)).mean()


CASES["ensfm"] = Case("ensfm", new("num_users: %d, num_items: %d, mf_dim: 3, negative_weight: %g" % (USERS, ITEMS + 3, WEIGHT), rate=0.005),
                      ensfm_rows, ensfm_net, lambda z, y: torch.zeros((), dtype=z.dtype), 0.005)
