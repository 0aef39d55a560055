/*
 * list_rows.c - made-up lists of items: the user, the items and a label for each item are drawn, as
 * PaddleRec's reader of listwise does. A list is a function of the seed, the name and its number. A
 * line is label;user;items;here, one for each item of the list, and `here` is 1 at its place.
 */
#include "base/buf.h"
#include "base/file.h"
#include "base/fs.h"
#include "base/rng.h"
#include "tool/tool.h"

#define SEED 12345 /* that of PaddleRec since 2.0 */

static void add_list(cr_buf *b, uint64_t key, const cr_paddle_lists *o) {
    uint64_t n = (uint64_t)o->length;
    for (uint64_t k = 0; k < n; k++) {
        cr_buf_printf(b, "%d;%llu;", (int)cr_rng_below(key, 1 + n + k, 2),
                      (unsigned long long)cr_rng_below(key, 0, (uint64_t)o->users));
        for (uint64_t i = 0; i < n; i++)
            cr_buf_printf(b, i ? " %llu" : "%llu",
                          (unsigned long long)cr_rng_below(key, 1 + i, (uint64_t)o->items));
        for (uint64_t i = 0; i < n; i++)
            cr_buf_printf(b, i ? " %d" : ";%d", i == k);
        cr_buf_char(b, '\n');
    }
}

cr_code cr_list_rows(const char *out_dir, const char *name, const cr_paddle_lists *o, int64_t *rows,
                     cr_err *err) {
    uint64_t key = cr_rng_key(SEED, "lists", name);
    cr_arena a;
    cr_outfile *out = NULL;
    cr_buf b;
    cr_arena_init(&a, 0);
    cr_buf_init(&b);
    cr_code code = cr_mkdirs(out_dir, err);
    if (code == CR_OK) code = cr_outfile_open(&out, cr_path_join(&a, out_dir, "rows.txt"), err);
    for (int64_t i = 0; code == CR_OK && i < o->count; i++) {
        b.n = 0;
        add_list(&b, cr_rng_sub(key, (uint64_t)i), o);
        code = cr_outfile_write(out, b.data, b.n, err);
    }
    if (code == CR_OK)
        code = cr_outfile_commit(out, err);
    else if (out)
        cr_outfile_abort(out);
    *rows = o->count * o->length;
    cr_buf_clear(&b);
    cr_arena_clear(&a);
    return code;
}
