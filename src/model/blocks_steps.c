/*
 * blocks_steps.c - block layers over the steps of a sequence: gru, dien, transformer, seq_conv give
 * steps or a row; capsules and unroll give a row of vectors.
 */
#include <math.h>

#include "conf/conf.h"
#include "layer/layer.h"
#include "model/blocks_int.h"
#include "model/blocks_list.h"
#include "op/op.h"
#include "op/param.h"

/* ---- gru ---- */

typedef enum steps_out { OUT_LAST, OUT_STEPS } steps_out;
static const cr_enum_value steps_outs[] = {
    {"LAST", OUT_LAST, "the state behind the last step, as a row", NULL},
    {"STEPS", OUT_STEPS, "the states of all steps, as a sequence", NULL},
    {NULL, 0, NULL, NULL},
};
#define HELP_RESET                                                                                 \
    "the reset gate acts on the state before the product, as in the paper and in PaddlePaddle; "   \
    "false: behind it, as in torch"

typedef struct gru_conf {
    cr_conf_base base;
    int64_t hidden_size;
    int output; /* a steps_out */
    bool reset_before, reverse, start;
} gru_conf;
static const cr_field gru_fields[] = {
    CR_INT(gru_conf, hidden_size, 0, 1, 65536, CR_F_REQUIRED | CR_F_OURS, "width of the state"),
    CR_ENUM(gru_conf, output, steps_outs, OUT_LAST, CR_F_OURS, "what the block gives"),
    CR_BOOL(gru_conf, reset_before, false, CR_F_OURS, HELP_RESET),
    CR_BOOL(gru_conf, reverse, false, CR_F_OURS,
            "from the last step to the first; the state behind the last step is then that of the "
            "first one"),
    CR_BOOL(gru_conf, start, false, CR_F_OURS,
            "the query, a row of hidden_size numbers, is the state before the first step; false: "
            "zeros"),
    CR_END,
};
const cr_msg cr_block_gru_msg = {
    .name = "GRUBlock",
    .help = "A gated recurrent unit over the steps",
    .fields = gru_fields,
    .size = sizeof(gru_conf),
};
static void gru(cr_block_call *c, const void *conf) {
    const gru_conf *u = conf;
    int64_t q = u->start && c->x.query ? c->x.query->width : 0;
    if (u->start && q != u->hidden_size) {
        cr_block_wrong(
            c, cr_conf_at(u, "start"),
            "the state before the first step is %lld wide and its row %lld; add a row of "
            "hidden_size numbers to the inputs",
            (long long)u->hidden_size, (long long)q);
        return;
    }
    if (!u->start && c->n_in > 1) {
        cr_block_wrong(c, c->at,
                       "gru reads a row beside its sequence as the state before the first step; "
                       "write start: true, or leave the row out");
        return;
    }
    cr_node *h = cr_gru_layer_from(c->g, c->path, c->x.node, u->hidden_size,
                                   u->start ? c->x.query : NULL, u->reverse, u->reset_before);
    if (u->output == OUT_LAST)
        cr_block_give(c, u->reverse ? cr_seq_row(c->g, h, 1) : cr_seq_end(c->g, h, false));
    else
        cr_block_give_val(c, (cr_block_val){h, h->width, c->x.query});
}
const cr_block_type cr_block_gru = {
    .name = "gru",
    .takes = CR_TAKES_SEQUENCE,
    .min_in = 1,
    .max_in = 2,
    .shares = true,
    .build = gru,
};

/* ---- dien ---- */

static const cr_enum_value evolve_kinds[] = {
    {"AUGRU", CR_EVOLVE_AUGRU, "the attention scales the update gate", NULL},
    {"AGRU", CR_EVOLVE_AGRU, "the attention is the update gate", NULL},
    {"AIGRU", CR_EVOLVE_AIGRU, "the attention scales the input", NULL},
    {NULL, 0, NULL, NULL},
};
typedef struct dien_conf {
    cr_conf_base base;
    int64_t hidden_size;
    cr_mlp_conf *attn_mlp;
    int evolution; /* a cr_evolve_kind */
    bool reset_before;
    double aux_weight;
} dien_conf;
static const cr_field dien_fields[] = {
    CR_INT(dien_conf, hidden_size, 0, 0, 65536, CR_F_OURS,
           "width of the states; 0: as wide as a step"),
    CR_MSG(dien_conf, attn_mlp, &cr_mlp_msg, CR_F_REQUIRED | CR_F_OURS,
           "layers that score each state against the target"),
    CR_ENUM(dien_conf, evolution, evolve_kinds, CR_EVOLVE_AUGRU, CR_F_OURS,
            "how the attention acts in the second GRU"),
    CR_BOOL(dien_conf, reset_before, false, CR_F_OURS, HELP_RESET),
    CR_FLOAT(dien_conf, aux_weight, 1, 0, CR_INF, CR_F_OURS,
             "factor of the auxiliary loss, which a second sequence of other items switches on"),
    CR_END,
};
const cr_msg cr_block_dien_msg = {
    .name = "DIENBlock",
    .help = "Interest evolution: a GRU, and one with attention over it",
    .fields = dien_fields,
    .size = sizeof(dien_conf),
};

