/*
 * tune_space.c - what `crank tune --try KEY=VALUES` asks for, and the trials that come of it.
 *
 * KEY is a path of the config, as --set takes it, or the bare name of a key: then it means all
 * places of the config where that key stands. VALUES is a list, [a,b,...] or choice(a,b,...), or a
 * range: uniform(a,b), log(a,b), int(a,b). Values stay config text from here to the trial's config.
 *
 * A number of a random trial is a function of (seed, name of the key, number of the trial), so the
 * trials do not depend on how many run at once, nor on what was run before.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "tool/tune.h"

#define MAX_TRIALS 10000

typedef struct reader {
    cr_tune *t;
    cr_arena *a;
    cr_diag *diag;
    const cr_conf_node *base;
} reader;

static void wrong(reader *r, const char *text, const char *fmt, ...) CR_PRINTF(3, 4);
static void wrong(reader *r, const char *text, const char *fmt, ...) {
    char msg[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(msg, sizeof msg, fmt, ap);
    va_end(ap);
    cr_diag_add(r->diag, CR_SEV_ERROR, CR_EUSAGE, CR_NOWHERE, "--try '%.120s': %s", text, msg);
}

/* ---- values ---- */

static const char *trimmed(cr_arena *a, const char *s, size_t n) {
    while (n && (*s == ' ' || *s == '\t'))
        s++, n--;
    while (n && (s[n - 1] == ' ' || s[n - 1] == '\t'))
        n--;
    return cr_arena_strndup(a, s, n);
}

/* Splits text at its commas outside of brackets and quotes; false: they are not balanced. */
static bool split(cr_arena *a, const char *s, size_t n, const char ***out, int *n_out) {
    size_t cap = 1, from = 0;
    int depth = 0;
    char quote = 0;
    for (size_t i = 0; i < n; i++)
        cap += s[i] == ',';
    const char **v = CR_NEW_N(a, const char *, cap);
    *n_out = 0;
    for (size_t i = 0; i <= n; i++) {
        char c = i < n ? s[i] : ',';
        if (i < n && quote) {
            if (c == '\\' && quote == '"' && i + 1 < n)
                i++;
            else if (c == quote)
                quote = 0;
            continue;
        }
        if (c == '"' || c == '\'') quote = c;
        if (c == '[' || c == '{' || c == '(') depth++;
        if ((c == ']' || c == '}' || c == ')') && depth-- == 0) return false;
        if (c != ',' || (depth > 0 && i < n)) continue;
        v[(*n_out)++] = trimmed(a, s + from, i - from);
        from = i + 1;
    }
    *out = v;
    return depth == 0 && !quote;
}

static const struct {
    const char *name;
    cr_tune_kind kind;
} forms[] = {{"choice", CR_TUNE_LIST},
             {"uniform", CR_TUNE_UNIFORM},
             {"log", CR_TUNE_LOG},
             {"int", CR_TUNE_INT}};

static const char *next_form(const void *ctx, size_t i) {
    (void)ctx;
    return i < sizeof forms / sizeof *forms ? forms[i].name : NULL;
}

static bool read_list(reader *r, cr_tune_key *k, const char *s, size_t n) {
    k->kind = CR_TUNE_LIST;
    if (!split(r->a, s, n, &k->values, &k->n_values))
        return wrong(r, k->text, "a bracket or a quote is not closed; close it"), false;
    for (int i = 0; i < k->n_values; i++) {
        if (!*k->values[i])
            return wrong(r, k->text, "value %d is empty; write values between the commas", i + 1),
                   false;
        for (int j = 0; j < i; j++)
            if (strcmp(k->values[i], k->values[j]) == 0)
                return wrong(r, k->text, "'%s' stands twice; remove one", k->values[i]), false;
    }
    return true;
}

static bool read_range(reader *r, cr_tune_key *k, const char *form, const char *s, size_t n) {
    const char **v;
    int n_v;
    if (!split(r->a, s, n, &v, &n_v) || n_v != 2 || !cr_parse_f64(v[0], strlen(v[0]), &k->lo) ||
        !cr_parse_f64(v[1], strlen(v[1]), &k->hi) || !isfinite(k->lo) || !isfinite(k->hi))
        return wrong(r, k->text, "%s takes two numbers; write %s(%s)", form, form,
                     k->kind == CR_TUNE_INT ? "1,8" : "0.001,0.1"),
               false;
    if (k->lo >= k->hi)
        return wrong(r, k->text,
                     "the range ends at %s, before it begins; write the smaller number "
                     "first",
                     v[1]),
               false;
    if (k->kind == CR_TUNE_LOG && k->lo <= 0)
        return wrong(r, k->text, "log needs numbers above 0, and %s is not; use uniform", v[0]),
               false;
    if (k->kind == CR_TUNE_INT &&
        (k->lo != floor(k->lo) || k->hi != floor(k->hi) || fabs(k->lo) > 1e15 || k->hi > 1e15))
        return wrong(r, k->text, "int takes two whole numbers; use uniform for others"), false;
    return true;
}

