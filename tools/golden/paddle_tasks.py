"""Cases of paddle.py with several tasks: mmoe, share_bottom, ple, esmm, escm2, aitm."""

import numpy as np
import torch
from torch.nn import functional as F

from paddle_nets import BAGS, N, Case, block, linear, mlp, new, write

CASES = {}


def layers(P, name, x, n):
    for i in range(n):
        x = torch.relu(linear(P, "model.%s.mlp.%d.perceptron.0" % (name, i), x))
    return x


# ---- the census models: two labels, two scores for each ----


def census_rows(rng, folder):
    x, y = rng.standard_normal((N, 6)).astype(np.float32), rng.integers(0, 2, (N, 2))
    write(folder, ["%d,%d," % tuple(t) + ",".join("%.9g" % v for v in r) for r, t in zip(x, y)])
    return dict(x=x), y


def towers(P, inputs):
    """Income, then marital status, the second and the first of the labels."""
    ends = ("_income", "_marital")
    return {e: linear(P, "model._task_tower.%d.linear" % t, layers(P, "_task_tower.%d.tower_mlp" % t, inputs[t], 1)) for t, e in enumerate(ends)}


def census_loss(z, y):
    return F.cross_entropy(z["_income"], y[:, 1]) + F.cross_entropy(z["_marital"], y[:, 0])


def mmoe_net(P, x, train):
    e = torch.stack([layers(P, "mmoe.expert_mlps.%d" % i, x["x"], 1) for i in range(3)], 1)
    gates = [F.softmax(linear(P, "model.mmoe.gate_finals.%d" % t, x["x"]), 1) for t in range(2)]
    return towers(P, [(g.unsqueeze(2) * e).sum(1) for g in gates])


def share_bottom_net(P, x, train):
    return towers(P, [layers(P, "bottom_mlp", x["x"], 1)] * 2)


def ple_net(P, x, train):
    tasks, shared = [x["x"]] * 2, x["x"]
    for l in range(2):
        at = "_extraction_nets.%d." % l
        own = [[layers(P, at + "_task_layers.%d.%d" % (t, i), tasks[t], 1) for i in range(2)] for t in range(2)]
        all = [layers(P, at + "_shared_layers.%d" % i, shared, 1) for i in range(2)]

        def mixed(gate, of, experts):
            w = F.softmax(linear(P, "model." + at + gate, of), 1)
            return (w.unsqueeze(2) * torch.stack(experts, 1)).sum(1)
        before, tasks = tasks, [mixed("_task_gates.%d" % t, tasks[t], own[t] + all) for t in range(2)]
        if l == 0:
            shared = mixed("_shared_gate", shared, own[0] + own[1] + all)
    return towers(P, tasks)


CASES["mmoe"] = Case("mmoe", new("feature_size: 6, expert_num: 3, expert_size: 5, gate_num: 2, tower_size: 4"), census_rows, mmoe_net, census_loss, 0.1)
CASES["share_bottom"] = Case("share_bottom", new("feature_size: 6, bottom_size: 7, tower_size: 4, task_num: 2"), census_rows, share_bottom_net, census_loss, 0.1)
CASES["ple"] = Case("ple", new("feature_size: 6, task_num: 2, exp_per_task: 2, shared_num: 2, level_number: 2, expert_size: 5, tower_size: 4"),
                    census_rows, ple_net, census_loss, 0.1)



def ple_shipped(P, x, train):
    """Experts of the second task begin at number 2 of all experts, so that it shares one of the first task."""
    at, own, x = "_extraction_nets.0.", 3, x["x"]
    shared = [layers(P, at + "_shared_layers.%d" % i, x, 1) for i in range(2)]
    out = []
    for t in range(2):
        experts = [layers(P, at + "_task_layers.%d.%d" % divmod(2 * t + j, own), x, 1) for j in range(own)] + shared
        w = F.softmax(linear(P, "model." + at + "_task_gates.%d" % t, x), 1)
        out.append((w.unsqueeze(2) * torch.stack(experts, 1)).sum(1))
    return towers(P, out)


