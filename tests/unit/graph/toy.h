/*
 * toy.h - ops small enough to be computed by hand, and a plan with its work in one struct: what the
 * tests of src/graph share.
 *
 * A toy op does one thing that the engine has a rule for: read an input, add to a parameter's
 * gradient, sum over the batch, wait for such a sum, need all rows, be packed, remember something.
 */
#ifndef CR_TESTS_GRAPH_TOY_H
#define CR_TESTS_GRAPH_TOY_H

#include "graph/work.h"
#include "harness.h"

/* cr_run.input of these graphs: rows of source k, `width` floats each, without gaps */
typedef struct toy_input {
    const float *v[8];
} toy_input;

/* ---- calls, as they were made (one thread) ---- */
typedef struct toy_call {
    int node;
    bool back, first, train;
    int lane;
    int64_t row0, n_rows;
} toy_call;
#define TOY_CALLS 4096
static toy_call toy_calls[TOY_CALLS];
static int toy_n_calls;
static bool toy_logs; /* calls are noted */

static inline void toy_note(const cr_node *n, const cr_tile *t, bool back) {
    if (!toy_logs || toy_n_calls == TOY_CALLS) return;
    toy_calls[toy_n_calls++] =
        (toy_call){n->id, back, t->first, t->train, t->lane, t->row0, t->n_rows};
}
/* the calls as text: "f1 f2 b2 b1" */
static inline const char *toy_text(void) {
    static char text[TOY_CALLS * 8];
    size_t n = 0;
    text[0] = 0;
    for (int i = 0; i < toy_n_calls; i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%c%d", i ? " " : "",
                              toy_calls[i].back ? 'b' : 'f', toy_calls[i].node);
    return text;
}

/* ---- the ops ---- */

/* rows of the input; axis -1: samples */
typedef struct toy_source_attr {
    int k, axis;
    int64_t width;
    bool grad;
} toy_source_attr;
static inline void toy_source_infer(cr_node *n) {
    const toy_source_attr *a = n->attr;
    n->cls = a->axis < 0 ? CR_ROW : CR_SEQ;
    n->axis = a->axis < 0 ? 0 : a->axis;
    n->width = a->width;
    n->needs_grad = a->grad;
}
static inline void toy_source_forward(const cr_node *n, cr_tile *t) {
    const toy_source_attr *a = n->attr;
    const toy_input *in = cr_tile_input(t);
    toy_note(n, t, false);
    for (int64_t r = 0; r < cr_rows(t, n); r++)
        memcpy(cr_val(t, n) + r * cr_ld(n), in->v[a->k] + (cr_row0(t, n) + r) * a->width,
               (size_t)a->width * sizeof(float));
}
static inline void toy_source_backward(const cr_node *n, cr_tile *t) {
    toy_note(n, t, true);
}
static const cr_op_type toy_source_op = {.name = "source",
                                         .infer = toy_source_infer,
                                         .forward = toy_source_forward,
                                         .backward = toy_source_backward,
                                         .keep_grad = true};
static inline cr_node *toy_source(cr_graph *g, int k, int64_t width, bool grad) {
    toy_source_attr a = {k, -1, width, grad};
    return cr_graph_op(g, &toy_source_op, NULL, 0, &a, sizeof(a));
}
static inline cr_node *toy_source_seq(cr_graph *g, int k, int axis, int64_t width) {
    toy_source_attr a = {k, axis, width, true};
    return cr_graph_op(g, &toy_source_op, NULL, 0, &a, sizeof(a));
}

static inline void toy_rows_infer(cr_node *n) {
    cr_infer_rows(n);
    n->width = n->in[0]->width;
}
/* dx (+)= v, for input i */
static inline void toy_add_grad(const cr_node *n, cr_tile *t, int i, int64_t at, float v,
                                bool first) {
    float *d = cr_grad(t, n->in[i]) + at;
    *d = first ? v : *d + v;
}

