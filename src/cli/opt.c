/*
 * opt.c - reads flags.
 *
 * A value is the text after '=' or the next argument, whatever it looks like. The exception is
 * "--word", which is taken for the next flag: a forgotten value is far more common than a value of
 * that form, and '=' is there for the latter.
 */
#include "cli/opt.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/file.h"
#include "base/scheme.h"

/* Returns row i of all tables, one after the other; NULL past the end. */
static const cr_opt *row_at(const cr_opt_spec *spec, size_t i) {
    for (const cr_opt_group *g = spec->groups; g->rows; g++)
        for (const cr_opt *o = g->rows; o->name; o++)
            if (i-- == 0) return o;
    return NULL;
}

/* Returns the place where the value of a row goes. */
static void *place_of(const cr_opt_spec *spec, const cr_opt *row) {
    for (const cr_opt_group *g = spec->groups; g->rows; g++)
        for (const cr_opt *o = g->rows; o->name; o++)
            if (o == row) return (char *)g->args + o->offset;
    CR_BUG("a row of no table");
}

static const char *next_name(const void *ctx, size_t i) {
    const cr_opt *o = row_at(ctx, i);
    return o ? o->name : NULL;
}

static const cr_opt *by_name(const cr_opt_spec *spec, const char *name) {
    const cr_opt *o;
    for (size_t i = 0; (o = row_at(spec, i)); i++)
        if (strcmp(o->name, name) == 0) return o;
    return NULL;
}

#define usage(err, ...) cr_fail((err), CR_EUSAGE, __VA_ARGS__)

/* ---- values ---- */

static bool read_count(const char *s, int64_t *out) {
    static const struct {
        char unit;
        int64_t factor;
    } units[] = {{'k', 1000},    {'K', 1000},       {'m', 1000000},
                 {'M', 1000000}, {'g', 1000000000}, {'G', 1000000000}};
    size_t n = strlen(s);
    int64_t factor = 1;
    for (size_t i = 0; n > 1 && i < sizeof units / sizeof *units; i++)
        if (s[n - 1] == units[i].unit) factor = units[i].factor;
    if (factor == 1) return cr_parse_i64(s, n, out);
    double x;
    if (!cr_parse_f64(s, n - 1, &x) || !(fabs(x) < 9e15 / (double)factor)) return false;
    x *= (double)factor;
    *out = (int64_t)llround(x);
    return fabs(x - (double)*out) < 1e-6;
}

static bool read_bool(const char *s, bool *out) {
    static const char *const yes[] = {"true", "1", "yes", "on"};
    static const char *const no[] = {"false", "0", "no", "off"};
    for (size_t i = 0; i < 4; i++) {
        if (strcasecmp(s, yes[i]) == 0) return *out = true, true;
        if (strcasecmp(s, no[i]) == 0) return *out = false, true;
    }
    return false;
}

/* Writes what a flag takes, as the end of "must be ...". */
static void range_text(const cr_opt *o, char out[96]) {
    char lo[32], hi[32];
    cr_fmt_f64(lo, o->min);
    cr_fmt_f64(hi, o->max);
    const char *what = o->type == CR_O_FLOAT ? "a number" : "an integer";
    if (o->type == CR_O_BOOL)
        snprintf(out, 96, "true or false; or leave the value out");
    else if (o->type == CR_O_UINT64)
        snprintf(out, 96, "%s from 0 to 18446744073709551615", what);
    else if (o->flags & CR_O_ALL)
        snprintf(out, 96, "all, or an integer of at least 1");
    else if (o->type != CR_O_FLOAT && o->max >= 9e15)
        snprintf(out, 96, "%s of at least %s", what, lo);
    else if (isinf(o->max))
        snprintf(out, 96, "%s of at least %s", what, lo);
    else
        snprintf(out, 96, "%s from %s to %s", what, lo, hi);
}

