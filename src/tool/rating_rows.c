/*
 * rating_rows.c - ratings, a line "user<tab>item<tab>rating" for each, as rows of users
 * (PaddleRec's deeprec).
 *
 * Users and items get numbers in the order in which the training files name them. A row is
 * items;ratings;rated;values;weight with blanks in the lists: what a user has rated, what the
 * model is to give back, and how many ratings that are. Of a training both are the same ratings.
 * An evaluation has the user's ratings of the training, and is to give those of the test files;
 * ratings there by users or for items that the training does not have are left out. Ratings of one
 * item by one user are added, and a rating of 0 is none. All ratings are held in memory.
 */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/map.h"
#include "base/shown.h"
#include "tool/lines.h"
#include "tool/tool.h"

typedef struct rating {
    int64_t user, item;
    float value;
} rating;

typedef struct rating_log {
    cr_map users, items; /* by their numbers as text */
    rating *v;
    size_t n, cap;
    bool test;        /* users and items that are new are left out */
    int64_t left_out; /* ratings */
} rating_log;

/* Returns the number of a user or an item, -1: it is new and no new ones are taken. */
static int64_t number_of(const rating_log *l, cr_map *m, int64_t id) {
    char name[32];
    size_t n = (size_t)snprintf(name, sizeof name, "%lld", (long long)id);
    int64_t at = cr_map_get(m, name, n, -1);
    if (at >= 0 || l->test) return at;
    at = (int64_t)m->n;
    (void)cr_map_put(m, name, n, at);
    return at;
}

/* Finds the next part of a line, up to a tab; the last one ends with the line. */
static bool next_part(const char **p, const char *end, const char **part, size_t *n) {
    if (*p > end) return false;
    const char *tab = *p < end ? memchr(*p, '\t', (size_t)(end - *p)) : NULL;
    if (!tab) tab = end;
    *part = *p;
    *n = (size_t)(tab - *p);
    *p = tab + 1;
    return true;
}

static cr_code take_line(void *ctx, const char *p, size_t n, cr_loc at, cr_err *err) {
    rating_log *l = ctx;
    const char *end = p + n, *line = p, *part;
    size_t len;
    int64_t user, item;
    double value;
    bool fine = next_part(&p, end, &part, &len) && cr_parse_i64(part, len, &user) &&
                next_part(&p, end, &part, &len) && cr_parse_i64(part, len, &item) &&
                next_part(&p, end, &part, &len) && cr_parse_f64(part, len, &value) &&
                value > -1e30 && value < 1e30;
    if (!fine) {
        char shown[CR_SHOW];
        return cr_fail_at(err, CR_EDATA, at,
                          "'%s' is not a user, an item and a rating with tabs between them, such "
                          "as 116, 341 and 3.7; correct the line",
                          cr_show(shown, line, n));
    }
    rating r = {number_of(l, &l->users, user), number_of(l, &l->items, item), (float)value};
    if (r.user < 0 || r.item < 0) {
        l->left_out++;
        return CR_OK;
    }
    if (l->n == l->cap) {
        size_t cap = 2 * l->cap + 1024;
        l->v = cr_realloc(l->v, l->cap * sizeof *l->v, cap * sizeof *l->v, "ratings");
        l->cap = cap;
    }
    l->v[l->n++] = r;
    return CR_OK;
}

static cr_code take_folder(rating_log *l, const char *dir, cr_arena *a, cr_err *err) {
    char **names;
    size_t n = 0;
    cr_code code = cr_list_dir(a, dir, &names, &n, err);
    for (size_t i = 0; code == CR_OK && i < n; i++)
        code = cr_each_line(cr_path_join(a, dir, names[i]), take_line, l, err);
    return code;
}

/* The ratings [from, to) of the log by user: those of user u are order[first[u]] up to
 * order[first[u + 1]], in the order of the log. */
typedef struct by_user {
    size_t *first, *order;
} by_user;

static by_user group(const rating_log *l, size_t from, size_t to) {
    size_t n = l->users.n;
    by_user g = {cr_alloc((n + 2) * sizeof *g.first, "ratings"),
                 cr_alloc((to - from + 1) * sizeof *g.order, "ratings")};
    memset(g.first, 0, (n + 2) * sizeof *g.first);
    for (size_t i = from; i < to; i++)
        g.first[l->v[i].user + 2]++;
    for (size_t u = 2; u < n + 2; u++)
        g.first[u] += g.first[u - 1];
    for (size_t i = from; i < to; i++)
        g.order[g.first[l->v[i].user + 1]++] = i;
    return g;
}

