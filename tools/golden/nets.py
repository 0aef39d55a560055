"""The interaction models of models.py as torch modules, written from the formulas.

Attributes are named so that named_parameters() gives the names that checkpoints use. Each net takes
`inputs` (models.Inputs), the conf of its member of model_config and the number of classes K, and its
forward a function g(group) that gives the concatenated features of a group.
"""

import torch
from torch import nn


class Weight(nn.Module):
    def __init__(self, *shape):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(*shape) * 0.4)


class Bias(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(width))


class CrossV1(nn.Module):
    def __init__(self, width, conf):
        super().__init__()
        n = conf.get("cross_num", 3)
        self.w = nn.ModuleList(nn.Linear(width, 1, bias=False) for _ in range(n))
        self.b = nn.ParameterList(nn.Parameter(torch.zeros(width)) for _ in range(n))

    def forward(self, x0):
        x = x0
        for w, b in zip(self.w, self.b):
            x = x0 * w(x) + b + x
        return x


class CrossV2(nn.Module):
    def __init__(self, width, conf):
        super().__init__()
        n, rank = conf.get("cross_num", 3), conf.get("low_rank", 32)
        self.u_kernels = nn.ModuleList(nn.Linear(width, rank, bias=False) for _ in range(n))
        self.v_kernels = nn.ModuleList(nn.Linear(rank, width) for _ in range(n))

    def forward(self, x0):
        x = x0
        for u, v in zip(self.u_kernels, self.v_kernels):
            x = x0 * v(u(x)) + x
        return x


class MaskBlock(nn.Module):
    def __init__(self, width, mask_width, conf):
        super().__init__()
        ratio = conf.get("reduction_ratio", 1.0)
        inner = int(width * ratio) if ratio else conf["aggregation_dim"]
        hidden = conf["hidden_dim"]
        self.mask_generator = nn.Sequential(nn.Linear(mask_width, inner), nn.ReLU(), nn.Linear(inner, width))
        self.ffn = nn.Sequential(nn.Linear(width, hidden), nn.LayerNorm(hidden), nn.ReLU())

    def forward(self, v, e):
        return self.ffn(v * self.mask_generator(e))


class MaskNetModule(nn.Module):
    def __init__(self, width, conf, Mlp):
        super().__init__()
        n, self.parallel = conf["n_mask_blocks"], conf.get("use_parallel", True)
        hidden = conf["mask_block"]["hidden_dim"]
        widths = [width] * n if self.parallel else [width] + [hidden] * (n - 1)
        self.ln_emb = nn.LayerNorm(width)
        self.mask_blocks = nn.ModuleList(MaskBlock(w, width, conf["mask_block"]) for w in widths)
        self.width = n * hidden if self.parallel else hidden
        self.top_mlp = None
        if "top_mlp" in conf:
            self.top_mlp = Mlp(self.width, conf["top_mlp"])
            self.width = self.top_mlp.width

    def forward(self, e):
        h = self.ln_emb(e)
        if self.parallel:
            h = torch.cat([block(h, e) for block in self.mask_blocks], 1)
        else:
            for block in self.mask_blocks:
                h = block(h, e)
        return h if self.top_mlp is None else self.top_mlp(h)


class Cin(nn.Module):
    def __init__(self, n, conf):
        super().__init__()
        sizes = [n] + conf["cin_layer_size"]
        self.cin_layers = nn.ModuleList(nn.Conv1d(n * a, b, 1) for a, b in zip(sizes, sizes[1:]))
        self.width = sum(conf["cin_layer_size"])

    def forward(self, x0):
        x, out = x0, []
        for conv in self.cin_layers:
            z = x[:, :, None] * x0[:, None]  # (B, H, F, D)
            x = conv(z.flatten(1, 2))
            out.append(x.sum(2))
        return torch.cat(out, 1)


class FmBlock(nn.Module):
    def __init__(self, n, d, conf, Mlp):
        super().__init__()
        c = conf.get("compressed_feature_num", 16)
        self.weight = nn.Parameter(torch.randn(n, c) * 0.4)
        self.norm = nn.LayerNorm(n * c)
        self.mlp = Mlp(n * c, conf["feature_num_mlp"])
        self.feature_out_liner = nn.Linear(self.mlp.width, conf["fmb_feature_num"] * d)

    def forward(self, x):
        h = torch.einsum("bnd,bmd,mc->bnc", x, x, self.weight).flatten(1)
        return self.feature_out_liner(self.mlp(self.norm(h))).reshape(len(x), -1, x.shape[2])


