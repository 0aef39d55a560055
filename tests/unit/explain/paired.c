/*
 * paired.c - differences of AUC and mean loss with their errors, against sums over all pairs.
 */
#include "explain/paired.h"

#include "base/rng.h"
#include "harness.h"

#define N 257

static float scores[2][N];
static uint8_t positive[N];

/* Few distinct scores, so that there are ties; the sign of zero does not count. */
static void fill(uint64_t seed, int distinct) {
    for (int i = 0; i < N; i++) {
        positive[i] = cr_rng_below(seed, (uint64_t)i, 3) == 0;
        for (int k = 0; k < 2; k++) {
            int v = (int)cr_rng_below(seed + 1 + (uint64_t)k, (uint64_t)i, (uint64_t)distinct);
            scores[k][i] = (float)(v - distinct / 2 + positive[i]) / 7;
            if (scores[k][i] == 0 && i % 2) scores[k][i] = -0.0F;
        }
    }
}

static double pair(const float *s, int p, int n) {
    return s[p] > s[n] ? 1 : s[p] == s[n] ? 0.5 : 0;
}

/* DeLong's formula as it is written: means over pairs, then variances over each class. */
static void by_pairs(double auc[2], double *error) {
    double v10[2][N] = {{0}}, v01[2][N] = {{0}}, var = 0;
    int np = 0, nn = 0;
    for (int i = 0; i < N; i++)
        *(positive[i] ? &np : &nn) += 1;
    for (int k = 0; k < 2; k++) {
        auc[k] = 0;
        for (int p = 0; p < N; p++)
            for (int n = 0; positive[p] && n < N; n++)
                if (!positive[n]) {
                    double x = pair(scores[k], p, n);
                    auc[k] += x / np / nn;
                    v10[k][p] += x / nn;
                    v01[k][n] += x / np;
                }
    }
    double d = auc[1] - auc[0];
    for (int i = 0; i < N; i++) {
        double x = positive[i] ? v10[1][i] - v10[0][i] - d : v01[1][i] - v01[0][i] - d;
        var += positive[i] ? x * x / (np - 1) / np : x * x / (nn - 1) / nn;
    }
    *error = sqrt(var);
}

TEST(auc_and_its_error) {
    static uint64_t scratch[2 * N];
    static double place[2][N];
    for (int distinct = 1; distinct < 400; distinct = distinct * 3 + 1) {
        double auc[2], error;
        cr_places p[2];
        fill(77 + (uint64_t)distinct, distinct);
        by_pairs(auc, &error);
        for (int k = 0; k < 2; k++) {
            p[k] = (cr_places){.place = place[k]};
            cr_places_make(&p[k], scores[k], positive, N, scratch);
            CHECK_NEAR(p[k].auc, auc[k], 1e-12, 0);
        }
        cr_paired d = cr_paired_auc(&p[0], &p[1]);
        CHECK_NEAR(d.diff, auc[1] - auc[0], 1e-12, 0);
        CHECK_NEAR(d.error, error, 1e-12, 1e-9);
    }
}

TEST(one_class_has_no_auc) {
    uint64_t scratch[6];
    double place[3];
    uint8_t none[3] = {0, 0, 0};
    cr_places p = {.place = place};
    cr_places_make(&p, (float[]){1, 2, 3}, none, 3, scratch);
    CHECK(isnan(p.auc));
    CHECK(isnan(cr_paired_auc(&p, &p).diff));
}

TEST(mean_with_weights) {
    float x[] = {1, 2, 3, 4}, y[] = {2, 2, 5, 4}, w[] = {1, 2, 0, 1};
    cr_paired p = cr_paired_mean(x, y, w, 4);
    CHECK_NEAR(p.diff, 0.25, 1e-15, 0);
    CHECK_NEAR(p.error, sqrt(0.75 * 0.75 + 0.5 * 0.5 + 0.25 * 0.25) / 4, 1e-15, 0);
    CHECK_NEAR(cr_mean_of(x, w, 4), 9.0 / 4, 1e-15, 0);
    p = cr_paired_mean(x, y, NULL, 4);
    CHECK_NEAR(p.diff, 0.75, 1e-15, 0);
}

TEST_MAIN(CASE(auc_and_its_error), CASE(one_class_has_no_auc), CASE(mean_with_weights))
