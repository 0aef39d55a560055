/*
 * cmd_diff.c - `crank diff`: are two checkpoints the same, and where did their runs part?
 *
 * Two sorted lists of tensors are walked side by side. Values are compared as floats, bit for bit,
 * whatever their types: an export with 8-bit rows can be compared with the checkpoint it came from.
 * When both lie in a model_dir, the logs there are compared step by step: the first difference is
 * where to look.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "ckpt/ckpt.h"
#include "cli/cli.h"

#define PIECE    65536
#define MAX_LOG  ((size_t)1 << 30)
#define RESULTS  "train_eval_result_v2.txt"
#define JSON_LOG "train_log.jsonl"

static const cr_opt opts[] = {
    CR_OPT_(checkpoints, CR_O_LIST, 0, CR_O_REQUIRED | CR_O_PATH, "PATH", NULL, NULL, 0, 0,
            "the two to compare: checkpoint, model_dir (its newest), export or safetensors file"),
    CR_OPT_BOOL(json, 0, "print one JSON object"),
    CR_OPT_END,
};

/* ---- parameters ---- */

typedef enum verdict { SAME, DIFFERS, OTHER_SHAPE, ONLY_A, ONLY_B } verdict;
typedef struct finding {
    verdict v;
    const cr_ckpt_info *a, *b; /* NULL on the side that lacks it */
    int64_t n_differ;          /* values */
    double max_abs, max_rel;   /* over pairs of numbers */
    int64_t at;                /* element of max_abs */
    float at_a, at_b;          /* its values */
    int64_t n_nan;             /* pairs of which exactly one is not a number */
} finding;

static bool same_bits(float a, float b) {
    uint32_t x, y;
    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    return x == y;
}

static void compare_values(finding *f, int64_t first, const float *x, const float *y, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        if (same_bits(x[i], y[i]) || (isnan(x[i]) && isnan(y[i]))) continue;
        if (f->n_differ++ == 0) {
            f->at = first + i;
            f->at_a = x[i];
            f->at_b = y[i];
        }
        if (isnan(x[i]) != isnan(y[i])) {
            f->n_nan++;
            continue;
        }
        double a = (double)x[i], b = (double)y[i], d = fabs(a - b);
        double size = fmax(fabs(a), fabs(b)), rel = size > 0 && isfinite(d) ? d / size : d;
        if (rel > f->max_rel) f->max_rel = rel;
        if (d <= f->max_abs) continue;
        f->max_abs = d;
        f->at = first + i;
        f->at_a = x[i];
        f->at_b = y[i];
    }
}

static cr_code compare(const cr_ckpt *ca, const cr_ckpt *cb, finding *f, float *tmp, cr_err *err) {
    if (f->a->n_dims != f->b->n_dims ||
        memcmp(f->a->shape, f->b->shape, sizeof(int64_t) * (size_t)f->a->n_dims) != 0) {
        f->v = OTHER_SHAPE;
        return CR_OK;
    }
    for (int64_t k = 0; k < f->a->n_elems; k += PIECE) {
        int64_t n = f->a->n_elems - k < PIECE ? f->a->n_elems - k : PIECE;
        CR_TRY(cr_ckpt_read(ca, f->a->name, k, n, tmp, err));
        CR_TRY(cr_ckpt_read(cb, f->b->name, k, n, tmp + PIECE, err));
        compare_values(f, k, tmp, tmp + PIECE, n);
    }
    f->v = f->n_differ ? DIFFERS : SAME;
    return CR_OK;
}

static int states(const cr_ckpt *c) {
    int n = 0;
    for (int i = 0; i < cr_ckpt_count(c); i++)
        n += cr_ckpt_at(c, i)->optimizer;
    return n;
}

/* An export has no optimizer state; against a checkpoint its weights are compared. 'A' or 'B': the
 * only side with state; 0: both or none. */
static char lone_state(const cr_ckpt *ca, const cr_ckpt *cb) {
    int a = states(ca), b = states(cb);
    return a > 0 && b == 0 ? 'A' : b > 0 && a == 0 ? 'B' : 0;
}

