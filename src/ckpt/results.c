/*
 * results.c - train_eval_result_v2.txt of a model_dir: a line of JSON per evaluation of a training,
 * {"global_step": 1000, "auc": 0.7, ...}. It decides which checkpoint is best and when training
 * stops early. So a run that continues first restores the file to its state at the checkpoint: a
 * kill may have left half a line, or lines of steps that will be trained again.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "ckpt/ckpt_int.h"

static cr_code read_text(cr_arena *a, const char *model_dir, char **path, cr_buf *text,
                         cr_err *err) {
    *path = cr_path_join(a, model_dir, CR_CKPT_RESULTS);
    return cr_path_exists(*path) ? cr_file_read(*path, CKPT_SMALL, text, err) : CR_OK;
}

cr_code cr_ckpt_results_each(const char *model_dir, cr_json_line_fn fn, void *ctx, cr_err *err) {
    cr_arena a;
    cr_buf text;
    char *path;
    cr_arena_init(&a, 0);
    cr_buf_init(&text);
    cr_code code = read_text(&a, model_dir, &path, &text, err);
    if (code == CR_OK) code = cr_json_lines(path, &text, fn, ctx, err);
    cr_buf_clear(&text);
    cr_arena_clear(&a);
    return code;
}

/* ---- cutting ---- */

typedef struct line {
    int64_t step;
    size_t number; /* its number in the file: if a step has several lines, the last one counts */
    const char *text;
    size_t n;
} line;

typedef struct lines {
    line *v;
    size_t n, cap;
    int64_t last; /* the last step; later ones are left out */
} lines;

static cr_code keep_line(void *ctx, const cr_json *j, const char *text, size_t n, cr_loc at,
                         cr_err *err) {
    (void)at;
    (void)err;
    lines *l = ctx;
    line x = {.number = l->n, .text = text, .n = n};
    if (!cr_json_i64(cr_json_get(j, "global_step"), &x.step) || x.step > l->last) return CR_OK;
    if (l->n == l->cap) {
        size_t cap = l->cap ? 2 * l->cap : 64;
        l->v = cr_realloc(l->v, sizeof *l->v * l->cap, sizeof *l->v * cap, "results");
        l->cap = cap;
    }
    l->v[l->n++] = x;
    return CR_OK;
}

static int by_step(const void *a, const void *b) {
    const line *x = a, *y = b;
    if (x->step != y->step) return x->step < y->step ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

cr_code cr_ckpt_results_cut(const char *model_dir, int64_t step, cr_err *err) {
    cr_arena a;
    cr_buf text, out;
    char *path;
    lines l = {.last = step};
    cr_arena_init(&a, 0);
    cr_buf_init(&text);
    cr_buf_init(&out);
    cr_code code = read_text(&a, model_dir, &path, &text, err);
    if (code == CR_OK) code = cr_json_lines(path, &text, keep_line, &l, err);
    if (l.n > 0) qsort(l.v, l.n, sizeof *l.v, by_step);
    for (size_t i = 0; i < l.n; i++) {
        if (i + 1 < l.n && l.v[i + 1].step == l.v[i].step) continue;
        cr_buf_add(&out, l.v[i].text, l.v[i].n);
        cr_buf_char(&out, '\n');
    }
    if (code == CR_OK &&
        (out.n != text.n || (out.n > 0 && memcmp(out.data, text.data, out.n) != 0))) {
        CR_INFO("%s: evaluations of steps that are not in the checkpoint are taken out", path);
        code = out.n > 0 ? cr_file_write(path, out.data, out.n, err) : cr_rmtree(path, err);
    }
    cr_free(l.v);
    cr_buf_clear(&text);
    cr_buf_clear(&out);
    cr_arena_clear(&a);
    return code;
}

/* ---- one step ---- */

typedef struct wanted {
    cr_arena *a;
    int64_t step; /* -1: that of the last line */
    cr_ckpt_metric *v;
    int n; /* -1: there is no line */
    bool any;
} wanted;

static cr_code take_line(void *ctx, const cr_json *j, const char *text, size_t n, cr_loc at,
                         cr_err *err) {
    (void)text;
    (void)n;
    (void)at;
    (void)err;
    wanted *w = ctx;
    int64_t step;
    const char *key;
    const cr_json *val;
    w->any = true;
    if (!cr_json_i64(cr_json_get(j, "global_step"), &step)) return CR_OK;
    if (w->step >= 0 && step != w->step) return CR_OK;
    w->v = CR_NEW_N(w->a, cr_ckpt_metric, cr_json_len(j) + 1);
    w->n = 0;
    for (void *it = NULL; cr_json_next(j, &it, &key, &val);) {
        double x;
        if (strcmp(key, "global_step") == 0) continue;
        if (!cr_json_f64(val, &x)) x = NAN;
        w->v[w->n++] = (cr_ckpt_metric){cr_arena_strdup(w->a, key), x};
    }
    return CR_OK;
}

cr_code cr_ckpt_results_find(cr_arena *a, const char *model_dir, int64_t step, cr_ckpt_metric **out,
                             int *n, bool *any, cr_err *err) {
    wanted w = {.a = a, .step = step, .n = -1};
    CR_TRY(cr_ckpt_results_each(model_dir, take_line, &w, err));
    *out = w.v;
    *n = w.n;
    *any = w.any;
    return CR_OK;
}

/* ---- against the checkpoints ---- */

/* Finds a metric that has another value in the checkpoint; NULL: all are equal. */
static const cr_ckpt_metric *other_metric(const cr_ckpt_state *s, const cr_ckpt_metric *v, int n,
                                          double *kept) {
    for (int i = 0; i < n; i++)
        for (int k = 0; k < s->n_metrics; k++) {
            if (strcmp(s->metrics[k].name, v[i].name) != 0) continue;
            *kept = s->metrics[k].value;
            if (*kept != v[i].value && !(isnan(*kept) && isnan(v[i].value))) return &v[i];
        }
    return NULL;
}

cr_code cr_ckpt_results_check(const char *model_dir, cr_sev sev, cr_diag *diag) {
    cr_arena a;
    int64_t *steps;
    int n_steps, n;
    cr_err err;
    cr_arena_init(&a, 0);
    const char *path = cr_path_join(&a, model_dir, CR_CKPT_RESULTS);
    cr_code code = cr_ckpt_steps(&a, model_dir, &steps, &n_steps, &err);
    for (int i = 0; code == CR_OK && i < n_steps; i++) {
        cr_ckpt_state s;
        cr_ckpt_metric *v;
        double kept;
        bool any;
        const char *dir =
            cr_path_join(&a, model_dir, cr_arena_printf(&a, CKPT_PREFIX "%" PRId64, steps[i]));
        if (cr_ckpt_read_state(&a, dir, &s, NULL) != CR_OK) continue; /* it is reported elsewhere */
        code = cr_ckpt_results_find(&a, model_dir, steps[i], &v, &n, &any, &err);
        const cr_ckpt_metric *m = code == CR_OK ? other_metric(&s, v, n, &kept) : NULL;
        if (m)
            cr_diag_add(diag, sev, CR_ERUN, cr_ckpt_at_path(path),
                        "says %s %.9g for step %" PRId64 ", but %s says %.9g; correct the file",
                        m->name, m->value, steps[i], cr_path_base(dir), kept);
    }
    if (code != CR_OK) cr_diag_add(diag, CR_SEV_ERROR, err.code, err.at, "%s", err.msg);
    cr_arena_clear(&a);
    return code;
}
