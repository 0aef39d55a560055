/*
 * scan.c - see scan.h. The scan accepts what a JSON parser accepts and a little more: of texts and
 * lists that it skips it only finds the end, so that a damaged list inside a whole line is no
 * damage here.
 */
#include "board/scan.h"

#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"

#define MAX_DEPTH 64

typedef struct cursor {
    const char *p, *end;
} cursor;

static void blanks(cursor *c) {
    while (c->p < c->end && (*c->p == ' ' || *c->p == '\t' || *c->p == '\r'))
        c->p++;
}

/* Passes a text; *s and *n are its content with its escapes. */
static bool text(cursor *c, const char **s, int *n, bool *has_escape) {
    if (c->p == c->end || *c->p != '"') return false;
    const char *from = ++c->p;
    *has_escape = false;
    for (; c->p < c->end && *c->p != '"'; c->p++) {
        if ((unsigned char)*c->p < ' ') return false;
        if (*c->p != '\\') continue;
        *has_escape = true;
        if (++c->p == c->end) return false;
    }
    if (c->p == c->end || c->p - from > INT32_MAX) return false;
    *s = from;
    *n = (int)(c->p - from);
    c->p++;
    return true;
}

/* Passes a list or an object. */
static bool nested(cursor *c) {
    int depth = 0;
    while (c->p < c->end) {
        const char *s;
        int n;
        bool escape;
        switch (*c->p) {
        case '"':
            if (!text(c, &s, &n, &escape)) return false;
            continue;
        case '[':
        case '{':
            if (++depth > MAX_DEPTH) return false;
            break;
        case ']':
        case '}': depth--; break;
        default: break;
        }
        c->p++;
        if (depth == 0) return true;
    }
    return false;
}

static bool word(cursor *c, const char *w) {
    size_t n = strlen(w);
    if ((size_t)(c->end - c->p) < n || memcmp(c->p, w, n) != 0) return false;
    c->p += n;
    return true;
}

/* Reads a number. Most have at most 18 digits and a small exponent: an exact product or quotient of
 * two doubles then, when the digits fit 53 bits; else the slow way. */
static bool number(cursor *c, double *out) {
    static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                  1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const char *from = c->p;
    uint64_t m = 0;
    int digits = 0, exp = 0;
    bool minus = c->p < c->end && *c->p == '-', seen = false;
    c->p += minus;
    for (; c->p < c->end && *c->p >= '0' && *c->p <= '9'; c->p++, seen = true, digits += m > 0)
        if (digits < 18) m = m * 10 + (uint64_t)(*c->p - '0');
    if (!seen) return false;
    if (c->p < c->end && *c->p == '.')
        for (c->p++; c->p < c->end && *c->p >= '0' && *c->p <= '9'; c->p++, digits += m > 0)
            if (digits < 18) {
                m = m * 10 + (uint64_t)(*c->p - '0');
                exp--;
            }
    bool plain = digits <= 18;
    if (c->p < c->end && (*c->p == 'e' || *c->p == 'E')) {
        int e = 0;
        c->p++;
        bool down = c->p < c->end && *c->p == '-';
        if (c->p < c->end && (*c->p == '-' || *c->p == '+')) c->p++;
        if (c->p == c->end || *c->p < '0' || *c->p > '9') return false;
        for (; c->p < c->end && *c->p >= '0' && *c->p <= '9'; c->p++)
            if (e < 10000) e = e * 10 + (*c->p - '0');
        exp += down ? -e : e;
    }
    if (!plain || m > (uint64_t)1 << 53 || exp < -22 || exp > 22) {
        double x;
        if (!cr_parse_f64(from, (size_t)(c->p - from), &x)) x = NAN; /* out of range */
        *out = x;
        return true;
    }
    double x = exp < 0 ? (double)m / tens[-exp] : (double)m * tens[exp];
    *out = minus ? -x : x;
    return true;
}

