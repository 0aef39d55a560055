/*
 * graph.h - the model as a static graph: built once, differentiated once, planned once.
 *
 * Values come in three classes:
 *   ROW    (B, w): one row of w floats per sample; lives in tiles.
 *   PARAM  (rows, cols): a dense parameter or buffer; its gradient is summed over the batch.
 *   WHOLE  (w): one vector for the batch, summed over all rows (batch statistics, losses).
 * A batch is cut into lanes (fixed number, see exec.h); inside a lane sums run in row order, lanes
 * are combined by one balanced tree. So every sum is the same for any number of threads.
 *
 * An op never sees the batch, only a tile of rows of one lane. Ops that need a WHOLE value end a
 * phase: all lanes finish, the lanes' sums are combined, the next phase begins.
 */
#ifndef CR_GRAPH_GRAPH_H
#define CR_GRAPH_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"

typedef struct cr_graph cr_graph;
typedef struct cr_node cr_node;
typedef struct cr_tile cr_tile;
typedef enum cr_class { CR_ROW, CR_PARAM, CR_WHOLE } cr_class;

#define CR_MAX_IN 8

typedef struct cr_op_type {
    const char *name;
    /* infer checks inputs and attributes and sets n->cls, n->width (PARAM inputs: rows, cols are given),
     * n->save_width, n->lane_scratch. Mistakes here are ours: CR_BUG. */
    void (*infer)(cr_node *n);
    /* forward fills the tile's rows of n (ROW), or adds into the lane's sum (WHOLE). */
    void (*forward)(const cr_node *n, cr_tile *t);
    /* backward reads cr_grad(n) and writes (cr_first_grad) or adds to the gradients of the inputs that want one. */
    void (*backward)(const cr_node *n, cr_tile *t);
    /* WHOLE: called once, after the lanes were combined into `sum` (width floats), to turn sums into the value. */
    void (*finish)(const cr_node *n, double *sum, float *value, int64_t n_rows, bool train);
    /* prepare: once per step before the first tile (packing weights); item k of n->n_prepare, any thread. */
    void (*prepare)(const cr_node *n, int64_t item, bool train);
    /* example number k: builds a small random case in g and returns its output; NULL: no more. */
    cr_node *(*example)(cr_graph *g, int k);
    bool train_only; /* left out of inference (batch statistics, losses) */
} cr_op_type;

struct cr_node {
    const cr_op_type *op; /* NULL: parameter */
    const char *name;
    int id;
    cr_class cls;
    cr_node *in[CR_MAX_IN];
    int n_in;
    int64_t width;      /* floats per row; PARAM: rows * cols */
    int64_t rows, cols; /* PARAM */
    void *attr;         /* op's attributes, in the graph's arena */
    int64_t save_width; /* ROW: floats per row kept from forward for backward */
    int64_t scratch;    /* floats of per-thread scratch a call may use */
    int64_t n_prepare;
    bool needs_grad;
    bool output; /* wanted by the caller: kept for the whole batch */
    /* PARAM */
    bool trainable;
    float *w;       /* set by the executor's owner: points into the parameter block */
    int64_t offset; /* floats from the start of the block */
    void *init;     /* who made it decides; see op/param.h */
    /* compile's results */
    int n_users;
    int64_t ld; /* floats from row to row */
    int64_t val_off[2], grad_off, save_off; /* place of the buffers: see plan in exec.c */
    bool val_wide[2], grad_wide, save_wide; /* whole batch (crosses a phase) or tile only */
    void *packed;                           /* prepare's result */
};

struct cr_graph {
    cr_arena arena;
    cr_node **nodes; /* in topological order: the order of making */
    int n, cap;
    uint64_t seed;
    char prefix[256]; /* prepended to parameter names: see cr_graph_scope */
};

void cr_graph_init(cr_graph *g, uint64_t seed);
void cr_graph_clear(cr_graph *g);
/* cr_graph_param adds a dense parameter (rows, cols), named with the current scope. */
cr_node *cr_graph_param(cr_graph *g, const char *name, int64_t rows, int64_t cols, bool trainable, const void *init,
                        size_t init_size);
/* cr_graph_op adds an op node; attr (attr_size bytes) is copied. */
cr_node *cr_graph_op(cr_graph *g, const cr_op_type *op, cr_node *const *in, int n_in, const void *attr,
                     size_t attr_size);
/* cr_graph_push/pop: names made in between get "part." in front. push returns the mark for pop. */
size_t cr_graph_push(cr_graph *g, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void cr_graph_pop(cr_graph *g, size_t mark);

/* ---- what ops see of a tile ---- */
struct cr_tile {
    const struct cr_exec *ex;
    int lane, thread;
    int64_t row0;   /* first row in the batch */
    int64_t n_rows; /* rows in this tile */
    bool first;     /* first tile of its lane */
    bool train;
    float *work;    /* tile-local buffers of this thread */
    float *scratch; /* per-thread scratch */
};
/* rows of a node's value / gradient / saved floats in this tile; leading dimension n->ld (save: save_width) */
float *cr_val(const cr_tile *t, const cr_node *n);
float *cr_grad(const cr_tile *t, const cr_node *n);
float *cr_save(const cr_tile *t, const cr_node *n);
/* does input i of n want a gradient? and is this write the first one to it (set) or not (add)? For
 * PARAM and WHOLE inputs: first means first tile of the lane. */
bool cr_wants_grad(const cr_node *n, int i);
bool cr_first_grad(const cr_tile *t, const cr_node *n, int i);
/* WHOLE: the finished value (all lanes) and this lane's running sum (double, width values) */
const float *cr_whole(const cr_tile *t, const cr_node *n);
double *cr_lane_sum(const cr_tile *t, const cr_node *n);
/* gradient of a PARAM (float) in this lane's block */
float *cr_param_grad(const cr_tile *t, const cr_node *n);

#endif
