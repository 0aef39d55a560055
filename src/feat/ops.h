/*
 * ops.h - operators of custom_feature that crank has itself, through the interface of the user's
 * own (crank/feature.h).
 */
#ifndef CR_FEAT_OPS_H
#define CR_FEAT_OPS_H

#include <crank/feature.h>

/* cr_op_find: NULL when there is none of that name; cr_op_at walks them */
const crank_operator *cr_op_find(const char *name);
const crank_operator *cr_op_at(size_t i); /* NULL at the end */

extern const crank_operator cr_op_edit_distance, cr_op_regex_replace, cr_op_seq_expr;

#endif
