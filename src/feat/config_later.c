/*
 * config_later.c - messages of feature types and tables that are known but not in this version.
 *
 * They have tables so that a config which uses them can be read, checked and explained; nothing is
 * stored. The rows are put together from groups because the messages share most of them.
 */
#include "feat/config_int.h"

/* ---- ZeroCollisionHash ---- */
static const cr_field no_fields[] = {CR_END};
static const cr_field decay_fields[] = {
    CR_K_FLOAT("decay_exponent", 1.0, 0, CR_INF, 0, "power of the age of an id in its score"),
    CR_END,
};
static const cr_msg lfu_msg = {
    "LFU_EvictionPolicy", "Evict the least frequent ids", no_fields, 0, true, NULL};
static const cr_msg lru_msg = {
    "LRU_EvictionPolicy", "Evict the least recent ids", decay_fields, 0, true, NULL};
static const cr_msg distance_lfu_msg = {
    "DistanceLFU_EvictionPolicy", "Evict by frequency over age", decay_fields, 0, true, NULL};
static const cr_oneof_member policies[] = {
    {"lfu", &lfu_msg, NULL},
    {"lru", &lru_msg, NULL},
    {"distance_lfu", &distance_lfu_msg, NULL},
    {NULL, NULL, NULL},
};
static const cr_oneof policy_family = {"eviction policy", false, policies};
static const cr_field zch_fields[] = {
    CR_K_UINT64("zch_size", 0, CR_F_REQUIRED,
                "rows of the table; the last is shared by unknown ids"),
    CR_K_INT("eviction_interval", 5, 1, CR_U32_MAX, 0, "training steps between evictions"),
    CR_K_ONEOF("eviction_policy", &policy_family, 0, "which ids give up their rows"),
    CR_K_STR("threshold_filtering_func", NULL, 0, "which ids are admitted, by their counts"),
    CR_END,
};
const cr_msg cr_zch_msg = {"ZeroCollisionHash",
                           "A table in which every kept id has its own row",
                           zch_fields,
                           0,
                           true,
                           NULL};

/* ---- DynamicEmbedding ---- */
static const cr_field init_args_fields[] = {
    CR_K_STR("mode", NULL, 0, "NORMAL, TRUNCATED_NORMAL, UNIFORM or CONSTANT"),
    CR_K_FLOAT("mean", 0, -CR_INF, CR_INF, 0, "mean of the normal modes"),
    CR_K_FLOAT("std_dev", 0, 0, CR_INF, 0, "standard deviation of the normal modes"),
    CR_K_FLOAT("lower", 0, -CR_INF, CR_INF, 0, "lower end of UNIFORM and TRUNCATED_NORMAL"),
    CR_K_FLOAT("upper", 0, -CR_INF, CR_INF, 0, "upper end of UNIFORM and TRUNCATED_NORMAL"),
    CR_K_FLOAT("value", 0, -CR_INF, CR_INF, 0, "value of CONSTANT"),
    CR_END,
};
static const cr_msg init_args_msg = {
    "DynamicEmbInitializerArgs", "How new rows start", init_args_fields, 0, true, NULL};
static const cr_field admission_fields[] = {
    CR_K_UINT64("threshold", 0, CR_F_REQUIRED, "times an id must be seen before it gets a row"),
    CR_K_MSG("initializer_args", &init_args_msg, 0, "vector of ids without a row"),
    CR_K_UINT64("counter_capacity", 0, 0, "ids counted at a time"),
    CR_K_UINT64("counter_bucket_capacity", 1024, 0, "slots per bucket of the counter"),
    CR_END,
};
static const cr_msg admission_msg = {"FrequencyAdmissionStrategy",
                                     "Rows only for ids seen often enough",
                                     admission_fields,
                                     0,
                                     true,
                                     NULL};
static const cr_field dynamicemb_fields[] = {
    CR_K_MSG("initializer_args", &init_args_msg, 0, "how new rows start in training"),
    CR_K_MSG("eval_initializer_args", &init_args_msg, 0, "vector of unknown ids in evaluation"),
    CR_K_STR("score_strategy", "STEP", 0, "what decides which rows are kept"),
    CR_K_UINT64("max_capacity", 0, CR_F_REQUIRED, "most rows of the table"),
    CR_K_FLOAT("cache_load_factor", 0, 0, 1, 0, "share of rows kept in fast memory"),
    CR_K_UINT64("init_capacity_per_rank", 0, 0, "rows at the start, per rank"),
    CR_K_STR("init_table", NULL, 0, "table whose rows it starts with"),
    CR_K_UINT64("bucket_capacity", 0, 0, "slots per bucket of the hash table"),
    CR_K_MSG("frequency_admission_strategy", &admission_msg, 0, "which ids get a row"),
    CR_END,
};
const cr_msg cr_dynamicemb_msg = {
    "DynamicEmbedding", "A table that grows as ids appear", dynamicemb_fields, 0, true, NULL};

/* ---- groups of rows ---- */
#define NAME        CR_K_STR("feature_name", NULL, CR_F_REQUIRED, HELP_NAME)
#define EXPRESSION  CR_K_STR("expression", NULL, 0, HELP_EXPRESSION)
#define EXPRESSIONS CR_K_STR("expression", NULL, CR_F_REPEATED, HELP_EXPRESSIONS)
#define EMBEDDING(dim_lo, dim_flags)                                                               \
    CR_K_STR("embedding_name", NULL, 0, HELP_EMB_NAME),                                            \
        CR_K_INT("embedding_dim", 0, dim_lo, 65536, dim_flags, HELP_EMB_DIM)
