/*
 * exec.h - a graph compiled for one purpose (train, eval or predict) and run over batches.
 *
 * compile: which nodes are needed, which pass gradients, in which phase each forward and backward
 * call runs, where each buffer lies (per tile, or for the whole batch where it crosses a phase).
 * run: a thread takes a lane, cuts it into tiles and takes each tile through all calls of the
 * phase, so activations stay in cache. The size of a tile never changes a result: sums over rows
 * are sequential inside a lane whatever the cut.
 */
#ifndef CR_GRAPH_EXEC_H
#define CR_GRAPH_EXEC_H

#include "base/pool.h"
#include "graph/graph.h"
#include "graph/part.h"

/* rows of a tile, at most: ops size their scratch by it */
#define CR_MAX_TILE 256

typedef enum cr_mode { CR_TRAIN, CR_EVAL } cr_mode;

typedef struct cr_exec cr_exec;
typedef struct cr_exec_opts {
    cr_graph *graph;     /* allocated (cr_graph_alloc) */
    cr_mode mode;        /* CR_TRAIN: outputs, losses and gradients; CR_EVAL: the outputs */
    int64_t max_rows;    /* of a global batch */
    int lanes;           /* of a global batch: power of two, CR_MAX_LANES at most */
    int64_t tile_rows;   /* 0: chosen from the cache size */
    const cr_meet *meet; /* CR_TRAIN: the holders of its parts; NULL: the whole batch is here */
} cr_exec_opts;
/* cr_exec_new: allocates everything a run needs; pool is borrowed. */
CR_CHECKED cr_code cr_exec_new(cr_exec **out, const cr_exec_opts *o, cr_pool *pool, cr_err *err);
void cr_exec_free(cr_exec *ex);

typedef struct cr_run {
    const void *input; /* for sources: see op/input.h */
    int64_t n_rows;    /* rows that are here: those of this holder's lanes */
    int64_t all_rows;  /* of the global batch, <= max_rows; 0: n_rows, all are here */
    int64_t step;
    bool weights_changed; /* prepared data is stale */
    /* per axis of the graph: where the positions of each row begin, n_rows + 1 numbers from 0 on */
    const int32_t *const *axes;
} cr_run;
/* cr_exec_fit makes room for the sequences of a run, before it, where the graph has any. */
CR_CHECKED cr_code cr_exec_fit(cr_exec *ex, const cr_run *run, cr_err *err);
/* cr_exec_run: forward, and in CR_TRAIN losses and backward. Allocates nothing. Collective: the
 * executors of all parts of a batch run it at the same time. */
void cr_exec_run(cr_exec *ex, const cr_run *run);

/* after a run: rows of an output node; gradient rows of a keep_grad node (cr_ld apart); value of a
 * WHOLE. Those of a SEQ node lie elsewhere after each cr_exec_fit. */
const float *cr_exec_val(const cr_exec *ex, const cr_node *n);
const float *cr_exec_grad(const cr_exec *ex, const cr_node *n);
double cr_exec_whole(const cr_exec *ex, const cr_node *n, int64_t i);
/* does a gradient reach this node? */
bool cr_exec_has_grad(const cr_exec *ex, const cr_node *n);
/* cr_exec_sum_grads combines the lanes' gradients of floats [first, first+n) of the trainable
 * parameter block (or of folded ones) into out. Any thread. */
void cr_exec_sum_grads(const cr_exec *ex, int64_t first, int64_t n, float *out);
const cr_lanes *cr_exec_lanes(const cr_exec *ex);
/* for reports */
typedef struct cr_exec_info {
    int64_t tile_rows, n_phases, n_nodes;
    size_t bytes; /* of buffers, lanes' gradients included */
} cr_exec_info;
void cr_exec_get_info(const cr_exec *ex, cr_exec_info *out);

#endif
