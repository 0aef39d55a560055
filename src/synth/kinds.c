/*
 * kinds.c - the data sets that crank synth makes: their columns, the sizes of these, which columns
 * interact, and a model_config that fits.
 *
 * Cardinalities are the published ones (Criteo Kaggle display ads, Taobao display ads, census
 * income). Columns are drawn independently of each other; only the label depends on all of them.
 */
#include "synth/synth_int.h"

#include <string.h>

/* ---- criteo: 13 numbers, 26 ids ---- */

#define REAL(n)                                                                                    \
    { .name = n, .type = SYNTH_REAL, .share = 2.0, .side = "user" }
#define ID(n, c, s, w)                                                                             \
    { .name = n, .type = SYNTH_ID, .card = c, .share = w, .side = s }

static const synth_col criteo_cols[] = {
    REAL("int_0"),
    REAL("int_1"),
    REAL("int_2"),
    REAL("int_3"),
    REAL("int_4"),
    REAL("int_5"),
    REAL("int_6"),
    REAL("int_7"),
    REAL("int_8"),
    REAL("int_9"),
    REAL("int_10"),
    REAL("int_11"),
    REAL("int_12"),
    ID("cat_0", 1460, "item", 1.6),
    ID("cat_1", 583, "item", 1.6),
    ID("cat_2", 10131227, "item", 0.3),
    ID("cat_3", 2202608, "item", 0.3),
    ID("cat_4", 305, "item", 1.6),
    ID("cat_5", 24, "item", 2.0),
    ID("cat_6", 12517, "item", 0.8),
    ID("cat_7", 633, "item", 1.6),
    ID("cat_8", 3, "item", 2.0),
    ID("cat_9", 93145, "item", 0.3),
    ID("cat_10", 5683, "item", 0.8),
    ID("cat_11", 8351593, "item", 0.3),
    ID("cat_12", 3194, "item", 0.8),
    ID("cat_13", 27, "item", 2.0),
    ID("cat_14", 14992, "item", 0.8),
    ID("cat_15", 5461306, "item", 0.3),
    ID("cat_16", 10, "item", 2.0),
    ID("cat_17", 5652, "item", 0.8),
    ID("cat_18", 2173, "item", 0.8),
    ID("cat_19", 4, "item", 2.0),
    ID("cat_20", 7046547, "item", 0.3),
    ID("cat_21", 18, "item", 2.0),
    ID("cat_22", 15, "item", 2.0),
    ID("cat_23", 286181, "item", 0.3),
    ID("cat_24", 105, "item", 1.6),
    ID("cat_25", 142572, "item", 0.3),
};
static const char *const criteo_pairs[][2] = {{"cat_5", "cat_13"},
                                              {"cat_8", "cat_16"},
                                              {"cat_21", "cat_22"},
                                              {"cat_19", "cat_24"},
                                              {NULL, NULL}};

static void names_of(cr_buf *b, const synth_teacher *t, const char *side, bool dense, bool sparse) {
    int n = 0;
    for (int i = 0; i < t->n; i++) {
        const synth_col *c = t->v[i].col;
        if ((c->type == SYNTH_REAL ? !dense : !sparse) || (side && strcmp(c->side, side) != 0))
            continue;
        cr_buf_printf(b, "%s%s",
                      n == 0        ? ""
                      : n % 10 == 0 ? ",\n                      "
                                    : ", ",
                      c->name);
        n++;
    }
}

static void group(cr_buf *b, const synth_teacher *t, const char *name, const char *type,
                  const char *side, bool dense, bool sparse) {
    cr_buf_printf(b, "    - group_name: %s\n      group_type: %s\n      feature_names: [", name,
                  type);
    names_of(b, t, side, dense, sparse);
    cr_buf_str(b, "]\n");
}

static void criteo_yaml(cr_buf *b, const synth_teacher *t) {
    cr_buf_str(b, "model_config:\n  feature_groups:\n");
    group(b, t, "wide", "WIDE", NULL, false, true);
    group(b, t, "fm", "DEEP", NULL, false, true);
    group(b, t, "deep", "DEEP", NULL, true, true);
    cr_buf_str(b, "  deepfm:\n"
                  "    wide_embedding_dim: 1\n"
                  "    deep:\n      hidden_units: [512, 256, 128]\n"
                  "    final:\n      hidden_units: [64]\n");
}

