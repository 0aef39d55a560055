/*
 * config_match.c - messages of matching models, tree and semantic-id models that are not in this
 * version: tables only, nothing stored.
 */
#include "model/config_int.h"

/* ---- two-tower models ---- */
#define SIMILARITY(def)                                                                            \
    CR_K_ENUM("similarity", cr_similarities, def, 0, "how user and item vectors are compared"),    \
        CR_K_FLOAT("temperature", 1.0, 0, CR_INF, 0, "divides the similarities"),                  \
        CR_K_BOOL("in_batch_negative", false, 0, "the other rows' items are the negatives")
#define OUTPUT_DIM                                                                                 \
    CR_K_INT("output_dim", 0, -2147483648.0, 2147483647.0, CR_F_REQUIRED,                          \
             "width of the compared vectors; 0 or less: the towers' own")

static const cr_field dssm_fields[] = {
    CR_K_MSG("user_tower", &cr_tower_msg, CR_F_REQUIRED, "layers of the user"),
    CR_K_MSG("item_tower", &cr_tower_msg, CR_F_REQUIRED, "layers of the item"),
    OUTPUT_DIM,
    SIMILARITY(CR_INNER_PRODUCT),
    CR_END,
};
const cr_msg cr_dssm_msg = {
    .name = "DSSM",
    .help = "User and item towers with tables of their own",
    .fields = dssm_fields,
    .later = true,
};
const cr_msg cr_dssm_v2_msg = {
    .name = "DSSMV2",
    .help = "User and item towers that share tables",
    .fields = dssm_fields,
    .later = true,
};

static const cr_field dat_tower_fields[] = {
    CR_K_STR("input", NULL, CR_F_REQUIRED, HELP_INPUT),
    CR_K_STR("augment_input", NULL, CR_F_REQUIRED, "group that holds the augmented vector"),
    CR_K_MSG("mlp", &cr_mlp_msg, CR_F_REQUIRED, "layers of the tower"),
    CR_END,
};
static const cr_msg dat_tower_msg = {
    .name = "DATTower",
    .help = "A tower with an augmented vector",
    .fields = dat_tower_fields,
    .later = true,
};
static const cr_field dat_fields[] = {
    CR_K_MSG("user_tower", &dat_tower_msg, CR_F_REQUIRED, "layers of the user"),
    CR_K_MSG("item_tower", &dat_tower_msg, CR_F_REQUIRED, "layers of the item"),
    OUTPUT_DIM,
    SIMILARITY(CR_INNER_PRODUCT),
    CR_K_FLOAT("amm_i_weight", 0.5, 0, CR_INF, 0, "weight of the items' mimic loss"),
    CR_K_FLOAT("amm_u_weight", 0.5, 0, CR_INF, 0, "weight of the users' mimic loss"),
    CR_END,
};
const cr_msg cr_dat_msg = {
    .name = "DAT",
    .help = "Two towers that mimic each other through augmented vectors",
    .fields = dat_fields,
    .later = true,
};

static const cr_enum_value combine_methods[] = {
    {"CONCAT", 0, "side by side", "remove it"},
    {"SUM", 1, "added", "remove it"},
    {NULL, 0, NULL, NULL},
};
static const cr_field mind_tower_fields[] = {
    CR_K_STR("input", NULL, CR_F_REQUIRED, HELP_INPUT),
    CR_K_STR("history_input", NULL, CR_F_REQUIRED, "sequence group of the user's behaviour"),
    CR_K_MSG("user_mlp", &cr_mlp_msg, CR_F_REQUIRED, "layers of the profile"),
    CR_K_MSG("hist_seq_mlp", &cr_mlp_msg, 0, "layers of each step of the history"),
    CR_K_ENUM("user_seq_combine", combine_methods, 1, CR_F_SPEED,
              "accepted and not used, as in TorchEasyRec"),
    CR_K_MSG("capsule_config", &cr_capsule_msg, CR_F_REQUIRED, "routing to interests"),
    CR_K_MSG("concat_mlp", &cr_mlp_msg, CR_F_REQUIRED, "layers over profile and interest"),
    CR_END,
};
static const cr_msg mind_tower_msg = {
    .name = "MINDUserTower",
    .help = "A user as several interests",
    .fields = mind_tower_fields,
    .later = true,
};
static const cr_field mind_fields[] = {
    CR_K_MSG("user_tower", &mind_tower_msg, CR_F_REQUIRED, "layers of the user"),
    CR_K_MSG("item_tower", &cr_tower_msg, CR_F_REQUIRED, "layers of the item"),
    CR_K_FLOAT("simi_pow", 10, -CR_INF, CR_INF, 0, "how sharply the best interest is chosen"),
    SIMILARITY(CR_COSINE),
    OUTPUT_DIM,
    CR_END,
};
const cr_msg cr_mind_msg = {
    .name = "MIND",
    .help = "Several interests per user against one vector per item",
    .fields = mind_fields,
    .later = true,
};

