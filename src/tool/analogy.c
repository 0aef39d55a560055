/*
 * analogy.c - how well vectors of words answer questions: a is to b as c is to which word?
 *
 * The answer is the word whose vector, of length 1, is nearest to v_b - v_a + v_c, other than the
 * three of the question. A dictionary has a word and its id per line; a line of questions has four
 * words, and a line with a colon is a heading. Words that the dictionary lacks are <UNK>.
 *
 * fastText's vector of a word is the mean of that of <word>, with its brackets, and those of its
 * n-grams: at each letter the next min_n to max_n letters, or what is left of them, each once.
 */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/map.h"
#include "ckpt/ckpt.h"
#include "kern/kern.h"
#include "tool/lines.h"
#include "tool/tool.h"

typedef struct vectors {
    float *v; /* of length 1, with fastText as they are */
    int64_t n, D;
    float *length; /* with fastText: their lengths; NULL: all are 1 */
} vectors;

/* Most ids that the vector of a word is made of. */
#define MAX_PARTS 512
typedef struct word {
    int64_t id; /* -1: there is none */
    int64_t part[MAX_PARTS];
    int n;
} word;

/* Reads the table whose name ends in .<name>.weight. */
static cr_code read_table(vectors *t, const char *ckpt_dir, const char *name, bool parts,
                          cr_arena *a, cr_err *err) {
    cr_ckpt *c;
    CR_TRY(cr_ckpt_open_weights(&c, ckpt_dir, err));
    const char *end = cr_arena_printf(a, ".%s.weight", name);
    const cr_ckpt_info *found = NULL;
    for (int i = 0; i < cr_ckpt_count(c); i++) {
        const cr_ckpt_info *info = cr_ckpt_at(c, i);
        size_t n = strlen(info->name), k = strlen(end);
        if (n > k && strcmp(info->name + n - k, end) == 0 && info->n_dims == 2) found = info;
    }
    cr_code code = CR_OK;
    if (!found) code = cr_fail(err, CR_EDATA, "%s has no table '%s' of vectors", ckpt_dir, name);
    if (code == CR_OK) {
        t->n = found->shape[0];
        t->D = found->shape[1];
        void *p;
        code = cr_try_alloc(&p, cr_bytes(cr_mul_i64(t->n, t->D), sizeof(float)), "vectors", err);
        t->v = code == CR_OK ? p : NULL;
    }
    if (code == CR_OK) code = cr_ckpt_read(c, found->name, 0, t->n * t->D, t->v, err);
    cr_ckpt_close(c);
    for (int64_t i = 0; code == CR_OK && i < t->n; i++) {
        float *v = t->v + i * t->D;
        float length = sqrtf(cr_kern->dot(v, v, t->D));
        if (parts && !t->length) t->length = CR_NEW_N(a, float, t->n);
        if (parts)
            t->length[i] = length > 0 ? length : 1;
        else if (length > 0)
            cr_kern->scale(v, 1 / length, v, t->D);
    }
    return code;
}

static cr_code take_word(void *words, const char *p, size_t n, cr_loc at, cr_err *err) {
    const char *blank = memchr(p, ' ', n);
    int64_t id;
    if (!blank || !cr_parse_i64(blank + 1, n - (size_t)(blank + 1 - p), &id) || id < 0)
        return cr_fail_at(err, CR_EDATA, at, "the line is not a word and its id; correct it");
    (void)cr_map_put(words, p, (size_t)(blank - p), id);
    return CR_OK;
}

/* Adds the n-grams of a word that the dictionary has, each once. */
static void add_parts(const cr_analogy_opts *o, const cr_map *words, const char *s, size_t n,
                      word *w) {
    for (size_t i = 0; i + (size_t)o->min_n <= n; i++)
        for (size_t k = (size_t)o->min_n; k <= (size_t)o->max_n && w->n < MAX_PARTS; k++) {
            size_t len = i + k < n ? k : n - i;
            int64_t id = cr_map_get(words, s + i, len, -1);
            bool there = id < 0;
            for (int p = 1; p < w->n; p++)
                there |= w->part[p] == id;
            if (!there) w->part[w->n++] = id;
            if (i + k >= n) break; /* longer ones are the same */
        }
}

