/*
 * config_hstu.c - messages of the sequential transducers (HSTU) and the models built from them, not
 * in this version: tables only, nothing stored.
 */
#include "metric/metric.h"
#include "model/config_int.h"

static const cr_field no_fields[] = {CR_END};

/* ---- parts ---- */
static const cr_field stu_fields[] = {
    CR_K_INT("embedding_dim", 0, 1, CR_U32_MAX, CR_F_REQUIRED, "width of a token"),
    CR_K_INT("num_heads", 0, 1, CR_U32_MAX, CR_F_REQUIRED, "heads"),
    CR_K_INT("hidden_dim", 0, 1, CR_U32_MAX, CR_F_REQUIRED, "width of values per head"),
    CR_K_INT("attention_dim", 0, 1, CR_U32_MAX, CR_F_REQUIRED,
             "width of queries and keys per head"),
    CR_K_FLOAT("output_dropout_ratio", 0.3, 0, 1, 0, "share of outputs dropped while training"),
    CR_K_INT("max_attn_len", 0, 0, CR_U32_MAX, 0, "farthest token that is seen; 0: all"),
    CR_K_FLOAT("attn_alpha", 0, -CR_INF, CR_INF, 0,
               "factor of the scores; not given: one over the root of attention_dim"),
    CR_K_BOOL("use_group_norm", false, 0, "norm per head instead of over all"),
    CR_K_BOOL("recompute_normed_x", true, CR_F_SPEED, "save memory by computing again"),
    CR_K_BOOL("recompute_uvqk", true, CR_F_SPEED, "save memory by computing again"),
    CR_K_BOOL("recompute_y", true, CR_F_SPEED, "save memory by computing again"),
    CR_K_BOOL("sort_by_length", true, CR_F_SPEED, "order of work on sequences"),
    CR_K_INT("contextual_seq_len", -1, -1, 2147483647.0, 0, "tokens of context; -1: found out"),
    CR_K_INT("sla_k1", 0, 0, CR_U32_MAX, 0, "last tokens that local attention sees"),
    CR_K_INT("sla_k2", 0, 0, CR_U32_MAX, 0, "first tokens that local attention sees"),
    CR_K_INT("scaling_seqlen", -1, -1, 2147483647.0, 0,
             "divides the scores; -1: the model's max_seq_len"),
    CR_END,
};
static const cr_msg stu_msg = {
    .name = "STU",
    .help = "One layer of the transducer",
    .fields = stu_fields,
    .later = true,
};

static const cr_field positional_fields[] = {
    CR_K_INT("num_position_buckets", 0, 1, CR_U32_MAX, CR_F_REQUIRED,
             "number of different positions"),
    CR_K_INT("num_time_buckets", 0, 0, CR_U32_MAX, 0, "number of different time differences"),
    CR_K_BOOL("use_time_encoding", false, 0, "also encode time differences"),
    CR_K_STR("time_bucket_fn", "sqrt", 0, "scale of time differences: sqrt or log"),
    CR_K_FLOAT("time_bucket_increments", 60, 0, CR_INF, 0, "seconds of one unit"),
    CR_END,
};
static const cr_msg positional_msg = {
    .name = "GRPositionalEncoder",
    .help = "Encodes position and time",
    .fields = positional_fields,
    .later = true,
};

