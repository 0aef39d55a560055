/*
 * graph.h - the model as a static graph: built once, differentiated once, planned once.
 *
 * Values come in four classes:
 *   ROW    (B, w): one row of w floats per sample; lives in tiles.
 *   SEQ    (sum of lengths, w): one row per position of every sample's sequence, without padding.
 *          Sequences of the same lengths lie on one axis; a tile holds the positions of its rows.
 *   PARAM  (rows, cols): a dense parameter or buffer; its gradient is summed over the batch. One
 *          with an op is folded: made of other parameters before the first tile (a product of two
 *          weights that would follow each other at every position), never stored or trained itself.
 *   WHOLE  (w): one vector for the batch, summed over all rows (batch statistics, losses).
 * A batch is cut into lanes (a fixed number, see plan.h); inside a lane sums run in row order,
 * lanes are combined by one balanced tree. So every sum is the same for any number of threads.
 *
 * An op never sees the batch, only a tile of rows of one lane. An op that reads a WHOLE value
 * begins a new phase: all lanes finish the one before, the lanes' sums are combined, then it runs.
 * A batch op, which sees all rows at once, begins a phase too.
 * Nodes are made in topological order and never change afterwards.
 */
#ifndef CR_GRAPH_GRAPH_H
#define CR_GRAPH_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"

typedef struct cr_graph cr_graph;
typedef struct cr_node cr_node;
typedef struct cr_tile cr_tile;
struct cr_work;
typedef enum cr_class { CR_ROW, CR_SEQ, CR_PARAM, CR_WHOLE } cr_class;

typedef struct cr_op_type {
    const char *name;
    /* infer checks the inputs and sets n->cls, n->width, n->scratch, n->pack, n->n_prepare; for
     * sources (no inputs) also n->needs_grad. A mistake here is a bug of crank: CR_BUG. */
    void (*infer)(cr_node *n);
    /* forward fills the tile's rows of n (ROW), or adds into the lane's sum (WHOLE). */
    void (*forward)(const cr_node *n, cr_tile *t);
    /* backward reads n's gradient and sets (when cr_first_grad) or adds to the gradients of the
     * inputs that want one. It may overwrite n's own gradient. NULL: no gradient passes. */
    void (*backward)(const cr_node *n, cr_tile *t);
    /* WHOLE: called once, after the lanes were combined into sum (width values); it computes the
     * value of the node. n_rows is the number of rows of its first input in the batch. */
    void (*finish)(const cr_node *n, const double *sum, float *value, int64_t n_rows);
    /* shift fills the tile's rows from what the node gave in another run and from how its first
     * input differs now; both are in the caller's input. See cr_plan_opts.shifted. NULL: it cannot.
     * It has shift_scratch floats of scratch memory. forward leaves shift_kept floats per row for
     * it, in a run whose caller wants them. */
    void (*shift)(const cr_node *n, cr_tile *t);
    int64_t (*shift_scratch)(const cr_node *n);
    int64_t (*shift_kept)(const cr_node *n);
    /* prepare does item k of n->n_prepare, before the first tile whenever weights have changed, on
     * any thread. packed has n->pack floats (twice as many: see train) that the plan owns. */
    void (*prepare)(const cr_node *n, float *packed, int64_t item, bool train);
    /* for PARAM, instead of forward and backward: fold fills n->w from the inputs' w whenever
     * weights have changed; unfold, once per run, adds to the gradients of the inputs (d[i] NULL:
     * that input takes none) from n's own gradient. Both have n->scratch floats of scratch
     * memory. */
    void (*fold)(const cr_node *n, float *scratch);
    void (*unfold)(const cr_node *n, const float *grad, float *const *d, float *scratch);
    /* called after the last call of a run, on the caller's thread: did one of the calls fail? For
     * state see cr_state. */
    cr_code (*check)(const cr_node *n, void *state, cr_err *err);
    /* example number k: builds a small random case in g and returns its output; NULL: no more.
     * The gradient check and the threads test run over all of them. */
    cr_node *(*example)(cr_graph *g, int k);
    /* batch: the op needs all rows at once (list-wise losses, in-batch negatives). Forward and
     * backward are called once, between phases, with a tile that is the whole batch; sums must run
     * in row order. It has no PARAM inputs. */
    bool batch;
    /* rowwise: the op works row by row, so it works on positions of sequences too. It then uses
     * cr_infer_rows, cr_rows and cr_row0 instead of CR_ROW, t->n_rows and t->row0, and a tile may
     * have no rows, or more than CR_MAX_TILE. seq: the op handles sequences in its own way. */
    bool rowwise, seq;
    bool train_only; /* left out of inference (batch statistics) */
    bool keep_grad;  /* the gradient of the whole batch is needed after the step (lookups) */
    bool keep_val;   /* backward reads n's own value (sigmoid, softmax) */
    bool reads_in;   /* backward reads the values of the inputs */
} cr_op_type;

