/*
 * details.c - what the tables of the page show: the list of runs, all about one run, and what
 * differs between two.
 */
#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/secret.h"
#include "board/board_int.h"
#include "ckpt/ckpt.h"
#include "conf/conf.h"
#include "job/config.h"

#define MAX_TEXT ((size_t)4 << 20) /* most bytes of a config or of notes */
#define MAX_NEST 48                /* deepest nesting in a line of a log that is passed on */

/* ---- values ---- */

/* Writes the last values of a track, without the names that `skip` has. */
static void put_last(cr_jw *w, const cr_track *t, const cr_track *skip) {
    cr_arena a;
    cr_arena_init(&a, 0);
    for (int i = 0; i < t->n_c; i++) {
        const cr_map_entry *e = &t->names.entries[i];
        if (skip && cr_track_find(skip, e->key, e->len)) continue;
        cr_jw_f64(w, cr_arena_strndup(&a, e->key, e->len), t->c[i].last);
    }
    cr_arena_clear(&a);
}

/* Is the value nested no deeper than the writer can go? */
static bool nests(const cr_json *j, int depth) {
    const char *key;
    const cr_json *val;
    bool ok = depth < MAX_NEST;
    for (void *it = NULL; ok && cr_json_is_obj(j) && cr_json_next(j, &it, &key, &val);)
        ok = nests(val, depth + 1);
    for (size_t k = 0; ok && cr_json_is_arr(j) && k < cr_json_len(j); k++)
        ok = nests(cr_json_at(j, k), depth + 1);
    return ok;
}

/* Writes a value that was read from a file. */
static void put_json(cr_jw *w, const char *name, const cr_json *j) {
    const char *key;
    const cr_json *val;
    int64_t i;
    double x;
    bool yes;
    if (cr_json_is_obj(j)) {
        cr_jw_obj(w, name);
        for (void *it = NULL; cr_json_next(j, &it, &key, &val);)
            put_json(w, key, val);
        cr_jw_end(w);
    } else if (cr_json_is_arr(j)) {
        cr_jw_arr(w, name);
        for (size_t k = 0; k < cr_json_len(j); k++)
            put_json(w, NULL, cr_json_at(j, k));
        cr_jw_end(w);
    } else if (cr_json_bool(j, &yes)) {
        cr_jw_bool(w, name, yes);
    } else if (cr_json_i64(j, &i)) {
        cr_jw_i64(w, name, i);
    } else if (cr_json_f64(j, &x)) {
        cr_jw_f64(w, name, x);
    } else {
        cr_jw_str(w, name, cr_json_str(j)); /* of null there is no text: null */
    }
}

static void put_line(cr_jw *w, const char *name, const cr_log_file *l, cr_line_at at) {
    cr_buf b;
    cr_json *j = NULL;
    cr_buf_init(&b);
    if (cr_log_text(l, at, &b) && cr_json_parse(&j, b.data, b.n, NULL) == CR_OK && nests(j, 0))
        put_json(w, name, j);
    else
        cr_jw_str(w, name, NULL);
    cr_json_free(j);
    cr_buf_clear(&b);
}

static void put_file(cr_jw *w, const char *name, const char *dir, const char *file) {
    cr_arena a;
    cr_buf b;
    cr_arena_init(&a, 0);
    cr_buf_init(&b);
    const char *path = cr_path_join(&a, dir, file);
    bool ok = cr_path_exists(path) && cr_file_read(path, MAX_TEXT, &b, NULL) == CR_OK &&
              memchr(b.data, 0, b.n) == NULL;
    cr_jw_str(w, name, ok ? cr_masked(&a, b.data) : NULL);
    cr_buf_clear(&b);
    cr_arena_clear(&a);
}

/* ---- the list ---- */

static void put_summary(const cr_board *b, int i, cr_jw *w) {
    const cr_run *r = b->runs[i];
    const cr_log_tip *tip = cr_log_at(&r->log);
    cr_jw_obj(w, NULL);
    cr_jw_i64(w, "run", i);
    cr_jw_str(w, "id", r->id);
    cr_jw_str(w, "project", r->project);
    cr_jw_str(w, "experiment", r->experiment);
    cr_jw_str(w, "state", cr_run_state_name(r->state));
    cr_jw_f64(w, "started", r->log.started);
    cr_jw_f64(w, "time", tip->time);
    cr_jw_i64(w, "step", tip->step);
    cr_jw_f64(w, "rows", tip->rows);
    cr_jw_i64(w, "lines", r->log.n_lines);
    /* the share of the log that has been read */
    cr_jw_f64(w, "read",
              r->log.has_samples ? round(1e3 * (double)r->log.read / (double)r->log.size) / 1e3
                                 : 1);
    cr_jw_i64(w, "bad", r->log.n_bad);
    cr_jw_i64(w, "first_bad", r->log.first_bad);
    cr_jw_i64(w, "ranks", r->n_ranks + 1);
    cr_jw_obj(w, "last");
    const cr_track *train = cr_log_track(&r->log, CR_LINE_TRAIN);
    put_last(w, train, NULL);
    put_last(w, cr_log_track(&r->log, CR_LINE_EVAL), train);
    cr_jw_end(w);
    cr_jw_end(w);
}

void cr_board_list(const cr_board *b, uint64_t since, cr_jw *w) {
    cr_jw_arr(w, "runs");
    for (int i = 0; i < b->n; i++)
        if (b->runs[i]->version > since) put_summary(b, i, w);
    cr_jw_end(w);
}

