/*
 * blocks_pairs.c - block layers over the products of all pairs of fields: pair_attention (Xiao et
 * al., 2017: AFM), bilinear (Huang et al., 2019: FiBiNET), aware_pairs (Zhang et al., 2019:
 * FAT-DeepFFM), product (Qu et al., 2016: PNN), and mix_fields and field_linear, which make new
 * vectors of the fields.
 */
#include <math.h>
#include <stdio.h>

#include "conf/conf.h"
#include "layer/layer.h"
#include "model/blocks_int.h"
#include "model/blocks_list.h"
#include "op/op.h"
#include "op/param.h"

/* Number of pairs of the fields; 0: a mistake was reported. */
static int64_t pairs_of(cr_block_call *c, int64_t *F) {
    int64_t D = c->x.D;
    *F = c->x.node->width / D;
    int64_t P = *F * (*F - 1) / 2;
    if (P > 0 && P <= CR_BLOCK_MAX_ROW / D) return P;
    cr_block_wrong(c, c->at, "%s makes pairs of %lld vector%s; give it %s", c->type, (long long)*F,
                   *F == 1 ? "" : "s", P == 0 ? "two or more" : "fewer");
    return 0;
}

/* ---- pair_attention ---- */

typedef struct afm_conf {
    cr_conf_base base;
    int64_t attention_units;
} afm_conf;
static const cr_field afm_fields[] = {
    CR_INT(afm_conf, attention_units, 16, 1, 65536, CR_F_OURS,
           "units of the layer that scores a pair"),
    CR_END,
};
const cr_msg cr_block_pair_attention_msg = {
    .name = "PairAttentionBlock",
    .help = "Products of all pairs of vectors, weighted by attention: AFM",
    .fields = afm_fields,
    .size = sizeof(afm_conf),
};
/* a_ij = softmax(h . ReLU(W (v_i * v_j) + b)); the sum of a_ij v_i * v_j */
static void pair_attention(cr_block_call *c, const void *conf) {
    int64_t F, P = pairs_of(c, &F), D = c->x.D, A = ((const afm_conf *)conf)->attention_units;
    if (P == 0) return;
    size_t mark = cr_graph_push(c->g, "%s", c->path);
    cr_init init = CR_INIT_U(1.0 / sqrt((double)D));
    cr_node *W = cr_weight(c->g, "attention.weight", A, D, init);
    cr_node *b = cr_vector(c->g, "attention.bias", A, init);
    cr_node *h = cr_weight(c->g, "projection.weight", 1, A, CR_INIT_U(1.0 / sqrt((double)A)));
    cr_graph_pop(c->g, mark);
    cr_node *p = cr_pair_mul(c->g, c->x.node, c->x.node, F, D, false);
    cr_node *s = cr_matmul_each(c->g, p, W, b, true, P);
    s = cr_softmax(c->g, cr_matmul_each(c->g, s, h, NULL, false, P), 1);
    cr_block_give(c, cr_bmm(c->g, s, p, 1, P, D));
}
const cr_block_type cr_block_pair_attention = {
    .name = "pair_attention",
    .takes = CR_TAKES_FIELDS,
    .min_in = 1,
    .build = pair_attention,
};

/* ---- bilinear ---- */

typedef enum matrices { ONE, PER_FIELD, PER_PAIR } matrices;
static const cr_enum_value matrix_kinds[] = {
    {"ALL", ONE, "one matrix", NULL},
    {"EACH", PER_FIELD, "one matrix per first vector", NULL},
    {"INTERACTION", PER_PAIR, "one matrix per pair", NULL},
    {NULL, 0, NULL, NULL},
};
typedef struct bilinear_conf {
    cr_conf_base base;
    int kind; /* matrices */
    bool symmetric;
} bilinear_conf;
static const cr_field bilinear_fields[] = {
    CR_ENUM(bilinear_conf, kind, matrix_kinds, ONE, CR_F_OURS, "how many matrices there are"),
    CR_BOOL(bilinear_conf, symmetric, false, CR_F_OURS,
            "add v_i times W v_j, so that the matrix is W plus its transpose: DeepFEFM"),
    CR_END,
};
const cr_msg cr_block_bilinear_msg = {
    .name = "BilinearBlock",
    .help = "W v_i times v_j, number by number, for all pairs of vectors: FiBiNET",
    .fields = bilinear_fields,
    .size = sizeof(bilinear_conf),
};

static cr_node *matrix(cr_block_call *c, const char *name, int64_t D) {
    return cr_weight(c->g, name, D, D, CR_INIT_U(sqrt(6.0 / (double)(2 * D))));
}

