/*
 * auc.c - area under the ROC curve.
 *
 * exact (the default): the share of (positive, negative) pairs in the right order, ties half, from
 * exact counts per distinct score (rank_int.h). exact: false is TorchEasyRec's: thresholds
 * t_k = k/(n-1), points (FPR, TPR) of "score >= t_k", trapezoids between these n points and no
 * added end points, so it differs from the exact value when scores crowd together. Sample weights
 * are not used, as there.
 */
#include "metric/metric.h"

#include "base/mem.h"
#include "metric/check_int.h"
#include "metric/config.h"
#include "metric/rank_int.h"

struct cr_metric {
    int64_t n_rows;
    bool exact;
    cr_rank *rank; /* exact */
    /* binned: bin b holds scores with exactly b thresholds at or below them */
    int64_t n_thresholds;
    float *thresholds;
    uint64_t *n_pos, *n_neg; /* n_thresholds + 1 each */
};

static void auc_free(cr_metric *m) {
    if (!m) return;
    if (m->rank) cr_rank_clear(m->rank);
    cr_free(m->rank);
    cr_free(m->thresholds);
    cr_free(m->n_pos);
    cr_free(m->n_neg);
    cr_free(m);
}

static cr_code auc_new(cr_metric **out, const void *conf, int64_t K, cr_err *err) {
    const cr_auc_conf *c = conf;
    CR_TRY(cr_metric_two_classes("auc", K, err));
    cr_metric *m = cr_alloc(sizeof *m, "auc");
    m->exact = c->exact;
    if (m->exact) {
        m->rank = cr_alloc(sizeof *m->rank, "auc");
        *out = m;
        return CR_OK;
    }
    int64_t n = m->n_thresholds = c->thresholds;
    if (n < 2) {
        auc_free(m);
        return cr_fail_at(err, CR_ECONF, cr_conf_at(conf, "thresholds"),
                          "auc.thresholds is %lld; binned AUC needs at least 2", (long long)n);
    }
    void *t = NULL, *p = NULL, *q = NULL;
    size_t n_bins = (size_t)n + 1;
    cr_code e = cr_try_alloc(&t, (size_t)n * sizeof(float), "auc thresholds", err);
    if (e == CR_OK) e = cr_try_alloc(&p, n_bins * sizeof(uint64_t), "auc bins", err);
    if (e == CR_OK) e = cr_try_alloc(&q, n_bins * sizeof(uint64_t), "auc bins", err);
    m->thresholds = t;
    m->n_pos = p;
    m->n_neg = q;
    if (e != CR_OK) {
        auc_free(m);
        return e;
    }
    /* torch.linspace: from both ends towards the middle, so that it is symmetric */
    float step = 1.0F / (float)(n - 1);
    for (int64_t k = 0; k < n; k++) {
        m->thresholds[k] = k < n / 2 ? step * (float)k : 1.0F - step * (float)(n - 1 - k);
    }
    *out = m;
    return CR_OK;
}

static void auc_reset(cr_metric *m) {
    m->n_rows = 0;
    if (m->exact) {
        cr_rank_reset(m->rank);
        return;
    }
    size_t size = (size_t)(m->n_thresholds + 1) * sizeof(uint64_t);
    memset(m->n_pos, 0, size);
    memset(m->n_neg, 0, size);
}

/* number of thresholds <= p */
static int64_t bin_of(const cr_metric *m, float p) {
    int64_t n = m->n_thresholds;
    if (!(p >= 0)) return 0;
    if (p >= 1) return n;
    int64_t b = (int64_t)(p * (float)(n - 1)) + 1; /* right, or one off by rounding */
    if (b > n) b = n;
    while (b < n && m->thresholds[b] <= p) {
        b++;
    }
    while (b > 0 && m->thresholds[b - 1] > p) {
        b--;
    }
    return b;
}

static cr_code auc_update(cr_metric *m, const cr_metric_in *in, cr_err *err) {
    const float *score = cr_metric_score(in);
    for (int64_t i = 0; i < in->n_rows; i++, m->n_rows++) {
        float p = score[i * in->pred_stride], y = in->label[i];
        if (isnan(p)) return cr_metric_nan("auc", m->n_rows, err);
        if (y != 0 && y != 1) return cr_metric_bad_label("auc", m->n_rows, (double)y, 2, err);
        if (!m->exact) {
            (y == 1 ? m->n_pos : m->n_neg)[bin_of(m, p)]++;
            continue;
        }
        if (m->rank->n_wait == m->rank->cap_wait) CR_TRY(cr_rank_reserve(m->rank, err));
        cr_rank_add(m->rank, p, y == 1);
    }
    return CR_OK;
}

static double auc_value(const cr_metric *m) {
    if (m->exact) return cr_rank_auc(m->rank);
    int64_t n = m->n_thresholds;
    double n_pos = 0, n_neg = 0;
    for (int64_t b = 0; b <= n; b++) {
        n_pos += (double)m->n_pos[b];
        n_neg += (double)m->n_neg[b];
    }
    if (n_pos + n_neg == 0) return NAN;
    /* from the highest threshold down: both rates rise; 0/0 counts as 0 */
    double area = 0, tp = 0, fp = 0, tpr = 0, fpr = 0;
    for (int64_t b = n; b >= 1; b--) {
        tp += (double)m->n_pos[b];
        fp += (double)m->n_neg[b];
        double x = n_neg > 0 ? fp / n_neg : 0, y = n_pos > 0 ? tp / n_pos : 0;
        if (b < n) area += (x - fpr) * (y + tpr) / 2;
        fpr = x;
        tpr = y;
    }
    return area;
}

const cr_metric_type cr_metric_auc = {
    .name = "auc",
    .new_ = auc_new,
    .free_ = auc_free,
    .reset = auc_reset,
    .update = auc_update,
    .value = auc_value,
};