CASES["ple_compat"] = Case("ple", new("feature_size: 6, task_num: 2, exp_per_task: 3, shared_num: 2, level_number: 1, expert_size: 5, tower_size: 4", rate=0.01),
                           census_rows, ple_shipped, census_loss, 0.01, "Adam")

# ---- esmm: a click, and a click that leads to a purchase ----

FIELDS = ["101", "109_14", "110_14", "127_14", "150_14", "121", "122", "124", "125", "126", "127", "128", "129", "205", "206", "207", "210", "216", "508",
          "509", "702", "853", "301"]


def esmm_rows(rng, folder, dropped=False):
    """Rows of pairs of a field and an id; a field may come twice or not at all. As shipped, the reader leaves the first pair out."""
    lines, counts = [], np.zeros((N, len(FIELDS), 12), dtype=np.float32)
    y = rng.integers(0, 2, (N, 2))
    y[:, 1] *= y[:, 0]
    for r in range(N):
        pairs = [(int(f), int(i)) for f, i in zip(rng.integers(0, len(FIELDS), 8), rng.integers(1, 12, 8))]
        lines.append("%d,%d,%d," % (r, *y[r]) + ",".join("%s:%d" % (FIELDS[f], i) for f, i in pairs))
        for f, i in pairs[1 if dropped else 0:]:
            counts[r, f, i] += 1
    write(folder, lines)
    return dict(counts=counts), y


def esmm_net(P, x, train):
    E = P[BAGS % "SparseFeatFactors"]
    e = (x["counts"].to(E.dtype) @ E).flatten(1)
    ctr, cvr = (linear(P, "model.%s_tower.linear" % t, layers(P, t + "_tower.tower_mlp", e, n)) for t, n in (("ctr", 2), ("cvr", 1)))
    both = torch.sigmoid(ctr) * torch.sigmoid(cvr)
    return {"_ctr": ctr, "_cvr": cvr, "_ctcvr": torch.log(both) - torch.log1p(-both)}


def esmm_loss(z, y):
    y = y.to(z["_ctr"].dtype)
    return F.binary_cross_entropy_with_logits(z["_ctr"].squeeze(1), y[:, 0]) + F.binary_cross_entropy_with_logits(z["_ctcvr"].squeeze(1), y[:, 1])


ESMM = "sparse_feature_number: 12, sparse_feature_dim: 3, num_field: 23, max_len: 3, ctr_fc_sizes: [6, 4], cvr_fc_sizes: [5]"
CASES["esmm"] = Case("esmm", new(ESMM), esmm_rows, esmm_net, esmm_loss, 0.1)
CASES["esmm_compat"] = Case("esmm", new(ESMM, rate=0.01), lambda rng, folder: esmm_rows(rng, folder, True), esmm_net, esmm_loss, 0.01, "Adam")

# ---- escm2: the loss of a purchase over all rows, by what a click is worth and by an imputed loss ----


def escm2_net(P, x, train):
    E = P[BAGS % "SparseFeatFactors"]
    e = (x["counts"].to(E.dtype) @ E).flatten(1)
    experts = torch.stack([torch.relu(block(P, "experts.expert_mlps.%d.mlp.0.perceptron.0" % i, e)) for i in range(3)], 1)
    z = []
    for t, name in enumerate(("ctr", "cvr", "imputed")):
        g = F.softmax(block(P, "experts.gate_finals.%d" % t, e), 1)
        z.append(block(P, name, mlp(P, name + "_tower", (g.unsqueeze(2) * experts).sum(1), 1)))
    both = torch.sigmoid(z[0]) * torch.sigmoid(z[1])
    return {"_ctr": z[0], "_cvr": z[1], "_ctcvr": torch.log(both) - torch.log1p(-both), "_counterfactual": torch.cat(z, 1)}


