/*
 * batch.c - keeps the list of bad rows of a chunk, and what was made of a dictionary.
 *
 * Reports come column by column, not row by row. The kept texts are ordered by line when they are
 * added, so that the first of them is the first bad row of the chunk, whichever column found it.
 * Texts are few, because a file of nothing but bad rows must not fill the memory.
 */
#include "data/batch.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static bool before(const cr_bad_row *b, int64_t row, int64_t line) {
    return b->line < line || (b->line == line && b->row < row);
}

/* Returns the row that a step belongs to. */
static int64_t row_of_step(const cr_bad *bad, int64_t step) {
    int64_t lo = 0, hi = bad->n_rows; /* steps[lo] <= step < steps[hi] */
    while (hi - lo > 1) {
        int64_t mid = lo + (hi - lo) / 2;
        if (bad->steps[mid] <= step)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

void cr_bad_add(cr_bad *bad, int64_t row, int64_t line, const char *fmt, ...) {
    if (bad->steps && row >= 0) {
        row = row_of_step(bad, row);
        line = bad->lines ? bad->lines[row] : 0;
    }
    if (bad->rows_of && row >= 0) row = bad->rows_of[row];
    if (bad->n == bad->cap) {
        int64_t cap = bad->cap ? 2 * bad->cap : 64;
        bad->rows = cr_realloc(bad->rows, (size_t)bad->cap * sizeof(*bad->rows),
                               (size_t)cap * sizeof(*bad->rows), "a list of bad rows");
        bad->cap = cap;
    }
    bad->rows[bad->n++] = row;
    if (!bad->v) bad->v = cr_alloc(CR_BAD_KEEP * sizeof(*bad->v), "a list of bad rows");

    int64_t i = 0;
    while (i < bad->n_kept && before(&bad->v[i], row, line))
        i++;
    if (i == CR_BAD_KEEP) return;
    if (i < bad->n_kept && bad->v[i].line == line && bad->v[i].row == row) return;
    if (bad->n_kept < CR_BAD_KEEP) bad->n_kept++;
    memmove(&bad->v[i + 1], &bad->v[i], (size_t)(bad->n_kept - 1 - i) * sizeof(*bad->v));
    bad->v[i].row = row;
    bad->v[i].line = line;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(bad->v[i].msg, sizeof(bad->v[i].msg), fmt, ap);
    va_end(ap);
}

void cr_bad_keep(cr_bad *bad, const uint8_t *mark, const int64_t *lines, bool whole) {
    int64_t n = 0, kept = 0, first = -1;
    for (int64_t i = 0; i < bad->n; i++) {
        int64_t row = bad->rows[i];
        if (row < 0 ? !whole : !mark[row]) continue;
        bad->rows[n++] = row;
        if (row >= 0 && (first < 0 || row < first)) first = row;
    }
    for (int64_t i = 0; i < bad->n_kept; i++) {
        int64_t row = bad->v[i].row;
        if (row < 0 ? whole : mark[row]) bad->v[kept++] = bad->v[i];
    }
    if (n > 0 && kept == 0) { /* the texts of these rows gave way to those of dropped ones */
        bad->v[kept++] = (cr_bad_row){.row = first,
                                      .line = lines && first >= 0 ? lines[first] : 0,
                                      .msg = "a value of this row cannot be read"};
    }
    bad->n = n;
    bad->n_kept = kept;
}

void cr_bad_reset(cr_bad *bad) {
    bad->n = bad->n_kept = 0;
}

void cr_bad_clear(cr_bad *bad) {
    cr_free(bad->v);
    cr_free(bad->rows);
    *bad = (cr_bad){0};
}

void *cr_memo_get(const cr_memo *m, const void *who) {
    for (int i = 0; i < m->n; i++)
        if (m->v[i].who == who) return m->v[i].made;
    return NULL;
}

void cr_memo_put(cr_memo *m, const void *who, void *made) {
    if (m->n == m->cap) {
        int cap = m->cap ? 2 * m->cap : 4;
        m->v = cr_realloc(m->v, (size_t)m->cap * sizeof(*m->v), (size_t)cap * sizeof(*m->v),
                          "a dictionary");
        m->cap = cap;
    }
    m->v[m->n++] = (struct cr_memo_item){who, made};
}

void cr_memo_reset(cr_memo *m) {
    m->n = 0;
    cr_arena_reset(&m->arena);
}

void cr_memo_clear(cr_memo *m) {
    cr_free(m->v);
    cr_arena_clear(&m->arena);
    *m = (cr_memo){0};
}
