/*
 * gemm_bf16.c - BF16 products of one, two and three parts: every level, the code of the tile unit
 * on a model of that unit, and any split of rows and columns, and of k at whole blocks, give the
 * bits of the specification in list.h, with denormals as zeros. `--bench` times the levels.
 */
#include <float.h>

#include "util.h"

#include "base/mem.h"

static float flush(float x) {
    return fabsf(x) < FLT_MIN ? copysignf(0, x) : x;
}

/* nearest BF16 value by arithmetic: adding and taking off 2^16 units in the last place */
static float nearest(float x) {
    x = flush(x);
    if (isnan(x) || isinf(x) || x == 0) return x;
    int e;
    frexpf(x, &e);
    double unit = ldexp(1, e - 8);
    return (float)(rint((double)x / unit) * unit); /* too large a value becomes infinite */
}

/* a * b + c in one rounding; zero when below FLT_MIN after rounding with an unbounded exponent */
static float step(float a, float b, float c) {
    float r = fmaf(a, b, flush(c));
    if (fabsf(r) == FLT_MIN) { /* was it? again, away from the denormals */
        bool small = fabsf(a) < fabsf(b);
        r = fmaf(small ? a * 0x1p60f : a, small ? b : b * 0x1p60f, flush(c) * 0x1p60f) * 0x1p-30f;
        return fabsf(r) < 0x1p-96f ? copysignf(0, r) : copysignf(FLT_MIN, r);
    }
    return flush(r);
}

/* The functions of a level. */
typedef struct way {
    const char *name;
    const cr_kernels *k; /* NULL: this CPU does not have it */
    void (*gemm)(float *C, int64_t ldc, const float *A, int64_t lda, const uint32_t *packed,
                 int64_t M, int64_t N, int64_t K, int flags, const float *bias, int parts,
                 float *scratch);
    void (*gemm_tn)(float *C, int64_t ldc, const float *A, int64_t lda, const float *B, int64_t ldb,
                    int64_t M, int64_t N, int64_t K, int flags, int parts, float *scratch);
    bool pairs; /* products of one part have an order of their own */
    bool slow;
} way;
#define DECLARE(ret, name, args) ret cr_##name##_tile_model args;
CR_KERNELS_BF16_DOT(DECLARE)
#undef DECLARE
#ifdef HAVE_TILE_MODEL_512
#define DECLARE(ret, name, args) ret cr_##name##_tile_model_512 args;
CR_KERNELS_BF16_DOT(DECLARE)
#undef DECLARE
#endif
enum { TILE_MODEL = CR_CPU_LEVELS, TILE_MODEL_512, WAYS };
static way way_of(int i) {
    if (i < CR_CPU_LEVELS) {
        const cr_kernels *k = cr_kern_at((cr_cpu_level)i);
        if (!k) return (way){.name = cr_cpu_level_name((cr_cpu_level)i)};
        return (way){cr_cpu_level_name((cr_cpu_level)i),
                     k,
                     k->gemm_bf16,
                     k->gemm_bf16_tn,
                     strcmp(cr_kern_order((cr_cpu_level)i), "pairs") == 0,
                     i == CR_CPU_C};
    }
    const cr_kernels *c = cr_kern_at(CR_CPU_C);
    if (i == TILE_MODEL)
        return (way){"tile model", c, cr_gemm_bf16_tile_model, cr_gemm_bf16_tn_tile_model,
                     .slow = true};
#ifdef HAVE_TILE_MODEL_512
    if (cr_kern_at(CR_CPU_AVX512))
        return (way){"tile model, avx512", c, cr_gemm_bf16_tile_model_512,
                     cr_gemm_bf16_tn_tile_model_512, .slow = true};
#endif
    return (way){.name = "tile model, avx512"};
}

