/*
 * scatter.c - vectors with one column for each thing that a row may have a value for, such as the
 * items that a user has rated.
 *
 * scatter:      y_k = sum of the values v_j whose numbers k_j are k; columns without one are 0. In
 *               a step that is fed with outputs (cr_step_input.refed) y is the output of the step
 *               before.
 * masked_error: the mean of (x_k - y_k)^2 over the columns whose y_k is not 0; 0 where all are. No
 *               gradient goes to y, which is data.
 */
#include <math.h>
#include <string.h>

#include "graph/gradcheck.h"
#include "op/input.h"
#include "op/op.h"

/* ---- scatter: s (2), a number and a value at each position -> K ---- */

static void scatter_infer(cr_node *n) {
    if (n->in[0]->cls != CR_SEQ || n->in[0]->width != 2)
        CR_BUG("scatter: not a sequence of numbers and values");
    n->cls = CR_ROW;
    n->width = *(const int64_t *)n->attr;
    n->zeros = true;
}

/* The column that a position names; -1: none. */
static int64_t column(const cr_node *n, const float *step) {
    return step[0] >= 0 && step[0] < (float)n->width ? (int64_t)step[0] : -1;
}

static const float *refed(const cr_tile *t) {
    const cr_step_input *in = cr_tile_input(t);
    return in && in->refed ? in->refed + t->row0 * in->refed_ld : NULL;
}

static void scatter_forward(const cr_node *n, cr_tile *t) {
    const cr_node *s = n->in[0];
    const int32_t *off = cr_seq_off(t, s->axis);
    const float *again = refed(t);
    int64_t ld = again ? ((const cr_step_input *)cr_tile_input(t))->refed_ld : 0;
    size_t size = (size_t)n->width * sizeof(float);
    for (int64_t r = 0; r < t->n_rows; r++) {
        float *y = cr_val(t, n) + r * cr_ld(n);
        if (again) {
            memcpy(y, again + r * ld, size);
            continue;
        }
        memset(y, 0, size);
        for (int32_t p = off[r] - off[0]; p < off[r + 1] - off[0]; p++) {
            const float *step = cr_val(t, s) + p * cr_ld(s);
            int64_t k = column(n, step);
            if (k >= 0) y[k] += step[1];
        }
    }
}

static void scatter_backward(const cr_node *n, cr_tile *t) {
    if (!cr_wants_grad(t, n, 0)) return;
    const cr_node *s = n->in[0];
    const int32_t *off = cr_seq_off(t, s->axis);
    bool first = cr_first_grad(t, n, 0), again = refed(t) != NULL;
    for (int64_t r = 0; r < t->n_rows; r++)
        for (int32_t p = off[r] - off[0]; p < off[r + 1] - off[0]; p++) {
            float *d = cr_grad(t, s) + p * cr_ld(s);
            int64_t k = again ? -1 : column(n, cr_val(t, s) + p * cr_ld(s));
            float v = k >= 0 ? cr_grad(t, n)[r * cr_ld(n) + k] : 0;
            if (first) d[0] = 0;
            d[1] = first ? v : d[1] + v;
        }
}

static cr_node *scatter_example(cr_graph *g, int k) {
    if (k > 1) return NULL;
    int axis = cr_graph_axis(g);
    cr_node *v[] = {cr_example_numbers(g, axis, 7), cr_feed_seq(g, axis, 1)};
    return cr_scatter(g, cr_concat(g, v, 2), k ? 17 : 5);
}

const cr_op_type cr_op_scatter = {.name = "scatter",
                                  .infer = scatter_infer,
                                  .forward = scatter_forward,
                                  .backward = scatter_backward,
                                  .example = scatter_example,
                                  .reads_in = true,
                                  .seq = true};

cr_node *cr_scatter(cr_graph *g, cr_node *s, int64_t columns) {
    return cr_graph_op(g, &cr_op_scatter, &s, 1, &columns, sizeof(columns));
}

/* ---- masked_error: x (K), y (K) -> 1 ---- */

static void error_infer(cr_node *n) {
    if (n->in[0]->cls != CR_ROW || n->in[1]->cls != CR_ROW || n->in[0]->width != n->in[1]->width)
        CR_BUG("masked_error: not two rows of one width");
    n->cls = CR_ROW;
    n->width = 1;
}

static void error_forward(const cr_node *n, cr_tile *t) {
    const cr_node *a = n->in[0], *b = n->in[1];
    for (int64_t r = 0; r < t->n_rows; r++) {
        const float *x = cr_val(t, a) + r * cr_ld(a), *y = cr_val(t, b) + r * cr_ld(b);
        double sum = 0, count = 0;
        for (int64_t k = 0; k < a->width; k++) {
            double d = y[k] != 0 ? (double)x[k] - (double)y[k] : 0;
            sum += d * d;
            count += y[k] != 0;
        }
        cr_val(t, n)[r * cr_ld(n)] = (float)(count > 0 ? sum / count : 0);
    }
}

static void error_backward(const cr_node *n, cr_tile *t) {
    if (!cr_wants_grad(t, n, 0)) return;
    const cr_node *a = n->in[0], *b = n->in[1];
    bool first = cr_first_grad(t, n, 0);
    for (int64_t r = 0; r < t->n_rows; r++) {
        const float *x = cr_val(t, a) + r * cr_ld(a), *y = cr_val(t, b) + r * cr_ld(b);
        float *d = cr_grad(t, a) + r * cr_ld(a), count = 0;
        for (int64_t k = 0; k < a->width; k++)
            count += y[k] != 0 ? 1.0f : 0.0f;
        float by = 2 * cr_grad(t, n)[r * cr_ld(n)] / fmaxf(count, 1);
        for (int64_t k = 0; k < a->width; k++) {
            float v = y[k] != 0 ? by * (x[k] - y[k]) : 0;
            d[k] = first ? v : d[k] + v;
        }
    }
}

static cr_node *error_example(cr_graph *g, int k) {
    if (k > 1) return NULL;
    int axis = cr_graph_axis(g);
    cr_node *v[] = {cr_example_numbers(g, axis, 4), cr_example_numbers(g, axis, 3)};
    cr_node *x = cr_feed(g, k ? 17 : 4);
    return cr_masked_error(g, x, cr_scatter(g, cr_concat(g, v, 2), x->width));
}

const cr_op_type cr_op_masked_error = {.name = "masked_error",
                                       .infer = error_infer,
                                       .forward = error_forward,
                                       .backward = error_backward,
                                       .example = error_example,
                                       .reads_in = true};

cr_node *cr_masked_error(cr_graph *g, cr_node *x, cr_node *y) {
    return cr_graph_op(g, &cr_op_masked_error, (cr_node *[]){x, y}, 2, NULL, 0);
}
