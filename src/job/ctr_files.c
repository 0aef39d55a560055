/*
 * ctr_files.c - the text files of a table with a CTR accessor (text_model.h).
 *
 * Rows lie with the ranks by the hash of their ids, and in the files by id mod files, so every file
 * has rows of every rank. Ranks go through the files in rounds: in a round each of them writes one
 * file, and gets the lines of it that the others have, in one exchange. The lines of a rank come in
 * the order of ids, and are merged by their first number. So the bytes do not depend on ranks.
 */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "job/text_model.h"

#define TRIES 3 /* of a file that cannot be read */

/* ---- saving ---- */

typedef struct saving {
    const cr_grow *g; /* NULL: this rank has no rows */
    const cr_meet *meet;
    int64_t *ids, n, next; /* by file, then id */
    int64_t files, servers;
    const char *dir;
    cr_buf out, in, merged;
    size_t *out_at, *in_at;
    int64_t *sizes;
    size_t *size_at;
    cr_code code; /* of this rank: it goes on meeting the others, and writes no more */
    cr_err err;
} saving;

static int64_t count_servers(const cr_meet *m) {
    int64_t n = 0;
    for (int h = 0; m && m->serves && h < m->n; h++)
        n += m->serves[h];
    return n > 0 ? n : 1;
}

/* Adds this rank's lines of a file to the letter. */
static void write_lines(saving *s, int64_t file) {
    for (; s->next < s->n && s->ids[s->next] % s->files == file; s->next++)
        cr_grow_write(s->g, s->ids[s->next], &s->out);
}

/* Returns the id of the line at p, and in *end where the line ends. */
static int64_t line_id(const char *p, const char *stop, const char **end) {
    const char *blank = memchr(p, ' ', (size_t)(stop - p));
    *end = (const char *)memchr(p, '\n', (size_t)(stop - p)) + 1;
    int64_t id = -1;
    if (!cr_parse_i64(p, (size_t)(blank - p), &id)) CR_BUG("a line of a table without its id");
    return id;
}

/* Merges the lines of all ranks by their ids. */
static void merge(saving *s, int n) {
    size_t *at = cr_alloc((size_t)n * sizeof *at, "lines of a table");
    memcpy(at, s->in_at, (size_t)n * sizeof *at);
    cr_buf_reset(&s->merged);
    for (;;) {
        int64_t best = INT64_MAX;
        const char *line = NULL, *end = NULL;
        int from = -1;
        for (int h = 0; h < n; h++) {
            const char *e;
            if (at[h] == s->in_at[h + 1]) continue;
            int64_t id = line_id(s->in.data + at[h], s->in.data + s->in_at[h + 1], &e);
            if (id >= best) continue;
            best = id;
            line = s->in.data + at[h];
            end = e;
            from = h;
        }
        if (from < 0) break;
        cr_buf_add(&s->merged, line, (size_t)(end - line));
        at[from] = (size_t)(end - s->in.data);
    }
    cr_free(at);
}

static void write_file(saving *s, int64_t file, const cr_buf *text) {
    int64_t each = (s->files + s->servers - 1) / s->servers;
    char name[64];
    if (s->code != CR_OK) return;
    snprintf(name, sizeof name, "part-%03lld-%05lld", (long long)(file / each), (long long)file);
    cr_arena a;
    cr_arena_init(&a, 0);
    s->code =
        cr_file_write(cr_path_join(&a, s->dir, name), text->n ? text->data : "", text->n, &s->err);
    cr_arena_clear(&a);
}

/* Every rank gets the lines of its file of the round. */
static void trade(saving *s) {
    const cr_meet *m = s->meet;
    for (int h = 0; h < m->n; h++)
        s->sizes[h] = (int64_t)(s->out_at[h + 1] - s->out_at[h]);
    int64_t *come = s->sizes + m->n;
    m->exchange(m->ctx, s->sizes, s->size_at, come, s->size_at);
    for (int h = 0; h < m->n; h++)
        s->in_at[h + 1] = s->in_at[h] + (size_t)come[h];
    cr_buf_reset(&s->in);
    cr_buf_reserve(&s->in, s->in_at[m->n] + 1);
    m->exchange(m->ctx, s->out.data, s->out_at, s->in.data, s->in_at);
}