/* Stores a value; false: the flag does not take this text. */
static bool set_value(const cr_opt_spec *spec, const cr_opt *o, const char *s, cr_arena *arena) {
    void *to = place_of(spec, o);
    bool ok = true;
    double x = 0;
    switch (o->type) {
    case CR_O_BOOL: return read_bool(s, to);
    case CR_O_STR: *(const char **)to = s; return true;
    case CR_O_LIST: {
        cr_opt_list *l = to;
        if (l->n == l->cap) {
            int cap = l->cap ? 2 * l->cap : 8;
            const char **v = CR_NEW_N(arena, const char *, cap);
            if (l->n) memcpy(v, l->v, sizeof *v * (size_t)l->n);
            l->v = v;
            l->cap = cap;
        }
        l->v[l->n++] = s;
        return true;
    }
    case CR_O_INT: ok = cr_parse_i64(s, strlen(s), to), x = (double)*(int64_t *)to; break;
    case CR_O_COUNT:
        if (o->flags & CR_O_ALL && strcmp(s, "all") == 0) return *(int64_t *)to = 0, true;
        ok = read_count(s, to), x = (double)*(int64_t *)to;
        break;
    case CR_O_UINT64: return cr_parse_u64(s, strlen(s), to);
    case CR_O_FLOAT: ok = cr_parse_f64(s, strlen(s), to), x = *(double *)to; break;
    }
    return ok && x >= o->min && x <= o->max;
}

/* Is this JSON that the shell has read? Without quotes around it, {"a.b": 2} arrives as {a.b: and
 * 2}. */
static bool lost_quotes(const char *s) {
    return strchr(s, '"') == NULL && s[strspn(s, "{} ")] != 0;
}

static cr_code take_value(const cr_opt_spec *spec, const cr_opt *o, const char *s, cr_arena *arena,
                          cr_err *err) {
    if (o->flags & CR_O_LATER)
        return usage(err, "%s: --%s is known but not in this version; leave it out", spec->prog,
                     o->name);
    if (!*s && o->type != CR_O_STR)
        return usage(err, "%s: --%s has an empty value; give it %s or leave it out", spec->prog,
                     o->name, o->arg ? o->arg : "true or false");
    if (o->flags & CR_O_JSON && *s == '\\')
        return usage(err, "%s: --%s is '%s', which begins with a backslash; remove the backslashes",
                     spec->prog, o->name, s);
    if (o->flags & CR_O_JSON && lost_quotes(s))
        return usage(err,
                     "%s: --%s is '%s': the shell has taken the quotes away, and may have split "
                     "the rest; put the JSON in single quotes: --%s '{\"train_config.num_epochs\": "
                     "2}'",
                     spec->prog, o->name, s, o->name);
    if (set_value(spec, o, s, arena)) return CR_OK;
    char range[96];
    range_text(o, range);
    return usage(err, "%s: --%s is '%s' and must be %s", spec->prog, o->name, s, range);
}

/* ---- names ---- */

/* Copies the n bytes of a name into the arena, with _ in place of -. */
static char *plain_name(cr_arena *arena, const char *name, size_t n) {
    char *s = cr_arena_strndup(arena, name, n);
    for (char *p = s; *p; p++)
        if (*p == '-') *p = '_';
    return s;
}

static cr_code unknown(const cr_opt_spec *spec, const char *name, cr_err *err) {
    const cr_opt *o;
    if (strchr(name, '\\')) /* web pages write \_ for _ */
        return usage(err, "%s: unknown flag --%s; remove the backslashes", spec->prog, name);
    const char *near = cr_nearest(name, next_name, spec);
    /* A part of a name may be meant: "config" for "pipeline_config_path". */
    for (size_t i = 0; !near && strlen(name) > 2 && (o = row_at(spec, i)); i++)
        if (strstr(o->name, name)) near = o->name;
    if (near)
        return usage(err, "%s: unknown flag --%s; did you mean --%s?", spec->prog, name, near);
    return usage(err, "%s: unknown flag --%s; see '%s --help'", spec->prog, name, spec->prog);
}

static cr_code find(const cr_opt_spec *spec, const char *name, const cr_opt **out, cr_err *err) {
    *out = by_name(spec, name);
    if (*out) return CR_OK;
    const cr_opt *o;
    char list[300] = "";
    size_t len = 0;
    int n = 0;
    for (size_t i = 0; *name && (o = row_at(spec, i)); i++) {
        if (strncmp(o->name, name, strlen(name)) != 0) continue;
        *out = o;
        if (len < sizeof list)
            len +=
                (size_t)snprintf(list + len, sizeof list - len, "%s--%s", n ? ", " : "", o->name);
        n++;
    }
    if (n == 0) return unknown(spec, name, err);
    if (n > 1)
        return usage(err, "%s: --%s is short for several flags; write one of %s", spec->prog, name,
                     list);
    return CR_OK;
}

static bool looks_like_flag(const char *s) {
    return s[0] == '-' && s[1] == '-' && s[2] && s[2] != '=';
}

/* ---- the walk ---- */

