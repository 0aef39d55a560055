/*
 * blocks_packages.c - block layers for rows of things that consist of other things, such as
 * packages of an article, its publisher and the friends who read it (Li et al. 2021: package
 * recommendation with intra- and inter-package attention networks).
 *
 * All of them score by s_i = u tanh(w . h_i + b) and give sums weighted by the softmax of these:
 * query_attention over the steps of a sequence, vector_attention over vectors that lie side by
 * side, both with h_i = ReLU(W [q; v_i]) for a query q, and member_attention over the members of
 * each step of another sequence, with h_i = [W' t; W'' m_i].
 */
#include <math.h>

#include "layer/layer.h"
#include "model/blocks_int.h"
#include "model/blocks_list.h"
#include "op/op.h"
#include "op/param.h"

typedef struct attend_conf {
    cr_conf_base base;
    int64_t units;
    bool use_bn;
    double dropout_ratio;
} attend_conf;
static const cr_field attend_fields[] = {
    CR_INT(attend_conf, units, 0, 0, 65536, CR_F_OURS,
           "units of the layer that scores a vector; 0: as many as a vector has numbers"),
    CR_BOOL(attend_conf, use_bn, false, CR_F_OURS, "batch norm before its ReLU"),
    CR_FLOAT(attend_conf, dropout_ratio, 0, 0, 0.999, CR_F_OURS, "share dropped behind the ReLU"),
    CR_END,
};

/* Scores u tanh(w . h + b) of F vectors of h side by side. */
static cr_node *end_scores(cr_graph *g, cr_node *h, int64_t F) {
    int64_t A = h->width / F;
    cr_init init = CR_INIT_U(1.0 / sqrt((double)A));
    cr_node *w = cr_weight(g, "projection.weight", 1, A, init);
    cr_node *b = cr_vector(g, "projection.bias", 1, init);
    cr_node *u = cr_weight(g, "scale.weight", 1, 1, CR_INIT_C(1));
    cr_node *s = cr_activation(g, CR_ACT_TANH, NULL, cr_matmul_each(g, h, w, b, false, F));
    return cr_matmul_each(g, s, u, NULL, false, F);
}

/* The scores of F vectors of D numbers in x, for the query q: both are rows, or both steps. */
static cr_node *scores(cr_block_call *c, const attend_conf *k, cr_node *q, cr_node *x, int64_t F) {
    cr_graph *g = c->g;
    int64_t D = x->width / F, A = k->units ? k->units : D;
    cr_node **v = CR_NEW_N(&c->b->m->arena, cr_node *, 2 * F);
    for (int64_t i = 0; i < F; i++) {
        v[2 * i] = q;
        v[2 * i + 1] = F > 1 ? cr_slice(g, x, i * D, D) : x;
    }
    cr_node *W = cr_weight(g, "attention.weight", A, q->width + D,
                           CR_INIT_U(1.0 / sqrt((double)(q->width + D))));
    cr_node *h = cr_matmul_each(g, cr_concat(g, v, (int)(2 * F)), W, NULL, !k->use_bn, F);
    if (k->use_bn && F == 1) h = cr_bn(g, "norm", h, true, true);
    if (k->use_bn && F > 1)
        h = cr_turn(g, cr_bn_planes(g, "norm", cr_turn(g, h, F), A, true, true), A);
    if (k->dropout_ratio > 0) h = cr_dropout(g, h, (float)k->dropout_ratio);
    return end_scores(g, h, F);
}

static bool too_many(cr_block_call *c, const attend_conf *k, int64_t F, int64_t width) {
    if (width <= CR_BLOCK_MAX_ROW / F && k->units <= CR_BLOCK_MAX_ROW / F) return false;
    cr_block_wrong(c, c->at, "its row would be too wide; use fewer vectors or units");
    return true;
}

/* ---- query_attention ---- */

const cr_msg cr_block_query_attention_msg = {
    .name = "QueryAttentionBlock",
    .help = "One row: the steps of a sequence, weighted by attention with a query, the row that is "
            "the first input",
    .fields = attend_fields,
    .size = sizeof(attend_conf),
};
static void query_attention(cr_block_call *c, const void *conf) {
    cr_node *q = c->in[0].node, *x = c->in[1].node;
    if (q->cls != CR_ROW || x->cls != CR_SEQ) {
        cr_block_wrong(c, c->at, "query_attention reads a row and a sequence, in this order");
        return;
    }
    if (too_many(c, conf, 1, q->width + x->width)) return;
    size_t mark = cr_graph_push(c->g, "%s", c->path);
    cr_node *s = scores(c, conf, cr_seq_spread(c->g, q, x->axis), x, 1);
    cr_graph_pop(c->g, mark);
    cr_block_give(c, cr_seq_weigh(c->g, cr_seq_softmax(c->g, s, 1), x));
}
const cr_block_type cr_block_query_attention = {
    .name = "query_attention",
    .takes = CR_TAKES_POSITIONS | CR_TAKES_EACH | CR_TAKES_MIXED,
    .min_in = 2,
    .max_in = 2,
    .build = query_attention,
};

