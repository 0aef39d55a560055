/*
 * take.h - some rows of a column as a column of their own.
 */
#ifndef CR_DATA_LOAD_TAKE_H
#define CR_DATA_LOAD_TAKE_H

#include "data/batch.h"

/* cr_column_take: rows idx[0 .. n) of a column of values, lists, lists of lists or maps; -1: a row
 * without a value. Text, dictionaries and what was made of them are shared with `from`. The caller
 * sees to it that the values are fewer than 2^31 when rows are taken more than once. */
void cr_column_take(cr_column *to, const cr_column *from, const int32_t *idx, int64_t n,
                    cr_arena *arena);
size_t cr_col_width(cr_coltype t); /* bytes of a number */

#endif
