/*
 * gather.c - copies rows of several batches into one.
 *
 * A record holds one id per sparse feature, the dense floats, labels and weights. A feature that is
 * jagged or weighted somewhere, sequences and reserved columns are taken column by column; doing
 * that with all columns cost twice as much for shuffled rows, because each value was a cache miss.
 * Sizes are counted first, so that everything lies in one block of memory, which the next batch
 * uses again.
 */
#include "data/load/gather_int.h"

#include <string.h>

#define GROUP 64

void cr_region_clear(cr_region *g) {
    cr_free(g->mem);
    cr_free(g->counts);
    *g = (cr_region){0};
}

static cr_code region_reset(cr_region *g, size_t size, cr_err *err) {
    g->used = 0;
    if (g->cap >= size) return CR_OK;
    cr_free(g->mem);
    g->mem = NULL;
    g->cap = 0;
    void *p;
    size_t cap = size + size / 8;
    CR_TRY(cr_try_alloc(&p, cap, "a batch", err));
    g->mem = p;
    g->cap = cap;
    return CR_OK;
}

static cr_gather_plan make_plan(const cr_batch *shape, const cr_row_run *runs, int n_runs) {
    cr_gather_plan p = {shape, runs, n_runs, 0, 0, 0, 0};
    for (int r = 0; r < n_runs; r++)
        p.n_rows += runs[r].n;
    p.dense_at = (size_t)shape->n_sparse * sizeof(int64_t);
    p.floats_at = p.dense_at + (size_t)shape->dense_width * sizeof(float);
    p.stride = p.floats_at + (size_t)(shape->n_labels + shape->n_weights) * sizeof(float);
    p.stride = (p.stride + 7) & ~(size_t)7;
    return p;
}

/* Does any source that is used have offsets or weights? */
typedef struct facts {
    bool jagged, weighted, sequence;
} facts;

static facts sparse_facts(const cr_gather_plan *p, int f) {
    facts x = {false, false, p->shape->sparse[f].steps != NULL};
    for (int r = 0; r < p->n_runs; r++) {
        int n = p->runs[r].recs ? p->runs[r].n_srcs : 1;
        for (int s = 0; s < n; s++) {
            const cr_batch *b = p->runs[r].srcs[s];
            if (b->n_rows == 0) continue;
            x.jagged |= b->sparse[f].off != NULL;
            x.weighted |= b->sparse[f].w != NULL;
        }
    }
    return x;
}

/* ---- what has a fixed size ---- */

static void records_to_columns(const cr_gather_plan *p, const cr_batch *out, int64_t *const *ids,
                               float *dense, float *const *floats) {
    int64_t at = 0;
    size_t width = (size_t)p->shape->dense_width * sizeof(float);
    int n_floats = p->shape->n_labels + p->shape->n_weights;
    for (int r = 0; r < p->n_runs; r++) {
        const cr_row_run *run = &p->runs[r];
        for (int64_t from = 0; from < run->n; from += GROUP) {
            int64_t n = run->n - from < GROUP ? run->n - from : GROUP;
            const char *row[GROUP];
            for (int64_t k = 0; k < n; k++) {
                const cr_rowref *ref = &run->refs[from + k];
                row[k] = run->recs[ref->src] + ref->row * p->stride;
            }
            for (size_t line = 0; line < p->stride; line += 64) {
                for (int64_t k = 0; k < n; k++)
                    __builtin_prefetch(row[k] + line);
            }
            for (int f = 0; f < out->n_sparse; f++) {
                if (!ids[f]) continue;
                for (int64_t k = 0; k < n; k++)
                    memcpy(&ids[f][at + k], row[k] + (size_t)f * sizeof(int64_t), sizeof(int64_t));
            }
            for (int64_t k = 0; width && k < n; k++)
                memcpy((char *)dense + (size_t)(at + k) * width, row[k] + p->dense_at, width);
            for (int c = 0; c < n_floats; c++) {
                for (int64_t k = 0; k < n; k++)
                    memcpy(&floats[c][at + k], row[k] + p->floats_at + (size_t)c * sizeof(float),
                           sizeof(float));
            }
            at += n;
        }
    }
}

static const float *floats_of(const cr_batch *b, int c) {
    return c < b->n_labels ? b->labels[c] : b->weights[c - b->n_labels];
}

