/*
 * blocks_groups.c - block layers over vectors in groups, such as the words of several texts:
 * group_conv (each vector with its neighbours), group_attention (one vector per group), and
 * interleave, which makes groups of what several blocks say of the same things.
 */
#include <math.h>

#include "layer/layer.h"
#include "model/blocks_int.h"
#include "model/blocks_list.h"
#include "op/op.h"
#include "op/param.h"

/* Do the vectors of the row make whole groups of n? */
static bool whole_groups(cr_block_call *c, const void *conf, int64_t n) {
    int64_t F = c->x.node->width / c->x.D;
    if (F % n == 0) return true;
    cr_block_wrong(c, cr_conf_at(conf, "vectors"),
                   "%lld vectors are no whole number of groups of %lld; correct vectors, or its "
                   "inputs",
                   (long long)F, (long long)n);
    return false;
}

/* ---- group_conv ---- */

typedef struct conv_conf {
    cr_conf_base base;
    int64_t vectors, filters, width;
    bool relu;
} conv_conf;
static const cr_field conv_fields[] = {
    CR_INT(conv_conf, vectors, 0, 1, 1000000, CR_F_REQUIRED | CR_F_OURS, "vectors of a group"),
    CR_INT(conv_conf, filters, 0, 1, 65536, CR_F_REQUIRED | CR_F_OURS, "width of each new vector"),
    CR_INT(conv_conf, width, 3, 1, 1024, CR_F_OURS,
           "how many vectors that follow each other a new one is made of"),
    CR_BOOL(conv_conf, relu, true, CR_F_OURS, "a ReLU follows"),
    CR_END,
};
const cr_msg cr_block_group_conv_msg = {
    .name = "GroupConvBlock",
    .help = "A convolution along the vectors of each group, which keeps their number",
    .fields = conv_fields,
    .size = sizeof(conv_conf),
};
static void group_conv(cr_block_call *c, const void *conf) {
    const conv_conf *k = conf;
    int64_t D = c->x.D, F = c->x.node->width / D;
    if (!whole_groups(c, conf, k->vectors)) return;
    if (k->filters > CR_BLOCK_MAX_ROW / F || k->width * D > CR_BLOCK_MAX_ROW / F) {
        cr_block_wrong(c, cr_conf_at(k, "filters"), "its row would be too wide; use fewer");
        return;
    }
    cr_init init = CR_INIT_U(1.0 / sqrt((double)(k->width * D)));
    size_t mark = cr_graph_push(c->g, "%s", c->path);
    cr_node *W = cr_weight(c->g, "weight", k->filters, k->width * D, init);
    cr_node *b = cr_vector(c->g, "bias", k->filters, init);
    cr_graph_pop(c->g, mark);
    cr_node *x = cr_group_near(c->g, c->x.node, k->vectors, D, -((k->width - 1) / 2), k->width);
    cr_block_give_fields(c, cr_matmul_each(c->g, x, W, b, k->relu, F), k->filters);
}
const cr_block_type cr_block_group_conv = {
    .name = "group_conv",
    .takes = CR_TAKES_FIELDS,
    .min_in = 1,
    .shares = true,
    .build = group_conv,
};

/* ---- group_attention ---- */

typedef struct attention_conf {
    cr_conf_base base;
    int64_t vectors, units;
    bool tanh;
} attention_conf;
static const cr_field attention_fields[] = {
    CR_INT(attention_conf, vectors, 0, 1, 1000000, CR_F_REQUIRED | CR_F_OURS, "vectors of a group"),
    CR_INT(attention_conf, units, 100, 1, 65536, CR_F_OURS,
           "units of the layer that scores a vector"),
    CR_BOOL(attention_conf, tanh, true, CR_F_OURS, "that layer ends with a tanh"),
    CR_END,
};
const cr_msg cr_block_group_attention_msg = {
    .name = "GroupAttentionBlock",
    .help = "One vector per group: the sum of its vectors, weighted by attention",
    .fields = attention_fields,
    .size = sizeof(attention_conf),
};
/* a_i = softmax(q . tanh(W v_i + b)) over the group; the sum of a_i v_i. Without the tanh, b would
 * add the same to all scores and change nothing. */
static void group_attention(cr_block_call *c, const void *conf) {
    const attention_conf *k = conf;
    int64_t D = c->x.D, F = c->x.node->width / D, A = k->units;
    if (!whole_groups(c, conf, k->vectors)) return;
    if (A > CR_BLOCK_MAX_ROW / F) {
        cr_block_wrong(c, cr_conf_at(k, "units"), "its row would be too wide; use fewer units");
        return;
    }
    cr_init init = CR_INIT_U(1.0 / sqrt((double)D));
    size_t mark = cr_graph_push(c->g, "%s", c->path);
    cr_node *W = cr_weight(c->g, "attention.weight", A, D, init);
    cr_node *b = k->tanh ? cr_vector(c->g, "attention.bias", A, init) : NULL;
    cr_node *q = cr_weight(c->g, "projection.weight", 1, A, CR_INIT_U(1.0 / sqrt((double)A)));
    cr_graph_pop(c->g, mark);
    cr_node *s = cr_matmul_each(c->g, c->x.node, W, b, false, F);
    if (k->tanh) s = cr_activation(c->g, CR_ACT_TANH, NULL, s);
    s = cr_matmul_each(c->g, s, q, NULL, false, F);
    cr_block_give_fields(c, cr_group_pool(c->g, s, c->x.node, NULL, k->vectors, 1, D), D);
}
const cr_block_type cr_block_group_attention = {
    .name = "group_attention",
    .takes = CR_TAKES_FIELDS,
    .min_in = 1,
    .shares = true,
    .build = group_attention,
};

/* ---- interleave ---- */

CR_BLOCK_PLAIN(interleave, "InterleaveBlock",
               "The vectors of the inputs in turn: the first of each, then the second of each");
static void interleave(cr_block_call *c, const void *conf) {
    (void)conf;
    int64_t D = c->in[0].D, w = c->in[0].node->width;
    for (int i = 0; i < c->n_in; i++)
        if (D == 0 || c->in[i].D != D || c->in[i].node->width != w) {
            cr_block_wrong(c, c->at,
                           "input %d has %lld numbers in vectors of %lld, and the first input %lld "
                           "in vectors of %lld; give it inputs with the same",
                           i + 1, (long long)c->in[i].node->width, (long long)c->in[i].D,
                           (long long)w, (long long)D);
            return;
        }
    int64_t F = w / D, n = 0;
    cr_node **v = CR_NEW_N(&c->b->m->arena, cr_node *, F * c->n_in);
    for (int64_t f = 0; f < F; f++)
        for (int i = 0; i < c->n_in; i++)
            v[n++] = cr_slice(c->g, c->in[i].node, f * D, D);
    cr_block_give_fields(c, cr_concat(c->g, v, (int)n), D);
}
const cr_block_type cr_block_interleave = {
    .name = "interleave",
    .takes = CR_TAKES_EACH,
    .min_in = 2,
    .build = interleave,
};
