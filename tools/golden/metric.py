"""Golden metrics: tests/golden/data/metric.txt. Definitions written out from their formulas.

Run with a python that has torch: python3 tools/golden/metric.py
"""

import numpy as np
import torch

from common import Writer

rng = np.random.default_rng(5)
N, K = 400, 5
out = Writer("metric.txt", "metrics")

label = rng.integers(0, 2, N)
logit = rng.standard_normal(N) + 0.8 * (label - 0.5)
score = torch.sigmoid(torch.tensor(logit, dtype=torch.float32)).numpy()
score[::3] = np.round(score[::3], 2)  # ties
score[5], score[6], score[7] = 0, 1, 0.5
group = rng.integers(-30, 30, N) * 1000003
out.add("score", score)
out.add("label", label.astype(np.float32))
out.add("group", group)


def auc(p, y):
    pos, neg = p[y == 1].astype(np.float64), p[y == 0].astype(np.float64)
    if not len(pos) or not len(neg):
        return None
    d = pos[:, None] - neg[None, :]
    return ((d > 0).sum() + 0.5 * (d == 0).sum()) / d.size


def binned(p, y, n):
    t = torch.linspace(0, 1, n).numpy()
    hit = p[None, :] >= t[:, None]
    tpr = (hit & (y == 1)).sum(1) / max((y == 1).sum(), 1)
    fpr = (hit & (y == 0)).sum(1) / max((y == 0).sum(), 1)
    return np.trapz(tpr[::-1], fpr[::-1])


f64 = np.float64
out.add("auc", f64(auc(score, label)))
out.add("auc_binned_200", f64(binned(score, label, 200)))
out.add("auc_binned_7", f64(binned(score, label, 7)))
crowded = (score * 0.004).astype(np.float32)
out.add("crowded", crowded)
out.add("crowded_auc_binned_200", f64(binned(crowded, label, 200)))
per_group = [auc(score[group == k], label[group == k]) for k in np.unique(group)]
out.add("grouped_auc", f64(np.mean([a for a in per_group if a is not None])))
out.add("accuracy_0.5", f64(((score > 0.5) == label).mean()))
out.add("accuracy_0.3", f64(((score > np.float32(0.3)) == label).mean()))

probs = torch.softmax(torch.tensor(rng.standard_normal((N, K)), dtype=torch.float32), 1).numpy()
cls = rng.integers(0, K, N)
out.add("probs", probs)
out.add("class", cls.astype(np.float32))
order = np.argsort(-probs, axis=1, kind="stable")
for k in (1, 2):
    out.add("accuracy_top%d" % k, f64((order[:, :k] == cls[:, None]).any(1).mean()))
p, c = torch.tensor(probs).double(), torch.tensor(cls)
out.add("logloss_classes", f64(torch.nn.functional.nll_loss(p.log(), c)))

t = torch.tensor(score).double()
out.add("logloss", f64(torch.nn.functional.binary_cross_entropy(t, torch.tensor(label).double())))
y = rng.standard_normal(N).astype(np.float32)
pred = (y + 0.3 * rng.standard_normal(N)).astype(np.float32)
out.add("target", y)
out.add("pred", pred)
out.add("mae", f64(np.abs(pred.astype(f64) - y).mean()))
out.add("mse", f64(((pred.astype(f64) - y) ** 2).mean()))
out.close()
