/*
 * masked_rows.c - rows of PaddleRec's bert4rec. A line of its data has lists with commas, and
 * semicolons between them:
 *
 *   user; items; mask; positions; places; labels
 *
 * The mask is 1 at real steps and 0 at padding; `places` are the masked steps, from 0, and `labels`
 * their items. A file with "candidate" in its name is a pickle: for each line a list of items that
 * are compared, the right one first; an evaluation has it.
 *
 * A row is items;positions;places;labels;item;weight;candidates with blanks in the lists: the real
 * steps alone, the item of the last place, and how many places there are.
 */
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/pickle.h"
#include "base/shown.h"
#include "tool/lines.h"
#include "tool/tool.h"

#define PARTS 6
enum { USER, ITEMS, MASK, POSITIONS, PLACES, LABELS };

typedef struct numbers {
    int64_t *v;
    size_t n, cap;
} numbers;

typedef struct masked {
    const cr_paddle_masked *o;
    cr_buf out;
    int64_t rows, line; /* line: number over all files, from 0 */
    numbers part[PARTS];
    const cr_pickle *candidates; /* NULL: there are none */
    const char *candidates_path;
} masked;

/* Reads whole numbers with commas between them; false: something else is there. */
static bool read_numbers(const char *p, size_t n, numbers *out) {
    const char *end = p + n;
    out->n = 0;
    while (p <= end) {
        const char *q = p < end ? memchr(p, ',', (size_t)(end - p)) : NULL;
        if (!q) q = end;
        const char *from = p, *to = q;
        while (from < to && *from == ' ')
            from++;
        while (to > from && to[-1] == ' ')
            to--;
        if (out->n == out->cap) {
            size_t cap = 2 * out->cap + 64;
            out->v = cr_realloc(out->v, out->cap * sizeof *out->v, cap * sizeof *out->v, "a line");
            out->cap = cap;
        }
        if (!cr_parse_i64(from, (size_t)(to - from), &out->v[out->n])) return false;
        out->n++;
        p = q + 1;
    }
    return true;
}

static bool below(const numbers *v, int64_t end) {
    for (size_t i = 0; i < v->n; i++)
        if (v->v[i] < 0 || v->v[i] >= end) return false;
    return true;
}

static void put_list(cr_buf *b, const numbers *v) {
    for (size_t i = 0; i < v->n; i++)
        cr_buf_printf(b, i ? " %lld" : "%lld", (long long)v->v[i]);
    cr_buf_char(b, ';');
}

/* Leaves the real steps of items and positions over, and counts places among them. */
static bool drop_padding(masked *x) {
    numbers *items = &x->part[ITEMS], *mask = &x->part[MASK], *at = &x->part[POSITIONS];
    numbers *places = &x->part[PLACES];
    for (size_t i = 0; i < places->n; i++) {
        int64_t place = places->v[i], before = 0;
        if (place < 0 || place >= (int64_t)mask->n || mask->v[place] != 1) return false;
        for (int64_t k = 0; k < place; k++)
            before += mask->v[k] == 1;
        places->v[i] = before;
    }
    size_t n = 0;
    for (size_t i = 0; i < mask->n; i++) {
        if (mask->v[i] != 1) continue;
        items->v[n] = items->v[i];
        at->v[n++] = at->v[i];
    }
    items->n = at->n = n;
    return true;
}

static const char *wrong_with(masked *x) {
    const cr_paddle_masked *o = x->o;
    if (x->part[ITEMS].n != x->part[MASK].n || x->part[ITEMS].n != x->part[POSITIONS].n)
        return "items, mask and positions differ in length";
    if (x->part[PLACES].n != x->part[LABELS].n) return "there are not as many labels as places";
    if (!below(&x->part[ITEMS], o->items) || !below(&x->part[LABELS], o->items))
        return "an item is not below _voc_size";
    if (!below(&x->part[POSITIONS], o->positions))
        return "a position is not below _max_position_seq_len";
    if (!drop_padding(x)) return "a place is outside of the line, or its mask is not 1";
    return NULL;
}

