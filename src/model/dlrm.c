/*
 * dlrm.c - deep learning recommendation model (Naumov et al., 2019): the dot products of all pairs
 * of fields, a field being a feature of the sparse group or the dense group after its MLP. y =
 * FC(final([pairs; dense_mlp(dense)?; sparse? if arch_with_sparse])) Groups: one group alone, or
 * `sparse` and, if wanted, `dense`.
 */
#include "layer/layer.h"
#include "model/model.h"
#include "op/op.h"

static void build(cr_build *b, const void *conf) {
    const cr_dlrm_conf *c = conf;
    cr_loc at = c->base.node ? c->base.node->at : CR_NOWHERE;
    const char *sparse_name = "sparse";
    if (b->conf->feature_groups.n == 1)
        sparse_name = ((const cr_group_conf *)b->conf->feature_groups.v[0])->group_name;
    cr_group_out sparse = cr_group_build(b, sparse_name, at);
    if (!sparse.node) return;
    if (sparse.D == 0) {
        cr_diag_add(b->diag, CR_SEV_ERROR, CR_ECONF, at,
                    "dlrm multiplies the features of group '%s' with each other, but their widths "
                    "differ; give them the same "
                    "embedding_dim and put plain numbers into a group 'dense'",
                    sparse_name);
        return;
    }
    cr_node *dense = NULL;
    if (b->conf->feature_groups.n > 1 && cr_group_find(b->conf, "dense")) {
        if (!c->dense_mlp) {
            cr_diag_add(
                b->diag, CR_SEV_ERROR, CR_ECONF, at,
                "dlrm has a group 'dense' but no dense_mlp; add one that ends in %lld units",
                (long long)sparse.D);
            return;
        }
        cr_group_out in = cr_group_build(b, "dense", at);
        if (!in.node) return;
        if (cr_mlp_width(c->dense_mlp, in.node->width) != sparse.D) {
            cr_diag_add(b->diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c->dense_mlp, "hidden_units"),
                        "the last of dense_mlp.hidden_units is %lld, but the sparse features have "
                        "embedding_dim %lld; they must be equal",
                        (long long)cr_mlp_width(c->dense_mlp, in.node->width), (long long)sparse.D);
            return;
        }
        dense = cr_mlp(b->g, "dense_mlp", c->dense_mlp, in.node, b->diag);
    }
    cr_node *fields = dense ? cr_concat(b->g, (cr_node *[]){dense, sparse.node}, 2) : sparse.node;
    int64_t F = sparse.F + (dense != NULL);
    if (F < 2) {
        cr_diag_add(b->diag, CR_SEV_ERROR, CR_ECONF, at,
                    "dlrm needs at least two fields to multiply; add features");
        return;
    }
    cr_node *parts[3];
    int n = 0;
    parts[n++] = cr_pairs(b->g, fields, F, sparse.D);
    if (dense) parts[n++] = dense;
    if (c->arch_with_sparse) parts[n++] = sparse.node;
    cr_single_task(b, cr_mlp(b->g, "final_mlp", c->final, cr_concat(b->g, parts, n), b->diag), true,
                   NULL, 0);
}

extern const cr_model_type cr_model_dlrm;
const cr_model_type cr_model_dlrm = {"dlrm", build};