#define BUCKETS CR_K_UINT64("num_buckets", 0, 0, HELP_BUCKETS)
#define VOCAB                                                                                      \
    CR_K_UINT64("hash_bucket_size", 0, 0, HELP_HASH),                                              \
        CR_K_STR("vocab_list", NULL, CR_F_REPEATED, HELP_VOCAB_LIST),                              \
        CR_K_MAP_INT("vocab_dict", 0, HELP_VOCAB_DICT),                                            \
        CR_K_STR("vocab_file", NULL, 0, HELP_VOCAB_FILE),                                          \
        CR_K_STR("asset_dir", NULL, 0, HELP_ASSET),                                                \
        CR_K_UINT64("default_bucketize_value", 0, 0, HELP_OOV),                                    \
        CR_K_MSG("zch", &cr_zch_msg, 0, HELP_ZCH),                                                 \
        CR_K_MSG("dynamicemb", &cr_dynamicemb_msg, 0, HELP_DYNAMICEMB)
#define NUMERIC                                                                                    \
    CR_K_FLOAT("boundaries", 0, -CR_INF, CR_INF, CR_F_REPEATED, HELP_BOUNDARIES),                  \
        CR_K_ONEOF("dense_emb", &cr_dense_emb_family, 0, HELP_DENSE_EMB)
#define NORMALIZER    CR_K_STR("normalizer", NULL, 0, HELP_NORMALIZER)
#define VALUE_DIM     CR_K_INT("value_dim", 0, 0, CR_U32_MAX, 0, HELP_ID_VALUE_DIM)
#define DEFAULT(text) CR_K_STR("default_value", text, 0, HELP_DEFAULT)
#define SEPARATOR     CR_K_STR("separator", "\x1d", 0, HELP_SEPARATOR)
#define TAIL                                                                                       \
    CR_K_STR("pooling", "sum", 0, HELP_POOLING), CR_K_STR("init_fn", NULL, 0, HELP_INIT),          \
        CR_K_BOOL("use_mask", false, 0, HELP_MASK),                                                \
        CR_K_STR("fg_encoded_default_value", NULL, 0, HELP_ENC_DEFAULT),                           \
        CR_K_BOOL("trainable", true, 0, HELP_TRAINABLE),                                           \
        CR_K_BOOL("stub_type", false, 0, HELP_STUB),                                               \
        CR_K_STR("data_type", "FP32", 0, HELP_DATA_TYPE),                                          \
        CR_K_MSG("embedding_constraints", &cr_constraints_msg, CR_F_SPEED, HELP_CONSTRAINTS),      \
        CR_K_INT("sequence_length", 0, 0, CR_U32_MAX, 0, HELP_SEQ_LEN),                            \
        CR_K_STR("sequence_delim", ";", 0, HELP_SEQ_DELIM),                                        \
        CR_K_STR("sequence_fields", NULL, CR_F_REPEATED, HELP_SEQ_FIELDS)
/* ---- the feature messages ---- */
static const cr_enum_value normalize_options[] = {
    {"TEXT_LOWER2UPPER", 0, "small letters to capitals", true},
    {"TEXT_UPPER2LOWER", 1, "capitals to small letters", true},
    {"TEXT_SBC2DBC", 2, "full-width characters to half-width", true},
    {"TEXT_CHT2CHS", 3, "traditional Chinese to simplified", true},
    {"TEXT_FILTER", 4, "drop special characters", true},
    {"TEXT_SPLITCHRS", 5, "a space between Chinese characters", true},
    {"TEXT_REMOVE_SPACE", 6, "drop spaces", true},
    {NULL, 0, NULL, false},
};
static const cr_field text_normalizer_fields[] = {
    CR_K_INT("max_length", 0, 0, CR_U32_MAX, 0, "longer texts are left as they are"),
    CR_K_STR("stop_char_file", NULL, 0, "file of characters to drop"),
    CR_K_ENUM("norm_options", normalize_options, 0, CR_F_REPEATED,
              "steps; not given: LOWER2UPPER, SBC2DBC, CHT2CHS, FILTER"),
    CR_END,
};
static const cr_msg text_normalizer_msg = {
    "TextNormalizer", "How text is cleaned before tokens", text_normalizer_fields, 0, true, NULL};
static const cr_field tokenize_fields[] = {
    NAME,
    EXPRESSION,
    EMBEDDING(1, CR_F_REQUIRED),
    CR_K_MSG("text_normalizer", &text_normalizer_msg, 0, "clean the text first"),
    CR_K_STR("vocab_file", NULL, CR_F_REQUIRED, "the tokenizer's file"),
    CR_K_STR("asset_dir", NULL, 0, HELP_ASSET),
    CR_K_STR("tokenizer_type", "bpe", 0, "bpe or sentencepiece"),
    CR_K_BOOL("tokens_as_sequence", false, 0, "each token is a step of a sequence"),
    DEFAULT(""),
    TAIL,
    CR_END,
};

const cr_msg cr_tokenize_msg = {
    "TokenizeFeature", "Text as token ids", tokenize_fields, 0, true, NULL};
