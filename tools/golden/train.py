"""Golden runs of what stands between gradients and weights: tests/golden/data/train_*.

The cases and their files are those of models.py; the training loop here knows parts by name,
clipping, accumulation, loss scaling, averages, all schedules and Adam over whole tables. Dense
parameters are updated by torch.optim, clipped by torch.nn.utils. Besides what models.py writes,
expect.txt holds final/state.<parameter>.ema where the case averages.
Run: python3 tools/golden/train.py [case ...]
"""

import copy
import math
import re
import sys

import torch

import models
from models import BCE, DEEP, SMALL, SMALL_GROUPS, WIDE, case, is_sparse, mlp, rate, update_table
from pbtxt import Name


def schedule(conf, lr, t):
    manual = conf.get("manual_step_learning_rate")
    if manual:
        k = sum(1 for s in manual["schedule_sizes"] if s < t)
        return manual["learning_rates"][k - 1] if k else lr
    cosine = conf.get("cosine_annealing_learning_rate")
    if cosine:
        u, low = min(t, cosine["T_max"]), cosine.get("min_learning_rate", 0.0)
        return low + (lr - low) * 0.5 * (1 + math.cos(math.pi * u / cosine["T_max"]))
    return rate(conf, lr, t)


def split(conf):
    """(kind, message, schedule) of a SparseOptimizer, DenseOptimizer or part."""
    kind = next(k for k in conf if k.endswith("_optimizer"))
    return kind, conf[kind], {k: v for k, v in conf.items() if k.endswith("_learning_rate")}


def choose(conf, name):
    """The part whose pattern matches the whole name, or the main optimizer."""
    for part in conf.get("part_optimizers", []):
        if re.fullmatch(part["regex_pattern"], name):
            kind, message, own = split(part)
            return kind, message, own or split(conf)[2]
    return split(conf)


def torch_rule(kind, conf, p):
    if kind in ("adam_optimizer", "adamw_optimizer"):
        make = torch.optim.Adam if kind == "adam_optimizer" else torch.optim.AdamW
        return make([p], lr=conf["lr"], weight_decay=conf.get("weight_decay", 0.0), amsgrad=conf.get("amsgrad", False))
    if kind == "sgd_optimizer":
        return torch.optim.SGD([p], lr=conf["lr"], momentum=conf.get("momentum", 0.9), nesterov=conf.get("nesterov", False))
    if kind == "rmsprop_optimizer":
        return torch.optim.RMSprop([p], lr=conf["lr"])
    return torch.optim.Adadelta([p], lr=conf["lr"], rho=0.95, eps=1e-6)


def ftrl(conf, lr, w, g, touched, state):
    beta, l1, l2 = conf.get("ftrl_beta", 0.0), conf.get("l1_reg", 0.0), conf.get("l2_reg", 0.0)
    power = -conf.get("learning_rate_power", -0.5)
    if "n" not in state:
        state["n"] = torch.full_like(w, conf.get("initial_accumulator_value", 0.0))
        state["z"] = torch.zeros_like(w)
    z, n, g = state["z"][touched], state["n"][touched], g[touched]
    z = z + g - ((n + g * g) ** power - n ** power) / lr * w[touched]
    n = n + g * g
    state["z"][touched], state["n"][touched] = z, n
    w[touched] = torch.where(z.abs() <= l1, torch.zeros_like(z), -(z - torch.sign(z) * l1) / ((beta + n ** power) / lr + l2))


def step_table(kind, conf, lr, w, g, touched, state, t):
    if kind == "ftrl_optimizer":
        ftrl(conf, lr, w, g, touched, state)
    elif kind == "adam_optimizer" and conf.get("mode") == "DENSE":
        every = torch.arange(len(w))
        update_table(kind, conf, lr, w, g, every, state, t)
    else:
        update_table(kind, conf, lr, w, g, touched, state, t)


def touched_rows(inputs, table, batch):
    hit = set()
    for group in inputs.groups.values():
        for name in group["feature_names"]:
            conf = inputs.features[name]
            if is_sparse(conf) and inputs.table_of(group, conf) == table:
                hit |= {a for bag in batch[name] for a, _ in bag}
    return torch.tensor(sorted(hit), dtype=torch.long)


