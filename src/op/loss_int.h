/*
 * loss_int.h - parts that several losses share: labels for examples, and rows grouped by session.
 */
#ifndef CR_OP_LOSS_INT_H
#define CR_OP_LOSS_INT_H

#include "op/op.h"

/* Labels row * 7 mod K without a gradient, for examples. */
cr_node *cr_example_labels(cr_graph *g, float K);

/* floats of scratch per row that cr_session_order needs */
#define CR_SESSION_SCRATCH 6
/* cr_session_op adds a batch op over logits and labels. Where s has sessions, the session of each
 * row is input 2: as an input it also comes with the rows of other holders. */
cr_node *cr_session_op(cr_graph *g, const cr_op_type *op, cr_node *logits, cr_node *y,
                       const cr_session *s, const void *attr, size_t attr_size);
/* cr_session_order returns the rows of such an op in the order of their sessions; inside a session
 * they keep their order. *keys receives the session of each place. All of it lies in scratch
 * (CR_SESSION_SCRATCH floats per row, 8-byte aligned). */
const uint32_t *cr_session_order(const cr_node *n, const cr_tile *t, float *scratch,
                                 const uint64_t **keys);
/* cr_session_end returns the end of the session that begins at place `first`. */
static inline int64_t cr_session_end(const uint64_t *keys, int64_t first, int64_t n) {
    int64_t end = first + 1;
    while (end < n && keys[end] == keys[first])
        end++;
    return end;
}
/* Sessions for examples: five of them, of uneven size. */
cr_session cr_example_session(cr_graph *g);

#endif
