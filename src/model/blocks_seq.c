/*
 * blocks_seq.c - block layers that make a row of a sequence: din, simple_attention, pooling.
 *
 * The query is the rows among the inputs side by side, else the plain features of the sequence's
 * group.
 */
#include "layer/layer.h"
#include "model/blocks_int.h"
#include "model/blocks_list.h"
#include "op/op.h"

/* a query that is at most (exact: just) as wide as the keys */
static bool query_fits(cr_block_call *c, bool exact) {
    int64_t keys = c->x.node->width, q = c->x.query ? c->x.query->width : 0;
    if (q > 0 && (exact ? q == keys : q <= keys)) return true;
    cr_block_wrong(c, c->at, "%s compares a query (%lld wide) with a sequence (%lld wide); %s",
                   c->type, (long long)q, (long long)keys,
                   q == 0  ? "add the target's features to the group, or a row to the inputs"
                   : exact ? "make them equal"
                           : "the query may not be wider");
    return false;
}

typedef struct din_conf {
    cr_conf_base base;
    cr_mlp_conf *attn_mlp;
} din_conf;
static const cr_field din_fields[] = {
    CR_MSG(din_conf, attn_mlp, &cr_mlp_msg, CR_F_REQUIRED | CR_F_OURS,
           "layers that score each step"),
    CR_END,
};
const cr_msg cr_block_din_msg = {"DINBlock", "Target attention: layers score each step",
                                 din_fields, sizeof(din_conf),
                                 false,      NULL};
static void din(cr_block_call *c, const void *conf) {
    const cr_mlp_conf *mlp = ((const din_conf *)conf)->attn_mlp;
    if (!query_fits(c, false)) return;
    if (mlp->hidden_units.n == 0) {
        cr_block_wrong(c, cr_conf_at(conf, "attn_mlp"),
                       "attn_mlp has no hidden_units; give it at least one layer");
        return;
    }
    cr_block_give(c, cr_din_encoder(c->g, c->path, mlp, c->x.query, c->x.node, c->b->diag));
}
const cr_block_type cr_block_din = {"din", CR_TAKES_SEQUENCE, 1, 0, din};

CR_BLOCK_PLAIN(simple_attention, "SimpleAttentionBlock",
               "Attention: a dot product scores each step");
static void simple_attention(cr_block_call *c, const void *conf) {
    (void)conf;
    if (query_fits(c, true)) cr_block_give(c, cr_simple_attention(c->g, c->x.query, c->x.node));
}
const cr_block_type cr_block_simple_attention = {"simple_attention", CR_TAKES_SEQUENCE, 1, 0,
                                                 simple_attention};

typedef enum pool_kind { POOL_MEAN, POOL_SUM } pool_kind;
static const cr_enum_value pool_kinds[] = {
    {"mean", POOL_MEAN, "the mean of the steps", false},
    {"sum", POOL_SUM, "the sum of the steps", false},
    {NULL, 0, NULL, false},
};
typedef struct pooling_conf {
    cr_conf_base base;
    int pooling_type; /* pool_kind */
} pooling_conf;
static const cr_field pooling_fields[] = {
    CR_ENUM(pooling_conf, pooling_type, pool_kinds, POOL_MEAN, CR_F_OURS, "what becomes of them"),
    CR_END,
};
const cr_msg cr_block_pooling_msg = {"PoolingBlock", "The steps of a sequence as one vector",
                                     pooling_fields, sizeof(pooling_conf),
                                     false,          NULL};
static void pooling(cr_block_call *c, const void *conf) {
    bool mean = ((const pooling_conf *)conf)->pooling_type == POOL_MEAN;
    cr_block_give(c, cr_seq_pool(c->g, c->x.node, mean));
}
const cr_block_type cr_block_pooling = {"pooling", CR_TAKES_SEQUENCE, 1, 1, pooling};
