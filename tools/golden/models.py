"""Golden runs of whole models: tests/golden/data/<case>/{pipeline.config,data.csv,expect.txt}.

Each case is a config, a CSV file of ten batches and what ten training steps on it give, computed with
torch in float64 from the float32 initial values in expect.txt:

  init/<parameter>   value before the first step (parameters and batch-norm statistics)
  logits             model output for the first batch, before the first step, training mode (rows, K)
  loss               loss of each of the ten steps
  grad/<parameter>   gradient in the first step (tables too, dense form)
  final/<parameter>  value after ten steps
  eval_logits        output for the first batch after ten steps, evaluation mode

The same run in float32 must come close, which shows that a case is well conditioned; the largest
difference is printed. Run: python3 tools/golden/models.py [case ...]
"""

import copy
import math
import os
import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from common import DATA, Writer
from dropout import Dropped
from nets import NETS, Shallow, views
from pbtxt import Name, text

B, STEPS = 16, 10
SEP = "|"


# ---- features -----------------------------------------------------------------------------------

def id_feature(name, rows, dim=4, **more):
    return {"id_feature": dict(feature_name=name, expression="user:" + name, embedding_dim=dim,
                               num_buckets=rows, **more)}


def raw_feature(name, **more):
    return {"raw_feature": dict(feature_name=name, expression="user:" + name, **more)}


USER = id_feature("user", 9)
ITEM = id_feature("item", 11)
TAGS = id_feature("tags", 12)
CATS = id_feature("cats", 8, pooling="mean")
WTAGS = id_feature("wtags", 7, weighted=True)
PRICE = raw_feature("price")
POS = raw_feature("pos", value_dim=2)


def conf_of(feature):
    return next(iter(feature.values()))


def n_rows(conf):
    return conf["num_buckets"] if "num_buckets" in conf else len(conf["boundaries"]) + 1


def is_sparse(conf):
    return "num_buckets" in conf or "boundaries" in conf


def make_column(conf, rng, n):
    """Per row: a list of (id, weight), or an array of floats."""
    name = conf["feature_name"]
    if not is_sparse(conf):
        scale = 1.5 if "autodis" in conf else 1.0
        return [(rng.standard_normal(conf.get("value_dim", 1)) * scale).astype(np.float32) for _ in range(n)]
    rows = n_rows(conf)
    column = []
    for i in range(n):
        if name.startswith(("tags", "cats", "wtags")):
            count = 0 if i % 7 == 3 else int(rng.integers(0, 4))
        else:
            count = 1
        ids = rng.integers(0, rows, count)
        if count > 1 and i % 3 == 0:
            ids[1] = ids[0]  # the same id twice in one bag
        weights = rng.uniform(-0.5, 1.5, count).astype(np.float32) if conf.get("weighted") else [1.0] * count
        column.append([(int(a), float(w)) for a, w in zip(ids, weights)])
    return column


def cell(conf, value):
    if not is_sparse(conf):
        return SEP.join("%.9g" % x for x in value)
    if conf.get("weighted"):
        return SEP.join("%d:%.9g" % pair for pair in value)
    return SEP.join("%d" % a for a, _ in value)


# ---- layers -------------------------------------------------------------------------------------

