/*
 * bench_kern.c - `crank bench lookup` and `limits`: the work of tables below the step, and the
 * limits of the machine.
 */
#include <string.h>

#include "base/cpu.h"
#include "base/rng.h"
#include "emb/update.h"
#include "kern/kern.h"
#include "op/input.h"
#include "tool/bench_int.h"

/* ---- multiply-adds ---- */

typedef struct peak_job {
    double (*peak)(int64_t n, float *sum);
    double ops[64];
    float sum[64 * 16];
} peak_job;

static void peak_item(void *ctx, int64_t item, int thread) {
    (void)thread;
    peak_job *j = ctx;
    j->ops[item] = j->peak(1 << 20, &j->sum[item * 16]);
}

static double peak_of(double (*peak)(int64_t n, float *sum), cr_pool *pool, double seconds) {
    peak_job j = {.peak = peak};
    int threads = cr_pool_threads(pool) < 64 ? cr_pool_threads(pool) : 64;
    double best = 0, end = cr_now() + seconds;
    do {
        double t0 = cr_now(), ops = 0;
        cr_pool_run(pool, threads, peak_item, &j);
        double t = cr_now() - t0;
        for (int i = 0; i < threads; i++)
            ops += j.ops[i];
        if (ops / t > best) best = ops / t;
    } while (cr_now() < end);
    return best * 1e-9;
}

static const int times[] = {1, 1, 3, 6}; /* products of parts for one product */

double cr_bench_peak(cr_pool *pool, cr_products products, double seconds) {
    int parts = cr_products_parts(products);
    /* with several parts the level in pairs has the products of avx512 */
    bool pairs = strcmp(cr_kern_order(cr_kern_level), "pairs") == 0;
    const cr_kernels *k = parts > 1 && pairs ? cr_kern_at(CR_CPU_AVX512) : cr_kern;
    return peak_of(parts ? k->peak_bf16 : k->peak, pool, seconds) / times[parts];
}

/* ---- tables ---- */

typedef struct looks {
    cr_bench_data *d;
    cr_updater *up;
    const cr_optim_step *steps;
    float *out; /* one buffer per thread */
    int64_t max_D;
    const cr_batch *b;
    int64_t n_ids; /* ids of the last batch, in all tables */
} looks;

#define LOOK_ROWS 512

/* An item is LOOK_ROWS rows of one use of a table. */
static void look_item(void *ctx, int64_t item, int thread) {
    looks *l = ctx;
    const cr_model *m = l->d->j.model;
    int64_t pieces = (l->b->n_rows + LOOK_ROWS - 1) / LOOK_ROWS, r0 = item % pieces * LOOK_ROWS;
    const cr_model_table *t = m->tables[item / pieces];
    float *out = l->out + thread * l->max_D;
    int64_t r1 = r0 + LOOK_ROWS < l->b->n_rows ? r0 + LOOK_ROWS : l->b->n_rows;
    for (int k = 0; k < t->n_uses; k++) {
        int count;
        const cr_look *look = cr_lookup_pieces(t->uses[k].node, &count) + t->uses[k].piece;
        const cr_jagged *j = &l->b->sparse[look->slot];
        int64_t from = j->steps ? j->steps[r0] : r0, to = j->steps ? j->steps[r1] : r1;
        if (j->off) from = j->off[from], to = j->off[to];
        cr_view v = cr_table_view(&t->table, j->ids);
        cr_view_rows(&v, from, NULL, to - from, 0, out, 0); /* each row overwrites the one before */
    }
}

static cr_code look_call(void *ctx, int64_t call, cr_err *err) {
    looks *l = ctx;
    CR_TRY(cr_model_map_batch(l->d->axes, l->d->v[call % l->d->n], &l->b, err));
    int64_t pieces = (l->b->n_rows + LOOK_ROWS - 1) / LOOK_ROWS;
    cr_pool_run(l->d->j.pool, pieces * l->d->j.model->n_tables, look_item, l);
    return CR_OK;
}

static cr_code update_call(void *ctx, int64_t call, cr_err *err) {
    looks *l = ctx;
    const cr_batch *b = l->d->v[call % l->d->n];
    const int32_t *const *axes;
    CR_TRY(cr_model_axes(l->d->axes, b, &axes, err));
    CR_TRY(cr_model_map_batch(l->d->axes, b, &b, err));
    cr_updater_group(l->up, b, axes);
    cr_updater_apply(l->up, l->steps);
    return CR_OK;
}