struct cr_node {
    const cr_op_type *op; /* NULL: a parameter that is not folded */
    const char *name;     /* PARAM: full name as in checkpoints; else "op#id" */
    int id;
    cr_class cls;
    int axis; /* SEQ: the axis of its lengths; see cr_graph_axis */
    cr_node **in;
    int n_in;
    int64_t width;       /* floats per row (ROW) or in all (WHOLE, PARAM) */
    int64_t rows, cols;  /* PARAM */
    void *attr;          /* the op's attributes, in the graph's arena */
    int64_t scratch;     /* floats of per-thread scratch that a call may use */
    int64_t scratch_row; /* and this many more per row (of the tile; of the batch for a batch op) */
    int64_t pack;        /* floats of prepared data */
    int64_t state;       /* bytes that each caller's work keeps for it, zeroed once; see cr_state */
    int64_t carry;       /* floats that a thread keeps for it between the tiles of a lane */
    int64_t n_prepare;
    /* Floats per row of a form of its own in which value and gradient may be kept between the ops
     * that know it, for tiles of whole blocks of rows (cr_own); 0: only rows of floats. */
    int64_t own_val, own_grad;
    /* forward runs once per lane, before its tiles, and backward once after them, over a tile of
     * all rows of the lane (in inference: of a range of rows). The inputs are parameters and other
     * lane nodes */
    bool lane;
    bool lane_back; /* only its backward runs once per lane; needs op->keep_grad */
    bool zeros;     /* many of its values are zeros (ReLU): products skip them */
    bool relu;      /* a ReLU is its last step */
    bool masked;    /* the op that writes its gradient has already applied the slope of that ReLU */
    bool needs_grad; /* it is trainable, or depends on something trainable */
    bool output;     /* the caller wants it: kept for the whole batch */
    bool loss;       /* WHOLE of width 1: differentiated with slope 1 */
    /* PARAM */
    bool trainable;
    /* dimensions as in torch: 3 (rows, cols, 1), 2 (rows, cols), 1 (width), 0 (one number) */
    int n_dims;
    float *w;       /* points into the parameter block, see cr_graph_alloc */
    int64_t offset; /* floats from the start of the block */
    void *init;     /* how it is filled; the layer above defines it (op/param.h) */
};

struct cr_graph {
    cr_arena arena;
    cr_node **nodes;
    int n, cap;
    uint64_t seed;
    int n_axes;
    bool feed_seq; /* gradcheck.h: feeds are sequences */
    int products;  /* how matrix products take their inputs: cr_products of kern.h */
    /* cr_graph_param returns the parameter of that name instead of a new one. unlike counts those
     * that cannot be shared so: there is none, it has another shape, or it is a buffer. */
    bool share;
    int unlike;
    char *prefix; /* put before parameter names: see cr_graph_push; NUL-ended */
    size_t cap_prefix;
    float *params; /* one block: trainable parameters first, then folded ones, then buffers */
    /* floats of the trainable parameters, of those with a gradient, and of all; each parameter is
     * padded to 64 bytes */
    int64_t n_trainable, n_grads, n_params;
};

/* most inputs of a folded parameter */
#define CR_FOLD_INPUTS 8

void cr_graph_init(cr_graph *g, uint64_t seed);
void cr_graph_clear(cr_graph *g);
/* cr_graph_param adds a dense parameter (rows, cols), named with the current scope in front. init
 * (init_size bytes) is copied. */
cr_node *cr_graph_param(cr_graph *g, const char *name, int64_t rows, int64_t cols, bool trainable,
                        const void *init, size_t init_size);
/* cr_graph_op adds an op node; attr (attr_size bytes) and the list of inputs are copied. */
cr_node *cr_graph_op(cr_graph *g, const cr_op_type *op, cr_node *const *in, int n_in,
                     const void *attr, size_t attr_size);
