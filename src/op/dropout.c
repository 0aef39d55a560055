/*
 * dropout.c - zeroes a share p of the values in training and scales the rest by 1/(1-p). The mask
 * is not stored: forward and backward draw the same bits from (seed, node, step, global row,
 * column), on sequences from (seed, node, step, global row, step of the sequence, column).
 */
#include "base/rng.h"
#include "graph/gradcheck.h"
#include "kern/kern.h"
#include "op/op.h"

typedef struct drop {
    float p;
    uint64_t key;
} drop;

static void infer(cr_node *n) {
    cr_infer_rows(n);
    n->width = n->in[0]->width;
    n->zeros = n->in[0]->zeros;
    n->scratch = (n->width + 1) / 2; /* the 16-bit draws of a row */
}

/* Writes (set) or adds x, masked, to out. */
static void apply(const cr_node *n, cr_tile *t, float *out, const float *x, bool set) {
    const drop *a = n->attr;
    uint64_t step_key = cr_rng_sub(a->key, (uint64_t)cr_tile_step(t));
    uint32_t limit = (uint32_t)((double)a->p * 65536.0 + 0.5);
    float scale = 1.0f / (1.0f - a->p);
    uint16_t *rnd = (uint16_t *)(void *)t->scratch;
    int64_t ld = cr_ld(n), at = 0;
    const int32_t *off = n->cls == CR_SEQ ? cr_seq_off(t, n->axis) : NULL;
    for (int64_t r = 0; r < t->n_rows; r++) {
        uint64_t row = cr_rng_sub(step_key, (uint64_t)(cr_global_row(t) + r));
        for (int64_t k = 0, len = off ? off[r + 1] - off[r] : 1; k < len; k++, at++) {
            cr_kern->draw16(rnd, off ? cr_rng_sub(row, (uint64_t)k) : row, n->width);
            cr_kern->drop(out + at * ld, x + at * ld, rnd, limit, scale, n->width, !set);
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
    cr_kern->copy_rows(y, cr_ld(n), x, cr_ld(n), cr_rows(t, n), n->width, false);
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
