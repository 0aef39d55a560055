/*
 * blocks_interval.c - block layers of TiSASRec (Li et al. 2020): interval_transformer, whose steps
 * attend to the steps before them with vectors of places and of the times between, and step_pairs,
 * the loss of states that tell the next item from a drawn one.
 *
 * A layer is that of the paper's authors: with n = norm(x), y = n + attention of n to x, and
 * z = norm(y), it gives z + W2 ReLU(W1 z + b1) + b2; a norm ends the last layer.
 */
#include <math.h>

#include "conf/conf.h"
#include "layer/layer.h"
#include "model/blocks_int.h"
#include "model/blocks_list.h"
#include "op/interval.h"
#include "op/op.h"
#include "op/param.h"

#define EPS 1e-8f

/* ---- interval_transformer ---- */

typedef struct interval_conf {
    cr_conf_base base;
    int64_t num_heads, num_layers, max_seq_length, time_span;
    double dropout;
} interval_conf;
static const cr_field interval_fields[] = {
    CR_INT(interval_conf, num_heads, 1, 1, 65536, CR_F_OURS,
           "heads; they divide the width of a step"),
    CR_INT(interval_conf, num_layers, 1, 1, 64, CR_F_OURS, "number of layers"),
    CR_INT(interval_conf, max_seq_length, 0, 1, 65536, CR_F_REQUIRED | CR_F_OURS,
           "places that have a vector; a step sees so many at most, the last ones"),
    CR_INT(interval_conf, time_span, 0, 1, 1000000, CR_F_REQUIRED | CR_F_OURS,
           "the longest time that is told from longer ones"),
    CR_FLOAT(interval_conf, dropout, 0, 0, 0.999, CR_F_OURS,
             "share of units dropped while training"),
    CR_END,
};
const cr_msg cr_block_interval_transformer_msg = {
    .name = "IntervalTransformerBlock",
    .help = "TiSASRec: each step attends to those before it, with vectors of their places and of "
            "the times between; reads steps, their times and their places",
    .fields = interval_fields,
    .size = sizeof(interval_conf),
};

typedef struct tables {
    cr_node *place_k, *place_v, *time_k, *time_v;
} tables;

static cr_node *drop(cr_graph *g, cr_node *x, const interval_conf *k) {
    return k->dropout > 0 ? cr_dropout(g, x, (float)k->dropout) : x;
}

static cr_node *added(cr_graph *g, cr_node *a, cr_node *b) {
    return cr_add(g, (cr_node *[]){a, b}, (float[]){1, 1}, 2);
}

static cr_node *normed(cr_graph *g, const char *name, cr_node *x) {
    size_t mark = cr_graph_push(g, "%s", name);
    cr_node *gamma = cr_vector(g, "weight", x->width, CR_INIT_C(1));
    cr_node *beta = cr_vector(g, "bias", x->width, CR_INIT_C(0));
    cr_graph_pop(g, mark);
    return cr_layer_norm(g, x, gamma, beta, EPS);
}

static cr_node *layer(cr_graph *g, const interval_conf *k, const tables *t, cr_node *x,
                      cr_node *times) {
    int64_t D = x->width, of_head = D / k->num_heads; /* num_heads divides D */
    float scale = (float)(1.0 / sqrt((double)of_head));
    cr_node *n = normed(g, "norm1", x);
    cr_node *q = cr_linear(g, "q_proj", n, D, true, false);
    cr_node *key = added(g, cr_linear(g, "k_proj", x, D, true, false), t->place_k);
    cr_node *val = added(g, cr_linear(g, "v_proj", x, D, true, false), t->place_v);
    cr_node *y = cr_seq_interval(g, q, key, val, times, t->time_k, t->time_v, k->num_heads,
                                 k->max_seq_length, scale);
    cr_node *z = normed(g, "norm2", added(g, n, drop(g, y, k)));
    cr_node *h = drop(g, cr_linear(g, "linear1", z, D, true, false), k);
    h = cr_linear(g, "linear2", cr_activation(g, CR_ACT_RELU, NULL, h), D, true, false);
    return added(g, z, drop(g, h, k));
}