/* A matrix of inputs, split into parts; zeros outside. Element (m, k) is at m * sm + k * sk. */
typedef struct split {
    float *p[3];
    int64_t sm, sk;
} split;
static split split_of(const float *x, int64_t n, int64_t sm, int64_t sk, int parts) {
    split s = {.sm = sm, .sk = sk};
    float *rest = cr_alloc((size_t)(n + 1) * 4, "rest");
    memcpy(rest, x, (size_t)n * 4);
    for (int p = 0; p < parts; p++) {
        s.p[p] = cr_alloc((size_t)(n + 1) * 4, "part");
        for (int64_t i = 0; i < n; i++) {
            s.p[p][i] = nearest(rest[i]);
            rest[i] = flush(flush(rest[i]) - s.p[p][i]);
        }
    }
    cr_free(rest);
    return s;
}
static void split_free(split *s) {
    for (int p = 0; p < 3; p++)
        cr_free(s->p[p]);
}

/* the specification of one element, before bias */
static float element(float s, const split *A, int64_t m, const split *B, int64_t n, int64_t K,
                     int parts, bool pairs) {
    static const int order[3][6][2] = {{{0, 0}},
                                       {{0, 1}, {0, 0}, {1, 0}},
                                       {{2, 0}, {1, 0}, {1, 1}, {0, 1}, {0, 2}, {0, 0}}};
    static const int count[3] = {1, 3, 6};
    for (int64_t k0 = 0; k0 < K; k0 += 32)
        for (int i = 0; i < count[parts - 1]; i++) {
            const float *a = A->p[order[parts - 1][i][0]], *b = B->p[order[parts - 1][i][1]];
            float x[32], y[32], chain[2] = {0, 0};
            for (int64_t k = k0; k < k0 + 32; k++) {
                x[k - k0] = k < K ? a[m * A->sm + k * A->sk] : 0;
                y[k - k0] = k < K ? b[n * B->sm + k * B->sk] : 0;
            }
            for (int k = 0; k < 32; k++)
                if (pairs)
                    s = k0 + k < (K + 1) / 2 * 2 ? step(x[k ^ 1], y[k ^ 1], s) : s;
                else
                    chain[k % 2] = step(x[k], y[k], chain[k % 2]);
            if (!pairs) s = flush(flush(s) + flush(chain[0] + chain[1]));
        }
    return s;
}

static void reference(float *C, int64_t ldc, const split *A, const split *B, int64_t M, int64_t N,
                      int64_t K, int flags, const float *bias, int parts, bool pairs) {
    for (int64_t m = 0; m < M; m++)
        for (int64_t n = 0; n < N; n++) {
            float s = flags & CR_GEMM_ACC ? flush(C[m * ldc + n]) : 0;
            s = element(s, A, m, B, n, K, parts, pairs);
            if (flags & CR_GEMM_BIAS) s = flush(s + flush(bias[n]));
            if (flags & CR_GEMM_RELU) s = s <= 0 ? 0 : s;
            if (flags & CR_GEMM_MASK) s = flush(bias[m * ldc + n]) > 0 ? s : 0;
            C[m * ldc + n] = s;
        }
}

static const int64_t sizes[][3] = {
    {1, 1, 1},     {1, 1, 64},    {3, 2, 5},     {14, 32, 16},   {13, 31, 17},
    {15, 33, 1},   {29, 65, 40},  {64, 1, 63},   {17, 16, 33},   {6, 15, 7},
    {40, 100, 67}, {5, 48, 300},  {31, 9, 601},  {2, 130, 20},   {70, 17, 3},
    {33, 40, 0},   {128, 7, 513}, {0, 5, 4},     {20, 70, 129},  {230, 66, 21},
    {50, 1, 30},   {9, 2, 7},     {60, 2, 1029}, {57, 33, 1025}, {300, 40, 33},
};
enum { N_SIZES = sizeof(sizes) / sizeof(sizes[0]) };

typedef enum kind { PLAIN, TINY, SPECIAL, KINDS } kind;

/* PLAIN: sums that cancel, ties, zeros of both signs. TINY: products and sums about the smallest
 * normal float, denormal inputs. SPECIAL: near overflow, infinite, NaN. */
