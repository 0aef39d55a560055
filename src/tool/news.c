/*
 * news.c - rows of PaddleRec's models of news (naml, fastformer). The folder of the data has two
 * kinds of files, with tabs between columns; names may begin with something else and have digits
 * before the .txt:
 *
 *   article.txt   article, category, subcategory, words of the title, words of the text
 *   browse.txt    browsed articles, the clicked one, others that were shown
 *
 * A row has the category, subcategory, title and text of the candidates and then of the browsed
 * articles, all cut or padded to the sizes of the model. Candidates are the first of the others and
 * the clicked one, whose place is the label: that of the line in its file, modulo their number.
 * Articles that no file has are padding, as is what a line lacks. A line with fewer others than the
 * model reads is left out.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/map.h"
#include "base/shown.h"
#include "tool/tool.h"

typedef struct news {
    const cr_paddle_news *o;
    cr_map index; /* name of an article -> its number */
    int64_t *v;   /* of each article: category, subcategory, title, text */
    size_t n, cap, wide;
    cr_buf out;
    int64_t rows, left_out;
} news;

/* A piece of a line. */
typedef struct piece {
    const char *p;
    size_t n;
} piece;

/* Cuts a text at each `by`; returns how many pieces there are, of which at most `most` are
 * stored. */
static size_t cut(piece text, char by, piece *out, size_t most) {
    size_t k = 0;
    for (const char *s = text.p, *end = text.p + text.n;;) {
        const char *q = s < end ? memchr(s, by, (size_t)(end - s)) : NULL;
        if (!q) q = end;
        if (out && k < most) out[k] = (piece){s, (size_t)(q - s)};
        k++;
        if (q >= end) return k;
        s = q + 1;
    }
}

static piece next_of(piece *rest, char by) {
    piece first;
    (void)cut(*rest, by, &first, 1);
    size_t used = first.n < rest->n ? first.n + 1 : first.n;
    *rest = (piece){rest->p + used, rest->n - used};
    return first;
}

static int64_t *new_article(news *x, piece name) {
    if (x->n == x->cap) {
        size_t cap = 2 * x->cap + 256, size = x->wide * sizeof *x->v;
        x->v = cr_realloc(x->v, x->cap * size, cap * size, "articles");
        x->cap = cap;
    }
    (void)cr_map_put(&x->index, name.p, name.n, (int64_t)x->n);
    int64_t *a = x->v + x->n++ * x->wide;
    a[0] = x->o->categories;
    a[1] = x->o->subcategories;
    for (size_t i = 2; i < x->wide; i++)
        a[i] = x->o->words;
    return a;
}

/* Reads at most `most` whole numbers with blanks between them; false: something else is there. */
static bool numbers(piece text, int64_t *out, int64_t most) {
    for (int64_t i = 0; text.n > 0;) {
        piece word = next_of(&text, ' ');
        int64_t value;
        if (word.n == 0) continue;
        if (!cr_parse_i64(word.p, word.n, &value)) return false;
        if (i < most) out[i++] = value;
    }
    return true;
}

static cr_code take_article(news *x, piece line, cr_loc at, cr_err *err) {
    piece part[6];
    char shown[CR_SHOW];
    if (cut(line, '\t', part, 6) == 5) {
        int64_t *a = new_article(x, part[0]);
        if (part[1].n && part[2].n && numbers(part[1], a, 1) && numbers(part[2], a + 1, 1) &&
            numbers(part[3], a + 2, x->o->title) &&
            numbers(part[4], a + 2 + x->o->title, x->o->content))
            return CR_OK;
    }
    return cr_fail_at(
        err, CR_EDATA, at,
        "'%s' is not article, category, subcategory, title and text with tabs between "
        "them, all but the first whole numbers; correct the line",
        cr_show(shown, line.p, line.n));
}

/* The numbers of a column of the articles ids, [from, from + n) of each. */
static void put_column(news *x, const int64_t *ids, int64_t n_ids, int64_t from, int64_t n) {
    cr_buf_char(&x->out, '\t');
    for (int64_t i = 0; i < n_ids; i++)
        for (int64_t k = 0; k < n; k++)
            cr_buf_printf(&x->out, "%s%lld", i || k ? " " : "",
                          (long long)x->v[(size_t)ids[i] * x->wide + (size_t)(from + k)]);
}

/* 1 for each word of them, 0 for padding. */
static void put_mask(news *x, const int64_t *ids, int64_t n_ids, int64_t from, int64_t n) {
    cr_buf_char(&x->out, '\t');
    for (int64_t i = 0; i < n_ids; i++)
        for (int64_t k = 0; k < n; k++)
            cr_buf_printf(&x->out, "%s%d", i || k ? " " : "",
                          x->v[(size_t)ids[i] * x->wide + (size_t)(from + k)] != x->o->words);
}

