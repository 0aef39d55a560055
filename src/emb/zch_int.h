/*
 * zch_int.h - what zch.c and zch_state.c share.
 */
#ifndef CR_EMB_ZCH_INT_H
#define CR_EMB_ZCH_INT_H

#include "emb/keymap.h"
#include "emb/zch.h"

/* An id that was counted since the last update. */
typedef struct zch_seen {
    int64_t id, count, last;
} zch_seen;

struct zch_cand {
    double score;
    int64_t row; /* -1: a newcomer */
    int64_t id;  /* INT64_MAX: a free row */
    int64_t count, last;
};

struct cr_zch {
    cr_zch_opts o;
    const int64_t *sorted, *rows; /* of cr_zch_view; what follows is then empty */
    cr_keymap map;                /* id -> row */
    int64_t *id, *count, *last;   /* by row; one block of memory */
    int64_t free;                 /* rows [0, free) never had an id */
    int64_t steps[2];             /* training steps; the step of the last update */
    cr_keymap seen_at;            /* id -> its place in seen */
    zch_seen *seen;
    int64_t n_seen, cap_seen;
    zch_seen *post; /* what all holders counted */
    int64_t cap_post;
    struct zch_cand *cand;
    int64_t cap_cand;
};

/* cr_zch_join brings together what the holders counted. */
CR_CHECKED cr_code cr_zch_add_seen(cr_zch *z, const zch_seen *v, cr_err *err);
CR_CHECKED cr_code cr_zch_join(cr_zch *z, const cr_meet *meet, cr_err *err);
void cr_zch_forget(cr_zch *z);

#endif