/* cr_graph_axis makes a new axis for sequences; each run gives its lengths (cr_run.axes). */
int cr_graph_axis(cr_graph *g);
/* cr_infer_rows, for infer, gives n the class and axis of its inputs, which must agree. */
void cr_infer_rows(cr_node *n);
/* cr_graph_push: names made until cr_graph_pop(mark) get this part and a dot in front. */
size_t cr_graph_push(cr_graph *g, const char *fmt, ...) CR_PRINTF(2, 3);
void cr_graph_pop(cr_graph *g, size_t mark);
/* cr_graph_alloc gives every parameter its place in one zeroed block. Call it once, after the last
 * node. */
CR_CHECKED cr_code cr_graph_alloc(cr_graph *g, cr_err *err);

/* ---- the tile that ops see ---- */
struct cr_tile {
    const struct cr_work *w;
    int lane, thread;
    int64_t row0;   /* its first row, counted among the rows that this holder has */
    int64_t n_rows; /* rows in this tile */
    bool first;     /* first tile of its lane in this phase */
    bool last;      /* last tile of its lane in this phase */
    bool train;
    float *scratch; /* per-thread scratch */
};
/* cr_rows returns the rows of a node in this tile, and cr_row0 the first of them in the batch: the
 * tile's own rows for ROW, positions for SEQ. cr_seq_off tells where the positions of each row of
 * the tile begin in the batch, as t->n_rows + 1 numbers. */
int64_t cr_rows(const cr_tile *t, const cr_node *n);
int64_t cr_row0(const cr_tile *t, const cr_node *n);
const int32_t *cr_seq_off(const cr_tile *t, int axis);
/* cr_val and cr_grad return the rows of a node's value and gradient in this tile, cr_ld floats
 * apart. */
float *cr_val(const cr_tile *t, const cr_node *n);
float *cr_grad(const cr_tile *t, const cr_node *n);
int64_t cr_ld(const cr_node *n);
/* cr_own: value and gradient of n are in the form of its own. cr_val and cr_grad then return where
 * it begins, at a multiple of 64 bytes; there is room for n->own_val and n->own_grad floats for
 * each row of the tile, counted in whole blocks. In training every tile but the last one of a lane
 * has whole blocks of rows. */
bool cr_own(const cr_tile *t, const cr_node *n);
/* cr_wants_grad: does input i of n take a gradient? cr_first_grad: is this the first write to it?
 * Then the op sets it, else it adds. For PARAM inputs the first write is that of the first use in
 * the first tile of the lane. */
bool cr_wants_grad(const cr_tile *t, const cr_node *n, int i);
bool cr_first_grad(const cr_tile *t, const cr_node *n, int i);
/* cr_param_grad returns this lane's block of the gradient of a PARAM. */
float *cr_param_grad(const cr_tile *t, const cr_node *p);
/* cr_param_sum returns the same for input i of n, for an op that only adds: it is cleared at its
 * first use. NULL: it is not wanted. */
float *cr_param_sum(const cr_tile *t, const cr_node *n, int i);
/* For WHOLE: its finished value; its finished gradient (in the node's own backward); this lane's
 * running sum of the value (in its forward) and of the gradient (in the backward of its users), to
 * which ops add and which they never set. */
const float *cr_whole(const cr_tile *t, const cr_node *n);
const float *cr_whole_grad(const cr_tile *t, const cr_node *n);
double *cr_lane_sum(const cr_tile *t, const cr_node *n);
double *cr_lane_grad(const cr_tile *t, const cr_node *n);
/* cr_packed returns the data that prepare made. */
const float *cr_packed(const cr_tile *t, const cr_node *n);
/* cr_state returns the n->state bytes of this node and caller, which a node leaves for others or
 * for later runs. Nodes and their attributes never change, because several callers run them at
 * once. */
void *cr_state(const cr_tile *t, const cr_node *n);
/* cr_carry returns the n->carry floats of this node and thread. They hold what a backward call left
 * for the next tile of the lane; before the first tile (t->first) they hold nothing. Training
 * only. */
float *cr_carry(const cr_tile *t, const cr_node *n);
/* cr_tile_input returns the caller's input of this run; cr_tile_step the step number. */
const void *cr_tile_input(const cr_tile *t);
int64_t cr_tile_step(const cr_tile *t);
/* A run may hold only a part of the batch (part.h). An op that depends on the place of a row or on
 * the size of the batch must use only these: the number of the tile's first row in the global
 * batch, and the number of rows (or positions) of a node in all of it. */
int64_t cr_global_row(const cr_tile *t);
int64_t cr_global_rows(const cr_tile *t, const cr_node *n);

#endif
