/*
 * expr.h - formulas: text compiled once, evaluated per row in double precision.
 *
 * The language is that of TorchEasyRec's expr_feature. Its operators, by rising precedence: ?: ||
 * && | & (comparisons) (+ -) (* /) unary minus, ^ (right to left). | and & work on whole numbers.
 * The constants are _pi and _e.
 */
#ifndef CR_FEAT_EXPR_H
#define CR_FEAT_EXPR_H

#include "base/mem.h"

typedef struct cr_expr cr_expr;
/* cr_expr_compile compiles n bytes of text over the named variables into the arena. On failure
 * *where is the byte of the text that is wrong and err holds cause and cure. */
CR_CHECKED cr_code cr_expr_compile(cr_expr **out, cr_arena *arena, const char *text, size_t n,
                                   const char *const *vars, int n_vars, size_t *where, cr_err *err);
/* cr_expr_eval takes vars in the order given to compile. It is thread safe and allocates
 * nothing. */
double cr_expr_eval(const cr_expr *e, const double *vars);

/* For variables with several values per row (expr_feature): */
typedef struct cr_expr_var {
    const double *v;
    int64_t n;
} cr_expr_var;
/* cr_expr_compile_row also knows the functions of whole variables (dot, len, reduce_sum ...). */
CR_CHECKED cr_code cr_expr_compile_row(cr_expr **out, cr_arena *arena, const char *text, size_t n,
                                       const char *const *vars, int n_vars, size_t *where,
                                       cr_err *err);
/* cr_expr_eval_row computes result k of a row. A variable with one value stands for all k; behind
 * the end of a variable its value is `fill`. */
double cr_expr_eval_row(const cr_expr *e, const cr_expr_var *vars, int64_t k, double fill);
/* Does the formula use a function of whole variables? */
bool cr_expr_vectors(const cr_expr *e);
/* Does the formula use variable i outside of such functions? */
bool cr_expr_single(const cr_expr *e, int i);
/* Does the formula use variable i? */
bool cr_expr_uses(const cr_expr *e, int i);

#endif
