/*
 * json.c - reading JSON through jansson, writing it directly.
 *
 * The parsed text is turned into nodes of our own in one arena: members keep the order of the
 * file and are reached by number at once, keys of large objects by binary search. Depth is
 * checked before the parser recurses, so that hostile input cannot use up the stack.
 */
#include "base/json.h"

#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/shown.h"

#define MAX_DEPTH 64
#define FEW       8 /* objects up to this size are searched from front to back */

struct cr_json {
    json_type type;
    size_t n;          /* members or items */
    cr_json *kids;     /* n */
    const char **keys; /* n, objects only */
    uint32_t *sorted;  /* member numbers in the order of their keys; NULL for small objects */
    union {
        int64_t i;
        double f;
        const char *s;
    } v;
};

typedef struct doc {
    cr_json root; /* first: the handle is a pointer to it */
    cr_arena arena;
} doc;

/* check_depth looks at brackets outside strings only; grammar is the parser's business. */
static cr_code check_depth(const char *text, size_t n, cr_err *err) {
    int depth = 0;
    bool in_string = false;
    for (size_t i = 0; i < n; i++) {
        char c = text[i];
        if (in_string) {
            if (c == '\\')
                i++;
            else if (c == '"')
                in_string = false;
        } else if (c == '"')
            in_string = true;
        else if (c == '[' || c == '{') {
            if (++depth > MAX_DEPTH)
                return cr_fail(err, CR_EDATA, "JSON is nested deeper than %d levels at byte %zu",
                               MAX_DEPTH, i);
        } else if (c == ']' || c == '}')
            depth--;
    }
    return CR_OK;
}

typedef struct sort_item {
    const char *key;
    uint32_t index;
} sort_item;

static int by_key(const void *x, const void *y) {
    return strcmp(((const sort_item *)x)->key, ((const sort_item *)y)->key);
}

static void sort_keys(cr_arena *a, cr_json *obj) {
    sort_item *items = cr_alloc(obj->n * sizeof(*items), "JSON keys");
    for (size_t i = 0; i < obj->n; i++)
        items[i] = (sort_item){obj->keys[i], (uint32_t)i};
    qsort(items, obj->n, sizeof(*items), by_key);
    obj->sorted = CR_NEW_N(a, uint32_t, obj->n);
    for (size_t i = 0; i < obj->n; i++)
        obj->sorted[i] = items[i].index;
    cr_free(items);
}

static void convert(cr_arena *a, cr_json *out, json_t *j) {
    out->type = json_typeof(j);
    switch (out->type) {
    case JSON_OBJECT: {
        out->n = json_object_size(j);
        out->kids = CR_NEW_N(a, cr_json, out->n);
        out->keys = CR_NEW_N(a, const char *, out->n);
        size_t i = 0;
        for (void *it = json_object_iter(j); it; it = json_object_iter_next(j, it), i++) {
            out->keys[i] = cr_arena_strdup(a, json_object_iter_key(it));
            convert(a, &out->kids[i], json_object_iter_value(it));
        }
        if (out->n > FEW) sort_keys(a, out);
        break;
    }
    case JSON_ARRAY:
        out->n = json_array_size(j);
        out->kids = CR_NEW_N(a, cr_json, out->n);
        for (size_t i = 0; i < out->n; i++)
            convert(a, &out->kids[i], json_array_get(j, i));
        break;
    case JSON_STRING:
        out->v.s = cr_arena_strndup(a, json_string_value(j), json_string_length(j));
        break;
    case JSON_INTEGER: out->v.i = (int64_t)json_integer_value(j); break;
    case JSON_REAL: out->v.f = json_real_value(j); break;
    case JSON_TRUE:
    case JSON_FALSE:
    case JSON_NULL: break;
    }
}

/* jansson does not check everything it allocates, so it never sees a failure */
static void *json_alloc(size_t size) {
    void *p = malloc(size ? size : 1);
    if (!p) cr_no_memory(size, "JSON");
    return p;
}

static void set_alloc(void) {
    json_set_alloc_funcs(json_alloc, free);
}

cr_code cr_json_parse(cr_json **out, const char *text, size_t n, cr_err *err) {
    *out = NULL;
    CR_TRY(check_depth(text, n, err));
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, set_alloc);
    json_error_t e;
    json_t *j = json_loadb(text, n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &e);
    if (!j)
        return cr_fail(err, CR_EDATA, "not valid JSON at line %d, column %d: %s", e.line, e.column,
                       e.text);
    doc *d = cr_alloc(sizeof(*d), "JSON");
    cr_arena_init(&d->arena, 4096);
    convert(&d->arena, &d->root, j);
    json_decref(j);
    *out = &d->root;
    return CR_OK;
}

void cr_json_free(cr_json *root) {
    if (!root) return;
    doc *d = (doc *)root;
    cr_arena_clear(&d->arena);
    cr_free(d);
}

bool cr_json_is_obj(const cr_json *j) {
    return j && j->type == JSON_OBJECT;
}
bool cr_json_is_arr(const cr_json *j) {
    return j && j->type == JSON_ARRAY;
}

const cr_json *cr_json_get(const cr_json *obj, const char *key) {
    if (!cr_json_is_obj(obj)) return NULL;
    if (!obj->sorted) {
        for (size_t i = 0; i < obj->n; i++) {
            if (strcmp(obj->keys[i], key) == 0) return &obj->kids[i];
        }
        return NULL;
    }
    size_t lo = 0, hi = obj->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2, k = obj->sorted[mid];
        int c = strcmp(key, obj->keys[k]);
        if (c == 0) return &obj->kids[k];
        if (c < 0)
            hi = mid;
        else
            lo = mid + 1;
    }
    return NULL;
}