/* y = a x */
static inline void toy_scale_forward(const cr_node *n, cr_tile *t) {
    float a = *(const float *)n->attr;
    toy_note(n, t, false);
    for (int64_t r = 0; r < cr_rows(t, n); r++)
        for (int64_t j = 0; j < n->width; j++)
            cr_val(t, n)[r * cr_ld(n) + j] = a * cr_val(t, n->in[0])[r * cr_ld(n) + j];
}
static inline void toy_scale_backward(const cr_node *n, cr_tile *t) {
    float a = *(const float *)n->attr;
    toy_note(n, t, true);
    if (!cr_wants_grad(t, n, 0)) return;
    bool first = cr_first_grad(t, n, 0);
    for (int64_t r = 0; r < cr_rows(t, n); r++)
        for (int64_t j = 0; j < n->width; j++)
            toy_add_grad(n, t, 0, r * cr_ld(n) + j, a * cr_grad(t, n)[r * cr_ld(n) + j], first);
}
static const cr_op_type toy_scale_op = {.name = "scale",
                                        .infer = toy_rows_infer,
                                        .forward = toy_scale_forward,
                                        .backward = toy_scale_backward,
                                        .rowwise = true};
static inline cr_node *toy_scale(cr_graph *g, cr_node *x, float a) {
    return cr_graph_op(g, &toy_scale_op, &x, 1, &a, sizeof(a));
}

/* y = x_0 + x_1 + ... */
static inline void toy_plus_forward(const cr_node *n, cr_tile *t) {
    toy_note(n, t, false);
    for (int64_t r = 0; r < cr_rows(t, n); r++)
        for (int64_t j = 0; j < n->width; j++) {
            float y = 0;
            for (int i = 0; i < n->n_in; i++)
                y += cr_val(t, n->in[i])[r * cr_ld(n) + j];
            cr_val(t, n)[r * cr_ld(n) + j] = y;
        }
}
static inline void toy_plus_backward(const cr_node *n, cr_tile *t) {
    toy_note(n, t, true);
    for (int i = 0; i < n->n_in; i++) {
        if (!cr_wants_grad(t, n, i)) continue;
        bool first = cr_first_grad(t, n, i);
        for (int64_t r = 0; r < cr_rows(t, n); r++)
            for (int64_t j = 0; j < n->width; j++)
                toy_add_grad(n, t, i, r * cr_ld(n) + j, cr_grad(t, n)[r * cr_ld(n) + j], first);
    }
}
static const cr_op_type toy_plus_op = {.name = "plus",
                                       .infer = toy_rows_infer,
                                       .forward = toy_plus_forward,
                                       .backward = toy_plus_backward,
                                       .rowwise = true};
static inline cr_node *toy_plus(cr_graph *g, cr_node *const *x, int n) {
    return cr_graph_op(g, &toy_plus_op, x, n, NULL, 0);
}

/* y_j = x_j w_j, w a parameter (1, width) */
static inline void toy_times_forward(const cr_node *n, cr_tile *t) {
    toy_note(n, t, false);
    for (int64_t r = 0; r < cr_rows(t, n); r++)
        for (int64_t j = 0; j < n->width; j++)
            cr_val(t, n)[r * cr_ld(n) + j] = cr_val(t, n->in[0])[r * cr_ld(n) + j] * n->in[1]->w[j];
}
static inline void toy_times_backward(const cr_node *n, cr_tile *t) {
    toy_note(n, t, true);
    float *dw = cr_param_sum(t, n, 1);
    bool wants = cr_wants_grad(t, n, 0), first = wants && cr_first_grad(t, n, 0);
    for (int64_t r = 0; r < cr_rows(t, n); r++)
        for (int64_t j = 0; j < n->width; j++) {
            float dy = cr_grad(t, n)[r * cr_ld(n) + j];
            if (dw) dw[j] += dy * cr_val(t, n->in[0])[r * cr_ld(n) + j];
            if (wants) toy_add_grad(n, t, 0, r * cr_ld(n) + j, dy * n->in[1]->w[j], first);
        }
}
static const cr_op_type toy_times_op = {.name = "times",
                                        .infer = toy_rows_infer,
                                        .forward = toy_times_forward,
                                        .backward = toy_times_backward,
                                        .rowwise = true,
                                        .reads_in = true};
