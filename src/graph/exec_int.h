/*
 * exec_int.h - the compiled form, shared by compile.c (makes it) and exec.c (runs it).
 */
#ifndef CR_GRAPH_EXEC_INT_H
#define CR_GRAPH_EXEC_INT_H

#include "graph/exec.h"

/* What compile decided for one node. */
typedef struct slot {
    bool used;     /* its forward runs */
    bool grad;     /* a gradient reaches it */
    int ph_f;      /* phase of its forward */
    int ph_b;      /* phase of its backward; -1: none */
    bool val_wide; /* value kept for the whole batch, else per tile */
    bool grad_wide;
    bool clear;      /* PARAM: only unfolding adds to its gradient */
    bool batch_user; /* a batch op reads it, and writes its gradient for all rows */
    bool all; /* its buffers hold the rows of the global batch: a batch op makes or reads it */
    int64_t val_off, grad_off; /* floats per row from the start of the block it lies in */
    int64_t sum_off;           /* WHOLE: first of its doubles in a lane's sums */
    int64_t pack_off;          /* floats from the start of ex->packed */
    bool *first;               /* per input: this node makes the first gradient write */
} slot;

typedef struct instr {
    const cr_node *n;
    bool back;
} instr;

typedef struct phase {
    int first; /* calls: n_batch of batch ops, once each; n_begin of every lane, before its tiles; n
                  of every tile; n_end of every lane, behind its tiles */
    int n_batch, n_begin, n, n_end;
} phase;

typedef struct prep {
    const cr_node *n;
    int64_t item;
} prep;

/* Buffers of one kind of rows: of samples, or of the positions of an axis. */
typedef struct space {
    int64_t work_width; /* floats per row of a tile's local buffers */
    int64_t wide_width; /* floats per row of batch-wide buffers */
    int64_t tile, cap;  /* rows of a tile and of a batch, at most; positions grow as needed */
    float *work, *wide; /* [threads][tile * work_width], [cap * wide_width] */
    size_t work_size, wide_size;
} space;

struct cr_exec {
    cr_arena arena; /* all of the plan */
    cr_graph *g;
    cr_pool *pool;
    cr_mode mode;
    cr_lanes lanes;
    int64_t max_rows, all_max_rows; /* here; of the global batch */
    int64_t tile_rows;
    space *spaces;      /* [2 + axes of the graph]: see cr_space_of */
    int64_t range_rows; /* rows of a lane node's tile, at most; 0: there are none */
    slot *slots;        /* by node id */
    instr *code;
    int n_code;
    phase *phases;
    int n_phases;
    prep *preps;
    int64_t n_preps;
    int64_t n_sums;  /* doubles per lane (values, then gradients: 2 * n_sums) */
    int64_t scratch; /* floats per thread */
    /* memory */
    float *scratch_mem, *packed, *lane_grads;
    float *node_grads;        /* [nodes][met_n], for those of other holders; NULL: there are none */
    int64_t met_first, met_n; /* the floats of a node's gradients that node_grads holds now */
    int64_t n_packed;
    double *lane_sums; /* [lanes here][2 * n_sums] */
    double *node_sums; /* [nodes][what they meet for] */
    double *sums;      /* combined: values */
    float *whole;      /* [2 * n_sums]: finished values, gradients */
    size_t scratch_size, packed_size, grads_size, node_grads_size, sums_size;
    /* the run under way */
    const cr_run *run;
    int64_t row0, all_rows; /* global number of row 0; rows of the global batch */
    int64_t *positions;     /* per axis: of the global batch */
    int cur_phase;
    bool prepared;
};

static inline space *cr_space_of(const cr_exec *ex, const cr_node *n) {
    return &ex->spaces[n->cls == CR_SEQ       ? 1 + n->axis
                       : ex->slots[n->id].all ? 1 + ex->g->n_axes
                                              : 0];
}

/* rows that lane nodes see at a time: those of a lane; in inference, where any cut gives the same
 * values, enough for ids to repeat */
#define EVAL_RANGE 1008
static inline int64_t cr_range_rows(const cr_exec *ex) {
    int64_t lane = (ex->all_max_rows + ex->lanes.all - 1) / ex->lanes.all;
    if (ex->mode == CR_TRAIN) return lane;
    return ex->max_rows < EVAL_RANGE ? ex->max_rows : EVAL_RANGE;
}

/* cr_exec_compile fills the plan (everything but the memory). */
void cr_exec_compile(cr_exec *ex);

#endif