static bool read_values(reader *r, cr_tune_key *k, const char *s) {
    s = trimmed(r->a, s, strlen(s));
    size_t n = strlen(s), open = strcspn(s, "(");
    if (n == 0)
        return wrong(r, k->text, "there are no values; write %s=[a,b] or %s=log(0.001,0.1)",
                     k->name, k->name),
               false;
    if (*s == '[') {
        if (s[n - 1] != ']') return wrong(r, k->text, "'[' is never closed; add ']'"), false;
        if (n == 2 || !*trimmed(r->a, s + 1, n - 2))
            return wrong(r, k->text, "the list is empty; write %s=[a,b]", k->name), false;
        return read_list(r, k, s + 1, n - 2);
    }
    if (open == n || strspn(s, "abcdefghijklmnopqrstuvwxyz_") != open || open == 0)
        return wrong(r, k->text,
                     "one value is no choice; write several as %s=[a,b], or use --set for one",
                     k->name),
               false;
    if (s[n - 1] != ')') return wrong(r, k->text, "'(' is never closed; add ')'"), false;
    const char *form = cr_arena_strndup(r->a, s, open);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (strcmp(form, forms[i].name) == 0) {
            k->kind = forms[i].kind;
            s += open + 1;
            n -= open + 2;
            return k->kind == CR_TUNE_LIST ? read_list(r, k, s, n) : read_range(r, k, form, s, n);
        }
    const char *near = cr_nearest(form, next_form, NULL);
    if (strcmp(form, "loguniform") == 0) near = "log";
    if (near)
        wrong(r, k->text, "there is no '%s'; did you mean '%s'?", form, near);
    else
        wrong(r, k->text,
              "there is no '%s'; use choice(a,b), uniform(a,b), log(a,b), int(a,b) or a list",
              form);
    return false;
}

/* ---- keys ---- */

typedef struct found {
    const char **v;
    int n, cap;
    const char **keys; /* all names of keys that have a value, for suggestions */
    int n_keys, cap_keys;
} found;

static void add(cr_arena *a, const char ***v, int *n, int *cap, const char *x) {
    if (*n == *cap) {
        int more = *cap ? 2 * *cap : 16;
        const char **w = CR_NEW_N(a, const char *, more);
        if (*n) memcpy(w, *v, sizeof *w * (size_t)*n);
        *v = w;
        *cap = more;
    }
    (*v)[(*n)++] = x;
}

/* Finds every place below a map of the message where the key stands and is no message. base was
 * printed as YAML from the tables, so repeated fields are lists and keys have their own names. */
static void find_key(reader *r, found *f, const cr_msg *msg, const cr_conf_node *map,
                     const char *path, const char *name) {
    for (size_t i = 0; map->kind == CR_NODE_MAP && i < map->n; i++) {
        const cr_conf_entry *e = &map->v[i];
        const cr_field *field = cr_msg_field(msg, e->key);
        const cr_oneof_member *m = field ? NULL : cr_msg_member(msg, e->key, &field);
        const cr_msg *in = m ? m->msg : field && field->type == CR_T_MSG ? field->ref : NULL;
        const char *here = cr_arena_printf(r->a, "%s%s%s", path, *path ? "." : "", e->key);
        if (!field) continue;
        if (!in) {
            if (strcmp(e->key, name) == 0) add(r->a, &f->v, &f->n, &f->cap, here);
            add(r->a, &f->keys, &f->n_keys, &f->cap_keys, e->key);
        } else if (e->val->kind == CR_NODE_LIST) {
            for (size_t j = 0; j < e->val->n; j++)
                find_key(r, f, in, e->val->v[j].val, cr_arena_printf(r->a, "%s[%zu]", here, j),
                         name);
        } else {
            find_key(r, f, in, e->val, here, name);
        }
    }
}