/* v_i times a matrix each: per field, or per pair. */
static cr_node *per_part(cr_block_call *c, int64_t F, int64_t P, bool pair, bool symmetric) {
    int64_t D = c->x.D, n = 0;
    cr_node *x = c->x.node, **v = CR_NEW_N(&c->b->m->arena, cr_node *, pair ? P : F);
    for (int64_t i = 0; i < F; i++)
        for (int64_t j = pair ? i + 1 : 0; j < (pair ? F : 1); j++) {
            char name[64];
            snprintf(name, sizeof name, "weight.%d", (int)n);
            cr_node *W = matrix(c, name, D), *vi = cr_slice(c->g, x, i * D, D);
            cr_node *y = cr_matmul(c->g, vi, W, NULL, false);
            if (pair) {
                cr_node *vj = cr_slice(c->g, x, j * D, D), *both[2];
                both[0] = y = cr_mul(c->g, y, vj);
                both[1] = symmetric ? cr_mul(c->g, cr_matmul(c->g, vj, W, NULL, false), vi) : NULL;
                if (symmetric) y = cr_add(c->g, both, (float[]){1, 1}, 2);
            }
            v[n++] = y;
        }
    return cr_concat(c->g, v, (int)n);
}

static void bilinear(cr_block_call *c, const void *conf) {
    int kind = ((const bilinear_conf *)conf)->kind;
    bool symmetric = ((const bilinear_conf *)conf)->symmetric;
    int64_t F, P = pairs_of(c, &F), D = c->x.D;
    if (P == 0) return;
    if (symmetric && kind == PER_FIELD) {
        cr_block_wrong(c, cr_conf_at(conf, "symmetric"),
                       "the two vectors of a pair have other matrices with EACH; use ALL or "
                       "INTERACTION");
        return;
    }
    if (kind == PER_PAIR && P > 4096) {
        cr_block_wrong(c, cr_conf_at(conf, "kind"),
                       "%lld pairs have a matrix each; use EACH, or fewer than 92 vectors",
                       (long long)P);
        return;
    }
    size_t mark = cr_graph_push(c->g, "%s", c->path);
    cr_node *y;
    if (kind == PER_PAIR) {
        y = per_part(c, F, P, true, symmetric);
    } else {
        cr_node *u = kind == ONE
                         ? cr_matmul_each(c->g, c->x.node, matrix(c, "weight", D), NULL, false, F)
                         : per_part(c, F, P, false, false);
        y = cr_pair_mul(c->g, u, c->x.node, F, D, false);
        if (symmetric) {
            cr_node *both[2] = {y, cr_pair_mul(c->g, c->x.node, u, F, D, false)};
            y = cr_add(c->g, both, (float[]){1, 1}, 2);
        }
    }
    cr_graph_pop(c->g, mark);
    cr_block_give_fields(c, y, D);
}
const cr_block_type cr_block_bilinear = {
    .name = "bilinear",
    .takes = CR_TAKES_FIELDS,
    .min_in = 1,
    .build = bilinear,
};

/* ---- aware_pairs ---- */

CR_BLOCK_PLAIN(aware_pairs, "AwarePairsBlock",
               "What two of F fields show each other, multiplied number by number: of F times F "
               "vectors, v_ij times v_ji for i < j");
static void aware_pairs(cr_block_call *c, const void *conf) {
    (void)conf;
    int64_t D = c->x.D, n = c->x.node->width / D, F = (int64_t)(sqrt((double)n) + 0.5);
    if (F * F != n || F < 2) {
        cr_block_wrong(c, c->at,
                       "its row has %lld vectors; give it F times F, the vectors of F fields for F "
                       "fields, with F from 2 on",
                       (long long)n);
        return;
    }
    cr_block_give_fields(c, cr_ffm_mul(c->g, c->x.node, F, D), D);
}
const cr_block_type cr_block_aware_pairs = {
    .name = "aware_pairs",
    .takes = CR_TAKES_FIELDS,
    .min_in = 1,
    .build = aware_pairs,
};

/* ---- product ---- */

