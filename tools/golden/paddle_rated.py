"""The case of paddle.py whose outputs are fed in again: deeprec."""

import numpy as np
import torch

from paddle_masked import no_more
from paddle_nets import N, Case, mlp, write

CASES = {}
ITEMS, SIZES = 7, [7, 5, 3]
CONFIG = """runner: {train_data_dir: data, train_reader_path: netflix_reader, reader_batch_size: 16, epochs: 1, print_interval: 10,
         model_save_path: out, test_data_dir: data, infer_batch_size: 16}
hyper_parameters: {optimizer: {class: SGD, learning_rate: 0.02, momentum: 0.9, weight_decay: 0.01}, dp_drop_prob: 0.0, layer_sizes: %s}
""" % SIZES


def rating_rows(rng, folder):
    lines, own, number = [], np.zeros((N, ITEMS)), {}  # items are numbered in the order of the lines
    for user in range(N):
        for i in rng.permutation(ITEMS)[:rng.integers(1, 6)]:
            rating = rng.integers(1, 11) / 2
            lines.append("%d\t%d\t%g" % (1000 + user, 50 + i, rating))
            own[user, number.setdefault(int(i), len(number))] = rating
    assert len(number) == ITEMS
    write(folder, lines)
    return dict(own=own), (own != 0).sum(1)


def deeprec_net(P, x, train):
    y = mlp(P, "decoder", mlp(P, "encoder", x["own"], 2, torch.selu), 2, torch.selu)
    there = x["own"] != 0
    return y, ((y - x["own"])[there]**2).sum() / there.sum()


def again(x, y):
    return dict(own=y)


for name, clip in (("deeprec", 1), ("deeprec_compat", None)):
    CASES[name] = Case("deeprec", CONFIG, rating_rows, deeprec_net, no_more, 0.02, "Momentum", clip=clip, again=again)