static const cr_field simple_action_fields[] = {
    CR_K_INT("action_embedding_dim", 0, 0, CR_U32_MAX, 0, "width of an action's vector"),
    CR_K_INT("action_weights", 0, 0, CR_U32_MAX, CR_F_REPEATED, "bit of each action"),
    CR_K_INT("watchtime_to_action_thresholds", 0, 0, CR_U32_MAX, CR_F_REPEATED,
             "watch times from which an action counts"),
    CR_K_INT("watchtime_to_action_weights", 0, 0, CR_U32_MAX, CR_F_REPEATED,
             "bits of these actions"),
    CR_K_FLOAT("embedding_init_std", 0.1, 0, CR_INF, CR_F_SPEED,
               "accepted and not used, as in TorchEasyRec: always 0.1"),
    CR_END,
};
static const cr_msg simple_action_msg = {
    .name = "GRSimpleActionEncoder",
    .help = "A vector per action bit",
    .fields = simple_action_fields,
    .later = true,
};
static const cr_oneof_member action_encoders[] = {
    {"simple_action_encoder", &simple_action_msg, NULL},
    {NULL, NULL, NULL},
};
static const cr_oneof action_family = {"action encoder", true, action_encoders};
static const cr_field action_encoder_fields[] = {
    CR_K_ONEOF("action_encoder", &action_family, 0, "the encoder"),
    CR_END,
};
static const cr_msg action_encoder_msg = {
    .name = "GRActionEncoder",
    .help = "Encodes what the user did",
    .fields = action_encoder_fields,
    .later = true,
};

static const cr_field mlp_content_fields[] = {
    CR_K_MSG("uih_mlp", &cr_mlp_msg, CR_F_REQUIRED, "layers of the history's items"),
    CR_K_MSG("target_mlp", &cr_mlp_msg, CR_F_REQUIRED, "layers of the candidates"),
    CR_END,
};
static const cr_msg slice_content_msg = {
    .name = "GRSliceContentEncoder",
    .help = "Candidates cut to the history's width",
    .fields = no_fields,
    .later = true,
};
static const cr_msg pad_content_msg = {
    .name = "GRPadContentEncoder",
    .help = "History filled up by a learned vector",
    .fields = no_fields,
    .later = true,
};
static const cr_msg mlp_content_msg = {
    .name = "GRMLPContentEncoder",
    .help = "Layers for history and candidates",
    .fields = mlp_content_fields,
    .later = true,
};
static const cr_oneof_member content_encoders[] = {
    {"slice_content_encoder", &slice_content_msg, NULL},
    {"pad_content_encoder", &pad_content_msg, NULL},
    {"mlp_content_encoder", &mlp_content_msg, NULL},
    {NULL, NULL, NULL},
};
static const cr_oneof content_family = {"content encoder", true, content_encoders};
static const cr_field content_encoder_fields[] = {
    CR_K_ONEOF("content_encoder", &content_family, 0, "the encoder"),
    CR_END,
};
static const cr_msg content_encoder_msg = {
    .name = "GRContentEncoder",
    .help = "Brings items to one width",
    .fields = content_encoder_fields,
    .later = true,
};

static const cr_field simple_mlp_fields[] = {
    CR_K_INT("hidden_dim", 0, 1, CR_U32_MAX, CR_F_REQUIRED, "inner width"),
    CR_END,
};
static const cr_field parameterized_mlp_fields[] = {
    CR_K_INT("hidden_dim", 0, 1, CR_U32_MAX, CR_F_REQUIRED, "inner width"),
    CR_K_FLOAT("contextual_dropout_ratio", 0.3, 0, 1, 0, "share of context dropped while training"),
    CR_END,
};
static const cr_msg simple_mlp_msg = {
    .name = "GRSimpleContextualizedMLP",
    .help = "Layers that ignore the context",
    .fields = simple_mlp_fields,
    .later = true,
};
static const cr_msg parameterized_mlp_msg = {
    .name = "GRParameterizedContextualizedMLP",
    .help = "Layers whose weights come from the context",
    .fields = parameterized_mlp_fields,
    .later = true,
};
static const cr_oneof_member contextualized_mlps[] = {
    {"simple_mlp", &simple_mlp_msg, NULL},
    {"parameterized_mlp", &parameterized_mlp_msg, NULL},
    {NULL, NULL, NULL},
};
static const cr_oneof contextualized_family = {"contextualized MLP", true, contextualized_mlps};
static const cr_field contextualized_mlp_fields[] = {
    CR_K_ONEOF("contextualized_mlp", &contextualized_family, 0, "the layers"),
    CR_END,
};
static const cr_msg contextualized_mlp_msg = {
    .name = "GRContextualizedMLP",
    .help = "Layers over each token",
    .fields = contextualized_mlp_fields,
    .later = true,
};

