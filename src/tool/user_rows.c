/*
 * user_rows.c - pairs of users and items, each written by its features ("1-6041-6042,3186-3711"),
 * as rows of users (PaddleRec's ensfm): a user's features and all items that train.csv has for the
 * user.
 *
 * Items get numbers in the order in which train.csv and then test.csv name them; a user is one by
 * all of its features. A row is label;feature;...;feature;items: of a training one for each user,
 * whose label is the first item and does not matter; of an evaluation one for each line of
 * test.csv, whose item is the label. .items has the sizes, then the features of each item. Both
 * files are held in memory.
 */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/map.h"
#include "base/shown.h"
#include "tool/lines.h"
#include "tool/tool.h"

typedef struct pair {
    int64_t user, item;
} pair;

/* The users or the items. */
typedef struct side {
    cr_map names;    /* "1-6041-6042" -> number */
    int64_t n_parts; /* features of each; 0: there is none yet */
} side;

typedef struct pair_log {
    side users, items;
    pair *v;
    size_t n, cap;
} pair_log;

/* How many whole numbers with '-' between them a text is; 0: it is something else. */
static int64_t parts_of(const char *s, const char *end) {
    int64_t n = 0, id;
    for (const char *q; s <= end; s = q + 1, n++) {
        q = s < end ? memchr(s, '-', (size_t)(end - s)) : NULL;
        if (!q) q = end;
        if (q == s || !cr_parse_i64(s, (size_t)(q - s), &id)) return 0;
    }
    return n;
}

/* Returns the number of a user or an item, a new one for a new name. -1: the name is wrong. */
static int64_t number_of(side *s, const char *name, const char *end) {
    int64_t n = parts_of(name, end), at;
    if (n == 0 || (s->n_parts && n != s->n_parts)) return -1;
    s->n_parts = n;
    at = cr_map_get(&s->names, name, (size_t)(end - name), -1);
    if (at >= 0) return at;
    at = (int64_t)s->names.n;
    (void)cr_map_put(&s->names, name, (size_t)(end - name), at);
    return at;
}

static cr_code take_line(void *ctx, const char *p, size_t n, cr_loc at, cr_err *err) {
    pair_log *l = ctx;
    const char *end = p + n;
    const char *comma = memchr(p, ',', (size_t)(end - p));
    pair v = {-1, -1};
    if (comma) v = (pair){number_of(&l->users, p, comma), number_of(&l->items, comma + 1, end)};
    if (v.user < 0 || v.item < 0) {
        char shown[CR_SHOW], sizes[96] = "";
        if (l->n)
            snprintf(sizes, sizeof sizes, ", here %lld and %lld of them",
                     (long long)l->users.n_parts, (long long)l->items.n_parts);
        return cr_fail_at(err, CR_EDATA, at,
                          "'%s' is not the features of a user and of an item, such as "
                          "1-6041-6042,3186-3711: whole numbers, as many in every line%s; correct "
                          "the line",
                          cr_show(shown, p, (size_t)(end - p)), sizes);
    }
    if (l->n == l->cap) {
        size_t cap = 2 * l->cap + 1024;
        l->v = cr_realloc(l->v, l->cap * sizeof *l->v, cap * sizeof *l->v, "rows of users");
        l->cap = cap;
    }
    l->v[l->n++] = v;
    return CR_OK;
}

/* The name of number i with another byte between its features. */
static void put_parts(cr_buf *b, const side *s, int64_t i, char between) {
    const cr_map_entry *e = &s->names.entries[i];
    for (size_t k = 0; k < e->len; k++)
        cr_buf_char(b, e->key[k] == '-' ? between : e->key[k]);
}

/* Writes the rows; returns how many items a row has at most. n_train: how many pairs are of
 * train.csv. */
static int64_t put_rows(const pair_log *l, size_t n_train, bool test, cr_buf *out, int64_t *rows) {
    size_t n_users = l->users.names.n;
    int64_t most = 0, *first = cr_alloc((n_users + 1) * sizeof *first, "rows of users");
    int64_t *next = cr_alloc((n_train + 1) * sizeof *next, "rows of users");
    /* the items of a user as a list: its last pair, and for each pair the one before */
    memset(first, -1, (n_users + 1) * sizeof *first);
    for (size_t i = n_train; i-- > 0;) {
        next[i] = first[l->v[i].user];
        first[l->v[i].user] = (int64_t)i;
    }
    for (size_t i = test ? n_train : 0; i < (test ? l->n : n_train); i++) {
        int64_t user = l->v[i].user, n = 0;
        if (!test && first[user] != (int64_t)i) continue; /* the user has a row already */
        cr_buf_printf(out, "%lld;", (long long)l->v[i].item);
        put_parts(out, &l->users, user, ';');
        for (int64_t k = first[user]; k >= 0; k = next[k], n++)
            cr_buf_printf(out, n ? " %lld" : ";%lld", (long long)l->v[k].item);
        cr_buf_str(out, n ? "\n" : ";\n");
        if (n > most) most = n;
        ++*rows;
    }
    cr_free(first);
    cr_free(next);
    return most;
}

cr_code cr_user_rows(const char *raw_dir, const char *out_dir, bool test, int64_t *rows,
                     cr_err *err) {
    cr_arena a;
    pair_log l = {0};
    cr_buf out, items;
    cr_arena_init(&a, 0);
    cr_map_init(&l.users.names);
    cr_map_init(&l.items.names);
    cr_buf_init(&out);
    cr_buf_init(&items);
    cr_buf_str(&out, "");
    *rows = 0;
    const char *second = cr_path_join(&a, raw_dir, "test.csv");
    cr_code code = cr_each_line(cr_path_join(&a, raw_dir, "train.csv"), take_line, &l, err);
    size_t n_train = l.n;
    if (code == CR_OK && (test || cr_path_exists(second)))
        code = cr_each_line(second, take_line, &l, err);
    if (code == CR_OK && (n_train == 0 || (test && l.n == n_train) || l.items.names.n < 2))
        code = cr_fail(err, CR_EDATA,
                       "the folder '%s' needs lines with two or more items in train.csv%s, such as "
                       "1-6041-6042,3186-3711",
                       raw_dir, test ? " and test.csv" : "");
    if (code == CR_OK) {
        int64_t most = put_rows(&l, n_train, test, &out, rows);
        cr_buf_printf(&items, "%lld %lld %lld\n", (long long)l.users.n_parts,
                      (long long)l.items.n_parts, (long long)most);
        for (size_t i = 0; i < l.items.names.n; i++) {
            put_parts(&items, &l.items, (int64_t)i, ' ');
            cr_buf_char(&items, '\n');
        }
        code = cr_mkdirs(out_dir, err);
    }
    if (code == CR_OK)
        code = cr_file_write(cr_path_join(&a, out_dir, "rows.txt"), out.data, out.n, err);
    if (code == CR_OK)
        code = cr_file_write(cr_path_join(&a, out_dir, ".items"), items.data, items.n, err);
    cr_buf_clear(&out);
    cr_buf_clear(&items);
    cr_map_clear(&l.users.names);
    cr_map_clear(&l.items.names);
    cr_free(l.v);
    cr_arena_clear(&a);
    return code;
}
