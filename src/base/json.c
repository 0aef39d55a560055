/*
 * json.c - reading JSON through jansson, writing it directly.
 *
 * A value is jansson's own, whose objects keep the order of the file. Depth is checked before the
 * parser recurses, so that hostile input cannot use up the stack.
 */
#include "base/json.h"

#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/shown.h"

#define MAX_DEPTH 64

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

/* jansson does not check everything it allocates, so no allocation for it may fail */
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
    *out = json_loadb(text, n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &e);
    if (!*out)
        return cr_fail(err, CR_EDATA, "not valid JSON at line %d, column %d: %s", e.line, e.column,
                       e.text);
    return CR_OK;
}

void cr_json_free(cr_json *root) {
    json_decref(root);
}

cr_code cr_json_lines(const char *path, const cr_buf *text, cr_json_line_fn fn, void *ctx,
                      cr_err *err) {
    int number = 0;
    cr_code code = CR_OK;
    for (size_t at = 0, n; code == CR_OK && at < text->n; at += n + 1) {
        const char *line = text->data + at, *end = memchr(line, '\n', text->n - at);
        n = end ? (size_t)(end - line) : text->n - at;
        number++;
        if (n == 0) continue;
        cr_json *j = NULL;
        if (cr_json_parse(&j, line, n, NULL) != CR_OK || !cr_json_is_obj(j))
            CR_WARN("%s:%d: not a JSON object; line left out", path, number);
        else
            code = fn(ctx, j, line, n, (cr_loc){path, number, 0}, err);
        cr_json_free(j);
    }
    return code;
}

bool cr_json_is_obj(const cr_json *j) {
    return json_is_object(j);
}
bool cr_json_is_arr(const cr_json *j) {
    return json_is_array(j);
}

const cr_json *cr_json_get(const cr_json *obj, const char *key) {
    return json_object_get(obj, key);
}

size_t cr_json_len(const cr_json *j) {
    return json_is_object(j) ? json_object_size(j) : json_array_size(j);
}

const cr_json *cr_json_at(const cr_json *arr, size_t i) {
    return json_array_get(arr, i);
}

bool cr_json_next(const cr_json *obj, void **it, const char **key, const cr_json **val) {
    cr_json *o = (cr_json *)(uintptr_t)obj; /* the walk changes nothing */
    *it = *it ? json_object_iter_next(o, *it) : json_object_iter(o);
    if (!*it) return false;
    *key = json_object_iter_key(*it);
    *val = json_object_iter_value(*it);
    return true;
}

bool cr_json_i64(const cr_json *j, int64_t *out) {
    if (!json_is_integer(j)) return false;
    *out = (int64_t)json_integer_value(j);
    return true;
}

bool cr_json_f64(const cr_json *j, double *out) {
    if (!json_is_number(j)) return false;
    *out = json_number_value(j);
    return true;
}

bool cr_json_bool(const cr_json *j, bool *out) {
    if (!json_is_boolean(j)) return false;
    *out = json_is_true(j);
    return true;
}

const char *cr_json_str(const cr_json *j) {
    return json_string_value(j);
}

/* ---- writing ---- */

void cr_json_escape(cr_buf *out, const char *s, size_t n) {
    static const char hex[] = "0123456789abcdef";
    cr_buf_reserve(out, n + 2);
    cr_buf_char(out, '"');
    for (size_t i = 0; i < n;) {
        size_t from = i; /* most text needs no escapes and is copied in one go */
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
            else if (len) /* JSON may be printed on a terminal, too */
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
    cr_buf_i64(w->out, val);
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
