/*
 * rewrite.c - rewrites trees by tables, and reports what was left out.
 *
 * The report is grouped: a text (a key and why it was left out) that occurs at several places is
 * one finding, at the first place, followed by the lines of the others. Configs repeat the same key
 * once per feature, and nobody reads a report of a thousand lines.
 */
#include "dialect/rewrite_int.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { MAX_DEPTH = 60 }; /* The parsers refuse deeper text. */

void cr_rw_init(cr_rw *w, cr_conf_doc *doc, const char *program, void *ctx, cr_diag *diag) {
    *w = (cr_rw){.doc = doc, .diag = diag, .program = program, .ctx = ctx};
    cr_buf_init(&w->path);
    cr_map_init(&w->index);
}

void cr_rw_clear(cr_rw *w) {
    for (size_t i = 0; i < w->n_report; i++)
        cr_buf_clear(&w->left[i].lines);
    cr_free(w->left);
    cr_map_clear(&w->index);
    cr_buf_clear(&w->path);
}

/* ---- the report ---- */

static cr_rw_left *report_line(cr_rw *w, cr_sev sev, cr_loc at, const char *text, size_t n) {
    char key[8];
    cr_buf b;
    cr_buf_init(&b);
    snprintf(key, sizeof(key), "%d ", (int)sev);
    cr_buf_str(&b, key);
    cr_buf_str(&b, at.path ? at.path : "");
    cr_buf_add(&b, text, n);
    int64_t i = cr_map_get(&w->index, b.data, b.n, -1);
    if (i < 0) {
        if (w->n_report == w->cap_report) {
            size_t cap = w->cap_report ? 2 * w->cap_report : 16;
            w->left = cr_realloc(w->left, w->cap_report * sizeof(*w->left), cap * sizeof(*w->left),
                                 "report of a conversion");
            w->cap_report = cap;
        }
        i = (int64_t)w->n_report++;
        cr_map_put(&w->index, b.data, b.n, i);
        w->left[i] =
            (cr_rw_left){.sev = sev, .text = cr_arena_strndup(&w->doc->arena, text, n), .at = at};
        cr_buf_init(&w->left[i].lines);
        w->left[i].last = at.line;
    }
    cr_buf_clear(&b);
    return &w->left[i];
}

