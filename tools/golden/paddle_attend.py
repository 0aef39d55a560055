"""Cases of paddle.py whose attention is of a form of their own."""

import numpy as np
import torch
from torch.nn import functional as F

from paddle_nets import BAGS, KEYS, N, Case, bce, block, mlp, new, write

CASES = {}


def slope(P, name, x):
    z = block(P, name + ".mlp.0.perceptron.0", x)
    return torch.where(z > 0, z, P["model.blocks.%s.mlp.0.perceptron.1.weight" % name] * z)


# ---- dmr: 50 steps, padded in front ----

DMR = dict(user_size=7, cms_segid_size=4, cms_group_id_size=3, final_gender_code_size=3, age_level_size=4, pvalue_level_size=3, shopping_level_size=3,
           occupation_size=3, new_user_class_level_size=3, adgroup_id_size=8, cate_size=6, campaign_id_size=5, customer_size=5, brand_size=6, btag_size=4,
           pid_size=2)
PLAIN = ["uid", "cms_segid", "cms_group_id", "final_gender_code", "age_level", "pvalue_level", "shopping_level", "occupation", "new_user_class_level",
         "adgroup_id", "cate", "campaign_id", "customer", "brand", "pid"]


def dmr_rows(rng, folder):
    n = [v for k, v in DMR.items() if k != "btag_size"]
    length, label = rng.integers(2, 6, N), rng.integers(0, 2, N)
    steps = np.stack([rng.integers(0, DMR[k], (N, 5)) for k in ("btag_size", "cate_size", "brand_size")], 2)
    plain = np.stack([rng.integers(0, k, N) for k in n], 1)
    price, match = rng.standard_normal(N).round(3), (rng.random(N) < 0.7).astype(np.int64)
    lines = []
    for r in range(N):
        lists = [[0] * (50 - length[r]) + [str(v) for v in steps[r, :length[r], k]] for k in range(3)]
        mask = [0] * (50 - length[r]) + [1] * length[r]
        chosen = [0] * 45 + [match[r]] * 5
        row = sum(lists, []) + mask + chosen + list(plain[r, :14]) + ["%.3f" % price[r], plain[r, 14], label[r]]
        # 0 may also be missing
        lines.append(",".join("" if v == "0" and r % 3 == 0 else "NULL" if v == "0" and r % 3 == 1 else str(v) for v in row))
    write(folder, lines)
    return dict(steps=steps, plain=plain, price=price, match=match, len=length), label


def dmr_scores(P, at, q, s, mask):
    z = torch.cat([q, s, q - s, q * s], 2)
    for i in range(2):
        z = torch.sigmoid(block(P, "%s_att.mlp.%d.perceptron.0" % (at, i), z))
    return block(P, at + "_score", z, at == "tg").squeeze(2).masked_fill(~mask, -1e30)


def dmr_net(P, x, train, compat=False):
    E = {n: P[BAGS % (n + "_emb")] for n in PLAIN if n not in ("cate", "brand")}
    at = torch.arange(5).unsqueeze(0)
    mask, last = at < x["len"].unsqueeze(1), x["len"] - 1
    place = 50 - x["len"].unsqueeze(1) + at  # the padding stands in front
    place = place.clamp(max=49)
    cates, brands = P[KEYS % (2, "cate_emb")], P[KEYS % (2, "brand_emb")]
    s = torch.cat([cates[x["steps"][:, :, 1]], brands[x["steps"][:, :, 2]]], 2)
    target = torch.cat([cates[x["plain"][:, 10]], brands[x["plain"][:, 13]]], 1)
    context, dm_context = (torch.cat([P[KEYS % (1, d + "place_emb")][place], P[KEYS % (1, d + "action_emb")][x["steps"][:, :, 0]]], 2) for d in ("", "dm_"))
    z = dmr_scores(P, "dm", slope(P, "dm_query", dm_context), s, mask)
    before = z.masked_fill(at >= last.unsqueeze(1), -1e30)
    now, before = (slope(P, "user_now", (F.softmax(v, 1).unsqueeze(2) * s).sum(1)) for v in (z, before))
    V = P["model.blocks.user_to_item.embedding.weight"]
    weight = x["match"].to(s.dtype)
    next_cate = x["steps"][torch.arange(len(s)), last, 1]
    if compat:
        aux = F.cross_entropy((weight.unsqueeze(1) * before) @ V.T, next_cate)
    else:
        aux = (weight * F.cross_entropy(before @ V.T, next_cate, reduction="none")).mean()
    u2i = (now * V[x["plain"][:, 10]]).sum(1, keepdim=True)
    z = dmr_scores(P, "tg", slope(P, "tg_query", torch.cat([context, target.unsqueeze(1).expand(-1, 5, -1)], 2)), s, mask)
    i2i = z.masked_fill(~mask, 0).sum(1, keepdim=True)
    attended, seen = (F.softmax(z, 1).unsqueeze(2) * s).sum(1), (s * mask.unsqueeze(2)).sum(1)

    def of(names):
        return [E[n][x["plain"][:, PLAIN.index(n)]] for n in names]
    h = torch.cat(of(PLAIN[:9]) + [target] + of(["adgroup_id", "campaign_id", "customer"]) + [x["price"].to(s.dtype).unsqueeze(1)] + of(["pid"])
                  + [seen, target * seen, u2i, i2i, attended], 1)
    b = "model.blocks.all."
    h = F.batch_norm(h, P[b + "running_mean"], P[b + "running_var"], P[b + "weight"], P[b + "bias"], train, 0.1, 1e-5)
    for i in range(2):
        h = slope(P, "deep%d" % i, h)
    y = block(P, "score", h)
    if compat:
        y = torch.where(y > 0, y, P["model.blocks.sloped_score.weight"] * y)
    return y, 0.1 * aux


