/*
 * native.c - crank's own dialect: the keys of TorchEasyRec. There is nothing to rewrite. Its signs
 * make sure that no other dialect takes a config that has one of them.
 */
#include "dialect/list.h"

static const cr_conf_entry *native_sign(const cr_conf_doc *doc) {
    static const char *const keys[][2] = {
        {"train_config", "sparse_optimizer"},    {"train_config", "dense_optimizer"},
        {"data_config", "dataset_type"},         {"data_config", "fg_mode"},
        {"feature_configs", "id_feature"},       {"feature_configs", "raw_feature"},
        {"feature_configs", "sequence_feature"}, {NULL, NULL},
    };
    return cr_dialect_key(doc, keys);
}

static cr_code native_rewrite(cr_conf_doc *doc, const cr_conf_entry *sign, const cr_dialect_opts *o,
                              cr_diag *diag) {
    (void)o;
    (void)doc;
    (void)sign;
    (void)diag;
    return CR_OK;
}

const cr_dialect cr_dialect_native = {
    .name = "TorchEasyRec",
    .sign = native_sign,
    .rewrite = native_rewrite,
};
