"""Cases of paddle.py over sessions in which several places are learned at once: bert4rec."""

import numpy as np
import torch
from torch.nn import functional as F

from paddle_nets import N, Case, block, mlp, write
from paddle_news import normed

CASES = {}


def no_more(z, y):
    """The net brings the loss itself."""
    return 0


def new(hyper, rate, optimizer):
    return """runner: {train_data_dir: data, train_reader_path: data_reader, train_batch_size: 1, data_batch_size: 16, epochs: 1, print_interval: 10,
         model_save_path: out, test_data_dir: data, infer_batch_size: 1}
hyper_parameters: {optimizer: {%slearning_rate: %g}, %s}
""" % (optimizer, rate, hyper)


# ---- bert4rec: items 1 to 8, 9 is the mask ----

ITEMS, LONGEST, HEADS, LAYERS = 10, 6, 2, 2


def masked_rows(rng, folder):
    length = rng.integers(1, LONGEST + 1, N)
    right = rng.integers(1, 9, (N, LONGEST))
    hidden = rng.random((N, LONGEST)) < 0.5
    hidden[np.arange(N), rng.integers(0, length)] = True
    hidden &= np.arange(LONGEST) < length[:, None]
    real = (np.arange(LONGEST) < length[:, None]).astype(int)
    items, places = np.where(hidden, 9, right) * real, real * np.arange(LONGEST)
    text = lambda v: ", ".join("%d" % i for i in v)
    write(folder, ["1; %s; %s; %s; %s; %s" % (text(items[r]), text(real[r]), text(places[r]), text(np.flatnonzero(hidden[r])), text(right[r][hidden[r]]))
                   for r in range(N)])
    last = np.array([right[r][np.flatnonzero(hidden[r])[-1]] for r in range(N)])
    return dict(items=items, real=real.astype(np.float64), hidden=hidden, right=right), last


def encoder(P, x, real):
    """Layers as torch's TransformerEncoderLayer has them, over real steps alone."""
    d = x.shape[2] // HEADS
    heads = lambda v: v.reshape(*v.shape[:2], HEADS, d).transpose(1, 2)
    for i in range(LAYERS):
        n = "model.blocks.encoder.layers.%d." % i
        q, k, v = (heads(t) for t in (x @ P[n + "self_attn.in_proj_weight"].T + P[n + "self_attn.in_proj_bias"]).chunk(3, 2))
        s = q @ k.transpose(2, 3) / d ** 0.5 - 1e4 * (1 - real)[:, None, None]
        y = (torch.softmax(s, 3) @ v).transpose(1, 2).reshape(x.shape)
        x = normed(P, "encoder.layers.%d.norm1" % i, x + block(P, "encoder.layers.%d.self_attn.out_proj" % i, y))
        y = block(P, "encoder.layers.%d.linear2" % i, F.gelu(block(P, "encoder.layers.%d.linear1" % i, x)))
        x = normed(P, "encoder.layers.%d.norm2" % i, x + y)
    return x


def bert4rec_net(compat):
    def net(P, x, train):
        E, real = P["model.blocks.item_emb.embedding.weight"], x["real"]
        steps = normed(P, "norm", E[x["items"]] + P["model.blocks.position_emb.embedding.weight"])
        states = normed(P, "even", mlp(P, "turned", encoder(P, steps, real), 1, F.gelu))
        z = states @ E.T + P["model.blocks.scores.bias"]
        each = F.cross_entropy(z.transpose(1, 2), x["right"], reduction="none") * x["hidden"]
        places = x["hidden"].sum(1)
        loss = each.sum() / places.sum() if compat else (each.sum(1) / places).mean()
        last = (x["hidden"] * torch.arange(LONGEST)).max(1).values
        return z[torch.arange(len(z)), last], loss
    return net


SIZES = "_emb_size: 4, _n_layer: %d, _n_head: %d, _voc_size: %d, _max_position_seq_len: %d, _sent_types: 2, hidden_act: gelu, _dropout: 0, " \
        "_attention_dropout: 0, _param_initializer: 0.02, num_test_user: 1" % (LAYERS, HEADS, ITEMS, LONGEST)
CASES["bert4rec"] = Case("bert4rec", new(SIZES, 0.1, "class: SGD, "), masked_rows, bert4rec_net(False), no_more, 0.1)
# Keys of attention have a bias without an effect, whose gradient is rounding alone. AdamW would make steps of it, so the rate is next to nothing: the scores,
# the losses and the first gradients are what this case compares.
CASES["bert4rec_compat"] = Case("bert4rec", new(SIZES, 1e-8, ""), masked_rows, bert4rec_net(True), no_more, 1e-8, "AdamW")
