/*
 * choose.c - chooses a checkpoint: the newest whole one, the best one by the result file, or the
 * one at a user's path; also chooses which ones to delete. A directory counts by its name
 * model.ckpt-N. A damaged one is reported and skipped, never taken for whole.
 */
#include "ckpt/ckpt_int.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/map.h"

int64_t cr_ckpt_step_of(const char *name) {
    size_t n = strlen(CKPT_PREFIX);
    int64_t step;
    if (strncmp(name, CKPT_PREFIX, n) != 0 || !isdigit((unsigned char)name[n])) return -1;
    if (name[n] == '0' && name[n + 1]) return -1; /* crank does not write a name such as 007 */
    return cr_parse_i64(name + n, strlen(name + n), &step) ? step : -1;
}

static char *step_path(cr_arena *a, const char *model_dir, int64_t step) {
    return cr_path_join(a, model_dir, cr_arena_printf(a, CKPT_PREFIX "%" PRId64, step));
}

cr_code cr_ckpt_check(const char *ckpt_dir, cr_ckpt_need need, cr_pool *pool, cr_err *err) {
    cr_ckpt *c;
    CR_TRY(need == CR_NEED_WEIGHTS ? cr_ckpt_open_weights(&c, ckpt_dir, err)
                                   : cr_ckpt_open(&c, ckpt_dir, err));
    cr_code code = need == CR_NEED_LIST ? CR_OK : cr_ckpt_verify(c, pool, err);
    if (code == CR_OK && !cr_ckpt_get_state(c))
        code = CKPT_DAMAGED(ckpt_dir, "has no " CKPT_STATE "; the checkpoint is damaged");
    cr_ckpt_close(c);
    return code;
}

cr_code cr_ckpt_read_state(cr_arena *a, const char *ckpt_dir, cr_ckpt_state *s, cr_err *err) {
    cr_manifest *m;
    CR_TRY(cr_manifest_read(&m, ckpt_dir, err));
    cr_code code = cr_ckpt_state_read(a, cr_path_join(a, ckpt_dir, CKPT_STATE), m, s, err);
    cr_manifest_free(m);
    return code;
}

