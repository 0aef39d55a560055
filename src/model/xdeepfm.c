/*
 * xdeepfm.c - xDeepFM (Lian et al., 2018): y = FC(final([CIN(wide); deep(deep)])). Every feature of
 * the group wide is a field of the compressed interaction network, with vectors of width
 * wide_embedding_dim from separate tables.
 */
#include "layer/layer.h"
#include "model/config_int.h"
#include "model/model.h"
#include "op/op.h"

typedef struct xdeepfm_conf {
    cr_conf_base base;
    cr_cin_conf *cin;
    cr_mlp_conf *deep;
    cr_mlp_conf *final;
    int64_t wide_embedding_dim;
    const char *wide_init_fn;
} xdeepfm_conf;

static const cr_field fields[] = {
    CR_MSG(xdeepfm_conf, cin, &cr_cin_msg, CR_F_REQUIRED, "interactions of the group wide"),
    CR_MSG(xdeepfm_conf, deep, &cr_mlp_msg, CR_F_REQUIRED, HELP_DEEP),
    CR_MSG(xdeepfm_conf, final, &cr_mlp_msg, CR_F_REQUIRED, HELP_FINAL),
    CR_INT(xdeepfm_conf, wide_embedding_dim, 16, 1, 65536, 0, "vector width in the group wide"),
    CR_STR(xdeepfm_conf, wide_init_fn, NULL, 0, HELP_WIDE_INIT),
    CR_END,
};
const cr_msg cr_xdeepfm_msg = {
    .name = "xDeepFM",
    .help = "Compressed interactions and deep layers",
    .fields = fields,
    .size = sizeof(xdeepfm_conf),
};

static void build(cr_build *b, const void *conf) {
    const xdeepfm_conf *c = conf;
    cr_loc at = c->base.at;
    b->wide_dim = c->wide_embedding_dim;
    b->wide_init = c->wide_init_fn;
    cr_group_out wide = cr_group_build(b, "wide", at);
    cr_group_out deep = cr_group_build(b, "deep", at);
    if (!wide.node || !deep.node) return;
    if (!cr_same_width(b, "xdeepfm", "wide", &wide)) return;
    cr_node *cin = cr_cin_net(b->g, "cin", c->cin, wide.node, wide.F, wide.D);
    cr_node *h = cr_mlp(b->g, "deep", c->deep, deep.node, b->diag);
    h = cr_concat(b->g, (cr_node *[]){cin, h}, 2);
    cr_single_task(b, cr_mlp(b->g, "final", c->final, h, b->diag), true, NULL, 0);
}

const cr_model_type cr_model_xdeepfm = {.name = "xdeepfm", .build = build};
