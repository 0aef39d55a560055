/*
 * slope.c - prelu and dice: every level against the specification of list.h, bit by bit, with odd
 * widths, gaps between rows, any alignment, guard words, NaN and infinity. `--bench` times.
 */
#include "util.h"

#include "base/mem.h"

enum { B = 5 };

static void specials(float *x, int64_t n) {
    static const float v[] = {0, -0.0f, INFINITY, -INFINITY, NAN, -0x1p-149f, 0x1p-149f};
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++)
        if ((int64_t)(3 * i) < n) x[3 * i] = v[i];
}

static float one_or_sum(bool acc, float old, float v) {
    return acc ? old + v : v;
}

TEST(prelu) {
    EACH_LEVEL(k)
    for (int64_t D = 1; D < 150; D += D < 40 ? 1 : 13)
        for (int acc = 0; acc < 2; acc++) {
            int64_t ld = D + D % 3, n = B * ld;
            guarded x = guard_new(n, (int)(D % 16)), dy = guard_new(n, 3), a = guard_new(D, 1);
            guarded y = guard_new(n, 5), dx = guard_new(n, 7), da = guard_new(D, 2);
            guarded ry = guard_new(n, 0), rx = guard_new(n, 0), ra = guard_new(D, 0);
            fill(x.p, n, 1), fill(dy.p, n, 2), fill(a.p, D, 3), fill(y.p, n, 4), fill(ry.p, n, 4);
            fill(dx.p, n, 5), fill(rx.p, n, 5), fill(da.p, D, 6), fill(ra.p, D, 6);
            if (D % 2) specials(x.p, n);
            k->prelu(y.p, x.p, ld, a.p, B, D);
            k->prelu_bwd(dx.p, da.p, dy.p, x.p, ld, a.p, B, D, acc);
            for (int64_t b = 0; b < B; b++)
                for (int64_t d = 0; d < D; d++) {
                    int64_t i = b * ld + d;
                    bool up = x.p[i] > 0;
                    float m = dy.p[i] * x.p[i];
                    ry.p[i] = up ? x.p[i] : a.p[d] * x.p[i];
                    rx.p[i] = one_or_sum(acc, rx.p[i], up ? dy.p[i] : a.p[d] * dy.p[i]);
                    ra.p[d] += up ? 0 : m;
                }
            /* the gaps are as they were */
            CHECK_SAME(y.p, ry.p, n);
            CHECK_SAME(dx.p, rx.p, n);
            CHECK_SAME(da.p, ra.p, D);
            /* one output alone */
            fill(dx.p, n, 5), fill(da.p, D, 6);
            k->prelu_bwd(NULL, da.p, dy.p, x.p, ld, a.p, B, D, acc);
            k->prelu_bwd(dx.p, NULL, dy.p, x.p, ld, a.p, B, D, acc);
            CHECK_SAME(dx.p, rx.p, n);
            CHECK_SAME(da.p, ra.p, D);
            CHECK(guard_intact(&y) && guard_intact(&dx) && guard_intact(&da));
            guard_free(&x), guard_free(&dy), guard_free(&a), guard_free(&y), guard_free(&dx);
            guard_free(&da), guard_free(&ry), guard_free(&rx), guard_free(&ra);
        }
}

TEST(one_slope_for_all) {
    EACH_LEVEL(k)
    for (int64_t n = 0; n < 150; n++)
        for (int shift = 0; shift < 16; shift += 5) {
            guarded x = guard_new(n, shift), y = guard_new(n, 3);
            fill(x.p, n, 1), fill(y.p, n, 2);
            float p[16] = {0};
            for (int64_t i = 0; i < n; i++) {
                float m = x.p[i] * y.p[i];
                p[i % 16] += x.p[i] > 0 ? 0 : m;
            }
            float got = k->leaky_dot(x.p, y.p, n), want = spec_tree(p);
            CHECK_SAME(&got, &want, 1);
            if (n > 0) { /* NaN is not above zero: it shows */
                x.p[n / 2] = NAN;
                CHECK(isnan(k->leaky_dot(x.p, y.p, n)));
            }
            guard_free(&x), guard_free(&y);
        }
}