static void save_round(saving *s, int64_t first, int n, int self) {
    cr_buf_reset(&s->out);
    cr_buf_reserve(&s->out, 1);
    for (int h = 0; h < n; h++) {
        s->out_at[h] = s->out.n;
        if (first + h < s->files && s->g) write_lines(s, first + h);
        s->out_at[h + 1] = s->out.n;
    }
    if (!s->meet) {
        write_file(s, first, &s->out);
        return;
    }
    trade(s);
    if (first + self >= s->files) return;
    merge(s, n);
    write_file(s, first + self, &s->merged);
}

cr_code cr_ctr_files_save(const cr_job *j, const cr_model_table *t, cr_ctr_mode mode, int64_t files,
                          const char *dir, int64_t *rows, cr_err *err) {
    saving s = {.g = t->table.owner->grow, .meet = j->meet, .files = files, .dir = dir};
    int n = j->meet ? j->meet->n : 1, self = cr_job_self(j);
    s.servers = count_servers(j->meet);
    if (s.g) s.code = cr_grow_listed(s.g, mode, files, &s.ids, &s.n, &s.err);
    if (s.code != CR_OK) s.g = NULL;
    cr_buf_init(&s.out);
    cr_buf_init(&s.in);
    cr_buf_init(&s.merged);
    size_t places = ((size_t)n + 1) * sizeof(size_t);
    s.out_at = cr_alloc(places, "lines of a table");
    s.in_at = cr_alloc(places, "lines of a table");
    s.size_at = cr_alloc(places, "lines of a table");
    s.sizes = cr_alloc(2 * (size_t)n * sizeof(int64_t), "lines of a table");
    for (int h = 0; h <= n; h++)
        s.size_at[h] = (size_t)h * sizeof(int64_t);
    for (int64_t first = 0; first < files; first += n)
        save_round(&s, first, n, self);
    *rows = s.n;
    cr_free(s.ids);
    cr_free(s.out_at);
    cr_free(s.in_at);
    cr_free(s.size_at);
    cr_free(s.sizes);
    cr_buf_clear(&s.out);
    cr_buf_clear(&s.in);
    cr_buf_clear(&s.merged);
    if (s.code != CR_OK) cr_err_copy(err, &s.err);
    return s.code;
}

/* ---- loading ---- */

typedef struct loading {
    cr_grow *g; /* NULL: this rank has no rows */
} loading;

static cr_code take_row(void *ctx, int64_t id, const float *record, bool brief, cr_err *err) {
    const loading *l = ctx;
    return l->g ? cr_grow_read(l->g, id, record, brief, err) : CR_OK;
}

/* A row that is read twice takes the place of itself, so a file can be read again. */
static cr_code read_file(const cr_ctr_rules *r, int64_t X, const char *path, loading *l,
                         cr_err *err) {
    cr_code code = CR_OK;
    for (int i = 0; i < TRIES; i++) {
        code = cr_ctr_read_file(r, X, path, take_row, l, err);
        if (code != CR_EIO) return code;
        if (i + 1 < TRIES) CR_WARN("%s: cannot be read; crank tries again", path);
    }
    return code;
}

cr_code cr_ctr_files_load(cr_model_table *t, int64_t files, const char *dir, cr_err *err) {
    cr_ctr_rules rules = cr_model_ctr_rules(t);
    loading l = {.g = t->table.owner->grow};
    cr_arena a;
    char **names;
    size_t n, parts = 0;
    cr_arena_init(&a, 0);
    cr_code code = cr_list_dir(&a, dir, &names, &n, err);
    for (size_t i = 0; code == CR_OK && i < n; i++)
        parts += strncmp(names[i], "part-", 5) == 0;
    if (code == CR_OK && (int64_t)parts != files)
        code = cr_fail_at(err, CR_EDATA, ((cr_loc){dir, 0, 0}),
                          "has %zu files part-* of table '%s', and shard_num is %lld; give the "
                          "number that it was saved with",
                          parts, t->short_name, (long long)files);
    for (size_t i = 0; code == CR_OK && i < n; i++)
        if (strncmp(names[i], "part-", 5) == 0)
            code = read_file(&rules, t->D - CR_CTR_HEAD, cr_path_join(&a, dir, names[i]), &l, err);
    cr_arena_clear(&a);
    return code;
}
