/*
 * config_rank.c - messages of ranking and multi-task models that are not in this version: tables
 * only, nothing stored.
 */
#include "metric/metric.h"
#include "model/config_int.h"

/* ---- single task ---- */
static const cr_field din_tower_fields[] = {
    CR_K_STR("input", NULL, CR_F_REQUIRED, "name of the sequence group it reads"),
    CR_K_MSG("attn_mlp", &cr_mlp_msg, CR_F_REQUIRED, "layers that score each step"),
    CR_END,
};
static const cr_msg din_tower_msg = {
    "DINTower", "Attention of a query over a sequence", din_tower_fields, 0, true, NULL};
static const cr_field multi_tower_din_fields[] = {
    CR_K_MSG("towers", &cr_tower_msg, CR_F_REPEATED, HELP_TOWERS),
    CR_K_MSG("din_towers", &din_tower_msg, CR_F_REPEATED, "one tower per sequence group"),
    CR_K_MSG("final", &cr_mlp_msg, CR_F_REQUIRED, HELP_FINAL),
    CR_END,
};
const cr_msg cr_multi_tower_din_msg = {"MultiTowerDIN",
                                       "Towers, some with attention over sequences",
                                       multi_tower_din_fields,
                                       0,
                                       true,
                                       NULL};

static const cr_field rocket_fields[] = {
    CR_K_MSG("share_mlp", &cr_mlp_msg, 0, "layers below both nets"),
    CR_K_MSG("booster_mlp", &cr_mlp_msg, CR_F_REQUIRED, "layers of the large net that teaches"),
    CR_K_MSG("light_mlp", &cr_mlp_msg, CR_F_REQUIRED, "layers of the small net that serves"),
    CR_K_BOOL("feature_based_distillation", false, 0, "layers of equal width also teach"),
    CR_K_ENUM("feature_distillation_function", cr_similarities, CR_COSINE, 0,
              "how such layers are compared"),
    CR_END,
};
const cr_msg cr_rocket_msg = {"RocketLaunching",
                              "A small net taught by a large one in training",
                              rocket_fields,
                              0,
                              true,
                              NULL};

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
#define SAMPLE_WEIGHT CR_K_STR("sample_weight_name", NULL, 0, "row weight column of the task")

static const cr_field task_tower_fields[] = {TASK_ROWS(CR_F_REQUIRED), SAMPLE_WEIGHT, CR_END};
static const cr_msg task_tower_msg = {
    "TaskTower", "One task of a multi-task model", task_tower_fields, 0, true, NULL};
static const cr_field bayes_tower_fields[] = {
    TASK_ROWS(0),
    SAMPLE_WEIGHT,
    CR_K_STR("relation_tower_names", NULL, CR_F_REPEATED, "earlier towers this one depends on"),
    CR_K_MSG("relation_mlp", &cr_mlp_msg, 0, "layers over this tower and those"),
    CR_END,
};
static const cr_msg bayes_tower_msg = {
    "BayesTaskTower", "A task that depends on earlier tasks", bayes_tower_fields, 0, true, NULL};
static const cr_field intervention_tower_fields[] = {
    TASK_ROWS(CR_F_REQUIRED),
    CR_K_STR("intervention_tower_names", NULL, CR_F_REPEATED, "earlier towers that intervene"),
    CR_K_INT("low_rank_dim", 0, 1, CR_U32_MAX, CR_F_REQUIRED, "width of the shared subspace"),
    CR_K_FLOAT("dropout_ratio", 0.1, 0, 1, 0, "share of units dropped while training"),
    CR_END,
};
static const cr_msg intervention_tower_msg = {"InterventionTaskTower",
                                              "A task corrected by earlier tasks",
                                              intervention_tower_fields,
                                              0,
                                              true,
                                              NULL};