/* ---- one run ---- */

/* A line of the results, and whether its step has a checkpoint. */
typedef struct results {
    cr_jw *w;
    const int64_t *steps;
    int n;
    bool *seen; /* one per checkpoint */
} results;

static cr_code put_result(void *ctx, const cr_json *j, const char *line, size_t n, cr_loc at,
                          cr_err *err) {
    results *r = ctx;
    int64_t step = -1;
    bool saved = false;
    (void)at;
    (void)err;
    (void)line;
    (void)n;
    if (!cr_json_i64(cr_json_get(j, "global_step"), &step)) return CR_OK;
    for (int i = 0; i < r->n; i++)
        if (r->steps[i] == step) r->seen[i] = saved = true;
    cr_jw_obj(r->w, NULL);
    cr_jw_i64(r->w, "step", step);
    cr_jw_bool(r->w, "saved", saved);
    if (nests(j, 0)) put_json(r->w, "metrics", j);
    cr_jw_end(r->w);
    return CR_OK;
}

static void put_checkpoints(const cr_run *run, cr_jw *w) {
    cr_arena a;
    int64_t *steps = NULL;
    int n = 0;
    cr_arena_init(&a, 0);
    if (cr_ckpt_steps(&a, run->dir, &steps, &n, NULL) != CR_OK) n = 0;
    results r = {w, steps, n, CR_NEW_N(&a, bool, n + 1)};
    cr_jw_arr(w, "checkpoints");
    (void)!cr_ckpt_results_each(run->dir, put_result, &r, NULL); /* a model_dir may have none */
    for (int i = 0; i < n; i++) {
        if (r.seen[i]) continue;
        cr_jw_obj(w, NULL);
        cr_jw_i64(w, "step", steps[i]);
        cr_jw_bool(w, "saved", true);
        cr_jw_end(w);
    }
    cr_jw_end(w);
    cr_arena_clear(&a);
}

void cr_board_details(const cr_board *b, const cr_run *r, cr_jw *w) {
    const cr_log_tip *tip = cr_log_at(&r->log);
    (void)b;
    cr_jw_str(w, "id", r->id);
    cr_jw_str(w, "dir", r->dir);
    put_line(w, "start", &r->log, tip->start);
    put_line(w, "end", &r->log, tip->end);
    put_line(w, "features", &r->log, tip->features);
    put_file(w, "config", r->dir, "pipeline.config");
    put_file(w, "notes", r->dir, CR_RUN_NOTES);
    put_checkpoints(r, w);
    cr_board_why(r, w);
}

/* ---- two runs ---- */

static void put_key(void *ctx, const char *path, const char *a, const char *b) {
    cr_jw *w = ctx;
    if (strcmp(path, "model_dir") == 0) return; /* two runs always have two different ones */
    cr_arena arena;
    cr_arena_init(&arena, 0);
    cr_jw_obj(w, NULL);
    cr_jw_str(w, "key", path);
    cr_jw_str(w, "a", a ? cr_masked(&arena, a) : NULL);
    cr_jw_str(w, "b", b ? cr_masked(&arena, b) : NULL);
    cr_jw_end(w);
    cr_arena_clear(&arena);
}

static void diff_config(const cr_run *x, const cr_run *y, cr_jw *w) {
    const cr_run *r[2] = {x, y};
    const char *trouble = NULL;
    cr_config c[2];
    cr_diag quiet;
    cr_arena a;
    cr_arena_init(&a, 0);
    cr_diag_init(&quiet);
    for (int i = 0; i < 2; i++) {
        cr_config_opts o = {.path = cr_path_join(&a, r[i]->dir, "pipeline.config")};
        if (cr_config_load(&c[i], &o, &quiet) != CR_OK && !trouble) trouble = r[i]->id;
    }
    cr_jw_arr(w, "config");
    if (!trouble) cr_conf_diff(c[0].root, c[1].root, put_key, w);
    cr_jw_end(w);
    cr_jw_str(w, "trouble", trouble); /* the run whose config cannot be read */
    for (int i = 0; i < 2; i++)
        cr_config_clear(&c[i]);
    cr_diag_clear(&quiet);
    cr_arena_clear(&a);
}

void cr_board_diff(const cr_run *x, const cr_run *y, cr_jw *w) {
    static const cr_line_event kinds[] = {CR_LINE_TRAIN, CR_LINE_EVAL};
    diff_config(x, y, w);
    cr_arena a;
    cr_arena_init(&a, 0);
    cr_jw_arr(w, "metrics");
    for (int k = 0; k < 2; k++) {
        const cr_track *t = cr_log_track(&x->log, kinds[k]), *u = cr_log_track(&y->log, kinds[k]);
        for (int i = 0; i < t->n_c + u->n_c; i++) {
            const cr_map_entry *e =
                i < t->n_c ? &t->names.entries[i] : &u->names.entries[i - t->n_c];
            const cr_track_col *p = cr_track_find(t, e->key, e->len),
                               *q = cr_track_find(u, e->key, e->len);
            if (i >= t->n_c && p) continue; /* it has come before */
            cr_jw_obj(w, NULL);
            cr_jw_str(w, "key", cr_arena_strndup(&a, e->key, e->len));
            cr_jw_f64(w, "a", p ? p->last : NAN);
            cr_jw_f64(w, "b", q ? q->last : NAN);
            cr_jw_end(w);
        }
    }
    cr_jw_end(w);
    cr_arena_clear(&a);
}
