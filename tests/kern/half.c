/*
 * half.c - 16-bit floats: every FP16 and BF16 value survives a round trip, rounding agrees with a
 * slow exact rule, all CPU levels agree, stochastic rounding is unbiased and stays between the two
 * neighbours.
 */
#include <float.h>

#include "base/rng.h"
#include "harness.h"
#include "kern/kern.h"

static float float_of(uint32_t u) {
    float x;
    memcpy(&x, &u, 4);
    return x;
}
static uint32_t bits_of(float x) {
    uint32_t u;
    memcpy(&u, &x, 4);
    return u;
}

/* value of 16 bits, by definition */
static double value(uint16_t h, int half) {
    int e_bits = half == CR_HALF_BF16 ? 8 : 5, m_bits = 15 - e_bits, bias = (1 << (e_bits - 1)) - 1;
    int e = (h >> m_bits) & ((1 << e_bits) - 1), m = h & ((1 << m_bits) - 1);
    double s = h & 0x8000 ? -1 : 1;
    if (e == (1 << e_bits) - 1) return m ? (double)NAN : s * (double)INFINITY;
    if (e == 0) return s * ldexp(m, 1 - bias - m_bits);
    return s * ldexp(1 + ldexp(m, -m_bits), e - bias);
}

TEST(round_trip) {
    for (int half = 1; half <= 2; half++)
        for (int level = 0; level < CR_CPU_LEVELS; level++) {
            const cr_kernels *k = cr_kern_at((cr_cpu_level)level);
            if (!k) continue;
            for (uint32_t h = 0; h < 65536; h++) {
                uint16_t in = (uint16_t)h, out;
                float x, r;
                k->from16(&x, &in, 1, half);
                double want = value(in, half);
                CHECK(isnan(want) ? isnan(x) : (double)x == want);
                k->to16(&out, &x, 1, half);
                k->round16(&r, &x, 1, half);
                CHECK(isnan(want) ? isnan(value(out, half)) && isnan(r)
                                  : out == in && bits_of(r) == bits_of(x));
            }
        }
}

/* nearest by search among the neighbours; ties to the even mantissa */
static uint16_t nearest(float x, int half) {
    uint16_t lo = half == CR_HALF_BF16 ? (uint16_t)(bits_of(x) >> 16) : 0;
    if (half == CR_HALF_FP16) {
        uint16_t a = 0, b = 0x7c00; /* largest magnitude not above |x| */
        while (a + 1 < b) {
            uint16_t mid = (uint16_t)((a + b) / 2);
            if (value(mid, half) <= fabs((double)x))
                a = mid;
            else
                b = mid;
        }
        lo = (uint16_t)(a | (signbit(x) ? 0x8000 : 0));
    }
    uint16_t hi = (uint16_t)(lo + 1);
    double limit = half == CR_HALF_BF16 ? ldexp(1, 128) : 65536;
    double vl = fabs(value(lo, half)), vh = isinf(value(hi, half)) ? limit : fabs(value(hi, half)),
           v = fabs((double)x);
    if (v - vl < vh - v) return lo;
    if (v - vl > vh - v) return hi;
    return lo & 1 ? hi : lo;
}

TEST(rounding) {
    const cr_kernels *c = cr_kern_at(CR_CPU_C);
    for (int half = 1; half <= 2; half++) {
        for (uint64_t i = 0; i < 200000; i++) {
            uint32_t u = (uint32_t)cr_rng_u64(3, i);
            if (half == CR_HALF_FP16 && i % 2)
                u = (u & 0x8fffffffu) | 0x30000000u; /* the range where FP16 lives */
            float x = float_of(u);
            if (isnan(x) || isinf(x)) continue;
            uint16_t got;
            c->to16(&got, &x, 1, half);
            uint16_t want = nearest(x, half);
            if (got != want)
                fprintf(stderr, "half %d: %a gives %04x, expected %04x\n", half, (double)x, got,
                        want);
            CHECK(got == want);
            float r;
            c->round16(&r, &x, 1, half);
            CHECK((double)r == value(want, half));
        }
    }
}

TEST(levels_agree) {
    enum { N = 1003 };
    static float x[N], y[2][N], z[N];
    static uint16_t rnd[N], h[2][N];
    for (int half = 1; half <= 2; half++)
        for (int level = 1; level < CR_CPU_LEVELS; level++) {
            const cr_kernels *c = cr_kern_at(CR_CPU_C), *k = cr_kern_at((cr_cpu_level)level);
            if (!k) continue;
            for (uint64_t i = 0; i < N; i++) {
                x[i] = float_of((uint32_t)cr_rng_u64(9 + (uint64_t)half, i));
                rnd[i] = (uint16_t)cr_rng_u64(10, i);
            }
            for (int64_t n = N; n > N - 20; n--) {
                c->round16(y[0], x, n, half);
                k->round16(y[1], x, n, half);
                CHECK(memcmp(y[0], y[1], (size_t)n * 4) == 0);
                c->to16(h[0], x, n, half);
                k->to16(h[1], x, n, half);
                CHECK(memcmp(h[0], h[1], (size_t)n * 2) == 0);
                c->to16_chance(h[0], x, rnd, n, half);
                k->to16_chance(h[1], x, rnd, n, half);
                CHECK(memcmp(h[0], h[1], (size_t)n * 2) == 0);
            }
            /* pooling over rows of finite values */
            for (uint64_t i = 0; i < N; i++)
                z[i] = cr_rng_f32(5, i) - 0.5f;
            c->to16(h[0], z, N, half);
            int64_t ids[3] = {0, 7, 2};
            float w[3] = {1, -0.5f, 2};
            c->pool16(y[0], h[0], 21, ids, w, 3, 19, half);
            k->pool16(y[1], h[0], 21, ids, w, 3, 19, half);
            CHECK(memcmp(y[0], y[1], 19 * 4) == 0);
            for (int d = 0; d < 19; d++)
                CHECK_NEAR(y[0][d],
                           value(h[0][d], half) - 0.5 * value(h[0][147 + d], half) +
                               2 * value(h[0][42 + d], half),
                           1e-6, 1e-5);
        }
}

