"""The block knowledge_match (KIM) in PyTorch: every candidate beside every clicked article, one pair after the other."""

import torch
from torch import nn


def heads(q, k, v, n):
    """Attention of n heads over the second last dimension."""
    cut = lambda x: x.unflatten(-1, (n, -1)).transpose(-2, -3)
    q, k, v = cut(q), cut(k), cut(v)
    a = torch.softmax(q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, -1)
    return (a @ v).transpose(-2, -3).flatten(-2)


class CoAttention(nn.Module):
    def __init__(self, E, n):
        super().__init__()
        self.n = n
        self.q_proj, self.k_proj, self.v_proj = (nn.Linear(E, E, bias=False) for _ in range(3))
        self.dense1, self.dense2, self.dense3 = (nn.Linear(E, E) for _ in range(3))
        self.dense5 = nn.Linear(E, 1)

    def forward(self, x, other):
        v = heads(self.q_proj(x), self.k_proj(x), self.v_proj(x), self.n)
        s = self.dense1(v) @ self.dense2(other).transpose(-1, -2)
        w = self.dense5(torch.tanh(self.dense3(v) + s @ other))
        return (v * w).sum(-2)


class Encoder(nn.Module):
    def __init__(self, D, H, n):
        super().__init__()
        self.n, self.conv = n, nn.Linear(3 * D, H)
        self.q_proj, self.k_proj, self.v_proj = (nn.Linear(D, H, bias=False) for _ in range(3))

    def forward(self, x):
        zero = torch.zeros_like(x[..., :1, :])
        near = torch.cat([torch.cat([zero, x[..., :-1, :]], -2), x, torch.cat([x[..., 1:, :], zero], -2)], -1)
        return torch.relu(self.conv(near)) + torch.relu(heads(self.q_proj(x), self.k_proj(x), self.v_proj(x), self.n))


class Pool(nn.Module):
    def __init__(self, E, A):
        super().__init__()
        self.dense1, self.dense2 = nn.Linear(E, A), nn.Linear(A, 1, bias=False)

    def forward(self, x):
        return (torch.softmax(self.dense2(torch.tanh(self.dense1(x))), -2) * x).sum(-2)


class KnowledgeMatch(nn.Module):
    def __init__(self, widths, D, E, conf):
        super().__init__()
        H, A = conf["units"], conf["attention_units"]
        M = (A + 1) // 2
        self.C, self.S, self.N, self.D, self.E = conf["candidates"], conf["words"], conf["entities"], D, E
        self.context_encoder = Encoder(D, H, conf["num_heads"])
        self.attn_layer1, self.attn_layer2 = nn.Linear(H, A), nn.Linear(A, 1, bias=False)
        self.entity_encoder = Pool(E, A)
        self.gat_fuse, self.merge = nn.Linear(2 * E, E), nn.Linear(2 * E, E)
        self.gcat, self.gcat0 = CoAttention(E, conf["entity_heads"]), CoAttention(E, conf["entity_heads"])
        self.merge_layer = nn.Linear(H + E, H)
        self.match_att1, self.match_att2, self.match_reduce = nn.Linear(H, M), nn.Linear(M, 1, bias=False), nn.Linear(H, M)

    def titles(self, mine, news):
        """The vectors of a clicked title and of a candidate's, each as the other shows it."""
        a, b = torch.tanh(self.attn_layer1(mine)), torch.tanh(self.attn_layer1(news))
        za, zb = self.attn_layer2(a), self.attn_layer2(b)
        cross = a @ b.transpose(-1, -2)
        wa = torch.softmax(za + 0.001 * torch.softmax(cross, -1) @ zb, -2)
        wb = torch.softmax(zb + 0.001 * cross.transpose(-1, -2) @ wa, -2)
        return (wa * mine).sum(-2), (wb * news).sum(-2)

    def facts(self, mine, other):
        """mine and other: entities (N, E), neighbours (N, N, E)."""
        fused = self.gat_fuse(torch.cat([self.entity_encoder(other[1]), other[0]], -1))
        near = torch.stack([self.gcat(mine[1][:, j], fused) for j in range(self.N)], 1)
        return self.gcat0(self.merge(torch.cat([mine[0], near], -1)), other[0])

    def forward(self, words, entities, neighbours):
        B = len(words)
        words = self.context_encoder(words.reshape(B, -1, self.S, self.D))
        zero, near = entities.reshape(B, -1, self.N, self.E), neighbours.reshape(B, -1, self.N, self.N, self.E)
        out = []
        for c in range(self.C):
            user, news = [], []
            for i in range(self.C, words.shape[1]):
                t = self.titles(words[:, i], words[:, c])
                one, two = (zero[:, i], near[:, i]), (zero[:, c], near[:, c])
                user.append(self.merge_layer(torch.cat([t[0], self.facts(one, two)], -1)))
                news.append(self.merge_layer(torch.cat([t[1], self.facts(two, one)], -1)))
            u, n = torch.stack(user, 1), torch.stack(news, 1)
            zu, zn = (self.match_att2(torch.tanh(self.match_att1(v))) for v in (u, n))
            cross = self.match_reduce(u) @ self.match_reduce(n).transpose(-1, -2)
            wu = torch.softmax(zu + 0.01 * torch.softmax(cross, -1) @ zn, 1)
            wn = torch.softmax(zn + 0.01 * torch.softmax(cross.transpose(-1, -2), -1) @ zu, 1)
            out.append(((wu * u).sum(1) * (wn * n).sum(1)).sum(1, keepdim=True))
        return torch.cat(out, 1)
