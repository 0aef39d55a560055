/*
 * ranking.c - metrics at thresholds, over classes, of pairs, of calibration, and the metrics of
 * training with their saved state: golden values, any split into batches, refusals.
 */
#include "feed.h"

#include "base/mem.h"
#include "conf_text.h"
#include "metric/list.h"

/* the config that the text gives a metric */
#define CONF(metric, text) conf_text(&cr_metric_##metric##_msg, text)

TEST(at_thresholds) {
    static const double at[] = {0.5, 0.3, 0.9};
    static const char *const keys_of[] = {"0.5", "0.3", "0.9"};
    for (int i = 0; i < 3; i++) {
        char want[32], text[32];
        snprintf(text, sizeof text, "threshold: %g", at[i]);
        const void *c = CONF(precision, text);
        snprintf(want, sizeof want, "precision_%s", keys_of[i]);
        golden_case(&cr_metric_precision, c, 1, "score", "label", NULL, want);
        snprintf(want, sizeof want, "recall_%s", keys_of[i]);
        golden_case(&cr_metric_recall, c, 1, "score", "label", NULL, want);
        snprintf(want, sizeof want, "f1_%s", keys_of[i]);
        golden_case(&cr_metric_f1, c, 1, "score", "label", NULL, want);
    }
    float none[] = {0.1F, 0.2F}, y[] = {1, 0}, negatives[] = {0, 0};
    const void *half = CONF(precision, "threshold: 0.5");
    CHECK(isnan(feed(&cr_metric_precision, half, 1, none, y, NULL, 2, 1)));
    CHECK(feed(&cr_metric_recall, half, 1, none, y, NULL, 2, 1) == 0);
    CHECK(isnan(feed(&cr_metric_recall, half, 1, none, negatives, NULL, 2, 1)));
    CHECK(isnan(feed(&cr_metric_f1, half, 1, none, negatives, NULL, 2, 1)));
}

TEST(calibration) {
    const void *c = CONF(logloss, "");
    golden_case(&cr_metric_average_output, c, 1, "score", "label", NULL, "average_output");
    golden_case(&cr_metric_average_label, c, 1, "score", "label", NULL, "average_label");
    golden_case(&cr_metric_copc, c, 1, "score", "label", NULL, "copc");
    golden_case(&cr_metric_normalized_entropy, CONF(normalized_entropy, "eta: 1e-12"), 1, "score",
                "label", NULL, "normalized_entropy_1e-12");
    golden_case(&cr_metric_normalized_entropy, CONF(normalized_entropy, "eta: 0.4999"), 1, "score",
                "label", NULL, "normalized_entropy_0.4999");
    float zero[] = {0, 0}, y[] = {0, 0};
    CHECK(isnan(feed(&cr_metric_copc, c, 1, zero, y, NULL, 2, 1)));
    CHECK(isnan(feed(&cr_metric_average_output, c, 1, zero, y, NULL, 0, 1)));
}

TEST(classes) {
    const void *macro = CONF(multiclass_auc, "thresholds: 200, average: macro"),
               *weighted = CONF(multiclass_auc, "thresholds: 200, average: weighted"),
               *exact = CONF(multiclass_auc, "average: macro, exact: true");
    golden_case(&cr_metric_multiclass_auc, macro, 5, "probs", "class", NULL, "multiclass_auc");
    golden_case(&cr_metric_multiclass_auc, weighted, 5, "probs", "class", NULL,
                "multiclass_auc_weighted");
    golden_case(&cr_metric_multiclass_auc, exact, 5, "probs", "class", NULL,
                "multiclass_auc_exact");
    golden_case(&cr_metric_multiclass_auc, macro, 5, "probs", "rare", NULL, "multiclass_auc_rare");
    golden_case(&cr_metric_multiclass_auc, exact, 5, "probs", "rare", NULL,
                "multiclass_auc_rare_exact");
    golden_case(&cr_metric_recall_at_k, CONF(recall_at_k, "top_k: 1"), 5, "probs", "class", NULL,
                "recall_at_1");
    golden_case(&cr_metric_recall_at_k, CONF(recall_at_k, "top_k: 3"), 5, "probs", "class", NULL,
                "recall_at_3");
}

