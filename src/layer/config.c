/*
 * config.c - the messages of modules and losses.
 *
 * MLP and the losses are in use; the modules of models that come later have tables only, so that
 * their configs are read, checked and explained. A loss that can be used is a line of LOSSES.
 */
#include "layer/config.h"

#include <math.h>

#include <string.h>

#include "conf/conf.h"

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

/* ---- modules of later versions ---- */
static const cr_field capsule_fields[] = {
    CR_K_INT("max_k", 5, 1, CR_U32_MAX, 0, "most interests of a user"),
    CR_K_INT("max_seq_len", 0, 1, CR_U32_MAX, CR_F_REQUIRED, "most steps of the history"),
    CR_K_INT("high_dim", 0, 1, CR_U32_MAX, CR_F_REQUIRED, "width of an interest"),
    CR_K_INT("num_iters", 3, 1, CR_U32_MAX, 0, "rounds of routing"),
    CR_K_FLOAT("routing_logits_scale", 20, -CR_INF, CR_INF, 0, "factor of the routing scores"),
    CR_K_FLOAT("routing_logits_stddev", 1, 0, CR_INF, 0, "spread of the first routing scores"),
    CR_K_FLOAT("squash_pow", 1, 0, CR_INF, 0, "power in the squash function"),
    CR_K_BOOL("const_caps_num", false, 0, "max_k interests for every user"),
    CR_K_STR("routing_init_method", "normal", 0, "first routing scores: normal or zeros"),
    CR_END,
};
const cr_msg cr_capsule_msg = {
    .name = "B2ICapsule",
    .help = "Capsule routing from behaviours to interests",
    .fields = capsule_fields,
    .later = true,
};

const cr_enum_value cr_similarities[] = {
    {"COSINE", CR_COSINE, "dot product of vectors of length one", NULL},
    {"INNER_PRODUCT", CR_INNER_PRODUCT, "dot product", NULL},
    {"EUCLID", CR_EUCLID, "distance", NULL},
    {NULL, 0, NULL, NULL},
};

/* ---- losses ---- */
#define LOSSES(X)                                                                                  \
    X(binary_cross_entropy, bce_msg, cr_loss_bce)                                                  \
    X(softmax_cross_entropy, softmax_msg, cr_loss_softmax)                                         \
    X(l2_loss, l2_msg, cr_loss_l2)                                                                 \
    X(jrc_loss, jrc_msg, cr_loss_jrc)                                                              \
    X(binary_focal_loss, focal_msg, cr_loss_focal)                                                 \
    X(listwise_rank_loss, listwise_msg, cr_loss_listwise)                                          \
    X(pairwise_loss, pairwise_msg, cr_loss_pairwise)
#define DECLARE(key, msg, type) extern const cr_loss_type type;
#define ENTRY(key, msg, type)   {#key, &msg, &type},
LOSSES(DECLARE)