/* Adds the auxiliary loss: a state tells the next step from one of another item. */
static void add_aux(cr_block_call *c, const dien_conf *d, cr_node *states, cr_node *e,
                    cr_node *other) {
    cr_build *b = c->b;
    if (e->axis != other->axis || other->width != states->width || e->width != states->width) {
        cr_block_wrong(c, c->at,
                       "the states are %lld wide, a step is %lld wide and one of the other items "
                       "%lld; the auxiliary loss multiplies them, so make them equal and read both "
                       "from one feature group (slice)",
                       (long long)states->width, (long long)e->width, (long long)other->width);
        return;
    }
    if (!b->o->with_labels || d->aux_weight == 0) return;
    if (b->n_extra == CR_MAX_EXTRA) {
        cr_block_wrong(c, c->at, "the model has more than %d additional losses; use fewer",
                       CR_MAX_EXTRA);
        return;
    }
    cr_node *row = cr_seq_next(c->g, states, e, other);
    b->extra[b->n_extra++] =
        (cr_extra_loss){.name = cr_arena_printf(&b->m->arena, "%s_aux_loss", c->block),
                        .row = cr_add(c->g, &row, (float[]){(float)d->aux_weight}, 1),
                        .weight = -1};
}

/* Sorts the inputs: one or two sequences; the rows side by side are the query. */
static bool dien_inputs(cr_block_call *c, cr_node **other) {
    cr_block_val *rows = CR_NEW_N(&c->b->m->arena, cr_block_val, c->n_in);
    int n_rows = 0, n_seq = 0;
    for (int i = 0; i < c->n_in; i++) {
        bool seq = c->in[i].node->cls == CR_SEQ;
        if (!seq) rows[n_rows++] = c->in[i];
        if (seq && n_seq == 0) c->x = c->in[i];
        if (seq && n_seq == 1) *other = c->in[i].node;
        n_seq += seq;
    }
    if (n_seq != 1 && n_seq != 2) {
        cr_block_wrong(c, c->at,
                       "dien reads the history, and for its auxiliary loss a sequence of other "
                       "items; it has %d sequences among its inputs",
                       n_seq);
        return false;
    }
    if (n_rows) c->x.query = cr_block_beside(c, rows, n_rows).node;
    return true;
}

static void dien(cr_block_call *c, const void *conf) {
    const dien_conf *d = conf;
    cr_node *other = NULL, *states;
    if (!dien_inputs(c, &other)) return;
    int64_t H = d->hidden_size ? d->hidden_size : c->x.node->width;
    if (!cr_block_query_fits(c, H, false)) return;
    cr_evolution_conf e = {H, d->attn_mlp, d->evolution, d->reset_before};
    cr_node *y = cr_evolution(c->g, c->path, &e, c->x.query, c->x.node, &states, c->b->diag);
    if (other) add_aux(c, d, states, c->x.node, other);
    cr_block_give(c, y);
}
const cr_block_type cr_block_dien = {
    .name = "dien",
    .takes = CR_TAKES_POSITIONS | CR_TAKES_EACH | CR_TAKES_MIXED,
    .min_in = 1,
    .build = dien,
};

/* ---- transformer ---- */

