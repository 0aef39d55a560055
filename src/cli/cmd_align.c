/*
 * cmd_align.c - `crank align`: does a run agree with a reference? Logs are read and judged by
 * tool/align.h; the parameters of checkpoints come from diff_tensors.c. The exit code is the
 * verdict.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/shown.h"
#include "cli/diff.h"
#include "cli/grid.h"
#include "tool/align.h"

#define MAX_LOG   ((size_t)1 << 30)
#define JSON_LOG  "train_log.jsonl"
#define MAX_SHOWN 15 /* parameters without --all */

typedef struct args {
    cr_opt_list runs;
    const char *cuda_log, *sdaa_log, *mode, *match, *key, *plot, *report;
    double tolerance;
    int64_t skip, last;
    bool all, json;
} args;

static const cr_opt opts[] = {
    CR_OPT_(args, runs, CR_O_LIST, 0, CR_O_PATH, "PATH", NULL, NULL, 0, 0,
            "reference, then candidate: log, model_dir, checkpoint, export or safetensors file"),
    CR_OPT_STR(args, cuda_log, CR_O_PATH, "FILE", "none", "the reference, as loss.py names it"),
    CR_OPT_STR(args, sdaa_log, CR_O_PATH, "FILE", "none", "the candidate, as loss.py names it"),
    CR_OPT_(args, tolerance, CR_O_FLOAT, 0, 0, "REL", "0.01", NULL, 0, 1e9,
            "largest relative error that agrees"),
    CR_OPT_(args, mode, CR_O_STR, 0, 0, "WHAT", "auto", NULL, 0, 0,
            "loss, metric or params; auto: losses and metrics of logs, parameters of checkpoints"),
    CR_OPT_STR(args, key, 0, "NAME", "train.loss, loss ...",
               "name of the value in the logs that is compared as the loss"),
    CR_OPT_(args, match, CR_O_STR, 0, 0, "HOW", "same", NULL, 0, 0,
            "pairs of values: same steps on both sides, common steps only, or order"),
    CR_OPT_INT(args, skip, "N", "0", NULL, 0, 1e15, "losses at the beginning that do not count"),
    CR_OPT_INT(args, last, "N", "0", "all", 0, 1e15, "losses at the end that count"),
    CR_OPT_STR(args, plot, CR_O_PATH, "FILE.svg", "none", "draw the curves and their errors"),
    CR_OPT_STR(args, report, CR_O_PATH, "FILE", "none", "write what is printed to this file too"),
    CR_OPT_BOOL(args, all, 0, "list all parameters"),
    CR_OPT_BOOL(args, json, 0, "print one JSON object"),
    CR_OPT_END,
};

typedef struct comparison {
    const char *path[2];
    cr_align_opts o;
    bool loss, metric, params; /* what is compared */
    cr_align_log log[2];
    cr_align_result *v; /* the loss, then the metrics that both have */
    int n, n_metrics;   /* n includes the loss, if there is one */
    cr_ckpt *ckpt[2];
    cr_diff_tensor *tensors;
    int n_tensors;
    bool pass;
} comparison;

/* ---- reading ---- */

static bool ends_with(const char *s, const char *end) {
    size_t n = strlen(s), m = strlen(end);
    return n >= m && strcmp(s + n - m, end) == 0;
}

/* A log is a file that holds no tensors, or a model_dir in which training left its log. */
static bool is_log(cr_arena *a, const char *path) {
    if (!cr_path_is_dir(path)) return !ends_with(path, ".safetensors");
    return cr_path_exists(cr_path_join(a, path, JSON_LOG)) ||
           cr_path_exists(cr_path_join(a, path, CR_CKPT_RESULTS));
}

typedef struct results {
    cr_arena *arena;
    cr_align_log *log;
    const char *key;
} results;

static cr_code take_result(void *ctx, const cr_json *j, const char *line, size_t n, cr_loc at,
                           cr_err *err) {
    (void)j;
    (void)at;
    (void)err;
    const results *r = ctx;
    cr_align_read(r->arena, line, n, r->key, r->log);
    return CR_OK;
}

