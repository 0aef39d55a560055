/*
 * diff_runs.c - see diff.h. It reads the files that training leaves in a model_dir: the config, the
 * log of the steps, and the metrics of the evaluations.
 */
#include "cli/diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "conf/conf.h"

#define MAX_LOG  ((size_t)1 << 30)
#define JSON_LOG "train_log.jsonl"

/* ---- logs ---- */

/* One number of a log: the value of `key` at `step`. */
typedef struct point {
    int64_t step;
    const char *key;
    double value;
    int line; /* the later line of a step counts, because a run that went on repeats some steps */
} point;
typedef struct series {
    point *v;
    int n, cap;
} series;

static void add_point(cr_arena *a, series *s, int64_t step, const char *key, double value,
                      int line) {
    if (s->n == s->cap) {
        int cap = s->cap ? 2 * s->cap : 256;
        point *v = CR_NEW_N(a, point, cap);
        if (s->n) memcpy(v, s->v, sizeof *v * (size_t)s->n);
        s->v = v;
        s->cap = cap;
    }
    s->v[s->n++] = (point){step, cr_arena_strdup(a, key), value, line};
}

static int by_step(const void *a, const void *b) {
    const point *x = a, *y = b;
    if (x->step != y->step) return x->step < y->step ? -1 : 1;
    int k = strcmp(x->key, y->key);
    return k ? k : x->line - y->line;
}

/* Two equal runs have their losses and metrics in common, not their speeds and times. */
static bool comparable(const char *key, bool json_log) {
    if (!json_log) return strcmp(key, "global_step") != 0;
    return strncmp(key, "train.loss", 10) == 0 ||
           (strncmp(key, "val.", 4) == 0 && strcmp(key, "val.ips") != 0);
}

typedef struct log_reader {
    cr_arena *arena;
    series *out;
    bool json_log;
} log_reader;

static cr_code take_line(void *ctx, const cr_json *j, const char *line, size_t n, cr_loc at,
                         cr_err *err) {
    (void)line;
    (void)n;
    (void)err;
    const log_reader *r = ctx;
    int64_t step;
    const char *key;
    const cr_json *val;
    double x;
    if (!cr_json_i64(cr_json_get(j, r->json_log ? "step" : "global_step"), &step)) return CR_OK;
    for (void *it = NULL; cr_json_next(j, &it, &key, &val);)
        if (comparable(key, r->json_log) && cr_json_f64(val, &x))
            add_point(r->arena, r->out, step, key, x, at.line);
    return CR_OK;
}

/* Reads the numbers of a log by step: those of JSON_LOG, else the results of evaluations. A file
 * that does not exist, or that crank did not write, has none. */
static void read_log(cr_arena *a, const char *dir, bool json_log, series *out) {
    log_reader r = {a, out, json_log};
    cr_err err; /* a file that cannot be read is not compared */
    *out = (series){0};
    if (json_log) {
        const char *path = cr_path_join(a, dir, JSON_LOG);
        cr_buf text;
        cr_buf_init(&text);
        if (cr_path_exists(path) && cr_file_read(path, MAX_LOG, &text, &err) == CR_OK)
            (void)!cr_json_lines(path, &text, take_line, &r, &err);
        cr_buf_clear(&text);
    } else {
        (void)!cr_ckpt_results_each(dir, take_line, &r, &err);
    }
    if (out->n) qsort(out->v, (size_t)out->n, sizeof *out->v, by_step);
    int m = 0; /* of equal points the last one stays */
    for (int i = 0; i < out->n; i++) {
        bool again = i + 1 < out->n && out->v[i].step == out->v[i + 1].step &&
                     strcmp(out->v[i].key, out->v[i + 1].key) == 0;
        if (!again) out->v[m++] = out->v[i];
    }
    out->n = m;
}

static bool compare_logs(cr_arena *arena, const char *dir_a, const char *dir_b, bool json_log,
                         cr_diff_parting *out) {
    series a, b;
    read_log(arena, dir_a, json_log, &a);
    read_log(arena, dir_b, json_log, &b);
    *out = (cr_diff_parting){.last_same = -1, .step = -1};
    int64_t before = -1; /* the step before last_same */
    for (int i = 0, k = 0; i < a.n && k < b.n && !out->differs;) {
        point *x = &a.v[i], *y = &b.v[k];
        int order = x->step != y->step ? (x->step < y->step ? -1 : 1) : strcmp(x->key, y->key);
        i += order <= 0;
        k += order >= 0;
        if (order != 0) continue;
        out->file = json_log ? JSON_LOG : CR_CKPT_RESULTS;
        out->differs = x->value != y->value;
        if (out->differs) {
            out->step = x->step;
            out->key = x->key;
            out->a = x->value;
            out->b = y->value;
        } else if (x->step != out->last_same) {
            before = out->last_same;
            out->last_same = x->step;
        }
    }
    if (out->differs && out->last_same == out->step)
        out->last_same = before; /* another key of this step is different */
    return out->file != NULL;
}

