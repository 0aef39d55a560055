"""Golden runs of models with several tasks: tests/golden/data/task_*.

The cases and their files are those of models.py; the nets are written from the formulas, with attributes
named so that named_parameters() gives the names that checkpoints use. A net's forward gives the logits by
suffix ("_ctr"); expect.txt holds logits<suffix> and eval_logits<suffix> of each that is predicted.
Run: python3 tools/golden/tasks.py [case ...]
"""

import copy
import os
import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

import models
from common import DATA, Writer
from models import B, CATS, ITEM, Mlp, POS, PRICE, STEPS, TAGS, USER, case, cell, id_feature, make_column, mlp
from nets import MaskNetModule, first
from pbtxt import Name, text
from train import touched_rows


class TaskTower(nn.Module):
    def __init__(self, width, conf):
        super().__init__()
        self.tower_mlp = Mlp(width, conf["mlp"]) if "mlp" in conf else None
        self.linear = nn.Linear(width if self.tower_mlp is None else self.tower_mlp.width, conf.get("num_class", 1))

    def forward(self, x):
        return self.linear(x if self.tower_mlp is None else self.tower_mlp(x))


def mix(gate, experts):
    return (torch.softmax(gate, 1)[:, :, None] * torch.stack(experts, 1)).sum(1)


class Mmoe(nn.Module):
    def __init__(self, width, conf, n_task):
        super().__init__()
        n = conf.get("num_expert", 3)
        self.expert_mlps = nn.ModuleList(Mlp(width, conf["expert_mlp"]) for _ in range(n))
        self.gate_mlps = nn.ModuleList(Mlp(width, conf["gate_mlp"]) for _ in range(n_task)) if "gate_mlp" in conf else None
        gate_in = width if self.gate_mlps is None else self.gate_mlps[0].width
        self.gate_finals = nn.ModuleList(nn.Linear(gate_in, n) for _ in range(n_task))
        self.width = self.expert_mlps[0].width

    def forward(self, x):
        experts = [e(x) for e in self.expert_mlps]
        gates = [x] * len(self.gate_finals) if self.gate_mlps is None else [m(x) for m in self.gate_mlps]
        return [mix(f(z), experts) for f, z in zip(self.gate_finals, gates)]


class Extraction(nn.Module):
    def __init__(self, widths, shared, conf, last):
        super().__init__()
        own, n_shared = conf["expert_num_per_task"], conf.get("share_num", 0)
        self._shared_layers = nn.ModuleList(Mlp(shared, conf["share_expert_net"]) for _ in range(n_shared))
        self._shared_gate = None if last else nn.Linear(shared, len(widths) * own + n_shared)
        self._task_layers = nn.ModuleList(nn.ModuleList(Mlp(w, conf["task_expert_net"]) for _ in range(own)) for w in widths)
        self._task_gates = nn.ModuleList(nn.Linear(w, own + n_shared) for w in widths)
        self.width = conf["task_expert_net"]["hidden_units"][-1]

    def forward(self, x, s):
        common = [e(s) for e in self._shared_layers]
        own = [[e(v) for e in layers] for v, layers in zip(x, self._task_layers)]
        out = [mix(gate(v), e + common) for v, e, gate in zip(x, own, self._task_gates)]
        if self._shared_gate is None:
            return out, None
        return out, mix(self._shared_gate(s), sum(own, []) + common)


def gate_nu(n_in, hidden, n_out):
    net = nn.Module()
    net.dense_layers = nn.Sequential(nn.Linear(n_in, hidden), nn.ReLU(), nn.Linear(hidden, n_out), nn.Sigmoid())
    return net


class Net(nn.Module):
    def __init__(self, conf, inputs):
        super().__init__()
        self.conf, self.inputs = conf, inputs
        self.towers = conf.get("task_towers", [])
        self.names = ["_" + t["tower_name"] for t in self.towers]

    def input(self):
        return first(self.inputs), self.inputs.width(first(self.inputs))

    def task_losses(self, y, rows):
        """Per tower (config, its logits); esmm and pepnet choose others."""
        return [(t, y[n]) for t, n in zip(self.towers, self.names)]

    def loss(self, y, rows, batch):
        return sum(task_loss(t, z, rows, batch) for t, z in self.task_losses(y, rows))


