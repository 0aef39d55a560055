/*
 * parts.c - which parameters a part optimizer trains: those whose whole name matches its pattern,
 * the first pattern that does.
 *
 * Patterns are written for Python's re.fullmatch. All that is regular in them has a POSIX form, so
 * they are rewritten (\d, \w, classes with escapes, (?:...), lazy repeats) and given to regcomp.
 * What is not regular (look-ahead and the like) is refused by name rather than read as something
 * else. Lazy and greedy do not differ where the whole name must match.
 */
#include "optim/optim.h"

#include <ctype.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

#define MAX_PATTERN 2000
#define MAX_REPEAT  20000 /* product of all bounds {m,n}: regcomp copies what is repeated */

typedef struct rewrite {
    cr_buf out;
    const char *p;
    char why[128]; /* empty: fine */
    double repeats;
} rewrite;

static void refuse(rewrite *r, const char *text) {
    if (!r->why[0]) snprintf(r->why, sizeof(r->why), "%s", text);
}

/* the POSIX class of \d, \w, \s (lower case), or NULL */
static const char *class_of(char c) {
    return c == 'd' ? "0-9" : c == 'w' ? "[:alnum:]_" : c == 's' ? "[:space:]" : NULL;
}

static char control_of(char c) {
    return c == 'n'   ? '\n'
           : c == 't' ? '\t'
           : c == 'r' ? '\r'
           : c == 'f' ? '\f'
           : c == 'v' ? '\v'
                      : 0;
}

/* at the character behind a backslash, outside brackets */
static void escape(rewrite *r) {
    char c = *r->p;
    if (!c) {
        refuse(r, "it ends with a backslash");
        return;
    }
    r->p++;
    const char *cls = class_of((char)tolower((unsigned char)c));
    if (cls) {
        cr_buf_printf(&r->out, "[%s%s]", isupper((unsigned char)c) ? "^" : "", cls);
    } else if (c >= '1' && c <= '8') {
        cr_buf_printf(&r->out, "\\%c", c + 1); /* our own pair of brackets is the first */
    } else if (control_of(c)) {
        cr_buf_char(&r->out, control_of(c));
    } else if (c == 'b' || c == 'B') {
        cr_buf_printf(&r->out, "\\%c", c);
    } else if (c == 'A' || c == 'Z') {
        cr_buf_char(&r->out, c == 'A' ? '^' : '$');
    } else if (isalnum((unsigned char)c)) {
        refuse(r, "it has an unknown escape");
    } else if (strchr(".[]()*+?{}|^$\\", c)) {
        cr_buf_printf(&r->out, "\\%c", c);
    } else {
        cr_buf_char(&r->out, c);
    }
}

/* behind '[': POSIX takes a backslash there as itself, and ] ^ - by their place */
static void bracket(rewrite *r) {
    bool not_ = *r->p == '^', close = false, caret = false, dash = false, empty = true;
    cr_buf in;
    cr_buf_init(&in);
    r->p += not_;
    for (bool first = true; *r->p && (first || *r->p != ']'); first = false, empty = false) {
        char c = *r->p++;
        if (c != '\\') {
            if (c == ']')
                close = true;
            else if (c == '^')
                caret = true;
            else if (c == '-' && (first || *r->p == ']'))
                dash = true;
            else if (c == '[' && (*r->p == ':' || *r->p == '.' || *r->p == '='))
                refuse(r, "write \\[ for the character [ in a class");
            else
                cr_buf_char(&in, c);
            continue;
        }
        c = *r->p;
        if (!c) break;
        r->p++;
        if (class_of(c))
            cr_buf_str(&in, class_of(c));
        else if (control_of(c))
            cr_buf_char(&in, control_of(c));
        else if (isalnum((unsigned char)c))
            refuse(r, "it has an unknown escape in a class");
        else if (c == ']')
            close = true;
        else if (c == '^')
            caret = true;
        else if (c == '-')
            dash = true;
        else
            cr_buf_char(&in, c);
    }
    if (*r->p != ']' || empty)
        refuse(r, "a [ has no ]");
    else
        r->p++;
    if (caret && !close && !dash && in.n == 0 && !not_)
        cr_buf_str(&r->out, "\\^");
    else
        cr_buf_printf(&r->out, "[%s%s%s%s%s]", not_ ? "^" : "", close ? "]" : "",
                      in.data ? in.data : "", caret ? "^" : "", dash ? "-" : "");
    cr_buf_clear(&in);
}

