"""Cases of paddle.py over fields: each has one score, most of them a linear part and products of pairs of fields."""

import os

import numpy as np
import torch
from torch.nn import functional as F

from blocks import aware_pairs
from paddle_nets import BAGS, N, READER, WIDE, Case, bce, block, classes, linear, log_loss, mlp, new, norm, old, write

CASES = {}
TABLE = "SparseFeatFactors"
SIZES = "sparse_feature_number: 12, sparse_feature_dim: 3"
DENSE = "model.embedding_group.emb_impls.__BASE__.dense_ec.dense_embs.mlp#%d.proj_w_dense_feature_%d.weight"


def slots(n, dense):
    def rows(rng, folder):
        ids, val = rng.integers(1, 12, (N, n)), rng.random((N, dense)).astype(np.float32)
        label = rng.integers(0, 2, N)
        write(folder, ["click:%d " % y + "".join("dense_feature:%.9g " % a for a in v) + " ".join("%d:%d" % (k + 1, i) for k, i in enumerate(r))
                       for y, r, v in zip(label, ids, val)])
        return dict(ids=ids, dense=val), label
    return rows


def case(model, net, hyper, n, dense, rate=0.05, loss=bce, compat=False, factor=1):
    data = 'sparse_slots: "click %s", dense_slots: "%s"' % (" ".join("%d" % (i + 1) for i in range(n)), "dense_feature:%d" % dense if dense else "")
    loss = log_loss if compat and loss is bce else loss
    CASES[model + ("_compat" if compat else "")] = Case(model, old(model, data, SIZES + hyper, rate=rate), slots(n, dense), net, loss, rate * factor)


def vectors(P, x, numbers=False):
    """The vectors of the fields (B, F, D); with numbers, a vector for each of them, times the number."""
    e = P[BAGS % TABLE][x["ids"]]
    if not numbers:
        return e
    A = torch.stack([P[DENSE % (e.shape[2], i + 1)] for i in range(x["dense"].shape[1])])
    return torch.cat([e, x["dense"].unsqueeze(2) * A], 1)


def first(P, x):
    y = P[WIDE % TABLE][x["ids"]].squeeze(2).sum(1, keepdim=True)
    return y + block(P, "numbers", x["dense"]) if x["dense"].shape[1] else y


def pairs(v):
    return 0.5 * (v.sum(1) ** 2 - (v ** 2).sum(1))


def plain(P, name, x, n):
    for i in range(n):
        x = torch.relu(linear(P, "model.%s.mlp.%d.perceptron.0" % (name, i), x))
    return x


# ---- linear models and factorization machines ----


def linear_net(P, x, train):
    return P[WIDE % TABLE][x["ids"]].squeeze(2).sum(1, keepdim=True) + linear(P, "model.linear", x["dense"])


def fm_net(P, x, train):
    A = torch.cat([P["model.fm.dense_feature_%d.weight" % (i + 1)] for i in range(3)])
    v = torch.cat([P[BAGS % (TABLE + "_fm")][x["ids"]], x["dense"].unsqueeze(2) * A], 1)
    return linear_net(P, x, train) + pairs(v).sum(1, keepdim=True)


def ffm_net(P, x, train):
    A = torch.cat([P["model.ffm.dense_feature_%d.weight" % (i + 1)] for i in range(3)])
    v = torch.cat([P[BAGS % (TABLE + "_ffm")][x["ids"]], x["dense"].unsqueeze(2) * A], 1)
    v = v.reshape(len(v), 8, 8, 3)
    i, j = torch.triu_indices(8, 8, 1)
    return linear_net(P, x, train) + (v[:, i, j] * v[:, j, i]).sum((1, 2)).unsqueeze(1)


def deepfm_net(P, x, train):
    v = vectors(P, x, True)
    return first(P, x) + pairs(v).sum(1, keepdim=True) + block(P, "third", mlp(P, "deep", v.flatten(1), 2))


def xdeepfm_net(P, x, train):
    v = vectors(P, x, True)
    h, sums = v, []
    for i in range(2):
        W = P["model.blocks.cin.cin_layers.%d.weight" % i].squeeze(2)
        h = torch.einsum("nk,bkd->bnd", W, torch.einsum("bfd,bgd->bfgd", h, v).flatten(1, 2)) + P["model.blocks.cin.cin_layers.%d.bias" % i].unsqueeze(1)
        sums.append(h.sum(2))
    return first(P, x) + block(P, "score_cin", torch.cat(sums, 1)) + block(P, "score_deep", mlp(P, "deep", v.flatten(1), 1))