/* the label stands at place 1, 2 and 3; equal scores go by the number of the class */
TEST(places_of_labels) {
    float pred[] = {0.1F, 0.6F, 0.3F, 0.5F, 0.3F, 0.2F, 0.4F, 0.4F, 0.2F}, label[] = {1, 1, 2};
    double log3 = 1 / log2(3);
    CHECK_NEAR(feed(&cr_metric_mean_reciprocal_rank, CONF(mean_reciprocal_rank, ""), 3, pred, label,
                    NULL, 3, 2),
               (1 + 0.5 + 1.0 / 3) / 3, 1e-12, 0);
    CHECK_NEAR(feed(&cr_metric_ndcg_at_k, CONF(ndcg_at_k, "top_k: 2"), 3, pred, label, NULL, 3, 2),
               (1 + log3) / 3, 1e-12, 0);
    CHECK_NEAR(feed(&cr_metric_ndcg_at_k, CONF(ndcg_at_k, ""), 3, pred, label, NULL, 3, 1),
               (1 + log3 + 0.5) / 3, 1e-12, 0);
    label[2] = 1; /* behind the first of two equal ones */
    CHECK_NEAR(feed(&cr_metric_mean_reciprocal_rank, CONF(mean_reciprocal_rank, ""), 3, pred, label,
                    NULL, 3, 3),
               (1 + 0.5 + 0.5) / 3, 1e-12, 0);
}

/* two users with three right items, one of which no class is, and with one; of four classes the
 * first two places count */
TEST(lists_of_groups) {
    float pred[] = {0.4F, 0.3F, 0.2F, 0.1F, 0.4F, 0.3F, 0.2F, 0.1F,
                    0.1F, 0.1F, 0.7F, 0.1F, 0.4F, 0.3F, 0.2F, 0.1F};
    float label[] = {1, 3, 1, -1};
    int64_t group[] = {7, 7, -2, 7};
    double third = 1 / log2(3);
    static const struct {
        const char *measure;
        double a, b; /* with label[2] 1 and 2: at the third place, and at the first */
    } v[] = {{"PRECISION", 1.0 / 4, 2.0 / 4},
             {"RECALL", 1.0 / 6, 2.0 / 3},
             {"F1", 2.0 * (1.0 / 24) / (5.0 / 12), 2.0 * (1.0 / 3) / (7.0 / 6)}};
    for (int second = 0; second < 2; second++) {
        label[2] = second ? 2 : 1;
        pred[9] = 0.05F; /* class 1 stands behind 0 there, and 2 before both */
        for (size_t i = 0; i < sizeof v / sizeof *v; i++) {
            char text[100];
            snprintf(text, sizeof text, "grouping_key: u, top_k: 2, measure: %s", v[i].measure);
            for (int64_t batch = 0; batch < 4; batch++)
                CHECK_NEAR(feed(&cr_metric_group_at_k, CONF(group_at_k, text), 4, pred, label,
                                group, 4, batch),
                           second ? v[i].b : v[i].a, 1e-12, 0);
        }
        CHECK_NEAR(feed(&cr_metric_group_at_k,
                        CONF(group_at_k, "grouping_key: u, top_k: 2, measure: NDCG"), 4, pred,
                        label, group, 4, 2),
                   (third / (1 + third) + (second ? 1 : 0)) / 2, 1e-12, 0);
    }
    CHECK(isnan(feed(&cr_metric_group_at_k, CONF(group_at_k, "grouping_key: u"), 4, pred, label,
                     group, 0, 1)));
}

/* a group whose right rows stand at places 2 and 4, behind an equal score; one with the right row
 * first; one without a right row, which does not count */