class Dice(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.bn = nn.BatchNorm1d(width, affine=False)
        self.alpha = nn.Parameter(torch.zeros(width))

    def forward(self, x):
        p = torch.sigmoid(self.bn(x))
        return self.alpha * (1 - p) * x + p * x


def activation(spec, width):
    if spec == "Dice":
        return Dice(width)
    return eval(spec if "(" in spec else spec + "()")


class Layer(nn.Module):
    """steps: over the steps of a sequence, where two transpositions stand around batch norm."""

    def __init__(self, n_in, n_out, conf, steps):
        super().__init__()
        bn = conf.get("use_bn", False)
        parts = [nn.Linear(n_in, n_out, bias=conf.get("bias", True) and not bn)]
        if bn:
            around = [nn.Identity()] if steps else []
            parts += [*around, nn.BatchNorm1d(n_out), *around]
        if conf.get("use_ln"):
            parts.append(nn.LayerNorm(n_out))
        act = conf.get("activation", "nn.ReLU")
        if act:
            parts.append(activation(act, n_out))
        self.perceptron = nn.Sequential(*parts)

    def forward(self, x):
        return self.perceptron(x)


class Mlp(nn.Module):
    def __init__(self, n_in, conf, steps=False):
        super().__init__()
        widths = [n_in] + conf["hidden_units"]
        self.mlp = nn.ModuleList(Layer(a, b, conf, steps) for a, b in zip(widths, widths[1:]))
        self.width = widths[-1]

    def forward(self, x):
        for layer in self.mlp:
            x = layer(x)
        return x


# ---- embedding groups ---------------------------------------------------------------------------

DENSE = {"autodis", "mlp", "piecewise", "periodic"}
BASE = "model.embedding_group.emb_impls.__BASE__."
AUTODIS_FORMS = {"TORCHEASYREC": dict(temperature=0.1, keep_prob=0.8, form="TORCHEASYREC", aggregation="WEIGHTED", top_k=2,
                                      negative_slope=0.01, input_powers=False, hidden_dim=0, residual_blocks=0,
                                      residual_alpha=1, use_bias=False, score_activation=False,
                                      learned_temperature=False)}
AUTODIS_FORMS["EASYREC"] = dict(AUTODIS_FORMS["TORCHEASYREC"], negative_slope=0.2)
AUTODIS_FORMS["GANDALF"] = dict(AUTODIS_FORMS["TORCHEASYREC"], keep_prob=0, input_powers=True, hidden_dim=64, use_bias=True,
                                score_activation=True, learned_temperature=True)


def autodis_of(conf):
    """AutoDis with everything that is not given filled in from its form."""
    return {**AUTODIS_FORMS[conf["autodis"].get("form", "TORCHEASYREC")], **conf["autodis"]}


class Inputs:
    """Tables and dense embeddings by parameter name, and the concatenated output of each group."""

    def __init__(self, config, kind, model_conf, rng):
        self.features = {conf_of(f)["feature_name"]: conf_of(f) for f in config["feature_configs"]}
        self.groups = {g["group_name"]: g for g in config["model_config"]["feature_groups"]}
        if NETS.get(kind) is Shallow:
            self.groups = views(kind, model_conf, self.groups, config["model_config"]["num_class"])
        self.wide_dim = model_conf.get("wide_embedding_dim", 16 if kind == "xdeepfm" else 4)
        self.tables, self.dense, self.frozen = {}, {}, set()
        self.dropped = {}  # group: Dropped
        self.seen = {}  # (group, feature): vectors last looked up in trained tables
        for group in self.groups.values():
            for name in group["feature_names"]:
                conf = self.features[name]
                if is_sparse(conf):
                    table = self.table_of(group, conf)
                    shape = n_rows(conf), self.dim_of(group, conf)
                    self.tables.setdefault(table, rng.uniform(-0.5, 0.5, shape).astype(np.float32))
                    if not conf.get("trainable", True):
                        self.frozen.add(table)
                for part, shape, std in self.dense_parts(conf):
                    full = self.dense_of(conf, part)
                    self.dense.setdefault(full, (rng.standard_normal(shape) * std).astype(np.float32))

    def table_of(self, group, conf):
        name = conf.get("embedding_name", conf["feature_name"] + "_emb")
        name += group.get("suffix", "_wide" if group["group_type"] == "WIDE" else "")
        return BASE + "ebc.embedding_bags.%s.weight" % name

    def dim_of(self, group, conf):
        return group.get("dim", self.wide_dim if group["group_type"] == "WIDE" else conf["embedding_dim"])

    def from_table(self, group_name):
        return [is_sparse(self.features[f]) for f in self.groups[group_name]["feature_names"]]

    def dense_parts(self, conf):
        d = conf.get("embedding_dim")
        if "autodis" in conf:
            a = autodis_of(conf)
            c = a["num_channels"]
            h, n = a["hidden_dim"] or c, 3 if a["input_powers"] else 1
            parts = [("meta_emb", (c, d), 1), ("proj_w", (h,) if n == 1 else (h, n), np.sqrt(2 / (n + h)))]
            parts += [("block%d" % i, (h, h), np.sqrt(1 / h)) for i in range(a["residual_blocks"])]
            parts += [("proj_m", (c, h), np.sqrt(1 / h))]
            if a["use_bias"]:
                parts += [(p + ".bias", shape[:1], 0.5) for p, shape, _ in parts[1:]]
            if a["learned_temperature"]:
                parts.append(("temperature", (c,), 0.8))
            return parts
        if "mlp" in conf:
            v = conf.get("value_dim", 1)
            return [("proj_w", (d,) if v == 1 else (v, d), np.sqrt(2 / (v + d)))]
        if "piecewise" in conf:
            n = len(conf["piecewise"]["points"]) - 1
            return [("linear", (d, n), 0.5), ("linear.bias", (d,), 0.5)]
        if "periodic" in conf:
            k = conf["periodic"]["frequencies"]
            return [("frequencies", (k,), 0.4), ("linear", (d, 2 * k), 0.5), ("linear.bias", (d,), 0.5)]
        return []

    def dense_of(self, conf, part):
        part, _, kind = part.partition(".")
        for form in ("piecewise", "periodic"):
            if form in conf:
                name = part if part == "frequencies" else "%s.%s" % (part, kind or "weight")
                key = "%s#%d#feature_name#%s" % (form, conf["embedding_dim"], conf["feature_name"])
                return BASE + "dense_ec.dense_embs.%s.%s" % (key, name)
        if "autodis" in conf and set(conf["autodis"]) - {"num_channels", "temperature", "keep_prob"}:
            key = "autodis#%d#%d#feature_name#%s" % (conf["embedding_dim"], conf["autodis"]["num_channels"], conf["feature_name"])
        elif "autodis" in conf:
            a = conf["autodis"]
            key = "autodis#%d#%d#%.6f#%.6f" % (conf["embedding_dim"], a["num_channels"], a.get("keep_prob", 0.8), a.get("temperature", 0.1))
            key = key.replace(".", "_")
        else:
            key = "mlp#%d" % conf["embedding_dim"]
            if conf.get("value_dim", 1) != 1:
                key += "#vdim#%d#feature_name#%s" % (conf["value_dim"], conf["feature_name"])
        return BASE + "dense_ec.dense_embs.%s.%s_%s.%s" % (key, part, conf["feature_name"], kind or "weight")

    def width(self, group_name):
        return sum(self.widths(group_name))

    def widths(self, group_name):
        group = self.groups[group_name]
        out = []
        for name in group["feature_names"]:
            conf = self.features[name]
            out.append(self.dim_of(group, conf) if is_sparse(conf) else conf.get("embedding_dim") if DENSE & set(conf) else conf.get("value_dim", 1))
        return out

    def pooled(self, table, conf, bags, clip):
        dtype = table.dtype
        lengths = torch.tensor([len(b) for b in bags])
        row = torch.repeat_interleave(torch.arange(len(bags)), lengths)
        ids = torch.tensor([a for b in bags for a, _ in b], dtype=torch.long)
        weights = torch.tensor([w for b in bags for _, w in b], dtype=dtype)
        out = torch.zeros(len(bags), table.shape[1], dtype=dtype)
        out = out.index_add(0, row, table[ids] * weights[:, None])
        if conf.get("pooling", "sum") == "mean":
            out = out / lengths.clamp(min=1)[:, None]
        if clip and out.requires_grad:
            out.register_hook(lambda g: g.clamp(-clip, clip))
        return out

    def autodis(self, conf, params, x):
        def p(part):
            return params[self.dense_of(conf, part)]

        def linear(part, x):
            w = p(part).reshape(p(part).shape[0], -1)
            return x @ w.T + (p(part + ".bias") if a["use_bias"] else 0)

        a = autodis_of(conf)
        if a["input_powers"]:
            x = torch.cat([x, x * x, x.clamp(min=0).sqrt()], 1)
        h = F.leaky_relu(linear("proj_w", x), a["negative_slope"])
        for i in range(a["residual_blocks"]):
            h = F.leaky_relu(linear("block%d" % i, h) + a["residual_alpha"] * h, a["negative_slope"])
        z = linear("proj_m", h)
        if a["keep_prob"]:
            z = z + a["keep_prob"] * h
        if a["score_activation"]:
            z = F.leaky_relu(z, a["negative_slope"])
        z = z * p("temperature") if a["learned_temperature"] else z / a["temperature"]
        if a["aggregation"] == "WEIGHTED":
            return torch.softmax(z, 1) @ p("meta_emb")
        k = 1 if a["aggregation"] == "MAX" else a["top_k"]
        return p("meta_emb")[z.topk(k, 1).indices].sum(1)

    def encoded(self, conf, params, x):
        """A number as its place between points, or as waves, then a linear layer."""
        if "piecewise" in conf:
            p = torch.tensor(np.float32(conf["piecewise"]["points"]), dtype=x.dtype)
            v = ((x - p[:-1]) / (p[1:] - p[:-1])).clamp(0, 1)
        else:
            a = 2 * np.pi * x * params[self.dense_of(conf, "frequencies")]
            v = torch.cat([torch.sin(a), torch.cos(a)], 1)
        y = v @ params[self.dense_of(conf, "linear")].T + params[self.dense_of(conf, "linear.bias")]
        return torch.relu(y) if conf.get("piecewise", conf.get("periodic")).get("relu", "periodic" in conf) else y

    def group(self, group_name, params, batch, clip=None, split=False):
        group, parts = self.groups[group_name], []
        for name in group["feature_names"]:
            conf, values = self.features[name], batch[name]
            if is_sparse(conf):
                table = params[self.table_of(group, conf)]
                parts.append(self.pooled(table, conf, values, clip))
                if self.table_of(group, conf) not in self.frozen:
                    self.seen[group_name, name] = parts[-1]
                continue
            x = torch.tensor(np.stack(values), dtype=params["dtype"])
            if "autodis" in conf:
                x = self.autodis(conf, params, x)
            elif "mlp" in conf:
                w = params[self.dense_of(conf, "proj_w")]
                x = x @ w.reshape(-1, w.shape[-1])
            elif "piecewise" in conf or "periodic" in conf:
                x = self.encoded(conf, params, x)
            parts.append(x)
        if group_name in self.dropped:
            parts = list(self.dropped[group_name](torch.cat(parts, 1)).split(self.widths(group_name), 1))
        return parts if split else torch.cat(parts, 1)


# ---- models -------------------------------------------------------------------------------------

class Model(nn.Module):
    """kind and conf are the member of model_config's oneof."""

    def __init__(self, kind, conf, inputs, K):
        super().__init__()
        self.kind, self.conf, self.inputs = kind, conf, inputs
        if kind == "multi_tower":
            self.towers = nn.ModuleDict()
            width = 0
            for t in conf["towers"]:
                self.towers[t["input"]] = Mlp(inputs.width(t["input"]), t["mlp"])
                width += self.towers[t["input"]].width
        elif kind in ("deepfm", "wide_and_deep"):
            self.deep_mlp = Mlp(inputs.width("deep"), conf["deep"])
            width = self.deep_mlp.width
            if "final" in conf:
                width += 1
                if kind == "deepfm":
                    width += inputs.widths(self.fm_group())[0]
        else:
            sparse = self.sparse_group()
            n, d = len(inputs.widths(sparse)), inputs.widths(sparse)[0]
            width = n * d if conf.get("arch_with_sparse", True) else 0
            if "dense_mlp" in conf:
                self.dense_mlp = Mlp(inputs.width("dense"), conf["dense_mlp"])
                n += 1
                width += d
            width += n * (n - 1) // 2
        if "final" in conf:
            self.final_mlp = Mlp(width, conf["final"])
            width = self.final_mlp.width
        self.output_mlp = nn.Linear(width, K)

    def fm_group(self):
        return "fm" if "fm" in self.inputs.groups else "deep"

    def sparse_group(self):
        return "sparse" if "sparse" in self.inputs.groups else next(iter(self.inputs.groups))

    def forward(self, params, batch, clip=None):
        def g(name):
            return self.inputs.group(name, params, batch, clip)

        conf = self.conf
        if self.kind == "multi_tower":
            x = torch.cat([mlp(g(name)) for name, mlp in self.towers.items()], 1)
            return self.output_mlp(self.final_mlp(x) if "final" in conf else x)
        if self.kind in ("deepfm", "wide_and_deep"):
            wide = g("wide").sum(1, keepdim=True)
            parts = [wide]
            if self.kind == "deepfm":
                name = self.fm_group()
                x = g(name).reshape(len(wide), len(self.inputs.widths(name)), -1)
                fm = 0.5 * (x.sum(1) ** 2 - (x**2).sum(1))
                parts.append(fm)
            deep = self.deep_mlp(g("deep"))
            if "final" in conf:
                return self.output_mlp(self.final_mlp(torch.cat(parts + [deep], 1)))
            return sum(p.sum(1, keepdim=True) for p in parts) + self.output_mlp(deep)
        sparse = g(self.sparse_group())
        fields = sparse.reshape(len(sparse), len(self.inputs.widths(self.sparse_group())), -1)
        tail = []
        if "dense_mlp" in conf:
            dense = self.dense_mlp(g("dense"))
            fields = torch.cat([dense[:, None], fields], 1)
            tail.append(dense)
        if conf.get("arch_with_sparse", True):
            tail.append(sparse)
        i, j = torch.triu_indices(fields.shape[1], fields.shape[1], 1)
        inter = (fields @ fields.transpose(1, 2))[:, i, j]
        return self.output_mlp(self.final_mlp(torch.cat([inter] + tail, 1)))


def one_loss(kind, conf, y, label, batch, model, missing):
    smooth = conf.get("label_smoothing", 0.0)
    if kind == "binary_cross_entropy":
        return F.binary_cross_entropy_with_logits(y[:, 0], label * (1 - smooth) + 0.5 * smooth, reduction="none")
    if kind == "softmax_cross_entropy":
        return F.cross_entropy(y, label.long(), reduction="none", label_smoothing=smooth)
    if kind in ("multi_margin_loss", "negative_sampling_loss"):
        right = F.one_hot(label.long(), y.shape[1]).bool()
        if kind == "negative_sampling_loss":
            return F.binary_cross_entropy_with_logits(y, right.to(y.dtype), reduction="none").sum(1)
        short = F.relu(conf.get("margin", 1.0) - y[right].unsqueeze(1) + y)[~right].reshape(len(y), -1)
        return short.max(1).values if conf.get("hardest") else short.sum(1)
    if kind == "l2_loss":
        return (y[:, 0] - label) ** 2
    if kind == "listwise_rank_loss":
        return model._loss_modules[kind](y[:, 0], label, sessions(conf, batch, len(y), missing))
    return session_loss(kind, conf, y, label, batch, missing)


def loss_of(config, inputs, batch, y, label, weight, model=None):
    conf, loss = config["model_config"], 0
    missing = 0 if conf.get("missing_id_is_zero") else -1
    for one in conf["losses"]:
        kind, args = next((k, v) for k, v in one.items() if k != "weight")
        z = next((m.z for m in model.modules() if hasattr(m, "is_ensemble")), None) if model else None
        if z is None:
            each = one_loss(kind, args, y, label, batch, model, missing)
        else:  # each member has its own loss
            each = sum(one_loss(kind, args, z[:, k : k + 1], label, batch, model, missing) for k in range(z.shape[1])) / z.shape[1]
        mean = each.mean() if weight is None else (each * (weight / weight.mean())).mean()
        loss = loss + one.get("weight", 1.0) * mean
    loss = loss + sum(d.loss(len(y)) for d in inputs.dropped.values())
    scale = conf.get("embedding_regularization", 0.0)
    return loss + scale * sum((x**2).sum() for x in inputs.seen.values()) / len(y)


class Listwise(nn.Module):
    """Per list the mean of -log softmax over its positives, 0 without both classes; the mean over all lists."""

    def __init__(self, conf):
        super().__init__()
        first = torch.tensor(-math.log(conf.get("temperature_init", 0.07)))
        if conf.get("learnable_temperature", True):
            self.logit_scale = nn.Parameter(first)
        else:
            self.register_buffer("logit_scale", first)

    def forward(self, y, label, session):
        z = y * self.logit_scale.clamp(max=math.log(100)).exp()
        total, lists = z.new_zeros(()), session.unique()
        for one in lists:
            rows = session == one
            good = rows & (label != 0)
            if good.any() and (rows & (label == 0)).any():
                total = total - (z[good] - torch.logsumexp(z[rows], 0)).mean()
        return total / len(lists)


def sessions(conf, batch, n, missing):
    if not conf.get("session_name"):
        return torch.zeros(n)
    return torch.tensor([bag[0][0] if bag else missing for bag in batch[conf["session_name"]]])


def session_loss(kind, conf, y, label, batch, missing=-1):
    """Losses written out over all pairs of rows."""
    n = len(y)
    if kind == "binary_focal_loss":
        a, g = conf.get("alpha", 0.5), conf.get("gamma", 2.0)
        p = torch.sigmoid(y[:, 0]).detach()
        w = a * label * (1 - p) ** g + (1 - a) * (1 - label) * p**g
        return w * F.binary_cross_entropy_with_logits(y[:, 0], label, reduction="none")
    session = sessions(conf, batch, n, missing)
    same = session[:, None] == session[None, :]
    if kind == "jrc_loss":
        a = conf.get("alpha", 0.5)
        ce = F.cross_entropy(y, label.long(), reduction="none")
        ge = []
        for i in range(n):
            c = int(label[i])
            keep = same[i] & (label != label[i])
            keep[i] = True
            z = torch.where(keep, y[:, c], torch.full_like(y[:, c], -1e9))
            ge.append(-F.log_softmax(z, 0)[i])
        return a * ce + (1 - a) * torch.stack(ge)
    each = [y.new_zeros(()) for _ in range(n)]
    for i in range(n):
        others = y[same[i] & (label == 0), 0]
        if label[i] == 1 and len(others):
            d = y[i, 0] - others
            pair = F.relu(conf.get("margin", 1.0) - d) if conf.get("kind") == "HINGE" else F.softplus(-d)
            each[i] = pair.mean()
    count = sum(1 for i in range(n) if label[i] == 1 and (same[i] & (label == 0)).any())
    return torch.stack(each) * n / max(count, 1)


# ---- training -----------------------------------------------------------------------------------

def rate(schedule, lr, t):
    conf = schedule.get("exponential_decay_learning_rate")
    if conf is None:
        return lr
    warm = conf.get("warmup_size", 0)
    if t < warm:
        return conf.get("warmup_learning_rate", 0.0) + (lr - conf.get("warmup_learning_rate", 0.0)) * t / warm
    p = (t - warm) / conf["decay_size"]
    p = np.floor(p) if conf.get("staircase", True) else p
    return max(lr * conf.get("decay_factor", 0.95) ** p, conf.get("min_learning_rate", 0.0))


def update_table(kind, conf, lr, w, g, touched, state, t):
    """One step of the touched rows, FBGEMM's rules with eps 1e-8."""
    eps = 1e-8
    g = g[touched]
    if kind == "sgd_optimizer":
        w[touched] -= lr * g
    elif kind == "adagrad_optimizer":
        m = state.setdefault("m", torch.full_like(w, conf.get("initial_accumulator_value", 0.0)))
        m[touched] += g * g
        w[touched] -= lr * g / (m[touched].sqrt() + eps)
    elif kind == "rowwise_adagrad_optimizer":
        m = state.setdefault("m", torch.zeros(len(w), 1, dtype=w.dtype))
        m[touched] += (g * g).mean(1, keepdim=True)
        w[touched] -= lr * g / (m[touched].sqrt() + eps)
    else:
        b1, b2 = conf.get("beta1", 0.9), conf.get("beta2", 0.999)
        m, v = state.setdefault("m", torch.zeros_like(w)), state.setdefault("v", torch.zeros_like(w))
        m[touched] = b1 * m[touched] + (1 - b1) * g
        v[touched] = b2 * v[touched] + (1 - b2) * g * g
        step = (m[touched] / (1 - b1**t)) / ((v[touched] / (1 - b2**t)).sqrt() + eps)
        w[touched] -= lr * (step + conf.get("weight_decay", 0.0) * w[touched])


def dense_optimizer(kind, conf, tensors):
    if kind == "adam_optimizer":
        return torch.optim.Adam(tensors, lr=conf["lr"], eps=1e-8)
    if kind == "adagrad_optimizer":
        return torch.optim.Adagrad(tensors, lr=conf["lr"], eps=1e-10)
    return torch.optim.SGD(tensors, lr=conf["lr"], momentum=conf.get("momentum", 0.9))


def scores(model, params, batch, clip=None):
    if isinstance(model, Model):
        return model(params, batch, clip)
    return model(lambda name, split=False: model.inputs.group(name, params, batch, clip, split))


def run(config, model, inputs, batches, dtype):
    model = copy.deepcopy(model).to(dtype)
    params = {k: torch.tensor(v, dtype=dtype, requires_grad=True) for k, v in {**inputs.tables, **inputs.dense}.items()}
    named = {"model." + k: p for k, p in model.named_parameters()}
    named.update({k: params[k] for k in inputs.dense})
    buffers = {"model." + k: b for k, b in model.named_buffers() if "num_batches" not in k}
    out = {"init/" + k: v.detach().clone() for k, v in {**params, **named, **buffers}.items()}
    params["dtype"] = dtype

    train = config["train_config"]
    (s_kind, s_conf), (_, s_rate) = [list(train["sparse_optimizer"].items())[i] for i in (0, 1)]
    (d_kind, d_conf) = list(train["dense_optimizer"].items())[0]
    clip = s_conf.get("max_gradient", 1.0) if s_conf.get("gradient_clipping") else None
    opt = dense_optimizer(d_kind, d_conf, list(named.values()))
    state = {k: {} for k in inputs.tables}
    losses = []
    for t, (batch, label, weight) in enumerate(batches):
        label = torch.tensor(label, dtype=dtype)
        weight = None if weight is None else torch.tensor(weight, dtype=dtype)
        for p in list(named.values()) + [params[k] for k in inputs.tables]:
            p.grad = None
        model.train()
        for d in model.inputs.dropped.values():
            d.step = t
        y = scores(model, params, batch, clip)
        loss = loss_of(config, model.inputs, batch, y, label, weight, model)
        loss.backward()
        losses.append(loss.item())
        if t == 0:
            out["logits"] = y.detach().clone()
            for k, p in {**named, **{k: params[k] for k in inputs.tables if k not in inputs.frozen}}.items():
                out["grad/" + k] = torch.zeros_like(p) if p.grad is None else p.grad.clone()
        for g in opt.param_groups:
            g["lr"] = rate(train["dense_optimizer"], d_conf["lr"], t)
        opt.step()
        with torch.no_grad():
            for k in inputs.tables:
                if k in inputs.frozen or params[k].grad is None:
                    continue
                hit = set()
                for group in inputs.groups.values():
                    for name in group["feature_names"]:
                        conf = inputs.features[name]
                        if is_sparse(conf) and inputs.table_of(group, conf) == k:
                            hit |= {a for bag in batch[name] for a, _ in bag}
                touched = torch.tensor(sorted(hit), dtype=torch.long)
                lr = rate(train["sparse_optimizer"], s_conf["lr"], t)
                update_table(s_kind, s_conf, lr, params[k], params[k].grad, touched, state[k], t + 1)
    out["loss"] = torch.tensor(losses, dtype=dtype)
    params.pop("dtype")
    buffers = {"model." + k: b for k, b in model.named_buffers() if "num_batches" not in k}
    out.update({"final/" + k: v.detach().clone() for k, v in {**params, **named, **buffers}.items()})
    params["dtype"] = dtype
    model.eval()
    with torch.no_grad():
        out["eval_logits"] = scores(model, params, batches[0][0])
    return out


# ---- cases --------------------------------------------------------------------------------------

def group(name, features, kind="DEEP"):
    return dict(group_name=name, feature_names=[conf_of(f)["feature_name"] for f in features], group_type=Name(kind))


BCE = {"binary_cross_entropy": {}}


def case(model, groups, loss=BCE, num_class=1, weights=False, sparse=None, dense=None, s_rate=None, d_rate=None):
    constant = {"constant_learning_rate": {}}
    features = {}
    for _, members, *_ in groups:
        for f in members:
            features[conf_of(f)["feature_name"]] = f
    data = dict(batch_size=B, dataset_type=Name("CsvDataset"), fg_mode=Name("FG_NONE"), fg_encoded_multival_sep=SEP,
                with_header=True, label_fields=["label"], num_workers=1)
    if weights:
        data["sample_weight_fields"] = ["weight"]
    metrics = [{"mean_squared_error": {}}] if "l2_loss" in loss else [{"accuracy": {}}] if num_class > 1 else [{"auc": {}}]
    return dict(
        train_input_path="data.csv",
        eval_input_path="data.csv",
        model_dir="model",
        train_config=dict(
            sparse_optimizer={**(sparse or {"adagrad_optimizer": dict(lr=0.05)}), **(s_rate or constant)},
            dense_optimizer={**(dense or {"adam_optimizer": dict(lr=0.01)}), **(d_rate or constant)},
            num_epochs=1,
            use_tensorboard=False,
        ),
        eval_config={},
        data_config=data,
        feature_configs=list(features.values()),
        model_config=dict(feature_groups=[group(*g) for g in groups], **model, num_class=num_class,
                          losses=[loss], metrics=metrics),
    )


def mlp(*units, **more):
    return dict(hidden_units=list(units), **more)


def tower_case(**mlp_more):
    """A small multi_tower without final: one MLP, for its options."""
    return case({"multi_tower": dict(towers=[dict(input="all", mlp=mlp(6, 4, **mlp_more))])},
                [("all", [USER, TAGS, PRICE])])


ALL = [USER, TAGS, CATS, WTAGS, PRICE, POS]
AGE = raw_feature("age", boundaries=[18.0, 30.0, 45.0], embedding_dim=3)
OTHER = id_feature("other", 9, embedding_name="user_emb")
FROZEN = id_feature("frozen", 5, trainable=False)
TWO = {"multi_tower": dict(towers=[dict(input="user_side", mlp=mlp(8, 5)), dict(input="item_side", mlp=mlp(6))],
                           final=mlp(7))}
TWO_GROUPS = [("user_side", [USER, AGE, TAGS, PRICE, OTHER]), ("item_side", [ITEM, CATS, WTAGS, POS, FROZEN])]
DEEP = [USER, ITEM, TAGS, CATS]
WIDE = ("wide", [USER, ITEM, TAGS, WTAGS], "WIDE")
SMALL = {"multi_tower": dict(towers=[dict(input="all", mlp=mlp(6))], final=mlp(5))}
SMALL_GROUPS = [("all", ALL)]
AUTODIS = raw_feature("price", embedding_dim=4, autodis=dict(num_channels=3, temperature=0.5, keep_prob=0.8))
AUTODIS2 = raw_feature("cost", embedding_dim=4, autodis=dict(num_channels=3, temperature=0.5, keep_prob=0.8))
PROJ = raw_feature("size", embedding_dim=4, mlp={})
PROJ2 = raw_feature("pos", embedding_dim=4, value_dim=2, mlp={})
PIECES = raw_feature("price", embedding_dim=4, piecewise=dict(points=[-1.5, -0.25, 0.1, 0.75, 2]))
PIECES2 = raw_feature("cost", embedding_dim=3, piecewise=dict(points=[-0.5, 0.5], relu=True))
WAVES = raw_feature("price", embedding_dim=4, periodic=dict(frequencies=3, sigma=0.4))
WAVES2 = raw_feature("cost", embedding_dim=3, periodic=dict(frequencies=2, relu=False))

FIELDS = [USER, ITEM, TAGS, WTAGS]
ONE = [("all", [USER, ITEM, TAGS, PRICE, POS])]
XDEEPFM = dict(cin=dict(cin_layer_size=[3, 2]), deep=mlp(5), final=mlp(4), wide_embedding_dim=4)
LAYER = dict(lcb_feature_num=2, fmb_feature_num=3, compressed_feature_num=2, feature_num_mlp=mlp(5))


def masks(**more):
    return {"mask_net": dict(mask_net_module=dict(n_mask_blocks=2, mask_block=dict(hidden_dim=4, **more.pop("block", {})), **more))}


def autodis_case(**more):
    price = raw_feature("price", embedding_dim=4, autodis=dict(num_channels=3, **more))
    return case(SMALL, [("all", [USER, price, POS])])


CASES = {
    "multi_tower": case(TWO, TWO_GROUPS),
    "multi_tower_sgd": case(TWO, TWO_GROUPS, sparse={"sgd_optimizer": dict(lr=0.1)},
                            dense={"sgd_optimizer": dict(lr=0.05)},
                            d_rate={"exponential_decay_learning_rate": dict(decay_size=2, decay_factor=0.8, warmup_learning_rate=0.01, warmup_size=3)}),
    "multi_tower_weight": case(TWO, TWO_GROUPS, weights=True),
    "deepfm": case({"deepfm": dict(deep=mlp(8, 6))}, [WIDE, ("deep", DEEP)]),
    "deepfm_final": case({"deepfm": dict(deep=mlp(8, 6), final=mlp(5), wide_embedding_dim=3)}, [WIDE, ("deep", DEEP)]),
    "deepfm_fm": case({"deepfm": dict(deep=mlp(8, 6))}, [WIDE, ("fm", DEEP), ("deep", DEEP + [PRICE, POS])]),
    "deepfm_fm_final": case({"deepfm": dict(deep=mlp(8, 6), final=mlp(5))}, [WIDE, ("fm", DEEP), ("deep", DEEP + [PRICE, POS])]),
    "wide_and_deep": case({"wide_and_deep": dict(deep=mlp(8, 6))}, [WIDE, ("deep", DEEP + [PRICE])]),
    "wide_and_deep_final": case({"wide_and_deep": dict(deep=mlp(8, 6), final=mlp(5))}, [WIDE, ("deep", DEEP + [PRICE])]),
    "dlrm": case({"dlrm": dict(dense_mlp=mlp(6, 4), final=mlp(8))}, [("dense", [PRICE, POS]), ("sparse", DEEP)]),
    "dlrm_without_sparse": case({"dlrm": dict(dense_mlp=mlp(6, 4), arch_with_sparse=False, final=mlp(8))},
                                [("dense", [PRICE, POS]), ("sparse", DEEP)]),
    "dlrm_one_group": case({"dlrm": dict(final=mlp(8))}, [("sparse", DEEP)]),
    "dcn_v1": case({"dcn_v1": dict(cross=dict(cross_num=2), deep=mlp(6), final=mlp(5))}, ONE),
    "dcn_v2": case({"dcn_v2": dict(cross=dict(cross_num=2, low_rank=3), deep=mlp(6), final=mlp(5))}, ONE),
    "dcn_v2_backbone": case({"dcn_v2": dict(backbone=mlp(5), cross=dict(cross_num=2, low_rank=2), final=mlp(4))}, ONE),
    "mask_net": case(masks(top_mlp=mlp(4)), [("all", [USER, TAGS, PRICE])]),
    "mask_net_serial": case(masks(top_mlp=mlp(4), use_parallel=False, block=dict(reduction_ratio=0.5)), [("all", [USER, TAGS, POS])]),
    "mask_net_dim": case(masks(block=dict(reduction_ratio=0.0, aggregation_dim=3)), [("all", [USER, TAGS, PRICE])]),
    "xdeepfm": case({"xdeepfm": XDEEPFM}, [("wide", FIELDS, "WIDE"), ("deep", [USER, ITEM, PRICE])]),
    "wukong": case({"wukong": dict(dense_mlp=mlp(4), wukong_layers=[LAYER, dict(LAYER, lcb_feature_num=1, fmb_feature_num=2)], final=mlp(5))},
                   [("dense", [PRICE, POS]), ("sparse", FIELDS)]),
    "wukong_one_group": case({"wukong": dict(wukong_layers=[dict(LAYER, lcb_feature_num=2, fmb_feature_num=2)], final=mlp(5))}, [("sparse", FIELDS)]),
    "autoint": case({"autoint": dict(attention_layers=[dict(num_heads=2, head_dim=3), dict(num_heads=1, head_dim=4)])}, [("all", FIELDS)]),
    "autoint_deep": case({"autoint": dict(attention_layers=[dict(num_heads=2, head_dim=2, use_residual=False, use_scale=True)],
                                          deep=mlp(5), final=mlp(4))},
                         [("fields", FIELDS), ("deep", [USER, PRICE, POS])]),
    "fm": case({"fm": dict(embedding_dim=3)}, [("all", FIELDS + [PRICE])]),
    "fm_wide": case({"fm": dict(embedding_dim=0)}, [("fm", FIELDS + [raw_feature("size", embedding_dim=4, mlp={})]), ("wide", FIELDS + [PRICE, POS], "WIDE")]),
    "ffm": case({"ffm": dict(embedding_dim=3)}, [("all", [USER, ITEM, TAGS])]),
    "ffm_numbers": case({"ffm": dict(embedding_dim=2)}, [("ffm", [USER, PRICE, WTAGS, POS])]),
    "logistic_regression": case({"logistic_regression": {}}, [("all", [PRICE, USER, TAGS, POS, WTAGS])]),
    "logistic_regression_ids": case({"logistic_regression": {}}, [("wide", [USER, TAGS], "WIDE")], loss={"softmax_cross_entropy": {}}, num_class=3),
    "autodis_easyrec": autodis_case(form=Name("EASYREC"), temperature=0.5),
    "autodis_gandalf": autodis_case(form=Name("GANDALF"), hidden_dim=4),
    "autodis_gandalf_blocks": autodis_case(form=Name("GANDALF"), hidden_dim=4, residual_blocks=2, residual_alpha=0.7),
    "autodis_max": autodis_case(aggregation=Name("MAX")),
    "autodis_top_k": autodis_case(aggregation=Name("TOP_K"), top_k=2),
    "act_leaky_relu": tower_case(activation="nn.LeakyReLU(negative_slope=0.2)"),
    "act_prelu": tower_case(activation="nn.PReLU"),
    "act_sigmoid": tower_case(activation="nn.Sigmoid"),
    "act_tanh": tower_case(activation="nn.Tanh"),
    "act_gelu": tower_case(activation="nn.GELU"),
    "act_silu": tower_case(activation="nn.SiLU"),
    "act_elu": tower_case(activation="nn.ELU"),
    "act_softplus": tower_case(activation="nn.Softplus"),
    "act_dice": tower_case(activation="Dice"),
    "act_gelu_tanh": tower_case(activation="nn.GELU(approximate='tanh')"),
    "act_selu": tower_case(activation="nn.SELU"),
    "act_softmax": tower_case(activation="nn.Softmax(dim=-1)"),
    "act_none": tower_case(activation=""),
    "mlp_bn": tower_case(use_bn=True),
    "mlp_bn_dice": tower_case(use_bn=True, activation="Dice"),
    "mlp_ln": tower_case(use_ln=True),
    "mlp_no_bias": tower_case(bias=False),
    "loss_bce_smooth": case(SMALL, SMALL_GROUPS, loss={"binary_cross_entropy": dict(label_smoothing=0.1)}),
    "loss_softmax": case(SMALL, SMALL_GROUPS, loss={"softmax_cross_entropy": {}}, num_class=3),
    "loss_softmax_smooth": case(SMALL, SMALL_GROUPS, loss={"softmax_cross_entropy": dict(label_smoothing=0.2)}, num_class=3, weights=True),
    "loss_margin": case(SMALL, SMALL_GROUPS, loss={"multi_margin_loss": dict(margin=0.7)}, num_class=3),
    "loss_margin_hardest": case(SMALL, SMALL_GROUPS, loss={"multi_margin_loss": dict(hardest=True)}, num_class=3, weights=True),
    "loss_negative_sampling": case(SMALL, SMALL_GROUPS, loss={"negative_sampling_loss": {}}, num_class=3),
    "loss_l2": case(SMALL, SMALL_GROUPS, loss={"l2_loss": {}}),
    "loss_l2_weight": case(SMALL, SMALL_GROUPS, loss={"l2_loss": {}}, weights=True),
    "emb_autodis": case(SMALL, [("all", [USER, AUTODIS, AUTODIS2, POS])]),
    "emb_periodic": case(SMALL, [("all", [USER, WAVES, WAVES2, POS])]),
    "emb_piecewise": case(SMALL, [("all", [USER, PIECES, PIECES2, POS])]),
    "emb_mlp": case(SMALL, [("all", [USER, PROJ, PROJ2, PRICE])]),
    "optim_rowwise": case(SMALL, SMALL_GROUPS, sparse={"rowwise_adagrad_optimizer": dict(lr=0.05)},
                          dense={"adagrad_optimizer": dict(lr=0.05)}),
    "optim_adam": case(SMALL, SMALL_GROUPS, sparse={"adam_optimizer": dict(lr=0.02, weight_decay=0.01)},
                       s_rate={"exponential_decay_learning_rate": dict(decay_size=3, decay_factor=0.7, staircase=False)}),
    "optim_clip": case(SMALL, SMALL_GROUPS, sparse={"sgd_optimizer": dict(lr=0.5, gradient_clipping=True, max_gradient=0.0005)}),
}

# ---- losses that compare rows, and L2 on embeddings ----
SESSION = id_feature("session", 4)
IN_SESSIONS = [("all", ALL + [SESSION])]
CASES.update({
    "loss_focal": case(SMALL, SMALL_GROUPS, loss={"binary_focal_loss": {}}),
    "loss_focal_weight": case(SMALL, SMALL_GROUPS, loss={"binary_focal_loss": dict(gamma=1.5, alpha=0.25)}, weights=True),
    "loss_jrc": case(SMALL, IN_SESSIONS, loss={"jrc_loss": dict(session_name="session")}, num_class=2),
    "loss_jrc_weight": case(SMALL, IN_SESSIONS, loss={"jrc_loss": dict(session_name="tags", alpha=0.2)}, num_class=2, weights=True),
    # the slope of the last bias is 0 but for rounding, which Adam would blow up
    "loss_pairwise": case(SMALL, IN_SESSIONS, loss={"pairwise_loss": dict(session_name="session")},
                          dense={"sgd_optimizer": dict(lr=0.1)}),
    "loss_pairwise_hinge": case(SMALL, SMALL_GROUPS, loss={"pairwise_loss": dict(kind=Name("HINGE"), margin=0.7)},
                                dense={"sgd_optimizer": dict(lr=0.05)}, weights=True),
    "loss_embedding_l2": case({"deepfm": dict(deep=mlp(8, 6))}, [WIDE, ("deep", DEEP + [FROZEN])]),
    "loss_embedding_l2_weight": case(TWO, TWO_GROUPS, weights=True),
})
WITH_BCE = {"losses": [dict(BCE, weight=1.5), {"listwise_rank_loss": dict(session_name="session"), "weight": 0.1}]}
MANY = {
    "loss_listwise": WITH_BCE,
    "loss_listwise_fixed": {"losses": [{"listwise_rank_loss": dict(session_name="tags", temperature_init=0.5, learnable_temperature=False)}]},
    "loss_listwise_capped": {"losses": [BCE, {"listwise_rank_loss": dict(session_name="session", temperature_init=0.005), "weight": 0.02}]},
    "loss_listwise_zero": {"losses": [{"listwise_rank_loss": dict(session_name="tags", temperature_init=0.3)}], "missing_id_is_zero": True},
    "loss_weights": {"losses": [dict(BCE, weight=0.3), {"binary_focal_loss": {}, "weight": 2.0}]},
}
for key, more in MANY.items():
    CASES[key] = case(SMALL, IN_SESSIONS, sparse={"sgd_optimizer": dict(lr=0.5)}, dense={"sgd_optimizer": dict(lr=0.05)})
    CASES[key]["model_config"].update(more)
CASES["loss_jrc_zero"] = case(SMALL, IN_SESSIONS, loss={"jrc_loss": dict(session_name="tags")}, num_class=2)
CASES["loss_jrc_zero"]["model_config"]["missing_id_is_zero"] = True
CASES["loss_embedding_l2"]["model_config"]["embedding_regularization"] = 0.01
CASES["loss_embedding_l2_weight"]["model_config"]["embedding_regularization"] = 0.05

# gates are nearly 0 or 1, where gradients nearly vanish: rules that divide by their size would blow rounding up
SGD = dict(sparse={"sgd_optimizer": dict(lr=0.1)}, dense={"sgd_optimizer": dict(lr=0.05)})
CASES.update({
    "variational_multi_tower": case(TWO, TWO_GROUPS, **SGD),
    "variational_deepfm": case({"deepfm": dict(deep=mlp(8, 6))}, [WIDE, ("deep", DEEP)], weights=True, **SGD),
    "variational_deepfm_fm": case({"deepfm": dict(deep=mlp(8, 6), final=mlp(5))}, [WIDE, ("fm", DEEP), ("deep", DEEP + [PRICE, POS])], **SGD),
    "variational_dlrm": case({"dlrm": dict(dense_mlp=mlp(6, 4), final=mlp(8))}, [("dense", [PRICE, POS]), ("sparse", DEEP)], **SGD),
    "variational_dcn_v2": case({"dcn_v2": dict(cross=dict(cross_num=2, low_rank=3), deep=mlp(6), final=mlp(5))}, ONE, **SGD),
    "variational_one_feature": case(SMALL, [("all", [USER])]),
})
for key, c in CASES.items():
    if key.startswith("variational"):
        c["model_config"]["variational_dropout"] = {} if key.endswith("fm") else dict(regularization_lambda=0.5)


def build(name, config):
    rng = np.random.default_rng(sum(map(ord, name)))
    torch.manual_seed(sum(map(ord, name)))
    kinds = {"multi_tower", "deepfm", "wide_and_deep", "dlrm", *NETS}
    kind, conf = [(k, v) for k, v in config["model_config"].items() if k in kinds][0]
    K = config["model_config"]["num_class"]
    inputs = Inputs(config, kind, conf, rng)
    model = NETS[kind](kind, conf, inputs, K, Mlp) if kind in NETS else Model(kind, conf, inputs, K)
    if "variational_dropout" in config["model_config"]:
        scale = config["model_config"]["variational_dropout"].get("regularization_lambda", 0.01)
        model.group_variational_dropouts = nn.ModuleDict(
            {g: Dropped(g, inputs.widths(g), scale) for g in inputs.groups if len(inputs.widths(g)) > 1})
        inputs.dropped = model.group_variational_dropouts
    lists = [l["listwise_rank_loss"] for l in config["model_config"]["losses"] if "listwise_rank_loss" in l]
    if lists:
        model._loss_modules = nn.ModuleDict({"listwise_rank_loss": Listwise(lists[0])})
    with torch.no_grad():  # ones and zeros would hide a forgotten factor
        for key, p in model.named_parameters():
            if p.dim() == 1:
                p.add_(0.2 * torch.randn(p.shape))
        for key, b in model.named_buffers():
            if "running" in key:
                b.add_(0.3 * torch.rand(b.shape))

    n = B * STEPS
    columns = {f: make_column(c, rng, n) for f, c in inputs.features.items()}
    if K > 1:
        label = rng.integers(0, K, n)
    elif "l2_loss" in config["model_config"]["losses"][0]:
        label = rng.standard_normal(n).astype(np.float32)
    else:
        label = rng.integers(0, 2, n)
    weight = rng.uniform(0.2, 3, n).astype(np.float32) if "sample_weight_fields" in config["data_config"] else None

    folder = os.path.join(DATA, name)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "pipeline.config"), "w") as f:
        f.write(text(config))
    with open(os.path.join(folder, "data.csv"), "w") as f:
        f.write(",".join(["label"] + (["weight"] if weight is not None else []) + list(columns)) + "\n")
        for i in range(n):
            row = ["%.9g" % label[i]] + (["%.9g" % weight[i]] if weight is not None else [])
            row += [cell(inputs.features[c], columns[c][i]) for c in columns]
            f.write(",".join(row) + "\n")

    batches = []
    for t in range(STEPS):
        at = slice(t * B, (t + 1) * B)
        batches.append(({c: v[at] for c, v in columns.items()}, label[at].astype(np.float64), None if weight is None else weight[at]))
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
    size = sum(os.path.getsize(os.path.join(folder, f)) for f in os.listdir(folder))
    print("%-22s %5d bytes  float32 against float64: %s" % (name, size, " ".join("%s %.0e" % kv for kv in worst.items())))


if __name__ == "__main__":
    for name in sys.argv[1:] or CASES:
        build(name, CASES[name])
