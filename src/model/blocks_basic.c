/*
 * blocks_basic.c - block layers over one row: mlp, linear, scale, activation, norms, dropout,
 * residual, penalty.
 *
 * All of them but scale and penalty also work on the positions of a sequence.
 */
#include <math.h>

#include "layer/layer.h"
#include "model/blocks_int.h"
#include "model/blocks_list.h"
#include "op/op.h"
#include "op/param.h"

static void mlp(cr_block_call *c, const void *conf) {
    cr_block_give(c, cr_mlp(c->g, c->path, conf, c->x.node, c->b->diag));
    c->out[0].query = c->x.query;
}
const cr_block_type cr_block_mlp = {
    .name = "mlp",
    .takes = CR_TAKES_POSITIONS,
    .min_in = 1,
    .shares = true,
    .build = mlp,
};

typedef struct linear_conf {
    cr_conf_base base;
    int64_t units;
    bool bias;
} linear_conf;
static const cr_field linear_fields[] = {
    CR_INT(linear_conf, units, 0, 1, 1048576, CR_F_REQUIRED | CR_F_OURS, "width of the output"),
    CR_BOOL(linear_conf, bias, true, CR_F_OURS, "add a learned vector"),
    CR_END,
};
const cr_msg cr_block_linear_msg = {
    .name = "LinearBlock",
    .help = "A matrix and no activation",
    .fields = linear_fields,
    .size = sizeof(linear_conf),
};
static void linear(cr_block_call *c, const void *conf) {
    const linear_conf *l = conf;
    cr_block_give(c, cr_linear(c->g, c->path, c->x.node, l->units, l->bias, false));
    c->out[0].query = c->x.query;
}
const cr_block_type cr_block_linear = {
    .name = "linear",
    .takes = CR_TAKES_POSITIONS,
    .min_in = 1,
    .shares = true,
    .build = linear,
};

typedef struct scale_conf {
    cr_conf_base base;
    bool weight, bias, random;
    double value, spread;
} scale_conf;
static const cr_field scale_fields[] = {
    CR_BOOL(scale_conf, weight, true, CR_F_OURS, "multiply by a learned vector"),
    CR_BOOL(scale_conf, bias, false, CR_F_OURS, "add a learned vector"),
    CR_BOOL(scale_conf, random, false, CR_F_OURS,
            "the factors begin with random numbers; false: with value"),
    CR_FLOAT(scale_conf, value, 1, -CR_INF, CR_INF, CR_F_OURS, "what the factors begin with"),
    CR_FLOAT(scale_conf, spread, 0, 0, CR_INF, CR_F_OURS,
             "they begin up to so far above or below value"),
    CR_END,
};
const cr_msg cr_block_scale_msg = {
    .name = "ScaleBlock",
    .help = "Each number times a factor of its own, plus a number of its own",
    .fields = scale_fields,
    .size = sizeof(scale_conf),
};
static void scale(cr_block_call *c, const void *conf) {
    const scale_conf *s = conf;
    int64_t w = c->x.node->width;
    cr_node *y = c->x.node;
    if (!s->weight && !s->bias) {
        cr_block_wrong(c, c->at, "it has neither weight nor bias; set one of them");
        return;
    }
    size_t mark = cr_graph_push(c->g, "%s", c->path);
    cr_init init = s->random ? CR_INIT_U(1.0 / sqrt((double)w)) : CR_INIT_C(s->value);
    if (!s->random && s->spread > 0)
        init = (cr_init){CR_INIT_UNIFORM, s->value - s->spread, s->value + s->spread, 0, 0};
    if (s->weight) y = cr_mul(c->g, y, cr_vector(c->g, "weight", w, init));
    if (s->bias) y = cr_bias(c->g, y, cr_vector(c->g, "bias", w, CR_INIT_C(0)));
    cr_graph_pop(c->g, mark);
    cr_block_give_like(c, y, &c->x);
}
const cr_block_type cr_block_scale = {
    .name = "scale",
    .min_in = 1,
    .shares = true,
    .build = scale,
};

typedef struct penalty_conf {
    cr_conf_base base;
    double factor;
} penalty_conf;
static const cr_field penalty_fields[] = {
    CR_FLOAT(penalty_conf, factor, 1, 0, CR_INF, CR_F_OURS, "factor of the squares"),
    CR_END,
};
const cr_msg cr_block_penalty_msg = {
    .name = "PenaltyBlock",
    .help = "Its input; the squares of the numbers of a row, added up, are a loss",
    .fields = penalty_fields,
    .size = sizeof(penalty_conf),
};
static void penalty(cr_block_call *c, const void *conf) {
    cr_build *b = c->b;
    double factor = ((const penalty_conf *)conf)->factor;
    cr_range all = {0, c->x.node->width};
    cr_block_give_like(c, c->x.node, &c->x);
    if (!b->o->with_labels || factor == 0) return;
    if (b->n_extra == CR_MAX_EXTRA) {
        cr_block_wrong(c, c->at, "the model has more than %d additional losses; use fewer",
                       CR_MAX_EXTRA);
        return;
    }
    b->extra[b->n_extra++] =
        (cr_extra_loss){.name = cr_arena_printf(&b->m->arena, "%s_penalty", c->block),
                        .row = cr_squares(c->g, c->x.node, &all, 1, (float)factor),
                        .weight = -1};
}
const cr_block_type cr_block_penalty = {
    .name = "penalty",
    .min_in = 1,
    .build = penalty,
};

