/*
 * bins.c - the binned ROC curve: the points (FPR, TPR) of "score >= t_k" for n thresholds t_k =
 * k/(n-1).
 *
 * One multiplication and at most one correction find the bin of a score. With the correction the
 * counts equal those of comparing with every threshold in float32, as torch does.
 */
#include "metric/bins_int.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

void cr_bins_clear(cr_bins *b) {
    cr_free(b->thresholds);
    cr_free(b->n_pos);
    cr_free(b->n_neg);
    memset(b, 0, sizeof *b);
}

cr_code cr_bins_init(cr_bins *b, int64_t n, cr_err *err) {
    void *t = NULL, *p = NULL, *q = NULL;
    size_t n_bins = (size_t)n + 1;
    cr_code e = cr_try_alloc(&t, (size_t)n * sizeof(float), "auc thresholds", err);
    if (e == CR_OK) e = cr_try_alloc(&p, n_bins * sizeof(uint64_t), "auc bins", err);
    if (e == CR_OK) e = cr_try_alloc(&q, n_bins * sizeof(uint64_t), "auc bins", err);
    *b = (cr_bins){n, t, p, q};
    if (e != CR_OK) {
        cr_bins_clear(b);
        return e;
    }
    /* as torch.linspace: from both ends towards the middle, so that the thresholds are symmetric */
    float step = 1.0F / (float)(n - 1);
    for (int64_t k = 0; k < n; k++) {
        b->thresholds[k] = k < n / 2 ? step * (float)k : 1.0F - step * (float)(n - 1 - k);
    }
    return CR_OK;
}

void cr_bins_reset(cr_bins *b) {
    size_t size = (size_t)(b->n + 1) * sizeof(uint64_t);
    memset(b->n_pos, 0, size);
    memset(b->n_neg, 0, size);
}

int64_t cr_bins_of(const cr_bins *b, float p) {
    int64_t n = b->n;
    if (!(p >= 0)) return 0;
    if (p >= 1) return n;
    int64_t at = (int64_t)(p * (float)(n - 1)) + 1; /* right, or wrong by one because of rounding */
    if (at > n) at = n;
    while (at < n && b->thresholds[at] <= p) {
        at++;
    }
    while (at > 0 && b->thresholds[at - 1] > p) {
        at--;
    }
    return at;
}

void cr_bins_get(const cr_bins *b, double *out) {
    for (int64_t i = 0; i <= b->n; i++) {
        out[i] = (double)b->n_pos[i];
        out[b->n + 1 + i] = (double)b->n_neg[i];
    }
}

void cr_bins_set(cr_bins *b, const double *in) {
    for (int64_t i = 0; i <= b->n; i++) {
        b->n_pos[i] = (uint64_t)in[i];
        b->n_neg[i] = (uint64_t)in[b->n + 1 + i];
    }
}

size_t cr_bins_size(const cr_bins *b) {
    return 2 * (size_t)(b->n + 1) * sizeof(uint64_t);
}

void cr_bins_pack(const cr_bins *b, cr_buf *out) {
    cr_buf_add(out, b->n_pos, cr_bins_size(b) / 2);
    cr_buf_add(out, b->n_neg, cr_bins_size(b) / 2);
}

void cr_bins_merge(cr_bins *b, const void *state) {
    const char *at = state;
    for (int64_t i = 0; i < 2 * (b->n + 1); i++, at += sizeof(uint64_t)) {
        uint64_t n;
        memcpy(&n, at, sizeof n);
        *(i <= b->n ? &b->n_pos[i] : &b->n_neg[i - b->n - 1]) += n;
    }
}

/* The curve from the highest threshold down: both rates rise. 0/0 counts as 0. */
typedef struct curve {
    double n_pos, n_neg, tp, fp, tpr, fpr, area;
} curve;

static void curve_point(curve *c, double pos, double neg, bool first) {
    c->tp += pos;
    c->fp += neg;
    double x = c->n_neg > 0 ? c->fp / c->n_neg : 0, y = c->n_pos > 0 ? c->tp / c->n_pos : 0;
    if (!first) c->area += (x - c->fpr) * (y + c->tpr) / 2;
    c->fpr = x;
    c->tpr = y;
}

double cr_bins_auc(int64_t n, const double *counts) {
    const double *pos = counts, *neg = counts + n + 1;
    curve c = {0};
    for (int64_t b = 0; b <= n; b++) {
        c.n_pos += pos[b];
        c.n_neg += neg[b];
    }
    if (c.n_pos + c.n_neg == 0) return NAN;
    for (int64_t b = n; b >= 1; b--) {
        curve_point(&c, pos[b], neg[b], b == n);
    }
    return c.area;
}

double cr_bins_value(const cr_bins *b) {
    curve c = {0};
    for (int64_t i = 0; i <= b->n; i++) {
        c.n_pos += (double)b->n_pos[i];
        c.n_neg += (double)b->n_neg[i];
    }
    if (c.n_pos + c.n_neg == 0) return NAN;
    for (int64_t i = b->n; i >= 1; i--) {
        curve_point(&c, (double)b->n_pos[i], (double)b->n_neg[i], i == b->n);
    }
    return c.area;
}
