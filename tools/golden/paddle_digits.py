"""Cases of paddle.py over pictures: dselect_k."""

import os
import pickle

import numpy as np
import torch
from torch.nn import functional as F

from paddle_nets import N, Case, block, mlp, new, norm

CASES = {}
SIDE, EXPERTS, CHOSEN, WIDTH, FILTERS, ENTROPY = 16, 3, 2, 4, (2, 3), 0.05
TASKS = ("left", "right")


def digit_rows(rng, folder):
    x, y = rng.integers(0, 256, (N, SIDE, SIDE)).astype(np.uint8), rng.integers(0, 10, (N, 2)).astype(np.int32)
    with open(os.path.join(folder, "data", "train.pickle"), "wb") as f:
        pickle.dump((x, y), f, 3)
    return dict(pixels=x.astype(np.float32)), y.astype(np.int64)


def expert(P, i, x, train):
    for k in (1, 2):
        at = "model.blocks.conv%d_%d" % (i, k)
        W = P[at + ".weight"].reshape(FILTERS[k - 1], -1, 5, 5)
        planes = F.conv2d(x, W, P[at + ".bias"]).permute(0, 2, 3, 1)
        x = norm(P, "conv%d_%d.bn" % (i, k), planes.flatten(0, 2), train).reshape(planes.shape).permute(0, 3, 1, 2)
        x = F.max_pool2d(torch.relu(x), 2)
    return mlp(P, "expert%d" % i, x.flatten(1), 2)


def gate(P, name):
    """Weights of the experts, and the penalties of a gate over three experts, which is no power of two."""
    z, w = P["model.blocks.%s.z_logits" % name], P["model.blocks.%s.w_logits" % name]
    step = torch.where(z <= -0.5, torch.zeros_like(z), torch.where(z >= 0.5, torch.ones_like(z), -2 * z ** 3 + 1.5 * z + 0.5))
    codes = torch.tensor([[i >> 1 & 1, i & 1] for i in range(EXPERTS)]).bool()
    r = torch.where(codes.unsqueeze(0), step.unsqueeze(1), 1 - step.unsqueeze(1)).prod(2)
    entropy = -(r * torch.log(r + 1e-6)).sum()
    return (torch.softmax(w, 0).unsqueeze(1) * r).sum(0), ENTROPY * entropy + (1 / (r.sum(1) + 1e-6)).sum()


def dselect_net(compat):
    def net(P, x, train):
        pictures = (x["pixels"] / 255).unsqueeze(1)
        experts = torch.stack([expert(P, i + 1, pictures, train) for i in range(EXPERTS)], 1)
        out, more = {}, 0
        for t in TASKS:
            g, penalty = gate(P, "both_gate" if compat else t + "_gate")
            if not compat or t == "left":
                more = more + penalty
            z = block(P, t + "_score", mlp(P, t + "_tower", (g.unsqueeze(1) * experts).sum(1), 1))
            out["_" + t] = torch.softmax(z, 1) if compat else z
        return out, more
    return net


def loss(z, y):
    return sum(F.cross_entropy(z["_" + t], y[:, i]) for i, t in enumerate(TASKS))


HYPER = "feature_size: %d, top_k: %d, expert_num: %d, gate_num: 2, expert_size: %d, tower_size: 8, entropy_reg: %g, conv_filters: [%d, %d], expert_fc_size: 5, " \
        "fc_sizes: [6]" % (SIDE * SIDE, CHOSEN, EXPERTS, WIDTH, ENTROPY, *FILTERS)
CASES["dselect_k"] = Case("dselect_k", new(HYPER), digit_rows, dselect_net(False), loss, 0.1)
CASES["dselect_k_compat"] = Case("dselect_k", new(HYPER, 1e-8, "Adam"), digit_rows, dselect_net(True), loss, 1e-8, "Adam")
