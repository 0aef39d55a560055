"""The cases of paddle.py: a config of PaddleRec, its data, and the formula of the model."""

import os

import numpy as np
import torch
from torch.nn import functional as F

N = 160  # rows: ten batches of 16
BAGS = "model.embedding_group.emb_impls.__BASE__.ebc.embedding_bags.%s.weight"
KEYS = "model.embedding_group.seq_emb_impls.__BASE__.ec_dict.%d.embeddings.%s.weight"
WIDE = "model.embedding_group.emb_impls.__BASE__.ebc.embedding_bags.%s_wide.weight"


class Case:
    def __init__(self, model, config, rows, net, loss, rate, optimizer="SGD", frozen=None, grda={}, clip=None, again=None):
        self.model, self.config, self.rows, self.net, self.loss = model, config, rows, net, loss
        self.rate, self.optimizer = rate, optimizer
        self.grda = grda  # parameters that dual averaging moves: name -> rate, c, mu
        self.clip = clip  # the most that the norm of the gradients may be
        self.again = again  # makes the input of a second step of the columns and the outputs of the first
        self.frozen = frozen  # parameters whose names begin so have gradients and stay as they are
        self.tasks = None  # meta-learning: support rows, query rows, inner steps, their rate
        self.reread = None  # gives the rows that crank has drawn


def old(model, dataset, hyper, batch=16, rate=0.1, optimizer="SGD"):
    return """workspace: "%s"
mode: [t]
dataset: [{name: d, type: DataLoader, batch_size: %d, data_path: "{workspace}/data", %s}]
hyper_parameters: {optimizer: {class: %s, learning_rate: %g}, %s}
runner: [{name: t, class: train, device: cpu, epochs: 1, save_checkpoint_path: out}]
phase: [{name: p, model: "{workspace}/model.py", dataset_name: d}]
""" % (model, batch, dataset, optimizer, rate, hyper)


def new(hyper, rate=0.1, optimizer="SGD"):
    return """runner: {train_data_dir: data, train_reader_path: reader, train_batch_size: 16, epochs: 1, print_interval: 10,
         model_save_path: out, test_data_dir: data, infer_batch_size: 16}
hyper_parameters: {optimizer: {class: %s, learning_rate: %g}, %s}
""" % (optimizer, rate, hyper)


def write(folder, lines, name="part-0"):
    with open(os.path.join(folder, "data", name), "w") as f:
        f.write("".join(line + "\n" for line in lines))


def linear(P, name, x, bias=True):
    return x @ P[name + ".weight"].T + (P[name + ".bias"] if bias else 0)


def block(P, name, x, bias=True):
    return linear(P, "model.blocks." + name, x, bias)


def mlp(P, name, x, n, act=torch.relu):
    for i in range(n):
        x = act(linear(P, "model.blocks.%s.mlp.%d.perceptron.0" % (name, i), x))
    return x


def bce(z, y):
    return F.binary_cross_entropy_with_logits(z.squeeze(1), y.to(z.dtype))


def log_loss(z, y):
    """As shipped: a small number is added to probabilities before their logarithm."""
    p, y = torch.sigmoid(z.squeeze(1)), y.to(z.dtype)
    return -(y * torch.log(p + 1e-4) + (1 - y) * torch.log(1 - p + 1e-4)).mean()


def classes(z, y):
    return F.cross_entropy(z, y)


READER = 'data_converter: "{workspace}/reader.py"'
CASES = {}

# ---- gnn: SR-GNN ----


def gnn_rows(rng, folder):
    length, items = rng.integers(1, 7, N), rng.integers(1, 9, (N, 6))
    label = rng.integers(1, 9, N)
    write(folder, [",".join("%d" % i for i in items[r, :length[r]]) + "\t%d" % label[r] for r in range(N)])
    return dict(items=items, len=length), label - 1


