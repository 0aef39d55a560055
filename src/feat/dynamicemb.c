/*
 * dynamicemb.c - config messages of DynamicEmbedding: a table whose ids get rows when they are
 * first seen. Ids of such a feature are hashes of 63 bits; the table gives them rows
 * (model/grown.c).
 */
#include <inttypes.h>
#include <string.h>

#include "conf/conf.h"
#include "feat/config_int.h"

static const cr_field init_fields[] = {
    CR_STR(cr_demb_init_conf, mode, NULL, 0,
           "NORMAL, TRUNCATED_NORMAL, UNIFORM or CONSTANT; not given: UNIFORM for rows"),
    CR_FLOAT(cr_demb_init_conf, mean, 0, -CR_INF, CR_INF, 0, "mean of normal values"),
    CR_FLOAT(cr_demb_init_conf, std_dev, 0, 0, CR_INF, 0,
             "standard deviation of normal values; not given: 1 / sqrt(embedding_dim)"),
    CR_FLOAT(cr_demb_init_conf, lower, 0, -CR_INF, CR_INF, 0,
             "lower limit; not given: -1 / sqrt(max_capacity), for normal values none"),
    CR_FLOAT(cr_demb_init_conf, upper, 0, -CR_INF, CR_INF, 0,
             "upper limit; not given: 1 / sqrt(max_capacity), for normal values none"),
    CR_FLOAT(cr_demb_init_conf, value, 0, -CR_INF, CR_INF, 0, "the value of CONSTANT"),
    CR_END,
};

static void check_init(const void *self, cr_diag *diag) {
    const cr_demb_init_conf *c = self;
    static const char *const modes[] = {"", "NORMAL", "TRUNCATED_NORMAL", "UNIFORM", "CONSTANT"};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (strcmp(c->mode, modes[i]) == 0) return;
    cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "mode"),
                "unknown mode '%s'; use NORMAL, TRUNCATED_NORMAL, UNIFORM or CONSTANT", c->mode);
}

static const cr_msg init_msg = {
    .name = "DynamicEmbInitializerArgs",
    .help = "The first values of rows",
    .fields = init_fields,
    .size = sizeof(cr_demb_init_conf),
    .check = check_init,
};

/* All ids without a row share one, so it cannot have values of its own for each of them. */
static void only_constant(const cr_demb_init_conf *c, const char *what, cr_diag *diag) {
    if (!c || !*c->mode || strcmp(c->mode, "CONSTANT") == 0) return;
    cr_diag_add(
        diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "mode"),
        "%s: ids without a row share one vector, whose values crank can only make CONSTANT; "
        "write %s",
        what, CR_SAY(c, "mode", "CONSTANT"));
}

static const cr_field admit_fields[] = {
    CR_UINT64(cr_demb_admit_conf, threshold, 0, CR_F_REQUIRED,
              "how often an id must have been seen to get a row"),
    CR_MSG(cr_demb_admit_conf, initializer_args, &init_msg, 0,
           "values of ids that were not seen often enough; not given: 0"),
    CR_UINT64(cr_demb_admit_conf, counter_capacity, 0, 0,
              "most ids without a row that are counted; not given: max_capacity"),
    CR_UINT64(cr_demb_admit_conf, counter_bucket_capacity, 1024, CR_F_SPEED,
              "ids of a bucket of the counter"),
    CR_END,
};

static void check_admit(const void *self, cr_diag *diag) {
    const cr_demb_admit_conf *c = self;
    only_constant(c->initializer_args, "frequency_admission_strategy", diag);
    if (c->threshold < 1 || c->threshold > INT64_MAX)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "threshold"),
                    "threshold must be 1 or more; it is a number of times");
    if (cr_conf_has(c, "counter_capacity") &&
        (c->counter_capacity < 1 || c->counter_capacity > CR_ZCH_MOST))
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "counter_capacity"),
                    "counter_capacity must lie between 1 and %" PRIu64, CR_ZCH_MOST);
}

static const cr_msg admit_msg = {
    .name = "DynamicEmbFrequencyAdmissionStrategy",
    .help = "Ids get a row when they have been seen often enough",
    .fields = admit_fields,
    .size = sizeof(cr_demb_admit_conf),
    .check = check_admit,
};
static const cr_oneof_member admissions[] = {
    {"frequency_admission_strategy", &admit_msg, &admit_msg},
    {NULL, NULL, NULL},
};
static const cr_oneof admission_family = {"admission strategy", false, admissions};

static const cr_field demb_fields[] = {
    CR_MSG(cr_demb_conf, initializer_args, &init_msg, 0,
           "first values of rows; not given: those of init_fn, or UNIFORM"),
    CR_MSG(cr_demb_conf, eval_initializer_args, &init_msg, 0,
           "values of unknown ids in evaluation and prediction; not given: 0"),
    CR_STR(
        cr_demb_conf, score_strategy, "STEP", 0,
        "which id leaves a full table: STEP or TIMESTAMP, the one not seen for longest; LFU, the "
        "one seen least; NO_EVICTION, none"),
    CR_UINT64(cr_demb_conf, max_capacity, 0, CR_F_REQUIRED, "most rows"),
    CR_FLOAT(cr_demb_conf, cache_load_factor, 0, 0, 1, CR_F_SPEED, "share of rows on the GPU"),
    CR_UINT64(cr_demb_conf, init_capacity_per_rank, 0, CR_F_SPEED,
              "rows that are there at first; here the table grows as ids come"),
    CR_STR(cr_demb_conf, init_table, NULL, CR_F_IDLE,
           "a table that another tool makes a first checkpoint of"),
    CR_UINT64(cr_demb_conf, bucket_capacity, 0, 0,
              "rows of a bucket, inside which ids compete; not given: 128"),
    CR_ONEOF(cr_demb_conf, admission_strategy, &admission_family, 0, "which ids get a row"),
    CR_END,
};

static void check(const void *self, cr_diag *diag) {
    const cr_demb_conf *c = self;
    static const char *const known[] = {"STEP", "TIMESTAMP", "LFU", "NO_EVICTION"};
    bool found = false;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        found |= strcmp(c->score_strategy, known[i]) == 0;
    if (!found)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "score_strategy"),
                    strcmp(c->score_strategy, "CUSTOMIZED") == 0
                        ? "score_strategy '%s' needs a program that sets scores, which a config "
                          "cannot name; use STEP, TIMESTAMP, LFU or NO_EVICTION"
                        : "unknown score_strategy '%s'; use STEP, TIMESTAMP, LFU or NO_EVICTION",
                    c->score_strategy);
    only_constant(c->eval_initializer_args, "eval_initializer_args", diag);
    if (c->max_capacity < 1 || c->max_capacity >= CR_ZCH_MOST)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "max_capacity"),
                    "max_capacity is %" PRIu64 " and must lie between 1 and %" PRIu64,
                    c->max_capacity, CR_ZCH_MOST - 1);
}

const cr_msg cr_dynamicemb_msg = {
    .name = "DynamicEmbedding",
    .help = "A table that grows as ids appear",
    .fields = demb_fields,
    .size = sizeof(cr_demb_conf),
    .check = check,
};
