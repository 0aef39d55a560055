/*
 * models.c - every interaction model learns: one pass over data whose best score is known brings it
 * near that score. What a wrong sign or a dead branch would spoil is seen here even where the
 * golden runs, which are ten steps long, could agree by chance. Also: their mistakes in configs.
 */
#include "unit/run/run_test.h"

#define IDS                                                                                        \
    "cat_0,cat_1,cat_2,cat_3,cat_4,cat_5,cat_6,cat_7,cat_8,cat_9,cat_10,cat_11,cat_12,cat_13,cat_" \
    "14,cat_15,cat_16,cat_17,cat_18,cat_19,cat_20,cat_21,cat_22,cat_23,cat_24,cat_25"
#define NUMBERS               "int_0,int_1,int_2,int_3,int_4,int_5,int_6,int_7,int_8,int_9,int_10,int_11,int_12"
#define GROUP(name, features) "{group_name: " name ", feature_names: [" features "]}"
#define WIDE(features)        "{group_name: wide, group_type: WIDE, feature_names: [" features "]}"
#define MODEL(groups, model)                                                                       \
    "model_config={feature_groups: [" groups "], " model                                           \
    ", losses: [{binary_cross_entropy: {}}], metrics: [{auc: {}}]}"
#define ALL GROUP("all", NUMBERS "," IDS)
/* the columns whose products the teacher of criteo uses */
#define PAIRS    "cat_5,cat_13,cat_8,cat_16,cat_21,cat_22,cat_19,cat_24"
#define ROWS     100000
#define AUC_DROP 0.01
#define SLOW     "0.02", "0.001" /* rates of tables and of the rest */
#define FAST     "0.05", "0.003"

TEST(near_the_teacher) {
    double best = teacher_auc(in_root("data"));
    CHECK(best > 0.7 && best < 0.95);
    static const struct {
        const char *name, *config, *sparse, *dense;
        double drop; /* more where the model cannot express what the teacher does */
    } models[] = {
        {"dcn_v1",
         MODEL(ALL, "dcn_v1: {cross: {cross_num: 2}, deep: {hidden_units: [32]}, final: "
                    "{hidden_units: [16]}}"),
         SLOW, AUC_DROP},
        {"dcn_v2",
         MODEL(ALL, "dcn_v2: {cross: {cross_num: 2, low_rank: 8}, deep: {hidden_units: "
                    "[32]}, final: {hidden_units: [16]}}"),
         SLOW, AUC_DROP},
        {"mask_net",
         MODEL(ALL, "mask_net: {mask_net_module: {n_mask_blocks: 2, mask_block: "
                    "{reduction_ratio: 0.1, hidden_dim: 32}, top_mlp: {hidden_units: "
                    "[16]}}}"),
         SLOW, AUC_DROP},
        {"xdeepfm",
         MODEL(WIDE(IDS) "," GROUP("deep", NUMBERS "," IDS),
               "xdeepfm: {wide_embedding_dim: 4, cin: {cin_layer_size: [8,4]}, deep: "
               "{hidden_units: [32]}, final: {hidden_units: [16]}}"),
         SLOW, AUC_DROP},
        {"wukong",
         MODEL(GROUP("dense", NUMBERS) "," GROUP("sparse", IDS),
               "wukong: {dense_mlp: {hidden_units: [16]}, wukong_layers: "
               "[{lcb_feature_num: 4, fmb_feature_num: 4, compressed_feature_num: 4, "
               "feature_num_mlp: {hidden_units: [32]}}], final: {hidden_units: [16]}}"),
         FAST, AUC_DROP},
        {"autoint",
         MODEL(GROUP("fields", IDS) "," GROUP("deep", NUMBERS "," IDS),
               "autoint: {attention_layers: [{num_heads: 2, head_dim: 4}], deep: "
               "{hidden_units: [32]}, final: {hidden_units: [16]}}"),
         SLOW, AUC_DROP},
        {"backbone",
         MODEL(WIDE(IDS) "," GROUP("fields", IDS) "," ALL,
               "backbone: {blocks: [{name: wide, inputs: [{feature_group_name: wide}], sum: {}}, "
               "{name: fm, inputs: [{feature_group_name: fields}], fm: {}}, {name: cross, inputs: "
               "[{feature_group_name: all}], cross_v2: {cross_num: 1, low_rank: 8}}, {name: deep, "
               "inputs: [{block_name: cross}], mlp: {hidden_units: [32]}}], top_mlp: "
               "{hidden_units: [16]}}"),
         SLOW, AUC_DROP},
        {"fm", MODEL(GROUP("fm", PAIRS) "," WIDE(NUMBERS "," IDS), "fm: {embedding_dim: 8}"), FAST,
         1.5 * AUC_DROP},
        {"ffm", MODEL(GROUP("ffm", PAIRS) "," WIDE(NUMBERS "," IDS), "ffm: {embedding_dim: 2}"),
         FAST, AUC_DROP},
        {"logistic_regression", MODEL(ALL, "logistic_regression: {}"), FAST, 1.5 * AUC_DROP},
    };
    for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++) {
        char config[600], dir[600];
        snprintf(config, sizeof(config), "%s/data/pipeline.yaml", root);
        snprintf(dir, sizeof(dir), "%s/%s", root, models[i].name);
        char sparse[80], dense[80];
        snprintf(sparse, sizeof(sparse), "train_config.sparse_optimizer.adagrad_optimizer.lr=%s",
                 models[i].sparse);
        snprintf(dense, sizeof(dense), "train_config.dense_optimizer.adam_optimizer.lr=%s",
                 models[i].dense);
        const char *set[] = {models[i].config, "data_config.batch_size=512",
                             "train_config.num_epochs=1", sparse, dense};
        cr_diag diag;
        cr_diag_init(&diag);
        cr_train_opts o = {.config = {.path = config, .model_dir = dir, .set = set, .n_set = 5},
                           .threads = 2};
        cr_train_result r;
        CHECK_INT(train_as_asked(&o, &r, &diag), 0);
        show(&diag);
        double auc = NAN;
        for (int k = 0; k < r.eval.n; k++)
            if (strcmp(r.eval.v[k].name, "auc") == 0) auc = r.eval.v[k].value;
        fprintf(stderr, "%s: AUC %.4f after %lld rows, the teacher's is %.4f\n", models[i].name,
                auc, (long long)r.rows, best);
        CHECK(auc > best - models[i].drop);
        CHECK(auc < best + 0.01);
        cr_arena_clear(&r.arena);
        cr_diag_clear(&diag);
    }
}

