"""The case of paddle.py over a graph of users and items: mhcn.

Every user has all items but one, so there is one item to draw. Shuffles are those of src/base/rng.h.
"""

import numpy as np
import torch
from torch.nn import functional as F

from paddle_masked import no_more
from paddle_nets import N, Case, new, write

CASES = {}
USERS, ITEMS, WIDTH, LAYERS, SEED = 20, 9, 4, 2, 12345
MASK = (1 << 64) - 1


def mix(x):
    x = ((x ^ x >> 30) * 0xbf58476d1ce4e5b9) & MASK
    x = ((x ^ x >> 27) * 0x94d049bb133111eb) & MASK
    return x ^ x >> 31


def sub(key, i):
    return mix(key ^ mix((i + 0x632be59bd9b4e019) & MASK))


def key_of(seed, purpose):
    h = 0xcbf29ce484222325
    for c in purpose.encode():
        h = ((h ^ c) * 0x100000001b3) & MASK
    return sub(mix((seed + 0x9e3779b97f4a7c15) & MASK), h)


def shuffle(key, n):
    v = list(range(n))
    for i in range(n - 1, 0, -1):
        k = (mix((key + (i + 1) * 0x9e3779b97f4a7c15) & MASK) * (i + 1)) >> 64
        v[i], v[k] = v[k], v[i]
    return v


def social_rows(rng, folder):
    """One line in five is for the evaluation; users and items are numbered in the order of the other lines."""
    owned = [(u, i) for u in range(USERS) for i in rng.permutation(ITEMS) if i != u % ITEMS]
    lines, users, items, pairs = [], {}, {}, []
    for n, (u, i) in enumerate(owned):
        if n % 4 == 0:
            lines.append("u%d\ti%d\t5" % (u, u % ITEMS))
        lines.append("u%d\ti%d\t%d" % (u, i, rng.integers(1, 9)))
        pairs.append((users.setdefault(u, len(users)), items.setdefault(int(i), len(items))))
    trusts = sorted({(int(a), int(b)) for a, b in rng.integers(0, USERS, (90, 2)) if a != b})
    write(folder, lines, "ratings.txt")
    write(folder, ["u%d\tu%d" % t for t in trusts] + ["u1\tstranger"], "trusts.txt")
    assert len(pairs) == N and len(items) == ITEMS
    S, Y = np.zeros((USERS, USERS)), np.zeros((USERS, ITEMS))
    for a, b in trusts:
        S[users[a], users[b]] = 1
    for u, i in pairs:
        Y[u, i] = 1
    order = [pairs[k] for k in mixed(N)]
    again = lambda v: np.tile(v, (N, 1, 1))
    columns = dict(user=np.array([u for u, _ in order]), item=np.array([i for _, i in order]), step=np.arange(N) // 16, S=again(S), Y=again(Y))
    return columns, columns["item"]


def mixed(n):
    return shuffle(key_of(0, "ratings"), n)


def channels(S, Y):
    """The three matrices of users, by the formulas of the paper (table 1), and the weights of items."""
    B = S * S.T
    U = S - B
    V = U.T
    C1, C2 = (U @ U) * V, (B @ U) * V + (U @ B) * V + (U @ U) * B
    C3, C5 = (B @ B) * U + (B @ U) * B + (U @ B) * B, (U @ U) * U + (U @ V) * U + (V @ U) * U
    A = sum(c + c.T for c in (C1, C2, C3, C5)) + (B @ B) * B
    A = A + (U @ B) * U + (B @ V) * V + (V @ U) * B + (V @ B) * V + (B @ U) * U + (U @ V) * B
    joint = (Y @ Y.T) * B + (Y @ Y.T) * U + (Y @ Y.T) * V
    apart = Y @ Y.T - joint
    apart = apart * (apart > 1)
    mean = lambda m: m / m.sum(1, keepdim=True).clamp(min=1e-30)
    return [mean(A), mean(joint), mean(apart)], Y / Y.sum(1, keepdim=True).sqrt() / Y.sum(0).sqrt()


def mhcn_net(P, x, train):
    p = lambda name: P["model.blocks.scores." + name]
    H, R = channels(x["S"][0], x["Y"][0])
    gate = lambda v, name, c: v * torch.sigmoid(v @ p(name + ".weight")[c * WIDTH:(c + 1) * WIDTH] + p(name + ".bias")[c])

    def attend(v):
        z = torch.cat([c @ p("attention_mat.weight") @ p("attention.weight") for c in v], 1).softmax(1)
        return sum(z[:, k:k + 1] * c for k, c in enumerate(v))
    v = [gate(p("user_embedding.weight"), "gating", c) for c in range(3)]
    s, i = gate(p("user_embedding.weight"), "gating", 3), p("item_embedding.weight")
    sums, simple, items = list(v), s, i
    for _ in range(LAYERS):
        m = attend(v) + s / 2
        v, s, i = [h @ c for h, c in zip(H, v)], R @ i, R.T @ m
        sums = [a + F.normalize(c, dim=1) for a, c in zip(sums, v)]
        simple, items = simple + F.normalize(s, dim=1), items + F.normalize(i, dim=1)
    users = attend(sums) + simple / 2
    scores = users[x["user"]] @ items.T
    if not train:
        return scores.scatter(1, x["item"].unsqueeze(1), -1e9)  # a row names its item as one that is left out
    others = (1 - x["Y"][0]).argmax(1)[x["user"]]
    pick = lambda at: scores.gather(1, at.unsqueeze(1))
    return scores, F.softplus(pick(others) - pick(x["item"])).sum() + 0.01 * contrast(users, gate, H, int(x["step"][0]))


def contrast(users, gate, H, step):
    loss, key = 0, sub(key_of(SEED, "social_loss"), step)
    for c in range(3):
        draw = lambda k, n: shuffle(sub(sub(key, c), k), n)
        e = gate(users, "self_gating", c)
        h = H[c] @ e
        mean = h.mean(0)
        own, other = (e * h).sum(1), (e[draw(0, USERS)] * h).sum(1)
        worst = (h[draw(1, USERS)][:, draw(2, WIDTH)] * e).sum(1)
        loss = loss + F.softplus(other - own).sum() + F.softplus(worst - other).sum()
        loss = loss + F.softplus(h[draw(3, USERS)][:, draw(4, WIDTH)] @ mean - h @ mean).sum()
    return loss


CASES["mhcn"] = Case("mhcn", new("n_layer: %d, num_factors: %d" % (LAYERS, WIDTH), rate=0.01).replace(
    "runner: {", "runner: {rating_file: data/ratings.txt, relation_file: data/trusts.txt, ", 1), social_rows, mhcn_net, no_more, 0.01)
