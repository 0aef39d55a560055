/*
 * init.h - initial values as a function of (seed, name, index): torch's init functions, found by
 * name.
 */
#ifndef CR_EMB_INIT_H
#define CR_EMB_INIT_H

#include <stdint.h>

#include "base/err.h"

typedef enum cr_init_kind {
    CR_INIT_CONST,
    CR_INIT_UNIFORM,
    CR_INIT_NORMAL,
    CR_INIT_TRUNC_NORMAL,
    CR_INIT_WAVES, /* rows of a sines and cosines, from the place 0 on */
} cr_init_kind;
typedef struct cr_init {
    cr_init_kind kind;
    double a, b;   /* const: value; uniform: low, high; normal: mean, std; waves: a row's width */
    double lo, hi; /* trunc normal: the limits */
} cr_init;

#define CR_INIT_U(r)   ((cr_init){CR_INIT_UNIFORM, -(r), (r), 0, 0})
#define CR_INIT_N(std) ((cr_init){CR_INIT_NORMAL, 0, (std), 0, 0})
#define CR_INIT_C(v)   ((cr_init){CR_INIT_CONST, (v), 0, 0, 0})

/* cr_init_parse reads a config's init_fn: "nn.init.uniform_,a=-0.01,b=0.01". It knows uniform_,
 * normal_, trunc_normal_, constant_, zeros_, ones_, xavier_uniform_, xavier_normal_,
 * kaiming_uniform_, kaiming_normal_. fan_out and fan_in are the rows and columns of the matrix as
 * torch stores it. */
CR_CHECKED cr_code cr_init_parse(cr_init *out, const char *text, int64_t fan_out, int64_t fan_in,
                                 cr_err *err);
/* cr_init_fill writes values first .. first+n-1 of the stream `key`. */
void cr_init_fill(const cr_init *init, uint64_t key, int64_t first, int64_t n, float *out);

#endif
