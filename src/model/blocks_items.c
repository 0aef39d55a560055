/*
 * blocks_items.c - block layers for models that name one of all items at several places of a row,
 * such as BERT4Rec (Sun et al. 2019): item_vectors looks up a table that is an ordinary parameter,
 * take_steps takes the steps at places that the data names, and item_scores compares these with the
 * same table and brings the loss of the model.
 *
 * The table is a parameter because the softmax over all items moves each of its rows in each step.
 */
#include <math.h>
#include <string.h>

#include "conf/conf.h"
#include "layer/layer.h"
#include "model/blocks_int.h"
#include "model/blocks_list.h"
#include "op/op.h"
#include "op/param.h"

#define MAX_ITEMS 16777216 /* whole numbers that a float holds exactly */
#define NEVER     -1e30f   /* the score of an item that is no candidate */

/* ---- item_vectors ---- */

typedef struct vectors_conf {
    cr_conf_base base;
    int64_t num_items, dim;
    double init_std;
} vectors_conf;
static const cr_field vectors_fields[] = {
    CR_INT(vectors_conf, num_items, 0, 1, MAX_ITEMS, CR_F_REQUIRED | CR_F_OURS,
           "number of items; a number from 0 on is one, and any other has zeros"),
    CR_INT(vectors_conf, dim, 0, 1, 65536, CR_F_REQUIRED | CR_F_OURS, "width of a vector"),
    CR_FLOAT(vectors_conf, init_std, 0.02, 0, 1, CR_F_OURS, "deviation of the first values"),
    CR_END,
};
const cr_msg cr_block_item_vectors_msg = {
    .name = "ItemVectorsBlock",
    .help = "The vectors of items whose numbers are read as they are; the table is trained as a "
            "whole, like the weights of a layer",
    .fields = vectors_fields,
    .size = sizeof(vectors_conf),
};
static void item_vectors(cr_block_call *c, const void *conf) {
    const vectors_conf *v = conf;
    if (c->x.node->width != 1) {
        cr_block_wrong(c, c->at,
                       "its input is %lld wide; item_vectors reads the number of an item, in a "
                       "raw_feature or a sequence_raw_feature",
                       (long long)c->x.node->width);
        return;
    }
    size_t mark = cr_graph_push(c->g, "%s", c->path);
    cr_node *E = cr_weight(c->g, "embedding.weight", v->num_items, v->dim, CR_INIT_N(v->init_std));
    cr_graph_pop(c->g, mark);
    cr_block_give(c, cr_gather_rows(c->g, E, c->x.node));
}
const cr_block_type cr_block_item_vectors = {
    .name = "item_vectors",
    .takes = CR_TAKES_POSITIONS,
    .min_in = 1,
    .max_in = 1,
    .shares = true,
    .build = item_vectors,
};

/* ---- take_steps ---- */

CR_BLOCK_PLAIN(take_steps, "TakeStepsBlock",
               "The steps of the first sequence whose places, from 0, are the steps of the second");
static void take_steps(cr_block_call *c, const void *conf) {
    (void)conf;
    cr_node *s = c->in[0].node, *k = c->in[1].node;
    if (s->cls != CR_SEQ || k->cls != CR_SEQ || k->width != 1) {
        cr_block_wrong(c, c->at,
                       "take_steps reads a sequence and a second one of places, one number per "
                       "step (a sequence_raw_feature)");
        return;
    }
    cr_block_give(c, cr_seq_take(c->g, s, k));
}
const cr_block_type cr_block_take_steps = {
    .name = "take_steps",
    .takes = CR_TAKES_POSITIONS | CR_TAKES_EACH | CR_TAKES_MIXED,
    .min_in = 2,
    .max_in = 2,
    .build = take_steps,
};

/* ---- item_scores ---- */

typedef struct scores_conf {
    cr_conf_base base;
    const char *items_of;
    bool bias;
} scores_conf;
static const cr_field scores_fields[] = {
    CR_STR(scores_conf, items_of, NULL, CR_F_REQUIRED | CR_F_OURS,
           "a block item_vectors, whose table has the vectors of the items"),
    CR_BOOL(scores_conf, bias, true, CR_F_OURS, "each item has a number that is added"),
    CR_END,
};
const cr_msg cr_block_item_scores_msg = {
    .name = "ItemScoresBlock",
    .help =
        "Scores of all items for each step, the last step's as output; a second sequence has the "
        "right items, and the loss of the model is a softmax over all items; a third one names "
        "candidates",
    .fields = scores_fields,
    .size = sizeof(scores_conf),
};

/* The table of the block that items_of names; NULL: a mistake was reported. */
static cr_node *find_table(cr_block_call *c, const scores_conf *s) {
    const char *name =
        cr_arena_printf(&c->b->m->arena, "model.blocks.%s.embedding.weight", s->items_of);
    for (int i = 0; i < c->g->n; i++) {
        cr_node *n = c->g->nodes[i];
        if (n->cls == CR_PARAM && !n->op && strcmp(n->name, name) == 0) {
            if (n->cols == c->in[0].node->width) return n;
            cr_block_wrong(c, cr_conf_at(s, "items_of"),
                           "a step is %lld wide and the vectors of '%s' are %lld wide; make them "
                           "equal",
                           (long long)c->in[0].node->width, s->items_of, (long long)n->cols);
            return NULL;
        }
    }
    cr_block_wrong(c, cr_conf_at(s, "items_of"),
                   "no item_vectors block '%s' is among the blocks that it reads; name one",
                   s->items_of);
    return NULL;
}

static void item_scores(cr_block_call *c, const void *conf) {
    const scores_conf *s = conf;
    cr_node *x = c->in[0].node, *y = c->in[1].node, *some = c->n_in > 2 ? c->in[2].node : NULL;
    if (x->cls != CR_SEQ || y->cls != CR_SEQ || x->axis != y->axis || y->width != 1 ||
        (some && (some->cls != CR_SEQ || some->width != 1))) {
        cr_block_wrong(c, c->at,
                       "item_scores reads the steps of a sequence and the numbers of their items, "
                       "one for each step; a third input is a sequence of the numbers of "
                       "candidates");
        return;
    }
    cr_node *E = find_table(c, s);
    if (!E) return;
    size_t mark = cr_graph_push(c->g, "%s", c->path);
    cr_node *bias = s->bias ? cr_vector(c->g, "bias", E->rows, CR_INIT_C(0)) : NULL;
    cr_graph_pop(c->g, mark);
    cr_node *z = cr_matmul(c->g, x, E, bias, false);
    if (cr_block_learns(c)) cr_block_loss(c, cr_seq_pool(c->g, cr_softmax_ce(c->g, z, y, 0), true));
    cr_node *last = cr_seq_end(c->g, z, false);
    cr_block_give(c, some ? cr_among(c->g, last, some, NEVER) : last);
}
const cr_block_type cr_block_item_scores = {
    .name = "item_scores",
    .takes = CR_TAKES_POSITIONS | CR_TAKES_EACH | CR_TAKES_MIXED,
    .min_in = 2,
    .max_in = 3,
    .loss = true,
    .build = item_scores,
};
