/*
 * why.c - what features are worth and how good the model is by slices, as `crank importance` and
 * `crank eval` leave it in model_dir. A file may be broken, old or somebody's invention: it is read
 * by its own rules here, and the page gets only names and numbers, in the places where it looks for
 * them.
 */
#include <math.h>
#include <string.h>

#include "base/file.h"
#include "board/board_int.h"

#define MAX_FILE   ((size_t)4 << 20)
#define MAX_VALUES ((size_t)300000) /* of a file: an answer about empty ones would swell */
#define MAX_ITEMS  20000 /* units, tasks, columns, slices or bins; and units times measures */

static double number_of(const cr_json *j, const char *key) {
    double x = NAN;
    return cr_json_f64(cr_json_get(j, key), &x) ? x : NAN;
}

static bool is_list(const cr_json *j) {
    return cr_json_is_arr(j) && cr_json_len(j) <= MAX_ITEMS;
}

static void put_numbers(cr_jw *w, const cr_json *j, const char *const *keys) {
    for (; *keys; keys++)
        cr_jw_f64(w, *keys, number_of(j, *keys));
}

/* Writes the text of a key; false: it has none. */
static bool put_text(cr_jw *w, const cr_json *j, const char *key) {
    const char *s = cr_json_str(cr_json_get(j, key));
    cr_jw_str(w, key, s);
    return s != NULL;
}

/* Counts the values of a tree; the parser limits its depth. */
static size_t values(const cr_json *j) {
    size_t n = 1;
    const char *key;
    const cr_json *val;
    for (void *it = NULL; cr_json_is_obj(j) && cr_json_next(j, &it, &key, &val);)
        n += values(val);
    for (size_t k = 0; cr_json_is_arr(j) && k < cr_json_len(j); k++)
        n += values(cr_json_at(j, k));
    return n;
}

static void put_flag(cr_jw *w, const cr_json *j, const char *key) {
    bool yes = false;
    (void)cr_json_bool(cr_json_get(j, key), &yes);
    cr_jw_bool(w, key, yes);
}

/* ---- importance ---- */

static bool put_measures(cr_jw *w, const cr_json *list) {
    bool ok = true;
    cr_jw_arr(w, "measures");
    for (size_t i = 0; i < cr_json_len(list); i++) {
        const cr_json *m = cr_json_at(list, i);
        cr_jw_obj(w, NULL);
        ok &= put_text(w, m, "name");
        cr_jw_f64(w, "value", number_of(m, "value"));
        cr_jw_bool(w, "auc", cr_json_get(m, "positives") != NULL);
        cr_jw_end(w);
    }
    cr_jw_end(w);
    return ok;
}

/* worth: by measure, what the unit is worth shuffled and removed. */
static bool put_unit(cr_jw *w, const cr_json *u, const cr_json *measures) {
    static const char *const kinds[] = {"shuffled", "removed"},
                             *const of_unit[] = {"rows_shuffled", "rows_removed", NULL},
                             *const of_kind[] = {"loss", "low", "high", NULL};
    cr_jw_obj(w, NULL);
    bool ok = put_text(w, u, "kind");
    ok &= put_text(w, u, "name");
    put_flag(w, u, "used");
    put_numbers(w, u, of_unit);
    cr_jw_arr(w, "worth");
    for (size_t i = 0; i < cr_json_len(measures); i++) {
        const char *name = cr_json_str(cr_json_get(cr_json_at(measures, i), "name"));
        const cr_json *m = name ? cr_json_get(u, name) : NULL;
        cr_jw_obj(w, NULL);
        for (int k = 0; k < 2; k++) {
            cr_jw_obj(w, kinds[k]);
            put_numbers(w, cr_json_get(m, kinds[k]), of_kind);
            cr_jw_end(w);
        }
        cr_jw_end(w);
    }
    cr_jw_end(w);
    cr_jw_end(w);
    return ok;
}

static bool put_importance(cr_jw *w, const cr_json *j) {
    const cr_json *measures = cr_json_get(j, "measures"), *units = cr_json_get(j, "units");
    if (!is_list(measures) || !is_list(units) || cr_json_len(measures) == 0 ||
        cr_json_len(units) * cr_json_len(measures) > MAX_ITEMS)
        return false;
    bool ok = put_text(w, j, "checkpoint");
    cr_jw_f64(w, "rows", number_of(j, "rows"));
    put_flag(w, j, "more_rows");
    ok &= put_measures(w, measures);
    cr_jw_arr(w, "units");
    for (size_t i = 0; ok && i < cr_json_len(units); i++)
        ok = put_unit(w, cr_json_at(units, i), measures);
    cr_jw_end(w);
    return ok;
}

/* ---- slices ---- */

static const char *const of_slice[] = {"rows",       "positives",  "auc",         "logloss",
                                       "mean_score", "mean_label", "calibration", NULL};

