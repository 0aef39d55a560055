/*
 * types.c - every model type: what it builds (types.txt has tables, parameters with their shapes,
 * outputs, losses and metrics), that the model without labels is the same one, that every parameter
 * and table learns, and that losses and outputs of a step belong together.
 */
#include "unit/model/model_test.h"

#include "base/file.h"
#include "model/list.h"

static const struct {
    const char *name, *config;
} types[] = {
    {"autoint", M_MODEL(M_GROUP("all", "a, b, c"),
                        "autoint: {attention_layers: [{num_heads: 2, head_dim: 3}], deep: "
                        "{hidden_units: [6]}, final: {hidden_units: [5]}}")},
    {"backbone",
     M_MODEL(M_GROUP("all", "a, b"), "backbone: {blocks: [{name: deep, inputs: "
                                     "[{feature_group_name: all}], mlp: {hidden_units: [6]}}]}")},
    {"dbmtl",
     M_TASKS(
         M_GROUP("all", "a, x"),
         "dbmtl: {bottom_mlp: {hidden_units: [6]}, expert_mlp: {hidden_units: [4]}, num_expert: 2, "
         "task_towers: [{tower_name: p, label_name: y, mlp: {hidden_units: [3]}, " M_BCE
         "}, {tower_name: q, label_name: z, relation_tower_names: [p], relation_mlp: "
         "{hidden_units: [2]}, " M_BCE "}]}")},
    {"dcn_v1",
     M_MODEL(
         M_GROUP("all", "a, x"),
         "dcn_v1: {cross: {cross_num: 2}, deep: {hidden_units: [6]}, final: {hidden_units: [3]}}")},
    {"dcn_v2", M_MODEL(M_GROUP("all", "a, x"), "dcn_v2: {cross: {cross_num: 1, low_rank: 2}, deep: "
                                               "{hidden_units: [6]}, final: {hidden_units: [3]}}")},
    {"deepfm",
     M_MODEL(
         M_WIDE("a, b") ", " M_GROUP("fm", "a, b") ", " M_GROUP("deep", "a, b, x"),
         "deepfm: {deep: {hidden_units: [6]}, final: {hidden_units: [3]}, wide_embedding_dim: 2}")},
    {"dlrm", M_MODEL(M_GROUP("dense", "x, x2") ", " M_GROUP("sparse", "a, b"),
                     "dlrm: {dense_mlp: {hidden_units: [4]}, final: {hidden_units: [3]}}")},
    {"esmm",
     M_TASKS(
         M_GROUP("all", "a, x"),
         "esmm: {bottom_mlp: {hidden_units: [4]}, ctr_tower: {tower_name: p, label_name: y, " M_BCE
         "}, cvr_tower: {tower_name: q, label_name: z, mlp: {hidden_units: [2]}, " M_BCE "}}")},
    {"ffm", M_MODEL(M_GROUP("all", "a, b, x"), "ffm: {embedding_dim: 2}")},
    {"fm", M_MODEL(M_GROUP("all", "a, b, x"), "fm: {embedding_dim: 2}")},
    {"logistic_regression", M_MODEL(M_GROUP("all", "a, b, x"), "logistic_regression: {}")},
    {"mask_net", M_MODEL(M_GROUP("all", "a, x"),
                         "mask_net: {mask_net_module: {n_mask_blocks: 1, mask_block: "
                         "{reduction_ratio: 2, hidden_dim: 3}, top_mlp: {hidden_units: [2]}}}")},
    {"mmoe", M_TASKS(M_GROUP("all", "a, x"),
                     "mmoe: {expert_mlp: {hidden_units: [4]}, num_expert: 2, task_towers: "
                     "[{tower_name: p, label_name: y, mlp: {hidden_units: [3]}, " M_BCE
                     "}, {tower_name: q, label_name: z, " M_BCE "}]}")},
    {"multi_tower", M_MODEL(M_GROUP("u", "a") ", " M_GROUP("i", "b, x"),
                            "multi_tower: {towers: [{input: u, mlp: {hidden_units: [3]}}, {input: "
                            "i}], final: {hidden_units: [2]}}")},
    {"multi_tower_din",
     M_MODEL(M_GROUP("u", "a") ", " M_SEQ("s", "b, hist__b, hist__t"),
             "multi_tower_din: {towers: [{input: u, mlp: {hidden_units: [3]}}], din_towers: "
             "[{input: s, attn_mlp: {hidden_units: [4]}}], final: {hidden_units: [2]}}")},
    {"pepnet",
     M_TASKS(M_GROUP("all", "a, x") ", " M_GROUP("domain", "c") ", " M_GROUP("uia", "b"),
             "pepnet: {ppnet_hidden_units: [3], domain_input_name: domain, task_domain_num: 2, "
             "task_towers: [{tower_name: p, label_name: y, " M_BCE "}]}")},
    {"ple", M_TASKS(M_GROUP("all", "a, x"),
                    "ple: {extraction_networks: [{network_name: n, expert_num_per_task: 1, "
                    "share_num: 1, task_expert_net: {hidden_units: [4]}, share_expert_net: "
                    "{hidden_units: [4]}}], task_towers: [{tower_name: p, label_name: y, " M_BCE
                    "}, {tower_name: q, label_name: z, " M_BCE "}]}")},
    {"rocket_launching",
     M_MODEL(M_GROUP("all", "a, x"),
             "rocket_launching: {share_mlp: {hidden_units: [6]}, booster_mlp: {hidden_units: [5, "
             "3]}, light_mlp: {hidden_units: [3]}, feature_based_distillation: true}")},
    {"simple_multi_task",
     M_TASKS(M_GROUP("all", "a, x"),
             "simple_multi_task: {task_towers: [{tower_name: p, label_name: y, mlp: {hidden_units: "
             "[3]}, " M_BCE "}, {tower_name: q, label_name: z, num_class: 3, losses: "
             "[{softmax_cross_entropy: {}}], metrics: [{accuracy: {}}]}]}")},
    {"wide_and_deep", M_MODEL(M_WIDE("a, b") ", " M_GROUP("deep", "a, b, x"),
                              "wide_and_deep: {deep: {hidden_units: [6]}}")},
    {"wukong", M_MODEL(M_GROUP("dense", "x") ", " M_GROUP("sparse", "a, b, c"),
                       "wukong: {dense_mlp: {hidden_units: [4]}, wukong_layers: [{lcb_feature_num: "
                       "2, fmb_feature_num: 3, compressed_feature_num: 2, feature_num_mlp: "
                       "{hidden_units: [5]}}], final: {hidden_units: [3]}}")},
    {"xdeepfm", M_MODEL(M_WIDE("a, b") ", " M_GROUP("deep", "a, x"),
                        "xdeepfm: {cin: {cin_layer_size: [3]}, deep: {hidden_units: [4]}, final: "
                        "{hidden_units: [2]}, wide_embedding_dim: 2}")},
};
#define N_TYPES ((int)(sizeof(types) / sizeof(types[0])))
#define ROWS    23

