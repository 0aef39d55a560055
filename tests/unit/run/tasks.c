/*
 * tasks.c - what crank promises, for every model with several tasks: the same bytes for any number
 * of threads and through a pause, the same scores from training, eval and predict under the names
 * that TorchEasyRec gives them, and a score near the best that the data allows. Also: mistakes in
 * their configs.
 */
#include "unit/run/run_test.h"

#define USER                                                                                       \
    "user_id,cms_segid,cms_group_id,final_gender_code,age_level,pvalue_level,shopping_level,"      \
    "occupation,new_user_class_level,user_cates"
#define ITEM                  "adgroup_id,cate_id,campaign_id,customer,brand,price"
#define GROUP(name, features) "{group_name: " name ", feature_names: [" features "]}"
#define ALL                   GROUP("all", USER "," ITEM ",pid")
#define BCE                   "losses: [{binary_cross_entropy: {}}], metrics: [{auc: {}}]"
#define TOWER(name, label, more)                                                                   \
    "{tower_name: " name ", label_name: " label ", mlp: {hidden_units: [16]}, " BCE more "}"
#define CTR            TOWER("ctr", "clk", "")
#define CVR            TOWER("cvr", "buy", "")
#define TOWERS         "task_towers: [" CTR "," CVR "]"
#define HIDDEN(units)  "{hidden_units: [" units "], dropout_ratio: [0.1]}"
#define MODEL(g, text) "model_config={feature_groups: [" g "], " text "}"
#define EXPERTS(name, own, shared, units)                                                          \
    "{network_name: " name ", expert_num_per_task: " own ", share_num: " shared                    \
    ", task_expert_net: " units ", share_expert_net: " units "}"
#define RELATED(more)                                                                              \
    "task_towers: [" CTR "," TOWER("cvr", "buy",                                                   \
                                   ", relation_tower_names: [ctr], relation_mlp: {hidden_units: "  \
                                   "[16]}" more) "]"

