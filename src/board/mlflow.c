/*
 * mlflow.c - a run in the file layout of MLflow, so that `mlflow ui` and servers that read such a
 * folder show it:
 *
 *   ROOT/EXPERIMENT_ID/meta.yaml
 *   ROOT/EXPERIMENT_ID/RUN_ID/meta.yaml, metrics/NAME, params/NAME, tags/NAME,
 * artifacts/config.yaml
 *
 * The project is the experiment, the experiment name is the run's name. Both ids are digests of
 * names, so that writing a run again replaces it. Files are made from the log as it is then; a step
 * that a continued run repeated counts once.
 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/file.h"
#include "base/secret.h"
#include "base/sha256.h"
#include "board/board_int.h"
#include "conf/conf.h"
#include "job/config.h"

#define MAX_KEY   250
#define MAX_VALUE 6000
#define MAX_TEXT  ((size_t)1 << 20)

typedef struct point {
    double ms, value;
    int64_t step;
} point;
typedef struct history {
    point *v;
    int64_t n, cap;
} history;

typedef struct writer {
    cr_arena arena;
    const cr_run *run;
    const char *dir; /* of the run in the store */
    cr_map names;    /* of metrics */
    history *h;
    int n_h, cap_h;
    cr_code code;
    cr_err *err;
} writer;

/* ---- files ---- */

/* Files that can be made again are not waited for. */
static void put(writer *w, const char *path, const char *text, size_t n) {
    cr_outfile *f;
    if (w->code != CR_OK) return;
    w->code = cr_mkdirs(cr_path_dir(&w->arena, path), w->err);
    if (w->code == CR_OK) w->code = cr_outfile_open(&f, path, w->err);
    if (w->code != CR_OK) return;
    cr_outfile_no_sync(f);
    w->code = cr_outfile_write(f, text, n, w->err);
    if (w->code == CR_OK)
        w->code = cr_outfile_commit(f, w->err);
    else
        cr_outfile_abort(f);
}

static void put_str(writer *w, const char *folder, const char *name, const char *text) {
    const char *dir = cr_path_join(&w->arena, w->dir, folder);
    size_t n = strlen(text);
    put(w, cr_path_join(&w->arena, dir, name), text, n < MAX_VALUE ? n : MAX_VALUE);
}

/* A name that MLflow accepts: letters, digits and _-. :/ and no way out of the folder. */
static const char *clean(cr_arena *a, const char *s, size_t n) {
    char *out = cr_arena_strndup(a, s, n < MAX_KEY ? n : MAX_KEY);
    bool dots = true, start = true; /* a part of the path of dots only, or empty */
    for (char *p = out;; p++) {
        if (*p == '/' || *p == 0) {
            bool bad = start || dots;
            if (bad && p > out) p[-1] = '_';
            if (bad && *p == '/') *p = '_';
            if (*p == 0) break;
            dots = start = true;
            continue;
        }
        if (!isalnum((unsigned char)*p) && !strchr("_-. :", *p)) *p = '_';
        dots &= *p == '.';
        start = false;
    }
    return *out ? out : "_";
}

/* A text of YAML between quotes. */
static const char *quoted(cr_arena *a, const char *s) {
    cr_buf b;
    cr_buf_init(&b);
    cr_json_escape(&b, s, strlen(s)); /* a JSON text is a YAML text */
    const char *out = cr_arena_strdup(a, b.data);
    cr_buf_clear(&b);
    return out;
}

/* Returns n digits made from the SHA-256 of text; base 10 (n at most 32) or 16. */
static const char *digits_of(cr_arena *a, const char *text, int n, int base) {
    char hex[CR_SHA256_TEXT + 1], *out = CR_NEW_N(a, char, n + 1);
    cr_sha256_text(text, strlen(text), hex);
    for (int i = 0; i < n; i++)
        out[i] = base == 10 ? (char)('0' + (hex[2 * i] + hex[2 * i + 1]) % 10) : hex[i];
    if (base == 10 && out[0] == '0') out[0] = '1';
    return out;
}

/* ---- metrics ---- */

static history *history_of(writer *w, const char *name, size_t n) {
    int64_t i = cr_map_get(&w->names, name, n, -1);
    if (i >= 0) return &w->h[i];
    if (w->n_h == w->cap_h) {
        int cap = w->cap_h ? 2 * w->cap_h : 32;
        w->h = cr_realloc(w->h, sizeof *w->h * (size_t)w->cap_h, sizeof *w->h * (size_t)cap,
                          "metrics of a run");
        w->cap_h = cap;
    }
    (void)cr_map_put(&w->names, name, n, w->n_h);
    w->h[w->n_h] = (history){0};
    return &w->h[w->n_h++];
}

