/*
 * gemm_bf16.c - BF16 products: every level, any split of rows, columns and k gives the bits of one
 * chain of fused multiply-adds per element over rounded inputs, with denormals as zeros; where no
 * denormal occurs those are the bits of round16 followed by gemm. `--bench` times the levels.
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

/* the specification; a steps by (am, ak), b by (bk, bn); both are rounded already */
static void reference(float *C, int64_t ldc, const float *A, int64_t am, int64_t ak, const float *B,
                      int64_t bk, int64_t bn, int64_t M, int64_t N, int64_t K, int flags,
                      const float *bias) {
    for (int64_t m = 0; m < M; m++)
        for (int64_t n = 0; n < N; n++) {
            float s = flags & CR_GEMM_ACC ? flush(C[m * ldc + n]) : 0;
            for (int64_t k = 0; k < K; k++)
                s = step(A[m * am + k * ak], B[k * bk + n * bn], s);
            if (flags & CR_GEMM_BIAS) s = flush(s + flush(bias[n]));
            if (flags & CR_GEMM_RELU) s = s <= 0 ? 0 : s;
            C[m * ldc + n] = s;
        }
}

static const int64_t sizes[][3] = {
    {1, 1, 1},     {1, 1, 64},    {3, 2, 5},    {14, 32, 16}, {13, 31, 17},  {15, 33, 1},
    {29, 65, 40},  {64, 1, 63},   {17, 16, 33}, {6, 15, 7},   {40, 100, 67}, {5, 48, 300},
    {31, 9, 601},  {2, 130, 20},  {70, 17, 3},  {33, 40, 0},  {128, 7, 513}, {0, 5, 4},
    {20, 70, 129}, {230, 66, 21}, {50, 1, 30},  {9, 2, 7},    {60, 2, 1029}, {57, 33, 1025},
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

static float *rounded(const float *x, int64_t n) {
    float *y = cr_alloc((size_t)(n + 1) * 4, "rounded");
    for (int64_t i = 0; i < n; i++)
        y[i] = nearest(x[i]);
    return y;
}

/* bits of an uint32_t buffer in guarded floats */
static uint32_t *words(const guarded *g) {
    return (uint32_t *)(void *)g->p;
}

static void check_level(const cr_kernels *k, bool tn, kind how) {
    for (int s = 0; s < N_SIZES; s++)
        for (int flags = 0; flags < (tn ? 2 : 8); flags++) {
            int64_t M = sizes[s][0], N = sizes[s][1], K = sizes[s][2];
            int shift = (s * 7 + flags) % 16;
            int64_t ldc = N + s % 3, lda = (tn ? M : K) + flags % 3, ldb = N + s % 5;
            guarded A = guard_new((tn ? K : M) * lda, shift), B = guard_new(K * ldb, shift + 1);
            guarded C = guard_new(M * ldc, shift + 2), R = guard_new(M * ldc, 0);
            guarded P = guard_new(cr_gemm_bf16_pack_size(K, N), shift % 2);
            guarded S =
                guard_new(tn ? cr_gemm_bf16_tn_scratch(M, N, K) : cr_gemm_bf16_scratch(M, K),
                          shift % 2);
            guarded bias = guard_new(N, 3);
            uint64_t seed = (uint64_t)(s * 100 + flags) + 1000000 * (uint64_t)how;
            fill_hard(A.p, A.n, seed, how);
            fill_hard(B.p, B.n, seed + 50000, how);
            fill_hard(C.p, C.n, seed + 60000, how);
            fill_hard(bias.p, N, seed + 70000, how);
            if (how == TINY) /* sums start where products are */
                for (int64_t i = 0; i < C.n; i++)
                    C.p[i] *= 0x1p-60f;
            memcpy(R.p, C.p, (size_t)C.n * 4);
            float *a = rounded(A.p, A.n), *b = rounded(B.p, B.n);
            reference(R.p, ldc, a, tn ? 1 : lda, tn ? lda : 1, b, ldb, 1, M, N, K, flags, bias.p);
            cr_free(a), cr_free(b);
            if (tn) {
                k->gemm_bf16_tn(C.p, ldc, A.p, lda, B.p, ldb, M, N, K, flags, S.p);
            } else {
                k->gemm_bf16_pack(words(&P), B.p, ldb, false, K, N, 0, cr_gemm_panels(N));
                k->gemm_bf16(C.p, ldc, A.p, lda, words(&P), M, N, K, flags, bias.p, S.p);
            }
            CHECK_SAME(C.p, R.p, C.n);
            CHECK(guard_intact(&A) && guard_intact(&B) && guard_intact(&C) && guard_intact(&P));
            CHECK(guard_intact(&S) && guard_intact(&bias));
            guard_free(&A), guard_free(&B), guard_free(&C), guard_free(&R), guard_free(&P);
            guard_free(&S), guard_free(&bias);
        }
}

#define LEVEL_TESTS(name, level)                                                                   \
    TEST(name) {                                                                                   \
        const cr_kernels *k = cr_kern_at(level);                                                   \
        if (!k) SKIP("this CPU does not have the level");                                          \
        for (int how = 0; how < KINDS; how++) {                                                    \
            check_level(k, false, (kind)how);                                                      \
            check_level(k, true, (kind)how);                                                       \
        }                                                                                          \
    }
LEVEL_TESTS(chain_c, CR_CPU_C)
LEVEL_TESTS(chain_avx2, CR_CPU_AVX2)
LEVEL_TESTS(chain_avx512, CR_CPU_AVX512)
LEVEL_TESTS(chain_avx512_bf16, CR_CPU_AVX512_BF16)

/* One step at a time around the bound of the flush, where tininess before and after rounding
 * differ: c + a b from both sides of FLT_MIN. 16 columns at once. */
TEST(around_the_smallest) {
    enum { N = 16, STEPS = 20000 };
    int64_t in_zone = 0;
    for (int64_t i = 0; i < STEPS; i++) {
        uint64_t key = cr_rng_sub(77, (uint64_t)i);
        float a[2], b[2 * N], c[N], want[N];
        int ea = 20 + (int)cr_rng_below(key, 0, 100);
        for (int k = 0; k < 2; k++)
            a[k] = ldexpf(1 + (float)cr_rng_below(key, 1 + (uint64_t)k, 128) / 128, ea - 127) *
                   (cr_rng_u64(key, 3) & 1 ? 1.0f : -1.0f);
        for (uint64_t n = 0; n < N; n++) {
            uint64_t r = cr_rng_u64(key, 100 + n);
            c[n] = FLT_MIN * (1 + (float)(r % 5) * FLT_EPSILON) * (r & 64 ? 1.0f : -1.0f);
            for (uint64_t k = 0; k < 2; k++) {
                uint64_t q = cr_rng_u64(key, 200 + 2 * n + k);
                /* a b from 2^-126 down to 2^-160 */
                int eb = -126 - (int)(q % 35) - (ea - 127);
                b[k * N + n] =
                    ldexpf(1 + (float)(q / 64 % 128) / 128, eb) * (q & (1u << 30) ? 1.0f : -1.0f);
            }
            want[n] = c[n];
            double v = (double)c[n] + (double)nearest(a[0]) * (double)nearest(b[n]);
            in_zone += fabs(v) < 0x1p-126 && fabs(v) >= 0x1p-126 - 0x1p-150;
        }
        float *ra = rounded(a, 2), *rb = rounded(b, 2 * N);
        reference(want, N, ra, 2, 1, rb, N, 1, 1, N, 2, CR_GEMM_ACC, NULL);
        cr_free(ra), cr_free(rb);
        for (int level = 0; level < CR_CPU_LEVELS; level++) {
            const cr_kernels *k = cr_kern_at((cr_cpu_level)level);
            if (!k) continue;
            uint32_t P[CR_GEMM_NR];
            float S[1024], got[N];
            CHECK(cr_gemm_bf16_scratch(1, 2) <= 1024 && cr_gemm_bf16_pack_size(2, N) <= CR_GEMM_NR);
            memcpy(got, c, sizeof(c));
            k->gemm_bf16_pack(P, b, N, false, 2, N, 0, 1);
            k->gemm_bf16(got, N, a, 2, P, 1, N, 2, CR_GEMM_ACC, NULL, S);
            CHECK_SAME(got, want, N);
        }
    }
    CHECK(in_zone > 1000);
}

/* without denormals: what rounding and the FP32 product give, bit for bit */
TEST(as_rounded_fp32) {
    const int64_t M = 45, N = 70, K = 333;
    float *A = cr_alloc((size_t)(M * K) * 4, "A"), *B = cr_alloc((size_t)(N * K) * 4, "B");
    float *P = cr_alloc((size_t)cr_gemm_pack_size(K, N) * 4, "P");
    uint32_t *Q = cr_alloc((size_t)cr_gemm_bf16_pack_size(K, N) * 4, "Q");
    float *S = cr_alloc((size_t)cr_gemm_bf16_scratch(M, K) * 4, "S");
    float *want = cr_alloc((size_t)(M * N) * 4, "C"), *C = cr_alloc((size_t)(M * N) * 4, "C");
    fill(A, M * K, 1), fill(B, N * K, 2);
    const cr_kernels *c = cr_kern_at(CR_CPU_C);
    for (int level = 0; level < CR_CPU_LEVELS; level++) {
        const cr_kernels *k = cr_kern_at((cr_cpu_level)level);
        if (!k) continue;
        k->gemm_bf16_pack(Q, B, K, true, K, N, 0, cr_gemm_panels(N));
        k->gemm_bf16(C, N, A, K, Q, M, N, K, 0, NULL, S);
        if (level == 0) {
            c->round16(A, A, M * K, CR_HALF_BF16);
            c->round16(B, B, N * K, CR_HALF_BF16);
            c->gemm_pack(P, B, K, true, K, N, 0, cr_gemm_panels(N));
            c->gemm(want, N, A, K, P, M, N, K, 0, NULL);
        }
        CHECK_SAME(C, want, M * N);
    }
    cr_free(A), cr_free(B), cr_free(P), cr_free(Q), cr_free(S), cr_free(want), cr_free(C);
}

/* rows computed alone, in any groups, with any columns from a panel on: the same bits; so are sums
 * over rows cut at any place, odd ones too */
TEST(any_split) {
    const int64_t M = 61, N = 77, K = 345;
    float *A = cr_alloc((size_t)(M * K) * 4, "A"), *B = cr_alloc((size_t)(N * K) * 4, "B");
    uint32_t *P = cr_alloc((size_t)cr_gemm_bf16_pack_size(K, N) * 4, "P");
    int64_t room = cr_gemm_bf16_scratch(M, K), tn = cr_gemm_bf16_tn_scratch(M, N, K);
    float *S = cr_alloc((size_t)(room > tn ? room : tn) * 4, "S");
    float *whole = cr_alloc((size_t)(M * N) * 4, "C"), *C = cr_alloc((size_t)(M * N) * 4, "C");
    fill_hard(A, M * K, 1, TINY), fill_hard(B, N * K, 2, PLAIN);
    for (int level = 0; level < CR_CPU_LEVELS; level++) {
        const cr_kernels *k = cr_kern_at((cr_cpu_level)level);
        if (!k) continue;
        k->gemm_bf16_pack(P, B, K, true, K, N, 0, cr_gemm_panels(N));
        k->gemm_bf16(whole, N, A, K, P, M, N, K, 0, NULL, S);
        for (int64_t step = 1; step < M; step += 5) {
            memset(C, 0xff, (size_t)(M * N) * 4);
            for (int64_t m = 0; m < M; m += step)
                k->gemm_bf16(C + m * N, N, A + m * K, K, P, m + step < M ? step : M - m, N, K, 0,
                             NULL, S);
            CHECK_SAME(C, whole, M * N);
        }
        memset(C, 0xff, (size_t)(M * N) * 4);
        for (int64_t p = 0; p < cr_gemm_panels(N); p++) {
            int64_t n = p * CR_GEMM_NR, w = N - n < CR_GEMM_NR ? N - n : CR_GEMM_NR;
            k->gemm_bf16(C + n, N, A, K, P + p * cr_gemm_bf16_panel(K), M, w, K, 0, NULL, S);
        }
        CHECK_SAME(C, whole, M * N);
        k->gemm_bf16_tn(whole, N, A, M, B, N, M, N, K, 0, S);
        for (int64_t cut = 1; cut < K; cut += 38) {
            k->gemm_bf16_tn(C, N, A, M, B, N, M, N, cut, 0, S);
            k->gemm_bf16_tn(C, N, A + cut * M, M, B + cut * N, N, M, N, K - cut, CR_GEMM_ACC, S);
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
                guarded B = guard_new(N * K, 5), P = guard_new(cr_gemm_bf16_pack_size(K, N), 1);
                guarded T = guard_new(N * (K + 2), 2), Q = guard_new(P.n, 2);
                fill_hard(B.p, N * K, (uint64_t)(N * 1000 + K), K % 2 ? TINY : SPECIAL);
                for (int64_t n = 0; n < N; n++)
                    for (int64_t i = 0; i < K; i++)
                        T.p[n * (K + 2) + i] = B.p[i * N + n];
                int64_t panels = cr_gemm_panels(N), half = panels / 2;
                k->gemm_bf16_pack(words(&P), B.p, N, false, K, N, half, panels);
                k->gemm_bf16_pack(words(&P), B.p, N, false, K, N, 0, half);
                k->gemm_bf16_pack(words(&Q), T.p, K + 2, true, K, N, 0, panels);
                CHECK(memcmp(P.p, Q.p, (size_t)P.n * 4) == 0);
                bool right = true;
                for (int64_t i = 0; i < P.n; i++) {
                    int64_t panel = cr_gemm_bf16_panel(K),
                            n = i / panel * CR_GEMM_NR + i % CR_GEMM_NR;
                    for (int64_t h = 0; h < 2; h++) {
                        int64_t at = i % panel / CR_GEMM_NR * 2 + h;
                        float want = n < N && at < K ? nearest(B.p[at * N + n]) : 0, got;
                        uint32_t bits = h ? words(&P)[i] << 16 : words(&P)[i] & 0xffff0000u;
                        memcpy(&got, &bits, 4);
                        right &= differ(&got, &want, 1) < 0;
                    }
                }
                CHECK(right);
                CHECK(guard_intact(&P) && guard_intact(&Q) && guard_intact(&B));
                guard_free(&B), guard_free(&P), guard_free(&T), guard_free(&Q);
            }
    }
}

/* GFLOP/s per level and shape beside round16 and gemm, the way without these kernels */
typedef struct shape {
    const cr_kernels *k;
    int64_t M, K, N;
    float *A, *B, *C, *D, *P, *R, *Y;
    uint32_t *Q;
    float *S;
} shape;
static void round_rows(const shape *s, float *to, const float *x, int64_t n) {
    for (int64_t m = 0; m < s->M; m++)
        s->k->round16(to + m * n, x + m * n, n, CR_HALF_BF16);
}
static void new_nn(const shape *s) {
    s->k->gemm_bf16(s->C, s->N, s->A, s->K, s->Q, s->M, s->N, s->K, 0, NULL, s->S);
}
static void old_nn(const shape *s) {
    round_rows(s, s->R, s->A, s->K);
    s->k->gemm(s->C, s->N, s->R, s->K, s->P, s->M, s->N, s->K, 0, NULL);
}
static void new_tn(const shape *s) {
    s->k->gemm_bf16_tn(s->D, s->K, s->Y, s->N, s->A, s->K, s->N, s->K, s->M, 1, s->S);
}
static void old_tn(const shape *s) {
    float *y = s->R + s->M * s->K;
    round_rows(s, s->R, s->A, s->K);
    round_rows(s, y, s->Y, s->N);
    s->k->gemm_tn(s->D, s->K, y, s->N, s->R, s->K, s->N, s->K, s->M, 1, s->S);
}
static void new_pack(const shape *s) {
    s->k->gemm_bf16_pack(s->Q, s->B, s->K, true, s->K, s->N, 0, cr_gemm_panels(s->N));
    s->k->gemm_bf16_pack(s->Q, s->B, s->N, false, s->K, s->N, 0, cr_gemm_panels(s->N));
}
static void old_pack(const shape *s) {
    s->k->gemm_pack(s->P, s->B, s->K, true, s->K, s->N, 0, cr_gemm_panels(s->N));
    s->k->round16(s->P, s->P, cr_gemm_pack_size(s->K, s->N), CR_HALF_BF16);
    s->k->gemm_pack(s->P, s->B, s->N, false, s->K, s->N, 0, cr_gemm_panels(s->N));
    s->k->round16(s->P, s->P, cr_gemm_pack_size(s->K, s->N), CR_HALF_BF16);
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
    static const int64_t Ms[] = {4, 64, 252};
    for (int level = 0; level < CR_CPU_LEVELS; level++)
        for (int i = 0; i < 5; i++)
            for (int m = 0; m < 3; m++) {
                shape s = {.k = cr_kern_at((cr_cpu_level)level),
                           .M = Ms[m],
                           .K = kn[i][0],
                           .N = kn[i][1]};
                if (!s.k) continue;
                int64_t a = cr_gemm_bf16_scratch(s.M, s.K),
                        b = cr_gemm_bf16_tn_scratch(s.N, s.K, s.M),
                        c = cr_gemm_tn_scratch(s.N, s.K, s.M);
                a = a > b ? a : b, a = a > c ? a : c;
                int64_t n[] = {
                    s.M * s.K,         s.N * s.K, s.M * s.N, s.N * s.K, cr_gemm_pack_size(s.K, s.N),
                    s.M * (s.K + s.N), s.M * s.N, a};
                float **p[] = {&s.A, &s.B, &s.C, &s.D, &s.P, &s.R, &s.Y, &s.S};
                for (int x = 0; x < 8; x++) {
                    *p[x] = cr_alloc((size_t)n[x] * 4, "bench");
                    fill(*p[x], n[x], (uint64_t)x);
                }
                s.Q = cr_alloc((size_t)cr_gemm_bf16_pack_size(s.K, s.N) * 4, "bench");
                new_pack(&s), old_pack(&s);
                int reps = level == CR_CPU_C ? 3 : 80;
                double f = 2e-9 * (double)(s.M * s.N * s.K);
                printf("%-11s M %4lld K %4lld N %4lld: gemm %6.1f (round, FP32 %6.1f)  tn %6.1f "
                       "(%6.1f) GFLOP/s  pack both ways %5.1f (%5.1f) us\n",
                       cr_cpu_level_name((cr_cpu_level)level), (long long)s.M, (long long)s.K,
                       (long long)s.N, f / best_of(new_nn, &s, reps), f / best_of(old_nn, &s, reps),
                       f / best_of(new_tn, &s, reps), f / best_of(old_tn, &s, reps),
                       1e6 * best_of(new_pack, &s, reps), 1e6 * best_of(old_pack, &s, reps));
                for (int x = 0; x < 8; x++)
                    cr_free(*p[x]);
                cr_free(s.Q);
            }
}

int main(int argc, char **argv) {
    static const t_case cases[] = {CASE(chain_c),
                                   CASE(chain_avx2),
                                   CASE(chain_avx512),
                                   CASE(chain_avx512_bf16),
                                   CASE(around_the_smallest),
                                   CASE(as_rounded_fp32),
                                   CASE(any_split),
                                   CASE(packing)};
    if (argc > 1 && strcmp(argv[1], "--bench") == 0) {
        bench();
        return 0;
    }
    return t_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
