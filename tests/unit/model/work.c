/*
 * work.c - a model's memory and runs: bytes, first values, batches with sequences, lengths that do
 * not agree, rows that are too many, tables that learn.
 */
#include "unit/model/model_test.h"

#include "conf_text.h"
#include "optim/list.h"

#define ROWS 9
#define DIN                                                                                        \
    M_MODEL(M_GROUP("u", "x, c, a") ", " M_SEQ("s", "b, hist__t, hist__b"),                        \
            "multi_tower_din: {towers: [{input: u}], din_towers: [{input: s, attn_mlp: "           \
            "{hidden_units: [3]}}], final: {hidden_units: [2]}}")
/* two pools of a sequence: of the first two steps, and of all of them */
#define CUT                                                                                        \
    "{feature_groups: [{group_name: all, feature_names: [a], sequence_groups: [{group_name: s, "   \
    "feature_names: [hist__t]}], sequence_encoders: [{pooling_encoder: {input: s, pooling_type: "  \
    "sum, max_seq_length: 2}}, {pooling_encoder: {input: s, pooling_type: sum}}]}], multi_tower: " \
    "{towers: [{input: all}], final: {hidden_units: [1], activation: ''}}, losses: [{l2_loss: "    \
    "{}}]}"
#define LR M_MODEL(M_GROUP("all", "a, x"), "logistic_regression: {}")

TEST(bytes) {
    m_model *t = m_open(M_MODEL(M_GROUP("all", "a, wide, x"),
                                "dcn_v1: {cross: {cross_num: 1}, deep: {hidden_units: [2]}, final: "
                                "{hidden_units: [3]}}"),
                        (m_opts){0});
    CHECK_STR(m_findings(t), "");
    int64_t tables, dense;
    cr_model_bytes(t->m, NULL, &tables, &dense);
    CHECK_INT(tables, 4 * (10 * 4 + 6 * 3));
    /* cross 8 + 8; deep 2 x 8 + 2; final 3 x 10 + 3; output 3 */
    CHECK_INT(dense, 4 * (16 + 18 + 33 + 3));
    /* adagrad keeps a number per weight, a table that is not trained none */
    cr_model_bytes(t->m, &cr_optim_adagrad, &tables, &dense);
    CHECK_INT(tables, 2 * 4 * (10 * 4 + 6 * 3));
    t->m->tables[1]->trainable = false;
    cr_model_bytes(t->m, &cr_optim_adagrad, &tables, &dense);
    CHECK_INT(tables, 4 * (2 * 10 * 4 + 6 * 3));
    m_close(t);
}

/* first values depend on the seed and on names, and on nothing else */
TEST(first_values) {
    float row[3][4], weight[3];
    for (int i = 0; i < 3; i++) {
        m_model *t =
            m_open(i == 1 ? M_MODEL(M_GROUP("all", "b, a, x"), "logistic_regression: {}") : LR,
                   (m_opts){0});
        CHECK_INT(cr_model_alloc(t->m, &t->o, NULL), CR_OK);
        cr_model_fill(t->m, i < 2 ? 5 : 6, NULL);
        const cr_model_table *a = t->m->tables[i == 1];
        CHECK_STR(a->short_name, "a_emb_wide");
        for (int r = 0; r < 4; r++)
            row[i][r] = cr_table_row(&a->table, r)[0];
        for (int n = 0; n < t->m->graph.n; n++)
            if (t->m->graph.nodes[n]->cls == CR_PARAM &&
                strstr(t->m->graph.nodes[n]->name, "weight"))
                weight[i] = t->m->graph.nodes[n]->w[0];
        m_close(t);
    }
    CHECK(memcmp(row[0], row[1], sizeof(row[0])) == 0 && weight[0] == weight[1]);
    CHECK(memcmp(row[0], row[2], sizeof(row[0])) != 0 && weight[0] != weight[2]);
    CHECK(row[0][0] != row[0][1]);
    for (int r = 0; r < 4; r++)
        CHECK(fabsf(row[0][r]) <= sqrtf(0.1f));
}

TEST(no_memory) {
    cr_err err;
    int failed = 0;
    for (uint64_t n = 1; n < 20; n++) {
        m_model *t = m_open(LR, (m_opts){0});
        cr_alloc_fail_after(n);
        cr_code code = cr_model_alloc(t->m, &t->o, &err);
        cr_alloc_fail_after(0);
        m_close(t);
        if (code == CR_OK) break;
        CHECK_INT(code, CR_ENOMEM);
        failed++;
    }
    CHECK_INT(failed, 2); /* the table, the dense parameters */
}

/* ---- sequences ---- */