class WuKongLayer(nn.Module):
    def __init__(self, n, d, conf, Mlp):
        super().__init__()
        self.n = conf["lcb_feature_num"] + conf["fmb_feature_num"]
        self.lcb = Weight(n, conf["lcb_feature_num"])
        self.fmb = FmBlock(n, d, conf, Mlp)
        self.norm = nn.LayerNorm(d)
        self.residual_projection = Weight(n, self.n) if n != self.n else None

    def forward(self, x):
        def mix(w):
            return torch.einsum("bnd,nm->bmd", x, w.weight)

        y = torch.cat([self.fmb(x), mix(self.lcb)], 1)
        return self.norm(y + (x if self.residual_projection is None else mix(self.residual_projection)))


class Attention(nn.Module):
    def __init__(self, d, conf):
        super().__init__()
        self.heads, self.head_dim = conf.get("num_heads", 2), conf.get("head_dim", 32)
        self.width = self.heads * self.head_dim
        self.scale = self.head_dim**-0.5 if conf.get("use_scale") else 1.0
        self.w_q, self.w_k, self.w_v = (nn.Linear(d, self.width, bias=False) for _ in range(3))
        self.w_res = nn.Linear(d, self.width, bias=False) if conf.get("use_residual", True) else None

    def forward(self, x):
        q, k, v = (w(x).unflatten(2, (self.heads, self.head_dim)) for w in (self.w_q, self.w_k, self.w_v))
        a = torch.softmax(torch.einsum("bihd,bjhd->bhij", q, k) * self.scale, 3)
        y = torch.einsum("bhij,bjhd->bihd", a, v).flatten(2)
        return torch.relu(y if self.w_res is None else y + self.w_res(x))


# ---- whole models ----

def first(inputs):
    return next(iter(inputs.groups))


def stack(x, inputs, group):
    return x.reshape(len(x), len(inputs.widths(group)), -1)


class Dcn(nn.Module):
    def __init__(self, kind, conf, inputs, K, Mlp):
        super().__init__()
        self.inputs, self.group = inputs, first(inputs)
        width = wide = inputs.width(self.group)
        self.backbone = Mlp(width, conf["backbone"]) if "backbone" in conf else None
        if self.backbone is not None:
            width = self.backbone.width
        self.cross = (CrossV1 if kind == "dcn_v1" else CrossV2)(width, conf["cross"])
        self.deep = Mlp(wide, conf["deep"]) if "deep" in conf else None
        if self.deep is not None:
            width += self.deep.width
        final = Mlp(width, conf["final"])
        output = nn.Linear(final.width, K, bias=False)
        self.last = ("final_dnn", "output_linear") if kind == "dcn_v1" else ("final", "output_mlp")
        self.add_module(self.last[0], final)
        self.add_module(self.last[1], output)

    def forward(self, g):
        x = g(self.group)
        z = self.cross(x if self.backbone is None else self.backbone(x))
        if self.deep is not None:
            z = torch.cat([z, self.deep(x)], 1)
        final, output = (getattr(self, name) for name in self.last)
        return output(final(z))


class MaskNet(nn.Module):
    def __init__(self, kind, conf, inputs, K, Mlp):
        super().__init__()
        self.inputs, self.group = inputs, first(inputs)
        self.mask_net_layer = MaskNetModule(inputs.width(self.group), conf["mask_net_module"], Mlp)
        self.output_linear = nn.Linear(self.mask_net_layer.width, K, bias=False)

    def forward(self, g):
        return self.output_linear(self.mask_net_layer(g(self.group)))


class XDeepFm(nn.Module):
    def __init__(self, kind, conf, inputs, K, Mlp):
        super().__init__()
        self.inputs = inputs
        self.cin = Cin(len(inputs.widths("wide")), conf["cin"])
        self.deep = Mlp(inputs.width("deep"), conf["deep"])
        self.final = Mlp(self.cin.width + self.deep.width, conf["final"])
        self.output_mlp = nn.Linear(self.final.width, K)

    def forward(self, g):
        cin = self.cin(stack(g("wide"), self.inputs, "wide"))
        return self.output_mlp(self.final(torch.cat([cin, self.deep(g("deep"))], 1)))


class WuKong(nn.Module):
    def __init__(self, kind, conf, inputs, K, Mlp):
        super().__init__()
        self.inputs = inputs
        self.group = first(inputs) if len(inputs.groups) == 1 else "sparse"
        n, d = len(inputs.widths(self.group)), inputs.widths(self.group)[0]
        self.dense_mlp = Mlp(inputs.width("dense"), conf["dense_mlp"]) if "dense_mlp" in conf else None
        if self.dense_mlp is not None:
            n += 1
        self._wukong_layers = nn.ModuleList()
        for c in conf["wukong_layers"]:
            self._wukong_layers.append(WuKongLayer(n, d, c, Mlp))
            n = self._wukong_layers[-1].n
        self.final_mlp = Mlp(n * d, conf["final"])
        self.output_mlp = nn.Linear(self.final_mlp.width, K)

    def forward(self, g):
        x = stack(g(self.group), self.inputs, self.group)
        if self.dense_mlp is not None:
            x = torch.cat([self.dense_mlp(g("dense"))[:, None], x], 1)
        for layer in self._wukong_layers:
            x = layer(x)
        return self.output_mlp(self.final_mlp(x.flatten(1)))


