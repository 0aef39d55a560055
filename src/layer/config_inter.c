/*
 * config_inter.c - the config messages of interaction modules: masks, cross layers, compressed
 * interactions, Wukong's layers and, crank's own, attention between fields.
 *
 * Upper limits are far above any sensible value; they keep sizes within 64 bits and catch typing
 * mistakes.
 */
#include "layer/config.h"

#include "conf/conf.h"

#define MAX_LAYERS 1024
#define MAX_FIELDS 65536
#define MAX_WIDTH  1048576

static const cr_field mask_block_fields[] = {
    CR_FLOAT(cr_mask_block_conf, reduction_ratio, 1.0, 0, 1024, 0,
             "width of the mask's inner layer, as a multiple of the input's width; 0: use "
             "aggregation_dim"),
    CR_INT(cr_mask_block_conf, aggregation_dim, 0, 0, MAX_WIDTH, 0,
           "width of the mask's inner layer; used when reduction_ratio is 0"),
    CR_INT(cr_mask_block_conf, hidden_dim, 0, 1, MAX_WIDTH, CR_F_REQUIRED,
           "width of the block's output"),
    CR_END,
};
static void mask_block_check(const void *self, cr_diag *diag) {
    const cr_mask_block_conf *c = self;
    if (c->reduction_ratio > 0) {
        if (c->aggregation_dim > 0)
            cr_diag_add(diag, CR_SEV_WARN, CR_ECONF, cr_conf_at(c, "aggregation_dim"),
                        "reduction_ratio %g takes precedence, so aggregation_dim is not used; "
                        "write %s to use it",
                        c->reduction_ratio, CR_SAY(c, "reduction_ratio", "0"));
    } else if (c->aggregation_dim == 0) {
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "reduction_ratio"),
                    "reduction_ratio is 0 and there is no aggregation_dim; give one of them");
    }
}
const cr_msg cr_mask_block_msg = {
    .name = "MaskBlock",
    .help = "A layer whose input is gated by a learned mask",
    .fields = mask_block_fields,
    .size = sizeof(cr_mask_block_conf),
    .check = mask_block_check,
};
static const cr_field mask_net_module_fields[] = {
    CR_INT(cr_mask_net_conf, n_mask_blocks, 0, 1, MAX_LAYERS, CR_F_REQUIRED, "number of blocks"),
    CR_MSG(cr_mask_net_conf, mask_block, &cr_mask_block_msg, CR_F_REQUIRED, "shape of every block"),
    CR_MSG(cr_mask_net_conf, top_mlp, &cr_mlp_msg, 0, "layers above the blocks"),
    CR_BOOL(cr_mask_net_conf, use_parallel, true, 0,
            "blocks side by side instead of one after another"),
    CR_END,
};
const cr_msg cr_mask_net_module_msg = {
    .name = "MaskNetModule",
    .help = "Mask blocks and the layers above them",
    .fields = mask_net_module_fields,
    .size = sizeof(cr_mask_net_conf),
};

static const cr_field cross_fields[] = {
    CR_INT(cr_cross_conf, cross_num, 3, 1, MAX_LAYERS, 0, "number of cross layers"),
    CR_END,
};
const cr_msg cr_cross_msg = {
    .name = "Cross",
    .help = "Cross layers with one weight vector each",
    .fields = cross_fields,
    .size = sizeof(cr_cross_conf),
};
static const cr_field cross_v2_fields[] = {
    CR_INT(cr_cross_conf, cross_num, 3, 1, MAX_LAYERS, 0, "number of cross layers"),
    CR_INT(cr_cross_conf, low_rank, 32, 1, MAX_WIDTH, 0, "inner width of each layer's matrix"),
    CR_END,
};
const cr_msg cr_cross_v2_msg = {
    .name = "CrossV2",
    .help = "Cross layers with a low-rank matrix each",
    .fields = cross_v2_fields,
    .size = sizeof(cr_cross_conf),
};

static const cr_field cin_fields[] = {
    CR_INT(cr_cin_conf, cin_layer_size, 0, 1, MAX_FIELDS, CR_F_REPEATED,
           "feature maps of each layer"),
    CR_END,
};
static void cin_check(const void *self, cr_diag *diag) {
    const cr_cin_conf *c = self;
    if (c->cin_layer_size.n == 0)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "cin_layer_size"),
                    "cin_layer_size is empty; give the feature maps of at least one layer");
}
const cr_msg cr_cin_msg = {
    .name = "CIN",
    .help = "Explicit interactions of whole vectors",
    .fields = cin_fields,
    .size = sizeof(cr_cin_conf),
    .check = cin_check,
};

static const cr_field wukong_layer_fields[] = {
    CR_INT(cr_wukong_layer_conf, lcb_feature_num, 0, 1, MAX_FIELDS, CR_F_REQUIRED,
           "vectors out of the linear part"),
    CR_INT(cr_wukong_layer_conf, fmb_feature_num, 0, 1, MAX_FIELDS, CR_F_REQUIRED,
           "vectors out of the factorization part"),
    CR_INT(cr_wukong_layer_conf, compressed_feature_num, 16, 1, MAX_FIELDS, 0,
           "vectors that all are compared with"),
    CR_MSG(cr_wukong_layer_conf, feature_num_mlp, &cr_mlp_msg, CR_F_REQUIRED,
           "layers of the factorization part"),
    CR_END,
};
const cr_msg cr_wukong_layer_msg = {
    .name = "WuKongLayer",
    .help = "One layer of stacked factorization machines",
    .fields = wukong_layer_fields,
    .size = sizeof(cr_wukong_layer_conf),
};

static const cr_field autoint_layer_fields[] = {
    CR_INT(cr_autoint_layer_conf, num_heads, 2, 1, MAX_LAYERS, CR_F_OURS, "attention heads"),
    CR_INT(cr_autoint_layer_conf, head_dim, 32, 1, MAX_FIELDS, CR_F_OURS, "width of a head"),
    CR_BOOL(cr_autoint_layer_conf, use_residual, true, CR_F_OURS,
            "add the layer's input, through a matrix of its own"),
    CR_BOOL(cr_autoint_layer_conf, use_scale, false, CR_F_OURS,
            "divide scores by the root of head_dim; the paper does not"),
    CR_BOOL(cr_autoint_layer_conf, use_relu, true, CR_F_OURS, "end with a ReLU"),
    CR_END,
};
const cr_msg cr_autoint_layer_msg = {
    .name = "AutoIntLayer",
    .help = "One layer of self-attention between fields",
    .fields = autoint_layer_fields,
    .size = sizeof(cr_autoint_layer_conf),
};