static void fill_hard(float *x, int64_t n, uint64_t seed, kind how) {
    for (int64_t i = 0; i < n; i++) {
        uint64_t r = cr_rng_u64(seed, (uint64_t)i);
        float v = cr_rng_f32(seed + 1, (uint64_t)i) * 2 - 1;
        switch (r % 23) {
        case 0: v = 0; break;
        case 1: v = -0.0f; break;
        case 2: v *= 0x1p20f; break;
        case 3: v = (float)(int)(v * 4096); break;
        case 4: v = 1 + 0x1p-8f; break; /* half way between two BF16 values */
        case 5: v = -1 - 0x1.8p-7f; break;
        case 6: v = r & 1024 ? 1.0f : -1.0f; break;
        default: break;
        }
        if (how == TINY) v *= ldexpf(1, -(int)(56 + r / 64 % 16));
        if (how == TINY && r % 13 == 0) v *= 0x1p-64f;
        if (how == TINY && r % 17 == 0) v = r & 4096 ? FLT_MIN : -FLT_MIN;
        if (how == SPECIAL && r % 997 == 0) v = INFINITY;
        if (how == SPECIAL && r % 991 == 0) v = NAN;
        if (how == SPECIAL && r % 211 == 0) v = 0x1p100f * (v < 0 ? -1.0f : 1.0f);
        if (how == SPECIAL && r % 307 == 0) v = v < 0 ? -FLT_MAX : FLT_MAX;
        x[i] = v;
    }
}

/* bits of an uint32_t buffer in guarded floats */
static uint32_t *words(const guarded *g) {
    return (uint32_t *)(void *)g->p;
}

static const int flag_sets[] = {0,
                                CR_GEMM_ACC,
                                CR_GEMM_BIAS,
                                CR_GEMM_RELU,
                                CR_GEMM_BIAS | CR_GEMM_RELU,
                                CR_GEMM_ACC | CR_GEMM_BIAS | CR_GEMM_RELU,
                                CR_GEMM_MASK,
                                CR_GEMM_ACC | CR_GEMM_MASK};
enum { N_FLAGS = sizeof(flag_sets) / sizeof(flag_sets[0]) };

static void check_way(const way *w, bool tn, kind how, int parts) {
    for (int s = 0; s < N_SIZES; s++)
        for (int f = 0; f < (tn ? 2 : N_FLAGS); f++) {
            int64_t M = sizes[s][0], N = sizes[s][1], K = sizes[s][2];
            /* a part of the cases is enough for large products, more parts and slow models */
            if ((s + f) % (parts > 1 || M * N * K > 100000 ? 3 : 1) > 0) continue;
            if (w->slow && s % 3 != (int)how) continue;
            int flags = flag_sets[f], shift = (s * 7 + f) % 16;
            int64_t ldc = N + s % 3, lda = (tn ? M : K) + f % 3, ldb = N + s % 5;
            guarded A = guard_new((tn ? K : M) * lda, shift), B = guard_new(K * ldb, shift + 1);
            guarded C = guard_new(M * ldc, shift + 2), R = guard_new(M * ldc, 0);
            guarded P = guard_new(cr_gemm_bf16_pack_size(K, N, parts), shift % 2);
            guarded S = guard_new(tn ? cr_gemm_bf16_tn_scratch(M, N, K, parts)
                                     : cr_gemm_bf16_scratch(M, K, parts),
                                  shift % 2);
            guarded bias = guard_new(flags & CR_GEMM_MASK ? M * ldc : N, 3);
            uint64_t seed = (uint64_t)(s * 100 + f) + 1000000 * (uint64_t)how;
            fill_hard(A.p, A.n, seed, how);
            fill_hard(B.p, B.n, seed + 50000, how);
            fill_hard(C.p, C.n, seed + 60000, how);
            fill_hard(bias.p, bias.n, seed + 70000, how);
            if (how == TINY) /* sums start where products are */
                for (int64_t i = 0; i < C.n; i++)
                    C.p[i] *= 0x1p-60f;
            memcpy(R.p, C.p, (size_t)C.n * 4);
            split a = split_of(A.p, A.n, tn ? 1 : lda, tn ? lda : 1, parts),
                  b = split_of(B.p, B.n, 1, ldb, parts);
            reference(R.p, ldc, &a, &b, M, N, K, flags, bias.p, parts, w->pairs && parts == 1);
            split_free(&a), split_free(&b);
            if (tn) {
                w->gemm_tn(C.p, ldc, A.p, lda, B.p, ldb, M, N, K, flags, parts, S.p);
            } else {
                w->k->gemm_bf16_pack(words(&P), B.p, ldb, false, K, N, 0, cr_gemm_panels(N), parts);
                w->gemm(C.p, ldc, A.p, lda, words(&P), M, N, K, flags, bias.p, parts, S.p);
            }
            CHECK_SAME(C.p, R.p, C.n);
            CHECK(guard_intact(&A) && guard_intact(&B) && guard_intact(&C) && guard_intact(&P));
            CHECK(guard_intact(&S) && guard_intact(&bias));
            guard_free(&A), guard_free(&B), guard_free(&C), guard_free(&R), guard_free(&P);
            guard_free(&S), guard_free(&bias);
        }
}

