"""Golden runs of models over sequences: tests/golden/data/<case>/{pipeline.config,data.csv,expect.txt}, as models.py
has them. The attention is written with padding and masks, as frameworks do it; statistics of batch norm (Dice) are
those of the real steps. Run: python3 tools/golden/seq.py [case ...]
"""

import copy
import os
import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from common import DATA, Writer
from models import B, STEPS, Mlp, id_feature, mlp, raw_feature
from pbtxt import Name, text

MAX = 6
ITEMS, SHOPS = 11, 5


def config(attn, query):
    return pipeline(dict(
            feature_groups=[
                dict(group_name="deep", feature_names=["user", "item"], group_type=Name("DEEP")),
                dict(group_name="seq", feature_names=query + ["clicks__item", "clicks__shop", "clicks__price"],
                     group_type=Name("SEQUENCE"))],
            multi_tower_din=dict(towers=[dict(input="deep", mlp=mlp(6))], din_towers=[dict(input="seq", attn_mlp=attn)],
                                 final=mlp(5))))


def pipeline(model):
    return dict(
        train_input_path="data.csv", eval_input_path="data.csv", model_dir="model",
        train_config=dict(
            sparse_optimizer={"adagrad_optimizer": dict(lr=0.05), "constant_learning_rate": {}},
            # the slope of the scores' bias is 0 but for rounding, which Adam would blow up
            dense_optimizer={"sgd_optimizer": dict(lr=0.1), "constant_learning_rate": {}},
            num_epochs=1, use_tensorboard=False),
        eval_config={},
        data_config=dict(batch_size=B, dataset_type=Name("CsvDataset"), fg_mode=Name("FG_NONE"), fg_encoded_multival_sep="|",
                         with_header=True, label_fields=["label"], num_workers=1),
        feature_configs=[
            id_feature("user", 9), id_feature("item", ITEMS, embedding_name="item_emb"), id_feature("shop", SHOPS, dim=3),
            {"sequence_feature": dict(sequence_name="clicks", sequence_length=MAX, sequence_delim=";", features=[
                id_feature("item", ITEMS, embedding_name="item_emb"), id_feature("shop", SHOPS, dim=3, embedding_name="shop_emb"),
                raw_feature("price")])},
        ],
        model_config=dict(
            model, num_class=1, losses=[{"binary_cross_entropy": {}}], metrics=[{"auc": {}}]))


CASES = {
    "multi_tower_din": config(mlp(7, 4), ["item", "shop"]),
    "multi_tower_din_dice": config(mlp(6, activation="Dice"), ["item"]),
    "multi_tower_din_bn": config(mlp(6, 5, use_bn=True, activation="nn.LeakyReLU(negative_slope=0.2)"), ["item", "shop"]),
}
POOLED = "model.embedding_group.emb_impls.__BASE__.ebc.embedding_bags.%s_emb.weight"
KEYS = "model.embedding_group.seq_emb_impls.__BASE__.ec_dict.%d.embeddings.%s_emb.weight"


class Din(nn.Module):
    def __init__(self, C, attn):
        super().__init__()
        self.mlp = Mlp(4 * C, attn, steps=True)
        self.linear = nn.Linear(attn["hidden_units"][-1], 1)

    def forward(self, q, s, mask):
        q = F.pad(q, (0, s.shape[2] - q.shape[1])).unsqueeze(1).expand_as(s)
        u = torch.cat([q, s, q - s, q * s], 2)
        score = torch.full(mask.shape, -2.0**31 + 1, dtype=s.dtype)
        if mask.any():
            score = score.masked_scatter(mask, self.linear(self.mlp(u[mask])).squeeze(1))
        return (F.softmax(score, 1).unsqueeze(2) * s).sum(1)


class Net(nn.Module):
    """Tables are tensors beside the modules, so that each has its own rule."""

    def __init__(self, attn, query):
        super().__init__()
        self.query = query
        self.tables = {POOLED % "user": (9, 4), POOLED % "item": (ITEMS, 4), KEYS % (4, "item"): (ITEMS, 4), KEYS % (3, "shop"): (SHOPS, 3)}
        self.tables = {k: torch.empty(s).uniform_(-0.5, 0.5) for k, s in self.tables.items()}
        self.towers = nn.ModuleDict({"deep": Mlp(8, mlp(6))})
        self.din_towers = nn.ModuleList([Din(8, attn)])
        self.final_mlp = Mlp(6 + 8, mlp(5))
        self.output_mlp = nn.Linear(5, 1)

    def forward(self, t, x):
        item, shop = t[KEYS % (4, "item")], t[KEYS % (3, "shop")]
        deep = self.towers["deep"](torch.cat([t[POOLED % "user"][x["user"]], t[POOLED % "item"][x["item"]]], 1))
        q = torch.cat([{"item": item, "shop": shop}[n][x[n]] for n in self.query], 1)
        mask = torch.arange(MAX).unsqueeze(0) < x["len"].unsqueeze(1)
        s = torch.cat([item[x["items"]], shop[x["shops"]], x["prices"].unsqueeze(2)], 2) * mask.unsqueeze(2)
        return self.output_mlp(self.final_mlp(torch.cat([deep, self.din_towers[0](q, s, mask)], 1)))