static const char *next_key(const void *ctx, size_t i) {
    const found *f = ctx;
    return i < (size_t)f->n_keys ? f->keys[i] : NULL;
}

static bool resolve(reader *r, cr_tune_key *k) {
    found f = {0};
    bool rate = strcmp(k->name, "lr") == 0 || strcmp(k->name, "learning_rate") == 0;
    if (strpbrk(k->name, ".[")) {
        k->paths = CR_NEW_N(r->a, const char *, 1);
        k->paths[k->n_paths++] = k->name;
        return true;
    }
    const cr_msg *msg = &cr_root_msg;
    const cr_conf_node *map = r->base;
    const char *path = "";
    if (rate && cr_conf_find(map, "train_config")) { /* optimizers stand nowhere else */
        map = cr_conf_find(map, "train_config");
        msg = &cr_train_msg;
        path = "train_config";
    }
    find_key(r, &f, msg, map, path, rate ? "lr" : k->name);
    if (f.n == 0) {
        const char *near = cr_nearest(k->name, next_key, &f);
        if (near)
            wrong(r, k->text, "no key '%s' is set in the config; did you mean '%s'?", k->name,
                  near);
        else
            wrong(r, k->text,
                  "no key '%s' is set in the config; write its whole path, as in "
                  "train_config.num_epochs ('crank config CONFIG' shows them)",
                  k->name);
        return false;
    }
    k->paths = f.v;
    k->n_paths = f.n;
    return true;
}

/* Two tries must not give one key two values. */
static bool apart(reader *r, const cr_tune_key *k, int n) {
    for (int i = 0; i < n; i++)
        for (int p = 0; p < k->n_paths; p++)
            for (int q = 0; q < r->t->keys[i].n_paths; q++)
                if (strcmp(k->paths[p], r->t->keys[i].paths[q]) == 0)
                    return wrong(r, k->text, "'%s' gives values to %s too; leave one of them out",
                                 r->t->keys[i].name, k->paths[p]),
                           false;
    return true;
}

cr_code cr_tune_read(cr_tune *t, const cr_tune_opts *o, const cr_conf_node *base, cr_arena *a,
                     cr_diag *diag) {
    reader r = {t, a, diag, base};
    bool ok = true;
    t->keys = CR_NEW_N(a, cr_tune_key, o->n_tries + 1);
    for (int i = 0; i < o->n_tries; i++) {
        cr_tune_key k = {.text = o->tries[i]};
        int depth = 0;
        const char *eq = k.text;
        for (; *eq && !(*eq == '=' && depth == 0); eq++)
            depth += (*eq == '[') - (*eq == ']');
        k.name = trimmed(a, k.text, (size_t)(eq - k.text));
        if (!*eq || !*k.name) {
            wrong(&r, k.text, "write KEY=VALUES, as in lr=log(0.0001,0.1) or dim=[8,16]");
            ok = false;
            continue;
        }
        bool good = read_values(&r, &k, eq + 1);
        good = resolve(&r, &k) && good; /* both mistakes are told */
        if (good) good = apart(&r, &k, t->n_keys);
        if (good) t->keys[t->n_keys++] = k;
        ok &= good;
    }
    return ok ? CR_OK : CR_EUSAGE;
}

/* ---- trials ---- */

static const char *number(cr_arena *a, const cr_tune_key *k, uint64_t rng, uint64_t i) {
    double u = cr_rng_f64(rng, i), x;
    if (k->kind == CR_TUNE_LIST) return k->values[cr_rng_below(rng, i, (uint64_t)k->n_values)];
    if (k->kind == CR_TUNE_INT) {
        x = floor(k->lo + u * (k->hi - k->lo + 1));
        return cr_arena_printf(a, "%.0f", x < k->hi ? x : k->hi);
    }
    x = k->kind == CR_TUNE_LOG ? k->lo * pow(k->hi / k->lo, u) : k->lo + u * (k->hi - k->lo);
    char text[32];
    snprintf(text, sizeof text, "%.4g", x); /* four digits are enough, and can be read */
    double back = strtod(text, NULL);
    if (back < k->lo) back = k->lo;
    if (back > k->hi) back = k->hi;
    text[cr_fmt_f64(text, back)] = 0;
    return cr_arena_strdup(a, text);
}