typedef enum all_out { OUT_SUM, OUT_MEAN, OUT_TARGET, OUT_ALL } all_out;
static const cr_enum_value all_outs[] = {
    {"SUM", OUT_SUM, "the sum of all steps, the target among them", NULL},
    {"MEAN", OUT_MEAN, "the mean of the steps", NULL},
    {"TARGET", OUT_TARGET, "the target", NULL},
    {"STEPS", OUT_ALL, "the steps, as a sequence, whose query is the target", NULL},
    {NULL, 0, NULL, NULL},
};
static const cr_enum_value norm_kinds[] = {
    {"POST", CR_NORM_POST, "behind each part, as in the paper", NULL},
    {"PRE", CR_NORM_PRE, "before each part", NULL},
    {"NONE", CR_NORM_NONE, "nowhere", NULL},
    {NULL, 0, NULL, NULL},
};
typedef struct transformer_conf {
    cr_conf_base base;
    int64_t num_heads, num_layers, ff_units;
    double dropout;
    int norm, output;
    const char *activation;
} transformer_conf;
static const cr_field transformer_fields[] = {
    CR_INT(transformer_conf, num_heads, 4, 1, 65536, CR_F_OURS,
           "heads; they divide the width of a step"),
    CR_INT(transformer_conf, num_layers, 1, 1, 64, CR_F_OURS, "number of layers"),
    CR_INT(transformer_conf, ff_units, 0, 0, 1048576, CR_F_OURS,
           "width of the inner layer; 0: four times that of a step"),
    CR_FLOAT(transformer_conf, dropout, 0, 0, 0.999, CR_F_OURS,
             "share of attention and units dropped while training"),
    CR_ENUM(transformer_conf, norm, norm_kinds, CR_NORM_POST, CR_F_OURS, "where layer norm acts"),
    CR_STR(transformer_conf, activation, "nn.ReLU", CR_F_OURS, "of the inner layer"),
    CR_ENUM(transformer_conf, output, all_outs, OUT_SUM, CR_F_OURS, "what the block gives"),
    CR_END,
};
const cr_msg cr_block_transformer_msg = {
    .name = "TransformerBlock",
    .help = "Encoder layers of a transformer over the steps and a target",
    .fields = transformer_fields,
    .size = sizeof(transformer_conf),
};

/* The activation of the inner layer; false: a mistake was reported. */
static bool plain_activation(cr_block_call *c, const transformer_conf *t, cr_act_spec *act) {
    cr_err err;
    if (cr_act_parse(act, t->activation, &err) != CR_OK) {
        cr_block_wrong(c, cr_conf_at(t, "activation"), "activation: %s", err.msg);
        return false;
    }
    if (act->kind == CR_ACTK_PLAIN || act->kind == CR_ACTK_NONE) return true;
    cr_block_wrong(c, cr_conf_at(t, "activation"),
                   "activation '%s' has parameters or looks at the whole row; use for example "
                   "nn.ReLU, nn.GELU or nn.LeakyReLU",
                   t->activation);
    return false;
}

static void transformer(cr_block_call *c, const void *conf) {
    const transformer_conf *t = conf;
    cr_node *s = c->x.node, *q = c->x.query;
    cr_act_spec act;
    if (s->width % t->num_heads != 0) {
        cr_block_wrong(c, cr_conf_at(t, "num_heads"),
                       "a step is %lld wide, which is not a multiple of num_heads %lld; make it "
                       "one",
                       (long long)s->width, (long long)t->num_heads);
        return;
    }
    if ((q || t->output == OUT_TARGET) && !cr_block_query_fits(c, s->width, true)) return;
    if (!plain_activation(c, t, &act)) return;
    cr_transformer_conf tc = {t->num_heads, t->num_layers, t->ff_units, t->dropout,
                              t->norm,      false,         NULL};
    cr_transformer(c->g, c->path, &tc, &s, &q, &act);
    if (t->output == OUT_ALL) {
        cr_block_give_val(c, (cr_block_val){s, s->width, q});
        return;
    }
    cr_node *y = t->output == OUT_TARGET ? q : cr_seq_pool(c->g, s, t->output == OUT_MEAN);
    if (t->output == OUT_SUM && q) y = cr_add(c->g, (cr_node *[]){y, q}, (float[]){1, 1}, 2);
    cr_block_give(c, y);
}
const cr_block_type cr_block_transformer = {
    .name = "transformer",
    .takes = CR_TAKES_SEQUENCE,
    .min_in = 1,
    .shares = true,
    .build = transformer,
};

/* ---- seq_conv ---- */

