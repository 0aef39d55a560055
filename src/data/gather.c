/*
 * gather.c - rows of several batches into one.
 *
 * Column by column, because a column of a window fits in the second-level cache while its rows do
 * not. Sizes are counted first, so that everything lies in one block of memory which the next batch
 * uses again.
 */
#include "data/gather.h"

#include <string.h>

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

static size_t rounded(size_t n) {
    return (n + CR_ALIGN - 1) & ~(size_t)(CR_ALIGN - 1);
}

static void *take(cr_region *g, size_t n) {
    void *p = g->mem + g->used;
    g->used += rounded(n);
    CR_ASSERT(g->used <= g->cap);
    return p;
}

/* ROWS walks all rows of all runs: b is the batch a row is in, i its index there. */
#define ROWS(...)                                                                                  \
    for (int r_ = 0; r_ < n_runs; r_++) {                                                          \
        const cr_run *run_ = &runs[r_];                                                            \
        for (int64_t k_ = 0; k_ < run_->n; k_++) {                                                 \
            const cr_batch *b = run_->srcs[run_->refs ? run_->refs[k_].src : 0];                   \
            int64_t i = run_->refs ? run_->refs[k_].row : run_->from + k_;                         \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

typedef struct sizes {
    int64_t n_rows;
    const cr_run *runs;
    int n_runs;
} sizes;

/* for each source that is used: does any have offsets, weights? */
typedef struct facts {
    bool jagged, weighted;
} facts;

static facts sparse_facts(const cr_run *runs, int n_runs, int f) {
    facts x = {false, false};
    for (int r = 0; r < n_runs; r++) {
        int n = runs[r].refs ? runs[r].n_srcs : 1;
        for (int s = 0; s < n; s++) {
            const cr_batch *b = runs[r].srcs[s];
            if (b->n_rows == 0) continue;
            x.jagged |= b->sparse[f].off != NULL;
            x.weighted |= b->sparse[f].w != NULL;
        }
    }
    return x;
}

static bool column_has_nulls(const cr_run *runs, int n_runs, int c) {
    for (int r = 0; r < n_runs; r++) {
        int n = runs[r].refs ? runs[r].n_srcs : 1;
        for (int s = 0; s < n; s++) {
            const cr_batch *b = runs[r].srcs[s];
            if (b->n_rows > 0 && b->reserved[c].valid) return true;
        }
    }
    return false;
}

static size_t width_of(cr_coltype t) {
    return t == CR_COL_I64 || t == CR_COL_F64 ? 8 : 4;
}

static int64_t count_ids(const cr_run *runs, int n_runs, int f) {
    int64_t n = 0;
    for (int r = 0; r < n_runs; r++) {
        const cr_jagged *j = runs[r].n > 0 && !runs[r].refs ? &runs[r].srcs[0]->sparse[f] : NULL;
        if (j) {
            int64_t a = runs[r].from, z = a + runs[r].n;
            n += j->off ? j->off[z] - j->off[a] : z - a;
            continue;
        }
        for (int64_t k = 0; k < runs[r].n; k++) {
            const cr_jagged *x = &runs[r].srcs[runs[r].refs[k].src]->sparse[f];
            uint32_t i = runs[r].refs[k].row;
            n += x->off ? x->off[i + 1] - x->off[i] : 1;
        }
    }
    return n;
}

static int64_t count_text(const cr_run *runs, int n_runs, int c) {
    int64_t n = 0;
    ROWS(n += b->reserved[c].end[i] - b->reserved[c].beg[i];)
    return n;
}

/* one id per row everywhere */
static void fill_single(const cr_run *runs, int n_runs, int f, bool weighted, int64_t *ids,
                        float *w) {
    for (int r = 0; r < n_runs; r++) {
        const cr_run *run = &runs[r];
        if (run->n == 0) continue;
        if (!run->refs) {
            const cr_jagged *j = &run->srcs[0]->sparse[f];
            memcpy(ids, j->ids + run->from, (size_t)run->n * sizeof(*ids));
        } else {
            for (int64_t k = 0; k < run->n; k++)
                ids[k] = run->srcs[run->refs[k].src]->sparse[f].ids[run->refs[k].row];
        }
        for (int64_t k = 0; weighted && k < run->n; k++) {
            const cr_jagged *j = &run->srcs[run->refs ? run->refs[k].src : 0]->sparse[f];
            w[k] = j->w ? j->w[run->refs ? run->refs[k].row : run->from + k] : 1.0f;
        }
        ids += run->n;
        if (weighted) w += run->n;
    }
}

/* returns true when every row turned out to have exactly one id */
static bool fill_jagged(const cr_run *runs, int n_runs, int f, bool weighted, int32_t *off,
                        int64_t *ids, float *w) {
    int64_t at = 0, row = 0;
    bool single = true;
    off[0] = 0;
    ROWS({
        const cr_jagged *j = &b->sparse[f];
        int64_t a = j->off ? j->off[i] : i;
        int64_t n = j->off ? j->off[i + 1] - a : 1;
        for (int64_t k = 0; k < n; k++)
            ids[at + k] = j->ids[a + k];
        for (int64_t k = 0; weighted && k < n; k++)
            w[at + k] = j->w ? j->w[a + k] : 1.0f;
        at += n;
        single &= n == 1;
        off[++row] = (int32_t)at;
    })
    return single;
}

static void gather_sparse(const cr_batch *out, cr_region *mem, const sizes *z) {
    for (int f = 0; f < out->n_sparse; f++) {
        facts x = sparse_facts(z->runs, z->n_runs, f);
        size_t n_ids = (size_t)mem->counts[f];
        int32_t *off = x.jagged ? take(mem, (size_t)(z->n_rows + 1) * sizeof(*off)) : NULL;
        int64_t *ids = take(mem, n_ids * sizeof(*ids));
        float *w = x.weighted ? take(mem, n_ids * sizeof(*w)) : NULL;
        if (!x.jagged)
            fill_single(z->runs, z->n_runs, f, x.weighted, ids, w);
        else if (fill_jagged(z->runs, z->n_runs, f, x.weighted, off, ids, w))
            off = NULL;
        out->sparse[f] = (cr_jagged){off, ids, w, mem->counts[f]};
    }
}

static void gather_dense(const cr_batch *out, const sizes *z, float *dense) {
    size_t width = (size_t)out->dense_width;
    const cr_run *runs = z->runs;
    int n_runs = z->n_runs;
    for (int r = 0; r < n_runs; r++) {
        const cr_run *run = &runs[r];
        if (run->n == 0) continue;
        if (!run->refs) {
            memcpy(dense, run->srcs[0]->dense + (size_t)run->from * width,
                   (size_t)run->n * width * sizeof(float));
        } else {
            for (int64_t k = 0; k < run->n; k++) {
                const float *from = run->srcs[run->refs[k].src]->dense + run->refs[k].row * width;
                float *to = dense + (size_t)k * width;
                for (size_t c = 0; c < width; c++)
                    to[c] = from[c];
            }
        }
        dense += (size_t)run->n * width;
    }
}

/* one float per row: labels and weights */
static float *gather_floats(cr_region *mem, const sizes *z, bool weights, int c) {
    float *out = take(mem, (size_t)z->n_rows * sizeof(*out)), *p = out;
    const cr_run *runs = z->runs;
    int n_runs = z->n_runs;
    ROWS(*p++ = (weights ? b->weights : b->labels)[c][i];)
    return out;
}

static void gather_reserved(cr_column *col, cr_region *mem, const sizes *z, cr_coltype type, int c,
                            size_t n_text) {
    const cr_run *runs = z->runs;
    int n_runs = z->n_runs;
    size_t n = (size_t)z->n_rows, row = 0;
    *col = (cr_column){.type = type};
    if (column_has_nulls(runs, n_runs, c)) {
        uint8_t *valid = take(mem, n), *p = valid;
        ROWS(*p++ = b->reserved[c].valid ? b->reserved[c].valid[i] : 1;)
        col->valid = valid;
    }
    if (type == CR_COL_STR) {
        char *bytes = take(mem, n_text);
        uint32_t *off = take(mem, (n + 1) * sizeof(*off)), at = 0;
        ROWS({
            const cr_column *x = &b->reserved[c];
            uint32_t k = x->end[i] - x->beg[i];
            if (k) memcpy(bytes + at, x->bytes + x->beg[i], k);
            off[row++] = at;
            at += k;
        })
        off[n] = at;
        col->bytes = bytes;
        col->beg = off;
        col->end = off + 1;
        return;
    }
    char *v = take(mem, n * width_of(type));
    if (width_of(type) == 8) {
        ROWS(memcpy(v + 8 * row++, &b->reserved[c].v.i64[i], 8);)
    } else {
        ROWS(memcpy(v + 4 * row++, &b->reserved[c].v.i32[i], 4);)
    }
    col->v.i64 = (const int64_t *)(const void *)v;
}

static cr_code too_many(cr_err *err, const char *what, int64_t n) {
    return cr_fail(err, CR_EDATA,
                   "one batch holds %lld %s, more than 2^31; use a smaller batch_size",
                   (long long)n, what);
}

/* measure counts ids and text into mem->counts and adds up the memory of everything. */
static cr_code measure(cr_region *mem, const cr_batch *shape, const sizes *z, size_t *out,
                       cr_err *err) {
    size_t n = (size_t)z->n_rows;
    size_t n_floats = (size_t)(shape->n_labels + shape->n_weights);
    size_t size = rounded((size_t)shape->n_sparse * sizeof(cr_jagged)) +
                  rounded(n_floats * sizeof(float *)) +
                  rounded((size_t)shape->n_reserved * sizeof(cr_column)) +
                  rounded(n * (size_t)shape->dense_width * sizeof(float)) +
                  n_floats * rounded(n * sizeof(float));
    for (int f = 0; f < shape->n_sparse; f++) {
        facts x = sparse_facts(z->runs, z->n_runs, f);
        int64_t k = x.jagged ? count_ids(z->runs, z->n_runs, f) : z->n_rows;
        if (k > INT32_MAX) return too_many(err, "ids of one feature", k);
        mem->counts[f] = k;
        size += rounded((size_t)k * sizeof(int64_t));
        if (x.weighted) size += rounded((size_t)k * sizeof(float));
        if (x.jagged) size += rounded((n + 1) * sizeof(int32_t));
    }
    for (int c = 0; c < shape->n_reserved; c++) {
        const cr_column *col = &shape->reserved[c];
        if (col->depth != 0) CR_BUG("reserved columns are scalars");
        int64_t k = col->type == CR_COL_STR ? count_text(z->runs, z->n_runs, c) : 0;
        if (k > INT32_MAX) return too_many(err, "bytes of one reserved column", k);
        mem->counts[shape->n_sparse + c] = k;
        size += rounded(n) + rounded((size_t)k) + rounded((n + 1) * 8);
    }
    *out = size;
    return CR_OK;
}

cr_code cr_gather(cr_batch *out, cr_region *mem, const cr_batch *shape, const cr_run *runs,
                  int n_runs, cr_err *err) {
    sizes z = {0, runs, n_runs};
    for (int r = 0; r < n_runs; r++)
        z.n_rows += runs[r].n;
    int n_counts = shape->n_sparse + shape->n_reserved;
    if (mem->n_counts < n_counts) {
        cr_free(mem->counts);
        mem->counts = cr_alloc((size_t)n_counts * sizeof(int64_t), "a batch");
        mem->n_counts = n_counts;
    }
    size_t size = 0;
    CR_TRY(measure(mem, shape, &z, &size, err));
    CR_TRY(region_reset(mem, size, err));

    size_t n_floats = (size_t)(shape->n_labels + shape->n_weights);
    out->n_rows = z.n_rows;
    out->n_sparse = shape->n_sparse;
    out->dense_width = shape->dense_width;
    out->n_labels = shape->n_labels;
    out->n_weights = shape->n_weights;
    out->n_reserved = shape->n_reserved;
    out->sparse = take(mem, (size_t)shape->n_sparse * sizeof(cr_jagged));
    gather_sparse(out, mem, &z);
    float *dense = take(mem, (size_t)z.n_rows * (size_t)shape->dense_width * sizeof(float));
    if (shape->dense_width) gather_dense(out, &z, dense);
    out->dense = dense;
    const float **floats = take(mem, n_floats * sizeof(float *));
    for (int c = 0; c < shape->n_labels; c++)
        floats[c] = gather_floats(mem, &z, false, c);
    for (int c = 0; c < shape->n_weights; c++)
        floats[shape->n_labels + c] = gather_floats(mem, &z, true, c);
    out->labels = (const float *const *)floats;
    out->weights = (const float *const *)(floats + shape->n_labels);
    cr_column *reserved = take(mem, (size_t)shape->n_reserved * sizeof(cr_column));
    for (int c = 0; c < shape->n_reserved; c++)
        gather_reserved(&reserved[c], mem, &z, shape->reserved[c].type, c,
                        (size_t)mem->counts[shape->n_sparse + c]);
    out->reserved = reserved;
    return CR_OK;
}