static int hex(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Resolves the escapes of a name into the line's own memory; false: the name cannot be kept. The
 * result is never longer than the text. */
static bool unescape(cr_line *out, const char **s, int *n) {
    if (*n > CR_LINE_POOL - out->n_pool) return false;
    char *to = out->pool + out->n_pool, *from = to;
    const char *p = *s, *end = p + *n;
    while (p < end) {
        if (*p != '\\') {
            *to++ = *p++;
            continue;
        }
        static const char codes[] = "\"\\/bfnrt", chars[] = "\"\\/\b\f\n\r\t";
        const char *at = strchr(codes, p[1]);
        if (at && *at) {
            *to++ = chars[at - codes];
            p += 2;
            continue;
        }
        unsigned x = 0;
        if (p[1] != 'u' || end - p < 6) return false;
        for (int i = 2; i < 6; i++) {
            int h = hex(p[i]);
            if (h < 0) return false;
            x = x * 16 + (unsigned)h;
        }
        if (x == 0) return false;
        to += cr_utf8_put(to, x >= 0xd800 && x < 0xe000 ? 0xfffd : x); /* a half of a pair */
        p += 6;
    }
    *s = from;
    *n = (int)(to - from);
    out->n_pool += *n;
    return true;
}

static bool is(const char *s, int n, const char *w) {
    return (size_t)n == strlen(w) && memcmp(s, w, (size_t)n) == 0;
}

static cr_line_event event_of(const char *s, int n) {
    static const struct {
        const char *name;
        cr_line_event event;
    } all[] = {{"train", CR_LINE_TRAIN},
               {"eval", CR_LINE_EVAL},
               {"start", CR_LINE_START},
               {"features", CR_LINE_FEATURES},
               {"end", CR_LINE_END}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (is(s, n, all[i].name)) return all[i].event;
    return CR_LINE_OTHER;
}

static int64_t whole(double x, int64_t otherwise) {
    return x >= 0 && x <= 0x1p53 ? (int64_t)x : otherwise;
}

static void take(cr_line *out, const char *name, int n, double x) {
    switch (n) {
    case 4:
        if (is(name, n, "time")) {
            out->time = x;
            return;
        }
        if (is(name, n, "step")) {
            out->step = whole(x, -1);
            return;
        }
        if (is(name, n, "rank")) {
            out->rank = whole(x, 0);
            return;
        }
        break;
    case 7:
        if (is(name, n, "elapsed")) return;
        break;
    case 10:
        if (is(name, n, "train.rows")) out->rows = x;
        break;
    default: break;
    }
    if (n == 0 || n > CR_LINE_NAME || out->n == CR_LINE_VALUES) return;
    out->v[out->n++] = (cr_line_value){name, n, x};
}

/* Passes one member behind its name. */
static bool member(cr_line *out, cursor *c, const char *name, int n) {
    const char *s;
    int k;
    bool escape;
    double x;
    if (c->p == c->end) return false;
    switch (*c->p) {
    case '"':
        if (!text(c, &s, &k, &escape)) return false;
        if (is(name, n, "event")) out->event = event_of(s, k);
        return true;
    case '{':
    case '[': return nested(c);
    case 't': return word(c, "true");
    case 'f': return word(c, "false");
    case 'n':
        if (!word(c, "null")) return false;
        take(out, name, n, NAN);
        return true;
    default:
        if (!number(c, &x)) return false;
        take(out, name, n, x);
        return true;
    }
}

static bool scan(cr_line *out, cursor *c) {
    blanks(c);
    if (c->p == c->end || *c->p++ != '{') return false;
    blanks(c);
    if (c->p < c->end && *c->p == '}') {
        c->p++;
        blanks(c);
        return c->p == c->end;
    }
    for (;;) {
        const char *name;
        int n;
        bool escape;
        blanks(c);
        if (!text(c, &name, &n, &escape)) return false;
        if (escape && !unescape(out, &name, &n)) n = 0;
        blanks(c);
        if (c->p == c->end || *c->p++ != ':') return false;
        blanks(c);
        if (!member(out, c, name, n)) return false;
        blanks(c);
        if (c->p == c->end) return false;
        char next = *c->p++;
        if (next == ',') continue;
        if (next != '}') return false;
        blanks(c);
        return c->p == c->end;
    }
}

bool cr_line_scan(cr_line *out, const char *s, size_t n) {
    cursor c = {s, s + n};
    out->event = CR_LINE_OTHER;
    out->step = -1;
    out->rank = 0;
    out->time = out->rows = NAN;
    out->n = out->n_pool = 0;
    return scan(out, &c);
}
