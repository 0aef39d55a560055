/*
 * rownorm.c - layer norm: every level against the specification of list.h, bit by bit, with odd
 * widths, any alignment, guard words, NaN and infinity. `--bench` times.
 */
#include "util.h"

#include "base/mem.h"

enum { B = 4 };

/* one row of the specification; NULL as in the kernel */
static void spec_norm(float *out, const float *x, const float *gamma, const float *beta, float eps,
                      float *h, float *rstd, int64_t D) {
    float mean = spec_sum(x, D) / (float)D;
    for (int64_t d = 0; d < D; d++)
        h[d] = x[d] - mean;
    *rstd = 1 / sqrtf(spec_dot(h, h, D) / (float)D + eps);
    for (int64_t d = 0; d < D; d++) {
        h[d] = h[d] * *rstd;
        float m = h[d] * gamma[d];
        out[d] = m + beta[d];
    }
}

static void spec_norm_bwd(float *dx, float *dgamma, float *dbeta, const float *dy,
                          const float *gamma, const float *h, float rstd, float *g, int64_t D,
                          bool acc) {
    for (int64_t d = 0; d < D; d++) {
        float m = dy[d] * h[d];
        g[d] = dy[d] * gamma[d], dgamma[d] += m, dbeta[d] += dy[d];
    }
    float s = spec_sum(g, D) / (float)D, t = spec_dot(g, h, D) / (float)D;
    for (int64_t d = 0; d < D; d++) {
        float ht = h[d] * t, v = rstd * (g[d] - s - ht);
        dx[d] = acc ? dx[d] + v : v;
    }
}

TEST(layer_norm) {
    const float eps = 1e-5f;
    EACH_LEVEL(k)
    for (int64_t D = 1; D < 150; D += D < 40 ? 1 : 13)
        for (int acc = 0; acc < 2; acc++) {
            int64_t n = B * D;
            guarded x = guard_new(n, (int)(D % 16)), dy = guard_new(n, 3), y = guard_new(n, 5);
            guarded ga = guard_new(D, 1), be = guard_new(D, 4), dx = guard_new(n, 7);
            guarded dg = guard_new(D, 2), db = guard_new(D, 6), ry = guard_new(n, 0);
            guarded rx = guard_new(n, 0), rg = guard_new(D, 0), rb = guard_new(D, 0);
            guarded h = guard_new(D, 0), g = guard_new(D, 0);
            fill(x.p, n, 1), fill(dy.p, n, 2), fill(ga.p, D, 3), fill(be.p, D, 4);
            fill(dx.p, n, 5), fill(rx.p, n, 5), fill(dg.p, D, 6), fill(rg.p, D, 6);
            fill(db.p, D, 7), fill(rb.p, D, 7);
            for (int64_t d = 0; d < D; d++)
                x.p[D + d] = 0.25f; /* a row without any spread */
            if (D % 4 == 3) x.p[n - 1] = D % 8 == 3 ? NAN : INFINITY;
            k->layer_norm(y.p, x.p, ga.p, be.p, eps, B, D);
            k->layer_norm_bwd(dx.p, dg.p, db.p, dy.p, x.p, ga.p, eps, B, D, acc);
            for (int64_t b = 0; b < B; b++) {
                float rstd;
                spec_norm(ry.p + b * D, x.p + b * D, ga.p, be.p, eps, h.p, &rstd, D);
                spec_norm_bwd(rx.p + b * D, rg.p, rb.p, dy.p + b * D, ga.p, h.p, rstd, g.p, D, acc);
            }
            CHECK_SAME(y.p, ry.p, n);
            CHECK_SAME(dx.p, rx.p, n);
            CHECK_SAME(dg.p, rg.p, D);
            CHECK_SAME(db.p, rb.p, D);
            fill(dx.p, n, 5), fill(dg.p, D, 6), fill(db.p, D, 7);
            k->layer_norm_bwd(dx.p, NULL, NULL, dy.p, x.p, ga.p, eps, B, D, acc);
            k->layer_norm_bwd(NULL, dg.p, NULL, dy.p, x.p, ga.p, eps, B, D, acc);
            k->layer_norm_bwd(NULL, NULL, db.p, dy.p, x.p, ga.p, eps, B, D, acc);
            CHECK_SAME(dx.p, rx.p, n);
            CHECK_SAME(dg.p, rg.p, D);
            CHECK_SAME(db.p, rb.p, D);
            CHECK(guard_intact(&y) && guard_intact(&dx) && guard_intact(&dg) && guard_intact(&db));
            guard_free(&x), guard_free(&dy), guard_free(&y), guard_free(&ga), guard_free(&be);
            guard_free(&dx), guard_free(&dg), guard_free(&db), guard_free(&ry), guard_free(&rx);
            guard_free(&rg), guard_free(&rb), guard_free(&h), guard_free(&g);
        }
}

/* a layer of 512, and 16 parts of 32, on 64 rows */
static void bench(void) {
    enum { R = 64, D = 512, P = 16, W = D / P };
    float *x = cr_alloc(R * D * 4, "x"), *dy = cr_alloc(R * D * 4, "dy");
    float *o = cr_alloc(R * D * 4, "o"), ga[D], dg[D], db[D];
    fill(x, R * D, 1), fill(dy, R * D, 2), fill(ga, D, 3), fill(dg, D, 4), fill(db, D, 5);
    fill(o, R * D, 6);
    TIME(R, "ln 512", k->layer_norm(o, x, ga, ga, 1e-5f, R, D));
    TIME(R, "ln_bwd 512", k->layer_norm_bwd(o, dg, db, dy, x, ga, 1e-5f, R, D, false));
    TIME(R, "ln 16x32", k->layer_norm(o, x, ga, ga, 1e-5f, R * P, W));
    TIME(R, "ln_bwd 16x32", k->layer_norm_bwd(o, dg, db, dy, x, ga, 1e-5f, R * P, W, false));
    cr_free(x), cr_free(dy), cr_free(o);
}

int main(int argc, char **argv) {
    static const t_case cases[] = {CASE(layer_norm)};
    if (argc > 1 && strcmp(argv[1], "--bench") == 0) {
        bench();
        return 0;
    }
    return t_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
