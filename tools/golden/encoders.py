"""Golden runs of sequence encoders inside a DEEP group: tests/golden/data/enc_<case>, as seq.py has them. Everything
is padded and masked here, as frameworks do it. Run: python3 tools/golden/encoders.py [case ...]
"""

import sys

import torch
from torch import nn
from torch.nn import functional as F

from models import Mlp, mlp
from pbtxt import Name
from seq import ITEMS, KEYS, MAX, POOLED, SHOPS, Din, build, pipeline

WIDTH = {"item": 4, "shop": 3, "clicks__item": 4, "clicks__shop": 3, "clicks__price": 1}
ALL = ["item", "shop", "clicks__item", "clicks__shop", "clicks__price"]


def config(groups, encoders):
    return pipeline(dict(
        feature_groups=[dict(group_name="deep", feature_names=["user", "item"], group_type=Name("DEEP"),
                             sequence_groups=groups, sequence_encoders=encoders)],
        multi_tower=dict(towers=[dict(input="deep", mlp=mlp(6))], final=mlp(5))))


def one(encoder, names=ALL):
    return config([dict(feature_names=names)], [encoder])


CASES = {
    "enc_din": one({"din_encoder": dict(attn_mlp=mlp(7, 4))}),
    "enc_din_dice": one({"din_encoder": dict(attn_mlp=mlp(7, activation="Dice"), max_seq_length=3)}, ["item", *ALL[2:]]),
    "enc_simple": one({"simple_attention": {}}, ["item", "shop", "clicks__item", "clicks__shop"]),
    "enc_simple_cut": one({"simple_attention": dict(max_seq_length=2)}, ["item", "clicks__item"]),
    "enc_mean": one({"pooling_encoder": {}}, ALL[2:]),
    "enc_sum_cut": one({"pooling_encoder": dict(pooling_type="sum", max_seq_length=4)}, ALL[2:]),
    "enc_windows": one({"multi_window_din_encoder": dict(attn_mlp=mlp(7, 4), windows_len=[2, 1, 3])}),
    # steps behind the windows do not count
    "enc_windows_bn": one({"multi_window_din_encoder": dict(attn_mlp=mlp(6, use_bn=True), windows_len=[1, 2])}, ["item", *ALL[2:]]),
    "enc_self": one({"self_attention_encoder": dict(multihead_attn_dim=6, num_heads=2)}, ALL[2:]),
    # the mean is over all steps, also those that are cut
    "enc_self_cut": one({"self_attention_encoder": dict(multihead_attn_dim=20, num_heads=4, max_seq_length=4)}, ALL[2:]),
    "enc_many": config(
        [dict(group_name="a", feature_names=["item", "clicks__item", "clicks__price"], embedding_name_suffix="x"),
         dict(group_name="b", feature_names=["item", "clicks__item"]),
         dict(group_name="c", feature_names=["clicks__shop"])],
        [{"din_encoder": dict(name="d", input="a", attn_mlp=mlp(5))},
         {"pooling_encoder": dict(input="c", pooling_type="sum")},
         {"simple_attention": dict(input="b")},
         {"pooling_encoder": dict(input="a", max_seq_length=2)},
         {"self_attention_encoder": dict(input="b", multihead_attn_dim=4, num_heads=1)}]),
}


class Simple(nn.Module):
    def forward(self, q, s, mask, length):
        score = torch.where(mask, (s * q.unsqueeze(1)).sum(2), torch.tensor(-2.0**31 + 1, dtype=s.dtype))
        return (F.softmax(score, 1).unsqueeze(2) * s).sum(1)


