/*
 * parts.c - which elements of a tensor lie with which holder, and how holders agree.
 */
#include "ckpt/save_int.h"

#include <stdio.h>
#include <string.h>

static int64_t at_least(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static int64_t at_most(int64_t a, int64_t b) {
    return a < b ? a : b;
}

bool cr_ckpt_run(ckpt_walk *w, int64_t *first, int64_t *n, int *of) {
    const cr_ckpt_tensor *t = w->t;
    if (t->n_parts == 0) {
        *first = w->first;
        *n = w->end - w->first;
        *of = -1;
        w->first = w->end;
        return *n > 0;
    }
    int64_t D = t->part_width;
    for (; w->part < t->n_parts; w->part++, w->row = 0) {
        const cr_ckpt_part *p = &t->parts[w->part];
        if (p->row * D >= w->end) break; /* the parts are sorted by row */
        if ((w->holder >= 0 && p->holder != w->holder) || p->end * D <= w->first) continue;
        bool wide = p->col == 0 && p->col_end == D;
        int64_t end = at_most(p->end, (w->end + D - 1) / D);
        w->row = at_least(w->row, at_least(p->row, w->first / D));
        while (w->row < end) {
            int64_t a = at_least(w->first, w->row * D + p->col);
            int64_t b = at_most(w->end, (wide ? end - 1 : w->row) * D + p->col_end);
            w->row = wide ? end : w->row + 1;
            if (a >= b) continue;
            *first = a;
            *n = b - a;
            *of = p->holder;
            return true;
        }
    }
    return false;
}

/* Returns how many elements of part p come before element x of the tensor. */
static int64_t before(const cr_ckpt_part *p, int64_t D, int64_t x) {
    int64_t row = x / D, width = p->col_end - p->col;
    if (row < p->row) return 0;
    if (row >= p->end) return (p->end - p->row) * width;
    return (row - p->row) * width + at_most(at_least(x % D - p->col, 0), width);
}

int64_t cr_ckpt_in_part(const cr_ckpt_tensor *t, const cr_ckpt_part *p, int64_t first,
                        int64_t end) {
    return before(p, t->part_width, end) - before(p, t->part_width, first);
}

/* What a holder that failed tells the others. */
typedef struct told {
    char msg[sizeof((cr_err *)NULL)->msg];
    char path[sizeof((cr_err *)NULL)->path];
} told;

cr_code cr_ckpt_agree(const cr_meet *meet, cr_code mine, cr_err *err) {
    if (!meet || meet->n < 2) return mine;
    size_t *at = cr_alloc(sizeof(size_t) * (size_t)(meet->n + 1), "holders");
    int32_t *codes = cr_alloc(sizeof(int32_t) * (size_t)meet->n, "holders");
    for (int h = 0; h <= meet->n; h++)
        at[h] = (size_t)h * sizeof(int32_t);
    codes[meet->self] = (int32_t)mine;
    meet->gather(meet->ctx, codes, at);
    int bad = 0;
    while (bad < meet->n && codes[bad] == CR_OK)
        bad++;
    cr_code code = bad < meet->n ? (cr_code)codes[bad] : CR_OK;
    if (code != CR_OK) {
        told x;
        memset(&x, 0, sizeof x);
        if (bad == meet->self && err) {
            memcpy(x.msg, err->msg, sizeof x.msg);
            if (err->at.path) snprintf(x.path, sizeof x.path, "%s", err->at.path);
        }
        for (int h = 0; h <= meet->n; h++)
            at[h] = h <= bad ? 0 : sizeof x;
        meet->gather(meet->ctx, &x, at);
        (void)cr_fail_at(err, code, ((cr_loc){*x.path ? x.path : NULL, 0, 0}), "rank %d: %s", bad,
                         x.msg);
    }
    cr_free(at);
    cr_free(codes);
    return code;
}
