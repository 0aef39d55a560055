/*
 * deepfm.c - wide_and_deep (Cheng et al., 2016) and deepfm (Guo et al., 2017), which adds the
 * pairwise products of a factorization machine.
 *
 * With w = the sum of all entries of the wide group, h = deep(group deep) and f = FM over the group
 * fm (or deep): without final y = w + [sum f] + FC(h), with final y = FC(final([w; f; h])).
 */
#include "conf/conf.h"
#include "layer/layer.h"
#include "model/config_int.h"
#include "model/model.h"
#include "op/op.h"

typedef struct deepfm_conf {
    cr_conf_base base;
    cr_mlp_conf *deep;
    cr_mlp_conf *final; /* NULL: none */
    int64_t wide_embedding_dim;
    const char *wide_init_fn;
} deepfm_conf;

static const cr_field deepfm_fields[] = {
    CR_MSG(deepfm_conf, deep, &cr_mlp_msg, CR_F_REQUIRED, HELP_DEEP),
    CR_MSG(deepfm_conf, final, &cr_mlp_msg, 0,
           "layers above everything; none: the parts are added up"),
    CR_INT(deepfm_conf, wide_embedding_dim, 4, 1, 65536, 0, "vector width in the group wide"),
    CR_STR(deepfm_conf, wide_init_fn, NULL, 0, HELP_WIDE_INIT),
    CR_END,
};
const cr_msg cr_deepfm_msg = {
    .name = "DeepFM",
    .help = "Wide part, factorization machine and deep layers",
    .fields = deepfm_fields,
    .size = sizeof(deepfm_conf),
};
const cr_msg cr_wide_and_deep_msg = {
    .name = "WideAndDeep",
    .help = "Wide part and deep layers",
    .fields = deepfm_fields,
    .size = sizeof(deepfm_conf),
};

static void build(cr_build *b, const deepfm_conf *c, bool with_fm) {
    cr_loc at = c->base.node ? c->base.node->at : CR_NOWHERE;
    b->wide_dim = c->wide_embedding_dim;
    b->wide_init = c->wide_init_fn;
    cr_group_out wide = cr_group_build(b, "wide", at);
    cr_group_out deep = cr_group_build(b, "deep", at), fm = deep;
    bool own_fm = with_fm && cr_group_find(b->conf, "fm");
    if (own_fm) fm = cr_group_build(b, "fm", at);
    if (!wide.node || !deep.node || !fm.node) return;
    if (with_fm && fm.D == 0) {
        cr_diag_add(b->diag, CR_SEV_ERROR, CR_ECONF, at,
                    "deepfm multiplies the features of group '%s' with each other, but their "
                    "widths differ; give them the "
                    "same embedding_dim, or add a group 'fm' with those that have it",
                    own_fm ? "fm" : "deep");
        return;
    }
    cr_node *w = cr_row_sum(b->g, wide.node), *f = NULL;
    if (with_fm) {
        int64_t from;
        cr_node *x = cr_slice_of(fm.node, &from);
        f = cr_fm(b->g, x, from, fm.F, fm.D);
    }
    cr_node *h = cr_mlp(b->g, "deep_mlp", c->deep, deep.node, b->diag);
    if (c->final) {
        cr_node *x = cr_concat(b->g, with_fm ? (cr_node *[]){w, f, h} : (cr_node *[]){w, h},
                               with_fm ? 3 : 2);
        cr_single_task(b, cr_mlp(b->g, "final_mlp", c->final, x, b->diag), true, NULL, 0);
        return;
    }
    cr_node *extra[2] = {w, with_fm ? cr_row_sum(b->g, f) : NULL};
    cr_single_task(b, h, true, extra, with_fm ? 2 : 1);
}

static void build_deepfm(cr_build *b, const void *conf) {
    build(b, conf, true);
}
static void build_wide(cr_build *b, const void *conf) {
    build(b, conf, false);
}

/* Says whether an error is at a place already: what follows from it need not be told. */
static bool has_error(const cr_diag *diag, cr_loc at) {
    for (size_t i = 0; i < diag->n; i++) {
        const cr_finding *f = &diag->v[i];
        if (f->sev == CR_SEV_ERROR && f->at.line == at.line && f->at.col == at.col) return true;
    }
    return false;
}

static void check(const cr_model_conf *m, const void *conf, cr_diag *diag) {
    (void)conf;
    const cr_group_conf *wide = cr_group_needed(m, "wide", diag);
    (void)cr_group_needed(m, "deep", diag);
    /* a type that could not be read counts as DEEP, and is an error already */
    if (wide && wide->group_type == CR_GROUP_DEEP &&
        !has_error(diag, cr_conf_at(wide, "group_type")))
        cr_diag_add(diag, CR_SEV_WARN, CR_ECONF, cr_conf_at(wide, "group_type"),
                    "group 'wide' is of type DEEP, so wide_embedding_dim does not apply to it; "
                    "write %s",
                    CR_SAY(m, "group_type", "WIDE"));
}

const cr_model_type cr_model_deepfm = {.name = "deepfm", .build = build_deepfm, .check = check};
const cr_model_type cr_model_wide_and_deep = {.name = "wide_and_deep",
                                              .build = build_wide,
                                              .check = check};
