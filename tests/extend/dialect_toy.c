/*
 * toy.c - a dialect: the keys of the root begin with toy_.
 */
#include "dialect/list.h"

static const char *const keys[][2] = {
    {"toy_data", "data_config"},           {"toy_features", "feature_configs"},
    {"toy_model", "model_config"},         {"toy_train", "train_config"},
    {"toy_input", "train_input_path"},     {"toy_eval", "eval_config"},
    {"toy_eval_input", "eval_input_path"}, {NULL, NULL},
};

static const cr_conf_entry *sign(const cr_conf_doc *doc) {
    static const char *const only[][2] = {{"toy_data", "batch_size"}, {NULL, NULL}};
    return cr_dialect_key(doc, only);
}

static cr_code rewrite(cr_conf_doc *doc, const cr_conf_entry *found, cr_diag *diag) {
    (void)found;
    (void)diag;
    for (int i = 0; keys[i][0]; i++)
        cr_tree_rename(doc, doc->root, keys[i][0], keys[i][1]);
    return CR_OK;
}

const cr_dialect cr_dialect_toy = {.name = "Toy", .sign = sign, .rewrite = rewrite};
