"""Golden runs of blocks over the steps of a sequence: tests/golden/data/step_<case>, as seq.py has them. GRU and
transformer are torch's own modules where torch has them. Run: python3 tools/golden/steps.py [case ...]
"""

import sys

import torch
from torch import nn
from torch.nn import functional as F

from blocks import block, group
from models import Mlp, mlp
from pbtxt import Name
from seq import ITEMS, KEYS, MAX, POOLED, SHOPS, build, pipeline

WIDTH = {"item": 4, "shop": 3, "clicks__item": 4, "clicks__shop": 3, "clicks__price": 1}
STEPS = ["clicks__item", "clicks__shop", "clicks__price"]


def config(names, ends, *blocks):
    return pipeline(dict(
        feature_groups=[
            dict(group_name="deep", feature_names=["user", "item"], group_type=Name("DEEP")),
            dict(group_name="seq", feature_names=names, group_type=Name("SEQUENCE"))],
        backbone=dict(blocks=[block("row", group("deep"), concat={}), *blocks], concat_blocks=["row", *ends], top_mlp=mlp(5))))


def dien(**more):
    return config(
        ["item", *STEPS], ["evolved"],
        block("items", group("seq"), slice=dict(begin=0, width=4)),
        block("others", group("seq"), slice=dict(begin=3, width=4)),
        block("evolved", "items", "others", dien=dict(attn_mlp=mlp(5, activation="nn.Sigmoid"), aux_weight=0.5, **more)))


CASES = {
    "step_gru": config(
        STEPS, ["last", "most", "end"],
        block("states", group("seq"), gru=dict(hidden_size=5, output=Name("STEPS"))),
        block("last", "states", gru=dict(hidden_size=3, reset_before=True)),
        block("most", "states", pooling=dict(pooling_type=Name("max"))),
        block("end", group("seq"), pooling=dict(pooling_type=Name("last")))),
    "step_gru_both": config(
        STEPS, ["end", "most"],
        block("first", group("deep"), linear=dict(units=5)),
        block("there", group("seq"), "first", gru=dict(hidden_size=5, output=Name("STEPS"), start=True, reset_before=True)),
        block("back", group("seq"), "first", gru=dict(hidden_size=5, output=Name("STEPS"), start=True, reverse=True)),
        block("both", "there", "back", concat={}),
        block("end", "both", gru=dict(hidden_size=3, reverse=True)),
        block("most", "both", pooling=dict(pooling_type=Name("max")))),
    "step_dien": dien(),
    "step_dien_agru": dien(evolution=Name("AGRU")),
    "step_dien_aigru": dien(evolution=Name("AIGRU"), reset_before=True),
    "step_transformer": config(
        ["item", "clicks__item"], ["all", "target", "mean"],
        block("items", group("seq"), concat={}),
        block("all", "items", transformer=dict(num_heads=2, num_layers=2, ff_units=6)),
        block("steps", "items", transformer=dict(num_heads=1, norm=Name("PRE"), activation="nn.GELU", output=Name("STEPS"))),
        block("target", "steps", transformer=dict(num_heads=4, norm=Name("NONE"), output=Name("TARGET"), ff_units=3)),
        block("mean", "steps", transformer=dict(num_heads=2, ff_units=5, output=Name("MEAN")))),
    "step_capsules": config(
        ["item", *STEPS], ["mine", "theirs"],
        block("interests", group("seq"), capsules=dict(num_interests=3, dim=4, max_seq_length=5)),
        block("wide", group("deep"), linear=dict(units=4)),
        block("mine", "interests", "wide", label_attention=dict(power=2)),
        block("theirs", group("seq"), capsules=dict(num_interests=2, rounds=2, max_seq_length=6, over_steps=True))),
    "step_text": config(
        STEPS, ["most", "picture", "near"],
        block("seen", group("seq"), seq_conv=dict(filters=5, width=3)),
        block("more", group("seq"), seq_conv=dict(filters=4, width=2)),
        block("act", "seen", activation=dict(function="nn.Tanh")),
        block("most", "act", pooling=dict(pooling_type=Name("max"))),
        block("rows", "more", unroll=dict(steps=4)),
        block("word", group("deep"), linear=dict(units=4)),
        block("again", group("deep"), weights_of="word"),
        block("near", "word", "rows", "again", similarity=dict(scale=0.5)),
        block("flat", group("seq"), unroll=dict(steps=5)),
        block("grid", "flat", "rows2", similarity={}),
        block("rows2", group("seq"), unroll=dict(steps=6)),
        block("picture", "grid", conv=dict(height=5, filters=3, kernel_height=2, kernel_width=3, pool_height=2, pool_width=2)),),
}