static const cr_field no_fields[] = {CR_END};
static const cr_field bce_fields[] = {
    CR_FLOAT(cr_bce_conf, label_smoothing, 0, 0, 1, 0,
             "share of the label spread over all classes"),
    CR_BOOL(cr_bce_conf, soft_labels, false, CR_F_OURS,
            "labels may be any share from 0 to 1; false: only 0 and 1"),
    CR_END,
};
static const cr_field cross_entropy_fields[] = {
    CR_FLOAT(cr_cross_entropy_conf, label_smoothing, 0, 0, 1, 0,
             "share of the label spread over all classes"),
    CR_END,
};
static const cr_msg bce_msg = {
    .name = "BinaryCrossEntropy",
    .help = "Log loss of a yes-or-no label",
    .fields = bce_fields,
    .size = sizeof(cr_bce_conf),
};
static const cr_msg softmax_msg = {
    .name = "SoftmaxCrossEntropy",
    .help = "Log loss over num_class classes",
    .fields = cross_entropy_fields,
    .size = sizeof(cr_cross_entropy_conf),
};
static const cr_field l2_fields[] = {
    CR_FLOAT(cr_l2_conf, label_mean, 0, -CR_INF, CR_INF, CR_F_OURS,
             "mean of the labels; the prediction is this number plus the output of the model"),
    CR_END,
};
static void l2_check(const void *self, cr_diag *diag) {
    const cr_l2_conf *c = self;
    if (!isfinite((float)c->label_mean))
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "label_mean"),
                    "label_mean must be finite; leave it out for 0");
}
static const cr_msg l2_msg = {
    .name = "L2Loss",
    .help = "Mean squared error",
    .fields = l2_fields,
    .size = sizeof(cr_l2_conf),
    .check = l2_check,
};
static const cr_field jrc_fields[] = {
    CR_STR(cr_jrc_conf, session_name, NULL, 0,
           "sparse feature whose first id is the session; empty: the batch is one session"),
    CR_FLOAT(cr_jrc_conf, alpha, 0.5, 0, 1, 0, "weight of the point-wise part"),
    CR_END,
};
static const cr_msg jrc_msg = {
    .name = "JRCLoss",
    .help = "Calibration and ranking inside sessions at once",
    .fields = jrc_fields,
    .size = sizeof(cr_jrc_conf),
};
static const cr_field focal_fields[] = {
    CR_FLOAT(cr_focal_conf, gamma, 2.0, 0, CR_INF, 0, "how much less easy rows count"),
    CR_FLOAT(cr_focal_conf, alpha, 0.5, 0, 1, 0, "weight of positive rows"),
    CR_END,
};
static const cr_msg focal_msg = {
    .name = "BinaryFocalLoss",
    .help = "Log loss in which easy rows count less",
    .fields = focal_fields,
    .size = sizeof(cr_focal_conf),
};
static const cr_field listwise_fields[] = {
    CR_STR(cr_listwise_conf, session_name, NULL, CR_F_REQUIRED,
           "sparse feature whose first id is the list"),
    CR_FLOAT(cr_listwise_conf, temperature_init, 0.07, 0, CR_INF, 0,
             "what logits are divided by, at first"),
    CR_BOOL(cr_listwise_conf, learnable_temperature, true, 0, "learn it; never below 0.01"),
    CR_END,
};
static void listwise_check(const void *self, cr_diag *diag) {
    const cr_listwise_conf *c = self;
    if (!(c->temperature_init > 0 && isfinite(c->temperature_init)))
        cr_diag_add(
            diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "temperature_init"),
            "temperature_init must be above 0, since logits are divided by it; leave it out "
            "for 0.07");
}
static const cr_msg listwise_msg = {
    .name = "ListwiseRankLoss",
    .help = "Log loss of the positive rows among those of their list",
    .fields = listwise_fields,
    .size = sizeof(cr_listwise_conf),
    .check = listwise_check,
};
static const cr_enum_value pair_kinds[] = {
    {"LOGISTIC", CR_PAIR_LOGISTIC, "log(1 + exp(-d)) of a pair's score difference d", NULL},
    {"HINGE", CR_PAIR_HINGE, "max(0, margin - d)", NULL},
    {NULL, 0, NULL, NULL},
};
static const cr_field pairwise_fields[] = {
    CR_STR(cr_pairwise_conf, session_name, NULL, 0,
           "sparse feature whose first id is the session; empty: the batch is one session"),
    CR_ENUM(cr_pairwise_conf, kind, pair_kinds, CR_PAIR_LOGISTIC, 0, "loss of one pair"),
    CR_FLOAT(cr_pairwise_conf, margin, 1.0, 0, CR_INF, 0, "distance that HINGE asks for"),
    CR_INT(cr_pairwise_conf, max_negatives, 32, 1, 1048576, 0,
           "most negatives that a positive is compared with; more are sampled down to this number"),
    CR_END,
};
static const cr_msg pairwise_msg = {
    .name = "PairwiseLoss",
    .help = "Positive rows above the negative rows of their session; crank "
            "only",
    .fields = pairwise_fields,
    .size = sizeof(cr_pairwise_conf),
};
static const cr_oneof_member losses[] = {LOSSES(ENTRY){NULL, NULL, NULL}};
/* not required: a loss of the second kind may stand alone; loss_check sees to the empty message */
const cr_oneof cr_loss_family = {"loss", false, losses};

static const cr_field recon_fields[] = {
    CR_K_STR("recon_type", "l2", 0, "distance of input and output: l2, l1 or cos"),
    CR_END,
};
static const cr_msg recon_msg = {
    .name = "ReconLoss",
    .help = "How far the decoded vector is from the input",
    .fields = recon_fields,
    .later = true,
};
static const cr_field commitment_fields[] = {
    CR_K_FLOAT("latent_weight", 0, 0, CR_INF, CR_F_REPEATED,
               "weights of the two directions; not given: 1 and 0.5"),
    CR_K_STR("commitment_type", "l2", 0, "distance of vector and codes"),
    CR_END,
};
static const cr_msg commitment_msg = {
    .name = "CommitmentLoss",
    .help = "Pulls vectors and their codes together",
    .fields = commitment_fields,
    .later = true,
};
static const cr_msg contrastive_msg = {
    .name = "ContrastiveLoss",
    .help = "Pulls vectors of paired items together",
    .fields = no_fields,
    .later = true,
};
static const cr_oneof_member sid_losses[] = {
    {"recon_loss", &recon_msg, NULL},
    {"commitment_loss", &commitment_msg, NULL},
    {"contrastive_loss", &contrastive_msg, NULL},
    {NULL, NULL, NULL},
};
static const cr_oneof sid_loss_family = {"semantic-id loss", false, sid_losses};

static const cr_field loss_fields[] = {
    CR_ONEOF(cr_loss_conf, loss, &cr_loss_family, 0, "what training makes small"),
    CR_K_ONEOF("sid_loss", &sid_loss_family, 0, "losses of the semantic-id models"),
    CR_FLOAT(cr_loss_conf, weight, 1, 0, CR_INF, 0, "factor of this loss"),
    CR_END,
};
static void loss_check(const void *self, cr_diag *diag) {
    const cr_loss_conf *c = self;
    if (!c->loss.m)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, c->base.at,
                    "this loss names none; write for example %s",
                    CR_SAY(c, "binary_cross_entropy", "{}"));
}
const cr_msg cr_loss_msg = {
    .name = "LossConfig",
    .help = "One loss",
    .fields = loss_fields,
    .size = sizeof(cr_loss_conf),
    .check = loss_check,
};
