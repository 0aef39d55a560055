/*
 * gxauc.c - grouped XAUC: XAUC inside each group of more than one row, then the mean over groups
 * weighted by their rows.
 *
 * All pairs of a group with at most max_pairs_per_group pairs are counted. From a larger group that
 * many pairs are drawn, pair k from (group, k) over the group's rows sorted by label and score. So
 * the value does not depend on the order in which the rows came.
 */
#include "metric/metric.h"

#include "base/mem.h"
#include "base/rng.h"
#include "metric/check_int.h"
#include "metric/list.h"
#include "metric/pairs_int.h"

typedef struct grouped_xauc_conf {
    cr_conf_base base;
    const char *grouping_key;
    uint64_t max_pairs_per_group; /* 0: all pairs */
} grouped_xauc_conf;
static const cr_field grouped_xauc_fields[] = {
    CR_STR(grouped_xauc_conf, grouping_key, NULL, CR_F_REQUIRED, CR_HELP_GROUP_KEY),
    CR_UINT64(grouped_xauc_conf, max_pairs_per_group, 100, 0,
              "most pairs per group; larger groups are sampled down to this number; 0: all pairs"),
    CR_END,
};
const cr_msg cr_metric_grouped_xauc_msg = {
    .name = "GroupedXAUC",
    .help = "Mean XAUC of groups of rows, weighted by their rows",
    .fields = grouped_xauc_fields,
    .size = sizeof(grouped_xauc_conf),
};

#define DRAW_KEY 0x67786175U
#define MIN_CAP  4096

typedef struct grow {
    uint64_t group;
    uint64_t row; /* as cr_pair_row makes it */
} grow;
typedef struct grows {
    grow *v, *scratch;
    int64_t n, cap;
} grows;

struct cr_metric {
    grows *rows; /* a separate struct, because computing the value sorts them */
    uint64_t max_pairs;
};

static void gxauc_free(cr_metric *m) {
    if (!m) return;
    cr_free(m->rows->v);
    cr_free(m->rows->scratch);
    cr_free(m->rows);
    cr_free(m);
}

static cr_code gxauc_new(cr_metric **out, const void *conf, int64_t K, cr_err *err) {
    CR_TRY(cr_metric_two_classes("grouped_xauc", K, err));
    cr_metric *m = cr_alloc(sizeof *m, "grouped_xauc");
    m->rows = cr_alloc(sizeof *m->rows, "grouped_xauc");
    m->max_pairs = ((const grouped_xauc_conf *)conf)->max_pairs_per_group;
    *out = m;
    return CR_OK;
}

static void gxauc_reset(cr_metric *m) {
    m->rows->n = 0;
}

static cr_code reserve(grows *r, int64_t more, cr_err *err) {
    if (r->n + more <= r->cap) return CR_OK;
    int64_t cap = r->cap ? r->cap + r->cap / 2 : MIN_CAP;
    if (cap < r->n + more) cap = r->n + more;
    void *v, *scratch;
    CR_TRY(cr_try_alloc(&v, (size_t)cap * sizeof(grow), "rows of grouped_xauc", err));
    cr_code e = cr_try_alloc(&scratch, (size_t)cap * sizeof(grow), "rows of grouped_xauc", err);
    if (e != CR_OK) {
        cr_free(v);
        return e;
    }
    if (r->n) memcpy(v, r->v, (size_t)r->n * sizeof(grow));
    cr_free(r->v);
    cr_free(r->scratch);
    *r = (grows){v, scratch, r->n, cap};
    return CR_OK;
}

static cr_code gxauc_update(cr_metric *m, const cr_metric_in *in, cr_err *err) {
    grows *r = m->rows;
    if (!in->group) CR_BUG("grouped_xauc without group keys");
    CR_TRY(reserve(r, in->n_rows, err));
    const float *score = cr_metric_score(in);
    for (int64_t i = 0; i < in->n_rows; i++) {
        float p = score[i * in->pred_stride];
        if (isnan(p)) return cr_metric_nan("grouped_xauc", r->n, err);
        r->v[r->n++] = (grow){(uint64_t)in->group[i], cr_pair_row(in->label[i], p)};
    }
    return CR_OK;
}

static void gxauc_pack(const cr_metric *m, cr_buf *out) {
    cr_buf_add(out, m->rows->v, (size_t)m->rows->n * sizeof(grow));
}

static cr_code gxauc_merge(cr_metric *m, const void *state, size_t size, cr_err *err) {
    grows *r = m->rows;
    int64_t n = (int64_t)(size / sizeof(grow));
    CR_TRY(cr_metric_fits("grouped_xauc", size % sizeof(grow) == 0, err));
    CR_TRY(reserve(r, n, err));
    if (n > 0) memcpy(r->v + r->n, state, size);
    r->n += n;
    return CR_OK;
}

/* sort_groups sorts by group and is stable; it skips bytes that are equal in all keys. */
static void sort_groups(grows *r) {
    uint64_t any = 0, all = ~(uint64_t)0;
    for (int64_t i = 0; i < r->n; i++) {
        any |= r->v[i].group;
        all &= r->v[i].group;
    }
    for (int shift = 0; shift < 64; shift += 8) {
        if ((((any & ~all) >> shift) & 255) == 0) continue;
        int64_t at[256] = {0}, sum = 0;
        for (int64_t i = 0; i < r->n; i++) {
            at[(r->v[i].group >> shift) & 255]++;
        }
        for (int d = 0; d < 256; d++) {
            int64_t count = at[d];
            at[d] = sum;
            sum += count;
        }
        for (int64_t i = 0; i < r->n; i++) {
            r->scratch[at[(r->v[i].group >> shift) & 255]++] = r->v[i];
        }
        grow *t = r->v;
        r->v = r->scratch;
        r->scratch = t;
    }
}

/* group_value returns the XAUC of the n rows from `first` on. */
static double group_value(const cr_metric *m, int64_t first, int64_t n) {
    grows *r = m->rows;
    uint64_t *row = (uint64_t *)(r->scratch + first); /* has room for 2 n numbers */
    for (int64_t i = 0; i < n; i++) {
        row[i] = r->v[first + i].row;
    }
    double all = (double)n * (double)(n - 1) / 2;
    if (m->max_pairs == 0 || all <= (double)m->max_pairs) {
        return (double)cr_pairs_right(row, row + n, n) / all;
    }
    cr_pairs_sort(row, row + n, n);
    uint64_t key = cr_rng_sub(DRAW_KEY, r->v[first].group);
    return (double)cr_pairs_drawn(row, n, m->max_pairs, key) / (double)m->max_pairs;
}

static double gxauc_value(const cr_metric *m) {
    grows *r = m->rows;
    sort_groups(r);
    double sum = 0, weight = 0;
    for (int64_t i = 0, end; i < r->n; i = end) {
        for (end = i + 1; end < r->n && r->v[end].group == r->v[i].group;) {
            end++;
        }
        if (end - i < 2) continue;
        sum += group_value(m, i, end - i) * (double)(end - i);
        weight += (double)(end - i);
    }
    return weight > 0 ? sum / weight : NAN;
}

static const char *group_key(const void *conf) {
    return ((const grouped_xauc_conf *)conf)->grouping_key;
}

const cr_metric_type cr_metric_grouped_xauc = {
    .name = "grouped_xauc",
    .group_key = group_key,
    .wants_value = true,
    .new_ = gxauc_new,
    .free_ = gxauc_free,
    .reset = gxauc_reset,
    .update = gxauc_update,
    .value = gxauc_value,
    .pack = gxauc_pack,
    .merge = gxauc_merge,
};