class Gru(nn.Module):
    """torch's GRU by its formula, so that the reset and the attention can act elsewhere."""

    def __init__(self, C, H, before=False, kind=""):
        super().__init__()
        self.H, self.before, self.kind = H, before, kind
        torch_gru = nn.GRU(C, H, batch_first=True)
        for k, p in torch_gru.named_parameters():
            setattr(self, k, nn.Parameter(p.detach().clone()))
        if not before and not kind:  # it is torch's GRU then
            with torch.no_grad():
                x = torch.randn(3, 4, C)
                assert (self(x, torch.ones(3, 4, dtype=torch.bool)) - torch_gru(x)[0]).abs().max() < 1e-6

    def forward(self, x, mask, a=None, start=None, reverse=False):
        H, h, out = self.H, x.new_zeros(len(x), self.H) if start is None else start, {}
        W, U, bw, bu = self.weight_ih_l0, self.weight_hh_l0, self.bias_ih_l0, self.bias_hh_l0
        for t in sorted(range(x.shape[1]), reverse=reverse):
            gx, gh = x[:, t] @ W.T + bw, h @ U.T + bu
            r, z = torch.sigmoid(gx[:, :H] + gh[:, :H]), torch.sigmoid(gx[:, H:2 * H] + gh[:, H:2 * H])
            inner = (r * h) @ U[2 * H:].T + bu[2 * H:] if self.before else r * gh[:, 2 * H:]
            n = torch.tanh(gx[:, 2 * H:] + inner)
            s = 1 - z
            if self.kind:
                s = a[:, t:t + 1] * (s if self.kind == "AUGRU" else 1)
            h = torch.where(mask[:, t:t + 1], h + s * (n - h), h)
            out[t] = h
        return torch.stack([out[t] for t in sorted(out)], 1)


def last(h, mask):
    return h[:, -1] * mask.any(1, keepdim=True)  # the state stays where it was behind the last step


class Dien(nn.Module):
    def __init__(self, C, conf):
        super().__init__()
        kind = str(conf.get("evolution", "AUGRU"))
        before = conf.get("reset_before", False)
        self.kind, self.weight = kind, conf["aux_weight"]
        self.gru = Gru(C, C, before)
        self.mlp = Mlp(4 * C, conf["attn_mlp"], steps=True)
        self.linear = nn.Linear(conf["attn_mlp"]["hidden_units"][-1], 1)
        self.evolution = Gru(C, C, before, "" if kind == "AIGRU" else kind)

    def forward(self, q, s, other, mask):
        h = self.gru(s, mask)
        q = q.unsqueeze(1).expand_as(h)
        z = self.linear(self.mlp(torch.cat([q, h, q - h, q * h], 2))).squeeze(2)
        a = F.softmax(z.masked_fill(~mask, -1e30), 1)
        pos, neg = (h[:, :-1] * s[:, 1:]).sum(2), (h[:, :-1] * other[:, 1:]).sum(2)
        aux = (F.softplus(-pos) + F.softplus(neg)) * mask[:, 1:]
        self.aux = self.weight * aux.sum(1).mean()
        h = self.evolution(h * a.unsqueeze(2), mask) if self.kind == "AIGRU" else self.evolution(h, mask, a)
        return last(h, mask)


class Encoder(nn.Module):
    """torch's TransformerEncoderLayer; without norm it is written out."""

    def __init__(self, D, conf):
        super().__init__()
        kind = str(conf.get("norm", "POST"))
        act = {"nn.ReLU": F.relu, "nn.GELU": F.gelu}[conf.get("activation", "nn.ReLU")]
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(D, conf["num_heads"], conf.get("ff_units", 4 * D), 0.0, act, batch_first=True, norm_first=kind == "PRE")
            for _ in range(conf.get("num_layers", 1)))
        self.none = kind == "NONE"
        if self.none:
            for layer in self.layers:
                layer.norm1, layer.norm2 = nn.Identity(), nn.Identity()

    def forward(self, s, mask, target):
        x = torch.cat([s, target.unsqueeze(1)], 1)
        pad = torch.cat([~mask, torch.zeros(len(mask), 1, dtype=torch.bool)], 1)
        for layer in self.layers:
            layer.train()  # evaluation takes another path, which wants the norms
            x = layer(x, src_key_padding_mask=pad)
        return x[:, :-1] * mask.unsqueeze(2), x[:, -1]


