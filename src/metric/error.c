/*
 * error.c - metrics that are a mean over rows: absolute error, squared error, logloss.
 *
 * The sum is exact (base/exact.h), so the order of the rows does not change its bits.
 */
#include "metric/metric.h"

#include "base/mem.h"
#include "metric/check_int.h"
#include "metric/list.h"

const cr_msg cr_metric_mean_absolute_error_msg = {
    .name = "MeanAbsoluteError",
    .help = "Mean distance of prediction and label",
    .fields = cr_no_fields,
    .size = sizeof(cr_metric_plain_conf),
};
const cr_msg cr_metric_mean_squared_error_msg = {
    .name = "MeanSquaredError",
    .help = "Mean squared distance of prediction and label",
    .fields = cr_no_fields,
    .size = sizeof(cr_metric_plain_conf),
};
const cr_msg cr_metric_logloss_msg = {
    .name = "LogLoss",
    .help = "Mean negative log of the label's probability",
    .fields = cr_no_fields,
    .size = sizeof(cr_metric_plain_conf),
};

struct cr_metric {
    cr_exact sum;
    int64_t n_rows;
};

static cr_code mean_new(cr_metric **out, const void *conf, int64_t K, cr_err *err) {
    (void)conf;
    (void)K;
    (void)err;
    *out = cr_alloc(sizeof **out, "metric");
    return CR_OK;
}

static cr_code distance_new(cr_metric **out, const char *name, int64_t K, cr_err *err) {
    if (K != 1)
        return cr_fail(err, CR_ECONF,
                       "metric %s needs one output, num_class is %lld; use accuracy or logloss "
                       "instead, or l2_loss",
                       name, (long long)K);
    return mean_new(out, NULL, K, err);
}

static cr_code mae_new(cr_metric **out, const void *conf, int64_t K, cr_err *err) {
    (void)conf;
    return distance_new(out, "mean_absolute_error", K, err);
}

static cr_code mse_new(cr_metric **out, const void *conf, int64_t K, cr_err *err) {
    (void)conf;
    return distance_new(out, "mean_squared_error", K, err);
}

static void mean_free(cr_metric *m) {
    cr_free(m);
}

static void mean_reset(cr_metric *m) {
    cr_exact_reset(&m->sum);
    m->n_rows = 0;
}

static double mean_value(const cr_metric *m) {
    return m->n_rows ? cr_exact_value(&m->sum) / (double)m->n_rows : NAN;
}

static cr_code mae_update(cr_metric *m, const cr_metric_in *in, cr_err *err) {
    for (int64_t i = 0; i < in->n_rows; i++, m->n_rows++) {
        float p = in->pred[i * in->pred_stride];
        if (isnan(p)) return cr_metric_nan("mean_absolute_error", m->n_rows, err);
        cr_exact_add(&m->sum, fabs((double)p - (double)in->label[i]));
    }
    return CR_OK;
}

static cr_code mse_update(cr_metric *m, const cr_metric_in *in, cr_err *err) {
    for (int64_t i = 0; i < in->n_rows; i++, m->n_rows++) {
        float p = in->pred[i * in->pred_stride];
        if (isnan(p)) return cr_metric_nan("mean_squared_error", m->n_rows, err);
        double d = (double)p - (double)in->label[i];
        cr_exact_add(&m->sum, d * d);
    }
    return CR_OK;
}

/* With one output: -(y log p + (1-y) log(1-p)), where y may be any number from 0 to 1. With K
 * outputs: -log p[label]. */
static cr_code logloss_update(cr_metric *m, const cr_metric_in *in, cr_err *err) {
    for (int64_t i = 0; i < in->n_rows; i++, m->n_rows++) {
        const float *p = in->pred + i * in->pred_stride;
        float y = in->label[i];
        for (int64_t k = 0; k < in->K; k++) {
            if (isnan(p[k])) return cr_metric_nan("logloss", m->n_rows, err);
        }
        if (in->K > 1) {
            if (!(y >= 0 && y <= (float)(in->K - 1)) || y != floorf(y)) {
                return cr_metric_bad_label("logloss", m->n_rows, (double)y, in->K, err);
            }
            cr_exact_add(&m->sum, -cr_floored_log((double)p[(int64_t)y]));
            continue;
        }
        if (!(p[0] >= 0 && p[0] <= 1)) {
            return cr_metric_not_prob("logloss", m->n_rows, (double)p[0], err);
        }
        double q = (double)p[0];
        double gain = (double)y * cr_floored_log(q) + (1 - (double)y) * cr_floored_log(1 - q);
        cr_exact_add(&m->sum, -gain);
    }
    return CR_OK;
}

static int64_t mean_n_state(const cr_metric *m) {
    (void)m;
    return CR_EXACT_STATE + 1;
}

static void mean_get(const cr_metric *m, double *out) {
    cr_exact_get(&m->sum, out);
    out[CR_EXACT_STATE] = (double)m->n_rows;
}

static void mean_set(cr_metric *m, const double *in) {
    cr_exact_set(&m->sum, in);
    m->n_rows = (int64_t)in[CR_EXACT_STATE];
}

static void mean_pack(const cr_metric *m, cr_buf *out) {
    cr_buf_add(out, m, sizeof *m);
}

static cr_code mean_merge(cr_metric *m, const void *state, size_t size, cr_err *err) {
    cr_metric other;
    CR_TRY(cr_metric_fits("of a mean", size == sizeof other, err));
    memcpy(&other, state, sizeof other);
    cr_exact_join(&m->sum, &other.sum);
    m->n_rows += other.n_rows;
    return CR_OK;
}

#define MEAN_METRIC(var, key, start, fn, ...)                                                      \
    const cr_metric_type var = {.name = key,                                                       \
                                .new_ = start,                                                     \
                                .free_ = mean_free,                                                \
                                .reset = mean_reset,                                               \
                                .update = fn,                                                      \
                                .value = mean_value,                                               \
                                .is_error = true,                                                  \
                                .n_state = mean_n_state,                                           \
                                .get = mean_get,                                                   \
                                .set = mean_set,                                                   \
                                .pack = mean_pack,                                                 \
                                .merge = mean_merge,                                               \
                                __VA_ARGS__}
MEAN_METRIC(cr_metric_mean_absolute_error, "mean_absolute_error", mae_new, mae_update,
            .wants_value = true);
MEAN_METRIC(cr_metric_mean_squared_error, "mean_squared_error", mse_new, mse_update,
            .wants_value = true);
MEAN_METRIC(cr_metric_logloss, "logloss", mean_new, logloss_update, .needs_prob = true);