static bool drawn_before(const cr_tune *t, const char **values) {
    for (int i = 0; i < t->n_trials; i++) {
        int k = 0;
        while (k < t->n_keys && strcmp(t->trials[i].values[k], values[k]) == 0)
            k++;
        if (k == t->n_keys) return true;
    }
    return false;
}

static void add_trial(cr_tune *t, const char **values) {
    t->trials[t->n_trials++] = (cr_tune_trial){.values = values, .rung = -1, .value = NAN};
}

/* The last key changes first. */
static void draw_grid(cr_tune *t, int64_t n, cr_arena *a) {
    for (int64_t i = 0; i < n; i++) {
        const char **v = CR_NEW_N(a, const char *, t->n_keys + 1);
        int64_t rest = i;
        for (int k = t->n_keys - 1; k >= 0; k--) {
            v[k] = t->keys[k].values[rest % t->keys[k].n_values];
            rest /= t->keys[k].n_values;
        }
        add_trial(t, v);
    }
}

static void draw_random(cr_tune *t, int64_t n, uint64_t seed, cr_arena *a) {
    uint64_t i = 0;
    for (int again = 0; t->n_trials < n && again < 1000; i++) {
        const char **v = CR_NEW_N(a, const char *, t->n_keys + 1);
        for (int k = 0; k < t->n_keys; k++)
            v[k] = number(a, &t->keys[k], cr_rng_key(seed, "tune", t->keys[k].name), i);
        if (drawn_before(t, v))
            again++;
        else
            add_trial(t, v), again = 0;
    }
}

cr_code cr_tune_draw(cr_tune *t, const cr_tune_opts *o, cr_arena *a, cr_diag *diag) {
    int64_t all = 1; /* trials of the grid; 0: there is a range */
    const char *range = NULL;
    for (int k = 0; k < t->n_keys; k++) {
        if (t->keys[k].kind != CR_TUNE_LIST) range = t->keys[k].text;
        all = range ? 0 : all > MAX_TRIALS ? all : all * t->keys[k].n_values;
    }
    t->search = o->search;
    bool fits = all > 0 && all <= (o->trials ? o->trials : MAX_TRIALS);
    if (t->search == CR_TUNE_AUTO) t->search = fits ? CR_TUNE_GRID : CR_TUNE_RANDOM;
    if (t->search == CR_TUNE_GRID && !fits) {
        if (range)
            cr_diag_add(diag, CR_SEV_ERROR, CR_EUSAGE, CR_NOWHERE,
                        "--search grid takes lists only, and --try '%.120s' is a range; write a "
                        "list, or use --search random",
                        range);
        else
            cr_diag_add(diag, CR_SEV_ERROR, CR_EUSAGE, CR_NOWHERE,
                        "the grid has %s%lld trials, and --trials allows %lld; %s, or use "
                        "--search random",
                        all > MAX_TRIALS ? "more than " : "",
                        (long long)(all > MAX_TRIALS ? MAX_TRIALS : all),
                        (long long)(o->trials ? o->trials : MAX_TRIALS),
                        all > MAX_TRIALS ? "try fewer values" : "raise it");
        return CR_EUSAGE;
    }
    int64_t n = o->trials ? o->trials : all > 0 && all < 20 ? all : 20;
    if (t->search == CR_TUNE_GRID) n = all;
    t->trials = CR_NEW_N(a, cr_tune_trial, n);
    if (fits) /* the whole grid: nothing is left to chance */
        draw_grid(t, all, a);
    else
        draw_random(t, n, o->seed, a);
    return CR_OK;
}

int cr_tune_edits(const cr_tune *t, const cr_tune_trial *x, cr_arena *a, const char ***out) {
    int n = 0, i = 0;
    for (int k = 0; k < t->n_keys; k++)
        n += t->keys[k].n_paths;
    *out = CR_NEW_N(a, const char *, n + 1);
    for (int k = 0; k < t->n_keys; k++)
        for (int p = 0; p < t->keys[k].n_paths; p++)
            (*out)[i++] = cr_arena_printf(a, "%s=%s", t->keys[k].paths[p], x->values[k]);
    return n;
}

const char *cr_tune_name(const cr_tune *t, const cr_tune_trial *x, cr_arena *a) {
    const char *s = "";
    for (int k = 0; k < t->n_keys; k++) {
        const char *dot = strrchr(t->keys[k].name, '.');
        s = cr_arena_printf(a, "%s%s%s=%s", s, k ? " " : "", dot ? dot + 1 : t->keys[k].name,
                            x->values[k]);
    }
    return s;
}
