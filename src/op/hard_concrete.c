/*
 * hard_concrete.c - gates by the hard concrete distribution (Louizos et al., 2018: learning sparse
 * networks through L0 regularization).
 *
 * In training a gate is z = sigmoid((x + log u - log(1 - u)) / temperature), stretched to low +
 * (high
 * - low) z and cut to 0 and 1, so that it is just 0 or 1 with some probability and has a slope
 * between. Evaluation takes sigmoid(x) for z. gates_open is the penalty: the sum of the
 * probabilities sigmoid(x - temperature * log(-low / high)) that a gate is not 0. u is a function
 * of (seed, name, step, global row, column), strictly between 0 and 1; backward finds z in the
 * gate's value.
 */
#include <math.h>

#include "base/rng.h"
#include "graph/gradcheck.h"
#include "op/op.h"

typedef struct gates {
    cr_gate_opts o;
    uint64_t key;
    double scale; /* gates_open */
} gates;

static double sigmoid(double x) {
    return 1 / (1 + exp(-x));
}

/* How many times as large as the natural one the logarithm is. */
static double log_unit(const cr_gate_opts *o) {
    return o->binary_log ? 1 / log(2.0) : 1;
}

/* ---- gates: x (w) -> w ---- */

static void infer(cr_node *n) {
    n->cls = CR_ROW;
    n->width = n->in[0]->width;
}

static void forward(const cr_node *n, cr_tile *t) {
    const gates *a = n->attr;
    bool draws = t->train && a->o.noise;
    double unit = log_unit(&a->o), by = draws ? a->o.temperature : 1;
    uint64_t key = cr_rng_sub(a->key, (uint64_t)cr_tile_step(t));
    for (int64_t r = 0; r < t->n_rows; r++) {
        const float *x = cr_val(t, n->in[0]) + r * cr_ld(n->in[0]);
        float *y = cr_val(t, n) + r * cr_ld(n);
        uint64_t row = cr_rng_sub(key, (uint64_t)(cr_global_row(t) + r));
        for (int64_t j = 0; j < n->width; j++) {
            double u = draws ? (double)cr_rng_f32(row, (uint64_t)j) + 0x1p-25 : 0.5;
            double z = sigmoid(((double)x[j] + unit * log(u / (1 - u))) / by);
            double s = a->o.low + (a->o.high - a->o.low) * z;
            y[j] = (float)(s < 0 ? 0 : s > 1 ? 1 : s);
        }
    }
}

static void backward(const cr_node *n, cr_tile *t) {
    const gates *a = n->attr;
    if (!cr_wants_grad(t, n, 0)) return;
    bool first = cr_first_grad(t, n, 0);
    double range = a->o.high - a->o.low, by = a->o.noise ? a->o.temperature : 1;
    for (int64_t r = 0; r < t->n_rows; r++) {
        const float *y = cr_val(t, n) + r * cr_ld(n), *dy = cr_grad(t, n) + r * cr_ld(n);
        float *dx = cr_grad(t, n->in[0]) + r * cr_ld(n->in[0]);
        for (int64_t j = 0; j < n->width; j++) {
            double z = ((double)y[j] - a->o.low) / range;
            double slope = y[j] > 0 && y[j] < 1 ? range * z * (1 - z) / by : 0;
            dx[j] = (float)((first ? 0 : (double)dx[j]) + slope * (double)dy[j]);
        }
    }
}

static cr_node *example(cr_graph *g, int k) {
    if (k > 2) return NULL;
    cr_gate_opts o = {0.66, -0.1, 1.1, k != 1, k == 2};
    return cr_hard_concrete(g, cr_feed(g, k == 1 ? 9 : 5), &o, "example");
}

const cr_op_type cr_op_hard_concrete = {.name = "hard_concrete",
                                        .infer = infer,
                                        .forward = forward,
                                        .backward = backward,
                                        .example = example,
                                        .keep_val = true};

cr_node *cr_hard_concrete(cr_graph *g, cr_node *x, const cr_gate_opts *o, const char *name) {
    gates a = {.o = *o, .key = cr_rng_key(g->seed, "hard_concrete", name)};
    return cr_graph_op(g, &cr_op_hard_concrete, &x, 1, &a, sizeof(a));
}

/* ---- gates_open: x (w) -> 1 ---- */

static void open_infer(cr_node *n) {
    n->cls = CR_ROW;
    n->width = 1;
}

/* What x is compared with: above it a gate is open more often than not. */
static double middle(const cr_gate_opts *o) {
    return o->temperature * log_unit(o) * log(-o->low / o->high);
}

static void open_forward(const cr_node *n, cr_tile *t) {
    const gates *a = n->attr;
    double at = middle(&a->o);
    for (int64_t r = 0; r < t->n_rows; r++) {
        const float *x = cr_val(t, n->in[0]) + r * cr_ld(n->in[0]);
        double sum = 0;
        for (int64_t j = 0; j < n->in[0]->width; j++)
            sum += sigmoid((double)x[j] - at);
        cr_val(t, n)[r * cr_ld(n)] = (float)(a->scale * sum);
    }
}

static void open_backward(const cr_node *n, cr_tile *t) {
    const gates *a = n->attr;
    if (!cr_wants_grad(t, n, 0)) return;
    bool first = cr_first_grad(t, n, 0);
    double at = middle(&a->o);
    for (int64_t r = 0; r < t->n_rows; r++) {
        const float *x = cr_val(t, n->in[0]) + r * cr_ld(n->in[0]);
        float *dx = cr_grad(t, n->in[0]) + r * cr_ld(n->in[0]);
        double dy = a->scale * (double)cr_grad(t, n)[r * cr_ld(n)];
        for (int64_t j = 0; j < n->in[0]->width; j++) {
            double p = sigmoid((double)x[j] - at);
            dx[j] = (float)((first ? 0 : (double)dx[j]) + dy * p * (1 - p));
        }
    }
}

static cr_node *open_example(cr_graph *g, int k) {
    if (k > 2) return NULL;
    cr_gate_opts o = {0.5, -0.2, 1.3, true, k == 1};
    cr_node *x = cr_feed(g, k ? 7 : 1), *y = cr_gates_open(g, x, &o, 3);
    return k < 2 ? y : cr_concat(g, (cr_node *[]){y, x, cr_hard_concrete(g, x, &o, "open")}, 3);
}

const cr_op_type cr_op_gates_open = {.name = "gates_open",
                                     .infer = open_infer,
                                     .forward = open_forward,
                                     .backward = open_backward,
                                     .example = open_example,
                                     .reads_in = true};

cr_node *cr_gates_open(cr_graph *g, cr_node *x, const cr_gate_opts *o, double scale) {
    gates a = {.o = *o, .scale = scale};
    return cr_graph_op(g, &cr_op_gates_open, &x, 1, &a, sizeof(a));
}
