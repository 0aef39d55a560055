/*
 * view.c - see view.h. The rows of a view are copied or pooled by the kernel for their storage.
 */
#include "emb/view.h"

#include "kern/kern.h"

#define AHEAD 16 /* rows between fetching a record and looking it up */

void cr_view_rows(const cr_view *v, int64_t i, const float *w, int64_t n, int64_t more, float *y,
                  int64_t ld) {
    if (!v->half) cr_kern->look_rows(y, ld, v->base, v->stride, v->ids + i, n, more, v->D);
    for (int64_t r = 0; v->half && r < n; r++) {
        if (r + AHEAD < n + more) cr_view_fetch(v, i + r + AHEAD);
        cr_kern->from16(y + r * ld, (const uint16_t *)(const void *)cr_view_row(v, i + r), v->D,
                        v->half);
    }
    for (int64_t r = 0; w && r < n; r++)
        cr_kern->scale(y + r * ld, w[r], y + r * ld, v->D);
}

void cr_view_pool(const cr_view *v, int64_t i, const float *w, int64_t n, float *y) {
    if (v->half)
        cr_kern->pool16(y, (const uint16_t *)(const void *)v->base, 2 * v->stride, v->ids + i, w, n,
                        v->D, v->half);
    else
        cr_kern->pool(y, v->base, v->stride, v->ids + i, w, n, v->D, false);
}