class SimpleMultiTask(Net):
    def __init__(self, conf, inputs):
        super().__init__(conf, inputs)
        _, width = self.input()
        self.bottom_mlp = Mlp(width, conf["bottom_mlp"]) if "bottom_mlp" in conf else None
        width = width if self.bottom_mlp is None else self.bottom_mlp.width
        self._task_tower = nn.ModuleList(TaskTower(width, t) for t in self.towers)

    def forward(self, g, rows):
        x = g(self.input()[0])
        x = x if self.bottom_mlp is None else self.bottom_mlp(x)
        return dict(zip(self.names, (t(x) for t in self._task_tower)))


class MmoeNet(Net):
    def __init__(self, conf, inputs):
        super().__init__(conf, inputs)
        self.mmoe = Mmoe(self.input()[1], conf, len(self.towers))
        self._task_tower = nn.ModuleList(TaskTower(self.mmoe.width, t) for t in self.towers)

    def forward(self, g, rows):
        return {n: t(x) for n, t, x in zip(self.names, self._task_tower, self.mmoe(g(self.input()[0])))}


class Ple(Net):
    def __init__(self, conf, inputs):
        super().__init__(conf, inputs)
        shared, n = self.input()[1], len(conf["extraction_networks"])
        widths = [shared] * len(self.towers)
        self._extraction_nets = nn.ModuleList()
        for i, c in enumerate(conf["extraction_networks"]):
            self._extraction_nets.append(Extraction(widths, shared, c, i == n - 1))
            shared = self._extraction_nets[-1].width
            widths = [shared] * len(widths)
        self._task_tower = nn.ModuleList(TaskTower(w, t) for w, t in zip(widths, self.towers))

    def forward(self, g, rows):
        s = g(self.input()[0])
        x = [s] * len(self.towers)
        for layer in self._extraction_nets:
            x, s = layer(x, s)
        return {n: t(v) for n, t, v in zip(self.names, self._task_tower, x)}


class Dbmtl(Net):
    def __init__(self, conf, inputs):
        super().__init__(conf, inputs)
        width = self.input()[1]
        self.mask_net = MaskNetModule(width, conf["mask_net"], Mlp) if "mask_net" in conf else None
        width = width if self.mask_net is None else self.mask_net.width
        self.bottom_mlp = Mlp(width, conf["bottom_mlp"]) if "bottom_mlp" in conf else None
        width = width if self.bottom_mlp is None else self.bottom_mlp.width
        self.mmoe = Mmoe(width, conf, len(self.towers)) if "expert_mlp" in conf else None
        width = width if self.mmoe is None else self.mmoe.width
        self.task_mlps, self.relation_mlps, self.task_outputs = nn.ModuleDict(), nn.ModuleDict(), nn.ModuleList()
        out = {}
        for t in self.towers:
            name, h = t["tower_name"], width
            if "mlp" in t:
                self.task_mlps[name] = Mlp(width, t["mlp"])
                h = self.task_mlps[name].width
            if "relation_mlp" in t:
                self.relation_mlps[name] = Mlp(h + sum(out[a] for a in t.get("relation_tower_names", [])), t["relation_mlp"])
                h = self.relation_mlps[name].width
            out[name] = h
            self.task_outputs.append(nn.Linear(h, t.get("num_class", 1)))

    def forward(self, g, rows):
        x, r, y = g(self.input()[0]), {}, {}
        for layer in (self.mask_net, self.bottom_mlp):
            x = x if layer is None else layer(x)
        each = [x] * len(self.towers) if self.mmoe is None else self.mmoe(x)
        for t, h, fc in zip(self.towers, each, self.task_outputs):
            name = t["tower_name"]
            h = self.task_mlps[name](h) if name in self.task_mlps else h
            if name in self.relation_mlps:
                h = self.relation_mlps[name](torch.cat([h] + [r[a] for a in t.get("relation_tower_names", [])], 1))
            r[name] = h
            y["_" + name] = fc(h)
        return y


