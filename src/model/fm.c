/*
 * fm.c - factorization machine (Rendle, 2010): y = linear(x) + sum over pairs of features of <v_i,
 * v_j>.
 *
 * The vectors v have embedding_dim numbers and come from tables <feature>_emb_fm, for the features
 * of the group `fm` (or, without it, of the first group); a plain number x gives x v. With
 * embedding_dim 0 they are the features' own vectors, which must then all have one width. The
 * linear part reads the group `wide` (or, without it, the same group) with tables of width 1. Not
 * in TorchEasyRec.
 */
#include "model/config_int.h"
#include "model/model.h"
#include "op/op.h"

typedef struct fm_conf {
    cr_conf_base base;
    int64_t embedding_dim;
    const char *init_fn;
    const char *wide_init_fn;
} fm_conf;

static const cr_field fields[] = {
    CR_INT(fm_conf, embedding_dim, 8, 0, 65536, CR_F_OURS,
           "width of the vectors; 0: the features' own vectors and embedding_dim"),
    CR_STR(fm_conf, init_fn, "nn.init.normal_,mean=0,std=0.05", CR_F_OURS,
           "how the vectors start, as a torch.nn.init call; without effect on the features' own"),
    CR_STR(fm_conf, wide_init_fn, NULL, CR_F_OURS, HELP_WIDE_INIT),
    CR_END,
};
const cr_msg cr_fm_msg = {
    .name = "FM",
    .help = "Factorization machine: linear part and pairs",
    .ours = true,
    .fields = fields,
    .size = sizeof(fm_conf),
};

static void build(cr_build *b, const void *conf) {
    const fm_conf *c = conf;
    cr_loc at = c->base.at;
    bool one = cr_one_class(b, "fm");
    if (b->conf->feature_groups.n == 0) {
        cr_group_first(b, "fm", at);
        return;
    }
    const cr_group_conf *first = b->conf->feature_groups.v[0];
    const char *group = cr_group_or(b, "fm", first->group_name);
    cr_group_out v = c->embedding_dim > 0 ? cr_group_build_as(b, group, c->embedding_dim, "_fm",
                                                              c->init_fn, true, at)
                                          : cr_group_build(b, group, at);
    cr_node *linear = cr_linear_part(b, cr_group_or(b, "wide", group), c->wide_init_fn, at);
    if (!one || !v.node || !linear || !cr_same_width(b, "fm", group, &v)) return;
    cr_node *pairs = cr_row_sum(b->g, cr_fm(b->g, v.node, 0, v.F, v.D));
    cr_end_task(b, cr_add(b->g, (cr_node *[]){linear, pairs}, (float[]){1, 1}, 2));
}

const cr_model_type cr_model_fm = {.name = "fm", .build = build};