static cr_code read_log(cr_arena *a, const char *path, const char *key, cr_align_log *out,
                        cr_err *err) {
    bool dir = cr_path_is_dir(path);
    const char *file = dir ? cr_path_join(a, path, JSON_LOG) : path;
    cr_code code = CR_OK;
    if (!dir || cr_path_exists(file)) {
        cr_buf text;
        cr_buf_init(&text);
        code = cr_file_read_any(file, MAX_LOG, &text, err);
        if (code == CR_OK) cr_align_read(a, text.data, text.n, key, out);
        out->empty = text.n == 0;
        cr_buf_clear(&text);
    }
    /* A run whose log has no evaluations may have their results. */
    if (code == CR_OK && dir && out->n_metrics == 0)
        code = cr_ckpt_results_each(path, take_result, &(results){a, out, key}, err);
    cr_align_read_end(a, out);
    return code;
}

static cr_code open_tensors(cr_arena *a, comparison *c, cr_err *err) {
    for (int i = 0; i < 2; i++) {
        char *path;
        CR_TRY(cr_ckpt_resolve(a, c->path[i], CR_NEED_LIST, NULL, &path, err));
        CR_TRY(cr_ckpt_open(&c->ckpt[i], path, err));
        CR_TRY(cr_ckpt_verify(c->ckpt[i], NULL, err));
    }
    int most = cr_ckpt_count(c->ckpt[0]) + cr_ckpt_count(c->ckpt[1]);
    c->tensors = CR_NEW_N(a, cr_diff_tensor, most + 1);
    return cr_diff_tensors(c->ckpt[0], c->ckpt[1], c->tensors, &c->n_tensors, err);
}

/* ---- comparing ---- */

static void compare_logs(cr_arena *a, comparison *c) {
    cr_align_log *r = &c->log[0], *b = &c->log[1];
    c->v = CR_NEW_N(a, cr_align_result, r->n_metrics + 1);
    if (c->loss) {
        c->v[c->n++] = cr_align_compare(a, &r->loss, &b->loss, &c->o, false);
        c->pass &= c->v[0].pass;
    }
    for (int i = 0; c->metric && i < r->n_metrics; i++) {
        const cr_align_curve *y = cr_align_metric(b, r->metrics[i].name);
        if (!y) continue;
        c->v[c->n] = cr_align_compare(a, &r->metrics[i], y, &c->o, true);
        c->pass &= c->v[c->n++].pass;
        c->n_metrics++;
    }
}

/* The error of a whole tensor, as a share of its reference. */
static double rel_l2(const cr_diff_tensor *t) {
    return sqrt(t->sum_dd) / fmax(sqrt(t->sum_aa), CR_ALIGN_EPS);
}
static double cosine(const cr_diff_tensor *t) {
    double size = sqrt(t->sum_aa) * sqrt(t->sum_bb);
    return size > 0 ? t->sum_ab / size : t->sum_aa == t->sum_bb ? 1 : 0;
}
static bool is_weight(const cr_diff_tensor *t) {
    return !(t->a ? t->a : t->b)->optimizer;
}
static bool tensor_passes(const cr_diff_tensor *t, double tolerance) {
    return (t->v == CR_DIFF_SAME || t->v == CR_DIFF_VALUES) && t->n_odd == 0 &&
           cr_align_within(rel_l2(t), tolerance);
}

static void compare_tensors(comparison *c) {
    int m = 0;
    for (int i = 0; i < c->n_tensors; i++) { /* the state of an optimizer is no parameter */
        if (!is_weight(&c->tensors[i])) continue;
        c->tensors[m++] = c->tensors[i];
        c->pass &= tensor_passes(&c->tensors[i], c->o.tolerance);
    }
    c->n_tensors = m;
    if (m == 0) c->pass = false;
}

