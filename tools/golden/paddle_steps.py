"""Cases of paddle.py over histories, texts and sessions, and the others that are read by readers of their own."""

import numpy as np
import torch
from torch.nn import functional as F

from paddle_nets import BAGS, KEYS, N, READER, WIDE, Case, bce, block, bst_rows, classes, linear, log_rows, mlp, new, old, one_of, write

CASES = {}


def masked(x, name="len"):
    return torch.arange(5).unsqueeze(0) < x[name].unsqueeze(1)


def gru(P, name, x, mask):
    """A GRU that resets the state before it multiplies it; the state stays behind the last step."""
    at = "model.blocks.%s." % name
    W, U, b, c = (P[at + k] for k in ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"))
    H, out = U.shape[1], []
    h = x.new_zeros(len(x), H)
    for t in range(x.shape[1]):
        g = x[:, t] @ W.T + b
        rz = torch.sigmoid(g[:, :2 * H] + h @ U[:2 * H].T + c[:2 * H])
        n = torch.tanh(g[:, 2 * H:] + (rz[:, :H] * h) @ U[2 * H:].T + c[2 * H:])
        h = torch.where(mask[:, t:t + 1], (1 - rz[:, H:]) * n + rz[:, H:] * h, h)
        out.append(h)
    return torch.stack(out, 1)


# ---- din, dien: items and categories of a history ----


def history_rows(items, cats):
    def rows(rng, folder):
        length, label = rng.integers(1, 6, N), rng.integers(0, 2, N)
        seq = np.stack([rng.integers(0, items, (N, 5)), rng.integers(0, cats, (N, 5))], 2)
        target = np.stack([rng.integers(0, items, N), rng.integers(0, cats, N)], 1)
        write(folder, [";".join(" ".join("%d" % v for v in seq[r, :length[r], k]) for k in range(2)) + ";%d;%d;%d" % (*target[r], label[r])
                       for r in range(N)])
        return dict(seq=seq, target=target, len=length), label
    return rows


def shares(P, name, h, q, mask):
    q = q.unsqueeze(1).expand_as(h)
    z = torch.cat([q, h, q - h, q * h], 2)
    for i in range(2):
        z = torch.sigmoid(linear(P, "model.blocks.%s.mlp.mlp.%d.perceptron.0" % (name, i), z))
    return linear(P, "model.blocks.%s.linear" % name, z).squeeze(2).masked_fill(~mask, -1e30)


def top(P, x, user, q):
    return block(P, "top", mlp(P, "deep", torch.cat([user, q], 1), 2, torch.sigmoid)) + P[WIDE % "item_emb"][x["target"][:, 0]]


def seen(P, x):
    tables = [P[KEYS % (w, n)] for w, n in ((4, "item_emb"), (2, "cat_emb"))]
    s = torch.cat([t[x["seq"][:, :, i]] for i, t in enumerate(tables)], 2)
    q = torch.cat([t[x["target"][:, i]] for i, t in enumerate(tables)], 1)
    return s, q


def din_net(P, x, train):
    s, q = seen(P, x)
    a = F.softmax(shares(P, "pooled", s, q, masked(x)), 1)
    return top(P, x, block(P, "user", (a.unsqueeze(2) * s).sum(1)), q)


def shipped_din_net(P, x, train):
    """A table for the history, one for the target that the attention sees, one for the target beside it; scores by the root of the width."""
    at = [(4, "item_emb"), (2, "cat_emb")]
    s = torch.cat([P[KEYS % (w, "hist_" + n)][x["seq"][:, :, i]] for i, (w, n) in enumerate(at)], 2)
    q = torch.cat([P[KEYS % (w, n)][x["target"][:, i]] for i, (w, n) in enumerate(at)], 1)
    both = torch.cat([P[BAGS % n][x["target"][:, i]] for i, (w, n) in enumerate(at)], 1)
    a = F.softmax(shares(P, "pooled", s, q, masked(x)) / 6 ** 0.5, 1)
    return top(P, x, block(P, "user", (a.unsqueeze(2) * s).sum(1)), both)


SIZES = "item_emb_size: 4, cat_emb_size: 2, act: sigmoid, use_DataLoader: True, is_sparse: False, item_count: %d, cat_count: %d"
CASES["din"] = Case("din", old("din", READER, SIZES % (12, 5)), history_rows(12, 5), din_net, bce, 0.1)
# as shipped in 2.0: the layers of the attention are not trained
CASES["din_compat"] = Case("din", new(SIZES % (12, 5)), history_rows(12, 5), shipped_din_net, bce, 0.1, frozen="model.blocks.pooled.")


def augru(P, name, x, a, mask):
    at = "model.blocks.%s." % name
    W, U, b, c = (P[at + k] for k in ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"))
    H = U.shape[1]
    h = x.new_zeros(len(x), H)
    for t in range(x.shape[1]):
        g = x[:, t] @ W.T + b
        rz = torch.sigmoid(g[:, :2 * H] + h @ U[:2 * H].T + c[:2 * H])
        n = torch.tanh(g[:, 2 * H:] + (rz[:, :H] * h) @ U[2 * H:].T + c[2 * H:])
        u = a[:, t:t + 1] * (1 - rz[:, H:])  # torch's gate is the share of the old state
        h = torch.where(mask[:, t:t + 1], (1 - u) * h + u * n, h)
    return h


def dien_net(P, x, train, compat=False):
    s, q = seen(P, x)
    mask = masked(x)
    clicks = gru(P, "states", s, mask) if compat else s
    h = gru(P, "interest.gru", clicks, mask)
    a = F.softmax(shares(P, "interest", h, q, mask), 1)
    r = gru(P, "interest.evolution", h * a.unsqueeze(2), mask)[:, -1] if compat else augru(P, "interest.evolution", h, a, mask)
    other = torch.cat([P[KEYS % (w, n)][1] for w, n in ((4, "item_emb"), (2, "cat_emb"))])  # all that can be drawn
    pos, neg = (h[:, :-1] * clicks[:, 1:]).sum(2), h[:, :-1] @ other
    aux = ((F.softplus(-pos) + F.softplus(neg)) * mask[:, 1:]).sum(1).mean()
    return top(P, x, r, q), aux


CASES["dien"] = Case("dien", old("dien", READER, SIZES % (2, 2)), history_rows(2, 2), dien_net, bce, 0.1)
CASES["dien_compat"] = Case("dien", old("dien", READER, SIZES % (2, 2)), history_rows(2, 2), lambda P, x, t: dien_net(P, x, t, True), bce, 0.1)

# ---- bst: the paper's norms, behind the sums ----


def norm(P, name, x):
    return F.layer_norm(x, x.shape[-1:], P[name + ".weight"], P[name + ".bias"])


def bst_net(P, x, train):
    tables = [P[KEYS % (w, n)] for w, n in ((4, "item_emb"), (2, "cat_emb"), (2, "position_emb"))]
    s = torch.cat([t[x["seq"][:, :, i]] for i, t in enumerate(tables)], 2)
    q = torch.cat([t[x["target"][:, i]] for i, t in enumerate(tables)], 1)
    mask = torch.cat([masked(x), torch.ones(len(s), 1, dtype=torch.bool)], 1)
    z, at, D = torch.cat([s, q.unsqueeze(1)], 1), "model.blocks.encoder.layers.0", 8
    a = (z @ P[at + ".self_attn.in_proj_weight"].T + P[at + ".self_attn.in_proj_bias"]).split(D, 2)
    heads = [F.softmax((k @ l.transpose(1, 2) / 2).masked_fill(~mask.unsqueeze(1), -1e30), 2) @ v for k, l, v in zip(*(m.chunk(2, 2) for m in a))]
    z = norm(P, at + ".norm1", z + linear(P, at + ".self_attn.out_proj", torch.cat(heads, 2)))
    z = norm(P, at + ".norm2", z + linear(P, at + ".linear2", torch.relu(linear(P, at + ".linear1", z))))
    return linear(P, "model.output_mlp", mlp(P, "deep", (z * mask.unsqueeze(2)).sum(1), 1))


CASES["bst"] = Case("bst", old(
    "bst", 'sparse_slots: "label history cate position target target_cate target_position"',
    "item_emb_size: 4, cat_emb_size: 2, position_emb_size: 2, item_count: 12, cat_count: 5, position_count: 6, n_encoder_layers: 1, d_model: 8, "
    "d_key: 4, d_value: 4, n_head: 2, d_inner_hid: 6, fc_sizes: [5], dropout_rate: 0"), bst_rows, bst_net, bce, 0.1)

# ---- sessions: gru4rec takes every next item, ssr the last one; two items, so that the other one is drawn ----


def next_rows(rng, folder):
    lines, seqs, length, label = [], [], [], []
    while len(label) < N:
        items = rng.integers(0, 9, min(int(rng.integers(2, 7)), N - len(label) + 1))
        lines.append(" ".join("%d" % i for i in items))
        for k in range(1, len(items)):
            seqs.append(np.pad(items[:k], (0, 5 - k))), length.append(k), label.append(items[k])
    write(folder, lines)
    return dict(seq=np.stack(seqs), len=np.array(length)), np.array(label)


def gru4rec_net(P, x, train):
    return linear(P, "model.output_mlp", gru(P, "state", P[KEYS % (4, "item_emb")][x["seq"]], masked(x))[:, -1])


def last_rows(rng, folder):
    length, seq = rng.integers(1, 6, N), rng.integers(0, 2, (N, 6))
    write(folder, [" ".join("%d" % i for i in seq[r, :length[r] + 1]) for r in range(N)])
    return dict(seq=seq[:, :5], len=length, next=seq[np.arange(N), length]), np.zeros(N, dtype=np.int64)


def ssr_net(P, x, train):
    h = gru(P, "states", P[KEYS % (4, "item_emb")][x["seq"]], masked(x)).masked_fill(~masked(x).unsqueeze(2), -1e30)
    user = block(P, "user", h.max(1).values)
    return torch.stack([F.cosine_similarity(user, block(P, "good", P[BAGS % "item_emb"][i])) for i in (x["next"], 1 - x["next"])], 1)


def margin(m):
    return lambda z, y: torch.relu(m - z[:, 0] + z[:, 1]).mean()


CASES["gru4rec"] = Case("gru4rec", old("gru4rec", READER, "vocab_size: 9, hid_size: 4, recall_k: 3"), next_rows, gru4rec_net, classes, 0.1)
CASES["ssr"] = Case("ssr", old("ssr", READER, "vocab_size: 2, emb_dim: 4, hidden_size: 3"), last_rows, ssr_net, margin(0.8), 0.1)

# ---- texts ----


def conv(P, name, x, mask, width):
    before = (width - 1) // 2
    p = F.pad(x * mask.unsqueeze(2), (0, 0, before, width - 1 - before))
    y = torch.tanh(block(P, name, torch.cat([p[:, i:i + x.shape[1]] for i in range(width)], 2)))
    return y.masked_fill(~mask.unsqueeze(2), -1e30).max(1).values


def words_rows(rng, folder):
    words, label = rng.integers(0, 12, (N, 5)), rng.integers(0, 2, N)
    write(folder, [" ".join("%d" % w for w in r) + " 5 %d" % y for r, y in zip(words, label)])
    return dict(words=words, len=np.full(N, 5)), label


def textcnn_net(P, x, train):
    e = P[KEYS % (3, "word_emb")][x["words"]]
    return linear(P, "model.output_mlp", mlp(P, "deep", torch.cat([conv(P, "conv%d" % i, e, masked(x), i) for i in (1, 2, 3)], 1), 1, torch.tanh))


def tags_rows(rng, folder):
    length, words, tag = rng.integers(1, 6, N), rng.integers(0, 12, (N, 5)), rng.integers(0, 3, N)
    write(folder, ["%d," % tag[r] + " ".join("%d" % w for w in words[r, :length[r]]) for r in range(N)])
    return dict(words=words, len=length), tag


def tagspace_net(P, x, train):
    text = block(P, "text", conv(P, "conv", P[KEYS % (3, "word_emb")][x["words"]], masked(x), 3))
    return torch.stack([F.cosine_similarity(text, t.unsqueeze(0)) for t in P[BAGS % "tag_emb"]], 1)


def hardest(z, y):
    """The tag against the nearest of the others."""
    right = F.one_hot(y, z.shape[1]).bool()
    return torch.relu(0.1 - z[right] + z.masked_fill(right, -1e30).max(1).values).mean()


CASES["textcnn"] = Case("textcnn", old("textcnn", READER, "dict_dim: 12, max_len: 5, emb_dim: 3, cnn_dim: 3, hid_dim: 4, class_dim: 2"),
                        words_rows, textcnn_net, classes, 0.1)
CASES["textcnn_pretrain"] = Case("textcnn_pretrain", old("textcnn_pretrain", READER, "dict_dim: 12, max_len: 5, emb_dim: 3, cnn_dim: 2, hid_dim: 5"),
                                 words_rows, textcnn_net, classes, 0.1)
CASES["tagspace"] = Case("tagspace", old("tagspace", READER, "vocab_text_size: 12, vocab_tag_size: 3, emb_dim: 3, hid_dim: 5, win_size: 3, margin: 0.1"),
                         tags_rows, tagspace_net, hardest, 0.1)


def titles_rows(rng, folder):
    length, words = rng.integers(1, 6, (N, 3)), rng.integers(0, 12, (N, 3, 5))
    write(folder, [" ".join("%d:%d" % (s, w) for s in range(3) for w in words[r, s, :length[r, s]]) for r in range(N)])
    return dict(words=words, len=length), np.zeros(N, dtype=np.int64)


def simnet_net(P, x, train):
    e = P[KEYS % (3, "emb")][x["words"]]
    mask = torch.arange(5) < x["len"].unsqueeze(2)
    q = mlp(P, "query", gru(P, "query_steps", e[:, 0], mask[:, 0])[:, -1], 1)
    docs = []
    for i in (1, 2):
        p = F.pad(e[:, i] * mask[:, i].unsqueeze(2), (0, 0, 1, 1))
        y = block(P, "doc_steps", torch.cat([p[:, k:k + 5] for k in range(3)], 2))
        docs.append(mlp(P, "doc", y.masked_fill(~mask[:, i].unsqueeze(2), -1e30).max(1).values, 1))
    return torch.stack([F.cosine_similarity(q, d) for d in docs], 1)


CASES["multiview_simnet"] = Case("multiview_simnet", old(
    "multiview_simnet", 'sparse_slots: "0 1 2"', "query_encoder: gru, title_encoder: cnn, query_encode_dim: 4, title_encode_dim: 4, "
    "sparse_feature_dim: 12, embedding_dim: 3, hidden_size: 5, margin: 0.1"), titles_rows, simnet_net, margin(0.1), 0.1)

# ---- word2vec: two words, so that the other one is drawn ----


def pairs_rows(rng, folder):
    with open(folder + "/counts.txt", "w") as f:
        f.write("a 3\nb 2\n")
    lines, center, context = [], [], []
    for _ in range(N // 4):
        w = rng.integers(0, 2, 3)
        lines.append(" ".join("%d" % i for i in w))
        for i in range(3):
            for j in (i - 1, i + 1):
                if 0 <= j < 3:
                    center.append(w[i]), context.append(w[j])
    write(folder, lines)
    return dict(center=np.array(center), words=np.stack([context, 1 - np.array(context)], 1)), np.zeros(N, dtype=np.int64)


def word2vec_net(P, x, train):
    c = P[BAGS % "emb"][x["center"]]
    return (P[KEYS % (3, "emb_w")][x["words"]] @ c.unsqueeze(2)).squeeze(2) + P[KEYS % (1, "emb_b")][x["words"]].squeeze(2)


CASES["word2vec"] = Case("word2vec", old("word2vec", READER + ', word_count_dict_path: "{workspace}/counts.txt"',
                                         "sparse_feature_number: 2, sparse_feature_dim: 3, with_shuffle_batch: False, neg_num: 1, window_size: 1", rate=0.5),
                         pairs_rows, word2vec_net, one_of, 0.5)

# ---- models over vectors, over two ids, over signs and over fields of Avazu ----


def vector_rows(rng, folder):
    v, label = rng.standard_normal((N, 3, 4)).astype(np.float32), rng.integers(0, 3, N)
    write(folder, [";".join(",".join("%.9g" % a for a in p) for p in r) + ";%d" % y for r, y in zip(v, label)])
    return dict(v=v), label


def youtube_net(P, x, train):
    return linear(P, "model.output_mlp", mlp(P, "deep", x["v"].flatten(1), 2))


CASES["youtube_dnn"] = Case("youtube_dnn", old("youtube_dnn", READER, "watch_vec_size: 4, search_vec_size: 4, other_feat_size: 4, output_size: 3, layers: [6, 4]"),
                            vector_rows, youtube_net, classes, 0.1)


def rating_rows(rng, folder):
    ids, label = np.stack([rng.integers(0, 8, N), rng.integers(0, 9, N)], 1), rng.integers(0, 2, N)
    write(folder, ["%d,%d,%d" % (*r, y) for r, y in zip(ids, label)])
    return dict(ids=ids), label


def ncf_net(P, x, train):
    u, i, v, j = (P[BAGS % (n + "_emb")][x["ids"][:, k % 2]] for k, n in enumerate(("user", "item", "user_mlp", "item_mlp")))
    return linear(P, "model.output_mlp", torch.cat([u * i, mlp(P, "deep", torch.cat([v, j], 1), 2)], 1))


CASES["ncf"] = Case("ncf", old("ncf", READER, "num_users: 8, num_items: 9, latent_dim: 3, fc_layers: [6, 5, 4]"), rating_rows, ncf_net, bce, 0.1)


def sign_rows(rng, folder):
    """All signs fall into one row of the table, so that their hash does not matter."""
    label, counts = rng.integers(0, 2, N), rng.integers(1, 4, (N, 3))
    write(folder, ["%d:1 " % y + " ".join("%d:%d" % (rng.integers(1, 2 ** 62), s + 2) for s in range(3) for _ in range(c[s])) for y, c in zip(label, counts)])
    return dict(counts=counts.astype(np.float32)), label


def slot_dnn_net(P, x, train):
    e = x["counts"].unsqueeze(2) * P[BAGS % "embedding"][0]
    return linear(P, "model.output_mlp", mlp(P, "deep", e.flatten(1), 2))


CASES["slot_dnn"] = Case("slot_dnn", new("dict_dim: 1, emb_dim: 9, sparse_feature_dim: 3, slot_num: 3, layer_sizes: [5, 4], distributed_embedding: 0"),
                         sign_rows, slot_dnn_net, bce, 0.1)


def avazu_rows(rng, folder):
    ids, label = rng.integers(0, 12, (N, 23)), rng.integers(0, 2, N)
    write(folder, [",".join("%d" % i for i in r) + ",%d" % y for r, y in zip(ids, label)])
    return dict(ids=ids[:, 1:]), label


def flen_net(P, x, train):
    e = P[BAGS % "SparseFeatFactors"][x["ids"]]
    fields = [e[:, :13], e[:, 13:16], e[:, 16:]]
    s = [f.sum(1) for f in fields]
    between = torch.stack([s[0] * s[1], s[0] * s[2], s[1] * s[2]], 1)
    inside = torch.stack([0.5 * (a ** 2 - (f ** 2).sum(1)) for a, f in zip(s, fields)], 1)
    both = sum(torch.einsum("nf,bfd->bnd", P["model.blocks.%s.weight" % n], v).flatten(1) for n, v in (("between", between), ("inside", inside)))
    at = "model.blocks.second.mlp.0.perceptron."
    z = linear(P, at + "0", both, False)
    mean, var = (z.mean(0), z.var(0, unbiased=False)) if train else (P[at + "1.running_mean"], P[at + "1.running_var"])
    if train:
        with torch.no_grad():
            P[at + "1.running_mean"].mul_(0.9).add_(0.1 * mean)
            P[at + "1.running_var"].mul_(0.9).add_(0.1 * var * len(z) / (len(z) - 1))
    second = torch.relu((z - mean) / (var + 1e-5).sqrt() * P[at + "1.weight"] + P[at + "1.bias"])
    return linear(P, "model.output_mlp", torch.cat([second, mlp(P, "deep", e.flatten(1), 2)], 1))


CASES["flen"] = Case("flen", new("sparse_inputs_slots: 22, sparse_feature_number: 12, sparse_num_field: 3, sparse_feature_dim: 3, layer_sizes_dnn: [6, 4], "
                                 "dropout_rate: 0", rate=0.02), avazu_rows, flen_net, bce, 0.02)

# ---- look_alike_recall: seeds that attend to a user, and to each other ----


def seeds_rows(rng, folder):
    length, seeds = rng.integers(1, 6, N), rng.integers(0, 12, (N, 5))
    user, label = rng.integers(0, 12, N), rng.integers(0, 2, N)
    write(folder, ["label:%d " % label[r] + " ".join("user_seeds:%d" % s for s in seeds[r, :length[r]]) + " target_user:%d" % user[r] for r in range(N)])
    return dict(seeds=seeds, len=length, user=user), label


def look_alike_net(P, x, train):
    mask = masked(x)
    t = block(P, "target", P[BAGS % "user_emb"][x["user"]], False)
    s = block(P, "seeds", P[KEYS % (3, "user_emb")][x["seeds"]], False) * mask.unsqueeze(2)
    local = (F.softmax((s @ t.unsqueeze(2)).squeeze(2).masked_fill(~mask, -1e30), 1).unsqueeze(2) * s).sum(1)
    at = "model.blocks.global."
    W, b = P[at + "_multihead_attn.in_proj_weight"].chunk(3), P[at + "_multihead_attn.in_proj_bias"].chunk(3)
    q, k, v = (linear(P, at + n, s) @ w.T + c for n, w, c in zip(("_query", "_key", "_value"), W, b))
    a = F.softmax((q @ k.transpose(1, 2) / q.shape[2] ** 0.5).masked_fill(~mask.unsqueeze(1), -1e30), 2)
    y = linear(P, at + "_multihead_attn.out_proj", a @ v) * mask.unsqueeze(2)
    tower = local + y.sum(1) / x["len"].unsqueeze(1)
    return block(P, "score", F.cosine_similarity(tower, t).unsqueeze(1))


SEEDS = 'sparse_slots: "label user_seeds target_user"'
CASES["look_alike_recall"] = Case("look_alike_recall", old("look_alike_recall", SEEDS, "user_count: 12, user_emb_size: 3, seeds_num: 20, transformed_size: 4"),
                                  seeds_rows, look_alike_net, bce, 0.1)


def shipped_look_alike_net(P, x, train):
    """Matrices between seeds and user, and between seeds; the cosine is the probability."""
    mask = masked(x)
    t = block(P, "target", P[BAGS % "user_emb"][x["user"]], False)
    s = block(P, "seeds", P[KEYS % (3, "user_emb")][x["seeds"]], False) * mask.unsqueeze(2)
    a = torch.tanh((s @ P["model.blocks.asked.weight"] @ t.unsqueeze(2)).squeeze(2)).masked_fill(~mask, -1e30)
    local = (F.softmax(a, 1).unsqueeze(2) * s).sum(1)
    a = (torch.tanh(s @ P["model.blocks.turned.weight"].T) @ s.transpose(1, 2)).masked_fill(~mask.unsqueeze(1), -1e30)
    each = (F.softmax(a, 2) @ s) * mask.unsqueeze(2)
    return F.cosine_similarity(local + each.sum(1), t).unsqueeze(1)


def cosine_loss(z, y):
    """PaddleRec's log_loss; below 0 its logarithm is not a number, and crank takes 0."""
    p, y = z.squeeze(1).clamp(min=0), y.to(z.dtype)
    return (-y * torch.log(p + 1e-4) - (1 - y) * torch.log(1 - p + 1e-4)).mean()


CASES["look_alike_recall_compat"] = Case("look_alike_recall", old("look_alike_recall", SEEDS, "user_count: 12, user_emb_size: 3, transformed_size: 4", rate=0.0002),
                                         seeds_rows, shipped_look_alike_net, cosine_loss, 0.0002 * 16)

# ---- mind: the paper shares the interests out over the steps; two items, so that the other one is drawn ----


def mind_net(P, x, train):
    E = P[KEYS % (4, "item_emb")]
    low = E[x["items"]] @ P["model.blocks.capsules.bilinear.weight"].T
    b = P["model.blocks.capsules.routing_logits"].unsqueeze(0).expand(len(low), -1, -1)
    fixed = low.detach()
    for i in range(3):
        z = F.softmax(b, 1) @ (low if i == 2 else fixed)
        q = (z * z).sum(2, keepdim=True)
        v = q / (1 + q) * z / (q + 1e-8).sqrt()
        b = b + (v @ fixed.transpose(1, 2)).detach()
    interests = torch.relu(v @ P["model.blocks.interests.weight"].T + P["model.blocks.interests.bias"])
    both = torch.stack([x["target"], 3 - x["target"]], 1)
    a = F.softmax((interests @ E[x["target"]].unsqueeze(2)).squeeze(2), 1)
    user = (a.unsqueeze(2) * interests).sum(1)
    share = torch.tensor([0, np.log(2) / np.log(3), np.log(1.5) / np.log(3)], dtype=E.dtype)
    return (E[both] @ user.unsqueeze(2)).squeeze(2) - share[both].log()


CASES["mind"] = Case("mind", new("item_count: 3, embedding_dim: 4, hidden_size: 4, neg_samples: 1, maxlen: 3, pow_p: 1.0"), log_rows, mind_net, classes, 0.1)