cr_diff_parting cr_diff_logs(cr_arena *arena, const cr_ckpt *a, const cr_ckpt *b) {
    cr_diff_parting train, eval;
    const char *da = cr_path_dir(arena, cr_ckpt_path(a)), *db = cr_path_dir(arena, cr_ckpt_path(b));
    if (strcmp(da, db) == 0) return (cr_diff_parting){0};
    bool has_train = compare_logs(arena, da, db, true, &train);
    bool has_eval = compare_logs(arena, da, db, false, &eval);
    if (!has_train) return eval;
    if (has_eval && eval.differs && (!train.differs || eval.step < train.step)) return eval;
    return train;
}

/* ---- rows ---- */

static cr_diff_row *add_row(cr_arena *a, cr_diff_rows *l, const char *name) {
    if (l->n == l->cap) {
        int cap = l->cap ? 2 * l->cap : 16;
        cr_diff_row *v = CR_NEW_N(a, cr_diff_row, cap);
        if (l->n) memcpy(v, l->v, sizeof *v * (size_t)l->n);
        l->v = v;
        l->cap = cap;
    }
    cr_diff_row *r = &l->v[l->n++];
    *r = (cr_diff_row){.name = cr_arena_strdup(a, name), .x = NAN, .y = NAN};
    return r;
}

/* ---- metrics ---- */

/* Returns the last number of every key up to `step`, sorted by key. */
static series last_of(cr_arena *a, const series *all, int64_t step) {
    series out = {0};
    for (int i = 0; i < all->n; i++) {
        const point *p = &all->v[i];
        if (p->step > step) break;
        int k = 0;
        while (k < out.n && strcmp(out.v[k].key, p->key) != 0)
            k++;
        if (k < out.n)
            out.v[k] = *p;
        else
            add_point(a, &out, p->step, p->key, p->value, p->line);
    }
    return out;
}

/* Returns what was measured at a checkpoint: its evaluation, or the last one before it, and then
 * the losses. */
static series measured(cr_arena *a, const cr_ckpt *c) {
    const cr_ckpt_state *state = cr_ckpt_get_state(c);
    series log, evals, out = {0};
    if (!state) return out; /* an export does not say when it was made */
    const char *dir = cr_path_dir(a, cr_ckpt_path(c));
    read_log(a, dir, false, &evals);
    read_log(a, dir, true, &log);
    out = last_of(a, &evals, state->step);
    log = last_of(a, &log, state->step);
    for (int i = 0; i < log.n; i++)
        if (strncmp(log.v[i].key, "train.", 6) == 0)
            add_point(a, &out, log.v[i].step, log.v[i].key, log.v[i].value, 0);
    return out;
}

static const point *find_point(const series *s, const char *key) {
    for (int i = 0; i < s->n; i++)
        if (strcmp(s->v[i].key, key) == 0) return &s->v[i];
    return NULL;
}

cr_diff_rows cr_diff_metrics(cr_arena *arena, const cr_ckpt *ca, const cr_ckpt *cb) {
    cr_diff_rows out = {0};
    series a = measured(arena, ca), b = measured(arena, cb);
    out.compared = a.n && b.n;
    for (int i = 0; out.compared && i < a.n; i++) {
        const point *y = find_point(&b, a.v[i].key);
        if (y && y->value == a.v[i].value) {
            out.n_equal++;
            continue;
        }
        cr_diff_row *r = add_row(arena, &out, a.v[i].key);
        r->x = a.v[i].value;
        if (y) r->y = y->value;
    }
    for (int i = 0; out.compared && i < b.n; i++)
        if (!find_point(&a, b.v[i].key)) add_row(arena, &out, b.v[i].key)->y = b.v[i].value;
    return out;
}

/* ---- configs ---- */

typedef struct keys {
    cr_arena *arena;
    cr_diff_rows *rows;
} keys;

static void on_key(void *ctx, const char *path, const char *a, const char *b) {
    keys *k = ctx;
    if (strcmp(path, "model_dir") == 0) return; /* two runs always have two different ones */
    cr_diff_row *r = add_row(k->arena, k->rows, path);
    if (a) r->a = cr_arena_strdup(k->arena, a);
    if (b) r->b = cr_arena_strdup(k->arena, b);
}

/* Returns the config in an export or beside a checkpoint; NULL: there is none. */
static const char *config_of(cr_arena *a, const cr_ckpt *c) {
    const char *path = cr_ckpt_path(c), *at[] = {path, cr_path_dir(a, path)};
    for (int i = 0; i < 2; i++) {
        const char *config = cr_path_join(a, at[i], "pipeline.config");
        if (cr_path_exists(config)) return config;
    }
    return NULL;
}

cr_diff_rows cr_diff_config(cr_arena *arena, const cr_ckpt *ca, const cr_ckpt *cb) {
    cr_diff_rows out = {0};
    const char *path[2] = {config_of(arena, ca), config_of(arena, cb)};
    if (!path[0] || !path[1] || strcmp(path[0], path[1]) == 0) return out;
    cr_config c[2];
    cr_diag quiet;
    cr_diag_init(&quiet);
    for (int i = 0; i < 2; i++) {
        cr_config_opts o = {.path = path[i]};
        if (cr_config_load(&c[i], &o, &quiet) != CR_OK && !out.trouble) out.trouble = path[i];
    }
    out.compared = !out.trouble;
    if (out.compared) cr_conf_diff(c[0].root, c[1].root, on_key, &(keys){arena, &out});
    for (int i = 0; i < 2; i++)
        cr_config_clear(&c[i]);
    cr_diag_clear(&quiet);
    return out;
}
