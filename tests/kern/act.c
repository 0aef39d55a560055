/*
 * act.c - the activations against double libm over the whole range of float, and each CPU level
 * against C bit by bit. The bounds here are the ones docs/design/kern.md states. `--bench` times.
 */
#include "util.h"

#include <float.h>

#include "base/mem.h"

enum { N = 1 << 15 };

/* distance in units in the last place of the exact result (denormals count as the smallest) */
static double ulps(float got, double want) {
    if (isnan(want)) return isnan(got) ? 0 : INFINITY;
    float w = (float)want;
    if (isinf(w)) return got == w || got == copysignf(0x1.fffffep127f, w) ? 0 : INFINITY;
    int e;
    frexp(want == 0 ? 0x1p-149 : want, &e);
    double unit = ldexp(1, e - 24 < -149 ? -149 : e - 24);
    return fabs((double)got - want) / unit;
}

static double d_sigmoid(double x) {
    return 1 / (1 + exp(-x));
}
static double d_softplus(double x) {
    return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
}
static double d_phi(double x) {
    return 0.5 * erfc(-x / sqrt(2));
}
static double d_gelu(double x) {
    return x == -INFINITY ? 0 : x * d_phi(x);
}
static double d_silu(double x) {
    return x == -INFINITY ? 0 : x * d_sigmoid(x);
}
static double d_elu(double x) {
    return x > 0 ? x : 0.5 * expm1(x);
}
static double d_selu(double x) {
    return x > 0 ? 1.5 * x : 0.75 * expm1(0.5 * x);
}
static double d_softplus2(double x) {
    return 2 * x > 20 ? x : d_softplus(2 * x) / 2;
}
static double d_gelu_tanh(double x) {
    return x == -INFINITY ? 0 : x * d_sigmoid(x * (1.5957691216057308 + 0.07135481627159 * x * x));
}
static double d_mish(double x) {
    return x == -INFINITY ? 0 : x * tanh(d_softplus(x));
}
static double d_hardsigmoid(double x) {
    return x <= -3 ? 0 : x >= 3 ? 1 : (x + 3) / 6;
}
static double d_hardswish(double x) {
    return x <= -3 ? 0 : x >= 3 ? x : x * (x + 3) / 6;
}
static double d_softsign(double x) {
    return isinf(x) ? copysign(1, x) : x / (1 + fabs(x));
}
static double d_tanhshrink(double x) {
    /* the difference cancels near zero, also in double */
    double z = x * x;
    return fabs(x) < 1e-2 ? x * z * (1.0 / 3 - z * (2.0 / 15 - z * (17.0 / 315))) : x - tanh(x);
}
static double d_clamp(double x) {
    return x < -0.5 ? -0.5 : x > 2 ? 2 : x;
}
static double d_threshold(double x) {
    return x <= 0.25 ? -3 : x;
}
static double d_soft(double x) {
    return fabs(x) <= 0.25 ? 0 : x - copysign(0.25, x);
}
static double d_hard(double x) {
    return fabs(x) <= 0.25 ? 0 : x;
}
static double s_softplus(double x) {
    return d_sigmoid(x);
}
static double s_softplus2(double x) {
    return 2 * x > 20 ? 1 : d_sigmoid(2 * x);
}
static double s_gelu_tanh(double x) {
    if (fabs(x) > 100) return x > 0;
    double u = x * (1.5957691216057308 + 0.07135481627159 * x * x), s = d_sigmoid(u);
    return s + x * s * d_sigmoid(-u) * (1.5957691216057308 + 0.21406444881478 * x * x);
}
static double s_mish(double x) {
    if (fabs(x) > 1000) return x > 0;
    double t = tanh(d_softplus(x));
    return t + x * (1 - t * t) * d_sigmoid(x);
}
static double s_hardswish(double x) {
    return x <= -3 ? 0 : x >= 3 ? 1 : x / 3 + 0.5;
}
static double s_softsign(double x) {
    return 1 / ((1 + fabs(x)) * (1 + fabs(x)));
}
static double s_tanhshrink(double x) {
    return tanh(x) * tanh(x);
}
static double s_selu(double x) {
    return x > 0 ? 1.5 : 0.375 * exp(0.5 * x);
}
static double s_between(double x) {
    return x > -0.5 && x < 2 ? 0.25 : 0;
}
static double s_shrink(double x) {
    return fabs(x) <= 0.25 ? 0 : 1;
}
static double s_gelu(double x) {
    return isinf(x) ? x > 0 : d_phi(x) + x * exp(-x * x / 2) * 0.39894228040143267794;
}
static double s_silu(double x) {
    return isinf(x) ? x > 0 : d_sigmoid(x) * (1 + x * d_sigmoid(-x));
}
static double s_elu(double x) {
    return x > 0 ? 1 : 0.5 * exp(x);
}