def wide_deep_net(P, x, train):
    return block(P, "wide", x["dense"]) + block(P, "score_deep", mlp(P, "deep", torch.cat([vectors(P, x).flatten(1), x["dense"]], 1), 2))


case("logistic_regression", linear_net, "", 5, 3, 0.5)
case("fm", fm_net, "", 5, 3)
case("ffm", ffm_net, "", 5, 3)
case("deepfm", deepfm_net, ", fc_sizes: [6, 4], act: relu", 5, 3)
case("xdeepfm", xdeepfm_net, ", layer_sizes_cin: [4, 3], layer_sizes_dnn: [5]", 5, 3)
case("wide_deep", wide_deep_net, ", fc_sizes: [6, 4]", 5, 3)

# ---- crosses and dots ----


def dcn_v2_net(P, x, train):
    x0 = torch.cat([vectors(P, x).flatten(1), block(P, "numbers", x["dense"])], 1)
    y = x0
    for l in range(2):
        g, z = F.softmax(block(P, "h%d" % l, y), 1), y
        for i in range(2):
            c = torch.tanh(block(P, "c%d_%d" % (l, i), torch.tanh(block(P, "v%d_%d" % (l, i), y, False)), False))
            z = z + g[:, i:i + 1] * x0 * block(P, "u%d_%d" % (l, i), c)
        y = z
    return linear(P, "model.output_mlp", mlp(P, "deep", y, 1))


def dlrm_net(P, x, train):
    d = plain(P, "dense_mlp", x["dense"], 2)
    v = torch.cat([d.unsqueeze(1), vectors(P, x)], 1)
    i, j = torch.triu_indices(v.shape[1], v.shape[1], 1)
    return linear(P, "model.output_mlp", plain(P, "final_mlp", torch.cat([(v @ v.transpose(1, 2))[:, i, j], d], 1), 1))


def attention(P, name, v, heads):
    q, k, a, r = (v @ P["model.blocks.%s.w_%s.weight" % (name, n)].T for n in ("q", "k", "v", "res"))
    out = [torch.softmax(s @ t.transpose(1, 2), 2) @ u for s, t, u in zip(*(m.chunk(heads, 2) for m in (q, k, a)))]
    return torch.relu(torch.cat(out, 2) + r)


def autoint_net(P, x, train):
    v = attention(P, "attention1", attention(P, "attention0", vectors(P, x), 2), 2)
    return linear(P, "model.output_mlp", v.flatten(1))


case("dcn_v2", dcn_v2_net, ", cross_num: 2, fc_sizes: [6], is_Stacked: True, use_low_rank_mixture: True, low_rank: 4, num_experts: 2, dropout_rate: 0", 5, 3, 0.02)
case("dlrm", dlrm_net, ", bot_layer_sizes: [5, 3], top_layer_sizes: [5, 2]", 5, 3, 0.05, classes)
case("autoint", autoint_net, ", n_interacting_layers: 2, n_head: 2, d_key: 3, d_value: 3, d_model: 6, dropout_rate: 0", 6, 0)

# ---- products of pairs ----


def afm_net(P, x, train):
    v = vectors(P, x)
    i, j = torch.triu_indices(6, 6, 1)
    p = v[:, i] * v[:, j]
    a = F.softmax(torch.relu(block(P, "pairs.attention", p)) @ P["model.blocks.pairs.projection.weight"].T, 1)
    return first(P, x) + block(P, "second", (a * p).sum(1), False)


def pnn_net(P, x, train):
    v = vectors(P, x)
    q = (torch.einsum("nf,bfd->bnd", P["model.blocks.products.weight"], v) ** 2).sum(2)
    return first(P, x) + block(P, "second", mlp(P, "deep", torch.relu(block(P, "linear", v.flatten(1)) + q), 1))


def shipped_pnn_net(P, x, train):
    v = vectors(P, x)
    q = ((P["model.blocks.products.weight"] * v.sum(2).unsqueeze(1)) ** 2).sum(2).sqrt()
    return first(P, x) + block(P, "second", mlp(P, "deep", torch.relu(block(P, "linear", v.flatten(1), False) + q), 1))


def nfm_net(P, x, train):
    return first(P, x) + block(P, "second", mlp(P, "deep", pairs(vectors(P, x)), 1))


def flat(P, x):
    return torch.cat([vectors(P, x).flatten(1), P[WIDE % TABLE][x["ids"]].squeeze(2)], 1)


def fnn_net(P, x, train):
    return linear(P, "model.output_mlp", mlp(P, "deep", flat(P, x), 2))


