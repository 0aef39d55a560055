/*
 * analogy.c - how well vectors of words answer questions: a is to b as c is to which word?
 *
 * The answer is the word whose vector, of length 1, is nearest to v_b - v_a + v_c, other than the
 * three of the question. A dictionary has a word and its id per line; a line of questions has four
 * words, and a line with a colon is a heading. Words that the dictionary lacks are <UNK>.
 */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/map.h"
#include "ckpt/ckpt.h"
#include "kern/kern.h"
#include "tool/tool.h"

typedef struct vectors {
    float *v; /* of length 1 */
    int64_t n, D;
} vectors;

/* Reads the table whose name ends in .<name>.weight. */
static cr_code read_table(vectors *t, const char *ckpt_dir, const char *name, cr_arena *a,
                          cr_err *err) {
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
        if (length > 0) cr_kern->scale(v, 1 / length, v, t->D);
    }
    return code;
}

static cr_code read_dict(cr_map *words, const char *path, cr_err *err) {
    cr_buf text;
    cr_buf_init(&text);
    cr_code code = cr_file_read(path, 0, &text, err);
    int line = 1;
    for (const char *p = text.data, *end = p + text.n, *nl; code == CR_OK && p < end;
         p = nl + 1, line++) {
        nl = memchr(p, '\n', (size_t)(end - p));
        if (!nl) nl = end;
        const char *blank = memchr(p, ' ', (size_t)(nl - p)), *last = nl;
        while (last > p && (last[-1] == '\r' || last[-1] == ' '))
            last--;
        int64_t id;
        cr_loc at = {path, line, 0};
        if (last == p) continue;
        if (!blank || blank >= last || !cr_parse_i64(blank + 1, (size_t)(last - blank - 1), &id) ||
            id < 0)
            code = cr_fail_at(err, CR_EDATA, at, "the line is not a word and its id; correct it");
        else
            (void)cr_map_put(words, p, (size_t)(blank - p), id);
    }
    cr_buf_clear(&text);
    return code;
}

/* The ids of the four words of a line; false: it is no question. */
static bool question(const cr_map *words, char *p, const char *end, int64_t id[4]) {
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
        id[n++] = cr_map_get(words, s, (size_t)(e - s), cr_map_get(words, "<UNK>", 5, -1));
    }
    return n == 4;
}

/* Is the answer among the k nearest words? */
static bool answered(const vectors *t, const int64_t id[4], int k, float *x) {
    for (int i = 0; i < 4; i++)
        if (id[i] < 0 || id[i] >= t->n) return false;
    cr_kern->scale_add(x, 1, t->v + id[1] * t->D, -1, t->v + id[0] * t->D, t->D);
    cr_kern->axpy(x, 1, t->v + id[2] * t->D, t->D);
    float right = cr_kern->dot(x, t->v + id[3] * t->D, t->D);
    int before = 0;
    for (int64_t w = 0; w < t->n && before < k; w++)
        if (w != id[0] && w != id[1] && w != id[2] && w != id[3])
            before += cr_kern->dot(x, t->v + w * t->D, t->D) > right;
    bool asked = id[3] == id[0] || id[3] == id[1] || id[3] == id[2];
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
    cr_code code = read_dict(&words, o->dict, err);
    if (code == CR_OK) code = read_table(&t, o->ckpt_dir, o->table, &a, err);
    if (code == CR_OK) code = cr_list_dir(&a, o->questions, &names, &n_files, err);
    float *x = code == CR_OK ? CR_NEW_N(&a, float, t.D) : NULL;
    for (size_t i = 0; code == CR_OK && i < n_files; i++) {
        if (names[i][0] == '.') continue;
        cr_buf text;
        cr_buf_init(&text);
        code = cr_file_read(cr_path_join(&a, o->questions, names[i]), 0, &text, err);
        for (char *p = text.data, *end = p + text.n, *nl; code == CR_OK && p < end; p = nl + 1) {
            nl = memchr(p, '\n', (size_t)(end - p));
            if (!nl) nl = end;
            int64_t id[4];
            if (!question(&words, p, nl, id)) continue;
            ++*n;
            *right += answered(&t, id, o->top, x);
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
