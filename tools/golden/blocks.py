"""Golden runs of graphs of blocks (backbone), for the layers that no built-in model has: tests/golden/data/own_*, as
models.py has them. A row knows the width D of its vectors, as in the guide. Run: python3 tools/golden/blocks.py [case ...]
"""

import sys

import torch
from torch import nn
from torch.nn import functional as F

from knowledge import KnowledgeMatch
from models import ITEM, POS, PRICE, TAGS, USER, WTAGS, activation, build, case, mlp
from nets import NETS, Cin
from pbtxt import Name


class Senet(nn.Module):
    def __init__(self, n, conf):
        super().__init__()
        inner, bias = max(n // conf.get("reduction_ratio", 4), 1), conf.get("bias", False)
        self.largest = str(conf.get("squeeze")) == "MAX"
        self.excitation = nn.Sequential(nn.Linear(n, inner, bias=bias), nn.ReLU(), nn.Linear(inner, n, bias=bias), nn.ReLU())

    def forward(self, x):  # (B, F, D)
        return x * self.excitation(x.amax(2) if self.largest else x.mean(2)).unsqueeze(2)


class GateNu(nn.Module):
    def __init__(self, n_in, hidden, n_out, gamma):
        super().__init__()
        self.gamma = gamma
        self.dense_layers = nn.Sequential(nn.Linear(n_in, hidden), nn.ReLU(), nn.Linear(hidden, n_out), nn.Sigmoid())

    def forward(self, x):
        return self.gamma * self.dense_layers(x)


class PairAttention(nn.Module):
    def __init__(self, D, units):
        super().__init__()
        self.attention, self.projection = nn.Linear(D, units), nn.Linear(units, 1, bias=False)

    def forward(self, x):
        i, j = torch.triu_indices(x.shape[1], x.shape[1], 1)
        p = x[:, i] * x[:, j]
        return (torch.softmax(self.projection(F.relu(self.attention(p))), 1) * p).sum(1)


class Bilinear(nn.Module):
    def __init__(self, n, D, conf):
        super().__init__()
        kind = self.kind = str(conf.get("kind", "ALL"))
        self.symmetric = conf.get("symmetric", False)
        if kind == "ALL":
            self.weight = nn.Parameter(torch.randn(D, D) * 0.5)
        else:
            count = n if kind == "EACH" else n * (n - 1) // 2
            self.weight = nn.ParameterList(nn.Parameter(torch.randn(D, D) * 0.5) for _ in range(count))

    def forward(self, x):
        i, j = torch.triu_indices(x.shape[1], x.shape[1], 1)
        W = [self.weight if self.kind == "ALL" else self.weight[int(k)] for k in (i if self.kind == "EACH" else range(len(i)))]
        out = [x[:, a] @ w.T * x[:, b] for w, a, b in zip(W, i, j)]
        if self.symmetric:
            out = [y + x[:, b] @ w.T * x[:, a] for y, w, a, b in zip(out, W, i, j)]
        return torch.cat(out, 1)


def aware_pairs(x):
    n = round(x.shape[1] ** 0.5)
    i, j = torch.triu_indices(n, n, 1)
    return (x[:, i * n + j] * x[:, j * n + i]).flatten(1)


class Product(nn.Module):
    def __init__(self, n, D, conf):
        super().__init__()
        self.outer, self.D = str(conf.get("kind")) == "OUTER", D
        N = conf["units"]
        self.weight = nn.Parameter(torch.randn(N * D, D) * 0.3 if self.outer else torch.randn(N, n) * 0.5)

    def forward(self, x):
        if not self.outer:
            return (torch.einsum("nf,bfd->bnd", self.weight, x) ** 2).sum(2)
        s = x.sum(1)
        return torch.einsum("bi,nij,bj->bn", s, self.weight.reshape(-1, self.D, self.D), s)


class FieldLinear(nn.Linear):
    def __init__(self, D, conf):
        super().__init__(D, conf["units"])
        self.relu = conf.get("relu", False)

    def forward(self, x):
        y = super().forward(x)
        return (F.relu(y) if self.relu else y).flatten(1)


class MixFields(nn.Module):
    def __init__(self, n, units):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(units, n) * 0.5)

    def forward(self, x):
        return torch.einsum("nf,bfd->bnd", self.weight, x).flatten(1)


class Vector(nn.Module):
    def __init__(self, value):
        super().__init__()
        self.weight = nn.Parameter(value)