/* each mistake is one line with its place, its cause and its cure */
static void refused(const char *what, const char *config, const char *more,
                    const char *const *says) {
    char path[600];
    snprintf(path, sizeof(path), "%s/data/pipeline.yaml", root);
    const char *set[] = {config, more};
    cr_config_opts co = {.path = path, .model_dir = "unused", .set = set, .n_set = more ? 2 : 1};
    cr_diag diag;
    cr_diag_init(&diag);
    cr_job j;
    cr_job_opts jo = {.config = &co, .threads = 1, .train = true, .with_labels = true};
    cr_code code = cr_job_open(&j, &jo, &diag);
    CHECK(code != CR_OK && diag.n_errors > 0);
    bool found = false;
    for (size_t i = 0; i < diag.n; i++) {
        bool all = diag.v[i].sev == CR_SEV_ERROR && diag.v[i].at.line > 0;
        for (int k = 0; says[k]; k++)
            all = all && strstr(diag.v[i].msg, says[k]);
        found = found || all;
    }
    if (!found) {
        fprintf(stderr, "%s: nobody says %s; but:\n", what, says[0]);
        show(&diag);
    }
    CHECK(found);
    cr_job_close(&j);
    cr_diag_clear(&diag);
}
#define REFUSED(config, more, ...)                                                                 \
    refused(__func__, config, more, (const char *const[]){__VA_ARGS__, NULL})

