/*
 * registry.c - every reader crank knows, in alphabetical order.
 */
#include <string.h>

#include "data/reader.h"

#define READERS(X) X(csv) X(parquet)
#define DECLARE(r) extern const cr_reader_type cr_reader_##r;
#define ENTRY(r)   &cr_reader_##r,
READERS(DECLARE)
const cr_reader_type *const cr_readers[] = {READERS(ENTRY) NULL};

const cr_reader_type *cr_reader_find(const char *dataset_type) {
    for (const cr_reader_type *const *r = cr_readers; *r; r++) {
        if (strcmp((*r)->name, dataset_type) == 0) return *r;
    }
    return NULL;
}
