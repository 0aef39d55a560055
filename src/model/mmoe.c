/*
 * mmoe.c - MMoE (Ma et al., 2018): experts over the first group, which each task mixes with its own
 * gate. The logits of task t are tower_t(sum_j softmax(gate_t(x))_j expert_j(x)).
 */
#include "layer/layer.h"
#include "model/config_int.h"
#include "model/model.h"

typedef struct mmoe_conf {
    cr_conf_base base;
    cr_mlp_conf *expert_mlp;
    cr_mlp_conf *gate_mlp; /* NULL: none */
    int64_t num_expert;
    cr_msgs task_towers; /* cr_task_conf */
} mmoe_conf;
static const cr_field fields[] = {
    CR_MSG(mmoe_conf, expert_mlp, &cr_mlp_msg, CR_F_REQUIRED, "layers of each expert"),
    CR_MSG(mmoe_conf, gate_mlp, &cr_mlp_msg, 0, "layers of each task's gate"),
    CR_INT(mmoe_conf, num_expert, 3, 1, CR_MAX_EXPERTS, 0, "number of experts"),
    CR_MSG(mmoe_conf, task_towers, &cr_task_tower_msg, CR_F_REPEATED, HELP_TASKS),
    CR_END,
};
const cr_msg cr_mmoe_msg = {
    .name = "MMoE",
    .help = "Shared experts mixed by a gate per task",
    .fields = fields,
    .size = sizeof(mmoe_conf),
};

static void build(cr_build *b, const void *conf) {
    const mmoe_conf *c = conf;
    const char *group = cr_group_first(b, "mmoe", c->base.at);
    cr_group_out in = group ? cr_group_build(b, group, c->base.at) : (cr_group_out){0};
    if (!in.node) return;
    cr_node *x[CR_MAX_TASKS];
    if (cr_mmoe(b->g, "mmoe", c->expert_mlp, c->gate_mlp, c->num_expert, in.node,
                (int)c->task_towers.n, x, b->diag))
        cr_end_towers(b, &c->task_towers, x);
}

const cr_model_type cr_model_mmoe = {.name = "mmoe", .build = build};