/* whole vectors of every value there is, and of the hard ones for every draw */
TEST(levels_agree_on_all) {
    static uint16_t h[65536], g[2][65536];
    static float x[65536], y[2][65536];
    static const float hard[] = {0,        -0.0f,    1e-45f,    FLT_MIN, 6e-8f,
                                 -2.9e-8f, 6.1e-5f,  -0.1f,     1.0003f, 65503.0f,
                                 65504.0f, 65520.0f, -65535.5f, 1e30f,   FLT_MAX,
                                 -FLT_MAX, INFINITY, -INFINITY, NAN};
    const cr_kernels *c = cr_kern_at(CR_CPU_C);
    for (uint32_t i = 0; i < 65536; i++)
        h[i] = (uint16_t)i;
    for (int half = 1; half <= 2; half++)
        for (int level = 1; level < CR_CPU_LEVELS; level++) {
            const cr_kernels *k = cr_kern_at((cr_cpu_level)level);
            if (!k) continue;
            c->from16(y[0], h, 65536, half);
            k->from16(y[1], h, 65536, half);
            CHECK(memcmp(y[0], y[1], sizeof(y[0])) == 0);
            for (size_t v = 0; v < sizeof(hard) / sizeof(hard[0]); v++) {
                for (uint32_t i = 0; i < 65536; i++)
                    x[i] = hard[v];
                c->to16_chance(g[0], x, h, 65536, half);
                k->to16_chance(g[1], x, h, 65536, half);
                CHECK(memcmp(g[0], g[1], sizeof(g[0])) == 0);
                c->to16(g[0], x, 99, half);
                k->to16(g[1], x, 99, half);
                CHECK(memcmp(g[0], g[1], 99 * 2) == 0);
            }
            int64_t ids[5] = {3, 0, 500, 77, 3};
            float w[5] = {1, -0.5f, 2, 0.25f, -3};
            for (uint64_t i = 0; i < 65536; i++)
                x[i] = cr_rng_f32(5, i) - 0.5f;
            c->to16(g[0], x, 65536, half);
            for (int64_t D = 0; D < 100; D++)
                for (int64_t n = 0; n <= 5; n++) {
                    memset(y, 0x55, sizeof(y));
                    c->pool16(y[0], g[0], D + 7, ids, n % 2 ? w : NULL, n, D, half);
                    k->pool16(y[1], g[0], D + 7, ids, n % 2 ? w : NULL, n, D, half);
                    CHECK(memcmp(y[0], y[1], 128 * sizeof(float)) == 0);
                }
        }
}

TEST(draws) {
    for (int level = 0; level < CR_CPU_LEVELS; level++) {
        const cr_kernels *k = cr_kern_at((cr_cpu_level)level);
        if (!k) continue;
        for (int64_t n = 0; n < 200; n++) {
            uint16_t rnd[202];
            uint64_t key = cr_rng_key(1, "draws", "x") + (uint64_t)n;
            rnd[n] = 0x1234;
            k->draw16(rnd, key, n);
            for (int64_t i = 0; i < n; i++)
                CHECK(rnd[i] == (uint16_t)(cr_rng_u64(key, (uint64_t)(i - i % 4)) >> 16 * (i % 4)));
            CHECK(rnd[n] == 0x1234);
        }
    }
}

TEST(chance) {
    const cr_kernels *c = cr_kern_at(CR_CPU_C);
    const float points[] = {1.0003f, -0.1234567f, 3.1e-5f, -4.1e-6f, 1000.7f, 2e-8f};
    for (int half = 1; half <= 2; half++)
        for (size_t p = 0; p < sizeof(points) / sizeof(points[0]); p++) {
            double sum = 0, lo = 1e30, hi = -1e30;
            enum { N = 65536 };
            for (uint32_t r = 0; r < N;
                 r++) { /* every draw once: the mean is exact up to the last bits dropped */
                uint16_t rnd = (uint16_t)r, out;
                c->to16_chance(&out, &points[p], &rnd, 1, half);
                double v = value(out, half);
                sum += v;
                lo = fmin(lo, v);
                hi = fmax(hi, v);
            }
            double x = (double)points[p];
            CHECK(lo <= x && x <= hi);
            CHECK_NEAR(sum / N, x, (hi - lo) * 2e-4 + 1e-12, 0);
        }
    uint16_t rnd = 0xffff, out;
    float big = 65519.0f, huge = FLT_MAX;
    c->to16_chance(&out, &big, &rnd, 1, CR_HALF_FP16);
    CHECK_INT(out, 0x7bff);
    c->to16_chance(&out, &huge, &rnd, 1, CR_HALF_FP16);
    CHECK_INT(out, 0x7bff);
    c->to16_chance(&out, &huge, &rnd, 1, CR_HALF_BF16);
    CHECK_INT(out, 0x7f7f);
}

TEST_MAIN(CASE(round_trip), CASE(rounding), CASE(levels_agree), CASE(levels_agree_on_all),
          CASE(draws), CASE(chance))