class AutoInt(nn.Module):
    def __init__(self, kind, conf, inputs, K, Mlp):
        super().__init__()
        self.inputs = inputs
        self.group = "fields" if "fields" in inputs.groups else first(inputs)
        self.deep_group = "deep" if "deep" in inputs.groups else self.group
        n, d = len(inputs.widths(self.group)), inputs.widths(self.group)[0]
        self.attention_layers = nn.ModuleList()
        for c in conf["attention_layers"]:
            self.attention_layers.append(Attention(d, c))
            d = self.attention_layers[-1].width
        width = n * d
        self.deep_mlp = Mlp(inputs.width(self.deep_group), conf["deep"]) if "deep" in conf else None
        if self.deep_mlp is not None:
            width += self.deep_mlp.width
        self.final_mlp = Mlp(width, conf["final"]) if "final" in conf else None
        self.output_mlp = nn.Linear(width if self.final_mlp is None else self.final_mlp.width, K)

    def forward(self, g):
        x = stack(g(self.group), self.inputs, self.group)
        for layer in self.attention_layers:
            x = layer(x)
        x = x.flatten(1)
        if self.deep_mlp is not None:
            x = torch.cat([x, self.deep_mlp(g(self.deep_group))], 1)
        return self.output_mlp(x if self.final_mlp is None else self.final_mlp(x))


class Shallow(nn.Module):
    """logistic_regression, fm, ffm. inputs.groups are the views that views() makes."""

    def __init__(self, kind, conf, inputs, K, Mlp):
        super().__init__()
        self.kind, self.inputs, self.K = kind, inputs, K
        numbers = sum(w for w, t in zip(inputs.widths("linear"), inputs.from_table("linear")) if not t)
        self.linear = nn.Linear(numbers, K) if numbers else Bias(K)
        if "dim" in inputs.groups.get("pairs", {}):
            self.k, group = conf["embedding_dim"], inputs.groups["pairs"]
            plain = [f for f, t in zip(group["feature_names"], inputs.from_table("pairs")) if not t]
            weights = {f: Weight(inputs.features[f].get("value_dim", 1), group["dim"]) for f in plain}
            setattr(self, kind, nn.ModuleDict(weights))

    def forward(self, g):
        parts, table = g("linear", split=True), self.inputs.from_table("linear")
        y = sum(p for p, t in zip(parts, table) if t)
        numbers = [p for p, t in zip(parts, table) if not t]
        y = y + (self.linear(torch.cat(numbers, 1)) if numbers else self.linear.bias)
        if self.kind == "logistic_regression":
            return y
        v = g("pairs", split=True)
        if "dim" in self.inputs.groups["pairs"]:
            names, weights = self.inputs.groups["pairs"]["feature_names"], getattr(self, self.kind)
            v = [p @ weights[f].weight if f in weights else p for f, p in zip(names, v)]
        v = torch.stack(v, 1)
        if self.kind == "fm":
            return y + 0.5 * (v.sum(1) ** 2 - (v**2).sum(1)).sum(1, keepdim=True)
        v = v.unflatten(2, (v.shape[1], self.k))  # (B, F, F, k)
        i, j = torch.triu_indices(v.shape[1], v.shape[1], 1)
        return y + (v * v.transpose(1, 2)).sum(3)[:, i, j].sum(1, keepdim=True)


def views(kind, conf, groups, K):
    """The groups of a shallow model as it reads them: tables of a width and a name of their own."""
    base = next(iter(groups))
    pairs = groups.get(kind, groups[base])
    linear = groups.get("wide", pairs)
    out = {"linear": dict(linear, dim=K, suffix="_wide")}
    if kind == "fm":
        out["pairs"] = dict(pairs, dim=conf["embedding_dim"], suffix="_fm") if conf["embedding_dim"] else pairs
    if kind == "ffm":
        out["pairs"] = dict(pairs, dim=len(pairs["feature_names"]) * conf["embedding_dim"], suffix="_ffm")
    return out


NETS = dict(dcn_v1=Dcn, dcn_v2=Dcn, mask_net=MaskNet, xdeepfm=XDeepFm, wukong=WuKong, autoint=AutoInt, fm=Shallow,
            ffm=Shallow, logistic_regression=Shallow)