#define WAY_TESTS(name, i)                                                                         \
    TEST(name) {                                                                                   \
        way w = way_of(i);                                                                         \
        if (!w.k) SKIP("this CPU does not have the level");                                        \
        for (int how = 0; how < KINDS; how++)                                                      \
            for (int parts = 1; parts <= 3; parts++) {                                             \
                check_way(&w, false, (kind)how, parts);                                            \
                check_way(&w, true, (kind)how, parts);                                             \
            }                                                                                      \
    }
WAY_TESTS(sums_c, CR_CPU_C)
WAY_TESTS(sums_avx2, CR_CPU_AVX2)
WAY_TESTS(sums_avx512, CR_CPU_AVX512)
WAY_TESTS(sums_avx512_bf16, CR_CPU_AVX512_BF16)
WAY_TESTS(sums_amx, CR_CPU_AMX)
WAY_TESTS(sums_tile_model, TILE_MODEL)
WAY_TESTS(sums_tile_model_512, TILE_MODEL_512)

/* One step at a time around the bound of the flush, where tininess before and after rounding
 * differ: c + a b from both sides of FLT_MIN. 16 columns at once. */
TEST(around_the_smallest) {
    enum { N = 16, STEPS = 5000 };
    static float S[65536];
    int64_t in_zone = 0;
    CHECK(cr_gemm_bf16_scratch(1, 2, 1) <= 65536);
    for (int64_t i = 0; i < STEPS; i++) {
        uint64_t key = cr_rng_sub(77, (uint64_t)i);
        float a[3] = {0}, b[3 * N], c[N];
        int ea = 20 + (int)cr_rng_below(key, 0, 100);
        /* the chain over even k begins with the value that the last product is added to */
        a[0] = ldexpf(1, ea - 127);
        a[2] = ldexpf(1 + (float)cr_rng_below(key, 1, 128) / 128, ea - 127) *
               (cr_rng_u64(key, 3) & 1 ? 1.0f : -1.0f);
        for (uint64_t n = 0; n < N; n++) {
            uint64_t r = cr_rng_u64(key, 100 + n), q = cr_rng_u64(key, 200 + n);
            c[n] = FLT_MIN * (1 + (float)(r % 5) * FLT_EPSILON) * (r & 64 ? 1.0f : -1.0f);
            b[n] = ldexpf(r & 64 ? 1.0f : -1.0f, -126 - ea + 127);
            b[N + n] = 0;
            /* a b from 2^-126 down to 2^-160 */
            int eb = -126 - (int)(q % 35) - (ea - 127);
            b[2 * N + n] =
                ldexpf(1 + (float)(q / 64 % 128) / 128, eb) * (q & (1u << 30) ? 1.0f : -1.0f);
            double v = (double)nearest(a[0]) * (double)b[n] +
                       (double)nearest(a[2]) * (double)nearest(b[2 * N + n]);
            in_zone += fabs(v) < 0x1p-126 && fabs(v) >= 0x1p-126 - 0x1p-150;
        }
        split sa = split_of(a, 3, 3, 1, 1), sb = split_of(b, 3 * N, 1, N, 1);
        for (int level = 0; level < WAYS; level++) {
            way w = way_of(level);
            if (!w.k || (w.slow && i % 20 > 0)) continue;
            uint32_t P[512];
            float got[N], want[N];
            memcpy(got, c, sizeof(c));
            memcpy(want, c, sizeof(c));
            reference(want, N, &sa, &sb, 1, N, 3, CR_GEMM_ACC, NULL, 1, w.pairs);
            w.k->gemm_bf16_pack(P, b, N, false, 3, N, 0, 1, 1);
            w.gemm(got, N, a, 3, P, 1, N, 3, CR_GEMM_ACC, NULL, 1, S);
            CHECK_SAME(got, want, N);
        }
        split_free(&sa), split_free(&sb);
    }
    CHECK(in_zone > 1000);
}