TEST(mistakes) {
    REFUSED(MODEL(ALL, "autoint: {attention_layers: [{}]}"), NULL, "autoint multiplies",
            "'int_0' has width 1 and others have 16", "mlp: {}", "embedding_dim: 16");
    REFUSED(MODEL(ALL, "autoint: {}"), NULL, "no attention_layers", "add for example");
    REFUSED(MODEL(ALL, "autoint: {attention_layers: [{num_heads: 0}]}"), NULL, "num_heads",
            "from 1");
    REFUSED(MODEL(ALL, "autoint: {attention_layers: [{head_dim: 0}]}"), NULL, "head_dim", "from 1");
    REFUSED(MODEL(WIDE(NUMBERS "," IDS) "," GROUP("deep", IDS),
                  "xdeepfm: {cin: {cin_layer_size: [4]}, deep: {hidden_units: [4]}, final: "
                  "{hidden_units: [4]}}"),
            NULL, "xdeepfm multiplies the features of group 'wide'", "'int_0' has width 1");
    REFUSED(MODEL(WIDE(IDS) "," GROUP("deep", IDS),
                  "xdeepfm: {cin: {}, deep: {hidden_units: [4]}, final: {hidden_units: [4]}}"),
            NULL, "cin_layer_size is empty", "give");
    REFUSED(MODEL(GROUP("deep", IDS), "xdeepfm: {cin: {cin_layer_size: [4]}, deep: {hidden_units: "
                                      "[4]}, final: {hidden_units: [4]}}"),
            NULL, "no feature group 'wide'");
    REFUSED(MODEL(ALL, "dcn_v2: {cross: {low_rank: 0}, final: {hidden_units: [4]}}"), NULL,
            "low_rank", "from 1");
    REFUSED(MODEL(ALL, "dcn_v1: {cross: {cross_num: 0}, deep: {hidden_units: [4]}, final: "
                       "{hidden_units: [4]}}"),
            NULL, "cross_num", "from 1");
    REFUSED(MODEL(ALL, "mask_net: {mask_net_module: {n_mask_blocks: 1, mask_block: "
                       "{reduction_ratio: 0, hidden_dim: 4}}}"),
            NULL, "reduction_ratio is 0", "aggregation_dim", "give one");
    REFUSED(MODEL(ALL, "mask_net: {mask_net_module: {n_mask_blocks: 1, mask_block: "
                       "{reduction_ratio: 0.0001, hidden_dim: 4}}}"),
            NULL, "reduction_ratio", "empty", "or more");
    REFUSED(MODEL(GROUP("dense", NUMBERS) "," GROUP("sparse", IDS),
                  "wukong: {wukong_layers: [], final: {hidden_units: [4]}}"),
            NULL, "wukong has a group 'dense' but no dense_mlp", "16 units");
    REFUSED(MODEL(GROUP("dense", NUMBERS) "," GROUP("sparse", IDS),
                  "wukong: {dense_mlp: {hidden_units: [8]}, final: {hidden_units: [4]}}"),
            NULL, "dense_mlp.hidden_units is 8", "embedding_dim 16");
    REFUSED(MODEL(ALL, "fm: {embedding_dim: 0}"), NULL, "fm multiplies", "'int_0'");
    REFUSED("model_config={feature_groups: [" ALL "], fm: {}, num_class: 3, losses: "
            "[{softmax_cross_entropy: {}}]}",
            NULL, "fm gives one score", "set it to 1");
    REFUSED(MODEL(ALL, "ffm: {init_fn: 'nn.init.nosuch_'}"), NULL, "nosuch_");
    const char *lr = MODEL(ALL, "logistic_regression: {}");
#define AUTODIS(fields)                                                                            \
    "feature_configs[0].raw_feature={feature_name: int_0, expression: 'user:int_0', "              \
    "embedding_dim: 4, autodis: {" fields "}}"
    REFUSED(lr, AUTODIS("num_channels: 3, aggregation: TOP_K, top_k: 4"), "top_k is 4", "at most");
    REFUSED(lr, AUTODIS("num_channels: 3, hidden_dim: 8"), "keep_prob 0.8", "keep_prob: 0");
    REFUSED(lr, AUTODIS("num_channels: 3, learned_temperature: true, temperature: 0.2"),
            "temperature is not used", "remove it");
    REFUSED(lr, AUTODIS("num_channels: 3, form: GANDALF, keep_prob: 0.5"), "needs hidden_dim");
}

int main(int argc, char **argv) {
    static const t_case cases[] = {CASE(near_the_teacher), CASE(mistakes)};
    if (!root_open("models")) return 1;
    make_synth("criteo", in_root("data"), ROWS, 20000, 5, 0.0002);
    int rc = t_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
    return root_close(rc);
}
