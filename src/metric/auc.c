/*
 * auc.c - area under the ROC curve.
 *
 * The exact form (the default) is the share of (positive, negative) pairs in the right order, where
 * ties count half, from exact counts per distinct score (rank_int.h). `exact: false` is
 * TorchEasyRec's form: thresholds t_k = k/(n-1), points (FPR, TPR) of "score >= t_k", and
 * trapezoids between these n points without added end points (bins_int.h). So it differs from the
 * exact value when scores lie close together. Sample weights are not used, as in TorchEasyRec.
 * Training metrics use the binned form, because its state is small.
 */
#include "metric/metric.h"

#include "base/mem.h"
#include "metric/bins_int.h"
#include "metric/check_int.h"
#include "metric/list.h"
#include "metric/rank_int.h"

typedef struct auc_conf {
    cr_conf_base base;
    int64_t thresholds; /* bins of the binned form */
    bool exact; /* only crank has it: true sorts all scores; false is TorchEasyRec's binned AUC */
    bool candidates;
} auc_conf;
#define HELP_CANDIDATES                                                                            \
    "the classes are candidates: each one's score counts as a row of its own, positive for the "   \
    "class of the label"
static const cr_field auc_fields[] = {
    CR_INT(auc_conf, thresholds, 200, 2, 10000000, 0, "bins of the binned form (exact: false)"),
    CR_BOOL(auc_conf, exact, true, CR_F_OURS,
            "count every pair of rows; false: TorchEasyRec's binned form"),
    CR_BOOL(auc_conf, candidates, false, CR_F_OURS, HELP_CANDIDATES),
    CR_END,
};
const cr_msg cr_metric_auc_msg = {
    .name = "AUC",
    .help = "Chance that a positive row scores above a negative one",
    .fields = auc_fields,
    .size = sizeof(auc_conf),
};
/* In training the form is always binned: its state is a few hundred counts, which can be averaged
 * and saved. */
static const cr_field train_auc_fields[] = {
    CR_INT(auc_conf, thresholds, 200, 2, 10000000, 0, "bins"),
    CR_BOOL(auc_conf, candidates, false, CR_F_OURS, HELP_CANDIDATES),
    CR_END,
};
const cr_msg cr_metric_train_auc_msg = {
    .name = "TrainAUC",
    .help = "Chance that a positive row scores above a negative one, "
            "binned",
    .fields = train_auc_fields,
    .size = sizeof(auc_conf),
};

struct cr_metric {
    int64_t n_rows, n_pos;
    bool exact;
    int64_t candidates; /* scores of a row that count by themselves; 0: a row has one */
    cr_rank *rank;      /* for the exact form */
    cr_bins bins;       /* for the binned form */
};

static void auc_free(cr_metric *m) {
    if (!m) return;
    if (m->rank) cr_rank_clear(m->rank);
    cr_free(m->rank);
    cr_bins_clear(&m->bins);
    cr_free(m);
}

static cr_code auc_new(cr_metric **out, const void *conf, int64_t K, cr_err *err) {
    const auc_conf *c = conf;
    if (!c->candidates) CR_TRY(cr_metric_two_classes("auc", K, err));
    if (!c->exact && c->thresholds < 2) {
        return cr_fail_at(err, CR_ECONF, cr_conf_at(conf, "thresholds"),
                          "auc.thresholds is %lld; binned AUC needs at least 2",
                          (long long)c->thresholds);
    }
    cr_metric *m = cr_alloc(sizeof *m, "auc");
    m->exact = c->exact;
    m->candidates = c->candidates && K > 1 ? K : 0;
    if (m->exact) {
        m->rank = cr_alloc(sizeof *m->rank, "auc");
    } else {
        cr_code e = cr_bins_init(&m->bins, c->thresholds, err);
        if (e != CR_OK) {
            auc_free(m);
            return e;
        }
    }
    *out = m;
    return CR_OK;
}

static void auc_reset(cr_metric *m) {
    m->n_rows = m->n_pos = 0;
    if (m->exact)
        cr_rank_reset(m->rank);
    else
        cr_bins_reset(&m->bins);
}

