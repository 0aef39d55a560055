"""Cases of paddle.py over histories in sessions: dsin."""

import os
import pickle

import numpy as np
import torch
from torch.nn import functional as F

from paddle_nets import BAGS, KEYS, N, Case, bce, block, mlp, new
from pandas_form import frame

CASES = {}
SESSIONS, STEPS, WIDTH, HEADS = 3, 4, 2, 2
D = 2 * WIDTH
COLUMNS = "userid adgroup_id pid cms_segid cms_group_id final_gender_code age_level pvalue_level shopping_level occupation new_user_class_level " \
          "campaign_id customer cate_id brand"
SIZES = "user_size adgroup_size pid_size cms_segid_size cms_group_size final_gender_size age_level_size pvalue_level_size shopping_level_size occupation_size " \
        "new_user_class_level_size campaign_size customer_size cate_size brand_size"
COLUMNS, SIZES, ROWS = COLUMNS.split(), SIZES.split(), 5


def session_rows(rng, folder):
    ids = {c: rng.integers(1, ROWS, N) for c in COLUMNS}
    price = rng.normal(size=N)
    count = rng.integers(0, SESSIONS + 1, N)
    length = rng.integers(1, STEPS + 1, (N, SESSIONS)) * (np.arange(SESSIONS) < count[:, None])
    real = np.arange(STEPS) < length[:, :, None]
    steps = rng.integers(1, ROWS, (N, SESSIONS, 2, STEPS)) * real[:, :, None]
    label = rng.integers(0, 2, N)
    frames = {("new_user_class_level " if c == "new_user_class_level" else c): v for c, v in ids.items()}
    data = dict(feat_input=frame(dict(frames, price=price)), sess_input=steps.reshape(N, 2 * SESSIONS, STEPS), session_length=count,
                label=label.astype(np.float32))
    for name, value in data.items():
        with open(os.path.join(folder, "data", "train_%s.pkl" % name), "wb") as f:
            pickle.dump(value, f, 4)
    ids.update(price=price.astype(np.float32), count=count, cates=steps[:, :, 0], brands=steps[:, :, 1], real=real)
    return ids, label


def attended(P, x, real):
    """A layer of a transformer, without biases, inside of each session."""
    n, d = "model.blocks.interests.transformer.layers.0.", D // HEADS
    norm = lambda i, v: F.layer_norm(v, (D,), P[n + "norm%d.weight" % i], P[n + "norm%d.bias" % i])
    q, k, v = (t.reshape(*t.shape[:3], HEADS, d).transpose(2, 3) for t in (x @ P[n + "self_attn.in_proj_weight"].T).chunk(3, 3))
    s = (q @ k.transpose(3, 4) / d ** 0.5).masked_fill(~real[:, :, None, None], -1e30)
    y = (torch.softmax(s, 4) @ v).transpose(2, 3).reshape(x.shape)
    x = norm(1, x + y @ P[n + "self_attn.out_proj.weight"].T)
    return norm(2, x + torch.relu(x @ P[n + "linear1.weight"].T) @ P[n + "linear2.weight"].T)


def lstm(P, x, mask, layer, reverse):
    at = "model.blocks.evolved.%s_l" + "%d%s" % (layer, "_reverse" if reverse else "")
    h = c = torch.zeros(len(x), D, dtype=x.dtype)
    out = [None] * SESSIONS
    for t in reversed(range(SESSIONS)) if reverse else range(SESSIONS):
        z = x[:, t] @ P[at % "weight_ih"].T + P[at % "bias_ih"] + h @ P[at % "weight_hh"].T + P[at % "bias_hh"]
        i, f, g, o = z.chunk(4, 1)
        m = mask[:, t:t + 1]
        c = torch.where(m, torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g), c)
        h = torch.where(m, torch.sigmoid(o) * torch.tanh(c), h)
        out[t] = h
    return torch.stack(out, 1)


def chosen(P, name, q, x, mask):
    q = q.unsqueeze(1).expand_as(x)
    s = block(P, name + ".linear", mlp(P, name + ".mlp", torch.cat([q, x, q - x, q * x], 2), 2, torch.sigmoid)).squeeze(2)
    a = torch.softmax(s.masked_fill(~mask, -1e30), 1) * mask
    return (a.unsqueeze(2) * x).sum(1)


def dsin_net(compat):
    def net(P, x, train):
        E = {c: P[KEYS % (WIDTH, c + "_emb") if c in ("cate_id", "brand") else BAGS % (c + "_emb")] for c in COLUMNS}
        s, real = torch.cat([E["cate_id"][x["cates"]], E["brand"][x["brands"]]], 3), x["real"]
        at = "model.blocks.interests."
        if compat:
            s = s * D ** 0.5 + P[at + "position"]
        else:
            s = s + P[at + "unit_bias"] + P[at + "session_bias"].unsqueeze(1) + P[at + "place_bias"]
        s = attended(P, s, real) * real.unsqueeze(3)
        s = s.sum(2) / real.sum(2).clamp(min=1).unsqueeze(2)
        mask = torch.arange(SESSIONS) < x["count"].unsqueeze(1)
        h = s
        for layer in range(2):
            both = [lstm(P, h, mask, layer, r) for r in (False, True)]
            h = torch.cat(both, 2)
        q = torch.cat([E["cate_id"][x["cate_id"]], E["brand"][x["brand"]]], 1)
        plain = [x["price"].unsqueeze(1)] + [E[c][x[c]] for c in COLUMNS[:-2]]
        rows = torch.cat(plain + [q, chosen(P, "interest", q, s, mask), chosen(P, "evolution", q, (both[0] + both[1]) / 2, mask)], 1)
        return block(P, "score", mlp(P, "deep", rows, 1, torch.sigmoid))
    return net


HYPER = ", ".join("%s: %d" % (s, ROWS) for s in SIZES) + ", feat_embed_size: %d, sess_count: %d, sess_max_length: %d, num_heads: %d, dim_feedforward: 5, " \
    "att_hidden_units: [5, 3], fc_sizes: [6]" % (WIDTH, SESSIONS, STEPS, HEADS)
CASES["dsin"] = Case("dsin", new(HYPER), session_rows, dsin_net(False), bce, 0.1)
# The bias of the scores of sessions has no effect behind a softmax, and Adam would make steps of its rounding: the rate is next to nothing, and the scores,
# the losses and the first gradients are what this case compares.
CASES["dsin_compat"] = Case("dsin", new(HYPER, 1e-8, "Adam"), session_rows, dsin_net(True), bce, 1e-8, "Adam")