/* at '{': a repeat, or, as in Python, the character itself */
static void brace(rewrite *r) {
    char *end;
    const char *p = r->p + 1;
    if (isdigit((unsigned char)*p) || *p == ',') {
        double low = strtod(p, &end), high = low; /* "{,3}": strtod reads nothing, low is 0 */
        p = end;
        if (*p == ',') {
            high = strtod(p + 1, &end);
            p = end;
        }
        if (*p == '}') {
            r->repeats *= high > low ? high + 1 : low + 1;
            if (r->repeats > MAX_REPEAT) refuse(r, "its repeats are too many");
            if (r->p[1] == ',')
                cr_buf_str(&r->out, "{0");
            else
                cr_buf_char(&r->out, '{');
            cr_buf_add(&r->out, r->p + 1, (size_t)(p + 1 - (r->p + 1)));
            r->p = p + 1;
            if (*r->p == '?') r->p++; /* lazy */
            return;
        }
    }
    cr_buf_str(&r->out, "\\{");
    r->p++;
}

static void group(rewrite *r) {
    cr_buf_char(&r->out, '(');
    if (*r->p != '?') return;
    if (r->p[1] == ':') {
        r->p += 2;
    } else if (r->p[1] == 'P' && r->p[2] == '<' && strchr(r->p, '>')) {
        r->p = strchr(r->p, '>') + 1;
    } else {
        refuse(r, "(?...) other than (?:...) is not supported");
    }
}

static bool compile(regex_t *re, const char *pattern, char *why, size_t n) {
    rewrite r = {.p = pattern, .repeats = 1};
    int depth = 0;
    cr_buf_init(&r.out);
    cr_buf_str(&r.out, "^(");
    if (strlen(pattern) > MAX_PATTERN) refuse(&r, "it is too long");
    for (bool atom = false; *r.p && !r.why[0];) { /* atom: there is something to repeat */
        char c = *r.p;
        if (!atom && (c == '*' || c == '+' || c == '?')) refuse(&r, "there is nothing to repeat");
        atom = c != '(' && c != '|' && c != '^';
        if (c == ')' && --depth < 0) refuse(&r, "a ) has no (");
        if (c == '{') {
            brace(&r);
            continue;
        }
        r.p++;
        if (c == '\\') {
            escape(&r);
        } else if (c == '[') {
            bracket(&r);
        } else if (c == '(') {
            group(&r);
            depth++;
        } else {
            cr_buf_char(&r.out, c);
            if ((c == '*' || c == '+' || c == '?') && *r.p == '?') r.p++; /* lazy */
        }
    }
    cr_buf_str(&r.out, ")$");
    int code = r.why[0] ? 0 : regcomp(re, r.out.data, REG_EXTENDED | REG_NOSUB);
    if (code) regerror(code, NULL, r.why, sizeof(r.why));
    if (code && !r.why[0]) refuse(&r, "it cannot be read");
    cr_buf_clear(&r.out);
    if (r.why[0] && why) snprintf(why, n, "%s", r.why);
    return !r.why[0];
}

int cr_regex_match(const char *pattern, const char *text, char *why, size_t n) {
    regex_t re;
    if (!compile(&re, pattern, why, n)) return -1;
    int hit = regexec(&re, text, 0, NULL, 0) == 0;
    regfree(&re);
    return hit;
}

/* letters in a row that the two have in common, at most; marks of the pattern do not count */
static int likeness(const char *pattern, const char *name) {
    int best = 0;
    for (const char *p = pattern; *p; p++)
        for (const char *q = name; *q; q++) {
            int k = 0;
            const char *a = p;
            while (*a && q[k]) {
                if (*a == '\\') {
                    a++;
                    continue;
                }
                if (*a != q[k]) break;
                a++;
                k++;
            }
            if (k > best) best = k;
        }
    return best;
}

void cr_parts_assign(const cr_msgs *parts, const char *const *names, int n, const char *what,
                     int *of, cr_diag *diag) {
    for (int i = 0; i < n; i++)
        of[i] = -1;
    for (int64_t k = 0; k < parts->n; k++) {
        const cr_part_conf *part = parts->v[k];
        regex_t re;
        if (!compile(&re, part->regex_pattern, NULL, 0)) continue; /* the binding said so */
        int hits = 0, taken = 0, best = 0;
        const char *near = NULL;
        for (int i = 0; i < n; i++) {
            if (regexec(&re, names[i], 0, NULL, 0) == 0) {
                if (of[i] < 0) {
                    of[i] = (int)k;
                    hits++;
                } else {
                    taken++;
                }
            }
            int like = diag ? likeness(part->regex_pattern, names[i]) : 0;
            if (like > best) {
                best = like;
                near = names[i];
            }
        }
        regfree(&re);
        if (hits || !diag) continue;
        if (taken)
            cr_diag_add(diag, CR_SEV_WARN, CR_ECONF, cr_conf_at(part, "regex_pattern"),
                        "all that '%s' matches belongs to parts before it, so this part trains "
                        "nothing; put it first or remove it",
                        part->regex_pattern);
        else
            cr_diag_add(diag, CR_SEV_WARN, CR_ECONF, cr_conf_at(part, "regex_pattern"),
                        "'%s' matches the whole name of no %s, so this part trains nothing; %s%s",
                        part->regex_pattern, what, near ? "the most similar is " : "there is none",
                        near ? near : "");
    }
}
