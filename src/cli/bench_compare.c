/*
 * bench_compare.c - `crank bench --compare A.json B.json`: two saved results side by side.
 *
 * A result is the object that `crank bench WHAT --json` prints: numbers, and under "rows" objects
 * with a name and numbers. Figures are found by their keys, so results of different versions of
 * crank can be compared; a figure that only one of them has gets no ratio. Results of different
 * benchmarks are refused: their figures have the same keys and another meaning.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/shown.h"
#include "cli/bench_words.h"
#include "cli/grid.h"

#define MAX_BYTES ((size_t)16 << 20)
#define HOW       "save one with 'crank bench WHAT CONFIG --json >FILE'"

typedef struct side {
    const char *path, *bench;
    cr_json *root;
} side;

typedef struct figure {
    const char *row, *key; /* row NULL: of the whole benchmark */
    double v[2];           /* NaN: that side has no such number */
} figure;
typedef struct figures {
    cr_arena *arena;
    figure *v;
    int n, cap;
} figures;

/* ---- reading ---- */

static cr_code open_side(side *s, const char *path, cr_err *err) {
    cr_buf text;
    cr_err why;
    cr_buf_init(&text);
    *s = (side){.path = path};
    cr_code code = cr_file_read_any(path, MAX_BYTES, &text, err);
    if (code == CR_OK && cr_json_parse(&s->root, text.data, text.n, &why) != CR_OK)
        code = cr_fail_at(err, CR_EDATA, ((cr_loc){path, 0, 0}), "%s; " HOW, why.msg);
    cr_buf_clear(&text);
    if (code != CR_OK) return code;
    s->bench = cr_json_str(cr_json_get(s->root, "bench"));
    if (!s->bench)
        return cr_fail_at(err, CR_EDATA, ((cr_loc){path, 0, 0}),
                          "this is not a result of 'crank bench': it has no name of a benchmark "
                          "under \"bench\"; " HOW);
    return CR_OK;
}

static void add(figures *f, const char *row, const char *key, int which, double x) {
    for (int i = 0; i < f->n; i++)
        if (strcmp(f->v[i].key, key) == 0 && !f->v[i].row == !row &&
            (!row || strcmp(f->v[i].row, row) == 0)) {
            f->v[i].v[which] = x;
            return;
        }
    if (f->n == f->cap) {
        int cap = f->cap ? 2 * f->cap : 64;
        figure *v = CR_NEW_N(f->arena, figure, cap);
        if (f->n) memcpy(v, f->v, (size_t)f->n * sizeof(*v));
        f->v = v;
        f->cap = cap;
    }
    figure *to = &f->v[f->n++];
    *to = (figure){row, key, {NAN, NAN}};
    to->v[which] = x;
}

static void add_numbers(figures *f, const char *row, const cr_json *obj, int which) {
    void *it = NULL;
    const char *key;
    const cr_json *val;
    double x;
    while (cr_json_next(obj, &it, &key, &val))
        if (cr_json_f64(val, &x)) add(f, row, key, which, x);
}

static void add_side(figures *f, const side *s, int which) {
    add_numbers(f, NULL, s->root, which);
    const cr_json *rows = cr_json_get(s->root, "rows");
    for (size_t i = 0; cr_json_is_arr(rows) && i < cr_json_len(rows); i++) {
        const cr_json *row = cr_json_at(rows, i);
        const char *name = cr_json_str(cr_json_get(row, "name"));
        if (name) add_numbers(f, name, row, which);
    }
}

static double ratio(const figure *f) {
    return f->v[0] != 0 ? f->v[1] / f->v[0] : NAN; /* NaN too when one of them is */
}

/* ---- printing ---- */

static const char *unit_of(const side *s, const char *key) {
    for (int i = 0; i < 2; i++) {
        const char *unit = cr_json_str(cr_json_get(cr_json_get(s[i].root, "units"), key));
        if (unit) return unit;
    }
    return "";
}

