/*
 * zch.c - config messages of tables without collisions: ZeroCollisionHash and its policies. Ids of
 * such a feature are hashes of 63 bits; the table's own map gives them rows (model/maps.c).
 */
#include "feat/config_int.h"

#include <inttypes.h>

static const cr_msg lfu_msg = {
    .name = "LFU_EvictionPolicy",
    .help = "Ids that were seen most often keep their rows",
    .fields = cr_no_fields,
    .size = sizeof(cr_zch_policy_conf),
};
#define EXPONENT(help) CR_FLOAT(cr_zch_policy_conf, decay_exponent, 1, -CR_INF, CR_INF, 0, help)
static const cr_field decay_fields[] = {
    EXPONENT("exponent of the number of steps since an id was last seen"),
    CR_END,
};
static const cr_msg lru_msg = {
    .name = "LRU_EvictionPolicy",
    .help = "Ids that were seen last keep their rows",
    .fields = decay_fields,
    .size = sizeof(cr_zch_policy_conf),
};
static const cr_msg distance_lfu_msg = {
    .name = "DistanceLFU_EvictionPolicy",
    .help = "The score of an id is its count, divided by the steps since it was last seen",
    .fields = decay_fields,
    .size = sizeof(cr_zch_policy_conf),
};
static const cr_oneof_member policies[] = {
    {"lfu", &lfu_msg, &lfu_msg},
    {"lru", &lru_msg, &lru_msg},
    {"distance_lfu", &distance_lfu_msg, &distance_lfu_msg},
    {NULL, NULL, NULL},
};
static const cr_oneof policy_family = {"eviction policy", true, policies};
const cr_oneof cr_grow_policy_family = {"eviction policy", false, policies};

static const cr_field zch_fields[] = {
    CR_UINT64(cr_zch_conf, zch_size, 0, CR_F_REQUIRED,
              "rows of the table; the last one is shared by all ids without a row"),
    CR_INT(cr_zch_conf, eviction_interval, 5, 1, CR_U32_MAX, 0,
           "training steps between two updates of the map"),
    CR_ONEOF(cr_zch_conf, eviction_policy, &policy_family, 0, "which ids keep their rows"),
    CR_STR(cr_zch_conf, threshold_filtering_func, NULL, 0,
           "which ids may get a row, by their counts, as a lambda: lambda x: (x > 10, 10)"),
    CR_END,
};

static void check(const void *self, cr_diag *diag) {
    const cr_zch_conf *c = self;
    if (c->zch_size < 2 || c->zch_size > CR_ZCH_MOST)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "zch_size"),
                    "zch_size is %" PRIu64 " and must lie between 2 (an id and the fallback row) "
                    "and %" PRIu64,
                    c->zch_size, CR_ZCH_MOST);
}

const cr_msg cr_zch_msg = {
    .name = "ZeroCollisionHash",
    .help = "A table in which the ids that are seen most have rows of their own",
    .fields = zch_fields,
    .size = sizeof(cr_zch_conf),
    .check = check,
};