typedef struct walk {
    const cr_opt_spec *spec;
    int argc, i; /* i: the argument being read */
    char **argv;
    cr_arena *arena;
    bool *given;           /* per row: the flag was given */
    const char *last_bool; /* the presence flag that the argument before this one was */
    const char *operand;   /* the first argument that is no flag */
    bool stop;
} walk;

static void mark(walk *w, const cr_opt *o) {
    for (size_t i = 0;; i++) {
        const cr_opt *r = row_at(w->spec, i);
        if (!r) return;
        if (r == o) w->given[i] = true;
    }
}

/* Takes one flag; value is the text after '=' or NULL. */
static cr_code take_flag(walk *w, const cr_opt *o, const char *value, cr_err *err) {
    mark(w, o);
    w->last_bool = NULL;
    if (o->type == CR_O_BOOL && !value) {
        value = "true";
        w->last_bool = o->name;
    } else if (!value && o->flags & CR_O_MAYBE) {
        const char *next = w->i + 1 < w->argc ? w->argv[w->i + 1] : "";
        int64_t x;
        bool given = cr_parse_i64(next, strlen(next), &x);
        value = given ? next : "0";
        w->i += given;
    } else if (!value) {
        const char *next = w->i + 1 < w->argc ? w->argv[w->i + 1] : NULL;
        if (next && looks_like_flag(next))
            return usage(
                err,
                "%s: --%s needs a value but '%s' follows; write --%s %s, or --%s=%s if that is it",
                w->spec->prog, o->name, next, o->name, o->arg, o->name, next);
        if (!next)
            return usage(err, "%s: --%s needs a value; write --%s %s", w->spec->prog, o->name,
                         o->name, o->arg);
        value = next;
        w->i++;
    }
    CR_TRY(take_value(w->spec, o, value, w->arena, err));
    if (o->flags & CR_O_STOP) w->stop = true;
    return CR_OK;
}

/* Returns the row that takes flags with dots; NULL: there is none. */
static const cr_opt *dotted(const cr_opt_spec *spec) {
    const cr_opt *o;
    for (size_t i = 0; (o = row_at(spec, i)); i++)
        if (o->flags & CR_O_DOTTED) return o;
    return NULL;
}

static cr_code take_long(walk *w, const char *arg, cr_err *err) {
    const char *name = arg + 2, *eq = strchr(name, '='), *dot = strchr(name, '.');
    const cr_opt *o = dot && (!eq || dot < eq) ? dotted(w->spec) : NULL;
    if (o) {
        const char *next = w->i + 1 < w->argc ? w->argv[w->i + 1] : NULL;
        w->last_bool = NULL;
        if (!eq && next && !looks_like_flag(next)) { /* --a.b value */
            name = cr_arena_printf(w->arena, "%s=%s", name, next);
            w->i++;
        }
        mark(w, o);
        return take_value(w->spec, o, name, w->arena, err);
    }
    CR_TRY(find(w->spec, plain_name(w->arena, name, eq ? (size_t)(eq - name) : strlen(name)), &o,
                err));
    return take_flag(w, o, eq ? eq + 1 : NULL, err);
}

static cr_code take_short(walk *w, const char *arg, cr_err *err) {
    const cr_opt *o;
    for (size_t i = 0; (o = row_at(w->spec, i)); i++)
        if (o->letter == arg[1]) break;
    if (!o || (o->type == CR_O_BOOL && arg[2])) {
        /* In -model_dir one dash may be missing. */
        const cr_opt *meant =
            by_name(w->spec, plain_name(w->arena, arg + 1, strcspn(arg + 1, "=")));
        if (meant)
            return usage(err, "%s: unknown flag %s; did you mean --%s?", w->spec->prog, arg,
                         meant->name);
        return usage(err, "%s: unknown flag %s; see '%s --help'", w->spec->prog, arg,
                     w->spec->prog);
    }
    if (!arg[2]) return take_flag(w, o, NULL, err);
    return take_flag(w, o, arg + 2 + (arg[2] == '='), err);
}