static cr_code put_candidates(masked *x, cr_err *err) {
    const cr_pickle *all = x->candidates;
    cr_loc at = {x->candidates_path, 0, 0};
    if (!all) return CR_OK;
    const cr_pickle *list =
        all->kind == CR_PICKLE_LIST && x->line < (int64_t)all->n ? all->v[x->line] : NULL;
    if (!list || list->kind != CR_PICKLE_LIST || list->n == 0)
        return cr_fail_at(err, CR_EDATA, at,
                          "it has no list of candidates for line %lld of the data; write a list "
                          "with a list of items for each line",
                          (long long)x->line + 1);
    for (size_t i = 0; i < list->n; i++) {
        const cr_pickle *v = list->v[i];
        if (v->kind != CR_PICKLE_INT || v->i < 0 || v->i >= x->o->items)
            return cr_fail_at(err, CR_EDATA, at,
                              "candidate %zu of line %lld is no item below _voc_size %lld; correct "
                              "it, or raise _voc_size",
                              i + 1, (long long)x->line + 1, (long long)x->o->items);
        if (i == 0 && v->i != x->part[LABELS].v[x->part[LABELS].n - 1])
            return cr_fail_at(err, CR_EDATA, at,
                              "the first candidate of line %lld is %lld, and the item at the last "
                              "place of that line is %lld; the right item comes first",
                              (long long)x->line + 1, (long long)v->i,
                              (long long)x->part[LABELS].v[x->part[LABELS].n - 1]);
        cr_buf_printf(&x->out, i ? " %lld" : "%lld", (long long)v->i);
    }
    return CR_OK;
}

static cr_code take_line(void *ctx, const char *p, size_t n, cr_loc at, cr_err *err) {
    masked *x = ctx;
    const char *end = p + n, *line = p;
    char shown[CR_SHOW];
    int k = 0;
    for (; k < PARTS && p <= end; k++) {
        const char *q = p < end ? memchr(p, ';', (size_t)(end - p)) : NULL;
        if (!q) q = end;
        if (!read_numbers(p, (size_t)(q - p), &x->part[k])) break;
        p = q + 1;
    }
    if (k < PARTS || p <= end)
        return cr_fail_at(err, CR_EDATA, at,
                          "'%s' is not user; items; mask; positions; places; labels, lists of "
                          "whole numbers with commas; correct the line",
                          cr_show(shown, line, n));
    const char *why = wrong_with(x);
    if (why) return cr_fail_at(err, CR_EDATA, at, "%s; correct the line", why);
    put_list(&x->out, &x->part[ITEMS]);
    put_list(&x->out, &x->part[POSITIONS]);
    put_list(&x->out, &x->part[PLACES]);
    put_list(&x->out, &x->part[LABELS]);
    cr_buf_printf(&x->out, "%lld;%zu;", (long long)x->part[LABELS].v[x->part[LABELS].n - 1],
                  x->part[PLACES].n);
    CR_TRY(put_candidates(x, err));
    cr_buf_char(&x->out, '\n');
    x->rows++;
    x->line++;
    return CR_OK;
}

cr_code cr_masked_rows(const char *raw_dir, const char *out_dir, const cr_paddle_masked *o,
                       int64_t *rows, cr_err *err) {
    cr_arena a;
    char **names;
    size_t n = 0;
    cr_buf pickle;
    masked x = {.o = o};
    cr_arena_init(&a, 0);
    cr_buf_init(&pickle);
    cr_buf_init(&x.out);
    cr_code code = cr_list_dir(&a, raw_dir, &names, &n, err);
    for (size_t i = 0; code == CR_OK && i < n; i++) {
        if (!strstr(names[i], "candidate")) continue;
        const char *path = cr_path_join(&a, raw_dir, names[i]);
        if (x.candidates)
            code = cr_fail_at(err, CR_EDATA, ((cr_loc){path, 0, 0}),
                              "'%s' has candidates, too; keep one of the files", x.candidates_path);
        x.candidates_path = path;
        if (code == CR_OK) code = cr_file_read(path, 0, &pickle, err);
        if (code == CR_OK)
            code = cr_pickle_read(pickle.data, pickle.n, path, &a, &x.candidates, err);
    }
    for (size_t i = 0; code == CR_OK && i < n; i++)
        if (!strstr(names[i], "candidate"))
            code = cr_each_line(cr_path_join(&a, raw_dir, names[i]), take_line, &x, err);
    if (code == CR_OK && x.rows == 0)
        code = cr_fail(err, CR_EDATA, "the folder '%s' has no line of data; name another one",
                       raw_dir);
    if (code == CR_OK) code = cr_mkdirs(out_dir, err);
    if (code == CR_OK)
        code = cr_file_write(cr_path_join(&a, out_dir, "rows.txt"), x.out.data, x.out.n, err);
    *rows = x.rows;
    for (int i = 0; i < PARTS; i++)
        cr_free(x.part[i].v);
    cr_buf_clear(&x.out);
    cr_buf_clear(&pickle);
    cr_arena_clear(&a);
    return code;
}