class Esmm(Net):
    def __init__(self, conf, inputs):
        super().__init__(conf, inputs)
        width = self.input()[1]
        self.bottom_mlp = Mlp(width, conf["bottom_mlp"]) if "bottom_mlp" in conf else None
        width = width if self.bottom_mlp is None else self.bottom_mlp.width
        self.ctr_tower, self.cvr_tower = TaskTower(width, conf["ctr_tower"]), TaskTower(width, conf["cvr_tower"])

    def forward(self, g, rows):
        x = g(self.input()[0])
        x = x if self.bottom_mlp is None else self.bottom_mlp(x)
        a, b = self.ctr_tower(x), self.cvr_tower(x)
        p = torch.sigmoid(a) * torch.sigmoid(b)
        return {"_" + self.conf["ctr_tower"]["tower_name"]: a, "_" + self.conf["cvr_tower"]["tower_name"]: b, "_ctcvr": torch.logit(p)}

    def loss(self, y, rows, batch):
        ctr, cvr = self.conf["ctr_tower"], self.conf["cvr_tower"]
        a, b = y["_" + ctr["tower_name"]], y["_" + cvr["tower_name"]]
        p, label = (torch.sigmoid(a) * torch.sigmoid(b))[:, 0], rows[cvr["label_name"]]
        each = -label * torch.log(p) - (1 - label) * torch.log(1 - p)
        return task_loss(ctr, a, rows, batch) + weighted(cvr, each, rows)


class PepNet(Net):
    def __init__(self, conf, inputs):
        super().__init__(conf, inputs)
        width, n = inputs.width("all"), len(self.towers)
        out = width
        if "domain" in inputs.groups:
            self.epnet = nn.Module()
            self.epnet.gate_nu = gate_nu(inputs.width("domain") + width, conf.get("epnet_hidden_unit", width), width)
        if "uia" in inputs.groups:
            self.ppnet = nn.Module()
            units = conf["ppnet_hidden_units"]
            pairs = list(zip([width] + units, units)) * n
            self.ppnet.linears = nn.ModuleList(nn.Linear(a, b) for a, b in pairs)
            act = conf.get("ppnet_activation", "nn.ReLU")
            self.ppnet.activations = nn.ModuleList(models.activation(act, b) for _, b in pairs)
            self.ppnet.gate_nus = nn.ModuleList(gate_nu(inputs.width("uia") + width, b, b) for _, b in pairs)
            out = units[-1]
        self.n_domains = conf["task_domain_num"] if "domain_input_name" in conf else 0
        self._task_tower = nn.ModuleList(TaskTower(out, t) for t in self.towers for _ in range(self.n_domains or 1))

    def forward(self, g, rows):
        x, conf = g("all"), self.conf
        if "domain" in self.inputs.groups:
            gate = self.epnet.gate_nu.dense_layers(torch.cat([g("domain"), x.detach()], 1))
            x = x * gate * conf.get("epnet_gamma", 2.0)
        each = [x] * len(self.towers)
        if "uia" in self.inputs.groups:
            see, p, n = torch.cat([g("uia"), x.detach()], 1), self.ppnet, len(conf["ppnet_hidden_units"])
            for t in range(len(each)):
                for k in range(t * n, t * n + n):
                    gate = p.gate_nus[k].dense_layers(see) * conf.get("ppnet_gamma", 2.0)
                    each[t] = p.activations[k](p.linears[k](each[t])) * gate
        if not self.n_domains:
            return {n: t(v) for n, t, v in zip(self.names, self._task_tower, each)}
        return {"%s_%d" % (name, d): self._task_tower[t * self.n_domains + d](each[t])
                for t, name in enumerate(self.names) for d in range(self.n_domains)}

    def task_losses(self, y, rows):
        if not self.n_domains:
            return super().task_losses(y, rows)
        at = rows[self.conf["domain_input_name"]].long()
        own = [torch.stack([y["%s_%d" % (n, d)] for d in range(self.n_domains)], 1)[torch.arange(len(at)), at] for n in self.names]
        return list(zip(self.towers, own))


