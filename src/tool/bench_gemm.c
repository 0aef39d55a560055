/*
 * bench_gemm.c - `crank bench gemm`: each matrix product of a model by itself, with each family of
 * kernels: plain, skipping zeros, and with inputs rounded to BF16.
 */
#include <stdio.h>
#include <string.h>

#include "base/cpu.h"
#include "base/rng.h"
#include "graph/plan.h"
#include "kern/kern.h"
#include "op/op.h"
#include "tool/bench_int.h"

typedef struct shape {
    int64_t K, N;
} shape;

/* Finds the product of a node; false: it has none. */
static bool shape_of(const cr_node *x, shape *s) {
    /* per position; the four parts of W become one matrix, or two */
    if (x->op == &cr_op_din || x->op == &cr_op_din_parts) {
        *s = (shape){x->in[0]->width * (x->op == &cr_op_din ? 1 : 2), x->in[2]->rows};
        return true;
    }
    if (x->op != &cr_op_matmul && x->op != &cr_op_emb_matmul) return false;
    const cr_node *W = x->in[x->op == &cr_op_matmul ? 1 : 2];
    bool nk = x->in[0]->width % W->cols == 0 && x->width % W->rows == 0;
    *s = nk ? (shape){W->cols, W->rows} : (shape){W->rows, W->cols};
    return true;
}

static int shapes_of(const cr_graph *g, shape *v, int max) {
    int n = 0;
    for (int i = 0; i < g->n; i++) {
        shape s;
        if (!shape_of(g->nodes[i], &s)) continue;
        bool seen = n == max;
        for (int k = 0; k < n; k++)
            seen |= v[k].K == s.K && v[k].N == s.N;
        if (!seen) v[n++] = s;
    }
    return n;
}

typedef enum family { PLAIN, NZ, BF16, BF16X3, BF16X6, FAMILIES } family;
/* BF16 parts of the inputs; 0: none */
static int parts_of(family f) {
    return f < BF16 ? 0 : (int)(f - BF16) + 1;
}
typedef enum way { FORWARD, DX, DW, WAYS } way;
/* Rows of the result are named after the kind with BF16, so keys are not. */
static const char *const keys[2][WAYS] = {{"forward", "dx", "dw"},
                                          {"forward_nz", "dx_nz", "dw_nz"}};

typedef struct product {
    const cr_kernels *k;
    int64_t M, N, K;
    family family;
    way way;
    /* x (M, K) and y (M, N), half of each is zeros; there is one set per thread */
    float *x, *y, *out, *scratch;
    int64_t n_set;
    float *w, *fwd, *bwd; /* (N, K); and packed for the family */
    int threads;
    bool units; /* inputs and outputs are units, as between layers on the tile unit */
} product;

static void pack(const product *p) {
    int64_t K = p->K, N = p->N;
    void *fwd = p->fwd, *bwd = p->bwd;
    switch (p->family) {
    case NZ:
        p->k->gemm_nz_pack(fwd, p->w, K, true, K, N, 0, K);
        p->k->gemm_nz_pack(bwd, p->w, K, false, N, K, 0, N);
        return;
    case BF16:
    case BF16X3:
    case BF16X6:
        p->k->gemm_bf16_pack(fwd, p->w, K, true, K, N, 0, cr_gemm_panels(N), parts_of(p->family));
        p->k->gemm_bf16_pack(bwd, p->w, K, false, N, K, 0, cr_gemm_panels(K), parts_of(p->family));
        return;
    default:
        p->k->gemm_pack(fwd, p->w, K, true, K, N, 0, cr_gemm_panels(N));
        p->k->gemm_pack(bwd, p->w, K, false, N, K, 0, cr_gemm_panels(K));
    }
}

/* Words of one form of x or y as units. */
static int64_t form_size(const product *p) {
    int64_t n = p->K > p->N ? p->K : p->N;
    return cr_units_size(p->M, n, 3);
}

/* The product in units: what the layer before wrote, and what the next one reads. Which values they
 * are makes no difference, so x and y are two forms each as they stand. */
static void units_item(const product *p, int64_t at) {
    int64_t M = p->M, N = p->N, K = p->K, form = form_size(p);
    int parts = parts_of(p->family);
    uint32_t *x = (uint32_t *)(void *)(p->x + at), *y = (uint32_t *)(void *)(p->y + at);
    uint32_t *out = (uint32_t *)(void *)(p->out + at);
    float *scratch = p->scratch + at;
    if (p->way == DW) {
        p->k->gemm_units_tn(p->out + at, K, &(cr_units){.turned = y}, &(cr_units){.pairs = x}, N, K,
                            M, 0, parts, scratch);
        return;
    }
    bool fwd = p->way == FORWARD;
    cr_units C = {.rows = out};
    *(fwd ? &C.pairs : &C.turned) = out + form;
    p->k->gemm_units(&C, &(cr_units){.rows = fwd ? x : y},
                     (const uint32_t *)(const void *)(fwd ? p->fwd : p->bwd), M, fwd ? N : K,
                     fwd ? K : N, 0, NULL, parts, scratch);
}

