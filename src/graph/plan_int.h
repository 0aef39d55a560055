/*
 * plan_int.h - the compiled form, shared by compile.c (makes it), plan.c (packs weights) and
 * work.c (runs it).
 */
#ifndef CR_GRAPH_PLAN_INT_H
#define CR_GRAPH_PLAN_INT_H

#include "graph/plan.h"

/* The decisions of compile for one node. */
typedef struct slot {
    bool used;     /* its forward runs */
    bool wanted;   /* it is an output: kept for the whole batch */
    bool given;    /* the caller has its value: nothing runs for it */
    bool shifted;  /* op->shift runs in place of op->forward */
    bool lane;     /* it runs once per lane: cr_node.lane, unless nothing here needs that */
    bool grad;     /* a gradient reaches it */
    int ph_f;      /* phase of its forward */
    int ph_b;      /* phase of its backward; -1: none */
    bool val_wide; /* value kept for the whole batch, else per tile */
    bool grad_wide;
    bool own;        /* in the node's own form: cr_own */
    bool clear;      /* PARAM: only unfolding adds to its gradient */
    bool batch_user; /* a batch op reads it, and writes its gradient for all rows */
    /* its buffers hold the rows of the global batch, because a batch op makes or reads it */
    bool all;
    int64_t val_off, grad_off; /* floats per row from the start of the block that holds it */
    int64_t sum_off;           /* WHOLE: first of its doubles in a lane's sums */
    int64_t pack_off;          /* floats from the start of plan->packed */
    int64_t carry_off;         /* floats from the start of a thread's carried values */
    int64_t state_off;         /* bytes from the start of a work's states */
    bool *first;               /* for each input: this node is the first to write its gradient */
} slot;

typedef struct instr {
    const cr_node *n;
    bool back;
    bool shift; /* op->shift in place of op->forward */
} instr;

typedef struct phase {
    /* first call of the phase. There are n_batch calls of batch ops, once each; then n_begin calls
     * for every lane, before its tiles; n calls for every tile; n_end calls for every lane, after
     * its tiles */
    int first;
    int n_batch, n_begin, n, n_end;
} phase;

typedef struct prep {
    const cr_node *n;
    int64_t item;
} prep;

/* The buffers of one kind of rows: of samples, of the positions of an axis, or of the samples of
 * the global batch. It holds floats per row, for a tile's local buffers and for batch-wide
 * buffers. */
typedef struct widths {
    int64_t work, wide;
} widths;

struct cr_plan {
    cr_arena arena; /* holds all of the plan except for the packed weights */
    cr_graph *g;
    cr_mode mode;
    cr_lanes lanes;
    int64_t max_rows, all_max_rows; /* rows that this holder has, and rows of the global batch */
    int64_t tile_rows;
    widths *spaces;     /* [2 + axes of the graph]: see cr_space_of */
    int64_t range_rows; /* most rows of a lane node's tile; 0: there are no lane nodes */
    slot *slots;        /* indexed by node id */
    instr *code;
    int n_code;
    phase *phases;
    int n_phases;
    prep *preps;
    int64_t n_preps;
    int64_t n_sums;  /* doubles per lane (values, then gradients: 2 * n_sums) */
    int64_t scratch; /* floats per thread */
    int64_t carry;   /* floats per thread, behind the scratch: kept between tiles */
    int64_t n_state; /* bytes of the nodes' states */
    int64_t n_packed;
    bool has_check; /* one of its ops can fail */
    /* the weights */
    const cr_plan *packed_in; /* the plan whose packed weights are used; NULL: its own */
    float *packed, *fold_scratch;
    size_t packed_size;
    bool is_packed;
};

/* cr_space_of tells in which of the spaces a node's rows lie. */
static inline int cr_space_of(const cr_plan *p, const cr_node *n) {
    return n->cls == CR_SEQ ? 1 + n->axis : p->slots[n->id].all ? 1 + p->g->n_axes : 0;
}
static inline int cr_n_spaces(const cr_plan *p) {
    return 2 + p->g->n_axes;
}

/* cr_range_rows returns how many rows lane nodes see at a time: in training those of a lane; in
 * inference, where any division gives the same values, enough rows for ids to repeat. */
#define EVAL_RANGE 1008
static inline int64_t cr_range_rows(const cr_plan *p) {
    int64_t lane = (p->all_max_rows + p->lanes.all - 1) / p->lanes.all;
    if (p->mode == CR_TRAIN) return lane;
    return p->max_rows < EVAL_RANGE ? p->max_rows : EVAL_RANGE;
}

/* cr_plan_compile fills everything of the plan except for the weights. */
void cr_plan_compile(cr_plan *p, const cr_plan_opts *o);

#endif