/* Writes the items and the ratings of a user as two lists; returns how many they are. sum has room
 * for each item, and holds zeros before and behind the call. */
static int64_t put_ratings(cr_buf *b, const rating_log *l, const by_user *g, size_t user,
                           float *sum) {
    size_t from = g->first[user], to = g->first[user + 1];
    int64_t n = 0, k = 0;
    for (size_t i = from; i < to; i++)
        sum[l->v[g->order[i]].item] += l->v[g->order[i]].value;
    for (size_t i = from; i < to; i++) {
        const rating *r = &l->v[g->order[i]];
        if (sum[r->item] != 0) cr_buf_printf(b, n++ ? " %lld" : "%lld", (long long)r->item);
        /* the sum stands once: behind the first of the item's ratings it is found there */
        l->v[g->order[i]].value = sum[r->item];
        sum[r->item] = 0;
    }
    cr_buf_char(b, ';');
    for (size_t i = from; i < to; i++) {
        float value = l->v[g->order[i]].value;
        char text[32];
        if (value == 0) continue;
        text[cr_fmt_f32(text, value)] = 0;
        cr_buf_printf(b, k++ ? " %s" : "%s", text);
    }
    cr_buf_char(b, ';');
    return n;
}

/* Writes a row for each user that has ratings to give back; returns how many rows these are. */
static int64_t put_rows(const rating_log *l, size_t n_train, bool test, cr_buf *out) {
    by_user own = group(l, 0, n_train), asked = test ? group(l, n_train, l->n) : own;
    float *sum = cr_alloc((l->items.n + 1) * sizeof *sum, "ratings");
    int64_t rows = 0;
    memset(sum, 0, (l->items.n + 1) * sizeof *sum);
    for (size_t u = 0; u < l->users.n; u++) {
        size_t begin = out->n;
        put_ratings(out, l, &own, u, sum);
        int64_t n = put_ratings(out, l, &asked, u, sum);
        cr_buf_printf(out, "%lld\n", (long long)n);
        if (n > 0) rows++;
        if (n == 0) out->n = begin;
    }
    cr_free(sum);
    if (test) cr_free(asked.first);
    if (test) cr_free(asked.order);
    cr_free(own.first);
    cr_free(own.order);
    return rows;
}

cr_code cr_rating_rows(const char *train_dir, const char *test_dir, const char *out_dir,
                       int64_t items, int64_t *rows, int64_t *left_out, cr_err *err) {
    cr_arena a;
    rating_log l = {0};
    cr_buf out;
    cr_arena_init(&a, 0);
    cr_map_init(&l.users);
    cr_map_init(&l.items);
    cr_buf_init(&out);
    cr_buf_str(&out, "");
    cr_code code = take_folder(&l, train_dir, &a, err);
    size_t n_train = l.n;
    if (code == CR_OK && (int64_t)l.items.n > items)
        code = cr_fail(err, CR_ECONF,
                       "the files in '%s' rate %zu items, and layer_sizes begins with %lld; begin "
                       "it with the number of items",
                       train_dir, l.items.n, (long long)items);
    l.test = true;
    if (code == CR_OK && test_dir) code = take_folder(&l, test_dir, &a, err);
    *left_out = l.left_out;
    *rows = code == CR_OK ? put_rows(&l, n_train, test_dir != NULL, &out) : 0;
    if (code == CR_OK && *rows == 0)
        code = cr_fail(err, CR_EDATA,
                       "the folder '%s' has no ratings%s; it needs lines with a user, an item and "
                       "a rating, with tabs",
                       test_dir ? test_dir : train_dir,
                       test_dir ? " by users and for items of the training" : "");
    if (code == CR_OK) code = cr_mkdirs(out_dir, err);
    if (code == CR_OK)
        code = cr_file_write(cr_path_join(&a, out_dir, "rows.txt"), out.data, out.n, err);
    cr_buf_clear(&out);
    cr_map_clear(&l.users);
    cr_map_clear(&l.items);
    cr_free(l.v);
    cr_arena_clear(&a);
    return code;
}