/* the part of types.txt below [name] */
static cr_buf all_texts;
static const char *expected(const char *name) {
    static char text[8192];
    char head[80];
    snprintf(head, sizeof(head), "\n[%s]\n", name);
    const char *from = strstr(all_texts.data, head);
    if (!from) return "(there is no such part in types.txt)";
    from += strlen(head);
    const char *end = strstr(from, "\n\n");
    snprintf(text, sizeof(text), "%.*s", (int)(end ? end + 1 - from : (long)strlen(from)), from);
    return text;
}

/* a model that is added needs a line above */
TEST(all_are_here) {
    for (const cr_oneof_member *m = cr_model_family.members; m->key; m++) {
        int here = 0;
        for (int i = 0; i < N_TYPES; i++)
            here += strcmp(types[i].name, m->key) == 0;
        bool builds = strcmp(m->key, "plugin") != 0 && /* tests/unit/run/own_models.c */
                      strcmp(m->key, "multi_tower_din_trt") != 0;
        bool later = true;
#define IS_MODEL(key_) later = later && strcmp(m->key, #key_) != 0;
        CR_MODELS(IS_MODEL)
        if (here != (builds && !later)) fprintf(stderr, "%s\n", m->key);
        CHECK_INT(here, builds && !later);
    }
}

TEST(what_they_build) {
    for (int i = 0; i < N_TYPES; i++) {
        m_model *t = m_open(types[i].config, (m_opts){0});
        CHECK_STR(m_findings(t), "");
        const char *got = m_text(t);
        if (strcmp(got, expected(types[i].name)) != 0) fprintf(stderr, "%s:\n", types[i].name);
        CHECK_STR(got, expected(types[i].name));
        m_close(t);
    }
}

/* lines of text that do not begin with one of the words for training */
static const char *served(m_model *t, const char *text) {
    char *out = cr_arena_printf(&t->arena, "%s", text), *to = out;
    for (const char *line = text; *line;) {
        const char *end = strchr(line, '\n') + 1;
        if (strncmp(line, "loss ", 5) != 0 && strncmp(line, "metric ", 7) != 0) {
            memmove(to, line, (size_t)(end - line));
            to += end - line;
        }
        line = end;
    }
    *to = 0;
    return out;
}

