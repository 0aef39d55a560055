/*
 * metrics.c - every metric against golden values, for any split into batches the same bits, and the
 * refusals.
 */
#include "feed.h"

#include "base/mem.h"
#include "conf_text.h"
#include "metric/list.h"

/* the config that the text gives a metric */
#define CONF(metric, text) conf_text(&cr_metric_##metric##_msg, text)

TEST(auc) {
    golden_case(&cr_metric_auc, CONF(auc, "exact: true"), 1, "score", "label", NULL, "auc");
    golden_case(&cr_metric_auc, CONF(auc, "thresholds: 200, exact: false"), 1, "score", "label",
                NULL, "auc_binned_200");
    golden_case(&cr_metric_auc, CONF(auc, "thresholds: 7, exact: false"), 1, "score", "label", NULL,
                "auc_binned_7");
    golden_case(&cr_metric_auc, CONF(auc, "thresholds: 200, exact: false"), 1, "crowded", "label",
                NULL, "crowded_auc_binned_200");
    golden_case(&cr_metric_auc, CONF(auc, "exact: true"), 1, "crowded", "label", NULL, "auc");
}

TEST(grouped_auc) {
    int64_t *group = keys("group");
    golden_case(&cr_metric_grouped_auc, CONF(grouped_auc, "grouping_key: g"), 1, "score", "label",
                group, "grouped_auc");
    golden_case(&cr_metric_grouped_auc, CONF(grouped_auc, "weighted: true, grouping_key: g"), 1,
                "score", "label", group, "grouped_auc_weighted");
    free(group);
}

TEST(accuracy) {
    golden_case(&cr_metric_accuracy, CONF(accuracy, "threshold: 0.5, top_k: 1"), 1, "score",
                "label", NULL, "accuracy_0.5");
    golden_case(&cr_metric_accuracy, CONF(accuracy, "threshold: 0.3, top_k: 1"), 1, "score",
                "label", NULL, "accuracy_0.3");
    golden_case(&cr_metric_accuracy, CONF(accuracy, "top_k: 1"), 5, "probs", "class", NULL,
                "accuracy_top1");
    golden_case(&cr_metric_accuracy, CONF(accuracy, "top_k: 2"), 5, "probs", "class", NULL,
                "accuracy_top2");
}

TEST(errors) {
    const void *c = CONF(logloss, "");
    golden_case(&cr_metric_mean_absolute_error, c, 1, "pred", "target", NULL, "mae");
    golden_case(&cr_metric_mean_squared_error, c, 1, "pred", "target", NULL, "mse");
}

TEST(logloss) {
    const void *c = CONF(logloss, "");
    golden_case(&cr_metric_logloss, c, 1, "score", "label", NULL, "logloss");
    golden_case(&cr_metric_logloss, c, 5, "probs", "class", NULL, "logloss_classes");
}

/* Two outputs: class 1 is the score. */
TEST(auc_of_two_classes) {
    float p[] = {0.9F, 0.1F, 0.2F, 0.8F, 0.6F, 0.4F, 0.7F, 0.3F}, y[] = {0, 1, 1, 0};
    CHECK(feed(&cr_metric_auc, CONF(auc, "exact: true"), 2, p, y, NULL, 4, 3) == 1);
}

/* Each candidate is a row: of 2 positives and 4 negatives, 7 pairs of 8 are in order. */
TEST(auc_of_candidates) {
    float p[] = {0.2F, 0.5F, 0.3F, 0.4F, 0.15F, 0.45F}, y[] = {1, 0}, bad[] = {1, 3};
    CHECK_NEAR(feed(&cr_metric_auc, CONF(auc, "exact: true, candidates: true"), 3, p, y, NULL, 2,
                    1),
               0.875, 0, 1e-12);
    float two[] = {0.6F, 0.4F, 0.7F, 0.3F}, first[] = {0, 1}; /* 1 pair of 4 */
    CHECK_NEAR(feed(&cr_metric_auc, CONF(auc, "exact: true, candidates: true"), 2, two, first, NULL,
                    2, 1),
               0.25, 0, 1e-12);
    const void *c = CONF(auc, "exact: true, candidates: true");
    cr_metric *m;
    cr_err err;
    CHECK_INT(cr_metric_auc.new_(&m, c, 3, &err), CR_OK);
    cr_metric_in in = {.n_rows = 2, .K = 3, .pred = p, .pred_stride = 3, .label = bad};
    CHECK_INT(cr_metric_auc.update(m, &in, &err), CR_EDATA);
    cr_metric_auc.free_(m);
}