def gnn_net(P, x, train):
    n, E = "scores", P["model.blocks.scores.embedding.weight"]
    out = []
    for row, length in zip(x["items"], x["len"]):
        seq = row[:length]
        nodes = torch.unique(seq)
        at = {int(v): i for i, v in enumerate(nodes)}
        A = torch.zeros(len(nodes), len(nodes), dtype=E.dtype)
        for a, b in zip(seq[:-1], seq[1:]):
            A[at[int(a)], at[int(b)]] = 1
        A_in, A_out = (A / A.sum(0).clamp(min=1)).T, A / A.sum(1, keepdim=True).clamp(min=1)
        h = E[nodes]
        H = h.shape[1]
        for _ in range(2):
            m = torch.cat([A_in @ block(P, n + ".linear_in", h), A_out @ block(P, n + ".linear_out", h)], 1)
            g = m @ P["model.blocks.scores.gru.weight_ih"].T
            ur = torch.sigmoid(g[:, :2 * H] + h @ P["model.blocks.scores.gru.weight_hh"].T + P["model.blocks.scores.gru.bias"])
            u, r = ur[:, :H], ur[:, H:]
            c = torch.tanh(g[:, 2 * H:] + (r * h) @ P["model.blocks.scores.gru.weight_hc"].T + P["model.blocks.scores.gru.bias_c"])
            h = (1 - u) * h + u * c
        h = h[[at[int(v)] for v in seq]]
        last = h[-1]
        a = torch.sigmoid(block(P, n + ".linear_one", h, False) + block(P, n + ".linear_last", last))
        a = block(P, n + ".linear_weight", a, False)
        s = block(P, n + ".linear_both", torch.cat([(a * h).sum(0), last]), False)
        out.append(E[1:] @ s)
    return torch.stack(out)


CASES["gnn"] = Case("gnn", old("gnn", READER, "sparse_feature_number: 9, sparse_feature_dim: 4, corpus_size: 160, gnn_propogation_steps: 2"),
                    gnn_rows, gnn_net, classes, 0.1)

# ---- match_pyramid: the first half of a batch is right, the second half wrong ----


def texts_rows(rng, folder):
    left, right = rng.integers(0, 13, (N, 4)), rng.integers(0, 13, (N, 7))
    a, b = rng.integers(1, 5, N), rng.integers(1, 8, N)
    left[np.arange(4) >= a[:, None]] = 12
    right[np.arange(7) >= b[:, None]] = 12
    write(folder, [",".join("%d" % i for i in l) + "\t" + ",".join("%d" % i for i in r) for l, r in zip(left, right)])
    return dict(left=left, right=right), np.zeros(N, dtype=np.int64)


def pyramid_net(P, x, train, pads=True):
    E = P[KEYS % (3, "word_embedding")]

    def vectors(ids):
        v = E[ids]
        return v * (ids != 12).unsqueeze(2) if pads else v

    # padding may stand before the end only where nothing follows, so a shorter text is one with zeros behind
    def packed(ids):
        if not pads:
            return E[ids]
        out = torch.zeros(*ids.shape, E.shape[1], dtype=E.dtype)
        for r, row in enumerate(ids):
            real = row[row != 12]
            out[r, :len(real)] = E[real]
        return out
    cross = packed(x["left"]) @ packed(x["right"]).transpose(1, 2)
    W, b = P["model.blocks.picture.weight"].reshape(-1, 1, 2, 3), P["model.blocks.picture.bias"]
    y = F.conv2d(F.pad(cross.unsqueeze(1), (1, 1, 0, 1)), W, b)
    y = F.max_pool2d(torch.relu(y), (2, 3)).flatten(1)
    return linear(P, "model.output_mlp", mlp(P, "deep", y, 1))


def halves(z, y):
    n = len(z) // 2
    return torch.relu(1 - z[:n] + z[n:]).mean()


PYRAMID = ("vocab_size: 13, emb_size: 3, sentence_left_size: 4, sentence_right_size: 7, kernel_num: 2, hidden_size: 5, hidden_act: relu, "
           "out_size: 1, channels: 1, conv_filter: [2, 3], conv_act: relu, pool_size: [2, 3], pool_stride: [2, 3], pool_type: max, pool_padding: VALID")
CASES["match_pyramid"] = Case("match_pyramid", old("match_pyramid", READER, PYRAMID), texts_rows, pyramid_net, halves, 0.1)
CASES["match_pyramid_compat"] = Case("match_pyramid", old("match_pyramid", READER, PYRAMID), texts_rows,
                                     lambda P, x, t: pyramid_net(P, x, t, False), halves, 0.1)

# ---- tdm: a tree in which each layer has one other node ----


