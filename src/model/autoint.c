/*
 * autoint.c - AutoInt (Song et al., 2019): layers of multi-head self-attention between the fields,
 * y = FC(final([fields after the last layer; deep(x)])); deep and final may be left out.
 *
 * The fields are the features of the group `fields` (or, without it, of the first group), all of
 * one width. deep reads the group `deep` (or, without it, the same group). Not in TorchEasyRec.
 */
#include <stdio.h>

#include "conf/conf.h"
#include "layer/layer.h"
#include "model/config_int.h"
#include "model/model.h"
#include "op/op.h"

typedef struct autoint_conf {
    cr_conf_base base;
    cr_msgs attention_layers; /* cr_autoint_layer_conf */
    cr_mlp_conf *deep;        /* NULL: none */
    cr_mlp_conf *final;       /* NULL: none */
} autoint_conf;

static const cr_field fields[] = {
    CR_MSG(autoint_conf, attention_layers, &cr_autoint_layer_msg, CR_F_REPEATED | CR_F_OURS,
           "layers of attention between the fields"),
    CR_MSG(autoint_conf, deep, &cr_mlp_msg, CR_F_OURS,
           "layers beside them, over the group deep or the same features"),
    CR_MSG(autoint_conf, final, &cr_mlp_msg, CR_F_OURS, HELP_FINAL),
    CR_END,
};
static void check(const void *self, cr_diag *diag) {
    const autoint_conf *c = self;
    if (c->attention_layers.n == 0)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, c->base.at,
                    "autoint has no attention_layers; add for example %s",
                    CR_SAY(c, "attention_layers", "[{num_heads: 2, head_dim: 32}]"));
}
const cr_msg cr_autoint_msg = {
    .name = "AutoInt",
    .help = "Self-attention between fields",
    .ours = true,
    .fields = fields,
    .size = sizeof(autoint_conf),
    .check = check,
};

static void build(cr_build *b, const void *conf) {
    const autoint_conf *c = conf;
    cr_loc at = c->base.at;
    if (b->conf->feature_groups.n == 0) {
        cr_group_first(b, "autoint", at);
        return;
    }
    const cr_group_conf *first = b->conf->feature_groups.v[0];
    const char *group = cr_group_or(b, "fields", first->group_name);
    const char *deep_group = cr_group_or(b, "deep", group);
    cr_group_out in = cr_group_build(b, group, at), deep = in;
    if (c->deep && deep_group != group) deep = cr_group_build(b, deep_group, at);
    if (!in.node || !deep.node || !cr_same_width(b, "autoint", group, &in)) return;
    cr_node *x = in.node;
    for (int64_t i = 0; i < c->attention_layers.n; i++) {
        char name[48];
        snprintf(name, sizeof(name), "attention_layers.%lld", (long long)i);
        x = cr_autoint_layer(b->g, name, c->attention_layers.v[i], x, in.F);
    }
    if (c->deep) {
        cr_node *h = cr_mlp(b->g, "deep_mlp", c->deep, deep.node, b->diag);
        x = cr_concat(b->g, (cr_node *[]){x, h}, 2);
    }
    cr_single_task(b, cr_mlp(b->g, "final_mlp", c->final, x, b->diag), true, NULL, 0);
}

const cr_model_type cr_model_autoint = {.name = "autoint", .build = build};
