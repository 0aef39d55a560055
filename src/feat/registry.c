/*
 * registry.c - the feature types of list.h as families of config messages.
 */
#include "feat/config_int.h"

#define ENTRY(key, m)     {#key, &cr_##m##_msg, &cr_feature_##m},
#define SEQ_ENTRY(key, m) {"sequence_" #key, &cr_##m##_msg, &cr_feature_##m},

/* SequenceFeature: several columns whose sequences run side by side. */
static const cr_oneof_member seq_members[] = {
    CR_FEATURES(ENTRY){NULL, NULL, NULL},
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

/* A sequence_feature holds features but is none itself, so it has no type. */
static const cr_oneof_member members[] = {
    CR_FEATURES(ENTRY){"sequence_feature", &cr_sequence_msg, NULL},
    CR_FEATURES(SEQ_ENTRY){NULL, NULL, NULL},
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
