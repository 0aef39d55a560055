/*
 * paddle_ask.c - reads keys of a PaddleRec config and writes keys of crank.
 *
 * A key that is read is marked, so that the keys that nothing reads can be told. PaddleRec's values
 * are those of YAML 1.1, where 1e-3 is text that its code converts; here the reader of a key
 * decides what its text means.
 *
 * Crank's keys are written as short YAML texts, which are parsed and stamped with the place of the
 * user's key that caused them. The numbers in such texts were checked when they were read.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "dialect/made_int.h"
#include "dialect/paddle_int.h"

static void add(cr_pd *p, cr_sev sev, cr_loc at, const char *fmt, va_list args) {
    char text[1024];
    vsnprintf(text, sizeof text, fmt, args);
    cr_diag_add(p->diag, sev, CR_ECONF, at, "%s", text);
}

void cr_pd_wrong(cr_pd *p, cr_loc at, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    add(p, CR_SEV_ERROR, at, fmt, args);
    va_end(args);
}

void cr_pd_warn(cr_pd *p, cr_loc at, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    add(p, CR_SEV_WARN, at, fmt, args);
    va_end(args);
}

void cr_pd_note(cr_pd *p, cr_loc at, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    add(p, CR_SEV_NOTE, at, fmt, args);
    va_end(args);
}

/* ---- reading ---- */

const cr_conf_node *cr_pd_get(cr_pd *p, cr_pd_map m, const char *key) {
    return m.map && m.map->kind == CR_NODE_MAP ? cr_tree_ask(&p->use, m.map, key) : NULL;
}

cr_loc cr_pd_at(const cr_pd *p, cr_pd_map m, const char *key) {
    const cr_conf_node *v = m.map ? cr_conf_find(m.map, key) : NULL;
    return v ? v->at : m.map ? m.map->at : p->in->at;
}

void cr_pd_idle(cr_pd *p, cr_pd_map m, const char *key) {
    const cr_conf_node *v = cr_pd_get(p, m, key);
    if (v) cr_tree_ask_all(&p->use, v);
}

static const char *next_key(const void *ctx, size_t i) {
    const cr_conf_node *map = ctx;
    return i < map->n ? map->v[i].key : NULL;
}

/* The name of a key with that of its map; the keys at the top stand alone. */
static const char *full_name(cr_pd *p, cr_pd_map m, const char *key) {
    return m.map == p->in ? key : cr_arena_printf(&p->doc->arena, "%s.%s", m.name, key);
}

/* A key that is nearly the missing one is most likely meant; the user finds it at its place. */
static void missing(cr_pd *p, cr_pd_map m, const char *key) {
    bool is_map = m.map && m.map->kind == CR_NODE_MAP;
    const char *near = is_map ? cr_nearest(key, next_key, m.map) : NULL;
    cr_loc at = m.map ? m.map->at : p->in->at;
    for (size_t i = 0; near && i < m.map->n; i++)
        if (strcmp(m.map->v[i].key, near) == 0) at = m.map->v[i].at;
    cr_pd_wrong(p, at, "%s is not given%s%s; %s%s%s", full_name(p, m, key),
                p->model && m.map == p->hyper.map ? ", and the model needs it: " : "",
                p->model && m.map == p->hyper.map ? p->model->name : "", near ? "is '" : "add it",
                near ? near : "", near ? "' meant to be it?" : "");
}

/* Returns the scalar of a key; NULL: there is none. Another kind of value is a mistake. */
static const cr_conf_node *scalar(cr_pd *p, cr_pd_map m, const char *key, const char *what) {
    const cr_conf_node *v = cr_pd_get(p, m, key);
    if (v && v->kind != CR_NODE_SCALAR) {
        cr_pd_wrong(p, v->at, "%s is %s and must be %s", full_name(p, m, key),
                    v->kind == CR_NODE_LIST ? "a list" : "a mapping", what);
        return NULL;
    }
    /* an empty value is YAML's null */
    return v && (v->quoted ||
                 (v->len && strcmp(v->text, "~") != 0 && strcasecmp(v->text, "null") != 0))
               ? v
               : NULL;
}