/* ---- multi-task models ---- */
#define EXPERT_ROWS                                                                                \
    CR_K_MSG("bottom_mlp", &cr_mlp_msg, 0, "layers below everything"),                             \
        CR_K_MSG("expert_mlp", &cr_mlp_msg, 0, "layers of each expert"),                           \
        CR_K_MSG("gate_mlp", &cr_mlp_msg, 0, "layers of each task's gate"),                        \
        CR_K_INT("num_expert", 3, 1, CR_U32_MAX, 0, "number of experts")

static const cr_field simple_multi_task_fields[] = {
    CR_K_MSG("task_towers", &task_tower_msg, CR_F_REPEATED, HELP_TASKS),
    CR_END,
};
const cr_msg cr_simple_multi_task_msg = {"SimpleMultiTask",
                                         "Task towers over one shared input",
                                         simple_multi_task_fields,
                                         0,
                                         true,
                                         NULL};
static const cr_field mmoe_fields[] = {
    CR_K_MSG("expert_mlp", &cr_mlp_msg, CR_F_REQUIRED, "layers of each expert"),
    CR_K_MSG("gate_mlp", &cr_mlp_msg, 0, "layers of each task's gate"),
    CR_K_INT("num_expert", 3, 1, CR_U32_MAX, 0, "number of experts"),
    CR_K_MSG("task_towers", &task_tower_msg, CR_F_REPEATED, HELP_TASKS),
    CR_END,
};
const cr_msg cr_mmoe_msg = {"MMoE", "Shared experts mixed by a gate per task", mmoe_fields, 0, true,
                            NULL};
static const cr_field dbmtl_fields[] = {
    CR_K_MSG("mask_net", &cr_mask_net_module_msg, 0, "mask blocks below everything"),
    EXPERT_ROWS,
    CR_K_MSG("task_towers", &bayes_tower_msg, CR_F_REPEATED, HELP_TASKS),
    CR_END,
};
const cr_msg cr_dbmtl_msg = {"DBMTL",      "Tasks that depend on each other like a Bayesian net",
                             dbmtl_fields, 0,
                             true,         NULL};
static const cr_field dc2vr_fields[] = {
    EXPERT_ROWS,
    CR_K_MSG("task_towers", &intervention_tower_msg, CR_F_REPEATED, HELP_TASKS),
    CR_END,
};
const cr_msg cr_dc2vr_msg = {"DC2VR",      "Tasks corrected by interventions of earlier ones",
                             dc2vr_fields, 0,
                             true,         NULL};
static const cr_field ple_fields[] = {
    CR_K_MSG("extraction_networks", &cr_extraction_network_msg, CR_F_REPEATED, "layers of experts"),
    CR_K_MSG("task_towers", &task_tower_msg, CR_F_REPEATED, HELP_TASKS),
    CR_END,
};
const cr_msg cr_ple_msg = {"PLE", "Layers of task and shared experts", ple_fields, 0, true, NULL};
static const cr_field pepnet_fields[] = {
    CR_K_INT("epnet_hidden_unit", 0, 0, CR_U32_MAX, 0, "width of the domain gate; 0: the input's"),
    CR_K_FLOAT("epnet_gamma", 2.0, 0, CR_INF, 0, "highest factor of the domain gate"),
    CR_K_INT("ppnet_hidden_units", 0, 1, CR_U32_MAX, CR_F_REPEATED, "width of each gated layer"),
    CR_K_STR("ppnet_activation", "nn.ReLU", 0, "function after each gated layer"),
    CR_K_FLOAT("ppnet_dropout_ratio", 0, 0, 1, CR_F_REPEATED, "share of units dropped per layer"),
    CR_K_FLOAT("ppnet_gamma", 2.0, 0, CR_INF, 0, "highest factor of the personal gates"),
    CR_K_STR("domain_input_name", NULL, 0, "label column that holds the row's domain"),
    CR_K_INT("task_domain_num", 1, 1, CR_U32_MAX, 0, "towers per task, one per domain"),
    CR_K_MSG("task_towers", &task_tower_msg, CR_F_REPEATED, HELP_TASKS),
    CR_END,
};
const cr_msg cr_pepnet_msg = {"PEPNet",      "Layers gated by domain and by person",
                              pepnet_fields, 0,
                              true,          NULL};