def run(config, model, inputs, batches, dtype):
    model = copy.deepcopy(model).to(dtype)
    params = {k: torch.tensor(v, dtype=dtype, requires_grad=True) for k, v in {**inputs.tables, **inputs.dense}.items()}
    named = {"model." + k: p for k, p in model.named_parameters()}
    named.update({k: params[k] for k in inputs.dense})
    out = {"init/" + k: v.detach().clone() for k, v in {**params, **named}.items()}
    params["dtype"] = dtype

    train = config["train_config"]
    k = train.get("gradient_accumulation_steps", 1)
    clip = train.get("grad_clipping", {})
    scale = train.get("grad_scaler", {}).get("init_scale", 1.0)
    ema = train["dense_optimizer"].get("ema")
    own = split(train["sparse_optimizer"])[1]
    limit = own["max_gradient"] * scale if own.get("gradient_clipping") else None  # the hook sees scaled gradients
    tables = [t for t in inputs.tables if t not in inputs.frozen]
    opts = {}
    for name, p in named.items():
        kind, conf, sched = choose(train["dense_optimizer"], name)
        opts[name] = torch_rule(kind, conf, p), conf["lr"], sched
    state, averages, losses = {t: {} for t in tables}, {}, []
    for t, (batch, label, weight) in enumerate(batches):
        label = torch.tensor(label, dtype=dtype)
        for table in tables:
            params[table].grad = None
        if t % k == 0:
            for p in named.values():
                p.grad = None
        y = model(params, batch, limit)
        loss = models.loss_of(config, model.inputs, batch, y, label, None)
        losses.append(loss.item())
        if t == 0:
            out["logits"] = y.detach().clone()
            every = {**named, **{n: params[n] for n in tables}}
            free = models.loss_of(config, model.inputs, batch, model(params, batch), label, None)
            for name, g in zip(every, torch.autograd.grad(free, list(every.values()), allow_unused=True)):
                out["grad/" + name] = torch.zeros_like(every[name]) if g is None else g.clone()
        (loss * scale / k).backward()
        for table in tables:
            params[table].grad = params[table].grad / scale
        last = (t + 1) % k == 0
        if last:
            for p in named.values():
                p.grad = p.grad / scale
        everywhere = clip.get("enable_global_grad_clip", False)
        clipped = (list(named.values()) if last else []) + ([params[n] for n in tables] if everywhere else [])
        if clip.get("clipping_type") == "norm" and clipped:
            torch.nn.utils.clip_grad_norm_(clipped, clip["max_gradient"], norm_type=clip.get("norm_type", 2.0))
        elif clip.get("clipping_type") == "value" and clipped:
            torch.nn.utils.clip_grad_value_(clipped, clip["max_gradient"])
        with torch.no_grad():
            for table in tables:
                kind, conf, sched = choose(train["sparse_optimizer"], table)
                step_table(kind, conf, schedule(sched, conf["lr"], t), params[table], params[table].grad,
                           touched_rows(inputs, table, batch), state[table], t + 1)
        if not last:
            continue
        for name, (opt, lr, sched) in opts.items():
            opt.param_groups[0]["lr"] = schedule(sched, lr, t)
            opt.step()
        for name, p in named.items() if ema else ():
            w = p.detach()
            averages[name] = ema["decay"] * averages[name] + (1 - ema["decay"]) * w if name in averages else w.clone()
    out["loss"] = torch.tensor(losses, dtype=dtype)
    params.pop("dtype")
    out.update({"final/" + n: v.detach().clone() for n, v in {**params, **named}.items()})
    out.update({"final/state.%s.ema" % n: v for n, v in averages.items()})
    params["dtype"] = dtype
    model.eval()
    with torch.no_grad():
        out["eval_logits"] = model(params, batches[0][0])
    return out


CONSTANT = {"constant_learning_rate": {}}
WIDE_DEEP = {"wide_and_deep": dict(deep=mlp(8, 6))}


def train_case(model=SMALL, groups=SMALL_GROUPS, sparse=None, dense=None, **more):
    made = case(model, groups, BCE)
    made["train_config"]["sparse_optimizer"] = sparse or {"adagrad_optimizer": dict(lr=0.05), **CONSTANT}
    made["train_config"]["dense_optimizer"] = dense or {"adam_optimizer": dict(lr=0.01), **CONSTANT}
    made["train_config"].update(more)
    return made


