/*
 * gradcheck.c - see gradcheck.h. The scalar that is differentiated is sum(c * out) with fixed
 * random c ("probe"), summed in double, so the numeric slope is not drowned by rounding.
 */
#include "graph/gradcheck.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"

#define TRIALS 5

typedef struct feed_attr {
    int64_t width;
    float *data;
    int axis; /* -1: rows, not positions */
} feed_attr;

/* length_of gives the lengths of the sequences of every axis: zero, one, and more than a tile
 * holds. */
static int32_t length_of(int axis, int64_t row) {
    uint64_t u = cr_rng_u64(31 + (uint64_t)axis, (uint64_t)row);
    return row == 11 + axis ? CR_MAX_TILE + 3 : u % 5 == 0 ? 0 : (int32_t)(u % 7);
}

static int64_t size_of(const cr_node *n) {
    if (n->cls == CR_PARAM) return n->width;
    int64_t positions = 0;
    for (int64_t r = 0; n->cls == CR_SEQ && r < CR_FEED_ROWS; r++)
        positions += length_of(n->axis, r);
    return n->width * (n->cls == CR_SEQ ? positions : CR_FEED_ROWS);
}

static void feed_infer(cr_node *n) {
    const feed_attr *a = n->attr;
    n->cls = a->axis < 0 ? CR_ROW : CR_SEQ;
    n->axis = a->axis < 0 ? 0 : a->axis;
    n->width = a->width;
    n->needs_grad = true;
}

/* first_of returns the first row of the feed that belongs to row `row` of the batch: its number, or
 * that of its first position. */
static int64_t first_of(const cr_node *n, int64_t row) {
    int64_t at = 0;
    if (n->cls != CR_SEQ) return row;
    for (int64_t r = 0; r < row; r++)
        at += length_of(n->axis, r);
    return at;
}

static void feed_forward(const cr_node *n, cr_tile *t) {
    const feed_attr *a = n->attr;
    float *y = cr_val(t, n);
    int64_t row0 = first_of(n, cr_global_row(t));
    for (int64_t r = 0; r < cr_rows(t, n); r++)
        memcpy(y + r * cr_ld(n), a->data + (row0 + r) * a->width, (size_t)a->width * sizeof(float));
}

/* nothing to do: keep_grad keeps the gradient */
static void feed_backward(const cr_node *n, cr_tile *t) {
    (void)n;
    (void)t;
}

static const cr_op_type feed_op = {.name = "feed",
                                   .infer = feed_infer,
                                   .forward = feed_forward,
                                   .backward = feed_backward,
                                   .keep_grad = true};

void cr_feed_fill(float *w, int64_t n, uint64_t key) {
    for (int64_t i = 0; i < n; i++) {
        float u = cr_rng_f32(key, (uint64_t)i) * 2 - 1;
        w[i] = (u < 0 ? -0.1f : 0.1f) + 0.9f * u;
    }
}

static cr_node *feed(cr_graph *g, int64_t width, int axis) {
    cr_node like = {.cls = axis < 0 ? CR_ROW : CR_SEQ, .axis = axis, .width = width};
    int64_t size = size_of(&like);
    feed_attr a = {width, CR_NEW_N(&g->arena, float, size + 1), axis};
    cr_feed_fill(a.data, size, cr_rng_sub(g->seed, (uint64_t)g->n));
    return cr_graph_op(g, &feed_op, NULL, 0, &a, sizeof(a));
}

cr_node *cr_feed(cr_graph *g, int64_t width) {
    if (g->feed_seq && g->n_axes == 0) cr_graph_axis(g);
    return feed(g, width, g->feed_seq ? 0 : -1);
}

cr_node *cr_feed_seq(cr_graph *g, int axis, int64_t width) {
    return feed(g, width, axis);
}

float *cr_feed_data(cr_node *feed) {
    return ((feed_attr *)feed->attr)->data;
}

/* ---- probe: sum of c * y over rows and columns ---- */

static void probe_infer(cr_node *n) {
    n->cls = CR_WHOLE;
    n->width = 1;
    n->loss = true;
}

static float probe_c(int64_t row, int64_t col) {
    return cr_rng_f32(77 + (uint64_t)row, (uint64_t)col) * 2 - 1;
}

static void probe_forward(const cr_node *n, cr_tile *t) {
    const cr_node *x = n->in[0];
    const float *v = cr_val(t, x);
    double *sum = cr_lane_sum(t, n);
    int64_t row0 = first_of(x, cr_global_row(t));
    for (int64_t r = 0; r < cr_rows(t, x); r++)
        for (int64_t j = 0; j < x->width; j++)
            *sum += (double)probe_c(row0 + r, j) * (double)v[r * cr_ld(x) + j];
}