/* ---- what people read ---- */

static const char *number(cr_arena *a, const char *format, double x) {
    char text[64];
    if (isnan(x)) return "none";
    snprintf(text, sizeof text, format, x);
    return cr_arena_strdup(a, text);
}

static const char **add_row(cr_grid *t, const char *const *cells) {
    const char **c = cr_grid_row(t);
    for (int i = 0; i < t->n_cols; i++)
        c[i] = cells[i];
    return c;
}

/* Says which steps have no partner, and what can be done. */
static void say_steps(const cr_align_result *r) {
    const char *unit = r->by_order ? "value" : "step";
    if (r->only_a)
        cr_ui_say("  %d %ss are only in A, the first is %lld\n", r->only_a, unit,
                  (long long)r->first_a);
    if (r->only_b)
        cr_ui_say("  %d %ss are only in B, the first is %lld\n", r->only_b, unit,
                  (long long)r->first_b);
    if (r->only_a + r->only_b)
        cr_ui_say("  runs that agree have the same steps; --match common compares those that both "
                  "have, --match order the n-th with the n-th\n");
    if (r->by_order && r->n)
        cr_ui_say("  the steps are not numbered alike in both logs, so values are paired in their "
                  "order\n");
    if (r->not_finite)
        cr_ui_say("  %d of %d pairs have a value that is not finite\n", r->not_finite, r->n);
    if (r->tiny)
        cr_ui_say("  in %d pairs the reference is below %g, which stands in its place\n", r->tiny,
                  CR_ALIGN_EPS);
}

static void say_loss(cr_arena *a, const comparison *c) {
    const cr_align_result *r = &c->v[0];
    const char *other = c->log[1].loss.name;
    cr_ui_say("\nloss: %d values of %s", r->n, cr_shown(a, r->name));
    if (strcmp(other, r->name) != 0) cr_ui_say(", %s in B", cr_shown(a, other));
    if (r->n)
        cr_ui_say(", steps %lld to %lld", (long long)r->v[0].step, (long long)r->v[r->n - 1].step);
    cr_ui_say("\n");
    static const unsigned flags[] = {0, CR_GRID_RIGHT, 0};
    cr_grid t;
    cr_grid_init(&t, a, 3, flags);
    bool within = cr_align_within(r->mean_rel, c->o.tolerance);
    const char *limit = cr_arena_printf(a, "%s %g",
                                        r->pass  ? "passes, limit"
                                        : within ? "within"
                                                 : "fails, limit",
                                        c->o.tolerance);
    add_row(&t, (const char *[]){"mean relative error", number(a, "%.6g", r->mean_rel), limit});
    if (!isnan(r->max_rel)) {
        const cr_align_pair *w = &r->v[r->worst];
        add_row(&t, (const char *[]){"largest", number(a, "%.6g", r->max_rel),
                                     cr_arena_printf(a, "at step %lld: %.6g and %.6g",
                                                     (long long)w->step, w->r, w->c)});
    }
    add_row(&t, (const char *[]){"last", number(a, "%.6g", r->final_rel), NULL});
    cr_grid_print_names(&t);
    say_steps(r);
    cr_buf lines;
    cr_buf_init(&lines);
    (void)cr_align_public(r, &lines);
    cr_ui_say("\nby ModelZoo's loss.py, whose means have signs:\n%s", lines.data);
    cr_buf_clear(&lines);
}