/* column_into copies values of `size` bytes from a column to places `stride` apart. */
static inline void column_into(char *to, size_t stride, const void *column, size_t size,
                               const cr_rowref *refs, int64_t from, int64_t n) {
    const char *c = column;
    for (int64_t k = 0; k < n; k++) {
        size_t row = refs ? refs[k].row : (size_t)(from + k);
        memcpy(to + (size_t)k * stride, c + row * size, size);
    }
}

static void columns_to_records(const cr_gather_plan *p, const cr_batch *out, char *rec) {
    size_t width = (size_t)p->shape->dense_width * sizeof(float);
    int n_floats = p->shape->n_labels + p->shape->n_weights;
    for (int r = 0; r < p->n_runs; r++) {
        const cr_row_run *run = &p->runs[r];
        const cr_batch *b = run->srcs[0];
        for (int64_t at = 0; at < run->n; at += GROUP) {
            int64_t n = run->n - at < GROUP ? run->n - at : GROUP, from = run->from + at;
            const cr_rowref *refs = run->refs ? run->refs + at : NULL;
            for (int f = 0; f < out->n_sparse; f++) {
                if (out->sparse[f].ids) continue; /* its size is not fixed */
                column_into(rec + 8 * (size_t)f, p->stride, b->sparse[f].ids, 8, refs, from, n);
            }
            for (int64_t k = 0; width && k < n; k++) {
                size_t row = refs ? refs[k].row : (size_t)(from + k);
                memcpy(rec + (size_t)k * p->stride + p->dense_at,
                       (const char *)b->dense + row * width, width);
            }
            for (int c = 0; c < n_floats; c++)
                column_into(rec + p->floats_at + 4 * (size_t)c, p->stride, floats_of(b, c), 4, refs,
                            from, n);
            rec += (size_t)n * p->stride;
        }
    }
}

static void columns_to_columns(const cr_gather_plan *p, const cr_batch *out, int64_t *const *ids,
                               float *dense, float *const *floats) {
    int64_t at = 0;
    size_t width = (size_t)p->shape->dense_width;
    int n_floats = p->shape->n_labels + p->shape->n_weights;
    for (int r = 0; r < p->n_runs; r++) {
        const cr_row_run *run = &p->runs[r];
        if (run->n == 0) continue;
        const cr_batch *b = run->srcs[0];
        size_t n = (size_t)run->n, from = (size_t)run->from;
        for (int f = 0; f < out->n_sparse; f++) {
            if (!ids[f]) continue;
            if (!run->refs)
                memcpy(ids[f] + at, b->sparse[f].ids + from, n * sizeof(int64_t));
            else
                column_into((char *)(ids[f] + at), 8, b->sparse[f].ids, 8, run->refs, 0, run->n);
        }
        float *to = dense + (size_t)at * width;
        if (width && !run->refs) memcpy(to, b->dense + from * width, n * width * sizeof(float));
        for (size_t k = 0; width && run->refs && k < n; k++)
            memcpy(to + k * width, b->dense + run->refs[k].row * width, width * sizeof(float));
        for (int c = 0; c < n_floats; c++) {
            if (!run->refs)
                memcpy(floats[c] + at, floats_of(b, c) + from, n * sizeof(float));
            else
                column_into((char *)(floats[c] + at), 4, floats_of(b, c), 4, run->refs, 0, run->n);
        }
        at += run->n;
    }
}

/* ---- what has not ---- */

static int64_t count_ids(const cr_gather_plan *p, int f) {
    int64_t n = 0;
    CR_EACH_ROW({
        (void)s;
        const int32_t *off = b->sparse[f].off;
        n += off ? off[i + 1] - off[i] : 1;
    })
    return n;
}

/* Returns true when every row turned out to have exactly one id; off is NULL when each has one by
 * its form. */
