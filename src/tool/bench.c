/*
 * bench.c - parts that benchmarks share: their list, the report, repeated timing, batches held in
 * memory.
 */
#include "tool/bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "job/placing.h"
#include "tool/bench_int.h"

#define MAX_CALLS ((int64_t)1 << 20)
#define WINDOW    0.5
#define GRACE     0.25 /* seconds that are added so that three calls fit */

const cr_bench_kind cr_bench_kinds[] = {
    {"train", "the training step: rows/s, time per part, share of the limit", true, cr_bench_train},
    {"predict", "the same model without training: forward passes alone", true, cr_bench_predict},
    {"read", "reading files into columns", true, cr_bench_read},
    {"features", "reading files into batches of features", true, cr_bench_features},
    {"lookup", "lookups and updates of the model's tables", true, cr_bench_lookup},
    {"gemm", "each matrix product of the model, with each set of kernels", true, cr_bench_gemm},
    {"limits", "what this machine can do: memory, random rows, multiply-adds", false,
     cr_bench_limits},
    {NULL, NULL, false, NULL}};

cr_code cr_bench_run(const cr_bench_opts *o, cr_bench *out, cr_diag *diag) {
    memset(out, 0, sizeof(*out));
    cr_arena_init(&out->arena, 0);
    for (const cr_bench_kind *k = cr_bench_kinds; k->name; k++)
        if (strcmp(k->name, o->what) == 0) return k->run(o, out, diag);
    CR_BUG("unknown benchmark");
}

void cr_bench_clear(cr_bench *b) {
    cr_arena_clear(&b->arena);
}

void cr_bench_add(cr_bench *b, const char *key, double value, const char *unit) {
    if (b->n == CR_BENCH_FACTS) CR_BUG("too many figures");
    b->v[b->n++] = (cr_bench_fact){key, unit, value};
}

cr_bench_row *cr_bench_row_new(cr_bench *b, const char *name) {
    if (b->n_rows == b->cap_rows) {
        int cap = b->cap_rows ? 2 * b->cap_rows : 16;
        cr_bench_row *v = CR_NEW_N(&b->arena, cr_bench_row, cap);
        if (b->n_rows) memcpy(v, b->rows, (size_t)b->n_rows * sizeof(*v));
        b->rows = v;
        b->cap_rows = cap;
    }
    cr_bench_row *r = &b->rows[b->n_rows++];
    *r = (cr_bench_row){.name = cr_arena_strdup(&b->arena, name)};
    return r;
}

void cr_bench_row_add(cr_bench_row *r, const char *key, double value, const char *unit) {
    if (r->n == (int)(sizeof(r->v) / sizeof(r->v[0]))) CR_BUG("too many figures");
    r->v[r->n++] = (cr_bench_fact){key, unit, value};
}

/* ---- time ---- */

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

cr_code cr_bench_repeat(double seconds, cr_bench_fn fn, void *ctx, cr_bench_time *out,
                        cr_err *err) {
    return cr_bench_repeat_all(NULL, seconds, fn, ctx, out, err);
}

cr_code cr_bench_repeat_all(cr_comm *comm, double seconds, cr_bench_fn fn, void *ctx,
                            cr_bench_time *out, cr_err *err) {
    double *per = cr_alloc((size_t)MAX_CALLS * sizeof(double), "times"), start = cr_now();
    int64_t n = 0, from = 0;
    cr_code code = fn(ctx, 0, err); /* warms up pages, caches and the clock frequency */
    *out = (cr_bench_time){.best = INFINITY};
    double sum = 0;
    while (code == CR_OK && n < MAX_CALLS) {
        double t0 = cr_now();
        bool enough = n > 0 && t0 - start >= (n < 3 ? 4 * seconds + GRACE : seconds);
        if (comm) cr_comm_share(comm, &enough, sizeof enough, 0);
        if (enough) break;
        code = fn(ctx, n + 1, err);
        per[n] = cr_now() - t0;
        sum += per[n++];
        while (n - from > 1 && sum - per[from] >= WINDOW)
            sum -= per[from++];
        if (sum >= WINDOW && sum / (double)(n - from) < out->best)
            out->best = sum / (double)(n - from);
    }
    if (code == CR_OK) {
        if (!isfinite(out->best)) out->best = sum / (double)(n - from); /* too short for a window */
        qsort(per, (size_t)n, sizeof(double), by_value);
        out->median = per[n / 2];
        if (out->median < out->best) out->best = out->median;
        out->calls = n;
    }
    cr_free(per);
    return code;
}