static void say_metrics(cr_arena *a, const comparison *c) {
    static const unsigned flags[] = {
        0, CR_GRID_RIGHT, CR_GRID_RIGHT, CR_GRID_RIGHT, CR_GRID_RIGHT, CR_GRID_RIGHT, 0};
    cr_grid t;
    cr_ui_say("\nmetrics: %d\n", c->n_metrics);
    cr_grid_init(&t, a, 7, flags);
    add_row(&t, (const char *[]){"metric", "evaluations", "A, last", "B, last", "relative error",
                                 "largest", "verdict"});
    for (int i = c->loss; i < c->n; i++) {
        const cr_align_result *r = &c->v[i];
        const cr_align_pair *last = r->n ? &r->v[r->n - 1] : NULL;
        add_row(&t, (const char *[]){cr_shown(a, r->name), cr_arena_printf(a, "%d", r->n),
                                     number(a, "%.6f", last ? last->r : NAN),
                                     number(a, "%.6f", last ? last->c : NAN),
                                     number(a, "%.4g", r->final_rel), number(a, "%.4g", r->max_rel),
                                     r->pass ? "passes" : "fails"});
    }
    cr_grid_print_names(&t);
    for (int i = c->loss; i < c->n; i++)
        if (c->v[i].only_a + c->v[i].only_b + c->v[i].not_finite) {
            cr_ui_say("  %s:\n", cr_shown(a, c->v[i].name));
            say_steps(&c->v[i]);
            break; /* other metrics have the same steps */
        }
}

static int by_error(const void *x, const void *y) {
    const cr_diff_tensor *a = x, *b = y;
    bool both_a = a->a && a->b, both_b = b->a && b->b;
    if (both_a != both_b) return both_a ? 1 : -1;
    double d = both_a ? rel_l2(b) - rel_l2(a) : 0;
    if (d != 0) return d > 0 ? 1 : -1;
    return strcmp((a->a ? a->a : a->b)->name, (b->a ? b->a : b->b)->name);
}

static void say_tensors(cr_arena *a, comparison *c, bool all) {
    static const char *const words[] = {"", "", "other shape", "only in A", "only in B"};
    static const unsigned flags[] = {
        0, CR_GRID_RIGHT, CR_GRID_RIGHT, CR_GRID_RIGHT, CR_GRID_RIGHT, CR_GRID_SHRINK};
    cr_grid t;
    int bad = 0;
    for (int i = 0; i < c->n_tensors; i++)
        bad += !tensor_passes(&c->tensors[i], c->o.tolerance);
    cr_ui_say("\nparameters: %d of %d agree\n", c->n_tensors - bad, c->n_tensors);
    qsort(c->tensors, (size_t)c->n_tensors, sizeof *c->tensors, by_error);
    cr_grid_init(&t, a, 6, flags);
    add_row(&t, (const char *[]){"parameter", "max abs", "mean abs", "cosine", "relative L2",
                                 "verdict"});
    int shown = 0;
    for (int i = 0; i < c->n_tensors && (all || shown < MAX_SHOWN); i++, shown++) {
        const cr_diff_tensor *f = &c->tensors[i];
        bool both = f->a && f->b && f->v != CR_DIFF_OTHER_SHAPE;
        double n = both ? (double)(f->a->n_elems - f->n_odd) : 0;
        const char *verdict = !both      ? words[f->v]
                              : f->n_odd ? cr_arena_printf(a, "fails: %lld values are not finite",
                                                           (long long)f->n_odd)
                              : tensor_passes(f, c->o.tolerance) ? "passes"
                                                                 : "fails";
        add_row(&t, (const char *[]){cr_shown(a, (f->a ? f->a : f->b)->name),
                                     both ? number(a, "%.4g", f->max_abs) : NULL,
                                     both ? number(a, "%.4g", n > 0 ? f->sum_abs / n : 0) : NULL,
                                     both ? number(a, "%.8f", cosine(f)) : NULL,
                                     both ? number(a, "%.4g", rel_l2(f)) : NULL, verdict});
    }
    if (shown) cr_grid_print_names(&t);
    if (shown < c->n_tensors)
        cr_ui_say("  and %d with smaller errors; --all lists them\n", c->n_tensors - shown);
}