def deep_crossing_net(P, x, train):
    y = flat(P, x)
    for i in range(2):
        y = torch.relu(block(P, "b%d" % i, mlp(P, "a%d" % i, y, 1)) + y)
    return linear(P, "model.output_mlp", y)


def fgcnn_net(P, x, train):
    v = vectors(P, x)
    all, c = [v], v.unsqueeze(1)  # (B, channels, fields, D)
    for i in range(2):
        W = P["model.blocks.conv%d.weight" % i].reshape(-1, c.shape[1], 9, 1)
        c = F.conv2d(F.pad(c, (0, 0, 4, 4)), W, P["model.blocks.conv%d.bias" % i])
        c = F.max_pool2d(torch.tanh(c), (2, 1))
        all.append(mlp(P, "made%d" % i, c.flatten(1), 1, torch.tanh).reshape(len(v), -1, v.shape[2]))
    v = torch.cat(all, 1)
    i, j = torch.triu_indices(v.shape[1], v.shape[1], 1)
    return block(P, "second", mlp(P, "deep", torch.cat([v.flatten(1), (v @ v.transpose(1, 2))[:, i, j]], 1), 1))


# the form since 2.0: two tables per field, and batch norm
FGCNN_FIELDS = ["A", "B", "C", "D", "E", "F"]


def matrix_rows(rng, folder):
    """A matrix in HDF5, the label in its last column; PyTables writes what h5py does."""
    import tables
    ids, label = rng.integers(0, 12, (N, len(FGCNN_FIELDS))), rng.integers(0, 2, N)
    with tables.open_file(os.path.join(folder, "data", "train.h5"), "w", pytables_sys_attrs=False) as f:
        f.create_array("/", "data", np.concatenate([ids, label[:, None]], 1).astype(np.float64))
    return dict(ids=ids), label