typedef struct conv_conf {
    cr_conf_base base;
    int64_t filters, width;
} conv_conf;
static const cr_field conv_fields[] = {
    CR_INT(conv_conf, filters, 0, 1, 65536, CR_F_REQUIRED | CR_F_OURS, "width of the output"),
    CR_INT(conv_conf, width, 3, 1, 1024, CR_F_OURS,
           "steps that are seen together; those before the first and behind the last are zeros"),
    CR_END,
};
const cr_msg cr_block_seq_conv_msg = {
    .name = "SeqConvBlock",
    .help = "A linear layer over each step and its neighbours",
    .fields = conv_fields,
    .size = sizeof(conv_conf),
};
static void seq_conv(cr_block_call *c, const void *conf) {
    const conv_conf *v = conf;
    if (v->width > CR_BLOCK_MAX_ROW / c->x.node->width) {
        cr_block_wrong(c, cr_conf_at(v, "width"), "its row would be too wide; use fewer steps");
        return;
    }
    cr_node *x = cr_seq_near(c->g, c->x.node, -((v->width - 1) / 2), v->width);
    x = cr_linear(c->g, c->path, x, v->filters, true, false);
    cr_block_give_val(c, (cr_block_val){x, x->width, c->x.query});
}
const cr_block_type cr_block_seq_conv = {
    .name = "seq_conv",
    .takes = CR_TAKES_SEQUENCE,
    .min_in = 1,
    .max_in = 1,
    .shares = true,
    .build = seq_conv,
};

/* ---- capsules ---- */

typedef struct capsules_conf {
    cr_conf_base base;
    int64_t num_interests, dim, rounds, max_seq_length;
    bool over_steps;
} capsules_conf;
static const cr_field capsules_fields[] = {
    CR_INT(capsules_conf, num_interests, 4, 1, 1024, CR_F_OURS, "vectors per row"),
    CR_INT(capsules_conf, dim, 0, 0, 65536, CR_F_OURS, "their width; 0: that of a step"),
    CR_INT(capsules_conf, rounds, 3, 1, 100, CR_F_OURS, "rounds of routing"),
    CR_INT(capsules_conf, max_seq_length, 50, 1, 100000, CR_F_OURS,
           "steps that are read; each has its own first routing logits"),
    CR_BOOL(capsules_conf, over_steps, false, CR_F_OURS,
            "all rounds but the last share the steps out over one interest, as PaddleRec does; "
            "false: each step over the interests, as in the paper"),
    CR_END,
};
const cr_msg cr_block_capsules_msg = {
    .name = "CapsulesBlock",
    .help = "Several interests of a row, by dynamic routing of its steps",
    .fields = capsules_fields,
    .size = sizeof(capsules_conf),
};
static void capsules(cr_block_call *c, const void *conf) {
    const capsules_conf *k = conf;
    int64_t D = k->dim ? k->dim : c->x.node->width;
    cr_init normal = CR_INIT_N(1);
    size_t mark = cr_graph_push(c->g, "%s", c->path);
    cr_node *S = cr_weight(c->g, "bilinear.weight", D, c->x.node->width, normal);
    cr_node *b = cr_graph_param(c->g, "routing_logits", k->num_interests, k->max_seq_length, false,
                                &normal, sizeof(normal));
    cr_graph_pop(c->g, mark);
    cr_node *low = cr_matmul(c->g, c->x.node, S, NULL, false);
    cr_block_give_fields(c, cr_capsules(c->g, low, b, k->rounds, k->over_steps), D);
}
const cr_block_type cr_block_capsules = {
    .name = "capsules",
    .takes = CR_TAKES_SEQUENCE,
    .min_in = 1,
    .max_in = 1,
    .build = capsules,
};

/* ---- unroll ---- */

typedef struct unroll_conf {
    cr_conf_base base;
    int64_t steps;
} unroll_conf;
static const cr_field unroll_fields[] = {
    CR_INT(unroll_conf, steps, 0, 1, 100000, CR_F_REQUIRED | CR_F_OURS,
           "how many; a shorter sequence has zeros behind it"),
    CR_END,
};
const cr_msg cr_block_unroll_msg = {
    .name = "UnrollBlock",
    .help = "The first steps side by side, as one row of vectors",
    .fields = unroll_fields,
    .size = sizeof(unroll_conf),
};
static void unroll(cr_block_call *c, const void *conf) {
    int64_t n = ((const unroll_conf *)conf)->steps;
    if (n > CR_BLOCK_MAX_ROW / c->x.node->width) {
        cr_block_wrong(c, cr_conf_at(conf, "steps"), "its row would be too wide; use fewer steps");
        return;
    }
    cr_block_give_fields(c, cr_seq_row(c->g, c->x.node, n), c->x.node->width);
}
const cr_block_type cr_block_unroll = {
    .name = "unroll",
    .takes = CR_TAKES_SEQUENCE,
    .min_in = 1,
    .max_in = 1,
    .build = unroll,
};