class Rocket(Net):
    def __init__(self, conf, inputs, losses, K):
        super().__init__(conf, inputs)
        self.tower = dict(tower_name="light", label_name="label", losses=losses, num_class=K)
        width = self.input()[1]
        self.share_mlp = Mlp(width, conf["share_mlp"]) if "share_mlp" in conf else None
        width = width if self.share_mlp is None else self.share_mlp.width
        self.booster_mlp, self.light_mlp = Mlp(width, conf["booster_mlp"]), Mlp(width, conf["light_mlp"])
        self.booster_linear, self.light_linear = nn.Linear(self.booster_mlp.width, K), nn.Linear(self.light_mlp.width, K)

    def forward(self, g, rows):
        s = g(self.input()[0])
        s = s if self.share_mlp is None else self.share_mlp(s)
        self.layers = {}
        for name, net, x in (("light", self.light_mlp, s.detach()), ("booster", self.booster_mlp, s)):
            self.layers[name] = []
            for layer in net.mlp:
                x = layer(x)
                self.layers[name].append(x)
        self.booster = self.booster_linear(self.layers["booster"][-1])
        return {"_light": self.light_linear(self.layers["light"][-1])}

    def loss(self, y, rows, batch):
        light = y["_light"]
        tower = dict(self.tower, **({"sample_weight_name": "weight"} if "weight" in rows else {}))
        w = rows["weight"] / rows["weight"].mean() if "weight" in rows else torch.ones(len(light), dtype=light.dtype)
        loss = task_loss(tower, light, rows, batch) + task_loss(tower, self.booster, rows, batch)
        loss = loss + (((light - self.booster.detach()) ** 2).mean(1) * w).mean()
        if not self.conf.get("feature_based_distillation"):
            return loss
        for x in self.layers["light"]:
            same = [v.detach() for v in self.layers["booster"] if v.shape == x.shape][:1]
            for v in same:
                if self.conf.get("feature_distillation_function", "COSINE") == "COSINE":
                    loss = loss - 0.1 * ((F.normalize(x) * F.normalize(v)).sum(1) * w).mean()
                else:
                    loss = loss + (((x - v) ** 2).sum(1) * w).sum().sqrt()
        return loss


def task_loss(tower, y, rows, batch):
    label, total = rows[tower["label_name"]], 0
    for one in tower["losses"]:
        config = {"model_config": {"losses": [one]}}
        kind, conf = next(iter(one.items()))
        if kind == "binary_cross_entropy":
            each = F.binary_cross_entropy_with_logits(y[:, 0], label, reduction="none")
        elif kind == "softmax_cross_entropy":
            each = F.cross_entropy(y, label.long(), reduction="none")
        elif kind == "l2_loss":
            each = (y[:, 0] - label) ** 2
        else:
            each = models.session_loss(kind, conf, y, label, batch)
        total = total + weighted(tower, each, rows)
    return total


def weighted(tower, each, rows):
    w = rows[tower["sample_weight_name"]] if "sample_weight_name" in tower else torch.ones_like(each)
    if "task_space_indicator_label" in tower:
        inside = (rows[tower["task_space_indicator_label"]] > 0).to(each.dtype)
        w = w * (inside * tower.get("in_task_space_weight", 1.0) + (1 - inside) * tower.get("out_task_space_weight", 1.0))
    w = w / w.mean() if w.mean() != 0 else torch.zeros_like(w)
    return (each * w).mean() * tower.get("weight", 1.0)


def pareto(model, losses):
    """The tasks' losses weighed so that the sum of their gradients is short."""
    params = list(model.parameters())
    rows = []
    for loss in losses:
        grads = torch.autograd.grad(loss, params, retain_graph=True, allow_unused=True)
        rows.append(torch.cat([torch.zeros_like(p).reshape(-1) if g is None else g.reshape(-1) for p, g in zip(params, grads)]))
    G, n = torch.stack(rows), len(losses)
    c = torch.tensor([t.get("pareto_min_loss_weight", 0.0) for t in model.towers], dtype=G.dtype)
    M = torch.ones(n + 1, n + 1, dtype=G.dtype)
    M[:n, :n], M[n, n] = G @ G.T, 0
    z = torch.cat([-(G @ G.T) @ c, 1 - c.sum().reshape(1)])
    w = (torch.inverse(M.T @ M) @ M @ z)[:n]
    return sum(a * loss for a, loss in zip(nearest(w, 1 - c.sum()) + c, losses))


