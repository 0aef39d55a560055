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