def names(net):
    """Parameters and statistics by their names in a checkpoint."""
    return {"model." + k: v for k, v in [*net.named_parameters(), *((k, b) for k, b in net.named_buffers() if "running" in k or "routing" in k)]}


def run(net, batches, dtype):
    net = copy.deepcopy(net).to(dtype)
    tables = {k: v.to(dtype).clone().requires_grad_(True) for k, v in net.tables.items()}
    state = {k: torch.zeros_like(v) for k, v in tables.items()}
    out = {"init/" + k: v.detach().clone() for k, v in [*tables.items(), *names(net).items()]}
    opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for step, (x, y) in enumerate(batches):
        x = {k: v.to(dtype) if v.is_floating_point() else v for k, v in x.items()}
        opt.zero_grad()
        logits = net(tables, x)
        aux = getattr(net, "aux", 0)
        if step == 0:
            out["logits"] = eval_logits(net, tables, x)
        loss = F.binary_cross_entropy_with_logits(logits.squeeze(1), y.to(dtype)) + aux
        losses.append(loss.item())
        grads = torch.autograd.grad(loss, [*tables.values(), *net.parameters()])
        named = dict(zip([*tables, *("model." + k for k, _ in net.named_parameters())], grads))
        if step == 0:
            out.update({"grad/" + k: g.clone() for k, g in named.items()})
        for p, g in zip(net.parameters(), grads[len(tables):]):
            p.grad = g
        opt.step()
        with torch.no_grad():
            for k, w in tables.items():
                g = named[k]
                touched = (g != 0).any(1)
                state[k][touched] += g[touched]**2
                w[touched] -= 0.05 * g[touched] / (state[k][touched].sqrt() + 1e-8)
    out["loss"] = torch.tensor(losses, dtype=torch.float64)
    out.update({"final/" + k: v.detach().clone() for k, v in [*tables.items(), *names(net).items()]})
    x = {k: v.to(dtype) if v.is_floating_point() else v for k, v in batches[0][0].items()}
    out["eval_logits"] = eval_logits(net, tables, x)
    return {k: v.double() for k, v in out.items()}


def eval_logits(net, tables, x):
    training = net.training
    net.eval()
    with torch.no_grad():
        y = net(tables, x)
    net.train(training)
    return y


def din_net(conf):
    m = conf["model_config"]
    query = [f for f in m["feature_groups"][1]["feature_names"] if "__" not in f]
    return Net(m["multi_tower_din"]["din_towers"][0]["attn_mlp"], query)


def build(name, conf, new_net):
    rng = np.random.default_rng(sum(map(ord, name)))
    torch.manual_seed(sum(map(ord, name)))
    net = new_net(conf)
    with torch.no_grad():
        for p in net.parameters():
            if p.dim() == 1:
                p.add_(0.2 * torch.randn(p.shape))
        for k, b in net.named_buffers():
            if "running" in k:
                b.add_(0.3 * torch.rand(b.shape))
    n = B * STEPS
    c = dict(user=rng.integers(0, 9, n), item=rng.integers(0, ITEMS, n), shop=rng.integers(0, SHOPS, n), len=rng.integers(0, MAX + 1, n),
             items=rng.integers(0, ITEMS, (n, MAX)), shops=rng.integers(0, SHOPS, (n, MAX)),
             prices=rng.standard_normal((n, MAX)).astype(np.float32))
    label = rng.integers(0, 2, n)
    folder = os.path.join(DATA, name)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "pipeline.config"), "w") as f:
        f.write(text(conf))
    with open(os.path.join(folder, "data.csv"), "w") as f:
        f.write("label,user,item,shop,clicks__item,clicks__shop,clicks__price\n")
        for i in range(n):
            steps = [";".join(form % v for v in c[k][i, :c["len"][i]]) for k, form in (("items", "%d"), ("shops", "%d"), ("prices", "%.9g"))]
            f.write(",".join(["%d" % label[i], "%d" % c["user"][i], "%d" % c["item"][i], "%d" % c["shop"][i], *steps]) + "\n")
    batches = [({k: torch.from_numpy(v[t * B:(t + 1) * B]) for k, v in c.items()}, torch.from_numpy(label[t * B:(t + 1) * B])) for t in range(STEPS)]
    exact, single = run(net, batches, torch.float64), run(net, batches, torch.float32)
    worst = max(((v - single[k]).abs() / (1e-2 + v.abs())).max().item() for k, v in exact.items())
    out = Writer(os.path.join(name, "expect.txt"), "ten steps of " + name)
    for key, value in exact.items():
        out.add(key, value.numpy().astype(np.float32))
    out.close()
    print("%-22s float32 against float64: %.0e" % (name, worst))


if __name__ == "__main__":
    for name in sys.argv[1:] or CASES:
        build(name, CASES[name], din_net)
