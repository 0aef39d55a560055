/*
 * calibration.c - do predictions and labels agree on the whole?
 *
 * average_output: mean prediction. average_label: mean label. copc (click over predicted click):
 * sum of labels over sum of predictions, 1 when calibrated, below 1 when the model promises too
 * much. normalized_entropy: mean log loss over the entropy of the mean label; below 1 means better
 * than always predicting the mean. Sums run row after row in double, like error.c.
 */
#include "metric/metric.h"

#include "base/mem.h"
#include "metric/check_int.h"
#include "metric/config.h"

struct cr_metric {
    const char *name;
    int64_t n_rows;
    double pred, label, entropy; /* sums */
    double eta;
};

static cr_code make(cr_metric **out, const char *name, int64_t K, cr_err *err) {
    CR_TRY(cr_metric_two_classes(name, K, err));
    cr_metric *m = cr_alloc(sizeof *m, name);
    m->name = name;
    *out = m;
    return CR_OK;
}

static cr_code output_new(cr_metric **out, const void *conf, int64_t K, cr_err *err) {
    (void)conf;
    return make(out, "average_output", K, err);
}

static cr_code label_new(cr_metric **out, const void *conf, int64_t K, cr_err *err) {
    (void)conf;
    return make(out, "average_label", K, err);
}

static cr_code copc_new(cr_metric **out, const void *conf, int64_t K, cr_err *err) {
    (void)conf;
    return make(out, "copc", K, err);
}

static cr_code entropy_new(cr_metric **out, const void *conf, int64_t K, cr_err *err) {
    CR_TRY(make(out, "normalized_entropy", K, err));
    (*out)->eta = ((const cr_normalized_entropy_conf *)conf)->eta;
    return CR_OK;
}

static void sums_free(cr_metric *m) {
    cr_free(m);
}

static void sums_reset(cr_metric *m) {
    m->n_rows = 0;
    m->pred = m->label = m->entropy = 0;
}

static cr_code sums_update(cr_metric *m, const cr_metric_in *in, cr_err *err) {
    const float *score = cr_metric_score(in);
    for (int64_t i = 0; i < in->n_rows; i++, m->n_rows++) {
        float p = score[i * in->pred_stride];
        if (isnan(p)) return cr_metric_nan(m->name, m->n_rows, err);
        m->pred += (double)p;
        m->label += (double)in->label[i];
    }
    return CR_OK;
}

static cr_code entropy_update(cr_metric *m, const cr_metric_in *in, cr_err *err) {
    const float *score = cr_metric_score(in);
    for (int64_t i = 0; i < in->n_rows; i++, m->n_rows++) {
        float p = score[i * in->pred_stride], y = in->label[i];
        if (isnan(p)) return cr_metric_nan(m->name, m->n_rows, err);
        if (!(p >= 0 && p <= 1)) return cr_metric_not_prob(m->name, m->n_rows, (double)p, err);
        if (!(y >= 0 && y <= 1)) {
            return cr_metric_bad_label(m->name, m->n_rows, (double)y, 2, err);
        }
        double q = (double)p, t = (double)y;
        m->entropy -= t * cr_floored_log(q) + (1 - t) * cr_floored_log(1 - q);
        m->label += t;
    }
    return CR_OK;
}

static double output_value(const cr_metric *m) {
    return m->n_rows ? m->pred / (double)m->n_rows : NAN;
}

static double label_value(const cr_metric *m) {
    return m->n_rows ? m->label / (double)m->n_rows : NAN;
}

static double copc_value(const cr_metric *m) {
    return m->pred != 0 ? m->label / m->pred : NAN;
}

static double entropy_value(const cr_metric *m) {
    if (m->n_rows == 0) return NAN;
    double n = (double)m->n_rows, mean = m->label / n;
    mean = mean < m->eta ? m->eta : mean > 1 - m->eta ? 1 - m->eta : mean;
    double base = -(m->label * log(mean) + (n - m->label) * log(1 - mean));
    return base > 0 ? m->entropy / base : NAN;
}

#define SUM_METRIC(var, key, start, take, get, prob)                                               \
    const cr_metric_type var = {.name = key,                                                       \
                                .new_ = start,                                                     \
                                .free_ = sums_free,                                                \
                                .reset = sums_reset,                                               \
                                .update = take,                                                    \
                                .value = get,                                                      \
                                .needs_prob = prob}
SUM_METRIC(cr_metric_average_output, "average_output", output_new, sums_update, output_value,
           false);
SUM_METRIC(cr_metric_average_label, "average_label", label_new, sums_update, label_value, false);
SUM_METRIC(cr_metric_copc, "copc", copc_new, sums_update, copc_value, false);
SUM_METRIC(cr_metric_normalized_entropy, "normalized_entropy", entropy_new, entropy_update,
           entropy_value, true);