static void print_text(cr_arena *a, comparison *c, bool all) {
    cr_ui_say("A  %s, the reference\nB  %s\n", cr_shown(a, c->path[0]), cr_shown(a, c->path[1]));
    if (c->loss) say_loss(a, c);
    if (c->n_metrics) say_metrics(a, c);
    for (int s = 0; c->metric && s < 2; s++)
        for (int i = 0; i < c->log[s].n_metrics; i++)
            if (!cr_align_metric(&c->log[1 - s], c->log[s].metrics[i].name))
                cr_ui_say("  %s is only in %c and was not compared\n",
                          cr_shown(a, c->log[s].metrics[i].name), s ? 'B' : 'A');
    if (c->params) say_tensors(a, c, all);
    cr_ui_say("\n%s within %g\n", c->pass ? "aligned" : "not aligned", c->o.tolerance);
}

/* ---- JSON ---- */

static void json_result(cr_jw *w, const char *key, const cr_align_result *r) {
    cr_jw_obj(w, key);
    cr_jw_str(w, "name", r->name);
    cr_jw_bool(w, "pass", r->pass);
    cr_jw_i64(w, "n", r->n);
    cr_jw_f64(w, "mean_rel", r->mean_rel);
    cr_jw_f64(w, "max_rel", r->max_rel);
    cr_jw_f64(w, "final_rel", r->final_rel);
    cr_jw_f64(w, "mean_relative_error_signed", r->signed_rel);
    cr_jw_f64(w, "mean_absolute_error_signed", r->signed_abs);
    cr_jw_i64(w, "only_a", r->only_a);
    cr_jw_i64(w, "only_b", r->only_b);
    cr_jw_i64(w, "not_finite", r->not_finite);
    cr_jw_i64(w, "eps_used", r->tiny);
    cr_jw_end(w);
}

static void print_json(const comparison *c) {
    cr_buf out;
    cr_jw w;
    cr_buf_init(&out);
    cr_jw_init(&w, &out);
    cr_jw_obj(&w, NULL);
    cr_jw_str(&w, "a", c->path[0]);
    cr_jw_str(&w, "b", c->path[1]);
    cr_jw_f64(&w, "tolerance", c->o.tolerance);
    cr_jw_bool(&w, "aligned", c->pass);
    if (c->loss) {
        cr_buf lines;
        cr_buf_init(&lines);
        json_result(&w, "loss", &c->v[0]);
        cr_jw_bool(&w, "public_rule", cr_align_public(&c->v[0], &lines));
        cr_buf_clear(&lines);
    }
    if (c->metric) {
        cr_jw_arr(&w, "metrics");
        for (int i = c->loss; i < c->n; i++)
            json_result(&w, NULL, &c->v[i]);
        cr_jw_end(&w);
    }
    if (c->params) {
        static const char *const words[] = {"equal", "differs", "other_shape", "only_a", "only_b"};
        cr_jw_arr(&w, "parameters");
        for (int i = 0; i < c->n_tensors; i++) {
            const cr_diff_tensor *f = &c->tensors[i];
            cr_jw_obj(&w, NULL);
            cr_jw_str(&w, "name", (f->a ? f->a : f->b)->name);
            cr_jw_str(&w, "result", words[f->v]);
            cr_jw_bool(&w, "pass", tensor_passes(f, c->o.tolerance));
            if (f->v == CR_DIFF_SAME || f->v == CR_DIFF_VALUES) {
                double n = (double)(f->a->n_elems - f->n_odd);
                cr_jw_f64(&w, "max_abs", f->max_abs);
                cr_jw_f64(&w, "mean_abs", n > 0 ? f->sum_abs / n : 0);
                cr_jw_f64(&w, "cosine", cosine(f));
                cr_jw_f64(&w, "relative_l2", rel_l2(f));
                cr_jw_i64(&w, "not_finite", f->n_odd);
            }
            cr_jw_end(&w);
        }
        cr_jw_end(&w);
    }
    cr_jw_end(&w);
    cr_ui_say("%s\n", out.data);
    cr_buf_clear(&out);
}

/* ---- the command ---- */

