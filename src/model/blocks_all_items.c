/*
 * blocks_all_items.c - the block layer all_items: a factorization machine over the features of
 * users and items that learns from all items of every user, without drawing some (Chen et al.,
 * 2020: ENSFM).
 *
 * The score of a user and an item is r = h . (p * s) + a + b: p and s are the sums of the vectors
 * of both, a and b the factorization machines among the features of each side, with first-order
 * weights. The loss of a user is w * (sum of r^2 over all items) + sum over the items that the user
 * has of ((1 - w) r^2 - 2 r), which is the weighted squared error to 1 and 0 but for a constant.
 */
#include "conf/conf.h"
#include "layer/layer.h"
#include "model/blocks_int.h"
#include "model/blocks_list.h"
#include "op/op.h"
#include "op/param.h"

#define MAX_ITEMS 16777216 /* whole numbers that a float holds exactly */

typedef struct items_conf {
    cr_conf_base base;
    cr_ints items;
    int64_t features_per_item, num_features;
    double negative_weight;
} items_conf;
static const cr_field items_fields[] = {
    CR_INT(items_conf, items, 0, 0, MAX_ITEMS, CR_F_REPEATED | CR_F_OURS,
           "the features of item 0, then those of item 1, ...; each a number from 0"),
    CR_INT(items_conf, features_per_item, 1, 1, 1000, CR_F_OURS, "how many features each item has"),
    CR_INT(items_conf, num_features, 0, 1, MAX_ITEMS, CR_F_REQUIRED | CR_F_OURS,
           "number of features of items, each with a vector and a weight"),
    CR_FLOAT(items_conf, negative_weight, 0.5, 0, 1, CR_F_OURS,
             "weight of an item that the user does not have; that of the others is 1"),
    CR_END,
};
const cr_msg cr_block_all_items_msg = {
    .name = "AllItemsBlock",
    .help = "ENSFM: scores of all items for a user, and a loss over all of them",
    .fields = items_fields,
    .size = sizeof(items_conf),
};

/* Are the items those of the config, and the inputs those of a user? Reports a mistake if not. */
static bool items_fit(cr_block_call *c, const items_conf *f) {
    int64_t k = f->features_per_item;
    if (f->items.n < 2 * k || f->items.n % k != 0) {
        cr_block_wrong(c, cr_conf_at(f, "items"),
                       "items has %lld numbers; give %lld for each of two or more items",
                       (long long)f->items.n, (long long)k);
        return false;
    }
    for (int64_t i = 0; i < f->items.n; i++) {
        if (f->items.v[i] < f->num_features) continue;
        cr_block_wrong(c, cr_conf_at_item(f, "items", i),
                       "item %lld has the feature %lld, and num_features is %lld; raise it",
                       (long long)(i / k), (long long)f->items.v[i], (long long)f->num_features);
        return false;
    }
    const cr_block_val *u = &c->in[0];
    if (u->node->cls == CR_ROW && u->D > 0 && c->in[1].node->cls == CR_ROW &&
        c->in[2].node->cls == CR_SEQ && c->in[2].node->width == 1)
        return true;
    cr_block_wrong(c, c->at,
                   "all_items reads the vectors of a user's features, all of one width, a row of "
                   "their weights, and a sequence of the numbers of the user's items (a "
                   "sequence_raw_feature)");
    return false;
}

/* Adds the loss: x are the users, Q all items, and k the numbers of the items that a user has. */
static void learn_items(cr_block_call *c, double w, cr_node *x, cr_node *Q, cr_node *k) {
    cr_graph *g = c->g;
    if (!cr_block_learns(c)) return;
    cr_node *all = cr_row_sum(g, cr_mul(g, cr_matmul_kn(g, x, cr_fold_gram(g, Q)), x));
    cr_node *r = cr_mul(g, cr_seq_spread(g, x, k->axis), cr_gather_rows(g, Q, k));
    r = cr_row_sum(g, r);
    cr_node *two[] = {cr_mul(g, r, r), r};
    cr_node *own = cr_seq_pool(g, cr_add(g, two, (float[]){(float)(1 - w), -2}, 2), false);
    cr_node *both[] = {all, own};
    cr_block_loss(c, cr_add(g, both, (float[]){(float)w, 1}, 2));
}

static void all_items(cr_block_call *c, const void *conf) {
    const items_conf *f = conf;
    cr_graph *g = c->g;
    if (!items_fit(c, f)) return;
    int64_t D = c->in[0].D, F = c->in[0].node->width / D, V = f->num_features;
    cr_node *u = c->in[0].node, *k = c->in[2].node;
    static const cr_init small = {CR_INIT_TRUNC_NORMAL, 0, 0.01, -0.02, 0.02};
    size_t mark = cr_graph_push(g, "%s", c->path);
    cr_node *E = cr_weight(g, "item_embedding.weight", V, D, small);
    cr_node *bias = cr_weight(g, "item_bias.weight", V, 1, small);
    cr_node *match = cr_vector(g, "match.weight", D, CR_INIT_C(0.01));
    cr_node *cross = cr_vector(g, "cross.weight", D, CR_INIT_C(0.01));
    cr_node *zero = cr_vector(g, "bias", 1, CR_INIT_C(0));
    cr_graph_pop(g, mark);
    /* a user is [h * p; a; 1] and an item [s; 1; b]; the score is their product */
    cr_node *a[] = {cr_row_sum(g, cr_mul(g, cr_fm(g, u, 0, F, D), cross)),
                    cr_row_sum(g, c->in[1].node)};
    cr_node *own = cr_bias(g, cr_add(g, a, (float[]){1, 1}, 2), zero);
    cr_node *one = cr_activation(g, CR_ACT_CLAMP, (const float[3]){1, 1, 0}, own);
    cr_node *p = cr_mul(g, cr_field_sum(g, u, F, D), match);
    cr_node *x = cr_concat(g, (cr_node *[]){p, own, one}, 3);
    cr_node *Q = cr_fold_items(g, E, bias, cross, f->items.v, f->items.n / f->features_per_item,
                               f->features_per_item);
    learn_items(c, f->negative_weight, x, Q, k);
    cr_block_give(c, cr_leave_out(g, cr_matmul(g, x, Q, NULL, false), k));
}
const cr_block_type cr_block_all_items = {
    .name = "all_items",
    .takes = CR_TAKES_EACH | CR_TAKES_POSITIONS | CR_TAKES_MIXED,
    .min_in = 3,
    .max_in = 3,
    .loss = true,
    .build = all_items,
};
