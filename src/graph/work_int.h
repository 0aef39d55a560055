/*
 * work_int.h - the memory of a caller, shared by work.c (makes it, and shows it to ops) and run.c
 * (runs batches in it).
 */
#ifndef CR_GRAPH_WORK_INT_H
#define CR_GRAPH_WORK_INT_H

#include "graph/plan_int.h"
#include "graph/work.h"

/* Buffers of one kind of rows (see widths). */
typedef struct space {
    int64_t tile, cap;  /* most rows of a tile and of a batch; they grow as needed */
    float *work, *wide; /* [threads][tile * widths.work], [cap * widths.wide] */
    size_t work_size, wide_size;
} space;

struct cr_work {
    cr_arena arena;
    const cr_plan *plan;
    cr_pool *pool;
    space *spaces; /* [2 + axes of the graph] */
    float *scratch, *lane_grads;
    /* Gradients of the nodes of other holders, and what goes to them; NULL: there are no others.
     * node_at[k] are floats [met_first, met_first + met_n) of node k; NULL: they lie in lanes. */
    float *met_grads, *sent_grads;
    const float *node_at[CR_MAX_LANES];
    int64_t met_first, met_n;
    const int64_t *slice;    /* see cr_work_slice */
    size_t *met_at, *out_at; /* for each holder: where its message begins */
    double *lane_sums;       /* [lanes here][2 * n_sums] */
    double *node_sums;       /* [nodes][the sums that are exchanged] */
    double *sums;            /* combined values */
    float *whole;            /* [2 * n_sums]: finished values, then gradients */
    char *states;            /* the states of the nodes */
    const float **given;     /* by node: where the rows of a given value lie */
    size_t scratch_size, grads_size, met_size, sent_size, sums_size;
    /* the current run */
    const cr_run *run;
    int64_t row0, all_rows; /* global number of row 0; rows of the global batch */
    int64_t *positions;     /* for each axis: positions of the global batch */
    int cur_phase;
};

/* cr_work_fit makes room for the rows and positions of a run. */
CR_CHECKED cr_code cr_work_fit(cr_work *w, const cr_run *run, cr_err *err);

/* cr_work_scratch returns the floats of one thread's scratch with the values that it carries from
 * tile to tile, which begin at cr_work_carry. */
static inline int64_t cr_work_carry(const cr_plan *p) {
    return cr_up16(cr_add_i64(p->scratch, 64));
}
static inline int64_t cr_work_scratch(const cr_plan *p) {
    return cr_add_i64(cr_work_carry(p), p->carry);
}
/* cr_work_rows returns the rows of a node in the global batch. */
static inline int64_t cr_work_rows(const cr_work *w, const cr_node *n) {
    return n->cls == CR_SEQ ? w->positions[n->axis] : w->all_rows;
}

#endif
