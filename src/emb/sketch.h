/*
 * sketch.h - how often keys were seen, in a fixed number of cells: a count-min sketch with
 * conservative updates, for ids that wait for a row of a growing table.
 *
 * A key has one cell in each of four rows, and its count is the least of them. So a count is never
 * too low, and too high when other keys share all four cells. With w cells in a row and N
 * occurrences counted, it is more than e N / w too high for at most one key in e^4 = 55 (Cormode
 * and Muthukrishnan 2005); conservative updates, which raise only cells that are below the new
 * count, make it less. N is limited: before e N / w exceeds the largest error that is wished, every
 * cell is halved, and N with them. Old occurrences so lose their weight, as in TinyLFU.
 *
 * The keys are cut into parts with cells of their own, each a range of keys. What a part holds
 * depends on the keys of this part alone, so a shard that has whole parts has the bits of the whole
 * sketch.
 */
#ifndef CR_EMB_SKETCH_H
#define CR_EMB_SKETCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define CR_SKETCH_ROWS 4
#define CR_SKETCH_MOST UINT16_MAX /* the largest count; higher ones stay there */

typedef struct cr_sketch {
    int64_t parts, first, n; /* of all; the first one that is here, and how many are */
    int64_t width;           /* cells in a row of a part */
    uint64_t limit;          /* occurrences in a part, at most */
    int64_t *words;          /* [n][1 + width]: occurrences, then a cell of each row in each word */
} cr_sketch;

/* cr_sketch_init: cells are those of all rows and parts, about; error is the largest error of a
 * count. Parts [first, first + n) of `parts` are here. All zeros is no sketch, which may be
 * cleared. */
CR_CHECKED cr_code cr_sketch_init(cr_sketch *s, int64_t cells, double error, int64_t parts,
                                  int64_t first, int64_t n, cr_err *err);
void cr_sketch_clear(cr_sketch *s);
/* cr_sketch_add counts a key of a part n times more and returns its count. cr_sketch_count only
 * looks. */
uint32_t cr_sketch_add(cr_sketch *s, int64_t part, int64_t key, uint32_t n);
uint32_t cr_sketch_count(const cr_sketch *s, int64_t part, int64_t key);
/* cr_sketch_words returns how many words a part has, and the words of those that are here follow
 * each other: this is what a checkpoint keeps. cr_sketch_load takes those of all parts; false:
 * they are of a sketch of another size, or damaged, and this one is as it was. */
static inline int64_t cr_sketch_words(const cr_sketch *s) {
    return 1 + s->width;
}
bool cr_sketch_load(cr_sketch *s, const int64_t *words, int64_t n);
int64_t cr_sketch_bytes(const cr_sketch *s);

#endif