class Shared(nn.Module):
    """One layer of all members: a matrix for all, vectors for each."""

    def __init__(self, n_in, n_out, K, first):
        super().__init__()
        self.weight = nn.Parameter((torch.rand(n_out, n_in) * 2 - 1) / n_in**0.5)
        self.r = nn.ModuleList(Vector(torch.randn(n_in) if first else 1 + 0.3 * torch.randn(n_in)) for _ in range(K))
        self.s = nn.ModuleList(Vector(1 + 0.3 * torch.randn(n_out)) for _ in range(K))
        self.bias = nn.ModuleList(Vector((torch.rand(n_out) * 2 - 1) / n_in**0.5) for _ in range(K))

    def forward(self, x, k):
        return torch.relu(self.s[k].weight * ((self.r[k].weight * x) @ self.weight.T) + self.bias[k].weight)


class Ensemble(nn.Module):
    is_ensemble = True

    def __init__(self, w, conf):
        super().__init__()
        K, units = conf["members"], [w] + conf["hidden_units"]
        self.values = str(conf.get("mean_of")) == "VALUES"
        self.layers = nn.ModuleList(Shared(a, b, K, i == 0) for i, (a, b) in enumerate(zip(units, units[1:])))
        self.outputs = nn.ModuleList(nn.Linear(units[-1], 1) for _ in range(K))

    def forward(self, x):
        z = []
        for k, out in enumerate(self.outputs):
            h = x
            for one in self.layers:
                h = one(h, k)
            z.append(out(h))
        self.z = torch.cat(z, 1)
        return self.z.mean(1, keepdim=True) if self.values else torch.logit(torch.sigmoid(self.z).mean(1, keepdim=True))


