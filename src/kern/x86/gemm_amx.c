/*
 * x86/gemm_amx.c - BF16 products on the tile unit of Intel CPUs (AMX).
 *
 * Operands are units of 32 x 32 BF16 values (2 KiB, two tiles of 16 rows of 64 bytes; units_int.h).
 * The right one is packed in them already (pack_bf16.c). The left one was written by the product
 * before, or is made here from floats. 2 x 2 tiles of C are computed at a time, so there is one
 * load per multiplication. The outer loop runs over columns: a panel of the right operand stays in
 * the first-level cache, and the left one is streamed.
 *
 * The vector work on a finished block of C (bias, ReLU, mask, the units that other products will
 * read) is done a few rows at a time in the loop of the next block, because the vector units are
 * idle there. The tile registers are set up at the start of a call and released at its end, so no
 * thread keeps their state.
 *
 * With CR_TILE_MODEL the same code runs on a model of the tile unit in plain C: tests run it on
 * CPUs without AMX. Trap: the compiler does not know that tile loads read memory (FENCE).
 */
#ifdef CR_TILE_MODEL
#include "kern/x86/tile_model_int.h"
#else
#include <immintrin.h>
#define FENCE                 __asm__ volatile("" ::: "memory")
#define TILE_ZERO(t)          _tile_zero(t)
#define TILE_LOAD(t, p, ld)   _tile_loadd(t, p, ld)
#define TILE_STREAM(t, p, ld) _tile_stream_loadd(t, p, ld)
#define TILE_STORE(t, p, ld)  _tile_stored(t, p, ld)
#define TILE_DOT(c, a, b)     _tile_dpbf16ps(c, a, b)
#endif
#include "kern/x86/units_int.h"

enum { NR = CR_GEMM_NR, KB = CR_BF16_BLOCK, MB = 32, FEW_ROWS = 16 };

#ifndef __AVX512F__
#define NOINLINE
#endif

/* left_units makes the units of M rows of K columns: [block of rows][block along k][part]. */
static void left_units(char *d, const float *A, int64_t lda, int64_t M, int64_t K, int parts) {
    for (int64_t m = 0; m < M; m += MB)
        for (int64_t k = 0; k < K; k += KB, d += parts * UNIT)
            row_unit(d, A + m * lda + k, lda, M - m, K - k, parts);
    FENCE;
}

/* right_units makes the units of the transpose of K rows of N columns, or (turn) of the rows
 * themselves as a left operand: [block of columns][block along k][part]. */
static void right_units(char *d, const float *X, int64_t ldx, int64_t K, int64_t N, int parts,
                        bool turn, char *tmp) {
    for (int64_t n = 0; n < N; n += NR)
        for (int64_t k = 0; k < K; k += KB, d += parts * UNIT) {
            pair_unit(turn ? tmp : d, X + k * ldx + n, ldx, K - k, N - n, parts);
            if (turn) turn_unit(d, tmp, parts);
        }
    FENCE;
}

/* both multiplies unit x by unit w; left and right only change one operand. A load stands just
 * before its first use. C: tiles 0 1 above 2 3; A: 4 above 5; B: 6 beside 7. */
CR_INLINE void both(const char *x, const char *w) {
    TILE_LOAD(6, w, 64);
    TILE_STREAM(4, x, 64);
    TILE_DOT(0, 4, 6);
    TILE_LOAD(7, w + 1024, 64);
    TILE_DOT(1, 4, 7);
    TILE_STREAM(5, x + 1024, 64);
    TILE_DOT(2, 5, 6);
    TILE_DOT(3, 5, 7);
}
CR_INLINE void left(const char *x) {
    TILE_STREAM(4, x, 64);
    TILE_DOT(0, 4, 6);
    TILE_DOT(1, 4, 7);
    TILE_STREAM(5, x + 1024, 64);
    TILE_DOT(2, 5, 6);
    TILE_DOT(3, 5, 7);
}
CR_INLINE void right(const char *w) {
    TILE_LOAD(6, w, 64);
    TILE_DOT(0, 4, 6);
    TILE_DOT(2, 5, 6);
    TILE_LOAD(7, w + 1024, 64);
    TILE_DOT(1, 4, 7);
    TILE_DOT(3, 5, 7);
}