def new_fgcnn_net(P, x, train):
    def tables(ending):
        return torch.stack([P[BAGS % (n + ending + "_emb")][x["ids"][:, i]] for i, n in enumerate(FGCNN_FIELDS)], 1)
    v = tables("")
    all, c = [v], tables("_fg").unsqueeze(1)  # (B, channels, fields, D)
    for i, k in enumerate((3, 5)):
        W = P["model.blocks.conv%d.weight" % i].reshape(-1, c.shape[1], k, 1)
        c = F.conv2d(c, W, P["model.blocks.conv%d.bias" % i], padding=(k // 2, 0))
        planes = c.permute(0, 2, 3, 1)
        c = norm(P, "conv%d.bn" % i, planes.flatten(0, 2), train).reshape(planes.shape).permute(0, 3, 1, 2)
        c = F.max_pool2d(torch.tanh(c), (2, 1))
        all.append(mlp(P, "made%d" % i, c.flatten(1), 1, torch.tanh).reshape(len(v), -1, v.shape[2]))
    v = torch.cat(all, 1)
    i, j = torch.triu_indices(v.shape[1], v.shape[1], 1)
    h = torch.cat([v.flatten(1), (v @ v.transpose(1, 2))[:, i, j]], 1)
    for k in range(2):
        n = "deep.mlp.%d.perceptron." % k
        h = torch.relu(norm(P, n + "1", block(P, n + "0", h, "model.blocks." + n + "0.bias" in P), train))
    return block(P, "second", h)


CASES["fgcnn_master"] = Case(
    "fgcnn", new("sparse_inputs_slots: 4, dense_inputs_slots: 2, sparse_feature_size: 12, feature_name: [%s], feature_dim: 3, "
                 "conv_kernel_width: [3, 5], conv_filters: [2, 3], new_maps: [2, 1], pooling_width: [2, 2], stride: [1, 1], "
                 "dnn_hidden_units: [5, 4], dnn_dropout: 0.0" % ", ".join(FGCNN_FIELDS), 0.05), matrix_rows, new_fgcnn_net, bce, 0.05)


def fibinet_net(P, x, train, compat=False):
    v = vectors(P, x)
    a = torch.relu(v.mean(2) @ P["model.blocks.senet.excitation.0.weight"].T)
    s = v * torch.relu(a @ P["model.blocks.senet.excitation.2.weight"].T).unsqueeze(2)
    i, j = torch.triu_indices(v.shape[1], v.shape[1], 1)

    def bilinear(name, v):
        W = [P["model.blocks.%s.weight" % name + (".%d" % k if compat else "")] for k in range(len(i))]
        return torch.cat([v[:, a] @ w.T * v[:, b] for w, a, b in zip(W, i, j)], 1)
    return linear(P, "model.output_mlp", mlp(P, "deep", torch.cat([bilinear("raw_pairs", v), bilinear("senet_pairs", s), x["dense"]], 1), 2))


case("afm", afm_net, ", hidden1_attention_size: 4", 6, 0)
case("pnn", pnn_net, ", deep_input_size: 5, use_inner_product: True, fc_sizes: [4], act: relu", 6, 0)
# as shipped: the length of the weighted sums of the vectors, and the loss summed over the batch
case("pnn", shipped_pnn_net, ", deep_input_size: 5, use_inner_product: True, fc_sizes: [4], act: relu", 6, 0, 0.005, compat=True, factor=16)
case("nfm", nfm_net, ", fc_sizes: [5], act: relu", 6, 0)
case("fnn", fnn_net, ", fc_sizes: [5, 4]", 6, 0)
case("deep_crossing", deep_crossing_net, ", residual_unit_num: 2, residual_w_dim: 5", 6, 0, 0.02)
case("fgcnn", fgcnn_net, ", filters: [3, 4], new_filters: [2, 2], pooling_size: [2, 2], fc_sizes: [8], act: relu, use_batchnorm: False", 6, 0)
FIBINET = ", bilinear_type: all, reduction_ratio: 3, dropout_rate: 0, fc_sizes: [6, 4]"
case("fibinet", fibinet_net, FIBINET, 5, 3)
# as shipped: a matrix for each pair
case("fibinet", lambda P, x, t: fibinet_net(P, x, t, True), FIBINET, 5, 3, compat=True)

# ---- matrices and attention over pairs of fields ----


def deepfefm_net(P, x, train):
    v = vectors(P, x, True)
    i, j = torch.triu_indices(v.shape[1], v.shape[1], 1)
    W = [P["model.blocks.matrices.weight.%d" % k] for k in range(len(i))]
    p = torch.stack([(v[:, a] @ (w + w.T) * v[:, b]).sum(1) for w, a, b in zip(W, i, j)], 1)
    deep = mlp(P, "deep", torch.cat([vectors(P, x).flatten(1), x["dense"], p], 1), 1)
    return first(P, x) + p.sum(1, keepdim=True) + block(P, "third", deep)


def fat_deepffm_net(P, x, train):
    v = vectors(P, x, True).reshape(len(x["ids"]), -1, 3)
    a = torch.relu(block(P, "weighed.excitation.0", v.amax(2)))
    v = v * torch.relu(block(P, "weighed.excitation.2", a)).unsqueeze(2)
    return v.sum((1, 2)).unsqueeze(1) + block(P, "second", mlp(P, "deep", aware_pairs(v), 1))


case("deepfefm", deepfefm_net, ", fc_sizes: [5], dropout_rate: 0", 4, 2)
case("fat_deepffm", fat_deepffm_net, ", layer_sizes_dnn: [5], dropout_rate: 0", 3, 2, 0.01)


# ---- autofis: a weight for each pair of fields, moved by GRDA ----


def pasted_rows(rng, folder):
    ids, label = rng.integers(0, 12, (N, 5)), rng.integers(0, 2, N)
    write(folder, [" ".join("%d" % i for i in r) for r in ids], "train_x.txt")
    write(folder, ["%d" % y for y in label], "train_y.txt")
    return dict(ids=ids), label


def autofis_net(P, x, train):
    v = P[BAGS % TABLE][x["ids"]]
    i, j = torch.triu_indices(5, 5, 1)
    pairs = norm(P, "normed", (v[:, i] * v[:, j]).sum(2), train) * P["model.blocks.weighed.weight"]
    h = v.flatten(1)
    for k in range(2):
        n = "deep.mlp.%d.perceptron." % k
        h = torch.relu(norm(P, n + "1", block(P, n + "0", h, "model.blocks." + n + "0.bias" in P), train))
    return P[WIDE % TABLE][x["ids"]].squeeze(2).sum(1, keepdim=True) + pairs.sum(1, keepdim=True) + block(P, "third", h)


for ending in ("", "_compat"):
    CASES["autofis" + ending] = Case(
        "autofis", new("num_inputs: 5, input_size: 12, embedding_size: 3, width: 4, depth: 2, pairs: 10, grad_c: 0.05, grad_mu: 0.8", 0.05).replace(
            "class: SGD", "gamma: 1, class: " + ("Adam" if ending else "SGD")),
        pasted_rows, autofis_net, bce, 0.05, "Adam" if ending else "SGD", grda={"model.blocks.weighed.weight": (1, 0.05, 0.8)})
