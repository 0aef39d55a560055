/*
 * accuracy.c - the share of rows whose label was predicted: accuracy and recall_at_k.
 *
 * With one class, a row counts when (p > threshold) equals the label. With K classes, it counts
 * when the label is among the top_k most likely ones; of equally likely classes the lower number
 * comes first, as with argmax. A row has one positive, its label, so recall_at_k (positives found
 * in the top k over all positives) counts the same rows with another default.
 */
#include "metric/metric.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "metric/check_int.h"
#include "metric/list.h"

typedef struct accuracy_conf {
    cr_conf_base base;
    double threshold; /* for K = 1 */
    int64_t top_k;    /* for K > 1 */
} accuracy_conf;
typedef struct recall_at_k_conf {
    cr_conf_base base;
    int64_t top_k;
} recall_at_k_conf;
static const cr_field accuracy_fields[] = {
    CR_FLOAT(accuracy_conf, threshold, 0.5, 0, 1, 0, "scores above it count as yes"),
    CR_INT(accuracy_conf, top_k, 1, 1, CR_U32_MAX, 0,
           "with several classes: the label is among the best k"),
    CR_END,
};
const cr_msg cr_metric_accuracy_msg = {
    .name = "Accuracy",
    .help = "Share of rows that are right",
    .fields = accuracy_fields,
    .size = sizeof(accuracy_conf),
};
static const cr_field recall_at_k_fields[] = {
    CR_INT(recall_at_k_conf, top_k, 5, 1, CR_U32_MAX, 0, "candidates that count"),
    CR_END,
};
const cr_msg cr_metric_recall_at_k_msg = {
    .name = "RecallAtK",
    .help = "Share of positives among the best k candidates",
    .fields = recall_at_k_fields,
    .size = sizeof(recall_at_k_conf),
};

struct cr_metric {
    const char *name;
    int64_t n_rows, n_right;
    float threshold;
    int64_t top_k;
};

static cr_code make(cr_metric **out, const char *name, const void *conf, int64_t top_k, int64_t K,
                    cr_err *err) {
    if (K > 1 && top_k > K) {
        return cr_fail_at(err, CR_ECONF, cr_conf_at(conf, "top_k"),
                          "%s.top_k is %lld, but there are %lld classes; lower it", name,
                          (long long)top_k, (long long)K);
    }
    cr_metric *m = cr_alloc(sizeof *m, name);
    m->name = name;
    m->top_k = top_k;
    *out = m;
    return CR_OK;
}

static cr_code accuracy_new(cr_metric **out, const void *conf, int64_t K, cr_err *err) {
    const accuracy_conf *c = conf;
    CR_TRY(make(out, "accuracy", conf, c->top_k, K, err));
    (*out)->threshold = (float)c->threshold;
    return CR_OK;
}

static cr_code recall_new(cr_metric **out, const void *conf, int64_t K, cr_err *err) {
    CR_TRY(cr_metric_many_classes("recall_at_k", K, "recall", err));
    return make(out, "recall_at_k", conf, ((const recall_at_k_conf *)conf)->top_k, K, err);
}

static void recall_label(const void *conf, char *out, size_t size) {
    snprintf(out, size, "recall@%lld", (long long)((const recall_at_k_conf *)conf)->top_k);
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
            if (isnan(p[k])) return cr_metric_nan(m->name, m->n_rows, err);
        }
        if (!(y >= 0 && y <= (float)(K > 1 ? K - 1 : 1)) || y != floorf(y)) {
            return cr_metric_bad_label(m->name, m->n_rows, (double)y, K, err);
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

static int64_t accuracy_n_state(const cr_metric *m) {
    (void)m;
    return 2;
}

static void accuracy_get(const cr_metric *m, double *out) {
    out[0] = (double)m->n_rows;
    out[1] = (double)m->n_right;
}

static void accuracy_set(cr_metric *m, const double *in) {
    m->n_rows = (int64_t)in[0];
    m->n_right = (int64_t)in[1];
}

static void accuracy_pack(const cr_metric *m, cr_buf *out) {
    int64_t n[2] = {m->n_rows, m->n_right};
    cr_buf_add(out, n, sizeof n);
}

static cr_code accuracy_merge(cr_metric *m, const void *state, size_t size, cr_err *err) {
    int64_t n[2];
    CR_TRY(cr_metric_fits(m->name, size == sizeof n, err));
    memcpy(n, state, sizeof n);
    m->n_rows += n[0];
    m->n_right += n[1];
    return CR_OK;
}

const cr_metric_type cr_metric_accuracy = {
    .name = "accuracy",
    .wants_classes = true,
    .new_ = accuracy_new,
    .free_ = accuracy_free,
    .reset = accuracy_reset,
    .update = accuracy_update,
    .value = accuracy_value,
    .pack = accuracy_pack,
    .merge = accuracy_merge,
    .n_state = accuracy_n_state,
    .get = accuracy_get,
    .set = accuracy_set,
};

const cr_metric_type cr_metric_recall_at_k = {
    .name = "recall_at_k",
    .wants_classes = true,
    .label = recall_label,
    .new_ = recall_new,
    .free_ = accuracy_free,
    .reset = accuracy_reset,
    .update = accuracy_update,
    .value = accuracy_value,
    .pack = accuracy_pack,
    .merge = accuracy_merge,
    .n_state = accuracy_n_state,
    .get = accuracy_get,
    .set = accuracy_set,
};
