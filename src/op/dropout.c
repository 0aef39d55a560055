/*
 * dropout.c - zeroes a share p of the values in training and scales the rest by 1/(1-p). The mask
 * is not stored: forward and backward draw the same bits from (seed, node, step, global row,
 * column).
 */
#include "base/rng.h"
#include "graph/gradcheck.h"
#include "op/op.h"

typedef struct drop {
    float p;
    uint64_t key;
} drop;

static void infer(cr_node *n) {
    cr_infer_rows(n);
    n->width = n->in[0]->width;
    n->zeros = n->in[0]->zeros;
}

/* out (+)= x masked; two columns share one 64-bit draw */
static void apply(const cr_node *n, cr_tile *t, float *out, const float *x, bool set) {
    const drop *a = n->attr;
    uint64_t step_key = cr_rng_sub(a->key, (uint64_t)cr_tile_step(t));
    uint32_t limit = (uint32_t)((double)a->p * 4294967296.0);
    float scale = 1.0f / (1.0f - a->p);
    int64_t ld = cr_ld(n);
    for (int64_t r = 0; r < cr_rows(t, n); r++) {
        uint64_t row_key = cr_rng_sub(step_key, (uint64_t)(cr_row0(t, n) + r));
        for (int64_t j = 0; j < n->width; j += 2) {
            uint64_t u = cr_rng_u64(row_key, (uint64_t)j);
            for (int64_t k = j; k < j + 2 && k < n->width; k++, u >>= 32) {
                float v = (uint32_t)u < limit ? 0 : x[r * ld + k] * scale;
                out[r * ld + k] = set ? v : out[r * ld + k] + v;
            }
        }
    }
}

static void forward(const cr_node *n, cr_tile *t) {
    const float *x = cr_val(t, n->in[0]);
    float *y = cr_val(t, n);
    if (t->train) {
        apply(n, t, y, x, true);
        return;
    }
    int64_t ld = cr_ld(n);
    for (int64_t r = 0; r < cr_rows(t, n); r++)
        for (int64_t j = 0; j < n->width; j++)
            y[r * ld + j] = x[r * ld + j];
}

static void backward(const cr_node *n, cr_tile *t) {
    if (!cr_wants_grad(t, n, 0)) return;
    apply(n, t, cr_grad(t, n->in[0]), cr_grad(t, n), cr_first_grad(t, n, 0));
}

static cr_node *example(cr_graph *g, int k) {
    return k > 0 ? NULL : cr_dropout(g, cr_feed(g, 9), 0.4f);
}

const cr_op_type cr_op_dropout = {.name = "dropout",
                                  .infer = infer,
                                  .forward = forward,
                                  .backward = backward,
                                  .example = example,
                                  .rowwise = true};

cr_node *cr_dropout(cr_graph *g, cr_node *x, float p) {
    drop a = {p, cr_rng_sub(cr_rng_key(g->seed, "dropout", NULL), (uint64_t)g->n)};
    return cr_graph_op(g, &cr_op_dropout, &x, 1, &a, sizeof(a));
}
