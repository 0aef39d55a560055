/*
 * blocks_shape.c - block layers without parameters: concat, add, multiply, slice, choose, sum,
 * mean, fields, softmax, stop_gradient.
 */
#include "model/blocks_int.h"
#include "model/blocks_list.h"
#include "op/op.h"

CR_BLOCK_PLAIN(concat, "ConcatBlock", "The inputs side by side");
static void concat(cr_block_call *c, const void *conf) {
    (void)conf;
    cr_block_give_fields(c, c->x.node, c->x.D);
    c->out[0].query = c->x.query;
}
const cr_block_type cr_block_concat = {
    .name = "concat",
    .takes = CR_TAKES_POSITIONS,
    .min_in = 1,
    .build = concat,
};

/* Inputs that are combined number by number must be as wide as the widest, or 1 wide; with `each`
 * they may also be a number for each vector of the widest. */
static bool same_widths(cr_block_call *c, const cr_block_val **widest, bool each) {
    *widest = &c->in[0];
    for (int i = 1; i < c->n_in; i++)
        if (c->in[i].node->width > (*widest)->node->width) *widest = &c->in[i];
    int64_t w = (*widest)->node->width;
    for (int i = 0; i < c->n_in; i++) {
        int64_t has = c->in[i].node->width;
        if (has == w || has == 1) continue;
        if (each && (*widest)->D && has * (*widest)->D == w) continue;
        cr_block_wrong(c, c->at,
                       "input %d is %lld wide and another %lld; %s takes inputs of one width, or "
                       "of width 1%s; put a linear block between",
                       i + 1, (long long)has, (long long)w, c->type,
                       each ? ", or with a number for each vector" : "");
        return false;
    }
    return true;
}

typedef struct add_conf {
    cr_conf_base base;
    cr_floats weights;
} add_conf;
static const cr_field add_fields[] = {
    CR_FLOAT(add_conf, weights, 0, -CR_INF, CR_INF, CR_F_REPEATED | CR_F_OURS,
             "a factor for each input, [1, -1] for a difference; none: all are 1"),
    CR_END,
};
const cr_msg cr_block_add_msg = {
    .name = "AddBlock",
    .help = "The sum of the inputs, number by number",
    .fields = add_fields,
    .size = sizeof(add_conf),
};
static void add(cr_block_call *c, const void *conf) {
    const cr_floats *w = &((const add_conf *)conf)->weights;
    const cr_block_val *widest;
    if (!same_widths(c, &widest, false)) return;
    if (w->n && w->n != c->n_in) {
        cr_block_wrong(c, cr_conf_at(conf, "weights"),
                       "weights has %lld numbers for %d inputs; give each its factor",
                       (long long)w->n, c->n_in);
        return;
    }
    cr_node **v = CR_NEW_N(&c->b->m->arena, cr_node *, c->n_in);
    float *factors = CR_NEW_N(&c->b->m->arena, float, c->n_in);
    for (int i = 0; i < c->n_in; i++) {
        v[i] = c->in[i].node;
        factors[i] = w->n ? (float)w->v[i] : 1;
    }
    bool same = c->n_in == 1 && factors[0] == 1;
    cr_block_give_like(c, same ? v[0] : cr_add(c->g, v, factors, c->n_in), widest);
}
const cr_block_type cr_block_add = {
    .name = "add",
    .takes = CR_TAKES_POSITIONS | CR_TAKES_EACH,
    .min_in = 1,
    .build = add,
};

CR_BLOCK_PLAIN(multiply, "MultiplyBlock", "The product of the inputs, number by number");
static void multiply(cr_block_call *c, const void *conf) {
    (void)conf;
    const cr_block_val *widest;
    if (!same_widths(c, &widest, true)) return;
    cr_node *y = widest->node;
    for (int i = 0; i < c->n_in; i++)
        if (&c->in[i] != widest) y = cr_mul(c->g, y, c->in[i].node);
    cr_block_give_like(c, y, widest);
}
const cr_block_type cr_block_multiply = {
    .name = "multiply",
    .takes = CR_TAKES_POSITIONS | CR_TAKES_EACH,
    .min_in = 2,
    .build = multiply,
};

