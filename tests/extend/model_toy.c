/*
 * toy.c - a model: y = FC(half of the group deep).
 */
#include "model/config_int.h"
#include "model/model.h"
#include "op/op.h"

typedef struct toy_conf {
    cr_conf_base base;
    const char *input;
} toy_conf;

static const cr_field fields[] = {
    CR_STR(toy_conf, input, "deep", CR_F_OURS, HELP_INPUT),
    CR_END,
};
const cr_msg cr_toy_msg = {
    .name = "Toy",
    .help = "One layer over half of a group",
    .ours = true,
    .fields = fields,
    .size = sizeof(toy_conf),
};

static void build(cr_build *b, const void *conf) {
    const toy_conf *c = conf;
    cr_group_out in = cr_group_build(b, c->input, c->base.at);
    if (in.node)
        cr_single_task(b, cr_graph_op(b->g, &cr_op_toy, &in.node, 1, NULL, 0), true, NULL, 0);
}

const cr_model_type cr_model_toy = {.name = "toy", .build = build};
