/*
 * group.h - puts equal ids side by side, by a stable radix sort of a batch's ids.
 */
#ifndef CR_EMB_GROUP_H
#define CR_EMB_GROUP_H

#include "data/batch.h"
#include "graph/part.h"

/* One feature that is grouped: all ids of its rows or, for a sequence, the ids at the positions of
 * an axis (which may be fewer than the sequence has steps). */
typedef struct cr_group_slot {
    int slot;
    int seq; /* 0: its rows; k: the positions of axis k - 1 */
} cr_group_slot;

/* The ids of one list of features in one batch. Entries are numbered lane by lane, inside a lane
 * feature by feature, inside a feature row by row. */
typedef struct cr_group {
    /* the features that are grouped */
    const cr_group_slot *slots;
    int n_slots;
    /* result */
    int64_t n;             /* entries */
    int64_t n_uniq;        /* distinct ids */
    int passes;            /* how often the sort moved the entries */
    const int64_t *id;     /* [n_uniq] ascending as unsigned numbers */
    const int64_t *seg;    /* [n_uniq + 1] into entry */
    const uint32_t *entry; /* [n] entry numbers; ascending inside a segment */
    /* heads: of all entries with the same id, lane and feature only the first. It holds the sum of
     * their gradients where the lookup made that sum. */
    const uint32_t *head;
    const int64_t *head_seg; /* [n_uniq + 1] into head */
    const uint32_t *row;     /* [n] by entry: row of the batch, or position on the axis */
    const uint32_t *pos;     /* [n] by entry: index into the feature's ids (its weight) */
    const uint32_t *slot;    /* [n] by entry: index into slots; NULL when there is only one */
    const uint16_t *lane;    /* [n] by entry: lane of this holder, from 0 on */
    /* memory, which grows when a batch needs more */
    void *mem;
    int64_t cap;
} cr_group;

/* cr_group_run groups the batch b, which has the rows of this holder's lanes. axes[k] says where
 * the positions of each row begin on axis k; NULL: there are no axes. */
void cr_group_run(cr_group *g, const cr_batch *b, const int32_t *const *axes,
                  const cr_lanes *lanes);
/* cr_group_fit makes room for the ids of a batch and reports when there is no memory. Without it
 * cr_group_run makes the room itself, and aborts when it cannot. cr_group_ids returns how many ids
 * a feature has in a batch. */
CR_CHECKED cr_code cr_group_fit(cr_group *g, const cr_batch *b, cr_err *err);
int64_t cr_group_ids(const cr_batch *b, int slot);
/* cr_ids_find returns the place of the first of ids[0 .. n) that is not below id. The ids ascend as
 * unsigned numbers, as those of a group do. */
int64_t cr_ids_find(const int64_t *ids, int64_t n, int64_t id);
void cr_group_clear(cr_group *g);

/* The lists of features that are grouped. A list is grouped once, however many tables read it. All
 * zeros is an empty set. */
typedef struct cr_groups {
    cr_group *v;
    int n, cap;
} cr_groups;
/* cr_groups_find returns the number of the group of these features, and makes the group if there is
 * none yet. */
int cr_groups_find(cr_groups *gs, const cr_group_slot *slots, int n);
/* cr_groups_same returns the group of the same features as g; NULL: there is none. */
const cr_group *cr_groups_same(const cr_groups *gs, const cr_group *g);
void cr_groups_clear(cr_groups *gs);

#endif