typedef struct slice_conf {
    cr_conf_base base;
    int64_t begin, width;
} slice_conf;
static const cr_field slice_fields[] = {
    CR_INT(slice_conf, begin, 0, 0, 1e12, CR_F_OURS, "first number, from 0 on"),
    CR_INT(slice_conf, width, 0, 1, 1e12, CR_F_REQUIRED | CR_F_OURS, "how many"),
    CR_END,
};
const cr_msg cr_block_slice_msg = {
    .name = "SliceBlock",
    .help = "Some of the row's numbers",
    .fields = slice_fields,
    .size = sizeof(slice_conf),
};
static void slice(cr_block_call *c, const void *conf) {
    const slice_conf *s = conf;
    int64_t w = c->x.node->width;
    if (s->begin + s->width > w) {
        cr_block_wrong(c, cr_conf_at(s, "width"),
                       "numbers %lld to %lld are taken of a row that is %lld wide; take fewer",
                       (long long)s->begin, (long long)(s->begin + s->width - 1), (long long)w);
        return;
    }
    bool whole = c->x.D && s->begin % c->x.D == 0 && s->width % c->x.D == 0;
    cr_block_give_fields(c, cr_slice(c->g, c->x.node, s->begin, s->width),
                         whole ? c->x.D : s->width);
    c->out[0].query = c->x.query;
}
const cr_block_type cr_block_slice = {
    .name = "slice",
    .takes = CR_TAKES_POSITIONS,
    .min_in = 1,
    .build = slice,
};

typedef struct choose_conf {
    cr_conf_base base;
    cr_ints columns;
} choose_conf;
static const cr_field choose_fields[] = {
    CR_INT(choose_conf, columns, 0, 0, 1e12, CR_F_REPEATED | CR_F_REQUIRED | CR_F_OURS,
           "numbers of the row that are taken, from 0 on, in this order"),
    CR_END,
};
const cr_msg cr_block_choose_msg = {
    .name = "ChooseBlock",
    .help = "Chosen numbers of the row",
    .fields = choose_fields,
    .size = sizeof(choose_conf),
};
/* Numbers that follow each other are one slice. */
static void choose(cr_block_call *c, const void *conf) {
    const cr_ints *v = &((const choose_conf *)conf)->columns;
    cr_node **parts = CR_NEW_N(&c->b->m->arena, cr_node *, v->n + 1);
    int n = 0;
    for (int64_t i = 0, end; i < v->n; i = end) {
        for (end = i + 1; end < v->n && v->v[end] == v->v[end - 1] + 1;)
            end++;
        if (v->v[end - 1] >= c->x.node->width) {
            cr_block_wrong(c, cr_conf_at(conf, "columns"),
                           "number %lld is taken of a row that is %lld wide, from 0 on; correct it",
                           (long long)v->v[end - 1], (long long)c->x.node->width);
            return;
        }
        parts[n++] = cr_slice(c->g, c->x.node, v->v[i], end - i);
    }
    cr_block_give(c, cr_concat(c->g, parts, n));
}
const cr_block_type cr_block_choose = {
    .name = "choose",
    .min_in = 1,
    .build = choose,
};

