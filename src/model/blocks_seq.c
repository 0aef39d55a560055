/*
 * blocks_seq.c - block layers that turn a sequence into a row: din, multi_window_din,
 * simple_attention, self_attention, pooling, query; and step_attention, between the steps of two.
 *
 * The query is the rows among the inputs, side by side; without such rows it is the plain features
 * of the sequence's group.
 */
#include "conf/conf.h"
#include "layer/layer.h"
#include "model/blocks_int.h"
#include "model/blocks_list.h"
#include "op/op.h"

typedef struct din_conf {
    cr_conf_base base;
    cr_mlp_conf *attn_mlp;
    double scale;
} din_conf;
static const cr_field din_fields[] = {
    CR_MSG(din_conf, attn_mlp, &cr_mlp_msg, CR_F_REQUIRED | CR_F_OURS,
           "layers that score each step"),
    CR_FLOAT(din_conf, scale, 1, 0, CR_INF, CR_F_OURS, "factor of the scores, before the softmax"),
    CR_END,
};
const cr_msg cr_block_din_msg = {
    .name = "DINBlock",
    .help = "Target attention: layers score each step",
    .fields = din_fields,
    .size = sizeof(din_conf),
};
static void din(cr_block_call *c, const void *conf) {
    const din_conf *d = conf;
    if (!cr_block_query_fits(c, c->x.node->width, false)) return;
    cr_block_give(c, cr_din_encoder(c->g, c->path, d->attn_mlp, c->x.query, c->x.node, d->scale,
                                    c->b->diag));
}
const cr_block_type cr_block_din = {
    .name = "din",
    .takes = CR_TAKES_SEQUENCE,
    .min_in = 1,
    .build = din,
};

#define MAX_WINDOWS 1024
typedef struct window_conf {
    cr_conf_base base;
    cr_mlp_conf *attn_mlp;
    cr_ints windows_len;
} window_conf;
static const cr_field window_fields[] = {
    CR_MSG(window_conf, attn_mlp, &cr_mlp_msg, CR_F_REQUIRED | CR_F_OURS,
           "layers that score each step"),
    CR_INT(window_conf, windows_len, 0, 1, 1000000, CR_F_REPEATED | CR_F_OURS,
           "steps of each window; max_seq_length of the input is their sum at most"),
    CR_END,
};
const cr_msg cr_block_multi_window_din_msg = {
    .name = "MultiWindowDINBlock",
    .help = "Target attention summed over windows of steps",
    .fields = window_fields,
    .size = sizeof(window_conf),
};
static void multi_window_din(cr_block_call *c, const void *conf) {
    const window_conf *w = conf;
    if (!cr_block_query_fits(c, c->x.node->width, false)) return;
    if (w->windows_len.n == 0 || w->windows_len.n > MAX_WINDOWS) {
        cr_block_wrong(c, cr_conf_at(w, "windows_len"),
                       "windows_len is %s; give from 1 to %d windows of some steps each",
                       w->windows_len.n == 0 ? "empty" : "too long", MAX_WINDOWS);
        return;
    }
    const cr_seq_axis *axis = &c->b->m->axes[c->x.node->axis];
    /* where nothing is cut, the feature's own sequence_length is the most */
    const cr_feature *f = cr_features_find(c->b->o->features, axis->name);
    int64_t all = 0, most = axis->most > 0 ? axis->most : f && f->seq ? f->seq->length : 0;
    for (int64_t i = 0; i < w->windows_len.n; i++)
        all += w->windows_len.v[i];
    if (most == 0 || most > all) {
        cr_block_wrong(c, cr_conf_at(w, "windows_len"),
                       "the windows hold %lld steps; write %s where the group is read",
                       (long long)all, CR_SAY(w, "max_seq_length", "%lld", (long long)all));
        return;
    }
    cr_block_give(c, cr_window_encoder(c->g, c->path, w->attn_mlp, c->x.query, c->x.node,
                                       &w->windows_len, c->b->diag));
}
const cr_block_type cr_block_multi_window_din = {
    .name = "multi_window_din",
    .takes = CR_TAKES_SEQUENCE,
    .min_in = 1,
    .build = multi_window_din,
};

typedef struct self_attention_conf {
    cr_conf_base base;
    int64_t multihead_attn_dim, num_heads;
    double dropout;
} self_attention_conf;
static const cr_field self_attention_fields[] = {
    CR_INT(self_attention_conf, multihead_attn_dim, 64, 1, 65536, CR_F_OURS,
           "width of the attention and of the output"),
    CR_INT(self_attention_conf, num_heads, 4, 1, 65536, CR_F_OURS,
           "heads; they divide multihead_attn_dim"),
    CR_FLOAT(self_attention_conf, dropout, 0, 0, 0.999, CR_F_OURS,
             "share of attention dropped while training"),
    CR_END,
};
const cr_msg cr_block_self_attention_msg = {
    .name = "SelfAttentionBlock",
    .help = "Each step attends to all; their mean",
    .fields = self_attention_fields,
    .size = sizeof(self_attention_conf),
};
static void self_attention(cr_block_call *c, const void *conf) {
    const self_attention_conf *a = conf;
    if (a->multihead_attn_dim % a->num_heads != 0) {
        cr_block_wrong(c, cr_conf_at(a, "num_heads"),
                       "multihead_attn_dim %lld is not a multiple of num_heads %lld; make it one",
                       (long long)a->multihead_attn_dim, (long long)a->num_heads);
        return;
    }
    cr_block_give(c, cr_self_attention(c->g, c->path, c->x.node, a->multihead_attn_dim,
                                       a->num_heads, a->dropout, c->x.node->axis));
}
const cr_block_type cr_block_self_attention = {
    .name = "self_attention",
    .takes = CR_TAKES_SEQUENCE,
    .min_in = 1,
    .max_in = 1,
    .build = self_attention,
};

