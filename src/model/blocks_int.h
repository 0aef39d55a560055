/*
 * blocks_int.h - block layers: the layers that a model in the config (backbone) is made of.
 *
 * A block layer has a name, a message and one build function: a file (or a few lines of one) and a
 * line of blocks_list.h. Before build is called, the inputs are checked and put together as `takes`
 * says: how many there are, side by side, fields, sequences.
 */
#ifndef CR_MODEL_BLOCKS_INT_H
#define CR_MODEL_BLOCKS_INT_H

#include "model/model.h"

/* The output of a feature group or of a block. */
typedef struct cr_block_val {
    cr_node *node;  /* a row, or the positions of a sequence group (SEQ) */
    int64_t D;      /* the row is vectors of this width side by side; 0: their widths differ */
    cr_node *query; /* of a sequence group: its plain features; NULL: it has none */
} cr_block_val;

enum {
    CR_TAKES_FIELDS = 1,    /* vectors of one width: x.D is not 0 */
    CR_TAKES_POSITIONS = 2, /* rows, or positions of sequences; the output is of the same kind */
    CR_TAKES_EACH = 4,      /* each input by itself in `in`, not side by side in x */
    /* one sequence (x.node) and a query (x.query, may be NULL): the rows among the inputs, or else
     * the plain features of the sequence's group */
    CR_TAKES_SEQUENCE = 8,
    CR_TAKES_MIXED = 16, /* rows and sequences of any kind, with CR_TAKES_EACH */
};
typedef struct cr_block_call {
    cr_build *b;
    cr_graph *g;
    const char *block;      /* name of the block, for messages */
    const char *path;       /* module name of its parameters */
    const char *type;       /* key of the layer */
    cr_loc at;              /* place of the layer, for messages */
    cr_block_val x;         /* the inputs side by side */
    const cr_block_val *in; /* the inputs one by one */
    int n_in;
    cr_block_val *out; /* the outputs that cr_block_give has added */
    int n_out, cap_out;
} cr_block_call;

struct cr_block_type {
    const char *name;
    unsigned takes;
    int min_in, max_in; /* number of inputs; max_in 0: any number */
    bool shares;        /* another block may have the same parameters (weights_of) */
    /* build gives at least one output, or reports what is wrong. */
    void (*build)(cr_block_call *c, const void *conf);
    bool loss; /* it brings the loss of the model */
};
typedef struct cr_block_type cr_block_type;
/* A layer without parameters has only a message. */
typedef struct cr_block_plain {
    cr_conf_base base;
} cr_block_plain;
#define CR_BLOCK_PLAIN(id, name_, help_)                                                           \
    const cr_msg cr_block_##id##_msg = {                                                           \
        .name = name_,                                                                             \
        .help = help_,                                                                             \
        .fields = cr_no_fields,                                                                    \
        .size = sizeof(cr_block_plain),                                                            \
    }
extern const cr_oneof cr_block_family; /* member.type is a cr_block_type* */
extern const cr_msg cr_block_input_msg;

/* cr_block_take checks the inputs (in, n_in) and puts them together in x, as the type says;
 * cr_block_too_wide tells whether the row of n values would be too wide. Both report it. */
bool cr_block_take(cr_block_call *c, const cr_block_type *t);
bool cr_block_too_wide(cr_block_call *c, const cr_block_val *v, int n);
/* cr_block_run checks the inputs (in, n_in) and builds the layer; returns false with a mistake in
 * diag. */
bool cr_block_run(cr_block_call *c, const cr_block_type *t, const void *conf);
/* cr_block_give adds an output that is one vector; cr_block_give_fields one that is vectors of
 * width D (0: their widths differ); cr_block_give_like one of the same width and kind as x. */
void cr_block_give(cr_block_call *c, cr_node *node);
void cr_block_give_fields(cr_block_call *c, cr_node *node, int64_t D);
void cr_block_give_like(cr_block_call *c, cr_node *node, const cr_block_val *x);
void cr_block_give_val(cr_block_call *c, cr_block_val v);
/* cr_block_beside puts n values of one kind side by side. */
cr_block_val cr_block_beside(cr_block_call *c, const cr_block_val *v, int n);
/* cr_block_loss makes a row (1) the loss of the model, under the name of the block; a model has
 * only so many losses, and more are a mistake that it reports. cr_block_learns: are losses wanted?
 */
bool cr_block_learns(const cr_block_call *c);
void cr_block_loss(cr_block_call *c, cr_node *row);
/* cr_block_query_fits: is the query (c->x.query) at most as wide as what it is compared with
 * (exact: just as wide)? Reports a mistake if not. */
bool cr_block_query_fits(cr_block_call *c, int64_t width, bool exact);
/* The most numbers of a row: far above any sensible value; blocks that double their input could
 * otherwise reach any size. */
#define CR_BLOCK_MAX_ROW (1 << 24)
/* cr_block_group reads a feature group; most: how many steps of a sequence are read (0: all). node
 * is NULL after a mistake, which is reported at `at`. */
cr_block_val cr_block_group(cr_build *b, const char *name, int64_t most, cr_loc at);
/* cr_block_can_learn reports a mistake when the model has neither tables nor parameters. */
void cr_block_can_learn(cr_build *b, cr_loc at);
/* cr_block_tower ends task tower number i, over x. */
void cr_block_tower(cr_build *b, const cr_task_conf *t, int64_t i, cr_node *x);
/* cr_block_wrong reports "block 'x': …" at the layer. */
#define cr_block_wrong(c, at, ...) cr_block_wrong_(__FILE__, __LINE__, (c), (at), __VA_ARGS__)
void cr_block_wrong_(const char *src, int line, cr_block_call *c, cr_loc at, const char *fmt, ...)
    CR_PRINTF(5, 6);
/* cr_block_logits makes logits of x: x itself when it is num_class wide, else a linear layer `name`
 * over it. */
cr_node *cr_block_logits(cr_build *b, const char *name, cr_node *x, int64_t num_class, cr_loc at);

#endif
