"""The case of paddle.py over packages of an item, its publisher and friends: iprec."""

import json

import numpy as np
import torch

from paddle_nets import KEYS, N, Case, bce, block, linear, mlp, new, norm, write

CASES = {}
USERS, ITEMS, BIZS, WIDTH, HEADS, FRIENDS, SEEN, NEAR = 9, 8, 6, 4, 2, 3, 3, 2


def package_rows(rng, folder):
    """Rows of JSON, and the same as padded arrays; packages stand in the order of the rows that crank writes, the one that is judged last."""
    lines, columns, labels = [], {}, rng.integers(0, 2, N)

    def pad(v, n):
        return list(v) + [0] * (n - len(v))
    for row in range(N):
        own = [rng.integers(1, m + 1, rng.integers(0, 4)).tolist() for m in (USERS, ITEMS, BIZS)]
        packs = []
        for n in (rng.integers(0, SEEN + 1), rng.integers(0, NEAR + 1), rng.integers(0, NEAR + 1), 1):
            packs.append([[int(rng.integers(1, ITEMS + 1)), int(rng.integers(1, BIZS + 1))]
                          + pad(rng.integers(1, USERS + 1, rng.integers(0, FRIENDS + 1)).tolist(), FRIENDS) for _ in range(n)])
        user, (last,) = int(rng.integers(1, USERS + 1)), packs[3]
        flat = [sum(p, []) for p in packs[:3]]
        lines.append(json.dumps(dict(user=user, item=last[0], biz=last[1], friends=[f for f in last[2:] if f], user_items=own[1], user_bizs=own[2],
                                     user_friends=own[0], user_packages=flat[0], pack_neighbors_b=flat[1], pack_neighbors_f=flat[2],
                                     label=int(labels[row]), label2=0)))
        kind = [k for k in range(4) for _ in packs[k]]
        most = SEEN + 2 * NEAR + 1
        every = sum(packs, [])
        for k, v in dict(user=user, friends=pad(own[0], 3), items=pad(own[1], 3), bizs=pad(own[2], 3),
                         packs=every + [[0] * (FRIENDS + 2)] * (most - len(every)), kind=kind + [9] * (most - len(every))).items():
            columns.setdefault(k, []).append(v)
    write(folder, lines)
    return {k: np.array(v) for k, v in columns.items()}, labels


def weigh(s, x, there):
    """The sum of the vectors, weighted by the softmax of the scores of those that are there."""
    a = torch.softmax(s.masked_fill(~there, -1e30), -1) * there
    return (a.unsqueeze(-1) * x).sum(-2)


def scores(P, name, h):
    at = "model.blocks.%s." % name
    return linear(P, at + "scale", torch.tanh(linear(P, at + "projection", h)), False).squeeze(-1)


def attend(P, name, q, x, counted, there, train, bn=True):
    """Of x (..., n, D), with the query q (..., D); counted: which vectors the batch norm counts."""
    h = block(P, name + ".attention", torch.cat([q.unsqueeze(-2).expand(x.shape), x], -1), False)
    if bn:
        h = torch.zeros_like(h).masked_scatter(counted.unsqueeze(-1), norm(P, name + ".norm", h[counted], train))
    return weigh(scores(P, name, torch.relu(h)), x, there)


def iprec_net(P, x, train):
    tables = [P[KEYS % (WIDTH, "%s_emb" % t)] for t in ("user", "item", "biz")]
    u, types = tables[0][x["user"]], []
    for t, name in zip(tables, ("friends", "items", "bizs")):
        types.append(attend(P, "type_" + name, u, t[x[name]], x[name] > 0, x[name] > 0, train))
    types = torch.stack(types, 1)
    all3 = torch.ones(types.shape[:2], dtype=torch.bool)
    t = attend(P, "type", u, types, all3, (types != 0).any(2), train)
    u = torch.relu(linear(P, "model.blocks.user.mlp.0.perceptron.0", torch.cat([t, u], 1), False))
    real = x["kind"] < 9
    i, b, members = tables[1][x["packs"][..., 0]], tables[2][x["packs"][..., 1]], x["packs"][..., 2:]
    heads, m = [], tables[0][members]
    for k in range(HEADS):
        name = "heads.heads.%d" % k
        v, at = block(P, name + ".member", m, False), block(P, name + ".step", i, False)
        s = scores(P, name, torch.cat([at.unsqueeze(2).expand(v.shape), v], -1))
        heads.append(weigh(s, v, members > 0))
    heads, q = torch.stack(heads, 2), u.unsqueeze(1).expand(i.shape)
    f = attend(P, "friend", q, heads, None, (heads != 0).any(3), train, False)
    parts = torch.stack([f, i, b, f * i, f * b, i * b, f * i * b], 2)
    p = attend(P, "packs", q, parts, real.unsqueeze(2).expand(parts.shape[:3]), (parts != 0).any(3), train)
    last = p[torch.arange(len(p)), (x["kind"] == 3).long().argmax(1)]

    def near(kind, name, row):
        gate = torch.sigmoid(block(P, name + "_linear", torch.cat([p, row.unsqueeze(1).expand(p.shape)], 2)))
        return (gate * p * (x["kind"] == kind).unsqueeze(2)).sum(1)
    whom = u + near(0, "seen", u)
    what = last + near(1, "by_biz", last) + near(2, "by_friend", last)
    return linear(P, "model.output_mlp", mlp(P, "deep", torch.cat([whom, what, whom * what], 1), 2))


CASES["iprec"] = Case("iprec", new("num_users: %d, num_items: %d, num_bizs: %d, hidden_units: %d, f_max_len: %d, k: %d, u_max_i: 3, u_max_f: 3, u_max_pack: %d, "
                                   "pack_max_nei_b: %d, pack_max_nei_f: %d, dropout_rate: 0" % (USERS, ITEMS, BIZS, WIDTH, FRIENDS, HEADS, SEEN, NEAR, NEAR), rate=0.02),
                      package_rows, iprec_net, bce, 0.02)
