/*
 * blocks_field_transformer.c - block layers over the vectors of a row, each of which has its place:
 * field_transformer, encoder layers of a transformer in which all vectors see each other, and
 * place_vectors, by which a layer can tell the places. DPIN (Huang et al., 2021) lets the positions
 * of a page act on each other so.
 */
#include <math.h>

#include "layer/layer.h"
#include "model/blocks_int.h"
#include "model/blocks_list.h"
#include "op/op.h"
#include "op/param.h"

typedef enum norm_over { OVER_VECTOR, OVER_ROW } norm_over;
static const cr_enum_value norms[] = {
    {"VECTOR", OVER_VECTOR, "each vector, as in the paper", NULL},
    {"ROW", OVER_ROW, "all vectors of the row at once; both parts of a layer have the same norm",
     NULL},
    {NULL, 0, NULL, NULL},
};
typedef struct over_conf {
    cr_conf_base base;
    int64_t num_heads, num_layers, ff_units;
    double dropout_ratio;
    int norm;
} over_conf;
static const cr_field over_fields[] = {
    CR_INT(over_conf, num_heads, 1, 1, 4096, CR_F_OURS, "heads; they divide the width of a vector"),
    CR_INT(over_conf, num_layers, 1, 1, 64, CR_F_OURS, "number of layers"),
    CR_INT(over_conf, ff_units, 0, 0, 65536, CR_F_OURS,
           "width of the inner layer; 0: four times that of a vector"),
    CR_FLOAT(over_conf, dropout_ratio, 0, 0, 0.999, CR_F_OURS,
             "share of numbers that become 0 while training"),
    CR_ENUM(over_conf, norm, norms, OVER_VECTOR, CR_F_OURS,
            "what a layer norm makes even, behind each part of a layer"),
    CR_END,
};
const cr_msg cr_block_field_transformer_msg = {
    .name = "FieldTransformerBlock",
    .help = "Encoder layers of a transformer over the vectors of the row",
    .fields = over_fields,
    .size = sizeof(over_conf),
};

/* What all layers need. */
typedef struct over {
    cr_graph *g;
    const over_conf *k;
    int64_t F, D;
} over;

/* A linear layer over each vector: y (F, out) of x (F, in). */
static cr_node *each(const over *o, const char *name, cr_node *x, int64_t out, double range) {
    const int64_t of_field = x->width / o->F;
    double bias = range > 0 ? 0 : 1.0 / sqrt((double)of_field);
    size_t mark = cr_graph_push(o->g, "%s", name);
    cr_node *W =
        cr_weight(o->g, "weight", out, x->width / o->F, CR_INIT_U(range > 0 ? range : bias));
    cr_node *b = cr_vector(o->g, "bias", out, bias > 0 ? CR_INIT_U(bias) : CR_INIT_C(0));
    cr_graph_pop(o->g, mark);
    return cr_matmul_each(o->g, x, W, b, false, o->F);
}

typedef struct a_norm {
    cr_node *gamma, *beta;
} a_norm;
static a_norm make_norm(const over *o, const char *name) {
    int64_t w = o->k->norm == OVER_ROW ? o->F * o->D : o->D;
    size_t mark = cr_graph_push(o->g, "%s", name);
    a_norm n = {cr_vector(o->g, "weight", w, CR_INIT_C(1)),
                cr_vector(o->g, "bias", w, CR_INIT_C(0))};
    cr_graph_pop(o->g, mark);
    return n;
}

static cr_node *drop(const over *o, cr_node *x) {
    return o->k->dropout_ratio > 0 ? cr_dropout(o->g, x, (float)o->k->dropout_ratio) : x;
}

/* The norm of x and what a part of the layer makes of it. */
static cr_node *behind(const over *o, a_norm n, cr_node *x, cr_node *y) {
    cr_node *sum = cr_add(o->g, (cr_node *[]){x, drop(o, y)}, (float[]){1, 1}, 2);
    return cr_layer_norm(o->g, sum, n.gamma, n.beta, 1e-5f);
}