def nearest(w, total):
    """The point without negative parts whose sum is total: the shift by bisection."""
    lo, hi = w.min() - 1 - total, w.max() + 1
    for _ in range(200):
        mid = (lo + hi) / 2
        lo, hi = (mid, hi) if (w - mid).clamp(min=0).sum() > total else (lo, mid)
    return (w - (lo + hi) / 2).clamp(min=0)


NETS = dict(simple_multi_task=SimpleMultiTask, mmoe=MmoeNet, ple=Ple, dbmtl=Dbmtl, esmm=Esmm, pepnet=PepNet)


def run(config, model, inputs, batches, dtype):
    model = copy.deepcopy(model).to(dtype)
    params = {k: torch.tensor(v, dtype=dtype, requires_grad=True) for k, v in inputs.tables.items()}
    named = {"model." + k: p for k, p in model.named_parameters()}
    out = {"init/" + k: v.detach().clone() for k, v in {**params, **named}.items()}
    params["dtype"] = dtype
    train = config["train_config"]
    (s_kind, s_conf) = list(train["sparse_optimizer"].items())[0]
    (d_kind, d_conf) = list(train["dense_optimizer"].items())[0]
    opt = models.dense_optimizer(d_kind, d_conf, list(named.values()))
    state, losses = {k: {} for k in inputs.tables}, []

    def scores(batch, rows):
        return model(lambda name: model.inputs.group(name, params, batch), rows)

    for t, (batch, rows) in enumerate(batches):
        rows = {k: torch.tensor(v, dtype=dtype) for k, v in rows.items()}
        for p in list(named.values()) + [params[k] for k in inputs.tables]:
            p.grad = None
        y = scores(batch, rows)
        loss = model.loss(y, rows, batch)
        every = {**named, **{k: params[k] for k in inputs.tables}}
        if t == 0:
            out.update({"logits" + k: v.detach().clone() for k, v in y.items()})
            grads = torch.autograd.grad(loss, list(every.values()), retain_graph=True, allow_unused=True)
            out.update({"grad/" + k: torch.zeros_like(p) if g is None else g.clone() for (k, p), g in zip(every.items(), grads)})
        if config["model_config"].get("use_pareto_loss_weight"):
            loss = pareto(model, [task_loss(c, z, rows, batch) for c, z in model.task_losses(y, rows)])
        loss.backward()
        losses.append(loss.item())
        opt.step()
        with torch.no_grad():
            for k in inputs.tables:
                if params[k].grad is not None:
                    models.update_table(s_kind, s_conf, s_conf["lr"], params[k], params[k].grad, touched_rows(inputs, k, batch), state[k], t + 1)
    out["loss"] = torch.tensor(losses, dtype=dtype)
    params.pop("dtype")
    out.update({"final/" + k: v.detach().clone() for k, v in {**params, **named}.items()})
    params["dtype"] = dtype
    with torch.no_grad():
        batch, rows = batches[0]
        out.update({"eval_logits" + k: v for k, v in scores(batch, rows).items()})
    return out


# ---- cases --------------------------------------------------------------------------------------

BCE = [{"binary_cross_entropy": {}}]
ONE = [("all", [USER, TAGS, PRICE, POS])]
DOMAIN = id_feature("scene", 3)


def tower(name, label, losses=BCE, **more):
    metrics = [{"mean_squared_error": {}}] if "l2_loss" in losses[0] else [{"accuracy": {}}] if more.get("num_class", 1) > 1 else [{"auc": {}}]
    return dict(tower_name=name, label_name=label, losses=losses, metrics=metrics, **more)


CTR, CVR = tower("ctr", "click", mlp=mlp(5, 4)), tower("cvr", "buy", mlp=mlp(4))
CLASSES = tower("grade", "grade", [{"softmax_cross_entropy": {}}], num_class=3)
VALUE = tower("price", "spent", [{"l2_loss": {}}], mlp=mlp(3))
IN_SPACE = dict(task_space_indicator_label="click", in_task_space_weight=1.0, out_task_space_weight=0.0)


def tasks(kind, conf, groups=ONE, labels=("click", "buy"), weights=False, **more):
    out = case({kind: conf}, groups, weights=weights, **more)
    out["data_config"]["label_fields"] = list(labels)
    for key in ("losses", "metrics", "num_class"):
        out["model_config"].pop(key)
    return out


