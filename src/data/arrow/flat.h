/*
 * flat.h - FlatBuffers, as far as Arrow's messages need them: reading with every offset checked,
 * and writing.
 *
 * A buffer is a graph of tables. A table begins with the distance back to its vtable, which says
 * where each field lies in the table; a field that is not there has its default. Reading never
 * fails at once: an offset that leaves the buffer sets `bad`, gives the default, and the caller
 * looks at `bad` when it is done.
 */
#ifndef CR_DATA_ARROW_FLAT_H
#define CR_DATA_ARROW_FLAT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

typedef struct cr_flat {
    const uint8_t *p;
    size_t n;
    bool bad; /* something lay outside */
} cr_flat;
typedef struct cr_flat_table {
    size_t at, size;        /* size 0: there is no such table, and all fields have their defaults */
    size_t vtable, n_slots; /* where the places of fields are, and how many */
} cr_flat_table;
typedef struct cr_flat_vec {
    size_t at, n; /* the first element, and how many */
} cr_flat_vec;

cr_flat_table cr_flat_root(cr_flat *b);
/* Field `slot` counts from 0 in the order of the schema file. */
bool cr_flat_has(const cr_flat *b, cr_flat_table t, int slot);
int64_t cr_flat_int(cr_flat *b, cr_flat_table t, int slot, int bytes, bool is_signed, int64_t def);
cr_flat_table cr_flat_sub(cr_flat *b, cr_flat_table t, int slot);
/* each: bytes of an element */
cr_flat_vec cr_flat_list(cr_flat *b, cr_flat_table t, int slot, size_t each);
/* element i of a vector of tables */
cr_flat_table cr_flat_item(cr_flat *b, cr_flat_vec v, size_t i);
/* the text of a field, without a NUL; n is 0 when there is none */
const char *cr_flat_text(cr_flat *b, cr_flat_table t, int slot, size_t *n);
int64_t cr_flat_i64(const uint8_t *p); /* eight bytes, little-endian */
int32_t cr_flat_i32(const uint8_t *p);

/* Writing goes from front to back: a table is written with empty places for what it refers to, and
 * cr_flat_link fills a place once that has been written. Places count from the first byte of the
 * buffer, which is `start`. */
typedef struct cr_flat_out {
    cr_buf *b;
    size_t start;
} cr_flat_out;
/* A field of a table: size 0 means that it is left out; a reference has size 4. */
typedef struct cr_flat_put {
    int size;
    int64_t value;
} cr_flat_put;
void cr_flat_begin(cr_flat_out *o, cr_buf *b); /* writes the place of the root: link place 0 */
/* cr_flat_put_table writes a table and returns its place; places (NULL: not wanted) gets that of
 * every field. */
size_t cr_flat_put_table(cr_flat_out *o, const cr_flat_put *f, int n, size_t *places);
size_t cr_flat_put_text(cr_flat_out *o, const char *s);
/* cr_flat_put_list writes the head of a vector of n elements of `each` bytes, zeros, and returns
 * the place of the vector; its elements begin 4 bytes behind it. */
size_t cr_flat_put_list(cr_flat_out *o, size_t n, size_t each);
void cr_flat_link(cr_flat_out *o, size_t place, size_t target);
void cr_flat_set_i64(cr_flat_out *o, size_t place, int64_t x);

#endif