static const struct a_model {
    const char *name, *config, *labels;
    const char *header; /* of predictions */
    /* metrics of evaluation, and what they are measured against */
    const char *first, *second, *after;
    double slack; /* of the second */
} models[] = {
    {"simple_multi_task",
     MODEL(ALL, "simple_multi_task: {bottom_mlp: " HIDDEN("64") ", " TOWERS "}"), "clk,buy",
     "logits_ctr,logits_cvr,probs_ctr,probs_cvr", "auc_ctr", "auc_cvr", NULL, 0.025},
    {"mmoe",
     MODEL(ALL, "mmoe: {expert_mlp: " HIDDEN("32") ", gate_mlp: {hidden_units: [8]}, " TOWERS "}"),
     "clk,buy", "logits_ctr,logits_cvr,probs_ctr,probs_cvr", "auc_ctr", "auc_cvr", NULL, 0.025},
    {"backbone",
     MODEL(
         ALL,
         "backbone: {blocks: [{name: experts, inputs: [{feature_group_name: all}], mmoe: "
         "{num_task: 2, expert_mlp: " HIDDEN(
             "32") ", gate_mlp: {hidden_units: [8]}}}], "
                   "task_towers: [" TOWER(
                       "ctr", "clk",
                       ", inputs: [{block_name: experts, output: 0}]") "," TOWER("cvr", "buy",
                                                                                 ", inputs: "
                                                                                 "[{block_name: "
                                                                                 "experts, output: "
                                                                                 "1}]") "]}"),
     "clk,buy", "logits_ctr,logits_cvr,probs_ctr,probs_cvr", "auc_ctr", "auc_cvr", NULL, 0.025},
    {"mmoe_pareto",
     MODEL(ALL, "mmoe: {expert_mlp: {hidden_units: [32], use_bn: true}, " TOWERS
                "}, use_pareto_loss_weight: true"),
     "clk,buy", "logits_ctr,logits_cvr,probs_ctr,probs_cvr", "auc_ctr", "auc_cvr", NULL, 0.05},
    {"ple",
     MODEL(ALL, "ple: {extraction_networks: [" EXPERTS("a", "1", "2", HIDDEN("32")) "," EXPERTS(
                    "b", "1", "1", HIDDEN("16")) "], " TOWERS "}"),
     "clk,buy", "logits_ctr,logits_cvr,probs_ctr,probs_cvr", "auc_ctr", "auc_cvr", NULL, 0.025},
    {"dbmtl",
     MODEL(ALL, "dbmtl: {mask_net: {n_mask_blocks: 1, mask_block: {reduction_ratio: 0.1, "
                "hidden_dim: 32}}, bottom_mlp: " HIDDEN("32") ", expert_mlp: " HIDDEN(
                    "16") ", num_expert: 2, " RELATED("") "}"),
     "clk,buy", "logits_ctr,logits_cvr,probs_ctr,probs_cvr", "auc_ctr", "auc_cvr", NULL, 0.025},
    {"esmm",
     MODEL(ALL, "esmm: {bottom_mlp: " HIDDEN("64") ", ctr_tower: " CTR ", cvr_tower: " CVR "}"),
     "clk,buy", "logits_ctcvr,logits_ctr,logits_cvr,probs_ctcvr,probs_ctr,probs_cvr", "auc_ctr",
     "auc_ctcvr", "auc_cvr", 0.025},
    {"pepnet",
     MODEL(ALL "," GROUP("domain", "pid") "," GROUP("uia", "user_id,adgroup_id"),
           "pepnet: {epnet_hidden_unit: 16, ppnet_hidden_units: [32,16], ppnet_dropout_ratio: "
           "[0.1], " TOWERS "}"),
     "clk,buy", "logits_ctr,logits_cvr,probs_ctr,probs_cvr", "auc_ctr", "auc_cvr", NULL, 0.025},
    {"pepnet_domains",
     MODEL(ALL "," GROUP("place", "pid"),
           "pepnet: {epnet_hidden_unit: 16, domain_group_name: place, domain_input_name: "
           "shopping_level, task_domain_num: "
           "3, " TOWERS "}"),
     "clk,buy,shopping_level",
     "logits_ctr_0,logits_ctr_1,logits_ctr_2,logits_cvr_0,logits_cvr_1,logits_cvr_2,probs_ctr_0,"
     "probs_ctr_1,probs_ctr_2,probs_cvr_0,probs_cvr_1,probs_cvr_2",
     "auc_ctr", "auc_cvr", NULL, 0.025},
    {"rocket_launching",
     MODEL(ALL, "rocket_launching: {share_mlp: " HIDDEN("64") ", booster_mlp: " HIDDEN(
                    "32,16") ", light_mlp: {hidden_units: [16]}, feature_based_distillation: "
                             "true}, " BCE),
     "clk", "logits_light,probs_light", "auc_light", NULL, NULL, 0.01},
};
#define N_MODELS (int)(sizeof(models) / sizeof(models[0]))

typedef struct setting {
    const char *v[8];
    int n;
    char labels[128];
} setting;

static void set_up(setting *s, const struct a_model *m, const char *batch) {
    snprintf(s->labels, sizeof(s->labels), "data_config.label_fields=[%s]", m->labels);
    s->n = 0;
    s->v[s->n++] = m->config;
    s->v[s->n++] = s->labels;
    s->v[s->n++] = batch;
}

static void train(const char *data, const char *dir, int threads, bool go_on, const setting *s,
                  cr_train_result *r) {
    char config[600];
    snprintf(config, sizeof(config), "%s/pipeline.yaml", data);
    cr_diag diag;
    cr_diag_init(&diag);
    cr_train_opts o = {.config = {.path = config, .model_dir = dir, .set = s->v, .n_set = s->n},
                       .threads = threads,
                       .continue_train = go_on};
    CHECK_INT(train_as_asked(&o, r, &diag), 0);
    show(&diag);
    cr_diag_clear(&diag);
}

static double result_of(const cr_eval_result *r, const char *name) {
    for (int i = 0; i < r->n; i++)
        if (strcmp(r->v[i].name, name) == 0) return r->v[i].value;
    return NAN;
}