static cr_code draw(cr_ui *ui, const comparison *c, const char *path) {
    cr_err err;
    cr_buf out;
    if (c->n == 0)
        return cr_ui_wrong(ui, "--plot draws losses and metrics, and parameters have no curve; "
                               "leave it out, or compare two logs");
    cr_buf_init(&out);
    cr_align_plot(c->v, c->n, c->path[0], c->path[1], c->o.tolerance, &out);
    cr_code code = cr_file_write(path, out.data, out.n, &err);
    cr_buf_clear(&out);
    err.code = CR_EUSAGE; /* 1 is the verdict that the runs are not aligned */
    return code == CR_OK ? CR_OK : cr_ui_fail(ui, &err);
}

/* Takes the two paths, from either spelling. */
static cr_code take_paths(cr_ui *ui, const args *opt, comparison *c) {
    if (opt->cuda_log || opt->sdaa_log) {
        if (!opt->cuda_log || !opt->sdaa_log || opt->runs.n)
            return cr_ui_wrong(ui, "--cuda_log names the reference and --sdaa_log the candidate; "
                                   "give both, and no other path");
        c->path[0] = opt->cuda_log;
        c->path[1] = opt->sdaa_log;
        return CR_OK;
    }
    if (opt->runs.n != 2)
        return cr_ui_wrong(ui, "%d path%s given; align takes two: crank align REFERENCE CANDIDATE",
                           opt->runs.n, opt->runs.n == 1 ? "" : "s");
    c->path[0] = opt->runs.v[0];
    c->path[1] = opt->runs.v[1];
    return CR_OK;
}

static cr_code take_flags(cr_ui *ui, const args *opt, comparison *c) {
    static const char *const matches[] = {"same", "common", "order"};
    static const char *const modes[] = {"auto", "loss", "metric", "params"};
    int match = 0, mode = 0;
    CR_ASSERT(c->path[0] && c->path[1]);
    while (match < 3 && strcmp(opt->match, matches[match]) != 0)
        match++;
    while (mode < 4 && strcmp(opt->mode, modes[mode]) != 0)
        mode++;
    if (match == 3)
        return cr_ui_wrong(ui, "--match is '%s' and must be same, common or order", opt->match);
    if (mode == 4)
        return cr_ui_wrong(ui, "--mode is '%s' and must be auto, loss, metric or params",
                           opt->mode);
    c->o = (cr_align_opts){opt->tolerance, (cr_align_match)match, opt->skip, opt->last};
    bool log_a = is_log(&ui->arena, c->path[0]), log_b = is_log(&ui->arena, c->path[1]);
    if (mode == 0 && log_a != log_b)
        return cr_ui_wrong(ui,
                           "%s is a log and %s holds parameters; give two of a kind, or --mode "
                           "params for the newest checkpoints of two model_dirs",
                           c->path[log_a ? 0 : 1], c->path[log_a ? 1 : 0]);
    c->params = mode == 3 || (mode == 0 && !log_a);
    c->loss = mode == 1 || (mode == 0 && log_a);
    c->metric = mode == 2 || (mode == 0 && log_a);
    return CR_OK;
}

static cr_code no_loss(cr_ui *ui, const char *path, bool empty, const char *key) {
    if (empty) return cr_ui_wrong(ui, "%s is empty; there is nothing to compare", path);
    if (key)
        return cr_ui_wrong(ui, "%s has no value named '%s'; --key names one as the log has it",
                           path, key);
    return cr_ui_wrong(ui,
                       "%s has no loss: no line has a value named train.loss, loss, total_loss or "
                       "cost; name it with --key",
                       path);
}

/* Finds out what there is to compare. What was asked for must be there; without a wish, a loss or
 * a metric. */