#define ACTION_ROWS                                                                                \
    CR_K_MSG("action_encoder", &action_encoder_msg, 0, "encodes actions"),                         \
        CR_K_MSG("action_mlp", &contextualized_mlp_msg, 0, "layers over actions")
#define CONTENT_ROWS                                                                               \
    CR_K_MSG("content_encoder", &content_encoder_msg, CR_F_REQUIRED, "encodes items"),             \
        CR_K_MSG("content_mlp", &contextualized_mlp_msg, CR_F_REQUIRED, "layers over items")
static const cr_field contextual_fields[] = {ACTION_ROWS, CONTENT_ROWS, CR_END};
static const cr_field interleave_fields[] = {
    ACTION_ROWS,
    CONTENT_ROWS,
    CR_K_BOOL("enable_interleaving", true, 0, "items and actions are tokens of their own"),
    CR_END,
};
static const cr_field uih_fields[] = {ACTION_ROWS, CR_END};
static const cr_msg contextual_msg = {
    .name = "GRContextualPreprocessor",
    .help = "Context, then items with actions",
    .fields = contextual_fields,
    .later = true,
};
static const cr_msg interleave_msg = {
    .name = "GRContextualInterleavePreprocessor",
    .help = "Context, then items and actions in turn",
    .fields = interleave_fields,
    .later = true,
};
static const cr_msg uih_msg = {
    .name = "GRUIHPreprocessor",
    .help = "The history alone",
    .fields = uih_fields,
    .later = true,
};
static const cr_oneof_member preprocessors[] = {
    {"contextual_preprocessor", &contextual_msg, NULL},
    {"contextual_interleave_preprocessor", &interleave_msg, NULL},
    {"uih_preprocessor", &uih_msg, NULL},
    {NULL, NULL, NULL},
};
static const cr_oneof preprocessor_family = {"input preprocessor", true, preprocessors};
static const cr_field preprocessor_fields[] = {
    CR_K_ONEOF("input_preprocessor", &preprocessor_family, 0, "the preprocessor"),
    CR_END,
};
static const cr_msg preprocessor_msg = {
    .name = "GRInputPreprocessor",
    .help = "Turns features into tokens",
    .fields = preprocessor_fields,
    .later = true,
};

static const cr_field timestamp_fields[] = {
    CR_K_INT("time_duration_period_units", 0, 1, CR_U32_MAX, CR_F_REPEATED, "seconds of each unit"),
    CR_K_INT("time_duration_units_per_period", 0, 1, CR_U32_MAX, CR_F_REPEATED,
             "units after which each clock starts again"),
    CR_END,
};
static const cr_msg l2norm_msg = {
    .name = "GRL2NormPostprocessor",
    .help = "Length one",
    .fields = no_fields,
    .later = true,
};
static const cr_msg layernorm_msg = {
    .name = "GRLayerNormPostprocessor",
    .help = "Layer norm",
    .fields = no_fields,
    .later = true,
};
static const cr_msg timestamp_msg = {
    .name = "GRTimestampLayerNormPostprocessor",
    .help = "Clock features, then layer norm",
    .fields = timestamp_fields,
    .later = true,
};
static const cr_oneof_member postprocessors[] = {
    {"l2norm_postprocessor", &l2norm_msg, NULL},
    {"layernorm_postprocessor", &layernorm_msg, NULL},
    {"timestamp_layernorm_postprocessor", &timestamp_msg, NULL},
    {NULL, NULL, NULL},
};
static const cr_oneof postprocessor_family = {"output postprocessor", true, postprocessors};
static const cr_field postprocessor_fields[] = {
    CR_K_ONEOF("output_postprocessor", &postprocessor_family, 0, "the postprocessor"),
    CR_END,
};
static const cr_msg postprocessor_msg = {
    .name = "GROutputPostprocessor",
    .help = "Finishes the output tokens",
    .fields = postprocessor_fields,
    .later = true,
};

