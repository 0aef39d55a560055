/*
 * simple_multi_task.c - shared bottom (Caruana, 1997): the logits of task t are tower_t(bottom(x)),
 * where x is the first group. TorchEasyRec has the message but no such model; bottom_mlp is crank's
 * own.
 */
#include "layer/layer.h"
#include "model/config_int.h"
#include "model/model.h"

typedef struct simple_conf {
    cr_conf_base base;
    cr_mlp_conf *bottom_mlp; /* NULL: none */
    cr_msgs task_towers;     /* cr_task_conf */
} simple_conf;
static const cr_field fields[] = {
    CR_MSG(simple_conf, bottom_mlp, &cr_mlp_msg, CR_F_OURS, "layers that all tasks share"),
    CR_MSG(simple_conf, task_towers, &cr_task_tower_msg, CR_F_REPEATED, HELP_TASKS),
    CR_END,
};
const cr_msg cr_simple_multi_task_msg = {
    .name = "SimpleMultiTask",
    .help = "Task towers over one shared input",
    .fields = fields,
    .size = sizeof(simple_conf),
};

static void build(cr_build *b, const void *conf) {
    const simple_conf *c = conf;
    const char *group = cr_group_first(b, "simple_multi_task", c->base.at);
    cr_group_out in = group ? cr_group_build(b, group, c->base.at) : (cr_group_out){0};
    if (!in.node) return;
    cr_node *x[CR_MAX_TASKS], *h = cr_mlp(b->g, "bottom_mlp", c->bottom_mlp, in.node, b->diag);
    for (int64_t i = 0; i < c->task_towers.n; i++)
        x[i] = h;
    cr_end_towers(b, &c->task_towers, x);
}

const cr_model_type cr_model_simple_multi_task = {.name = "simple_multi_task", .build = build};
