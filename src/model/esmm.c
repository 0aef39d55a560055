/*
 * esmm.c - ESMM (Ma et al., 2018) predicts p(click) and p(conversion after a click). Rows without a
 * click say nothing about the second alone, so it is learnt from all rows through p(click and
 * conversion) = p(click) p(conversion after a click). crank only; the keys are EasyRec's.
 *
 * There are two losses: ctr_tower against its label, and the product (op both) against the label of
 * cvr_tower. The metrics of cvr_tower are measured twice: for the product over all rows, with the
 * suffix "_ctcvr", and for the second factor over the rows with a click.
 */
#include <string.h>

#include "layer/layer.h"
#include "model/config_int.h"
#include "model/model.h"
#include "op/op.h"

typedef struct esmm_conf {
    cr_conf_base base;
    cr_mlp_conf *bottom_mlp; /* NULL: none */
    cr_task_conf *ctr_tower, *cvr_tower;
} esmm_conf;
static const cr_field fields[] = {
    CR_MSG(esmm_conf, bottom_mlp, &cr_mlp_msg, 0, "layers that both tasks share"),
    CR_MSG(esmm_conf, ctr_tower, &cr_task_tower_msg, CR_F_REQUIRED, "the first event: a click"),
    CR_MSG(esmm_conf, cvr_tower, &cr_task_tower_msg, CR_F_REQUIRED,
           "the second event, which can only follow the first; its label is 1 where both happened"),
    CR_END,
};
static void check(const void *self, cr_diag *diag) {
    const esmm_conf *c = self;
    const cr_task_conf *towers[] = {c->ctr_tower, c->cvr_tower};
    for (int i = 0; i < 2; i++) {
        for (int64_t k = 0; k < towers[i]->losses.n; k++) {
            const cr_loss_conf *l = towers[i]->losses.v[k];
            if (l->loss.m && strcmp(l->loss.m->key, "binary_cross_entropy") != 0)
                cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, l->base.at,
                            "esmm multiplies probabilities of yes-or-no labels; use "
                            "binary_cross_entropy");
        }
        if (strcmp(towers[i]->tower_name, "ctcvr") == 0)
            cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(towers[i], "tower_name"),
                        "'ctcvr' is the name of both events together; give the tower another name");
        if (towers[i]->num_class != 1)
            cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(towers[i], "num_class"),
                        "esmm multiplies probabilities of yes-or-no labels; remove num_class");
    }
}
const cr_msg cr_esmm_msg = {
    .name = "ESMM",
    .help = "Two tasks, trained on all rows: the second event can only follow the first",
    .ours = true,
    .fields = fields,
    .size = sizeof(esmm_conf),
    .check = check,
};

static void build(cr_build *b, const void *conf) {
    const esmm_conf *c = conf;
    const char *group = cr_group_first(b, "esmm", c->base.at);
    cr_group_out in = group ? cr_group_build(b, group, c->base.at) : (cr_group_out){0};
    if (!in.node) return;
    cr_node *x = cr_mlp(b->g, "bottom_mlp", c->bottom_mlp, in.node, b->diag);
    cr_node *ctr = cr_tower_logits(b, "ctr_tower", c->ctr_tower, x),
            *cvr = cr_tower_logits(b, "cvr_tower", c->cvr_tower, x);
    cr_task *first = cr_tower_task(b, c->ctr_tower, ctr), *second, *both;
    if (!first || !(second = cr_tower_task(b, c->cvr_tower, cvr)) ||
        !(both = cr_tower_task(b, c->cvr_tower, cr_both(b->g, ctr, cvr))))
        return;
    second->no_loss = true;
    second->weight = -1;
    second->train_metrics = NULL;
    second->mask = first->label;
    both->suffix = "_ctcvr";
}

const cr_model_type cr_model_esmm = {.name = "esmm", .build = build};
