/*
 * sketch.c - see sketch.h. A word holds the cells number i of the four rows, 16 bits each, so that
 * words are what a checkpoint keeps, on any machine. The rows' hashes are the four quarters of two
 * mixed numbers.
 */
#include "emb/sketch.h"

#include <string.h>

#include "base/mem.h"
#include "base/rng.h"

#define SALT UINT64_C(0x6a09e667f3bcc909)
static const double e = 2.718281828459045;

cr_code cr_sketch_init(cr_sketch *s, int64_t cells, double error, int64_t parts, int64_t first,
                       int64_t n, cr_err *err) {
    void *p;
    int64_t width = cells / CR_SKETCH_ROWS / parts;
    if (width < 8) width = 8;
    CR_TRY(cr_try_alloc(&p, cr_bytes(cr_mul_i64(n, width + 1), sizeof(int64_t)),
                        "counts of ids that wait for a row", err));
    *s = (cr_sketch){.parts = parts, .first = first, .n = n, .width = width, .words = p};
    s->limit = (uint64_t)((double)width * error / e);
    if (s->limit < 2) s->limit = 2;
    return CR_OK;
}

void cr_sketch_clear(cr_sketch *s) {
    cr_free(s->words);
    *s = (cr_sketch){0};
}

static int64_t *part_of(const cr_sketch *s, int64_t part) {
    CR_ASSERT(part >= s->first && part < s->first + s->n);
    return s->words + (part - s->first) * cr_sketch_words(s);
}

/* Finds the words of a key's cells. */
static void places(const cr_sketch *s, int64_t key, int64_t at[CR_SKETCH_ROWS]) {
    uint64_t a = cr_mix64((uint64_t)key + SALT), b = cr_mix64(a ^ SALT);
    const uint32_t h[CR_SKETCH_ROWS] = {(uint32_t)a, (uint32_t)(a >> 32), (uint32_t)b,
                                        (uint32_t)(b >> 32)};
    for (int r = 0; r < CR_SKETCH_ROWS; r++)
        at[r] = 1 + (int64_t)((h[r] * (cr_u128)s->width) >> 32);
}

static uint32_t get(int64_t word, int row) {
    return (uint32_t)((uint64_t)word >> 16 * row) & UINT16_MAX;
}
static void put(int64_t *word, int row, uint32_t v) {
    uint64_t x = (uint64_t)*word & ~((uint64_t)UINT16_MAX << 16 * row);
    *word = (int64_t)(x | (uint64_t)v << 16 * row);
}

/* Halves the cells of a part: the low bit of each must not become the high bit of the next. */
static void halve(const cr_sketch *s, int64_t *w) {
    w[0] /= 2;
    for (int64_t i = 1; i <= s->width; i++)
        w[i] = (int64_t)((uint64_t)w[i] >> 1 & UINT64_C(0x7fff7fff7fff7fff));
}

static uint32_t least(const int64_t *w, const int64_t at[CR_SKETCH_ROWS]) {
    uint32_t min = UINT32_MAX;
    for (int r = 0; r < CR_SKETCH_ROWS; r++) {
        uint32_t v = get(w[at[r]], r);
        if (v < min) min = v;
    }
    return min;
}

uint32_t cr_sketch_count(const cr_sketch *s, int64_t part, int64_t key) {
    int64_t at[CR_SKETCH_ROWS];
    places(s, key, at);
    return least(part_of(s, part), at);
}

uint32_t cr_sketch_add(cr_sketch *s, int64_t part, int64_t key, uint32_t n) {
    int64_t *w = part_of(s, part), at[CR_SKETCH_ROWS];
    while (w[0] > 0 && (uint64_t)w[0] + n > s->limit)
        halve(s, w);
    places(s, key, at);
    uint64_t sum = (uint64_t)least(w, at) + n;
    uint32_t v = sum > CR_SKETCH_MOST ? CR_SKETCH_MOST : (uint32_t)sum;
    for (int r = 0; r < CR_SKETCH_ROWS; r++)
        if (get(w[at[r]], r) < v) put(&w[at[r]], r, v);
    w[0] += n;
    return v;
}

bool cr_sketch_load(cr_sketch *s, const int64_t *words, int64_t n) {
    if (n != cr_mul_i64(s->parts, cr_sketch_words(s))) return false;
    for (int64_t p = 0; p < s->parts; p++)
        if (words[p * cr_sketch_words(s)] < 0) return false;
    memcpy(s->words, words + s->first * cr_sketch_words(s),
           (size_t)(s->n * cr_sketch_words(s)) * sizeof(int64_t));
    return true;
}

int64_t cr_sketch_bytes(const cr_sketch *s) {
    return s->n * cr_sketch_words(s) * (int64_t)sizeof(int64_t);
}