static void product_item(void *ctx, int64_t item, int thread) {
    (void)thread;
    const product *p = ctx;
    const cr_kernels *k = p->k;
    if (p->units) {
        units_item(p, item * p->n_set);
        return;
    }
    int64_t at = item * p->n_set, M = p->M, N = p->N, K = p->K;
    const float *x = p->x + at, *y = p->y + at;
    float *out = p->out + at, *scratch = p->scratch + at;
    if (p->way == DW) {
        if (p->family == NZ)
            k->gemm_nz_tn(out, K, y, N, x, K, N, K, M, 0);
        else if (parts_of(p->family))
            k->gemm_bf16_tn(out, K, y, N, x, K, N, K, M, 0, parts_of(p->family), scratch);
        else
            k->gemm_tn(out, K, y, N, x, K, N, K, M, 0, scratch);
        return;
    }
    bool fwd = p->way == FORWARD;
    const float *A = fwd ? x : y, *packed = fwd ? p->fwd : p->bwd;
    int64_t n = fwd ? N : K, depth = fwd ? K : N;
    if (parts_of(p->family))
        k->gemm_bf16(out, n, A, depth, (const uint32_t *)(const void *)packed, M, n, depth, 0, NULL,
                     parts_of(p->family), scratch);
    else
        (p->family == NZ ? k->gemm_nz : k->gemm)(out, n, A, depth, packed, M, n, depth, 0, NULL);
}

typedef struct product_run {
    product *p;
    cr_pool *pool;
} product_run;

static cr_code product_call(void *ctx, int64_t call, cr_err *err) {
    (void)call;
    (void)err;
    product_run *r = ctx;
    cr_pool_run(r->pool, r->p->threads, product_item, r->p);
    return CR_OK;
}

