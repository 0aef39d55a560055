/*
 * blocks_social.c - the block layer social_graph: users and items whose vectors follow from a graph
 * of all of them, who has which item and which user trusts whom (Yu et al., 2021: MHCN).
 *
 * The graph is part of the config, so a checkpoint knows it. The vectors are one folded parameter
 * (op/fold_social.c): a step makes those of all users and items, whatever rows it has. The loss is
 * a sum over the rows of a batch, -log sigmoid(score of the item - score of a drawn item that the
 * user does not have), plus the contrast of the channels (op/social_loss.c).
 */
#include <math.h>

#include "conf/conf.h"
#include "layer/layer.h"
#include "model/blocks_int.h"
#include "model/blocks_list.h"
#include "op/op.h"
#include "op/param.h"
#include "op/social.h"

#define MAX_NODES 16777216           /* whole numbers that a float holds exactly */
#define MAX_SIDE  8388608            /* half of them: users, items */
#define MAX_WORK  ((int64_t)1 << 33) /* steps that counting the pairs of users may take */

typedef struct social_conf {
    cr_conf_base base;
    int64_t num_users, num_items, dim, num_layers;
    cr_ints rated, trusts;
    double contrast_weight;
} social_conf;
static const cr_field social_fields[] = {
    CR_INT(social_conf, num_users, 0, 1, MAX_SIDE, CR_F_REQUIRED | CR_F_OURS,
           "number of users; their numbers begin with 0"),
    CR_INT(social_conf, num_items, 0, 2, MAX_SIDE, CR_F_REQUIRED | CR_F_OURS,
           "number of items; their numbers begin with 0"),
    CR_INT(social_conf, dim, 50, 1, 65536, CR_F_OURS, "width of a vector"),
    CR_INT(social_conf, num_layers, 2, 1, 64, CR_F_OURS, "layers of the convolution"),
    CR_INT(social_conf, rated, 0, 0, MAX_NODES, CR_F_REPEATED | CR_F_OURS,
           "pairs of a user and an item that the user has"),
    CR_INT(social_conf, trusts, 0, 0, MAX_NODES, CR_F_REPEATED | CR_F_OURS,
           "pairs of a user and another one whom the user trusts"),
    CR_FLOAT(social_conf, contrast_weight, 0.01, 0, 1e6, CR_F_OURS,
             "weight of the loss that tells a user's neighbourhood from others"),
    CR_END,
};
const cr_msg cr_block_social_graph_msg = {
    .name = "SocialGraphBlock",
    .help = "MHCN: scores of all items for a user, from a graph of all users and items",
    .fields = social_fields,
    .size = sizeof(social_conf),
};

/* Are the pairs of a list whole, and their numbers below these? Reports a mistake if not. */
static bool pairs_fit(cr_block_call *c, const social_conf *f, const char *key, const cr_ints *v,
                      int64_t first, int64_t second) {
    if (v->n % 2 != 0) {
        cr_block_wrong(c, cr_conf_at(f, key), "%s has %lld numbers; give two for each pair", key,
                       (long long)v->n);
        return false;
    }
    for (int64_t i = 0; i < v->n; i++) {
        int64_t most = i % 2 ? second : first;
        if (v->v[i] < most) continue;
        cr_block_wrong(c, cr_conf_at_item(f, key, i),
                       "%s names number %lld, and the numbers are from 0 to %lld; raise num_users "
                       "or num_items, or correct the list",
                       key, (long long)v->v[i], (long long)most - 1);
        return false;
    }
    return true;
}

/* Is the graph small enough? Users are compared with all users of each of their items. */
static bool work_fits(cr_block_call *c, const social_conf *f) {
    int64_t *users = cr_alloc((size_t)f->num_items * sizeof *users, "users of items"), work = 0;
    for (int64_t i = 1; i < f->rated.n; i += 2)
        work += ++users[f->rated.v[i]];
    cr_free(users);
    if (work <= MAX_WORK / 2) return true;
    cr_block_wrong(c, cr_conf_at(f, "rated"),
                   "the users of common items are %lld pairs, more than social_graph is made for; "
                   "leave out items that very many users have",
                   (long long)work);
    return false;
}