/* block multiplies one block along k: the products of bf16_order, each of which changes one operand
 * only. */
CR_INLINE void block(const int parts, const char *a, const char *b) {
    switch (parts) {
    case 1: both(a, b); return;
    case 2:
        both(a, b + UNIT);
        right(b);
        left(a + UNIT);
        return;
    default:
        both(a + 2 * UNIT, b);
        left(a + UNIT);
        right(b + UNIT);
        left(a);
        right(b + 2 * UNIT);
        right(b);
        return;
    }
}

/* One product: C from left units and panels of the right operand. */
typedef struct job {
    const char *A, *B;
    int64_t row, panel; /* bytes from a block of rows of A to the next, and of a panel of B */
    int64_t m0, M, N;   /* rows [m0, m0 + M) of C */
    int64_t blocks;     /* along k */
    int flags;
    const float *bias; /* or the mask: rows of it lie C.ld apart */
    cr_units C;
    int64_t all; /* rows of C in all */
    float *sums; /* three blocks of C */
    char *tmp;   /* a unit per part, when C is wanted turned but not in pairs */
} job;

/* A block of C whose sums lie in s (32 x 32 floats), and what becomes of it in `steps` steps: two
 * rows each, then quarters of transposed tiles. */
typedef struct out {
    const float *s, *bias;
    float *f;
    char *rows, *pairs, *turned;
    uint32_t *above;
    int64_t ld, n_rows, columns;
    int flags, step, steps;
} out;

CR_INLINE row32 finish_row(const out *o, int64_t r) {
    if (r >= o->n_rows) return row_load(o->s, 0);
    row32 y = row_load(o->s + 32 * r, o->columns);
    if (o->flags & CR_GEMM_BIAS) y = row_add(y, row_load(o->bias, o->columns));
    if (o->flags & CR_GEMM_RELU) {
        y = row_relu(y);
        if (o->above) o->above[r] = row_above(y);
    }
    if (o->flags & CR_GEMM_MASK)
        y = row_where(y,
                      o->bias ? row_above(row_load(o->bias + r * o->ld, o->columns)) : o->above[r]);
    if (o->f) row_store(o->f + r * o->ld, y, o->columns);
    return y;
}

/* finish does n steps, or as many as there are. */
CR_INLINE void finish(const int parts, out *o, int n) {
    for (int end = o->step + n < o->steps ? o->step + n : o->steps; o->step < end; o->step++) {
        int r = 2 * o->step, i = o->step - MB / 2;
        if (i >= 0) {
            quarter(o->turned + i / 4 * 1024, o->pairs + i / 4 * 1024, i % 4);
            continue;
        }
        row32 x = finish_row(o, r), y = finish_row(o, r + 1);
        if (o->rows) {
            put_row(o->rows + 64 * r, x, parts);
            put_row(o->rows + 64 * r + 64, y, parts);
        }
        if (o->pairs) put_pair(o->pairs + 32 * r, x, y, parts);
    }
}

/* out_of describes the block of C at row m of the product and column n, with its sums in s. */
CR_INLINE out out_of(const int parts, const job *j, int64_t m, int64_t n, const float *s) {
    const int64_t left = (j->m0 + m) / MB, right = n / NR;
    const int64_t mb = (j->all + MB - 1) / MB, nb = (j->N + NR - 1) / NR;
    const int64_t at = (left * nb + right) * parts * UNIT,
                  turned = (right * mb + left) * parts * UNIT;
    const cr_units *C = &j->C;
    out o = {.s = s,
             .ld = C->ld,
             .n_rows = j->M - m < MB ? j->M - m : MB,
             .columns = j->N - n < NR ? j->N - n : NR,
             .flags = j->flags,
             .steps = MB / 2};
    if (C->f) o.f = C->f + (j->m0 + m) * C->ld + n;
    if (C->rows) o.rows = (char *)C->rows + at;
    if (C->pairs) o.pairs = (char *)C->pairs + turned;
    if (C->turned) {
        o.turned = (char *)C->turned + turned;
        if (!o.pairs) o.pairs = j->tmp;
        o.steps += 8 * parts;
    }
    if (C->above) o.above = C->above + (left * nb + right) * MB;
    if (j->flags & CR_GEMM_BIAS) o.bias = j->bias + n;
    if (j->flags & CR_GEMM_MASK && j->bias) o.bias = j->bias + (j->m0 + m) * C->ld + n;
    return o;
}