static void probe_backward(const cr_node *n, cr_tile *t) {
    const cr_node *x = n->in[0];
    float *g = cr_grad(t, x);
    bool first = cr_first_grad(t, n, 0);
    int64_t row0 = first_of(x, cr_global_row(t));
    for (int64_t r = 0; r < cr_rows(t, x); r++)
        for (int64_t j = 0; j < x->width; j++) {
            float c = probe_c(row0 + r, j);
            g[r * cr_ld(x) + j] = first ? c : g[r * cr_ld(x) + j] + c;
        }
}

static const cr_op_type probe_op = {.name = "probe",
                                    .infer = probe_infer,
                                    .forward = probe_forward,
                                    .backward = probe_backward,
                                    .seq = true};

/* A graph with a loss, ready to run. */
typedef struct rig {
    cr_graph *g;
    const cr_node *loss;
    cr_pool *pool;
    cr_plan *plan;
    cr_work *w;
} rig;

static cr_code setup(rig *k, cr_graph *g, cr_node *out, const cr_gradcheck_opts *o, cr_err *err) {
    *k = (rig){.g = g};
    if (!g->params) {
        if (out->cls == CR_ROW || out->cls == CR_SEQ)
            out = cr_graph_op(g, &probe_op, &out, 1, NULL, 0);
        else
            out->loss = true;
        CR_TRY(cr_graph_alloc(g, err));
        for (int i = 0; i < g->n; i++)
            if (g->nodes[i]->cls == CR_PARAM)
                cr_feed_fill(g->nodes[i]->w, g->nodes[i]->width,
                             cr_rng_sub(g->seed, 1000 + (uint64_t)i));
    }
    for (int i = 0; i < g->n; i++)
        if (g->nodes[i]->loss) k->loss = g->nodes[i];
    CR_TRY(cr_pool_new(&k->pool, o->threads, err));
    cr_plan_opts po = {.graph = g,
                       .mode = CR_TRAIN,
                       .max_rows = CR_FEED_ROWS,
                       .lanes = o->lanes,
                       .tile_rows = o->tile_rows,
                       .meet = o->meet};
    CR_TRY(cr_plan_new(&k->plan, &po, err));
    return cr_work_new(&k->w, k->plan, k->pool, err);
}

static void take_down(rig *k) {
    cr_work_free(k->w);
    cr_plan_free(k->plan);
    cr_pool_free(k->pool);
}

static cr_code value(const rig *k, double *out, cr_err *err) {
    cr_graph *g = k->g;
    int32_t **axes = CR_NEW_N(&g->arena, int32_t *, g->n_axes + 1);
    const cr_lanes *part = cr_plan_lanes(k->plan);
    int64_t row0 = cr_lanes_row0(part, CR_FEED_ROWS), rows = cr_lanes_rows(part, CR_FEED_ROWS);
    for (int a = 0; a < g->n_axes; a++) {
        axes[a] = CR_NEW_N(&g->arena, int32_t, CR_FEED_ROWS + 1);
        for (int64_t r = 0; r < rows; r++)
            axes[a][r + 1] = axes[a][r] + length_of(a, row0 + r);
    }
    cr_run run = {.n_rows = rows,
                  .all_rows = CR_FEED_ROWS,
                  .step = 3,
                  .axes = (const int32_t *const *)axes};
    cr_plan_pack(k->plan, k->pool);
    CR_TRY(cr_work_run(k->w, &run, err));
    *out = cr_work_whole(k->w, k->loss, 0);
    return CR_OK;
}

/* leaf_grad copies the gradient of a leaf: rows of `width` numbers, `stride` apart. */
static void leaf_grad(const cr_work *w, const cr_node *n, float *out) {
    if (n->cls == CR_PARAM) {
        cr_work_sum_grads(w, n->offset, n->width, out);
        return;
    }
    const float *gr = cr_work_grad(w, n);
    for (int64_t r = 0; r < size_of(n) / n->width; r++)
        memcpy(out + r * n->width, gr + r * cr_ld(n), (size_t)n->width * sizeof(float));
}

static bool is_leaf(const cr_plan *plan, const cr_node *n) {
    if (n->cls == CR_PARAM) return n->trainable && cr_plan_has_grad(plan, n);
    return n->op == &feed_op && cr_plan_has_grad(plan, n);
}

/* median returns the trial whose error is the median: a step across the kink of a ReLU spoils one
 * direction, a wrong gradient spoils them all. */
static int median(const double *v) {
    for (int i = 0; i < TRIALS; i++) {
        int less = 0;
        for (int j = 0; j < TRIALS; j++)
            less += v[j] < v[i] || (v[j] == v[i] && j < i);
        if (less == TRIALS / 2) return i;
    }
    return 0;
}