class Pool(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.mean = kind == "mean"

    def forward(self, q, s, mask, length):
        return s.sum(1) / (mask.sum(1).clamp(min=1).unsqueeze(1) if self.mean else 1)


class DinCut(Din):
    def forward(self, q, s, mask, length):
        return super().forward(q, s, mask)


class Windows(nn.Module):
    """attn_mlp sees real steps only, so that batch norm does not count padding."""

    def __init__(self, C, conf):
        super().__init__()
        self.lens = conf["windows_len"]
        self.mlp = Mlp(3 * C, conf["attn_mlp"], steps=True)
        self.linear = nn.Linear(conf["attn_mlp"]["hidden_units"][-1], 1)
        self.active = nn.PReLU()

    def forward(self, q, s, mask, length):
        q = F.pad(q, (0, s.shape[2] - q.shape[1]))
        every = q.unsqueeze(1).expand_as(s)
        u = torch.cat([s, every * s, every], 2)
        kept = mask & (torch.arange(MAX) < sum(self.lens)).unsqueeze(0)
        a = torch.zeros(mask.shape, dtype=s.dtype).masked_scatter(kept, self.active(self.linear(self.mlp(u[kept]))).squeeze(1))
        out, at = [], 0
        for n in self.lens:
            count = (length - at).clamp(min=1, max=n).to(s.dtype).unsqueeze(1)
            out.append((a[:, at:at + n].unsqueeze(2) * s[:, at:at + n]).sum(1) / count)
            at += n
        return torch.cat([*out, q], 1)


class SelfAttention(nn.Module):
    """torch's own attention. A row whose keys are all masked would give NaN there: it may look at everything, and is left out."""

    def __init__(self, C, conf):
        super().__init__()
        D = conf["multihead_attn_dim"]
        self._query, self._key, self._value = nn.Linear(C, D), nn.Linear(C, D), nn.Linear(C, D)
        self._multihead_attn = nn.MultiheadAttention(D, conf["num_heads"], batch_first=True)

    def forward(self, q, s, mask, length):
        hidden = ~mask & mask.any(1, keepdim=True)
        y, _ = self._multihead_attn(self._query(s), self._key(s), self._value(s), key_padding_mask=hidden)
        return (y * mask.unsqueeze(2)).sum(1) / length.clamp(min=1).unsqueeze(1)


def encoder(kind, conf, C):
    if kind == "din_encoder":
        return DinCut(C, conf["attn_mlp"])
    if kind == "simple_attention":
        return Simple()
    if kind == "pooling_encoder":
        return Pool(conf.get("pooling_type", "mean"))
    return (Windows if kind == "multi_window_din_encoder" else SelfAttention)(C, conf)


def out_width(kind, conf, C):
    return {"multi_window_din_encoder": C * (len(conf.get("windows_len", [])) + 1), "self_attention_encoder": conf.get("multihead_attn_dim")}.get(kind, C)


class Net(nn.Module):
    def __init__(self, conf):
        super().__init__()
        group = conf["model_config"]["feature_groups"][0]
        self.groups = {g.get("group_name", "deep"): g for g in group["sequence_groups"]}
        self.confs = [next(iter(e.items())) for e in group["sequence_encoders"]]
        self.tables = {POOLED % "user": (9, 4), POOLED % "item": (ITEMS, 4)}
        for g in self.groups.values():
            for f in g["feature_names"]:
                if f != "clicks__price":
                    base = f.replace("clicks__", "")
                    self.tables[self.table(g, f)] = (ITEMS if base == "item" else SHOPS, WIDTH[f])
        self.tables = {k: torch.empty(s).uniform_(-0.5, 0.5) for k, s in self.tables.items()}
        encoders, width = [], 8
        for kind, c in self.confs:
            C = sum(WIDTH[f] for f in self.groups[c.get("input", "deep")]["feature_names"] if "__" in f)
            encoders.append(encoder(kind, c, C))
            width += out_width(kind, c, C)
        self.embedding_group = nn.ModuleDict({"_group_name_to_seq_encoders": nn.ModuleDict({"deep": nn.ModuleList(encoders)})})
        self.towers = nn.ModuleDict({"deep": Mlp(width, mlp(6))})
        self.final_mlp = Mlp(6, mlp(5))
        self.output_mlp = nn.Linear(5, 1)

    def table(self, g, f):
        name = KEYS % (WIDTH[f], f.replace("clicks__", ""))
        return name.replace("_emb.", "_emb_" + g["embedding_name_suffix"] + ".") if "embedding_name_suffix" in g else name

    def sequence(self, t, x, g, most):
        mask = torch.arange(MAX).unsqueeze(0) < x["len"].clamp(max=most).unsqueeze(1)
        steps = {"clicks__item": "items", "clicks__shop": "shops"}
        s = [x["prices"].unsqueeze(2) if f == "clicks__price" else t[self.table(g, f)][x[steps[f]]] for f in g["feature_names"] if "__" in f]
        q = [t[self.table(g, f)][x[f]] for f in g["feature_names"] if "__" not in f]
        return torch.cat(q, 1) if q else None, torch.cat(s, 2) * mask.unsqueeze(2), mask

    def forward(self, t, x):
        parts = [t[POOLED % "user"][x["user"]], t[POOLED % "item"][x["item"]]]
        for (kind, c), net in zip(self.confs, self.embedding_group["_group_name_to_seq_encoders"]["deep"]):
            q, s, mask = self.sequence(t, x, self.groups[c.get("input", "deep")], c.get("max_seq_length", 0) or MAX)
            parts.append(net(q, s, mask, x["len"]))
        return self.output_mlp(self.final_mlp(self.towers["deep"](torch.cat(parts, 1))))


if __name__ == "__main__":
    for name in sys.argv[1:] or CASES:
        build(name, CASES[name], Net)
