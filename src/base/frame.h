/*
 * frame.h - a DataFrame of pandas, or a Series, in a pickle: columns by name, and rows.
 *
 * pandas keeps columns of one type together in blocks, matrices with a column of the frame per
 * line, and tells for each block which columns it has.
 */
#ifndef CR_BASE_FRAME_H
#define CR_BASE_FRAME_H

#include "base/pickle.h"

typedef struct cr_frame_column {
    const char *name; /* n bytes; NULL: it is no text */
    size_t n;
    const cr_pickle *block; /* NULL: no block has it */
    int64_t first;          /* where its values begin in the block */
} cr_frame_column;
typedef struct cr_frame {
    int64_t rows, n;
    cr_frame_column *columns;
} cr_frame;

/* cr_frame_of finds the columns of a pickle that is a DataFrame; that of a Series has no name. Both
 * point into the pickle and into a; path is for messages. */
CR_CHECKED cr_code cr_frame_of(const cr_pickle *v, const char *path, cr_arena *a, cr_frame *out,
                               cr_err *err);
/* cr_frame_find returns a column by its name; NULL: there is none. */
const cr_frame_column *cr_frame_find(const cr_frame *f, const char *name);
/* The value of a column in row r, counted from 0 and below rows: a number, or another value (NULL:
 * it is a number). */
bool cr_frame_number(const cr_frame_column *c, int64_t r, double *out);
bool cr_frame_whole(const cr_frame_column *c, int64_t r, int64_t *out);
const cr_pickle *cr_frame_item(const cr_frame_column *c, int64_t r);

#endif