static cr_code take_operand(walk *w, const char *arg, cr_err *err) {
    const cr_opt_spec *spec = w->spec;
    bool b;
    const cr_opt *o = spec->operand ? by_name(spec, spec->operand_opt) : NULL;
    /* a number may be one of several operands, such as a job's id: jobs logs -f 1 */
    bool number = o && o->type == CR_O_LIST && *arg >= '0' && *arg <= '9';
    if (w->last_bool && !number && read_bool(arg, &b))
        return usage(err, "%s: --%s takes no value; write --%s or --%s=%s", spec->prog,
                     w->last_bool, w->last_bool, w->last_bool, arg);
    w->last_bool = NULL;
    /* Without quotes the shell makes several arguments of a glob or of a value with blanks. */
    bool exists = cr_scheme_len(arg) == 0 && cr_path_exists(arg); /* no shell expands the others */
    const char *quote = exists                ? "put globs in quotes, "
                        : strpbrk(arg, "{}")  ? "put JSON in single quotes, "
                        : strpbrk(arg, "[](") ? "put a value that has blanks in quotes, "
                                              : "";
    if (!o && exists)
        return usage(err,
                     "%s: unexpected argument '%s'; write its flag in front of it, or put globs in "
                     "quotes, see '%s --help'",
                     spec->prog, arg, spec->prog);
    if (!o)
        return usage(err, "%s: unexpected argument '%s'; %ssee '%s --help'", spec->prog, arg, quote,
                     spec->prog);
    if (w->operand && o->type != CR_O_LIST)
        return usage(err, "%s: unexpected argument '%s' after '%s'; %s%s takes one %s", spec->prog,
                     arg, w->operand, quote, spec->prog, spec->operand);
    const char *cure = spec->wrong_word ? spec->wrong_word(arg) : NULL;
    if (cure) return usage(err, "%s: '%s' is not known; %s", spec->prog, arg, cure);
    w->operand = arg;
    return take_value(spec, o, arg, w->arena, err);
}

/* Reports flags that are missing, all at once, and flags that are given twice. */
static cr_code check_given(const walk *w, cr_err *err) {
    const cr_opt_spec *spec = w->spec;
    const cr_opt *o, *operand = NULL;
    cr_buf names, add;
    int n = 0;
    cr_code code = CR_OK;
    cr_buf_init(&names);
    cr_buf_init(&add);
    for (size_t i = 0; code == CR_OK && (o = row_at(spec, i)); i++) {
        bool is_operand = spec->operand && strcmp(o->name, spec->operand_opt) == 0;
        if (is_operand && w->operand && w->given[i] && o->type != CR_O_LIST)
            code = usage(err, "%s: both %s '%s' and --%s are given; keep one of them", spec->prog,
                         spec->operand, w->operand, o->name);
        if (!(o->flags & CR_O_REQUIRED) || w->given[i] || (is_operand && w->operand)) continue;
        if (is_operand) {
            operand = o;
            continue;
        }
        cr_buf_printf(&names, "%s--%s", n++ ? ", " : "", o->name);
        if (o->letter)
            cr_buf_printf(&add, " -%c %s", o->letter, o->arg);
        else
            cr_buf_printf(&add, " --%s %s", o->name, o->arg);
    }
    if (code == CR_OK && operand)
        code = usage(err, "%s: no %s is given; write '%s %s%s' or --%s %s%s", spec->prog,
                     spec->operand, spec->prog, spec->operand, n ? add.data : "", operand->name,
                     operand->arg, n ? add.data : "");
    else if (code == CR_OK && n > 0)
        code = usage(err, "%s: %s %s missing; add%s", spec->prog, names.data, n > 1 ? "are" : "is",
                     add.data);
    cr_buf_clear(&names);
    cr_buf_clear(&add);
    return code;
}

cr_code cr_opt_parse(const cr_opt_spec *spec, int argc, char **argv, cr_arena *arena, cr_err *err) {
    const cr_opt *o;
    size_t n = 0;
    for (; (o = row_at(spec, n)); n++)
        if (o->def && !set_value(spec, o, o->def, arena))
            CR_BUG("a default that its own row refuses");
    walk w = {.spec = spec, .argc = argc, .argv = argv, .arena = arena};
    w.given = CR_NEW_N(arena, bool, n + 1);
    bool operands_only = false;
    if (spec->rest) *spec->rest = argc;
    for (; w.i < argc && !w.stop; w.i++) {
        const char *arg = argv[w.i];
        if (spec->rest && (arg[0] != '-' || !arg[1] || strcmp(arg, "--") == 0)) {
            *spec->rest = w.i + (arg[0] == '-' && arg[1] == '-');
            break;
        }
        if (operands_only || arg[0] != '-' || !arg[1])
            CR_TRY(take_operand(&w, arg, err));
        else if (strcmp(arg, "--") == 0)
            operands_only = true;
        else if (arg[1] == '-')
            CR_TRY(take_long(&w, arg, err));
        else
            CR_TRY(take_short(&w, arg, err));
    }
    return w.stop ? CR_OK : check_given(&w, err);
}