/* Is the key not there, or without a value? A list or a map was told by scalar(). */
static bool is_empty(cr_pd *p, cr_pd_map m, const char *key) {
    const cr_conf_node *v = cr_pd_get(p, m, key);
    return !v || v->kind == CR_NODE_SCALAR;
}

double cr_pd_num(cr_pd *p, cr_pd_map m, const char *key, double absent, double lo, double hi) {
    const cr_conf_node *v = scalar(p, m, key, "a number");
    double x;
    if (!v) return absent;
    if (cr_parse_f64(v->text, v->len, &x) && x >= lo && x <= hi) return x;
    cr_pd_wrong(p, v->at, "%s.%s is '%.60s' and must be a number from %g to %g", m.name, key,
                v->text, lo, hi);
    return lo;
}

int64_t cr_pd_int(cr_pd *p, cr_pd_map m, const char *key, int64_t absent, int64_t lo, int64_t hi) {
    const cr_conf_node *v = scalar(p, m, key, "a whole number");
    int64_t x;
    if (!v) {
        if (absent != CR_PD_REQUIRED) return absent;
        if (is_empty(p, m, key)) missing(p, m, key);
        return lo;
    }
    if (cr_parse_i64(v->text, cr_whole_part(v->text, v->len), &x) && x >= lo && x <= hi) return x;
    cr_pd_wrong(p, v->at, "%s.%s is '%.60s' and must be a whole number from %lld to %lld", m.name,
                key, v->text, (long long)lo, (long long)hi);
    return lo;
}

bool cr_pd_bool(cr_pd *p, cr_pd_map m, const char *key, bool absent) {
    static const char *const words[] = {"true", "yes", "on", "1", "false", "no", "off", "0"};
    const cr_conf_node *v = scalar(p, m, key, "a bool");
    if (!v) return absent;
    for (int i = 0; i < 8; i++)
        if (strcasecmp(v->text, words[i]) == 0) return i < 4;
    cr_pd_wrong(p, v->at, "%s.%s is '%.60s' and must be True or False", m.name, key, v->text);
    return absent;
}

const char *cr_pd_str(cr_pd *p, cr_pd_map m, const char *key, bool required) {
    const cr_conf_node *v = scalar(p, m, key, "a text");
    if (v && v->len) return v->text;
    if (!required) return NULL;
    if (is_empty(p, m, key) || v) missing(p, m, key);
    return "";
}

const char *cr_pd_widths(cr_pd *p, cr_pd_map m, const char *key, int64_t *n) {
    const cr_conf_node *v = cr_pd_get(p, m, key);
    const char *out = "";
    *n = 0;
    if (!v || v->kind != CR_NODE_LIST) {
        if (v)
            cr_pd_wrong(p, v->at, "%s.%s must be a list of whole numbers, such as [512, 256]",
                        m.name, key);
        else
            missing(p, m, key);
        return "[1]";
    }
    for (size_t i = 0; i < v->n; i++) {
        const cr_conf_node *x = v->v[i].val;
        int64_t k;
        if (x->kind != CR_NODE_SCALAR || !cr_parse_i64(x->text, x->len, &k) || k < 1 ||
            k > 1048576) {
            cr_pd_wrong(p, x->at, "%s.%s: item %zu must be a whole number from 1 to 1048576",
                        m.name, key, i + 1);
            k = 1;
        }
        out = cr_arena_printf(&p->doc->arena, "%s%s%lld", out, i ? ", " : "", (long long)k);
        ++*n;
    }
    return cr_arena_printf(&p->doc->arena, "[%s]", out);
}

/* ---- writing ---- */

void cr_pd_put(cr_pd *p, cr_loc at, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    cr_made_join(p->doc, p->out, cr_made_yaml(p->doc, at, fmt, args));
    va_end(args);
}