static bool gather_jagged(const cr_gather_plan *p, int f, int32_t *off, int64_t *ids, float *w) {
    int64_t at = 0, row = 0;
    bool single = true;
    if (off) off[0] = 0;
    CR_EACH_ROW({
        const cr_jagged *j = &b->sparse[f];
        int64_t a = j->off ? j->off[i] : i;
        int64_t n = j->off ? j->off[i + 1] - a : 1;
        if (run->recs && !j->off && !j->w) { /* its size is fixed in this source */
            memcpy(&ids[at], run->recs[s] + (size_t)i * p->stride + 8 * (size_t)f, 8);
        } else {
            for (int64_t k = 0; k < n; k++)
                ids[at + k] = j->ids[a + k];
        }
        for (int64_t k = 0; w && k < n; k++)
            w[at + k] = j->w ? j->w[a + k] : 1.0f;
        at += n;
        single &= n == 1;
        if (off) off[++row] = (int32_t)at;
    })
    return single;
}

/* ---- all of it ---- */

cr_code cr_gather_too_many(cr_err *err, const char *what, int64_t n) {
    return cr_fail(err, CR_EDATA,
                   "one batch holds %lld %s, more than 2^31; use a smaller batch_size",
                   (long long)n, what);
}

/* measure counts ids and text into mem->counts and adds up the memory of everything. */
static cr_code measure(cr_region *mem, const cr_gather_plan *p, bool records, size_t *out,
                       cr_err *err) {
    const cr_batch *shape = p->shape;
    int n_counts = 2 * shape->n_sparse + shape->n_dense_seq;
    for (int c = 0; c < shape->n_reserved; c++)
        n_counts += cr_gather_counts(&shape->reserved[c]);
    if (mem->n_counts < n_counts) {
        cr_free(mem->counts);
        mem->counts = cr_alloc((size_t)n_counts * sizeof(int64_t), "a batch");
        mem->n_counts = n_counts;
    }
    int64_t *n_steps = mem->counts + shape->n_sparse; /* sparse, then sequences of numbers */
    size_t n = (size_t)p->n_rows;
    size_t n_floats = (size_t)(shape->n_labels + shape->n_weights);
    size_t size = cr_region_size((size_t)shape->n_sparse * sizeof(cr_jagged)) +
                  cr_region_size((size_t)shape->n_sparse * sizeof(int64_t *)) +
                  cr_region_size(n_floats * sizeof(float *)) +
                  cr_region_size((size_t)shape->n_dense_seq * sizeof(cr_dense_seq)) +
                  cr_region_size((size_t)shape->n_reserved * sizeof(cr_column));
    if (records)
        size += cr_region_size(n * p->stride);
    else
        size += cr_region_size(n * (size_t)shape->dense_width * sizeof(float)) +
                n_floats * cr_region_size(n * sizeof(float));
    for (int f = 0; f < shape->n_sparse; f++) {
        facts x = sparse_facts(p, f);
        int64_t steps = p->n_rows, k = steps;
        if (x.sequence)
            cr_gather_seq_count(p, f, &steps, &k);
        else if (x.jagged)
            k = count_ids(p, f);
        if (k > INT32_MAX || steps > INT32_MAX)
            return cr_gather_too_many(err, "ids of one feature", k > steps ? k : steps);
        mem->counts[f] = k;
        n_steps[f] = steps;
        if (x.sequence) size += cr_region_size((n + 1) * sizeof(int32_t));
        if (records && !x.jagged && !x.weighted && !x.sequence) continue;
        size += cr_region_size((size_t)k * sizeof(int64_t));
        if (x.weighted) size += cr_region_size((size_t)k * sizeof(float));
        if (x.jagged) size += cr_region_size(((size_t)steps + 1) * sizeof(int32_t));
    }
    for (int f = 0; f < shape->n_dense_seq; f++) {
        int64_t steps = cr_gather_dense_seq_count(p, f);
        if (steps > INT32_MAX) return cr_gather_too_many(err, "steps of one feature", steps);
        n_steps[shape->n_sparse + f] = steps;
        size += cr_region_size((n + 1) * sizeof(int32_t)) +
                cr_region_size((size_t)(steps * shape->dense_seq[f].width) * sizeof(float));
    }
    int64_t *counts = n_steps + shape->n_sparse + shape->n_dense_seq;
    for (int c = 0; c < shape->n_reserved; c++) {
        CR_TRY(cr_gather_measure(p, c, counts, &size, err));
        counts += cr_gather_counts(&shape->reserved[c]);
    }
    *out = size;
    return CR_OK;
}

