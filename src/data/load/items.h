/*
 * items.h - the items that an epoch is made of: the files of a data set as one list.
 *
 * Every block of a file that can be cut anywhere is an item, and so is every other file as a whole.
 * The list does not change once it is open, so every part of the loader may read it from any
 * thread.
 */
#ifndef CR_DATA_LOAD_ITEMS_H
#define CR_DATA_LOAD_ITEMS_H

#include "data/load/loader.h"

typedef struct cr_items {
    const cr_loader_opts *o;
    const cr_reader_type *reader;
    cr_source *src;
    int64_t n_files, n;
    int64_t *first; /* per file its first item, and the end */
    bool *front;    /* per file: it can only be read front to back */
} cr_items;

/* cr_items_open lists the items of src, which it owns from here on. It may be closed after an
 * error. */
CR_CHECKED cr_code cr_items_open(cr_items *in, const cr_loader_opts *o, cr_source *src,
                                 cr_err *err);
void cr_items_close(cr_items *in);
/* cr_items_file returns the number of the file that an item is in. */
int64_t cr_items_file(const cr_items *in, int64_t item);
/* cr_items_known: does the reader know the rows of a block before it reads the block? */
static inline bool cr_items_known(const cr_items *in) {
    return in->reader->block_rows != NULL;
}

#endif