/* Parts that are too small to be kept have a sign, and all levels must agree on it. The sums of
 * this case are -0 as long as every product is below zero or -0: a lost part that has become +0
 * turns them into +0. */
TEST(signs_of_lost_parts) {
    enum { M = 16, N = 16, K = 32 };
    const float three = 1 + 0x1p-9f + 0x1p-18f; /* a part each */
    float A[M * K], B[K * N], C[M * N], R[M * N];
    uint32_t P[3 * 512];
    float *S =
        cr_alloc((size_t)(cr_gemm_bf16_scratch(M, K, 3) + cr_gemm_bf16_tn_scratch(M, N, K, 3)) * 4,
                 "S");
    for (int i = 0; i < 3 * 4 * 2; i++) {
        /* the last value of A or of B is odd: its second part is denormal, or all of it is */
        const int parts = 1 + i % 3;
        const bool left = i / 3 % 2, all = i / 6 % 2, tn = i / 12;
        for (int k = 0; k < K; k++)
            for (int c = 0; c < M; c++) {
                float big = 0x1p-70f * three, odd = -three * (all ? 0x1p-130f : 0x1p-120f);
                float a = k == K - 1 && left ? odd : big, b = k < K - 1 ? -big : left ? big : odd;
                A[tn ? k * M + c : c * K + k] = a;
                B[k * N + c] = b;
            }
        split a = split_of(A, M * K, tn ? 1 : K, tn ? M : 1, parts),
              b = split_of(B, K * N, 1, N, parts);
        for (int level = 0; level < WAYS; level++) {
            way w = way_of(level);
            if (!w.k) continue;
            for (int c = 0; c < M * N; c++)
                C[c] = R[c] = -0.0f;
            reference(R, N, &a, &b, M, N, K, CR_GEMM_ACC, NULL, parts, w.pairs && parts == 1);
            w.k->gemm_bf16_pack(P, B, N, false, K, N, 0, 1, parts);
            if (tn)
                w.gemm_tn(C, N, A, M, B, N, M, N, K, CR_GEMM_ACC, parts, S);
            else
                w.gemm(C, N, A, K, P, M, N, K, CR_GEMM_ACC, NULL, parts, S);
            CHECK_SAME(C, R, M * N);
        }
        split_free(&a), split_free(&b);
    }
    cr_free(S);
}

/* The error of each number of parts, beside a sum in double, as a share of the root mean square of
 * the results: this is what docs/guide/precision.md states. */
