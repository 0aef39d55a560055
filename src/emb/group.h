/*
 * group.h - puts equal ids side by side, by a stable radix sort of a batch's ids.
 */
#ifndef CR_EMB_GROUP_H
#define CR_EMB_GROUP_H

#include "data/batch.h"
#include "graph/part.h"
#include "kern/kern.h"

/* One feature that is grouped: all ids of its rows or, for a sequence, the ids at the positions of
 * an axis (which may be fewer than the sequence has steps). */
typedef struct cr_group_slot {
    int slot;
    int seq; /* 0: its rows; k: the positions of axis k - 1 */
} cr_group_slot;

/* The ids of one list of features in one batch. An entry says where the gradient of an id's lookup
 * lies: the row of the batch, or the position on the axis; the lane, one of this holder from 0 on;
 * the slot, an index into the features of the group. The entries of an id are ordered by lane,
 * inside a lane by feature, inside a feature by row. */
typedef struct cr_group {
    /* the features that are grouped */
    const cr_group_slot *slots;
    int n_slots;
    /* result */
    int64_t n;             /* entries */
    int64_t n_uniq;        /* distinct ids */
    int passes;            /* how often the sort moved the entries */
    const int64_t *id;     /* [n_uniq] ascending as unsigned numbers */
    const uint32_t *seg;   /* [n_uniq + 1] into entry */
    const cr_entry *entry; /* [n] */
    const uint32_t *pos;   /* [n] beside entry: index into the feature's ids; NULL: it is the row */
    /* heads: of all entries with the same id, lane and feature only the first. It holds the sum of
     * their gradients where the lookup made that sum. */
    const cr_entry *head;
    const uint32_t *head_seg; /* [n_uniq + 1] into head */
    /* memory, which grows when a batch needs more */
    void *mem;
    int64_t cap;
} cr_group;

/* The working memory of one thread that groups. It serves one group after the other, so that it
 * stays in the caches. All zeros is empty. */
typedef struct cr_group_room {
    void *mem;
    int64_t cap;
} cr_group_room;
void cr_group_room_clear(cr_group_room *room);

/* cr_group_run groups the batch b, which has the rows of this holder's lanes. axes[k] says where
 * the positions of each row begin on axis k; NULL: there are no axes. */
void cr_group_run(cr_group *g, cr_group_room *room, const cr_batch *b, const int32_t *const *axes,
                  const cr_lanes *lanes);
/* cr_group_fit makes room for the ids of a batch, also in n_rooms rooms, and reports when there is
 * no memory. Without it cr_group_run makes the room itself, and aborts when it cannot. cr_group_ids
 * returns how many ids a feature has in a batch. */
CR_CHECKED cr_code cr_group_fit(cr_group *g, cr_group_room *rooms, int n_rooms, const cr_batch *b,
                                cr_err *err);
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