typedef enum product_kind { INNER, OUTER, NORM } product_kind;
static const cr_enum_value product_kinds[] = {
    {"INNER", INNER, "|sum of w_nf v_f|^2 for each unit n", NULL},
    {"OUTER", OUTER, "s W_n s for each unit n, where s is the sum of the vectors", NULL},
    {"NORM", NORM, "the root of the sum of (w_nf sum(v_f))^2: PNN as PaddleRec ships it", NULL},
    {NULL, 0, NULL, NULL},
};
typedef struct product_conf {
    cr_conf_base base;
    int64_t units;
    int kind; /* a product_kind */
} product_conf;
static const cr_field product_fields[] = {
    CR_INT(product_conf, units, 0, 1, 65536, CR_F_REQUIRED | CR_F_OURS, "width of the output"),
    CR_ENUM(product_conf, kind, product_kinds, INNER, CR_F_OURS, "which products"),
    CR_END,
};
const cr_msg cr_block_product_msg = {
    .name = "ProductBlock",
    .help = "The product layer of PNN: weighted sums of the products of vectors",
    .fields = product_fields,
    .size = sizeof(product_conf),
};
static void product(cr_block_call *c, const void *conf) {
    const product_conf *p = conf;
    int64_t D = c->x.D, F = c->x.node->width / D, N = p->units;
    if (N > CR_BLOCK_MAX_ROW / D) {
        cr_block_wrong(c, cr_conf_at(p, "units"), "its row would be too wide; use fewer units");
        return;
    }
    size_t mark = cr_graph_push(c->g, "%s", c->path);
    if (p->kind == NORM) {
        cr_node *W = cr_weight(c->g, "weight", N, F, CR_INIT_U(1.0 / sqrt((double)F)));
        cr_node *s = cr_field_sum(c->g, cr_transpose(c->g, c->x.node, F, D), D, F);
        cr_block_give(c, cr_norms(c->g, s, W));
    } else if (p->kind == INNER) {
        /* over (D, F), so that the vectors are mixed by an ordinary product */
        cr_node *W = cr_weight(c->g, "weight", N, F, CR_INIT_U(1.0 / sqrt((double)F)));
        cr_node *x = cr_transpose(c->g, c->x.node, F, D);
        x = cr_matmul_each(c->g, x, W, NULL, false, D);
        cr_block_give(c, cr_field_sum(c->g, cr_mul(c->g, x, x), D, N));
    } else {
        cr_node *W = cr_weight(c->g, "weight", N * D, D, CR_INIT_U(1.0 / (double)D));
        cr_node *s = cr_field_sum(c->g, c->x.node, F, D);
        cr_block_give(c, cr_bmm(c->g, cr_matmul(c->g, s, W, NULL, false), s, N, D, 1));
    }
    cr_graph_pop(c->g, mark);
}
const cr_block_type cr_block_product = {
    .name = "product",
    .takes = CR_TAKES_FIELDS,
    .min_in = 1,
    .build = product,
};

/* ---- mix_fields ---- */

typedef struct mix_conf {
    cr_conf_base base;
    int64_t units;
} mix_conf;
static const cr_field mix_fields_[] = {
    CR_INT(mix_conf, units, 0, 1, 65536, CR_F_REQUIRED | CR_F_OURS, "vectors of the output"),
    CR_END,
};
const cr_msg cr_block_mix_fields_msg = {
    .name = "MixFieldsBlock",
    .help = "Weighted sums of the vectors",
    .fields = mix_fields_,
    .size = sizeof(mix_conf),
};
static void mix_fields(cr_block_call *c, const void *conf) {
    int64_t D = c->x.D, F = c->x.node->width / D, N = ((const mix_conf *)conf)->units;
    if (N > CR_BLOCK_MAX_ROW / D) {
        cr_block_wrong(c, cr_conf_at(conf, "units"), "its row would be too wide; use fewer units");
        return;
    }
    size_t mark = cr_graph_push(c->g, "%s", c->path);
    cr_node *W = cr_weight(c->g, "weight", N, F, CR_INIT_U(1.0 / sqrt((double)F)));
    cr_graph_pop(c->g, mark);
    cr_node *x = cr_matmul_each(c->g, cr_transpose(c->g, c->x.node, F, D), W, NULL, false, D);
    cr_block_give_fields(c, cr_transpose(c->g, x, D, N), D);
}
const cr_block_type cr_block_mix_fields = {
    .name = "mix_fields",
    .takes = CR_TAKES_FIELDS,
    .min_in = 1,
    .shares = true,
    .build = mix_fields,
};

/* ---- field_linear ---- */

typedef struct each_conf {
    cr_conf_base base;
    int64_t units;
    bool relu;
} each_conf;
static const cr_field each_fields[] = {
    CR_INT(each_conf, units, 0, 1, 65536, CR_F_REQUIRED | CR_F_OURS, "width of each new vector"),
    CR_BOOL(each_conf, relu, false, CR_F_OURS, "a ReLU follows"),
    CR_END,
};
const cr_msg cr_block_field_linear_msg = {
    .name = "FieldLinearBlock",
    .help = "The same linear layer over each vector",
    .fields = each_fields,
    .size = sizeof(each_conf),
};
static void field_linear(cr_block_call *c, const void *conf) {
    const each_conf *e = conf;
    int64_t D = c->x.D, F = c->x.node->width / D;
    if (e->units > CR_BLOCK_MAX_ROW / F) {
        cr_block_wrong(c, cr_conf_at(e, "units"), "its row would be too wide; use fewer units");
        return;
    }
    cr_init init = CR_INIT_U(1.0 / sqrt((double)D));
    size_t mark = cr_graph_push(c->g, "%s", c->path);
    cr_node *W = cr_weight(c->g, "weight", e->units, D, init);
    cr_node *b = cr_vector(c->g, "bias", e->units, init);
    cr_graph_pop(c->g, mark);
    cr_block_give_fields(c, cr_matmul_each(c->g, c->x.node, W, b, e->relu, F), e->units);
}
const cr_block_type cr_block_field_linear = {
    .name = "field_linear",
    .takes = CR_TAKES_FIELDS,
    .min_in = 1,
    .shares = true,
    .build = field_linear,
};
