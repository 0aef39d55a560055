/*
 * gather_seq.c - copies rows of sequences into one batch: a row is a run of steps, and a step is a
 * run of ids or `width` floats. Sequences have no fixed size, so they lie in columns even where the
 * rest of a row lies in records.
 */
#include <string.h>

#include "data/load/gather_int.h"

void cr_gather_seq_count(const cr_gather_plan *p, int f, int64_t *n_steps, int64_t *n_ids) {
    *n_steps = *n_ids = 0;
    CR_EACH_ROW({
        (void)s;
        const cr_jagged *j = &b->sparse[f];
        int32_t from = j->steps[i], to = j->steps[i + 1];
        *n_steps += to - from;
        *n_ids += j->off ? j->off[to] - j->off[from] : to - from;
    })
}

bool cr_gather_seq(const cr_gather_plan *p, int f, int32_t *steps, int32_t *off, int64_t *ids,
                   float *w) {
    int64_t at = 0, step = 0, row = 0;
    bool single = true;
    steps[0] = 0;
    if (off) off[0] = 0;
    CR_EACH_ROW({
        (void)s;
        const cr_jagged *j = &b->sparse[f];
        int64_t from = j->steps[i];
        int64_t to = j->steps[i + 1];
        int64_t a = j->off ? j->off[from] : from;
        int64_t n = (j->off ? j->off[to] : to) - a;
        if (n) memcpy(ids + at, j->ids + a, (size_t)n * sizeof(*ids));
        if (w && n && j->w) memcpy(w + at, j->w + a, (size_t)n * sizeof(*w));
        for (int64_t k = 0; w && !j->w && k < n; k++)
            w[at + k] = 1.0f;
        for (int64_t k = from; off && k < to; k++) {
            int64_t end = at + (j->off ? j->off[k + 1] - a : k + 1 - from);
            single &= end - off[step] == 1;
            off[++step] = (int32_t)end;
        }
        if (!off) step += to - from;
        at += n;
        steps[++row] = (int32_t)step;
    })
    return single;
}

int64_t cr_gather_dense_seq_count(const cr_gather_plan *p, int f) {
    int64_t n = 0;
    CR_EACH_ROW({
        (void)s;
        const int32_t *steps = b->dense_seq[f].steps;
        n += steps[i + 1] - steps[i];
    })
    return n;
}

void cr_gather_dense_seq(const cr_gather_plan *p, int f, int32_t *steps, float *v) {
    int64_t at = 0, row = 0, width = p->shape->dense_seq[f].width;
    steps[0] = 0;
    CR_EACH_ROW({
        (void)s;
        const cr_dense_seq *d = &b->dense_seq[f];
        int64_t from = d->steps[i];
        int64_t n = d->steps[i + 1] - from;
        if (n) memcpy(v + at * width, d->v + from * width, (size_t)(n * width) * sizeof(*v));
        at += n;
        steps[++row] = (int32_t)at;
    })
}