def layer(name, own, shared, *units):
    c = dict(network_name=name, expert_num_per_task=own, share_num=shared, task_expert_net=mlp(*units))
    return dict(c, share_expert_net=mlp(*units)) if shared else c


def rocket(weights=False, loss=BCE[0], num_class=1, **more):
    conf = dict(share_mlp=mlp(8), booster_mlp=mlp(7, 5, 4), light_mlp=mlp(5, 4), **more)
    return case({"rocket_launching": conf}, ONE, loss=loss, num_class=num_class, weights=weights)


PEP = [("all", [USER, ITEM, TAGS, PRICE]), ("domain", [DOMAIN]), ("uia", [USER, CATS])]
CASES = {
    "task_simple": tasks("simple_multi_task", dict(task_towers=[CTR, tower("cvr", "buy")])),
    "task_share_bottom": tasks("simple_multi_task", dict(bottom_mlp=mlp(7), task_towers=[dict(CTR, weight=0.5), CLASSES, VALUE]),
                               labels=("spent", "grade", "click")),
    "task_weights": tasks("simple_multi_task", dict(bottom_mlp=mlp(6), task_towers=[
        dict(CTR, sample_weight_name="weight"), dict(CVR, weight=2.0, **IN_SPACE),
        dict(VALUE, sample_weight_name="weight", task_space_indicator_label="buy", in_task_space_weight=3.0, weight=0.25)]),
        labels=("click", "buy", "spent"), weights=True),
    "task_mmoe": tasks("mmoe", dict(expert_mlp=mlp(6, 5), num_expert=3, task_towers=[CTR, CVR])),
    "task_mmoe_gate": tasks("mmoe", dict(expert_mlp=mlp(5), gate_mlp=mlp(4), num_expert=2, task_towers=[CTR, CLASSES, dict(CVR, **IN_SPACE)]),
                            labels=("click", "buy", "grade")),
    "task_ple": tasks("ple", dict(extraction_networks=[layer("one", 2, 2, 6, 5), layer("two", 1, 1, 4)], task_towers=[CTR, CVR])),
    "task_ple_own": tasks("ple", dict(extraction_networks=[layer("one", 2, 0, 5)], task_towers=[CTR, CVR])),
    "task_dbmtl": tasks("dbmtl", dict(bottom_mlp=mlp(7), task_towers=[
        CTR, dict(CVR, relation_tower_names=["ctr"], relation_mlp=mlp(5))])),
    "task_dbmtl_all": tasks("dbmtl", dict(
        mask_net=dict(n_mask_blocks=2, mask_block=dict(reduction_ratio=0.5, hidden_dim=5), top_mlp=mlp(6)), bottom_mlp=mlp(6),
        expert_mlp=mlp(5), gate_mlp=mlp(3), num_expert=2, task_towers=[
            tower("ctr", "click"), dict(CVR, relation_tower_names=["ctr"], relation_mlp=mlp(4)),
            dict(VALUE, relation_tower_names=["ctr", "cvr"], relation_mlp=mlp(6, 3))]), labels=("click", "buy", "spent")),
    "task_dbmtl_losses": tasks("dbmtl", dict(task_towers=[
        dict(tower("ctr", "click", [{"jrc_loss": dict(session_name="user")}], num_class=2), mlp=mlp(5)),
        dict(tower("cvr", "buy", [{"binary_focal_loss": {}}]), weight=1.5, mlp=mlp(4), relation_tower_names=["ctr"], relation_mlp=mlp(4))])),
    "task_esmm": tasks("esmm", dict(bottom_mlp=mlp(7), ctr_tower=CTR, cvr_tower=dict(CVR, weight=0.5))),
    "task_pepnet": tasks("pepnet", dict(epnet_hidden_unit=4, ppnet_hidden_units=[5, 4], task_towers=[CTR, dict(CVR, **IN_SPACE)]), PEP),
    "task_pepnet_domain": tasks("pepnet", dict(epnet_gamma=1.5, domain_input_name="place", task_domain_num=3, task_towers=[CTR, CLASSES]),
                                PEP[:2], labels=("click", "grade", "place")),
    "task_pepnet_uia": tasks("pepnet", dict(ppnet_hidden_units=[5], ppnet_activation="nn.Tanh", ppnet_gamma=1.25, task_towers=[CTR, CVR]),
                             [PEP[0], PEP[2]]),
    "task_rocket": rocket(),
    "task_rocket_cosine": rocket(feature_based_distillation=True, weights=True),
    "task_rocket_distance": rocket(feature_based_distillation=True, feature_distillation_function=Name("EUCLID"),
                                   loss={"softmax_cross_entropy": {}}, num_class=3),
    "task_rocket_distance_weight": rocket(feature_based_distillation=True, feature_distillation_function=Name("EUCLID"), weights=True),
}

