/*
 * cmd_diff.c - `crank diff`: how do two runs differ? What was changed (the config) comes first,
 * then what came of it (metrics, logs), then the parameters. Tables fit the screen.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/shown.h"
#include "cli/diff.h"
#include "cli/grid.h"

#define MAX_SHOWN 15 /* rows of a table of parameters without --all */

typedef struct args {
    cr_opt_list checkpoints;
    bool all, json;
} args;

static const cr_opt opts[] = {
    CR_OPT_(args, checkpoints, CR_O_LIST, 0, CR_O_REQUIRED | CR_O_PATH, "PATH", NULL, NULL, 0, 0,
            "the two to compare: checkpoint, model_dir (its newest), export or safetensors file"),
    CR_OPT_BOOL(args, all, 0, "list all parameters that differ, those of optimizer state too"),
    CR_OPT_BOOL(args, json, 0, "print one JSON object"),
    CR_OPT_END,
};

typedef struct comparison {
    cr_ckpt *ckpt[2];
    cr_diff_tensor *v;
    int n, n_diff;
    cr_diff_rows config, metrics;
    cr_diff_parting parting;
} comparison;

/* ---- tables ---- */

static const char *name_of(const cr_diff_tensor *f) {
    return f->a ? f->a->name : f->b->name;
}

static const char **head(cr_grid *t, const char *const *names) {
    const char **c = cr_grid_row(t);
    for (int i = 0; i < t->n_cols; i++)
        c[i] = names[i];
    return c;
}

/* ---- what people read ---- */

static void say_side(cr_arena *a, const char *which, const cr_ckpt *c) {
    const cr_ckpt_state *s = cr_ckpt_get_state(c);
    cr_ui_say("%s  %s", which, cr_shown(a, cr_ckpt_path(c)));
    if (s) cr_ui_say(", step %lld, seed %llu", (long long)s->step, (unsigned long long)s->seed);
    cr_ui_say("\n");
}

static void say_config(cr_arena *a, const cr_diff_rows *l) {
    if (l->trouble) {
        cr_ui_say("\nconfig: %s cannot be read; 'crank check %s' says why\n", l->trouble,
                  l->trouble);
        return;
    }
    if (!l->compared) return;
    if (l->n == 0) {
        cr_ui_say("\nconfig: no key differs\n");
        return;
    }
    static const unsigned flags[] = {0, CR_GRID_SHRINK, CR_GRID_SHRINK};
    cr_grid t;
    cr_ui_say("\nconfig: %d key%s\n", l->n, l->n == 1 ? " differs" : "s differ");
    cr_grid_init(&t, a, 3, flags);
    head(&t, (const char *[]){"key", "A", "B"});
    for (int i = 0; i < l->n; i++) {
        const char **c = cr_grid_row(&t);
        const char *x = l->v[i].a ? l->v[i].a : "not given";
        const char *y = l->v[i].b ? l->v[i].b : "not given";
        c[0] = cr_plain(a, l->v[i].name, strlen(l->v[i].name));
        c[1] = cr_plain(a, x, strlen(x));
        c[2] = cr_plain(a, y, strlen(y));
    }
    cr_grid_print_names(&t);
}

static const char *number(cr_arena *a, const char *format, double x) {
    char text[64];
    if (isnan(x)) return "none";
    snprintf(text, sizeof text, format, x);
    return cr_arena_strdup(a, text);
}

static void say_metrics(cr_arena *a, const cr_diff_rows *l) {
    if (!l->compared) return;
    if (l->n == 0) {
        cr_ui_say("\nmetrics: all %d are equal\n", l->n_equal);
        return;
    }
    static const unsigned flags[] = {0, CR_GRID_RIGHT, CR_GRID_RIGHT, CR_GRID_RIGHT};
    cr_grid t;
    cr_ui_say("\nmetrics: %d of %d differ\n", l->n, l->n + l->n_equal);
    cr_grid_init(&t, a, 4, flags);
    head(&t, (const char *[]){"metric", "A", "B", "B - A"});
    for (int i = 0; i < l->n; i++) {
        const cr_diff_row *r = &l->v[i];
        const char **c = cr_grid_row(&t);
        c[0] = r->name;
        c[1] = number(a, "%.6f", r->x);
        c[2] = number(a, "%.6f", r->y);
        c[3] = isnan(r->x) || isnan(r->y) ? "" : number(a, "%+.6f", r->y - r->x);
    }
    cr_grid_print_names(&t);
}

