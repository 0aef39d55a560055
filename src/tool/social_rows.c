/*
 * social_rows.c - ratings and relations of users as rows and as a graph (PaddleRec's mhcn).
 *
 * A line of the ratings is user, item and rating with tabs between them, a line of the relations a
 * user and another one whom the user trusts. Ratings below 1 are left out, and every fifth of the
 * others, from the first on, is for the evaluation. Users and items get numbers in the order in
 * which the ratings of the training name them; relations of other users are left out.
 *
 * A row is item;user;items: of a training one for each rating, mixed, with that item alone; of an
 * evaluation one for each of its ratings, with all items that the user has in training, which are
 * left out of the scores. An item that training does not have is -1. The file .graph has the number
 * of users, of items and of the most items of a row, then the pairs of the ratings and those of the
 * relations as numbers with commas. All files are held in memory.
 */
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/log.h"
#include "base/map.h"
#include "base/rng.h"
#include "base/shown.h"
#include "tool/lines.h"
#include "tool/tool.h"

#define FOLDS 5 /* one of so many ratings is for the evaluation */

typedef struct pair {
    int64_t user, item;
} pair;

typedef struct social_log {
    cr_map users, items;
    cr_map tested; /* "user\titem" of the evaluation: a pair counts once */
    pair *train, *test;
    int64_t n_train, n_test, n_lines;
    bool test_now;   /* the second reading, when all users and items of training have numbers */
    int64_t n_users; /* users of the training */
    cr_buf trusts;   /* pairs with commas */
} social_log;

/* The first word of a line up to a tab; moves on behind it. */
static size_t word(const char **p, const char *end, const char **from) {
    const char *tab = *p < end ? memchr(*p, '\t', (size_t)(end - *p)) : NULL;
    *from = *p;
    *p = tab ? tab + 1 : end;
    return (size_t)((tab ? tab : end) - *from);
}

/* The number of a name; a new one when `add`, else -1 for a new name. */
static int64_t number_of(cr_map *m, const char *name, size_t n, bool add) {
    int64_t at = cr_map_get(m, name, n, -1);
    if (at < 0 && add) {
        at = (int64_t)m->n;
        (void)cr_map_put(m, name, n, at);
    }
    return at;
}

static void push(pair **v, int64_t *n, pair x) {
    if ((*n & (*n - 1)) == 0) { /* the room doubles */
        size_t now = (size_t)*n * sizeof x, next = *n ? 2 * now : sizeof x;
        *v = cr_realloc(*v, now, next, "ratings");
    }
    (*v)[(*n)++] = x;
}

static cr_code take_rating(void *ctx, const char *p, size_t n, cr_loc at, cr_err *err) {
    social_log *l = ctx;
    const char *s = p, *end = p + n, *user, *item, *rating;
    size_t nu = word(&s, end, &user), ni = word(&s, end, &item), nr = word(&s, end, &rating);
    double value;
    if (nu == 0 || ni == 0 || !cr_parse_f64(rating, nr, &value)) {
        char shown[CR_SHOW];
        return cr_fail_at(err, CR_EDATA, at,
                          "'%s' is not user, item and rating with tabs between them, the last a "
                          "number; correct the line",
                          cr_show(shown, p, n));
    }
    if (value < 1) return CR_OK;
    bool tests = l->n_lines++ % FOLDS == 0;
    if (tests != l->test_now) return CR_OK;
    if (!tests) {
        push(&l->train, &l->n_train,
             (pair){number_of(&l->users, user, nu, true), number_of(&l->items, item, ni, true)});
    } else if (number_of(&l->tested, user, nu + ni + 1, false) < 0) {
        (void)number_of(&l->tested, user, nu + ni + 1, true);
        /* a user without ratings in training gets a number of its own, too */
        push(&l->test, &l->n_test,
             (pair){number_of(&l->users, user, nu, true), number_of(&l->items, item, ni, false)});
    }
    return CR_OK;
}

static cr_code take_relation(void *ctx, const char *p, size_t n, cr_loc at, cr_err *err) {
    social_log *l = ctx;
    const char *s = p, *end = p + n, *one, *other;
    size_t n1 = word(&s, end, &one), n2 = word(&s, end, &other);
    if (n1 == 0 || n2 == 0) {
        char shown[CR_SHOW];
        return cr_fail_at(err, CR_EDATA, at,
                          "'%s' is not two users with a tab between them; correct the line",
                          cr_show(shown, p, n));
    }
    int64_t a = number_of(&l->users, one, n1, false), b = number_of(&l->users, other, n2, false);
    if (a >= 0 && b >= 0)
        cr_buf_printf(&l->trusts, "%s%lld, %lld", l->trusts.n ? ", " : "", (long long)a,
                      (long long)b);
    return CR_OK;
}

