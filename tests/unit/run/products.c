/*
 * products.c - every model under every kind of matrix products: training from the same start on the
 * same rows gives the loss curve and the AUC of FP32, as near as docs/guide/precision.md says.
 *
 * Training makes small differences larger: once a ReLU's input has the other sign, the curves of
 * two runs of FP32 lie as far apart as those of FP32 and BF16x3. So FP32 is also trained with
 * changes that nobody would call another precision (other sums, another fifth digit of the learning
 * rate), and what the kinds may be off begins with what these are off. CRANK_TEST_ROWS trains on so
 * many rows instead of a few (tools/test_full.sh, step products), and then AUC is compared too.
 */
#include "base/json.h"
#include "unit/run/run_test.h"

#define USER                                                                                       \
    "user_id,cms_segid,cms_group_id,final_gender_code,age_level,pvalue_level,shopping_level,"      \
    "occupation,new_user_class_level"
#define ITEM                  "adgroup_id,cate_id,campaign_id,customer,brand,price"
#define FEATURES              USER "," ITEM ",pid"
#define GROUP(name, features) "{group_name: " name ", feature_names: [" features "]}"
#define WIDE                  "{group_name: wide, group_type: WIDE, feature_names: [" FEATURES "]}"
#define ALL                   GROUP("all", FEATURES)
#define BCE                   "losses: [{binary_cross_entropy: {}}], metrics: [{auc: {}}]"
#define MLP(units)            "{hidden_units: [" units "]}"
#define TOWER(name, label, more)                                                                   \
    "{tower_name: " name ", label_name: " label ", mlp: " MLP("32") more ", " BCE "}"
#define CTR                  TOWER("ctr", "clk", "")
#define CVR                  TOWER("cvr", "buy", "")
#define TOWERS               "task_towers: [" CTR "," CVR "]"
#define MODEL(groups, model) "model_config={feature_groups: [" groups "], " model ", " BCE "}"
#define TASKS(groups, model) "model_config={feature_groups: [" groups "], " model "}"