static void add(history *h, point p) {
    while (h->n > 0 && h->v[h->n - 1].step >= p.step)
        h->n--; /* the last line of a step counts */
    if (h->n == h->cap) {
        int64_t cap = h->cap ? 2 * h->cap : 64;
        h->v = cr_realloc(h->v, sizeof *h->v * (size_t)h->cap, sizeof *h->v * (size_t)cap,
                          "values of a metric");
        h->cap = cap;
    }
    h->v[h->n++] = p;
}

static void take_line(void *ctx, const cr_line *l, const char *text, size_t n) {
    writer *w = ctx;
    (void)text;
    (void)n;
    if (l->event == CR_LINE_START) {
        double from = -1;
        for (int i = 0; i < l->n; i++)
            if (l->v[i].n == 9 && memcmp(l->v[i].name, "from_step", 9) == 0 &&
                isfinite(l->v[i].value))
                from = l->v[i].value;
        for (int i = 0; i < w->n_h; i++)
            while (w->h[i].n > 0 && (double)w->h[i].v[w->h[i].n - 1].step > from)
                w->h[i].n--;
    }
    if ((l->event != CR_LINE_TRAIN && l->event != CR_LINE_EVAL) || l->step < 0) return;
    for (int i = 0; i < l->n; i++)
        if (isfinite(l->v[i].value))
            add(history_of(w, l->v[i].name, (size_t)l->v[i].n),
                (point){l->time * 1e3, l->v[i].value, l->step});
}

static void put_metrics(writer *w) {
    const char *dir = cr_path_join(&w->arena, w->dir, "metrics");
    cr_buf b;
    cr_buf_init(&b);
    for (int i = 0; i < w->n_h; i++) {
        const history *h = &w->h[i];
        const cr_map_entry *e = &w->names.entries[i];
        char value[32];
        cr_buf_reset(&b);
        for (int64_t k = 0; k < h->n; k++) {
            cr_buf_i64(&b, isfinite(h->v[k].ms) ? (int64_t)h->v[k].ms : 0);
            cr_buf_char(&b, ' ');
            cr_buf_add(&b, value, cr_fmt_f64(value, h->v[k].value));
            cr_buf_char(&b, ' ');
            cr_buf_i64(&b, h->v[k].step);
            cr_buf_char(&b, '\n');
        }
        if (h->n > 0)
            put(w, cr_path_join(&w->arena, dir, clean(&w->arena, e->key, e->len)), b.data, b.n);
    }
    cr_buf_clear(&b);
}

/* ---- parameters ---- */

/* Features are many and stand in the artifact: a list of a hundred parameters helps nobody. */
static bool is_long(const char *path) {
    return strcmp(path, "feature_configs") == 0 || strcmp(path, "model_config.feature_groups") == 0;
}

static void put_params(writer *w, const char *path, const cr_json *j) {
    const char *key, *s = cr_json_str(j);
    const cr_json *val;
    double x;
    bool yes;
    char text[32];
    if (is_long(path)) return;
    if (cr_json_is_obj(j)) {
        for (void *it = NULL; cr_json_next(j, &it, &key, &val);)
            put_params(w, *path ? cr_arena_printf(&w->arena, "%s.%s", path, key) : key, val);
    } else if (cr_json_is_arr(j)) {
        for (size_t i = 0; i < cr_json_len(j); i++)
            put_params(w, cr_arena_printf(&w->arena, "%s.%zu", path, i), cr_json_at(j, i));
    } else {
        if (!s && cr_json_bool(j, &yes)) s = yes ? "True" : "False";
        if (!s && cr_json_f64(j, &x)) {
            text[cr_fmt_f64(text, x)] = 0;
            s = text;
        }
        put_str(w, "params", clean(&w->arena, path, strlen(path)), s ? s : "None");
    }
}

static void put_config(writer *w) {
    cr_config c;
    cr_diag quiet;
    cr_buf b;
    cr_json *j = NULL;
    cr_diag_init(&quiet);
    cr_buf_init(&b);
    cr_config_opts o = {.path = cr_path_join(&w->arena, w->run->dir, "pipeline.config")};
    if (cr_config_load(&c, &o, &quiet) == CR_OK) { /* a model_dir without one has only metrics */
        cr_conf_print(&b, &cr_root_msg, c.doc.root, CR_SYNTAX_YAML);
        const char *shown = cr_masked(&w->arena, b.data);
        put(w, cr_path_join(&w->arena, w->dir, "artifacts/config.yaml"), shown, strlen(shown));
        cr_buf_reset(&b);
        cr_conf_print(&b, &cr_root_msg, c.doc.root, CR_SYNTAX_JSON);
        shown = cr_masked(&w->arena, b.data);
        if (cr_json_parse(&j, shown, strlen(shown), NULL) == CR_OK) put_params(w, "", j);
        cr_json_free(j);
    }
    cr_config_clear(&c);
    cr_buf_clear(&b);
    cr_diag_clear(&quiet);
}

/* ---- descriptions ---- */

static int status_of(cr_run_state s) {
    switch (s) {
    case CR_RUN_RUNNING: return 1;
    case CR_RUN_FINISHED: return 3;
    case CR_RUN_FAILED: return 4;
    default: return 5;
    }
}