cr_code cr_gather(cr_batch *out, const char **rec, cr_region *mem, const cr_batch *shape,
                  const cr_row_run *runs, int n_runs, cr_err *err) {
    const cr_gather_plan pl = make_plan(shape, runs, n_runs), *p = &pl;
    size_t size = 0, n = (size_t)p->n_rows;
    CR_TRY(measure(mem, p, rec != NULL, &size, err));
    CR_TRY(region_reset(mem, size, err));

    const int64_t *n_steps = mem->counts + shape->n_sparse;
    int n_floats = shape->n_labels + shape->n_weights;
    out->n_rows = p->n_rows;
    out->n_sparse = shape->n_sparse;
    out->dense_width = shape->dense_width;
    out->n_labels = shape->n_labels;
    out->n_weights = shape->n_weights;
    out->n_reserved = shape->n_reserved;
    out->n_dense_seq = shape->n_dense_seq;
    out->sparse = cr_region_take(mem, (size_t)shape->n_sparse * sizeof(cr_jagged));
    int64_t **ids =
        cr_region_take(mem, (size_t)shape->n_sparse * sizeof(int64_t *)); /* those of fixed size */
    float **floats = cr_region_take(mem, (size_t)n_floats * sizeof(float *));
    out->dense_seq = cr_region_take(mem, (size_t)shape->n_dense_seq * sizeof(cr_dense_seq));
    cr_column *reserved = cr_region_take(mem, (size_t)shape->n_reserved * sizeof(cr_column));
    char *records = rec ? cr_region_take(mem, n * p->stride) : NULL;
    float *dense = rec ? NULL : cr_region_take(mem, n * (size_t)shape->dense_width * sizeof(float));
    for (int c = 0; c < n_floats; c++)
        floats[c] = rec ? NULL : cr_region_take(mem, n * sizeof(float));
    for (int f = 0; f < shape->n_sparse; f++) {
        facts x = sparse_facts(p, f);
        size_t n_ids = (size_t)mem->counts[f];
        bool fixed = !x.jagged && !x.weighted && !x.sequence;
        int32_t *steps = x.sequence ? cr_region_take(mem, (n + 1) * sizeof(*steps)) : NULL;
        int32_t *off =
            x.jagged ? cr_region_take(mem, ((size_t)n_steps[f] + 1) * sizeof(*off)) : NULL;
        int64_t *v = fixed && rec ? NULL : cr_region_take(mem, n_ids * sizeof(*v));
        float *w = x.weighted ? cr_region_take(mem, n_ids * sizeof(*w)) : NULL;
        ids[f] = fixed ? v : NULL;
        if (x.sequence ? cr_gather_seq(p, f, steps, off, v, w)
                       : !fixed && gather_jagged(p, f, off, v, w))
            off = NULL;
        /* All rows have one id after all, so the ids are looked for in the records. */
        for (size_t k = 0; rec && !fixed && !steps && !off && !w && k < n; k++)
            memcpy(records + k * p->stride + 8 * (size_t)f, &v[k], 8);
        out->sparse[f] =
            (cr_jagged){.off = off, .ids = v, .w = w, .n_ids = mem->counts[f], .steps = steps};
    }
    for (int f = 0; f < shape->n_dense_seq; f++) {
        int64_t width = shape->dense_seq[f].width;
        int32_t *steps = cr_region_take(mem, (n + 1) * sizeof(*steps));
        float *v = cr_region_take(mem, (size_t)(n_steps[shape->n_sparse + f] * width) * sizeof(*v));
        cr_gather_dense_seq(p, f, steps, v);
        out->dense_seq[f] = (cr_dense_seq){steps, v, width};
    }
    if (rec)
        columns_to_records(p, out, records);
    else if (n_runs > 0 && runs[0].recs)
        records_to_columns(p, out, ids, dense, floats);
    else
        columns_to_columns(p, out, ids, dense, floats);
    const int64_t *counts = n_steps + shape->n_sparse + shape->n_dense_seq;
    for (int c = 0; c < shape->n_reserved; c++) {
        cr_gather_column(&reserved[c], mem, p, c, counts);
        counts += cr_gather_counts(&shape->reserved[c]);
    }
    out->dense = dense;
    out->labels = (const float *const *)floats;
    out->weights = (const float *const *)(floats + shape->n_labels);
    out->reserved = reserved;
    if (rec) *rec = records;
    return CR_OK;
}