static bool inputs_fit(cr_block_call *c, const social_conf *f) {
    if (!pairs_fit(c, f, "rated", &f->rated, f->num_users, f->num_items) ||
        !pairs_fit(c, f, "trusts", &f->trusts, f->num_users, f->num_users) || !work_fits(c, f))
        return false;
    if (f->rated.n == 0) {
        cr_block_wrong(c, c->at, "rated is empty; list the users with their items");
        return false;
    }
    bool good = c->in[2].node->cls == CR_SEQ && c->in[2].node->width == 1;
    for (int i = 0; i < 2; i++)
        good = good && c->in[i].node->cls == CR_ROW && c->in[i].node->width == 1;
    if (!good)
        cr_block_wrong(c, c->at,
                       "social_graph reads the number of a user and that of an item (raw_features) "
                       "and a sequence of numbers of items that are left out of the scores (a "
                       "sequence_raw_feature)");
    return good;
}

/* The parameters, by the names of the paper's own code. */
typedef struct social_params {
    cr_node *user, *item, *gate, *gate_bias, *own, *own_bias, *attention, *mat;
} social_params;

static social_params make_params(cr_block_call *c, const social_conf *f) {
    cr_graph *g = c->g;
    int64_t D = f->dim;
    static const cr_init small = {CR_INIT_TRUNC_NORMAL, 0, 0.005, -0.01, 0.01};
    cr_init square = CR_INIT_U(sqrt(3.0 / (double)D)),
            flat = CR_INIT_U(sqrt(6.0 / (double)(D + 1)));
    size_t mark = cr_graph_push(g, "%s", c->path);
    social_params p;
    p.user = cr_weight(g, "user_embedding.weight", f->num_users, D, small);
    p.item = cr_weight(g, "item_embedding.weight", f->num_items, D, small);
    p.gate = cr_weight(g, "gating.weight", 4 * D, D, square);
    p.gate_bias = cr_weight(g, "gating.bias", 4, D, flat);
    p.attention = cr_weight(g, "attention.weight", D, 1, flat);
    p.mat = cr_weight(g, "attention_mat.weight", D, D, square);
    p.own = cr_weight(g, "self_gating.weight", CR_SOCIAL_CHANNELS * D, D, square);
    p.own_bias = cr_weight(g, "self_gating.bias", CR_SOCIAL_CHANNELS, D, flat);
    cr_graph_pop(g, mark);
    return p;
}

/* Adds the loss of the model: Z are the vectors, `at` the user, the item and the drawn item. */
static void learn(cr_block_call *c, const social_conf *f, const social_params *p, cr_node *Z,
                  cr_node *at, const cr_social *s) {
    cr_build *b = c->b;
    cr_graph *g = c->g;
    if (b->n_extra == CR_MAX_EXTRA) {
        cr_block_wrong(c, c->at, "the model has more than %d additional losses; use fewer",
                       CR_MAX_EXTRA);
        return;
    }
    cr_node *v[3];
    for (int i = 0; i < 3; i++)
        v[i] = cr_gather_rows(g, Z, cr_slice(g, at, i, 1));
    cr_node *less = cr_add(g, (cr_node *[]){v[2], v[1]}, (float[]){1, -1}, 2);
    cr_node *x = cr_activation(g, CR_ACT_SOFTPLUS, (const float[3]){1, 40, 0},
                               cr_row_sum(g, cr_mul(g, v[0], less)));
    b->extra[b->n_extra++] =
        (cr_extra_loss){.name = cr_arena_printf(&b->m->arena, "%s_loss", c->block),
                        .row = cr_social_loss(g, Z, p->own, p->own_bias, x, s, f->contrast_weight),
                        .weight = -1,
                        .whole = true};
}

static void social_graph(cr_block_call *c, const void *conf) {
    const social_conf *f = conf;
    cr_graph *g = c->g;
    if (!inputs_fit(c, f)) return;
    const cr_social *s = cr_social_new(g, f->num_users, f->num_items, f->rated.v, f->rated.n / 2,
                                       f->trusts.v, f->trusts.n / 2);
    social_params p = make_params(c, f);
    cr_node *v = cr_fold_product(g, p.mat, 0, f->dim, p.attention);
    cr_node *Z = cr_fold_social(g, p.user, p.item, p.gate, p.gate_bias, v, s, f->num_layers);
    cr_node *at = cr_social_draw(g, c->in[0].node, c->in[1].node, s);
    if (c->b->o->with_labels) learn(c, f, &p, Z, at, s);
    cr_node *z = cr_matmul(g, cr_gather_rows(g, Z, cr_slice(g, at, 0, 1)), Z, NULL, false);
    z = cr_slice(g, z, f->num_users, f->num_items);
    cr_block_give(c, cr_leave_out(g, z, c->in[2].node));
}
const cr_block_type cr_block_social_graph = {
    .name = "social_graph",
    .takes = CR_TAKES_EACH | CR_TAKES_POSITIONS | CR_TAKES_MIXED,
    .min_in = 3,
    .max_in = 3,
    .build = social_graph,
};
