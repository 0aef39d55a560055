/*
 * take.h - makes a column of some rows of another column.
 */
#ifndef CR_DATA_LOAD_TAKE_H
#define CR_DATA_LOAD_TAKE_H

#include "data/batch.h"

/* cr_column_take takes rows idx[0 .. n) of a column of values, lists, lists of lists or maps; -1
 * stands for a row without a value. Text, dictionaries and their memos are shared with `from`. When
 * rows are taken more than once, the caller makes sure that there are fewer than 2^31 values. */
void cr_column_take(cr_column *to, const cr_column *from, const int32_t *idx, int64_t n,
                    cr_arena *arena);
size_t cr_col_width(cr_coltype t); /* bytes of a number */

#endif