TEST(axes_of_a_batch) {
    m_model *t = m_open(CUT, (m_opts){0});
    CHECK_STR(m_findings(t), "");
    CHECK_INT(t->m->n_axes, 2);
    cr_batch *b = m_batch(t, ROWS);
    cr_model_work *w;
    CHECK_INT(cr_model_work_new(&w, t->m, NULL, NULL, NULL), CR_OK);
    const int32_t *const *axes;
    CHECK_INT(cr_model_axes(w, b, &axes, NULL), CR_OK);
    int cut = t->m->axes[0].most == 2 ? 0 : 1;
    CHECK_INT(t->m->axes[cut].most, 2);
    CHECK_INT(t->m->axes[1 - cut].most, 0);
    CHECK(axes[1 - cut] == b->dense_seq[0].steps); /* nothing is copied */
    for (int64_t r = 0; r < ROWS; r++) {
        int32_t len = axes[cut][r + 1] - axes[cut][r], all = m_steps(r);
        CHECK_INT(len, all < 2 ? all : 2);
    }
    CHECK_INT(axes[cut][0], 0);
    /* a larger batch, then a smaller one again */
    b = m_batch(t, 10 * ROWS);
    CHECK_INT(cr_model_axes(w, b, &axes, NULL), CR_OK);
    CHECK(axes[cut][10 * ROWS] > axes[cut][ROWS]);
    uint64_t before = cr_alloc_count();
    b->n_rows = 2;
    CHECK_INT(cr_model_axes(w, b, &axes, NULL), CR_OK);
    CHECK_INT(cr_alloc_count() - before, 0);
    cr_model_work_free(w);
    cr_model_work_free(NULL);
    m_close(t);
}

TEST(only_the_first_steps_are_read) {
    m_model *t = m_open(CUT, (m_opts){0});
    CHECK_STR(m_findings(t), "");
    cr_batch *b = m_batch(t, ROWS);
    m_run k;
    m_ready(&k, t, CR_EVAL, 1, ROWS);
    /* y = the sum of the first two steps plus a hundred times the sum of all */
    float *w = NULL;
    for (int i = 0; i < t->m->graph.n; i++) {
        cr_node *n = t->m->graph.nodes[i];
        if (n->cls != CR_PARAM || n->op) continue;
        if (n->width == 6) {
            memset(n->w, 0, 6 * sizeof(float));
            w = n->w;
        } else
            n->w[0] = strstr(n->name, "weight") ? 1 : 0;
    }
    CHECK(w != NULL);
    if (!w) return;
    w[4] = 1;
    w[5] = 100;
    CHECK_INT(m_step(&k, t, b, NULL), CR_OK);
    const cr_dense_seq *s = &b->dense_seq[0];
    for (int64_t r = 0; r < ROWS; r++) {
        double want = 0;
        for (int32_t p = s->steps[r]; p < s->steps[r + 1]; p++)
            want += (double)s->v[p] * (p < s->steps[r] + 2 ? 101 : 100);
        CHECK_NEAR(m_out(&k, t, "y", r), want, 1e-4, 1e-5);
    }
    m_done(&k);
    m_close(t);
}

TEST(sequences_of_other_lengths) {
    m_model *t =
        m_open(M_MODEL(M_GROUP("u", "a") ", " M_SEQ("s", "b, hist__b, other__c"),
                       "multi_tower_din: {towers: [{input: u}], din_towers: [{input: s, attn_mlp: "
                       "{hidden_units: [3]}}], final: {hidden_units: [2]}}"),
               (m_opts){0});
    CHECK_STR(m_findings(t), "");
    cr_batch *b = m_batch(t, ROWS);
    m_run k;
    cr_err err;
    m_ready(&k, t, CR_EVAL, 1, ROWS);
    CHECK_INT(m_step(&k, t, b, &err), CR_OK);
    int slot = cr_features_find(t->fs, "other__c")->slot;
    int32_t *other = CR_NEW_N(&t->arena, int32_t, ROWS + 1);
    memcpy(other, b->sparse[slot].steps, (ROWS + 1) * sizeof(int32_t));
    for (int r = 6; r <= ROWS; r++)
        other[r]--; /* row 5 has a step less */
    b->sparse[slot].steps = other;
    CHECK_INT(m_step(&k, t, b, &err), CR_EDATA);
    CHECK_STR(err.msg,
              "in row 5 of a batch the sequence 'hist__b' has 1 steps and 'other__c' has 0; "
              "sequences of one group must be equally long: correct the data, or give each "
              "a group of its own");
    m_done(&k);
    m_close(t);
}

TEST(too_many_rows) {
    m_model *t = m_open(DIN, (m_opts){0});
    cr_batch *b = m_batch(t, ROWS + 1);
    m_run k;
    cr_err err;
    m_ready(&k, t, CR_EVAL, 1, ROWS);
    CHECK_INT(m_step(&k, t, b, &err), CR_EUSAGE);
    CHECK_STR(err.msg,
              "the batch has 10 rows, but the model was prepared for at most 9; give fewer "
              "rows at a time");
    b->n_rows = b->global_rows = ROWS;
    CHECK_INT(m_step(&k, t, b, &err), CR_OK);
    m_done(&k);
    m_close(t);
}

/* ---- tables learn ---- */

/* the loss after a change of one weight of a table */
static double loss_with(m_run *k, m_model *t, cr_batch *b, float *w, float change) {
    float was = *w;
    *w += change;
    CHECK_INT(m_step(k, t, b, NULL), CR_OK);
    *w = was;
    return m_loss(k, t, "binary_cross_entropy");
}