TEST(threads_and_pauses_do_not_matter) {
    for (int i = 0; i < N_MODELS; i++) {
        const struct a_model *m = &models[i];
        setting s;
        set_up(&s, m, "data_config.batch_size=250");
        char one[400], three[400], parts[400], first[1088];
        snprintf(one, sizeof(one), "%s/1_%s", root, m->name);
        snprintf(three, sizeof(three), "%s/3_%s", root, m->name);
        snprintf(parts, sizeof(parts), "%s/p_%s", root, m->name);
        cr_train_result r;
        s.v[s.n++] = "train_config.num_epochs=1";
        train(in_root("a"), one, 1, false, &s, &r);
        CHECK_INT(r.steps, 24);
        snprintf(first, sizeof(first), "%s", r.checkpoint);
        cr_arena_clear(&r.arena);
        train(in_root("a"), three, 3, false, &s, &r);
        same_weights(first, r.checkpoint);
        cr_arena_clear(&r.arena);
        s.v[s.n - 1] = "train_config.num_steps=10";
        s.v[s.n++] = "train_config.num_epochs=0";
        train(in_root("a"), parts, 2, false, &s, &r);
        CHECK_INT(r.steps, 10);
        cr_arena_clear(&r.arena);
        s.v[s.n - 2] = "train_config.num_epochs=1";
        s.n--;
        train(in_root("a"), parts, 1, true, &s, &r);
        CHECK_INT(r.steps, 14);
        same_weights(first, r.checkpoint);
        cr_arena_clear(&r.arena);
    }
}

/* the numbers of a line; returns how many */
static int numbers_of(const char *line, double *v, int max) {
    int k = 0;
    for (const char *at = line; k < max;) {
        char *end;
        v[k++] = strtod(at, &end);
        if (*end != ',') break;
        at = end + 1;
    }
    return k;
}

/* sum of the losses of a column of logits against a column of labels, of rows where `where` is 1 */
static double loss_of(const cr_buf *rows, int label, int logit, int where, int64_t *n) {
    double sum = 0;
    *n = 0;
    const char *p = strchr(rows->data, '\n');
    for (p = p ? p + 1 : NULL; p && *p; p = strchr(p, '\n') + 1) {
        double v[24];
        CHECK(numbers_of(p, v, 24) > logit);
        if (where >= 0 && v[where] != 1) continue;
        double z = v[logit];
        sum += log1p(exp(-fabs(z))) + (z > 0 ? z : 0) - v[label] * z;
        ++*n;
    }
    return sum;
}

TEST(one_score_everywhere) {
    for (int i = 0; i < N_MODELS; i++) {
        const struct a_model *m = &models[i];
        setting s;
        set_up(&s, m, "data_config.batch_size=250");
        s.v[s.n++] = "train_config.num_epochs=1";
        char dir[400], config[500], export[500], out[2][500];
        snprintf(dir, sizeof(dir), "%s/s_%s", root, m->name);
        snprintf(config, sizeof(config), "%s/pipeline.config", dir);
        snprintf(export, sizeof(export), "%s/export", dir);
        cr_train_result r;
        train(in_root("a"), dir, 2, false, &s, &r);
        cr_diag diag;
        cr_diag_init(&diag);
        cr_eval_opts eo = {.config = {.path = config}, .threads = 1};
        cr_eval_result ev;
        cr_arena names;
        cr_arena_init(&names, 0);
        char ckpt[1088];
        CHECK_INT(cr_eval(&eo, &ev, &names, ckpt, &diag), 0);
        CHECK(ev.n >= 2 && ev.n == r.eval.n);
        for (int k = 0; k < ev.n; k++) {
            CHECK(ev.v[k].value == r.eval.v[k].value); /* to the bit */
            CHECK(isfinite(ev.v[k].value) && !strstr(ev.v[k].name, "booster"));
        }
        cr_export_opts xo = {.config = {.path = config}, .export_dir = export, .threads = 2};
        CHECK_INT(cr_export(&xo, ckpt, &diag), 0);
        cr_buf text[2];
        for (int k = 0; k < 2; k++) {
            snprintf(out[k], sizeof(out[k]), "%s/out%d", dir, k);
            cr_predict_opts po = {.predict_input_path = in_root("a/eval/*.csv"),
                                  .predict_output_path = out[k],
                                  .reserved_columns = "clk,buy",
                                  .threads = 1 + k,
                                  .batch_size = k ? 77 : 1000};
            if (k)
                po.scripted_model_path = export;
            else
                po.config.path = config;
            cr_predict_result pr;
            CHECK_INT(cr_predict(&po, &pr, &diag), 0);
            CHECK_INT(pr.rows, 1000);
            char file[1100];
            snprintf(file, sizeof(file), "%s/part-0.csv", out[k]);
            cr_buf_init(&text[k]);
            CHECK_INT(cr_file_read(file, 0, &text[k], NULL), 0);
        }
        show(&diag);
        CHECK(text[0].n > 0 && text[0].n == text[1].n &&
              memcmp(text[0].data, text[1].data, text[0].n) == 0);
        char header[300];
        snprintf(header, sizeof(header), "clk,buy,%s\n", m->header);
        CHECK(strncmp(text[0].data, header, strlen(header)) == 0);
        /* the losses from predicted logits are the evaluated ones; with domains each row has its
         * own column, so not there */
        int64_t n;
        bool esmm = strcmp(m->name, "esmm") == 0, light = strstr(m->header, "light");
        if (!strstr(m->name, "domains")) {
            double ctr = loss_of(&text[0], 0, esmm ? 3 : 2, -1, &n) / 1000;
            CHECK_NEAR(ctr,
                       result_of(&ev,
                                 light ? "binary_cross_entropy_light" : "binary_cross_entropy_ctr"),
                       1e-7, 1e-6);
            if (!light)
                CHECK_NEAR(loss_of(&text[0], 1, esmm ? 2 : 3, -1, &n) / 1000,
                           result_of(&ev, esmm ? "binary_cross_entropy_ctcvr"
                                               : "binary_cross_entropy_cvr"),
                           1e-7, 1e-6);
        }
        if (esmm) CHECK(isnan(result_of(&ev, "binary_cross_entropy_cvr")));
        cr_buf_clear(&text[0]);
        cr_buf_clear(&text[1]);
        cr_arena_clear(&names);
        cr_arena_clear(&r.arena);
        cr_diag_clear(&diag);
    }
}

