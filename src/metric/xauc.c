/*
 * xauc.c - XAUC: the share of pairs of rows whose predictions are in the order of their labels. It
 * is for labels that are numbers (watch time); ties count as wrong.
 *
 * The exact form (the default) counts all pairs in n log n steps. `exact: false` draws pairs as
 * TorchEasyRec does (sample_ratio of n(n-1)/2, or max_pairs), pair k from a counter over the rows
 * sorted by label and score, so that the order in which they came does not matter. in_batch counts
 * all pairs inside each batch and takes the plain mean over batches; it is the only form that
 * depends on how rows were divided into batches. A training metric is always in_batch: the model
 * moves between batches, and the state is two numbers.
 */
#include "metric/metric.h"

#include "base/mem.h"
#include "metric/check_int.h"
#include "metric/list.h"
#include "metric/pairs_int.h"

typedef struct xauc_conf {
    cr_conf_base base;
    double sample_ratio; /* when not exact: the share of pairs to draw ... */
    uint64_t max_pairs;  /* ... or their number, when not 0 */
    bool in_batch;
    bool exact; /* only crank has it: all pairs */
} xauc_conf;
static const cr_field xauc_fields[] = {
    CR_FLOAT(xauc_conf, sample_ratio, 1e-3, 0, 1, 0,
             "share of the pairs that are drawn (exact: false)"),
    CR_UINT64(xauc_conf, max_pairs, 0, 0,
              "pairs that are drawn, instead of a share (exact: false); 0: by sample_ratio"),
    CR_BOOL(xauc_conf, in_batch, false, 0,
            "all pairs inside each batch, mean over batches; metrics of training always do this"),
    CR_BOOL(xauc_conf, exact, true, CR_F_OURS,
            "count every pair of rows; false: draw pairs as TorchEasyRec does"),
    CR_END,
};
const cr_msg cr_metric_xauc_msg = {
    .name = "XAUC",
    .help = "Share of pairs in the order of their labels",
    .fields = xauc_fields,
    .size = sizeof(xauc_conf),
};

#define DRAW_KEY 0x78617563U
#define MIN_CAP  4096

/* A separate struct, because computing the value sorts the rows. */
typedef struct xrows {
    uint64_t *v, *scratch;
    int64_t n, cap;
} xrows;

struct cr_metric {
    xrows *rows;
    bool in_batch, exact;
    double sample_ratio;
    uint64_t max_pairs;
    int64_t n_rows;
    cr_exact sum; /* for in_batch */
    int64_t n_batches;
};

static void xauc_free(cr_metric *m) {
    if (!m) return;
    cr_free(m->rows->v);
    cr_free(m->rows->scratch);
    cr_free(m->rows);
    cr_free(m);
}

static cr_code xauc_new(cr_metric **out, const void *conf, int64_t K, cr_err *err) {
    const xauc_conf *c = conf;
    CR_TRY(cr_metric_two_classes("xauc", K, err));
    cr_metric *m = cr_alloc(sizeof *m, "xauc");
    m->rows = cr_alloc(sizeof *m->rows, "xauc");
    m->in_batch = c->in_batch;
    m->exact = c->exact;
    m->sample_ratio = c->sample_ratio;
    m->max_pairs = c->max_pairs;
    *out = m;
    return CR_OK;
}

static cr_code train_new(cr_metric **out, const void *conf, int64_t K, cr_err *err) {
    CR_TRY(xauc_new(out, conf, K, err));
    (*out)->in_batch = true;
    return CR_OK;
}

static void xauc_reset(cr_metric *m) {
    m->rows->n = m->n_rows = 0;
    cr_exact_reset(&m->sum);
    m->n_batches = 0;
}

static cr_code reserve(xrows *r, int64_t more, cr_err *err) {
    if (r->n + more <= r->cap) return CR_OK;
    int64_t cap = r->cap ? r->cap + r->cap / 2 : MIN_CAP;
    if (cap < r->n + more) cap = r->n + more;
    void *v, *scratch;
    CR_TRY(cr_try_alloc(&v, (size_t)cap * sizeof(uint64_t), "rows of xauc", err));
    cr_code e = cr_try_alloc(&scratch, (size_t)cap * sizeof(uint64_t), "rows of xauc", err);
    if (e != CR_OK) {
        cr_free(v);
        return e;
    }
    if (r->n) memcpy(v, r->v, (size_t)r->n * sizeof(uint64_t));
    cr_free(r->v);
    cr_free(r->scratch);
    *r = (xrows){v, scratch, r->n, cap};
    return CR_OK;
}

