/*
 * json.h - JSON for our own files (checkpoint headers, results, logs); the only place that knows
 * jansson. Config files in JSON go through conf/, which keeps the place of every value.
 */
#ifndef CR_BASE_JSON_H
#define CR_BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/* Reading: a tree owned by its root, which is not changed. */
typedef struct json_t cr_json; /* root or inner value; jansson's */
/* cr_json_parse reads exactly n bytes; at most one value, depth <= 64. Free the root only. */
CR_CHECKED cr_code cr_json_parse(cr_json **out, const char *text, size_t n, cr_err *err);
void cr_json_free(cr_json *root);
/* cr_json_lines calls fn for every line of text that is a JSON object, until fn fails; `at` is its
 * place in the file `path`. Other lines are left out with a warning in the log, empty ones without.
 */
typedef cr_code (*cr_json_line_fn)(void *ctx, const cr_json *j, const char *line, size_t n,
                                   cr_loc at, cr_err *err);
CR_CHECKED cr_code cr_json_lines(const char *path, const cr_buf *text, cr_json_line_fn fn,
                                 void *ctx, cr_err *err);
bool cr_json_is_obj(const cr_json *j);
bool cr_json_is_arr(const cr_json *j);
const cr_json *cr_json_get(const cr_json *obj, const char *key); /* NULL when absent */
size_t cr_json_len(const cr_json *j);                            /* members or items */
const cr_json *cr_json_at(const cr_json *arr, size_t i);
/* cr_json_next walks an object in the order of the file: *it is NULL at first, *key and *val are
 * set. It returns false at the end. */
bool cr_json_next(const cr_json *obj, void **it, const char **key, const cr_json **val);
bool cr_json_i64(const cr_json *j, int64_t *out);
bool cr_json_f64(const cr_json *j, double *out); /* also accepts integers */
bool cr_json_bool(const cr_json *j, bool *out);
const char *cr_json_str(const cr_json *j); /* NULL when not a string */

/* Writing goes straight into a buffer; the writer places the commas. */
typedef struct cr_jw {
    cr_buf *out;
    int depth;
    bool first[64];
    bool is_arr[64];
} cr_jw;
void cr_jw_init(cr_jw *w, cr_buf *out);
void cr_jw_obj(cr_jw *w, const char *key); /* key NULL inside arrays and at the root */
void cr_jw_arr(cr_jw *w, const char *key);
void cr_jw_end(cr_jw *w);
void cr_jw_str(cr_jw *w, const char *key, const char *val); /* NULL: null */
void cr_jw_i64(cr_jw *w, const char *key, int64_t val);
void cr_jw_f64(cr_jw *w, const char *key, double val); /* NaN and inf become null */
void cr_jw_bool(cr_jw *w, const char *key, bool val);
/* cr_json_escape appends s as a JSON string with quotes. */
void cr_json_escape(cr_buf *out, const char *s, size_t n);

#endif
