/*
 * blocks_match.c - block layers that compare vectors: similarity (dot product or cosine),
 * label_attention (MIND's: a target chooses among interests), conv (a picture of similarities); and
 * both, the chance of two events.
 */
#include <math.h>

#include "conf/conf.h"
#include "layer/layer.h"
#include "model/blocks_int.h"
#include "model/blocks_list.h"
#include "op/op.h"
#include "op/param.h"

/* ---- both ---- */

CR_BLOCK_PLAIN(both, "BothBlock", "The logit of two events, from the logits of each");
static void both(cr_block_call *c, const void *conf) {
    (void)conf;
    if (c->in[0].node->width != 1 || c->in[1].node->width != 1) {
        cr_block_wrong(c, c->at, "both reads two logits, one number each");
        return;
    }
    cr_block_give(c, cr_both(c->g, c->in[0].node, c->in[1].node));
}
const cr_block_type cr_block_both = {
    .name = "both",
    .takes = CR_TAKES_EACH,
    .min_in = 2,
    .max_in = 2,
    .build = both,
};

/* ---- similarity ---- */

typedef enum sim_kind { SIM_DOT, SIM_COSINE } sim_kind;
static const cr_enum_value sim_kinds[] = {
    {"DOT", SIM_DOT, "the dot product", NULL},
    {"COSINE", SIM_COSINE, "the cosine of the angle", NULL},
    {NULL, 0, NULL, NULL},
};
typedef struct sim_conf {
    cr_conf_base base;
    int kind; /* a sim_kind */
    double scale;
} sim_conf;
static const cr_field sim_fields[] = {
    CR_ENUM(sim_conf, kind, sim_kinds, SIM_DOT, CR_F_OURS, "how two vectors are compared"),
    CR_FLOAT(sim_conf, scale, 1, 0, CR_INF, CR_F_OURS, "factor of the result"),
    CR_END,
};
const cr_msg cr_block_similarity_msg = {
    .name = "SimilarityBlock",
    .help = "The vectors of the first input against those of the others",
    .fields = sim_fields,
    .size = sizeof(sim_conf),
};

/* All numbers of x as vectors of width D; false: they are none. */
static bool cut(cr_block_call *c, int i, int64_t D, int64_t *n) {
    int64_t w = c->in[i].node->width;
    *n = w / D;
    if (w % D == 0) return true;
    cr_block_wrong(
        c, c->at,
        "input %d is %lld wide, and a vector of the first input %lld; make it a multiple "
        "of that",
        i + 1, (long long)w, (long long)D);
    return false;
}

static void similarity(cr_block_call *c, const void *conf) {
    const sim_conf *s = conf;
    int64_t D = c->in[0].D, F = 0, n;
    if (D == 0) {
        cr_block_wrong(c, c->at,
                       "the vectors of the first input have different widths; give their features "
                       "the same embedding_dim");
        return;
    }
    F = c->in[0].node->width / D;
    cr_node **out = CR_NEW_N(&c->b->m->arena, cr_node *, c->n_in);
    for (int i = 1; i < c->n_in; i++) {
        if (!cut(c, i, D, &n)) return;
        cr_node *x = c->in[0].node, *y = c->in[i].node;
        if (s->kind == SIM_DOT) {
            out[i - 1] = cr_bmm(c->g, x, cr_transpose(c->g, y, n, D), F, D, n);
            continue;
        }
        if (F * n > 4096) {
            cr_block_wrong(c, c->at, "%lld cosines are more than 4096; use fewer vectors",
                           (long long)(F * n));
            return;
        }
        cr_node **v = CR_NEW_N(&c->b->m->arena, cr_node *, F * n);
        for (int64_t k = 0; k < F * n; k++)
            v[k] = cr_cosine(c->g, F == 1 ? x : cr_slice(c->g, x, k / n * D, D),
                             n == 1 ? y : cr_slice(c->g, y, k % n * D, D));
        out[i - 1] = cr_concat(c->g, v, (int)(F * n));
    }
    cr_node *y = cr_concat(c->g, out, c->n_in - 1);
    if (s->scale != 1) y = cr_add(c->g, &y, (float[]){(float)s->scale}, 1);
    cr_block_give(c, y);
}
const cr_block_type cr_block_similarity = {
    .name = "similarity",
    .takes = CR_TAKES_EACH,
    .min_in = 2,
    .build = similarity,
};

/* ---- label_attention ---- */

typedef struct label_conf {
    cr_conf_base base;
    int64_t power;
} label_conf;
static const cr_field label_fields[] = {
    CR_INT(label_conf, power, 1, 0, 64, CR_F_OURS,
           "the similarities are raised to this power; the higher, the more the nearest vector "
           "counts alone. 0: the mean"),
    CR_END,
};
const cr_msg cr_block_label_attention_msg = {
    .name = "LabelAttentionBlock",
    .help = "The vectors of the first input, weighted by their likeness to the second",
    .fields = label_fields,
    .size = sizeof(label_conf),
};
static void label_attention(cr_block_call *c, const void *conf) {
    int64_t D = c->in[1].node->width, w = c->in[0].node->width, power;
    if (w % D != 0) {
        cr_block_wrong(c, c->at,
                       "the first input is %lld wide, which is no number of vectors as wide as the "
                       "second, %lld; make them fit",
                       (long long)w, (long long)D);
        return;
    }
    int64_t K = w / D;
    cr_node *x = c->in[0].node, *s = cr_bmm(c->g, x, c->in[1].node, K, D, 1), *p = s;
    for (power = ((const label_conf *)conf)->power; power > 1; power--)
        p = cr_mul(c->g, p, s);
    if (power == 0) p = cr_add(c->g, &s, (float[]){0}, 1);
    cr_block_give(c, cr_bmm(c->g, cr_softmax(c->g, p, 1), x, 1, K, D));
}
const cr_block_type cr_block_label_attention = {
    .name = "label_attention",
    .takes = CR_TAKES_EACH,
    .min_in = 2,
    .max_in = 2,
    .build = label_attention,
};