static const struct a_model {
    const char *key, *config;
} models[] = {
    {"autoint", MODEL(ALL, "autoint: {attention_layers: [{num_heads: 2, head_dim: 8}], deep: " MLP(
                               "64,32") ", final: " MLP("16") "}")},
    {"backbone",
     MODEL(ALL, "backbone: {blocks: [{name: cross, inputs: [{feature_group_name: all}], cross_v2: "
                "{cross_num: 1, low_rank: 16}}, {name: deep, inputs: [{block_name: cross}], "
                "mlp: {hidden_units: [64,32], use_bn: true}}], top_mlp: " MLP("16") "}")},
    {"dbmtl", TASKS(ALL, "dbmtl: {bottom_mlp: " MLP("64") ", expert_mlp: " MLP(
                             "32") ", num_expert: 2, task_towers: [" CTR
                                   "," TOWER("cvr", "buy",
                                             ", relation_tower_names: "
                                             "[ctr], relation_mlp: " MLP("16")) "]}")},
    {"dcn_v1",
     MODEL(ALL, "dcn_v1: {cross: {cross_num: 2}, deep: " MLP("64,32") ", final: " MLP("16") "}")},
    {"dcn_v2", MODEL(ALL, "dcn_v2: {cross: {cross_num: 2, low_rank: 16}, deep: " MLP(
                              "64,32") ", final: " MLP("16") "}")},
    {"deepfm", MODEL(WIDE "," GROUP("fm", FEATURES) "," GROUP("deep", FEATURES),
                     "deepfm: {deep: " MLP("64,32") ", final: " MLP("16") "}")},
    {"dlrm", MODEL(ALL, "dlrm: {final: " MLP("64,32") "}")},
    {"esmm",
     TASKS(ALL, "esmm: {bottom_mlp: " MLP("64") ", ctr_tower: " CTR ", cvr_tower: " CVR "}")},
    {"ffm", MODEL(GROUP("ffm", "age_level,cate_id,brand,pid") "," WIDE, "ffm: {embedding_dim: 2}")},
    {"fm", MODEL(GROUP("fm", FEATURES) "," WIDE, "fm: {embedding_dim: 8}")},
    {"logistic_regression", MODEL(ALL, "logistic_regression: {}")},
    {"mask_net", MODEL(ALL, "mask_net: {mask_net_module: {n_mask_blocks: 2, mask_block: "
                            "{reduction_ratio: 0.5, hidden_dim: 32}, top_mlp: " MLP("32") "}}")},
    {"mmoe", TASKS(ALL, "mmoe: {expert_mlp: " MLP("64,32") ", num_expert: 3, " TOWERS "}")},
    {"multi_tower",
     MODEL(GROUP("user", USER) "," GROUP("item", ITEM),
           "multi_tower: {towers: [{input: user, mlp: " MLP("64,32") "}, {input: item, mlp: " MLP(
               "64,32") "}], final: " MLP("32") "}")},
    {"multi_tower_din",
     MODEL(ALL ",{group_name: seq, group_type: SEQUENCE, feature_names: [cate_id, user_cates]}",
           "multi_tower_din: {towers: [{input: all, mlp: " MLP(
               "64,32") "}], din_towers: "
                        "[{input: seq, "
                        "attn_mlp: " MLP("32,16") "}], "
                                                  "final:"
                                                  " " MLP("3"
                                                          "2") "}")},
    {"pepnet", TASKS(ALL "," GROUP("domain", "pid") "," GROUP("uia", "user_id,adgroup_id"),
                     "pepnet: {epnet_hidden_unit: 16, ppnet_hidden_units: [64,32], " TOWERS "}")},
    {"ple", TASKS(ALL, "ple: {extraction_networks: [{network_name: n, expert_num_per_task: 1, "
                       "share_num: 1, task_expert_net: " MLP("64,32") ", share_expert_net: " MLP(
                           "64,32") "}], " TOWERS "}")},
    {"plugin", MODEL(GROUP("user", USER) "," GROUP("item", ITEM),
                     "plugin: {library: '@/libfaded.so', type: faded_towers, params: {dim: 16, "
                     "hidden: 64}}")},
    {"rocket_launching",
     MODEL(ALL, "rocket_launching: {share_mlp: " MLP("64") ", booster_mlp: " MLP(
                    "32,16") ", light_mlp: " MLP("16") ", feature_based_distillation: true}")},
    {"simple_multi_task", TASKS(ALL, "simple_multi_task: {bottom_mlp: " MLP("64") ", " TOWERS "}")},
    {"wide_and_deep", MODEL(WIDE "," GROUP("deep", FEATURES),
                            "wide_and_deep: {deep: " MLP("64,32") ", final: " MLP("16") "}")},
    {"wukong",
     MODEL(GROUP("sparse", FEATURES),
           "wukong: {wukong_layers: [{lcb_feature_num: 8, fmb_feature_num: 8, "
           "compressed_feature_num: 8, feature_num_mlp: " MLP("64") "}], final: " MLP("32") "}")},
    {"xdeepfm", MODEL(WIDE "," GROUP("deep", FEATURES),
                      "xdeepfm: {wide_embedding_dim: 4, cin: {cin_layer_size: [8,4]}, deep: " MLP(
                          "64,32") ", final: " MLP("16") "}")},
};
#define N_MODELS (int)(sizeof(models) / sizeof(models[0]))

/* Ways to train: FP32, FP32 with something changed that nobody would call another precision, and
 * the kinds. */
enum { FP32, LANES_1, LANES_4, RATE_5, RATE_3, BF16X6, BF16X3, BF16, WAYS };
static const char *const ways[WAYS][2] = {
    {"FP32", "train_config.lanes=0"},
    {"FP32, 1 lane", "train_config.lanes=1"},
    {"FP32, 4 lanes", "train_config.lanes=4"},
    {"FP32, rate + 1e-5", "train_config.dense_optimizer.adam_optimizer.lr=0.00100001"},
    {"FP32, rate + 1e-3", "train_config.dense_optimizer.adam_optimizer.lr=0.001001"},
    {"BF16x6", "train_config.fp32_matmul=BF16x6"},
    {"BF16x3", "train_config.fp32_matmul=BF16x3"},
    {"BF16", "train_config.mixed_precision=BF16"},
};

static bool is_long;

#define BATCH     512
#define MAX_STEPS 2000
typedef struct result {
    double steps[MAX_STEPS], loss, auc[4]; /* loss of each step; of the evaluation, with AUCs */
    int n, n_auc;
} result;

