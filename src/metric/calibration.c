/*
 * calibration.c - do predictions and labels agree on the whole?
 *
 * average_output is the mean prediction, average_label the mean label. copc (click over predicted
 * click) is the sum of labels over the sum of predictions: 1 when calibrated, below 1 when the
 * model promises too much. normalized_entropy is the mean log loss over the entropy of the mean
 * label; below 1 means better than always predicting the mean. Sums are exact, as in error.c.
 */
#include "metric/metric.h"

#include "base/mem.h"
#include "metric/check_int.h"
#include "metric/list.h"

typedef struct normalized_entropy_conf {
    cr_conf_base base;
    double eta;
} normalized_entropy_conf;
static const cr_field entropy_fields[] = {
    CR_FLOAT(normalized_entropy_conf, eta, 1e-12, 0, 0.5, 0,
             "keeps the mean label away from 0 and 1"),
    CR_END,
};
const cr_msg cr_metric_normalized_entropy_msg = {
    .name = "NormalizedEntropy",
    .help = "Log loss over that of the mean label",
    .fields = entropy_fields,
    .size = sizeof(normalized_entropy_conf),
};
const cr_msg cr_metric_average_output_msg = {
    .name = "AverageOutput",
    .help = "Mean prediction",
    .fields = cr_no_fields,
    .size = sizeof(cr_metric_plain_conf),
};
const cr_msg cr_metric_average_label_msg = {
    .name = "AverageLabel",
    .help = "Mean label",
    .fields = cr_no_fields,
    .size = sizeof(cr_metric_plain_conf),
};
const cr_msg cr_metric_copc_msg = {
    .name = "COPC",
    .help = "Sum of labels over sum of predictions: 1 when calibrated",
    .fields = cr_no_fields,
    .size = sizeof(cr_metric_plain_conf),
};

struct cr_metric {
    const char *name;
    int64_t n_rows;
    cr_exact pred, label, entropy; /* sums */
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
    (*out)->eta = ((const normalized_entropy_conf *)conf)->eta;
    return CR_OK;
}

static void sums_free(cr_metric *m) {
    cr_free(m);
}

static void sums_reset(cr_metric *m) {
    m->n_rows = 0;
    cr_exact_reset(&m->pred);
    cr_exact_reset(&m->label);
    cr_exact_reset(&m->entropy);
}

static cr_code sums_update(cr_metric *m, const cr_metric_in *in, cr_err *err) {
    const float *score = cr_metric_score(in);
    for (int64_t i = 0; i < in->n_rows; i++, m->n_rows++) {
        float p = score[i * in->pred_stride];
        if (isnan(p)) return cr_metric_nan(m->name, m->n_rows, err);
        cr_exact_add(&m->pred, (double)p);
        cr_exact_add(&m->label, (double)in->label[i]);
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
        cr_exact_add(&m->entropy, -(t * cr_floored_log(q) + (1 - t) * cr_floored_log(1 - q)));
        cr_exact_add(&m->label, t);
    }
    return CR_OK;
}

static double output_value(const cr_metric *m) {
    return m->n_rows ? cr_exact_value(&m->pred) / (double)m->n_rows : NAN;
}

static double label_value(const cr_metric *m) {
    return m->n_rows ? cr_exact_value(&m->label) / (double)m->n_rows : NAN;
}

static double copc_value(const cr_metric *m) {
    double pred = cr_exact_value(&m->pred);
    return pred != 0 ? cr_exact_value(&m->label) / pred : NAN;
}

static double entropy_value(const cr_metric *m) {
    if (m->n_rows == 0) return NAN;
    double n = (double)m->n_rows, label = cr_exact_value(&m->label), mean = label / n;
    mean = mean < m->eta ? m->eta : mean > 1 - m->eta ? 1 - m->eta : mean;
    double base = -(label * log(mean) + (n - label) * log(1 - mean));
    return base > 0 ? cr_exact_value(&m->entropy) / base : NAN;
}

static void sums_pack(const cr_metric *m, cr_buf *out) {
    cr_buf_add(out, m, sizeof *m);
}

static cr_code sums_merge(cr_metric *m, const void *state, size_t size, cr_err *err) {
    cr_metric other;
    CR_TRY(cr_metric_fits(m->name, size == sizeof other, err));
    memcpy(&other, state, sizeof other);
    cr_exact_join(&m->pred, &other.pred);
    cr_exact_join(&m->label, &other.label);
    cr_exact_join(&m->entropy, &other.entropy);
    m->n_rows += other.n_rows;
    return CR_OK;
}

static int64_t output_n_state(const cr_metric *m) {
    (void)m;
    return CR_EXACT_STATE + 1;
}

static void output_get(const cr_metric *m, double *out) {
    cr_exact_get(&m->pred, out);
    out[CR_EXACT_STATE] = (double)m->n_rows;
}

static void output_set(cr_metric *m, const double *in) {
    cr_exact_set(&m->pred, in);
    m->n_rows = (int64_t)in[CR_EXACT_STATE];
}

#define SUM_METRIC(var, key, start, take, get, ...)                                                \
    const cr_metric_type var = {.name = key,                                                       \
                                .new_ = start,                                                     \
                                .free_ = sums_free,                                                \
                                .reset = sums_reset,                                               \
                                .update = take,                                                    \
                                .value = get,                                                      \
                                .pack = sums_pack,                                                 \
                                .merge = sums_merge,                                               \
                                __VA_ARGS__}
SUM_METRIC(cr_metric_average_output, "average_output", output_new, sums_update, output_value,
           .needs_prob = false, .n_state = output_n_state, .get = output_get, .set = output_set);
SUM_METRIC(cr_metric_average_label, "average_label", label_new, sums_update, label_value,
           .needs_prob = false);
SUM_METRIC(cr_metric_copc, "copc", copc_new, sums_update, copc_value, .needs_prob = false);
SUM_METRIC(cr_metric_normalized_entropy, "normalized_entropy", entropy_new, entropy_update,
           entropy_value, .needs_prob = true, .is_error = true);
