/*
 * plan_int.h - the compiled form, shared by compile.c (makes it), plan.c (packs weights) and
 * work.c (runs it).
 */
#ifndef CR_GRAPH_PLAN_INT_H
#define CR_GRAPH_PLAN_INT_H

#include "graph/plan.h"

/* What compile decided for one node. */
typedef struct slot {
    bool used;     /* its forward runs */
    bool wanted;   /* it is an output: kept for the whole batch */
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
    int64_t pack_off;          /* floats from the start of plan->packed */
    int64_t state_off;         /* bytes from the start of a work's states */
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

/* The buffers of one kind of rows: of samples, of the positions of an axis, or of the samples of
 * the global batch. Floats per row of a tile's local buffers and of batch-wide buffers. */
typedef struct widths {
    int64_t work, wide;
} widths;

struct cr_plan {
    cr_arena arena; /* all of the plan but the packed weights */
    cr_graph *g;
    cr_mode mode;
    cr_lanes lanes;
    int64_t max_rows, all_max_rows; /* here; of the global batch */
    int64_t tile_rows;
    widths *spaces;     /* [2 + axes of the graph]: see cr_space_of */
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
    int64_t n_state; /* bytes of the nodes' states */
    int64_t n_packed;
    bool has_check; /* an op of it can fail */
    /* the weights */
    float *packed, *fold_scratch;
    size_t packed_size;
    bool is_packed;
};

/* which of the spaces a node's rows lie in */
static inline int cr_space_of(const cr_plan *p, const cr_node *n) {
    return n->cls == CR_SEQ ? 1 + n->axis : p->slots[n->id].all ? 1 + p->g->n_axes : 0;
}
static inline int cr_n_spaces(const cr_plan *p) {
    return 2 + p->g->n_axes;
}

/* rows that lane nodes see at a time: those of a lane; in inference, where any cut gives the same
 * values, enough for ids to repeat */
#define EVAL_RANGE 1008
static inline int64_t cr_range_rows(const cr_plan *p) {
    int64_t lane = (p->all_max_rows + p->lanes.all - 1) / p->lanes.all;
    if (p->mode == CR_TRAIN) return lane;
    return p->max_rows < EVAL_RANGE ? p->max_rows : EVAL_RANGE;
}

/* cr_plan_compile fills the plan (everything but the weights). */
void cr_plan_compile(cr_plan *p, const cr_plan_opts *o);

#endif