static int64_t ms_of(double seconds) {
    return isfinite(seconds) ? (int64_t)(seconds * 1e3) : 0;
}

static void put_experiment(writer *w, const char *root, const char *id, const char *name) {
    const char *path = cr_arena_printf(&w->arena, "%s/%s/meta.yaml", root, id);
    long long now = 1000LL * (long long)time(NULL);
    if (cr_path_exists(path)) return;
    const char *text =
        cr_arena_printf(&w->arena,
                        "artifact_location: %s\ncreation_time: %lld\nexperiment_id: '%s'\n"
                        "last_update_time: %lld\nlifecycle_stage: active\nname: %s\n",
                        quoted(&w->arena, cr_arena_printf(&w->arena, "%s/%s", root, id)), now, id,
                        now, quoted(&w->arena, name));
    put(w, path, text, strlen(text));
}

static void put_run(writer *w, const char *experiment, const char *id) {
    const cr_run *r = w->run;
    const cr_log_tip *tip = cr_log_at(&r->log);
    const char *user = getenv("USER");
    bool over = r->state != CR_RUN_RUNNING;
    if (!user || !*user) user = "crank";
    const char *end =
        over ? cr_arena_printf(&w->arena, "%lld", (long long)ms_of(tip->time)) : "null";
    const char *text = cr_arena_printf(
        &w->arena,
        "artifact_uri: %s\nend_time: %s\nentry_point_name: ''\nexperiment_id: '%s'\n"
        "lifecycle_stage: active\nrun_id: %s\nrun_name: %s\nsource_name: ''\nsource_type: 4\n"
        "source_version: ''\nstart_time: %lld\nstatus: %d\ntags: []\nuser_id: %s\n",
        quoted(&w->arena, cr_path_join(&w->arena, w->dir, "artifacts")), end, experiment, id,
        quoted(&w->arena, r->experiment), (long long)ms_of(r->log.started), status_of(r->state),
        quoted(&w->arena, user));
    put(w, cr_path_join(&w->arena, w->dir, "meta.yaml"), text, strlen(text));
    put_str(w, "tags", "mlflow.runName", r->experiment);
    put_str(w, "tags", "mlflow.source.name", "crank train");
    put_str(w, "tags", "mlflow.source.type", "LOCAL");
    put_str(w, "tags", "mlflow.user", user);
    put_str(w, "tags", "crank.model_dir", r->dir);
    cr_buf notes;
    cr_buf_init(&notes);
    const char *path = cr_path_join(&w->arena, r->dir, CR_RUN_NOTES);
    if (cr_path_exists(path) && cr_file_read(path, MAX_TEXT, &notes, NULL) == CR_OK)
        put_str(w, "tags", "mlflow.note.content", notes.data);
    cr_buf_clear(&notes);
}

/* The folder as an absolute path, because a server may run elsewhere. */
static const char *absolute(cr_arena *a, const char *path) {
    const cr_store *s = cr_store_of(path);
    char *real = s && s->real ? s->real(path) : NULL;
    const char *out = real ? cr_arena_strdup(a, real) : path;
    free(real);
    return out;
}

cr_code cr_mlflow_write(const char *root, const char *model_dir, char *id, cr_err *err) {
    cr_board *b;
    writer w = {.err = err};
    CR_TRY(cr_mkdirs(root, err));
    CR_TRY(cr_board_open(&b, &model_dir, 1, err));
    cr_arena_init(&w.arena, 0);
    cr_map_init(&w.names);
    while (cr_board_follow(b, 1e9))
        ;
    if (b->n != 1) {
        w.code = cr_fail(err, CR_ERUN,
                         "%s has no " CR_RUN_LOG "; name the model_dir of one training", model_dir);
    } else {
        const cr_run *r = w.run = b->runs[0];
        const char *project = *r->project ? r->project : "crank";
        root = absolute(&w.arena, root);
        const char *exp = digits_of(&w.arena, project, 18, 10);
        const char *own =
            digits_of(&w.arena,
                      cr_arena_printf(&w.arena, "%s\n%lld", absolute(&w.arena, model_dir),
                                      (long long)ms_of(r->log.started)),
                      32, 16);
        w.dir = cr_arena_printf(&w.arena, "%s/%s/%s", root, exp, own);
        memcpy(id, own, 33);
        if (!cr_log_each(&r->log, take_line, &w))
            w.code = cr_fail(err, CR_EIO, "%s cannot be read", r->log.path);
        put_experiment(&w, root, exp, project);
        put_metrics(&w);
        put_config(&w);
        put_run(&w, exp, own);
    }
    for (int i = 0; i < w.n_h; i++)
        cr_free(w.h[i].v);
    cr_free(w.h);
    cr_map_clear(&w.names);
    cr_arena_clear(&w.arena);
    cr_board_close(b);
    return w.code;
}
