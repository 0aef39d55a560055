/*
 * config_later.c - messages of tables that are known but not in this version.
 *
 * They have rows so that a config which uses them can be read, checked and explained; nothing is
 * stored.
 */
#include "feat/config_int.h"

/* ---- ZeroCollisionHash ---- */
static const cr_field no_fields[] = {CR_END};
static const cr_field decay_fields[] = {
    CR_K_FLOAT("decay_exponent", 1.0, 0, CR_INF, 0, "power of the age of an id in its score"),
    CR_END,
};
static const cr_msg lfu_msg = {
    .name = "LFU_EvictionPolicy",
    .help = "Evict the least frequent ids",
    .fields = no_fields,
    .later = true,
};
static const cr_msg lru_msg = {
    .name = "LRU_EvictionPolicy",
    .help = "Evict the least recent ids",
    .fields = decay_fields,
    .later = true,
};
static const cr_msg distance_lfu_msg = {
    .name = "DistanceLFU_EvictionPolicy",
    .help = "Evict by frequency over age",
    .fields = decay_fields,
    .later = true,
};
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
const cr_msg cr_zch_msg = {
    .name = "ZeroCollisionHash",
    .help = "A table in which every kept id has its own row",
    .fields = zch_fields,
    .later = true,
};

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
    .name = "DynamicEmbInitializerArgs",
    .help = "How new rows start",
    .fields = init_args_fields,
    .later = true,
};
static const cr_field admission_fields[] = {
    CR_K_UINT64("threshold", 0, CR_F_REQUIRED, "times an id must be seen before it gets a row"),
    CR_K_MSG("initializer_args", &init_args_msg, 0, "vector of ids without a row"),
    CR_K_UINT64("counter_capacity", 0, 0, "ids counted at a time"),
    CR_K_UINT64("counter_bucket_capacity", 1024, 0, "slots per bucket of the counter"),
    CR_END,
};
static const cr_msg admission_msg = {
    .name = "FrequencyAdmissionStrategy",
    .help = "Rows only for ids seen often enough",
    .fields = admission_fields,
    .later = true,
};
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
    .name = "DynamicEmbedding",
    .help = "A table that grows as ids appear",
    .fields = dynamicemb_fields,
    .later = true,
};
