/*
 * text_model.c - see text_model.h: the folder, its dense part, and what a day's end does to all
 * tables.
 *
 * A line of 000/part-000 is the name of a dense parameter, how many numbers it has, and the
 * numbers. The state of its optimizer is not there: a checkpoint of crank's own has it.
 */
#include "job/text_model.h"

#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/kill_point.h"

#define DENSE "000/part-000"
#define MOST  ((size_t)8 << 30) /* bytes of the dense part */

static bool is_dense(const cr_node *p) {
    return p->cls == CR_PARAM && !p->op;
}

static bool has_rows(const cr_model_table *t) {
    return t->grows && cr_feature_ctr(t->owner);
}

/* ---- saving ---- */

static cr_code save_dense(const cr_job *j, const char *path, cr_err *err) {
    const cr_graph *g = &j->model->graph;
    cr_buf b;
    char text[32];
    cr_buf_init(&b);
    for (int i = 0; i < g->n; i++) {
        const cr_node *p = g->nodes[i];
        if (!is_dense(p)) continue;
        cr_buf_printf(&b, "%s %lld", p->name, (long long)p->width);
        for (int64_t k = 0; k < p->width; k++) {
            size_t n = cr_fmt_f32(text, p->w[k]);
            cr_buf_char(&b, ' ');
            cr_buf_add(&b, text, n);
        }
        cr_buf_char(&b, '\n');
    }
    cr_code code = cr_file_write(path, b.n ? b.data : "", b.n, err);
    cr_buf_clear(&b);
    return code;
}

/* The first rank makes the folder in which all write. */
static cr_code open_dir(const cr_job *j, const char *path, cr_outdir **d, cr_arena *a,
                        cr_err *err) {
    int n = 0;
    CR_TRY(cr_rmtree(path, err));
    CR_TRY(cr_outdir_open(d, path, err));
    for (int i = 0; i <= j->model->n_tables; i++) {
        if (i > 0 && !has_rows(j->model->tables[i - 1])) continue;
        CR_TRY(cr_mkdirs(cr_arena_printf(a, "%s/%03d", cr_outdir_tmp(*d), n++), err));
    }
    return CR_OK;
}

/* Gives the path in which all write to all ranks. */
static char *share_path(const cr_job *j, const char *mine, cr_arena *a) {
    int from = j->comm ? cr_comm_first(j->comm) : 0;
    int64_t n = mine ? (int64_t)strlen(mine) + 1 : 0;
    if (!j->comm) return cr_arena_strdup(a, mine);
    cr_comm_share(j->comm, &n, sizeof n, from);
    char *path = CR_NEW_N(a, char, n + 1);
    if (mine) memcpy(path, mine, (size_t)n);
    cr_comm_share(j->comm, path, (size_t)n, from);
    return path;
}

/* Collective: adds up a number of each rank. */
static int64_t add_up(const cr_job *j, int64_t mine) {
    if (!j->meet) return mine;
    const cr_meet *m = j->meet;
    int64_t *v = cr_alloc((size_t)m->n * sizeof *v, "counts of ranks"), sum = 0;
    size_t *at = cr_alloc(((size_t)m->n + 1) * sizeof *at, "counts of ranks");
    for (int h = 0; h <= m->n; h++)
        at[h] = (size_t)h * sizeof *v;
    v[m->self] = mine;
    m->gather(m->ctx, v, at);
    for (int h = 0; h < m->n; h++)
        sum += v[h];
    cr_free(v);
    cr_free(at);
    return sum;
}

static cr_code reported(const cr_job *j, cr_code code, const cr_err *err, cr_diag *diag) {
    if (code != CR_OK) (void)cr_diag_err(diag, err);
    return cr_job_agree(j, code, NULL);
}

cr_code cr_text_model_save(cr_job *j, const char *path, cr_ctr_mode mode, int64_t files,
                           int64_t *rows, cr_diag *diag) {
    cr_model *m = j->model;
    cr_arena a;
    cr_err err;
    cr_outdir *d = NULL;
    cr_code code = CR_OK;
    int64_t mine = 0, n = 0;
    bool first = cr_job_is_first(j);
    cr_arena_init(&a, 0);
    if (first) code = open_dir(j, path, &d, &a, &err);
    code = reported(j, code, &err, diag);
    if (code == CR_OK) {
        char *tmp = share_path(j, d ? cr_outdir_tmp(d) : NULL, &a);
        cr_code own = first ? save_dense(j, cr_path_join(&a, tmp, DENSE), &err) : CR_OK;
        for (int i = 0, k = 1; i < m->n_tables; i++) {
            if (!has_rows(m->tables[i])) continue;
            cr_err why;
            cr_code one = cr_ctr_files_save(j, m->tables[i], mode, files,
                                            cr_arena_printf(&a, "%s/%03d", tmp, k++), &n, &why);
            if (one != CR_OK && own == CR_OK) cr_err_copy(&err, &why);
            if (own == CR_OK) own = one;
            mine += n;
        }
        code = reported(j, own, &err, diag);
    }
    cr_kill_point("text_model");
    if (first && d && code != CR_OK) cr_outdir_abort(d);
    if (code == CR_OK) code = reported(j, first ? cr_outdir_commit(d, &err) : CR_OK, &err, diag);
    *rows = add_up(j, mine);
    for (int i = 0; code == CR_OK && i < m->n_tables; i++) {
        cr_grow *g = has_rows(m->tables[i]) ? m->tables[i]->table.owner->grow : NULL;
        if (g) cr_grow_noted(g, mode);
    }
    cr_arena_clear(&a);
    return code;
}