/* ---- taobao: display ads, without the click sequences ---- */

static const double price_bounds[] = {5, 10, 20, 40, 80, 160, 320, 640, 1280, 0};
static const char *const pids[] = {"430548_1007", "430539_1007", "430547_1007",
                                   "430540_1007", "430541_1007", "430542_1007",
                                   "430543_1007", "430544_1007", NULL};
static const synth_col taobao_cols[] = {
    ID("user_id", 1141730, "user", 0.3),
    ID("cms_segid", 98, "user", 1.0),
    ID("cms_group_id", 14, "user", 1.0),
    ID("final_gender_code", 3, "user", 1.0),
    ID("age_level", 8, "user", 1.5),
    ID("pvalue_level", 5, "user", 1.0),
    ID("shopping_level", 5, "user", 1.5),
    ID("occupation", 3, "user", 1.0),
    ID("new_user_class_level", 6, "user", 1.0),
    {.name = "user_cates",
     .type = SYNTH_BAG,
     .card = 12961,
     .share = 1.0,
     .side = "user",
     .share_emb = "cate_emb"},
    ID("adgroup_id", 846812, "item", 0.3),
    {.name = "cate_id",
     .type = SYNTH_ID,
     .card = 12961,
     .share = 2.0,
     .side = "item",
     .share_emb = "cate_emb"},
    ID("campaign_id", 423438, "item", 0.3),
    ID("customer", 255877, "item", 0.3),
    ID("brand", 461498, "item", 0.3),
    {.name = "price",
     .type = SYNTH_NUM,
     .share = 1.5,
     .lo = 1,
     .hi = 3000,
     .skew = 3,
     .decimals = 2,
     .bounds = price_bounds,
     .side = "item"},
    {.name = "pid", .type = SYNTH_WORD, .card = 8, .words = pids, .share = 1.0, .side = "context"},
};
static const char *const taobao_pairs[][2] = {{"age_level", "cate_id"},
                                              {"final_gender_code", "cate_id"},
                                              {"pvalue_level", "pid"},
                                              {NULL, NULL}};

static void taobao_yaml(cr_buf *b, const synth_teacher *t) {
    cr_buf_str(b, "model_config:\n  feature_groups:\n");
    group(b, t, "user", "DEEP", "user", true, true);
    group(b, t, "item", "DEEP", "item", true, true);
    group(b, t, "context", "DEEP", "context", true, true);
    cr_buf_str(b, "  multi_tower:\n"
                  "    towers:\n"
                  "      - input: user\n        mlp:\n          hidden_units: [128, 64]\n"
                  "      - input: item\n        mlp:\n          hidden_units: [128, 64]\n"
                  "      - input: context\n        mlp:\n          hidden_units: [16]\n"
                  "    final:\n      hidden_units: [64, 32]\n");
}

/* ---- census: people and their income, categories in words ---- */

static const char *const workclass[] = {"Private",     "Self-emp-not-inc", "Local-gov",
                                        "State-gov",   "Self-emp-inc",     "Federal-gov",
                                        "Without-pay", "Never-worked",     NULL};
static const char *const education[] = {"HS-grad",   "Some-college", "Bachelors",  "Masters",
                                        "Assoc-voc", "11th",         "Assoc-acdm", "10th",
                                        "7th-8th",   "Prof-school",  "9th",        "12th",
                                        "Doctorate", "5th-6th",      "1st-4th",    "Preschool",
                                        NULL};
static const char *const marital[] = {
    "Married-civ-spouse",    "Never-married",     "Divorced", "Separated", "Widowed",
    "Married-spouse-absent", "Married-AF-spouse", NULL};
static const char *const occupation[] = {"Prof-specialty",
                                         "Craft-repair",
                                         "Exec-managerial",
                                         "Adm-clerical",
                                         "Sales",
                                         "Other-service",
                                         "Machine-op-inspct",
                                         "Transport-moving",
                                         "Handlers-cleaners",
                                         "Farming-fishing",
                                         "Tech-support",
                                         "Protective-serv",
                                         "Priv-house-serv",
                                         "Armed-Forces",
                                         NULL};
