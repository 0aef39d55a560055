/*
 * normalize.h - RawFeature.normalizer: "method=log10,threshold=t,default=d" and its kin.
 */
#ifndef CR_FEAT_NORMALIZE_H
#define CR_FEAT_NORMALIZE_H

#include <stdbool.h>

#include "feat/expr.h"

typedef enum cr_norm_method {
    CR_NORM_NONE,
    CR_NORM_LOG10,
    CR_NORM_ZSCORE,
    CR_NORM_MINMAX,
    CR_NORM_EXPR
} cr_norm_method;
typedef struct cr_norm {
    cr_norm_method method;
    float a, b; /* by method: threshold, default | mean, deviation | min, max - min */
    const cr_expr *expr;
} cr_norm;
/* cr_norm_parse reads a normalizer ("" is none). On failure *where is the wrong byte of the text.
 */
CR_CHECKED cr_code cr_norm_parse(cr_norm *out, cr_arena *arena, const char *text, size_t *where,
                                 cr_err *err);
/* cr_norm_apply: y[i] = norm(x[i]). As in TorchEasyRec's feature generator, f64 computes in double
 * (text scalars), otherwise in float (numeric columns and lists). */
void cr_norm_apply(const cr_norm *m, const double *x, float *y, int64_t n, bool f64);

#endif
