/*
 * dcn_v1.c - Deep & Cross Network (Wang et al., 2017): y = FC(final([cross(x); deep(x)])), where x
 * is the first group and FC has no bias.
 */
#include "layer/layer.h"
#include "model/config_int.h"
#include "model/model.h"
#include "op/op.h"

typedef struct dcn_v1_conf {
    cr_conf_base base;
    cr_cross_conf *cross;
    cr_mlp_conf *deep;
    cr_mlp_conf *final;
} dcn_v1_conf;

static const cr_field fields[] = {
    CR_MSG(dcn_v1_conf, cross, &cr_cross_msg, CR_F_REQUIRED, "cross layers"),
    CR_MSG(dcn_v1_conf, deep, &cr_mlp_msg, CR_F_REQUIRED, "deep layers"),
    CR_MSG(dcn_v1_conf, final, &cr_mlp_msg, CR_F_REQUIRED, HELP_FINAL),
    CR_END,
};
const cr_msg cr_dcn_v1_msg = {
    .name = "DCNV1",
    .help = "Cross layers beside deep layers",
    .fields = fields,
    .size = sizeof(dcn_v1_conf),
};

static void build(cr_build *b, const void *conf) {
    const dcn_v1_conf *c = conf;
    const char *group = cr_group_first(b, "dcn_v1", c->base.at);
    if (!group) return;
    cr_node *x = cr_group_build(b, group, c->base.at).node;
    if (!x) return;
    cr_node *cross = cr_cross_v1(b->g, "cross", c->cross, x);
    cr_node *deep = cr_mlp(b->g, "deep", c->deep, x, b->diag);
    x = cr_concat(b->g, (cr_node *[]){cross, deep}, 2);
    cr_output_task(b, "output_linear", cr_mlp(b->g, "final_dnn", c->final, x, b->diag));
}

const cr_model_type cr_model_dcn_v1 = {.name = "dcn_v1", .build = build};
