"""The case of paddle.py over a log with times: tisas."""

import numpy as np
import torch
from torch.nn import functional as F

from paddle_masked import no_more
from paddle_nets import KEYS, N, Case, block, new, write

CASES = {}
ITEMS, LONGEST, SPAN, WIDTH, HEADS, LAYERS = 8, 4, 5, 4, 2, 2


def log_rows(rng, folder):
    """Each user has six to nine items; the last two are not learned. All but one item of a user may be drawn: the others are the same."""
    lines, columns = [], dict(items=[], times=[], next=[], others=[])
    for user in range(N):
        n, other = rng.integers(6, 10), user % ITEMS + 1
        items = [i if i < other else i + 1 for i in rng.integers(1, ITEMS, n)]
        seen = [i for i in range(1, ITEMS + 1) if i != other]
        items[:0] = seen  # all of them come first, so that one is left to draw
        times = np.cumsum(rng.integers(0, 4, len(items)))
        lines += ["%d\t%d\t5\t%d" % (user + 1, i, 1000 + t) for i, t in zip(items, times)]
        apart = np.diff(times)
        units = np.rint((times - times[0]) / apart[apart > 0].min()).astype(int) + 1
        at = slice(len(items) - 3 - LONGEST, len(items) - 3)
        columns["items"].append(items[at])
        columns["times"].append(units[at])
        columns["next"].append(items[at.start + 1:at.stop + 1])
        columns["others"].append([other] * LONGEST)
    write(folder, lines)
    return {k: np.array(v) for k, v in columns.items()}, np.zeros(N, dtype=np.int64)


def normed(P, name, x):
    return F.layer_norm(x, x.shape[-1:], P["model.blocks.states.%s.weight" % name], P["model.blocks.states.%s.bias" % name], 1e-8)


def tisas_net(P, x, train):
    E, at = P[KEYS % (WIDTH, "item_emb")], "model.blocks.states."
    s, d = E[x["items"]] * WIDTH ** 0.5, WIDTH // HEADS
    apart = (x["times"].unsqueeze(2) - x["times"].unsqueeze(1)).abs().clamp(max=SPAN)
    heads = lambda v: v.reshape(*v.shape[:-1], HEADS, d)
    ahead = torch.ones(LONGEST, LONGEST).triu(1).bool()
    for i in range(LAYERS):
        n = "states.layers.%d." % i
        q0 = normed(P, "layers.%d.norm1" % i, s)
        q = heads(block(P, n + "q_proj", q0))
        k = heads(block(P, n + "k_proj", s) + P[at + "place_k.weight"])
        v = heads(block(P, n + "v_proj", s) + P[at + "place_v.weight"])
        k = k.unsqueeze(1) + heads(P[at + "time_k.weight"][apart])
        v = v.unsqueeze(1) + heads(P[at + "time_v.weight"][apart])
        w = (q.unsqueeze(2) * k).sum(4) / d ** 0.5  # (B, i, j, head)
        a = torch.softmax(w.masked_fill(ahead.unsqueeze(2), -1e30), 2)
        s = normed(P, "layers.%d.norm2" % i, q0 + (a.unsqueeze(4) * v).sum(2).reshape(q0.shape))
        s = s + block(P, n + "linear2", torch.relu(block(P, n + "linear1", s)))
    s = normed(P, "norm", s)
    good, bad = (s * E[x["next"]]).sum(2), (s * E[x["others"]]).sum(2)
    # a training has no candidates: the scores are those of the next items, and of nothing behind them
    scores = (E[x["next"]] * s[:, -1:]).sum(2)
    return F.pad(scores, (0, 101 - LONGEST)), (F.softplus(-good) + F.softplus(bad)).mean()


CASES["tisas"] = Case("tisas", new("num_users: %d, num_items: %d, num_blocks: %d, num_heads: %d, maxlen: %d, hidden_units: %d, time_span: %d, dropout_rate: 0"
                                   % (N, ITEMS, LAYERS, HEADS, LONGEST, WIDTH, SPAN)), log_rows, tisas_net, no_more, 0.1)