/* calls of one shape */
#define WRAP(name, ...) WRAP_AS(name, name, __VA_ARGS__)
#define WRAP_AS(call, name, ...)                                                                   \
    static void call_##call(const cr_kernels *k, float *out, const float *x, int64_t n) {          \
        k->name(__VA_ARGS__);                                                                      \
    }
static float ones[N];
WRAP(exp, out, x, n)
WRAP(sigmoid, out, x, n)
WRAP(tanh, out, x, n)
WRAP(softplus, out, x, 1, INFINITY, n)
WRAP(gelu_tanh, out, x, n)
WRAP(mish, out, x, n)
WRAP(hardsigmoid, out, x, n)
WRAP(hardswish, out, x, n)
WRAP(softsign, out, x, n)
WRAP(tanhshrink, out, x, n)
WRAP(clamp, out, x, -0.5f, 2, n)
WRAP(threshold, out, x, 0.25f, -3, n)
WRAP(shrink, out, x, 0.25f, 0.25f, n)
WRAP(gelu, out, x, n)
WRAP(silu, out, x, n)
WRAP(elu, out, x, 0.5f, 1, 1, n)
WRAP_AS(selu, elu, out, x, 0.75f, 1.5f, 0.5f, n)
WRAP_AS(softplus2, softplus, out, x, 2, 20, n)
WRAP_AS(hard, shrink, out, x, 0.25f, 0, n)
WRAP(relu, out, x, n)
WRAP(leaky, out, x, 0.25f, n)
WRAP(softplus_bwd, out, ones, x, 1, INFINITY, n, false)
WRAP_AS(softplus2_bwd, softplus_bwd, out, ones, x, 2, 20, n, false)
WRAP(gelu_tanh_bwd, out, ones, x, n, false)
WRAP(mish_bwd, out, ones, x, n, false)
WRAP(hardswish_bwd, out, ones, x, n, false)
WRAP(softsign_bwd, out, ones, x, n, false)
WRAP(tanhshrink_bwd, out, ones, x, n, false)
WRAP_AS(selu_bwd, elu_bwd, out, ones, x, 0.75f, 1.5f, 0.5f, n, false)
WRAP(between_bwd, out, ones, x, -0.5f, 2, 0.25f, n, false)
WRAP(shrink_bwd, out, ones, x, 0.25f, n, false)
static uint16_t draws[N];
WRAP(leaky_draw, out, x, x, draws, 0.25f, 0.5f / 65536, n, false)
WRAP(gelu_bwd, out, ones, x, n, false)
WRAP(silu_bwd, out, ones, x, n, false)
WRAP(elu_bwd, out, ones, x, 0.5f, 1, 1, n, false)
WRAP(sigmoid_bwd, out, ones, x, n, false)
WRAP(tanh_bwd, out, ones, x, n, false)
WRAP(relu_bwd, out, ones, x, n, false)
WRAP(leaky_bwd, out, ones, x, 0.25f, n, false)
static double d_relu(double x) {
    return x <= 0 ? 0 : x;
}
static double d_leaky(double x) {
    return x > 0 ? x : 0.25 * x;
}
static double y_sigmoid(double y) {
    return y * (1 - y);
}
static double y_tanh(double y) {
    return 1 - y * y;
}
static double s_relu(double y) {
    return y > 0 ? 1 : 0;
}
static double s_leaky(double x) {
    return x > 0 ? 1 : 0.25;
}

