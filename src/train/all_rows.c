/*
 * all_rows.c - gives metrics all rows of the global batch: each holder brings its rows and receives
 * those of the others. It serves the metrics of training, which are then the same everywhere, and
 * metrics whose value depends on which rows come together.
 */
#include <string.h>

#include "train/train_int.h"

struct cr_all_rows {
    const cr_lanes *lanes;
    float *pred, *label, *mask;
    int64_t *group;
};

cr_code cr_all_rows_new(cr_all_rows **out, const cr_lanes *lanes, int64_t max_rows, int64_t K,
                        cr_err *err) {
    cr_all_rows *a = cr_alloc(sizeof(*a), "rows of all holders");
    a->lanes = lanes;
    *out = a;
    if (!lanes->meet) return CR_OK;
    void *p[4] = {NULL, NULL, NULL, NULL};
    size_t size[4] = {cr_bytes(K, sizeof(float)), sizeof(float), sizeof(float), sizeof(int64_t)};
    cr_code code = CR_OK;
    for (int i = 0; i < 4 && code == CR_OK; i++)
        code = cr_try_alloc(&p[i], cr_bytes(max_rows, size[i]), "rows of all holders", err);
    a->pred = p[0];
    a->label = p[1];
    a->mask = p[2];
    a->group = p[3];
    if (code == CR_OK) return CR_OK;
    cr_all_rows_free(a);
    *out = NULL;
    return code;
}

void cr_all_rows_free(cr_all_rows *a) {
    if (!a) return;
    cr_free(a->pred);
    cr_free(a->label);
    cr_free(a->mask);
    cr_free(a->group);
    cr_free(a);
}

/* Collects in `all` the n_here values of `size` bytes at `from`, `stride` bytes apart, and those of
 * the other holders. */
static void *gather(const cr_all_rows *a, void *all, const void *from, size_t stride, size_t size,
                    int64_t n_here, int64_t n_all) {
    char *to = (char *)all + (size_t)cr_lanes_row0(a->lanes, n_all) * size;
    for (int64_t r = 0; r < n_here; r++)
        memcpy(to + (size_t)r * size, (const char *)from + (size_t)r * stride, size);
    cr_lanes_gather_rows(a->lanes, all, n_all, size);
    return all;
}

void cr_all_rows_take(cr_all_rows *a, int64_t n_all, cr_metric_rows *m) {
    if (!a->lanes->meet) return;
    cr_metric_in *in = &m->in;
    size_t f = sizeof(float), i = sizeof(int64_t), row = (size_t)in->K * f;
    int64_t n = in->n_rows;
    in->pred = gather(a, a->pred, in->pred, (size_t)in->pred_stride * f, row, n, n_all);
    in->pred_stride = in->K;
    in->label = gather(a, a->label, in->label, f, f, n, n_all);
    if (m->mask) m->mask = gather(a, a->mask, m->mask, f, f, n, n_all);
    if (in->group) in->group = gather(a, a->group, in->group, i, i, n, n_all);
    in->n_rows = n_all;
}
