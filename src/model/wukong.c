/*
 * wukong.c - Wukong (Zhang et al., 2024): the fields of dlrm pass through layers, each of which is
 * a factorization machine beside a linear mix of fields; y = FC(final(all fields of the last
 * layer)).
 */
#include <stdio.h>

#include "layer/layer.h"
#include "model/config_int.h"
#include "model/model.h"

typedef struct wukong_conf {
    cr_conf_base base;
    cr_mlp_conf *dense_mlp; /* NULL: none */
    cr_msgs wukong_layers;  /* cr_wukong_layer_conf */
    cr_mlp_conf *final;
} wukong_conf;

static const cr_field fields[] = {
    CR_MSG(wukong_conf, dense_mlp, &cr_mlp_msg, 0,
           "layers over the group dense; the last is as wide as the sparse vectors"),
    CR_MSG(wukong_conf, wukong_layers, &cr_wukong_layer_msg, CR_F_REPEATED, "the stacked layers"),
    CR_MSG(wukong_conf, final, &cr_mlp_msg, CR_F_REQUIRED, HELP_FINAL),
    CR_END,
};
const cr_msg cr_wukong_msg = {
    .name = "WuKong",
    .help = "Stacked factorization machines",
    .fields = fields,
    .size = sizeof(wukong_conf),
};

static void build(cr_build *b, const void *conf) {
    const wukong_conf *c = conf;
    cr_fields_out in = cr_fields_build(b, "wukong", c->dense_mlp, c->base.at);
    if (!in.node) return;
    cr_node *x = in.node;
    int64_t F = in.F;
    for (int64_t i = 0; i < c->wukong_layers.n; i++) {
        const cr_wukong_layer_conf *layer = c->wukong_layers.v[i];
        char name[48];
        snprintf(name, sizeof(name), "_wukong_layers.%lld", (long long)i);
        x = cr_wukong_layer(b->g, name, layer, x, F, in.D, b->diag);
        F = layer->lcb_feature_num + layer->fmb_feature_num;
    }
    cr_single_task(b, cr_mlp(b->g, "final_mlp", c->final, x, b->diag), true, NULL, 0);
}

const cr_model_type cr_model_wukong = {.name = "wukong", .build = build};