CASES["task_pareto"] = tasks("mmoe", dict(expert_mlp=mlp(6), num_expert=2, task_towers=[
    dict(CTR, pareto_min_loss_weight=0.2), dict(CVR, weight=2.0, pareto_min_loss_weight=0.1), VALUE]), labels=("click", "buy", "spent"))
CASES["task_pareto_bound"] = tasks("simple_multi_task", dict(bottom_mlp=mlp(6), task_towers=[CTR, dict(VALUE, weight=30.0)]), labels=("click", "spent"))
for name in ("task_pareto", "task_pareto_bound"):
    CASES[name]["model_config"]["use_pareto_loss_weight"] = True


def make_labels(config, rng, n):
    click = rng.integers(0, 2, n)
    every = dict(click=click, buy=click * rng.integers(0, 2, n), grade=rng.integers(0, 3, n), place=rng.integers(0, 3, n),
                 spent=rng.standard_normal(n).astype(np.float32),
                 label=rng.integers(0, max(2, config["model_config"].get("num_class", 1)), n))
    return {k: every[k] for k in config["data_config"]["label_fields"]}


def build(name, config):
    rng = np.random.default_rng(sum(map(ord, name)))
    torch.manual_seed(sum(map(ord, name)))
    kind, conf = [(k, v) for k, v in config["model_config"].items() if k in NETS or k == "rocket_launching"][0]
    inputs = models.Inputs(config, kind, conf, rng)
    if kind == "rocket_launching":
        model = Rocket(conf, inputs, config["model_config"]["losses"], config["model_config"]["num_class"])
    else:
        model = NETS[kind](conf, inputs)
    with torch.no_grad():  # ones and zeros would hide a forgotten factor
        for p in model.parameters():
            if p.dim() == 1:
                p.add_(0.2 * torch.randn(p.shape))
    n = B * STEPS
    columns = {f: make_column(c, rng, n) for f, c in inputs.features.items()}
    rows = make_labels(config, rng, n)
    if "sample_weight_fields" in config["data_config"]:
        rows["weight"] = rng.uniform(0.2, 3, n).astype(np.float32)

    folder = os.path.join(DATA, name)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "pipeline.config"), "w") as f:
        f.write(text(config))
    with open(os.path.join(folder, "data.csv"), "w") as f:
        f.write(",".join(list(rows) + list(columns)) + "\n")
        for i in range(n):
            f.write(",".join(["%.9g" % v[i] for v in rows.values()] + [cell(inputs.features[c], columns[c][i]) for c in columns]) + "\n")

    batches = []
    for t in range(STEPS):
        at = slice(t * B, (t + 1) * B)
        batches.append(({c: v[at] for c, v in columns.items()}, {k: v[at].astype(np.float64) for k, v in rows.items()}))
    exact = run(config, model, inputs, batches, torch.float64)
    single = run(config, model, inputs, batches, torch.float32)
    worst = {}
    for key, value in exact.items():
        part = key.split("/")[0]
        error = ((value - single[key].double()).abs() / (1e-2 + value.abs())).max().item() if value.numel() else 0
        worst[part] = max(worst.get(part, 0), error)
    out = Writer(os.path.join(name, "expect.txt"), "ten steps of " + name)
    for key, value in exact.items():
        out.add(key, value.numpy().astype(np.float32))
    out.close()
    print("%-28s float32 against float64: %s" % (name, " ".join("%s %.0e" % kv for kv in worst.items())))


if __name__ == "__main__":
    for name in sys.argv[1:] or CASES:
        build(name, CASES[name])
