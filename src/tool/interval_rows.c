/*
 * interval_rows.c - rows of PaddleRec's tisas from a log of users: user, item, a rating (which may
 * be missing) and a time, with tabs between them.
 *
 * Users and items that the log names fewer than five times are left out, and items are numbered
 * from 1 in the order of their numbers. The times of a user are counted from the first one, in
 * units of the shortest time between two of the user's items, from 1. The last item of a user is
 * for the evaluation and the one before it is not learned; users with fewer than three items have
 * neither.
 *
 * A row is items;times;places;next;others;weight;label;candidates: the last steps of a user, their
 * places of which the last one ends the longest row, the item that follows each step, a drawn other
 * one, and how many steps there are. In an evaluation the candidates are the last item and 100
 * drawn ones that the user has not had. Draws are a function of the user's place in the log.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/map.h"
#include "base/rng.h"
#include "base/shown.h"
#include "tool/lines.h"
#include "tool/tool.h"

#define FEWEST 5
#define TRIES  100 /* draws before an item that the user has had is taken after all */
#define SEED   12345

typedef struct event {
    int64_t user, item; /* numbers of users, from 0; items as the log has them, then from 1 */
    double time;
    int64_t unit, line; /* time in the user's units; place in the log */
} event;

typedef struct counts {
    cr_map index; /* decimal number -> place in n */
    int64_t *n;
    size_t used, cap;
} counts;

typedef struct log_rows {
    const cr_paddle_interval *o;
    event *v;
    size_t n, cap;
    counts users, items;
    int64_t n_items; /* that are left over */
    cr_buf out;
    int64_t rows;
} log_rows;

static int64_t count(counts *c, const char *p, size_t n) {
    int64_t i = cr_map_get(&c->index, p, n, -1);
    if (i < 0) {
        i = (int64_t)c->used;
        if (c->used == c->cap) {
            size_t cap = 2 * c->cap + 256;
            c->n = cr_realloc(c->n, c->cap * sizeof *c->n, cap * sizeof *c->n, "counts of a log");
            c->cap = cap;
        }
        c->n[c->used++] = 0;
        (void)cr_map_put(&c->index, p, n, i);
    }
    c->n[i]++;
    return i;
}

static cr_code take_line(void *ctx, const char *p, size_t n, cr_loc at, cr_err *err) {
    log_rows *x = ctx;
    const char *part[4], *end = p + n, *s = p;
    size_t len[4];
    int k = 0;
    for (; k < 4 && s <= end; k++) {
        const char *q = s < end ? memchr(s, '\t', (size_t)(end - s)) : NULL;
        if (!q) q = end;
        part[k] = s;
        len[k] = (size_t)(q - s);
        s = q + 1;
    }
    char shown[CR_SHOW];
    int64_t user, item;
    double time;
    if (s <= end || k < 3 || !cr_parse_i64(part[0], len[0], &user) ||
        !cr_parse_i64(part[1], len[1], &item) || !cr_parse_f64(part[k - 1], len[k - 1], &time) ||
        !isfinite(time))
        return cr_fail_at(err, CR_EDATA, at,
                          "'%s' is not user, item, rating and time with tabs between them, the "
                          "first two whole numbers; correct the line",
                          cr_show(shown, p, n));
    if (x->n == x->cap) {
        size_t cap = 2 * x->cap + 1024;
        x->v = cr_realloc(x->v, x->cap * sizeof *x->v, cap * sizeof *x->v, "a log");
        x->cap = cap;
    }
    char text[32];
    int w = snprintf(text, sizeof text, "%lld", (long long)user);
    int64_t u = count(&x->users, text, (size_t)w);
    w = snprintf(text, sizeof text, "%lld", (long long)item);
    (void)count(&x->items, text, (size_t)w);
    x->v[x->n] = (event){u, item, time, 0, (int64_t)x->n};
    x->n++;
    return CR_OK;
}

static int by_item(const void *a, const void *b) {
    const event *x = a, *y = b;
    return (x->item > y->item) - (x->item < y->item);
}

static int by_user(const void *a, const void *b) {
    const event *x = a, *y = b;
    if (x->user != y->user) return x->user < y->user ? -1 : 1;
    if (x->time != y->time) return x->time < y->time ? -1 : 1;
    return (x->line > y->line) - (x->line < y->line);
}

/* Leaves rare users and items out, numbers the items, and sorts by users and times. */
static void tidy(log_rows *x) {
    size_t n = 0;
    for (size_t i = 0; i < x->n; i++) {
        char text[32];
        int w = snprintf(text, sizeof text, "%lld", (long long)x->v[i].item);
        int64_t item = cr_map_get(&x->items.index, text, (size_t)w, 0);
        if (x->users.n[x->v[i].user] >= FEWEST && x->items.n[item] >= FEWEST) x->v[n++] = x->v[i];
    }
    x->n = n;
    if (n == 0) return;
    qsort(x->v, n, sizeof *x->v, by_item);
    int64_t before = x->v[0].item;
    x->n_items = 1;
    for (size_t i = 0; i < n; i++) {
        if (x->v[i].item != before) x->n_items++;
        before = x->v[i].item;
        x->v[i].item = x->n_items;
    }
    qsort(x->v, n, sizeof *x->v, by_user);
}

