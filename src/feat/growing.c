/*
 * growing.c - config messages of GrowingTable: a table without a size, whose ids get rows when they
 * come. Ids of such a feature are hashes of 63 bits (model/grown.c gives them rows). These keys are
 * crank's own; dynamicemb is TorchEasyRec's way to say some of it.
 */
#include <inttypes.h>

#include "feat/config_int.h"

static const cr_field frequency_fields[] = {
    CR_UINT64(cr_grow_admit_conf, threshold, 0, CR_F_REQUIRED,
              "times that an id must be seen before it gets a row"),
    CR_UINT64(cr_grow_admit_conf, max_counters, 0, 0,
              "most ids without a row that are counted; not given: all of them"),
    CR_END,
};
static void check_frequency(const void *self, cr_diag *diag) {
    const cr_grow_admit_conf *c = self;
    if (c->threshold < 1 || c->threshold > INT32_MAX)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "threshold"),
                    "threshold must lie between 1 and %d; it is a number of times", INT32_MAX);
    if (cr_conf_has(c, "max_counters") && (c->max_counters < 1 || c->max_counters > CR_ZCH_MOST))
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "max_counters"),
                    "max_counters must lie between 1 and %" PRIu64, CR_ZCH_MOST);
}
static const cr_msg frequency_msg = {
    .name = "FrequencyAdmission",
    .help = "An id gets a row when it has been seen often enough",
    .fields = frequency_fields,
    .size = sizeof(cr_grow_admit_conf),
    .check = check_frequency,
};
static const cr_field sketch_fields[] = {
    CR_UINT64(cr_grow_admit_conf, threshold, 0, CR_F_REQUIRED,
              "times that an id must be seen before it gets a row"),
    CR_UINT64(cr_grow_admit_conf, cells, 1 << 24, 0, "counters of the sketch, 2 bytes each"),
    CR_FLOAT(cr_grow_admit_conf, max_error, 0, 0, CR_INF, 0,
             "a count is at most this much too high for 54 of 55 ids; not given: a quarter of "
             "threshold, at least 1. When a part of the sketch has counted cells / (4 e) times "
             "this, its counters are halved"),
    CR_END,
};
static void check_sketch(const void *self, cr_diag *diag) {
    const cr_grow_admit_conf *c = self;
    if (c->threshold < 1 || c->threshold > UINT16_MAX)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "threshold"),
                    "threshold of sketch_admission must lie between 1 and %d, the most that a "
                    "counter holds; use frequency_admission for more",
                    UINT16_MAX);
    if (c->cells < 1 << 16 || c->cells > CR_ZCH_MOST)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "cells"),
                    "cells is %" PRIu64 " and must lie between %d and %" PRIu64
                    "; frequency_admission counts a few ids exactly",
                    c->cells, 1 << 16, CR_ZCH_MOST);
    if (cr_conf_has(c, "max_error") && c->max_error < 1)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "max_error"),
                    "max_error must be 1 or more; use frequency_admission for exact counts");
}
static const cr_msg sketch_msg = {
    .name = "SketchAdmission",
    .help = "An id gets a row when it has been seen often enough, counted in a fixed memory",
    .fields = sketch_fields,
    .size = sizeof(cr_grow_admit_conf),
    .check = check_sketch,
};
static const cr_field probability_fields[] = {
    CR_FLOAT(cr_grow_admit_conf, probability, 0, 0, 1, CR_F_REQUIRED,
             "chance of an id without a row to get one, in each step that brings it"),
    CR_END,
};
static void check_probability(const void *self, cr_diag *diag) {
    const cr_grow_admit_conf *c = self;
    if (cr_conf_has(c, "probability") && c->probability <= 0)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "probability"),
                    "probability must be above 0: with 0 no id would ever get a row");
}
static const cr_msg probability_msg = {
    .name = "ProbabilityAdmission",
    .help = "An id gets a row by chance; frequent ids get one soon",
    .fields = probability_fields,
    .size = sizeof(cr_grow_admit_conf),
    .check = check_probability,
};
static const cr_oneof_member admissions[] = {
    {"frequency_admission", &frequency_msg, &frequency_msg},
    {"sketch_admission", &sketch_msg, &sketch_msg},
    {"probability_admission", &probability_msg, &probability_msg},
    {NULL, NULL, NULL},
};
static const cr_oneof admission_family = {"admission of ids", false, admissions};