void cr_bench_window_begin(cr_bench_windows *w, double seconds) {
    double length = seconds / 8 < WINDOW ? seconds / 8 : WINDOW;
    /* no more windows than there is room for */
    w->length = length > seconds / 400 ? length : seconds / 400;
    w->begin = cr_now();
    w->rows = 0;
    w->n = 0;
}

void cr_bench_window_add(cr_bench_windows *w, double rows) {
    double now = cr_now();
    w->rows += rows;
    if (now - w->begin < w->length || w->n == CR_BENCH_WINDOWS) return;
    w->v[w->n++] = w->rows / (now - w->begin);
    w->begin = now;
    w->rows = 0;
}

void cr_bench_window_rates(cr_bench_windows *w, double *best, double *median) {
    if (w->n == 0) {
        double t = cr_now() - w->begin;
        *best = *median = t > 0 ? w->rows / t : 0;
        return;
    }
    qsort(w->v, (size_t)w->n, sizeof(double), by_value);
    *best = w->v[w->n - 1];
    *median = (w->v[(w->n - 1) / 2] + w->v[w->n / 2]) / 2;
}

/* ---- batches in memory ---- */

static const int32_t *keep_ints(cr_arena *a, const int32_t *v, int64_t n) {
    int32_t *to = CR_NEW_N(a, int32_t, n);
    memcpy(to, v, (size_t)n * sizeof(*to));
    return to;
}

/* Copies a batch, so that it lives as long as the arena. */
static cr_batch *keep(const cr_batch *b, cr_arena *a) {
    cr_batch *c = CR_NEW(a, cr_batch);
    *c = *b;
    c->n_reserved = 0;
    c->sparse = CR_NEW_N(a, cr_jagged, b->n_sparse + 1);
    for (int i = 0; i < b->n_sparse; i++) {
        const cr_jagged *j = &b->sparse[i];
        int64_t bags = j->steps ? j->steps[b->n_rows] : b->n_rows;
        int64_t n = j->off ? j->off[bags] : bags;
        int64_t *ids = CR_NEW_N(a, int64_t, n + 1);
        memcpy(ids, j->ids, (size_t)n * sizeof(int64_t));
        c->sparse[i] = (cr_jagged){.ids = ids, .n_ids = n};
        if (j->steps) c->sparse[i].steps = keep_ints(a, j->steps, b->n_rows + 1);
        if (j->off) c->sparse[i].off = keep_ints(a, j->off, bags + 1);
        if (j->w) {
            float *w = CR_NEW_N(a, float, n + 1);
            memcpy(w, j->w, (size_t)n * sizeof(float));
            c->sparse[i].w = w;
        }
    }
    c->dense_seq = CR_NEW_N(a, cr_dense_seq, b->n_dense_seq + 1);
    for (int i = 0; i < b->n_dense_seq; i++) {
        const cr_dense_seq *d = &b->dense_seq[i];
        int64_t n = d->steps[b->n_rows] * d->width;
        float *v = CR_NEW_N(a, float, n + 1);
        if (n) memcpy(v, d->v, (size_t)n * sizeof(float));
        c->dense_seq[i] = (cr_dense_seq){keep_ints(a, d->steps, b->n_rows + 1), v, d->width};
    }
    float *dense = CR_NEW_N(a, float, b->n_rows * b->dense_width + 1);
    if (b->dense_width)
        memcpy(dense, b->dense, (size_t)(b->n_rows * b->dense_width) * sizeof(float));
    c->dense = dense;
    const float **cols[2] = {CR_NEW_N(a, const float *, b->n_labels + 1),
                             CR_NEW_N(a, const float *, b->n_weights + 1)};
    for (int i = 0; i < b->n_labels + b->n_weights; i++) {
        bool label = i < b->n_labels;
        float *y = CR_NEW_N(a, float, b->n_rows + 1);
        memcpy(y, label ? b->labels[i] : b->weights[i - b->n_labels],
               (size_t)b->n_rows * sizeof(float));
        cols[!label][label ? i : i - b->n_labels] = y;
    }
    c->labels = cols[0];
    c->weights = cols[1];
    return c;
}