class Capsules(nn.Module):
    def __init__(self, C, conf):
        super().__init__()
        self.K, self.rounds, self.most = conf["num_interests"], conf.get("rounds", 3), conf["max_seq_length"]
        self.over_steps = conf.get("over_steps", False)
        self.bilinear = nn.Linear(C, conf.get("dim", C), bias=False)
        self.register_buffer("routing_logits", torch.randn(self.K, self.most))

    def forward(self, s, mask):
        low, mask = self.bilinear(s[:, :self.most]), mask[:, :self.most].unsqueeze(1)
        b = self.routing_logits.unsqueeze(0).expand(len(s), -1, -1)[:, :, :low.shape[1]]
        fixed = low.detach()
        for i in range(self.rounds):
            end = i == self.rounds - 1
            over = 2 if self.over_steps and not end else 1
            w = F.softmax(b.masked_fill(~mask, -1e30) if over == 2 else b, over).masked_fill(~mask, 0)
            z = w @ (low if end else fixed)
            q = (z * z).sum(2, keepdim=True)
            v = q / (1 + q) * z / (q + 1e-8).sqrt()
            b = b + v @ fixed.transpose(1, 2)
        return v


class Conv(nn.Module):
    """torch's Conv2d of one picture, with the weight as a matrix."""

    def __init__(self, filters, kernel):
        super().__init__()
        self.kernel, n = kernel, kernel[0] * kernel[1]
        self.weight = nn.Parameter(torch.empty(filters, n).uniform_(-n**-0.5, n**-0.5))
        self.bias = nn.Parameter(torch.zeros(filters))

    def forward(self, x):
        return F.conv2d(x, self.weight.reshape(-1, 1, *self.kernel), self.bias)


