/*
 * counts.h - per-feature counts of a pass over data (cr_feature_counts): missing values, ids out of
 * range and so on, reported to users and programs. None of it changes a result or ends a run.
 */
#ifndef CR_JOB_COUNTS_H
#define CR_JOB_COUNTS_H

#include "base/json.h"
#include "feat/feat.h"
#include "graph/part.h"

/* Are all ids outside of the table? Then that is reported, and not that all of them became the
 * same. */
static inline bool cr_counts_outside(const cr_feature_counts *n) {
    return n->out_of_range > 0 && n->out_of_range == n->ids;
}

typedef struct cr_counter {
    const cr_features *fs;
    const char *data; /* which data: "train", "eval", "predict" */
    /* The model exists already, and its features stay whatever these rows hold. Rows of one user
     * have only that user, so a feature that is the same in all rows is not reported, and neither
     * are a few rows without a value. */
    bool made;
    int64_t epoch, step; /* of the last pass; -1: none */
    int64_t passes;
    cr_feature_counts *now, *before; /* per feature: the last pass, and the one before it */
    uint8_t *told;
    const cr_meet *meet; /* the processes that read other rows of the same data; NULL: none */
} cr_counter;
void cr_counter_init(cr_counter *c, const cr_features *fs, const char *data, cr_arena *a);
/* cr_counter_take (collective) takes the counts of all holders since the last call; the first
 * holder warns and logs. False: no row was read. */
bool cr_counter_take(cr_counter *c, cr_loader *l, int64_t epoch, int64_t step);
/* cr_counter_json writes the members of an open object: data, epoch, step, features. */
void cr_counter_json(const cr_counter *c, cr_jw *w);
/* cr_counter_write writes the same to a file; it warns when it cannot. */
void cr_counter_write(const cr_counter *c, const char *path);

#endif