/* ---- paths ---- */

static void take_path(const cr_opt_spec *spec, const cr_opt *o, const char **value, cr_arena *arena,
                      cr_diag *diag) {
    if (!*value) return;
    if (o->flags & CR_O_TABLE && cr_scheme_rows(*value)) return;
    /* cp FROM TO: users do not write the flag that stands for its operands */
    bool operand = o->type == CR_O_LIST && spec->operand && strcmp(o->name, spec->operand_opt) == 0;
    cr_loc at = {operand ? spec->prog : cr_arena_printf(arena, "--%s", o->name), 0, 0};
    const char *local = o->flags & CR_O_PATH ? cr_path_take(arena, *value, at, diag)
                                             : cr_paths_take(arena, *value, at, diag);
    /* a list, as that of cp, keeps the slash that says "into this folder" */
    bool bare = o->type == CR_O_STR && o->flags & CR_O_PATH;
    if (local) *value = bare ? cr_path_bare(arena, local) : local;
}

void cr_opt_paths(const cr_opt_spec *spec, cr_arena *arena, cr_diag *diag) {
    const cr_opt *o;
    for (size_t i = 0; (o = row_at(spec, i)); i++) {
        if (!(o->flags & (CR_O_PATH | CR_O_PATHS))) continue;
        void *at = place_of(spec, o);
        cr_opt_list *list = at;
        if (o->type == CR_O_STR)
            take_path(spec, o, at, arena, diag);
        else
            for (int k = 0; k < list->n; k++)
                take_path(spec, o, &list->v[k], arena, diag);
    }
}

/* ---- help ---- */

bool cr_opt_word_bool(const char *text, bool *out) {
    static const char *const words[2][5] = {{"no", "false", "f", "n", "0"},
                                            {"yes", "true", "t", "y", "1"}};
    for (int i = 0; i < 10; i++)
        if (strcasecmp(text, words[i / 5][i % 5]) == 0) {
            *out = i >= 5;
            return true;
        }
    return false;
}

#define HELP_COLUMN 36

static void note(cr_buf *out, const cr_opt *o, const char *code) {
    if (o->flags & CR_O_LATER)
        cr_buf_str(out, "not in this version");
    else if (o->flags & CR_O_REQUIRED)
        cr_buf_str(out, "needed");
    else if (o->otherwise)
        cr_buf_str(out, o->otherwise);
    else if (o->def)
        cr_buf_printf(out, "%s%s%s", code, o->def, code);
}

void cr_opt_lines(cr_buf *out, const cr_opt_spec *spec) {
    const cr_opt *o;
    cr_buf end;
    cr_buf_init(&end);
    for (size_t i = 0; (o = row_at(spec, i)); i++) {
        size_t start = out->n;
        if (o->letter)
            cr_buf_printf(out, "  -%c, --%s", o->letter, o->name);
        else
            cr_buf_printf(out, "  --%s", o->name);
        if (o->arg && o->type != CR_O_BOOL) cr_buf_printf(out, " %s", o->arg);
        if (out->n - start > HELP_COLUMN - 2) {
            cr_buf_char(out, '\n');
            start = out->n;
        }
        while (out->n - start < HELP_COLUMN)
            cr_buf_char(out, ' ');
        cr_buf_str(out, o->help);
        cr_buf_reset(&end);
        note(&end, o, "");
        if (end.n) cr_buf_printf(out, " [%s]", end.data);
        cr_buf_char(out, '\n');
    }
    cr_buf_clear(&end);
}

/* Writes text into a cell of a Markdown table. */
static void cell(cr_buf *out, const char *s) {
    for (; *s; s++) {
        if (*s == '|') cr_buf_char(out, '\\');
        cr_buf_char(out, *s);
    }
}

void cr_opt_table(cr_buf *out, const cr_opt *table) {
    cr_buf_str(out, "| flag | default | meaning |\n|---|---|---|\n");
    for (const cr_opt *o = table; o->name; o++) {
        cr_buf_printf(out, "| `--%s", o->name);
        if (o->arg && o->type != CR_O_BOOL) {
            cr_buf_char(out, ' ');
            cell(out, o->arg);
        }
        cr_buf_char(out, '`');
        if (o->letter) cr_buf_printf(out, ", `-%c`", o->letter);
        cr_buf_str(out, " | ");
        note(out, o, "`");
        cr_buf_str(out, " | ");
        cell(out, o->help);
        cr_buf_str(out, " |\n");
    }
}
