/*
 * plan.h - a plan is a graph compiled for one purpose (train, or eval and predict). It knows which
 * nodes are needed, which pass gradients, in which phase each forward and backward call runs, and
 * where each buffer lies (per tile, or for the whole batch when it crosses a phase). It holds the
 * weights in the layout that the kernels need.
 *
 * A plan holds nothing of a batch. While its weights stay the same, any number of threads may run
 * batches through it at once, without locks: each has its own cr_work (work.h).
 */
#ifndef CR_GRAPH_PLAN_H
#define CR_GRAPH_PLAN_H

#include "base/pool.h"
#include "graph/graph.h"
#include "graph/part.h"

/* The most rows of a tile; ops size their scratch by it. */
#define CR_MAX_TILE 256
/* The rows of a block, for nodes with a form of their own (cr_own). */
#define CR_OWN_BLOCK 32

typedef enum cr_mode { CR_TRAIN, CR_EVAL } cr_mode;

typedef struct cr_plan cr_plan;
typedef struct cr_plan_opts {
    cr_graph *graph;     /* allocated (cr_graph_alloc); it must not change while the plan exists */
    cr_mode mode;        /* CR_TRAIN: outputs, losses and gradients; CR_EVAL: the outputs */
    int64_t max_rows;    /* rows of a global batch; a run with more is refused */
    int lanes;           /* lanes of a global batch: a power of two, CR_MAX_LANES at most */
    int64_t tile_rows;   /* 0: chosen from the cache size */
    const cr_meet *meet; /* the holders of the parts of a batch; NULL: the whole batch is here */
    /* the values that callers want; nodes that only other values need are left out. NULL: all nodes
     * that are marked as outputs */
    const cr_node *const *outputs;
    int n_outputs;
    /* CR_EVAL: values that the caller has already, from another plan of this graph. They are not
     * computed, nor is what only they need; cr_work_give says where they lie. */
    const cr_node *const *given;
    int n_given;
    /* CR_EVAL: nodes of ops that have shift, which run it tile by tile in place of forward; of
     * their inputs only the first one is computed */
    const cr_node *const *shifted;
    int n_shifted;
    /* a plan of this graph for the same mode, which has all nodes of this one: its packed weights
     * are used. It must be packed before the first run, and live longer. NULL: own ones */
    const cr_plan *packed;
} cr_plan_opts;
CR_CHECKED cr_code cr_plan_new(cr_plan **out, const cr_plan_opts *o, cr_err *err);
void cr_plan_free(cr_plan *p);
/* cr_plan_pack folds and packs the weights that the graph has now. Call it once before the first
 * run, and after each change of weights. No plan of this graph may run meanwhile. pool may be
 * NULL. */
void cr_plan_pack(cr_plan *p, cr_pool *pool);

/* cr_plan_takes returns CR_EUSAGE for a global batch of more rows than max_rows, or of a negative
 * number. */
CR_CHECKED cr_code cr_plan_takes(const cr_plan *p, int64_t n_rows, cr_err *err);
/* cr_plan_has_grad: does a gradient reach this node? */
bool cr_plan_has_grad(const cr_plan *p, const cr_node *n);
const cr_lanes *cr_plan_lanes(const cr_plan *p);

#endif