TEST(places_in_groups) {
    float pred[] = {0.9F, 0.7F, 0.5F, 0.5F, 0.2F, 0.1F, 0.6F, 0.3F},
          label[] = {0, 1, 1, 0, 0, 0, 1, 0};
    int64_t group[] = {3, 3, 3, 3, 9, 9, -4, -4};
    double third = 1 / log2(3), mrr = (0.5 + 0.25) / 2;
    for (int64_t batch = 0; batch < 4; batch++) {
        CHECK_NEAR(feed(&cr_metric_grouped_place, CONF(grouped_place, "grouping_key: u"), 1, pred,
                        label, group, 8, batch),
                   (mrr + 1) / 2, 1e-12, 0);
        CHECK_NEAR(feed(&cr_metric_grouped_place, CONF(grouped_place, "grouping_key: u, top_k: 3"),
                        1, pred, label, group, 8, batch),
                   (third / (1 + third) + 1) / 2, 1e-12, 0);
        CHECK_NEAR(feed(&cr_metric_grouped_place, CONF(grouped_place, "grouping_key: u, top_k: 9"),
                        1, pred, label, group, 8, batch),
                   ((third + 1 / log2(5)) / (1 + third) + 1) / 2, 1e-12, 0);
    }
    CHECK(isnan(feed(&cr_metric_grouped_place, CONF(grouped_place, "grouping_key: u"), 1, pred,
                     label, group, 0, 1)));
}

TEST(pairs) {
    const void *exact = CONF(xauc, "exact: true"),
               *share = CONF(xauc, "sample_ratio: 0.01, exact: false"),
               *some = CONF(xauc, "max_pairs: 500, exact: false"),
               *all = CONF(xauc, "sample_ratio: 1, exact: false"),
               *enough = CONF(xauc, "max_pairs: 1048576, exact: false");
    golden_case(&cr_metric_xauc, exact, 1, "guess", "watch", NULL, "xauc");
    golden_case(&cr_metric_xauc, share, 1, "guess", "watch", NULL, "xauc_drawn_0.01");
    golden_case(&cr_metric_xauc, some, 1, "guess", "watch", NULL, "xauc_drawn_500");
    golden_case(&cr_metric_xauc, all, 1, "guess", "watch", NULL, "xauc");
    golden_case(&cr_metric_xauc, enough, 1, "guess", "watch", NULL, "xauc");
    float *p = Gf("guess"), *y = Gf("watch");
    double v =
        feed(&cr_metric_xauc, CONF(xauc, "in_batch: true, exact: false"), 1, p, y, NULL, 400, 100);
    CHECK_NEAR(v, golden_get(&G, "xauc_in_batch_100")->v[0], 1e-12, 1e-12);
    CHECK(isnan(feed(&cr_metric_xauc, exact, 1, p, y, NULL, 1, 1)));
    free(p);
    free(y);
    int64_t *group = keys("group"), *big = keys("big_group");
    const void *few = CONF(grouped_xauc, "max_pairs_per_group: 100, grouping_key: g"),
               *whole = CONF(grouped_xauc, "grouping_key: g, max_pairs_per_group: 0");
    golden_case(&cr_metric_grouped_xauc, few, 1, "guess", "watch", group, "grouped_xauc");
    golden_case(&cr_metric_grouped_xauc, few, 1, "guess", "watch", big, "grouped_xauc_big");
    golden_case(&cr_metric_grouped_xauc, whole, 1, "guess", "watch", big, "grouped_xauc_whole");
    free(group);
    free(big);
}

/* all pairs of many rows, with ties, against counting per level */
TEST(pairs_of_many_rows) {
    enum { N = 100000, LEVELS = 40 };
    float *p = calloc(N, sizeof *p), *y = calloc(N, sizeof *y);
    int64_t(*n)[LEVELS] = calloc(LEVELS, sizeof *n);
    for (int i = 0; i < N; i++) {
        int a = (int)cr_rng_below(5, (uint64_t)i, LEVELS);
        int b = (a + (int)cr_rng_below(6, (uint64_t)i, 9)) % LEVELS;
        y[i] = (float)(a - 20);
        p[i] = (float)(b - 20) * 0.125F;
        n[a][b]++;
    }
    double right = 0;
    for (int a = 0; a < LEVELS; a++)
        for (int b = 0; b < LEVELS; b++)
            for (int c = a + 1; c < LEVELS; c++)
                for (int d = b + 1; d < LEVELS; d++)
                    right += (double)n[a][b] * (double)n[c][d];
    double want = right / ((double)N * (N - 1) / 2);
    CHECK(feed(&cr_metric_xauc, CONF(xauc, "exact: true"), 1, p, y, NULL, N, 4096) == want);
    double drawn =
        feed(&cr_metric_xauc, CONF(xauc, "max_pairs: 200000, exact: false"), 1, p, y, NULL, N, 99);
    CHECK(fabs(drawn - want) < 0.005); /* four standard deviations */
    free(p);
    free(y);
    free(n);
}

