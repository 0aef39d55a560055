/*
 * package_rows.c - rows of PaddleRec's iprec. A line of its data is a JSON object: a user, the
 * friends, items and publishers (biz) that the user has seen, a package (item, publisher, friends
 * who read it), and other packages: those that the user has seen, and neighbours of the package by
 * publisher and by friends, each as item, publisher and f_max_len friends, with zeros behind them.
 *
 * A row is label;user;own friends;own items;own publishers;items;publishers;seen;near by
 * publisher;near by friends;friends;package with blanks in the lists. Packages stand in one list,
 * the one that is to be judged last; the three lists of 0 and 1 say which of the others each is.
 * `friends` are those of all packages, and `package` the number of the package of each, from 0.
 * Zeros are left out.
 */
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/json.h"
#include "tool/tool.h"

enum { SEEN, BY_BIZ, BY_FRIEND, JUDGED };

typedef struct packages {
    const cr_paddle_packages *o;
    cr_buf out, items, bizs, kinds[3], friends, of; /* lists of the row under way */
    int64_t n;                                      /* packages of it */
    int64_t rows;
} packages;

static void put(cr_buf *b, int64_t v) {
    cr_buf_printf(b, b->n ? " %lld" : "%lld", (long long)v);
}

/* Reads an id from 0 to `most`. */
static bool id_of(const cr_json *v, int64_t most, int64_t *out) {
    return v && cr_json_i64(v, out) && *out >= 0 && *out <= most;
}

/* Appends the ids of a list, at most `longest` of them. */
static bool put_list(cr_buf *out, const cr_json *list, int64_t longest, int64_t most) {
    int64_t v;
    bool any = false;
    if (!list || !cr_json_is_arr(list)) return false;
    for (size_t i = 0; i < cr_json_len(list) && (int64_t)i < longest; i++) {
        if (!id_of(cr_json_at(list, i), most, &v)) return false;
        if (v) cr_buf_printf(out, any ? " %lld" : "%lld", (long long)v);
        any |= v != 0;
    }
    cr_buf_char(out, ';');
    return true;
}

/* Adds a package; friends begin at `from` of the list. */
static bool add_package(packages *x, const cr_json *item, const cr_json *biz, const cr_json *list,
                        size_t from, int kind) {
    const cr_paddle_packages *o = x->o;
    int64_t i, b, v;
    size_t end = from + (size_t)o->friends, n = cr_json_len(list), any = x->friends.n;
    if (!id_of(item, o->items, &i) || !id_of(biz, o->bizs, &b)) return false;
    for (size_t k = from; k < end && k < n; k++) {
        if (!id_of(cr_json_at(list, k), o->users, &v)) return false;
        if (v == 0) continue;
        put(&x->friends, v);
        put(&x->of, x->n);
    }
    if (i == 0 && b == 0 && x->friends.n == any) return true; /* padding */
    put(&x->items, i);
    put(&x->bizs, b);
    for (int k = 0; k < 3; k++)
        put(&x->kinds[k], k == kind);
    x->n++;
    return true;
}

/* Adds packages that lie in a list one behind the other. */
static bool add_packages(packages *x, const cr_json *list, int64_t most, int kind) {
    size_t width = (size_t)x->o->friends + 2;
    if (!list || !cr_json_is_arr(list) || cr_json_len(list) % width != 0) return false;
    for (size_t i = 0; i < cr_json_len(list) / width && (int64_t)i < most; i++)
        if (!add_package(x, cr_json_at(list, i * width), cr_json_at(list, i * width + 1), list,
                         i * width + 2, kind))
            return false;
    return true;
}

