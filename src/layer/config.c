/*
 * config.c - the config messages of modules.
 */
#include "layer/config.h"

/* ---- MLP ---- */
static const cr_field mlp_fields[] = {
    CR_INT(cr_mlp_conf, hidden_units, 0, 1, 1048576, CR_F_REPEATED, "width of each layer"),
    CR_FLOAT(cr_mlp_conf, dropout_ratio, 0, 0, 1, CR_F_REPEATED,
             "share of units dropped while training: one for all layers, or one per layer"),
    CR_STR(
        cr_mlp_conf, activation, "nn.ReLU", 0,
        "function after each layer, as torch names it (nn.ReLU, nn.LeakyReLU(negative_slope=0.2)), "
        "Dice, or empty for none; 'crank help activations' lists them"),
    CR_BOOL(cr_mlp_conf, use_bn, false, 0, "batch norm before the activation"),
    CR_BOOL(cr_mlp_conf, bias, true, 0, "layers have a bias; never with use_bn"),
    CR_BOOL(cr_mlp_conf, use_ln, false, 0, "layer norm before the activation"),
    CR_END,
};

static void mlp_check(const void *self, cr_diag *diag) {
    const cr_mlp_conf *c = self;
    if (c->hidden_units.n == 0)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "hidden_units"),
                    "hidden_units is empty; give the width of at least one layer");
    if (c->dropout_ratio.n > 1 && c->dropout_ratio.n != c->hidden_units.n)
        cr_diag_add(
            diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "dropout_ratio"),
            "dropout_ratio has %lld values for %lld layers; give one for all or one per layer",
            (long long)c->dropout_ratio.n, (long long)c->hidden_units.n);
    for (int64_t i = 0; i < c->dropout_ratio.n; i++)
        if ((float)c->dropout_ratio.v[i] >= 1) {
            cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at_item(c, "dropout_ratio", i),
                        "a dropout_ratio of 1 drops every unit; use a value below 1");
            break;
        }
    if (c->use_bn && c->use_ln)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "use_ln"),
                    "use_bn and use_ln exclude each other; keep one of them");
}
const cr_msg cr_mlp_msg = {
    .name = "MLP",
    .help = "A stack of linear layers",
    .fields = mlp_fields,
    .size = sizeof(cr_mlp_conf),
    .check = mlp_check,
};

/* ---- variational dropout ---- */
static const cr_field variational_dropout_fields[] = {
    CR_FLOAT(cr_variational_conf, regularization_lambda, 0.01, 0, CR_INF, 0,
             "weight of the loss that drops features"),
    CR_K_BOOL("embedding_wise_variational_dropout", false, CR_F_SPEED,
              "accepted and not used, as in TorchEasyRec"),
    CR_END,
};
const cr_msg cr_variational_dropout_msg = {
    .name = "VariationalDropout",
    .help = "Learns which features a group can do without",
    .fields = variational_dropout_fields,
    .size = sizeof(cr_variational_conf),
};

const cr_enum_value cr_similarities[] = {
    {"COSINE", CR_COSINE, "dot product of vectors of length one", NULL},
    {"INNER_PRODUCT", CR_INNER_PRODUCT, "dot product", NULL},
    {"EUCLID", CR_EUCLID, "distance", NULL},
    {NULL, 0, NULL, NULL},
};
