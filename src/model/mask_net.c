/*
 * mask_net.c - MaskNet (Wang et al., 2021): y = FC(MaskNetModule(x)), where x is the first group
 * and FC has no bias. The module is in layer/masknet.c.
 */
#include "layer/layer.h"
#include "model/config_int.h"
#include "model/model.h"

typedef struct mask_net_conf {
    cr_conf_base base;
    cr_mask_net_conf *mask_net_module;
} mask_net_conf;

static const cr_field fields[] = {
    CR_MSG(mask_net_conf, mask_net_module, &cr_mask_net_module_msg, CR_F_REQUIRED,
           "the mask blocks"),
    CR_END,
};
const cr_msg cr_mask_net_msg = {
    .name = "MaskNet",
    .help = "Layers gated by masks of the input",
    .fields = fields,
    .size = sizeof(mask_net_conf),
};

static void build(cr_build *b, const void *conf) {
    const mask_net_conf *c = conf;
    const char *group = cr_group_first(b, "mask_net", c->base.at);
    if (!group) return;
    cr_node *x = cr_group_build(b, group, c->base.at).node;
    if (x) x = cr_mask_net(b->g, "mask_net_layer", c->mask_net_module, x, b->diag);
    if (x) cr_output_task(b, "output_linear", x);
}

const cr_model_type cr_model_mask_net = {.name = "mask_net", .build = build};