static bool put_column(cr_jw *w, const cr_json *c) {
    const cr_json *list = cr_json_get(c, "slices");
    if (!is_list(list)) return false;
    cr_jw_obj(w, NULL);
    bool ok = put_text(w, c, "column");
    cr_jw_arr(w, "slices");
    for (size_t i = 0; ok && i < cr_json_len(list); i++) {
        const cr_json *s = cr_json_at(list, i);
        cr_jw_obj(w, NULL);
        ok = put_text(w, s, "value");
        put_numbers(w, s, of_slice);
        cr_jw_end(w);
    }
    cr_jw_end(w);
    cr_jw_end(w);
    return ok;
}

static bool put_task(cr_jw *w, const cr_json *t) {
    static const char *const of_bin[] = {"from",       "to",         "rows", "positives",
                                         "mean_score", "mean_label", NULL};
    const cr_json *bins = cr_json_get(t, "bins"), *columns = cr_json_get(t, "columns");
    if (!is_list(bins) || !is_list(columns)) return false;
    cr_jw_obj(w, NULL);
    bool ok = put_text(w, t, "output");
    cr_jw_obj(w, "all");
    put_numbers(w, cr_json_get(t, "all"), of_slice);
    cr_jw_end(w);
    cr_jw_f64(w, "calibration_error", number_of(t, "calibration_error"));
    cr_jw_arr(w, "bins");
    for (size_t i = 0; ok && i < cr_json_len(bins); i++) {
        cr_jw_obj(w, NULL);
        put_numbers(w, cr_json_at(bins, i), of_bin);
        cr_jw_end(w);
    }
    cr_jw_end(w);
    cr_jw_arr(w, "columns");
    for (size_t i = 0; ok && i < cr_json_len(columns); i++)
        ok = put_column(w, cr_json_at(columns, i));
    cr_jw_end(w);
    cr_jw_end(w);
    return ok;
}

static bool put_slices(cr_jw *w, const cr_json *j) {
    const cr_json *tasks = cr_json_get(j, "tasks");
    if (!is_list(tasks)) return false;
    bool ok = put_text(w, j, "checkpoint");
    cr_jw_arr(w, "tasks");
    for (size_t i = 0; ok && i < cr_json_len(tasks); i++)
        ok = put_task(w, cr_json_at(tasks, i));
    cr_jw_end(w);
    return ok;
}

/* ---- files ---- */

typedef struct why_file {
    const char *name, *kind; /* the kind is its key in the answer, too */
    bool (*put)(cr_jw *w, const cr_json *j);
} why_file;

/* Writes what a file says, null if it cannot be used; false then. */
static bool put_why(cr_jw *w, const why_file *f, const char *path) {
    cr_buf text, trial;
    cr_json *j = NULL;
    cr_jw to;
    cr_buf_init(&text);
    cr_buf_init(&trial);
    bool ok = cr_file_read(path, MAX_FILE, &text, NULL) == CR_OK &&
              cr_json_parse(&j, text.data, text.n, NULL) == CR_OK;
    const char *kind = ok ? cr_json_str(cr_json_get(j, "kind")) : NULL;
    ok = kind && strcmp(kind, f->kind) == 0 && values(j) <= MAX_VALUES;
    if (ok) { /* it must keep the rules to its end before a part of it is answered */
        cr_jw_init(&to, &trial);
        cr_jw_obj(&to, NULL);
        ok = f->put(&to, j);
    }
    if (ok) {
        cr_jw_obj(w, f->kind);
        ok = f->put(w, j);
        cr_jw_end(w);
    } else {
        cr_jw_str(w, f->kind, NULL);
    }
    cr_json_free(j);
    cr_buf_clear(&trial);
    cr_buf_clear(&text);
    return ok;
}

static const why_file files[] = {{CR_BOARD_IMPORTANCE_FILE, "importance", put_importance},
                                 {CR_BOARD_SLICES_FILE, "slices", put_slices}};

bool cr_board_why_look(cr_run *r) {
    bool other = false;
    cr_arena a;
    cr_arena_init(&a, 0);
    for (int i = 0; i < 2; i++) {
        cr_fs_stat was = r->why[i], now = {0};
        if (cr_fs_stat_path(cr_path_join(&a, r->dir, files[i].name), true, &now, NULL) != CR_OK)
            now = (cr_fs_stat){0};
        other |= now.kind != was.kind || now.size != was.size || now.changed != was.changed ||
                 now.dev != was.dev || now.ino != was.ino;
        r->why[i] = now;
    }
    cr_arena_clear(&a);
    return other;
}

void cr_board_why(const cr_run *r, cr_jw *w) {
    const char *damaged[2];
    int n = 0;
    cr_arena a;
    cr_arena_init(&a, 0);
    for (int i = 0; i < 2; i++) {
        const char *path = cr_path_join(&a, r->dir, files[i].name);
        if (!cr_path_exists(path))
            cr_jw_str(w, files[i].kind, NULL);
        else if (!put_why(w, &files[i], path))
            damaged[n++] = files[i].name;
    }
    cr_jw_arr(w, "damaged");
    for (int i = 0; i < n; i++)
        cr_jw_str(w, NULL, damaged[i]);
    cr_jw_end(w);
    cr_arena_clear(&a);
}