SIZES = ", ".join("%s: %d" % v for v in DMR.items()) + ", main_embedding_size: 2, other_embedding_size: 1, fc_sizes: [6, 4]"
CASES["dmr"] = Case("dmr", new(SIZES), dmr_rows, dmr_net, bce, 0.1)
CASES["dmr_compat"] = Case("dmr", new(SIZES, rate=0.001), dmr_rows, lambda P, x, t: dmr_net(P, x, t, True), bce, 0.001, "Adam")

# ---- dpin: clicks at K places of a page; item 0 is padding as shipped ----

PLACES, MOST = 3, 4


def dpin_rows(rng, folder):
    length, label = rng.integers(0, 9, N), rng.integers(0, 2, N)
    clicks = np.stack([rng.integers(0, 7, (N, 8)), rng.integers(0, 5, (N, 8)), rng.integers(1, PLACES + 1, (N, 8))], 2)
    target = np.stack([rng.integers(0, 7, N), rng.integers(0, 5, N), rng.integers(1, PLACES + 1, N)], 1)
    steps, count = np.zeros((N, PLACES, MOST, 2), dtype=np.int64), np.zeros((N, PLACES), dtype=np.int64)
    for r in range(N):
        for item, cat, place in clicks[r, :length[r]]:
            if count[r, place - 1] < MOST:
                steps[r, place - 1, count[r, place - 1]] = item, cat
                count[r, place - 1] += 1
    write(folder, [";".join([" ".join("%d" % v for v in clicks[r, :length[r], k]) for k in range(3)] + ["%d" % v for v in target[r]] + ["%d" % label[r]])
                   for r in range(N)])
    return dict(steps=steps, count=count, target=target), label


def dpin_layer(P, at, x, compat):
    def each(name, v):
        return block(P, at + name, v)

    def norm(i, v):
        name, i = "model.blocks.%snorm%d." % (at, 1 if compat else i), P["model.blocks.%snorm1.weight" % at].numel()
        y = v.flatten(1) if compat else v
        return F.layer_norm(y, [i], P[name + "weight"].flatten(), P[name + "bias"].flatten(), 1e-5).reshape(v.shape)
    q, k, v = (each("self_attn.%s_proj" % n, x).reshape(len(x), PLACES, 2, -1).transpose(1, 2) for n in "qkv")
    y = F.softmax(q @ k.transpose(2, 3) / q.shape[3]**0.5, 3) @ v
    x = norm(1, x + each("self_attn.out_proj", y.transpose(1, 2).reshape(x.shape)))
    return norm(2, x + each("linear2", torch.relu(each("linear1", x))))


def dpin_net(P, x, train, compat=False):
    item, cat = P[KEYS % (3, "user_bx_item_emb")], P[KEYS % (3, "user_bx_context_emb")]
    s = torch.cat([item[x["steps"][..., 0]], cat[x["steps"][..., 1]]], 3)
    a = torch.exp(block(P, "weight1", mlp(P, "hidden1", s, 1), False))
    if not compat:  # a place without clicks has an interest of zeros
        a = a * (torch.arange(MOST) < x["count"].unsqueeze(2)).unsqueeze(3)
    interest = (a * s).sum(2) / a.sum(2).clamp(min=1e-30)
    place = P["model.blocks.placed.position_embeddings"].reshape(1, PLACES, -1).expand(len(s), -1, -1)
    h = torch.relu(block(P, "places", torch.cat([interest, place], 2)))
    for i in range(2):
        h = dpin_layer(P, "page.layers.%d." % i, h, compat)
    t = x["target"]
    base = mlp(P, "item", torch.cat([P[BAGS % "context_feat_emb"][t[:, 1]], P[BAGS % "item_feat_emb"][t[:, 0]]], 1), 2)
    second = P[BAGS % "position_emb_2"].unsqueeze(0).expand(len(s), -1, -1)
    all_places = torch.cat([base.unsqueeze(1).expand(-1, PLACES, -1), h, second], 2)
    y = block(P, "score", mlp(P, "combined", all_places, 1))
    return y[torch.arange(len(s)), t[:, 2] - 1]


PAGE = "embedding_dim: 3, K: %d, L: %d, max_item: 7, max_context: 5, d_model: 4, h: 2, fc_sizes: [6, 5], num_layers: 2" % (PLACES, MOST)
CASES["dpin"] = Case("dpin", new(PAGE), dpin_rows, dpin_net, bce, 0.1)
CASES["dpin_compat"] = Case("dpin", new(PAGE), dpin_rows, lambda P, x, t: dpin_net(P, x, t, True), bce, 0.1)
