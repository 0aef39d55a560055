/*
 * gemm.c - the matrix products: every level, any split of the rows, any place in a bigger matrix
 * gives the bits of one fmaf chain per element. `--bench` times the levels.
 */
#include "util.h"

#include "base/mem.h"

/* the specification: one chain per element; a steps by (am, ak), b by (bk, bn) */
static void reference(float *C, int64_t ldc, const float *A, int64_t am, int64_t ak, const float *B,
                      int64_t bk, int64_t bn, int64_t M, int64_t N, int64_t K, int flags,
                      const float *bias) {
    for (int64_t m = 0; m < M; m++)
        for (int64_t n = 0; n < N; n++) {
            float s = flags & CR_GEMM_ACC ? C[m * ldc + n] : 0;
            for (int64_t k = 0; k < K; k++)
                s = fmaf(A[m * am + k * ak], B[k * bk + n * bn], s);
            if (flags & CR_GEMM_ADD) s = C[m * ldc + n] + s;
            if (flags & CR_GEMM_BIAS) s += bias[n];
            if (flags & CR_GEMM_RELU) s = s <= 0 ? 0 : s;
            if (flags & CR_GEMM_MASK) s = bias[m * ldc + n] > 0 ? s : 0;
            C[m * ldc + n] = s;
        }
}

static const int64_t sizes[][3] = {
    {1, 1, 1},      {1, 1, 64},     {3, 2, 5},    {14, 32, 16}, {13, 31, 17},  {15, 33, 1},
    {29, 65, 40},   {64, 1, 64},    {17, 16, 33}, {6, 15, 7},   {40, 100, 67}, {5, 48, 300},
    {31, 9, 600},   {2, 130, 20},   {70, 17, 3},  {33, 40, 0},  {128, 7, 513}, {0, 5, 4},
    {20, 70, 1024}, {1030, 66, 20}, {50, 1, 30},  {9, 2, 7},
};
enum { N_SIZES = sizeof(sizes) / sizeof(sizes[0]) };

/* awkward values: exact ties, huge, tiny, denormal, inf and NaN now and then */
static void fill_hard(float *x, int64_t n, uint64_t seed, bool special) {
    for (int64_t i = 0; i < n; i++) {
        uint64_t r = cr_rng_u64(seed, (uint64_t)i);
        float v = cr_rng_f32(seed + 1, (uint64_t)i) * 2 - 1;
        switch (r % 23) {
        case 0: v = 0; break;
        case 1: v = -0.0f; break;
        case 2: v *= 0x1p-130f; break;
        case 3: v *= 0x1p-75f; break;
        case 4: v *= 0x1p20f; break;
        case 5: v = (float)(int)(v * 4096); break;
        case 6: v = 1 + 0x1p-23f; break;
        default: break;
        }
        if (special && r % 997 == 0) v = INFINITY;
        if (special && r % 991 == 0) v = NAN;
        if (special && r % 211 == 0) v = 0x1p100f * (v < 0 ? -1.0f : 1.0f);
        x[i] = v;
    }
}

