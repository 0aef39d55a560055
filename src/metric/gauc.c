/*
 * gauc.c - grouped AUC: the exact AUC inside each group (a user, a query), then the mean over the
 * groups that have both classes, plain or weighted by their rows. And grouped_place: the mean over
 * groups of how far up their rows with label 1 stand, among all rows of the group.
 *
 * Every row is kept (16 bytes) until the value is asked for; then rows are sorted by group and
 * score in place, byte by byte from the top, which needs no second copy. Groups are added up in the
 * order of their keys, so neither the order of rows nor the batches matter.
 */
#include "metric/metric.h"

#include <stdio.h>

#include "base/mem.h"
#include "metric/check_int.h"
#include "metric/list.h"
#include "metric/rank_int.h"

typedef struct grouped_auc_conf {
    cr_conf_base base;
    const char *grouping_key;
    bool weighted; /* only crank has it: weighted by rows; else the plain mean over groups */
} grouped_auc_conf;
static const cr_field grouped_auc_fields[] = {
    CR_STR(grouped_auc_conf, grouping_key, NULL, CR_F_REQUIRED, CR_HELP_GROUP_KEY),
    CR_BOOL(grouped_auc_conf, weighted, false, CR_F_OURS,
            "weight each group by its number of rows; false: the plain mean"),
    CR_END,
};
const cr_msg cr_metric_grouped_auc_msg = {
    .name = "GroupedAUC",
    .help = "Mean AUC of groups of rows",
    .fields = grouped_auc_fields,
    .size = sizeof(grouped_auc_conf),
};

typedef struct gauc_row {
    uint64_t group; /* any fixed order of the keys will do */
    uint64_t score; /* cr_rank_key * 2 + label: 33 bits */
} gauc_row;
typedef struct gauc_rows {
    gauc_row *v;
    int64_t n, cap;
} gauc_rows;

struct cr_metric {
    const char *name;
    gauc_rows *rows; /* a separate struct, because computing the value sorts them */
    bool weighted;
    int64_t top_k; /* grouped_place: places that count, 0: 1 by the place */
};

#define N_BYTES      13 /* bytes of a row's key: 8 of the group, then 5 of the score */
#define SMALL        32
#define MIN_ROWS_CAP 4096

static unsigned byte_of(const gauc_row *r, int level) {
    uint64_t x = level < 8 ? r->group >> (56 - 8 * level) : r->score >> (32 - 8 * (level - 8));
    return (unsigned)(x & 255);
}

static bool less(const gauc_row *a, const gauc_row *b) {
    return a->group != b->group ? a->group < b->group : a->score < b->score;
}

static void insertion_sort(gauc_row *v, int64_t n) {
    for (int64_t i = 1; i < n; i++) {
        gauc_row x = v[i];
        int64_t j = i;
        for (; j > 0 && less(&x, &v[j - 1]); j--) {
            v[j] = v[j - 1];
        }
        v[j] = x;
    }
}

static void radix_sort(gauc_row *v, int64_t n, int level) {
    while (level < N_BYTES && n > SMALL) {
        int64_t start[257] = {0}, at[256];
        for (int64_t i = 0; i < n; i++) {
            start[byte_of(&v[i], level) + 1]++;
        }
        for (int b = 0; b < 256; b++) {
            at[b] = start[b];
            start[b + 1] += start[b];
        }
        for (int b = 0; b < 256; b++) {
            while (at[b] < start[b + 1]) {
                unsigned to = byte_of(&v[at[b]], level);
                if (to == (unsigned)b) {
                    at[b]++;
                    continue;
                }
                gauc_row x = v[at[b]];
                v[at[b]] = v[at[to]];
                v[at[to]++] = x;
            }
        }
        /* equal leading bytes are common: go down without a call */
        unsigned first = byte_of(&v[0], level++);
        if (start[first + 1] - start[first] == n) continue;
        for (int b = 0; b < 256; b++) {
            radix_sort(v + start[b], start[b + 1] - start[b], level);
        }
        return;
    }
    if (n <= SMALL) insertion_sort(v, n);
}

static void gauc_free(cr_metric *m) {
    if (!m) return;
    cr_free(m->rows->v);
    cr_free(m->rows);
    cr_free(m);
}