/* ---- conv ---- */

typedef enum padding { PAD_VALID, PAD_SAME } padding;
static const cr_enum_value paddings[] = {
    {"VALID", PAD_VALID, "the kernel stays inside the picture, which becomes smaller", NULL},
    {"SAME", PAD_SAME, "zeros around the picture keep its size", NULL},
    {NULL, 0, NULL, NULL},
};
typedef struct conv_conf {
    cr_conf_base base;
    int64_t channels, height, filters, kernel_height, kernel_width, pool_height, pool_width;
    int padding; /* PAD_… */
    bool use_bn;
    const char *activation;
} conv_conf;
static const cr_field conv_fields[] = {
    CR_INT(conv_conf, channels, 1, 1, 65536, CR_F_OURS, "pictures that the row is"),
    CR_INT(conv_conf, height, 0, 0, 1048576, CR_F_OURS,
           "lines of a picture; 0: one per vector of the row"),
    CR_INT(conv_conf, filters, 0, 1, 65536, CR_F_REQUIRED | CR_F_OURS, "pictures of the output"),
    CR_INT(conv_conf, kernel_height, 3, 1, 1024, CR_F_OURS, "lines that are seen together"),
    CR_INT(conv_conf, kernel_width, 3, 1, 1024, CR_F_OURS, "columns that are seen together"),
    CR_ENUM(conv_conf, padding, paddings, PAD_VALID, CR_F_OURS, "what happens at the edges"),
    CR_BOOL(conv_conf, use_bn, false, CR_F_OURS,
            "batch norm of each picture of the output, in front of the activation"),
    CR_STR(conv_conf, activation, "nn.ReLU", CR_F_OURS, "behind the convolution"),
    CR_INT(conv_conf, pool_height, 1, 1, 1048576, CR_F_OURS,
           "of so many lines the largest number stays"),
    CR_INT(conv_conf, pool_width, 1, 1, 1048576, CR_F_OURS, "and of so many columns"),
    CR_END,
};
const cr_msg cr_block_conv_msg = {
    .name = "ConvBlock",
    .help = "A convolution over the row as a picture, and the largest numbers of its parts",
    .fields = conv_fields,
    .size = sizeof(conv_conf),
};

/* The picture that the input is. */
static bool picture(cr_block_call *c, const conv_conf *v, cr_picture *p) {
    int64_t w = c->x.node->width;
    p->c = v->channels;
    p->h = v->height ? v->height : c->x.D ? w / c->x.D : 1;
    p->w = w / (p->c * p->h);
    if (p->w * p->c * p->h != w || p->w == 0) {
        cr_block_wrong(c, cr_conf_at(v, v->height ? "height" : "channels"),
                       "a row that is %lld wide is no %lld pictures of %lld lines; give height "
                       "and channels of the input",
                       (long long)w, (long long)p->c, (long long)p->h);
        return false;
    }
    bool same = v->padding == PAD_SAME;
    int64_t h = same ? p->h : p->h - v->kernel_height + 1;
    int64_t x = same ? p->w : p->w - v->kernel_width + 1;
    if (h >= v->pool_height && x >= v->pool_width && h > 0 && x > 0) return true;
    cr_block_wrong(c, c->at,
                   "a picture of %lld lines and %lld columns leaves nothing of the kernel and the "
                   "pool; make them smaller",
                   (long long)p->h, (long long)p->w);
    return false;
}

static void conv(cr_block_call *c, const void *conf) {
    const conv_conf *v = conf;
    cr_picture in, out;
    cr_act_spec act;
    cr_err err;
    if (!picture(c, v, &in)) return;
    int64_t n = in.c * v->kernel_height * v->kernel_width;
    cr_init init = CR_INIT_U(1.0 / sqrt((double)n));
    size_t mark = cr_graph_push(c->g, "%s", c->path);
    cr_node *W = cr_weight(c->g, "weight", v->filters, n, init);
    cr_node *b = cr_vector(c->g, "bias", v->filters, init);
    cr_graph_pop(c->g, mark);
    if (v->filters > CR_BLOCK_MAX_ROW / (in.h * in.w)) {
        cr_block_wrong(c, cr_conf_at(v, "filters"), "its row would be too wide; use fewer filters");
        return;
    }
    cr_node *y = cr_conv(c->g, c->x.node, W, b, &in, v->kernel_height, v->kernel_width,
                         v->padding == PAD_SAME, &out);
    if (cr_act_parse(&act, v->activation, &err) != CR_OK || cr_act_fits(&act, y, &err) != CR_OK) {
        cr_block_wrong(c, cr_conf_at(v, "activation"), "activation: %s", err.msg);
        return;
    }
    if (v->use_bn) {
        mark = cr_graph_push(c->g, "%s", c->path);
        y = cr_bn_planes(c->g, "bn", y, out.c, true, false);
        cr_graph_pop(c->g, mark);
    }
    y = cr_act_apply(c->g, c->path, &act, y);
    if (v->pool_height * v->pool_width > 1)
        y = cr_max_pool(c->g, y, &out, v->pool_height, v->pool_width, &out);
    cr_block_give_fields(c, y, out.w);
}
const cr_block_type cr_block_conv = {
    .name = "conv",
    .min_in = 1,
    .shares = true,
    .build = conv,
};