static const cr_field hstu_fields[] = {
    CR_K_MSG("stu", &stu_msg, CR_F_REQUIRED, "shape of a layer"),
    CR_K_FLOAT("input_dropout_ratio", 0.2, 0, 1, 0, "share of the input dropped while training"),
    CR_K_INT("attn_num_layers", 3, 1, CR_U32_MAX, 0, "layers"),
    CR_K_MSG("positional_encoder", &positional_msg, CR_F_REQUIRED, "encodes positions"),
    CR_K_MSG("input_preprocessor", &preprocessor_msg, CR_F_REQUIRED, "makes the tokens"),
    CR_K_MSG("output_postprocessor", &postprocessor_msg, CR_F_REQUIRED, "finishes the output"),
    CR_K_INT("attn_truncation_split_layer", 0, 0, CR_U32_MAX, 0,
             "layers before the history is cut"),
    CR_K_INT("attn_truncation_tail_len", 0, 0, CR_U32_MAX, 0, "history tokens kept then"),
    CR_K_STR("name", "", 0, "name of the channel"),
    CR_END,
};
static const cr_msg hstu_msg = {
    .name = "HSTU",
    .help = "A sequential transducer",
    .fields = hstu_fields,
    .later = true,
};

/* ---- models ---- */
static const cr_field fusion_task_fields[] = {
    CR_K_STR("task_name", NULL, CR_F_REQUIRED, "name of the task"),
    CR_K_STR("label_name", NULL, CR_F_REQUIRED, "label column of the task"),
    CR_K_UINT64("task_bitmask", 0, 0, "bits of the label that count"),
    CR_K_MSG("losses", &cr_loss_msg, CR_F_REPEATED, "what training makes small"),
    CR_K_INT("num_class", 1, 1, 65536, 0, "outputs of the task"),
    CR_K_MSG("metrics", &cr_metric_msg, CR_F_REPEATED, "what evaluation measures"),
    CR_K_FLOAT("weight", 1.0, 0, CR_INF, 0, "weight of the task's loss"),
    CR_K_MSG("train_metrics", &cr_train_metric_msg, CR_F_REPEATED, "metrics shown while training"),
    CR_END,
};
static const cr_msg fusion_task_msg = {
    .name = "FusionSubTaskConfig",
    .help = "One task of the fused tower",
    .fields = fusion_task_fields,
    .later = true,
};
static const cr_field fusion_tower_fields[] = {
    CR_K_MSG("mlp", &cr_mlp_msg, 0, "layers shared by the tasks"),
    CR_K_MSG("task_configs", &fusion_task_msg, CR_F_REPEATED, "the tasks"),
    CR_END,
};
static const cr_msg fusion_tower_msg = {
    .name = "FusionMTLTower",
    .help = "One tower for several tasks",
    .fields = fusion_tower_fields,
    .later = true,
};

#define ASCENDING                                                                                  \
    CR_K_BOOL("sequence_timestamp_is_ascending", true, 0, "sequences run from old to new")
#define RANK_ROWS                                                                                  \
    CR_K_MSG("fusion_mtl_tower", &fusion_tower_msg, CR_F_REQUIRED, "the tasks"),                   \
        CR_K_INT("max_seq_len", 0, 1, CR_U32_MAX, CR_F_REQUIRED, "most tokens of a row"),          \
        CR_K_INT("item_embedding_hidden_dim", 512, 1, CR_U32_MAX, 0,                               \
                 "inner width of the candidates' layers"),                                         \
        CR_K_BOOL("enable_global_average_loss", true, 0, "mean over the candidates of all ranks"), \
        ASCENDING,                                                                                 \
        CR_K_BOOL("concat_contextual_features", false, 0, "the whole context is one token")