static cr_code take_row(void *ctx, const cr_json *j, const char *line, size_t n, cr_loc at,
                        cr_err *err) {
    (void)line;
    (void)n;
    packages *x = ctx;
    const cr_paddle_packages *o = x->o;
    cr_buf *lists[] = {&x->items,    &x->bizs,    &x->kinds[0], &x->kinds[1],
                       &x->kinds[2], &x->friends, &x->of};
    const cr_json *friends = cr_json_get(j, "friends");
    int64_t label, user;
    const char *bad = NULL;
    for (size_t i = 0; i < 7; i++)
        cr_buf_reset(lists[i]);
    x->n = 0;
    if (!cr_json_get(j, "label") || !cr_json_i64(cr_json_get(j, "label"), &label) || label < 0 ||
        label > 1)
        bad = "label";
    if (!bad && !id_of(cr_json_get(j, "user"), o->users, &user)) bad = "user";
    if (!bad) cr_buf_printf(&x->out, "%lld;%lld;", (long long)label, (long long)user);
    if (!bad && !put_list(&x->out, cr_json_get(j, "user_friends"), o->own_friends, o->users))
        bad = "user_friends";
    if (!bad && !put_list(&x->out, cr_json_get(j, "user_items"), o->own_items, o->items))
        bad = "user_items";
    if (!bad && !put_list(&x->out, cr_json_get(j, "user_bizs"), o->own_items, o->bizs))
        bad = "user_bizs";
    if (!bad && !add_packages(x, cr_json_get(j, "user_packages"), o->seen, SEEN))
        bad = "user_packages";
    if (!bad && !add_packages(x, cr_json_get(j, "pack_neighbors_b"), o->by_biz, BY_BIZ))
        bad = "pack_neighbors_b";
    if (!bad && !add_packages(x, cr_json_get(j, "pack_neighbors_f"), o->by_friend, BY_FRIEND))
        bad = "pack_neighbors_f";
    if (!bad &&
        (!friends || !cr_json_is_arr(friends) ||
         !add_package(x, cr_json_get(j, "item"), cr_json_get(j, "biz"), friends, 0, JUDGED)))
        bad = "item, biz or friends";
    if (bad)
        return cr_fail_at(err, CR_EDATA, at,
                          "%s is missing or not as it should be: ids are whole numbers from 0 to "
                          "num_users, num_items and num_bizs, packages have %lld of them, and the "
                          "label is 0 or 1; correct the line",
                          bad, (long long)o->friends + 2);
    for (size_t i = 0; i < 7; i++) {
        cr_buf_add(&x->out, lists[i]->data, lists[i]->n);
        cr_buf_char(&x->out, i < 6 ? ';' : '\n');
    }
    x->rows++;
    return CR_OK;
}

cr_code cr_package_rows(const char *raw_dir, const char *out_dir, const cr_paddle_packages *o,
                        int64_t *rows, cr_err *err) {
    cr_arena a;
    char **names;
    size_t n = 0;
    packages x = {.o = o};
    cr_buf text, *all[] = {&x.out,      &x.items,   &x.bizs, &x.kinds[0], &x.kinds[1],
                           &x.kinds[2], &x.friends, &x.of,   &text};
    cr_arena_init(&a, 0);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        cr_buf_init(all[i]);
    cr_code code = cr_list_dir(&a, raw_dir, &names, &n, err);
    for (size_t i = 0; code == CR_OK && i < n; i++) {
        const char *path = cr_path_join(&a, raw_dir, names[i]);
        cr_buf_reset(&text);
        code = cr_file_read(path, 0, &text, err);
        if (code == CR_OK) code = cr_json_lines(path, &text, take_row, &x, err);
    }
    if (code == CR_OK && x.rows == 0)
        code = cr_fail(err, CR_EDATA, "the folder '%s' has no line of data; name another one",
                       raw_dir);
    if (code == CR_OK) code = cr_mkdirs(out_dir, err);
    if (code == CR_OK)
        code = cr_file_write(cr_path_join(&a, out_dir, "rows.txt"), x.out.data, x.out.n, err);
    *rows = x.rows;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        cr_buf_clear(all[i]);
    cr_arena_clear(&a);
    return code;
}