/* rows outside of a task's space do not count, in training and in evaluation */
TEST(weights_of_tasks) {
    static const char config[] =
        MODEL(ALL,
              "simple_multi_task: {task_towers: [" TOWER("ctr", "clk", ", weight: 0.5") "," TOWER(
                  "cvr", "buy",
                  ", task_space_indicator_label: clk, in_task_space_weight: 2, "
                  "out_task_space_weight: 0, weight: 3") "]}");
    setting s;
    set_up(&s, &models[0], "data_config.batch_size=250");
    s.v[0] = config;
    s.v[s.n++] = "train_config.num_epochs=1";
    cr_train_result r;
    train(in_root("a"), in_root("weights"), 2, false, &s, &r);
    cr_diag diag;
    cr_diag_init(&diag);
    char out[400], path[500];
    snprintf(path, sizeof(path), "%s/weights/pipeline.config", root);
    snprintf(out, sizeof(out), "%s/weights/out", root);
    cr_predict_opts po = {.config = {.path = path},
                          .predict_input_path = in_root("a/eval/*.csv"),
                          .predict_output_path = out,
                          .reserved_columns = "clk,buy",
                          .threads = 1};
    cr_predict_result pr;
    CHECK_INT(cr_predict(&po, &pr, &diag), 0);
    show(&diag);
    cr_buf text;
    cr_buf_init(&text);
    CHECK_INT(cr_file_read(in_root("weights/out/part-0.csv"), 0, &text, NULL), 0);
    int64_t n;
    double ctr = loss_of(&text, 0, 2, -1, &n);
    CHECK_NEAR(0.5 * ctr / (double)n, result_of(&r.eval, "binary_cross_entropy_ctr"), 1e-7, 1e-6);
    double cvr = loss_of(&text, 1, 3, 0, &n);
    CHECK(n > 100 && n < 400);
    CHECK_NEAR(3 * cvr / (double)n, result_of(&r.eval, "binary_cross_entropy_cvr"), 1e-7, 1e-6);
    cr_buf_clear(&text);
    cr_arena_clear(&r.arena);
    cr_diag_clear(&diag);
}

TEST(weights_by_gradients) {
    static const struct {
        double gram[4], least[2], want[2];
    } cases[] = {
        {{1, 0, 0, 3}, {0, 0}, {0.75, 0.25}},
        {{1, 2, 2, 5}, {0, 0}, {1, 0}}, /* the second only makes the sum longer */
        {{1, 2, 2, 5}, {0.5, 0.1}, {0.9, 0.1}},
        {{5, -2, -2, 5}, {0.2, 0.3}, {0.5, 0.5}},
        {{0, 0, 0, 0}, {0, 0}, {0.5, 0.5}}, /* no gradient: no preference */
        {{1, 0, 0, 3}, {0.4, 0.6}, {0.4, 0.6}},
        {{NAN, 0, 0, 3}, {0, 0.5}, {0.25, 0.75}},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        double w[2];
        cr_pareto_solve(cases[i].gram, cases[i].least, 2, w);
        for (int k = 0; k < 2; k++)
            CHECK_NEAR(w[k], cases[i].want[k], 1e-12, 1e-9);
    }
}