/* Takes the losses of all steps from the log of a run. */
static void read_steps(result *r, const char *dir) {
    char path[700];
    snprintf(path, sizeof(path), "%s/train_log.jsonl", dir);
    cr_buf text;
    cr_buf_init(&text);
    CHECK_INT(cr_file_read(path, 0, &text, NULL), 0);
    for (const char *at = text.data, *end; at && *at && (end = strchr(at, '\n')); at = end + 1) {
        cr_json *line = NULL;
        double x;
        CHECK_INT(cr_json_parse(&line, at, (size_t)(end - at), NULL), 0);
        if (cr_json_f64(cr_json_get(line, "train.loss"), &x) && r->n < MAX_STEPS)
            r->steps[r->n++] = x;
        cr_json_free(line);
    }
    cr_buf_clear(&text);
}

static bool train(const struct a_model *m, int way, result *r) {
    char dir[600];
    snprintf(dir, sizeof(dir), "%s/%s_%d", root, m->key, way);
    const char *set[] = {placed(m->config),
                         "data_config.label_fields=[clk,buy]",
                         "data_config.batch_size=512",
                         "train_config.num_epochs=1",
                         "train_config.log_step_count_steps=1",
                         "train_config.use_tensorboard=false",
                         "feature_configs[9]={sequence_id_feature: {feature_name: user_cates, "
                         "expression: 'user:user_cates', sequence_delim: '|', sequence_length: 20, "
                         "num_buckets: 20000, embedding_dim: 16, embedding_name: steps}}",
                         ways[way][1]};
    cr_diag diag;
    cr_diag_init(&diag);
    cr_train_opts o = {
        .config = {.path = in_root("data/pipeline.yaml"),
                   .model_dir = dir,
                   .set = set,
                   .n_set = (int)(sizeof(set) / sizeof(set[0]))},
        .threads = 2,
    };
    if (!strstr(m->config, "tower_name")) set[1] = "data_config.label_fields=[clk]";
    *r = (result){0};
    cr_train_result t;
    cr_code code = cr_train(&o, &t, &diag);
    show(&diag);
    cr_diag_clear(&diag);
    CHECK_INT(code, 0);
    if (code != CR_OK) return false;
    read_steps(r, dir);
    CHECK_INT(r->n, t.steps);
    for (int i = 0; i < t.eval.n; i++) {
        if (strncmp(t.eval.v[i].name, "auc", 3) == 0 && r->n_auc < 4)
            r->auc[r->n_auc++] = t.eval.v[i].value;
        if (strstr(t.eval.v[i].name, "cross_entropy")) r->loss += t.eval.v[i].value;
    }
    CHECK(r->n_auc > 0 && r->loss > 0);
    cr_arena_clear(&t.arena);
    CHECK_INT(cr_rmtree(dir, NULL), 0);
    return true;
}

/* How far a run is from FP32. */
enum { STEP, MEAN, EVAL, AUC, FIELDS };
static const char *const fields[FIELDS] = {"loss of a step", "mean of 16 steps",
                                           "loss of the evaluation", "AUC"};
typedef struct distance {
    double v[FIELDS]; /* the largest of all steps and of all tasks; losses as shares of FP32's */
} distance;

static void grow(double *most, double x) {
    if (!(x <= *most)) *most = x;
}
static distance between(const result *a, const result *b) {
    distance d = {{0}};
    CHECK(a->n == b->n && a->n_auc == b->n_auc);
    for (int i = 0; i < a->n && i < b->n; i++) {
        double x = 0, y = 0;
        for (int k = i; k > i - 16 && k >= 0; k--)
            x += a->steps[k], y += b->steps[k];
        grow(&d.v[STEP], fabs(b->steps[i] - a->steps[i]) / a->steps[i]);
        if (i >= 15) grow(&d.v[MEAN], fabs(y - x) / x);
    }
    d.v[EVAL] = fabs(b->loss - a->loss) / a->loss;
    for (int i = 0; i < a->n_auc; i++)
        grow(&d.v[AUC], fabs(b->auc[i] - a->auc[i]));
    return d;
}

static distance off[WAYS][N_MODELS]; /* of the models that have products */
static int n_off;