/* a step of plain gradient descent moves each weight by the slope of the loss; rows that no row of
 * the batch has stay as they are; sequences too */
TEST(one_step_of_learning) {
    m_model *t = m_open(DIN, (m_opts){.optim = &cr_optim_row_sgd});
    CHECK_STR(m_findings(t), "");
    t->o.optim_conf = conf_text(&cr_optim_row_sgd_msg, "lr: 0.5");
    cr_batch *b = m_batch(t, ROWS);
    m_run k;
    m_ready(&k, t, CR_TRAIN, 2, ROWS);
    cr_updater *u = cr_model_updater(t->m, k.w->w, NULL);
    CHECK_INT(t->m->n_tables, 4);
    static float was[4][20], slope[4][20];
    for (int i = 0; i < 4; i++) {
        CHECK_INT(t->m->tables[i]->updater, i);
        for (int64_t r = 0; r < t->m->tables[i]->n_rows; r++) {
            float *w = cr_table_row(&t->m->tables[i]->table, r) + 1;
            was[i][r] = *w;
            slope[i][r] =
                (float)((loss_with(&k, t, b, w, 1e-2f) - loss_with(&k, t, b, w, -1e-2f)) / 2e-2);
        }
    }
    CHECK_INT(m_step(&k, t, b, NULL), CR_OK);
    double before = m_loss(&k, t, "binary_cross_entropy");
    cr_model_seq_grads(k.w, u);
    cr_updater_group(u, b, k.run.axes);
    cr_optim_step step = {.lr = 0.5, .t = 1};
    cr_updater_apply(u, &step);
    for (int i = 0; i < 4; i++) {
        const cr_model_table *e = t->m->tables[i];
        const cr_jagged *ids = &b->sparse[e->owner->slot];
        int moved = 0, still = 0;
        for (int64_t r = 0; r < e->n_rows; r++) {
            bool in_batch = false;
            for (int64_t q = 0; q < ids->n_ids; q++)
                in_batch = in_batch || ids->ids[q] == r;
            float now = cr_table_row(&e->table, r)[1];
            if (in_batch)
                CHECK_NEAR(was[i][r] - now, 0.5 * (double)slope[i][r], 1e-5, 0.02);
            else
                CHECK(now == was[i][r]);
            moved += now != was[i][r];
            still += !in_batch;
        }
        if (moved == 0) fprintf(stderr, "%s\n", e->short_name);
        CHECK(moved > 0);
        CHECK(still > 0 || e->n_rows < 10);
    }
    CHECK_INT(m_step(&k, t, b, NULL), CR_OK);
    CHECK(m_loss(&k, t, "binary_cross_entropy") < before);
    cr_updater_free(u);
    m_done(&k);
    m_close(t);
}

/* a group that is part of another reads its own columns of it */
TEST(parts_of_groups) {
    m_model *t = m_open("{feature_groups: [" M_GROUP("all", "a, x, b, c") ", " M_GROUP(
                            "bc", "b, c") "], multi_tower: {towers: [{input: all}, {input: bc}], "
                                          "final: {hidden_units: [1], activation: ''}}, losses: "
                                          "[{l2_loss: {}}]}",
                        (m_opts){0});
    CHECK_STR(m_findings(t), "");
    CHECK_INT(t->m->tables[1]->n_uses, 1); /* it is a slice */
    cr_batch *b = m_batch(t, ROWS);
    m_run k;
    m_ready(&k, t, CR_EVAL, 1, ROWS);
    for (int i = 0; i < t->m->graph.n; i++) {
        cr_node *n = t->m->graph.nodes[i];
        if (n->cls != CR_PARAM || n->op) continue;
        bool weight = strstr(n->name, "weight") != NULL;
        for (int64_t j = 0; j < n->width; j++) /* the columns of bc count, those of all do not */
            n->w[j] = weight && (n->width == 1 || j >= 13) ? 1 : 0;
    }
    CHECK_INT(m_step(&k, t, b, NULL), CR_OK);
    for (int64_t r = 0; r < ROWS; r++) {
        double want = 0;
        for (int i = 1; i < 3; i++) {
            const cr_model_table *e = t->m->tables[i];
            const float *row = cr_table_row(&e->table, b->sparse[e->owner->slot].ids[r]);
            for (int j = 0; j < 4; j++)
                want += (double)row[j];
        }
        CHECK_NEAR(m_out(&k, t, "y", r), want, 1e-6, 1e-5);
    }
    m_done(&k);
    m_close(t);
}

int main(int argc, char **argv) {
    static const t_case cases[] = {CASE(bytes),
                                   CASE(first_values),
                                   CASE(no_memory),
                                   CASE(axes_of_a_batch),
                                   CASE(only_the_first_steps_are_read),
                                   CASE(sequences_of_other_lengths),
                                   CASE(too_many_rows),
                                   CASE(one_step_of_learning),
                                   CASE(parts_of_groups)};
    cr_kern_init();
    return t_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