static void say_logs(cr_arena *a, const cr_diff_parting *p) {
    if (!p->file) return;
    if (!p->differs) {
        cr_ui_say("\nlogs: equal up to step %lld (%s)\n", (long long)p->last_same, p->file);
        return;
    }
    cr_ui_say("\nlogs: differ first at step %lld (%s", (long long)p->step, p->file);
    if (p->last_same >= 0) cr_ui_say("; equal up to step %lld", (long long)p->last_same);
    cr_ui_say(")\n  %s is %.9g and %.9g\n", cr_shown(a, p->key), p->a, p->b);
}

static int by_size(const void *x, const void *y) {
    const cr_diff_tensor *a = *(const cr_diff_tensor *const *)x,
                         *b = *(const cr_diff_tensor *const *)y;
    if (a->a->optimizer != b->a->optimizer) return a->a->optimizer ? 1 : -1;
    if (a->max_abs != b->max_abs) return a->max_abs > b->max_abs ? -1 : 1;
    return strcmp(a->a->name, b->a->name);
}

static const char *note_text(cr_arena *a, const cr_diff_tensor *f) {
    const char *x = cr_ckpt_type_name(f->a), *y = cr_ckpt_type_name(f->b);
    const char *types = strcmp(x, y) == 0 ? "" : cr_arena_printf(a, "%s, %s", x, y);
    if (!f->n_nan) return types;
    return cr_arena_printf(a, "%s%s%lld NaN on one side", types, *types ? "; " : "",
                           (long long)f->n_nan);
}

/* Says how many rows a table left out. */
static void say_more(int weights, const char *what, int states) {
    if (weights) cr_ui_say("  and %d more %s; --all lists them\n", weights, what);
    if (states) cr_ui_say("  and %d tensors of optimizer state; --all lists them\n", states);
}

/* Prints the weights first, and the largest differences on top. */
static void say_values(cr_arena *a, const cr_diff_tensor *v, int n, bool all) {
    const cr_diff_tensor **s = CR_NEW_N(a, const cr_diff_tensor *, n + 1);
    int m = 0;
    for (int i = 0; i < n; i++)
        if (v[i].v == CR_DIFF_VALUES) s[m++] = &v[i];
    if (m == 0) return;
    qsort(s, (size_t)m, sizeof *s, by_size);
    static const unsigned flags[] = {0, CR_GRID_RIGHT, CR_GRID_RIGHT, CR_GRID_RIGHT,
                                     CR_GRID_SHRINK};
    cr_grid t;
    cr_grid_init(&t, a, 5, flags);
    head(&t, (const char *[]){"parameter", "values that differ", "max abs", "max rel", "note"});
    int shown = 0, states = 0;
    for (int i = 0; i < m; i++) {
        if (!all && (shown == MAX_SHOWN || s[i]->a->optimizer)) {
            states += s[i]->a->optimizer;
            continue;
        }
        const char **c = cr_grid_row(&t);
        shown++;
        c[0] = s[i]->a->name;
        c[1] = cr_arena_printf(a, "%lld of %lld", (long long)s[i]->n_differ,
                               (long long)s[i]->a->n_elems);
        c[2] = number(a, "%.4g", s[i]->max_abs);
        c[3] = number(a, "%.4g", s[i]->max_rel);
        c[4] = note_text(a, s[i]);
    }
    if (shown) cr_grid_print_names(&t);
    say_more(m - shown - states, "weights with smaller differences", states);
}

static void say_group(cr_arena *a, const cr_diff_tensor *v, int n, cr_diff_verdict which, bool all,
                      const char *title) {
    static const unsigned flags[] = {0, 0, 0};
    cr_grid t;
    char x[160], y[160];
    int shown = 0, weights = 0, states = 0;
    cr_grid_init(&t, a, 3, flags);
    bool shapes = which == CR_DIFF_OTHER_SHAPE;
    head(&t, (const char *[]){title, shapes ? "A" : "shape", shapes ? "B" : "type"});
    for (int i = 0; i < n; i++) {
        const cr_ckpt_info *p = v[i].a ? v[i].a : v[i].b;
        if (v[i].v != which) continue;
        if (!all && (shown == MAX_SHOWN || p->optimizer)) {
            weights += !p->optimizer;
            states += p->optimizer;
            continue;
        }
        const char **c = cr_grid_row(&t);
        shown++;
        cr_shape_text(x, sizeof x, p->n_dims, p->shape);
        if (shapes) cr_shape_text(y, sizeof y, v[i].b->n_dims, v[i].b->shape);
        c[0] = p->name;
        c[1] = cr_arena_strdup(a, x);
        c[2] = shapes ? cr_arena_strdup(a, y) : cr_ckpt_type_name(p);
    }
    if (shown + weights + states == 0) return;
    if (shown)
        cr_grid_print_names(&t);
    else
        cr_ui_say("  %s\n", title);
    say_more(weights, "weights", states);
}

