/*
 * multi_tower_din.c - y = FC(final([mlp_i(group_i)...; DIN_j(sequence group_j)...])): towers as in
 * multi_tower, with target attention (Zhou et al., 2018) over sequences beside them.
 */
#include <stdio.h>

#include "layer/layer.h"
#include "model/config_int.h"
#include "model/model.h"
#include "op/op.h"

typedef struct cr_din_tower_conf {
    cr_conf_base base;
    const char *input;
    cr_mlp_conf *attn_mlp;
} cr_din_tower_conf;
typedef struct cr_multi_tower_din_conf {
    cr_conf_base base;
    cr_msgs towers;     /* cr_tower_conf */
    cr_msgs din_towers; /* cr_din_tower_conf */
    cr_mlp_conf *final;
} cr_multi_tower_din_conf;

static const cr_field din_tower_fields[] = {
    CR_STR(cr_din_tower_conf, input, NULL, CR_F_REQUIRED, "name of the sequence group it reads"),
    CR_MSG(cr_din_tower_conf, attn_mlp, &cr_mlp_msg, CR_F_REQUIRED, HELP_ATTN),
    CR_END,
};
static const cr_msg din_tower_msg = {
    .name = "DINTower",
    .help = "Attention of a query over a sequence",
    .fields = din_tower_fields,
    .size = sizeof(cr_din_tower_conf),
};
static const cr_field fields[] = {
    CR_MSG(cr_multi_tower_din_conf, towers, &cr_tower_msg, CR_F_REPEATED, HELP_TOWERS),
    CR_MSG(cr_multi_tower_din_conf, din_towers, &din_tower_msg, CR_F_REPEATED,
           "one tower per sequence group"),
    CR_MSG(cr_multi_tower_din_conf, final, &cr_mlp_msg, CR_F_REQUIRED, HELP_FINAL),
    CR_END,
};
const cr_msg cr_multi_tower_din_msg = {
    .name = "MultiTowerDIN",
    .help = "Towers, some with attention over sequences",
    .fields = fields,
    .size = sizeof(cr_multi_tower_din_conf),
};

static cr_node *attend(cr_build *b, const cr_din_tower_conf *t, int64_t i) {
    cr_seq_out in = cr_group_build_seq(b, t->input, 0, cr_conf_at(t, "input"));
    if (!in.keys) return NULL;
    char name[32];
    snprintf(name, sizeof(name), "din_towers.%lld", (long long)i);
    return cr_din_encoder(b->g, name, t->attn_mlp, in.query, in.keys, 1, b->diag);
}

static void build(cr_build *b, const void *conf) {
    const cr_multi_tower_din_conf *c = conf;
    int64_t all = c->towers.n + c->din_towers.n;
    cr_node **parts = CR_NEW_N(&b->m->arena, cr_node *, all + 1);
    int n = cr_towers_build(b, &c->towers, parts);
    for (int64_t i = 0; i < c->din_towers.n; i++) {
        cr_node *x = attend(b, c->din_towers.v[i], i);
        if (x) parts[n++] = x;
    }
    if (all == 0)
        cr_diag_add(b->diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "towers"),
                    "multi_tower_din has no towers; add at least one with an input group");
    if (n < all || n == 0) return;
    cr_single_task(b, cr_mlp(b->g, "final_mlp", c->final, cr_concat(b->g, parts, n), b->diag), true,
                   NULL, 0);
}

static void check(const cr_model_conf *m, const void *conf, cr_diag *diag) {
    const cr_multi_tower_din_conf *c = conf;
    cr_towers_check(m, &c->towers, diag);
    for (int64_t i = 0; i < c->din_towers.n; i++) {
        const cr_din_tower_conf *t = c->din_towers.v[i];
        if (t->input[0]) cr_group_named(m, cr_conf_at(t, "input"), "tower", t->input, diag);
    }
}

const cr_model_type cr_model_multi_tower_din = {.name = "multi_tower_din",
                                                .build = build,
                                                .check = check};