class Net(nn.Module):
    """Blocks stand in the order in which they are read."""

    def __init__(self, conf):
        super().__init__()
        m = conf["model_config"]
        self.names = m["feature_groups"][1]["feature_names"]
        self.bb = m["backbone"]
        self.tables = {POOLED % "user": (9, 4), POOLED % "item": (ITEMS, 4), KEYS % (4, "item"): (ITEMS, 4), KEYS % (3, "shop"): (SHOPS, 3)}
        if "clicks__shop" not in self.names:
            del self.tables[KEYS % (3, "shop")]
        self.tables = {k: torch.empty(s).uniform_(-0.5, 0.5) for k, s in self.tables.items()}
        self.blocks = nn.ModuleDict()
        self.order = []
        left = {b["name"]: b for b in self.bb["blocks"]}
        widths = {}
        while left:
            for name, b in list(left.items()):
                read = [i.get("block_name") for i in b["inputs"]] + ([b["weights_of"]] if "weights_of" in b else [])
                if any(r in left for r in read):
                    continue
                del left[name]
                self.order.append(b)
                w = [widths[i["block_name"]] if "block_name" in i else self.width(i["feature_group_name"]) for i in b["inputs"]]
                widths[name] = self.add(name, b, w, widths)
        total = sum(widths[n] for n in self.bb["concat_blocks"])
        self.top_mlp = Mlp(total, self.bb["top_mlp"])
        self.output_mlp = nn.Linear(5, 1)

    def width(self, name):
        return 8 if name == "deep" else sum(WIDTH[f] for f in self.names if "__" in f)

    def add(self, name, b, w, widths):
        if "weights_of" in b:
            return widths[b["weights_of"]]
        kind = next(k for k in b if k not in ("name", "inputs"))
        c = b[kind]
        if kind == "gru":
            self.blocks[name] = Gru(w[0], c["hidden_size"], c.get("reset_before", False))
            return c["hidden_size"]
        if kind == "dien":
            self.blocks[name] = Dien(w[0], c)
        if kind == "transformer":
            self.blocks[name] = Encoder(w[0], c)
        if kind == "capsules":
            self.blocks[name] = Capsules(w[0], c)
            return c["num_interests"] * c.get("dim", w[0])
        if kind == "linear":
            self.blocks[name] = nn.Linear(w[0], c["units"])
            return c["units"]
        if kind == "seq_conv":
            self.blocks[name] = nn.Linear(w[0] * c["width"], c["filters"])
            return c["filters"]
        if kind == "conv":
            h = c["height"]
            x = w[0] // h
            self.blocks[name] = Conv(c["filters"], (c["kernel_height"], c["kernel_width"]))
            return c["filters"] * ((h - c["kernel_height"] + 1) // c["pool_height"]) * ((x - c["kernel_width"] + 1) // c["pool_width"])
        if kind == "concat":
            return sum(w)
        if kind == "similarity":
            D = w[0] if name == "near" else self.width("seq")
            return sum(w[0] // D * (x // D) for x in w[1:])
        return {"slice": lambda: c["width"], "unroll": lambda: w[0] * c["steps"], "label_attention": lambda: w[1]}.get(kind, lambda: w[0])()

    def compute(self, b, v, q, mask):
        """What a block gives, and its query."""
        name = b.get("weights_of", b["name"])
        kind = "linear" if "weights_of" in b else next(k for k in b if k not in ("name", "inputs"))
        c, m, x = b.get(kind), self.blocks[name] if name in self.blocks else None, v[0]
        if kind == "slice":
            return x[:, :, c["begin"]:c["begin"] + c["width"]], q
        if kind == "gru":
            h = m(x, mask, start=v[1] if c.get("start") else None, reverse=c.get("reverse", False))
            return (h if "output" in c else last(h.flip(1) if c.get("reverse") else h, mask)), q
        if kind == "concat" and len(v) > 1:
            return torch.cat(v, 2), q
        if kind == "dien":
            return m(q, x, v[1], mask), None
        if kind == "transformer":
            s, t = m(x, mask, q)
            out = str(c.get("output", "SUM"))
            if out == "STEPS":
                return s, t
            n = mask.sum(1, keepdim=True).clamp(min=1)
            return {"SUM": s.sum(1) + t, "MEAN": s.sum(1) / n, "TARGET": t}[out], None
        if kind == "capsules":
            return m(x, mask).flatten(1), None
        if kind == "label_attention":
            k = x.reshape(len(x), -1, v[1].shape[1])
            s = (k @ v[1].unsqueeze(2)).squeeze(2)
            return (F.softmax(s ** c["power"], 1).unsqueeze(2) * k).sum(1), None
        if kind == "seq_conv":
            n = c["width"]
            before = (n - 1) // 2
            p = F.pad(x * mask.unsqueeze(2), (0, 0, before, n - 1 - before))
            return m(torch.cat([p[:, i:i + x.shape[1]] for i in range(n)], 2)), q
        if kind == "pooling":
            if str(c["pooling_type"]) == "max":
                return x.masked_fill(~mask.unsqueeze(2), -1e30).max(1).values * mask.any(1, keepdim=True), None
            at = (mask.sum(1) - 1).clamp(min=0)
            return x[torch.arange(len(x)), at] * mask.any(1, keepdim=True), None
        if kind == "unroll":
            x = F.pad(x * mask.unsqueeze(2), (0, 0, 0, max(0, c["steps"] - MAX)))[:, :c["steps"]]
            return x.flatten(1), None
        if kind == "similarity":
            D = v[0].shape[1] if b["name"] == "near" else self.width("seq")
            a = x.reshape(len(x), -1, D)
            parts = [(a @ y.reshape(len(y), -1, D).transpose(1, 2)).flatten(1) for y in v[1:]]
            return c.get("scale", 1.0) * torch.cat(parts, 1), None
        if kind == "conv":
            y = F.relu(m(x.reshape(len(x), 1, c["height"], -1)))
            return F.max_pool2d(y, (c["pool_height"], c["pool_width"])).flatten(1), None
        if kind == "activation":
            return torch.tanh(x), q
        return (m(x), None) if m else (x, q)

    def forward(self, t, x):
        item, shop = t[KEYS % (4, "item")], t.get(KEYS % (3, "shop"))
        mask = torch.arange(MAX).unsqueeze(0) < x["len"].unsqueeze(1)
        steps = {"clicks__item": item[x["items"]], "clicks__shop": shop[x["shops"]] if shop is not None else None, "clicks__price": x["prices"].unsqueeze(2)}
        groups = {"deep": (torch.cat([t[POOLED % "user"][x["user"]], t[POOLED % "item"][x["item"]]], 1), None),
                  "seq": (torch.cat([steps[n] for n in self.names if "__" in n], 2) * mask.unsqueeze(2),
                          item[x["item"]] if "item" in self.names else None)}
        done = {}
        for b in self.order:
            v = [done[i["block_name"]] if "block_name" in i else groups[i["feature_group_name"]] for i in b["inputs"]]
            query = next((q for _, q in v if q is not None), None)
            done[b["name"]] = self.compute(b, [a for a, _ in v], query, mask)
        self.aux = sum(m.aux for m in self.blocks.values() if isinstance(m, Dien))
        return self.output_mlp(self.top_mlp(torch.cat([done[n][0] for n in self.bb["concat_blocks"]], 1)))


if __name__ == "__main__":
    for name in sys.argv[1:] or CASES:
        build(name, CASES[name], Net)
