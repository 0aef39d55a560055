/*
 * scalar.c - the meaning of a scalar's text, and how messages show it.
 *
 * The three syntaxes spell the same value differently: protobuf text has octal 010 and 1.0f and
 * wants strings in quotes, YAML has 0o10 and .inf and takes bare words as strings, JSON may quote
 * numbers. The node knows its syntax, so callers need not.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "conf/conf_int.h"

static bool is_one_of(const cr_conf_node *n, const char *const *words) {
    for (; *words; words++)
        if (strlen(*words) == n->len && memcmp(n->text, *words, n->len) == 0) return true;
    return false;
}

bool cr_conf_is_null(const cr_conf_node *n) {
    static const char *const words[] = {"", "~", "null", "Null", "NULL", NULL};
    return n->kind == CR_NODE_SCALAR && !n->quoted && n->from != CR_SYNTAX_PBTXT &&
           is_one_of(n, words);
}

bool cr_conf_is_str(const cr_conf_node *n) {
    if (n->kind != CR_NODE_SCALAR) return false;
    return n->quoted || (n->from == CR_SYNTAX_YAML && !cr_conf_is_null(n));
}

bool cr_conf_read_bool(const cr_conf_node *n, bool *out) {
    static const char *const yes[] = {"true", "True", "TRUE", "t", "1", NULL};
    static const char *const no[] = {"false", "False", "FALSE", "f", "0", NULL};
    if (n->kind != CR_NODE_SCALAR || n->quoted) return false;
    *out = is_one_of(n, yes);
    return *out || is_one_of(n, no);
}

/* read_base reads exactly len digits of a base. */
static bool read_base(const char *s, size_t len, unsigned base, uint64_t *out) {
    uint64_t x = 0;
    if (len == 0) return false;
    for (size_t i = 0; i < len; i++) {
        unsigned c = (unsigned char)s[i];
        unsigned d = c >= '0' && c <= '9'   ? c - '0'
                     : c >= 'a' && c <= 'f' ? c - 'a' + 10
                     : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                            : 99;
        if (d >= base || x > (UINT64_MAX - d) / base) return false;
        x = x * base + d;
    }
    *out = x;
    return true;
}

bool cr_conf_read_int(const cr_conf_node *n, uint64_t *out, bool *neg) {
    if (n->kind != CR_NODE_SCALAR || (n->quoted && n->from != CR_SYNTAX_JSON)) return false;
    const char *s = n->text;
    size_t len = n->len;
    *neg = false;
    if (len && (*s == '-' || (*s == '+' && n->from == CR_SYNTAX_YAML))) {
        *neg = *s == '-';
        s++, len--;
    }
    bool ok;
    if (len > 2 && s[0] == '0' && (s[1] | 32) == 'x')
        ok = read_base(s + 2, len - 2, 16, out);
    else if (len > 2 && s[0] == '0' && s[1] == 'o' && n->from == CR_SYNTAX_YAML)
        ok = read_base(s + 2, len - 2, 8, out);
    else if (len > 1 && s[0] == '0' && n->from == CR_SYNTAX_PBTXT)
        ok = read_base(s + 1, len - 1, 8, out);
    else
        ok = read_base(s, len, 10, out);
    double x;
    /* 1e5 and 100.0 are integers in protobuf's JSON mapping, so YAML accepts them too */
    if (!ok && n->from != CR_SYNTAX_PBTXT && cr_conf_read_float(n, &x) && x == floor(x) &&
        fabs(x) < 0x1p53) {
        *neg = x < 0;
        *out = (uint64_t)fabs(x);
        ok = true;
    }
    if (ok && *out == 0) *neg = false;
    return ok;
}

bool cr_conf_is_huge(const cr_conf_node *n) {
    uint64_t u;
    bool neg;
    double x;
    if (cr_conf_read_int(n, &u, &neg)) return false;
    return cr_conf_read_float(n, &x) && !isinf(x) && x == floor(x) && fabs(x) >= 0x1p53;
}