static cr_code take_line(news *x, piece line, int64_t *ids, cr_loc at, cr_err *err) {
    const cr_paddle_news *o = x->o;
    piece part[3], word;
    char shown[CR_SHOW];
    int64_t n = 0, place = (at.line - 1) % (o->others + 1), browsed;
    if (cut(line, '\t', part, 3) < 3 || part[1].n == 0)
        return cr_fail_at(err, CR_EDATA, at,
                          "'%s' is not browsed articles, the clicked one and others with tabs "
                          "between them; correct the line",
                          cr_show(shown, line.p, line.n));
    while (n < o->others && part[2].n > 0) {
        word = next_of(&part[2], ' ');
        ids[n + (n >= place)] = cr_map_get(&x->index, word.p, word.n, 0);
        n++;
    }
    if (n < o->others) {
        x->left_out++;
        return CR_OK;
    }
    word = next_of(&part[1], ' ');
    ids[place] = cr_map_get(&x->index, word.p, word.n, 0);
    browsed = (int64_t)cut(part[0], ' ', NULL, 0);
    for (int64_t i = 0; i < browsed - o->browsed; i++)
        (void)next_of(&part[0], ' '); /* the last ones count */
    for (int64_t i = 0; i < o->browsed; i++) {
        word = next_of(&part[0], ' ');
        ids[o->others + 1 + i] = i < browsed ? cr_map_get(&x->index, word.p, word.n, 0) : 0;
    }
    int64_t all = o->others + 1 + o->browsed;
    cr_buf_printf(&x->out, "%lld", (long long)place);
    put_column(x, ids, all, 0, 1);
    put_column(x, ids, all, 1, 1);
    put_column(x, ids, all, 2, o->title);
    put_column(x, ids, all, 2 + o->title, o->content);
    if (o->masks) put_mask(x, ids, all, 2, o->title);
    if (o->masks) put_mask(x, ids, all, 2 + o->title, o->content);
    cr_buf_char(&x->out, '\n');
    x->rows++;
    return CR_OK;
}

/* Is a file name something, this word, digits and .txt? */
static bool is_kind(const char *name, const char *kind) {
    size_t n = strlen(name), k = strlen(kind);
    if (n < 4 || strcmp(name + n - 4, ".txt") != 0) return false;
    n -= 4;
    while (n > 0 && name[n - 1] >= '0' && name[n - 1] <= '9')
        n--;
    return n >= k && strncmp(name + n - k, kind, k) == 0;
}

static cr_code take_file(news *x, const char *path, int64_t *ids, cr_err *err) {
    cr_buf text;
    cr_buf_init(&text);
    cr_code code = cr_file_read(path, 0, &text, err);
    piece rest = {text.data, text.n};
    for (int line = 1; code == CR_OK && rest.n > 0; line++) {
        piece one = next_of(&rest, '\n');
        while (one.n > 0 && (one.p[one.n - 1] == '\r' || one.p[one.n - 1] == ' '))
            one.n--;
        if (one.n == 0) continue;
        cr_loc at = {path, line, 0};
        code = ids ? take_line(x, one, ids, at, err) : take_article(x, one, at, err);
    }
    cr_buf_clear(&text);
    return code;
}

cr_code cr_news_rows(const char *raw_dir, const char *out_dir, const cr_paddle_news *o,
                     int64_t *rows, int64_t *left_out, cr_err *err) {
    cr_arena a;
    char **names;
    size_t n = 0;
    news x = {.o = o, .wide = (size_t)(2 + o->title + o->content)};
    cr_arena_init(&a, 0);
    cr_map_init(&x.index);
    cr_buf_init(&x.out);
    (void)new_article(&x, (piece){"padding", 7}); /* number 0 */
    int64_t *ids = CR_NEW_N(&a, int64_t, o->others + 1 + o->browsed);
    cr_code code = cr_list_dir(&a, raw_dir, &names, &n, err);
    for (int lines = 0; lines < 2; lines++)
        for (size_t i = 0; code == CR_OK && i < n; i++)
            if (is_kind(names[i], lines ? "browse" : "article"))
                code = take_file(&x, cr_path_join(&a, raw_dir, names[i]), lines ? ids : NULL, err);
    if (code == CR_OK && x.rows == 0)
        code =
            cr_fail(err, CR_EDATA,
                    "the folder '%s' has no line with as many other articles as the model reads, "
                    "%lld, in a file browse.txt; its articles are in article.txt",
                    raw_dir, (long long)o->others);
    if (code == CR_OK) code = cr_mkdirs(out_dir, err);
    if (code == CR_OK)
        code = cr_file_write(cr_path_join(&a, out_dir, "rows.txt"), x.out.data, x.out.n, err);
    *rows = x.rows;
    *left_out = x.left_out;
    cr_free(x.v);
    cr_map_clear(&x.index);
    cr_buf_clear(&x.out);
    cr_arena_clear(&a);
    return code;
}
