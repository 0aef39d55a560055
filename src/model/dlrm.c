/*
 * dlrm.c - deep learning recommendation model (Naumov et al., 2019): the dot products of all pairs
 * of fields, where a field is a feature of the sparse group or the dense group after its MLP.
 *
 * y = FC(final([pairs; dense_mlp(dense); sparse])), without dense when there is no such group and
 * without sparse unless arch_with_sparse is set. The model reads its only group, or `sparse` and,
 * if there is one, `dense`.
 */
#include "layer/layer.h"
#include "model/config_int.h"
#include "model/model.h"
#include "op/op.h"

typedef struct dlrm_conf {
    cr_conf_base base;
    cr_mlp_conf *dense_mlp; /* NULL: none */
    bool arch_with_sparse;
    cr_mlp_conf *final;
} dlrm_conf;

static const cr_field dlrm_fields[] = {
    CR_MSG(dlrm_conf, dense_mlp, &cr_mlp_msg, 0,
           "layers over the group dense; the last is as wide as the sparse vectors"),
    CR_BOOL(dlrm_conf, arch_with_sparse, true, 0,
            "the vectors themselves also enter the final layers"),
    CR_MSG(dlrm_conf, final, &cr_mlp_msg, CR_F_REQUIRED, HELP_FINAL),
    CR_END,
};
const cr_msg cr_dlrm_msg = {
    .name = "DLRM",
    .help = "Pairwise dot products of all vectors, then layers",
    .fields = dlrm_fields,
    .size = sizeof(dlrm_conf),
};

static void build(cr_build *b, const void *conf) {
    const dlrm_conf *c = conf;
    cr_loc at = c->base.node ? c->base.node->at : CR_NOWHERE;
    cr_fields_out in = cr_fields_build(b, "dlrm", c->dense_mlp, at);
    if (!in.node) return;
    if (in.F < 2) {
        cr_diag_add(b->diag, CR_SEV_ERROR, CR_ECONF, at,
                    "dlrm needs at least two fields to multiply; add features");
        return;
    }
    cr_node *parts[3];
    int n = 0;
    parts[n++] = cr_pairs(b->g, in.node, in.F, in.D);
    if (in.dense) parts[n++] = in.dense;
    if (c->arch_with_sparse) parts[n++] = in.sparse;
    cr_single_task(b, cr_mlp(b->g, "final_mlp", c->final, cr_concat(b->g, parts, n), b->diag), true,
                   NULL, 0);
}

static void check(const cr_model_conf *m, const void *conf, cr_diag *diag) {
    (void)conf;
    if (m->feature_groups.n > 1) (void)cr_group_needed(m, "sparse", diag);
}

const cr_model_type cr_model_dlrm = {.name = "dlrm", .build = build, .check = check};
