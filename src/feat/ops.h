/*
 * ops.h - the built-in operators of custom_feature. They use the same interface as those of a
 * user's library (crank/feature.h).
 */
#ifndef CR_FEAT_OPS_H
#define CR_FEAT_OPS_H

#include <crank/feature.h>

/* cr_op_find returns NULL when there is no operator of that name; cr_op_at goes through all of
 * them. */
const crank_operator *cr_op_find(const char *name);
const crank_operator *cr_op_at(size_t i); /* NULL at the end */

extern const crank_operator cr_op_edit_distance, cr_op_regex_replace, cr_op_seq_expr;

#endif