static const cr_field expiry_fields[] = {
    CR_INT(cr_grow_expiry_conf, interval_steps, 1000, 1, CR_U32_MAX, 0,
           "training steps in which every row is looked at once"),
    CR_INT(cr_grow_expiry_conf, unseen_steps, 0, 0, CR_U32_MAX, 0,
           "a row goes when its id was not seen for so many training steps; 0: it may stay"),
    CR_INT(cr_grow_expiry_conf, unseen_days, 0, 0, 100000, 0,
           "a row goes when its id was not seen for so many days of data_config.clock_field; 0: it "
           "may stay"),
    CR_FLOAT(cr_grow_expiry_conf, decay_rate, 1, 0, 1, 0,
             "the score of a row, its count, is multiplied by this when it is looked at"),
    CR_FLOAT(cr_grow_expiry_conf, least_score, 0, 0, CR_INF, 0,
             "a row goes when its score is below this"),
    CR_END,
};
static void check_expiry(const void *self, cr_diag *diag) {
    const cr_grow_expiry_conf *c = self;
    if (c->unseen_steps == 0 && c->unseen_days == 0 && c->least_score == 0)
        cr_diag_add(diag, CR_SEV_WARN, CR_ECONF, c->base.at,
                    "expiry lets no row go; set unseen_steps, unseen_days or least_score");
}
static const cr_msg expiry_msg = {
    .name = "GrowingTableExpiry",
    .help = "Rows that go after some time, whether the table is full or not",
    .fields = expiry_fields,
    .size = sizeof(cr_grow_expiry_conf),
    .check = check_expiry,
};

static const cr_field growing_fields[] = {
    CR_UINT64(cr_grow_conf, max_rows, 0, 0, "most rows; not given: as many as memory allows"),
    CR_UINT64(cr_grow_conf, bucket_rows, 128, 0,
              "rows of a bucket; the ids of a bucket compete with each other for rows"),
    CR_ONEOF(cr_grow_conf, eviction_policy, &cr_grow_policy_family, 0,
             "who leaves a full bucket; not given: nobody, and later ids get no row"),
    CR_ONEOF(cr_grow_conf, admission, &admission_family, 0,
             "which ids get a row; not given: all of them, when they first come"),
    CR_MSG(cr_grow_conf, expiry, &expiry_msg, 0, "which rows go after some time"),
    CR_FLOAT(cr_grow_conf, absent_value, 0, -CR_INF, CR_INF, 0,
             "every number in the vector of an id without a row"),
    CR_BOOL(cr_grow_conf, counts, true, 0,
            "keep how often and when an id was seen, 8 bytes per row; crank params --top shows it"),
    CR_UINT64(cr_grow_conf, expected_rows, 0, CR_F_SPEED,
              "rows that crank check and the planner count with where there is no max_rows"),
    CR_MSG(cr_grow_conf, ctr_accessor, &cr_ctr_msg, 0,
           "rows count shows and clicks, which decide what they have and when they go"),
    CR_END,
};

/* An accessor has rules of its own for what comes and goes. */
static void check_accessor(const cr_grow_conf *c, cr_diag *diag) {
    static const char *const others[] = {"max_rows", "expiry", "absent_value", NULL};
    const char *key = c->eviction_policy.m ? c->eviction_policy.m->key
                      : c->admission.m     ? c->admission.m->key
                                           : NULL;
    for (int i = 0; !key && others[i]; i++)
        if (cr_conf_has(c, others[i])) key = others[i];
    if (key)
        cr_diag_add(
            diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, key),
            "%s does not go with ctr_accessor, whose rows come with their first push and go "
            "by delete_threshold and delete_after_unseen_days; remove one of the two",
            key);
}

static void check(const void *self, cr_diag *diag) {
    const cr_grow_conf *c = self;
    if (cr_conf_has(c, "max_rows") && (c->max_rows < 1 || c->max_rows >= CR_ZCH_MOST))
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "max_rows"),
                    "max_rows is %" PRIu64 " and must lie between 1 and %" PRIu64
                    "; leave it out for a table without a limit",
                    c->max_rows, CR_ZCH_MOST - 1);
    if (c->bucket_rows < 1 || c->bucket_rows > (1 << 20))
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "bucket_rows"),
                    "bucket_rows is %" PRIu64 " and must lie between 1 and %d", c->bucket_rows,
                    1 << 20);
    if (c->eviction_policy.m && !cr_conf_has(c, "max_rows"))
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, c->eviction_policy.m->key),
                    "%s lets rows go when the table is full, and without max_rows it never is; set "
                    "max_rows, or use expiry",
                    c->eviction_policy.m->key);
    if (c->ctr_accessor) check_accessor(c, diag);
    if (c->expected_rows > CR_ZCH_MOST)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "expected_rows"),
                    "expected_rows must be at most %" PRIu64, CR_ZCH_MOST);
}

const cr_msg cr_growing_msg = {
    .name = "GrowingTable",
    .help = "A table without a size, which grows as ids appear",
    .fields = growing_fields,
    .size = sizeof(cr_grow_conf),
    .check = check,
};

int64_t cr_grow_conf_rows(const cr_grow_conf *c) {
    return (int64_t)(c->max_rows ? c->max_rows : c->expected_rows);
}