static cr_node *layer(const over *o, cr_node *x) {
    static const char *const names[] = {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"};
    int64_t D = o->D, H = o->k->num_heads, d = D / H, ff = o->k->ff_units ? o->k->ff_units : 4 * D;
    double xavier = sqrt(3.0 / (double)D);
    cr_node *p[3];
    for (int i = 0; i < 3; i++)
        p[i] = each(o, names[i], x, D, xavier);
    cr_node *y = cr_attention(o->g, p[0], p[1], p[2], o->F, H, d, (float)(1.0 / sqrt((double)d)));
    a_norm n = make_norm(o, "norm1");
    x = behind(o, n, x, each(o, "self_attn.out_proj", y, D, xavier));
    y = cr_activation(o->g, CR_ACT_RELU, NULL, each(o, "linear1", x, ff, 0));
    y = each(o, "linear2", drop(o, y), D, 0);
    if (o->k->norm == OVER_VECTOR) n = make_norm(o, "norm2");
    return behind(o, n, x, y);
}

static void field_transformer(cr_block_call *c, const void *conf) {
    const over_conf *k = conf;
    over o = {c->g, k, c->x.node->width / c->x.D, c->x.D};
    if (o.D % k->num_heads != 0) {
        cr_block_wrong(c, cr_conf_at(k, "num_heads"),
                       "a vector is %lld wide, which is not a multiple of num_heads %lld; make it "
                       "one",
                       (long long)o.D, (long long)k->num_heads);
        return;
    }
    if ((k->ff_units ? k->ff_units : 4 * o.D) > CR_BLOCK_MAX_ROW / o.F) {
        cr_block_wrong(c, cr_conf_at(k, "ff_units"), "its row would be too wide; use fewer units");
        return;
    }
    size_t mark = cr_graph_push(c->g, "%s", c->path);
    cr_node *x = c->x.node;
    for (int i = 0; i < (int)k->num_layers; i++) {
        size_t inner = cr_graph_push(c->g, "layers.%d", i);
        x = layer(&o, x);
        cr_graph_pop(c->g, inner);
    }
    cr_graph_pop(c->g, mark);
    cr_block_give_fields(c, x, o.D);
}
const cr_block_type cr_block_field_transformer = {
    .name = "field_transformer",
    .takes = CR_TAKES_FIELDS,
    .min_in = 1,
    .build = field_transformer,
};

/* ---- place_vectors ---- */

typedef struct place_conf {
    cr_conf_base base;
    int64_t dim;
} place_conf;
static const cr_field place_fields[] = {
    CR_INT(place_conf, dim, 0, 0, 65536, CR_F_OURS,
           "width of the learned vectors, which stand behind those of the row; 0: they are as wide "
           "as these, and are added"),
    CR_END,
};
const cr_msg cr_block_place_vectors_msg = {
    .name = "PlaceVectorsBlock",
    .help = "The vectors of the row, each with a learned vector of its place",
    .fields = place_fields,
    .size = sizeof(place_conf),
};
static void place_vectors(cr_block_call *c, const void *conf) {
    int64_t dim = ((const place_conf *)conf)->dim, D = c->x.D, F = c->x.node->width / D;
    int64_t own = dim ? dim : D, w = dim ? D + dim : D;
    if (w > CR_BLOCK_MAX_ROW / F) {
        cr_block_wrong(c, cr_conf_at(conf, "dim"), "its row would be too wide; use a smaller dim");
        return;
    }
    size_t mark = cr_graph_push(c->g, "%s", c->path);
    cr_node *p =
        cr_vector(c->g, "position_embeddings", F * own, CR_INIT_U(sqrt(6.0 / (double)(F + own))));
    cr_graph_pop(c->g, mark);
    cr_node *x = c->x.node;
    if (dim) { /* zeros behind each vector, to which its own is added */
        cr_node **v = CR_NEW_N(&c->b->m->arena, cr_node *, F);
        cr_range *part = CR_NEW_N(&c->b->m->arena, cr_range, 2 * F);
        for (int64_t f = 0; f < F; f++) {
            v[f] = cr_pad(c->g, cr_slice(c->g, x, f * D, D), w);
            part[2 * f] = (cr_range){-1, D};
            part[2 * f + 1] = (cr_range){f * dim, dim};
        }
        x = cr_concat(c->g, v, (int)F);
        p = cr_fold_columns(c->g, p, part, 2 * (int)F);
    }
    cr_block_give_fields(c, cr_bias(c->g, x, p), w);
}
const cr_block_type cr_block_place_vectors = {
    .name = "place_vectors",
    .takes = CR_TAKES_FIELDS,
    .min_in = 1,
    .build = place_vectors,
};