/* Writes the rows of a training in an order that the seed decides. */
static void put_train(const social_log *l, cr_buf *out) {
    uint64_t key = cr_rng_key(0, "ratings", NULL);
    for (int64_t i = l->n_train - 1; i > 0; i--) {
        int64_t k = (int64_t)cr_rng_below(key, (uint64_t)i, (uint64_t)i + 1);
        pair x = l->train[i];
        l->train[i] = l->train[k];
        l->train[k] = x;
    }
    for (int64_t i = 0; i < l->n_train; i++)
        cr_buf_printf(out, "%lld;%lld;%lld\n", (long long)l->train[i].item,
                      (long long)l->train[i].user, (long long)l->train[i].item);
}

/* Writes the rows of an evaluation; returns how many items a row has at most. */
static int64_t put_test(const social_log *l, cr_buf *out) {
    size_t n_users = l->users.n;
    int64_t most = 0, *last = cr_alloc((n_users + 1) * sizeof *last, "ratings");
    int64_t *before = cr_alloc((size_t)(l->n_train + 1) * sizeof *before, "ratings");
    memset(last, -1, (n_users + 1) * sizeof *last);
    for (int64_t i = l->n_train - 1; i >= 0; i--) { /* a list of each user's ratings */
        before[i] = last[l->train[i].user];
        last[l->train[i].user] = i;
    }
    for (int64_t i = 0; i < l->n_test; i++) {
        int64_t n = 0;
        cr_buf_printf(out, "%lld;%lld;", (long long)l->test[i].item, (long long)l->test[i].user);
        for (int64_t k = last[l->test[i].user]; k >= 0; k = before[k], n++)
            cr_buf_printf(out, n ? " %lld" : "%lld", (long long)l->train[k].item);
        cr_buf_char(out, '\n');
        if (n > most) most = n;
    }
    cr_free(last);
    cr_free(before);
    return most;
}

static cr_code write_files(social_log *l, const char *out_dir, bool test, cr_err *err) {
    cr_arena a;
    cr_buf rows, graph;
    int64_t most = 1;
    cr_arena_init(&a, 0);
    cr_buf_init(&rows);
    cr_buf_init(&graph);
    cr_buf_str(&rows, "");
    cr_buf_str(&graph, "");
    for (int64_t i = 0; i < l->n_train; i++)
        cr_buf_printf(&graph, i ? ", %lld, %lld" : "%lld, %lld", (long long)l->train[i].user,
                      (long long)l->train[i].item);
    if (test)
        most = put_test(l, &rows);
    else
        put_train(l, &rows);
    const char *head = cr_arena_printf(&a, "%lld %lld %lld\n", (long long)l->n_users,
                                       (long long)l->items.n, (long long)(most ? most : 1));
    const char *text =
        cr_arena_printf(&a, "%s%s\n%s\n", head, graph.data, l->trusts.n ? l->trusts.data : "");
    cr_code code = cr_mkdirs(out_dir, err);
    if (code == CR_OK)
        code = cr_file_write(cr_path_join(&a, out_dir, "rows.txt"), rows.data, rows.n, err);
    if (code == CR_OK)
        code = cr_file_write(cr_path_join(&a, out_dir, ".graph"), text, strlen(text), err);
    cr_buf_clear(&rows);
    cr_buf_clear(&graph);
    cr_arena_clear(&a);
    return code;
}

cr_code cr_social_rows(const char *ratings, const char *relations, const char *out_dir, bool test,
                       int64_t *rows, cr_err *err) {
    social_log l = {0};
    cr_map_init(&l.users);
    cr_map_init(&l.items);
    cr_map_init(&l.tested);
    cr_buf_init(&l.trusts);
    cr_code code = cr_each_line(ratings, take_rating, &l, err);
    l.n_users = (int64_t)l.users.n;
    if (code == CR_OK) code = cr_each_line(relations, take_relation, &l, err);
    l.test_now = true;
    l.n_lines = 0;
    if (code == CR_OK && test) code = cr_each_line(ratings, take_rating, &l, err);
    if (code == CR_OK && l.items.n < 2)
        code = cr_fail(err, CR_EDATA,
                       "'%s' needs ratings of two or more items, user, item and rating with tabs "
                       "between them; one in five is for the evaluation",
                       ratings);
    if (code == CR_OK && l.trusts.n == 0)
        CR_WARN("%s has no two users whom %s has, so the model learns from ratings alone", relations,
                ratings);
    if (code == CR_OK) code = write_files(&l, out_dir, test, err);
    *rows = test ? l.n_test : l.n_train;
    cr_map_clear(&l.users);
    cr_map_clear(&l.items);
    cr_map_clear(&l.tested);
    cr_buf_clear(&l.trusts);
    cr_free(l.train);
    cr_free(l.test);
    return code;
}