static void check_level(const cr_kernels *k, bool tn, bool special) {
    for (int s = 0; s < N_SIZES; s++)
        for (int flags = 0; flags < (tn ? 2 : 32); flags++) {
            int64_t M = sizes[s][0], N = sizes[s][1], K = sizes[s][2];
            if (flags & CR_GEMM_MASK && flags & CR_GEMM_BIAS) continue;
            if (flags & CR_GEMM_ADD && (flags & CR_GEMM_ACC || K > 512)) continue;
            int shift = (s * 7 + flags) % 16;
            int64_t ldc = N + s % 3, lda = (tn ? M : K) + flags % 3, ldb = N + s % 5;
            guarded A = guard_new((tn ? K : M) * lda, shift), B = guard_new(K * ldb, shift + 1);
            guarded C = guard_new(M * ldc, shift + 2), R = guard_new(M * ldc, 0);
            guarded P = guard_new(cr_gemm_pack_size(K, N), shift % 2);
            guarded S = guard_new(cr_gemm_tn_scratch(M, N, K), shift % 2);
            guarded bias = guard_new(flags & CR_GEMM_MASK ? M * ldc : N, 3);
            uint64_t seed = (uint64_t)(s * 100 + flags);
            fill_hard(A.p, A.n, seed, special);
            fill_hard(B.p, B.n, seed + 50000, special);
            fill_hard(C.p, C.n, seed + 60000, special);
            fill_hard(bias.p, bias.n, seed + 70000, special);
            memcpy(R.p, C.p, (size_t)C.n * 4);
            reference(R.p, ldc, A.p, tn ? 1 : lda, tn ? lda : 1, B.p, ldb, 1, M, N, K, flags,
                      bias.p);
            if (tn) {
                k->gemm_tn(C.p, ldc, A.p, lda, B.p, ldb, M, N, K, flags, S.p);
            } else {
                k->gemm_pack(P.p, B.p, ldb, false, K, N, 0, cr_gemm_panels(N));
                k->gemm(C.p, ldc, A.p, lda, P.p, M, N, K, flags, bias.p);
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
        check_level(k, false, false);                                                              \
        check_level(k, true, false);                                                               \
        check_level(k, false, true);                                                               \
        check_level(k, true, true);                                                                \
    }
LEVEL_TESTS(chain_c, CR_CPU_C)
LEVEL_TESTS(chain_avx2, CR_CPU_AVX2)
LEVEL_TESTS(chain_avx512, CR_CPU_AVX512)

/* Zeros for A: half of it; rows (i / ld) that are all zeros or have none; and, where `alike`,
 * columns that are zero or not in all rows but a few. */
static void some_zeros(float *a, int64_t n, int64_t ld, bool alike) {
    for (int64_t i = 0; i < n; i++) {
        int64_t row = i / ld, col = i % ld;
        bool zero = row % 7 == 3 || (row % 7 != 5 && a[i] < 0);
        if (alike && (row + col) % 29) zero = col * 7 % 5 < 2;
        if (alike && !zero && a[i] == 0) a[i] = 1;
        if (zero) a[i] = i % 2 ? 0 : -0.0f;
    }
}

/* products that skip zeros */
static void check_nz(const cr_kernels *k, bool tn, bool special, bool alike) {
    for (int s = 0; s < N_SIZES; s++)
        for (int flags = 0; flags < (tn ? 2 : 32); flags++)
            for (int trans = 0; trans < (tn ? 1 : 2); trans++) {
                if (flags & CR_GEMM_ADD || (flags & CR_GEMM_MASK && flags & CR_GEMM_BIAS)) continue;
                int64_t M = sizes[s][0], N = sizes[s][1] * (s % 2 ? 1 : 5), K = sizes[s][2];
                int shift = (s * 5 + flags) % 16;
                int64_t ldc = N + s % 3, lda = (tn ? M : K) + flags % 3;
                int64_t ldb = tn ? (N + 15) / 16 * 16 + s % 5 : (trans ? K : N) + s % 5;
                guarded A = guard_new((tn ? K : M) * lda, shift);
                guarded B = guard_new((trans ? N : K) * ldb, shift + 1);
                guarded C = guard_new(M * ldc, shift + 2), R = guard_new(M * ldc, 0);
                guarded P = guard_new(cr_gemm_nz_pack_size(K, N), shift % 2);
                guarded bias = guard_new(flags & CR_GEMM_MASK ? M * ldc : N, 3);
                uint64_t seed = (uint64_t)(s * 100 + flags);
                fill_hard(A.p, A.n, seed, special);
                fill_hard(B.p, B.n, seed + 50000, special);
                fill_hard(C.p, C.n, seed + 60000, special);
                fill_hard(bias.p, bias.n, seed + 70000, special);
                some_zeros(A.p, A.n, lda, alike);
                memcpy(R.p, C.p, (size_t)C.n * 4);
                for (int64_t m = 0; m < M; m++)
                    for (int64_t n = 0; n < N; n++) {
                        float x = flags & CR_GEMM_ACC ? C.p[m * ldc + n] : 0;
                        for (int64_t i = 0; i < K; i++) {
                            float a = tn ? A.p[i * lda + m] : A.p[m * lda + i];
                            if (a != 0) x = fmaf(a, trans ? B.p[n * ldb + i] : B.p[i * ldb + n], x);
                        }
                        if (flags & CR_GEMM_BIAS) x += bias.p[n];
                        if (flags & CR_GEMM_RELU) x = x <= 0 ? 0 : x;
                        if (flags & CR_GEMM_MASK) x = bias.p[m * ldc + n] > 0 ? x : 0;
                        R.p[m * ldc + n] = x;
                    }
                if (tn) {
                    k->gemm_nz_tn(C.p, ldc, A.p, lda, B.p, ldb, M, N, K, flags);
                } else {
                    k->gemm_nz_pack(P.p, B.p, ldb, trans, K, N, 0, K / 3);
                    k->gemm_nz_pack(P.p, B.p, ldb, trans, K, N, K / 3, K);
                    k->gemm_nz(C.p, ldc, A.p, lda, P.p, M, N, K, flags, bias.p);
                }
                CHECK_SAME(C.p, R.p, C.n);
                CHECK(guard_intact(&A) && guard_intact(&B) && guard_intact(&C) && guard_intact(&P));
                CHECK(guard_intact(&bias));
                guard_free(&A), guard_free(&B), guard_free(&C), guard_free(&R), guard_free(&P);
                guard_free(&bias);
            }
}

TEST(skips_zeros) {
    for (int level = 0; level < CR_CPU_LEVELS; level++) {
        const cr_kernels *k = cr_kern_at((cr_cpu_level)level);
        if (!k) continue;
        for (int i = 0; i < 8; i++)
            check_nz(k, i & 1, i & 2, i & 4);
    }
}

/* rows computed alone, in any groups, with any columns from a panel on: the same bits */
TEST(any_split) {
    const int64_t M = 61, N = 77, K = 345;
    float *A = cr_alloc((size_t)(M * K) * 4, "A"), *B = cr_alloc((size_t)(N * K) * 4, "B");
    float *P = cr_alloc((size_t)cr_gemm_pack_size(K, N) * 4, "P");
    float *whole = cr_alloc((size_t)(M * N) * 4, "C"), *C = cr_alloc((size_t)(M * N) * 4, "C");
    fill(A, M * K, 1), fill(B, N * K, 2);
    for (int level = 0; level < CR_CPU_LEVELS; level++) {
        const cr_kernels *k = cr_kern_at((cr_cpu_level)level);
        if (!k) continue;
        k->gemm_pack(P, B, K, true, K, N, 0, cr_gemm_panels(N));
        k->gemm(whole, N, A, K, P, M, N, K, 0, NULL);
        for (int64_t step = 1; step < M; step += 5) {
            memset(C, 0xff, (size_t)(M * N) * 4);
            for (int64_t m = 0; m < M; m += step)
                k->gemm(C + m * N, N, A + m * K, K, P, m + step < M ? step : M - m, N, K, 0, NULL);
            CHECK_SAME(C, whole, M * N);
        }
        memset(C, 0xff, (size_t)(M * N) * 4);
        for (int64_t p = 0; p < cr_gemm_panels(N); p++) {
            int64_t n = p * CR_GEMM_NR, w = N - n < CR_GEMM_NR ? N - n : CR_GEMM_NR;
            k->gemm(C + n, N, A, K, P + p * cr_gemm_panel(K), M, w, K, 0, NULL);
        }
        CHECK_SAME(C, whole, M * N);
        /* K in pieces, going on from C */
        for (int64_t m = 0; m < M; m++) {
            float *row = C + m * N;
            k->gemm(row, N, A + m * K, K, P, 1, N, 0, 0, NULL);
        }
        for (int64_t n = 0; n < M * N; n++)
            CHECK(C[n] == 0);
    }
    cr_free(A), cr_free(B), cr_free(P), cr_free(whole), cr_free(C);
}

/* sums over rows cut in two calls continue the same chain */
TEST(tn_rows_in_pieces) {
    const int64_t M = 19, N = 45, K = 600;
    float *A = cr_alloc((size_t)(M * K) * 4, "A"), *B = cr_alloc((size_t)(N * K) * 4, "B");
    float *S = cr_alloc((size_t)cr_gemm_tn_scratch(M, N, K) * 4, "S");
    float *whole = cr_alloc((size_t)(M * N) * 4, "C"), *C = cr_alloc((size_t)(M * N) * 4, "C");
    fill(A, M * K, 3), fill(B, N * K, 4);
    for (int level = 0; level < CR_CPU_LEVELS; level++) {
        const cr_kernels *k = cr_kern_at((cr_cpu_level)level);
        if (!k) continue;
        k->gemm_tn(whole, N, A, M, B, N, M, N, K, 0, S);
        for (int64_t cut = 1; cut < K; cut += 97) {
            k->gemm_tn(C, N, A, M, B, N, M, N, cut, 0, S);
            k->gemm_tn(C, N, A + cut * M, M, B + cut * N, N, M, N, K - cut, CR_GEMM_ACC, S);
            CHECK_SAME(C, whole, M * N);
        }
    }
    cr_free(A), cr_free(B), cr_free(S), cr_free(whole), cr_free(C);
}

/* both orders of B, any panel range, zeros past N, the same layout on every level */
TEST(packing) {
    for (int level = 0; level < CR_CPU_LEVELS; level++) {
        const cr_kernels *k = cr_kern_at((cr_cpu_level)level);
        if (!k) continue;
        for (int64_t N = 1; N < 100; N += 7)
            for (int64_t K = 0; K < 70; K += 9) {
                guarded B = guard_new(N * K, 5), P = guard_new(cr_gemm_pack_size(K, N), 1);
                guarded T = guard_new(N * (K + 2), 2), Q = guard_new(P.n, 2);
                fill(B.p, N * K, (uint64_t)(N * 100 + K));
                for (int64_t n = 0; n < N; n++)
                    for (int64_t i = 0; i < K; i++)
                        T.p[n * (K + 2) + i] = B.p[i * N + n];
                int64_t panels = cr_gemm_panels(N), half = panels / 2;
                k->gemm_pack(P.p, B.p, N, false, K, N, half, panels);
                k->gemm_pack(P.p, B.p, N, false, K, N, 0, half);
                k->gemm_pack(Q.p, T.p, K + 2, true, K, N, 0, panels);
                CHECK_SAME(P.p, Q.p, P.n);
                for (int64_t p = 0; p < panels; p++)
                    for (int64_t i = 0; i < K; i++)
                        for (int64_t c = 0; c < CR_GEMM_NR; c++) {
                            int64_t n = p * CR_GEMM_NR + c;
                            CHECK(P.p[(p * K + i) * CR_GEMM_NR + c] ==
                                  (n < N ? B.p[i * N + n] : 0));
                        }
                CHECK(guard_intact(&P) && guard_intact(&Q) && guard_intact(&B));
                guard_free(&B), guard_free(&P), guard_free(&T), guard_free(&Q);
            }
    }
}

/* GFLOP/s per level and shape */
static void bench(void) {
    static const int64_t kn[][2] = {{429, 512}, {512, 256}, {256, 128}, {145, 64}, {64, 1}};
    const int64_t M = 256;
    for (int level = 0; level < CR_CPU_LEVELS; level++) {
        const cr_kernels *k = cr_kern_at((cr_cpu_level)level);
        if (!k) continue;
        for (int s = 0; s < 5; s++) {
            int64_t K = kn[s][0], N = kn[s][1];
            float *A = cr_alloc((size_t)(M * K) * 4, "A"), *B = cr_alloc((size_t)(N * K) * 4, "B");
            float *P = cr_alloc((size_t)cr_gemm_pack_size(K, N) * 4, "P");
            float *C = cr_alloc((size_t)(M * N) * 4, "C");
            fill(A, M * K, 1), fill(B, N * K, 2);
            k->gemm_pack(P, B, K, true, K, N, 0, cr_gemm_panels(N));
            double best = 1e9;
            int reps = level == CR_CPU_C ? 3 : 50;
            for (int r = 0; r < reps; r++) {
                double t = cr_now();
                k->gemm(C, N, A, K, P, M, N, K, 0, NULL);
                t = cr_now() - t;
                if (t < best) best = t;
            }
            printf("gemm %-7s M %4lld K %4lld N %4lld: %7.2f GFLOP/s\n",
                   cr_cpu_level_name((cr_cpu_level)level), (long long)M, (long long)K, (long long)N,
                   2e-9 * (double)(M * N * K) / best);
            cr_free(A), cr_free(B), cr_free(P), cr_free(C);
        }
    }
}

int main(int argc, char **argv) {
    static const t_case cases[] = {CASE(chain_c),    CASE(chain_avx2),        CASE(chain_avx512),
                                   CASE(any_split),  CASE(tn_rows_in_pieces), CASE(packing),
                                   CASE(skips_zeros)};
    if (argc > 1 && strcmp(argv[1], "--bench") == 0) {
        bench();
        return 0;
    }
    return t_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
