/*
 * multiclass_auc.c - AUC of every class against the rest, then one mean over the classes.
 *
 * Per class binned as TorchEasyRec has it, or exact. macro: plain mean; weighted: by the rows that
 * carry the class. What a reader may get wrong: in the binned form a class without rows has AUC 0
 * and is part of the plain mean, as in TorchEasyRec; in the exact form it is left out.
 */
#include "metric/metric.h"

#include <string.h>

#include "base/mem.h"
#include "metric/bins_int.h"
#include "metric/check_int.h"
#include "metric/config.h"
#include "metric/rank_int.h"

struct cr_metric {
    int64_t K, n_rows;
    bool exact, weighted;
    uint64_t *support; /* rows per class */
    cr_rank *ranks;    /* exact: one per class */
    cr_bins *bins;     /* else */
};

static void mauc_free(cr_metric *m) {
    if (!m) return;
    for (int64_t k = 0; k < m->K; k++) {
        if (m->ranks) cr_rank_clear(&m->ranks[k]);
        if (m->bins) cr_bins_clear(&m->bins[k]);
    }
    cr_free(m->support);
    cr_free(m->ranks);
    cr_free(m->bins);
    cr_free(m);
}

static cr_code mauc_new(cr_metric **out, const void *conf, int64_t K, cr_err *err) {
    const cr_multiclass_auc_conf *c = conf;
    CR_TRY(cr_metric_many_classes("multiclass_auc", K, "auc", err));
    bool weighted = c->average && strcmp(c->average, "weighted") == 0;
    cr_metric *m = cr_alloc(sizeof *m, "multiclass_auc");
    m->K = K;
    m->exact = c->exact;
    m->weighted = weighted;
    m->support = cr_alloc((size_t)K * sizeof *m->support, "multiclass_auc");
    if (m->exact) {
        m->ranks = cr_alloc((size_t)K * sizeof *m->ranks, "multiclass_auc");
    } else {
        m->bins = cr_alloc((size_t)K * sizeof *m->bins, "multiclass_auc");
        for (int64_t k = 0; k < K; k++) {
            cr_code e = cr_bins_init(&m->bins[k], c->thresholds, err);
            if (e != CR_OK) {
                mauc_free(m);
                return e;
            }
        }
    }
    *out = m;
    return CR_OK;
}

static void mauc_reset(cr_metric *m) {
    m->n_rows = 0;
    memset(m->support, 0, (size_t)m->K * sizeof *m->support);
    for (int64_t k = 0; k < m->K; k++) {
        if (m->exact)
            cr_rank_reset(&m->ranks[k]);
        else
            cr_bins_reset(&m->bins[k]);
    }
}

static cr_code mauc_update(cr_metric *m, const cr_metric_in *in, cr_err *err) {
    for (int64_t i = 0; i < in->n_rows; i++, m->n_rows++) {
        const float *p = in->pred + i * in->pred_stride;
        float y = in->label[i];
        if (!(y >= 0 && y <= (float)(m->K - 1)) || y != floorf(y)) {
            return cr_metric_bad_label("multiclass_auc", m->n_rows, (double)y, m->K, err);
        }
        int64_t label = (int64_t)y;
        for (int64_t k = 0; k < m->K; k++) {
            if (isnan(p[k])) return cr_metric_nan("multiclass_auc", m->n_rows, err);
            if (!m->exact) {
                cr_bins *b = &m->bins[k];
                (k == label ? b->n_pos : b->n_neg)[cr_bins_of(b, p[k])]++;
                continue;
            }
            cr_rank *r = &m->ranks[k];
            if (r->n_wait == r->cap_wait) CR_TRY(cr_rank_reserve(r, err));
            cr_rank_add(r, p[k], k == label);
        }
        m->support[label]++;
    }
    return CR_OK;
}

static double mauc_value(const cr_metric *m) {
    double sum = 0, weight = 0;
    for (int64_t k = 0; k < m->K; k++) {
        double auc = m->exact ? cr_rank_auc(&m->ranks[k]) : cr_bins_value(&m->bins[k]);
        if (isnan(auc)) continue;
        double w = m->weighted ? (double)m->support[k] : 1;
        sum += w * auc;
        weight += w;
    }
    return weight > 0 ? sum / weight : NAN;
}

const cr_metric_type cr_metric_multiclass_auc = {
    .name = "multiclass_auc",
    .wants_classes = true,
    .new_ = mauc_new,
    .free_ = mauc_free,
    .reset = mauc_reset,
    .update = mauc_update,
    .value = mauc_value,
};