/* Computes the ids and the bytes of weights per batch, on average. */
static void count_ids(const cr_bench_data *d, double *ids, double *bytes) {
    *ids = *bytes = 0;
    const cr_model *m = d->j.model;
    for (int i = 0; i < m->n_tables; i++)
        for (int k = 0; k < m->tables[i]->n_uses; k++) {
            int count;
            const cr_look *look =
                cr_lookup_pieces(m->tables[i]->uses[k].node, &count) + m->tables[i]->uses[k].piece;
            for (int b = 0; b < d->n; b++) {
                double n =
                    (double)d->v[b]->sparse[cr_model_feature_slot(m, look->slot)].n_ids / d->n;
                *ids += n;
                *bytes += n * (double)m->tables[i]->D * (m->tables[i]->half ? 2 : 4);
            }
        }
}

cr_code cr_bench_lookup(const cr_bench_opts *o, cr_bench *out, cr_diag *diag) {
    cr_bench_data d;
    cr_err err;
    cr_trainer *t = NULL;
    cr_code code = cr_bench_open(&d, o, true, 16, diag);
    if (code == CR_OK && (code = cr_trainer_new(&t, &d.j, &err)) != CR_OK) cr_diag_err(diag, &err);
    if (code == CR_OK && (code = cr_trainer_step(t, d.v[0], 0, &err)) != CR_OK)
        cr_diag_err(diag, &err); /* makes gradients and rates for the updates */
    if (code == CR_OK) {
        looks l = {.d = &d, .max_D = 16, .steps = d.j.tables.steps};
        for (int i = 0; i < d.j.model->n_tables; i++)
            if (d.j.model->tables[i]->D > l.max_D) l.max_D = d.j.model->tables[i]->D;
        l.max_D = (l.max_D + 15) / 16 * 16;
        l.out = CR_NEW_N(&d.arena, float, l.max_D *cr_pool_threads(d.j.pool));
        l.up = cr_trainer_updater(t);
        cr_bench_time look, update;
        double ids, bytes;
        count_ids(&d, &ids, &bytes);
        code = cr_bench_repeat(o->seconds, look_call, &l, &look, &err);
        if (code == CR_OK) code = cr_bench_repeat(o->seconds, update_call, &l, &update, &err);
        if (code != CR_OK) {
            cr_diag_err(diag, &err);
        } else {
            double B = (double)d.batch_size;
            cr_bench_add(out, "rows_per_s", B / look.best, "rows/s");
            cr_bench_add(out, "rows_per_s_median", B / look.median, "rows/s");
            cr_bench_add(out, "lookups_per_s", ids / look.best, "ids/s");
            cr_bench_add(out, "lookup_bytes_per_s", bytes / look.best, "bytes/s");
            cr_bench_add(out, "update_rows_per_s", B / update.best, "rows/s");
            cr_bench_add(out, "updates_per_s", ids / update.best, "ids/s");
            cr_bench_add(out, "batch_size", B, "rows");
            cr_bench_add(out, "threads", cr_pool_threads(d.j.pool), "");
            cr_bench_add(out, "tables", d.j.model->n_tables, "");
            cr_bench_add_memory(out, &d);
        }
    }
    cr_trainer_free(t);
    cr_bench_close(&d);
    return code;
}

/* ---- the machine ---- */

#define STREAM ((int64_t)16 << 20) /* floats of each of three arrays */
#define ROW    16                  /* floats of a gathered row */
#define PIECE  ((int64_t)1 << 16)

typedef struct memory {
    float *a;
    int64_t n; /* number of floats in all */
    uint64_t seed;
    float sum[64 * 16];
} memory;

static void triad_item(void *ctx, int64_t item, int thread) {
    (void)thread;
    memory *m = ctx;
    float *a = m->a + item * PIECE, *b = a + STREAM, *c = b + STREAM;
    for (int64_t i = 0; i < PIECE; i++)
        a[i] = b[i] + 0.5f * c[i];
}

static void gather_item(void *ctx, int64_t item, int thread) {
    memory *m = ctx;
    enum { AHEAD = 16, N = 1 << 14 };
    uint64_t rows = (uint64_t)(m->n / ROW), key = m->seed + (uint64_t)item;
    int64_t id[AHEAD];
    float s = 0;
    for (int i = 0; i < N + AHEAD; i++) {
        if (i >= AHEAD) {
            const float *r = m->a + id[i % AHEAD] * ROW;
            for (int d = 0; d < ROW; d++)
                s += r[d];
        }
        id[i % AHEAD] = (int64_t)cr_rng_below(key, (uint64_t)i, rows);
        __builtin_prefetch(m->a + id[i % AHEAD] * ROW);
    }
    m->sum[thread % 64 * 16] = s;
}

typedef struct memory_run {
    memory *m;
    cr_pool *pool;
    cr_pool_fn fn;
    int64_t items;
} memory_run;

