"""Cases of paddle.py over news: candidates and browsed articles, whose words and categories make a vector each."""

import numpy as np
import torch
from torch.nn import functional as F

from paddle_nets import KEYS, N, Case, block, classes, new, write

CASES = {}
TITLE, CONTENT, BROWSED, OTHERS, WORDS, CATS, SUBS = 3, 4, 2, 2, 9, 3, 4
SIZES = ("article_title_size: %d, article_content_size: %d, browse_size: %d, neg_condidate_sample_size: %d, word_dict_size: %d, category_size: %d, "
         "sub_category_size: %d, word_dimension: 2, category_dimension: 3, attention_projection_size: 3") % (
             TITLE, CONTENT, BROWSED, OTHERS, WORDS, CATS, SUBS)


def news_rows(rng, folder):
    """Ten articles; titles and texts of any length, also too long ones; lines may browse fewer, more or unknown articles."""
    articles, lines = [], []
    cats, subs = np.full(11, CATS), np.full(11, SUBS)  # number 10 is padding
    titles, contents = np.full((11, TITLE), WORDS), np.full((11, CONTENT), WORDS)
    for a in range(10):
        cats[a], subs[a] = rng.integers(0, CATS), rng.integers(0, SUBS)
        t, c = rng.integers(0, WORDS, rng.integers(0, TITLE + 2)), rng.integers(0, WORDS, rng.integers(1, CONTENT + 2))
        titles[a, :min(len(t), TITLE)], contents[a, :min(len(c), CONTENT)] = t[:TITLE], c[:CONTENT]
        articles.append("a%d\t%d\t%d\t%s\t%s" % (a, cats[a], subs[a], " ".join(map(str, t)), " ".join(map(str, c))))
    ids, place = np.full((N, OTHERS + 1 + BROWSED), 10), np.arange(N) % (OTHERS + 1)
    for r in range(N):
        seen = rng.integers(0, 11, rng.integers(1, BROWSED + 2))
        shown = rng.integers(0, 10, OTHERS + 1)
        last = seen[-BROWSED:]
        ids[r, OTHERS + 1:OTHERS + 1 + len(last)] = last
        ids[r, :OTHERS + 1] = np.insert(shown[1:], place[r], shown[0])
        lines.append("%s\ta%d\t%s" % (" ".join("a%d" % i if i < 10 else "unk" for i in seen), shown[0], " ".join("a%d" % i for i in shown[1:])))
    write(folder, articles, "article.txt")
    write(folder, lines, "browse.txt")
    return dict(cat=cats[ids], sub=subs[ids], title=titles[ids], content=contents[ids]), place


def attend(P, name, x, tanh):
    """x (..., n, D) -> (..., D)"""
    s = block(P, name + ".attention", x, tanh)
    s = block(P, name + ".projection", torch.tanh(s) if tanh else s, False)
    return (torch.softmax(s, -2) * x).sum(-2)


def convolve(P, name, x):
    """Each word with its two neighbours, and zeros outside."""
    near = torch.cat([F.pad(x, (0, 0, 1, 0))[..., :-1, :], x, F.pad(x, (0, 0, 0, 1))[..., 1:, :]], -1)
    return torch.relu(block(P, name, near))


def tables(P, x):
    one = {k.split(".")[-2]: v for k, v in P.items() if "ec_dict" in k}
    words = one["word2vec_embedding"]
    return one["cate_embedding"][x["cat"]], one["sub_cate_embedding"][x["sub"]], words[x["title"]], words[x["content"]]


def scored(P, x, views, tanh, user):
    articles = attend(P, "articles", torch.stack(views, 2), tanh)
    mine = user(articles[:, OTHERS + 1:])
    return (articles[:, :OTHERS + 1] * mine.unsqueeze(1)).sum(2)


def naml_net(compat):
    def net(P, x, train):
        cat, sub, title, content = tables(P, x)
        title = convolve(P, "title_words", title)
        content = convolve(P, "content_words", content)
        views = [attend(P, "title_view", title, not compat), attend(P, "content_view", content, not compat),
                 torch.relu(block(P, "category_view", cat)), torch.relu(block(P, "subcategory_view", sub))]
        return scored(P, x, views, not compat, lambda v: attend(P, "user", v, not compat))
    return net


CASES["naml"] = Case("naml", new(SIZES + ", conv_out_channel_size: 4"), news_rows, naml_net(False), classes, 0.1)
CASES["naml_compat"] = Case("naml", new(SIZES + ", conv_out_channel_size: 4", 0.01, "Adam"), news_rows, naml_net(True), classes, 0.01, "Adam")

# ---- fastformer ----


def normed(P, name, x):
    return F.layer_norm(x, x.shape[-1:], P["model.blocks.%s.weight" % name], P["model.blocks.%s.bias" % name], 1e-5)


def gathered(P, name, x, mask, H):
    """Attention of H heads over the vectors of a group: x (..., n, D) -> (..., 1, D). A group of padding alone gives zeros."""
    s = block(P, name, x) / (x.shape[-1] // H) ** 0.5 if H else block(P, name, x)
    a = torch.exp(s - s.max(-2, keepdim=True).values.detach()) * mask.unsqueeze(-1)
    a = a / a.sum(-2, keepdim=True).clamp(min=1e-30)
    return (a.repeat_interleave(x.shape[-1] // a.shape[-1], -1) * x).sum(-2, keepdim=True)


def fastformer(P, name, x, mask, H, layers):
    x = normed(P, name + ".norm", x + P["model.blocks.%s.position_embeddings" % name].reshape(x.shape[-2:]))
    for i in range(layers):
        n = "%s.layers.%d." % (name, i)
        q = block(P, n + "query", x)
        qk = block(P, n + "key", x) * gathered(P, n + "query_att", q, mask, H)
        v = block(P, n + "transform", gathered(P, n + "key_att", qk, mask, H) * q) + q
        x = normed(P, n + "norm1", block(P, n + "dense", v) + x)
        x = normed(P, n + "norm2", block(P, n + "linear2", F.gelu(block(P, n + "linear1", x))) + x)
    s = torch.tanh(block(P, name + ".att_fc1", x))
    a = torch.exp(block(P, name + ".att_fc2", s)) * mask.unsqueeze(-1)
    return (a / a.sum(-2, keepdim=True).clamp(min=1e-30) * x).sum(-2)


def fastformer_net(P, x, train):
    cat, sub, title, content = tables(P, x)
    real = [(x[k] != WORDS).to(cat.dtype) for k in ("title", "content")]
    views = [fastformer(P, "title_view", convolve(P, "title_words", title), real[0], 2, 2),
             fastformer(P, "content_view", convolve(P, "content_words", content), real[1], 2, 2),
             torch.relu(block(P, "category_view", cat)), torch.relu(block(P, "subcategory_view", sub))]
    return scored(P, x, views, True, lambda v: fastformer(P, "user", v, torch.ones_like(v[..., 0]), 2, 2))


FAST = ", conv_out_channel_size: 4, hidden_size: 4, hidden_dropout_prob: 0, num_hidden_layers: 2, num_attention_heads: 2, intermediate_size: 3, " \
       "max_position_embeddings: 8, layer_norm_eps: 1e-5, initializer_range: 0.02, pooler_type: weightpooler"
CASES["fastformer"] = Case("fastformer", new(SIZES + FAST, 0.05), news_rows, fastformer_net, classes, 0.05)