typedef struct fn {
    const char *name;
    void (*call)(const cr_kernels *, float *, const float *, int64_t);
    double (*want)(double);
    double max_ulps; /* relative bound ... */
    double abs;      /* ... or this absolute one, whichever is wider: slopes near zero, denormals */
    double lo, hi;   /* range of the relative bound for inputs of the _bwd from y */
} fn;
static const fn fns[] = {
    {"exp", call_exp, exp, 1.5, 0, -INFINITY, INFINITY},
    {"sigmoid", call_sigmoid, d_sigmoid, 3, 0, -INFINITY, INFINITY},
    {"tanh", call_tanh, tanh, 3, 0, -INFINITY, INFINITY},
    {"softplus", call_softplus, d_softplus, 3, 0, -INFINITY, INFINITY},
    {"gelu", call_gelu, d_gelu, 6, 1e-36, -INFINITY, INFINITY},
    {"silu", call_silu, d_silu, 4, 1e-36, -INFINITY, INFINITY},
    {"elu", call_elu, d_elu, 2.5, 0, -INFINITY, INFINITY},
    {"relu", call_relu, d_relu, 0, 0, -INFINITY, INFINITY},
    {"leaky", call_leaky, d_leaky, 0.5, 0, -INFINITY, INFINITY},
    {"selu", call_selu, d_selu, 3, 0, -INFINITY, INFINITY},
    {"softplus2", call_softplus2, d_softplus2, 3, 0, -INFINITY, INFINITY},
    {"gelu_tanh", call_gelu_tanh, d_gelu_tanh, 6, 2e-8, -INFINITY, INFINITY},
    {"mish", call_mish, d_mish, 4, 1e-36, -INFINITY, INFINITY},
    {"hardsigmoid", call_hardsigmoid, d_hardsigmoid, 1, 0, -INFINITY, INFINITY},
    {"hardswish", call_hardswish, d_hardswish, 2, 0, -INFINITY, INFINITY},
    {"softsign", call_softsign, d_softsign, 1.5, 0, -INFINITY, INFINITY},
    {"tanhshrink", call_tanhshrink, d_tanhshrink, 6, 1e-7, -INFINITY, INFINITY},
    {"clamp", call_clamp, d_clamp, 0, 0, -INFINITY, INFINITY},
    {"threshold", call_threshold, d_threshold, 0, 0, -INFINITY, INFINITY},
    {"softshrink", call_shrink, d_soft, 0.5, 0, -INFINITY, INFINITY},
    {"hardshrink", call_hard, d_hard, 0, 0, -INFINITY, INFINITY},
    /* no draws but zeros here: a leaky ReLU; the draws have a test of their own */
    {"leaky_draw", call_leaky_draw, d_leaky, 0.5, 0, -INFINITY, INFINITY},
    {"softplus_bwd", call_softplus_bwd, s_softplus, 3, 0, -INFINITY, INFINITY},
    {"softplus2_bwd", call_softplus2_bwd, s_softplus2, 3, 0, -INFINITY, INFINITY},
    {"gelu_tanh_bwd", call_gelu_tanh_bwd, s_gelu_tanh, 4, 3e-7, -INFINITY, INFINITY},
    {"mish_bwd", call_mish_bwd, s_mish, 4, 2e-7, -INFINITY, INFINITY},
    {"hardswish_bwd", call_hardswish_bwd, s_hardswish, 2, 6e-8, -INFINITY, 0x1p127},
    {"softsign_bwd", call_softsign_bwd, s_softsign, 4, 0, -INFINITY, INFINITY},
    {"tanhshrink_bwd", call_tanhshrink_bwd, s_tanhshrink, 4, 0, -INFINITY, INFINITY},
    {"selu_bwd", call_selu_bwd, s_selu, 3, 0, -INFINITY, INFINITY},
    {"between_bwd", call_between_bwd, s_between, 0, 0, -INFINITY, INFINITY},
    {"shrink_bwd", call_shrink_bwd, s_shrink, 0, 0, -INFINITY, INFINITY},
    {"gelu_bwd", call_gelu_bwd, s_gelu, 4, 2e-7, -INFINITY, INFINITY},
    {"silu_bwd", call_silu_bwd, s_silu, 4, 2e-7, -INFINITY, INFINITY},
    {"elu_bwd", call_elu_bwd, s_elu, 2, 0, -INFINITY, INFINITY},
    {"sigmoid_bwd", call_sigmoid_bwd, y_sigmoid, 2, 0, 0, 1},
    {"tanh_bwd", call_tanh_bwd, y_tanh, 2, 6e-8, -1, 1},
    {"relu_bwd", call_relu_bwd, s_relu, 0, 0, -INFINITY, 0x1p127},
    {"leaky_bwd", call_leaky_bwd, s_leaky, 0, 0, -INFINITY, 0x1p127},
};
enum { N_FNS = sizeof(fns) / sizeof(fns[0]) };

