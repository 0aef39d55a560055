/*
 * work.h - what one caller needs to run batches through a plan: buffers, sums, gradients, and the
 * batch under way.
 *
 * In a run, a thread takes a lane, cuts it into tiles and makes all calls of the phase for each
 * tile, so activations stay in cache. The size of a tile never changes a result: sums over rows are
 * sequential inside a lane.
 */
#ifndef CR_GRAPH_WORK_H
#define CR_GRAPH_WORK_H

#include "graph/plan.h"

typedef struct cr_work cr_work;
/* cr_work_new borrows plan and pool. With pool NULL, runs use only the caller's thread. With
 * CR_TRAIN all memory except that of sequences is allocated now; with CR_EVAL it grows with the
 * batches. A cr_work has one caller at a time. */
CR_CHECKED cr_code cr_work_new(cr_work **out, const cr_plan *plan, cr_pool *pool, cr_err *err);
void cr_work_free(cr_work *w);
const cr_plan *cr_work_plan(const cr_work *w);

typedef struct cr_run {
    const void *input; /* for sources: see op/input.h */
    int64_t n_rows;    /* rows of this holder's lanes */
    int64_t all_rows;  /* rows of the global batch, <= max_rows, when the plan has other holders */
    int64_t step;
    /* for each axis of the graph: where the positions of each row begin, n_rows + 1 numbers from 0
     * on */
    const int32_t *const *axes;
} cr_run;
/* cr_work_run computes forward, and with CR_TRAIN losses and backward. It fails before it changes
 * anything when the batch has more rows than the plan takes (CR_EUSAGE), or when there is no memory
 * for it. It allocates nothing once the largest batch was seen. It is collective: all holders of
 * the parts of a batch run it at the same time. CR_ERUN: a node failed (cr_op_type.check). */
CR_CHECKED cr_code cr_work_run(cr_work *w, const cr_run *run, cr_err *err);

/* cr_work_give says where the rows of a given value of the plan lie in the runs that follow, cr_ld
 * apart. */
void cr_work_give(cr_work *w, const cr_node *n, const float *rows);

/* These are for after a run: rows of an output node; gradient rows of a keep_grad node (cr_ld
 * apart); the value of a WHOLE. With CR_EVAL, and always for a SEQ node, the next run may move
 * them. */
const float *cr_work_val(const cr_work *w, const cr_node *n);
const float *cr_work_grad(const cr_work *w, const cr_node *n);
double cr_work_whole(const cr_work *w, const cr_node *n, int64_t i);
/* cr_work_state returns the n->state bytes of a node in this work; see cr_state. */
void *cr_work_state(const cr_work *w, const cr_node *n);
/* cr_work_sum_grads combines the lanes' gradients of floats [first, first+n) of the trainable
 * parameter block into out. Any thread may call it. */
void cr_work_sum_grads(const cr_work *w, int64_t first, int64_t n, float *out);
/* cr_work_slice, for a plan with other holders: after a run holder h has the gradients of floats
 * [slice[h], slice[h + 1]) of the trainable parameter block only, so that each gradient travels to
 * one holder. slice is borrowed; NULL, as at first: every holder has all of them. */
CR_CHECKED cr_code cr_work_slice(cr_work *w, const int64_t *slice, cr_err *err);
/* cr_work_bytes returns the bytes of all buffers and of the plan's packed weights, for reports. */
size_t cr_work_bytes(const cr_work *w);

#endif