CASES = {
    "train_parts": train_case(
        WIDE_DEEP, [WIDE, ("deep", DEEP)],
        sparse={"adam_optimizer": dict(lr=0.02), **CONSTANT,
                "part_optimizers": [
                    {"ftrl_optimizer": dict(lr=0.3, ftrl_beta=0.5, l1_reg=0.001, l2_reg=0.1, initial_accumulator_value=0.0001), "regex_pattern": r".*\.\w+_wide\.weight"},
                    {"sgd_optimizer": dict(lr=0.5), "regex_pattern": r".*item_emb.weight",
                     "manual_step_learning_rate": dict(schedule_sizes=[2, 5], learning_rates=[0.1, 0.01])}]},
        dense={"adam_optimizer": dict(lr=0.01, amsgrad=True),
               "manual_step_learning_rate": dict(schedule_sizes=[3, 6], learning_rates=[0.005, 0.02]),
               "part_optimizers": [
                   {"sgd_optimizer": dict(lr=0.1, nesterov=True), "regex_pattern": r"model\.output_mlp\.(weight|bias)",
                    "cosine_annealing_learning_rate": dict(T_max=8, min_learning_rate=0.01)},
                   {"adamw_optimizer": dict(lr=0.02, weight_decay=0.1), "regex_pattern": r".*\.bias"}]}),
    "train_all_rows": train_case(sparse={"adam_optimizer": dict(lr=0.02, weight_decay=0.05, mode=Name("DENSE")), **CONSTANT}),
    "train_accumulate": train_case(gradient_accumulation_steps=3, grad_clipping=dict(clipping_type="norm", max_gradient=0.05),
                                   dense={"adam_optimizer": dict(lr=0.02), **CONSTANT, "ema": dict(decay=0.7)}),
    "train_clip_norm": train_case(dense={"sgd_optimizer": dict(lr=0.5), **CONSTANT},
                                  grad_clipping=dict(clipping_type="norm", max_gradient=0.3, norm_type=1.0)),
    "train_clip_inf": train_case(dense={"sgd_optimizer": dict(lr=0.5), **CONSTANT},
                                 grad_clipping=dict(clipping_type="norm", max_gradient=0.01, norm_type=math.inf)),
    "train_clip_value": train_case(dense={"sgd_optimizer": dict(lr=0.5), **CONSTANT}, sparse={"sgd_optimizer": dict(lr=0.5), **CONSTANT},
                                   grad_clipping=dict(clipping_type="value", max_gradient=0.005)),
    "train_clip_value_all": train_case(dense={"sgd_optimizer": dict(lr=0.5), **CONSTANT}, sparse={"sgd_optimizer": dict(lr=0.5), **CONSTANT},
                                       grad_clipping=dict(clipping_type="value", max_gradient=0.002, enable_global_grad_clip=True)),
    "train_clip_all": train_case(dense={"sgd_optimizer": dict(lr=0.5), **CONSTANT}, sparse={"sgd_optimizer": dict(lr=2.0), **CONSTANT},
                                 grad_clipping=dict(clipping_type="norm", max_gradient=0.05, enable_global_grad_clip=True)),
    "train_clip_all_accumulate": train_case(dense={"sgd_optimizer": dict(lr=0.5), **CONSTANT}, sparse={"sgd_optimizer": dict(lr=2.0), **CONSTANT},
                                            gradient_accumulation_steps=2,
                                            grad_clipping=dict(clipping_type="norm", max_gradient=0.02, enable_global_grad_clip=True)),
    "train_ema": train_case(dense={"adadelta_optimizer": dict(lr=1.0), **CONSTANT, "ema": dict(decay=0.9)}),
    "train_scaler": train_case(dense={"rmsprop_optimizer": dict(lr=0.01), **CONSTANT},
                               sparse={"sgd_optimizer": dict(lr=0.5, gradient_clipping=True, max_gradient=0.0005), **CONSTANT},
                               grad_scaler=dict(init_scale=1024.0), grad_clipping=dict(clipping_type="norm", max_gradient=0.1)),
}

if __name__ == "__main__":
    models.run = run
    for name in sys.argv[1:] or CASES:
        models.build(name, CASES[name])
