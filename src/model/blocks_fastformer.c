/*
 * blocks_fastformer.c - fastformer (Wu et al., 2021): layers of additive attention over groups of
 * vectors, and one vector per group at the end.
 *
 * In each head, the queries of a group become one by attention; each key is multiplied by it, and
 * these become one again, which is multiplied with the queries and goes through a layer. The cost
 * grows with the number of vectors and not with its square. As in transformers, what was there is
 * added, a layer norm follows, and then two layers with a GELU between them.
 */
#include <math.h>

#include "layer/layer.h"
#include "model/blocks_int.h"
#include "model/blocks_list.h"
#include "op/op.h"
#include "op/param.h"

typedef struct fast_conf {
    cr_conf_base base;
    int64_t vectors, num_heads, num_layers, ff_units;
    double dropout_ratio, eps, init_std;
} fast_conf;
static const cr_field fast_fields[] = {
    CR_INT(fast_conf, vectors, 0, 1, 1000000, CR_F_REQUIRED | CR_F_OURS, "vectors of a group"),
    CR_INT(fast_conf, num_heads, 1, 1, 4096, CR_F_OURS, "heads; they divide the width of a vector"),
    CR_INT(fast_conf, num_layers, 1, 1, 128, CR_F_OURS, "how many layers"),
    CR_INT(fast_conf, ff_units, 0, 1, 65536, CR_F_REQUIRED | CR_F_OURS,
           "units between the two layers behind the attention"),
    CR_FLOAT(fast_conf, dropout_ratio, 0, 0, 0.999, CR_F_OURS,
             "share of numbers that become 0 while training"),
    CR_FLOAT(fast_conf, eps, 1e-12, 0, 1, CR_F_OURS, "added to the variance in the layer norms"),
    CR_FLOAT(fast_conf, init_std, 0.02, 0, 1, CR_F_OURS, "deviation of the first weights"),
    CR_END,
};
const cr_msg cr_block_fastformer_msg = {
    .name = "FastformerBlock",
    .help = "One vector per group by additive attention; a second input with a number per vector "
            "leaves out those whose number is 0",
    .fields = fast_fields,
    .size = sizeof(fast_conf),
};

/* What all layers need. */
typedef struct fast {
    cr_graph *g;
    const fast_conf *k;
    cr_node *mask;
    int64_t F, D;
} fast;

/* A linear layer over each vector: y (F, out) of x (F, in). */
static cr_node *each(const fast *f, const char *name, cr_node *x, int64_t in, int64_t out) {
    size_t mark = cr_graph_push(f->g, "%s", name);
    cr_node *W = cr_weight(f->g, "weight", out, in, CR_INIT_N(f->k->init_std));
    cr_node *b = cr_vector(f->g, "bias", out, CR_INIT_C(0));
    cr_graph_pop(f->g, mark);
    return cr_matmul_each(f->g, x, W, b, false, f->F);
}

static cr_node *norm(const fast *f, const char *name, cr_node *x) {
    size_t mark = cr_graph_push(f->g, "%s", name);
    cr_node *gamma = cr_vector(f->g, "weight", f->D, CR_INIT_C(1));
    cr_node *beta = cr_vector(f->g, "bias", f->D, CR_INIT_C(0));
    cr_graph_pop(f->g, mark);
    return cr_layer_norm(f->g, x, gamma, beta, (float)f->k->eps);
}

static cr_node *drop(const fast *f, cr_node *x) {
    return f->k->dropout_ratio > 0 ? cr_dropout(f->g, x, (float)f->k->dropout_ratio) : x;
}

static cr_node *plus(const fast *f, cr_node *a, cr_node *b) {
    return cr_add(f->g, (cr_node *[]){a, b}, (float[]){1, 1}, 2);
}

