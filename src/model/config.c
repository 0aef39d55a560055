/*
 * config.c - ModelConfig and feature groups.
 *
 * Whether the names in a model's config fit the groups and features is checked in
 * job/config_check.c, where the whole config is known.
 */
#include "model/config.h"

#include "metric/metric.h"
#include "model/config_int.h"

/* ---- feature groups ---- */
static const cr_enum_value group_types[] = {
    {"DEEP", CR_GROUP_DEEP, "vectors of the features' own width, side by side", NULL},
    {"WIDE", CR_GROUP_WIDE, "narrow vectors of wide_embedding_dim, from tables of their own", NULL},
    {"SEQUENCE", CR_GROUP_SEQUENCE, "a query per row and keys per step of its sequences", NULL},
    {"JAGGED_SEQUENCE", CR_GROUP_JAGGED_SEQUENCE, "the same as SEQUENCE: crank pads no group",
     NULL},
    {NULL, 0, NULL, NULL},
};
static const cr_field group_fields[] = {
    CR_STR(cr_group_conf, group_name, NULL, CR_F_REQUIRED, "name that models and towers use"),
    CR_STR(cr_group_conf, feature_names, NULL, CR_F_REPEATED, "features of the group, in order"),
    CR_ENUM(cr_group_conf, group_type, group_types, CR_GROUP_DEEP, 0,
            "what the group's features become"),
    CR_MSG(cr_group_conf, sequence_groups, &cr_seq_group_msg, CR_F_REPEATED,
           "sequences that the encoders read; in groups of type DEEP"),
    CR_MSG(cr_group_conf, sequence_encoders, &cr_seq_encoder_msg, CR_F_REPEATED,
           "turn the sequences of this group into vectors, which follow its features"),
    CR_STR(cr_group_conf, embedding_name_suffix, NULL, 0,
           "suffix of the table names, which gives the group its own tables"),
    CR_END,
};
static const cr_msg group_msg = {
    .name = "FeatureGroupConfig",
    .help = "Features that enter the model together",
    .fields = group_fields,
    .size = sizeof(cr_group_conf),
};

/* ---- models ---- */
static const cr_field tower_fields[] = {
    CR_STR(cr_tower_conf, input, NULL, CR_F_REQUIRED, HELP_INPUT),
    CR_MSG(cr_tower_conf, mlp, &cr_mlp_msg, 0, "layers of the tower; none: the group as it is"),
    CR_END,
};
const cr_msg cr_tower_msg = {
    .name = "Tower",
    .help = "Layers over one feature group",
    .fields = tower_fields,
    .size = sizeof(cr_tower_conf),
};

/* ---- ModelConfig ---- */
static const cr_enum_value kernels[] = {
    {"TRITON", 0, "GPU kernels of the sequential transducers", NULL},
    {"PYTORCH", 1, "plain loops", NULL},
    {"CUTLASS", 2, "GPU kernels of the sequential transducers", NULL},
    {NULL, 0, NULL, NULL},
};
static const cr_msg summary_msg = CR_MSG_LATER("ModelSummaries", "A curve of training");

static void model_check(const void *self, cr_diag *diag) {
    const cr_model_conf *c = self;
    if (c->model.m && strcmp(c->model.m->key, "multi_tower_din_trt") == 0)
        cr_diag_add(diag, CR_SEV_WARN, CR_OK, cr_conf_at(c, "multi_tower_din_trt"),
                    "'multi_tower_din_trt' of older releases is multi_tower_din with an export for "
                    "TensorRT, and is read as that; write multi_tower_din");
}
static const cr_field model_fields[] = {
    CR_MSG(cr_model_conf, feature_groups, &group_msg, CR_F_REPEATED,
           "how features enter the model"),
    CR_ONEOF(cr_model_conf, model, &cr_model_family, 0, "the model and its layers"),
    CR_INT(cr_model_conf, num_class, 1, 1, 65536, 0,
           "outputs; 1 for a yes-or-no label or a number"),
    CR_MSG(cr_model_conf, losses, &cr_loss_msg, CR_F_REPEATED, HELP_LOSSES),
    CR_MSG(cr_model_conf, metrics, &cr_metric_msg, CR_F_REPEATED, HELP_METRICS),
    CR_MSG(cr_model_conf, train_metrics, &cr_train_metric_msg, CR_F_REPEATED,
           "metrics shown while training"),
    CR_FLOAT(
        cr_model_conf, embedding_regularization, 0, 0, CR_INF, CR_F_OURS,
        "weight of a penalty on the squares of all looked-up vectors of a row, added to the loss"),
    CR_BOOL(cr_model_conf, missing_id_is_zero, false, CR_F_OURS,
            "in losses and metrics by session or group, rows without an id belong to id 0, as in "
            "TorchEasyRec; false: they are a group of their own"),
    CR_MSG(cr_model_conf, first_values, &cr_first_values_msg, CR_F_REPEATED | CR_F_OURS,
           "what dense parameters begin with; the first pattern that fits a name counts"),
    CR_MSG(cr_model_conf, variational_dropout, &cr_variational_dropout_msg, 0,
           "learn which features are needed"),
    CR_K_ENUM("kernel", kernels, 1, CR_F_SPEED, "kernels of the sequential transducers"),
    CR_BOOL(cr_model_conf, use_pareto_loss_weight, false, 0,
            "choose the weights of the task losses in each step from their gradients"),
    CR_K_INSTEAD("summaries_set", &summary_msg,
                 "these curves are not written; metrics { copc {} } evaluates the calibration",
                 CR_F_REPEATED | CR_F_IDLE, "curves of predictions"),
    CR_END,
};
const cr_msg cr_model_msg = {
    .name = "ModelConfig",
    .help = "Feature groups, model, losses and metrics",
    .fields = model_fields,
    .size = sizeof(cr_model_conf),
    .check = model_check,
};
