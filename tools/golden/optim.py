"""Golden steps of the update rules and schedules: tests/golden/data/optim.txt.

Dense rules come from torch.optim, clipping from torch.nn.utils, cosine schedules from
torch.optim.lr_scheduler. The table rules are written out here in float32 as FBGEMM states
them: gradients of equal ids are summed first, then each touched row is updated once. Adam over all
rows is torch's AdamW on the whole table. FTRL and GRDA, which torch lacks, are written out in float64.
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
    "adam_amsgrad": (torch.optim.Adam, dict(lr=0.02, betas=(0.7, 0.6), amsgrad=True, weight_decay=0.01)),
    "adamw": (torch.optim.AdamW, dict(lr=0.01, weight_decay=0.0)),
    "adamw_wd": (torch.optim.AdamW, dict(lr=0.02, betas=(0.8, 0.95), eps=1e-6, weight_decay=0.1)),
    "adamw_amsgrad": (torch.optim.AdamW, dict(lr=0.02, betas=(0.7, 0.6), amsgrad=True, weight_decay=0.1)),
    "adadelta": (torch.optim.Adadelta, dict(lr=0.5, rho=0.95, eps=1e-6)),
    "adadelta_wd": (torch.optim.Adadelta, dict(lr=1.0, rho=0.8, eps=1e-4, weight_decay=0.02)),
    "rmsprop": (torch.optim.RMSprop, dict(lr=0.01, alpha=0.99, eps=1e-8)),
    "rmsprop_wd": (torch.optim.RMSprop, dict(lr=0.02, alpha=0.9, eps=1e-3, weight_decay=0.05)),
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



def ftrl_steps(w, gs, alpha, beta=1.0, l1=0.0, l2=0.0, power=-0.5, first=0.0, keep=True):
    """McMahan et al. 2013, algorithm 1, with any exponent. keep: z begins with the value whose
    solution w is; else with 0, as FBGEMM and dynamicemb have it."""
    w = w.astype(np.float64)
    n = np.full_like(w, first)
    z = -w * ((beta + n ** -power) / alpha + l2) - np.sign(w) * l1 if keep else np.zeros_like(w)
    for g in gs.astype(np.float64):
        sigma = ((n + g * g) ** -power - n ** -power) / alpha
        z, n = z + g - sigma * w, n + g * g
        with np.errstate(invalid="ignore"):
            w = np.where(np.abs(z) <= l1, 0.0, -(z - np.sign(z) * l1) / ((beta + n ** -power) / alpha + l2))
        yield w


for name, first, args in (
    ("ftrl", w0 * 0, dict(alpha=0.1)),
    ("ftrl_l1", w0 * 0, dict(alpha=0.5, beta=0.5, l1=0.1, l2=0.3)),
    ("ftrl_warm", w0, dict(alpha=0.2, beta=0.7, l1=0.01, l2=0.1)),
    ("ftrl_warm_first", w0, dict(alpha=0.2, beta=0.7, l1=0.01, l2=0.1, first=0.1)),
    ("ftrl_warm_zero", w0, dict(alpha=0.2, beta=0.7, l1=0.01, l2=0.1, keep=False)),
    ("ftrl_warm_power", w0, dict(alpha=0.1, beta=0.0, power=-0.4, first=0.1, keep=False)),
):
    steps = np.stack(list(ftrl_steps(first.numpy(), grads.numpy(), **args)))
    out.add("dense/%s" % name, steps)

# generalized regularized dual averaging (Chao and Cheng 2019), in float64
for name, lr, c, mu in (("grda", 0.5, 0.05, 0.7), ("grda_one", 1.0, 0.0005, 0.8)):
    a, steps = w0.numpy().astype(np.float64), []
    for t, g in enumerate(grads.numpy().astype(np.float64), 1):
        a = a - lr * g
        steps.append(np.sign(a) * np.maximum(np.abs(a) - c * lr ** (0.5 + mu) * t ** mu, 0))
    out.add("dense/%s" % name, np.stack(steps))

# clip_grad_norm_ of three parameters: the factor that all gradients get
for p in (1.0, 2.0, 3.0, math.inf):
    params = [torch.zeros(n, requires_grad=True) for n in (5, 12, 20)]
    for q, (a, b) in zip(params, ((0, 5), (5, 17), (17, 37))):
        q.grad = grads[0, a:b].clone()
    total = torch.nn.utils.clip_grad_norm_(params, 0.25, norm_type=p)
    out.add("clip/norm_%s" % ("inf" if math.isinf(p) else "%d" % p), np.array([total.item()], np.float64))

V, B = 5, 7
rng = np.random.default_rng(11)
EPS = f32(1e-8)


def sgd(w, s, g, t, lr):
    return w - f32(lr) * g


def adagrad(w, s, g, t, lr, init=0.0):
    s.setdefault("m", np.full_like(w, init))
    s["m"] = s["m"] + g * g
    return w - f32(lr) * g / (np.sqrt(s["m"]) + EPS)


def rowwise(w, s, g, t, lr, wd=0.0, mode="NONE", init=0.0):
    s.setdefault("m", f32(init))
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


def partial_adam(w, s, g, t, lr, b1=0.9, b2=0.999, wd=0.0):
    s.setdefault("m", np.zeros_like(w))
    s.setdefault("v", f32(0))
    s["m"] = f32(b1) * s["m"] + f32(1 - b1) * g
    s["v"] = f32(b2) * s["v"] + f32(1 - b2) * np.mean(g * g, dtype=f32)
    m, v = s["m"] / f32(1 - b1**t), s["v"] / f32(1 - b2**t)
    return w - f32(lr) * (m / (np.sqrt(v) + EPS) + f32(wd) * w)


def lamb(w, s, g, t, lr, b1=0.9, b2=0.999, wd=0.0, partial=False):
    s.setdefault("m", np.zeros_like(w))
    s.setdefault("v", f32(0) if partial else np.zeros_like(w))
    s["m"] = f32(b1) * s["m"] + f32(1 - b1) * g
    s["v"] = f32(b2) * s["v"] + f32(1 - b2) * (np.mean(g * g, dtype=f32) if partial else g * g)
    m, v = s["m"] / f32(1 - b1**t), s["v"] / f32(1 - b2**t)
    r = m / (np.sqrt(v) + EPS) + f32(wd) * w
    ratio = np.sqrt(np.sum(w * w, dtype=f32)) / np.sqrt(np.sum(r * r, dtype=f32))
    return w - f32(lr) * f32(ratio) * r


def lars(w, s, g, t, lr, momentum=0.9, wd=0.0, eta=0.001):
    s.setdefault("m", np.zeros_like(w))
    nw, ng = np.sqrt(np.sum(w * w, dtype=f32)), np.sqrt(np.sum(g * g, dtype=f32))
    k = f32(lr) * f32(eta) * nw / (ng + f32(wd) * nw)
    s["m"] = f32(momentum) * s["m"] + f32(k) * (g + f32(wd) * w)
    return w - s["m"]


def torch_rule(make):
    """A dense rule of torch on the rows that are touched."""
    def rule(w, s, g, t, **args):
        if "opt" not in s:
            s["w"] = torch.tensor(w, requires_grad=True)
            s["opt"] = make([s["w"]], **args)
        s["w"].grad = torch.tensor(g)
        s["opt"].step()
        return s["w"].detach().numpy().copy()
    return rule


def ftrl(w, s, g, t, **args):
    s.setdefault("first", w.copy())
    s.setdefault("g", []).append(g)
    return list(ftrl_steps(s["first"], np.stack(s["g"]), **args))[-1].astype(f32)


RULES = {
    "sgd": (sgd, dict(lr=0.1)),
    "adagrad": (adagrad, dict(lr=0.1)),
    "adagrad_init": (adagrad, dict(lr=0.05, init=0.2)),
    "rowwise": (rowwise, dict(lr=0.1)),
    "rowwise_init": (rowwise, dict(lr=0.1, init=0.3)),
    "rowwise_l2": (rowwise, dict(lr=0.1, wd=0.03, mode="L2")),
    "rowwise_decouple": (rowwise, dict(lr=0.1, wd=0.03, mode="DECOUPLE")),
    "adam": (adam, dict(lr=0.01)),
    "adam_wd": (adam, dict(lr=0.02, b1=0.8, b2=0.95, wd=0.05)),
    "partial_adam": (partial_adam, dict(lr=0.01)),
    "partial_adam_wd": (partial_adam, dict(lr=0.02, b1=0.8, b2=0.95, wd=0.05)),
    "lamb": (lamb, dict(lr=0.01)),
    "lamb_wd": (lamb, dict(lr=0.02, b1=0.8, b2=0.95, wd=0.05)),
    "partial_lamb": (lamb, dict(lr=0.01, partial=True)),
    "partial_lamb_wd": (lamb, dict(lr=0.02, b1=0.8, b2=0.95, wd=0.05, partial=True)),
    "lars": (lars, dict(lr=10.0)),
    "lars_wd": (lars, dict(lr=20.0, momentum=0.5, wd=0.1)),
    "adadelta": (torch_rule(torch.optim.Adadelta), dict(lr=0.5, rho=0.9, eps=1e-5, weight_decay=0.01)),
    "rmsprop": (torch_rule(torch.optim.RMSprop), dict(lr=0.01, alpha=0.95, eps=1e-6, weight_decay=0.01)),
    "ftrl": (ftrl, dict(alpha=0.2, beta=0.7, l1=0.02, l2=0.1)),
    "ftrl_zero": (ftrl, dict(alpha=0.2, beta=0.0, l1=0.02, l2=0.1, first=0.1, keep=False)),
    "ftrl_power": (ftrl, dict(alpha=0.1, beta=0.5, power=-0.7, keep=False)),
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
    # every row of the table, the gradient of the others is zero
    for name, args in {"adam_all": dict(lr=0.01), "adam_all_wd": dict(lr=0.02, betas=(0.8, 0.95), weight_decay=0.05)}.items():
        w = torch.tensor(w0, requires_grad=True)
        opt = torch.optim.AdamW([w], **{"weight_decay": 0.0, **args})
        for t in range(STEPS):
            w.grad = torch.zeros_like(w)
            for h in range(B):
                w.grad[ids[t, h]] += torch.tensor(g[t, h])
            opt.step()
        out.add("row%d/%s" % (D, name), w.detach().numpy())


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


def manual(lr, t, sizes, rates, warmup=False):
    k = sum(1 for s in sizes if s < t)
    if k == 0:
        return lr + (rates[0] - lr) * t / sizes[0] if warmup else lr
    return rates[k - 1]


def torch_curve(make, lr, n):
    """The rates that torch's own scheduler gives at 0 .. n-1."""
    opt = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=lr)
    sched = make(opt)
    rates = []
    for _ in range(n):
        rates.append(opt.param_groups[0]["lr"])
        opt.step()
        sched.step()
    return rates