size_t cr_json_len(const cr_json *j) {
    return j ? j->n : 0;
}

const cr_json *cr_json_at(const cr_json *arr, size_t i) {
    return cr_json_is_arr(arr) && i < arr->n ? &arr->kids[i] : NULL;
}

bool cr_json_member(const cr_json *obj, size_t i, const char **key, const cr_json **val) {
    if (!cr_json_is_obj(obj) || i >= obj->n) return false;
    *key = obj->keys[i];
    *val = &obj->kids[i];
    return true;
}

bool cr_json_i64(const cr_json *j, int64_t *out) {
    if (!j || j->type != JSON_INTEGER) return false;
    *out = j->v.i;
    return true;
}

bool cr_json_f64(const cr_json *j, double *out) {
    if (!j || (j->type != JSON_REAL && j->type != JSON_INTEGER)) return false;
    *out = j->type == JSON_REAL ? j->v.f : (double)j->v.i;
    return true;
}

bool cr_json_bool(const cr_json *j, bool *out) {
    if (!j || (j->type != JSON_TRUE && j->type != JSON_FALSE)) return false;
    *out = j->type == JSON_TRUE;
    return true;
}

const char *cr_json_str(const cr_json *j) {
    return j && j->type == JSON_STRING ? j->v.s : NULL;
}

/* ---- writing ---- */

void cr_json_escape(cr_buf *out, const char *s, size_t n) {
    static const char hex[] = "0123456789abcdef";
    cr_buf_reserve(out, n + 2);
    cr_buf_char(out, '"');
    for (size_t i = 0; i < n;) {
        size_t from = i; /* nearly all text is as it is: copied in one go */
        while (i < n && s[i] >= 0x20 && s[i] < 0x7f && s[i] != '"' && s[i] != '\\')
            i++;
        if (i > from) cr_buf_add(out, s + from, i - from);
        if (i == n) break;
        unsigned char c = (unsigned char)s[i];
        if (c >= 0x80) {
            uint32_t x;
            bool plain;
            size_t len = cr_shown_char(s + i, n - i, &x, &plain);
            if (plain)
                cr_buf_add(out, s + i, len);
            else if (len) /* JSON is printed, too */
                cr_buf_printf(out, "\\u%04x", (unsigned)x);
            else
                cr_buf_str(out, "\xef\xbf\xbd"); /* a byte that is no text becomes U+FFFD */
            i += len ? len : 1;
            continue;
        }
        i++;
        if (c == '"' || c == '\\') {
            cr_buf_char(out, '\\');
            cr_buf_char(out, (char)c);
        } else if (c == '\n')
            cr_buf_str(out, "\\n");
        else if (c == '\t')
            cr_buf_str(out, "\\t");
        else if (c == '\r')
            cr_buf_str(out, "\\r");
        else {
            cr_buf_str(out, "\\u00");
            cr_buf_char(out, hex[c >> 4]);
            cr_buf_char(out, hex[c & 15]);
        }
    }
    cr_buf_char(out, '"');
}

void cr_jw_init(cr_jw *w, cr_buf *out) {
    memset(w, 0, sizeof(*w));
    w->out = out;
    w->first[0] = true;
    w->is_arr[0] = true; /* the root takes one value without a key */
}

/* lead writes the comma and the key in front of a value. */
static void lead(cr_jw *w, const char *key) {
    if ((key == NULL) != w->is_arr[w->depth]) CR_BUG("JSON: a key belongs in an object only");
    if (!w->first[w->depth]) cr_buf_str(w->out, ", ");
    w->first[w->depth] = false;
    if (key) {
        cr_json_escape(w->out, key, strlen(key));
        cr_buf_str(w->out, ": ");
    }
}

static void enter(cr_jw *w, const char *key, bool is_arr) {
    lead(w, key);
    if (w->depth == MAX_DEPTH - 1) CR_BUG("JSON: nested too deeply");
    w->depth++;
    w->first[w->depth] = true;
    w->is_arr[w->depth] = is_arr;
    cr_buf_char(w->out, is_arr ? '[' : '{');
}

void cr_jw_obj(cr_jw *w, const char *key) {
    enter(w, key, false);
}
void cr_jw_arr(cr_jw *w, const char *key) {
    enter(w, key, true);
}

void cr_jw_end(cr_jw *w) {
    if (w->depth == 0) CR_BUG("JSON: nothing to end");
    cr_buf_char(w->out, w->is_arr[w->depth] ? ']' : '}');
    w->depth--;
}

void cr_jw_str(cr_jw *w, const char *key, const char *val) {
    lead(w, key);
    if (val)
        cr_json_escape(w->out, val, strlen(val));
    else
        cr_buf_str(w->out, "null");
}

void cr_jw_i64(cr_jw *w, const char *key, int64_t val) {
    lead(w, key);
    cr_buf_printf(w->out, "%lld", (long long)val);
}

void cr_jw_f64(cr_jw *w, const char *key, double val) {
    char text[32];
    lead(w, key);
    if (isfinite(val))
        cr_buf_add(w->out, text, cr_fmt_f64(text, val));
    else
        cr_buf_str(w->out, "null");
}

void cr_jw_bool(cr_jw *w, const char *key, bool val) {
    lead(w, key);
    cr_buf_str(w->out, val ? "true" : "false");
}
