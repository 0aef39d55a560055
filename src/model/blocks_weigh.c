/*
 * blocks_weigh.c - block layers for attention that a graph computes itself: spread puts rows beside
 * each step, weigh_steps adds steps up by their scores; and next_item, the auxiliary match of DMR
 * (Lyu et al. 2020), which learns the vector of a user from the item that comes next.
 */
#include <math.h>

#include "conf/conf.h"
#include "layer/layer.h"
#include "model/blocks_int.h"
#include "model/blocks_list.h"
#include "op/op.h"
#include "op/param.h"

/* ---- spread ---- */

CR_BLOCK_PLAIN(spread, "SpreadBlock", "Each step of a sequence, and the rows behind it");
static void spread(cr_block_call *c, const void *conf) {
    (void)conf;
    if (!c->x.query) {
        cr_block_wrong(c, c->at,
                       "spread puts rows behind each step, and there is none; add one to its "
                       "inputs");
        return;
    }
    cr_node *row = cr_seq_spread(c->g, c->x.query, c->x.node->axis);
    cr_node *y = cr_concat(c->g, (cr_node *[]){c->x.node, row}, 2);
    cr_block_give_val(c, (cr_block_val){y, y->width, NULL});
}
const cr_block_type cr_block_spread = {
    .name = "spread",
    .takes = CR_TAKES_SEQUENCE,
    .min_in = 1,
    .build = spread,
};

/* ---- weigh_steps ---- */

typedef struct weigh_conf {
    cr_conf_base base;
    bool softmax;
    int64_t leave_out;
} weigh_conf;
static const cr_field weigh_fields[] = {
    CR_BOOL(weigh_conf, softmax, true, CR_F_OURS,
            "the weights are the softmax of the scores over the steps; false: the scores"),
    CR_INT(weigh_conf, leave_out, 0, 0, 1000000, CR_F_OURS,
           "the last steps that the softmax leaves out"),
    CR_END,
};
const cr_msg cr_block_weigh_steps_msg = {
    .name = "WeighStepsBlock",
    .help = "The sum of the steps of the second sequence, weighted by the scores of the first",
    .fields = weigh_fields,
    .size = sizeof(weigh_conf),
};
static void weigh_steps(cr_block_call *c, const void *conf) {
    const weigh_conf *w = conf;
    cr_node *a = c->in[0].node, *s = c->in[1].node;
    if (a->cls != CR_SEQ || s->cls != CR_SEQ || a->axis != s->axis ||
        (a->width != 1 && a->width != s->width)) {
        cr_block_wrong(c, c->at,
                       "weigh_steps reads two sequences of one feature group: scores, one number "
                       "per step or as wide as a step, and steps");
        return;
    }
    if (w->leave_out > 0 && !w->softmax) {
        cr_block_wrong(c, cr_conf_at(w, "leave_out"),
                       "leave_out is for the softmax; leave it out, or softmax: false");
        return;
    }
    if (w->softmax) a = cr_seq_softmax_but(c->g, a, 1, w->leave_out);
    cr_block_give(c, a->width == 1 ? cr_seq_weigh(c->g, a, s)
                                   : cr_seq_pool(c->g, cr_mul(c->g, s, a), false));
}
const cr_block_type cr_block_weigh_steps = {
    .name = "weigh_steps",
    .takes = CR_TAKES_POSITIONS | CR_TAKES_EACH,
    .min_in = 2,
    .max_in = 2,
    .build = weigh_steps,
};

/* ---- next_item ---- */

#define MAX_ITEMS 16777216 /* whole numbers that a float holds exactly */

typedef struct next_conf {
    cr_conf_base base;
    int64_t num_items;
    double aux_weight, init_range;
} next_conf;
static const cr_field next_fields[] = {
    CR_INT(next_conf, num_items, 0, 2, MAX_ITEMS, CR_F_REQUIRED | CR_F_OURS,
           "number of items; a number from 0 on is one"),
    CR_FLOAT(next_conf, aux_weight, 0.1, 0, CR_INF, CR_F_OURS, "factor of the auxiliary loss"),
    CR_FLOAT(next_conf, init_range, 0, 0, CR_INF, CR_F_OURS,
             "the vectors of items begin between this and its negative; 0: 1 by the root of their "
             "width"),
    CR_END,
};
const cr_msg cr_block_next_item_msg = {
    .name = "NextItemBlock",
    .help = "DMR's match of a user and an item: the user's vector times that of the item. The loss "
            "gets a softmax over all items for the user's vector before the last step",
    .fields = next_fields,
    .size = sizeof(next_conf),
};

/* Adds the loss: the vector before the last step tells the item of that step. */
static void tell_next(cr_block_call *c, const next_conf *n, cr_node *E) {
    cr_build *b = c->b;
    if (!b->o->with_labels || n->aux_weight == 0) return;
    if (b->n_extra == CR_MAX_EXTRA) {
        cr_block_wrong(c, c->at, "the model has more than %d additional losses; use fewer",
                       CR_MAX_EXTRA);
        return;
    }
    cr_node *z = cr_matmul(c->g, c->in[2].node, E, NULL, false);
    cr_node *row = cr_softmax_ce(c->g, z, c->in[3].node, 0);
    if (c->n_in > 4) row = cr_mul(c->g, row, c->in[4].node);
    b->extra[b->n_extra++] =
        (cr_extra_loss){.name = cr_arena_printf(&b->m->arena, "%s_aux_loss", c->block),
                        .row = cr_add(c->g, &row, (float[]){(float)n->aux_weight}, 1),
                        .weight = -1};
}

static void next_item(cr_block_call *c, const void *conf) {
    const next_conf *n = conf;
    int64_t D = c->in[0].node->width;
    bool fits = c->in[1].node->width == 1 && c->in[2].node->width == D &&
                c->in[3].node->width == 1 && (c->n_in < 5 || c->in[4].node->width == 1);
    if (!fits) {
        cr_block_wrong(c, c->at,
                       "next_item reads the user's vector, the number of the item, the vector "
                       "before the last step, as wide as the first, and the number of the last "
                       "step's item; and it may read a weight");
        return;
    }
    size_t mark = cr_graph_push(c->g, "%s", c->path);
    double range = n->init_range > 0 ? n->init_range : 1.0 / sqrt((double)D);
    cr_node *E = cr_weight(c->g, "embedding.weight", n->num_items, D, CR_INIT_U(range));
    cr_graph_pop(c->g, mark);
    tell_next(c, n, E);
    cr_node *v = cr_gather_rows(c->g, E, c->in[1].node);
    cr_block_give(c, cr_row_sum(c->g, cr_mul(c->g, c->in[0].node, v)));
}
const cr_block_type cr_block_next_item = {
    .name = "next_item",
    .takes = CR_TAKES_EACH,
    .min_in = 4,
    .max_in = 5,
    .build = next_item,
};