typedef struct simple_conf {
    cr_conf_base base;
    bool tanh;
} simple_conf;
static const cr_field simple_fields[] = {
    CR_BOOL(simple_conf, tanh, false, CR_F_OURS, "the softmax is that of tanh(score)"),
    CR_END,
};
const cr_msg cr_block_simple_attention_msg = {
    .name = "SimpleAttentionBlock",
    .help = "Attention: a dot product scores each step",
    .fields = simple_fields,
    .size = sizeof(simple_conf),
};
static void simple_attention(cr_block_call *c, const void *conf) {
    bool tanh = ((const simple_conf *)conf)->tanh;
    if (cr_block_query_fits(c, c->x.node->width, true))
        cr_block_give(c, cr_simple_attention(c->g, c->x.query, c->x.node, tanh));
}
const cr_block_type cr_block_simple_attention = {
    .name = "simple_attention",
    .takes = CR_TAKES_SEQUENCE,
    .min_in = 1,
    .build = simple_attention,
};

CR_BLOCK_PLAIN(query, "QueryBlock", "The plain features of a sequence's group, as a row");
static void query(cr_block_call *c, const void *conf) {
    (void)conf;
    if (c->x.query)
        cr_block_give(c, c->x.query);
    else
        cr_block_wrong(c, c->at,
                       "the group of the sequence has no plain features; add the target's features "
                       "to it");
}
const cr_block_type cr_block_query = {
    .name = "query",
    .takes = CR_TAKES_SEQUENCE,
    .min_in = 1,
    .max_in = 1,
    .build = query,
};

CR_BLOCK_PLAIN(step_attention, "StepAttentionBlock",
               "Each step of the first sequence attends to the steps of the second");
static void step_attention(cr_block_call *c, const void *conf) {
    (void)conf;
    cr_node *q = c->in[0].node, *s = c->in[1].node;
    if (q->cls != CR_SEQ || s->cls != CR_SEQ || q->axis != s->axis || q->width != s->width) {
        cr_block_wrong(c, c->at,
                       "step_attention reads two sequences of one feature group, equally wide");
        return;
    }
    cr_node *y = cr_seq_attend(c->g, q, s, s, NULL, NULL, 1, 1, 0);
    cr_block_give_val(c, (cr_block_val){y, y->width, c->in[1].query});
}
const cr_block_type cr_block_step_attention = {
    .name = "step_attention",
    .takes = CR_TAKES_POSITIONS | CR_TAKES_EACH | CR_TAKES_MIXED,
    .min_in = 2,
    .max_in = 2,
    .build = step_attention,
};

typedef enum pool_kind { POOL_MEAN, POOL_SUM, POOL_MAX, POOL_LAST } pool_kind;
static const cr_enum_value pool_kinds[] = {
    {"mean", POOL_MEAN, "the mean of the steps", NULL},
    {"sum", POOL_SUM, "the sum of the steps", NULL},
    {"max", POOL_MAX, "the largest number in each column", NULL},
    {"last", POOL_LAST, "the last step", NULL},
    {NULL, 0, NULL, NULL},
};
typedef struct pooling_conf {
    cr_conf_base base;
    int pooling_type; /* a pool_kind */
} pooling_conf;
static const cr_field pooling_fields[] = {
    CR_ENUM(pooling_conf, pooling_type, pool_kinds, POOL_MEAN, CR_F_OURS,
            "how the steps become one vector"),
    CR_END,
};
const cr_msg cr_block_pooling_msg = {
    .name = "PoolingBlock",
    .help = "The steps of a sequence as one vector",
    .fields = pooling_fields,
    .size = sizeof(pooling_conf),
};
static void pooling(cr_block_call *c, const void *conf) {
    int kind = ((const pooling_conf *)conf)->pooling_type;
    if (kind == POOL_MAX || kind == POOL_LAST)
        cr_block_give(c, cr_seq_end(c->g, c->x.node, kind == POOL_MAX));
    else
        cr_block_give(c, cr_seq_pool(c->g, c->x.node, kind == POOL_MEAN));
}
const cr_block_type cr_block_pooling = {
    .name = "pooling",
    .takes = CR_TAKES_SEQUENCE,
    .min_in = 1,
    .max_in = 1,
    .build = pooling,
};
