/*
 * diff_tensors.c - see diff.h. Two sorted lists of tensors are walked side by side. Values are
 * compared as floats, bit for bit, whatever their types: an export with 8-bit rows can be compared
 * with the checkpoint it came from.
 */
#include "cli/diff.h"

#include <math.h>
#include <string.h>

#define PIECE 65536

static bool same_bits(float a, float b) {
    uint32_t x, y;
    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    return x == y;
}

static void add_sums(cr_diff_tensor *f, double a, double b) {
    if (!isfinite(a) || !isfinite(b)) {
        f->n_odd++;
        return;
    }
    f->sum_abs += fabs(a - b);
    f->sum_dd += (a - b) * (a - b);
    f->sum_aa += a * a;
    f->sum_bb += b * b;
    f->sum_ab += a * b;
}

static void compare_values(cr_diff_tensor *f, int64_t first, const float *x, const float *y,
                           int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        add_sums(f, (double)x[i], (double)y[i]);
        if (same_bits(x[i], y[i]) || (isnan(x[i]) && isnan(y[i]))) continue;
        if (f->n_differ++ == 0) {
            f->at = first + i;
            f->at_a = x[i];
            f->at_b = y[i];
        }
        if (isnan(x[i]) != isnan(y[i])) {
            f->n_nan++;
            continue;
        }
        double a = (double)x[i], b = (double)y[i], d = fabs(a - b);
        double size = fmax(fabs(a), fabs(b)), rel = size > 0 && isfinite(d) ? d / size : d;
        if (rel > f->max_rel) f->max_rel = rel;
        if (d <= f->max_abs) continue;
        f->max_abs = d;
        f->at = first + i;
        f->at_a = x[i];
        f->at_b = y[i];
    }
}

static cr_code compare(const cr_ckpt *ca, const cr_ckpt *cb, cr_diff_tensor *f, float *tmp,
                       cr_err *err) {
    if (f->a->n_dims != f->b->n_dims ||
        memcmp(f->a->shape, f->b->shape, sizeof(int64_t) * (size_t)f->a->n_dims) != 0) {
        f->v = CR_DIFF_OTHER_SHAPE;
        return CR_OK;
    }
    for (int64_t k = 0; k < f->a->n_elems; k += PIECE) {
        int64_t n = f->a->n_elems - k < PIECE ? f->a->n_elems - k : PIECE;
        CR_TRY(cr_ckpt_read(ca, f->a->name, k, n, tmp, err));
        CR_TRY(cr_ckpt_read(cb, f->b->name, k, n, tmp + PIECE, err));
        compare_values(f, k, tmp, tmp + PIECE, n);
    }
    f->v = f->n_differ ? CR_DIFF_VALUES : CR_DIFF_SAME;
    return CR_OK;
}

int cr_diff_states(const cr_ckpt *c) {
    int n = 0;
    for (int i = 0; i < cr_ckpt_count(c); i++)
        n += cr_ckpt_at(c, i)->optimizer;
    return n;
}

char cr_diff_lone_state(const cr_ckpt *ca, const cr_ckpt *cb) {
    int a = cr_diff_states(ca), b = cr_diff_states(cb);
    return a > 0 && b == 0 ? 'A' : b > 0 && a == 0 ? 'B' : 0;
}

cr_code cr_diff_tensors(const cr_ckpt *ca, const cr_ckpt *cb, cr_diff_tensor *out, int *n_out,
                        cr_err *err) {
    int i = 0, k = 0, n = 0;
    bool weights = cr_diff_lone_state(ca, cb) != 0;
    cr_code code = CR_OK;
    float *tmp = cr_alloc(sizeof(float) * 2 * PIECE, "pieces of tensors");
    while (code == CR_OK && (i < cr_ckpt_count(ca) || k < cr_ckpt_count(cb))) {
        const cr_ckpt_info *a = i < cr_ckpt_count(ca) ? cr_ckpt_at(ca, i) : NULL;
        const cr_ckpt_info *b = k < cr_ckpt_count(cb) ? cr_ckpt_at(cb, k) : NULL;
        int order = !a ? 1 : !b ? -1 : strcmp(a->name, b->name);
        if (weights && ((order < 0 && a->optimizer) || (order > 0 && b->optimizer))) {
            i += order < 0;
            k += order > 0;
            continue;
        }
        cr_diff_tensor *f = &out[n++];
        *f = (cr_diff_tensor){.a = order <= 0 ? a : NULL, .b = order >= 0 ? b : NULL};
        f->v = order < 0 ? CR_DIFF_ONLY_A : CR_DIFF_ONLY_B;
        if (order == 0) code = compare(ca, cb, f, tmp, err);
        i += order <= 0;
        k += order >= 0;
    }
    cr_free(tmp);
    *n_out = n;
    return code;
}