/* load_sums and store_sums move a block of C between the tiles and 32 x 32 floats. */
CR_INLINE void load_sums(const char *c) {
    TILE_LOAD(0, c, 128);
    TILE_LOAD(1, c + 64, 128);
    TILE_LOAD(2, c + 2048, 128);
    TILE_LOAD(3, c + 2048 + 64, 128);
}
CR_INLINE void store_sums(char *c) {
    TILE_STORE(0, c, 128);
    TILE_STORE(1, c + 64, 128);
    TILE_STORE(2, c + 2048, 128);
    TILE_STORE(3, c + 2048 + 64, 128);
    FENCE;
}

/* A block of C that is added to, on its way to s (32 x 32 floats): two rows in each of 16 steps. */
typedef struct in {
    const float *f;
    float *s;
    int64_t ld, n_rows, columns;
    int step;
} in;

/* fetch does n steps, or as many as there are. What else is in s adds to sums that finish leaves
 * out. */
CR_INLINE void fetch(in *i, int n) {
    for (int end = i->step + n < MB / 2 ? i->step + n : MB / 2; i->step < end; i->step++)
        for (int64_t r = 2 * i->step; r < 2 * i->step + 2 && r < i->n_rows; r++)
            row_store(i->s + 32 * r, row_load(i->f + r * i->ld, i->columns), 32);
}

/* product computes C block by block. While the tiles of a block are multiplied, the block before it
 * is finished and, when C is added to, the block behind it is fetched: loads and stores of tiles
 * wait, and rows of C that begin anywhere make them five times as slow. So the three blocks have
 * three places. */
CR_INLINE void product(const int parts, const bool add, const job *j) {
    const int steps = MB / 2 + (j->C.turned ? 8 * parts : 0);
    const int some = (int)((steps + j->blocks - 1) / j->blocks);
    const int64_t mb = (j->M + MB - 1) / MB, n_blocks = mb * ((j->N + NR - 1) / NR);
    out last = {0}, now = out_of(parts, j, 0, 0, j->sums);
    in next = {
        .f = now.f, .s = j->sums, .ld = now.ld, .n_rows = now.n_rows, .columns = now.columns};
    if (add) fetch(&next, MB / 2);
    for (int64_t i = 0; i < n_blocks; i++) {
        const char *a = j->A + i % mb * j->row, *b = j->B + i / mb * j->panel;
        out then = {0};
        next.step = MB / 2;
        if (i + 1 < n_blocks) {
            float *s = j->sums + (i + 1) % 3 * 1024;
            then = out_of(parts, j, (i + 1) % mb * MB, (i + 1) / mb * NR, s);
            if (add) next = (in){then.f, s, then.ld, then.n_rows, then.columns, 0};
        }
        FENCE;
        if (add) {
            load_sums((const char *)now.s);
        } else {
            TILE_ZERO(0);
            TILE_ZERO(1);
            TILE_ZERO(2);
            TILE_ZERO(3);
        }
        for (int64_t k = 0; k < j->blocks; k++, a += parts * UNIT, b += parts * UNIT) {
            block(parts, a, b);
            finish(parts, &last, some);
            if (add) fetch(&next, some);
        }
        finish(parts, &last, steps);
        if (add) fetch(&next, MB / 2);
        store_sums((char *)j->sums + i % 3 * 4096);
        last = now;
        now = then;
    }
    finish(parts, &last, steps);
    FENCE;
}

static void any_product(int parts, const job *j) {
    const bool add = j->flags & CR_GEMM_ACC;
    switch (parts + 3 * add) {
    case 1: product(1, false, j); return;
    case 2: product(2, false, j); return;
    case 3: product(3, false, j); return;
    case 4: product(1, true, j); return;
    case 5: product(2, true, j); return;
    default: product(3, true, j); return;
    }
}