/* Inputs: every exponent and sign with random fractions, a dense look at [-110, 110], specials. */
static void inputs(float *x, uint64_t seed, int part) {
    for (int64_t i = 0; i < N; i++) {
        uint32_t u = (uint32_t)cr_rng_u64(seed, (uint64_t)i);
        if (part == 0)
            memcpy(&x[i], &u, 4);
        else if (part == 1)
            x[i] = (cr_rng_f32(seed, (uint64_t)i) * 2 - 1) * 110;
        else if (part == 2)
            x[i] = (cr_rng_f32(seed, (uint64_t)i) * 2 - 1) * 6;
        else
            x[i] = (cr_rng_f32(seed, (uint64_t)i) * 2 - 1) * 0.75f;
    }
    static const float special[] = {0,          -0.0f,      INFINITY,  -INFINITY, NAN,
                                    0x1p-149f,  -0x1p-149f, 0x1p-126f, FLT_MAX,   -FLT_MAX,
                                    1,          -1,         88.72283f, 88.72284f, -87.3366f,
                                    -103.9721f, -103.98f,   16,        -16,       0.625f};
    memcpy(x + 100, special, sizeof special);
}

static float x[N], y[N], z[N];

TEST(accuracy) {
    for (int f = 0; f < N_FNS; f++) {
        double worst = 0;
        float at = 0;
        for (int part = 0; part < 8; part++) {
            inputs(x, 77 + (uint64_t)part, part % 4);
            for (int64_t i = 0; i < N; i++)
                if (!isnan(x[i]) && !((double)x[i] >= fns[f].lo && (double)x[i] <= fns[f].hi))
                    x[i] = 0;
            fns[f].call(cr_kern_at(CR_CPU_C), y, x, N);
            for (int64_t i = 0; i < N; i++) {
                double want = fns[f].want((double)x[i]);
                double e = ulps(y[i], want);
                bool tiny = fns[f].abs > 0 && fabs((double)y[i] - want) <= fns[f].abs;
                if (e > worst && !tiny) worst = e, at = x[i];
            }
        }
        if (!(worst <= fns[f].max_ulps))
            fprintf(stderr, "%s: %.2f ulp at %.9g\n", fns[f].name, worst, (double)at);
        CHECK(worst <= fns[f].max_ulps);
        if (getenv("VERBOSE"))
            printf("%-13s worst %.2f ulp at %g\n", fns[f].name, worst, (double)at);
    }
}

/* every level, every length near the register widths, every alignment: the bits of C */
TEST(levels_agree) {
    for (int level = CR_CPU_AVX2; level < CR_CPU_LEVELS; level++) {
        const cr_kernels *k = cr_kern_at((cr_cpu_level)level), *c = cr_kern_at(CR_CPU_C);
        if (!k) continue;
        for (int f = 0; f < N_FNS; f++) {
            for (int part = 0; part < 4; part++) {
                inputs(x, 99, part);
                c->relu(z, x, N);
                fns[f].call(c, z, x, N);
                fns[f].call(k, y, x, N);
                CHECK_SAME(y, z, N);
            }
            for (int64_t n = 0; n < 70; n++) {
                guarded g = guard_new(n, (int)(n % 16));
                fns[f].call(k, g.p, x + n % 7, n);
                fns[f].call(c, z, x + n % 7, n);
                CHECK_SAME(g.p, z, n);
                CHECK(guard_intact(&g));
                guard_free(&g);
            }
        }
    }
}