cr_code cr_gradcheck(cr_graph *g, cr_node *out, const cr_gradcheck_opts *o, double *result,
                     char *worst, size_t worst_size, cr_err *err) {
    rig on;
    cr_code code = setup(&on, g, out, o, err);
    *result = 0;
    snprintf(worst, worst_size, "no leaf has a gradient");
    int n_leaves = 0;
    for (int i = 0; code == CR_OK && i < g->n; i++) {
        cr_node *n = g->nodes[i];
        if (!is_leaf(on.plan, n)) continue;
        n_leaves++;
        int64_t size = size_of(n);
        float *x = n->cls == CR_PARAM ? n->w : cr_feed_data(n);
        float *keep = CR_NEW_N(&g->arena, float, size), *grad = CR_NEW_N(&g->arena, float, size);
        memcpy(keep, x, (size_t)size * sizeof(float));
        double base;
        if ((code = value(&on, &base, err)) != CR_OK) break;
        leaf_grad(on.w, n, grad);
        double bads[TRIALS];
        char what[TRIALS][160];
        for (int trial = 0; code == CR_OK && trial < TRIALS; trial++) {
            const double eps = 1.5e-4;
            uint64_t key = cr_rng_sub(4711 + (uint64_t)trial, (uint64_t)i);
            double slope = 0, norm = 0, f[2] = {0, 0};
            for (int side = 0; side < 2; side++) {
                for (int64_t k = 0; k < size; k++) {
                    double u = cr_rng_u64(key, (uint64_t)k) & 1 ? 1 : -1;
                    x[k] = (float)((double)keep[k] + (side ? eps : -eps) * u);
                }
                if (code == CR_OK) code = value(&on, &f[side], err);
            }
            /* the direction includes the float rounding of x */
            for (int64_t k = 0; k < size; k++) {
                double u = cr_rng_u64(key, (uint64_t)k) & 1 ? 1 : -1;
                double hi = (double)(float)((double)keep[k] + eps * u);
                double lo = (double)(float)((double)keep[k] - eps * u);
                slope += (double)grad[k] * (hi - lo) / (2 * eps);
                norm += (double)grad[k] * (double)grad[k];
            }
            double numeric = (f[1] - f[0]) / (2 * eps);
            double bad = fabs(numeric - slope) / (sqrt(norm) + 1e-3);
            bads[trial] = bad;
            snprintf(what[trial], sizeof(what[trial]),
                     "%s: slope %.6g, gradient says %.6g (norm %.3g)", n->name, numeric, slope,
                     sqrt(norm));
            memcpy(x, keep, (size_t)size * sizeof(float));
        }
        if (code != CR_OK) break;
        int mid = median(bads);
        if (!(bads[mid] <= *result) && !isnan(*result)) { /* a NaN stays the result */
            *result = bads[mid];
            snprintf(worst, worst_size, "%s", what[mid]);
        }
    }
    if (code == CR_OK && n_leaves == 0) *result = INFINITY;
    take_down(&on);
    return code;
}

/* mark returns a number for (node, place, bits); these numbers can be added in any order. */
static uint64_t mark(const cr_node *n, int64_t at, float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    return cr_rng_sub(cr_rng_sub((uint64_t)n->id, (uint64_t)at), bits);
}

cr_code cr_grad_hash(cr_graph *g, cr_node *out, const cr_gradcheck_opts *o, cr_grad_bits *bits,
                     cr_err *err) {
    rig on;
    cr_code code = setup(&on, g, out, o, err);
    *bits = (cr_grad_bits){0, 0};
    double v;
    if (code == CR_OK) code = value(&on, &v, err);
    if (code == CR_OK) {
        memcpy(&bits->whole, &v, sizeof(v));
        const cr_lanes *part = cr_plan_lanes(on.plan);
        int64_t row0 = cr_lanes_row0(part, CR_FEED_ROWS),
                end = row0 + cr_lanes_rows(part, CR_FEED_ROWS);
        for (int i = 0; i < g->n; i++) {
            cr_node *n = g->nodes[i];
            if (n->cls == CR_PARAM && !n->trainable && !n->op) /* these are running statistics */
                for (int64_t k = 0; k < n->width; k++)
                    bits->whole += mark(n, k, n->w[k]);
            if (!is_leaf(on.plan, n)) continue;
            if (n->cls == CR_PARAM) {
                float *grad = CR_NEW_N(&g->arena, float, n->width);
                cr_work_sum_grads(on.w, n->offset, n->width, grad);
                for (int64_t k = 0; k < n->width; k++)
                    bits->whole += mark(n, k, grad[k]);
                continue;
            }
            const float *gr = cr_work_grad(on.w, n);
            int64_t at = first_of(n, row0), last = first_of(n, end);
            for (int64_t r = at; r < last; r++)
                for (int64_t k = 0; k < n->width; k++)
                    bits->rows += mark(n, r * n->width + k, gr[(r - at) * cr_ld(n) + k]);
        }
    }
    take_down(&on);
    return code;
}