static int64_t bytes_of(const cr_batch *b) {
    int64_t n = b->n_rows * (b->dense_width + b->n_labels + b->n_weights) * 4;
    for (int i = 0; i < b->n_sparse; i++) {
        const cr_jagged *j = &b->sparse[i];
        int64_t bags = j->steps ? j->steps[b->n_rows] : b->n_rows;
        n += j->n_ids * (j->w ? 12 : 8) + (j->off ? (bags + 1) * 4 : 0) +
             (j->steps ? (b->n_rows + 1) * 4 : 0);
    }
    for (int i = 0; i < b->n_dense_seq; i++)
        n += (b->n_rows + 1 + b->dense_seq[i].steps[b->n_rows] * b->dense_seq[i].width) * 4;
    return n;
}

static cr_code read_batches(cr_bench_data *d, int max, cr_diag *diag) {
    cr_job_data jd = {.paths = d->j.root->train_input_path,
                      .key = "train_input_path",
                      .batch_size = d->batch_size,
                      .n_epochs = 1,
                      .drop_remainder = true};
    cr_loader *l = NULL;
    cr_err err;
    cr_code code = cr_job_loader(&d->j, &jd, &l, diag);
    d->v = CR_NEW_N(&d->arena, cr_batch *, max);
    for (bool done = false; code == CR_OK && !done && d->n < max;) {
        cr_batch *b;
        code = cr_loader_next(l, &b, &done, &err);
        if (code != CR_OK) {
            cr_diag_err(diag, &err);
        } else if (b) {
            d->v[d->n++] = keep(b, &d->arena);
            d->batches_bytes += bytes_of(d->v[d->n - 1]);
            cr_loader_release(l, b);
        }
    }
    cr_loader_free(l);
    if (code != CR_OK || d->n > 0) return code;
    return cr_diag_err(diag, (cr_fail(&err, CR_EDATA,
                                      "the training data has no full batch of %lld rows; lower "
                                      "data_config.%sbatch_size",
                                      (long long)jd.batch_size, d->train ? "" : "eval_"),
                              &err));
}

cr_code cr_bench_open(cr_bench_data *d, const cr_bench_opts *o, bool train, int max,
                      cr_diag *diag) {
    memset(d, 0, sizeof(*d));
    cr_arena_init(&d->arena, (size_t)1 << 20);
    d->train = train;
    cr_err err;
    cr_job_opts jo = {.config = &o->config,
                      .threads = o->threads,
                      .train = train,
                      .with_labels = train,
                      .comm = o->comm};
    CR_TRY(cr_job_open(&d->j, &jo, diag));
    d->batch_size = train ? d->j.batch : cr_job_eval_batch(&d->j);
    CR_TRY(cr_job_placings(&d->j, diag));
    double t0 = cr_now();
    if (cr_job_alloc(&d->j, &err) != CR_OK) return cr_diag_err(diag, &err);
    if (cr_model_work_new(&d->axes, d->j.model, NULL, NULL, &err) != CR_OK)
        return cr_diag_err(diag, &err);
    cr_model_fill(d->j.model, d->j.root->train_config->seed, d->j.pool);
    d->tables_ready = cr_now() - t0;
    return max > 0 ? read_batches(d, max, diag) : CR_OK;
}

void cr_bench_close(cr_bench_data *d) {
    cr_model_work_free(d->axes);
    cr_job_close(&d->j);
    cr_arena_clear(&d->arena);
}

/* ---- memory ---- */

void cr_bench_add_memory(cr_bench *out, const cr_bench_data *d) {
    const cr_model *m = d->j.model;
    int64_t weights, with_state, dense;
    cr_model_bytes(m, NULL, &weights, &dense);
    cr_model_bytes(m, d->j.mo.optim, &with_state, &dense);
    double state = (double)(with_state - weights), rss = (double)cr_peak_rss(), rows = 0;
    if (d->train) state += (double)dense * cr_dense_planes(&d->j);
    for (int i = 0; i < m->n_tables; i++)
        rows += (double)m->tables[i]->n_rows;
    cr_bench_add(out, "tables_ready_s", d->tables_ready, "s");
    cr_bench_add(out, "table_rows", rows, "rows");
    cr_bench_add(out, "table_bytes", (double)weights, "bytes");
    cr_bench_add(out, "dense_bytes", (double)dense, "bytes");
    cr_bench_add(out, "state_bytes", state, "bytes");
    cr_bench_add(out, "batches_bytes", (double)d->batches_bytes, "bytes");
    cr_bench_add(out, "peak_rss_bytes", rss, "bytes");
    cr_bench_add(out, "rss_over_bytes", rss - (double)weights - (double)dense - state, "bytes");
}
