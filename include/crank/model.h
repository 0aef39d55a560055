/*
 * crank/model.h - models and layers of your own, from a shared library.
 *
 * A library exports one object, crank_model_plugin, that lists its types. A type is used as a whole
 * model (model_config.plugin) or as a block of a graph (backbone.blocks.plugin): it has a name,
 * parameters that the config may set, and a build function. build runs once, before training, and
 * composes layers by handles; crank differentiates, plans and runs what it left. For arithmetic
 * that no layer has, it can add an op of its own with forward and backward callbacks.
 *
 *     cc -O2 -shared -fPIC -I <prefix>/include -o libmine.so mine.c
 *
 * All handles belong to crank and live until build returns (those of types, ops and parameters must
 * live as long as the library: make them static). Every function may be given NULL nodes and then
 * returns NULL: after a mistake the rest of a build runs on without harm and crank reports the first
 * one, with its place in the config. A crash in a library is a crash of crank.
 *
 * The interface is plain C11 (and C++). CRANK_MODEL_ABI is its number: a library with another
 * number is refused. Anything in this file that changes a size or a meaning changes the number.
 */
#ifndef CRANK_MODEL_H
#define CRANK_MODEL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CRANK_MODEL_ABI 1

typedef struct crank_build crank_build;   /* one build of one type */
typedef struct crank_node crank_node;     /* a row of floats per sample or step */
typedef struct crank_weight crank_weight; /* a trained matrix */

/* ---- parameters: what `params { ... }` of the config may hold ---- */

typedef enum crank_param_kind {
    CRANK_PARAM_INT,
    CRANK_PARAM_FLOAT,
    CRANK_PARAM_BOOL,
    CRANK_PARAM_TEXT,
    CRANK_PARAM_INTS,  /* a list */
    CRANK_PARAM_FLOATS /* a list */
} crank_param_kind;

typedef struct crank_model_param {
    const char *name; /* NULL ends the table; 60 at most */
    crank_param_kind kind;
    int required;     /* 1: the config must give it */
    double value;     /* default of INT, FLOAT, BOOL */
    const char *text; /* default of TEXT; NULL: "" */
    double min, max;  /* of numbers, inclusive; both 0: any */
    const char *help; /* one line */
} crank_model_param;

/* ---- ops of your own ---- */

/* A block of rows: number j of row r is v[r * stride + j], j < width. */
typedef struct crank_op_rows {
    float *v;
    int64_t width, stride;
} crank_op_rows;

/* What a callback is given: some rows of the batch (a tile), never the batch. Callbacks run on many
 * threads at once, each on other rows: they may use nothing but what is in here and may not keep
 * it. Results must be the same for any cut into tiles: work on each row by itself, and add to a
 * weight's gradient row after row, in order. Then they are the same for any number of threads. */
typedef struct crank_op_call {
    const void *data; /* what crank_model_api.op was given, copied */
    int64_t n_rows;
    int n_in, n_weights;
    const crank_op_rows *in;     /* [n_in] values; do not write */
    const crank_op_rows *weight; /* [n_weights] matrices: row r of a matrix is v + r * stride */
    crank_op_rows out;           /* forward: write all of it; backward: as forward left it */
    /* backward: d loss / d out, to read; and where to ADD d loss / d in and d loss / d weight. A
     * gradient whose v is NULL is not wanted. */
    crank_op_rows out_grad;
    const crank_op_rows *in_grad;     /* [n_in] */
    const crank_op_rows *weight_grad; /* [n_weights] */
} crank_op_call;

typedef struct crank_op {
    const char *name;
    /* 0: done. Anything else stops the run with a message that has this number. */
    int (*forward)(const crank_op_call *c);
    int (*backward)(const crank_op_call *c); /* NULL: inputs and weights get no gradient */
} crank_op;
#define CRANK_MAX_OP_INPUTS 32 /* inputs and weights of one op */

/* ---- what build may call ---- */

typedef struct crank_model_api {
    size_t size; /* of this struct */

    /* Parameters by name, with defaults. get_list: the numbers of INTS and FLOATS; returns how many
     * there are, *v is valid until build returns. */
    int64_t (*get_int)(crank_build *b, const char *name); /* BOOL: 0 or 1 */
    double (*get_float)(crank_build *b, const char *name);
    const char *(*get_text)(crank_build *b, const char *name);
    int64_t (*get_list)(crank_build *b, const char *name, const double **v);

    /* Inputs: those of the block; of a model: the feature groups, in the order of the config.
     * group: a feature group by its name. */
    int (*n_inputs)(crank_build *b);
    crank_node *(*input)(crank_build *b, int i);
    crank_node *(*group)(crank_build *b, const char *name);

    /* floats per row; and of each vector where the row is vectors of one width side by side (a
     * feature group whose features have one embedding_dim), else 0 */
    int64_t (*width)(const crank_node *x);
    int64_t (*field_width)(const crank_node *x);
    int64_t (*num_class)(crank_build *b); /* of model_config */

    /* layer: any layer that a block of a backbone can have, by its key ("mlp", "linear", "fm",
     * "cross_v2", "add", ...: see Block in the reference), over n inputs. name begins the names of
     * its parameters in checkpoints and is used once. params is YAML for the layer's message, after
     * printf: layer(b, "deep", "mlp", &x, 1, "hidden_units: [%d, 32]", n); "" for none. Several
     * outputs (mmoe) stand side by side. */
    crank_node *(*layer)(crank_build *b, const char *name, const char *type, crank_node *const *in,
                         int n, const char *params, ...)
#if defined(__GNUC__)
        __attribute__((format(printf, 6, 7)))
#endif
        ;

    /* weight: a trained matrix (rows, cols). init: a torch.nn.init call as the config writes it
     * ("nn.init.zeros_"), NULL: uniform in +-1/sqrt(cols). */
    crank_weight *(*weight)(crank_build *b, const char *name, int64_t rows, int64_t cols,
                            const char *init);
    /* op: an op of your own: n inputs, n_weights weights, out_width floats per row. data (size
     * bytes) is copied for the callbacks. */
    crank_node *(*op)(crank_build *b, const crank_op *op, crank_node *const *in, int n,
                      crank_weight *const *weights, int n_weights, int64_t out_width,
                      const void *data, size_t size);

    /* output: what the type gives. A block: at least one, in order. A model: one, or one per task
     * tower. What is num_class wide is the logits as it is; else a linear layer makes them. */
    void (*output)(crank_build *b, crank_node *x);
    /* fail: what is wrong, one line "cause; cure"; returns 1, for `return api->fail(b, ...)` */
    int (*fail)(crank_build *b, const char *fmt, ...)
#if defined(__GNUC__)
        __attribute__((format(printf, 2, 3)))
#endif
        ;
} crank_model_api;

/* ---- what a library exports ---- */

typedef struct crank_model_type {
    const char *name;                                         /* NULL ends the list */
    const char *help;                                         /* one line */
    const crank_model_param *params;                          /* NULL: none */
    int (*build)(crank_build *b, const crank_model_api *api); /* 0: done */
} crank_model_type;

typedef struct crank_model_library {
    int abi; /* CRANK_MODEL_ABI */
    const crank_model_type *types;
} crank_model_library;

#if defined(__GNUC__)
#define CRANK_EXPORT __attribute__((visibility("default")))
#else
#define CRANK_EXPORT
#endif
extern CRANK_EXPORT const crank_model_library crank_model_plugin;

#ifdef __cplusplus
}
#endif

#endif