N_CURVE = 80
out.add("curve/n", [N_CURVE])
out.add("curve/manual", np.array([manual(0.1, t, [10, 20, 50], [0.05, 0.01, 0.001]) for t in range(N_CURVE)], np.float64))
out.add("curve/manual_warm", np.array([manual(0.1, t, [10, 20, 50], [0.5, 0.01, 0.001], True) for t in range(N_CURVE)], np.float64))
lrs = torch.optim.lr_scheduler
# torch's own LinearLR to a share of the rate; HuggingFace's linear schedule with a warm-up is this line behind it
out.add("curve/linear", np.array(torch_curve(lambda o: lrs.LinearLR(o, 1.0, 0.02, 60), 0.1, N_CURVE), np.float64))


def linear(lr, t, total, warmup, warmup_lr):
    return warmup_lr + (lr - warmup_lr) * t / warmup if t < warmup else lr * max(0, total - t) / (total - warmup)


out.add("curve/linear_warm", np.array([linear(0.1, t, 60, 7, 0.002) for t in range(N_CURVE)], np.float64))
out.add("curve/restarts", np.array(torch_curve(lambda o: lrs.CosineAnnealingWarmRestarts(o, 10, 1, 0.001), 0.1, N_CURVE), np.float64))
out.add("curve/restarts_2", np.array(torch_curve(lambda o: lrs.CosineAnnealingWarmRestarts(o, 7, 2, 0.002), 0.1, N_CURVE), np.float64))
# after T_max TorchEasyRec stays at the lowest rate, where torch's own would rise again
half = torch_curve(lambda o: lrs.CosineAnnealingLR(o, 30, 0.003), 0.1, 31)
out.add("curve/cosine", np.array(half + [0.003] * (N_CURVE - 31), np.float64))
warm = [0.01 + (0.1 - 0.01) * t / 8 for t in range(8)]
out.add("curve/cosine_warm", np.array(warm + (half + [0.003] * N_CURVE)[: N_CURVE - 8], np.float64))
out.close()
