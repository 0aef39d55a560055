/*
 * dcn_v2.c - DCN V2 (Wang et al., 2021) with low-rank matrices: z = cross(backbone(x)), y =
 * FC(final([z; deep(x)])), where x is the first group and FC has no bias. backbone and deep may be
 * left out.
 */
#include "layer/layer.h"
#include "model/config_int.h"
#include "model/model.h"
#include "op/op.h"

typedef struct dcn_v2_conf {
    cr_conf_base base;
    cr_mlp_conf *backbone; /* NULL: none */
    cr_cross_conf *cross;
    cr_mlp_conf *deep; /* NULL: none */
    cr_mlp_conf *final;
} dcn_v2_conf;

static const cr_field fields[] = {
    CR_MSG(dcn_v2_conf, backbone, &cr_mlp_msg, 0, "layers below the cross layers"),
    CR_MSG(dcn_v2_conf, cross, &cr_cross_v2_msg, CR_F_REQUIRED, "cross layers"),
    CR_MSG(dcn_v2_conf, deep, &cr_mlp_msg, 0, "deep layers beside them"),
    CR_MSG(dcn_v2_conf, final, &cr_mlp_msg, CR_F_REQUIRED, HELP_FINAL),
    CR_END,
};
const cr_msg cr_dcn_v2_msg = {
    .name = "DCNV2",
    .help = "Low-rank cross layers, with or without deep layers",
    .fields = fields,
    .size = sizeof(dcn_v2_conf),
};

static void build(cr_build *b, const void *conf) {
    const dcn_v2_conf *c = conf;
    const char *group = cr_group_first(b, "dcn_v2", c->base.at);
    if (!group) return;
    cr_node *x = cr_group_build(b, group, c->base.at).node;
    if (!x) return;
    cr_node *z = cr_mlp(b->g, "backbone", c->backbone, x, b->diag);
    z = cr_cross_v2(b->g, "cross", c->cross, z);
    if (c->deep) {
        cr_node *deep = cr_mlp(b->g, "deep", c->deep, x, b->diag);
        z = cr_concat(b->g, (cr_node *[]){z, deep}, 2);
    }
    cr_output_task(b, "output_mlp", cr_mlp(b->g, "final", c->final, z, b->diag));
}

const cr_model_type cr_model_dcn_v2 = {.name = "dcn_v2", .build = build};
