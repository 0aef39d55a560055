/*
 * config_rank.c - messages of ranking and multi-task models that are not in this version: tables
 * only, nothing stored.
 */
#include "metric/metric.h"
#include "model/config_int.h"

/* ---- task towers ---- */
#define TASK_ROWS(label_flags)                                                                     \
    CR_K_STR("tower_name", NULL, CR_F_REQUIRED, "name of the task"),                               \
        CR_K_STR("label_name", NULL, label_flags, "label column of the task"),                     \
        CR_K_MSG("metrics", &cr_metric_msg, CR_F_REPEATED, "what evaluation measures"),            \
        CR_K_MSG("train_metrics", &cr_train_metric_msg, CR_F_REPEATED,                             \
                 "metrics shown while training"),                                                  \
        CR_K_MSG("losses", &cr_loss_msg, CR_F_REPEATED, "what training makes small"),              \
        CR_K_INT("num_class", 1, 1, 65536, 0, "outputs of the task"),                              \
        CR_K_MSG("mlp", &cr_mlp_msg, 0, "layers of the task"),                                     \
        CR_K_FLOAT("weight", 1.0, 0, CR_INF, 0, "weight of the task's loss"),                      \
        CR_K_STR("task_space_indicator_label", NULL, 0,                                            \
                 "label that says which rows the task is about"),                                  \
        CR_K_FLOAT("in_task_space_weight", 1.0, 0, CR_INF, 0, "weight of those rows"),             \
        CR_K_FLOAT("out_task_space_weight", 1.0, 0, CR_INF, 0, "weight of the others"),            \
        CR_K_FLOAT("pareto_min_loss_weight", 0.0, 0, 1, 0, "least weight of the task's loss")

static const cr_field intervention_tower_fields[] = {
    TASK_ROWS(CR_F_REQUIRED),
    CR_K_STR("intervention_tower_names", NULL, CR_F_REPEATED, "earlier towers that intervene"),
    CR_K_INT("low_rank_dim", 0, 1, CR_U32_MAX, CR_F_REQUIRED, "width of the shared subspace"),
    CR_K_FLOAT("dropout_ratio", 0.1, 0, 1, 0, "share of units dropped while training"),
    CR_END,
};
static const cr_msg intervention_tower_msg = {
    .name = "InterventionTaskTower",
    .help = "A task corrected by earlier tasks",
    .fields = intervention_tower_fields,
    .later = true,
};

/* ---- multi-task models ---- */
#define EXPERT_ROWS                                                                                \
    CR_K_MSG("bottom_mlp", &cr_mlp_msg, 0, "layers below everything"),                             \
        CR_K_MSG("expert_mlp", &cr_mlp_msg, 0, "layers of each expert"),                           \
        CR_K_MSG("gate_mlp", &cr_mlp_msg, 0, "layers of each task's gate"),                        \
        CR_K_INT("num_expert", 3, 1, CR_U32_MAX, 0, "number of experts")

static const cr_field dc2vr_fields[] = {
    EXPERT_ROWS,
    CR_K_MSG("task_towers", &intervention_tower_msg, CR_F_REPEATED, HELP_TASKS),
    CR_END,
};
const cr_msg cr_dc2vr_msg = {
    .name = "DC2VR",
    .help = "Tasks corrected by interventions of earlier ones",
    .fields = dc2vr_fields,
    .later = true,
};