static double json_number(const char *dir, const char *after, const char *key) {
    char path[600];
    snprintf(path, sizeof(path), "%s/synth.json", dir);
    cr_buf b;
    cr_buf_init(&b);
    double v = NAN;
    if (cr_file_read(path, 0, &b, NULL) == CR_OK) {
        const char *at = strstr(b.data, after);
        at = at ? strstr(at, key) : NULL;
        if (at) v = strtod(at + strlen(key), NULL);
    }
    cr_buf_clear(&b);
    return v;
}

TEST(near_the_teacher) {
    double clk = teacher_auc(in_root("t")),
           both = json_number(in_root("t"), "\"after\"", "\"both_auc\":"),
           after = json_number(in_root("t"), "\"after\"", "\"auc\":");
    CHECK(clk > 0.7 && both > clk && after > 0.7);
    for (int i = 0; i < N_MODELS; i++) {
        const struct a_model *m = &models[i];
        setting s;
        set_up(&s, m, "data_config.batch_size=512");
        s.v[s.n++] = "train_config.num_epochs=1";
        s.v[s.n++] = "train_config.sparse_optimizer.adagrad_optimizer.lr=0.05";
        s.v[s.n++] = "train_config.dense_optimizer.adam_optimizer.lr=0.003";
        char dir[400];
        snprintf(dir, sizeof(dir), "%s/t_%s", root, m->name);
        cr_train_result r;
        train(in_root("t"), dir, 2, false, &s, &r);
        double got[] = {result_of(&r.eval, m->first),
                        m->second ? result_of(&r.eval, m->second) : both,
                        m->after ? result_of(&r.eval, m->after) : after};
        fprintf(stderr,
                "%s: AUC of click %.4f of %.4f, of both %.4f of %.4f, after it %.4f of %.4f\n",
                m->name, got[0], clk, got[1], both, got[2], after);
        CHECK(got[0] > clk - 0.015 && got[0] < clk + 0.005);
        CHECK(got[1] > both - m->slack && got[1] < both + 0.01);
        CHECK(got[2] > after - 0.05 && got[2] < after + 0.01);
        cr_arena_clear(&r.arena);
    }
}

typedef struct scored {
    double p, y;
} scored;
static int by_score(const void *a, const void *b) {
    double x = ((const scored *)a)->p, y = ((const scored *)b)->p;
    return x < y ? -1 : x > y;
}

/* AUC of a column of scores against buy, among the rows with a click (clk, buy stand first) */
static double clicked_auc(const cr_buf *rows, int score) {
    static scored v[60000];
    int n = 0;
    const char *p = strchr(rows->data, '\n');
    for (p = p ? p + 1 : NULL; p && *p; p = strchr(p, '\n') + 1) {
        double x[24];
        CHECK(numbers_of(p, x, 24) > score);
        if (x[0] == 1 && n < 60000) v[n++] = (scored){x[score], x[1]};
    }
    qsort(v, (size_t)n, sizeof(v[0]), by_score);
    double right = 0, zeros = 0, ones = 0;
    for (int i = 0; i < n; i++) {
        if (v[i].y == 1)
            right += zeros, ones++;
        else
            zeros++;
    }
    return right / (zeros * ones);
}

/* Which click ends in a purchase? A net that learns buy from all rows mostly learns who clicks; the
 * models that know the order of the two events do not. docs/guide/models.md has the figures. */
