"""The cases of paddle.py that learn by inner steps: metaheac and maml. A batch of 16 rows is two tasks."""

import os
import shutil
import struct
import zlib

import numpy as np
import torch
from torch.nn import functional as F

from frame import AD, LISTS, USER, audience, frame
from paddle_nets import BAGS, N, Case, block, mlp, new

CASES = {}
SIZES = [[2, 1, 4, 2, 3, 2, 1], [3, 4, 2, 4, 3, 2, 2], [2, 3, 1, 2, 2, 1]]
WIDTH, EXPERTS, OUTPUTS, ROWS, INNER = 3, 2, 2, 4, 0.3


def meta_step(case, P, learned, x, y):
    """MAML of first order: the gradient of the query rows at the weights behind the inner steps. Returns the mean loss."""
    support, query, steps, rate = case.tasks
    names = [k for k, v in P.items() if v.requires_grad]
    for v in learned:
        v.grad = torch.zeros_like(v)
    tasks, total = len(y) // (support + query), 0
    for t in range(tasks):
        at = t * (support + query)

        def loss_of(W, rows):
            return case.loss(case.net({**P, **W}, {k: v[rows] for k, v in x.items()}, True), y[rows])
        fast = {k: P[k].detach().clone().requires_grad_() for k in names}
        for _ in range(steps):
            g = torch.autograd.grad(loss_of(fast, slice(at, at + support)), list(fast.values()))
            fast = {k: (w - rate * d).detach().requires_grad_() for (k, w), d in zip(fast.items(), g)}
        loss = loss_of(fast, slice(at + support, at + support + query)) / tasks
        for k, d in zip(names, torch.autograd.grad(loss, list(fast.values()))):
            P[k].grad += d
        total += loss.item()
    return total


def ad_frame(rng, folder):
    aids = list(rng.permutation([3] * 14 + [8] * 16 + [11] * 10))
    with open(os.path.join(folder, "data", "train.pkl"), "wb") as f:
        f.write(frame(audience(rng, aids, SIZES)))


def ad_rows(folder):
    """The rows as crank has drawn them; the frame itself is needed no more. A list becomes the share of each id in it."""
    os.remove(os.path.join(folder, "metaheac", "data", "train.pkl"))
    os.rmdir(os.path.join(folder, "metaheac", "data"))
    with open(os.path.join(folder, "out", "rows", "train", "rows-00000.txt")) as f:
        rows = [line.rstrip("\n").split(";") for line in f]
    columns = {}
    for i, name in enumerate(USER + LISTS + AD):
        largest = sum(SIZES, [])[i]
        share = np.zeros((len(rows), largest + 1))
        for r, row in enumerate(rows):
            ids = [int(v) for v in row[1 + i].split()]
            for v in ids:
                share[r, v] += 1 / len(ids)
        columns[name] = share
    return columns, np.array([int(r[0]) for r in rows])


def metaheac_net(P, x, train, compat=False):
    vector = lambda name: x[name].to(P[BAGS % (name + "_emb")].dtype) @ P[BAGS % (name + "_emb")]
    user = torch.stack([vector(n) for n in USER + LISTS], 1)
    about = torch.cat([user.mean(1)] + [vector(n) for n in AD], 1)
    gate = torch.softmax(block(P, "gate_scores", mlp(P, "gate_hidden", about, 1)), 1)
    choice = torch.softmax(block(P, "choice_scores", mlp(P, "choice_hidden", about, 1)), 1)
    mixed = sum(gate[:, i:i + 1] * mlp(P, "expert_%d" % (i + 1), user.flatten(1), 1 if compat else 2) for i in range(EXPERTS))
    return (choice * torch.sigmoid(block(P, "outputs", mixed))).sum(1, keepdim=True)


def chance(p, y):
    y, p = y.to(p.dtype), p.squeeze(1)
    return -(y * torch.log(p) + (1 - y) * torch.log(1 - p)).mean()


HYPER = ("max_idxs: %s, embed_dim: %d, mlp_dims: [4, 4], local_lr: %g, num_expert: %d, num_output: %d, task_count: 2, batch_size: %d"
         % (SIZES, WIDTH, INNER, EXPERTS, OUTPUTS, ROWS))
for name, optimizer, rate, compat in (("metaheac", "SGD", 0.3, False), ("metaheac_compat", "Adam", 0.01, True)):
    CASES[name] = Case("metaheac", new(HYPER, rate, optimizer), ad_frame,
                       lambda P, x, t, compat=compat: metaheac_net(P, x, t, compat), chance, rate, optimizer)
    CASES[name].tasks, CASES[name].reread = (ROWS, ROWS, 1, INNER), ad_rows

# ---- maml: two characters, one picture of each to learn from and three to test ----

WAYS, QUERY, SIZE, FILTERS, STEPS, RATE = 2, 3, 16, 2, 2, 0.2


def png(path, pixels):
    """A grey picture of 8 bits."""
    h, w = pixels.shape
    part = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    lines = b"".join(b"\0" + pixels[y].astype(np.uint8).tobytes() for y in range(h))
    with open(path, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" + part(b"IHDR", struct.pack(">IIBBBBB", w, h, 8, 0, 0, 0, 0)) + part(b"IDAT", zlib.compress(lines)) + part(b"IEND", b""))


def characters(rng, folder):
    for c in range(3):
        os.makedirs(os.path.join(folder, "data", "a", "c%d" % c))
        for n in range(1 + QUERY):
            png(os.path.join(folder, "data", "a", "c%d" % c, "%d.png" % n), rng.integers(0, 256, (SIZE, SIZE)))


def picture_rows(folder):
    """The first rows that crank has drawn; the others are left out, and so are the pictures."""
    shutil.rmtree(os.path.join(folder, "maml", "data"))
    path = os.path.join(folder, "out", "rows", "train", "rows-00000.txt")
    with open(path) as f:
        lines = [next(f) for _ in range(N)]
    with open(path, "w") as f:
        f.writelines(lines)
    rows = [line.split(";") for line in lines]
    return dict(picture=np.array([[float(v) for v in r[1].split()] for r in rows])), np.array([int(r[0]) for r in rows])


def maml_net(P, x, train):
    v = x["picture"].reshape(-1, 1, SIZE, SIZE)
    for i in range(1, 5):
        at = "model.blocks.conv_%d." % i
        v = F.conv2d(v, P[at + "weight"].reshape(FILTERS, -1, 3, 3), P[at + "bias"], padding=1)
        v = F.batch_norm(v, P[at + "bn.running_mean"], P[at + "bn.running_var"], P[at + "bn.weight"], P[at + "bn.bias"], train, 0.1, 1e-5)
        v = F.max_pool2d(torch.relu(v), 2)
    return block(P, "scores", v.flatten(1))


CASES["maml"] = Case("maml", """runner: {train_data_dir: data, train_reader_path: reader, train_batch_size: 2, epochs: 1, print_interval: 1000,
         model_save_path: out, test_data_dir: data, infer_batch_size: 2}
hyper_parameters: {meta_optimizer: {class: SGD, learning_rate: 0.1}, base_optimizer: {class: SGD, learning_rate: %g}, update_step: %d,
         n_way: %d, k_spt: 1, k_query: %d, imgsize: %d, conv_stride: 1, conv_padding: 1, conv_kernal: [3, 3], bn_channel: %d}
""" % (RATE, STEPS, WAYS, QUERY, SIZE, FILTERS), characters, maml_net, F.cross_entropy, 0.1)
CASES["maml"].tasks, CASES["maml"].reread = (WAYS, WAYS * QUERY, STEPS, RATE), picture_rows