/* ---- tree ---- */
static const cr_field window_tower_fields[] = {
    CR_K_INT("windows_len", 0, 1, CR_U32_MAX, CR_F_REPEATED, HELP_WINDOWS),
    CR_K_MSG("attn_mlp", &cr_mlp_msg, CR_F_REQUIRED, HELP_ATTN),
    CR_END,
};
static const cr_msg window_tower_msg = {
    .name = "MultiWindowDINTower",
    .help = "Attention summed over windows of steps",
    .fields = window_tower_fields,
    .later = true,
};
static const cr_field tdm_fields[] = {
    CR_K_MSG("multiwindow_din", &window_tower_msg, CR_F_REQUIRED, "attention over the history"),
    CR_K_MSG("final", &cr_mlp_msg, CR_F_REQUIRED, HELP_FINAL),
    CR_END,
};
const cr_msg cr_tdm_msg = {
    .name = "TDM",
    .help = "Scores nodes of an item tree",
    .fields = tdm_fields,
    .later = true,
};

/* ---- semantic ids ---- */
static const cr_field candidate_output_fields[] = {
    CR_K_BOOL("enabled", false, 0, "also give further candidates in prediction"),
    CR_K_INT("topk", 1, 1, CR_U32_MAX, 0, "candidates per row"),
    CR_K_STR("strategy", "last_layer_knn", 0, "how candidates are found"),
    CR_END,
};
static const cr_msg candidate_output_msg = {
    .name = "SidCandidateOutputConfig",
    .help = "Further codes per row",
    .fields = candidate_output_fields,
    .later = true,
};
static const cr_field sinkhorn_fields[] = {
    CR_K_INT("iters", 5, 1, CR_U32_MAX, 0, "rounds of balancing"),
    CR_K_FLOAT("epsilon", 10.0, 0, CR_INF, 0, "sharpness of the assignment"),
    CR_K_BOOL("enabled", true, 0, "balance the use of codes while training"),
    CR_END,
};
static const cr_msg sinkhorn_msg = {
    .name = "SinkhornConfig",
    .help = "Even use of codes",
    .fields = sinkhorn_fields,
    .later = true,
};
static const cr_field contrastive_config_fields[] = {
    CR_K_STR("pair_feature_group", NULL, CR_F_REQUIRED, "group with the paired item's vector"),
    CR_K_STR("pair_flag_feature_group", NULL, CR_F_REQUIRED, "group that says which rows have one"),
    CR_END,
};
static const cr_msg contrastive_config_msg = {
    .name = "SidContrastiveConfig",
    .help = "Pairs of items",
    .fields = contrastive_config_fields,
    .later = true,
};
#define CODEBOOK CR_K_INT("codebook", 0, 1, CR_U32_MAX, CR_F_REPEATED, "codes of each level")
#define NORMALIZE_RESIDUALS                                                                        \
    CR_K_BOOL("normalize_residuals", false, 0, "length one before each level")
#define CANDIDATES                                                                                 \
    CR_K_MSG("candidate_output_config", &candidate_output_msg, 0,                                  \
             "further candidates in prediction")

static const cr_field sid_rqvae_fields[] = {
    CR_K_INT("embed_dim", 64, 1, CR_U32_MAX, 0, "width of the quantised vector"),
    CR_K_INT("hidden_dims", 0, 1, CR_U32_MAX, CR_F_REPEATED,
             "widths of the encoder's layers; not given: half the input"),
    CODEBOOK,
    CR_K_STR("forward_mode", "ste", 0, "gradient through the codes: ste or gumbel_softmax"),
    NORMALIZE_RESIDUALS,
    CR_K_STR("distance_type", "l2", 0, "distance to codes: l2 or cosine"),
    CR_K_BOOL("rotation_trick", false, 0, "rotate gradients instead of copying them"),
    CR_K_BOOL("kmeans_init", false, 0, "start the codes from the first batch"),
    CR_K_MSG("sinkhorn_config", &sinkhorn_msg, 0, "even use of codes"),
    CR_K_MSG("contrastive_config", &contrastive_config_msg, 0, "learn from pairs of items"),
    CANDIDATES,
    CR_END,
};
const cr_msg cr_sid_rqvae_msg = {
    .name = "SidRqvae",
    .help = "Semantic ids from a residual quantised autoencoder",
    .fields = sid_rqvae_fields,
    .later = true,
};
static const cr_field kmeans_fields[] = {
    CR_K_INT("niter", 0, 0, CR_U32_MAX, 0, "rounds"),
    CR_K_INT("nredo", 0, 0, CR_U32_MAX, 0, "runs, of which the best is kept"),
    CR_K_INT("seed", 0, 0, CR_U32_MAX, 0, "seed of the start"),
    CR_K_INT("max_points_per_centroid", 0, 0, CR_U32_MAX, 0, "most rows used per code"),
    CR_K_INT("min_points_per_centroid", 0, 0, CR_U32_MAX, 0, "fewest rows wanted per code"),
    CR_K_BOOL("spherical", false, 0, "codes of length one"),
    CR_K_BOOL("verbose", false, 0, "log each round"),
    CR_END,
};
static const cr_msg kmeans_msg = {
    .name = "FaissKmeansKwargs",
    .help = "Parameters of k-means",
    .fields = kmeans_fields,
    .later = true,
};
static const cr_field sid_rqkmeans_fields[] = {
    CODEBOOK,
    NORMALIZE_RESIDUALS,
    CR_K_MSG("faiss_kmeans_kwargs", &kmeans_msg, 0, "parameters of k-means"),
    CR_K_INT("train_sample_size", 0, 0, CR_U32_MAX, 0, "rows sampled; 0: 256 per code"),
    CANDIDATES,
    CR_END,
};
const cr_msg cr_sid_rqkmeans_msg = {
    .name = "SidRqkmeans",
    .help = "Semantic ids from residual k-means",
    .fields = sid_rqkmeans_fields,
    .later = true,
};
