/*
 * bench_gemm.c - our matrix products beside oneDNN's, single thread, on the shapes of a click
 * model.
 *
 * Three forms per layer (K inputs, N outputs, M rows): forward Y = X W^T, input gradient dX = dY W,
 * weight gradient dW += dY^T X. Ours uses weights packed beforehand, as the engine does once per
 * step; the packing is timed apart. Best of many runs, so that a busy machine disturbs little.
 * Built with oneDNN when the build finds it, else ours alone.
 */
#include <immintrin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cpu.h"
#include "base/mem.h"
#include "base/rng.h"
#include "kern/kern.h"
#ifdef HAVE_DNNL
#include <oneapi/dnnl/dnnl.h>
#endif

enum { REPS = 60 };

/* GFLOP/s of nothing but fused multiply-adds */
__attribute__((target("avx512f"))) static double peak512(void) {
    __m512 a = _mm512_set1_ps(0.999f), b = _mm512_set1_ps(1e-3f);
    __m512 s0 = a, s1 = a, s2 = a, s3 = a, s4 = a, s5 = a, s6 = a, s7 = a, s8 = a, s9 = a;
    double best = 1e9;
#define STEP(s) __asm__ volatile("vfmadd213ps %2, %1, %0" : "+v"(s) : "v"(a), "v"(b))
    for (int r = 0; r < 50; r++) {
        double t = cr_now();
        for (int n = 0; n < 100000; n++) {
            STEP(s0);
            STEP(s1);
            STEP(s2);
            STEP(s3);
            STEP(s4);
            STEP(s5);
            STEP(s6);
            STEP(s7);
            STEP(s8);
            STEP(s9);
        }
        t = cr_now() - t;
        if (t < best) best = t;
    }
    return 10.0 * 32 * 100000 / best * 1e-9;
}

typedef struct shape {
    int64_t M, K, N;
    float *X, *W, *Y, *dX, *dW, *P, *Q, *S;
} shape;

typedef void (*run_fn)(const shape *);
static void ours_fwd(const shape *s) {
    cr_kern->gemm(s->Y, s->N, s->X, s->K, s->P, s->M, s->N, s->K, 0, NULL);
}
static void ours_dx(const shape *s) {
    cr_kern->gemm(s->dX, s->K, s->Y, s->N, s->Q, s->M, s->K, s->N, 0, NULL);
}
static void ours_dw(const shape *s) {
    cr_kern->gemm_tn(s->dW, s->K, s->Y, s->N, s->X, s->K, s->N, s->K, s->M, CR_GEMM_ACC, s->S);
}
static void ours_pack(const shape *s) {
    cr_gemm_pack(s->P, s->W, s->K, true, s->K, s->N);
    cr_gemm_pack(s->Q, s->W, s->K, false, s->N, s->K);
}
#ifdef HAVE_DNNL
static void dnnl_fwd(const shape *s) {
    dnnl_sgemm('N', 'T', s->M, s->N, s->K, 1, s->X, s->K, s->W, s->K, 0, s->Y, s->N);
}
static void dnnl_dx(const shape *s) {
    dnnl_sgemm('N', 'N', s->M, s->K, s->N, 1, s->Y, s->N, s->W, s->K, 0, s->dX, s->K);
}
static void dnnl_dw(const shape *s) {
    dnnl_sgemm('T', 'N', s->N, s->K, s->M, 1, s->Y, s->N, s->X, s->K, 1, s->dW, s->K);
}
#endif

static double seconds(run_fn fn, const shape *s) {
    double best = 1e9;
    fn(s);
    for (int r = 0; r < REPS; r++) {
        double t = cr_now();
        fn(s);
        t = cr_now() - t;
        if (t < best) best = t;
    }
    return best;
}

static float *floats(int64_t n, uint64_t seed) {
    float *x = cr_alloc((size_t)n * 4, "bench");
    for (int64_t i = 0; i < n; i++)
        x[i] = cr_rng_f32(seed, (uint64_t)i) - 0.5f;
    return x;
}

int main(int argc, char **argv) {
    (void)argc;
    if (!getenv("OMP_NUM_THREADS")) { /* read when the library is loaded: start again */
        setenv("OMP_NUM_THREADS", "1", 1);
        execv("/proc/self/exe", argv);
    }
    static const int64_t Ms[] = {64, 128, 256, 512};
    static const int64_t kn[][2] = {{429, 512}, {512, 256}, {256, 128}, {145, 64}, {64, 1}};
    cr_kern_init();
    printf("level %s", cr_cpu_level_name(cr_cpu_level_max()));
    if (cr_cpu_level_max() >= CR_CPU_AVX512) printf(", peak %.1f GFLOP/s", peak512());
    printf("\n%4s %4s %4s | %22s | %22s | %22s | %8s\n", "M", "K", "N", "forward ours   oneDNN",
           "dX ours   oneDNN", "dW ours   oneDNN", "pack us");
    for (int i = 0; i < 5; i++)
        for (int m = 0; m < 4; m++) {
            int64_t M = Ms[m], K = kn[i][0], N = kn[i][1];
            shape s = {M, K, N, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL};
            s.X = floats(M * K, 1), s.W = floats(N * K, 2), s.Y = floats(M * N, 3);
            s.dX = floats(M * K, 4), s.dW = floats(N * K, 5);
            s.P = floats(cr_gemm_pack_size(K, N), 6), s.Q = floats(cr_gemm_pack_size(N, K), 7);
            s.S = floats(cr_gemm_tn_scratch(N, K, M), 8);
            double flop = 2e-9 * (double)(M * K * N);
            double pack = seconds(ours_pack, &s);
            double f = seconds(ours_fwd, &s), x = seconds(ours_dx, &s), w = seconds(ours_dw, &s);
            double fd = 1e9, xd = 1e9, wd = 1e9;
#ifdef HAVE_DNNL
            fd = seconds(dnnl_fwd, &s), xd = seconds(dnnl_dx, &s), wd = seconds(dnnl_dw, &s);
#endif
            printf("%4lld %4lld %4lld |     %8.1f %8.1f  |     %8.1f %8.1f  |     %8.1f %8.1f  | "
                   "%8.1f\n",
                   (long long)M, (long long)K, (long long)N, flop / f, flop / fd, flop / x,
                   flop / xd, flop / w, flop / wd, pack * 1e6);
            float *all[] = {s.X, s.W, s.Y, s.dX, s.dW, s.P, s.Q, s.S};
            for (int k = 0; k < 8; k++)
                cr_free(all[k]);
        }
    return 0;
}
