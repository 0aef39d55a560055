/*
 * multi_tower.c - y = FC(final([mlp_i(group_i)...])): one tower of dense layers per feature group.
 * cr_towers_build makes the same towers for other models.
 */
#include "layer/layer.h"
#include "model/config_int.h"
#include "model/model.h"
#include "op/op.h"

static const cr_field multi_tower_fields[] = {
    CR_MSG(cr_multi_tower_conf, towers, &cr_tower_msg, CR_F_REPEATED, HELP_TOWERS),
    CR_MSG(cr_multi_tower_conf, final, &cr_mlp_msg, 0, HELP_FINAL),
    CR_END,
};
const cr_msg cr_multi_tower_msg = {
    .name = "MultiTower",
    .help = "A tower per feature group and layers over all of them",
    .fields = multi_tower_fields,
    .size = sizeof(cr_multi_tower_conf),
};

int cr_towers_build(cr_build *b, const cr_msgs *towers, cr_node **parts) {
    int n = 0;
    for (int64_t i = 0; i < towers->n; i++) {
        const cr_tower_conf *t = towers->v[i];
        cr_group_out in = cr_group_build(b, t->input, cr_conf_at(t, "input"));
        if (!in.node) continue;
        size_t mark = cr_graph_push(b->g, "towers");
        parts[n++] = cr_mlp(b->g, t->input, t->mlp, in.node, b->diag);
        cr_graph_pop(b->g, mark);
    }
    return n;
}

void cr_towers_check(const cr_model_conf *m, const cr_msgs *towers, cr_diag *diag) {
    for (int64_t i = 0; i < towers->n; i++) {
        const cr_tower_conf *t = towers->v[i];
        if (t->input[0]) cr_group_named(m, cr_conf_at(t, "input"), "tower", t->input, diag);
    }
}

static void check(const cr_model_conf *m, const void *conf, cr_diag *diag) {
    const cr_multi_tower_conf *c = conf;
    if (c->towers.n == 0 && !cr_conf_has(c, "towers") && !cr_conf_refused(c, "towers"))
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, c->base.at,
                    "multi_tower has no towers; add one for each feature group");
    cr_towers_check(m, &c->towers, diag);
}

static void build(cr_build *b, const void *conf) {
    const cr_multi_tower_conf *c = conf;
    cr_node **parts = CR_NEW_N(&b->m->arena, cr_node *, c->towers.n + 1);
    int n = cr_towers_build(b, &c->towers, parts);
    if (c->towers.n == 0)
        cr_diag_add(b->diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "towers"),
                    "multi_tower has no towers; add at least one with an input group");
    if (n < c->towers.n || n == 0) return;
    cr_single_task(b, cr_mlp(b->g, "final_mlp", c->final, cr_concat(b->g, parts, n), b->diag), true,
                   NULL, 0);
}

const cr_model_type cr_model_multi_tower = {.name = "multi_tower", .build = build, .check = check};