TEST(errors) {
    const int64_t M = 45, N = 70, K = 333;
    const double most[] = {1e-2, 4e-5, 4e-6}, least[] = {1e-4, 1e-7, 0};
    float *A = cr_alloc((size_t)(M * K) * 4, "A"), *B = cr_alloc((size_t)(N * K) * 4, "B");
    uint32_t *Q = cr_alloc((size_t)cr_gemm_bf16_pack_size(K, N, 3) * 4, "Q");
    float *S = cr_alloc((size_t)cr_gemm_bf16_scratch(M, K, 3) * 4, "S");
    float *C = cr_alloc((size_t)(M * N) * 4, "C");
    fill(A, M * K, 1), fill(B, N * K, 2);
    for (int level = 0; level < WAYS; level++)
        for (int parts = 1; parts <= 3; parts++) {
            way w = way_of(level);
            if (!w.k) continue;
            w.k->gemm_bf16_pack(Q, B, K, true, K, N, 0, cr_gemm_panels(N), parts);
            w.gemm(C, N, A, K, Q, M, N, K, 0, NULL, parts, S);
            double worst = 0, square = 0;
            for (int64_t m = 0; m < M; m++)
                for (int64_t n = 0; n < N; n++) {
                    double x = 0;
                    for (int64_t k = 0; k < K; k++)
                        x += (double)A[m * K + k] * (double)B[n * K + k];
                    square += x * x;
                    worst = fmax(worst, fabs(x - (double)C[m * N + n]));
                }
            worst /= sqrt(square / (double)(M * N));
            CHECK(worst <= most[parts - 1] && worst >= least[parts - 1]);
        }
    cr_free(A), cr_free(B), cr_free(Q), cr_free(S), cr_free(C);
}

/* rows computed alone, in any groups, with any columns from a panel on: the same bits; so are sums
 * over k cut at any whole block */
TEST(any_split) {
    const int64_t M = 61, N = 77, K = 345;
    float *A = cr_alloc((size_t)(M * K) * 4, "A"), *B = cr_alloc((size_t)(N * K) * 4, "B");
    uint32_t *P = cr_alloc((size_t)cr_gemm_bf16_pack_size(K, N, 2) * 4, "P");
    int64_t room = cr_gemm_bf16_scratch(M, K, 2), tn = cr_gemm_bf16_tn_scratch(M, N, K, 2);
    float *S = cr_alloc((size_t)(room > tn ? room : tn) * 4, "S");
    float *whole = cr_alloc((size_t)(M * N) * 4, "C"), *C = cr_alloc((size_t)(M * N) * 4, "C");
    fill_hard(A, M * K, 1, TINY), fill_hard(B, N * K, 2, PLAIN);
    for (int i = 0; i < 2 * WAYS; i++) {
        way w = way_of(i / 2);
        int parts = 1 + i % 2;
        if (!w.k) continue;
        w.k->gemm_bf16_pack(P, B, K, true, K, N, 0, cr_gemm_panels(N), parts);
        w.gemm(whole, N, A, K, P, M, N, K, 0, NULL, parts, S);
        for (int64_t step = 1; step < M; step += i / 2 < TILE_MODEL ? 5 : 25) {
            memset(C, 0xff, (size_t)(M * N) * 4);
            for (int64_t m = 0; m < M; m += step)
                w.gemm(C + m * N, N, A + m * K, K, P, m + step < M ? step : M - m, N, K, 0, NULL,
                       parts, S);
            CHECK_SAME(C, whole, M * N);
        }
        memset(C, 0xff, (size_t)(M * N) * 4);
        for (int64_t p = 0; p < cr_gemm_panels(N); p++) {
            int64_t n = p * CR_GEMM_NR, nc = N - n < CR_GEMM_NR ? N - n : CR_GEMM_NR;
            w.gemm(C + n, N, A, K, P + p * cr_gemm_bf16_panel(K, parts), M, nc, K, 0, NULL, parts,
                   S);
        }
        CHECK_SAME(C, whole, M * N);
        w.gemm_tn(whole, N, A, M, B, N, M, N, K, 0, parts, S);
        for (int64_t cut = CR_BF16_BLOCK; cut < K; cut += 2 * CR_BF16_BLOCK) {
            w.gemm_tn(C, N, A, M, B, N, M, N, cut, 0, parts, S);
            w.gemm_tn(C, N, A + cut * M, M, B + cut * N, N, M, N, K - cut, CR_GEMM_ACC, parts, S);
            CHECK_SAME(C, whole, M * N);
        }
    }
    cr_free(A), cr_free(B), cr_free(P), cr_free(S), cr_free(whole), cr_free(C);
}

