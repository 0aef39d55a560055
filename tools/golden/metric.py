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

# ---- counts at a threshold, calibration, entropy ----
for at in (0.5, 0.3, 0.9):
    yes = score > np.float32(at)
    tp, fp, fn = (yes & (label == 1)).sum(), (yes & (label == 0)).sum(), (~yes & (label == 1)).sum()
    out.add("precision_%g" % at, f64(tp / (tp + fp)))
    out.add("recall_%g" % at, f64(tp / (tp + fn)))
    out.add("f1_%g" % at, f64(2 * tp / (2 * tp + fp + fn)))
out.add("average_output", f64(score.astype(f64).mean()))
out.add("average_label", f64(label.mean()))
out.add("copc", f64(label.sum() / score.astype(f64).sum()))
ce = torch.nn.functional.binary_cross_entropy(t, torch.tensor(label).double(), reduction="sum").item()
for eta in (1e-12, 0.4999):
    m = np.clip(label.mean(), eta, 1 - eta)
    norm = -(label.sum() * np.log(m) + (N - label.sum()) * np.log(1 - m))
    out.add("normalized_entropy_%g" % eta, f64(ce / norm))

# ---- several classes ----
support = np.bincount(cls, minlength=K)
each = np.array([binned(probs[:, k], (cls == k).astype(int), 200) for k in range(K)])
out.add("multiclass_auc", f64(each.mean()))
out.add("multiclass_auc_weighted", f64((each * support).sum() / support.sum()))
each = np.array([auc(probs[:, k], (cls == k).astype(int)) for k in range(K)])
out.add("multiclass_auc_exact", f64(each.mean()))
rare = np.where(cls == 3, 2, cls)  # no row of class 3: 0 in the binned mean, left out of the exact one
out.add("rare", rare.astype(np.float32))
out.add("multiclass_auc_rare", f64(np.mean([binned(probs[:, k], (rare == k).astype(int), 200) for k in range(K)])))
out.add("multiclass_auc_rare_exact", f64(np.mean([auc(probs[:, k], (rare == k).astype(int)) for k in (0, 1, 2, 4)])))
for k in (1, 3):
    out.add("recall_at_%d" % k, f64((order[:, :k] == cls[:, None]).any(1).sum() / N))

# ---- grouped AUC weighted by rows ----
rows_of = [int((group == k).sum()) for k in np.unique(group)]
pairs = [(a, n) for a, n in zip(per_group, rows_of) if a is not None]
out.add("grouped_auc_weighted", f64(sum(a * n for a, n in pairs) / sum(n for _, n in pairs)))

# ---- XAUC: all pairs, and pairs drawn by the counter of base/rng.h ----
watch = np.round(y, 1)  # ties in labels
guess = pred.copy()
guess[::4] = np.round(guess[::4], 1)
out.add("watch", watch)
out.add("guess", guess)
MASK = (1 << 64) - 1


def mix64(x):
    x ^= x >> 30
    x = x * 0xBF58476D1CE4E5B9 & MASK
    x ^= x >> 27
    x = x * 0x94D049BB133111EB & MASK
    return x ^ x >> 31


def below(key, i, n):
    return mix64((key + (i + 1) * 0x9E3779B97F4A7C15) & MASK) * n >> 64


def right(t, p, i, j):
    return (t[i] - t[j]) * (p[i] - p[j]) > 0


def xauc_all(t, p):
    i, j = np.triu_indices(len(t), 1)
    return ((t[i].astype(f64) - t[j]) * (p[i].astype(f64) - p[j]) > 0).mean()


def xauc_drawn(t, p, n_pairs, key):
    by = np.lexsort((p, t))  # pairs are drawn over rows sorted by label, then by score
    t, p = t[by], p[by]
    n, hits = len(t), 0
    for k in range(n_pairs):
        i, j = below(key, 2 * k, n), below(key, 2 * k + 1, n - 1)
        hits += right(t, p, i, j + (j >= i))
    return hits / n_pairs


out.add("xauc", f64(xauc_all(watch, guess)))
out.add("xauc_drawn_0.01", f64(xauc_drawn(watch, guess, int(N * (N - 1) // 2 * 0.01), 0x78617563)))
out.add("xauc_drawn_500", f64(xauc_drawn(watch, guess, 500, 0x78617563)))
out.add("xauc_in_batch_100", f64(np.mean([xauc_all(watch[i : i + 100], guess[i : i + 100]) for i in range(0, N, 100)])))
big = rng.integers(-3, 3, N) * 1000003  # about 67 rows each: more than 100 pairs
out.add("big_group", big)
for name, key, most in (("grouped_xauc", group, 100), ("grouped_xauc_big", big, 100), ("grouped_xauc_whole", big, 0)):
    total = weight = 0
    for k in np.unique(key.view(np.uint64)):
        at = key.view(np.uint64) == k
        n = int(at.sum())
        if n < 2:
            continue
        if most == 0 or n * (n - 1) // 2 <= most:
            value = xauc_all(watch[at], guess[at])
        else:
            value = xauc_drawn(watch[at], guess[at], most, mix64(0x67786175 ^ mix64((int(k) + 0x632BE59BD9B4E019) & MASK)))
        total, weight = total + value * n, weight + n
    out.add(name, f64(total / weight))

# ---- metrics of training: windows of 3 steps of 50 rows, decay 0.8, after each of the 8 steps ----
def counts(p, c, n):
    t = torch.linspace(0, 1, n).numpy()
    hit = p[None, :] >= t[:, None]
    return np.stack([(hit & (c == 1)).sum(1), (hit & (c == 0)).sum(1)]).astype(f64), np.array([(c == 1).sum(), (c == 0).sum()], f64)


def curve(state):
    (tp, fp), (n_pos, n_neg) = state
    return np.trapz((tp / n_pos)[::-1], (fp / n_neg)[::-1])


mean, acc, shown_auc, shown_acc = None, None, [], []
for step in range(8):
    if step % 3 == 2:
        at = slice((step - 2) * 50, (step + 1) * 50)
        now = counts(score[at], label[at], 200)
        hit = ((score[at] > 0.5) == label[at]).mean()
        mean = now if mean is None else tuple(0.8 * a + (1 - 0.8) * b for a, b in zip(mean, now))
        acc = hit if acc is None else 0.8 * acc + (1 - 0.8) * hit
    shown_auc.append(0.0 if mean is None else curve(mean))
    shown_acc.append(0.0 if acc is None else acc)
out.add("train_auc", np.array(shown_auc))
out.add("train_accuracy", np.array(shown_acc))
out.close()