static void interval_transformer(cr_block_call *c, const void *conf) {
    const interval_conf *k = conf;
    cr_node *x = c->in[0].node, *times = c->in[1].node, *places = c->in[2].node;
    int64_t D = x->width;
    if (x->cls != CR_SEQ || times->width != 1 || places->width != 1) {
        cr_block_wrong(c, c->at,
                       "interval_transformer reads steps, the time of each step and its place, "
                       "from 0: sequences of one feature group, the last two one number wide");
        return;
    }
    if (D % k->num_heads != 0) {
        cr_block_wrong(c, cr_conf_at(k, "num_heads"),
                       "a step is %lld wide, which is not a multiple of num_heads %lld; make it "
                       "one",
                       (long long)D, (long long)k->num_heads);
        return;
    }
    size_t mark = cr_graph_push(c->g, "%s", c->path);
    double place = sqrt(6.0 / (double)(k->max_seq_length + D));
    double time = sqrt(6.0 / (double)(k->time_span + 1 + D));
    cr_node *PK = cr_weight(c->g, "place_k.weight", k->max_seq_length, D, CR_INIT_U(place));
    cr_node *PV = cr_weight(c->g, "place_v.weight", k->max_seq_length, D, CR_INIT_U(place));
    tables t = {drop(c->g, cr_gather_rows(c->g, PK, places), k),
                drop(c->g, cr_gather_rows(c->g, PV, places), k),
                cr_weight(c->g, "time_k.weight", k->time_span + 1, D, CR_INIT_U(time)),
                cr_weight(c->g, "time_v.weight", k->time_span + 1, D, CR_INIT_U(time))};
    for (int i = 0; i < (int)k->num_layers; i++) {
        size_t inner = cr_graph_push(c->g, "layers.%d", i);
        x = layer(c->g, k, &t, x, times);
        cr_graph_pop(c->g, inner);
    }
    x = normed(c->g, "norm", x);
    cr_graph_pop(c->g, mark);
    cr_block_give_val(c, (cr_block_val){x, D, NULL});
}
const cr_block_type cr_block_interval_transformer = {
    .name = "interval_transformer",
    .takes = CR_TAKES_POSITIONS | CR_TAKES_EACH,
    .min_in = 3,
    .max_in = 3,
    .build = interval_transformer,
};

/* ---- step_pairs ---- */

CR_BLOCK_PLAIN(step_pairs, "StepPairsBlock",
               "The last of the states; the loss of the model tells at each step the item of the "
               "second sequence from that of the third: -log sigmoid(s . good) - log sigmoid(-s . "
               "bad)");
static void step_pairs(cr_block_call *c, const void *conf) {
    (void)conf;
    cr_node *s = c->in[0].node;
    bool fits = s->cls == CR_SEQ;
    for (int i = 1; i < 3; i++)
        fits = fits && c->in[i].node->width == s->width;
    if (!fits) {
        cr_block_wrong(c, c->at,
                       "step_pairs reads states, right items and wrong ones, three sequences of "
                       "one feature group, equally wide");
        return;
    }
    if (cr_block_learns(c)) {
        cr_node *loss[2];
        for (int i = 0; i < 2; i++) {
            cr_node *z = cr_row_sum(c->g, cr_mul(c->g, s, c->in[1 + i].node));
            cr_node *signed_ = cr_add(c->g, &z, (float[]){i ? 1 : -1}, 1);
            loss[i] = cr_activation(c->g, CR_ACT_SOFTPLUS, (float[]){1, INFINITY, 0}, signed_);
        }
        cr_block_loss(c, cr_seq_pool(c->g, added(c->g, loss[0], loss[1]), true));
    }
    cr_block_give(c, cr_seq_end(c->g, s, false));
}
const cr_block_type cr_block_step_pairs = {
    .name = "step_pairs",
    .takes = CR_TAKES_POSITIONS | CR_TAKES_EACH,
    .min_in = 3,
    .max_in = 3,
    .loss = true,
    .build = step_pairs,
};
