/*
 * group_at_k.c - how well the first k classes of a group name its labels: precision, recall, F1 and
 * NDCG of the lists of users, where each right item of a user is a row.
 *
 * The rows of a group have the same scores, and each has another label. A label is found when its
 * place among the classes, sorted by their scores, is at most k; of equal scores the lower number
 * comes first. Precision is the labels found in all groups by k times the groups, recall the mean
 * over groups of the share that is found, F1 = 2 P R / (P + R), and NDCG the mean over groups of
 * the sum of 1 / log2(place + 1) over labels found, by that of a list that begins with them. A
 * negative label is one that no class is, and never found.
 *
 * Every row is kept (16 bytes); sorted by group, rows add up in one order whatever batches they
 * came in.
 */
#include "metric/metric.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "metric/check_int.h"
#include "metric/list.h"

typedef enum measure { PRECISION, RECALL, F1, NDCG } measure;
static const cr_enum_value measures[] = {
    {"PRECISION", PRECISION, "labels found by places", NULL},
    {"RECALL", RECALL, "labels found by labels", NULL},
    {"F1", F1, "the harmonic mean of both", NULL},
    {"NDCG", NDCG, "labels found, less the further down they are", NULL},
    {NULL, 0, NULL, NULL},
};

typedef struct at_k_conf {
    cr_conf_base base;
    const char *grouping_key;
    int64_t top_k;
    int measure;
} at_k_conf;
static const cr_field at_k_fields[] = {
    CR_STR(at_k_conf, grouping_key, NULL, CR_F_REQUIRED | CR_F_OURS, CR_HELP_GROUP_KEY),
    CR_INT(at_k_conf, top_k, 10, 1, CR_U32_MAX, CR_F_OURS, "places that count"),
    CR_ENUM(at_k_conf, measure, measures, RECALL, CR_F_OURS, "what is measured"),
    CR_END,
};
const cr_msg cr_metric_group_at_k_msg = {
    .name = "GroupAtK",
    .help = "Labels of a group of rows among the first classes of its list",
    .ours = true,
    .fields = at_k_fields,
    .size = sizeof(at_k_conf),
};

typedef struct at_row {
    int64_t group;
    int64_t place; /* from 1; 0: it is not found */
} at_row;
typedef struct at_rows {
    at_row *v;
    int64_t n, cap;
} at_rows;

struct cr_metric {
    at_rows *rows; /* a separate struct, because computing the value sorts them */
    int64_t top_k;
    measure what;
};

static cr_code at_k_new(cr_metric **out, const void *conf, int64_t K, cr_err *err) {
    const at_k_conf *c = conf;
    CR_TRY(cr_metric_many_classes("group_at_k", K, "grouped_auc", err));
    cr_metric *m = cr_alloc(sizeof *m, "group_at_k");
    m->rows = cr_alloc(sizeof *m->rows, "group_at_k");
    m->top_k = c->top_k;
    m->what = (measure)c->measure;
    *out = m;
    return CR_OK;
}

static void at_k_free(cr_metric *m) {
    if (!m) return;
    cr_free(m->rows->v);
    cr_free(m->rows);
    cr_free(m);
}

static void at_k_reset(cr_metric *m) {
    m->rows->n = 0;
}

static const char *at_k_group_key(const void *conf) {
    return ((const at_k_conf *)conf)->grouping_key;
}

static void at_k_label(const void *conf, char *out, size_t size) {
    static const char *const names[] = {"precision", "recall", "f1", "ndcg"};
    const at_k_conf *c = conf;
    snprintf(out, size, "group_%s@%lld", names[c->measure], (long long)c->top_k);
}

static cr_code reserve(at_rows *rows, int64_t more, cr_err *err) {
    if (rows->n + more <= rows->cap) return CR_OK;
    int64_t cap = rows->cap + rows->cap / 2 + more + 1024;
    void *p;
    CR_TRY(cr_try_alloc(&p, (size_t)cap * sizeof(at_row), "rows of group_at_k", err));
    if (rows->n) memcpy(p, rows->v, (size_t)rows->n * sizeof(at_row));
    cr_free(rows->v);
    rows->v = p;
    rows->cap = cap;
    return CR_OK;
}

static cr_code at_k_update(cr_metric *m, const cr_metric_in *in, cr_err *err) {
    at_rows *rows = m->rows;
    int64_t K = in->K;
    if (!in->group) CR_BUG("group_at_k without group keys");
    CR_TRY(reserve(rows, in->n_rows, err));
    for (int64_t i = 0; i < in->n_rows; i++) {
        const float *p = in->pred + i * in->pred_stride;
        float y = in->label[i];
        if (!(y < (float)K) || y != floorf(y))
            return cr_metric_bad_label("group_at_k", rows->n, (double)y, K, err);
        int64_t label = y < 0 ? -1 : (int64_t)y, place = 1;
        for (int64_t k = 0; k < K; k++) {
            if (isnan(p[k])) return cr_metric_nan("group_at_k", rows->n, err);
            if (label >= 0) place += p[k] > p[label] || (k < label && p[k] == p[label]);
        }
        rows->v[rows->n++] = (at_row){in->group[i], label >= 0 && place <= m->top_k ? place : 0};
    }
    return CR_OK;
}

static void at_k_pack(const cr_metric *m, cr_buf *out) {
    cr_buf_add(out, m->rows->v, (size_t)m->rows->n * sizeof(at_row));
}

static cr_code at_k_merge(cr_metric *m, const void *state, size_t size, cr_err *err) {
    at_rows *r = m->rows;
    int64_t n = (int64_t)(size / sizeof(at_row));
    CR_TRY(cr_metric_fits("group_at_k", size % sizeof(at_row) == 0, err));
    CR_TRY(reserve(r, n, err));
    if (n > 0) memcpy(r->v + r->n, state, size);
    r->n += n;
    return CR_OK;
}

static int by_group(const void *a, const void *b) {
    const at_row *x = a, *y = b;
    if (x->group != y->group) return x->group < y->group ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

static double gain(int64_t place) {
    return 1 / log2((double)place + 1);
}

static double at_k_value(const cr_metric *m) {
    at_rows *rows = m->rows;
    int64_t found = 0, groups = 0;
    double shares = 0, gains = 0;
    if (rows->n == 0) return NAN;
    qsort(rows->v, (size_t)rows->n, sizeof *rows->v, by_group);
    for (int64_t i = 0, end; i < rows->n; i = end, groups++) {
        int64_t here = 0;
        double sum = 0, best = 0;
        for (end = i; end < rows->n && rows->v[end].group == rows->v[i].group; end++) {
            if (end - i < m->top_k) best += gain(end - i + 1);
            if (rows->v[end].place == 0) continue;
            here++;
            sum += gain(rows->v[end].place);
        }
        found += here;
        shares += (double)here / (double)(end - i);
        gains += sum / best;
    }
    double precision = (double)found / ((double)groups * (double)m->top_k);
    double recall = shares / (double)groups;
    switch (m->what) {
    case PRECISION: return precision;
    case RECALL: return recall;
    case NDCG: return gains / (double)groups;
    case F1: break;
    }
    return found ? 2 * precision * recall / (precision + recall) : 0;
}

const cr_metric_type cr_metric_group_at_k = {
    .name = "group_at_k",
    .wants_classes = true,
    .group_key = at_k_group_key,
    .label = at_k_label,
    .new_ = at_k_new,
    .free_ = at_k_free,
    .reset = at_k_reset,
    .update = at_k_update,
    .value = at_k_value,
    .pack = at_k_pack,
    .merge = at_k_merge,
};
