/*
 * picture_rows.c - rows of PaddleRec's maml: tasks of few pictures of each of some characters
 * (Omniglot). A folder of the data is an alphabet, with a folder for each character, which has its
 * pictures as PNG files. A row is
 *
 *   label;numbers of the picture
 *
 * The label is which of the task's characters it is, from 0 on; the numbers are the picture of
 * size x size from -1 (black) to 1 (white), made smaller as OpenCV does it: the four nearest
 * pixels, weighed by their distance, rounded to 8 bits.
 *
 * A task draws `ways` characters, and of each `support` pictures to learn from and `query` others;
 * both are mixed. A draw is a function of a seed and its number. PaddleRec draws by NumPy, from a
 * seed as well, so its draws are others.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/fs.h"
#include "base/plugin.h"
#include "base/rng.h"
#include "tool/drawn.h"
#include "tool/png.h"
#include "tool/tool.h"

#define SEED 12345

typedef struct character {
    unsigned char *pixels; /* n pictures of size x size */
    int64_t n;
} character;

typedef struct pictures {
    const cr_paddle_pictures *o;
    const cr_png_plug *plug;
    cr_arena arena;
    character *v;
    int64_t n, cap;
    char number[256][16]; /* the text of each pixel */
} pictures;

/* ---- pictures ---- */

/* Where column x of the small picture lies in one of n columns: between *at and the next one. */
static double place(int64_t x, int64_t size, int64_t n, int64_t *at) {
    double p = ((double)x + 0.5) * (double)n / (double)size - 0.5;
    if (p < 0) p = 0;
    if (p > (double)(n - 1)) p = (double)(n - 1);
    *at = (int64_t)floor(p);
    if (*at > n - 2) *at = n > 1 ? n - 2 : 0;
    return p - (double)*at;
}

static void shrink(const unsigned char *from, int64_t h, int64_t w, unsigned char *to,
                   int64_t size) {
    int64_t right = w > 1, below = h > 1 ? w : 0;
    for (int64_t y = 0; y < size; y++)
        for (int64_t x = 0; x < size; x++) {
            int64_t i, j;
            double b = place(y, size, h, &i), a = place(x, size, w, &j);
            const unsigned char *p = from + i * w + j;
            double up = p[0] * (1 - a) + p[right] * a;
            double down = p[below] * (1 - a) + p[below + right] * a;
            to[y * size + x] = (unsigned char)lrint(up * (1 - b) + down * b);
        }
}

static cr_code read_picture(const pictures *x, const char *path, unsigned char *to, cr_err *err) {
    int64_t h, w;
    unsigned char *all;
    char why[240];
    if (!x->plug->read(path, &h, &w, &all, why, sizeof why))
        return cr_fail_at(err, CR_EDATA, ((cr_loc){path, 0, 0}), "%s", why);
    shrink(all, h, w, to, x->o->size);
    free(all);
    return CR_OK;
}

static cr_code read_character(pictures *x, const char *dir, cr_err *err) {
    char **names;
    size_t n;
    cr_arena *a = &x->arena;
    int64_t need = x->o->support + x->o->query, pixels = x->o->size * x->o->size;
    CR_TRY(cr_list_dir(a, dir, &names, &n, err));
    if ((int64_t)n < need)
        return cr_fail_at(err, CR_EDATA, ((cr_loc){dir, 0, 0}),
                          "the folder has %zu pictures, and a task draws %lld; add some, or lower "
                          "k_spt or k_query",
                          n, (long long)need);
    if (x->n == x->cap) {
        int64_t cap = 2 * x->cap + 64;
        x->v = cr_realloc(x->v, (size_t)x->cap * sizeof *x->v, (size_t)cap * sizeof *x->v,
                          "characters");
        x->cap = cap;
    }
    character c = {cr_arena_alloc(a, cr_bytes(cr_mul_i64((int64_t)n, pixels), 1)), (int64_t)n};
    for (size_t i = 0; i < n; i++)
        CR_TRY(
            read_picture(x, cr_path_join(a, dir, names[i]), c.pixels + (int64_t)i * pixels, err));
    x->v[x->n++] = c;
    return CR_OK;
}

/* Calls read_character for the folders of the folders of dir. */
static cr_code read_all(pictures *x, const char *dir, int depth, cr_err *err) {
    char **names;
    size_t n;
    CR_TRY(cr_list_dir(&x->arena, dir, &names, &n, err));
    for (size_t i = 0; i < n; i++) {
        const char *path = cr_path_join(&x->arena, dir, names[i]);
        if (!cr_path_is_dir(path)) continue;
        CR_TRY(depth ? read_all(x, path, depth - 1, err) : read_character(x, path, err));
    }
    return CR_OK;
}