static const cr_field dlrm_hstu_fields[] = {
    CR_K_MSG("hstu", &hstu_msg, CR_F_REQUIRED, "the transducer"),
    RANK_ROWS,
    CR_END,
};
static const cr_field ultra_hstu_fields[] = {
    CR_K_MSG("hstu", &hstu_msg, CR_F_REPEATED, "the transducers; two or more need names"),
    RANK_ROWS,
    CR_END,
};
static const cr_field onerank_fields[] = {
    CR_K_MSG("hstu", &hstu_msg, CR_F_REQUIRED, "the transducer"),
    RANK_ROWS,
    CR_K_TREE("onerank", 0, "how candidates and tasks are scored"),
    CR_END,
};
const cr_msg cr_dlrm_hstu_onerank_msg = {
    .name = "DlrmHSTUOneRank",
    .help = "Ranks candidates, each task in the transducer",
    .fields = onerank_fields,
    .later = true,
};
/* ---- models outside of the config: a language model, and Python of the user's own ---- */
static const cr_field genrec_fields[] = {
    CR_K_TREE("common", 0, "how codes are generated"),
    CR_K_STR("hf_model_name_or_path", "Qwen/Qwen2.5-0.5B", 0, "the language model"),
    CR_END,
};
const cr_msg cr_genrec_msg = {
    .name = "GenRecCausalLMModel",
    .help = "Generates items with a language model",
    .fields = genrec_fields,
    .later = true,
};
static const cr_field custom_model_fields[] = {
    CR_K_STR("class_path", NULL, CR_F_REQUIRED, "Python class of the model"),
    CR_K_TREE("config", 0, "what the class reads"),
    CR_END,
};
const cr_msg cr_custom_model_msg = {
    .name = "CustomModel",
    .help = "A model in Python; use plugin or backbone",
    .fields = custom_model_fields,
    .later = true,
};
const cr_msg cr_dlrm_hstu_msg = {
    .name = "DlrmHSTU",
    .help = "Ranks candidates with a sequential transducer",
    .fields = dlrm_hstu_fields,
    .later = true,
};
const cr_msg cr_ultra_hstu_msg = {
    .name = "UltraHSTU",
    .help = "Ranks candidates with several transducers",
    .fields = ultra_hstu_fields,
    .later = true,
};

static const cr_field hstu_tower_fields[] = {
    CR_K_STR("input", NULL, CR_F_REQUIRED, HELP_INPUT),
    CR_K_MSG("hstu", &hstu_msg, CR_F_REQUIRED, "the transducer"),
    CR_K_INT("max_seq_len", 0, 1, CR_U32_MAX, CR_F_REQUIRED, "most tokens of a row"),
    CR_END,
};
static const cr_msg hstu_tower_msg = {
    .name = "HSTUUserTower",
    .help = "A user as the last token of a transducer",
    .fields = hstu_tower_fields,
    .later = true,
};
static const cr_field hstu_match_fields[] = {
    CR_K_MSG("user_tower", &hstu_tower_msg, CR_F_REQUIRED, "layers of the user"),
    CR_K_MSG("item_tower", &cr_tower_msg, CR_F_REQUIRED, "layers of the item"),
    CR_K_INT("output_dim", 0, 0, 2147483647.0, 0,
             "width of the compared vectors; 0: the towers' own"),
    CR_K_ENUM("similarity", cr_similarities, CR_INNER_PRODUCT, 0,
              "how user and item vectors are compared"),
    CR_K_FLOAT("temperature", 1.0, 0, CR_INF, 0, "divides the similarities"),
    CR_K_BOOL("in_batch_negative", false, 0, "the other rows' items are the negatives"),
    ASCENDING,
    CR_END,
};
const cr_msg cr_hstu_match_msg = {
    .name = "HSTUMatch",
    .help = "A transducer's user vector against items",
    .fields = hstu_match_fields,
    .later = true,
};