def escm2_loss(z, y):
    y = y.to(z["_ctr"].dtype)
    loss = F.binary_cross_entropy_with_logits(z["_ctr"].squeeze(1), y[:, 0]) + 0.8 * F.binary_cross_entropy_with_logits(z["_ctcvr"].squeeze(1), y[:, 1])
    l = F.binary_cross_entropy_with_logits(z["_cvr"].squeeze(1), y[:, 1], reduction="none")
    w = (y[:, 0] / torch.sigmoid(z["_ctr"].squeeze(1))).clamp(max=15).detach()
    i = torch.sigmoid(z["_counterfactual"][:, 2])
    return loss + 0.3 * (i + w * (l - i) + w * (l - i) ** 2).mean()


ESCM2 = ("sparse_feature_number: 12, sparse_feature_dim: 3, num_field: 23, ctr_fc_sizes: [6, 4], cvr_fc_sizes: [5], global_w: 0.8, counterfactual_w: 0.3, "
         "feature_size: 69, expert_num: 3, gate_num: 3, expert_size: 4, tower_size: 5")


def doubly(config):
    return config.replace("runner: {", "runner: {counterfact_mode: DR, ")


CASES["escm2"] = Case("escm2", doubly(new(ESCM2)), esmm_rows, escm2_net, escm2_loss, 0.1)
CASES["escm2_compat"] = Case("escm2", doubly(new(ESCM2, rate=0.01)), lambda rng, folder: esmm_rows(rng, folder, True), escm2_net, escm2_loss, 0.01, "Adam")

# ---- aitm: a tower of purchases that sees, through attention, what the tower of clicks has found ----

SIZES = {"a": 5, "b": 7, "c": 4}


def aitm_rows(rng, folder):
    ids = np.stack([rng.integers(0, n, N) for n in SIZES.values()], 1)
    y = rng.integers(0, 2, (N, 2))
    y[:, 1] *= y[:, 0]
    write(folder, ["click,purchase," + ",".join(SIZES)] + [",".join("%d" % v for v in [*t, *r]) for t, r in zip(y, ids)])
    return dict(ids=ids), y


def aitm_net(P, x, train):
    e = torch.cat([P[BAGS % (n + "_emb")][x["ids"][:, i]] for i, n in enumerate(SIZES)], 1)
    click, buy = (mlp(P, t + "_tower", e, 2) for t in ("click", "purchase"))
    both = torch.stack([buy, mlp(P, "info", click, 1)], 1)
    q, k, v = (block(P, n + "0", both, False) for n in "qkv")
    a = F.softmax((q * k).sum(2) / k.shape[2] ** 0.5, 1)
    click, buy = block(P, "click_layer", click), block(P, "purchase_layer", (a.unsqueeze(2) * v).sum(1))
    return {"_click": click, "_purchase": buy, "_constraint": torch.sigmoid(buy) - torch.sigmoid(click)}


def aitm_loss(z, y, rows=1):
    y = y.to(z["_click"].dtype)
    two = [F.binary_cross_entropy_with_logits(z[n].squeeze(1), y[:, i]) for i, n in enumerate(("_click", "_purchase"))]
    return sum(two) + 0.6 * rows * torch.relu(z["_constraint"]).mean()


AITM = "feature_vocabulary: [%s], embedding_size: 3, dims: [6, 4], drop_prob: [0, 0]" % ", ".join("[%s, %d]" % v for v in SIZES.items())
CASES["aitm"] = Case("aitm", new(AITM), aitm_rows, aitm_net, aitm_loss, 0.1)
# as shipped: the penalty is a sum over the batch
CASES["aitm_compat"] = Case("aitm", new(AITM, rate=0.01), aitm_rows, aitm_net, lambda z, y: aitm_loss(z, y, 16), 0.01, "Adam")
