/*
 * accuracy.c - the share of rows whose label was predicted.
 *
 * One class: (p > threshold) equals the label. K classes: the label is among the top_k most likely
 * ones; of equally likely classes the lower number comes first, as argmax has it.
 */
#include "metric/metric.h"

#include "base/mem.h"
#include "metric/check_int.h"
#include "metric/config.h"

struct cr_metric {
    int64_t n_rows, n_right;
    float threshold;
    int64_t top_k;
};

static cr_code accuracy_new(cr_metric **out, const void *conf, int64_t K, cr_err *err) {
    const cr_accuracy_conf *c = conf;
    if (K > 1 && c->top_k > K) {
        return cr_fail_at(err, CR_ECONF, cr_conf_at(conf, "top_k"),
                          "accuracy.top_k is %lld, but there are %lld classes; lower it",
                          (long long)c->top_k, (long long)K);
    }
    cr_metric *m = cr_alloc(sizeof *m, "accuracy");
    m->threshold = (float)c->threshold;
    m->top_k = c->top_k;
    *out = m;
    return CR_OK;
}

static void accuracy_reset(cr_metric *m) {
    m->n_rows = m->n_right = 0;
}

static cr_code accuracy_update(cr_metric *m, const cr_metric_in *in, cr_err *err) {
    for (int64_t i = 0; i < in->n_rows; i++, m->n_rows++) {
        const float *p = in->pred + i * in->pred_stride;
        float y = in->label[i];
        int64_t K = in->K;
        for (int64_t k = 0; k < K; k++) {
            if (isnan(p[k])) return cr_metric_nan("accuracy", m->n_rows, err);
        }
        if (!(y >= 0 && y <= (float)(K > 1 ? K - 1 : 1)) || y != floorf(y)) {
            return cr_metric_bad_label("accuracy", m->n_rows, (double)y, K, err);
        }
        if (K == 1) {
            m->n_right += (p[0] > m->threshold) == (y == 1);
            continue;
        }
        int64_t label = (int64_t)y, before = 0;
        for (int64_t k = 0; k < K; k++) {
            before += p[k] > p[label] || (p[k] == p[label] && k < label);
        }
        m->n_right += before < m->top_k;
    }
    return CR_OK;
}

static double accuracy_value(const cr_metric *m) {
    return m->n_rows ? (double)m->n_right / (double)m->n_rows : NAN;
}

static void accuracy_free(cr_metric *m) {
    cr_free(m);
}

const cr_metric_type cr_metric_accuracy = {
    .name = "accuracy",
    .wants_classes = true,
    .new_ = accuracy_new,
    .free_ = accuracy_free,
    .reset = accuracy_reset,
    .update = accuracy_update,
    .value = accuracy_value,
};