/* ---- vector_attention ---- */

const cr_msg cr_block_vector_attention_msg = {
    .name = "VectorAttentionBlock",
    .help = "One vector: those of the second input, weighted by attention with a query, the first "
            "input; vectors of zeros take no part",
    .fields = attend_fields,
    .size = sizeof(attend_conf),
};
static void vector_attention(cr_block_call *c, const void *conf) {
    cr_node *q = c->in[0].node, *x = c->in[1].node;
    int64_t D = c->in[1].D;
    bool spreads = q->cls == CR_ROW && x->cls == CR_SEQ;
    if (D == 0 || (!spreads && (q->cls != x->cls || (q->cls == CR_SEQ && q->axis != x->axis)))) {
        cr_block_wrong(c, c->at,
                       "vector_attention reads a query and vectors of one width, rows or steps of "
                       "one sequence; only the query may be a row where the others are steps");
        return;
    }
    int64_t F = x->width / D;
    if (too_many(c, conf, F, q->width + D)) return;
    if (spreads) q = cr_seq_spread(c->g, q, x->axis);
    size_t mark = cr_graph_push(c->g, "%s", c->path);
    cr_node *s = scores(c, conf, q, x, F);
    cr_graph_pop(c->g, mark);
    cr_block_give(c, cr_group_pool(c->g, s, x, cr_there(c->g, x, F), F, 1, D));
}
const cr_block_type cr_block_vector_attention = {
    .name = "vector_attention",
    .takes = CR_TAKES_POSITIONS | CR_TAKES_EACH | CR_TAKES_MIXED,
    .min_in = 2,
    .max_in = 2,
    .build = vector_attention,
};

/* ---- member_attention ---- */

typedef struct member_conf {
    cr_conf_base base;
    int64_t heads, units;
} member_conf;
static const cr_field member_fields[] = {
    CR_INT(member_conf, heads, 1, 1, 256, CR_F_OURS, "how many vectors each step gets"),
    CR_INT(member_conf, units, 0, 0, 65536, CR_F_OURS,
           "numbers of each; 0: as many as a member has"),
    CR_END,
};
const cr_msg cr_block_member_attention_msg = {
    .name = "MemberAttentionBlock",
    .help = "For each step of the third sequence the members that belong to it, weighted by "
            "attention: the first sequence, whose steps the second numbers, from 0",
    .fields = member_fields,
    .size = sizeof(member_conf),
};
static void member_attention(cr_block_call *c, const void *conf) {
    const member_conf *f = conf;
    cr_graph *g = c->g;
    cr_node *m = c->in[0].node, *k = c->in[1].node, *t = c->in[2].node, *out[256];
    if (m->cls != CR_SEQ || k->cls != CR_SEQ || t->cls != CR_SEQ || m->axis != k->axis ||
        k->width != 1) {
        cr_block_wrong(c, c->at,
                       "member_attention reads members, the number of the step that each belongs "
                       "to (a sequence_raw_feature of the same group), and the sequence of these "
                       "steps");
        return;
    }
    int64_t U = f->units ? f->units : m->width;
    if (U > CR_BLOCK_MAX_ROW / f->heads) {
        cr_block_wrong(c, c->at, "its row would be too wide; use fewer heads or units");
        return;
    }
    for (int64_t i = 0; i < f->heads; i++) {
        size_t mark = cr_graph_push(g, "%s.heads.%d", c->path, (int)i);
        cr_node *Wm =
            cr_weight(g, "member.weight", U, m->width, CR_INIT_U(1.0 / sqrt((double)m->width)));
        cr_node *Wt =
            cr_weight(g, "step.weight", U, t->width, CR_INIT_U(1.0 / sqrt((double)t->width)));
        cr_node *v = cr_matmul(g, m, Wm, NULL, false);
        cr_node *at = cr_seq_take(g, cr_matmul(g, t, Wt, NULL, false), k);
        cr_node *s = end_scores(g, cr_concat(g, (cr_node *[]){at, v}, 2), 1);
        cr_graph_pop(g, mark);
        out[i] = cr_seq_members(g, s, v, k, t);
    }
    cr_node *all = f->heads > 1 ? cr_concat(g, out, (int)f->heads) : out[0];
    cr_block_give_fields(c, all, U);
}
const cr_block_type cr_block_member_attention = {
    .name = "member_attention",
    .takes = CR_TAKES_POSITIONS | CR_TAKES_EACH | CR_TAKES_MIXED,
    .min_in = 3,
    .max_in = 3,
    .build = member_attention,
};