bool cr_conf_read_float(const cr_conf_node *n, double *out) {
    static const char *const infs[] = {"inf", "infinity", ".inf", NULL};
    static const char *const nans[] = {"nan", ".nan", NULL};
    if (n->kind != CR_NODE_SCALAR || (n->quoted && n->from != CR_SYNTAX_JSON)) return false;
    const char *s = n->text;
    size_t len = n->len;
    if (strlen(s) != len || len == 0 || len > 400) return false;
    double sign = 1;
    if (*s == '-' || *s == '+') {
        if (*s == '+' && n->from == CR_SYNTAX_PBTXT) return false;
        sign = *s == '-' ? -1 : 1;
        s++, len--;
    }
    for (int i = 0; infs[i]; i++) {
        if (strcasecmp(s, infs[i]) == 0) {
            *out = sign * (double)INFINITY;
            return true;
        }
    }
    for (int i = 0; nans[i]; i++) {
        if (strcasecmp(s, nans[i]) == 0) {
            *out = (double)NAN;
            return true;
        }
    }
    if (!((*s >= '0' && *s <= '9') || *s == '.')) return false;
    if (len > 1 && (s[len - 1] | 32) == 'f' && n->from == CR_SYNTAX_PBTXT) len--;
    double x;
    if (!cr_parse_f64(s, len, &x)) return false;
    *out = sign * x;
    return true;
}

const cr_enum_value *cr_conf_read_enum(const cr_conf_node *n, const cr_enum_value *values) {
    if (n->kind != CR_NODE_SCALAR || (n->quoted && n->from == CR_SYNTAX_PBTXT)) return NULL;
    for (const cr_enum_value *v = values; v->name; v++)
        if (strcmp(v->name, n->text) == 0 && strlen(n->text) == n->len) return v;
    uint64_t u;
    bool neg;
    if (!cr_conf_read_int(n, &u, &neg) || u > INT32_MAX) return NULL;
    int x = neg ? -(int)u : (int)u;
    for (const cr_enum_value *v = values; v->name; v++)
        if (v->value == x) return v;
    return NULL;
}

/* has_range: does the row limit its numbers? */
static bool has_range(const cr_field *f) {
    if (f->type != CR_T_INT && f->type != CR_T_FLOAT) return false;
    return (f->min != 0 || f->max != 0) && !(isinf(f->min) && isinf(f->max));
}

bool cr_conf_in_range(const cr_field *f, double x) {
    return !has_range(f) || (x >= f->min && x <= f->max);
}

static const char *bound_text(double x, char out[32]) {
    if (x == floor(x) && fabs(x) < 1e15)
        snprintf(out, 32, "%.0f", x);
    else
        out[cr_fmt_f64(out, x)] = 0;
    return out;
}

const char *cr_conf_range_text(const cr_field *f, char out[96]) {
    char lo[32], hi[32];
    out[0] = 0;
    if (!has_range(f)) return out;
    bound_text(f->min, lo);
    bound_text(f->max, hi);
    /* the limits of int64 itself tell a user nothing */
    bool low = !isinf(f->min) && f->min > -9.2e18, high = !isinf(f->max) && f->max < 9.2e18;
    if (low && high)
        snprintf(out, 96, " from %s to %s", lo, hi);
    else if (low)
        snprintf(out, 96, " of at least %s", lo);
    else if (high)
        snprintf(out, 96, " of at most %s", hi);
    return out;
}

const char *cr_conf_limits_text(const cr_field *f, char out[96]) {
    char lo[32] = "-9223372036854775808", hi[32] = "9223372036854775807";
    bool wide = f->type == CR_T_UINT64, limited = !wide && has_range(f);
    if (limited && f->min > -9.2e18) bound_text(f->min, lo);
    if (limited && f->max < 9.2e18) bound_text(f->max, hi);
    snprintf(out, 96, " from %s to %s", wide ? "0" : lo, wide ? "18446744073709551615" : hi);
    return out;
}

const char *cr_conf_show(const cr_conf_node *n, char out[CR_CONF_SHOW]) {
    if (n->kind == CR_NODE_MAP) return "a mapping";
    if (n->kind == CR_NODE_LIST) return "a list";
    if (cr_conf_is_null(n) && n->len == 0) return "nothing";
    char q = n->quoted ? '"' : '\'';
    char text[CR_SHOW];
    snprintf(out, CR_CONF_SHOW, "%c%s%c", q, cr_show(text, n->text, n->len), q);
    return out;
}