/* More rows and more distinct scores than the waiting block holds, against counting by score. */
TEST(auc_of_many_rows) {
    enum { N = 500000, LEVELS = 150000 };
    float *p = calloc(N, sizeof *p), *y = calloc(N, sizeof *y);
    int64_t *pos = calloc(LEVELS, sizeof *pos), *neg = calloc(LEVELS, sizeof *neg);
    uint64_t x = 88172645463325252ULL;
    for (int i = 0; i < N; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        int level = (int)(x % LEVELS);
        bool hit = (x >> 40) % LEVELS < (uint64_t)level;
        p[i] = (float)(level - LEVELS / 2); /* negative, zero and positive scores */
        if (p[i] == 0 && (i & 1)) p[i] = -0.0F;
        y[i] = hit;
        (hit ? pos : neg)[level]++;
    }
    double won = 0, n_pos = 0, n_neg = 0;
    for (int l = 0; l < LEVELS; l++) {
        won += (double)pos[l] * (n_neg + 0.5 * (double)neg[l]);
        n_pos += (double)pos[l];
        n_neg += (double)neg[l];
    }
    double want = won / (n_pos * n_neg);
    const void *conf = CONF(auc, "exact: true");
    CHECK(feed(&cr_metric_auc, conf, 1, p, y, NULL, N, 4096) == want);
    CHECK(feed(&cr_metric_auc, conf, 1, p, y, NULL, N, 65537) == want);
    /* one group of all rows, sorted by the other sort, is the same AUC */
    int64_t *group = calloc(N, sizeof *group);
    const void *gconf = CONF(grouped_auc, "grouping_key: g");
    CHECK(feed(&cr_metric_grouped_auc, gconf, 1, p, y, group, N, 1000) == want);
    free(group);
    free(p);
    free(y);
    free(pos);
    free(neg);
}

TEST(undefined_is_nan) {
    float p[] = {0.2F, 0.7F}, ones[] = {1, 1};
    int64_t group[] = {1, 2};
    const void *conf = CONF(auc, "exact: true");
    const void *gconf = CONF(grouped_auc, "grouping_key: g");
    const void *c = CONF(logloss, "");
    CHECK(isnan(feed(&cr_metric_auc, conf, 1, p, ones, NULL, 2, 1)));
    CHECK(isnan(feed(&cr_metric_auc, conf, 1, p, ones, NULL, 0, 1)));
    CHECK(isnan(feed(&cr_metric_grouped_auc, gconf, 1, p, ones, group, 2, 1)));
    CHECK(isnan(feed(&cr_metric_mean_absolute_error, c, 1, p, ones, NULL, 0, 1)));
}

static void refused(const cr_metric_type *type, const void *conf, int64_t K, const float *pred,
                    float label, cr_code code, const char *text) {
    cr_metric *m = NULL;
    cr_err err;
    int64_t group = 3;
    CHECK_INT(type->new_(&m, conf, K, &err), CR_OK);
    cr_metric_in in = {
        .n_rows = 1, .K = K, .pred = pred, .pred_stride = K, .label = &label, .group = &group};
    CHECK_INT(type->update(m, &in, &err), code);
    CHECK(strstr(err.msg, text) != NULL);
    type->free_(m);
}