/* ---- metrics of training ---- */

static const cr_oneof_member binned_auc = {"auc", NULL, &cr_metric_auc},
                             accuracy = {"accuracy", NULL, &cr_metric_accuracy},
                             in_batch = {"xauc", NULL, &cr_metric_train_xauc};

/* eight steps of 50 rows; at step `pause` the metric is saved and a new one goes on */
static void train_case(const cr_oneof_member *member, void *conf, const char *want, int pause) {
    float *p = Gf("score"), *y = Gf("label");
    cr_train_metric_conf c = {.metric = {member, conf}, .decay_rate = 0.8, .decay_step = 3};
    cr_train_metric *m;
    cr_err err;
    CHECK_INT(cr_train_metric_new(&m, &c, 1, &err), CR_OK);
    for (int step = 0; step < 8; step++) {
        if (step == pause) {
            cr_train_metric *next;
            int64_t n = cr_train_metric_n_state(m);
            double *state = calloc((size_t)n, sizeof *state);
            cr_train_metric_get(m, state);
            cr_train_metric_free(m);
            CHECK_INT(cr_train_metric_new(&next, &c, 1, &err), CR_OK);
            CHECK_INT(cr_train_metric_n_state(next), n);
            cr_train_metric_set(next, state);
            free(state);
            m = next;
        }
        cr_metric_in in = {
            .n_rows = 50, .K = 1, .pred = p + 50 * step, .pred_stride = 1, .label = y + 50 * step};
        CHECK_INT(cr_train_metric_step(m, &in, &err), CR_OK);
        CHECK_NEAR(cr_train_metric_value(m), golden_get(&G, want)->v[step], 1e-12, 1e-12);
    }
    cr_train_metric_free(m);
    free(p);
    free(y);
}

TEST(training) {
    for (int pause = 0; pause <= 8; pause++) {
        train_case(&binned_auc, CONF(auc, "thresholds: 200, exact: false"), "train_auc", pause);
        train_case(&accuracy, CONF(accuracy, "threshold: 0.5, top_k: 1"), "train_accuracy", pause);
    }
}

/* The AUC of the last three of eight steps is that of their rows alone, also through a pause. */
TEST(training_last_steps) {
    float *p = Gf("score"), *y = Gf("label");
    void *conf = CONF(auc, "thresholds: 200, exact: false");
    cr_train_metric_conf c = {.metric = {&binned_auc, conf}, .last_steps = 3};
    cr_train_metric *m, *next;
    cr_err err;
    CHECK_INT(cr_train_metric_new(&m, &c, 1, &err), CR_OK);
    for (int step = 0; step < 8; step++) {
        cr_metric_in in = {
            .n_rows = 50, .K = 1, .pred = p + 50 * step, .pred_stride = 1, .label = y + 50 * step};
        CHECK_INT(cr_train_metric_step(m, &in, &err), CR_OK);
        int first = step < 2 ? 0 : step - 2;
        double want = feed(&cr_metric_auc, conf, 1, p + 50 * first, y + 50 * first, NULL,
                           50 * (step + 1 - first), 50);
        CHECK_NEAR(cr_train_metric_value(m), want, 1e-12, 1e-12);
        double *state = calloc((size_t)cr_train_metric_n_state(m), sizeof *state);
        cr_train_metric_get(m, state);
        CHECK_INT(cr_train_metric_new(&next, &c, 1, &err), CR_OK);
        cr_train_metric_set(next, state);
        cr_train_metric_free(m);
        free(state);
        m = next;
    }
    cr_train_metric_free(m);
    free(p);
    free(y);
}

