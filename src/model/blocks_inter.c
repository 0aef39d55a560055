/*
 * blocks_inter.c - block layers that multiply features with each other: cross layers, factorization
 * machine, dot products, compressed interactions, masks, Wukong's layer, attention.
 */
#include "layer/layer.h"
#include "model/blocks_int.h"
#include "model/blocks_list.h"
#include "op/op.h"

/* Returns F, the number of fields of the row. */
static int64_t count(const cr_block_call *c) {
    return c->x.node->width / c->x.D;
}

static void cross(cr_block_call *c, const void *conf) {
    cr_block_give_like(c, cr_cross_v1(c->g, c->path, conf, c->x.node), &c->x);
}
const cr_block_type cr_block_cross = {
    .name = "cross",
    .min_in = 1,
    .build = cross,
};

static void cross_v2(cr_block_call *c, const void *conf) {
    cr_block_give_like(c, cr_cross_v2(c->g, c->path, conf, c->x.node), &c->x);
}
const cr_block_type cr_block_cross_v2 = {
    .name = "cross_v2",
    .min_in = 1,
    .build = cross_v2,
};

CR_BLOCK_PLAIN(fm, "FMBlock", "The products of all pairs of vectors, added up: one vector");
static void fm(cr_block_call *c, const void *conf) {
    (void)conf;
    cr_block_give(c, cr_fm(c->g, c->x.node, 0, count(c), c->x.D));
}
const cr_block_type cr_block_fm = {
    .name = "fm",
    .takes = CR_TAKES_FIELDS,
    .min_in = 1,
    .build = fm,
};

CR_BLOCK_PLAIN(dot_interaction, "DotInteractionBlock", "The dot products of all pairs of vectors");
static void dot_interaction(cr_block_call *c, const void *conf) {
    (void)conf;
    if (count(c) < 2) {
        cr_block_wrong(c, c->at,
                       "dot_interaction has one vector and needs two at least; add inputs");
        return;
    }
    cr_node *y = cr_pairs(c->g, c->x.node, count(c), c->x.D);
    cr_block_give(c, y);
}
const cr_block_type cr_block_dot_interaction = {
    .name = "dot_interaction",
    .takes = CR_TAKES_FIELDS,
    .min_in = 1,
    .build = dot_interaction,
};

static void cin(cr_block_call *c, const void *conf) {
    cr_block_give(c, cr_cin_net(c->g, c->path, conf, c->x.node, count(c), c->x.D));
}
const cr_block_type cr_block_cin = {
    .name = "cin",
    .takes = CR_TAKES_FIELDS,
    .min_in = 1,
    .build = cin,
};

static void mask_net(cr_block_call *c, const void *conf) {
    cr_node *y = cr_mask_net(c->g, c->path, conf, c->x.node, c->b->diag);
    if (y) cr_block_give(c, y);
}
const cr_block_type cr_block_mask_net = {
    .name = "mask_net",
    .min_in = 1,
    .build = mask_net,
};

/* The second input makes the mask; without one the first input does. */
static void mask_block(cr_block_call *c, const void *conf) {
    cr_node *v = c->in[0].node, *e = c->in[c->n_in - 1].node;
    cr_node *y = cr_mask_block(c->g, c->path, conf, v, e, c->b->diag);
    if (y) cr_block_give(c, y);
}
const cr_block_type cr_block_mask_block = {
    .name = "mask_block",
    .takes = CR_TAKES_EACH,
    .min_in = 1,
    .max_in = 2,
    .build = mask_block,
};

static void wukong_layer(cr_block_call *c, const void *conf) {
    cr_node *y = cr_wukong_layer(c->g, c->path, conf, c->x.node, count(c), c->x.D, c->b->diag);
    cr_block_give_fields(c, y, c->x.D);
}
const cr_block_type cr_block_wukong_layer = {
    .name = "wukong_layer",
    .takes = CR_TAKES_FIELDS,
    .min_in = 1,
    .build = wukong_layer,
};

static void autoint_layer(cr_block_call *c, const void *conf) {
    const cr_autoint_layer_conf *a = conf;
    cr_node *y = cr_autoint_layer(c->g, c->path, a, c->x.node, count(c));
    cr_block_give_fields(c, y, a->num_heads * a->head_dim);
}
const cr_block_type cr_block_autoint_layer = {
    .name = "autoint_layer",
    .takes = CR_TAKES_FIELDS,
    .min_in = 1,
    .build = autoint_layer,
};