TEST(a_task_that_exists_only_after_another) {
    static const struct {
        const char *name, *config, *labels;
        int column; /* of its score in clk,buy,... */
    } nets[] = {
        {"plain",
         MODEL(ALL, "multi_tower: {towers: [{input: all, mlp: {hidden_units: [64,16]}}]}, " BCE),
         "buy", 3},
        {"esmm",
         MODEL(ALL,
               "esmm: {bottom_mlp: {hidden_units: [64]}, ctr_tower: " CTR ", cvr_tower: " CVR "}"),
         "clk,buy", 7},
        {"space",
         MODEL(ALL, "dbmtl: {bottom_mlp: {hidden_units: [64]}, " RELATED(
                        ", task_space_indicator_label: clk, out_task_space_weight: 0") "}"),
         "clk,buy", 5},
    };
    double after = json_number(in_root("t"), "\"after\"", "\"auc\":"), got[3];
    for (int i = 0; i < 3; i++) {
        struct a_model m = {.config = nets[i].config, .labels = nets[i].labels};
        setting s;
        set_up(&s, &m, "data_config.batch_size=512");
        s.v[s.n++] = "train_config.num_epochs=1";
        s.v[s.n++] = "train_config.sparse_optimizer.adagrad_optimizer.lr=0.05";
        s.v[s.n++] = "train_config.dense_optimizer.adam_optimizer.lr=0.003";
        char dir[400], path[500], out[500], file[520];
        snprintf(dir, sizeof(dir), "%s/e_%s", root, nets[i].name);
        snprintf(path, sizeof(path), "%s/pipeline.config", dir);
        snprintf(out, sizeof(out), "%s/out", dir);
        cr_train_result r;
        train(in_root("t"), dir, 2, false, &s, &r);
        cr_diag diag;
        cr_diag_init(&diag);
        cr_predict_opts po = {.config = {.path = path},
                              .predict_input_path = in_root("t/eval/*.csv"),
                              .predict_output_path = out,
                              .reserved_columns = "clk,buy",
                              .threads = 2};
        cr_predict_result pr;
        CHECK_INT(cr_predict(&po, &pr, &diag), 0);
        show(&diag);
        cr_buf all;
        cr_buf_init(&all);
        snprintf(file, sizeof(file), "%.500s/part-0.csv", out);
        CHECK_INT(cr_file_read(file, 0, &all, NULL), 0);
        got[i] = clicked_auc(&all, nets[i].column);
        if (strcmp(nets[i].name, "esmm") == 0) /* and evaluation measures the same rows */
            CHECK_NEAR(got[i], result_of(&r.eval, "auc_cvr"), 0.002, 0);
        cr_buf_clear(&all);
        cr_arena_clear(&r.arena);
        cr_diag_clear(&diag);
    }
    fprintf(stderr, "AUC among clicks, best %.4f: plain %.4f, esmm %.4f, task space %.4f\n", after,
            got[0], got[1], got[2]);
    CHECK(got[1] > got[0] + 0.03 && got[2] > got[0] + 0.03);
    CHECK(got[1] > after - 0.03 && got[2] > after - 0.03);
}

/* each mistake is one line with its place, its cause and its cure */
static void refused(int line, const char *config, const char *labels, const char *const *says) {
    char path[600];
    snprintf(path, sizeof(path), "%s/a/pipeline.yaml", root);
    char more[128];
    snprintf(more, sizeof(more), "data_config.label_fields=[%s]", labels);
    const char *set[] = {config, more};
    cr_config_opts co = {.path = path, .model_dir = "unused", .set = set, .n_set = 2};
    cr_diag diag;
    cr_diag_init(&diag);
    cr_job j;
    cr_job_opts jo = {.config = &co, .threads = 1, .train = true, .with_labels = true};
    bool error = says[0][0] != '?', found = false; /* ?: a warning */
    cr_code code = cr_job_open(&j, &jo, &diag);
    CHECK((code != CR_OK) == error);
    for (size_t i = 0; i < diag.n; i++) {
        bool all = (diag.v[i].sev == CR_SEV_ERROR) == error && diag.v[i].at.line > 0;
        for (int k = 0; says[k]; k++)
            all = all && strstr(diag.v[i].msg, says[k] + (k == 0 && !error));
        found = found || all;
    }
    if (!found) {
        fprintf(stderr, "line %d: nobody says %s; but:\n", line, says[0]);
        for (size_t i = 0; i < diag.n; i++)
            fprintf(stderr, "  %s\n", diag.v[i].msg);
    }
    CHECK(found);
    cr_job_close(&j);
    cr_diag_clear(&diag);
}
#define REFUSED(config, labels, ...)                                                               \
    refused(__LINE__, config, labels, (const char *const[]){__VA_ARGS__, NULL})
#define SIMPLE(towers) MODEL(ALL, "simple_multi_task: {task_towers: [" towers "]}")