static int by_step(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

cr_code cr_ckpt_steps(cr_arena *a, const char *model_dir, int64_t **steps, int *n, cr_err *err) {
    *steps = NULL;
    *n = 0;
    if (!cr_path_is_dir(model_dir)) return CR_OK;
    char **names;
    size_t n_names;
    CR_TRY(cr_list_dir(a, model_dir, &names, &n_names, err));
    *steps = CR_NEW_N(a, int64_t, n_names + 1);
    for (size_t i = 0; i < n_names; i++) {
        int64_t step = cr_ckpt_step_of(names[i]);
        if (step < 0) continue;
        cr_fs_stat st;
        cr_fs_why why;
        const char *path = cr_path_join(a, model_dir, names[i]);
        int e = cr_fs_stat_path(path, true, &st, &why);
        if (e == 0) {
            if (st.kind == CR_FS_DIR && !cr_ckpt_unfinished(path)) (*steps)[(*n)++] = step;
        } else if (e != ENOENT) {
            return cr_fs_fail(err, path, "read", e, &why);
        }
    }
    qsort(*steps, (size_t)*n, sizeof **steps, by_step);
    return CR_OK;
}

cr_code cr_ckpt_latest(cr_arena *a, const char *model_dir, cr_ckpt_need need, cr_pool *pool,
                       char **path, int64_t *step, cr_err *err) {
    int64_t *steps;
    int n;
    *path = NULL;
    *step = -1;
    CR_TRY(cr_ckpt_steps(a, model_dir, &steps, &n, err));
    for (int i = n - 1; i >= 0; i--) {
        char *p = step_path(a, model_dir, steps[i]);
        cr_err why;
        cr_code code = cr_ckpt_check(p, need, pool, &why);
        if (code == CR_OK) {
            *path = p;
            *step = steps[i];
            return CR_OK;
        }
        /* A checkpoint that cannot be read may be whole; to take older weights instead would be a
         * silent step back. */
        if (code != CR_ERUN)
            return cr_fail_at(err, code, why.at,
                              "%s; or move " CKPT_PREFIX "%" PRId64
                              " away, to use an older checkpoint",
                              why.msg, steps[i]);
        char text[1024];
        /* an older one is used, so the user needs no cure */
        why.msg[strlen(why.msg) - (size_t)why.n_cure] = 0;
        cr_err_text(&why, text, sizeof text);
        CR_WARN("%s; passing over " CKPT_PREFIX "%" PRId64, text, steps[i]);
    }
    if (n > 0)
        return cr_fail_at(
            err, CR_ERUN, cr_ckpt_at_path(model_dir),
            "no whole checkpoint here (%d damaged); copy one back or use a new model_dir", n);
    return CR_OK;
}

/* ---- the best ---- */

typedef struct result {
    int64_t step;
    double value;
} result;

typedef struct best {
    const char *metric; /* NULL: the only metric there is */
    bool larger;
    bool lenient; /* lines without the metric are skipped */
    bool nan;     /* keep results that are not a number */
    result *v;    /* in the order of their first line */
    int n, cap;
    cr_map at;            /* step -> number in v */
    const int64_t *steps; /* steps that have a checkpoint */
    int n_steps;
    int64_t step; /* -1: there is none */
    double value;
    int64_t any_step; /* the same over all evaluations, with or without a checkpoint */
    double any_value;
} best;

static bool better(const best *b, int64_t step, double value, double x) {
    return step < 0 || (b->larger ? x > value : x < value);
}

/* When a step has several evaluations, the last one counts, since an earlier run was cut off
 * there. */
static void put_result(best *b, int64_t step, double x) {
    int64_t i = cr_map_get(&b->at, (const char *)&step, sizeof step, -1);
    if (i >= 0) {
        b->v[i].value = x;
        return;
    }
    if (b->n == b->cap) {
        int cap = b->cap ? 2 * b->cap : 64;
        b->v = cr_realloc(b->v, sizeof *b->v * (size_t)b->cap, sizeof *b->v * (size_t)cap,
                          "results of evaluations");
        b->cap = cap;
    }
    cr_map_put(&b->at, (const char *)&step, sizeof step, b->n);
    b->v[b->n++] = (result){step, x};
}

/* Writes the names of the metrics of a result line, for messages. */
static void metric_names(const cr_json *j, cr_buf *out) {
    const char *key;
    const cr_json *val;
    for (void *it = NULL; cr_json_next(j, &it, &key, &val);) {
        if (strcmp(key, "global_step") == 0) continue;
        if (out->n) cr_buf_str(out, ", ");
        cr_buf_str(out, key);
    }
}

static cr_code best_line(void *ctx, const cr_json *j, const char *line, size_t n, cr_loc at,
                         cr_err *err) {
    (void)line;
    (void)n;
    best *b = ctx;
    int64_t step;
    if (!cr_json_i64(cr_json_get(j, "global_step"), &step))
        return cr_fail_at(err, CR_ERUN, at, "no global_step in this line");
    const cr_json *val = NULL;
    if (b->metric)
        val = cr_json_get(j, b->metric);
    else if (cr_json_len(j) == 2) {
        const char *key;
        for (void *it = NULL; cr_json_next(j, &it, &key, &val);)
            if (strcmp(key, "global_step") != 0) break;
    }
    if (!val && b->lenient) return CR_OK;
    if (!val) {
        cr_buf names;
        cr_buf_init(&names);
        metric_names(j, &names);
        cr_code code =
            b->metric
                ? cr_fail_at(err, CR_ECONF, at,
                             "no metric '%s'; set export_config.best_exporter_metric to one of: %s",
                             b->metric, names.data ? names.data : "")
                : cr_fail_at(
                      err, CR_ECONF, at,
                      "several metrics; set export_config.best_exporter_metric to one of: %s",
                      names.data ? names.data : "");
        cr_buf_clear(&names);
        return code;
    }
    double x;
    if (cr_json_f64(val, &x))
        put_result(b, step, x);
    else if (b->nan) /* null stands for a value that is not a number */
        put_result(b, step, NAN);
    return CR_OK;
}

static cr_code find_best(cr_arena *a, const char *model_dir, best *b, cr_err *err) {
    int64_t *steps;
    b->step = b->any_step = -1;
    CR_TRY(cr_ckpt_steps(a, model_dir, &steps, &b->n_steps, err));
    b->steps = steps;
    cr_map_init(&b->at);
    cr_code code = cr_ckpt_results_each(model_dir, best_line, b, err);
    for (int i = 0; code == CR_OK && i < b->n; i++) {
        const result *r = &b->v[i];
        if (better(b, b->any_step, b->any_value, r->value)) {
            b->any_step = r->step;
            b->any_value = r->value;
        }
        bool saved = b->n_steps > 0 &&
                     bsearch(&r->step, b->steps, (size_t)b->n_steps, sizeof r->step, by_step);
        if (saved && better(b, b->step, b->value, r->value)) {
            b->step = r->step;
            b->value = r->value;
        }
    }
    cr_map_clear(&b->at);
    cr_free(b->v);
    b->v = NULL;
    return code;
}

cr_code cr_ckpt_best_step(const char *model_dir, const char *metric, bool larger_is_better,
                          int64_t *step, cr_err *err) {
    best b = {.metric = metric, .larger = larger_is_better};
    cr_arena a;
    cr_arena_init(&a, 0);
    cr_code code = find_best(&a, model_dir, &b, err);
    *step = b.step;
    cr_arena_clear(&a);
    return code;
}

bool cr_ckpt_best_eval(const char *model_dir, const char *metric, bool larger_is_better,
                       cr_ckpt_eval *any, cr_ckpt_eval *saved) {
    best b = {.metric = metric, .larger = larger_is_better, .lenient = true};
    cr_arena a;
    cr_arena_init(&a, 0);
    bool found = find_best(&a, model_dir, &b, NULL) == CR_OK && b.any_step >= 0;
    *any = (cr_ckpt_eval){b.any_step, b.any_value};
    *saved = (cr_ckpt_eval){b.step, b.value};
    cr_arena_clear(&a);
    return found;
}

static int by_eval_step(const void *a, const void *b) {
    return by_step(&((const cr_ckpt_eval *)a)->step, &((const cr_ckpt_eval *)b)->step);
}

int cr_ckpt_evals(cr_arena *a, const char *model_dir, const char *metric, cr_ckpt_eval **out) {
    best b = {.metric = metric, .lenient = true, .nan = true};
    cr_map_init(&b.at);
    int n = cr_ckpt_results_each(model_dir, best_line, &b, NULL) == CR_OK ? b.n : 0;
    *out = CR_NEW_N(a, cr_ckpt_eval, n + 1);
    for (int i = 0; i < n; i++)
        (*out)[i] = (cr_ckpt_eval){b.v[i].step, b.v[i].value};
    qsort(*out, (size_t)n, sizeof **out, by_eval_step);
    cr_map_clear(&b.at);
    cr_free(b.v);
    return n;
}

typedef struct like {
    cr_arena *arena;
    const char *prefix, *found;
} like;

static cr_code like_line(void *ctx, const cr_json *j, const char *line, size_t n, cr_loc at,
                         cr_err *err) {
    (void)line, (void)n, (void)at, (void)err;
    like *l = ctx;
    const char *key;
    const cr_json *val;
    for (void *it = NULL; !l->found && cr_json_next(j, &it, &key, &val);)
        if (strncmp(key, l->prefix, strlen(l->prefix)) == 0)
            l->found = cr_arena_strdup(l->arena, key);
    return CR_OK;
}

const char *cr_ckpt_metric_like(cr_arena *a, const char *model_dir, const char *prefix) {
    like l = {a, prefix, NULL};
    return cr_ckpt_results_each(model_dir, like_line, &l, NULL) == CR_OK ? l.found : NULL;
}

cr_code cr_ckpt_best(cr_arena *a, const char *model_dir, const char *metric, bool larger_is_better,
                     cr_ckpt_need need, cr_pool *pool, char **path, int64_t *step, cr_err *err) {
    best b = {.metric = metric, .larger = larger_is_better};
    CR_TRY(find_best(a, model_dir, &b, err));
    if (b.n == 0 || b.n_steps == 0)
        return cr_ckpt_latest(a, model_dir, need, pool, path, step, err);
    if (b.step < 0)
        return cr_fail_at(err, CR_ERUN, cr_ckpt_at_path(model_dir),
                          "none of the %d evaluated steps in " CR_CKPT_RESULTS
                          " has a checkpoint; give --checkpoint_path",
                          b.n);
    *step = b.step;
    *path = step_path(a, model_dir, b.step);
    cr_diag differs; /* a changed digit would choose another checkpoint */
    cr_diag_init(&differs);
    (void)!cr_ckpt_results_check(model_dir, CR_SEV_WARN, &differs);
    for (size_t i = 0; i < differs.n; i++)
        CR_WARN("%s: %s", differs.v[i].at.path, differs.v[i].msg);
    cr_diag_clear(&differs);
    if (b.any_step != b.step)
        CR_WARN("step %lld was better (%g) but has no checkpoint; the best that has one is step "
                "%lld (%g)",
                (long long)b.any_step, b.any_value, (long long)b.step, b.value);
    return cr_ckpt_check(*path, need, pool, err);
}

cr_code cr_ckpt_resolve(cr_arena *a, const char *path, cr_ckpt_need need, cr_pool *pool, char **out,
                        cr_err *err) {
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/')
        len--;
    char *p = cr_arena_strndup(a, path, len);
    *out = p;
    if (!cr_path_exists(p))
        return cr_fail_at(err, CR_EIO, cr_ckpt_at_path(p), "no such checkpoint; check the path");
    if (!cr_path_is_dir(p) || cr_path_exists(cr_path_join(a, p, CKPT_INDEX))) return CR_OK;
    int64_t *steps, step;
    int n;
    CR_TRY(cr_ckpt_steps(a, p, &steps, &n, err));
    if (n > 0) return cr_ckpt_latest(a, p, need, pool, out, &step, err);
    char **names;
    size_t n_names;
    CR_TRY(cr_list_dir(a, p, &names, &n_names, err));
    for (size_t i = 0; i < n_names; i++) {
        size_t k = strlen(names[i]);
        if (k > 12 && strcmp(names[i] + k - 12, ".safetensors") == 0) return CR_OK;
    }
    for (size_t i = 0; i < n_names; i++) {
        const char *dot = strrchr(names[i], '.');
        if ((dot && strcmp(dot, ".metadata") == 0) ||
            cr_path_exists(cr_path_join(a, cr_path_join(a, p, names[i]), ".metadata")))
            return cr_fail_at(err, CR_ERUN, cr_ckpt_at_path(p),
                              "a torch distributed checkpoint, which only torch can read; save its "
                              "tensors as safetensors and give that file");
    }
    return cr_fail_at(err, CR_ERUN, cr_ckpt_at_path(p),
                      "no " CKPT_PREFIX
                      "N and no *.safetensors in it; give a checkpoint directory");
}

void cr_ckpt_delete(const char *model_dir, int64_t step) {
    cr_arena a;
    cr_arena_init(&a, 0);
    char *path = step_path(&a, model_dir, step);
    /* It is moved under a hidden name first, because a kill in the middle must not leave half a
     * checkpoint. */
    char *tmp =
        cr_path_join(&a, model_dir,
                     cr_arena_printf(&a, CKPT_TMP "%s-%d", cr_path_base(path), (int)getpid()));
    cr_err why;
    bool moves = cr_store_moves(path);
    if ((moves && cr_rename(path, tmp, &why) != CR_OK) ||
        cr_ckpt_remove_dir(moves ? tmp : path, &why) != CR_OK) {
        char text[1024];
        cr_err_text(&why, text, sizeof text);
        CR_WARN("cannot delete an old checkpoint: %s", text);
    }
    cr_arena_clear(&a);
}

/* A checkpoint and how good it is; the best comes first, of equal ones the older. */
typedef struct graded {
    int64_t step;
    double badness; /* INFINITY: not evaluated, or not a number */
} graded;

static int by_badness(const void *a, const void *b) {
    const graded *x = a, *y = b;
    if (x->badness != y->badness) return x->badness < y->badness ? -1 : 1;
    return by_step(&x->step, &y->step);
}

cr_code cr_ckpt_prune_worst(const char *model_dir, int64_t keep, const char *metric, bool larger,
                            cr_err *err) {
    cr_arena a;
    cr_ckpt_eval *evals;
    int64_t *steps;
    int n = 0;
    cr_arena_init(&a, 0);
    cr_code code = cr_ckpt_steps(&a, model_dir, &steps, &n, err);
    int n_evals = cr_ckpt_evals(&a, model_dir, metric, &evals);
    graded *v = CR_NEW_N(&a, graded, n + 1);
    for (int i = 0; i < n; i++) {
        v[i] = (graded){steps[i], INFINITY};
        for (int k = 0; k < n_evals; k++)
            if (evals[k].step == steps[i] && !isnan(evals[k].value))
                v[i].badness = larger ? -evals[k].value : evals[k].value;
    }
    qsort(v, (size_t)n, sizeof *v, by_badness);
    for (int i = (int)keep; code == CR_OK && keep > 0 && i < n; i++)
        if (v[i].step != steps[n - 1]) cr_ckpt_delete(model_dir, v[i].step);
    cr_arena_clear(&a);
    return code;
}

cr_code cr_ckpt_prune(const char *model_dir, int64_t keep, int64_t spare, cr_err *err) {
    if (keep <= 0) return CR_OK;
    cr_arena a;
    cr_arena_init(&a, 0);
    int64_t *steps;
    int n;
    cr_code code = cr_ckpt_steps(&a, model_dir, &steps, &n, err);
    for (int i = 0; code == CR_OK && i < n - keep; i++)
        if (steps[i] != spare) cr_ckpt_delete(model_dir, steps[i]);
    cr_arena_clear(&a);
    return code;
}