cr_code cr_text_model_shrink(cr_job *j, int64_t *gone, int64_t *left, cr_err *err) {
    cr_model *m = j->model;
    int64_t mine[2] = {0, 0};
    for (int i = 0; i < m->n_tables; i++) {
        cr_grow *g = has_rows(m->tables[i]) ? m->tables[i]->table.owner->grow : NULL;
        int64_t n = 0;
        if (!g) continue;
        CR_TRY(cr_job_alone(j, cr_grow_shrink(g, &n, err), err));
        mine[0] += n;
        mine[1] += cr_grow_rows(g);
    }
    *gone = add_up(j, mine[0]);
    *left = add_up(j, mine[1]);
    return CR_OK;
}

/* ---- loading ---- */

static cr_node *find_dense(const cr_graph *g, const char *name, size_t n) {
    for (int i = 0; i < g->n; i++)
        if (is_dense(g->nodes[i]) && strlen(g->nodes[i]->name) == n &&
            memcmp(g->nodes[i]->name, name, n) == 0)
            return g->nodes[i];
    return NULL;
}

/* Takes the next word of a line. */
static const char *next_word(const char **p, const char *end, size_t *n) {
    const char *from = *p, *blank = memchr(from, ' ', (size_t)(end - from));
    *n = (size_t)((blank ? blank : end) - from);
    *p = blank ? blank + 1 : end;
    return from;
}

static cr_code take_dense(const cr_graph *g, const char *p, const char *end, cr_loc at, bool *seen,
                          cr_err *err) {
    size_t n;
    const char *name = next_word(&p, end, &n);
    int64_t width = -1;
    cr_node *node = find_dense(g, name, n);
    if (!node)
        return cr_fail_at(err, CR_EDATA, at,
                          "the model has no dense parameter '%.*s'; the folder is of another model",
                          (int)(n < 200 ? n : 200), name);
    const char *word = next_word(&p, end, &n);
    if (!cr_parse_i64(word, n, &width) || width != node->width)
        return cr_fail_at(err, CR_EDATA, at,
                          "'%s' has %.*s numbers here and %lld in the model; the folder is of "
                          "another model",
                          node->name, (int)(n < 30 ? n : 30), word, (long long)node->width);
    for (int64_t k = 0; k < width; k++) {
        double x;
        word = next_word(&p, end, &n);
        if (!cr_parse_f64(word, n, &x) || !isfinite((float)x))
            return cr_fail_at(err, CR_EDATA, at, "number %lld of '%s' is '%.*s'", (long long)k + 1,
                              node->name, (int)(n < 30 ? n : 30), word);
        node->w[k] = (float)x;
    }
    for (int i = 0; i < g->n; i++)
        seen[i] |= g->nodes[i] == node;
    return CR_OK;
}

static cr_code load_dense(const cr_job *j, const char *path, cr_err *err) {
    const cr_graph *g = &j->model->graph;
    cr_buf b;
    bool *seen = cr_alloc((size_t)g->n + 1, "dense parameters");
    cr_buf_init(&b);
    cr_code code = cr_file_read(path, MOST, &b, err);
    const char *p = b.data, *stop = p + (code == CR_OK ? b.n : 0);
    for (int line = 1; code == CR_OK && p < stop; line++) {
        const char *end = memchr(p, '\n', (size_t)(stop - p));
        if (!end) end = stop;
        code = take_dense(g, p, end, (cr_loc){path, line, 0}, seen, err);
        p = end + 1;
    }
    for (int i = 0; code == CR_OK && i < g->n; i++)
        if (is_dense(g->nodes[i]) && !seen[i])
            code = cr_fail_at(err, CR_EDATA, ((cr_loc){path, 0, 0}),
                              "has no dense parameter '%s'; the folder is of another model",
                              g->nodes[i]->name);
    cr_buf_clear(&b);
    cr_free(seen);
    return code;
}

cr_code cr_text_model_load(cr_job *j, const char *path, int64_t files, cr_diag *diag) {
    cr_model *m = j->model;
    cr_arena a;
    cr_err err;
    cr_arena_init(&a, 0);
    cr_code code = load_dense(j, cr_path_join(&a, path, DENSE), &err);
    for (int i = 0, k = 1; code == CR_OK && i < m->n_tables; i++)
        if (has_rows(m->tables[i]))
            code = cr_ctr_files_load(m->tables[i], files, cr_arena_printf(&a, "%s/%03d", path, k++),
                                     &err);
    cr_arena_clear(&a);
    return code == CR_OK ? CR_OK : cr_diag_err(diag, &err);
}
