/*
 * crank/feature.h - features of your own: operators in a shared library, used by custom_feature.
 *
 *   custom_feature { feature_name: "len" operator_name: "TextLength" operator_lib_file: "./mine.so"
 *                    expression: "item:title" }
 *
 * A library defines one object:
 *
 *   const crank_feature_library crank_features = {CRANK_FEATURE_ABI, operators};
 *
 * (in C++ with extern "C" in front) where `operators` is a NULL-ended array of pointers to
 * crank_operator. Build it with `cc -shared -fPIC -I include mine.c -o mine.so`; nothing of crank
 * is linked.
 *
 * An operator turns the values of its inputs into values, rows at a time. What comes then - the
 * default of a row without values, normalizers, hashes, vocabularies, boundaries - is crank's, as
 * for any feature. The result of a row must depend on the values of that row and on the parameters
 * alone: rows come in batches of any size, in any order, from any thread, and in predictions again.
 *
 * CRANK_FEATURE_ABI changes when something below does in a way that a compiled library would
 * notice.
 */
#ifndef CRANK_FEATURE_H
#define CRANK_FEATURE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CRANK_FEATURE_ABI 1

/* What an input holds, and what an operator makes. */
typedef enum crank_type {
    CRANK_TEXT = 1,   /* as input: a text is one value, whatever is in it */
    CRANK_TOKENS = 2, /* as input only: a text is cut at the feature's separator */
    CRANK_INT = 3,
    CRANK_FLOAT = 4,
} crank_type;

typedef struct crank_text {
    const char *data; /* size bytes, no end mark; usually UTF-8, any bytes may come */
    size_t size;
} crank_text;

/* One input. Row r has the values offsets[r] .. offsets[r + 1] - 1; none: it is missing. In a
 * sequence feature a row is a step. Empty texts count as missing. */
typedef struct crank_input {
    crank_type type;
    const int64_t *offsets; /* n_rows + 1 */
    /* the one that type names; the others are NULL */
    const crank_text *texts; /* CRANK_TEXT, CRANK_TOKENS */
    const int64_t *ints;
    const double *floats;
} crank_input;

typedef struct crank_batch {
    int64_t n_rows;
    int n_inputs;
    const crank_input *inputs;
} crank_batch;

typedef struct crank_params crank_params; /* what the config says; see crank_host */
typedef struct crank_output crank_output; /* where values go */

/* What crank does for an operator. Valid until the operator is closed. */
typedef struct crank_host {
    /* A parameter of operator_params as text (numbers and true/false as they are written), item i
     * of it when it is a list (else only item 0 is there); NULL: not given. Valid until close. */
    const char *(*param)(const crank_params *p, const char *name, int i);
    /* The inputs of the feature: how many, and the column name of one. */
    int (*n_inputs)(const crank_params *p);
    const char *(*input_name)(const crank_params *p, int i);
    /* One value of the current row, of the operator's output type. More than 2^20 in a row, or a
     * text above 1 GiB, stop the job as a mistake of the operator. Empty texts are no values. */
    void (*put_text)(crank_output *out, const char *data, size_t size);
    void (*put_int)(crank_output *out, int64_t x);
    void (*put_float)(crank_output *out, double x);
    /* Ends the current row; a row without values takes default_value. */
    void (*end_row)(crank_output *out);
    /* Ends the current row as bad: it is left out or stops the job (data_config.max_bad_rows). */
    void (*bad_row)(crank_output *out, const char *why);
} crank_host;

enum { CRANK_THREAD_SAFE = 1 }; /* run may be called from several threads on one instance */

typedef struct crank_operator {
    const char *name;           /* operator_name of the config */
    int min_inputs, max_inputs; /* max_inputs 0: any number */
    const crank_type *inputs;   /* types, 0-ended; the last one is that of all further inputs */
    crank_type output;          /* CRANK_TEXT, CRANK_INT or CRANK_FLOAT */
    unsigned flags;
    /* Makes an instance. NULL: it cannot be, one line in why (size bytes) says it. */
    void *(*open)(const crank_host *host, const crank_params *params, char *why, size_t size);
    /* Ends exactly n_rows rows. Not 0: the job stops with the line in why. */
    int (*run)(void *self, const crank_batch *in, crank_output *out, char *why, size_t size);
    void (*close)(void *self); /* may be NULL */
} crank_operator;

typedef struct crank_feature_library {
    int abi;                                /* CRANK_FEATURE_ABI */
    const crank_operator *const *operators; /* NULL-ended */
} crank_feature_library;

#ifdef __cplusplus
}
#endif

#endif
