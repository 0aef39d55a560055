/*
 * place.c - how far up the label stands among the classes: ndcg_at_k and mean_reciprocal_rank.
 *
 * The classes of a row are sorted by their scores; of equal ones the lower number comes first, as
 * in accuracy. With the label at place r, counted from 1, the reciprocal rank is 1 / r, and the
 * discounted gain is 1 / log2(r + 1) where r is at most k, else 0; since a row has one right class,
 * that is already divided by the best possible gain. Sums are exact, as in error.c.
 */
#include "metric/metric.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "metric/check_int.h"
#include "metric/list.h"

typedef struct ndcg_conf {
    cr_conf_base base;
    int64_t top_k;
} ndcg_conf;
static const cr_field ndcg_fields[] = {
    CR_INT(ndcg_conf, top_k, 10, 1, CR_U32_MAX, CR_F_OURS, "places that count"),
    CR_END,
};
const cr_msg cr_metric_ndcg_at_k_msg = {
    .name = "NdcgAtK",
    .help = "Discounted gain of the label's place among the classes",
    .ours = true,
    .fields = ndcg_fields,
    .size = sizeof(ndcg_conf),
};
const cr_msg cr_metric_mean_reciprocal_rank_msg = {
    .name = "MeanReciprocalRank",
    .help = "Mean of 1 by the label's place among the classes",
    .ours = true,
    .fields = cr_no_fields,
    .size = sizeof(cr_metric_plain_conf),
};

struct cr_metric {
    const char *name;
    int64_t top_k; /* 0: the reciprocal rank */
    int64_t n_rows;
    cr_exact sum;
};

static cr_code make(cr_metric **out, const char *name, int64_t top_k, int64_t K, cr_err *err) {
    CR_TRY(cr_metric_many_classes(name, K, "auc", err));
    cr_metric *m = cr_alloc(sizeof *m, name);
    m->name = name;
    m->top_k = top_k;
    *out = m;
    return CR_OK;
}

static cr_code ndcg_new(cr_metric **out, const void *conf, int64_t K, cr_err *err) {
    return make(out, "ndcg_at_k", ((const ndcg_conf *)conf)->top_k, K, err);
}

static cr_code mrr_new(cr_metric **out, const void *conf, int64_t K, cr_err *err) {
    (void)conf;
    return make(out, "mean_reciprocal_rank", 0, K, err);
}

static void ndcg_label(const void *conf, char *out, size_t size) {
    snprintf(out, size, "ndcg@%lld", (long long)((const ndcg_conf *)conf)->top_k);
}

static void mrr_label(const void *conf, char *out, size_t size) {
    (void)conf;
    snprintf(out, size, "mrr");
}

static void place_free(cr_metric *m) {
    cr_free(m);
}

static void place_reset(cr_metric *m) {
    m->n_rows = 0;
    cr_exact_reset(&m->sum);
}

static cr_code place_update(cr_metric *m, const cr_metric_in *in, cr_err *err) {
    int64_t K = in->K;
    for (int64_t i = 0; i < in->n_rows; i++, m->n_rows++) {
        const float *p = in->pred + i * in->pred_stride;
        float y = in->label[i];
        if (!(y >= 0 && y < (float)K) || y != floorf(y))
            return cr_metric_bad_label(m->name, m->n_rows, (double)y, K, err);
        int64_t label = (int64_t)y, place = 1;
        for (int64_t k = 0; k < K; k++) {
            if (isnan(p[k])) return cr_metric_nan(m->name, m->n_rows, err);
            place += p[k] > p[label] || (k < label && p[k] == p[label]);
        }
        if (m->top_k == 0)
            cr_exact_add(&m->sum, 1.0 / (double)place);
        else if (place <= m->top_k)
            cr_exact_add(&m->sum, 1.0 / log2((double)place + 1));
    }
    return CR_OK;
}

static double place_value(const cr_metric *m) {
    return m->n_rows ? cr_exact_value(&m->sum) / (double)m->n_rows : NAN;
}

typedef struct packed {
    int64_t n_rows;
    cr_exact sum;
} packed;

static void place_pack(const cr_metric *m, cr_buf *out) {
    packed s;
    memset(&s, 0, sizeof s);
    s.n_rows = m->n_rows;
    s.sum = m->sum;
    cr_exact_settle(&s.sum);
    cr_buf_add(out, &s, sizeof s);
}

static cr_code place_merge(cr_metric *m, const void *state, size_t size, cr_err *err) {
    packed s;
    CR_TRY(cr_metric_fits(m->name, size == sizeof s, err));
    memcpy(&s, state, sizeof s);
    m->n_rows += s.n_rows;
    cr_exact_join(&m->sum, &s.sum);
    return CR_OK;
}

const cr_metric_type cr_metric_ndcg_at_k = {
    .name = "ndcg_at_k",
    .wants_classes = true,
    .label = ndcg_label,
    .new_ = ndcg_new,
    .free_ = place_free,
    .reset = place_reset,
    .update = place_update,
    .value = place_value,
    .pack = place_pack,
    .merge = place_merge,
};

const cr_metric_type cr_metric_mean_reciprocal_rank = {
    .name = "mean_reciprocal_rank",
    .wants_classes = true,
    .label = mrr_label,
    .new_ = mrr_new,
    .free_ = place_free,
    .reset = place_reset,
    .update = place_update,
    .value = place_value,
    .pack = place_pack,
    .merge = place_merge,
};