static cr_code memory_call(void *ctx, int64_t call, cr_err *err) {
    (void)err;
    memory_run *r = ctx;
    r->m->seed = (uint64_t)call * 1000003;
    cr_pool_run(r->pool, r->items, r->fn, r->m);
    return CR_OK;
}

/* Measures the bytes/s of the arrays at m, in the best window. */
static cr_code stream_of(memory *m, cr_pool *pool, double seconds, double *out, cr_err *err) {
    cr_bench_time t;
    memory_run r = {m, pool, triad_item, STREAM / PIECE};
    CR_TRY(cr_bench_repeat(seconds, memory_call, &r, &t, err));
    *out = 3 * 4 * (double)STREAM / t.best;
    return CR_OK;
}

/* Lets fn measure arrays of n floats; 0 when there is not enough memory. */
static double with_memory(cr_pool *pool, double seconds, int64_t n,
                          cr_code (*fn)(memory *, cr_pool *, double, double *, cr_err *)) {
    memory m = {.n = n};
    size_t size = (size_t)m.n * sizeof(float);
    void *p;
    double out = 0;
    cr_err err;
    if (cr_mem_available() < 2 * (int64_t)size ||
        cr_big_alloc(&p, size, "memory to measure", &err) != CR_OK)
        return 0;
    m.a = p;
    memset(p, 1, size);
    if (fn(&m, pool, seconds, &out, &err) != CR_OK) out = 0;
    cr_big_free(p, size);
    return out;
}

double cr_bench_stream(cr_pool *pool, double seconds) {
    return with_memory(pool, seconds, 3 * STREAM, stream_of);
}

#define GATHERED (64.0 * (1 << 14)) /* rows of one call of gather_item for all items */
static cr_code gather_of(memory *m, cr_pool *pool, double seconds, double *out, cr_err *err) {
    cr_bench_time t;
    memory_run r = {m, pool, gather_item, 64};
    CR_TRY(cr_bench_repeat(seconds, memory_call, &r, &t, err));
    *out = GATHERED / t.best;
    return CR_OK;
}

double cr_bench_gather(cr_pool *pool, double seconds) {
    return with_memory(pool, seconds, (int64_t)64 << 20, gather_of);
}

cr_code cr_bench_limits(const cr_bench_opts *o, cr_bench *out, cr_diag *diag) {
    cr_err err;
    cr_pool *pool;
    int threads = o->threads > 0 ? o->threads : cr_cpu_count();
    if (cr_pool_new(&pool, threads, &err) != CR_OK) return cr_diag_err(diag, &err);
    memory m = {.n = (int64_t)256 << 20}; /* 1 GiB is larger than every cache */
    if (cr_mem_available() < 2 * m.n * (int64_t)sizeof(float)) m.n = 3 * STREAM;
    void *p = NULL;
    size_t size = (size_t)m.n * sizeof(float);
    cr_code code = cr_big_alloc(&p, size, "memory to measure", &err);
    if (code == CR_OK) {
        m.a = p;
        memset(p, 1, size);
        double stream, rows, tiles = 0;
        cr_bench_add(out, "threads", threads, "");
        code = stream_of(&m, pool, o->seconds, &stream, &err);
        if (code == CR_OK) cr_bench_add(out, "stream_bytes_per_s", stream, "bytes/s");
        if (code == CR_OK) code = gather_of(&m, pool, o->seconds, &rows, &err);
        if (code == CR_OK) {
            cr_bench_add(out, "gather_rows_per_s", rows, "rows/s");
            cr_bench_add(out, "gather_bytes_per_s", rows * ROW * 4, "bytes/s");
        }
        for (int level = 0; level < CR_CPU_LEVELS && code == CR_OK; level++) {
            const cr_kernels *k = cr_kern_at((cr_cpu_level)level);
            if (!k) continue;
            cr_bench_row *r = cr_bench_row_new(out, cr_cpu_level_name((cr_cpu_level)level));
            cr_bench_row_add(r, "peak_gflops", peak_of(k->peak, pool, o->seconds / 4), "GFLOP/s");
            double peak = peak_of(k->peak_bf16, pool, o->seconds / 4);
            cr_bench_row_add(r, "peak_bf16_gflops", peak, "GFLOP/s");
            /* with several parts the level in pairs has the products of avx512, the level before */
            if (strcmp(cr_kern_order((cr_cpu_level)level), "pairs") != 0) tiles = peak;
            cr_bench_row_add(r, "peak_bf16x3_gflops", tiles / times[2], "GFLOP/s");
            cr_bench_row_add(r, "peak_bf16x6_gflops", tiles / times[3], "GFLOP/s");
        }
        cr_big_free(p, size);
    }
    if (code != CR_OK) cr_diag_err(diag, &err);
    cr_pool_free(pool);
    return code;
}