static cr_code make(cr_metric **out, const char *name, int64_t K, cr_err *err) {
    CR_TRY(cr_metric_two_classes(name, K, err));
    cr_metric *m = cr_alloc(sizeof *m, name);
    m->rows = cr_alloc(sizeof *m->rows, name);
    m->name = name;
    *out = m;
    return CR_OK;
}

static cr_code gauc_new(cr_metric **out, const void *conf, int64_t K, cr_err *err) {
    CR_TRY(make(out, "grouped_auc", K, err));
    (*out)->weighted = ((const grouped_auc_conf *)conf)->weighted;
    return CR_OK;
}

static void gauc_reset(cr_metric *m) {
    m->rows->n = 0;
}

static cr_code reserve(gauc_rows *rows, int64_t more, cr_err *err) {
    if (rows->n + more <= rows->cap) return CR_OK;
    int64_t cap = rows->cap ? rows->cap + rows->cap / 2 : MIN_ROWS_CAP;
    if (cap < rows->n + more) cap = rows->n + more;
    void *p;
    CR_TRY(cr_try_alloc(&p, (size_t)cap * sizeof(gauc_row), "rows of grouped_auc", err));
    if (rows->n) memcpy(p, rows->v, (size_t)rows->n * sizeof(gauc_row));
    cr_free(rows->v);
    rows->v = p;
    rows->cap = cap;
    return CR_OK;
}

static cr_code gauc_update(cr_metric *m, const cr_metric_in *in, cr_err *err) {
    gauc_rows *rows = m->rows;
    if (!in->group) CR_BUG("a metric of groups without group keys");
    CR_TRY(reserve(rows, in->n_rows, err));
    const float *score = cr_metric_score(in);
    for (int64_t i = 0; i < in->n_rows; i++) {
        float p = score[i * in->pred_stride], y = in->label[i];
        if (isnan(p)) return cr_metric_nan(m->name, rows->n, err);
        if (y != 0 && y != 1) {
            return cr_metric_bad_label(m->name, rows->n, (double)y, 2, err);
        }
        rows->v[rows->n++] = (gauc_row){.group = (uint64_t)in->group[i],
                                        .score = (uint64_t)cr_rank_key(p) * 2 + (y == 1)};
    }
    return CR_OK;
}

static void gauc_pack(const cr_metric *m, cr_buf *out) {
    cr_buf_add(out, m->rows->v, (size_t)m->rows->n * sizeof(gauc_row));
}

static cr_code gauc_merge(cr_metric *m, const void *state, size_t size, cr_err *err) {
    gauc_rows *r = m->rows;
    int64_t n = (int64_t)(size / sizeof(gauc_row));
    CR_TRY(cr_metric_fits(m->name, size % sizeof(gauc_row) == 0, err));
    CR_TRY(reserve(r, n, err));
    if (n > 0) memcpy(r->v + r->n, state, size);
    r->n += n;
    return CR_OK;
}

/* group_auc returns the AUC of n rows of one group, sorted by score; NaN when a class is
 * missing. */
static double group_auc(const gauc_row *v, int64_t n) {
    uint64_t n_pos = 0, n_neg = 0, twice = 0;
    for (int64_t i = 0; i < n;) {
        uint64_t key = v[i].score >> 1, pos = 0, neg = 0;
        for (; i < n && v[i].score >> 1 == key; i++) {
            pos += v[i].score & 1;
            neg += 1 - (v[i].score & 1);
        }
        twice += pos * (2 * n_neg + neg);
        n_pos += pos;
        n_neg += neg;
    }
    if (n_pos == 0 || n_neg == 0) return NAN;
    return (double)twice / (2.0 * (double)n_pos * (double)n_neg);
}

static double gauc_value(const cr_metric *m) {
    gauc_rows *rows = m->rows;
    radix_sort(rows->v, rows->n, 0);
    double sum = 0, weight = 0;
    for (int64_t i = 0, end; i < rows->n; i = end) {
        for (end = i + 1; end < rows->n && rows->v[end].group == rows->v[i].group;) {
            end++;
        }
        double auc = group_auc(rows->v + i, end - i);
        if (isnan(auc)) continue;
        double w = m->weighted ? (double)(end - i) : 1;
        sum += w * auc;
        weight += w;
    }
    return weight > 0 ? sum / weight : NAN;
}

