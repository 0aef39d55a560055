/*
 * fields.c - what several models share in reading their groups: which group they read, fields that
 * can be multiplied with each other, the linear part.
 */
#include <string.h>

#include "conf/conf.h"
#include "layer/layer.h"
#include "model/model.h"
#include "op/op.h"
#include "op/param.h"

const char *cr_group_first(cr_build *b, const char *model, cr_loc at) {
    const cr_msgs *groups = &b->conf->feature_groups;
    if (groups->n == 0) {
        cr_diag_add(b->diag, CR_SEV_ERROR, CR_ECONF, at,
                    "%s has no feature group to read; add one to model_config.feature_groups",
                    model);
        return NULL;
    }
    const char *name = ((const cr_group_conf *)groups->v[0])->group_name;
    if (groups->n > 1)
        cr_diag_add(b->diag, CR_SEV_WARN, CR_ECONF, cr_conf_at_item(b->conf, "feature_groups", 1),
                    "%s reads only its first feature group, '%s'; put all features there, or "
                    "remove the other groups",
                    model, name);
    return name;
}

const char *cr_group_or(const cr_build *b, const char *name, const char *other) {
    return cr_group_find(b->conf, name) ? name : other;
}

bool cr_one_class(cr_build *b, const char *model) {
    if (b->conf->num_class == 1) return true;
    cr_diag_add(b->diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(b->conf, "num_class"),
                "%s gives one score, num_class is %lld; set it to 1, or use a model with layers",
                model, (long long)b->conf->num_class);
    return false;
}

/* Returns the width that most features have; the others are probably the mistake. */
static int64_t usual_width(const cr_group_out *g) {
    int64_t best = 0, count = 0;
    for (int64_t i = 0; i < g->F; i++) {
        int64_t n = 0;
        for (int64_t k = 0; k < g->F; k++)
            n += g->widths[k] == g->widths[i];
        if (n > count) best = g->widths[i], count = n;
    }
    return best;
}

bool cr_same_width(cr_build *b, const char *model, const char *group, const cr_group_out *g) {
    if (g->D > 0) return true;
    const cr_group_conf *gc = cr_group_find(b->conf, group);
    int64_t usual = usual_width(g), odd = 0;
    while (g->widths[odd] == usual)
        odd++;
    const char *name = g->names[odd];
    if (odd >= gc->feature_names.n) {
        cr_diag_add(b->diag, CR_SEV_ERROR, CR_ECONF,
                    cr_conf_at_item(gc, "sequence_encoders", odd - gc->feature_names.n),
                    "%s multiplies the features of group '%s' with each other, but what this "
                    "encoder makes has width %lld and others have %lld; make its sequences %lld "
                    "wide in sum",
                    model, group, (long long)g->widths[odd], (long long)usual, (long long)usual);
        return false;
    }
    const cr_feature *f = cr_features_find(b->o->features, name);
    bool number = f && !f->sparse && f->dense_emb == CR_DENSE_PLAIN;
    cr_diag_add(b->diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at_item(gc, "feature_names", odd),
                "%s multiplies the features of group '%s' with each other, but '%s' has width "
                "%lld and others have %lld; give it %s%s%s",
                model, group, name, (long long)g->widths[odd], (long long)usual,
                number ? CR_SAY(gc, "mlp", "{}") : "", number ? " (or autodis) and " : "",
                CR_SAY(gc, "embedding_dim", "%lld", (long long)usual));
    return false;
}

cr_fields_out cr_fields_build(cr_build *b, const char *model, const cr_mlp_conf *dense_mlp,
                              cr_loc at) {
    cr_fields_out out = {NULL, NULL, NULL, 0, 0};
    const char *name = "sparse";
    bool one = b->conf->feature_groups.n == 1;
    if (one) name = ((const cr_group_conf *)b->conf->feature_groups.v[0])->group_name;
    cr_group_out sparse = cr_group_build(b, name, at);
    if (!sparse.node || !cr_same_width(b, model, name, &sparse)) return out;
    cr_node *dense = NULL;
    if (!one && cr_group_find(b->conf, "dense")) {
        if (!dense_mlp) {
            cr_diag_add(b->diag, CR_SEV_ERROR, CR_ECONF, at,
                        "%s has a group 'dense' but no dense_mlp; add one that ends in %lld units",
                        model, (long long)sparse.D);
            return out;
        }
        cr_group_out in = cr_group_build(b, "dense", at);
        if (!in.node) return out;
        int64_t width = cr_mlp_width(dense_mlp, in.node->width);
        if (width != sparse.D) {
            cr_diag_add(b->diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(dense_mlp, "hidden_units"),
                        "the last of dense_mlp.hidden_units is %lld, but the sparse features have "
                        "embedding_dim %lld; they must be equal",
                        (long long)width, (long long)sparse.D);
            return out;
        }
        dense = cr_mlp(b->g, "dense_mlp", dense_mlp, in.node, b->diag);
    }
    out.dense = dense;
    out.sparse = sparse.node;
    out.F = sparse.F + (dense != NULL);
    out.D = sparse.D;
    out.node = dense ? cr_concat(b->g, (cr_node *[]){dense, sparse.node}, 2) : sparse.node;
    return out;
}

/* Puts the features of one kind in a group's row side by side; *n receives how many there are.
 * NULL: there are none. */
static cr_node *pick(cr_build *b, const cr_group_out *in, bool tables, int64_t *n) {
    cr_node **parts = CR_NEW_N(&b->m->arena, cr_node *, in->F);
    int n_parts = 0;
    *n = 0;
    for (int64_t i = 0, at = 0; i < in->F;) {
        int64_t width = 0, k = i;
        for (; k < in->F && in->tables[k] == in->tables[i]; k++)
            width += in->widths[k];
        if (in->tables[i] == tables) {
            *n += k - i;
            parts[n_parts++] = cr_slice(b->g, in->node, at, width);
        }
        at += width;
        i = k;
    }
    if (*n == in->F) return in->node;
    return n_parts ? cr_concat(b->g, parts, n_parts) : NULL;
}

cr_node *cr_linear_part(cr_build *b, const char *group, const char *init, cr_loc at) {
    int64_t K = b->conf->num_class, n_tables, n_rest;
    cr_group_out in = cr_group_build_as(b, group, K, "_wide", init, false, at);
    if (!in.node) return NULL;
    cr_node *tables = pick(b, &in, true, &n_tables), *rest = pick(b, &in, false, &n_rest);
    cr_node *sum = tables ? cr_field_sum(b->g, tables, n_tables, K) : NULL;
    if (!rest) {
        size_t mark = cr_graph_push(b->g, "linear");
        cr_node *bias = cr_vector(b->g, "bias", K, CR_INIT_C(0));
        cr_graph_pop(b->g, mark);
        return cr_bias(b->g, sum, bias);
    }
    cr_node *y = cr_linear(b->g, "linear", rest, K, true, false);
    return sum ? cr_add(b->g, (cr_node *[]){sum, y}, (float[]){1, 1}, 2) : y;
}