/* both orders of B, any panel range, zeros past K and N, the same words on every level */
TEST(packing) {
    for (int level = 0; level < CR_CPU_LEVELS; level++) {
        const cr_kernels *k = cr_kern_at((cr_cpu_level)level);
        if (!k) continue;
        for (int64_t N = 1; N < 100; N += 7)
            for (int64_t K = 0; K < 300; K += 23) {
                const int parts = 1 + (int)(N + K) % 3;
                const int64_t panel = cr_gemm_bf16_panel(K, parts), panels = cr_gemm_panels(N);
                guarded B = guard_new(N * K, 5);
                guarded P = guard_new(cr_gemm_bf16_pack_size(K, N, parts), 1);
                guarded T = guard_new(N * (K + 2), 2), Q = guard_new(P.n, 2);
                fill_hard(B.p, N * K, (uint64_t)(N * 1000 + K), K % 2 ? TINY : SPECIAL);
                for (int64_t n = 0; n < N; n++)
                    for (int64_t i = 0; i < K; i++)
                        T.p[n * (K + 2) + i] = B.p[i * N + n];
                k->gemm_bf16_pack(words(&P), B.p, N, false, K, N, panels / 2, panels, parts);
                k->gemm_bf16_pack(words(&P), B.p, N, false, K, N, 0, panels / 2, parts);
                k->gemm_bf16_pack(words(&Q), T.p, K + 2, true, K, N, 0, panels, parts);
                CHECK(memcmp(P.p, Q.p, (size_t)P.n * 4) == 0);
                split b = split_of(B.p, N * K, 1, N, parts);
                bool right = true;
                for (int64_t i = 0; i < P.n; i++) {
                    int64_t unit = i % panel / 512, at = i % 512;
                    int64_t n = i / panel * CR_GEMM_NR + at / 256 * 16 + at % 16;
                    for (int64_t h = 0; h < 2; h++) {
                        int64_t row = unit / parts * 32 + at % 256 / 16 * 2 + h;
                        float want = n < N && row < K ? b.p[unit % parts][row * N + n] : 0, got;
                        uint32_t bits = h ? words(&P)[i] & 0xffff0000u : words(&P)[i] << 16;
                        memcpy(&got, &bits, 4);
                        right &= differ(&got, &want, 1) < 0;
                    }
                }
                CHECK(right);
                CHECK(guard_intact(&P) && guard_intact(&Q) && guard_intact(&B));
                split_free(&b);
                guard_free(&B), guard_free(&P), guard_free(&T), guard_free(&Q);
            }
    }
}