/* all names of both, in order; returns how many */
static cr_code compare_all(const cr_ckpt *ca, const cr_ckpt *cb, finding *out, int *n_out,
                           cr_err *err) {
    int i = 0, k = 0, n = 0;
    bool weights = lone_state(ca, cb) != 0;
    cr_code code = CR_OK;
    float *tmp = cr_alloc(sizeof(float) * 2 * PIECE, "pieces of tensors");
    while (code == CR_OK && (i < cr_ckpt_count(ca) || k < cr_ckpt_count(cb))) {
        const cr_ckpt_info *a = i < cr_ckpt_count(ca) ? cr_ckpt_at(ca, i) : NULL;
        const cr_ckpt_info *b = k < cr_ckpt_count(cb) ? cr_ckpt_at(cb, k) : NULL;
        int order = !a ? 1 : !b ? -1 : strcmp(a->name, b->name);
        if (weights && ((order < 0 && a->optimizer) || (order > 0 && b->optimizer))) {
            i += order < 0;
            k += order > 0;
            continue;
        }
        finding *f = &out[n++];
        *f = (finding){.a = order <= 0 ? a : NULL, .b = order >= 0 ? b : NULL};
        f->v = order < 0 ? ONLY_A : ONLY_B;
        if (order == 0) code = compare(ca, cb, f, tmp, err);
        i += order <= 0;
        k += order >= 0;
    }
    cr_free(tmp);
    *n_out = n;
    return code;
}

/* ---- logs ---- */

