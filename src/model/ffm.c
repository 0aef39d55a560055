/*
 * ffm.c - field-aware factorization machine (Juan et al., 2016): y = linear(x) + sum over pairs of
 * fields of <v_ij, v_ji>, where v_ij is the vector that feature i shows to the field of feature j.
 *
 * Every feature of the group `ffm` (or, without it, of the first group) is a field. Its table
 * <feature>_emb_ffm has rows of F vectors of embedding_dim, in the order of feature_names; the
 * vector for its own field is not used. A plain number x gives x v. The linear part reads the group
 * `wide` (or, without it, the same group) with tables of width 1. Not in TorchEasyRec.
 */
#include "model/config_int.h"
#include "model/model.h"
#include "op/op.h"

typedef struct ffm_conf {
    cr_conf_base base;
    int64_t embedding_dim;
    const char *init_fn;
    const char *wide_init_fn;
} ffm_conf;

static const cr_field fields[] = {
    CR_INT(ffm_conf, embedding_dim, 4, 1, 1024, CR_F_OURS, "width of a vector for one field"),
    CR_STR(ffm_conf, init_fn, "nn.init.normal_,mean=0,std=0.05", CR_F_OURS,
           "how the vectors start, as a torch.nn.init call"),
    CR_STR(ffm_conf, wide_init_fn, NULL, CR_F_OURS, HELP_WIDE_INIT),
    CR_END,
};
const cr_msg cr_ffm_msg = {
    .name = "FFM",
    .help = "Field-aware factorization machine: a vector per field",
    .ours = true,
    .fields = fields,
    .size = sizeof(ffm_conf),
};

static void build(cr_build *b, const void *conf) {
    const ffm_conf *c = conf;
    cr_loc at = c->base.at;
    bool one = cr_one_class(b, "ffm");
    if (b->conf->feature_groups.n == 0) {
        cr_group_first(b, "ffm", at);
        return;
    }
    const cr_group_conf *gc = b->conf->feature_groups.v[0];
    if (cr_group_find(b->conf, "ffm")) gc = cr_group_find(b->conf, "ffm");
    int64_t F = gc->feature_names.n, k = c->embedding_dim;
    cr_group_out v = cr_group_build_as(b, gc->group_name, F * k, "_ffm", c->init_fn, true, at);
    cr_node *linear =
        cr_linear_part(b, cr_group_or(b, "wide", gc->group_name), c->wide_init_fn, at);
    if (!one || !v.node || !linear) return;
    cr_node *pairs = cr_ffm(b->g, v.node, F, k);
    cr_end_task(b, cr_add(b->g, (cr_node *[]){linear, pairs}, (float[]){1, 1}, 2));
}

const cr_model_type cr_model_ffm = {.name = "ffm", .build = build};
