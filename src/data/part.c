/*
 * part.c - see part.h.
 */
#include "data/part.h"

/* Returns the offsets [first, first + n] of off as numbers from 0 on. */
static const int32_t *from_zero(cr_arena *a, const int32_t *off, int64_t first, int64_t n) {
    int32_t *out = CR_NEW_N(a, int32_t, n + 1);
    for (int64_t i = 0; i <= n; i++)
        out[i] = off[first + i] - off[first];
    return out;
}

/* A sequence has steps, and its offsets count them; else offsets count rows. */
static cr_jagged part_of_ids(cr_arena *a, const cr_jagged *x, int64_t first, int64_t n) {
    cr_jagged y = *x;
    if (x->steps) {
        y.steps = from_zero(a, x->steps, first, n);
        first = x->steps[first];
        n = y.steps[n];
    }
    int64_t at = first;
    y.n_ids = n;
    if (x->off) {
        y.off = from_zero(a, x->off, first, n);
        at = x->off[first];
        y.n_ids = y.off[n];
    }
    y.ids = x->ids + at;
    if (x->w) y.w = x->w + at;
    return y;
}

static const float *const *part_of_columns(cr_arena *a, const float *const *v, int n,
                                           int64_t first) {
    const float **out = CR_NEW_N(a, const float *, n + 1);
    for (int i = 0; i < n; i++)
        out[i] = v[i] + first;
    return out;
}

void cr_batch_part_take(cr_batch_part *p, const cr_batch *b, int64_t first, int64_t n) {
    if (!p->open) cr_arena_init(&p->arena, 0);
    p->open = true;
    cr_arena_reset(&p->arena);
    cr_arena *a = &p->arena;
    p->b = *b;
    p->b.n_rows = p->b.global_rows = n;
    p->b.sparse = CR_NEW_N(a, cr_jagged, b->n_sparse + 1);
    for (int i = 0; i < b->n_sparse; i++)
        p->b.sparse[i] = part_of_ids(a, &b->sparse[i], first, n);
    if (b->dense) p->b.dense = b->dense + first * b->dense_width;
    p->b.dense_seq = CR_NEW_N(a, cr_dense_seq, b->n_dense_seq + 1);
    for (int i = 0; i < b->n_dense_seq; i++) {
        const cr_dense_seq *x = &b->dense_seq[i];
        p->b.dense_seq[i] = (cr_dense_seq){from_zero(a, x->steps, first, n),
                                           x->v + x->steps[first] * x->width, x->width};
    }
    p->b.labels = part_of_columns(a, b->labels, b->n_labels, first);
    p->b.weights = part_of_columns(a, b->weights, b->n_weights, first);
    p->b.n_reserved = 0;
    p->b.reserved = NULL;
}

void cr_batch_part_clear(cr_batch_part *p) {
    if (p->open) cr_arena_clear(&p->arena);
    p->open = false;
}
