/*
 * registry.c - every feature type crank knows, under its key of FeatureConfig.
 *
 * A type is a line of FEATURES: key, message, type; its sequence forms come with it (seq.c):
 * sequence_<key>, and <key> inside a sequence_feature.
 */
#include "feat/config_int.h"

#define FEATURES(X)                                                                                \
    X(id_feature, cr_id_msg, cr_feature_id)                                                        \
    X(raw_feature, cr_raw_msg, cr_feature_raw)                                                     \
    X(combo_feature, cr_combo_msg, cr_feature_combo)                                               \
    X(lookup_feature, cr_lookup_msg, cr_feature_lookup)                                            \
    X(match_feature, cr_match_msg, cr_feature_match)                                               \
    X(expr_feature, cr_expr_msg, cr_feature_expr)                                                  \
    X(overlap_feature, cr_overlap_msg, cr_feature_overlap)                                         \
    X(kv_dot_product, cr_kv_dot_msg, cr_feature_kv_dot)                                            \
    X(bool_mask_feature, cr_bool_mask_msg, cr_feature_bool_mask)                                   \
    X(combine_feature, cr_combine_msg, cr_feature_combine)                                         \
    X(custom_feature, cr_custom_msg, cr_feature_custom)                                            \
    X(tokenize_feature, cr_tokenize_msg, cr_feature_tokenize)

#define DECLARE(key, msg, type)   extern const cr_feature_type type;
#define ENTRY(key, msg, type)     {#key, &msg, &type},
#define SEQ_ENTRY(key, msg, type) {"sequence_" #key, &msg, &type},
FEATURES(DECLARE)

/* SequenceFeature: several columns whose sequences run side by side */
static const cr_oneof_member seq_members[] = {
    FEATURES(ENTRY){NULL, NULL, NULL},
};
static const cr_oneof seq_family = {"feature", true, seq_members};
static const cr_field seq_feature_fields[] = {
    CR_ONEOF(cr_feature_conf, feature, &seq_family, 0, "what is made of each step"),
    CR_END,
};
static const cr_msg seq_feature_msg = {
    .name = "SeqFeatureConfig",
    .help = "One feature of a grouped sequence",
    .fields = seq_feature_fields,
    .size = sizeof(cr_feature_conf),
};
static const cr_field sequence_fields[] = {
    CR_STR(cr_sequence_conf, sequence_name, NULL, CR_F_REQUIRED,
           "name of the sequence; its features are called <sequence_name>__<feature_name>"),
    CR_INT(cr_sequence_conf, sequence_length, 0, 1, CR_U32_MAX, CR_F_REQUIRED,
           "number of first steps that are kept; FG_NONE keeps all"),
    CR_STR(cr_sequence_conf, sequence_delim, ";", 0, "text between steps"),
    CR_STR(cr_sequence_conf, sequence_pk, NULL, 0, "key of the sequence when serving"),
    CR_MSG(cr_sequence_conf, features, &seq_feature_msg, CR_F_REPEATED, "features of every step"),
    CR_END,
};
const cr_msg cr_sequence_msg = {
    .name = "SequenceFeature",
    .help = "Features of sequences that have the same steps",
    .fields = sequence_fields,
    .size = sizeof(cr_sequence_conf),
};

/* a sequence_feature is not a feature but holds them: it has no type */
static const cr_oneof_member members[] = {
    FEATURES(ENTRY){"sequence_feature", &cr_sequence_msg, NULL},
    FEATURES(SEQ_ENTRY){NULL, NULL, NULL},
};
const cr_oneof cr_feature_family = {"feature", true, members};

static const cr_field feature_fields[] = {
    CR_ONEOF(cr_feature_conf, feature, &cr_feature_family, 0, "one feature"),
    CR_END,
};
const cr_msg cr_feature_msg = {
    .name = "FeatureConfig",
    .help = "One feature: a column and how the model sees it",
    .fields = feature_fields,
    .size = sizeof(cr_feature_conf),
};
