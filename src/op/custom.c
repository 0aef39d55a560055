/*
 * custom.c - ops that a user wrote: callbacks of a shared library (crank/model.h), called on the
 * rows of a tile.
 *
 * Gradients are cleared here at their first use, so that a callback only ever adds. An op cannot
 * stop a run, so the return code of a callback that failed is kept; custom_check reads it after
 * the last call.
 */
#include "op/custom.h"

#include <stdatomic.h>
#include <string.h>

#include "base/guard.h"
#include "graph/gradcheck.h"
#include "op/op.h"

typedef struct custom {
    cr_custom_spec spec;
    const char *what; /* the name of the op in messages */
} custom;

/* In the state of the node: the first failure among all threads of a caller. */
typedef struct failure {
    atomic_int code; /* 0: no failure */
    bool backward;   /* the backward callback failed */
} failure;

static void custom_infer(cr_node *n) {
    const custom *a = n->attr;
    if (a->spec.n_in + a->spec.n_weights > CRANK_MAX_OP_INPUTS) CR_BUG("custom: too many inputs");
    cr_infer_rows(n);
    n->width = a->spec.width;
    n->state = sizeof(failure);
}

static crank_op_rows rows_of(float *v, const cr_node *n) {
    return (crank_op_rows){v, n->width, cr_ld(n)};
}
static crank_op_rows matrix_of(float *v, const cr_node *p) {
    return (crank_op_rows){v, p->cols, p->cols};
}

typedef struct call {
    crank_op_call c;
    crank_op_rows value[CRANK_MAX_OP_INPUTS], grad[CRANK_MAX_OP_INPUTS];
} call;

static void set_values(call *k, const cr_node *n, const cr_tile *t) {
    const custom *a = n->attr;
    int n_in = a->spec.n_in;
    for (int i = 0; i < n->n_in; i++)
        k->value[i] =
            i < n_in ? rows_of(cr_val(t, n->in[i]), n->in[i]) : matrix_of(n->in[i]->w, n->in[i]);
    k->c = (crank_op_call){.data = a->spec.data,
                           .n_rows = cr_rows(t, n),
                           .n_in = n_in,
                           .n_weights = a->spec.n_weights,
                           .in = k->value,
                           .weight = k->value + n_in,
                           .out = rows_of(cr_val(t, n), n)};
}

static void note(const cr_node *n, const cr_tile *t, int code, bool backward) {
    failure *f = cr_state(t, n);
    int none = 0;
    if (atomic_compare_exchange_strong(&f->code, &none, code)) f->backward = backward;
}

static void custom_forward(const cr_node *n, cr_tile *t) {
    const custom *a = n->attr;
    call k;
    set_values(&k, n, t);
    if (k.c.n_rows == 0) return;
    cr_guard g = {.what = a->what,
                  .function = "forward",
                  .first_row = t->row0,
                  .n_rows = k.c.n_rows};
    cr_guard_enter(&g);
    int code = a->spec.op->forward(&k.c);
    cr_guard_leave(&g);
    if (code == 0) return;
    note(n, t, code, false);
    /* zeros, so that the rest of this run has defined values */
    for (int64_t r = 0; r < k.c.n_rows; r++)
        memset(k.c.out.v + r * k.c.out.stride, 0, (size_t)n->width * sizeof(float));
}

/* Returns the rows to which the gradient of input i is added. */
static crank_op_rows open_grad(const cr_node *n, cr_tile *t, int i) {
    const cr_node *x = n->in[i];
    bool weight = x->cls == CR_PARAM;
    crank_op_rows g = weight ? matrix_of(NULL, x) : rows_of(NULL, x);
    if (!cr_wants_grad(t, n, i)) return g;
    g.v = weight ? cr_param_grad(t, x) : cr_grad(t, x);
    if (!cr_first_grad(t, n, i)) return g;
    int64_t rows = weight ? x->rows : cr_rows(t, x);
    for (int64_t r = 0; r < rows; r++)
        memset(g.v + r * g.stride, 0, (size_t)g.width * sizeof(float));
    return g;
}