/* one number of a log: what was `key` at `step` */
typedef struct point {
    int64_t step;
    const char *key;
    double value;
    int line; /* later lines of a step count: a run that went on repeats some */
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

/* what two equal runs have in common: losses and metrics, not speeds and times */
static bool comparable(const char *key, bool json_log) {
    if (!json_log) return strcmp(key, "global_step") != 0;
    return strncmp(key, "train.loss", 10) == 0 ||
           (strncmp(key, "val.", 4) == 0 && strcmp(key, "val.ips") != 0);
}

/* the numbers of a log by step; a file that is not there, or not one of ours, has none */
static void read_log(cr_arena *a, const char *path, bool json_log, series *out) {
    cr_buf text;
    cr_buf_init(&text);
    *out = (series){0};
    int line = 0;
    if (cr_path_exists(path) && cr_file_read(path, MAX_LOG, &text, NULL) != CR_OK) text.n = 0;
    for (size_t at = 0, n; at < text.n; at += n + 1) {
        const char *end = memchr(text.data + at, '\n', text.n - at);
        n = end ? (size_t)(end - (text.data + at)) : text.n - at;
        cr_json *j = NULL;
        int64_t step;
        const char *key;
        const cr_json *val;
        double x;
        line++;
        if (n == 0 || cr_json_parse(&j, text.data + at, n, NULL) != CR_OK) continue;
        if (cr_json_is_obj(j) &&
            cr_json_i64(cr_json_get(j, json_log ? "step" : "global_step"), &step))
            for (size_t i = 0; cr_json_member(j, i, &key, &val); i++)
                if (comparable(key, json_log) && cr_json_f64(val, &x))
                    add_point(a, out, step, key, x, line);
        cr_json_free(j);
    }
    cr_buf_clear(&text);
    if (out->n) qsort(out->v, (size_t)out->n, sizeof *out->v, by_step);
    int m = 0; /* the last of equals stays */
    for (int i = 0; i < out->n; i++) {
        bool again = i + 1 < out->n && out->v[i].step == out->v[i + 1].step &&
                     strcmp(out->v[i].key, out->v[i + 1].key) == 0;
        if (!again) out->v[m++] = out->v[i];
    }
    out->n = m;
}

typedef struct parting {
    const char *file; /* NULL: nothing to compare */
    bool differs;
    int64_t last_same, step; /* -1: none */
    const char *key;
    double a, b;
} parting;

static bool compare_logs(cr_arena *arena, const char *dir_a, const char *dir_b, const char *file,
                         bool json_log, parting *out) {
    series a, b;
    read_log(arena, cr_path_join(arena, dir_a, file), json_log, &a);
    read_log(arena, cr_path_join(arena, dir_b, file), json_log, &b);
    *out = (parting){.last_same = -1, .step = -1};
    int64_t before = -1; /* the step before last_same */
    for (int i = 0, k = 0; i < a.n && k < b.n && !out->differs;) {
        point *x = &a.v[i], *y = &b.v[k];
        int order = x->step != y->step ? (x->step < y->step ? -1 : 1) : strcmp(x->key, y->key);
        i += order <= 0;
        k += order >= 0;
        if (order != 0) continue;
        out->file = file;
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
        out->last_same = before; /* another key of it */
    return out->file != NULL;
}

/* the model_dir a checkpoint lies in */
static const char *dir_of(cr_arena *a, const char *path) {
    const char *base = cr_path_base(path);
    if (base == path) return ".";
    return base == path + 1 ? "/" : cr_arena_strndup(a, path, (size_t)(base - path) - 1);
}

/* the earlier of the two kinds of logs that differ, else any that could be compared */
static parting find_parting(cr_arena *arena, const char *a, const char *b) {
    parting train, eval;
    const char *da = dir_of(arena, a), *db = dir_of(arena, b);
    if (strcmp(da, db) == 0) return (parting){0};
    bool has_train = compare_logs(arena, da, db, JSON_LOG, true, &train);
    bool has_eval = compare_logs(arena, da, db, RESULTS, false, &eval);
    if (!has_train) return eval;
    if (has_eval && eval.differs && (!train.differs || eval.step < train.step)) return eval;
    return train;
}

/* ---- telling ---- */

static const char *name_of(const finding *f) {
    return f->a ? f->a->name : f->b->name;
}

static void index_text(char *out, size_t size, const cr_ckpt_info *p, int64_t at) {
    int64_t idx[CR_ST_MAX_DIMS] = {0};
    for (int d = p->n_dims - 1; d >= 0; d--) {
        idx[d] = at % p->shape[d];
        at /= p->shape[d];
    }
    cr_shape_text(out, size, p->n_dims, idx);
}

static void say_group(const finding *v, int n, verdict which, const char *title) {
    int seen = 0;
    char a[160], b[160];
    for (int i = 0; i < n; i++) {
        if (v[i].v != which) continue;
        if (seen++ == 0) cr_ui_say("%s\n", title);
        const cr_ckpt_info *p = v[i].a ? v[i].a : v[i].b;
        cr_shape_text(a, sizeof a, p->n_dims, p->shape);
        if (which == OTHER_SHAPE) {
            cr_shape_text(b, sizeof b, v[i].b->n_dims, v[i].b->shape);
            cr_ui_say("  %s  %s, %s\n", p->name, a, b);
        } else {
            cr_ui_say("  %s  %s %s\n", p->name, a, cr_ckpt_type_name(p));
        }
    }
}

static void say_differing(const finding *v, int n) {
    int width = 0;
    char at[160], count[64];
    for (int i = 0; i < n; i++)
        if (v[i].v == DIFFERS && (int)strlen(v[i].a->name) > width)
            width = (int)strlen(v[i].a->name);
    bool first = true;
    for (int i = 0; i < n; i++) {
        const finding *f = &v[i];
        if (f->v != DIFFERS) continue;
        if (first)
            cr_ui_say("  %-*s  %20s  %10s  %10s  %s\n", width, "", "values that differ", "max abs",
                      "max rel", "where, A, B");
        first = false;
        index_text(at, sizeof at, f->a, f->at);
        snprintf(count, sizeof count, "%lld of %lld", (long long)f->n_differ,
                 (long long)f->a->n_elems);
        cr_ui_say("  %-*s  %20s  %10.4g  %10.4g  %s %.9g %.9g", width, f->a->name, count,
                  f->max_abs, f->max_rel, at, (double)f->at_a, (double)f->at_b);
        if (f->n_nan) cr_ui_say("  %lld are NaN on one side", (long long)f->n_nan);
        if (strcmp(cr_ckpt_type_name(f->a), cr_ckpt_type_name(f->b)) != 0)
            cr_ui_say("  %s, %s", cr_ckpt_type_name(f->a), cr_ckpt_type_name(f->b));
        cr_ui_say("\n");
    }
}

static void say_side(const char *which, const cr_ckpt *c) {
    const cr_ckpt_state *s = cr_ckpt_get_state(c);
    cr_ui_say("%s  %s", which, cr_ckpt_path(c));
    if (s) cr_ui_say(", step %lld, seed %llu", (long long)s->step, (unsigned long long)s->seed);
    cr_ui_say("\n");
}

static void print_text(const cr_ckpt *ca, const cr_ckpt *cb, const finding *v, int n, int n_diff,
                       const parting *p) {
    say_side("A", ca);
    say_side("B", cb);
    if (n_diff == 0)
        cr_ui_say("all %d parameters are equal\n", n);
    else
        cr_ui_say("%d of %d parameters differ\n", n_diff, n);
    say_differing(v, n);
    say_group(v, n, OTHER_SHAPE, "other shapes in A and B");
    say_group(v, n, ONLY_A, "only in A");
    say_group(v, n, ONLY_B, "only in B");
    char side = lone_state(ca, cb);
    if (side)
        cr_ui_say("%d tensors of optimizer state are only in %c and were left aside\n",
                  states(side == 'A' ? ca : cb), side);
    if (!p->file) return;
    if (!p->differs) {
        cr_ui_say("logs      equal up to step %lld (%s)\n", (long long)p->last_same, p->file);
        return;
    }
    cr_ui_say("logs      differ first at step %lld: %s is %.9g and %.9g (%s", (long long)p->step,
              p->key, p->a, p->b, p->file);
    if (p->last_same >= 0) cr_ui_say("; equal up to step %lld", (long long)p->last_same);
    cr_ui_say(")\n");
}

static void json_shape(cr_jw *w, const char *key, const cr_ckpt_info *p) {
    cr_jw_arr(w, key);
    for (int d = 0; d < p->n_dims; d++)
        cr_jw_i64(w, NULL, p->shape[d]);
    cr_jw_end(w);
}

static void json_finding(cr_jw *w, const finding *f) {
    static const char *const words[] = {"equal", "differs", "other_shape", "only_a", "only_b"};
    cr_jw_obj(w, NULL);
    cr_jw_str(w, "name", name_of(f));
    cr_jw_str(w, "result", words[f->v]);
    if (f->a) json_shape(w, "shape_a", f->a);
    if (f->b) json_shape(w, "shape_b", f->b);
    if (f->a) cr_jw_str(w, "dtype_a", cr_ckpt_type_name(f->a));
    if (f->b) cr_jw_str(w, "dtype_b", cr_ckpt_type_name(f->b));
    if (f->v == DIFFERS) {
        cr_jw_i64(w, "values_differ", f->n_differ);
        cr_jw_f64(w, "max_abs", f->max_abs);
        cr_jw_f64(w, "max_rel", f->max_rel);
        cr_jw_i64(w, "nan_on_one_side", f->n_nan);
    }
    cr_jw_end(w);
}

static void print_json(const cr_ckpt *ca, const cr_ckpt *cb, const finding *v, int n, int n_diff,
                       const parting *p) {
    cr_buf out;
    cr_jw w;
    cr_buf_init(&out);
    cr_jw_init(&w, &out);
    cr_jw_obj(&w, NULL);
    cr_jw_str(&w, "a", cr_ckpt_path(ca));
    cr_jw_str(&w, "b", cr_ckpt_path(cb));
    cr_jw_bool(&w, "equal", n_diff == 0);
    cr_jw_i64(&w, "n_parameters", n);
    cr_jw_i64(&w, "n_differ", n_diff);
    char side = lone_state(ca, cb);
    if (side) cr_jw_str(&w, "optimizer_state_only_in", side == 'A' ? "a" : "b");
    cr_jw_arr(&w, "parameters");
    for (int i = 0; i < n; i++)
        if (v[i].v != SAME) json_finding(&w, &v[i]);
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

/* what cannot be compared is neither equal nor different: exit code 2, as diff(1) has it */
static cr_code trouble(cr_ui *ui, cr_err *err) {
    err->code = CR_EUSAGE;
    return cr_ui_fail(ui, err);
}

static cr_code run(cr_ui *ui, const cr_args *args) {
    if (args->checkpoints.n != 2)
        return cr_ui_wrong(ui, "%d checkpoint%s given; diff takes two: crank diff CKPT_A CKPT_B",
                           args->checkpoints.n, args->checkpoints.n == 1 ? "" : "s");
    cr_ckpt *c[2] = {NULL, NULL};
    cr_err err;
    cr_code code = CR_OK;
    for (int i = 0; i < 2 && code == CR_OK; i++) {
        char *path;
        code = cr_ckpt_resolve(&ui->arena, args->checkpoints.v[i], CR_NEED_ALL, &path, &err);
        if (code == CR_OK) code = cr_ckpt_open(&c[i], path, &err);
        if (code == CR_OK) code = cr_ckpt_verify(c[i], NULL, &err);
    }
    finding *v = NULL;
    int n = 0, n_diff = 0;
    if (code == CR_OK) {
        v = CR_NEW_N(&ui->arena, finding, cr_ckpt_count(c[0]) + cr_ckpt_count(c[1]) + 1);
        code = compare_all(c[0], c[1], v, &n, &err);
    }
    if (code == CR_OK) {
        for (int i = 0; i < n; i++)
            n_diff += v[i].v != SAME;
        parting p = find_parting(&ui->arena, cr_ckpt_path(c[0]), cr_ckpt_path(c[1]));
        (args->json ? print_json : print_text)(c[0], c[1], v, n, n_diff, &p);
    }
    cr_ckpt_close(c[0]);
    cr_ckpt_close(c[1]);
    if (code != CR_OK) return trouble(ui, &err);
    return n_diff ? CR_ERUN : CR_OK;
}

static const char *const examples[] = {
    "crank diff experiments/a experiments/b",
    "crank diff experiments/a/model.ckpt-1000 experiments/a/export --json",
    NULL,
};

const cr_cmd cr_cmd_diff = {
    .name = "diff",
    .help = "Compare two checkpoints, and the logs of their runs",
    .about = "\nExit code: 0 all parameters are equal, 1 some differ, 2 they cannot be compared.\n",
    .operand = "CKPT_A CKPT_B",
    .operand_opt = "checkpoints",
    .opts = opts,
    .examples = examples,
    .run = run,
};