static int64_t most(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* Fills x and y with floats, or with BF16 values of the same sort; half of them are zeros, which
 * makes no difference for families other than NZ. */
static void fill(const product *p, bool units) {
    uint32_t bits[2];
    for (int64_t i = 0; i < 2 * p->n_set * p->threads; i++) {
        for (int h = 0; h < 2; h++) {
            uint64_t at = (uint64_t)(2 * i + h);
            float v = cr_rng_below(2, at, 2) ? cr_rng_f32(1, at) - 0.5f : 0;
            memcpy(&bits[h], &v, 4);
        }
        if (units) bits[0] = bits[0] >> 16 | (bits[1] & 0xffff0000u);
        memcpy(&p->x[i], bits, 4);
    }
}

/* Returns the floats of a (K, N) matrix packed for any family. */
static int64_t pack_size(int64_t K, int64_t N) {
    int64_t n = most(cr_gemm_pack_size(K, N), cr_gemm_nz_pack_size(K, N));
    return cr_up16(most(n, cr_gemm_bf16_pack_size(K, N, 3)));
}

static cr_code matrices(product *p, void **mem, cr_err *err) {
    int64_t M = p->M, K = p->K, N = p->N, n = most(M * most(K, N), K * N);
    n = most(n, most(cr_gemm_tn_scratch(N, K, M), cr_gemm_bf16_tn_scratch(N, K, M, 3)));
    n = most(n, most(cr_gemm_bf16_scratch(M, K, 3), cr_gemm_bf16_scratch(M, N, 3)));
    n = most(n, most(2 * form_size(p), cr_gemm_units_scratch(M, most(K, N), 3)));
    p->n_set = cr_up16(n) + 16; /* gemm_nz_tn reads up to 15 floats past a matrix */
    int64_t set = p->n_set * p->threads, w = cr_up16(K * N), fwd = pack_size(K, N);
    CR_TRY(cr_try_alloc(mem, (size_t)(4 * set + w + fwd + pack_size(N, K)) * sizeof(float),
                        "benchmark matrices", err));
    p->x = *mem;
    p->y = p->x + set;
    p->out = p->y + set;
    p->scratch = p->out + set;
    p->w = p->scratch + set;
    p->fwd = p->w + w;
    p->bwd = p->fwd + fwd;
    fill(p, false);
    for (int64_t i = 0; i < w; i++)
        p->w[i] = cr_rng_f32(3, (uint64_t)i) - 0.5f;
    return CR_OK;
}

static cr_code bench_families(product *p, family first, family last, cr_pool *pool, double seconds,
                              cr_bench_row *r, cr_err *err) {
    double flops = 2 * (double)p->M * (double)p->K * (double)p->N * p->threads;
    for (int f = (int)first; f <= (int)last; f++) {
        p->family = (family)f;
        pack(p);
        for (int i = 0; i < WAYS; i++) {
            cr_bench_time t;
            p->way = (way)i;
            CR_TRY(cr_bench_repeat(seconds, product_call, &(product_run){p, pool}, &t, err));
            cr_bench_row_add(r, keys[f == NZ][i], flops / t.best * 1e-9, "GFLOP/s");
        }
    }
    return CR_OK;
}

/* The rows of the engine's largest tile: whole blocks of the kernels, if a lane has so many. */
static int64_t tile_rows(int64_t lane, family f) {
    int64_t block = parts_of(f) ? CR_BF16_BLOCK : 14, rows = CR_MAX_TILE / block * block;
    return lane < 1 ? 1 : lane < rows ? lane : rows;
}

static cr_code bench_shape(const shape *s, int64_t lane, cr_pool *pool, double seconds,
                           cr_bench *out, cr_err *err) {
    static const char *const kinds[FAMILIES] = {"", "", ", BF16", ", BF16x3", ", BF16x6"};
    /* each thread makes its own product; with more threads than cores some would only wait */
    int threads = cr_pool_threads(pool), cores = cr_cpu_count();
    product p = {.M = tile_rows(lane, BF16),
                 .N = s->N,
                 .K = s->K,
                 .threads = threads < cores ? threads : cores};
    void *mem;
    CR_TRY(matrices(&p, &mem, err));
    cr_code code = CR_OK;
    for (int level = 0; level < CR_CPU_LEVELS && code == CR_OK; level++) {
        const cr_kernels *below = p.k, *k = cr_kern_at((cr_cpu_level)level);
        if (!k) continue;
        p.k = k;
        bool same = below && below->gemm == k->gemm; /* this level differs for BF16 only */
        /* kinds with BF16 have rows of their own, because their tiles have another number of rows;
         * those of several parts on the level in pairs are those of avx512 */
        family last = level == CR_CPU_AVX512_BF16 ? BF16 : BF16X6;
        for (int u = 0; u < (k->gemm_units ? 2 : 1) && code == CR_OK; u++) {
            p.units = u != 0;
            if (k->gemm_units) fill(&p, p.units);
            for (int f = same || u ? BF16 : NZ; f <= (int)last && code == CR_OK; f++) {
                char name[96];
                p.M = tile_rows(lane, (family)f);
                snprintf(name, sizeof(name), "%lld x %lld x %lld, %s%s%s", (long long)p.M,
                         (long long)s->K, (long long)s->N, cr_cpu_level_name((cr_cpu_level)level),
                         kinds[f], u ? ", units" : "");
                code = bench_families(&p, f == NZ ? PLAIN : (family)f, (family)f, pool, seconds,
                                      cr_bench_row_new(out, name), err);
            }
        }
    }
    cr_free(mem);
    return code;
}

cr_code cr_bench_gemm(const cr_bench_opts *o, cr_bench *out, cr_diag *diag) {
    cr_job j;
    cr_job_opts jo = {.config = &o->config,
                      .threads = o->threads,
                      .train = true,
                      .with_labels = true};
    cr_code code = cr_job_open(&j, &jo, diag);
    cr_err err;
    shape v[64];
    if (code == CR_OK) {
        int n = shapes_of(&j.model->graph, v, 64);
        int64_t lane = j.batch / j.lanes;
        cr_bench_add(out, "threads", cr_pool_threads(j.pool), "");
        cr_bench_add(out, "rows_of_a_tile", (double)tile_rows(lane, PLAIN), "rows");
        cr_bench_add(out, "rows_of_a_bf16_tile", (double)tile_rows(lane, BF16), "rows");
        static const cr_products peaks[] = {CR_PRODUCTS_FP32, CR_PRODUCTS_BF16, CR_PRODUCTS_BF16X3,
                                            CR_PRODUCTS_BF16X6};
        static const char *const names[] = {"peak_gflops", "peak_bf16_gflops", "peak_bf16x3_gflops",
                                            "peak_bf16x6_gflops"};
        for (int i = 0; i < 4; i++)
            cr_bench_add(out, names[i], cr_bench_peak(j.pool, peaks[i], 0.1), "GFLOP/s");
        for (int i = 0; i < n && code == CR_OK; i++) {
            code = bench_shape(&v[i], lane, j.pool, o->seconds / 30, out, &err);
            if (code != CR_OK) cr_diag_err(diag, &err);
        }
    }
    cr_job_close(&j);
    return code;
}
