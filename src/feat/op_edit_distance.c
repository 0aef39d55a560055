/*
 * op_edit_distance.c - EditDistance: insertions, deletions and substitutions between two texts.
 *
 * The parameter encoding: latin counts bytes, utf-8 counts characters; a byte that is not valid
 * UTF-8 counts as one character.
 */
#include <stdbool.h>
#include <stdio.h>
#include <strings.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "feat/ops.h"

#define MOST 400000000 /* product of the two lengths in bytes; the work of about a second */

typedef struct edit {
    const crank_host *host;
    bool utf8;
} edit;

static void *edit_open(const crank_host *host, const crank_params *p, char *why, size_t size) {
    const char *encoding = host->param(p, "encoding", 0);
    bool utf8 =
        encoding && (strcasecmp(encoding, "utf-8") == 0 || strcasecmp(encoding, "utf8") == 0);
    if (encoding && !utf8 && strcasecmp(encoding, "latin") != 0) {
        snprintf(why, size, "unknown encoding '%s'; use latin or utf-8", encoding);
        return NULL;
    }
    edit *e = cr_alloc(sizeof(*e), "EditDistance");
    *e = (edit){host, utf8};
    return e;
}

static void edit_close(void *self) {
    cr_free(self);
}

/* Writes the characters of a text and returns their number. */
static size_t chars(const edit *e, const crank_text *t, uint32_t *out) {
    size_t n = 0;
    for (size_t i = 0; i < t->size;) {
        uint32_t c = (unsigned char)t->data[i];
        size_t len = 1;
        if (e->utf8) len = cr_utf8_get(t->data + i, t->size - i, &c);
        out[n++] = c;
        i += len;
    }
    return n;
}

static int64_t distance(const uint32_t *a, size_t na, const uint32_t *b, size_t nb, uint32_t *row) {
    for (size_t j = 0; j <= nb; j++)
        row[j] = (uint32_t)j;
    for (size_t i = 0; i < na; i++) {
        uint32_t corner = row[0];
        row[0] = (uint32_t)i + 1;
        for (size_t j = 0; j < nb; j++) {
            uint32_t up = row[j + 1], best = corner + (a[i] != b[j]);
            if (up + 1 < best) best = up + 1;
            if (row[j] + 1 < best) best = row[j] + 1;
            row[j + 1] = best;
            corner = up;
        }
    }
    return row[nb];
}

static int edit_run(void *self, const crank_batch *in, crank_output *out, char *why, size_t size) {
    const edit *e = self;
    const crank_input *x = &in->inputs[0], *y = &in->inputs[1];
    size_t cap = 0;
    uint32_t *mem = NULL;
    (void)why;
    (void)size;
    for (int64_t r = 0; r < in->n_rows; r++) {
        if (x->offsets[r] == x->offsets[r + 1] || y->offsets[r] == y->offsets[r + 1]) {
            e->host->end_row(out);
            continue;
        }
        const crank_text *s = &x->texts[x->offsets[r]], *t = &y->texts[y->offsets[r]];
        if (t->size > 0 && s->size > MOST / t->size) {
            e->host->bad_row(out, "texts whose lengths multiply to more than 400000000");
            continue;
        }
        size_t need = s->size + 2 * t->size + 3;
        if (need > cap) {
            cr_free(mem);
            cap = 2 * need;
            mem = cr_alloc(cap * sizeof(uint32_t), "EditDistance");
        }
        uint32_t *a = mem, *b = a + s->size + 1, *row = b + t->size + 1;
        size_t na = chars(e, s, a), nb = chars(e, t, b);
        e->host->put_int(out, distance(a, na, b, nb, row));
        e->host->end_row(out);
    }
    cr_free(mem);
    return 0;
}

static const crank_type inputs[] = {CRANK_TEXT, 0};
const crank_operator cr_op_edit_distance = {
    .name = "EditDistance",
    .min_inputs = 2,
    .max_inputs = 2,
    .inputs = inputs,
    .output = CRANK_INT,
    .flags = CRANK_THREAD_SAFE,
    .open = edit_open,
    .run = edit_run,
    .close = edit_close,
};
