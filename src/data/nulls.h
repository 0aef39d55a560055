/*
 * nulls.h - texts that stand for a missing value: those that data_config.null_values lists, and
 * words that other tools are known to write.
 */
#ifndef CR_DATA_NULLS_H
#define CR_DATA_NULLS_H

#include "base/mem.h"
#include "conf/field.h"

/* A set of texts, asked about every cell: lengths and first bytes rule nearly all cells out. */
typedef struct cr_nulls {
    const char *const *v;
    const size_t *len;
    int64_t n;
    uint64_t lens; /* bit k: a text has k bytes; bit 63: 63 or more */
    uint64_t first[4];
} cr_nulls;
/* cr_nulls_init lists the texts, which are kept; zeros: an empty set. */
void cr_nulls_init(cr_nulls *s, const cr_strs *texts, cr_arena *arena);
bool cr_nulls_search(const cr_nulls *s, const char *p, size_t n);

/* is this text in the set? */
static inline bool cr_nulls_has(const cr_nulls *s, const char *p, size_t n) {
    if (n == 0 || !(s->lens >> (n < 63 ? n : 63) & 1)) return false;
    unsigned char c = (unsigned char)*p;
    return (s->first[c >> 6] >> (c & 63) & 1) && cr_nulls_search(s, p, n);
}

/* cr_null_word: a word that Arrow takes as a missing number */
bool cr_null_word(const char *p, size_t n);
/* cr_null_like: a text that probably means a missing value, for messages, which then end with the
 * cure */
bool cr_null_like(const char *p, size_t n);
#define CR_NULL_CURE "if it means a missing value, list it in data_config.null_values"

#endif