typedef struct fold_conf {
    cr_conf_base base;
    bool fields, each;
} fold_conf;
static const cr_field fold_fields[] = {
    CR_BOOL(fold_conf, fields, false, CR_F_OURS,
            "combine the vectors of the row into one vector; false: combine all numbers into one"),
    CR_BOOL(fold_conf, each, false, CR_F_OURS, "combine the numbers of each vector into one"),
    CR_END,
};
const cr_msg cr_block_sum_msg = {
    .name = "SumBlock",
    .help = "All numbers of the row added up",
    .fields = fold_fields,
    .size = sizeof(fold_conf),
};
const cr_msg cr_block_mean_msg = {
    .name = "MeanBlock",
    .help = "The mean of all numbers of the row",
    .fields = fold_fields,
    .size = sizeof(fold_conf),
};
/* Returns the sum, and in *count how many were summed; NULL when there is a mistake. */
static cr_node *total(cr_block_call *c, const fold_conf *f, int64_t *count) {
    cr_node *x = c->x.node;
    *count = x->width;
    if (!f->fields && !f->each) return cr_row_sum(c->g, x);
    if (f->fields && f->each) {
        cr_block_wrong(c, cr_conf_at(f, "each"), "fields and each exclude each other; remove one");
        return NULL;
    }
    if (c->x.D == 0) {
        const char *key = f->fields ? "fields" : "each";
        cr_block_wrong(c, cr_conf_at(f, key),
                       "the vectors of its inputs have different widths; remove %s, or give "
                       "their features the same embedding_dim",
                       key);
        return NULL;
    }
    int64_t D = c->x.D, F = x->width / D;
    *count = f->each ? D : F;
    if (f->each) return cr_field_sum(c->g, cr_transpose(c->g, x, F, D), D, F);
    return cr_field_sum(c->g, x, F, D);
}
static void sum(cr_block_call *c, const void *conf) {
    int64_t n;
    cr_node *y = total(c, conf, &n);
    if (y) cr_block_give(c, y);
}
static void mean(cr_block_call *c, const void *conf) {
    int64_t n;
    cr_node *y = total(c, conf, &n);
    if (y) cr_block_give(c, cr_add(c->g, &y, (float[]){1.0f / (float)n}, 1));
}
const cr_block_type cr_block_sum = {
    .name = "sum",
    .min_in = 1,
    .build = sum,
};
const cr_block_type cr_block_mean = {
    .name = "mean",
    .min_in = 1,
    .build = mean,
};

typedef struct fields_conf {
    cr_conf_base base;
    int64_t dim;
} fields_conf;
static const cr_field fields_fields[] = {
    CR_INT(fields_conf, dim, 0, 1, 1048576, CR_F_REQUIRED | CR_F_OURS, "width of each vector"),
    CR_END,
};
const cr_msg cr_block_fields_msg = {
    .name = "FieldsBlock",
    .help = "The row as vectors of one width, for layers that need them",
    .fields = fields_fields,
    .size = sizeof(fields_conf),
};
static void fields(cr_block_call *c, const void *conf) {
    int64_t dim = ((const fields_conf *)conf)->dim, w = c->x.node->width;
    if (w % dim != 0) {
        cr_block_wrong(c, cr_conf_at(conf, "dim"),
                       "a row that is %lld wide has no whole number of vectors of width %lld; use "
                       "a width that divides it",
                       (long long)w, (long long)dim);
        return;
    }
    cr_block_give_fields(c, c->x.node, dim);
}
const cr_block_type cr_block_fields = {
    .name = "fields",
    .min_in = 1,
    .build = fields,
};

CR_BLOCK_PLAIN(softmax, "SoftmaxBlock", "Numbers of the row as shares of 1");
static void softmax(cr_block_call *c, const void *conf) {
    (void)conf;
    cr_block_give_like(c, cr_softmax(c->g, c->x.node, 1), &c->x);
}
const cr_block_type cr_block_softmax = {
    .name = "softmax",
    .min_in = 1,
    .build = softmax,
};

CR_BLOCK_PLAIN(stop_gradient, "StopGradientBlock",
               "The same numbers forward, no gradient backward");
static void stop_gradient(cr_block_call *c, const void *conf) {
    (void)conf;
    cr_block_give_like(c, cr_detach(c->g, c->x.node), &c->x);
}
const cr_block_type cr_block_stop_gradient = {
    .name = "stop_gradient",
    .min_in = 1,
    .build = stop_gradient,
};
