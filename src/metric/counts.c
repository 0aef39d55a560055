/*
 * counts.c - precision, recall and F1 of a yes-or-no label at one threshold.
 *
 * A row is predicted positive when p > threshold, as in accuracy. precision = TP / (TP + FP),
 * recall = TP / (TP + FN), f1 = 2 TP / (2 TP + FP + FN); everything before the division is a count.
 * 0/0 is NaN: a model that never predicts a positive has no precision. With none_is_zero it is 0.
 */
#include "metric/metric.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "metric/check_int.h"
#include "metric/list.h"

typedef struct threshold_conf {
    cr_conf_base base;
    double threshold;
    bool none_is_zero; /* crank only */
} threshold_conf;
static const cr_field threshold_fields[] = {
    CR_FLOAT(threshold_conf, threshold, 0.5, 0, 1, 0, "scores above it count as yes"),
    CR_BOOL(threshold_conf, none_is_zero, false, CR_F_OURS,
            "0 where there is no row to divide by; false: no value"),
    CR_END,
};
const cr_msg cr_metric_precision_msg = {
    .name = "Precision",
    .help = "Share of positive rows among those called positive",
    .fields = threshold_fields,
    .size = sizeof(threshold_conf),
};
const cr_msg cr_metric_recall_msg = {
    .name = "Recall",
    .help = "Share of positive rows that are called positive",
    .fields = threshold_fields,
    .size = sizeof(threshold_conf),
};
const cr_msg cr_metric_f1_msg = {
    .name = "F1",
    .help = "Harmonic mean of precision and recall",
    .fields = threshold_fields,
    .size = sizeof(threshold_conf),
};

struct cr_metric {
    const char *name;
    float threshold;
    double none; /* the value without a row to divide by */
    int64_t n_rows;
    uint64_t n[2][2]; /* [label][predicted positive] */
};

static cr_code make(cr_metric **out, const char *name, const void *conf, int64_t K, cr_err *err) {
    CR_TRY(cr_metric_two_classes(name, K, err));
    cr_metric *m = cr_alloc(sizeof *m, name);
    m->name = name;
    m->threshold = (float)((const threshold_conf *)conf)->threshold;
    m->none = ((const threshold_conf *)conf)->none_is_zero ? 0 : NAN;
    *out = m;
    return CR_OK;
}

static cr_code precision_new(cr_metric **out, const void *conf, int64_t K, cr_err *err) {
    return make(out, "precision", conf, K, err);
}

static cr_code recall_new(cr_metric **out, const void *conf, int64_t K, cr_err *err) {
    return make(out, "recall", conf, K, err);
}

static cr_code f1_new(cr_metric **out, const void *conf, int64_t K, cr_err *err) {
    return make(out, "f1", conf, K, err);
}

static void counts_free(cr_metric *m) {
    cr_free(m);
}

static void counts_reset(cr_metric *m) {
    m->n_rows = 0;
    m->n[0][0] = m->n[0][1] = m->n[1][0] = m->n[1][1] = 0;
}

static cr_code counts_update(cr_metric *m, const cr_metric_in *in, cr_err *err) {
    const float *score = cr_metric_score(in);
    for (int64_t i = 0; i < in->n_rows; i++, m->n_rows++) {
        float p = score[i * in->pred_stride], y = in->label[i];
        if (isnan(p)) return cr_metric_nan(m->name, m->n_rows, err);
        if (y != 0 && y != 1) return cr_metric_bad_label(m->name, m->n_rows, (double)y, 2, err);
        m->n[y == 1][p > m->threshold]++;
    }
    return CR_OK;
}

static void counts_pack(const cr_metric *m, cr_buf *out) {
    cr_buf_add(out, m->n, sizeof m->n);
}

static cr_code counts_merge(cr_metric *m, const void *state, size_t size, cr_err *err) {
    uint64_t n[2][2];
    CR_TRY(cr_metric_fits(m->name, size == sizeof n, err));
    memcpy(n, state, sizeof n);
    for (int i = 0; i < 4; i++) {
        m->n[i / 2][i % 2] += n[i / 2][i % 2];
        m->n_rows += (int64_t)n[i / 2][i % 2];
    }
    return CR_OK;
}

static int64_t counts_n_state(const cr_metric *m) {
    (void)m;
    return 4;
}

static void counts_get(const cr_metric *m, double *out) {
    for (int x = 0; x < 2; x++)
        for (int y = 0; y < 2; y++)
            out[2 * x + y] = (double)m->n[x][y];
}

static void counts_set(cr_metric *m, const double *in) {
    counts_reset(m);
    for (int i = 0; i < 4; i++) {
        m->n[i / 2][i % 2] = (uint64_t)in[i];
        m->n_rows += (int64_t)in[i];
    }
}

static double share(const cr_metric *m, uint64_t part, uint64_t all) {
    return all ? (double)part / (double)all : m->none;
}

static double precision_value(const cr_metric *m) {
    return share(m, m->n[1][1], m->n[1][1] + m->n[0][1]);
}

static double recall_value(const cr_metric *m) {
    return share(m, m->n[1][1], m->n[1][1] + m->n[1][0]);
}

static double f1_value(const cr_metric *m) {
    return share(m, 2 * m->n[1][1], 2 * m->n[1][1] + m->n[0][1] + m->n[1][0]);
}

/* The threshold is part of the key unless it is the default. */
static void label(const char *name, const void *conf, char *out, size_t size) {
    double t = ((const threshold_conf *)conf)->threshold;
    if (t == 0.5)
        snprintf(out, size, "%s", name);
    else
        snprintf(out, size, "%s@%g", name, t);
}

static void precision_label(const void *conf, char *out, size_t size) {
    label("precision", conf, out, size);
}

static void recall_label(const void *conf, char *out, size_t size) {
    label("recall", conf, out, size);
}

static void f1_label(const void *conf, char *out, size_t size) {
    label("f1", conf, out, size);
}

#define COUNT_METRIC(key)                                                                          \
    const cr_metric_type cr_metric_##key = {.name = #key,                                          \
                                            .label = key##_label,                                  \
                                            .new_ = key##_new,                                     \
                                            .free_ = counts_free,                                  \
                                            .reset = counts_reset,                                 \
                                            .update = counts_update,                               \
                                            .value = key##_value,                                  \
                                            .n_state = counts_n_state,                             \
                                            .get = counts_get,                                     \
                                            .set = counts_set,                                     \
                                            .pack = counts_pack,                                   \
                                            .merge = counts_merge}
COUNT_METRIC(precision);
COUNT_METRIC(recall);
COUNT_METRIC(f1);