static double most(int way, int field) {
    double x = 0;
    for (int i = 0; i < n_off; i++)
        grow(&x, off[way][i].v[field]);
    return x;
}
static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}
/* The distance below which a share of the models is. */
static double quantile(int way, int field, double share) {
    double v[N_MODELS];
    for (int i = 0; i < n_off; i++)
        v[i] = off[way][i].v[field];
    qsort(v, (size_t)n_off, sizeof(v[0]), by_size);
    return n_off ? v[(int)(share * n_off)] : NAN;
}

/* Trains a model in all ways. */
static void try_model(const struct a_model *m) {
    static result fp32, r;
    if (!train(m, FP32, &fp32)) return;
    fprintf(stderr, "%s: loss %.6f, AUC %.6f\n", m->key, fp32.loss, fp32.auc[0]);
    bool products = false;
    for (int w = FP32 + 1; w < WAYS; w++) {
        if (w == RATE_3 && !is_long) continue; /* for AUC only */
        if (!train(m, w, &r)) return;
        distance d = off[w][n_off] = between(&fp32, &r);
        products = products || (w >= BF16X6 && d.v[STEP] > 0);
        fprintf(stderr, "  %s: step %.1e, mean %.1e, evaluation %.1e, AUC %.6f\n", ways[w][0],
                d.v[STEP], d.v[MEAN], d.v[EVAL], d.v[AUC]);
        if (w != BF16) continue;
        /* where a change of the learning rate by 0.1 % leads further away, that counts */
        static const double most_off[] = {
            [STEP] = 0.02, [MEAN] = 0.01, [EVAL] = 0.01, [AUC] = 0.001};
        for (int k = STEP; k < (is_long ? FIELDS : AUC); k++)
            CHECK(d.v[k] < most_off[k] || (is_long && d.v[k] < 2 * off[RATE_3][n_off].v[k]));
    }
    bool none = strcmp(m->key, "fm") == 0 || strcmp(m->key, "ffm") == 0 ||
                strcmp(m->key, "logistic_regression") == 0;
    CHECK(products == !none);
    n_off += products;
}

TEST(every_model) {
    for (const cr_oneof_member *f = cr_model_family.members; f->key; f++) {
        int i = 0;
        if (!f->type || strncmp(f->key, "custom_model", 12) == 0 || strstr(f->key, "_trt"))
            continue;
        while (i < N_MODELS && strcmp(models[i].key, f->key) != 0)
            i++;
        if (i == N_MODELS) fprintf(stderr, "%s has no case here\n", f->key);
        CHECK(i < N_MODELS);
        if (i < N_MODELS) try_model(&models[i]);
    }
    CHECK_INT(n_off, N_MODELS - 3);
    for (int k = STEP; k < (is_long ? FIELDS : AUC); k++) {
        double sums = most(LANES_1, k), rate = most(RATE_5, k), any;
        grow(&sums, most(LANES_4, k));
        any = sums > rate ? sums : rate;
        if (is_long) grow(&any, most(RATE_3, k));
        for (int w = FP32 + 1; w < WAYS; w++)
            if (w != RATE_3 || is_long)
                fprintf(stderr, "%s, %s: at most %.1e, median %.1e\n", ways[w][0], fields[k],
                        most(w, k), quantile(w, k, 0.5));
        /* where a small change grows (mask_net: a rate of 1 + 1e-5 moves a step by 2.4e-4), two
         * small changes of one size end within a small factor of each other; half of the models
         * must be as near as with such a rate */
        CHECK(most(BF16X3, k) < 1e-4 || most(BF16X3, k) < 3 * any);
        CHECK(quantile(BF16X3, k, 0.5) < 2 * quantile(RATE_5, k, 0.5));
        CHECK(most(BF16X6, k) < 1e-6 || most(BF16X6, k) < 2 * any);
        /* as with other sums, many models reach the end without a changed sign */
        CHECK(quantile(BF16X6, k, 0.25) < 1e-7);
        CHECK(quantile(BF16, k, 0.5) > 100 * quantile(BF16X6, k, 0.25));
    }
}

int main(int argc, char **argv) {
    static const t_case cases[] = {CASE(every_model)};
    const char *rows = getenv("CRANK_TEST_ROWS");
    is_long = rows != NULL;
    if (!root_open("products")) return 1;
    t_name = "data";
    make_synth("taobao", in_root("data"), rows ? atoi(rows) : 20 * BATCH, rows ? 60000 : 5000, 5,
               0.001);
    if (t_failed_checks) return root_close(1);
    int rc = t_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
    return root_close(rc);
}
