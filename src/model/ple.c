/*
 * ple.c - PLE (Tang et al., 2020): layers of experts over the first group, some for each task and
 * some shared. The gate of a task mixes its own experts and the shared ones, the gate of the shared
 * part mixes all of them. The logits of task t are tower_t(its mixture of the last layer).
 */
#include <stdio.h>

#include "layer/layer.h"
#include "model/config_int.h"
#include "model/model.h"

typedef struct ple_conf {
    cr_conf_base base;
    cr_msgs extraction_networks; /* cr_extraction_conf */
    cr_msgs task_towers;         /* cr_task_conf */
} ple_conf;
static const cr_field fields[] = {
    CR_MSG(ple_conf, extraction_networks, &cr_extraction_network_msg, CR_F_REPEATED,
           "layers of experts"),
    CR_MSG(ple_conf, task_towers, &cr_task_tower_msg, CR_F_REPEATED, HELP_TASKS),
    CR_END,
};
const cr_msg cr_ple_msg = {
    .name = "PLE",
    .help = "Layers of task and shared experts",
    .fields = fields,
    .size = sizeof(ple_conf),
};

static void build(cr_build *b, const void *conf) {
    const ple_conf *c = conf;
    const char *group = cr_group_first(b, "ple", c->base.at);
    cr_group_out in = group ? cr_group_build(b, group, c->base.at) : (cr_group_out){0};
    if (c->extraction_networks.n == 0)
        cr_diag_add(b->diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "extraction_networks"),
                    "ple has no extraction_networks; add one, or use simple_multi_task");
    if (!in.node || c->extraction_networks.n == 0) return;
    cr_node *x[CR_MAX_TASKS], *shared = in.node;
    for (int64_t i = 0; i < c->task_towers.n; i++)
        x[i] = in.node;
    /* the shared mixture is made only while a later layer has shared experts */
    int64_t n = c->extraction_networks.n, last = n - 1;
    while (last > 0 && ((const cr_extraction_conf *)c->extraction_networks.v[last])->share_num == 0)
        last--;
    for (int64_t i = 0; i < n; i++) {
        char name[40];
        snprintf(name, sizeof(name), "_extraction_nets.%d", (int)i);
        if (!cr_extraction(b->g, name, c->extraction_networks.v[i], i < last, x, &shared,
                           (int)c->task_towers.n, b->diag))
            return;
    }
    cr_end_towers(b, &c->task_towers, x);
}

const cr_model_type cr_model_ple = {.name = "ple", .build = build};