static const char *label_of(cr_arena *a, const char *bench, const figure *f) {
    const char *column = f->row ? cr_bench_column(f->key) : NULL;
    if (f->row) return cr_arena_printf(a, "%s: %s", f->row, column ? column : f->key);
    const cr_bench_word *w = cr_bench_words(bench, f->key), *of = cr_bench_share(bench, f->key);
    if (w) return w->label;
    return of ? cr_arena_printf(a, "%s, share", of->label) : f->key;
}

static const char *cell(cr_arena *a, double x, const char *unit) {
    char text[96];
    if (isnan(x)) return "-";
    cr_bench_value(text, sizeof text, x, unit);
    return cr_plain(a, text, strlen(text));
}

static void print_table(cr_ui *ui, const side *s, const figures *f) {
    static const unsigned flags[] = {CR_GRID_SHRINK, CR_GRID_RIGHT, CR_GRID_RIGHT, CR_GRID_RIGHT};
    cr_arena *a = &ui->arena;
    for (int i = 0; i < 2; i++) {
        const char *cpu = cr_json_str(cr_json_get(s[i].root, "cpu"));
        const char *kernels = cr_json_str(cr_json_get(s[i].root, "kernels"));
        cr_ui_say("%c  %s: %s, kernels %s\n", "AB"[i], cr_shown(a, s[i].path),
                  cpu ? cr_shown(a, cpu) : "unknown CPU",
                  kernels ? cr_shown(a, kernels) : "unknown");
    }
    cr_grid t;
    cr_grid_init(&t, a, 4, flags);
    const char **c = cr_grid_row(&t);
    c[0] = s->bench, c[1] = "A", c[2] = "B", c[3] = "B / A";
    for (int i = 0; i < f->n; i++) {
        const char *label = label_of(a, s->bench, &f->v[i]), *unit = unit_of(s, f->v[i].key);
        double r = ratio(&f->v[i]);
        c = cr_grid_row(&t);
        c[0] = cr_plain(a, label, strlen(label));
        c[1] = cell(a, f->v[i].v[0], unit);
        c[2] = cell(a, f->v[i].v[1], unit);
        c[3] = isnan(r) ? "-" : cr_arena_printf(a, "%.3f", r);
    }
    cr_ui_say("\n");
    fflush(stdout);
    cr_grid_print(&t, cr_screen_width());
}

static void print_json(const side *s, const figures *f) {
    cr_buf out;
    cr_jw w;
    cr_buf_init(&out);
    cr_jw_init(&w, &out);
    cr_jw_obj(&w, NULL);
    cr_jw_str(&w, "bench", s->bench);
    cr_jw_arr(&w, "figures");
    for (int i = 0; i < f->n; i++) {
        cr_jw_obj(&w, NULL);
        if (f->v[i].row) cr_jw_str(&w, "name", f->v[i].row);
        cr_jw_str(&w, "key", f->v[i].key);
        cr_jw_f64(&w, "a", f->v[i].v[0]);
        cr_jw_f64(&w, "b", f->v[i].v[1]);
        cr_jw_f64(&w, "ratio", ratio(&f->v[i]));
        cr_jw_end(&w);
    }
    cr_jw_end(&w);
    cr_jw_end(&w);
    cr_ui_say("%s\n", out.data);
    cr_buf_clear(&out);
}

cr_code cr_bench_compare(cr_ui *ui, const char *const path[2], bool json, cr_err *err) {
    side s[2] = {{0}, {0}};
    figures f = {.arena = &ui->arena};
    cr_code code = open_side(&s[0], path[0], err);
    if (code == CR_OK) code = open_side(&s[1], path[1], err);
    if (code == CR_OK && strcmp(s[0].bench, s[1].bench) != 0)
        code = cr_fail(err, CR_EDATA,
                       "'%s' is a result of bench %s and '%s' of bench %s; compare two results of "
                       "one benchmark",
                       path[0], s[0].bench, path[1], s[1].bench);
    if (code == CR_OK) {
        for (int i = 0; i < 2; i++)
            add_side(&f, &s[i], i);
        if (json)
            print_json(s, &f);
        else
            print_table(ui, s, &f);
    }
    cr_json_free(s[0].root);
    cr_json_free(s[1].root);
    return code;
}