static cr_code check_logs(cr_ui *ui, const args *opt, comparison *c) {
    for (int i = 0; i < 2; i++)
        if (c->log[i].cut)
            cr_diag_add(&ui->diag, CR_SEV_WARN, CR_OK, (cr_loc){c->path[i], 0, 0},
                        "the file ends behind a number, without the end of a line; if it was cut "
                        "off, its last value is wrong");
    int lacks = c->log[0].loss.n == 0 ? 0 : c->log[1].loss.n == 0 ? 1 : -1, common = 0;
    for (int i = 0; i < c->log[0].n_metrics; i++)
        common += cr_align_metric(&c->log[1], c->log[0].metrics[i].name) != NULL;
    bool must_loss = !c->metric || opt->key || common == 0;
    if (c->loss && lacks >= 0 && must_loss)
        return no_loss(ui, c->path[lacks], c->log[lacks].empty, opt->key);
    if (!c->loss && common == 0)
        return cr_ui_wrong(ui, "%s and %s have no metric of evaluations in common", c->path[0],
                           c->path[1]);
    c->loss = c->loss && lacks < 0;
    return CR_OK;
}

static cr_code run(cr_ui *ui, const void *flags) {
    const args *opt = flags;
    comparison c = {.pass = true};
    cr_arena *a = &ui->arena;
    cr_err err;
    cr_code code;
    CR_TRY(take_paths(ui, opt, &c));
    CR_TRY(take_flags(ui, opt, &c));
    if (c.params) {
        code = open_tensors(a, &c, &err);
        if (code == CR_OK) compare_tensors(&c);
    } else {
        code = read_log(a, c.path[0], opt->key, &c.log[0], &err);
        if (code == CR_OK) code = read_log(a, c.path[1], opt->key, &c.log[1], &err);
        if (code == CR_OK) CR_TRY(check_logs(ui, opt, &c));
        if (code == CR_OK) compare_logs(a, &c);
        int most = c.log[0].loss.n < c.log[1].loss.n ? c.log[0].loss.n : c.log[1].loss.n;
        if (code == CR_OK && c.loss && opt->skip >= most)
            return cr_ui_wrong(ui, "--skip %lld leaves no loss to compare; the logs have %d and %d",
                               (long long)opt->skip, c.log[0].loss.n, c.log[1].loss.n);
    }
    cr_buf text;
    cr_buf_init(&text);
    if (opt->report) cr_ui_copy(&text);
    if (code == CR_OK && opt->json)
        print_json(&c);
    else if (code == CR_OK)
        print_text(a, &c, opt->all);
    cr_ui_copy(NULL);
    if (code == CR_OK && opt->report) code = cr_file_write(opt->report, text.data, text.n, &err);
    cr_buf_clear(&text);
    cr_ckpt_close(c.ckpt[0]);
    cr_ckpt_close(c.ckpt[1]);
    if (code != CR_OK) {
        err.code = CR_EUSAGE; /* what cannot be compared is neither aligned nor not */
        return cr_ui_fail(ui, &err);
    }
    if (opt->plot) CR_TRY(draw(ui, &c, opt->plot));
    return c.pass ? CR_OK : CR_ERUN;
}

static const char *const examples[] = {
    "crank align runs/fp32 runs/bf16 --plot align.svg",
    "crank align torch.log experiments/deepfm/train_log.jsonl --match common",
    "crank align reference.safetensors experiments/deepfm --mode params --tolerance 1e-4",
    NULL,
};

const cr_cmd cr_cmd_align = {
    .name = "align",
    .help = "Compare losses, metrics or parameters of two runs within a tolerance",
    .about =
        "\nLogs are those of crank, DLLogger, TCAP_DLLogger, PaddleRec, TorchEasyRec, or any with "
        "`loss: 0.5` in its lines.\nThe runs agree when they have the same steps, finite values, a "
        "mean relative error of the losses within the\ntolerance, and every metric of every "
        "evaluation within it; parameters, when the relative L2 error of each is.\n\nExit code: 0 "
        "aligned, 1 not aligned, 2 they cannot be compared.\n",
    .operand = "REFERENCE CANDIDATE",
    .operand_opt = "runs",
    .opts = opts,
    .args_size = sizeof(args),
    .examples = examples,
    .run = run,
};