def tree_rows(rng, folder):
    lines, vec, node, layer, label = [], [], [], [], []
    paths = [[1, 3], [2, 4], [1, 0]]  # the third item ends in the first layer
    np.save(os.path.join(folder, "travel.npy"), np.array(paths))
    with open(os.path.join(folder, "layers.txt"), "w") as f:
        f.write("1,2\n3,4\n")
    while len(node) < N:
        v, item = rng.standard_normal(5).astype(np.float32), int(rng.integers(0, 3))
        if N - len(node) == 2:
            item = 2
        lines.append(" ".join("%.9g" % a for a in v) + "\t%d" % item)
        for l, right in enumerate(paths[item]):
            for k in ([right, {1: 2, 2: 1, 3: 4, 4: 3}[right]] if right else []):
                vec.append(v), node.append(k), layer.append(l), label.append(int(k == right))
    assert len(node) == N
    write(folder, lines)
    return dict(vec=np.stack(vec), node=np.array(node), layer=np.array(layer)), np.array(label)


def tdm_net(P, x, train):
    e = P[BAGS % "tree_emb"][x["node"]]
    t = block(P, "trans", x["vec"])
    hidden = []
    for i in range(2):
        l = mlp(P, "layer%d" % i, t, 1, torch.tanh)
        hidden.append(mlp(P, "hidden%d" % i, torch.cat([l, e], 1), 1, torch.tanh))
    return block(P, "scores", torch.stack(hidden, 1)[torch.arange(len(e)), x["layer"]])


CASES["tdm"] = Case("tdm", old(
    "tdm", READER, 'max_layers: 2, node_nums: 5, leaf_node_nums: 3, layer_node_num_list: [2, 2], child_nums: 2, node_emb_size: 3, input_emb_size: 5, '
    'neg_sampling_list: [1, 1], output_positive: True, topK: 1, act: tanh, tree: {load_tree_from_numpy: True, load_paddle_model: False, '
    'tree_layer_path: "{workspace}/layers.txt", tree_travel_path: "{workspace}/travel.npy", tree_info_path: none, tree_emb_path: none}', batch=4),
    tree_rows, tdm_net, classes, 0.1)

# ---- fasttext: two words, so that the other one is drawn ----


