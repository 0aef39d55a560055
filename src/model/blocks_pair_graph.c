/*
 * blocks_pair_graph.c - block layers for a graph of the fields of a row, as in L0-SIGN (Su et al.,
 * 2021): pair_products makes a vector for every pair, hard_concrete opens some of them by gates
 * that are learned (Louizos et al., 2018), and pair_mean gives each field the mean of its open
 * pairs.
 */
#include <math.h>

#include "conf/conf.h"
#include "layer/layer.h"
#include "model/blocks_int.h"
#include "model/blocks_list.h"
#include "op/op.h"

#define HELP_SELF "a vector is also paired with itself"

/* ---- pair_products ---- */

typedef struct products_conf {
    cr_conf_base base;
    bool self;
} products_conf;
static const cr_field products_fields[] = {
    CR_BOOL(products_conf, self, false, CR_F_OURS, HELP_SELF),
    CR_END,
};
const cr_msg cr_block_pair_products_msg = {
    .name = "PairProductsBlock",
    .help = "The products of all pairs of vectors, number by number: v_i times v_j for i < j",
    .fields = products_fields,
    .size = sizeof(products_conf),
};
static void pair_products(cr_block_call *c, const void *conf) {
    bool self = ((const products_conf *)conf)->self;
    int64_t D = c->x.D, F = c->x.node->width / D, P = F * (F + (self ? 1 : -1)) / 2;
    if (P == 0 || P > CR_BLOCK_MAX_ROW / D) {
        cr_block_wrong(c, c->at, "pair_products makes pairs of %lld vector%s; give it %s",
                       (long long)F, F == 1 ? "" : "s", P == 0 ? "two or more" : "fewer");
        return;
    }
    cr_block_give_fields(c, cr_pair_mul(c->g, c->x.node, c->x.node, F, D, self), D);
}
const cr_block_type cr_block_pair_products = {
    .name = "pair_products",
    .takes = CR_TAKES_FIELDS,
    .min_in = 1,
    .build = pair_products,
};

/* ---- hard_concrete ---- */

typedef struct gates_conf {
    cr_conf_base base;
    double temperature, low, high, penalty;
    bool noise, binary_log;
} gates_conf;
static const cr_field gates_fields[] = {
    CR_FLOAT(gates_conf, temperature, 0.66, 0, CR_INF, CR_F_OURS,
             "how soft a gate is in training; near 0 it is nearly always 0 or 1"),
    CR_FLOAT(gates_conf, low, -0.1, -CR_INF, 0, CR_F_OURS,
             "the least value of a gate before it is cut to 0; below 0"),
    CR_FLOAT(gates_conf, high, 1.1, 1, CR_INF, CR_F_OURS,
             "the largest value of a gate before it is cut to 1; above 1"),
    CR_FLOAT(gates_conf, penalty, 0, 0, CR_INF, CR_F_OURS,
             "factor of a loss: the number of gates of a row that are not 0, on average"),
    CR_BOOL(gates_conf, noise, true, CR_F_OURS,
            "gates are drawn in training; false: they are those of an evaluation"),
    CR_BOOL(gates_conf, binary_log, false, CR_F_OURS,
            "logarithms of base 2 in the noise and in the penalty, as PaddleRec's sign has them"),
    CR_END,
};
const cr_msg cr_block_hard_concrete_msg = {
    .name = "HardConcreteBlock",
    .help = "Gates between 0 and 1, many of them 0 or 1: the hard concrete distribution",
    .fields = gates_fields,
    .size = sizeof(gates_conf),
};
static void hard_concrete(cr_block_call *c, const void *conf) {
    const gates_conf *f = conf;
    cr_build *b = c->b;
    cr_gate_opts o = {f->temperature, f->low, f->high, f->noise, f->binary_log};
    const char *key = o.temperature <= 0 ? "temperature" : o.low >= 0 ? "low" : "high";
    if (o.temperature <= 0 || o.low >= 0 || o.high <= 1) {
        cr_block_wrong(c, cr_conf_at(f, key),
                       "gates are cut to 0 and 1 from numbers between low and high; give a "
                       "temperature above 0, low below 0 and high above 1");
        return;
    }
    cr_block_give_like(c, cr_hard_concrete(c->g, c->x.node, &o, c->path), &c->x);
    if (!b->o->with_labels || f->penalty == 0) return;
    if (b->n_extra == CR_MAX_EXTRA) {
        cr_block_wrong(c, c->at, "the model has more than %d additional losses; use fewer",
                       CR_MAX_EXTRA);
        return;
    }
    b->extra[b->n_extra++] =
        (cr_extra_loss){.name = cr_arena_printf(&b->m->arena, "%s_penalty", c->block),
                        .row = cr_gates_open(c->g, c->x.node, &o, f->penalty),
                        .weight = -1};
}
const cr_block_type cr_block_hard_concrete = {
    .name = "hard_concrete",
    .min_in = 1,
    .build = hard_concrete,
};

/* ---- pair_mean ---- */

typedef struct mean_conf {
    cr_conf_base base;
    bool self, both;
} mean_conf;
static const cr_field mean_fields[] = {
    CR_BOOL(mean_conf, self, false, CR_F_OURS, HELP_SELF),
    CR_BOOL(mean_conf, both, true, CR_F_OURS,
            "a pair counts for both of its vectors; false: for the second one alone"),
    CR_END,
};
const cr_msg cr_block_pair_mean_msg = {
    .name = "PairMeanBlock",
    .help = "For each of F vectors, the mean of its pairs whose gate is above 0, times their gates",
    .fields = mean_fields,
    .size = sizeof(mean_conf),
};
/* The vectors of P pairs and their gates; F follows from P. */
static void pair_mean(cr_block_call *c, const void *conf) {
    const mean_conf *m = conf;
    int64_t D = c->in[0].D, P = D ? c->in[0].node->width / D : 0;
    int64_t F = (int64_t)((sqrt(8.0 * (double)P + 1) + (m->self ? -1 : 1)) / 2 + 0.5);
    if (P == 0 || c->in[1].node->width != P) {
        cr_block_wrong(c, c->at,
                       "pair_mean reads the vectors of pairs and as many gates, and has %lld and "
                       "%lld; give it a pair_products block, or layers behind one, and a number "
                       "for each of its pairs",
                       (long long)P, (long long)c->in[1].node->width);
        return;
    }
    if (F * (F + (m->self ? 1 : -1)) / 2 != P) {
        cr_block_wrong(c, c->at,
                       "its %lld vectors are not all pairs of some vectors%s; give `self` as in "
                       "pair_products",
                       (long long)P, m->self ? " with themselves, too" : "");
        return;
    }
    if (F > CR_BLOCK_MAX_ROW / D) {
        cr_block_wrong(c, c->at, "its row would be too wide; use fewer vectors");
        return;
    }
    cr_block_give_fields(c, cr_pair_mean(c->g, c->in[0].node, c->in[1].node, F, m->self, m->both),
                         D);
}
const cr_block_type cr_block_pair_mean = {
    .name = "pair_mean",
    .takes = CR_TAKES_EACH,
    .min_in = 2,
    .max_in = 2,
    .build = pair_mean,
};