TEST(dice) {
    EACH_LEVEL(k)
    for (int64_t D = 1; D < 150; D += D < 40 ? 1 : 13)
        for (int mode = 0; mode < 4; mode++) {
            bool acc = mode & 1, acc_n = mode & 2;
            int64_t ld = D + D % 3, n = B * ld;
            guarded x = guard_new(n, (int)(D % 16)), xn = guard_new(n, 4), dy = guard_new(n, 3);
            guarded a = guard_new(D, 1), p = guard_new(D, 9), q = guard_new(D, 0);
            guarded y = guard_new(n, 5), dx = guard_new(n, 7), dn = guard_new(n, 6);
            guarded da = guard_new(D, 2), ry = guard_new(n, 0), rx = guard_new(n, 0);
            guarded rn = guard_new(n, 0), ra = guard_new(D, 0);
            fill(x.p, n, 1), fill(xn.p, n, 2), fill(dy.p, n, 3), fill(a.p, D, 4);
            fill(y.p, n, 5), fill(ry.p, n, 5), fill(dx.p, n, 6), fill(rx.p, n, 6);
            fill(dn.p, n, 7), fill(rn.p, n, 7), fill(da.p, D, 8), fill(ra.p, D, 8);
            if (D % 2) specials(xn.p, n);
            if (D % 5 == 0) specials(x.p, n);
            k->dice(y.p, x.p, xn.p, ld, a.p, p.p, B, D);
            k->dice_bwd(dx.p, dn.p, da.p, dy.p, x.p, xn.p, ld, a.p, p.p, B, D, acc, acc_n);
            for (int64_t b = 0; b < B; b++) {
                k->sigmoid(q.p, xn.p + b * ld, D);
                for (int64_t d = 0; d < D; d++) {
                    int64_t i = b * ld + d;
                    float up = q.p[d], low = 1 - up, al = a.p[d] * low, s = al + up;
                    float m = dy.p[i] * x.p[i], ml = m * low, mn = m * (1 - a.p[d]) * (up * low);
                    ry.p[i] = s * x.p[i];
                    rx.p[i] = one_or_sum(acc, rx.p[i], dy.p[i] * s);
                    rn.p[i] = one_or_sum(acc_n, rn.p[i], mn);
                    ra.p[d] += ml;
                }
            }
            CHECK_SAME(y.p, ry.p, n);
            CHECK_SAME(dx.p, rx.p, n);
            CHECK_SAME(dn.p, rn.p, n);
            CHECK_SAME(da.p, ra.p, D);
            fill(dx.p, n, 6), fill(dn.p, n, 7), fill(da.p, D, 8);
            k->dice_bwd(dx.p, NULL, NULL, dy.p, x.p, xn.p, ld, a.p, p.p, B, D, acc, acc_n);
            k->dice_bwd(NULL, dn.p, NULL, dy.p, x.p, xn.p, ld, a.p, p.p, B, D, acc, acc_n);
            k->dice_bwd(NULL, NULL, da.p, dy.p, x.p, xn.p, ld, a.p, p.p, B, D, acc, acc_n);
            CHECK_SAME(dx.p, rx.p, n);
            CHECK_SAME(dn.p, rn.p, n);
            CHECK_SAME(da.p, ra.p, D);
            CHECK(guard_intact(&y) && guard_intact(&dx) && guard_intact(&dn));
            CHECK(guard_intact(&da) && guard_intact(&p));
            guard_free(&x), guard_free(&xn), guard_free(&dy), guard_free(&a), guard_free(&p);
            guard_free(&q), guard_free(&y), guard_free(&dx), guard_free(&dn), guard_free(&da);
            guard_free(&ry), guard_free(&rx), guard_free(&rn), guard_free(&ra);
        }
}

/* a layer of 512 on 64 rows */
static void bench(void) {
    enum { R = 64, D = 512, LD = D + 16 };
    float *x = cr_alloc(R * LD * 4, "x"), *dy = cr_alloc(R * LD * 4, "dy");
    float *o = cr_alloc(R * LD * 4, "o"), *o2 = cr_alloc(R * LD * 4, "o2"), a[D], da[D], p[D];
    fill(x, R * LD, 1), fill(dy, R * LD, 2), fill(a, D, 3), fill(da, D, 4);
    fill(o, R * LD, 5), fill(o2, R * LD, 6);
    volatile float sink = 0;
    TIME(R, "prelu", k->prelu(o, x, LD, a, R, D));
    TIME(R, "prelu_bwd", k->prelu_bwd(o, da, dy, x, LD, a, R, D, false));
    TIME(R, "leaky_dot", for (int b = 0; b < R; b++) sink += k->leaky_dot(x + b * LD, dy, D));
    TIME(R, "sigmoid", for (int b = 0; b < R; b++) k->sigmoid(p, x + b * LD, D));
    TIME(R, "dice", k->dice(o, x, dy, LD, a, p, R, D));
    TIME(R, "dice_bwd", k->dice_bwd(o, o2, da, dy, x, x, LD, a, p, R, D, false, false));
    (void)sink;
    cr_free(x), cr_free(dy), cr_free(o), cr_free(o2);
}

int main(int argc, char **argv) {
    static const t_case cases[] = {CASE(prelu), CASE(one_slope_for_all), CASE(dice)};
    if (argc > 1 && strcmp(argv[1], "--bench") == 0) {
        bench();
        return 0;
    }
    return t_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
