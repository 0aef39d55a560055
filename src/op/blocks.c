/*
 * blocks.c - see blocks.h.
 */
#include "op/blocks.h"

#include "kern/kern.h"

/* Rows that fill no block yet: n of them, those of L before those of O. */
typedef struct waiting {
    int64_t n;
    float v[];
} waiting;

int64_t cr_blocks_carry(int64_t M, int64_t N) {
    return (int64_t)(sizeof(waiting) / sizeof(float)) + CR_BF16_BLOCK * (M + N);
}

/* Moves the first n rows to the waiting ones. */
static void move(waiting *w, cr_sides *s, int64_t n) {
    float *l = w->v + w->n * s->M, *o = w->v + CR_BF16_BLOCK * s->M + w->n * s->N;
    cr_kern->copy_rows(l, s->M, s->L, s->ldl, n, s->M, false);
    cr_kern->copy_rows(o, s->N, s->O, s->ldo, n, s->N, false);
    s->L += n * s->ldl;
    s->O += n * s->ldo;
    w->n += n;
}

bool cr_blocks_add(float *carry, cr_sides s, int64_t n, bool first, bool last, cr_blocks_fn add,
                   void *ctx) {
    waiting *w = (waiting *)(void *)carry;
    bool called = false;
    if (first) w->n = 0;
    if (w->n > 0) {
        int64_t more = CR_BF16_BLOCK - w->n < n ? CR_BF16_BLOCK - w->n : n;
        move(w, &s, more);
        n -= more;
        if (w->n == CR_BF16_BLOCK || (last && n == 0)) {
            add(ctx, &(cr_sides){w->v, w->v + CR_BF16_BLOCK * s.M, s.M, s.N, s.M, s.N}, w->n);
            w->n = 0;
            called = true;
        }
    }
    int64_t whole = last ? n : n / CR_BF16_BLOCK * CR_BF16_BLOCK;
    if (whole > 0) {
        add(ctx, &s, whole);
        s.L += whole * s.ldl;
        s.O += whole * s.ldo;
        called = true;
    }
    if (n > whole) move(w, &s, n - whole);
    return called;
}
