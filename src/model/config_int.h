/*
 * config_int.h - messages that the models share inside this folder.
 *
 * config.c holds ModelConfig and feature groups; the message of a model stands in the model's own
 * file.
 */
#ifndef CR_MODEL_CONFIG_INT_H
#define CR_MODEL_CONFIG_INT_H

#include "model/config.h"
#include "model/list.h"

#define HELP_INPUT     "name of the feature group it reads"
#define HELP_FINAL     "layers above everything"
#define HELP_DEEP      "layers over the group deep"
#define HELP_WIDE_INIT "how the wide tables start, as a torch.nn.init call"
#define HELP_TOWERS    "one tower per feature group"
#define HELP_TASKS     "one tower per task"
#define HELP_LOSSES                                                                                \
    "what training makes small; not given: binary_cross_entropy, with num_class above 1 "          \
    "softmax_cross_entropy"
#define HELP_METRICS                                                                               \
    "what evaluation measures; not given: auc, with num_class above 2 accuracy, beside l2_loss "   \
    "mean_squared_error"
#define HELP_ATTN    "layers that score each step"
#define HELP_WINDOWS "steps of each window, from the start"

/* what a block or a tower of a backbone reads (blocks.c) */
extern const cr_msg cr_block_input_msg;
/* sequence groups and encoders of feature groups (encoder.c) */
extern const cr_msg cr_seq_group_msg, cr_seq_encoder_msg;

#endif