void cr_rw_tell(cr_rw *w, cr_sev sev, cr_loc at, const char *fmt, ...) {
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (n < 0) return;
    size_t len = (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1;
    cr_rw_left *l = report_line(w, sev, at, text, len);
    if (l->n++ > 0) {
        if (at.line == l->last) return; /* two parts of the result needed the same key */
        cr_buf_printf(&l->lines, "%s%d", l->lines.n ? ", " : "", at.line);
        l->last = at.line;
    }
    if (sev == CR_SEV_NOTE)
        w->n_left++;
    else
        w->n_lost++;
}

void cr_rw_drop(cr_rw *w, cr_sev sev, cr_loc at, const char *key, const char *why) {
    cr_rw_tell(w, sev, at, "'%s%s%s' is left out: %s", w->path.n ? w->path.data : "",
               w->path.n ? "." : "", key, why);
}

void cr_rw_flush(cr_rw *w) {
    for (size_t i = 0; i < w->n_report; i++) {
        const cr_rw_left *l = &w->left[i];
        if (l->lines.n)
            cr_diag_add(w->diag, l->sev, CR_ECONF, l->at, "%s (also in line%s %s)", l->text,
                        strchr(l->lines.data, ',') ? "s" : "", l->lines.data);
        else
            cr_diag_add(w->diag, l->sev, CR_ECONF, l->at, "%s", l->text);
    }
    cr_diag_sort(w->diag);
}

/* ---- reading ---- */

const cr_conf_entry *cr_rw_next(cr_rw_iter *it) {
    const cr_conf_node *map = it->map;
    if (!map || map->kind != CR_NODE_MAP) return NULL;
    for (; it->i < map->n; it->i++, it->j = 0) {
        const cr_conf_entry *e = &map->v[it->i];
        if (!cr_conf_key_is(map, e->key, it->key)) continue;
        if (e->val->kind != CR_NODE_LIST) {
            it->i++;
            it->entry = *e;
            return &it->entry;
        }
        if (it->j < e->val->n) {
            const cr_conf_entry *item = &e->val->v[it->j++];
            it->entry = (cr_conf_entry){e->key, item->at, item->val};
            return &it->entry;
        }
    }
    return NULL;
}

const cr_conf_node *cr_rw_get(const cr_conf_node *map, const char *key) {
    const cr_conf_node *last = NULL;
    cr_rw_iter it = {.map = map, .key = key};
    for (const cr_conf_entry *e; (e = cr_rw_next(&it));)
        last = e->val;
    return last;
}

bool cr_rw_has(const cr_conf_node *map, const char *key) {
    return cr_rw_get(map, key) != NULL;
}

size_t cr_rw_count(const cr_conf_node *map, const char *key) {
    size_t n = 0;
    cr_rw_iter it = {.map = map, .key = key};
    while (cr_rw_next(&it))
        n++;
    return n;
}

cr_loc cr_rw_at(const cr_conf_node *map, const char *key) {
    cr_loc at = map ? map->at : CR_NOWHERE;
    cr_rw_iter it = {.map = map, .key = key};
    for (const cr_conf_entry *e; (e = cr_rw_next(&it));)
        at = e->at;
    return at;
}

static const cr_conf_node *scalar(const cr_conf_node *map, const char *key) {
    const cr_conf_node *n = cr_rw_get(map, key);
    return n && n->kind == CR_NODE_SCALAR ? n : NULL;
}

const char *cr_rw_str(const cr_conf_node *map, const char *key, const char *absent) {
    const cr_conf_node *n = scalar(map, key);
    return n ? n->text : absent;
}

double cr_rw_num(const cr_conf_node *map, const char *key, double absent) {
    const cr_conf_node *n = scalar(map, key);
    double x;
    if (!n) return absent;
    size_t len = n->len;
    if (len > 1 && strchr("fF", n->text[len - 1])) len--; /* protobuf text allows 1.0f */
    return cr_parse_f64(n->text, len, &x) && x - x == 0 ? x : absent;
}

static bool is_true(const cr_conf_node *n) {
    return strcasecmp(n->text, "true") == 0 || strcmp(n->text, "t") == 0 ||
           strcmp(n->text, "1") == 0;
}

bool cr_rw_bool(const cr_conf_node *map, const char *key, bool absent) {
    const cr_conf_node *n = scalar(map, key);
    return n ? is_true(n) : absent;
}

/* ---- making ---- */

cr_conf_node *cr_rw_map(cr_rw *w, cr_conf_node *out, const char *key, cr_loc at) {
    cr_conf_node *n = cr_conf_new(w->doc, CR_NODE_MAP, at);
    cr_conf_push(w->doc, out, key, at, n);
    return n;
}

cr_conf_node *cr_rw_child(cr_rw *w, cr_conf_node *out, const char *key, cr_loc at) {
    return cr_tree_child(w->doc, out, key, at);
}

static void put(cr_rw *w, cr_conf_node *out, const char *key, cr_loc at, const char *text,
                bool quoted) {
    cr_conf_push(w->doc, out, key, at, cr_tree_scalar(w->doc, text, quoted, at));
}

void cr_rw_put_str(cr_rw *w, cr_conf_node *out, const char *key, cr_loc at, const char *text) {
    put(w, out, key, at, text, true);
}

void cr_rw_put_word(cr_rw *w, cr_conf_node *out, const char *key, cr_loc at, const char *word) {
    put(w, out, key, at, word, false);
}

void cr_rw_put_num(cr_rw *w, cr_conf_node *out, const char *key, cr_loc at, double x) {
    char text[32];
    text[cr_fmt_f64(text, x)] = 0;
    if (x > -1e15 && x < 1e15 && x == (double)(int64_t)x) /* an integer, not 1e+06 */
        snprintf(text, sizeof(text), "%lld", (long long)x);
    put(w, out, key, at, text, false);
}

void cr_rw_put_bool(cr_rw *w, cr_conf_node *out, const char *key, cr_loc at, bool yes) {
    put(w, out, key, at, yes ? "true" : "false", false);
}

/* ---- rules ---- */

static const cr_rule *find_rule(const cr_rule *rules, const cr_conf_node *map, const char *key) {
    for (; rules; rules = rules->next) {
        for (; rules->key; rules++)
            if (cr_conf_key_is(map, key, rules->key)) return rules;
    }
    return NULL;
}

static const char *next_key(const void *ctx, size_t i) {
    const cr_rule *r = ctx;
    for (; r; r = r->next)
        for (; r->key; r++)
            if (i-- == 0) return r->key;
    return NULL;
}

static void unknown(cr_rw *w, const cr_rule *rules, const cr_conf_entry *e) {
    const char *near = cr_nearest(e->key, next_key, rules);
    if (w->any_key) {
        cr_rw_drop(w, CR_SEV_NOTE, e->at, e->key, "it has no counterpart");
        return;
    }
    cr_diag_add(w->diag, CR_SEV_ERROR, CR_ECONF, e->at, "%s has no key '%s' in %s%s%s%s",
                w->program, e->key, w->path.n ? w->path.data : "a config",
                near ? "; did you mean '" : "; correct or remove it", near ? near : "",
                near ? "'?" : "");
}

/* find_word returns the row of the word, or the last row, which has no name. */
static const cr_rw_word *find_word(const cr_rw_word *words, const char *text) {
    int64_t number;
    bool is_number = cr_parse_i64(text, strlen(text), &number);
    for (; words->from; words++)
        if (strcmp(words->from, text) == 0 || (is_number && words->number == number)) break;
    return words;
}

static void take_word(cr_rw *w, const cr_rule *r, const cr_conf_entry *e, cr_conf_node *out) {
    if (e->val->kind != CR_NODE_SCALAR) {
        cr_diag_add(w->diag, CR_SEV_ERROR, CR_ECONF, e->at, "%s must be one word", r->key);
        return;
    }
    const cr_rw_word *word = find_word(r->words, e->val->text);
    if (!word->from && !word->why) {
        cr_rw_tell(w, CR_SEV_ERROR, e->at, "%s: %s does not know '%s'; correct it", r->key,
                   w->program, e->val->text);
    } else if (!word->to) {
        cr_rw_tell(w, CR_SEV_WARN, e->at, "%s: '%s' is left out: %s", r->key, e->val->text,
                   word->why);
    } else {
        if (word->why) cr_rw_tell(w, CR_SEV_WARN, e->at, "%s: %s", r->key, word->why);
        put(w, out, r->to ? r->to : r->key, e->at, word->to, r->how == CR_RW_TEXT);
    }
}

static void leave(cr_rw *w, const cr_rule *r, const cr_conf_entry *e) {
    const cr_conf_node *v = e->val;
    if (r->text && v->kind == CR_NODE_SCALAR) {
        double a, b;
        bool numbers =
            cr_parse_f64(v->text, v->len, &a) && cr_parse_f64(r->text, strlen(r->text), &b);
        bool same = numbers ? a == b : strcasecmp(v->text, r->text) == 0;
        if (same) return; /* it only repeats the default */
    }
    cr_rw_drop(w, r->sev, e->at, r->key, r->why);
}

/* enter rewrites a message, with its key on the path. */
static void enter(cr_rw *w, const cr_rule *rules, const char *key, const cr_conf_entry *e,
                  cr_conf_node *out) {
    size_t n = w->path.n;
    if (e->val->kind != CR_NODE_MAP) {
        cr_diag_add(w->diag, CR_SEV_ERROR, CR_ECONF, e->at, "%s must be a message: %s { ... }", key,
                    key);
        return;
    }
    if (++w->depth < MAX_DEPTH) {
        cr_buf_printf(&w->path, "%s%s", n ? "." : "", key);
        cr_rw_message(w, rules, e->val, out);
        w->path.n = n;
        if (w->path.data) w->path.data[n] = 0;
    }
    w->depth--;
}

static void apply(cr_rw *w, const cr_rule *r, const cr_conf_entry *e, cr_conf_node *out) {
    const char *to = r->to ? r->to : r->key;
    switch (r->how) {
    case CR_RW_TAKE: cr_conf_push(w->doc, out, to, e->at, e->val); break;
    case CR_RW_TEXT:
    case CR_RW_WORD: take_word(w, r, e, out); break;
    case CR_RW_INTO: enter(w, r->next, r->key, e, cr_rw_child(w, out, to, e->at)); break;
    case CR_RW_EACH: enter(w, r->next, r->key, e, cr_rw_map(w, out, to, e->at)); break;
    case CR_RW_CALL: r->fn(w, e, out); break;
    case CR_RW_LEFT: leave(w, r, e); break;
    case CR_RW_SPENT: break;
    }
}

void cr_rw_message(cr_rw *w, const cr_rule *rules, const cr_conf_node *in, cr_conf_node *out) {
    if (!in || in->kind != CR_NODE_MAP) return;
    for (size_t i = 0; i < in->n; i++) {
        const cr_conf_entry *e = &in->v[i];
        const cr_rule *r = find_rule(rules, in, e->key);
        if (!r) {
            unknown(w, rules, e);
            continue;
        }
        bool whole = r->how == CR_RW_TAKE || r->how == CR_RW_SPENT || r->how == CR_RW_LEFT;
        if (e->val->kind != CR_NODE_LIST || whole) {
            apply(w, r, e, out);
            continue;
        }
        for (size_t k = 0; k < e->val->n; k++) {
            cr_conf_entry item = {e->key, e->val->v[k].at, e->val->v[k].val};
            apply(w, r, &item, out);
        }
    }
    for (const cr_rule *r = rules; r; r = r->next)
        for (; r->key; r++)
            if ((r->how == CR_RW_TAKE || r->how == CR_RW_WORD) && r->text && !cr_rw_has(in, r->key))
                put(w, out, r->to ? r->to : r->key, in->at, r->text,
                    !isalnum((unsigned char)*r->text));
}

void cr_rw_values(cr_rw *w, const cr_conf_node *in, const char *key, cr_rw_fn *fn,
                  cr_conf_node *out) {
    cr_rw_iter it = {.map = in, .key = key};
    for (const cr_conf_entry *e; (e = cr_rw_next(&it));)
        fn(w, e, out);
}
