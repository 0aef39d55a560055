/*
 * loss.c - LossConfig: the family of the losses in loss_list.h. It also names the losses of models
 * that crank does not have yet, so that a config with one gets a clear message.
 */
#include "layer/loss_list.h"

#include "conf/conf.h"

#define ENTRY(l) {#l, &cr_loss_##l##_msg, &cr_loss_##l},
static const cr_oneof_member losses[] = {
    CR_LOSSES(ENTRY){NULL, NULL, NULL},
};
/* Not required, since a loss of the second family may stand alone; loss_check reports an empty
 * message. */
const cr_oneof cr_loss_family = {"loss", false, losses};

static const cr_msg recon_msg =
    CR_MSG_LATER("ReconLoss", "How far the decoded vector is from the input");
static const cr_msg commitment_msg =
    CR_MSG_LATER("CommitmentLoss", "Pulls vectors and their codes together");
static const cr_msg contrastive_msg =
    CR_MSG_LATER("ContrastiveLoss", "Pulls vectors of paired items together");
static const cr_oneof_member sid_losses[] = {
    {"recon_loss", &recon_msg, NULL},
    {"commitment_loss", &commitment_msg, NULL},
    {"contrastive_loss", &contrastive_msg, NULL},
    {NULL, NULL, NULL},
};
static const cr_oneof sid_loss_family = {"semantic-id loss", false, sid_losses};

static const cr_field loss_fields[] = {
    CR_ONEOF(cr_loss_conf, loss, &cr_loss_family, 0, "what training makes small"),
    CR_K_ONEOF("sid_loss", &sid_loss_family, 0, "losses of the semantic-id models"),
    CR_FLOAT(cr_loss_conf, weight, 1, 0, CR_INF, 0, "factor of this loss"),
    CR_END,
};
static void loss_check(const void *self, cr_diag *diag) {
    const cr_loss_conf *c = self;
    if (!c->loss.m)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, c->base.at,
                    "this message names no loss; write for example %s",
                    CR_SAY(c, "binary_cross_entropy", "{}"));
}
const cr_msg cr_loss_msg = {
    .name = "LossConfig",
    .help = "One loss",
    .fields = loss_fields,
    .size = sizeof(cr_loss_conf),
    .check = loss_check,
};