static inline cr_node *toy_times(cr_graph *g, cr_node *x, cr_node *w) {
    return cr_graph_op(g, &toy_times_op, (cr_node *[]){x, w}, 2, NULL, 0);
}

/* y = 1 / (1 + x²): its backward reads y and x */
static inline void toy_bell_forward(const cr_node *n, cr_tile *t) {
    toy_note(n, t, false);
    for (int64_t r = 0; r < cr_rows(t, n); r++)
        for (int64_t j = 0; j < n->width; j++) {
            float x = cr_val(t, n->in[0])[r * cr_ld(n) + j];
            cr_val(t, n)[r * cr_ld(n) + j] = 1 / (1 + x * x);
        }
}
static inline void toy_bell_backward(const cr_node *n, cr_tile *t) {
    toy_note(n, t, true);
    if (!cr_wants_grad(t, n, 0)) return;
    bool first = cr_first_grad(t, n, 0);
    for (int64_t r = 0; r < cr_rows(t, n); r++)
        for (int64_t j = 0; j < n->width; j++) {
            int64_t at = r * cr_ld(n) + j;
            float x = cr_val(t, n->in[0])[at], y = cr_val(t, n)[at];
            toy_add_grad(n, t, 0, at, -2 * x * y * y * cr_grad(t, n)[at], first);
        }
}
static const cr_op_type toy_bell_op = {.name = "bell",
                                       .infer = toy_rows_infer,
                                       .forward = toy_bell_forward,
                                       .backward = toy_bell_backward,
                                       .rowwise = true,
                                       .keep_val = true,
                                       .reads_in = true};
static inline cr_node *toy_bell(cr_graph *g, cr_node *x) {
    return cr_graph_op(g, &toy_bell_op, &x, 1, NULL, 0);
}

/* a WHOLE value (1), the loss: the sum of all elements, each times (1 + its row's global number) */
static inline void toy_total_infer(cr_node *n) {
    n->cls = CR_WHOLE;
    n->width = 1;
    n->loss = true;
}
static inline float toy_row_factor(const cr_tile *t, const cr_node *x, int64_t r) {
    return x->cls == CR_SEQ ? 1 : 1 + (float)(cr_global_row(t) + r);
}
static inline void toy_total_forward(const cr_node *n, cr_tile *t) {
    const cr_node *x = n->in[0];
    toy_note(n, t, false);
    for (int64_t r = 0; r < cr_rows(t, x); r++)
        for (int64_t j = 0; j < x->width; j++)
            *cr_lane_sum(t, n) +=
                (double)toy_row_factor(t, x, r) * (double)cr_val(t, x)[r * cr_ld(x) + j];
}
static inline void toy_total_backward(const cr_node *n, cr_tile *t) {
    const cr_node *x = n->in[0];
    toy_note(n, t, true);
    if (!cr_wants_grad(t, n, 0)) return;
    bool first = cr_first_grad(t, n, 0);
    for (int64_t r = 0; r < cr_rows(t, x); r++)
        for (int64_t j = 0; j < x->width; j++)
            toy_add_grad(n, t, 0, r * cr_ld(x) + j, toy_row_factor(t, x, r), first);
}
static const cr_op_type toy_total_op = {.name = "total",
                                        .infer = toy_total_infer,
                                        .forward = toy_total_forward,
                                        .backward = toy_total_backward,
                                        .seq = true};
static inline cr_node *toy_total(cr_graph *g, cr_node *x) {
    return cr_graph_op(g, &toy_total_op, &x, 1, NULL, 0);
}