/* Times in units of the shortest one between two of the user's items. */
static void count_times(event *v, size_t n) {
    double unit = INFINITY;
    for (size_t i = 1; i < n; i++) {
        double d = nearbyint(v[i].time - v[0].time) - nearbyint(v[i - 1].time - v[0].time);
        if (d > 0 && d < unit) unit = d;
    }
    for (size_t i = 0; i < n; i++) {
        double units = isinf(unit) ? 0 : nearbyint(nearbyint(v[i].time - v[0].time) / unit);
        v[i].unit = 1 + (int64_t)(units < 1e15 ? units : 1e15);
    }
}

/* Draws an item that is none of v. */
static int64_t draw(const log_rows *x, const event *v, size_t n, uint64_t key, uint64_t k) {
    int64_t item = 1;
    for (uint64_t i = 0; i < TRIES; i++) {
        item = 1 + (int64_t)cr_rng_below(cr_rng_sub(key, i), k, (uint64_t)x->n_items);
        size_t at = 0;
        while (at < n && v[at].item != item)
            at++;
        if (at == n) break;
    }
    return item;
}

enum { ITEM, TIME, PLACE, NEXT, OTHER, COLUMNS };

/* A row of the steps v[0, n), of which v[n] is the next item; `had` of v are never drawn. */
static void put_row(log_rows *x, const event *v, size_t n, size_t had, bool infer) {
    size_t longest = (size_t)x->o->longest, from = n > longest ? n - longest : 0;
    uint64_t key =
        cr_rng_sub(cr_rng_key(SEED, "intervals", infer ? "test" : "train"), (uint64_t)v[0].user);
    for (int c = 0; c < COLUMNS; c++) {
        for (size_t i = from; i < n; i++) {
            int64_t value = c == ITEM    ? v[i].item
                            : c == TIME  ? v[i].unit
                            : c == PLACE ? (int64_t)(longest - (n - i))
                            : c == NEXT  ? v[i + 1].item
                                         : draw(x, v, had, key, i);
            cr_buf_printf(&x->out, i > from ? " %lld" : "%lld", (long long)value);
        }
        cr_buf_char(&x->out, ';');
    }
    cr_buf_printf(&x->out, "%zu;0;", n - from);
    if (infer) cr_buf_printf(&x->out, "%lld", (long long)v[n].item);
    for (uint64_t i = 0; infer && i < CR_PADDLE_CANDIDATES - 1; i++)
        cr_buf_printf(&x->out, " %lld", (long long)draw(x, v, had, key, (uint64_t)n + i));
    cr_buf_char(&x->out, '\n');
    x->rows++;
}

static void put_user(log_rows *x, event *v, size_t n, bool infer) {
    count_times(v, n);
    size_t learned = n < 3 ? n : n - 2;
    if (infer && n >= 3) put_row(x, v, n - 1, n - 1, true);
    if (!infer && learned > 1) put_row(x, v, learned - 1, learned, false);
}

cr_code cr_interval_rows(const char *raw_dir, const char *out_dir, const cr_paddle_interval *o,
                         bool infer, int64_t *rows, cr_err *err) {
    cr_arena a;
    char **names;
    size_t n = 0;
    log_rows x = {.o = o};
    cr_arena_init(&a, 0);
    cr_buf_init(&x.out);
    cr_map_init(&x.users.index);
    cr_map_init(&x.items.index);
    cr_code code = cr_list_dir(&a, raw_dir, &names, &n, err);
    for (size_t i = 0; code == CR_OK && i < n; i++)
        code = cr_each_line(cr_path_join(&a, raw_dir, names[i]), take_line, &x, err);
    if (code == CR_OK) tidy(&x);
    if (code == CR_OK && x.n_items > o->items)
        code = cr_fail(err, CR_EDATA,
                       "the log in '%s' has %lld items that occur %d times or more, and num_items "
                       "is %lld; raise it",
                       raw_dir, (long long)x.n_items, FEWEST, (long long)o->items);
    for (size_t i = 0, end; code == CR_OK && i < x.n; i = end) {
        for (end = i; end < x.n && x.v[end].user == x.v[i].user; end++)
            ;
        put_user(&x, x.v + i, end - i, infer);
    }
    if (code == CR_OK && x.rows == 0)
        code = cr_fail(err, CR_EDATA,
                       "the log in '%s' has no user with enough items that occur %d times or more; "
                       "name another folder",
                       raw_dir, FEWEST);
    if (code == CR_OK) code = cr_mkdirs(out_dir, err);
    if (code == CR_OK)
        code = cr_file_write(cr_path_join(&a, out_dir, "rows.txt"), x.out.data, x.out.n, err);
    *rows = x.rows;
    cr_free(x.v);
    cr_free(x.users.n);
    cr_free(x.items.n);
    cr_map_clear(&x.users.index);
    cr_map_clear(&x.items.index);
    cr_buf_clear(&x.out);
    cr_arena_clear(&a);
    return code;
}