/* The vectors x of each group as one, at each of its places. */
static cr_node *gathered(const fast *f, const char *name, cr_node *x) {
    int64_t H = f->k->num_heads;
    cr_node *s = each(f, name, x, f->D, H);
    const int64_t of_head = f->D / H;
    float scale = (float)(1.0 / sqrt((double)of_head));
    s = cr_add(f->g, &s, &scale, 1);
    s = cr_group_pool(f->g, s, x, f->mask, f->k->vectors, H, f->D);
    return cr_group_spread(f->g, s, f->k->vectors, f->D);
}

static cr_node *layer(const fast *f, cr_node *x) {
    cr_graph *g = f->g;
    cr_node *q = each(f, "query", x, f->D, f->D), *key = each(f, "key", x, f->D, f->D);
    cr_node *qk = cr_mul(g, key, gathered(f, "query_att", q));
    cr_node *v = cr_mul(g, q, gathered(f, "key_att", qk));
    v = plus(f, each(f, "transform", v, f->D, f->D), q);
    x = norm(f, "norm1", plus(f, drop(f, each(f, "dense", v, f->D, f->D)), x));
    cr_node *h = each(f, "linear1", x, f->D, f->k->ff_units);
    h = cr_activation(g, CR_ACT_GELU, NULL, h);
    h = drop(f, each(f, "linear2", h, f->k->ff_units, f->D));
    return norm(f, "norm2", plus(f, h, x));
}

/* Adds to each vector what belongs to its place in the group. */
static cr_node *placed(cr_block_call *c, const fast *f, cr_node *x) {
    int64_t w = f->k->vectors * f->D, G = f->F / f->k->vectors;
    cr_node *p = cr_vector(f->g, "position_embeddings", w, CR_INIT_N(f->k->init_std));
    cr_node **v = CR_NEW_N(&c->b->m->arena, cr_node *, G);
    for (int64_t i = 0; i < G; i++)
        v[i] = cr_bias(f->g, cr_slice(f->g, x, i * w, w), p);
    return cr_concat(f->g, v, (int)G);
}

static void fastformer(cr_block_call *c, const void *conf) {
    const fast_conf *k = conf;
    fast f = {c->g, k, c->n_in > 1 ? c->in[1].node : NULL, 0, c->in[0].D};
    f.F = f.D ? c->in[0].node->width / f.D : 0;
    if (f.F == 0 || f.F % k->vectors != 0 || f.D % k->num_heads != 0 ||
        (f.mask && f.mask->width != f.F)) {
        cr_block_wrong(c, c->at,
                       "its first input must be whole groups of %lld vectors (it has %lld) of a "
                       "width that %lld heads divide (it is %lld), and a second input has a number "
                       "for each of them",
                       (long long)k->vectors, (long long)f.F, (long long)k->num_heads,
                       (long long)f.D);
        return;
    }
    if (k->ff_units > CR_BLOCK_MAX_ROW / f.F) {
        cr_block_wrong(c, cr_conf_at(k, "ff_units"), "its row would be too wide; use fewer units");
        return;
    }
    size_t mark = cr_graph_push(c->g, "%s", c->path);
    cr_node *x = drop(&f, norm(&f, "norm", placed(c, &f, c->in[0].node)));
    for (int i = 0; i < (int)k->num_layers; i++) {
        size_t inner = cr_graph_push(c->g, "layers.%d", i);
        x = layer(&f, x);
        cr_graph_pop(c->g, inner);
    }
    cr_node *s = cr_activation(c->g, CR_ACT_TANH, NULL, each(&f, "att_fc1", x, f.D, f.D));
    s = each(&f, "att_fc2", s, f.D, 1);
    cr_graph_pop(c->g, mark);
    cr_block_give_fields(c, cr_group_pool(c->g, s, x, f.mask, k->vectors, 1, f.D), f.D);
}
const cr_block_type cr_block_fastformer = {
    .name = "fastformer",
    .takes = CR_TAKES_EACH,
    .min_in = 1,
    .max_in = 2,
    .build = fastformer,
};