TEST(without_labels) {
    for (int i = 0; i < N_TYPES; i++) {
        m_model *t = m_open(types[i].config, (m_opts){0}),
                *u = m_open(types[i].config, (m_opts){.no_labels = true});
        bool rocket = strcmp(types[i].name, "rocket_launching") == 0; /* its teacher is left out */
        CHECK(u->m && u->m->n_losses == 0 && u->m->n_metrics == 0);
        CHECK_STR(m_text(u),
                  rocket ? expected("rocket_launching without labels") : served(t, m_text(t)));
        m_close(t);
        m_close(u);
    }
}

/* a parameter that no gradient reaches is a branch that was forgotten */
TEST(everything_learns) {
    for (int i = 0; i < N_TYPES; i++) {
        m_model *t = m_open(types[i].config, (m_opts){0});
        m_run k;
        m_ready(&k, t, CR_TRAIN, 4, ROWS);
        int n_params = 0;
        for (int n = 0; n < t->m->graph.n; n++) {
            const cr_node *p = t->m->graph.nodes[n];
            if (p->cls != CR_PARAM || !p->trainable) continue;
            n_params++;
            if (!cr_plan_has_grad(k.plan, p))
                fprintf(stderr, "%s: %s gets no gradient\n", types[i].name, p->name);
            CHECK(cr_plan_has_grad(k.plan, p));
        }
        CHECK(n_params > 0);
        for (int n = 0; n < t->m->n_tables; n++)
            for (int u = 0; u < t->m->tables[n]->n_uses; u++)
                CHECK(cr_plan_has_grad(k.plan, t->m->tables[n]->uses[u].node));
        m_done(&k);
        m_close(t);
    }
}

/* outputs are logits and their probabilities, and a loss is that of the probabilities */
TEST(losses_belong_to_outputs) {
    int n_losses = 0;
    for (int i = 0; i < N_TYPES; i++) {
        m_model *t = m_open(types[i].config, (m_opts){0});
        cr_batch *b = m_batch(t, ROWS);
        m_run k, e;
        cr_err err;
        m_ready(&k, t, CR_TRAIN, 4, ROWS);
        m_ready(&e, t, CR_EVAL, 1, ROWS);
        CHECK_INT(m_step(&k, t, b, &err), CR_OK);
        CHECK_INT(m_step(&e, t, b, &err), CR_OK);
        for (int n = 0; n < t->m->n_losses; n++) {
            const cr_model_loss *l = &t->m->losses[n];
            CHECK(isfinite(cr_work_whole(k.w->w, l->mean, 0)));
            if (strncmp(l->name, "binary_cross_entropy", 20) != 0 || l->train_only) continue;
            const char *suffix = l->name + 20;
            if (strcmp(types[i].name, "pepnet") == 0) continue; /* of the row's own domain */
            double want = 0;
            char logits[40], probs[40];
            snprintf(logits, sizeof(logits), "logits%s", suffix);
            snprintf(probs, sizeof(probs), "probs%s", suffix);
            for (int64_t r = 0; r < ROWS; r++) {
                double p = m_out(&k, t, probs, r), z = m_out(&k, t, logits, r);
                CHECK_NEAR(p, 1 / (1 + exp(-z)), 1e-6, 0);
                CHECK_NEAR(m_out(&e, t, probs, r), p, 1e-5, 0); /* no dropout, no batch norm */
                want -= (b->labels[l->label][r] > 0 ? log(p) : log(1 - p)) / ROWS;
            }
            CHECK_NEAR(cr_work_whole(k.w->w, l->mean, 0), want, 0, 1e-4);
            n_losses++;
        }
        m_done(&k);
        m_done(&e);
        m_close(t);
    }
    CHECK_INT(n_losses, 25);
}

int main(int argc, char **argv) {
    static const t_case cases[] = {CASE(all_are_here), CASE(what_they_build), CASE(without_labels),
                                   CASE(everything_learns), CASE(losses_belong_to_outputs)};
    char path[1024];
    const char *top = getenv("CRANK_SOURCE_ROOT");
    snprintf(path, sizeof(path), "%s/tests/unit/model/types.txt", top ? top : ".");
    cr_buf_init(&all_texts);
    if (cr_file_read(path, 0, &all_texts, NULL) != CR_OK) {
        fprintf(stderr, "cannot read %s\n", path);
        return 1;
    }
    cr_kern_init();
    int rc = t_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
    cr_buf_clear(&all_texts);
    return rc;
}
