"""Golden steps of the update rules and schedules: tests/golden/data/optim.txt.

Dense rules come from torch.optim. The table rules are written out here in float32 as FBGEMM states
them: gradients of equal ids are summed first, then each touched row is updated once.
Run with a python that has torch: python3 tools/golden/optim.py
"""

import math

import numpy as np
import torch

from common import Writer

f32 = np.float32
N, STEPS = 37, 10
out = Writer("optim.txt", "update rules and schedules")

gen = torch.Generator().manual_seed(7)
w0 = torch.randn(N, generator=gen)
grads = torch.randn(STEPS, N, generator=gen) * 0.1
grads[:, 3] = 0
out.add("dense/w0", w0.numpy())
out.add("dense/g", grads.numpy())

DENSE = {
    "sgd_plain": (torch.optim.SGD, dict(lr=0.1, momentum=0.0, weight_decay=0.01)),
    "sgd": (torch.optim.SGD, dict(lr=0.1, momentum=0.9)),
    "sgd_damp": (torch.optim.SGD, dict(lr=0.1, momentum=0.8, dampening=0.3, weight_decay=0.02)),
    "sgd_nesterov": (torch.optim.SGD, dict(lr=0.05, momentum=0.9, nesterov=True)),
    "adagrad": (torch.optim.Adagrad, dict(lr=0.1)),
    "adagrad_init": (torch.optim.Adagrad, dict(lr=0.1, initial_accumulator_value=0.1, weight_decay=0.01, eps=1e-6)),
    "adam": (torch.optim.Adam, dict(lr=0.01)),
    "adam_wd": (torch.optim.Adam, dict(lr=0.02, betas=(0.8, 0.95), eps=1e-6, weight_decay=0.05)),
}
for name, (make, args) in DENSE.items():
    w = w0.clone().requires_grad_()
    opt = make([w], **args)
    steps = []
    for t in range(STEPS):
        w.grad = grads[t].clone()
        opt.step()
        steps.append(w.detach().numpy().copy())
    out.add("dense/%s" % name, np.stack(steps))

V, B = 5, 7
rng = np.random.default_rng(11)
EPS = f32(1e-8)


def sgd(w, s, g, t, lr):
    return w - f32(lr) * g


def adagrad(w, s, g, t, lr, init=0.0):
    s.setdefault("m", np.full_like(w, init))
    s["m"] = s["m"] + g * g
    return w - f32(lr) * g / (np.sqrt(s["m"]) + EPS)


def rowwise(w, s, g, t, lr, wd=0.0, mode="NONE"):
    s.setdefault("m", f32(0))
    x = g + f32(wd) * w if mode == "L2" else g
    s["m"] = f32(s["m"] + np.mean(x * x, dtype=f32))
    k = f32(lr) / (np.sqrt(s["m"]) + EPS)
    c = 1 - k * f32(wd) if mode == "L2" else 1 - f32(lr) * f32(wd) if mode == "DECOUPLE" else 1
    return f32(c) * w - k * g


def adam(w, s, g, t, lr, b1=0.9, b2=0.999, wd=0.0):
    s.setdefault("m", np.zeros_like(w))
    s.setdefault("v", np.zeros_like(w))
    s["m"] = f32(b1) * s["m"] + f32(1 - b1) * g
    s["v"] = f32(b2) * s["v"] + f32(1 - b2) * g * g
    m, v = s["m"] / f32(1 - b1**t), s["v"] / f32(1 - b2**t)
    return w - f32(lr) * (m / (np.sqrt(v) + EPS) + f32(wd) * w)


RULES = {
    "sgd": (sgd, dict(lr=0.1)),
    "adagrad": (adagrad, dict(lr=0.1)),
    "adagrad_init": (adagrad, dict(lr=0.05, init=0.2)),
    "rowwise": (rowwise, dict(lr=0.1)),
    "rowwise_l2": (rowwise, dict(lr=0.1, wd=0.03, mode="L2")),
    "rowwise_decouple": (rowwise, dict(lr=0.1, wd=0.03, mode="DECOUPLE")),
    "adam": (adam, dict(lr=0.01)),
    "adam_wd": (adam, dict(lr=0.02, b1=0.8, b2=0.95, wd=0.05)),
}
for D in (5, 20):  # with and without whole vectors of 16 and 4
    w0 = rng.standard_normal((V, D)).astype(f32)
    ids = rng.integers(0, V - 1, (STEPS, B))  # the last row is never touched
    ids[0, :2] = 0
    g = (rng.standard_normal((STEPS, B, D)) * 0.1).astype(f32)
    out.add("row%d/w0" % D, w0)
    out.add("row%d/ids" % D, ids)
    out.add("row%d/g" % D, g)
    for name, (rule, args) in RULES.items():
        w, state = w0.copy(), [{} for _ in range(V)]
        for t in range(STEPS):
            for row in range(V):
                hits = np.nonzero(ids[t] == row)[0]
                if not len(hits):
                    continue
                total = np.zeros(D, f32)
                for h in hits:
                    total = total + g[t, h]
                w[row] = rule(w[row], state[row], total, t + 1, **args)
        out.add("row%d/%s" % (D, name), w)


def exponential(lr, t, decay_size, factor=0.95, staircase=True, warmup_lr=0.0, warmup=0, min_lr=0.0):
    if t < warmup:
        return warmup_lr + (lr - warmup_lr) * t / warmup
    p = (t - warmup) / decay_size
    return max(lr * factor ** (math.floor(p) if staircase else p), min_lr)


T = [0, 1, 4, 9, 10, 11, 19, 20, 99, 100, 1000, 123456]
out.add("sched/t", T)
for name, args in {
    "exp": dict(decay_size=10),
    "exp_smooth": dict(decay_size=10, factor=0.9, staircase=False),
    "exp_warm": dict(decay_size=7, factor=0.8, warmup_lr=0.001, warmup=10, min_lr=0.002),
}.items():
    out.add("sched/" + name, np.array([exponential(0.1, t, **args) for t in T], np.float64))
out.close()