TEST(refusals) {
    const void *auc_conf = CONF(auc, "exact: true"),
               *binned = CONF(auc, "thresholds: 200, exact: false");
    const void *gauc_conf = CONF(grouped_auc, "grouping_key: g");
    const void *acc = CONF(accuracy, "top_k: 1");
    const void *c = CONF(logloss, "");
    float nan_pred[] = {NAN, NAN}, half[] = {0.5F, 0.5F}, two[] = {2};
    refused(&cr_metric_auc, auc_conf, 1, nan_pred, 1, CR_ERUN,
            "metric auc: the prediction of row 0");
    refused(&cr_metric_auc, binned, 1, nan_pred, 1, CR_ERUN, "metric auc");
    refused(&cr_metric_grouped_auc, gauc_conf, 1, nan_pred, 1, CR_ERUN, "metric grouped_auc");
    refused(&cr_metric_accuracy, acc, 2, nan_pred, 1, CR_ERUN, "metric accuracy");
    refused(&cr_metric_mean_absolute_error, c, 1, nan_pred, 1, CR_ERUN,
            "metric mean_absolute_error");
    refused(&cr_metric_mean_squared_error, c, 1, nan_pred, 1, CR_ERUN, "metric mean_squared_error");
    refused(&cr_metric_logloss, c, 1, nan_pred, 1, CR_ERUN, "metric logloss");
    refused(&cr_metric_logloss, c, 1, two, 1, CR_ERUN, "not a probability");
    refused(&cr_metric_auc, auc_conf, 1, half, 0.5F, CR_EDATA, "label of row 0 is 0.5");
    refused(&cr_metric_accuracy, acc, 2, half, 2, CR_EDATA, "from 0 to 1");
    refused(&cr_metric_accuracy, acc, 2, half, NAN, CR_EDATA, "label");
    refused(&cr_metric_logloss, c, 2, half, -1, CR_EDATA, "label");
    cr_metric *m;
    cr_err err;
    CHECK_INT(cr_metric_auc.new_(&m, auc_conf, 3, &err), CR_ECONF);
    CHECK_INT(cr_metric_grouped_auc.new_(&m, gauc_conf, 3, &err), CR_ECONF);
}

/* Memory that runs out is an error of the update, and the metric can still be freed. */
TEST(no_memory) {
    const void *conf = CONF(auc, "exact: true");
    const void *gconf = CONF(grouped_auc, "grouping_key: g");
    float p = 0.5F, y = 1;
    int64_t group = 0;
    cr_metric_in in = {
        .n_rows = 1, .K = 1, .pred = &p, .pred_stride = 1, .label = &y, .group = &group};
    cr_metric *m;
    cr_err err;
    CHECK_INT(cr_metric_auc.new_(&m, conf, 1, &err), CR_OK);
    cr_alloc_fail_after(1);
    CHECK_INT(cr_metric_auc.update(m, &in, &err), CR_ENOMEM);
    cr_alloc_fail_after(0);
    cr_metric_auc.free_(m);
    CHECK_INT(cr_metric_grouped_auc.new_(&m, gconf, 1, &err), CR_OK);
    cr_alloc_fail_after(1);
    CHECK_INT(cr_metric_grouped_auc.update(m, &in, &err), CR_ENOMEM);
    cr_alloc_fail_after(0);
    cr_metric_grouped_auc.free_(m);
}

/* the first example of Hanley and McNeil (1982): 51 and 58 rows, area 0.893 */
TEST(auc_error) {
    CHECK_NEAR(cr_auc_error(0.893, 51, 58), 0.0325, 5e-5, 0);
    CHECK_NEAR(cr_auc_error(1, 10, 10), 0, 1e-12, 0);
    CHECK(isnan(cr_auc_error(0.5, 0, 10)) && isnan(cr_auc_error(NAN, 10, 10)));
    const float p[] = {0.1F, 0.9F, 0.4F}, y[] = {0, 1, 1};
    const void *conf = CONF(auc, "exact: true");
    cr_metric *m;
    cr_err err;
    int64_t pos, neg;
    cr_metric_in in = {.n_rows = 3, .K = 1, .pred = p, .pred_stride = 1, .label = y};
    CHECK_INT(cr_metric_auc.new_(&m, conf, 1, &err), CR_OK);
    CHECK_INT(cr_metric_auc.update(m, &in, &err), CR_OK);
    cr_metric_auc.classes(m, &pos, &neg);
    CHECK_INT(pos, 2);
    CHECK_INT(neg, 1);
    cr_metric_auc.reset(m);
    cr_metric_auc.classes(m, &pos, &neg);
    CHECK_INT(pos + neg, 0);
    cr_metric_auc.free_(m);
}

TEST(cleanup) {
    golden_clear(&G);
    CHECK(G.n == 0);
}

TEST_MAIN(CASE(auc), CASE(grouped_auc), CASE(accuracy), CASE(errors), CASE(logloss),
          CASE(auc_of_two_classes), CASE(auc_of_candidates), CASE(auc_of_many_rows),
          CASE(undefined_is_nan), CASE(refusals), CASE(no_memory), CASE(auc_error), CASE(cleanup))
