/*
 * recur.h - what the recurrent ops (gru.c, lstm.c) share: the order in which they go through a
 * row's positions, and the products of a state with the weights of a gate.
 */
#ifndef CR_OP_RECUR_H
#define CR_OP_RECUR_H

#include "graph/work.h"
#include "kern/kern.h"
#include "op/op.h"

/* The positions of a row in the order of the op: the i-th is first + i * step. */
typedef struct cr_path {
    int64_t first, step, n;
} cr_path;
static inline cr_path cr_path_of(const cr_tile *t, int axis, int64_t r, bool reverse) {
    const int32_t *off = cr_seq_off(t, axis);
    int64_t from = off[r] - off[0], end = off[r + 1] - off[0];
    return (cr_path){reverse ? end - 1 : from, reverse ? -1 : 1, end - from};
}

/* out = U h + b, with U (n, H) */
static inline void cr_gate_product(float *out, const float *U, const float *b, const float *h,
                                   int64_t n, int64_t H) {
    for (int64_t i = 0; i < n; i++)
        out[i] = cr_kern->dot(U + i * H, h, H) + b[i];
}

/* d is the slope of U h + b: adds to the slopes dU and db (NULL: not wanted), and U^T d to dh. */
static inline void cr_gate_back(float *dU, float *db, const float *U, const float *d,
                                const float *h, float *dh, int64_t n, int64_t H) {
    for (int64_t i = 0; i < n; i++) {
        if (dU) cr_kern->axpy(dU + i * H, d[i], h, H);
        if (db) db[i] += d[i];
        cr_kern->axpy(dh, d[i], U + i * H, H);
    }
}

#endif
