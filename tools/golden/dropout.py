"""Variational dropout written out, with the numbers crank draws (src/base/rng.h), so that both see the same u."""

import numpy as np
import torch
from torch import nn

MASK = (1 << 64) - 1
SEED = 2026  # of train_config


def mix64(x):
    x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ x >> 27) * 0x94D049BB133111EB) & MASK
    return x ^ x >> 31


def sub(key, i):
    return mix64(key ^ mix64((i + 0x632BE59BD9B4E019) & MASK))


def hash_text(s):
    h = 0xCBF29CE484222325
    for c in s.encode():
        h = ((h ^ c) * 0x100000001B3) & MASK
    return h


def draw(group, step, rows, n):
    """u (rows, n), float32 numbers in [0, 1)."""
    key = sub(sub(sub(mix64((SEED + 0x9E3779B97F4A7C15) & MASK), hash_text("variational_dropout")), hash_text(group)), step)
    return np.array([[(mix64((sub(key, r) + (i + 1) * 0x9E3779B97F4A7C15) & MASK) >> 40) * 2.0**-24 for i in range(n)]
                     for r in range(rows)], dtype=np.float32)


class Dropped(nn.Module):
    def __init__(self, group, widths, scale):
        super().__init__()
        self.group, self.widths, self.scale = group, torch.tensor(widths), scale
        self.feature_p = nn.Parameter(torch.randn(len(widths)))
        self.step = 0

    def forward(self, x):
        p = torch.sigmoid(self.feature_p)
        gate = (1 - p).expand(len(x), -1)
        if self.training:
            eps = torch.finfo(torch.float32).eps
            u = torch.tensor(draw(self.group, self.step, len(x), len(p)), dtype=x.dtype)
            z = torch.log(p + eps) - torch.log(1 - p + eps) + torch.log(u + eps) - torch.log(1 - u + eps)
            gate = 1 - torch.sigmoid(z / 0.1)
        return x * torch.repeat_interleave(gate, self.widths, 1)

    def loss(self, rows):
        return self.scale / rows * (1 - torch.sigmoid(self.feature_p)).sum()