static void find_word(const cr_analogy_opts *o, const cr_map *words, const char *s, size_t n,
                      word *w) {
    char inside[256];
    bool parts = o->min_n > 0 && n + 2 < sizeof inside;
    if (parts) {
        inside[0] = '<';
        memcpy(inside + 1, s, n);
        inside[n + 1] = '>';
        s = inside;
        n += 2;
    }
    w->id = cr_map_get(words, s, n, -1);
    bool known = w->id >= 0;
    if (!known) w->id = cr_map_get(words, "<UNK>", 5, -1);
    w->part[0] = w->id;
    w->n = 1;
    if (parts && known) add_parts(o, words, s, n, w);
}

/* The four words of a line; false: it is no question. */
static bool question(const cr_analogy_opts *o, const cr_map *words, char *p, const char *end,
                     word w[4]) {
    int n = 0;
    if (memchr(p, ':', (size_t)(end - p))) return false;
    for (char *q = p; q < end; q++)
        *q = (char)tolower((unsigned char)*q);
    for (char *s = p, *e; s < end; s = e) {
        while (s < end && isspace((unsigned char)*s))
            s++;
        for (e = s; e < end && !isspace((unsigned char)*e);)
            e++;
        if (e == s) break;
        if (n == 4) return false;
        find_word(o, words, s, (size_t)(e - s), &w[n++]);
    }
    return n == 4;
}

/* Adds c times the vector of a word. */
static void add_word(const vectors *t, const word *w, float c, float *x) {
    for (int i = 0; i < w->n; i++)
        if (w->part[i] < t->n) cr_kern->axpy(x, c / (float)w->n, t->v + w->part[i] * t->D, t->D);
}

static float likeness(const vectors *t, const float *x, int64_t id) {
    float dot = cr_kern->dot(x, t->v + id * t->D, t->D);
    return t->length ? dot / t->length[id] : dot;
}

/* Is the answer among the k nearest words? */
static bool answered(const vectors *t, const word w[4], int k, float *x) {
    for (int i = 0; i < 4; i++)
        if (w[i].id < 0 || w[i].id >= t->n) return false;
    memset(x, 0, (size_t)t->D * sizeof(float));
    add_word(t, &w[1], 1, x);
    add_word(t, &w[0], -1, x);
    add_word(t, &w[2], 1, x);
    float right = likeness(t, x, w[3].id);
    int before = 0;
    for (int64_t i = 0; i < t->n && before < k; i++)
        if (i != w[0].id && i != w[1].id && i != w[2].id && i != w[3].id)
            before += likeness(t, x, i) > right;
    bool asked = w[3].id == w[0].id || w[3].id == w[1].id || w[3].id == w[2].id;
    return !asked && before < k;
}

cr_code cr_analogies(const cr_analogy_opts *o, int64_t *right, int64_t *n, cr_err *err) {
    cr_arena a;
    cr_map words;
    vectors t = {0};
    char **names;
    size_t n_files = 0;
    *right = *n = 0;
    cr_arena_init(&a, 0);
    cr_map_init(&words);
    cr_code code = cr_each_line(o->dict, take_word, &words, err);
    if (code == CR_OK) code = read_table(&t, o->ckpt_dir, o->table, o->min_n > 0, &a, err);
    if (code == CR_OK) code = cr_list_dir(&a, o->questions, &names, &n_files, err);
    float *x = code == CR_OK ? CR_NEW_N(&a, float, t.D) : NULL;
    word *w = CR_NEW_N(&a, word, 4);
    for (size_t i = 0; code == CR_OK && i < n_files; i++) {
        if (names[i][0] == '.') continue;
        cr_buf text;
        cr_buf_init(&text);
        code = cr_file_read(cr_path_join(&a, o->questions, names[i]), 0, &text, err);
        for (char *p = text.data, *end = p + text.n, *nl; code == CR_OK && p < end; p = nl + 1) {
            nl = memchr(p, '\n', (size_t)(end - p));
            if (!nl) nl = end;
            if (!question(o, &words, p, nl, w)) continue;
            ++*n;
            *right += answered(&t, w, o->top, x);
        }
        cr_buf_clear(&text);
    }
    if (code == CR_OK && *n == 0)
        code = cr_fail(err, CR_EDATA,
                       "the folder '%s' holds no questions; a line is four words: a is to b as c "
                       "is to d",
                       o->questions);
    cr_free(t.v);
    cr_map_clear(&words);
    cr_arena_clear(&a);
    return code;
}