/* windows of single rows have no pairs: the value stays */
TEST(training_without_value) {
    void *conf = CONF(xauc, "exact: true");
    cr_train_metric_conf c = {.metric = {&in_batch, conf}, .decay_rate = 0.5, .decay_step = 1};
    cr_train_metric *m;
    cr_err err;
    CHECK_INT(cr_train_metric_new(&m, &c, 1, &err), CR_OK);
    float p[] = {0.1F, 0.2F}, y[] = {1, 2};
    cr_metric_in one = {.n_rows = 1, .K = 1, .pred = p, .pred_stride = 1, .label = y}, two = one;
    two.n_rows = 2;
    CHECK_INT(cr_train_metric_step(m, &one, &err), CR_OK);
    CHECK(cr_train_metric_value(m) == 0);
    CHECK_INT(cr_train_metric_step(m, &two, &err), CR_OK);
    CHECK(cr_train_metric_value(m) == 1);
    CHECK_INT(cr_train_metric_step(m, &one, &err), CR_OK);
    CHECK(cr_train_metric_value(m) == 1);
    p[0] = 0.3F;
    CHECK_INT(cr_train_metric_step(m, &two, &err), CR_OK);
    CHECK(cr_train_metric_value(m) == 0.5);
    cr_train_metric_free(m);
}

/* ---- refusals ---- */

static void refused(const cr_metric_type *type, const void *conf, int64_t K, float pred,
                    float label, cr_code code, const char *text) {
    cr_metric *m = NULL;
    cr_err err;
    int64_t group = 3;
    float p[] = {pred, pred};
    CHECK_INT(type->new_(&m, conf, K, &err), CR_OK);
    cr_metric_in in = {
        .n_rows = 1, .K = K, .pred = p, .pred_stride = K, .label = &label, .group = &group};
    CHECK_INT(type->update(m, &in, &err), code);
    CHECK(strstr(err.msg, text) != NULL);
    type->free_(m);
}

TEST(refusals) {
    const void *t = CONF(precision, "threshold: 0.5");
    const void *c = CONF(logloss, "");
    const void *ne = CONF(normalized_entropy, "eta: 1e-12");
    const void *mc = CONF(multiclass_auc, "thresholds: 7"),
               *mx = CONF(multiclass_auc, "exact: true");
    const void *r = CONF(recall_at_k, "top_k: 1");
    const void *x = CONF(xauc, "exact: true");
    const void *gx = CONF(grouped_xauc, "grouping_key: g, max_pairs_per_group: 0");
    refused(&cr_metric_precision, t, 1, NAN, 1, CR_ERUN, "metric precision: the prediction");
    refused(&cr_metric_recall, t, 1, 0.5F, 2, CR_EDATA, "metric recall: the label of row 0 is 2");
    refused(&cr_metric_f1, t, 2, 0.5F, -1, CR_EDATA, "metric f1");
    refused(&cr_metric_copc, c, 1, NAN, 1, CR_ERUN, "metric copc");
    refused(&cr_metric_normalized_entropy, ne, 1, 1.5F, 1, CR_ERUN, "not a probability");
    refused(&cr_metric_normalized_entropy, ne, 1, 0.5F, 3, CR_EDATA, "label of row 0 is 3");
    refused(&cr_metric_multiclass_auc, mc, 2, 0.5F, 2, CR_EDATA, "from 0 to 1");
    refused(&cr_metric_multiclass_auc, mx, 2, NAN, 1, CR_ERUN, "metric multiclass_auc");
    refused(&cr_metric_recall_at_k, r, 2, 0.5F, 0.5F, CR_EDATA, "metric recall_at_k");
    refused(&cr_metric_xauc, x, 1, NAN, 1, CR_ERUN, "metric xauc");
    refused(&cr_metric_grouped_xauc, gx, 1, NAN, 1, CR_ERUN, "metric grouped_xauc");
    cr_metric *m;
    cr_err err;
    CHECK_INT(cr_metric_multiclass_auc.new_(&m, mc, 1, &err), CR_ECONF);
    CHECK_INT(cr_metric_recall_at_k.new_(&m, r, 1, &err), CR_ECONF);
    CHECK_INT(cr_metric_ndcg_at_k.new_(&m, CONF(ndcg_at_k, ""), 1, &err), CR_ECONF);
    refused(&cr_metric_ndcg_at_k, CONF(ndcg_at_k, ""), 2, NAN, 0, CR_ERUN, "metric ndcg_at_k");
    refused(&cr_metric_ndcg_at_k, CONF(ndcg_at_k, ""), 2, 0.5F, 0.5F, CR_EDATA, "ndcg_at_k");
    CHECK_INT(cr_metric_recall_at_k.new_(&m, CONF(recall_at_k, "top_k: 4"), 3, &err), CR_ECONF);
    CHECK_INT(cr_metric_precision.new_(&m, t, 3, &err), CR_ECONF);
    CHECK_INT(cr_metric_xauc.new_(&m, x, 3, &err), CR_ECONF);
    CHECK_INT(cr_metric_grouped_xauc.new_(&m, gx, 3, &err), CR_ECONF);
    CHECK_INT(cr_metric_copc.new_(&m, c, 3, &err), CR_ECONF);
}