typedef struct activation_conf {
    cr_conf_base base;
    const char *function;
} activation_conf;
static const cr_field activation_fields[] = {
    CR_STR(activation_conf, function, "nn.ReLU", CR_F_OURS,
           "as in mlp: nn.Sigmoid, Dice, …; see 'crank help activations'"),
    CR_END,
};
const cr_msg cr_block_activation_msg = {
    .name = "ActivationBlock",
    .help = "A function of each number",
    .fields = activation_fields,
    .size = sizeof(activation_conf),
};
static void activation(cr_block_call *c, const void *conf) {
    const activation_conf *a = conf;
    cr_act_spec s;
    cr_err err;
    cr_loc at = cr_conf_at(a, "function");
    if (cr_act_parse(&s, a->function, &err) != CR_OK || cr_act_fits(&s, c->x.node, &err) != CR_OK) {
        cr_block_wrong(c, at, "%s", err.msg);
        return;
    }
    cr_block_give_like(c, cr_act_apply(c->g, c->path, &s, c->x.node), &c->x);
}
const cr_block_type cr_block_activation = {
    .name = "activation",
    .takes = CR_TAKES_POSITIONS,
    .min_in = 1,
    .build = activation,
};

typedef struct dropout_conf {
    cr_conf_base base;
    double dropout_ratio;
} dropout_conf;
static const cr_field dropout_fields[] = {
    CR_FLOAT(dropout_conf, dropout_ratio, 0.1, 0, 0.999, CR_F_OURS,
             "share of numbers that become 0 while training"),
    CR_END,
};
const cr_msg cr_block_dropout_msg = {
    .name = "DropoutBlock",
    .help = "Some numbers become 0 while training",
    .fields = dropout_fields,
    .size = sizeof(dropout_conf),
};
static void dropout(cr_block_call *c, const void *conf) {
    double p = ((const dropout_conf *)conf)->dropout_ratio;
    cr_block_give_like(c, p > 0 ? cr_dropout(c->g, c->x.node, (float)p) : c->x.node, &c->x);
}
const cr_block_type cr_block_dropout = {
    .name = "dropout",
    .takes = CR_TAKES_POSITIONS,
    .min_in = 1,
    .build = dropout,
};

typedef struct layer_norm_conf {
    cr_conf_base base;
    bool fields;
} layer_norm_conf;
static const cr_field layer_norm_fields[] = {
    CR_BOOL(layer_norm_conf, fields, false, CR_F_OURS,
            "each vector of the row by itself, with the same weights"),
    CR_END,
};
const cr_msg cr_block_layer_norm_msg = {
    .name = "LayerNormBlock",
    .help = "Mean 0 and variance 1 over the row",
    .fields = layer_norm_fields,
    .size = sizeof(layer_norm_conf),
};
static void layer_norm(cr_block_call *c, const void *conf) {
    bool fields = ((const layer_norm_conf *)conf)->fields;
    if (fields && c->x.D == 0) {
        cr_block_wrong(c, cr_conf_at(conf, "fields"),
                       "the vectors of its inputs have different widths; remove fields");
        return;
    }
    int64_t w = fields ? c->x.D : c->x.node->width;
    cr_block_give_like(c, cr_ln(c->g, c->path, c->x.node, w), &c->x);
}
const cr_block_type cr_block_layer_norm = {
    .name = "layer_norm",
    .takes = CR_TAKES_POSITIONS,
    .min_in = 1,
    .build = layer_norm,
};

typedef struct batch_norm_conf {
    cr_conf_base base;
    bool affine;
} batch_norm_conf;
static const cr_field batch_norm_fields[] = {
    CR_BOOL(batch_norm_conf, affine, true, CR_F_OURS, "with a learned scale and shift"),
    CR_END,
};
const cr_msg cr_block_batch_norm_msg = {
    .name = "BatchNormBlock",
    .help = "Mean 0 and variance 1 over the batch",
    .fields = batch_norm_fields,
    .size = sizeof(batch_norm_conf),
};
static void batch_norm(cr_block_call *c, const void *conf) {
    bool affine = ((const batch_norm_conf *)conf)->affine;
    cr_block_give_like(c, cr_bn(c->g, c->path, c->x.node, affine, false), &c->x);
}
const cr_block_type cr_block_batch_norm = {
    .name = "batch_norm",
    .takes = CR_TAKES_POSITIONS,
    .min_in = 1,
    .build = batch_norm,
};

typedef struct residual_conf {
    cr_conf_base base;
    cr_mlp_conf *mlp;
} residual_conf;
static const cr_field residual_fields[] = {
    CR_MSG(residual_conf, mlp, &cr_mlp_msg, CR_F_REQUIRED | CR_F_OURS,
           "layers that end as wide as the input"),
    CR_END,
};
const cr_msg cr_block_residual_msg = {
    .name = "ResidualBlock",
    .help = "The input plus layers over it",
    .fields = residual_fields,
    .size = sizeof(residual_conf),
};
static void residual(cr_block_call *c, const void *conf) {
    const residual_conf *r = conf;
    int64_t w = c->x.node->width, ends = cr_mlp_width(r->mlp, w);
    if (ends != w) {
        cr_block_wrong(c, cr_conf_at(r->mlp, "hidden_units"),
                       "the last of hidden_units is %lld, but the input, which is added, is %lld "
                       "wide; make them equal",
                       (long long)ends, (long long)w);
        return;
    }
    cr_node *y = cr_mlp(c->g, c->path, r->mlp, c->x.node, c->b->diag);
    y = cr_add(c->g, (cr_node *[]){c->x.node, y}, (float[]){1, 1}, 2);
    cr_block_give_like(c, y, &c->x);
}
const cr_block_type cr_block_residual = {
    .name = "residual",
    .takes = CR_TAKES_POSITIONS,
    .min_in = 1,
    .build = residual,
};