static void print_text(cr_arena *a, const comparison *c, bool all) {
    say_side(a, "A", c->ckpt[0]);
    say_side(a, "B", c->ckpt[1]);
    say_config(a, &c->config);
    say_metrics(a, &c->metrics);
    say_logs(a, &c->parting);
    if (c->n_diff == 0)
        cr_ui_say("\nparameters: all %d are equal\n", c->n);
    else
        cr_ui_say("\nparameters: %d of %d differ\n", c->n_diff, c->n);
    say_group(a, c->v, c->n, CR_DIFF_ONLY_A, all, "only in A");
    say_group(a, c->v, c->n, CR_DIFF_ONLY_B, all, "only in B");
    say_group(a, c->v, c->n, CR_DIFF_OTHER_SHAPE, all, "other shape");
    say_values(a, c->v, c->n, all);
    char side = cr_diff_lone_state(c->ckpt[0], c->ckpt[1]);
    if (side)
        cr_ui_say("  %d tensors of optimizer state are only in %c and were left aside\n",
                  cr_diff_states(c->ckpt[side == 'B']), side);
}

/* ---- JSON ---- */

static void json_shape(cr_jw *w, const char *key, const cr_ckpt_info *p) {
    cr_jw_arr(w, key);
    for (int d = 0; d < p->n_dims; d++)
        cr_jw_i64(w, NULL, p->shape[d]);
    cr_jw_end(w);
}

static void json_tensor(cr_jw *w, const cr_diff_tensor *f) {
    static const char *const words[] = {"equal", "differs", "other_shape", "only_a", "only_b"};
    cr_jw_obj(w, NULL);
    cr_jw_str(w, "name", name_of(f));
    cr_jw_str(w, "result", words[f->v]);
    if (f->a) json_shape(w, "shape_a", f->a);
    if (f->b) json_shape(w, "shape_b", f->b);
    if (f->a) cr_jw_str(w, "dtype_a", cr_ckpt_type_name(f->a));
    if (f->b) cr_jw_str(w, "dtype_b", cr_ckpt_type_name(f->b));
    if (f->v == CR_DIFF_VALUES) {
        cr_jw_i64(w, "values_differ", f->n_differ);
        cr_jw_f64(w, "max_abs", f->max_abs);
        cr_jw_f64(w, "max_rel", f->max_rel);
        cr_jw_i64(w, "nan_on_one_side", f->n_nan);
        cr_jw_i64(w, "at", f->at);
        cr_jw_f64(w, "at_a", (double)f->at_a);
        cr_jw_f64(w, "at_b", (double)f->at_b);
    }
    cr_jw_end(w);
}

/* Writes the rows of a list. The side that has no such key or metric is left out. */
static void json_rows(cr_jw *w, const char *key, const cr_diff_rows *l, bool texts) {
    if (!l->compared) return;
    cr_jw_arr(w, key);
    for (int i = 0; i < l->n; i++) {
        cr_jw_obj(w, NULL);
        cr_jw_str(w, texts ? "key" : "metric", l->v[i].name);
        if (texts) {
            if (l->v[i].a) cr_jw_str(w, "a", l->v[i].a);
            if (l->v[i].b) cr_jw_str(w, "b", l->v[i].b);
        } else {
            if (!isnan(l->v[i].x)) cr_jw_f64(w, "a", l->v[i].x);
            if (!isnan(l->v[i].y)) cr_jw_f64(w, "b", l->v[i].y);
        }
        cr_jw_end(w);
    }
    cr_jw_end(w);
}