static double n_pairs(int64_t n) {
    return (double)n * (double)(n - 1) / 2;
}

static cr_code xauc_update(cr_metric *m, const cr_metric_in *in, cr_err *err) {
    xrows *r = m->rows;
    CR_TRY(reserve(r, in->n_rows, err));
    const float *score = cr_metric_score(in);
    for (int64_t i = 0; i < in->n_rows; i++, m->n_rows++) {
        float p = score[i * in->pred_stride];
        if (isnan(p)) return cr_metric_nan("xauc", m->n_rows, err);
        r->v[r->n++] = cr_pair_row(in->label[i], p);
    }
    if (!m->in_batch) return CR_OK;
    if (r->n > 1) {
        cr_exact_add(&m->sum, (double)cr_pairs_right(r->v, r->scratch, r->n) / n_pairs(r->n));
        m->n_batches++;
    }
    r->n = 0;
    return CR_OK;
}

static double xauc_value(const cr_metric *m) {
    xrows *r = m->rows;
    if (m->in_batch) return m->n_batches > 0 ? cr_exact_value(&m->sum) / (double)m->n_batches : NAN;
    if (r->n < 2) return NAN;
    double all = n_pairs(r->n);
    double draw = m->max_pairs > 0 ? (double)m->max_pairs : floor(all * m->sample_ratio);
    if (m->exact || draw >= all) return (double)cr_pairs_right(r->v, r->scratch, r->n) / all;
    if (draw < 1) draw = 1;
    cr_pairs_sort(r->v, r->scratch, r->n);
    return (double)cr_pairs_drawn(r->v, r->n, (uint64_t)draw, DRAW_KEY) / draw;
}

static int64_t xauc_n_state(const cr_metric *m) {
    (void)m;
    return CR_EXACT_STATE + 1;
}

static void xauc_get(const cr_metric *m, double *out) {
    cr_exact_get(&m->sum, out);
    out[CR_EXACT_STATE] = (double)m->n_batches;
}

static void xauc_set(cr_metric *m, const double *in) {
    cr_exact_set(&m->sum, in);
    m->n_batches = (int64_t)in[CR_EXACT_STATE];
}

/* The results of the batches, then the rows. */
typedef struct xstate {
    cr_exact sum;
    int64_t n_batches, n_rows;
} xstate;

static void xauc_pack(const cr_metric *m, cr_buf *out) {
    xstate s = {m->sum, m->n_batches, m->n_rows};
    cr_buf_add(out, &s, sizeof s);
    cr_buf_add(out, m->rows->v, (size_t)m->rows->n * sizeof(uint64_t));
}

static cr_code xauc_merge(cr_metric *m, const void *state, size_t size, cr_err *err) {
    xstate s;
    CR_TRY(
        cr_metric_fits("xauc", size >= sizeof s && (size - sizeof s) % sizeof(uint64_t) == 0, err));
    memcpy(&s, state, sizeof s);
    int64_t n = (int64_t)((size - sizeof s) / sizeof(uint64_t));
    CR_TRY(reserve(m->rows, n, err));
    if (n > 0) memcpy(m->rows->v + m->rows->n, (const char *)state + sizeof s, size - sizeof s);
    m->rows->n += n;
    cr_exact_join(&m->sum, &s.sum);
    m->n_batches += s.n_batches;
    m->n_rows += s.n_rows;
    return CR_OK;
}

const cr_metric_type cr_metric_xauc = {
    .name = "xauc",
    .wants_value = true,
    .new_ = xauc_new,
    .free_ = xauc_free,
    .reset = xauc_reset,
    .update = xauc_update,
    .value = xauc_value,
    .pack = xauc_pack,
    .merge = xauc_merge,
    .whole_batch = true,
};

const cr_metric_type cr_metric_train_xauc = {
    .name = "xauc",
    .wants_value = true,
    .new_ = train_new,
    .free_ = xauc_free,
    .reset = xauc_reset,
    .update = xauc_update,
    .value = xauc_value,
    .pack = xauc_pack,
    .merge = xauc_merge,
    .whole_batch = true,
    .n_state = xauc_n_state,
    .get = xauc_get,
    .set = xauc_set,
};