TEST(labels) {
    char out[64];
    void *t = CONF(precision, "threshold: 0.3");
    cr_metric_label(&(cr_choice){&(cr_oneof_member){"f1", NULL, &cr_metric_f1}, t}, out,
                    sizeof out);
    CHECK_STR(out, "f1@0.3");
    t = CONF(precision, "threshold: 0.5");
    cr_metric_label(&(cr_choice){&(cr_oneof_member){"f1", NULL, &cr_metric_f1}, t}, out,
                    sizeof out);
    CHECK_STR(out, "f1");
    void *r = CONF(recall_at_k, "top_k: 5");
    cr_metric_label(&(cr_choice){&(cr_oneof_member){"recall_at_k", NULL, &cr_metric_recall_at_k},
                                 r},
                    out, sizeof out);
    CHECK_STR(out, "recall@5");
    void *c = CONF(logloss, "");
    cr_metric_label(&(cr_choice){&(cr_oneof_member){"mean_absolute_error", NULL,
                                                    &cr_metric_mean_absolute_error},
                                 c},
                    out, sizeof out);
    CHECK_STR(out, "mean_absolute_error");
}

/* Memory that runs out is an error, and the metric can still be freed. */
TEST(no_memory) {
    float p = 0.5F, y = 1;
    int64_t group = 0;
    cr_metric_in in = {
        .n_rows = 1, .K = 1, .pred = &p, .pred_stride = 1, .label = &y, .group = &group};
    cr_metric *m;
    cr_err err;
    for (uint64_t after = 1; after <= 2; after++) {
        CHECK_INT(cr_metric_xauc.new_(&m, CONF(xauc, "exact: true"), 1, &err), CR_OK);
        cr_alloc_fail_after(after);
        CHECK_INT(cr_metric_xauc.update(m, &in, &err), CR_ENOMEM);
        cr_alloc_fail_after(0);
        cr_metric_xauc.free_(m);
        CHECK_INT(cr_metric_grouped_xauc.new_(
                      &m, CONF(grouped_xauc, "grouping_key: g, max_pairs_per_group: 0"), 1, &err),
                  CR_OK);
        cr_alloc_fail_after(after);
        CHECK_INT(cr_metric_grouped_xauc.update(m, &in, &err), CR_ENOMEM);
        cr_alloc_fail_after(0);
        cr_metric_grouped_xauc.free_(m);
    }
    for (uint64_t after = 1; after <= 3; after++) {
        cr_alloc_fail_after(after);
        CHECK_INT(cr_metric_auc.new_(&m, CONF(auc, "thresholds: 9, exact: false"), 1, &err),
                  CR_ENOMEM);
        cr_alloc_fail_after(0);
        const void *mc = CONF(multiclass_auc, "thresholds: 9, average: macro");
        cr_alloc_fail_after(after + 3);
        CHECK_INT(cr_metric_multiclass_auc.new_(&m, mc, 3, &err), CR_ENOMEM);
        cr_alloc_fail_after(0);
    }
}

TEST(cleanup) {
    golden_clear(&G);
    CHECK(G.n == 0);
}

TEST_MAIN(CASE(at_thresholds), CASE(calibration), CASE(classes), CASE(places_of_labels),
          CASE(lists_of_groups), CASE(places_in_groups), CASE(pairs), CASE(pairs_of_many_rows),
          CASE(training), CASE(training_last_steps), CASE(training_without_value), CASE(refusals),
          CASE(labels), CASE(no_memory), CASE(cleanup))