void cr_pd_feature(cr_pd *p, cr_loc at, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    cr_conf_node *list = cr_conf_find(p->out, "feature_configs");
    if (!list) {
        list = cr_conf_new(p->doc, CR_NODE_LIST, at);
        cr_tree_put(p->doc, p->out, "feature_configs", at, list);
    }
    cr_conf_push(p->doc, list, NULL, at, cr_made_yaml(p->doc, at, fmt, args));
    va_end(args);
}

const char *cr_pd_names(cr_pd *p, const char *const *names, int n) {
    cr_buf b;
    cr_buf_init(&b);
    cr_buf_str(&b, "");
    for (int i = 0; i < n; i++) {
        cr_buf_str(&b, i ? ", \"" : "\"");
        for (const char *s = names[i]; *s; s++)
            cr_buf_printf(&b, *s == '"' || *s == '\\' ? "\\%c" : "%c", *s);
        cr_buf_char(&b, '"');
    }
    const char *text = cr_arena_strndup(&p->doc->arena, n ? b.data : "", b.n);
    cr_buf_clear(&b);
    return text;
}

/* ---- -o key=value ---- */

/* Finds the value of a dotted key. Items of lists are found by their name. *in becomes the map that
 * holds it, *last the last word of the key; NULL in *in: there is no such map. */
static cr_conf_node *find_path(const cr_conf_node *root, const char *key, size_t n,
                               cr_conf_node **in, const char **last) {
    cr_conf_node *at = (cr_conf_node *)(uintptr_t)root;
    *in = NULL;
    for (const char *s = key, *end = key + n; at; s = *last + strcspn(*last, ".") + 1) {
        size_t k = strcspn(s, ".");
        if (s + k > end) k = (size_t)(end - s);
        *last = s;
        cr_conf_node *next = NULL;
        if (at->kind == CR_NODE_LIST) {
            for (size_t i = 0; i < at->n; i++) {
                const char *name = at->v[i].val->kind == CR_NODE_MAP
                                       ? cr_conf_find_text(at->v[i].val, "name")
                                       : "";
                if (strlen(name) == k && memcmp(name, s, k) == 0) next = at->v[i].val;
            }
            *in = NULL;
        } else if (at->kind == CR_NODE_MAP) {
            *in = at;
            for (size_t i = 0; i < at->n; i++)
                if (strlen(at->v[i].key) == k && memcmp(at->v[i].key, s, k) == 0)
                    next = at->v[i].val;
        }
        if (s + k >= end) return next;
        at = next;
    }
    *in = NULL;
    return NULL;
}

static void set_one(cr_pd *p, const char *word) {
    const char *eq = strchr(word, '=');
    cr_loc at = {cr_arena_printf(&p->doc->arena, "-o '%s'", word), 0, 0};
    if (!eq || eq == word) {
        cr_pd_wrong(p, at, "an edit is a key, '=' and a value; write -o runner.epochs=2");
        return;
    }
    cr_conf_node *in;
    const char *last = word;
    cr_conf_node *v = find_path(p->in, word, (size_t)(eq - word), &in, &last);
    if (!in) {
        cr_pd_wrong(p, at,
                    "the config has nothing under '%.*s'; name a key as runner.epochs or "
                    "hyper_parameters.optimizer.learning_rate",
                    (int)(eq - word), word);
        return;
    }
    /* one runner in the place of a list of them is what -o mode= is for */
    bool mode = v && v->kind == CR_NODE_LIST && in == p->in && strncmp(word, "mode=", 5) == 0;
    if (v && v->kind != CR_NODE_SCALAR && !mode) {
        cr_pd_wrong(p, at, "'%.*s' is %s, which -o cannot change; change it in the file",
                    (int)(eq - word), word, v->kind == CR_NODE_LIST ? "a list" : "a mapping");
        return;
    }
    cr_conf_node *now = cr_tree_scalar(p->doc, eq + 1, false, at);
    cr_tree_put(p->doc, in, cr_arena_strndup(&p->doc->arena, last, (size_t)(eq - last)), at, now);
}

void cr_pd_set(cr_pd *p) {
    for (int i = 0; i < p->o->n_set; i++)
        set_one(p, p->o->set[i]);
}