# the module of a block over n vectors of width D, its width and that of its vectors
PAIRS = {
    "pair_attention": lambda n, D, c: (PairAttention(D, c["attention_units"]), D, D),
    "bilinear": lambda n, D, c: (Bilinear(n, D, c), n * (n - 1) // 2 * D, D),
    "product": lambda n, D, c: (Product(n, D, c), c["units"], c["units"]),
    "field_linear": lambda n, D, c: (FieldLinear(D, c), n * c["units"], c["units"]),
    "mix_fields": lambda n, D, c: (MixFields(n, c["units"]), c["units"] * D, D),
}


def layer(kind, conf, widths, D, Mlp):
    """The module of a block over inputs of these widths (None: no parameters), its width and that of its vectors."""
    w = sum(widths)
    if kind in ("mlp", "linear"):
        n = conf["hidden_units"][-1] if kind == "mlp" else conf["units"]
        return Mlp(w, conf) if kind == "mlp" else nn.Linear(w, n, bias=conf.get("bias", True)), n, n
    if kind == "ensemble":
        return Ensemble(w, conf), 1, 1
    if kind == "knowledge_match":
        return KnowledgeMatch(widths, D, D, conf), conf["candidates"], conf["candidates"]
    if kind == "residual":
        return Mlp(w, conf["mlp"]), w, D
    if kind == "senet":
        return Senet(w // D, conf), w, D
    if kind == "aware_pairs":
        n = round((w // D) ** 0.5)
        return None, n * (n - 1) // 2 * D, D
    if kind == "gate_nu":
        return GateNu(widths[-1], conf.get("hidden_dim", widths[0]), widths[0], conf.get("gamma", 2.0)), widths[0], D
    if kind == "cin":
        cin = Cin(w // D, conf)
        return cin, cin.width, cin.width
    if kind == "activation":
        return activation(conf["function"], w), w, D
    if kind == "layer_norm":
        return nn.LayerNorm(D if conf.get("fields") else w), w, D
    if kind == "batch_norm":
        return nn.BatchNorm1d(w, affine=conf.get("affine", True)), w, D
    if kind in PAIRS:
        return PAIRS[kind](w // D, D, conf)
    if kind == "similarity":
        return None, len(widths) - 1, len(widths) - 1
    if kind in ("add", "multiply"):
        return None, max(widths), D
    if kind == "slice":
        n = conf["width"]
        return None, n, D if conf.get("begin", 0) % D == 0 and n % D == 0 else n
    if kind in ("sum", "mean"):
        n = D if conf.get("fields") else w // D if conf.get("each") else 1
        return None, n, n
    return None, w, conf["dim"] if kind == "fields" else D  # concat, softmax, stop_gradient, fields


def compute(kind, conf, m, v, D):
    """What a block gives for its inputs v."""
    x = torch.cat(v, 1)

    def vectors():
        return x.reshape(len(x), -1, D)

    if kind == "knowledge_match":
        return m(*v)
    if kind == "residual":
        return x + m(x)
    if kind == "senet" or (kind == "layer_norm" and conf.get("fields")):
        return m(vectors()).flatten(1)
    if kind == "gate_nu":
        return v[0] * m(v[-1])
    if kind == "cin" or kind in PAIRS:
        return m(vectors())
    if kind == "similarity":
        return torch.cat([F.cosine_similarity(v[0], y, 1).unsqueeze(1) for y in v[1:]], 1)
    if m is not None:
        return m(x)
    if kind == "add":
        return sum(w * a for w, a in zip(conf.get("weights", [1.0] * len(v)), v))
    if kind == "aware_pairs":
        return aware_pairs(vectors())
    if kind == "multiply" and 1 < v[1].shape[1] < v[0].shape[1]:  # a number for each vector
        return (v[0].reshape(len(x), -1, D) * v[1].unsqueeze(2)).flatten(1)
    if kind == "multiply":
        return torch.stack(torch.broadcast_tensors(*v)).prod(0)
    if kind == "slice":
        return x.narrow(1, conf.get("begin", 0), conf["width"])
    if kind in ("sum", "mean"):
        if conf.get("each"):
            return vectors().sum(2) if kind == "sum" else vectors().mean(2)
        over = vectors() if conf.get("fields") else x.unsqueeze(2)
        return over.sum(1) if kind == "sum" else over.mean(1)
    return {"softmax": lambda: torch.softmax(x, 1), "stop_gradient": x.detach}.get(kind, lambda: x)()


class Backbone(nn.Module):
    """Blocks stand in the order in which they are read; the last is the logits, or concat_blocks goes through top_mlp."""

    def __init__(self, kind, conf, inputs, K, Mlp):
        super().__init__()
        self.inputs, self.conf = inputs, conf
        self.blocks, shapes = nn.ModuleDict(), {}
        self.plan = []
        for b in conf["blocks"]:
            kind = next(k for k in b if k not in ("name", "inputs"))
            read = [self.shape(i, shapes) for i in b["inputs"]]
            D = read[0][1]
            m, width, vectors = layer(kind, b[kind], [w for w, _ in read], D, Mlp)
            if m is not None:
                self.blocks[b["name"]] = m
            shapes[b["name"]] = width, vectors
            self.plan.append((b["name"], kind, b[kind], b["inputs"], D))
        width = sum(shapes[n][0] for n in conf["concat_blocks"])
        self.top_mlp = Mlp(width, conf["top_mlp"]) if "top_mlp" in conf else None
        if self.top_mlp:
            self.output_mlp = nn.Linear(self.top_mlp.width, K)

    def shape(self, i, shapes):
        if "block_name" in i:
            return shapes[i["block_name"]]
        widths = self.inputs.widths(i["feature_group_name"])
        return sum(widths), widths[0]

    def forward(self, g):
        done = {}
        for name, kind, conf, inputs, D in self.plan:
            v = [done[i["block_name"]] if "block_name" in i else g(i["feature_group_name"]) for i in inputs]
            done[name] = compute(kind, conf, self.blocks[name] if name in self.blocks else None, v, D)
        x = torch.cat([done[n] for n in self.conf["concat_blocks"]], 1)
        return self.output_mlp(self.top_mlp(x)) if self.top_mlp else x


NETS["backbone"] = Backbone


def group(name):
    return dict(feature_group_name=name)


def block(name, *inputs, **layer_conf):
    return dict(name=name, inputs=[i if isinstance(i, dict) else dict(block_name=i) for i in inputs], **layer_conf)


def graph(ends, *blocks, **more):
    return case({"backbone": dict(blocks=list(blocks), concat_blocks=ends, top_mlp=mlp(5))},
                [("fields", [USER, ITEM, TAGS, WTAGS]), ("numbers", [PRICE, POS])], **more)


def ensemble(loss, weights, **conf):
    return case({"backbone": dict(blocks=[block("low", group("fields"), linear=dict(units=6)),
                                          block("all", "low", group("numbers"), ensemble=dict(members=3, hidden_units=[5, 4], **conf))],
                                  concat_blocks=["all"])},
                [("fields", [USER, ITEM, TAGS, WTAGS]), ("numbers", [PRICE, POS])], loss=loss, weights=weights)


CASES = {
    "own_ensemble": ensemble({"binary_cross_entropy": dict(label_smoothing=0.1)}, True),
    "own_ensemble_values": ensemble({"l2_loss": {}}, False, mean_of=Name("VALUES")),
    # two candidates and two clicked articles, of two words, two entities and two neighbours of each
    "own_knowledge": graph(
        ["match"],
        block("w", group("fields"), linear=dict(units=32)), block("words", "w", fields=dict(dim=4)),
        block("e", group("fields"), linear=dict(units=32)), block("known", "e", fields=dict(dim=4)),
        block("n", group("fields"), linear=dict(units=64)), block("near", "n", fields=dict(dim=4)),
        block("match", "words", "known", "near", knowledge_match=dict(
            candidates=2, words=2, entities=2, units=6, num_heads=2, attention_units=5, entity_heads=2, dropout_ratio=0)),
        # slopes of single units are so small that Adam would show their rounding
        dense={"sgd_optimizer": dict(lr=0.1)}),
    "own_senet": graph(
        ["se", "few"],
        block("se", group("fields"), senet=dict(reduction_ratio=2)),
        block("number", group("numbers"), linear=dict(units=4)),
        # one unit inside: more vectors than the default ratio leaves
        block("few", group("fields"), "number", senet=dict(reduction_ratio=9))),
    "own_residual": graph(
        ["gated", "more", "cin"],
        block("res", group("fields"), residual=dict(mlp=mlp(6, 16, activation="nn.Tanh"))),
        block("gated", "res", group("numbers"), gate_nu=dict(hidden_dim=3, gamma=1.5)),
        block("self", "gated", gate_nu={}),
        block("more", "self", residual=dict(mlp=mlp(16))),
        block("cin", "more", cin=dict(cin_layer_size=[3, 2]))),
    "own_shapes": graph(
        ["product", "share", "one", "all", "still", "act"],
        block("a", group("fields"), slice=dict(begin=4, width=8)),
        block("b", group("numbers"), linear=dict(units=8, bias=False)),
        block("w", "b", mean={}),
        block("product", "a", "b", "w", multiply={}),
        block("share", "a", softmax={}),
        block("one", group("fields"), mean=dict(fields=True)),
        block("two", "b", fields=dict(dim=4)),
        block("each", "two", layer_norm=dict(fields=True)),
        block("all", "each", sum=dict(fields=True)),
        block("still", "product", stop_gradient={}),
        block("plus", "a", "b", "w", add={}),
        block("act", "plus", activation=dict(function="nn.PReLU"))),
    "own_pairs": graph(
        ["afm", "inner", "outer", "alike", "less"],
        block("afm", group("fields"), pair_attention=dict(attention_units=3)),
        block("all", group("fields"), bilinear={}),
        block("each", group("fields"), bilinear=dict(kind=Name("EACH"))),
        block("pair", group("fields"), bilinear=dict(kind=Name("INTERACTION"))),
        block("inner", group("fields"), product=dict(units=3)),
        block("outer", group("fields"), product=dict(units=2, kind=Name("OUTER"))),
        block("two", "all", "each", "pair", mix_fields=dict(units=2)),
        block("wide", "two", field_linear=dict(units=3, relu=True)),
        block("narrow", group("fields"), linear=dict(units=6)),
        block("less", "wide", "narrow", add=dict(weights=[1.0, -0.5])),
        block("a", group("fields"), linear=dict(units=3)),
        block("b", group("numbers"), linear=dict(units=3)),
        block("alike", "a", "b", "inner", similarity=dict(kind=Name("COSINE")))),
    "own_weighed": graph(
        ["pairs", "one", "weighed", "some"],
        block("weights", group("numbers"), linear=dict(units=4)),
        block("weighed", group("fields"), "weights", multiply={}),
        block("matrices", group("fields"), bilinear=dict(kind=Name("INTERACTION"), symmetric=True)),
        block("one", "matrices", sum=dict(each=True)),
        block("more", group("fields"), bilinear=dict(symmetric=True)),
        block("some", "more", mean=dict(each=True)),
        block("wide", group("fields"), linear=dict(units=18)),
        block("square", "wide", fields=dict(dim=2)),
        block("most", "square", senet=dict(reduction_ratio=1, squeeze=Name("MAX"), bias=True)),
        block("pairs", "most", aware_pairs={})),
    "own_bn": graph(
        ["norm", "plain", "dice"],
        block("norm", group("fields"), batch_norm={}),
        block("plain", group("numbers"), batch_norm=dict(affine=False)),
        block("lin", group("fields"), linear=dict(units=5)),
        block("dice", "lin", activation=dict(function="Dice"))),
}

if __name__ == "__main__":
    for name in sys.argv[1:] or CASES:
        build(name, CASES[name])