def words_rows(rng, folder):
    parts = {0: [2, 3], 1: [3, 4, 5]}
    with open(os.path.join(folder, "counts.txt"), "w") as f:
        f.write("<a> 3\n<b> 2\n")
    with open(os.path.join(folder, "ngrams.txt"), "w") as f:
        f.write("".join("%d %s\n" % (k, " ".join(map(str, v))) for k, v in parts.items()))
    lines, center, context = [], [], []
    for _ in range(N // 4):
        w = rng.integers(0, 2, 3)
        lines.append(" ".join("%d" % i for i in w))
        for i in range(3):
            for j in (i - 1, i + 1):
                if 0 <= j < 3:
                    center.append(w[i]), context.append(w[j])
    write(folder, lines)
    bag = np.zeros((N, 6), dtype=np.float32)
    for r, c in enumerate(center):
        ids = [c] + parts[int(c)]
        bag[r, ids] = 1 / len(ids)
    return dict(bag=bag, words=np.stack([context, 1 - np.array(context)], 1)), np.zeros(N, dtype=np.int64)


def fasttext_net(P, x, train):
    center = x["bag"].to(P[BAGS % "emb"].dtype) @ P[BAGS % "emb"]
    return (P[KEYS % (3, "emb_w")][x["words"]] @ center.unsqueeze(2)).squeeze(2)


def one_of(z, y):
    return (F.softplus(-z[:, 0]) + F.softplus(z[:, 1:]).sum(1)).mean()


FASTTEXT = READER + ', word_count_dict_path: "{workspace}/counts.txt", word_ngrams_path: "{workspace}/ngrams.txt"'
SKIP = "sparse_feature_number: 6, sparse_feature_dim: 3, with_shuffle_batch: False, neg_num: 1, window_size: 1, min_n: 3, max_n: 5"
CASES["fasttext"] = Case("fasttext", old("fasttext", FASTTEXT, SKIP, rate=0.5), words_rows, fasttext_net, one_of, 0.5)
# as shipped: the loss is a sum over the batch
CASES["fasttext_compat"] = Case("fasttext", old("fasttext", FASTTEXT, SKIP, rate=0.05), words_rows, fasttext_net, one_of, 0.05 * 16)

# ---- the demo ----


def movie_rows(rng, folder):
    slots = ["userid", "gender", "age", "occupation", "movieid", "title", "genres"]
    ids, label = rng.integers(0, 20, (N, 7)), rng.integers(1, 6, N)
    write(folder, ["logid:1 time:2 " + " ".join("%s:%d" % s for s in zip(slots, r)) + " label:%d" % y for r, y in zip(ids, label)])
    return dict(ids=ids), label


def rank_net(P, x, train):
    e = P[BAGS % "SparseFeatFactors"][x["ids"]].flatten(1)
    return 5 * torch.sigmoid(block(P, "one", mlp(P, "deep", e, 2)))


def recall_net(P, x, train):
    e = P[BAGS % "SparseFeatFactors"][x["ids"]]
    return 5 * F.cosine_similarity(mlp(P, "user", e[:, :4].flatten(1), 2), mlp(P, "movie", e[:, 4:].flatten(1), 2)).unsqueeze(1)


def squares(z, y):
    return ((z.squeeze(1) - y.to(z.dtype)) ** 2).mean()


MOVIE = 'sparse_slots: "logid time userid gender age occupation movieid title genres label", dense_slots: ""'
for kind, net in (("rank", rank_net), ("recall", recall_net)):
    CASES["movie_" + kind] = Case("movie_" + kind, old("movie_" + kind, MOVIE, "sparse_feature_number: 20, sparse_feature_dim: 3, fc_sizes: [6, 4]", rate=0.02),
                                  movie_rows, net, squares, 0.02)

# ---- as shipped: afm with all weights 1, and the loss summed over the batch ----


def feat_rows(rng, folder):
    ids, val = rng.integers(1, 30, (N, 39)), rng.random((N, 39)).astype(np.float32)
    label = rng.integers(0, 2, N)
    write(folder, ["label:%d " % y + " ".join("feat_idx:%d" % i for i in r) + " " + " ".join("feat_value:%.9g" % a for a in v)
                   for y, r, v in zip(label, ids, val)])
    return dict(ids=ids, val=val), label


def afm_net(P, x, train):
    val = x["val"].to(P[BAGS % "SparseFeatFactors"].dtype)
    v = P[BAGS % "SparseFeatFactors"][x["ids"]] * val.unsqueeze(2)
    first = (P[WIDE % "SparseFeatFactors"][x["ids"]].squeeze(2) * val).sum(1, keepdim=True)
    pairs = 0.5 * (v.sum(1) ** 2 - (v ** 2).sum(1))  # all pairs, each with the weight 1
    return first + block(P, "second", pairs, False)


FEAT = 'sparse_slots: "label feat_idx", dense_slots: "feat_value:39"'
CASES["afm_compat"] = Case("afm", old("afm", FEAT, "sparse_feature_number: 30, sparse_feature_dim: 3, hidden1_attention_size: 4", rate=0.001),
                           feat_rows, afm_net, log_loss, 0.001 * 16)

def criteo_rows(rng, folder):
    ids, dense = rng.integers(0, 20, (N, 26)), rng.random((N, 13)).astype(np.float32)
    label = rng.integers(0, 2, N)
    write(folder, ["click:%d " % y + " ".join("dense_feature:%.9g" % a for a in d) + " " + " ".join("%d:%d" % (k + 1, i) for k, i in enumerate(r))
                   for y, r, d in zip(label, ids, dense)])
    return dict(ids=ids, dense=dense), label


# ---- as shipped: dnn of 2.0 with Adam over all rows of the tables ----


def dnn_net(P, x, train):
    e = P[BAGS % "SparseFeatFactors"][x["ids"]].flatten(1)
    return linear(P, "model.output_mlp", mlp(P, "deep", torch.cat([e, x["dense"].to(e.dtype)], 1), 2))


CRITEO = "sparse_inputs_slots: 27, sparse_feature_number: 21, sparse_feature_dim: 3, dense_input_dim: 13, fc_sizes: [6, 4]"
CASES["dnn_compat"] = Case("dnn", new(CRITEO, rate=0.01), criteo_rows, dnn_net, classes, 0.01, "Adam")
CASES["dnn"] = Case("dnn", new(CRITEO), criteo_rows, dnn_net, classes, 0.1)

# ---- as shipped: dssm of 1.8.5 with a tower for each document ----


def document_rows(rng, folder):
    v = rng.standard_normal((N, 3, 5)).astype(np.float32)
    write(folder, ["\t".join(",".join("%.9g" % a for a in d) for d in r) for r in v])
    return dict(v=v), np.zeros(N, dtype=np.int64)


def dssm_net(P, x, train, shared=False):
    v = x["v"].to(P["model.blocks.query.mlp.0.perceptron.0.weight"].dtype)
    q = mlp(P, "query", v[:, 0], 2, torch.tanh)
    docs = [mlp(P, "doc", v[:, 1], 2, torch.tanh), mlp(P, "doc" if shared else "neg_1", v[:, 2], 2, torch.tanh)]
    return torch.stack([F.cosine_similarity(q, d) for d in docs], 1)


DSSM = "trigram_d: 5, neg_num: 1, slice_end: 16, fc_sizes: [6, 4], fc_acts: [tanh, tanh]"
CASES["dssm_compat"] = Case("dssm", old("dssm", READER, DSSM, rate=0.02), document_rows, dssm_net, classes, 0.02 * 16)
CASES["dssm"] = Case("dssm", old("dssm", READER, DSSM), document_rows, lambda P, x, t: dssm_net(P, x, t, True), classes, 0.1)

# ---- as shipped: bst of 1.8.5 has no norms ----


def bst_rows(rng, folder):
    length = rng.integers(1, 6, N)
    seq = [rng.integers(0, k, (N, 5)) for k in (12, 5, 6)]
    target = [rng.integers(0, k, N) for k in (12, 5, 6)]
    label = rng.integers(0, 2, N)
    names = ("history", "cate", "position")
    write(folder, ["label:%d " % label[r] + " ".join("%s:%d" % (k, i) for k, v in zip(names, seq) for i in v[r, :length[r]]) +
                   " target:%d target_cate:%d target_position:%d" % tuple(t[r] for t in target) for r in range(N)])
    return dict(seq=np.stack(seq, 2), target=np.stack(target, 1), len=length), label


def encoder(P, name, x, mask, heads):
    """An encoder layer of a transformer without norms."""
    D = x.shape[2]
    q, k, v = (x @ P[name + ".self_attn.in_proj_weight"].T + P[name + ".self_attn.in_proj_bias"]).split(D, 2)
    out = []
    for h in range(heads):
        c = slice(h * D // heads, (h + 1) * D // heads)
        s = (q[:, :, c] @ k[:, :, c].transpose(1, 2) / (D // heads) ** 0.5).masked_fill(~mask.unsqueeze(1), -1e30)
        out.append(F.softmax(s, 2) @ v[:, :, c])
    x = x + linear(P, name + ".self_attn.out_proj", torch.cat(out, 2))
    return x + linear(P, name + ".linear2", torch.relu(linear(P, name + ".linear1", x)))


def bst_net(P, x, train):
    tables = [P[KEYS % (w, n)] for w, n in ((4, "item_emb"), (2, "cat_emb"), (2, "position_emb"))]
    s = torch.cat([t[x["seq"][:, :, i]] for i, t in enumerate(tables)], 2)
    q = torch.cat([t[x["target"][:, i]] for i, t in enumerate(tables)], 1)
    mask = torch.arange(5).unsqueeze(0) < x["len"].unsqueeze(1)
    mask = torch.cat([mask, torch.ones(len(mask), 1, dtype=torch.bool)], 1)
    z = encoder(P, "model.blocks.encoder.layers.0", torch.cat([s, q.unsqueeze(1)], 1), mask, 2)
    return linear(P, "model.output_mlp", mlp(P, "deep", (z * mask.unsqueeze(2)).sum(1), 1))


CASES["bst_compat"] = Case("bst", old(
    "bst", 'sparse_slots: "label history cate position target target_cate target_position"',
    "item_emb_size: 4, cat_emb_size: 2, position_emb_size: 2, item_count: 12, cat_count: 5, position_count: 6, n_encoder_layers: 1, d_model: 8, "
    "d_key: 4, d_value: 4, n_head: 2, d_inner_hid: 6, fc_sizes: [5], dropout_rate: 0", rate=0.005), bst_rows, bst_net, log_loss, 0.005 * 16)

# ---- as shipped: mind shares the steps out over one interest; two items, so that the other one is drawn ----


def log_rows(rng, folder):
    lines, seqs, label = [], [], []
    for user in range(20):
        items = rng.integers(1, 3, 12)
        lines += ["%d,%d,%d" % (user, i, t) for t, i in enumerate(items)]
        seqs += [items[max(0, k - 3):k] for k in range(4, 12)]
        label += [items[k] for k in range(4, 12)]
    write(folder, lines)
    return dict(items=np.stack(seqs), target=np.array(label)), np.zeros(N, dtype=np.int64)


def mind_net(P, x, train):
    E = P[KEYS % (4, "item_emb")]
    low, K = E[x["items"]] @ P["model.blocks.capsules.bilinear.weight"].T, 3
    b = P["model.blocks.capsules.routing_logits"].unsqueeze(0).expand(len(low), -1, -1)
    fixed = low.detach()
    for i in range(3):
        w = F.softmax(b, 2 if i < 2 else 1)
        z = w @ (low if i == 2 else fixed)
        q = (z * z).sum(2, keepdim=True)
        v = q / (1 + q) * z / (q + 1e-8).sqrt()
        b = b + (v @ fixed.transpose(1, 2)).detach()
    interests = torch.relu(v @ P["model.blocks.interests.weight"].T + P["model.blocks.interests.bias"])
    both = torch.stack([x["target"], 3 - x["target"]], 1)
    target = E[x["target"]]
    a = F.softmax((interests @ target.unsqueeze(2)).squeeze(2), 1)
    user = (a.unsqueeze(2) * interests).sum(1)
    share = torch.tensor([0, np.log(2) / np.log(3), np.log(1.5) / np.log(3)], dtype=E.dtype)
    return (E[both] @ user.unsqueeze(2)).squeeze(2) - share[both].log()


CASES["mind_compat"] = Case("mind", new("item_count: 3, embedding_dim: 4, hidden_size: 4, neg_samples: 1, maxlen: 3, pow_p: 1.0", rate=0.01),
                            log_rows, mind_net, classes, 0.01, "Adam")

# ---- as shipped: dlrm has a ReLU and batch norm behind every layer, also behind the scores ----


def norm(P, name, x, train):
    at = "model.blocks." + name
    mean, var = (x.mean(0), x.var(0, unbiased=False)) if train else (P[at + ".running_mean"], P[at + ".running_var"])
    if train:
        with torch.no_grad():
            P[at + ".running_mean"].mul_(0.9).add_(0.1 * mean)
            P[at + ".running_var"].mul_(0.9).add_(0.1 * var * len(x) / (len(x) - 1))
    y = (x - mean) / (var + 1e-5).sqrt()
    return y * P[at + ".weight"] + P[at + ".bias"] if at + ".weight" in P else y


def normed(P, name, x, n, train):
    for i in range(n):
        x = norm(P, "%s_norm%d" % (name, i), mlp(P, "%s%d" % (name, i), x, 1), train)
    return x


def dlrm_net(P, x, train):
    e = P[BAGS % "SparseFeatFactors"][x["ids"]]
    d = normed(P, "bottom", x["dense"].to(e.dtype), 2, train)
    v = torch.cat([d.unsqueeze(1), e], 1)
    i, j = torch.triu_indices(v.shape[1], v.shape[1], 1)
    return normed(P, "top", torch.cat([d, (v @ v.transpose(1, 2))[:, i, j]], 1), 2, train)


CASES["dlrm_compat"] = Case("dlrm", new("sparse_inputs_slots: 27, sparse_feature_number: 21, sparse_feature_dim: 3, dense_input_dim: 13, "
                                        "bot_layer_sizes: [5, 3], top_layer_sizes: [5, 2], num_field: 26", rate=0.01), criteo_rows, dlrm_net, classes, 0.01, "Adam")

# ---- gatenet: gates of fields and of layers ----


def gatenet_net(P, x, train, compat=False):
    e = P[BAGS % "SparseFeatFactors"][x["ids"]]
    w = [P["model.blocks.gate%d.weight" % i] for i in range(e.shape[1])]
    g = torch.cat([(e[:, i].sum(1, keepdim=True) if compat else e[:, i]) @ w[i].T for i in range(len(w))], 1)
    y = torch.cat([(e * torch.sigmoid(g).unsqueeze(2)).flatten(1), x["dense"].to(e.dtype)], 1)
    for i in range(2):
        y = mlp(P, "layer%d" % i, y, 1)
        y = y * torch.tanh(block(P, "inner%d" % i, y, False))
    return block(P, "score", y)


GATES = CRITEO + ", use_embedding_gate: True, use_hidden_gate: True"
CASES["gatenet"] = Case("gatenet", new(GATES), criteo_rows, gatenet_net, bce, 0.1)
CASES["gatenet_compat"] = Case("gatenet", new(GATES, rate=0.01), criteo_rows, lambda P, x, t: gatenet_net(P, x, t, True), log_loss, 0.01, "Adam")

# ---- difm: weights of the fields by two networks ----


def difm_net(P, x, train, compat=False):
    e = P[BAGS % "SparseFeatFactors"][x["ids"]]
    one, dense = P[WIDE % "SparseFeatFactors"][x["ids"]].squeeze(2), x["dense"].to(e.dtype)
    d = normed(P, "numbers", dense, 2, train) if compat else mlp(P, "numbers", dense, 2)
    v = torch.cat([d.unsqueeze(1), e], 1)
    q, k, a, r = (v @ P["model.blocks.attention.w_%s.weight" % n].T for n in ("q", "k", "v", "res"))
    H = 2
    heads = [torch.softmax(s @ t.transpose(1, 2) / (q.shape[2] // H) ** 0.5, 2) @ u for s, t, u in zip(*(m.chunk(H, 2) for m in (q, k, a)))]
    o = (torch.cat(heads, 2) + r).flatten(1)
    if compat:
        last = norm(P, "last", mlp(P, "last0", d, 1), train)
        m = normed(P, "bit", v.flatten(1), 2, train) + norm(P, "vec", mlp(P, "vec0", o, 1), train)
        m = torch.softmax(m, 1)
    else:
        last = block(P, "last", d)
        m = block(P, "bit", mlp(P, "deep", v.flatten(1), 1)) + block(P, "vec", o)
    first = (torch.cat([block(P, "number", dense), one], 1) * m).sum(1, keepdim=True)
    v = v * m.unsqueeze(2)
    return first + 0.5 * (v.sum(1) ** 2 - (v ** 2).sum(1)).sum(1, keepdim=True) + last


DIFM = ("sparse_inputs_slots: 27, dense_input_dim: 13, sparse_field_num: 26, sparse_feature_num: 21, sparse_feature_dim: 3, dense_feature_dim: 13, "
        "att_factor_dim: 2, att_head_num: 2, fen_layers_size: [4, 27], dense_layers_size: [4, 3]")
CASES["difm"] = Case("difm", new(DIFM, rate=0.01), criteo_rows, difm_net, bce, 0.01)
CASES["difm_compat"] = Case("difm", new(DIFM, rate=0.01), criteo_rows, lambda P, x, t: difm_net(P, x, t, True), log_loss, 0.01, "Adam")

# ---- as shipped: dcn of 2.0 has one weight for all cross layers, and a penalty that is summed over the batch ----


def dcn_net(P, x, train, compat=False):
    x0 = torch.cat([P[BAGS % "SparseFeatFactors"][x["ids"]].flatten(1), x["dense"].to(P[BAGS % "SparseFeatFactors"].dtype)], 1)
    c, cost = x0, 0
    for i in range(2):
        w, b = (("times0.weight", "x0.bias") if compat else ("cross.w.%d.weight" % i, "cross.b.%d" % i))
        t = c * P["model.blocks." + w]
        cost = cost + (t ** 2).sum()
        c = x0 * t.sum(1, keepdim=True) + P["model.blocks." + b] + c
    z = linear(P, "model.output_mlp", torch.cat([mlp(P, "deep", x0, 2), c], 1))
    return (z, cost) if compat else z


DCN = CRITEO + ", cross_num: 2, l2_reg_cross: 0.00005, dnn_use_bn: False, clip_by_norm: 100.0, is_sparse: False"
CASES["dcn"] = Case("dcn", new(DCN, rate=0.01), criteo_rows, dcn_net, bce, 0.01)
CASES["dcn_compat"] = Case("dcn", new(DCN, rate=0.0003), criteo_rows, lambda P, x, t: dcn_net(P, x, t, True), log_loss, 0.0003, "Adam")