static const char *group_key(const void *conf) {
    return ((const grouped_auc_conf *)conf)->grouping_key;
}

const cr_metric_type cr_metric_grouped_auc = {
    .name = "grouped_auc",
    .group_key = group_key,
    .new_ = gauc_new,
    .free_ = gauc_free,
    .reset = gauc_reset,
    .update = gauc_update,
    .value = gauc_value,
    .pack = gauc_pack,
    .merge = gauc_merge,
};

/* ---- grouped_place ---- */

typedef struct grouped_place_conf {
    cr_conf_base base;
    const char *grouping_key;
    int64_t top_k;
} grouped_place_conf;
static const cr_field grouped_place_fields[] = {
    CR_STR(grouped_place_conf, grouping_key, NULL, CR_F_REQUIRED | CR_F_OURS, CR_HELP_GROUP_KEY),
    CR_INT(grouped_place_conf, top_k, 0, 0, CR_U32_MAX, CR_F_OURS,
           "places that count for NDCG; 0: the mean of 1 by the place (MRR)"),
    CR_END,
};
const cr_msg cr_metric_grouped_place_msg = {
    .name = "GroupedPlace",
    .help = "How far up the rows with label 1 stand in their group: MRR, or NDCG",
    .ours = true,
    .fields = grouped_place_fields,
    .size = sizeof(grouped_place_conf),
};

static cr_code place_new(cr_metric **out, const void *conf, int64_t K, cr_err *err) {
    CR_TRY(make(out, "grouped_place", K, err));
    (*out)->top_k = ((const grouped_place_conf *)conf)->top_k;
    return CR_OK;
}

static const char *place_key(const void *conf) {
    return ((const grouped_place_conf *)conf)->grouping_key;
}

static void place_label(const void *conf, char *out, size_t size) {
    int64_t k = ((const grouped_place_conf *)conf)->top_k;
    if (k)
        snprintf(out, size, "grouped_ndcg@%lld", (long long)k);
    else
        snprintf(out, size, "grouped_mrr");
}

/* What a row at this place, from 1 on, adds. */
static double gain(const cr_metric *m, int64_t place) {
    if (m->top_k == 0) return 1 / (double)place;
    return place <= m->top_k ? 1 / log2((double)place + 1) : 0;
}

/* The value of n rows of one group, sorted by rising score; NaN when none has label 1. Of equal
 * scores those with label 0 stand first. */
static double group_place(const cr_metric *m, const gauc_row *v, int64_t n) {
    double sum = 0, best = 0;
    int64_t n_pos = 0;
    for (int64_t i = n - 1, from; i >= 0; i = from) {
        int64_t pos = 0;
        for (from = i; from >= 0 && v[from].score >> 1 == v[i].score >> 1; from--)
            pos += (int64_t)(v[from].score & 1);
        for (int64_t k = 0; k < pos; k++) {
            sum += gain(m, n - 1 - from - k);
            best += m->top_k ? gain(m, ++n_pos) : 1;
        }
    }
    return best > 0 ? sum / best : NAN;
}

static double place_value(const cr_metric *m) {
    gauc_rows *rows = m->rows;
    double sum = 0;
    int64_t groups = 0;
    radix_sort(rows->v, rows->n, 0);
    for (int64_t i = 0, end; i < rows->n; i = end) {
        for (end = i + 1; end < rows->n && rows->v[end].group == rows->v[i].group;)
            end++;
        double x = group_place(m, rows->v + i, end - i);
        if (isnan(x)) continue;
        sum += x;
        groups++;
    }
    return groups ? sum / (double)groups : NAN;
}

const cr_metric_type cr_metric_grouped_place = {
    .name = "grouped_place",
    .group_key = place_key,
    .label = place_label,
    .new_ = place_new,
    .free_ = gauc_free,
    .reset = gauc_reset,
    .update = gauc_update,
    .value = place_value,
    .pack = gauc_pack,
    .merge = gauc_merge,
};