/* GFLOP/s per level, number of parts and shape beside FP32 */
typedef struct shape {
    const cr_kernels *k;
    int parts;
    int64_t M, K, N;
    float *A, *B, *C, *D, *P, *Y;
    uint32_t *Q;
    float *S;
} shape;
static void new_nn(const shape *s) {
    s->k->gemm_bf16(s->C, s->N, s->A, s->K, s->Q, s->M, s->N, s->K, 0, NULL, s->parts, s->S);
}
static void old_nn(const shape *s) {
    s->k->gemm(s->C, s->N, s->A, s->K, s->P, s->M, s->N, s->K, 0, NULL);
}
static void new_tn(const shape *s) {
    s->k->gemm_bf16_tn(s->D, s->K, s->Y, s->N, s->A, s->K, s->N, s->K, s->M, 1, s->parts, s->S);
}
static void old_tn(const shape *s) {
    s->k->gemm_tn(s->D, s->K, s->Y, s->N, s->A, s->K, s->N, s->K, s->M, 1, s->S);
}
static void new_pack(const shape *s) {
    int64_t panels = cr_gemm_panels(s->N);
    s->k->gemm_bf16_pack(s->Q, s->B, s->K, true, s->K, s->N, 0, panels, s->parts);
    s->k->gemm_bf16_pack(s->Q, s->B, s->N, false, s->K, s->N, 0, panels, s->parts);
}
static void old_pack(const shape *s) {
    s->k->gemm_pack(s->P, s->B, s->K, true, s->K, s->N, 0, cr_gemm_panels(s->N));
    s->k->gemm_pack(s->P, s->B, s->N, false, s->K, s->N, 0, cr_gemm_panels(s->N));
}
static double best_of(void (*fn)(const shape *), const shape *s, int reps) {
    double best = 1e9;
    for (int r = 0; r < reps; r++) {
        double t = cr_now();
        fn(s);
        t = cr_now() - t;
        if (t < best) best = t;
    }
    return best;
}
static void bench(void) {
    static const int64_t kn[][2] = {{429, 512}, {512, 256}, {256, 128}, {145, 64}, {64, 1}};
    static const int64_t Ms[] = {4, 64, 256};
    for (int level = 0; level < CR_CPU_LEVELS; level++)
        for (int i = 0; i < 5; i++)
            for (int m = 0; m < 5; m++) {
                shape s = {.k = cr_kern_at((cr_cpu_level)level),
                           .M = Ms[m < 2 ? m : 2],
                           .parts = m < 3 ? 1 : m - 1,
                           .K = kn[i][0],
                           .N = kn[i][1]};
                if (!s.k) continue;
                int64_t a = cr_gemm_bf16_scratch(s.M, s.K, s.parts),
                        b = cr_gemm_bf16_tn_scratch(s.N, s.K, s.M, s.parts),
                        c = cr_gemm_tn_scratch(s.N, s.K, s.M);
                a = a > b ? a : b, a = a > c ? a : c;
                int64_t n[] = {
                    s.M * s.K, s.N * s.K, s.M * s.N, s.N * s.K, cr_gemm_pack_size(s.K, s.N),
                    s.M * s.N, a};
                float **p[] = {&s.A, &s.B, &s.C, &s.D, &s.P, &s.Y, &s.S};
                for (int x = 0; x < 7; x++) {
                    *p[x] = cr_alloc((size_t)n[x] * 4, "bench");
                    fill(*p[x], n[x], (uint64_t)x);
                }
                s.Q = cr_alloc((size_t)cr_gemm_bf16_pack_size(s.K, s.N, s.parts) * 4, "bench");
                new_pack(&s), old_pack(&s);
                int reps = level == CR_CPU_C ? 3 : 80;
                double f = 2e-9 * (double)(s.M * s.N * s.K);
                printf("%-11s parts %d M %4lld K %4lld N %4lld: gemm %6.1f (FP32 %6.1f)  tn %6.1f "
                       "(%6.1f) GFLOP/s  pack both ways %5.1f (%5.1f) us\n",
                       cr_cpu_level_name((cr_cpu_level)level), s.parts, (long long)s.M,
                       (long long)s.K, (long long)s.N, f / best_of(new_nn, &s, reps),
                       f / best_of(old_nn, &s, reps), f / best_of(new_tn, &s, reps),
                       f / best_of(old_tn, &s, reps), 1e6 * best_of(new_pack, &s, reps),
                       1e6 * best_of(old_pack, &s, reps));
                for (int x = 0; x < 7; x++)
                    cr_free(*p[x]);
                cr_free(s.Q);
            }
}

int main(int argc, char **argv) {
    static const t_case cases[] = {CASE(sums_c),
                                   CASE(sums_avx2),
                                   CASE(sums_avx512),
                                   CASE(sums_avx512_bf16),
                                   CASE(sums_amx),
                                   CASE(sums_tile_model),
                                   CASE(sums_tile_model_512),
                                   CASE(around_the_smallest),
                                   CASE(signs_of_lost_parts),
                                   CASE(errors),
                                   CASE(any_split),
                                   CASE(packing)};
    if (argc > 1 && strcmp(argv[1], "--bench") == 0) {
        bench();
        return 0;
    }
    return t_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