/* a WHOLE value (width): the mean over the rows */
static inline void toy_mean_infer(cr_node *n) {
    n->cls = CR_WHOLE;
    n->width = n->in[0]->width;
}
static inline void toy_mean_forward(const cr_node *n, cr_tile *t) {
    toy_note(n, t, false);
    for (int64_t r = 0; r < cr_rows(t, n->in[0]); r++)
        for (int64_t j = 0; j < n->width; j++)
            cr_lane_sum(t, n)[j] += (double)cr_val(t, n->in[0])[r * cr_ld(n->in[0]) + j];
}
static inline void toy_mean_finish(const cr_node *n, const double *sum, float *value,
                                   int64_t n_rows) {
    for (int64_t j = 0; j < n->width; j++)
        value[j] = (float)(sum[j] / (double)n_rows);
}
static inline void toy_mean_backward(const cr_node *n, cr_tile *t) {
    const cr_node *x = n->in[0];
    toy_note(n, t, true);
    if (!cr_wants_grad(t, n, 0)) return;
    bool first = cr_first_grad(t, n, 0);
    float per_row = 1 / (float)cr_global_rows(t, x);
    for (int64_t r = 0; r < cr_rows(t, x); r++)
        for (int64_t j = 0; j < n->width; j++)
            toy_add_grad(n, t, 0, r * cr_ld(x) + j, cr_whole_grad(t, n)[j] * per_row, first);
}
static const cr_op_type toy_mean_op = {.name = "mean",
                                       .infer = toy_mean_infer,
                                       .forward = toy_mean_forward,
                                       .backward = toy_mean_backward,
                                       .finish = toy_mean_finish,
                                       .seq = true};
static inline cr_node *toy_mean(cr_graph *g, cr_node *x) {
    return cr_graph_op(g, &toy_mean_op, &x, 1, NULL, 0);
}

/* y = x - m, m a WHOLE value */
static inline void toy_shift_forward(const cr_node *n, cr_tile *t) {
    toy_note(n, t, false);
    for (int64_t r = 0; r < cr_rows(t, n); r++)
        for (int64_t j = 0; j < n->width; j++)
            cr_val(t, n)[r * cr_ld(n) + j] =
                cr_val(t, n->in[0])[r * cr_ld(n) + j] - cr_whole(t, n->in[1])[j];
}
static inline void toy_shift_backward(const cr_node *n, cr_tile *t) {
    toy_note(n, t, true);
    bool wants = cr_wants_grad(t, n, 0), first = wants && cr_first_grad(t, n, 0);
    for (int64_t r = 0; r < cr_rows(t, n); r++)
        for (int64_t j = 0; j < n->width; j++) {
            float dy = cr_grad(t, n)[r * cr_ld(n) + j];
            if (wants) toy_add_grad(n, t, 0, r * cr_ld(n) + j, dy, first);
            if (cr_wants_grad(t, n, 1)) cr_lane_grad(t, n->in[1])[j] -= (double)dy;
        }
}
static const cr_op_type toy_shift_op = {.name = "shift",
                                        .infer = toy_rows_infer,
                                        .forward = toy_shift_forward,
                                        .backward = toy_shift_backward,
                                        .rowwise = true};
static inline cr_node *toy_shift(cr_graph *g, cr_node *x, cr_node *m) {
    return cr_graph_op(g, &toy_shift_op, (cr_node *[]){x, m}, 2, NULL, 0);
}

/* a batch op: y of row i is x of row i plus x of the last row */
static inline void toy_last_forward(const cr_node *n, cr_tile *t) {
    toy_note(n, t, false);
    const float *x = cr_val(t, n->in[0]);
    for (int64_t r = 0; r < t->n_rows; r++)
        for (int64_t j = 0; j < n->width; j++)
            cr_val(t, n)[r * cr_ld(n) + j] =
                x[r * cr_ld(n) + j] + x[(t->n_rows - 1) * cr_ld(n) + j];
}
static inline void toy_last_backward(const cr_node *n, cr_tile *t) {
    toy_note(n, t, true);
    if (!cr_wants_grad(t, n, 0)) return;
    bool first = cr_first_grad(t, n, 0);
    for (int64_t j = 0; j < n->width; j++) {
        float sum = 0;
        for (int64_t r = 0; r < t->n_rows; r++) {
            float dy = cr_grad(t, n)[r * cr_ld(n) + j];
            sum += dy;
            toy_add_grad(n, t, 0, r * cr_ld(n) + j, dy, first);
        }
        if (t->n_rows > 0) cr_grad(t, n->in[0])[(t->n_rows - 1) * cr_ld(n) + j] += sum;
    }
}
static const cr_op_type toy_last_op = {.name = "last",
                                       .infer = toy_rows_infer,
                                       .forward = toy_last_forward,
                                       .backward = toy_last_backward,
                                       .batch = true};