static cr_code open_pictures(pictures *x, const char *dir, cr_err *err) {
    void *plug;
    CR_TRY(cr_plugin_own("png.so", "cr_png_plug_of", CR_PNG_ABI,
                         "build crank with libpng-dev installed", &plug, err));
    x->plug = plug;
    for (int i = 0; i < 256; i++)
        snprintf(x->number[i], sizeof x->number[i], "%.6g", i / 255.0 * 2 - 1);
    CR_TRY(read_all(x, dir, 1, err));
    if (x->n >= x->o->ways) return CR_OK;
    return cr_fail_at(err, CR_EDATA, ((cr_loc){dir, 0, 0}),
                      "the folder has %lld characters, and a task draws %lld; it must hold "
                      "<alphabet>/<character>/<picture>.png",
                      (long long)x->n, (long long)x->o->ways);
}

/* ---- tasks ---- */

static void put_picture(const pictures *x, int64_t label, const unsigned char *p, cr_buf *out) {
    cr_buf_printf(out, "%lld;", (long long)label);
    for (int64_t i = 0; i < x->o->size * x->o->size; i++) {
        if (i) cr_buf_char(out, ' ');
        cr_buf_str(out, x->number[p[i]]);
    }
    cr_buf_char(out, '\n');
}

/* Writes the support rows of a task, then its query rows, each side to a buffer of its own. */
static void put_task(const pictures *x, uint64_t key, cr_buf *support, cr_buf *query) {
    const cr_paddle_pictures *o = x->o;
    cr_arena a;
    cr_arena_init(&a, 0);
    int64_t most = x->n, each = o->support + o->query, pixels = o->size * o->size;
    for (int64_t i = 0; i < x->n; i++)
        if (x->v[i].n > most) most = x->v[i].n;
    if (o->ways * each > most) most = o->ways * each;
    int64_t *ways = CR_NEW_N(&a, int64_t, most), *some = CR_NEW_N(&a, int64_t, most),
            *taken = CR_NEW_N(&a, int64_t, o->ways * each);
    cr_draw(ways, x->n, o->ways, cr_rng_sub(key, 0));
    for (int64_t k = 0; k < o->ways; k++) {
        cr_draw(some, x->v[ways[k]].n, each, cr_rng_sub(key, 3 + (uint64_t)k));
        memcpy(taken + k * each, some, (size_t)each * sizeof *some);
    }
    for (int side = 0; side < 2; side++) {
        int64_t per = side ? o->query : o->support, first = side ? o->support : 0;
        cr_draw(some, o->ways * per, o->ways * per, cr_rng_sub(key, 1 + (uint64_t)side));
        for (int64_t i = 0; i < o->ways * per; i++) {
            int64_t k = some[i] / per, at = taken[k * each + first + some[i] % per];
            put_picture(x, k, x->v[ways[k]].pixels + at * pixels, side ? query : support);
        }
    }
    cr_arena_clear(&a);
}

static cr_code train_tasks(const pictures *x, const char *dir, cr_buf *out, cr_err *err) {
    uint64_t key = cr_rng_key(SEED, "pictures", "train");
    int64_t files = 0;
    for (int64_t i = 0; i < x->o->tasks; i++) {
        put_task(x, cr_rng_sub(key, (uint64_t)i), out, out);
        if (out->n >= CR_DRAWN_FLUSH || i + 1 == x->o->tasks)
            CR_TRY(cr_write_drawn(dir, files++, out, err));
    }
    return CR_OK;
}

static cr_code test_tasks(pictures *x, const char *dir, cr_buf *out, cr_buf *query, cr_err *err) {
    uint64_t key = cr_rng_key(SEED, "pictures", "test");
    for (int64_t i = 0; i < x->o->tasks; i++) {
        const char *own =
            cr_path_join(&x->arena, dir, cr_arena_printf(&x->arena, "%lld", (long long)i));
        put_task(x, cr_rng_sub(key, (uint64_t)i), out, query);
        CR_TRY(cr_write_drawn(cr_path_join(&x->arena, own, "support"), 0, out, err));
        CR_TRY(cr_write_drawn(cr_path_join(&x->arena, own, "query"), 0, query, err));
    }
    return CR_OK;
}

cr_code cr_picture_rows(const char *raw_dir, const char *out_dir, const cr_paddle_pictures *o,
                        bool infer, int64_t *rows, cr_err *err) {
    pictures x = {.o = o};
    cr_buf out, query;
    cr_arena_init(&x.arena, 0);
    cr_buf_init(&out);
    cr_buf_init(&query);
    cr_code code = open_pictures(&x, raw_dir, err);
    if (code == CR_OK) (void)cr_fs_remove(out_dir, true, NULL); /* rows of an earlier run */
    if (code == CR_OK)
        code = infer ? test_tasks(&x, out_dir, &out, &query, err)
                     : train_tasks(&x, out_dir, &out, err);
    *rows = o->tasks * o->ways * (o->support + o->query);
    cr_free(x.v);
    cr_buf_clear(&out);
    cr_buf_clear(&query);
    cr_arena_clear(&x.arena);
    return code;
}