static cr_code add(cr_metric *m, float p, bool positive, cr_err *err) {
    if (isnan(p)) return cr_metric_nan("auc", m->n_rows, err);
    m->n_pos += positive;
    m->n_rows++;
    if (!m->exact) {
        (positive ? m->bins.n_pos : m->bins.n_neg)[cr_bins_of(&m->bins, p)]++;
        return CR_OK;
    }
    if (m->rank->n_wait == m->rank->cap_wait) CR_TRY(cr_rank_reserve(m->rank, err));
    cr_rank_add(m->rank, p, positive);
    return CR_OK;
}

static cr_code auc_update(cr_metric *m, const cr_metric_in *in, cr_err *err) {
    const float *score = m->candidates ? in->pred : cr_metric_score(in);
    int64_t K = m->candidates ? m->candidates : 2;
    for (int64_t i = 0; i < in->n_rows; i++) {
        const float *p = score + i * in->pred_stride;
        float y = in->label[i];
        if (!(y >= 0 && y < (float)K) || y != floorf(y))
            return cr_metric_bad_label("auc", m->n_rows, (double)y, K, err);
        if (!m->candidates) CR_TRY(add(m, *p, y == 1, err));
        for (int64_t k = 0; k < m->candidates; k++)
            CR_TRY(add(m, p[k], k == (int64_t)y, err));
    }
    return CR_OK;
}

static double auc_value(const cr_metric *m) {
    return m->exact ? cr_rank_auc(m->rank) : cr_bins_value(&m->bins);
}

static void auc_classes(const cr_metric *m, int64_t *n_pos, int64_t *n_neg) {
    *n_pos = m->n_pos;
    *n_neg = m->n_rows - m->n_pos;
}

double cr_auc_error(double auc, int64_t n_pos, int64_t n_neg) {
    double a = auc, p = (double)n_pos, n = (double)n_neg;
    if (n_pos < 1 || n_neg < 1 || isnan(auc)) return NAN;
    double q1 = a / (2 - a), q2 = 2 * a * a / (1 + a);
    double var = a * (1 - a) + (p - 1) * (q1 - a * a) + (n - 1) * (q2 - a * a);
    return sqrt(fmax(var, 0) / (p * n));
}

static void auc_pack(const cr_metric *m, cr_buf *out) {
    int64_t n[2] = {m->n_rows, m->n_pos};
    cr_buf_add(out, n, sizeof n);
    if (m->exact)
        cr_rank_pack(m->rank, out);
    else
        cr_bins_pack(&m->bins, out);
}

static cr_code auc_merge(cr_metric *m, const void *state, size_t size, cr_err *err) {
    int64_t n[2];
    CR_TRY(cr_metric_fits("auc", size >= sizeof n, err));
    size_t rest = size - sizeof n;
    CR_TRY(cr_metric_fits(
        "auc", m->exact ? rest % sizeof(cr_rank_run) == 0 : rest == cr_bins_size(&m->bins), err));
    memcpy(n, state, sizeof n);
    const char *at = (const char *)state + sizeof n;
    if (m->exact)
        CR_TRY(cr_rank_merge(m->rank, (const cr_rank_run *)(const void *)at,
                             (int64_t)(rest / sizeof(cr_rank_run)), err));
    else
        cr_bins_merge(&m->bins, at);
    m->n_rows += n[0];
    m->n_pos += n[1];
    return CR_OK;
}

/* The state of the binned form is the counts of the bins. */
static int64_t auc_n_state(const cr_metric *m) {
    return 2 * (m->bins.n + 1);
}

static void auc_get(const cr_metric *m, double *out) {
    cr_bins_get(&m->bins, out);
}

static void auc_set(cr_metric *m, const double *in) {
    cr_bins_set(&m->bins, in);
}

static double auc_value_of(const cr_metric *m, const double *state) {
    return cr_bins_auc(m->bins.n, state);
}

const cr_metric_type cr_metric_auc = {
    .name = "auc",
    .new_ = auc_new,
    .free_ = auc_free,
    .reset = auc_reset,
    .update = auc_update,
    .value = auc_value,
    .classes = auc_classes,
    .pack = auc_pack,
    .merge = auc_merge,
    .n_state = auc_n_state,
    .get = auc_get,
    .set = auc_set,
    .value_of = auc_value_of,
};
