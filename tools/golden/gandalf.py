"""Golden runs of Gandalf's networks from their Cruise configs: tests/golden/gandalf/<case>.{yaml,txt} and data.jsonl.

The networks are written here from the published formulas, apart from crank's: the encoder of all slots in one tensor per
layer, a classifier, and AITM. The layers are too wide to write weights into a file, so both sides compute the first
weights: element k of a parameter is drawn from a hash of its name and k (`first`). The
run is in float64; <case>.txt has the outputs of the first batch before the first step, ten losses, the outputs of that
batch afterwards (evaluation), and norms of some parameters. Run: /usr/bin/python3 tools/golden/gandalf.py
"""

import json
import os

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "golden", "gandalf")
B, STEPS, SLOTS, D, K, L, ASR = 16, 10, 3, 4, 3, 5, 2
RANGES = {0: (0, 100), 2: (-6, 1)}
EMB = "model.embedding_group.emb_impls.__BASE__.dense_ec.dense_embs.autodis#%d#%d#feature_name#slot_%d.%s_slot_%d.%s"


def drawn(name, n):
    """Numbers between -1 and 1: FNV-1a of the name, then splitmix64."""
    h = 14695981039346656037
    for c in name.encode():
        h = (h ^ c) * 1099511628211 % (1 << 64)
    z = np.arange(n, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(h)
    z = (z ^ z >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ z >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return 2 * ((z ^ z >> np.uint64(31)) >> np.uint64(11)).astype(np.float64) / (1 << 53) - 1


def first(name, shape):
    """The first value of a parameter; what batch norm needs is as it always is."""
    n = int(np.prod(shape))
    if name.endswith("running_mean"):
        return np.zeros(shape)
    if name.endswith("running_var"):
        return np.ones(shape)
    scale = 2 / np.sqrt(shape[-1]) if len(shape) > 1 else 0.1
    x = scale * drawn(name, n)
    if "_bn" in name and name.endswith("weight") or "temperature" in name:
        x = 1 + x
    return x.astype(np.float32).astype(np.float64).reshape(shape)


def rows(seed):
    rng = np.random.default_rng(seed)
    out = []
    for i in range(B * STEPS):
        y = int(rng.uniform() < 0.4)
        row = {"label": y, "censor_label": int(y or rng.uniform() < 0.3), "reject_label": y}
        row["slot_0"] = -1 if i % 7 == 3 else int(rng.integers(0, 130))
        row["slot_1"] = None if i % 11 == 5 else round(float(rng.uniform(-0.2, 1.3)), 4)
        row["slot_2"] = round(float(rng.uniform(-7, 2)), 4)
        row["asr"] = [round(float(x), 4) for x in rng.standard_normal(ASR) + y]
        out.append(row)
    return out


def normal(row):
    n = []
    for s in range(SLOTS):
        v, (lo, hi) = row["slot_%d" % s], RANGES.get(s, (0, 1))
        n.append(0.0 if v is None or v == -1 else min(max((np.float32(v) - lo) / (hi - lo), 0.0), 1.0))
    return n


class Encoder(nn.Module):
    """All slots at once: (F, 3, L), (F, L, K), (F, K, D)."""

    def __init__(self, p):
        super().__init__()
        def stack(part, kind, shape, turn=False):
            v = [p(EMB % (D, K, s, part, s, kind), shape) for s in range(SLOTS)]
            return torch.stack([x.T if turn else x for x in v])
        self.w1, self.b1 = stack("proj_w", "weight", (L, 3), True), stack("proj_w", "bias", (L,))
        self.w2, self.b2 = stack("proj_m", "weight", (K, L), True), stack("proj_m", "bias", (K,))
        self.emb, self.tau = stack("meta_emb", "weight", (K, D)), stack("temperature", "weight", (K,))

    def forward(self, n):
        u = torch.stack([n, n * n, n.sqrt()], 2).unsqueeze(2)  # (B, F, 1, 3)
        a = F.leaky_relu(u @ self.w1 + self.b1[:, None])
        s = F.leaky_relu(a @ self.w2 + self.b2[:, None])
        p = torch.softmax((s * self.tau[:, None]).squeeze(2), -1)
        return (p.unsqueeze(-1) * self.emb).sum(2).flatten(1)


class Net:
    """Parameters by crank's names, created when they are first asked for."""

    def __init__(self, two):
        self.two, self.v, self.stats = two, {}, {}

    def p(self, name, shape):
        if name not in self.v:
            self.v[name] = torch.tensor(first(name, shape), requires_grad=True)
        return self.v[name]

    def linear(self, name, x, n, bias=True):
        return F.linear(x, self.p(name + ".weight", (n, x.shape[1])), self.p(name + ".bias", (n,)) if bias else None)

    def mlp(self, name, x, *widths):
        for i, n in enumerate(widths):
            x = F.relu(self.linear("model.blocks.%s.mlp.%d.perceptron.0" % (name, i), x, n))
        return x

    def bn(self, name, x, training):
        name, w = "model.blocks." + name, x.shape[1]
        if name not in self.stats:
            self.stats[name] = torch.zeros(w, dtype=torch.float64), torch.ones(w, dtype=torch.float64)
        mean, var = self.stats[name]
        return F.batch_norm(x, mean, var, self.p(name + ".weight", (w,)), self.p(name + ".bias", (w,)), training, 0.1, 1e-5)

    def __call__(self, n, asr, training):
        x = torch.cat([Encoder(self.p)(n), n, asr], 1)
        z = self.mlp("_bucket_embedding_bottom", x, 1024, 512)
        if not self.two:
            return [self.linear("model.output_mlp", self.mlp("_classifier_final", z, 256, 128), 1)]
        z = self.linear("model.blocks._shared", self.bn("_bn", z, training), 256)
        towers = []
        for task in ("censor", "reject"):
            t = z
            for i, w in enumerate((256, 128, 64)):
                t = self.mlp("_%s_tower_%d" % (task, i), self.bn("_%s_bn_%d" % (task, i), t, training), w)
            towers.append(t)
        info = self.mlp("_info", towers[0], 64)
        both = torch.stack([towers[1], info], 1)
        q, k, v = (both @ self.p("model.blocks._%s_0.weight" % c, (64, 64)).T for c in "qkv")
        a = torch.softmax((q * k).sum(-1) / 8, 1)
        ait = (a.unsqueeze(-1) * v).sum(1)
        return [self.linear("model.blocks._censor_layer", towers[0], 1), self.linear("model.blocks._reject_layer", ait, 1)]


def config(two):
    model = "EcomLiveGandalfAutoDisNNAsr%sCruiseModel" % ("Aitm" if two else "")
    mtl = "  mtl: {tower_dims: [256, 128, 64], loss_weight: [0.15, 0.85], constraint_weight: 0.3, drop_prob: [0, 0, 0]}\n"
    return """trainer: {default_root_dir: unused, max_epochs: 1}
model:
  type: %s
  features: {feature_num: 4, bucket_num: %d, bucket_dim: %d, layer_conf: [%d], slot_mask: [3]}
  asr_encoder: {embedding_dim: %d, emb_dropout_prob: 0}
%s  kwargs:
    dropout: 0
    optimizer: {optimizer_name: AdamW, learning_rate: 0.001, wd: 0.1}
data:
  type: EcomLiveGandalfParquetAutoDisCruiseDataModule
  dataset: {input_dir: .}
  feature_provider: {type: EcomLiveGandalfParquetAutoDis%sFeatureProvider, feature_num: 4, slot_mask: [3], feature_norm_info: {"0": [0, 100], "2": [-6, 1]}}
  data_factory: {type: JsonLDataFactory, batch_size: %d, shuffle: false, num_workers: 1}
""" % (model, K, D, L, ASR, mtl if two else "", "Mtl" if two else "", B)


def run(name, two):
    data = rows(7)
    with open(os.path.join(HERE, name + ".yaml"), "w") as f:
        f.write(config(two))
    with open(os.path.join(HERE, "data.jsonl"), "w") as f:
        for row in data:
            f.write(json.dumps(row) + "\n")
    n = torch.tensor([normal(r) for r in data], dtype=torch.float64)
    asr = torch.tensor([r["asr"] for r in data], dtype=torch.float64).float().double()
    labels = [torch.tensor([[float(r[k])] for r in data], dtype=torch.float64)
              for k in (("censor_label", "reject_label") if two else ("label",))]
    net = Net(two)
    with torch.no_grad():
        out = {"logits%d" % i: y for i, y in enumerate(net(n[:B], asr[:B], False))}
    opt = torch.optim.AdamW(net.v.values(), lr=0.001, betas=(0.9, 0.999), eps=1e-3, weight_decay=0.1)
    losses = []
    for step in range(STEPS):
        at = slice(step * B, step * B + B)
        ys = net(n[at], asr[at], True)
        bce = [F.binary_cross_entropy_with_logits(y, t[at]) for y, t in zip(ys, labels)]
        loss = bce[0]
        if two:
            p = [torch.sigmoid(y) for y in ys]
            loss = 0.15 * bce[0] + 0.85 * bce[1] + 0.3 * torch.clamp(p[1] - p[0], min=0).sum()
        losses.append(loss.item())
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        out.update({"after%d" % i: y for i, y in enumerate(net(n[:B], asr[:B], False))})
    with open(os.path.join(HERE, name + ".txt"), "w") as f:
        f.write("# ten steps of %s; written by tools/golden/gandalf.py, do not edit\n" % name)
        def put(key, v):
            f.write("tensor %s %d : %s\n" % (key, len(v), " ".join("%.9g" % x for x in v)))
        for key, v in out.items():
            put(key, v.flatten().tolist())
        put("loss", losses)
        for key, v in net.v.items():
            put("norm/" + key, [v.detach().norm().item()])
    print(name, losses)


if __name__ == "__main__":
    torch.set_num_threads(1)
    os.makedirs(HERE, exist_ok=True)
    run("one_task", False)
    run("two_tasks", True)
