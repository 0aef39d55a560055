/*
 * dbmtl.c - DBMTL (Wang et al., 2019): tasks in the order of a Bayesian net. x is the first group,
 * passed through mask_net and bottom_mlp if they are given; with expert_mlp each task t has its own
 * mixture x_t. h_t = mlp_t(x_t); r_t = relation_mlp_t([h_t; r_a ...]) with the r_a of the earlier
 * towers that it names, or h_t without relation_mlp; logits = FC(r_t).
 */
#include <stdio.h>
#include <string.h>

#include "layer/layer.h"
#include "model/config_int.h"
#include "model/model.h"
#include "op/op.h"

typedef struct dbmtl_conf {
    cr_conf_base base;
    cr_mask_net_conf *mask_net; /* each NULL: none */
    cr_mlp_conf *bottom_mlp, *expert_mlp, *gate_mlp;
    int64_t num_expert;
    cr_msgs task_towers; /* cr_task_conf */
} dbmtl_conf;
static const cr_field fields[] = {
    CR_MSG(dbmtl_conf, mask_net, &cr_mask_net_module_msg, 0, "mask blocks below everything"),
    CR_MSG(dbmtl_conf, bottom_mlp, &cr_mlp_msg, 0, "layers below everything"),
    CR_MSG(dbmtl_conf, expert_mlp, &cr_mlp_msg, 0, "layers of each expert"),
    CR_MSG(dbmtl_conf, gate_mlp, &cr_mlp_msg, 0, "layers of each task's gate"),
    CR_INT(dbmtl_conf, num_expert, 3, 1, CR_MAX_EXPERTS, 0, "number of experts"),
    CR_MSG(dbmtl_conf, task_towers, &cr_bayes_tower_msg, CR_F_REPEATED, HELP_TASKS),
    CR_END,
};
static void check(const void *self, cr_diag *diag) {
    const dbmtl_conf *c = self;
    static const char *const keys[] = {"gate_mlp", "num_expert"};
    for (int i = 0; !c->expert_mlp && i < 2; i++)
        if (cr_conf_has(c, keys[i]))
            cr_diag_add(diag, CR_SEV_WARN, CR_ECONF, cr_conf_at(c, keys[i]),
                        "%s has no effect without expert_mlp; add one, or remove it", keys[i]);
}
const cr_msg cr_dbmtl_msg = {
    .name = "DBMTL",
    .help = "Tasks that depend on each other like a Bayesian net",
    .fields = fields,
    .size = sizeof(dbmtl_conf),
    .check = check,
};

static int earlier(const cr_msgs *towers, int64_t n, const char *name) {
    for (int64_t i = 0; i < n; i++)
        if (strcmp(((const cr_task_conf *)towers->v[i])->tower_name, name) == 0) return (int)i;
    return -1;
}

/* Computes r_t from h_t and the r of earlier towers; NULL when there is a mistake. */
static cr_node *related(cr_build *b, const cr_msgs *towers, int64_t t, cr_node *h,
                        cr_node *const *r) {
    const cr_task_conf *c = towers->v[t];
    if (!c->relation_mlp) return h;
    const cr_strs *names = &c->relation_tower_names;
    cr_node **parts = CR_NEW_N(&b->m->arena, cr_node *, names->n + 1);
    parts[0] = h;
    for (int64_t i = 0; i < names->n; i++) {
        int a = earlier(towers, t, names->v[i]);
        if (a < 0) {
            cr_diag_add(
                b->diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at_item(c, "relation_tower_names", i),
                "task '%s' depends on '%s', which is not an earlier tower; list that one first",
                c->tower_name, names->v[i]);
            return NULL;
        }
        parts[i + 1] = r[a];
    }
    size_t mark = cr_graph_push(b->g, "relation_mlps");
    h = cr_mlp(b->g, c->tower_name, c->relation_mlp, cr_concat(b->g, parts, (int)names->n + 1),
               b->diag);
    cr_graph_pop(b->g, mark);
    return h;
}

static void build(cr_build *b, const void *conf) {
    const dbmtl_conf *c = conf;
    const char *group = cr_group_first(b, "dbmtl", c->base.at);
    cr_group_out in = group ? cr_group_build(b, group, c->base.at) : (cr_group_out){0};
    cr_node *net = in.node, *x[CR_MAX_TASKS];
    if (net && c->mask_net) net = cr_mask_net(b->g, "mask_net", c->mask_net, net, b->diag);
    if (!net) return;
    net = cr_mlp(b->g, "bottom_mlp", c->bottom_mlp, net, b->diag);
    for (int64_t t = 0; t < c->task_towers.n; t++)
        x[t] = net;
    if (c->expert_mlp && !cr_mmoe(b->g, "mmoe", c->expert_mlp, c->gate_mlp, c->num_expert, net,
                                  (int)c->task_towers.n, x, b->diag))
        return;
    for (int64_t t = 0; t < c->task_towers.n; t++) {
        const cr_task_conf *tc = c->task_towers.v[t];
        size_t mark = cr_graph_push(b->g, "task_mlps");
        x[t] = cr_mlp(b->g, tc->tower_name, tc->mlp, x[t], b->diag);
        cr_graph_pop(b->g, mark);
    }
    for (int64_t t = 0; t < c->task_towers.n; t++) {
        const cr_task_conf *tc = c->task_towers.v[t];
        x[t] = related(b, &c->task_towers, t, x[t], x);
        if (!x[t]) return;
        char name[40];
        snprintf(name, sizeof(name), "task_outputs.%d", (int)t);
        (void)cr_tower_task(b, tc, cr_linear(b->g, name, x[t], tc->num_class, true, false));
    }
}

const cr_model_type cr_model_dbmtl = {.name = "dbmtl", .build = build};