/* The first bytes of the scratch that begin at a multiple of 64. */
static char *aligned(float *scratch) {
    return (char *)scratch + (64 - (uintptr_t)scratch % 64) % 64;
}

/* gemm: A is made of floats or already there, C goes where it is wanted. When both sides are floats
 * a long k is cut, so that a panel of the right operand stays in the first-level cache. */
static NOINLINE void gemm(const cr_units *C, const cr_units *A, const char *packed, int64_t M,
                          int64_t N, int64_t K, int flags, const float *bias, int parts,
                          float *scratch) {
    float *sums = (float *)(void *)aligned(scratch);
    const bool floats = !A->rows && !C->rows && !C->pairs && !C->turned;
    char *tmp = (char *)(sums + 3072), *units = floats ? tmp : tmp + 3 * UNIT;
    const int64_t most = bf16_tile_rows(parts), step = floats ? BF16_KC : K;
    job j = {.panel = cr_gemm_bf16_panel(K, parts) * 4,
             .N = N,
             .bias = bias,
             .C = *C,
             .all = M,
             .sums = sums,
             .tmp = tmp};
    for (j.m0 = 0; j.m0 < M; j.m0 += most)
        for (int64_t k = 0; k < K; k += step) {
            int64_t kc = K - k < step ? K - k : step;
            j.M = M - j.m0 < most ? M - j.m0 : most;
            j.blocks = bf16_blocks(kc);
            j.row = j.blocks * parts * UNIT;
            j.A = A->rows ? (const char *)A->rows + j.m0 / MB * j.row : units;
            if (!A->rows) left_units(units, A->f + j.m0 * A->ld + k, A->ld, j.M, kc, parts);
            j.B = packed + k / KB * parts * UNIT;
            j.flags = bf16_flags(flags, k, kc, K);
            any_product(parts, &j);
        }
}

/* side returns the units of a side of gemm_tn for rows [k, k + kc) of K, and how far apart its
 * blocks of columns are: those that are there, or made in d from floats (N columns). */
static const char *side(const cr_units *x, const uint32_t *there, bool turn, char *d, int64_t N,
                        int64_t K, int64_t k, int64_t kc, int parts, char *tmp, int64_t *apart) {
    *apart = bf16_blocks(there ? K : kc) * parts * UNIT;
    if (there) return (const char *)there + k / KB * parts * UNIT;
    right_units(d, x->f + k * x->ld, x->ld, kc, N, parts, turn, tmp);
    return d;
}

static NOINLINE void gemm_tn(float *C, int64_t ldc, const cr_units *A, const cr_units *B, int64_t M,
                             int64_t N, int64_t K, int flags, int parts, float *scratch) {
    float *sums = (float *)(void *)aligned(scratch);
    char *tmp = (char *)(sums + 3072), *a = tmp + 3 * UNIT;
    job j = {.M = M, .N = N, .C = {.f = C, .ld = ldc}, .all = M, .sums = sums};
    for (int64_t k = 0; k < K; k += TN_KC) {
        int64_t kc = K - k < TN_KC ? K - k : TN_KC;
        j.blocks = bf16_blocks(kc);
        char *b = a + (M + MB - 1) / MB * j.blocks * parts * UNIT;
        j.A = side(A, A->turned, true, a, M, K, k, kc, parts, tmp, &j.row);
        j.B = side(B, B->pairs, false, b, N, K, k, kc, parts, NULL, &j.panel);
        j.flags = bf16_flags(flags, k, kc, K);
        any_product(parts, &j);
    }
}

