/*
 * loss.c - what a model makes of its losses, metrics and weights: predictions per kind of loss,
 * names that are taken once, weights of rows and tasks, penalties; values by hand.
 */
#include "unit/model/model_test.h"

#include "all_lanes.h"

#define ROWS 11
/* the smallest model: a table for a, a weight for x, a bias */
#define LR(more) "{feature_groups: [" M_GROUP("all", "a, x") "], logistic_regression: {}, " more "}"

/* the lines of what was built that begin with word */
static const char *lines(m_model *t, const char *word) {
    const char *text = m_text(t);
    char *out = cr_arena_printf(&t->arena, "%s", text), *to = out;
    for (const char *line = text; *line;) {
        const char *end = strchr(line, '\n') + 1;
        if (strncmp(line, word, strlen(word)) == 0) {
            memmove(to, line, (size_t)(end - line));
            to += end - line;
        }
        line = end;
    }
    *to = 0;
    return out;
}

TEST(predictions_follow_the_loss) {
    static const struct {
        const char *config, *outputs, *losses;
    } cases[] = {
        {LR("losses: [{binary_cross_entropy: {}}]"), "output logits (1)\noutput probs (1)\n",
         "loss binary_cross_entropy of label 0, weight -1, K 2\n"},
        {LR("losses: [{l2_loss: {}}]"), "output y (1)\n",
         "loss l2_loss of label 0, weight -1, K 0\n"},
        {LR("num_class: 2, losses: [{softmax_cross_entropy: {}}]"),
         "output logits (2)\noutput probs (2)\noutput probs1 (1)\n",
         "loss softmax_cross_entropy of label 0, weight -1, K 2\n"},
        {LR("num_class: 4, losses: [{softmax_cross_entropy: {}}]"),
         "output logits (4)\noutput probs (4)\n",
         "loss softmax_cross_entropy of label 0, weight -1, K 4\n"},
        /* two losses, one prediction each, once */
        {LR("losses: [{binary_cross_entropy: {}}, {l2_loss: {}}, {binary_cross_entropy: {}}]"),
         "output logits (1)\noutput probs (1)\noutput y (1)\n",
         "loss binary_cross_entropy of label 0, weight -1, K 2\n"
         "loss l2_loss of label 0, weight -1, K 0\n"
         "loss binary_cross_entropy_2 of label 0, weight -1, K 2\n"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        m_model *t = m_open(cases[i].config, (m_opts){0});
        CHECK_STR(m_findings(t), "");
        CHECK_STR(lines(t, "output "), cases[i].outputs);
        CHECK_STR(lines(t, "loss "), cases[i].losses);
        m_close(t);
    }
}

TEST(names_of_metrics_are_taken_once) {
    m_model *t = m_open(LR("losses: [{binary_cross_entropy: {}}], metrics: [{auc: {}}, {auc: "
                           "{thresholds: 50}}, {grouped_auc: {grouping_key: b}}, {auc: {}}], "
                           "train_metrics: [{auc: {}}, {auc: {}}]"),
                        (m_opts){0});
    CHECK_STR(m_findings(t), "");
    CHECK_STR(lines(t, "metric "), "metric auc of label 0, mask -1, K 1\n"
                                   "metric auc_2 of label 0, mask -1, K 1\n"
                                   "metric grouped_auc of label 0, mask -1, K 1\n"
                                   "metric auc_3 of label 0, mask -1, K 1\n");
    CHECK_STR(lines(t, "train metric "), "train metric auc of label 0\n"
                                         "train metric auc_2 of label 0\n");
    CHECK_INT(t->m->metrics[0].group_slot, -1);
    CHECK_INT(t->m->metrics[2].group_slot, cr_features_find(t->fs, "b")->slot);
    CHECK(t->m->train_metrics[0].train != NULL && t->m->metrics[0].train == NULL);
    m_close(t);
}

/* a metric looks at the second of two classes, or at all of several */
TEST(what_metrics_look_at) {
    m_model *t = m_open(LR("num_class: 2, losses: [{softmax_cross_entropy: {}}], metrics: [{auc: "
                           "{}}, {accuracy: {}}]"),
                        (m_opts){0});
    CHECK_STR(m_findings(t), "");
    CHECK_INT(t->m->metrics[0].pred->width, 1);
    CHECK_INT(t->m->metrics[1].pred->width, 2);
    m_close(t);
    t = m_open(LR("losses: [{binary_cross_entropy: {}}, {l2_loss: {}}], metrics: [{auc: {}}, "
                  "{mean_squared_error: {}}]"),
               (m_opts){0});
    CHECK_STR(m_findings(t), "");
    CHECK_INT(t->m->n_metrics, 2);
    CHECK(t->m->metrics[0].pred == t->m->outputs[1].node); /* probs */
    CHECK(t->m->metrics[1].pred == t->m->outputs[2].node); /* y */
    m_close(t);
}

/* ---- values ---- */

/* a logit by hand: the table of a, the weight of x, the bias */
static double logit(const m_model *t, const cr_batch *b, int64_t r) {
    const cr_feature *a = cr_features_find(t->fs, "a"), *x = cr_features_find(t->fs, "x");
    double z = (double)cr_table_row(&t->m->tables[0]->table, b->sparse[a->slot].ids[r])[0];
    for (int i = 0; i < t->m->graph.n; i++) {
        const cr_node *n = t->m->graph.nodes[i];
        if (n->cls != CR_PARAM || n->op) continue;
        double v = (double)b->dense[r * b->dense_width + x->dense_off];
        z += (double)n->w[0] * (strstr(n->name, "bias") ? 1 : v);
    }
    return z;
}
static double bce(double z, double y) {
    double p = 1 / (1 + exp(-z));
    return -y * log(p) - (1 - y) * log(1 - p);
}

TEST(values_by_hand) {
    m_model *t =
        m_open(LR("losses: [{binary_cross_entropy: {}}, {binary_cross_entropy: {}, weight: "
                  "3}, {l2_loss: {}}], embedding_regularization: 0.5"),
               (m_opts){0});
    CHECK_STR(m_findings(t), "");
    CHECK_STR(lines(t, "loss embedding"),
              "loss embedding_regularization of label -1, weight -1, K 0\n");
    cr_batch *b = m_batch(t, ROWS);
    m_run k;
    m_ready(&k, t, CR_TRAIN, 2, ROWS);
    for (int i = 0; i < t->m->graph.n; i++) /* biases begin with 0 */
        if (t->m->graph.nodes[i]->cls == CR_PARAM) t->m->graph.nodes[i]->w[0] += 0.3f;
    CHECK_INT(m_step(&k, t, b, NULL), CR_OK);
    double cross = 0, square = 0, penalty = 0;
    for (int64_t r = 0; r < ROWS; r++) {
        double z = logit(t, b, r), y = (double)b->labels[0][r];
        int64_t id = b->sparse[cr_features_find(t->fs, "a")->slot].ids[r];
        double w = (double)cr_table_row(&t->m->tables[0]->table, id)[0];
        CHECK_NEAR(m_out(&k, t, "logits", r), z, 1e-6, 1e-5);
        CHECK_NEAR(m_out(&k, t, "y", r), z, 1e-6, 1e-5);
        cross += bce(z, y) / ROWS;
        square += (z - y) * (z - y) / ROWS;
        penalty += 0.5 * w * w / ROWS;
    }
    CHECK_NEAR(m_loss(&k, t, "binary_cross_entropy"), cross, 0, 1e-5);
    CHECK_NEAR(m_loss(&k, t, "binary_cross_entropy_2"), 3 * cross, 0, 1e-5);
    CHECK_NEAR(m_loss(&k, t, "l2_loss"), square, 0, 1e-5);
    CHECK_NEAR(m_loss(&k, t, "embedding_regularization"), penalty, 0, 1e-5);
    m_done(&k);
    m_close(t);
}

/* two classes: probabilities of both, and of the second alone */
TEST(two_classes) {
    m_model *t = m_open(LR("num_class: 2, losses: [{softmax_cross_entropy: {}}]"), (m_opts){0});
    CHECK_STR(m_findings(t), "");
    cr_batch *b = m_batch(t, ROWS);
    m_run k;
    m_ready(&k, t, CR_TRAIN, 1, ROWS);
    CHECK_INT(m_step(&k, t, b, NULL), CR_OK);
    const cr_node *logits = t->m->outputs[0].node, *probs = t->m->outputs[1].node;
    CHECK_STR(t->m->outputs[0].name, "logits");
    double loss = 0;
    for (int64_t r = 0; r < ROWS; r++) {
        const float *z = cr_work_val(k.w->w, logits) + r * cr_ld(logits);
        double p1 = 1 / (1 + exp((double)z[0] - (double)z[1]));
        CHECK_NEAR(cr_work_val(k.w->w, probs)[r * cr_ld(probs)], 1 - p1, 1e-6, 0);
        CHECK_NEAR(m_out(&k, t, "probs1", r), p1, 1e-6, 0);
        loss -= log(b->labels[0][r] > 0 ? p1 : 1 - p1) / ROWS;
    }
    CHECK_NEAR(m_loss(&k, t, "softmax_cross_entropy"), loss, 0, 1e-5);
    m_done(&k);
    m_close(t);
}

/* ---- weights of rows ---- */

TEST(weights_of_rows) {
    const float label[] = {0, 1, 2}, weight[] = {3, 5, 7};
    const float *labels[] = {label}, *weights[] = {weight};
    cr_batch b = {.n_rows = 3, .labels = labels, .weights = weights};
    cr_row_weight w = {.field = -1, .space = -1, .in = 10, .out = 100, .factor = 1000};
    CHECK(cr_row_weight_of(&w, &b, 1) == 1); /* the factor is no row's */
    w.field = 0;
    CHECK(cr_row_weight_of(&w, &b, 1) == 5);
    w.space = 0;
    CHECK(cr_row_weight_of(&w, &b, 0) == 300);
    CHECK(cr_row_weight_of(&w, &b, 1) == 50);
    CHECK(cr_row_weight_of(&w, &b, 2) == 70);
    w.field = -1;
    CHECK(cr_row_weight_of(&w, &b, 2) == 10);
}

/* the weights of a batch come to the factor, for any number of lanes */
TEST(scales) {
    float label[ROWS], weight[ROWS], one[ROWS], two[ROWS];
    for (int i = 0; i < ROWS; i++) {
        label[i] = (float)(i % 2);
        weight[i] = 1 + (float)i;
    }
    const float *labels[] = {label}, *weights[] = {weight};
    float *scale[] = {one, two};
    cr_batch b = {.n_rows = ROWS, .global_rows = ROWS, .labels = labels, .weights = weights};
    cr_row_weight w[] = {{0, -1, 1, 1, 4, 0}, {-1, 0, 3, 0, 1, 0}};
    cr_model m = {.weights = w, .n_weights = 2};
    for (int lanes = 1; lanes <= 16; lanes *= 2) {
        cr_model_scales(&m, &b, all_lanes(lanes), scale);
        for (int i = 0; i < ROWS; i++) {
            CHECK_NEAR(one[i], 4.0 * (1 + i) / 66, 0, 1e-6);
            CHECK_NEAR(two[i], i % 2 ? 3 / 15.0 : 0, 0, 1e-6);
        }
    }
    for (int i = 0; i < ROWS; i++)
        label[i] = 0; /* no row counts */
    cr_model_scales(&m, &b, all_lanes(4), scale);
    for (int i = 0; i < ROWS; i++)
        CHECK(two[i] == 0);
    m.n_weights = 0; /* nothing is written */
    one[0] = 77;
    cr_model_scales(&m, &b, all_lanes(4), scale);
    CHECK(one[0] == 77);
}

TEST(sample_weights) {
    m_model *t = m_open(LR("losses: [{binary_cross_entropy: {}}]"), (m_opts){.weights = "w"});
    CHECK_STR(m_findings(t), "");
    CHECK_STR(lines(t, "loss "), "loss binary_cross_entropy of label 0, weight 0, K 2\n");
    CHECK_INT(t->m->n_weights, 1);
    CHECK(t->m->weights[0].field == 0 && t->m->weights[0].space == -1);
    cr_batch *b = m_batch(t, ROWS);
    m_run k;
    m_ready(&k, t, CR_TRAIN, 2, ROWS);
    CHECK_INT(m_step(&k, t, b, NULL), CR_OK);
    double sum = 0, all = 0;
    for (int64_t r = 0; r < ROWS; r++) {
        sum += (double)b->weights[0][r] * bce(logit(t, b, r), (double)b->labels[0][r]);
        all += (double)b->weights[0][r];
    }
    CHECK_NEAR(m_loss(&k, t, "binary_cross_entropy"), sum / all, 0, 1e-5);
    m_done(&k);
    m_close(t);
}

#define TOWERS(p, q)                                                                               \
    M_TASKS(M_GROUP("all", "a, x"),                                                                \
            "simple_multi_task: {task_towers: [{tower_name: p, label_name: y, " M_BCE p            \
            "}, {tower_name: q, label_name: z, " M_BCE q "}]}")

TEST(weights_of_tasks) {
    m_model *t = m_open(TOWERS(", weight: 2, sample_weight_name: v",
                               ", task_space_indicator_label: y, in_task_space_weight: 5, "
                               "out_task_space_weight: 0.5"),
                        (m_opts){.weights = "w, v"});
    CHECK_STR(m_findings(t), "");
    CHECK_STR(lines(t, "loss "), "loss binary_cross_entropy_p of label 0, weight 0, K 2\n"
                                 "loss binary_cross_entropy_q of label 1, weight 1, K 2\n");
    const cr_row_weight *w = t->m->weights;
    CHECK_INT(t->m->n_weights, 2);
    CHECK(w[0].field == 1 && w[0].space == -1 && w[0].factor == 2);
    CHECK(w[1].field == -1 && w[1].space == 0 && w[1].in == 5 && w[1].out == 0.5);
    cr_batch *b = m_batch(t, ROWS);
    m_run k;
    m_ready(&k, t, CR_TRAIN, 4, ROWS);
    CHECK_INT(m_step(&k, t, b, NULL), CR_OK);
    double sum[2] = {0}, all[2] = {0};
    for (int64_t r = 0; r < ROWS; r++) {
        double p = m_out(&k, t, "logits_p", r), q = m_out(&k, t, "logits_q", r);
        double wp = (double)b->weights[1][r], wq = b->labels[0][r] > 0 ? 5 : 0.5;
        sum[0] += wp * bce(p, (double)b->labels[0][r]);
        sum[1] += wq * bce(q, (double)b->labels[1][r]);
        all[0] += wp;
        all[1] += wq;
    }
    CHECK_NEAR(m_loss(&k, t, "binary_cross_entropy_p"), 2 * sum[0] / all[0], 0, 1e-5);
    CHECK_NEAR(m_loss(&k, t, "binary_cross_entropy_q"), sum[1] / all[1], 0, 1e-5);
    m_done(&k);
    m_close(t);
    /* a weight that changes nothing has no number, unless the step weighs the tasks */
    t = m_open(TOWERS("", ""), (m_opts){0});
    CHECK_INT(t->m->n_weights, 0);
    m_close(t);
    t = m_open("{use_pareto_loss_weight: true, feature_groups: [" M_GROUP(
                   "all",
                   "a, x") "], "
                           "simple_multi_task: {task_towers: [{tower_name: p, label_name: y, " M_BCE
                           "}, {tower_name: q, label_name: z, pareto_min_loss_weight: 0.25, " M_BCE
                           "}]}}",
               (m_opts){0});
    CHECK_STR(m_findings(t), "");
    CHECK_INT(t->m->n_weights, 2);
    CHECK(t->m->weights[0].least == 0 && t->m->weights[1].least == 0.25);
    m_close(t);
    /* all tasks of a model without towers share the sample weight */
    t = m_open(M_MODEL(M_GROUP("all", "a, x"),
                       "rocket_launching: {booster_mlp: {hidden_units: [5]}, "
                       "light_mlp: {hidden_units: [3]}}"),
               (m_opts){.weights = "w"});
    CHECK_STR(m_findings(t), "");
    CHECK_INT(t->m->n_weights, 1);
    CHECK_STR(lines(t, "loss "),
              "loss binary_cross_entropy_booster of label 0, weight 0, K 2, in training only\n"
              "loss binary_cross_entropy_light of label 0, weight 0, K 2\n"
              "loss hint_l2_loss of label -1, weight 0, K 0, in training only\n");
    CHECK(!t->m->losses[0].row->output && t->m->losses[1].row->output); /* evaluated or not */
    m_close(t);
}

/* the light net of rocket_launching learns from the shared layers and does not change them */
TEST(the_light_net_does_not_teach) {
    m_model *t = m_open(M_MODEL(M_GROUP("all", "a, x"),
                                "rocket_launching: {share_mlp: {hidden_units: [4]}, booster_mlp: "
                                "{hidden_units: [3]}, light_mlp: {hidden_units: [3]}, "
                                "feature_based_distillation: true}"),
                        (m_opts){0});
    CHECK_STR(m_findings(t), "");
    for (int i = 0; i < t->m->n_losses; i++) /* all but the booster's own */
        if (strstr(t->m->losses[i].name, "_booster")) t->m->losses[i].mean->loss = false;
    m_run k;
    m_ready(&k, t, CR_TRAIN, 1, ROWS);
    int light = 0, others = 0;
    for (int i = 0; i < t->m->graph.n; i++) {
        const cr_node *n = t->m->graph.nodes[i];
        if (n->cls != CR_PARAM) continue;
        bool mine = strncmp(n->name, "model.light_", 12) == 0;
        CHECK_INT(cr_plan_has_grad(k.plan, n), mine);
        light += mine;
        others += !mine;
    }
    CHECK_INT(light, 4);
    CHECK_INT(others, 6);
    CHECK(!cr_plan_has_grad(k.plan, t->m->tables[0]->uses[0].node));
    m_done(&k);
    m_close(t);
}

/* loss and metrics are of the tower of the row's own domain */
TEST(domains) {
    m_model *t = m_open(M_TASKS(M_GROUP("all", "a, x"),
                                "pepnet: {domain_input_name: domain, task_domain_num: 2, "
                                "task_towers: [{tower_name: p, label_name: y, " M_BCE "}]}"),
                        (m_opts){0});
    CHECK_STR(m_findings(t), "");
    CHECK_INT(t->m->domain_label, 2);
    CHECK_INT(t->m->n_domains, 2);
    cr_batch *b = m_batch(t, ROWS);
    m_run k;
    m_ready(&k, t, CR_TRAIN, 1, ROWS);
    CHECK_INT(m_step(&k, t, b, NULL), CR_OK);
    double want = 0, both = 0;
    for (int64_t r = 0; r < ROWS; r++) {
        double z[] = {m_out(&k, t, "logits_p_0", r), m_out(&k, t, "logits_p_1", r)};
        want += bce(z[b->labels[2][r] > 0], (double)b->labels[0][r]) / ROWS;
        both += bce(z[0], (double)b->labels[0][r]) / ROWS;
    }
    CHECK_NEAR(m_loss(&k, t, "binary_cross_entropy_p"), want, 0, 1e-5);
    CHECK(fabs(want - both) > 1e-4);
    m_done(&k);
    m_close(t);
}

/* p(click) p(conversion after it), learnt from all rows */
TEST(product_of_probabilities) {
    m_model *t = m_open(M_TASKS(M_GROUP("all", "a, x"),
                                "esmm: {ctr_tower: {tower_name: p, label_name: y, " M_BCE "}, "
                                "cvr_tower: {tower_name: q, label_name: z, " M_BCE "}}"),
                        (m_opts){0});
    cr_batch *b = m_batch(t, ROWS);
    m_run k;
    m_ready(&k, t, CR_TRAIN, 1, ROWS);
    CHECK_INT(m_step(&k, t, b, NULL), CR_OK);
    for (int64_t r = 0; r < ROWS; r++)
        CHECK_NEAR(m_out(&k, t, "probs_ctcvr", r),
                   m_out(&k, t, "probs_p", r) * m_out(&k, t, "probs_q", r), 1e-6, 0);
    m_done(&k);
    m_close(t);
}

/* ---- the rest of model_config ---- */

TEST(rows_without_a_group) {
    m_model *t = m_open(LR("losses: [{binary_cross_entropy: {}}]"), (m_opts){0});
    CHECK_INT(t->m->missing_group, -1);
    m_close(t);
    t = m_open(LR("losses: [{binary_cross_entropy: {}}], missing_id_is_zero: true"), (m_opts){0});
    CHECK_INT(t->m->missing_group, 0);
    CHECK_INT(t->m->domain_label, -1);
    m_close(t);
}

TEST(variational_dropout) {
    m_model *t =
        m_open("{variational_dropout: {regularization_lambda: 0.1}, feature_groups: [" M_GROUP(
                   "all", "a, b") "], dcn_v1: {cross: {cross_num: 1}, deep: {hidden_units: "
                                  "[2]}, final: {hidden_units: [2]}}, " M_BCE "}",
               (m_opts){0});
    CHECK_STR(m_findings(t), "");
    CHECK_STR(lines(t, "model.group"), "model.group_variational_dropouts.all.feature_p [2]\n");
    CHECK_STR(lines(t, "loss all"),
              "loss all_feature_p_loss of label -1, weight -1, K 0, in training only\n");
    m_close(t);
    /* a group that is built twice, with tables of its own each time, has one gate */
    t = m_open("{variational_dropout: {regularization_lambda: 0.1}, feature_groups: [" M_GROUP(
                   "all", "a, b") "], fm: {}, " M_BCE "}",
               (m_opts){0});
    CHECK_STR(m_findings(t), "");
    CHECK_INT(t->m->n_tables, 4);
    CHECK_STR(lines(t, "model.group"), "model.group_variational_dropouts.all.feature_p [2]\n");
    CHECK_STR(lines(t, "loss all"),
              "loss all_feature_p_loss of label -1, weight -1, K 0, in training only\n");
    m_close(t);
    /* one feature has nothing to choose among */
    t = m_open("{variational_dropout: {regularization_lambda: 0.1},\n feature_groups: [" M_GROUP(
                   "all",
                   "a") "], dcn_v1: {cross: {cross_num: 1}, deep: {hidden_units: [2]}, final: "
                        "{hidden_units: [2]}}, " M_BCE "}",
               (m_opts){0});
    CHECK_STR(m_findings(t),
              "1:37: warning: variational_dropout has no effect: no feature group that the model "
              "reads has several features; add features, or remove it\n");
    CHECK(t->m != NULL);
    m_close(t);
}

int main(int argc, char **argv) {
    static const t_case cases[] = {CASE(predictions_follow_the_loss),
                                   CASE(names_of_metrics_are_taken_once),
                                   CASE(what_metrics_look_at),
                                   CASE(values_by_hand),
                                   CASE(two_classes),
                                   CASE(weights_of_rows),
                                   CASE(scales),
                                   CASE(sample_weights),
                                   CASE(weights_of_tasks),
                                   CASE(the_light_net_does_not_teach),
                                   CASE(domains),
                                   CASE(product_of_probabilities),
                                   CASE(rows_without_a_group),
                                   CASE(variational_dropout)};
    cr_kern_init();
    return t_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