/* acc adds exactly what the other form writes, on every level; forward kernels work in place */
TEST(accumulate_and_in_place) {
    float dy[257], from[257], a[257], b[257];
    uint16_t rnd[257];
    fill(dy, 257, 5), fill(from, 257, 6);
    for (int i = 0; i < 257; i++)
        rnd[i] = (uint16_t)cr_rng_u64(9, (uint64_t)i);
    for (int level = 0; level < CR_CPU_LEVELS; level++) {
        const cr_kernels *k = cr_kern_at((cr_cpu_level)level);
        if (!k) continue;
#define ACC(call_acc, call_set)                                                                    \
    do {                                                                                           \
        fill(a, 257, 7);                                                                           \
        call_acc;                                                                                  \
        call_set;                                                                                  \
        float c_[257];                                                                             \
        fill(c_, 257, 7);                                                                          \
        for (int i = 0; i < 257; i++)                                                              \
            c_[i] += b[i];                                                                         \
        CHECK_SAME(a, c_, 257);                                                                    \
    } while (0)
#define ACC1(name) ACC(k->name(a, dy, from, 257, true), k->name(b, dy, from, 257, false))
#define ACC2(name)                                                                                 \
    ACC(k->name(a, dy, from, 0.3f, 257, true), k->name(b, dy, from, 0.3f, 257, false))
        ACC1(sigmoid_bwd);
        ACC1(tanh_bwd);
        ACC1(gelu_tanh_bwd);
        ACC1(mish_bwd);
        ACC1(hardswish_bwd);
        ACC1(softsign_bwd);
        ACC1(tanhshrink_bwd);
        ACC1(gelu_bwd);
        ACC1(silu_bwd);
        ACC1(relu_bwd);
        ACC2(leaky_bwd);
        ACC2(shrink_bwd);
        ACC(k->softplus_bwd(a, dy, from, 2, 1, 257, true),
            k->softplus_bwd(b, dy, from, 2, 1, 257, false));
        ACC(k->elu_bwd(a, dy, from, 0.3f, 2, 0.7f, 257, true),
            k->elu_bwd(b, dy, from, 0.3f, 2, 0.7f, 257, false));
        ACC(k->between_bwd(a, dy, from, -0.3f, 0.4f, 2, 257, true),
            k->between_bwd(b, dy, from, -0.3f, 0.4f, 2, 257, false));
        ACC(k->leaky_draw(a, dy, from, rnd, 0.3f, 0.01f, 257, true),
            k->leaky_draw(b, dy, from, rnd, 0.3f, 0.01f, 257, false));
        for (int i = 0; i < 257; i++) {
            float slope = 0.01f * (float)rnd[i];
            slope = 0.3f + slope;
            a[i] = from[i] > 0 ? dy[i] : slope * dy[i];
        }
        CHECK_SAME(a, b, 257);
        for (int f = 0; f < N_FNS; f++) {
            fill(a, 257, 8);
            fns[f].call(k, b, a, 257);
            fns[f].call(k, a, a, 257);
            CHECK_SAME(a, b, 257);
        }
    }
}

static void bench(void) {
    inputs(x, 3, 2);
    for (int f = 0; f < N_FNS; f++) {
        printf("%-13s", fns[f].name);
        for (int level = 0; level < CR_CPU_LEVELS; level++) {
            const cr_kernels *k = cr_kern_at((cr_cpu_level)level);
            double best = 1e9;
            for (int r = 0; k && r < 500; r++) {
                double t = cr_now();
                fns[f].call(k, y, x, 4096);
                t = cr_now() - t;
                if (t < best) best = t;
            }
            printf("  %s %6.3f", cr_cpu_level_name((cr_cpu_level)level), best * 1e9 / 4096);
        }
        printf("  ns per element\n");
    }
}

int main(int argc, char **argv) {
    static const t_case cases[] = {CASE(accuracy), CASE(levels_agree),
                                   CASE(accumulate_and_in_place)};
    for (int i = 0; i < N; i++)
        ones[i] = 1;
    if (argc > 1 && strcmp(argv[1], "--bench") == 0) {
        bench();
        return 0;
    }
    return t_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