static void custom_backward(const cr_node *n, cr_tile *t) {
    const custom *a = n->attr;
    call k;
    set_values(&k, n, t);
    for (int i = 0; i < n->n_in; i++)
        k.grad[i] = open_grad(n, t, i);
    k.c.out_grad = rows_of(cr_grad(t, n), n);
    k.c.in_grad = k.grad;
    k.c.weight_grad = k.grad + a->spec.n_in;
    if (k.c.n_rows == 0 || !a->spec.op->backward) return;
    cr_guard g = {.what = a->what,
                  .function = "backward",
                  .first_row = t->row0,
                  .n_rows = k.c.n_rows};
    cr_guard_enter(&g);
    int code = a->spec.op->backward(&k.c);
    cr_guard_leave(&g);
    if (code != 0) note(n, t, code, true);
}

/* ---- an example: y_j = w_j x_j z_j ---- */

static int example_forward(const crank_op_call *c) {
    for (int64_t r = 0; r < c->n_rows; r++)
        for (int64_t j = 0; j < c->out.width; j++)
            c->out.v[r * c->out.stride + j] = c->weight[0].v[j] *
                                              c->in[0].v[r * c->in[0].stride + j] *
                                              c->in[1].v[r * c->in[1].stride + j];
    return 0;
}
static int example_backward(const crank_op_call *c) {
    for (int64_t r = 0; r < c->n_rows; r++)
        for (int64_t j = 0; j < c->out.width; j++) {
            float d = c->out_grad.v[r * c->out_grad.stride + j];
            float x = c->in[0].v[r * c->in[0].stride + j], z = c->in[1].v[r * c->in[1].stride + j];
            float w = c->weight[0].v[j];
            if (c->in_grad[0].v) c->in_grad[0].v[r * c->in_grad[0].stride + j] += d * w * z;
            if (c->in_grad[1].v) c->in_grad[1].v[r * c->in_grad[1].stride + j] += d * w * x;
            if (c->weight_grad[0].v) c->weight_grad[0].v[j] += d * x * z;
        }
    return 0;
}
static const crank_op example_op = {"example", example_forward, example_backward};

static cr_node *custom_example(cr_graph *g, int k) {
    if (k > 1) return NULL;
    cr_node *x = cr_feed(g, 7), *z = k ? x : cr_feed(g, 7);
    cr_node *w = cr_graph_param(g, "w", 1, 7, true, NULL, 0);
    cr_custom_spec s = {.op = &example_op, .n_in = 2, .n_weights = 1, .width = 7};
    return cr_custom(g, &s, (cr_node *[]){x, z, w}, "an example");
}

static cr_code custom_check(const cr_node *n, void *state, cr_err *err) {
    const custom *a = n->attr;
    failure *f = state;
    int code = atomic_exchange(&f->code, 0); /* cleared for the next batch */
    if (code == 0) return CR_OK;
    return cr_fail(err, CR_ERUN, "%s: %s failed with %d; look at the library's code", a->what,
                   f->backward ? "backward" : "forward", code);
}

const cr_op_type cr_op_custom = {.name = "custom",
                                 .infer = custom_infer,
                                 .forward = custom_forward,
                                 .backward = custom_backward,
                                 .check = custom_check,
                                 .example = custom_example,
                                 .rowwise = true,
                                 .keep_val = true,
                                 .reads_in = true};

cr_node *cr_custom(cr_graph *g, const cr_custom_spec *s, cr_node *const *in, const char *what) {
    custom a = {*s, what};
    if (s->size) {
        void *copy = cr_arena_alloc(&g->arena, s->size);
        memcpy(copy, s->data, s->size);
        a.spec.data = copy;
    }
    return cr_graph_op(g, &cr_op_custom, in, s->n_in + s->n_weights, &a, sizeof(a));
}

const cr_custom_spec *cr_custom_of(const cr_node *n, const char **what) {
    if (n->op != &cr_op_custom) return NULL;
    const custom *a = n->attr;
    *what = a->what;
    return &a->spec;
}
