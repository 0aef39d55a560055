/*
 * blocks_ensemble.c - the block layer `ensemble`: K thin members that are trained together. Its
 * output is a logit; as the last block of a task it is the task's answer, and each member has its
 * own loss.
 */
#include "layer/layer.h"
#include "model/blocks_int.h"
#include "model/blocks_list.h"

static const cr_enum_value means[] = {
    {"PROBABILITIES", CR_MEAN_OF_PROBABILITIES, "of a yes-or-no label", NULL},
    {"VALUES", CR_MEAN_OF_VALUES, "of a number (l2_loss)", NULL},
    {NULL, 0, NULL, NULL},
};
static const cr_field fields[] = {
    CR_INT(cr_ensemble_conf, members, 16, 1, CR_MAX_MEMBERS, CR_F_OURS, "how many members"),
    CR_INT(cr_ensemble_conf, hidden_units, 0, 1, 1048576, CR_F_REPEATED | CR_F_OURS,
           "width of each layer; members share the matrices"),
    CR_FLOAT(cr_ensemble_conf, dropout_ratio, 0, 0, 0.999, CR_F_REPEATED | CR_F_OURS,
             "share of units dropped while training, for each member apart: one for all layers, or "
             "one per layer"),
    CR_STR(cr_ensemble_conf, activation, "nn.ReLU", CR_F_OURS, "function after each layer"),
    CR_ENUM(cr_ensemble_conf, mean_of, means, CR_MEAN_OF_PROBABILITIES, CR_F_OURS,
            "what the answer is the mean of"),
    CR_END,
};
const cr_msg cr_block_ensemble_msg = {
    .name = "EnsembleBlock",
    .help = "Thin members that share matrices and are trained together; the answer is their mean",
    .fields = fields,
    .size = sizeof(cr_ensemble_conf),
};

static void ensemble(cr_block_call *c, const void *conf) {
    cr_node *y = cr_ensemble(c->g, c->path, conf, c->x.node, c->b->diag);
    if (y) cr_block_give(c, y);
}
const cr_block_type cr_block_ensemble = {
    .name = "ensemble",
    .min_in = 1,
    .build = ensemble,
};
