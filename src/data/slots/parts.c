/*
 * parts.c - the file of parts: an id per line, and behind it the ids of its parts (fastText: those
 * of the character n-grams of a word).
 */
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "data/slots/slots_int.h"

#define MAX_ID 100000000

/* The next number of a line; false: the line is over, or *bad. */
static bool next_number(const char **s, const char *end, int64_t *out, bool *bad) {
    while (*s < end && (**s == ' ' || **s == '\t' || **s == '\r'))
        ++*s;
    const char *q = *s;
    while (q < end && *q != ' ' && *q != '\t' && *q != '\r')
        q++;
    if (q == *s) return false;
    *bad = !cr_parse_i64(*s, (size_t)(q - *s), out) || *out < 0 || *out > MAX_ID;
    *s = q;
    return !*bad;
}

typedef void each_line(void *ctx, int64_t id, int64_t part, int64_t n);

/* Calls each(id, -1, number of parts) for every line, or each(id, part, place) for every part. */
static bool over_lines(const cr_buf *text, const char *path, bool parts, each_line *each, void *ctx,
                       cr_diag *diag) {
    int line = 1;
    for (const char *p = text->data, *end = p + text->n, *nl; p < end; p = nl + 1, line++) {
        nl = memchr(p, '\n', (size_t)(end - p));
        if (!nl) nl = end;
        int64_t id, part, n = 0;
        bool bad = false;
        const char *s = p;
        if (next_number(&s, nl, &id, &bad)) {
            for (; next_number(&s, nl, &part, &bad); n++)
                if (parts) each(ctx, id, part, n);
            if (!parts) each(ctx, id, -1, n);
        }
        if (!bad) continue;
        cr_diag_add(diag, CR_SEV_ERROR, CR_EDATA, (cr_loc){path, line, 0},
                    "the line is not an id and the ids of its parts, whole numbers from 0 to %d; "
                    "correct the file",
                    MAX_ID);
        return false;
    }
    return true;
}

typedef struct table {
    int64_t n, *count, *off, *part;
} table;

static void most(void *ctx, int64_t id, int64_t part, int64_t n) {
    table *t = ctx;
    (void)part;
    (void)n;
    if (id >= t->n) t->n = id + 1;
}
/* A later line for the same id takes the place of an earlier one. */
static void counted(void *ctx, int64_t id, int64_t part, int64_t n) {
    (void)part;
    ((table *)ctx)->count[id] = n;
}
static void filled(void *ctx, int64_t id, int64_t part, int64_t place) {
    table *t = ctx;
    if (place < t->count[id]) t->part[t->off[id] + place] = part;
}

const cr_slot_parts *cr_slots_read_parts(const char *path, cr_loc at, cr_arena *a, cr_diag *diag) {
    cr_buf text;
    cr_err err;
    table t = {0};
    cr_slot_parts *out = NULL;
    cr_buf_init(&text);
    if (cr_file_read(path, 0, &text, &err) != CR_OK) {
        cr_diag_add(diag, CR_SEV_ERROR, err.code, at, "%s", err.msg);
    } else if (over_lines(&text, path, false, most, &t, diag)) {
        t.count = CR_NEW_N(a, int64_t, t.n + 1);
        t.off = CR_NEW_N(a, int64_t, t.n + 1);
        (void)over_lines(&text, path, false, counted, &t, diag);
        for (int64_t i = 0; i < t.n; i++)
            t.off[i + 1] = t.off[i] + t.count[i];
        t.part = CR_NEW_N(a, int64_t, t.off[t.n] + 1);
        (void)over_lines(&text, path, true, filled, &t, diag);
        out = CR_NEW(a, cr_slot_parts);
        *out = (cr_slot_parts){t.n, t.off, t.part};
    }
    cr_buf_clear(&text);
    return out;
}