static inline cr_node *toy_last(cr_graph *g, cr_node *x) {
    return cr_graph_op(g, &toy_last_op, &x, 1, NULL, 0);
}

/* a folded parameter: a * b, element by element */
static inline void toy_fold_infer(cr_node *n) {
    n->cls = CR_PARAM;
    n->rows = n->in[0]->rows;
    n->cols = n->in[0]->cols;
    n->width = n->in[0]->width;
    n->scratch = n->width;
}
static inline void toy_fold(const cr_node *n, float *scratch) {
    for (int64_t j = 0; j < n->width; j++)
        scratch[j] = n->in[0]->w[j] * n->in[1]->w[j];
    memcpy(n->w, scratch, (size_t)n->width * sizeof(float));
}
static inline void toy_unfold(const cr_node *n, const float *grad, float *const *d,
                              float *scratch) {
    memcpy(scratch, grad, (size_t)n->width * sizeof(float));
    for (int i = 0; i < 2; i++)
        for (int64_t j = 0; d[i] && j < n->width; j++)
            d[i][j] += scratch[j] * n->in[1 - i]->w[j];
}
static const cr_op_type toy_fold_op = {.name = "fold",
                                       .infer = toy_fold_infer,
                                       .fold = toy_fold,
                                       .unfold = toy_unfold};
static inline cr_node *toy_folded(cr_graph *g, cr_node *a, cr_node *b) {
    return cr_graph_op(g, &toy_fold_op, (cr_node *[]){a, b}, 2, NULL, 0);
}

/* ---- a graph that is ready to run ---- */
typedef struct toy_rig {
    cr_plan *plan;
    cr_work *w;
    cr_pool *pool;
} toy_rig;
typedef struct toy_opts {
    cr_mode mode;
    int threads; /* 0: no pool */
    int lanes;   /* 0: 1 */
    int64_t tile_rows, max_rows;
    const cr_node *const *outputs;
    int n_outputs;
    const cr_meet *meet;
} toy_opts;

static inline toy_rig toy_open(cr_graph *g, toy_opts o) {
    toy_rig k = {0};
    if (!g->params) CHECK_INT(cr_graph_alloc(g, NULL), CR_OK);
    if (o.threads) CHECK_INT(cr_pool_new(&k.pool, o.threads, NULL), CR_OK);
    cr_plan_opts po = {.graph = g,
                       .mode = o.mode,
                       .max_rows = o.max_rows ? o.max_rows : 100,
                       .lanes = o.lanes ? o.lanes : 1,
                       .tile_rows = o.tile_rows,
                       .meet = o.meet,
                       .outputs = o.outputs,
                       .n_outputs = o.n_outputs};
    CHECK_INT(cr_plan_new(&k.plan, &po, NULL), CR_OK);
    CHECK_INT(cr_work_new(&k.w, k.plan, k.pool, NULL), CR_OK);
    return k;
}
static inline void toy_close(toy_rig *k) {
    cr_work_free(k->w);
    cr_plan_free(k->plan);
    cr_pool_free(k->pool);
}
/* packs and runs; the calls of the run are noted */
static inline cr_code toy_run(toy_rig *k, const toy_input *in, int64_t n_rows,
                              const int32_t *const *axes, cr_err *err) {
    cr_run run = {.input = in, .n_rows = n_rows, .all_rows = n_rows, .step = 7, .axes = axes};
    cr_plan_pack(k->plan, k->pool);
    toy_n_calls = 0;
    toy_logs = !k->pool; /* notes are those of one thread */
    cr_code code = cr_work_run(k->w, &run, err);
    toy_logs = false;
    return code;
}

/* numbers between 0.5 and 1.5 */
static inline void toy_fill(float *v, int64_t n, uint64_t seed) {
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        v[i] = 0.5f + (float)(seed >> 40) / 16777216.0f;
    }
}

#endif