TEST(mistakes) {
    const char *ok = "clk,buy";
    REFUSED(MODEL(ALL, "mmoe: {expert_mlp: {hidden_units: [4]}}"), ok, "mmoe has no task_towers",
            "add one");
    REFUSED(SIMPLE(CTR "," TOWER("cvr", "bui", "")), ok, "task 'cvr': 'bui' is not among",
            "label_fields", "did you mean 'buy'");
    REFUSED(SIMPLE(CTR "," CVR), "clk", "'buy' is not among label_fields", "add it there");
    REFUSED(MODEL(ALL, "dbmtl: {task_towers: [{tower_name: ctr, " BCE "}]}"), ok,
            "task 'ctr' has no label_name", "name one");
    REFUSED(SIMPLE("{tower_name: ctr, " BCE "}"), ok, "label_name");
    REFUSED(SIMPLE(CTR "," CTR), ok, "task tower 'ctr' is already defined", "another name");
    REFUSED(SIMPLE(TOWER("ctr", "clk", ", num_class: 3")), ok, "needs num_class 1", "it is 3");
    REFUSED(SIMPLE(TOWER("ctr", "clk", ", sample_weight_name: w")), ok, "'w' is not among",
            "sample_weight_fields");
    REFUSED(SIMPLE(TOWER("ctr", "clk", ", weight: -1")), ok, "weight", "at least 0");
    REFUSED(SIMPLE(TOWER("ctr", "clk", ", task_space_indicator_label: by")), ok, "'by'",
            "did you mean 'buy'");
    REFUSED(SIMPLE(TOWER("ctr", "clk",
                         ", task_space_indicator_label: buy, in_task_space_weight: 0, "
                         "out_task_space_weight: 0")),
            ok, "no row counts", "give one");
    REFUSED(SIMPLE(TOWER("ctr", "clk", ", out_task_space_weight: 0")), ok,
            "?out_task_space_weight has no effect", "remove it");
    REFUSED(MODEL(ALL, "simple_multi_task: {task_towers: [" CTR "]}, " BCE), ok,
            "?losses of model_config has no effect", "remove it");
    REFUSED(MODEL(ALL, "dbmtl: {" RELATED(", label_name: clk") "}"), ok, "label_name");
    REFUSED(MODEL(ALL,
                  "dbmtl: {task_towers: [" TOWER("cvr", "buy",
                                                 ", relation_tower_names: [ctr], "
                                                 "relation_mlp: {hidden_units: [4]}") "," CTR "]}"),
            ok, "depends on 'ctr'", "not an earlier tower", "before it");
    REFUSED(MODEL(ALL, "dbmtl: {task_towers: [" CTR "," TOWER("cvr", "buy",
                                                              ", relation_tower_names: [crt], "
                                                              "relation_mlp: {hidden_units: "
                                                              "[4]}") "]}"),
            ok, "unknown tower 'crt'", "did you mean 'ctr'");
    REFUSED(MODEL(ALL, "dbmtl: {task_towers: [" TOWER("ctr", "clk",
                                                      ", relation_tower_names: [ctr], "
                                                      "relation_mlp: {hidden_units: [4]}") "]}"),
            ok, "task 'ctr' depends on itself", "earlier tower");
    REFUSED(SIMPLE(CTR "," TOWER("''", "buy", "")), ok, "tower_name is empty", "give the task");
    REFUSED(SIMPLE(TOWER("ctr", "clk", ", mlp: {hidden_units: [4], dropout_ratio: [0.99999999]}")),
            ok, "a dropout_ratio of 1", "below 1");
    REFUSED(MODEL(ALL, "dbmtl: {task_towers: [" CTR
                       "," TOWER("cvr", "buy", ", relation_tower_names: [ctr]") "]}"),
            ok, "?relation_tower_names has no effect without relation_mlp");
    REFUSED(MODEL(ALL, "dbmtl: {num_expert: 2, task_towers: [" CTR "]}"), ok,
            "?num_expert has no effect without expert_mlp");
    REFUSED(MODEL(ALL, "ple: {" TOWERS "}"), ok, "ple has no extraction_networks", "add one");
    REFUSED(MODEL(ALL, "ple: {extraction_networks: [{network_name: a, expert_num_per_task: 1, "
                       "share_num: 1, task_expert_net: {hidden_units: [4]}}], " TOWERS "}"),
            ok, "no share_expert_net", "add one");
    REFUSED(MODEL(ALL, "ple: {extraction_networks: [{network_name: a, expert_num_per_task: 1, "
                       "share_num: 1, task_expert_net: {hidden_units: [4]}, share_expert_net: "
                       "{hidden_units: [5]}}], " TOWERS "}"),
            ok, "end in 5 units and those of tasks in 4", "make them equal");
    REFUSED(MODEL(ALL, "mmoe: {expert_mlp: {hidden_units: [4], activation: nn.Nope}, " TOWERS "}"),
            ok, "nn.Nope");
    REFUSED(MODEL(GROUP("deep", USER), "pepnet: {" TOWERS "}"), ok, "no feature group 'all'");
    REFUSED(MODEL(ALL, "pepnet: {uia_group_name: alll, " TOWERS "}"), ok, "no feature group 'alll'",
            "did you mean 'all'");
    REFUSED(MODEL(ALL "," GROUP("uia", "user_id"), "pepnet: {" TOWERS "}"), ok,
            "no ppnet_hidden_units", "remove the group");
    REFUSED(MODEL(ALL, "pepnet: {domain_input_name: pid, task_domain_num: 2, " TOWERS "}"), ok,
            "'pid' is not among label_fields", "add it there");
    REFUSED(MODEL(ALL, "pepnet: {domain_input_name: buy, " TOWERS "}"), ok, "?task_domain_num is 1",
            "number of domains");
    REFUSED(MODEL(ALL "," GROUP("uia", "user_id"),
                  "pepnet: {ppnet_hidden_units: [4,4], ppnet_dropout_ratio: [0.99999999], " TOWERS
                  "}"),
            ok, "a dropout ratio of 1", "below 1");
    REFUSED(MODEL(ALL "," GROUP("uia", "user_id"),
                  "pepnet: {ppnet_hidden_units: [4,4], ppnet_dropout_ratio: [0.1,0.1,0.1], " TOWERS
                  "}"),
            ok, "has 3 values for 2 layers", "give one");
    REFUSED(MODEL(ALL, "esmm: {ctr_tower: " CTR ", cvr_tower: {tower_name: cvr, label_name: buy, "
                       "losses: [{l2_loss: {}}]}}"),
            ok, "esmm multiplies probabilities", "binary_cross_entropy");
    REFUSED(MODEL(ALL, "esmm: {ctr_tower: " CTR "}"), ok, "cvr_tower");
    REFUSED(MODEL(ALL, "esmm: {ctr_tower: " CTR ", cvr_tower: " TOWER("ctcvr", "buy", "") "}"), ok,
            "'ctcvr' is the name of both", "another");
    REFUSED(MODEL(ALL, "simple_multi_task: {task_towers: [" TOWER(
                           "ctr", "clk",
                           ", pareto_min_loss_weight: 0.6") "," TOWER("cvr", "buy",
                                                                      ", pareto_min_loss_weight: "
                                                                      "0.5") "]}, "
                                                                             "use_pareto_loss_"
                                                                             "weight: true"),
            ok, "add up to 1.1", "1 at most");
    REFUSED(SIMPLE(TOWER("ctr", "clk", ", pareto_min_loss_weight: 0.6")), ok,
            "?pareto_min_loss_weight has no effect");
    REFUSED(MODEL(ALL, "multi_tower: {towers: [{input: all}]}, use_pareto_loss_weight: true, " BCE),
            "clk", "?use_pareto_loss_weight has no effect on a model with one task");
    REFUSED(MODEL(GROUP("all", "user_id"),
                  "multi_tower: {towers: [{input: all}]}, variational_dropout: {}, " BCE),
            "clk", "?variational_dropout has no effect", "add features");
    REFUSED(MODEL(ALL, "rocket_launching: {light_mlp: {hidden_units: [4]}}, " BCE), ok,
            "booster_mlp");
    REFUSED(MODEL(ALL, "rocket_launching: {light_mlp: {hidden_units: [4]}, booster_mlp: "
                       "{hidden_units: [8]}, feature_based_distillation: true}, " BCE),
            ok, "?feature_based_distillation has no effect", "make two of them equal");
}

int main(int argc, char **argv) {
    static const t_case cases[] = {CASE(threads_and_pauses_do_not_matter),
                                   CASE(one_score_everywhere),
                                   CASE(weights_of_tasks),
                                   CASE(weights_by_gradients),
                                   CASE(near_the_teacher),
                                   CASE(a_task_that_exists_only_after_another),
                                   CASE(mistakes)};
    if (!root_open("tasks")) return 1;
    make_synth("taobao", in_root("a"), 6000, 1000, 3, 0.001);
    make_synth("taobao", in_root("t"), 150000, 60000, 5, 0.0005);
    int rc = t_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
    return root_close(rc);
}
