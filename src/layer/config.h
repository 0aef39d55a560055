/*
 * config.h - the config messages of modules (MLP, cross nets, …) and of losses.
 *
 * Modules without a struct here are known only so that their configs can be checked.
 */
#ifndef CR_LAYER_CONFIG_H
#define CR_LAYER_CONFIG_H

#include "conf/field.h"

typedef struct cr_mlp_conf {
    cr_conf_base base;
    cr_ints hidden_units;
    cr_floats dropout_ratio; /* empty: 0; one value: all layers; else one per layer */
    const char *activation;
    bool use_bn;
    bool bias;
    bool use_ln;
} cr_mlp_conf;
extern const cr_msg cr_mlp_msg;

/* messages of interaction modules (config_inter.c) */
typedef struct cr_mask_block_conf { /* MaskBlock */
    cr_conf_base base;
    double reduction_ratio; /* 0: use aggregation_dim */
    int64_t aggregation_dim;
    int64_t hidden_dim;
} cr_mask_block_conf;
typedef struct cr_mask_net_conf { /* MaskNetModule */
    cr_conf_base base;
    int64_t n_mask_blocks;
    cr_mask_block_conf *mask_block;
    cr_mlp_conf *top_mlp; /* NULL: none */
    bool use_parallel;
} cr_mask_net_conf;
typedef struct cr_cross_conf { /* Cross, CrossV2 */
    cr_conf_base base;
    int64_t cross_num;
    int64_t low_rank; /* CrossV2 */
} cr_cross_conf;
typedef struct cr_cin_conf { /* CIN */
    cr_conf_base base;
    cr_ints cin_layer_size;
} cr_cin_conf;
typedef struct cr_wukong_layer_conf { /* WuKongLayer */
    cr_conf_base base;
    int64_t lcb_feature_num;
    int64_t fmb_feature_num;
    int64_t compressed_feature_num;
    cr_mlp_conf *feature_num_mlp;
} cr_wukong_layer_conf;
typedef struct cr_autoint_layer_conf { /* AutoIntLayer: crank's own */
    cr_conf_base base;
    int64_t num_heads;
    int64_t head_dim;
    bool use_residual;
    bool use_scale;
    bool use_relu;
} cr_autoint_layer_conf;
extern const cr_msg cr_mask_block_msg, cr_mask_net_module_msg, cr_cross_msg, cr_cross_v2_msg,
    cr_cin_msg, cr_wukong_layer_msg, cr_autoint_layer_msg;

typedef struct cr_extraction_conf { /* ExtractionNetwork */
    cr_conf_base base;
    const char *network_name;
    int64_t expert_num_per_task, share_num, task_step;
    cr_mlp_conf *task_expert_net;
    cr_mlp_conf *share_expert_net; /* NULL: none */
} cr_extraction_conf;
extern const cr_msg cr_extraction_network_msg;
#define CR_MAX_EXPERTS 4096

typedef struct cr_variational_conf { /* VariationalDropout */
    cr_conf_base base;
    double regularization_lambda;
} cr_variational_conf;
extern const cr_msg cr_variational_dropout_msg;

typedef enum cr_similarity { CR_COSINE = 0, CR_INNER_PRODUCT = 1, CR_EUCLID = 2 } cr_similarity;
extern const cr_enum_value cr_similarities[];

/* LossConfig; member.type of the family is a cr_loss_type* (layer/loss.h). */
typedef struct cr_loss_type cr_loss_type;
typedef struct cr_loss_conf {
    cr_conf_base base;
    cr_choice loss;
    double weight;
} cr_loss_conf;
extern const cr_msg cr_loss_msg;
extern const cr_oneof cr_loss_family;

#endif
