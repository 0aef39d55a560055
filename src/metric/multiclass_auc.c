/*
 * multiclass_auc.c - AUC of every class against the rest, then one mean over the classes.
 *
 * The AUC of a class is binned as in TorchEasyRec, or exact. macro is the plain mean; weighted
 * weights each class by its rows. What a reader may get wrong: in the binned form a class without
 * rows has AUC 0 and is part of the plain mean, as in TorchEasyRec; in the exact form it is left
 * out.
 */
#include "metric/metric.h"

#include <string.h>

#include "base/mem.h"
#include "metric/bins_int.h"
#include "metric/check_int.h"
#include "metric/list.h"
#include "metric/rank_int.h"

typedef struct multiclass_auc_conf {
    cr_conf_base base;
    int64_t thresholds;
    const char *average; /* macro or weighted */
    bool exact;          /* only crank has it */
} multiclass_auc_conf;
static const cr_field multiclass_auc_fields[] = {
    CR_INT(multiclass_auc_conf, thresholds, 200, 2, 10000000, 0, "bins (exact: false)"),
    CR_STR(multiclass_auc_conf, average, "macro", 0,
           "mean over classes: macro (plain) or weighted (by rows of the class)"),
    CR_BOOL(multiclass_auc_conf, exact, false, CR_F_OURS,
            "count every pair of rows; false: TorchEasyRec's binned form"),
    CR_END,
};
static void multiclass_auc_check(const void *self, cr_diag *diag) {
    const multiclass_auc_conf *c = self;
    if (strcmp(c->average, "macro") != 0 && strcmp(c->average, "weighted") != 0)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "average"),
                    "average is '%s'; use macro or weighted", c->average);
}
const cr_msg cr_metric_multiclass_auc_msg = {
    .name = "MulticlassAUC",
    .help = "Mean AUC of each class against the rest",
    .fields = multiclass_auc_fields,
    .size = sizeof(multiclass_auc_conf),
    .check = multiclass_auc_check,
};

struct cr_metric {
    int64_t K, n_rows;
    bool exact, weighted;
    uint64_t *support; /* number of rows of each class */
    cr_rank *ranks;    /* exact form: one per class */
    cr_bins *bins;     /* binned form: one per class */
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
    const multiclass_auc_conf *c = conf;
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

/* mauc_pack appends the support, then for each class the size of its counts and the counts. */
static void mauc_pack(const cr_metric *m, cr_buf *out) {
    cr_buf_add(out, m->support, (size_t)m->K * sizeof *m->support);
    for (int64_t k = 0; k < m->K; k++) {
        size_t at = out->n, size = 0;
        cr_buf_add(out, &size, sizeof size);
        if (m->exact)
            cr_rank_pack(&m->ranks[k], out);
        else
            cr_bins_pack(&m->bins[k], out);
        size = out->n - at - sizeof size;
        memcpy(out->data + at, &size, sizeof size);
    }
}

static cr_code mauc_merge(cr_metric *m, const void *state, size_t size, cr_err *err) {
    const char *at = state, *end = at + size;
    CR_TRY(cr_metric_fits("multiclass_auc", size >= (size_t)m->K * sizeof *m->support, err));
    for (int64_t k = 0; k < m->K; k++, at += sizeof *m->support) {
        uint64_t n;
        memcpy(&n, at, sizeof n);
        m->support[k] += n;
        m->n_rows += (int64_t)n;
    }
    for (int64_t k = 0; k < m->K; k++) {
        size_t n = 0;
        CR_TRY(cr_metric_fits("multiclass_auc", (size_t)(end - at) >= sizeof n, err));
        memcpy(&n, at, sizeof n);
        at += sizeof n;
        bool fits = n <= (size_t)(end - at) &&
                    (m->exact ? n % sizeof(cr_rank_run) == 0 : n == cr_bins_size(&m->bins[k]));
        CR_TRY(cr_metric_fits("multiclass_auc", fits, err));
        if (m->exact)
            CR_TRY(cr_rank_merge(&m->ranks[k], (const cr_rank_run *)(const void *)at,
                                 (int64_t)(n / sizeof(cr_rank_run)), err));
        else
            cr_bins_merge(&m->bins[k], at);
        at += n;
    }
    return cr_metric_fits("multiclass_auc", at == end, err);
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
    .pack = mauc_pack,
    .merge = mauc_merge,
};
