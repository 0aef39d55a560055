/*
 * config_int.h - messages that the model tables share inside this folder.
 *
 * config.c holds ModelConfig, groups and the first models, a newer model's message stands in its
 * own file; the others are those of later versions: config_rank.c (ranking and multi-task),
 * config_match.c (matching, trees, semantic ids), config_hstu.c (sequential transducers).
 */
#ifndef CR_MODEL_CONFIG_INT_H
#define CR_MODEL_CONFIG_INT_H

#include "model/config.h"

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

/* usable (config.c) */
extern const cr_msg cr_multi_tower_msg, cr_deepfm_msg, cr_wide_and_deep_msg, cr_dlrm_msg;
/* each in its model's file */
extern const cr_msg cr_autoint_msg, cr_backbone_msg, cr_dbmtl_msg, cr_dcn_v1_msg, cr_dcn_v2_msg,
    cr_esmm_msg, cr_ffm_msg, cr_fm_msg, cr_logistic_regression_msg, cr_mask_net_msg, cr_mmoe_msg,
    cr_pepnet_msg, cr_ple_msg, cr_plugin_msg, cr_rocket_launching_msg, cr_simple_multi_task_msg,
    cr_wukong_msg, cr_xdeepfm_msg;
/* what a block or a tower of a backbone reads (blocks.c) */
extern const cr_msg cr_block_input_msg;
/* sequence groups and encoders of feature groups (encoder.c) */
extern const cr_msg cr_seq_group_msg, cr_seq_encoder_msg;
/* ranking and multi-task models (config_rank.c) */
extern const cr_msg cr_multi_tower_din_msg, cr_dc2vr_msg;
/* matching models (config_match.c) */
extern const cr_msg cr_dssm_msg, cr_dssm_v2_msg, cr_dat_msg, cr_mind_msg, cr_tdm_msg,
    cr_sid_rqvae_msg, cr_sid_rqkmeans_msg;
/* sequential transducers (config_hstu.c) */
extern const cr_msg cr_dlrm_hstu_msg, cr_dlrm_hstu_onerank_msg, cr_ultra_hstu_msg,
    cr_hstu_match_msg, cr_genrec_msg, cr_custom_model_msg;

#endif