static const char *const relationship[] = {"Husband", "Not-in-family",  "Own-child", "Unmarried",
                                           "Wife",    "Other-relative", NULL};
static const char *const race[] = {"White", "Black", "Asian-Pac-Islander", "Amer-Indian-Eskimo",
                                   "Other", NULL};
static const char *const sex[] = {"Male", "Female", NULL};
static const char *const country[] = {"United-States",
                                      "Mexico",
                                      "Philippines",
                                      "Germany",
                                      "Canada",
                                      "Puerto-Rico",
                                      "El-Salvador",
                                      "India",
                                      "Cuba",
                                      "England",
                                      "Jamaica",
                                      "South",
                                      "China",
                                      "Italy",
                                      "Dominican-Republic",
                                      "Vietnam",
                                      "Guatemala",
                                      "Japan",
                                      "Poland",
                                      "Columbia",
                                      "Taiwan",
                                      "Haiti",
                                      "Iran",
                                      "Portugal",
                                      "Nicaragua",
                                      "Peru",
                                      "France",
                                      "Greece",
                                      "Ecuador",
                                      "Ireland",
                                      NULL};
static const double age_bounds[] = {18, 25, 30, 35, 40, 45, 50, 55, 60, 65, 0};
static const double hours_bounds[] = {20, 30, 35, 40, 45, 50, 60, 0};
static const double gain_bounds[] = {1000, 3000, 5000, 7500, 15000, 30000, 0};
static const double loss_bounds[] = {500, 1000, 1500, 2000, 0};

#define WORD(n, w, c, s)                                                                           \
    { .name = n, .type = SYNTH_WORD, .card = c, .words = w, .share = s, .side = "user" }
#define NUM(n, b, l, h, k, s)                                                                      \
    {                                                                                              \
        .name = n, .type = SYNTH_NUM, .bounds = b, .lo = l, .hi = h, .skew = k, .share = s,        \
        .side = "user"                                                                             \
    }
static const synth_col census_cols[] = {
    NUM("age", age_bounds, 17, 91, 1.6, 2.0),
    WORD("workclass", workclass, 8, 1.0),
    WORD("education", education, 16, 2.0),
    WORD("marital_status", marital, 7, 2.0),
    WORD("occupation", occupation, 14, 2.0),
    WORD("relationship", relationship, 6, 1.5),
    WORD("race", race, 5, 0.5),
    WORD("sex", sex, 2, 1.0),
    NUM("capital_gain", gain_bounds, 0, 100000, 6.0, 1.0),
    NUM("capital_loss", loss_bounds, 0, 4400, 4.0, 0.7),
    NUM("hours_per_week", hours_bounds, 1, 100, 1.2, 1.0),
    WORD("native_country", country, 30, 0.7),
};
static const char *const census_pairs[][2] = {{"education", "occupation"},
                                              {"marital_status", "sex"},
                                              {NULL, NULL}};

static void census_yaml(cr_buf *b, const synth_teacher *t) {
    cr_buf_str(b, "model_config:\n  feature_groups:\n");
    group(b, t, "wide", "WIDE", NULL, false, true);
    group(b, t, "deep", "DEEP", NULL, true, true);
    cr_buf_str(b, "  wide_and_deep:\n"
                  "    deep:\n      hidden_units: [128, 64, 32]\n");
}

#define COUNT(a) ((int)(sizeof(a) / sizeof *(a)))
static const synth_kind kinds[] = {
    {"criteo", "label", criteo_cols, COUNT(criteo_cols), criteo_pairs, 0.25, 1.40, 0.02, NULL, 0, 0,
     criteo_yaml},
    {"taobao", "clk", taobao_cols, COUNT(taobao_cols), taobao_pairs, 0.20, 1.35, 0.02, "buy", 0.15,
     1.35, taobao_yaml},
    {"census", "income", census_cols, COUNT(census_cols), census_pairs, 0.24, 1.75, 0.03, NULL, 0,
     0, census_yaml},
};

const char *const cr_synth_kinds[] = {"criteo", "taobao", "census", NULL};

const synth_kind *cr_synth_kind_find(const char *name) {
    for (int i = 0; i < COUNT(kinds); i++)
        if (strcmp(kinds[i].name, name) == 0) return &kinds[i];
    return NULL;
}