static void print_json(const comparison *c) {
    cr_buf out;
    cr_jw w;
    const cr_diff_parting *p = &c->parting;
    cr_buf_init(&out);
    cr_jw_init(&w, &out);
    cr_jw_obj(&w, NULL);
    cr_jw_str(&w, "a", cr_ckpt_path(c->ckpt[0]));
    cr_jw_str(&w, "b", cr_ckpt_path(c->ckpt[1]));
    cr_jw_bool(&w, "equal", c->n_diff == 0);
    json_rows(&w, "config", &c->config, true);
    json_rows(&w, "metrics", &c->metrics, false);
    cr_jw_i64(&w, "n_parameters", c->n);
    cr_jw_i64(&w, "n_differ", c->n_diff);
    char side = cr_diff_lone_state(c->ckpt[0], c->ckpt[1]);
    if (side) cr_jw_str(&w, "optimizer_state_only_in", side == 'A' ? "a" : "b");
    cr_jw_arr(&w, "parameters");
    for (int i = 0; i < c->n; i++)
        if (c->v[i].v != CR_DIFF_SAME) json_tensor(&w, &c->v[i]);
    cr_jw_end(&w);
    if (p->file) {
        cr_jw_obj(&w, "logs");
        cr_jw_str(&w, "file", p->file);
        cr_jw_bool(&w, "equal", !p->differs);
        if (p->last_same >= 0) cr_jw_i64(&w, "last_equal_step", p->last_same);
        if (p->differs) {
            cr_jw_i64(&w, "first_different_step", p->step);
            cr_jw_str(&w, "key", p->key);
            cr_jw_f64(&w, "a", p->a);
            cr_jw_f64(&w, "b", p->b);
        }
        cr_jw_end(&w);
    }
    cr_jw_end(&w);
    cr_ui_say("%s\n", out.data);
    cr_buf_clear(&out);
}

/* Things that cannot be compared are neither equal nor different: the exit code is 2, as that of
 * diff(1). */
static cr_code trouble(cr_ui *ui, cr_err *err) {
    err->code = CR_EUSAGE;
    return cr_ui_fail(ui, err);
}

static cr_code run(cr_ui *ui, const void *flags) {
    const args *opt = flags;
    if (opt->checkpoints.n != 2)
        return cr_ui_wrong(ui, "%d checkpoint%s given; diff takes two: crank diff CKPT_A CKPT_B",
                           opt->checkpoints.n, opt->checkpoints.n == 1 ? "" : "s");
    comparison c = {0};
    cr_arena *a = &ui->arena;
    cr_err err;
    cr_code code = CR_OK;
    for (int i = 0; i < 2 && code == CR_OK; i++) {
        char *path;
        code = cr_ckpt_resolve(a, opt->checkpoints.v[i], CR_NEED_LIST, NULL, &path, &err);
        if (code == CR_OK) code = cr_ckpt_open(&c.ckpt[i], path, &err);
        if (code == CR_OK) code = cr_ckpt_verify(c.ckpt[i], NULL, &err);
    }
    if (code == CR_OK) {
        c.v = CR_NEW_N(a, cr_diff_tensor, cr_ckpt_count(c.ckpt[0]) + cr_ckpt_count(c.ckpt[1]) + 1);
        code = cr_diff_tensors(c.ckpt[0], c.ckpt[1], c.v, &c.n, &err);
    }
    if (code == CR_OK) {
        for (int i = 0; i < c.n; i++)
            c.n_diff += c.v[i].v != CR_DIFF_SAME;
        c.config = cr_diff_config(a, c.ckpt[0], c.ckpt[1]);
        c.metrics = cr_diff_metrics(a, c.ckpt[0], c.ckpt[1]);
        c.parting = cr_diff_logs(a, c.ckpt[0], c.ckpt[1]);
        if (opt->json)
            print_json(&c);
        else
            print_text(a, &c, opt->all);
    }
    cr_ckpt_close(c.ckpt[0]);
    cr_ckpt_close(c.ckpt[1]);
    if (code != CR_OK) return trouble(ui, &err);
    return c.n_diff ? CR_ERUN : CR_OK;
}

static const char *const examples[] = {
    "crank diff experiments/a experiments/b",
    "crank diff experiments/a/model.ckpt-1000 experiments/a/export --json",
    NULL,
};

const cr_cmd cr_cmd_diff = {
    .name = "diff",
    .help = "Compare two runs: config, metrics, logs and parameters",
    .about =
        "\nKeys of the config, metrics and logs are compared when both are in a model_dir; the "
        "parameters always.\n\nExit code: 0 all parameters are equal, 1 some differ, 2 they cannot "
        "be compared.\n",
    .operand = "CKPT_A CKPT_B",
    .operand_opt = "checkpoints",
    .opts = opts,
    .args_size = sizeof(args),
    .examples = examples,
    .run = run,
};
