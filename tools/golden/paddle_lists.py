"""Cases of paddle.py over lists that crank draws: the same numbers are drawn here (src/base/rng.h)."""

import numpy as np
import torch

from paddle_nets import BAGS, KEYS, N, READER, Case, block, classes, mlp, old

CASES = {}
BITS = (1 << 64) - 1


def mix(x):
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & BITS
    x = (x ^ x >> 27) * 0x94D049BB133111EB & BITS
    return x ^ x >> 31


def sub(key, i):
    return mix(key ^ mix((i + 0x632BE59BD9B4E019) & BITS))


def hashed(text):
    h = 0xCBF29CE484222325
    for c in text.encode():
        h = (h ^ c) * 0x100000001B3 & BITS
    return h


def below(key, i, n):
    return mix((key + (i + 1) * 0x9E3779B97F4A7C15) & BITS) * n >> 64


# ---- listwise: four items per list, each of them a row ----

LENGTH, USERS, ITEMS, WIDTH = 4, 5, 9, 5


def lists_rows(rng, folder):
    key = sub(sub(mix(12345 + 0x9E3779B97F4A7C15), hashed("lists")), hashed("train"))
    user, items, label = [], [], []
    for i in range(N // LENGTH):
        k = sub(key, i)
        user += [below(k, 0, USERS)] * LENGTH
        items += [[below(k, 1 + j, ITEMS) for j in range(LENGTH)]] * LENGTH
        label += [below(k, 1 + LENGTH + j, 2) for j in range(LENGTH)]
    return dict(user=np.array(user), items=np.array(items), place=np.arange(N) % LENGTH), np.array(label)


def gru(P, name, x, h, order):
    """A GRU from the state h that resets the state before it multiplies it."""
    at = "model.blocks.%s." % name
    W, U, b, c = (P[at + k] for k in ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"))
    H, out = U.shape[1], [None] * LENGTH
    for t in order:
        g = x[:, t] @ W.T + b
        rz = torch.sigmoid(g[:, :2 * H] + h @ U[:2 * H].T + c[:2 * H])
        n = torch.tanh(g[:, 2 * H:] + (rz[:, :H] * h) @ U[2 * H:].T + c[2 * H:])
        h = out[t] = (1 - rz[:, H:]) * n + rz[:, H:] * h
    return torch.stack(out, 1)


def listwise_net(P, x, train):
    user = mlp(P, "user", P[BAGS % "user_emb"][x["user"]], 1)
    items = mlp(P, "encoded", P[KEYS % (3, "item_emb")][x["items"]], 1)
    steps = torch.cat([items, P[KEYS % (3, "place_emb")].unsqueeze(0).expand(len(user), -1, -1)], 2)
    states = torch.cat([gru(P, "forward", steps, user, range(LENGTH)), gru(P, "backward", steps, user, reversed(range(LENGTH)))], 2)
    return block(P, "scores", mlp(P, "deep", states[torch.arange(len(user)), x["place"]], 1))


CASES["listwise"] = Case("listwise", old("listwise", READER, "user_vocab: %d, item_vocab: %d, item_len: %d, embed_size: 3, hidden_size: %d, list_num: %d"
                                         % (USERS, ITEMS, LENGTH, WIDTH, N // LENGTH), batch=4), lists_rows, listwise_net, classes, 0.1)