#ifdef CR_TILE_MODEL
#define TILES_BEGIN() ((void)0)
#define TILES_END()   ((void)0)
#else
#define CR_DECLARE(ret, nm, args) ret cr_##nm##_avx512 args;
CR_KERNELS_BF16_DOT(CR_DECLARE)
#undef CR_DECLARE
/* tiles_begin sets the layout of the tile registers: 8 tiles of 16 rows of 64 bytes. */
static void tiles_begin(void) {
    struct {
        uint8_t palette, start, zero[14];
        uint16_t bytes[16];
        uint8_t rows[16];
    } c __attribute__((aligned(64))) = {.palette = 1};
    for (int i = 0; i < 8; i++) {
        c.bytes[i] = 64;
        c.rows[i] = 16;
    }
    __asm__ volatile("" ::"r"(&c) : "memory"); /* _tile_loadconfig says that it reads 8 bytes */
    _tile_loadconfig(&c);
}
#define TILES_BEGIN() tiles_begin()
#define TILES_END()   _tile_release()
#endif
#ifdef __AVX512F__
#define BEGIN                                                                                      \
    unsigned was = _mm_getcsr();                                                                   \
    _mm_setcsr(was | BF16_DENORMALS_ZERO);                                                         \
    TILES_BEGIN()
#define END                                                                                        \
    TILES_END();                                                                                   \
    _mm_setcsr(was)
#else
#define BEGIN TILES_BEGIN()
#define END   TILES_END()
#endif

void KERN(gemm_bf16)(float *C, int64_t ldc, const float *A, int64_t lda, const uint32_t *packed,
                     int64_t M, int64_t N, int64_t K, int flags, const float *bias, int parts,
                     float *scratch) {
    if (K == 0) {
        bf16_empty(C, ldc, M, N, flags, bias);
        return;
    }
#ifndef CR_TILE_MODEL
    if (M < FEW_ROWS) { /* half of the tiles would be empty; the bits are the same */
        cr_gemm_bf16_avx512(C, ldc, A, lda, packed, M, N, K, flags, bias, parts, scratch);
        return;
    }
#endif
    BEGIN;
    gemm(&(cr_units){.f = C, .ld = ldc}, &(cr_units){.f = (float *)A, .ld = lda},
         (const char *)packed, M, N, K, flags, bias, parts, scratch);
    END;
}

void KERN(gemm_bf16_tn)(float *C, int64_t ldc, const float *A, int64_t lda, const float *B,
                        int64_t ldb, int64_t M, int64_t N, int64_t K, int flags, int parts,
                        float *scratch) {
    if (K == 0) {
        bf16_empty(C, ldc, M, N, flags & CR_GEMM_ACC, NULL);
        return;
    }
    BEGIN;
    gemm_tn(C, ldc, &(cr_units){.f = (float *)A, .ld = lda},
            &(cr_units){.f = (float *)B, .ld = ldb}, M, N, K, flags & CR_GEMM_ACC, parts, scratch);
    END;
}

void KERN(gemm_units)(const cr_units *C, const cr_units *A, const uint32_t *packed, int64_t M,
                      int64_t N, int64_t K, int flags, const float *bias, int parts,
                      float *scratch) {
    BEGIN;
    gemm(C, A, (const char *)packed, M, N, K, flags, bias, parts, scratch);
    END;
}

void KERN(gemm_units_tn)(float *C, int64_t ldc, const cr_units *A, const cr_units *B, int64_t M,
                         int64_t N, int64_t K, int flags, int parts, float *scratch) {
    BEGIN;
    gemm_tn(C, ldc, A, B, M, N, K, flags & CR_GEMM_ACC, parts, scratch);
    END;
}

double KERN(peak_bf16)(int64_t n, float *sum) {
    float x[32 * 32], c[256] = {0};
    char a[UNIT], b[UNIT];
    uint32_t r = 1;
    for (int i = 0; i < 32 * 32; i++) {
        r = r * 1664525 + 1013904223;
        x[i] = (float)(r >> 8) * 0x1p-24f - 0.5f;
    }
    left_units(a, x, 32, 32, 32, 1);
    right_units(b, x, 32, 32, 32, 1, false, NULL);
    n /= 16; /* one multiplication of tiles is as much as 512 of vectors */
    BEGIN;
    both(a, b);
    for (int64_t k = 0; k < n; k++) {
        TILE_DOT(0, 4, 6);
        TILE_DOT(1, 4, 7);
        TILE_DOT(2, 5, 6);
        TILE_DOT(3, 5, 7);
    }
    TILE_STORE(0, c, 64);
    FENCE;
    END;
    *sum = c[0];
    return 4.0 * 16384 * (double)n;
}
