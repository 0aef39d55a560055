/*
 * normalize.c - the four normalizers.
 *
 * Parameters are float32 whatever the column's type is, and log10 without parameters has threshold
 * 1 and default 0. Both follow what TorchEasyRec does, not what its documentation says. A formula
 * may hold commas, so `expr=` takes the rest of the text.
 */
#include "feat/normalize.h"

#include <math.h>
#include <string.h>

#include "base/shown.h"
#include "feat/number.h"

/* The parameters of each method; NAN: the config must give it. */
static const struct {
    const char *method;
    cr_norm_method id;
    const char *key[2];
    float def[2];
} METHODS[] = {
    {"log10", CR_NORM_LOG10, {"threshold", "default"}, {1, 0}},
    {"zscore", CR_NORM_ZSCORE, {"mean", "standard_deviation"}, {NAN, NAN}},
    {"minmax", CR_NORM_MINMAX, {"min", "max"}, {NAN, NAN}},
    {"expression", CR_NORM_EXPR, {NULL, NULL}, {0, 0}},
};
#define N_METHODS ((int)(sizeof(METHODS) / sizeof(METHODS[0])))

static bool is_word(const char *s, size_t n, const char *word) {
    return strlen(word) == n && memcmp(s, word, n) == 0;
}

/* Reads one "key=value" of the text at *pos; false at the end. */
typedef struct part {
    const char *key, *val;
    size_t n_key, n_val;
} part;
static bool next_part(const char *text, size_t *pos, part *out) {
    size_t i = *pos;
    while (text[i] == ' ' || text[i] == ',')
        i++;
    if (!text[i]) return false;
    out->key = text + i;
    size_t n = strcspn(text + i, "=,");
    out->n_key = n;
    while (out->n_key && out->key[out->n_key - 1] == ' ')
        out->n_key--;
    out->val = NULL;
    out->n_val = 0;
    i += n;
    if (text[i] == '=') {
        out->val = text + ++i;
        out->n_val =
            is_word(out->key, out->n_key, "expr") ? strlen(out->val) : strcspn(out->val, ",");
        i += out->n_val;
    }
    *pos = i;
    return true;
}

cr_code cr_norm_parse(cr_norm *out, cr_arena *arena, const char *text, size_t *where, cr_err *err) {
    *out = (cr_norm){CR_NORM_NONE, 0, 0, NULL};
    *where = 0;
    if (!text || !*text) return CR_OK;
    char show[80];
    part p;
    size_t pos = 0;
    int m = -1;
    while (next_part(text, &pos, &p)) {
        if (!is_word(p.key, p.n_key, "method")) continue;
        *where = (size_t)((p.val ? p.val : p.key) - text);
        if (m >= 0) return cr_fail(err, CR_ECONF, "method is given twice");
        for (int i = 0; i < N_METHODS && p.val; i++)
            if (is_word(p.val, p.n_val, METHODS[i].method)) m = i;
        if (m < 0)
            return cr_fail(err, CR_ECONF,
                           "unknown method '%s'; one of log10, zscore, minmax, expression",
                           cr_show(show, p.val ? p.val : "", p.n_val));
    }
    if (m < 0)
        return cr_fail(err, CR_ECONF,
                       "no method; write e.g. method=log10,threshold=1e-10,default=-10");
    out->method = METHODS[m].id;
    float par[2] = {METHODS[m].def[0], METHODS[m].def[1]};
    bool given[2] = {false, false};
    const char *vars[] = {"x"};
    pos = 0;
    while (next_part(text, &pos, &p)) {
        *where = (size_t)(p.key - text);
        if (is_word(p.key, p.n_key, "method")) continue;
        if (out->method == CR_NORM_EXPR && is_word(p.key, p.n_key, "expr") && p.val) {
            size_t at = 0;
            cr_expr *e = NULL;
            cr_code rc = cr_expr_compile(&e, arena, p.val, p.n_val, vars, 1, &at, err);
            *where = (size_t)(p.val - text) + at;
            CR_TRY(rc);
            out->expr = e;
            continue;
        }
        int k = -1;
        for (int i = 0; i < 2; i++)
            if (METHODS[m].key[i] && is_word(p.key, p.n_key, METHODS[m].key[i])) k = i;
        if (k < 0)
            return cr_fail(err, CR_ECONF, "method %s has no parameter '%s'", METHODS[m].method,
                           cr_show(show, p.key, p.n_key));
        if (given[k]) return cr_fail(err, CR_ECONF, "%s is given twice", METHODS[m].key[k]);
        double x = 0;
        if (!p.val || !cr_num_f64(p.val, p.n_val, &x) || !isfinite((float)x)) {
            if (p.val) *where = (size_t)(p.val - text);
            return cr_fail(err, CR_ECONF, "%s is not a number; write %s=1.5", METHODS[m].key[k],
                           METHODS[m].key[k]);
        }
        par[k] = (float)x;
        given[k] = true;
    }
    *where = 0;
    for (int i = 0; i < 2; i++)
        if (isnan(par[i]))
            return cr_fail(err, CR_ECONF, "method %s needs %s=", METHODS[m].method,
                           METHODS[m].key[i]);
    if (out->method == CR_NORM_EXPR && !out->expr)
        return cr_fail(err, CR_ECONF, "method expression needs expr=<formula of x>");
    if (out->method == CR_NORM_ZSCORE && !(par[1] > 0))
        return cr_fail(err, CR_ECONF, "standard_deviation must be above 0");
    if (out->method == CR_NORM_MINMAX) {
        if (!(par[1] > par[0])) return cr_fail(err, CR_ECONF, "max must be above min");
        par[1] -= par[0];
    }
    if (out->method == CR_NORM_LOG10 && par[0] < 0)
        return cr_fail(err, CR_ECONF, "threshold must not be below 0; log10 needs positive values");
    out->a = par[0];
    out->b = par[1];
    return CR_OK;
}

/* one loop per method and precision T */
#define LOOP(T, value)                                                                             \
    do {                                                                                           \
        for (int64_t i = 0; i < n; i++) {                                                          \
            T v = (T)x[i];                                                                         \
            y[i] = (float)(value);                                                                 \
        }                                                                                          \
        return;                                                                                    \
    } while (0)

static void apply_f32(const cr_norm *m, const double *x, float *y, int64_t n) {
    float a = m->a, b = m->b;
    switch (m->method) {
    case CR_NORM_NONE: LOOP(float, v);
    case CR_NORM_LOG10: LOOP(float, v > a ? log10f(v) : b);
    case CR_NORM_ZSCORE: LOOP(float, (v - a) / b);
    case CR_NORM_MINMAX: LOOP(float, (v - a) / b);
    case CR_NORM_EXPR: LOOP(float, cr_expr_eval(m->expr, &(double){(double)v}));
    }
}

static void apply_f64(const cr_norm *m, const double *x, float *y, int64_t n) {
    double a = (double)m->a, b = (double)m->b;
    switch (m->method) {
    case CR_NORM_NONE: LOOP(double, v);
    case CR_NORM_LOG10: LOOP(double, v > a ? log10(v) : b);
    case CR_NORM_ZSCORE: LOOP(double, (v - a) / b);
    case CR_NORM_MINMAX: LOOP(double, (v - a) / b);
    case CR_NORM_EXPR: LOOP(double, cr_expr_eval(m->expr, &v));
    }
}

void cr_norm_apply(const cr_norm *m, const double *x, float *y, int64_t n, bool f64) {
    if (f64)
        apply_f64(m, x, y, n);
    else
        apply_f32(m, x, y, n);
}
