/*
 * parts.c - decides which parameters a part optimizer trains: those whose whole name matches its
 * pattern. When several patterns match, the first one counts.
 *
 * Patterns are written for Python's re.fullmatch. PCRE2 reads them in the same way, except for
 * {,n}, which it takes as text; so {,n} is rewritten to {0,n}.
 */
#include <ctype.h>
#include <string.h>

#include "base/buf.h"
#include "optim/optim.h"
#include "text/regex.h"

#define MAX_PATTERN 2000

static cr_code compile(cr_regex **out, const char *pattern, cr_err *err) {
    cr_buf b;
    *out = NULL;
    if (strlen(pattern) > MAX_PATTERN)
        return cr_fail(err, CR_ECONF, "regular expression, character %d: it is too long",
                       MAX_PATTERN + 1);
    cr_buf_init(&b);
    for (const char *p = pattern; *p; p++) {
        cr_buf_char(&b, *p);
        if (*p == '\\' && p[1])
            cr_buf_char(&b, *++p);
        else if (*p == '{' && p[1] == ',' && isdigit((unsigned char)p[2]))
            cr_buf_char(&b, '0');
    }
    cr_code code = cr_regex_new(out, b.n ? b.data : "", CR_REGEX_UNICODE | CR_REGEX_WHOLE, err);
    cr_buf_clear(&b);
    return code;
}

cr_code cr_pattern_check(const char *pattern, cr_err *err) {
    cr_regex *r;
    CR_TRY(compile(&r, pattern, err));
    cr_regex_free(r);
    return CR_OK;
}

/* likeness returns the length of the longest common run of letters; special characters of the
 * pattern do not count. */
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
    cr_work work = {0};
    cr_regex_run *run = cr_regex_run_new(&work);
    for (int i = 0; i < n; i++)
        of[i] = -1;
    for (int64_t k = 0; k < parts->n; k++) {
        const cr_part_conf *part = parts->v[k];
        cr_regex *re;
        /* the binding has reported it */
        if (compile(&re, part->regex_pattern, NULL) != CR_OK) continue;
        int hits = 0, taken = 0, best = 0;
        const char *near = NULL;
        for (int i = 0; i < n; i++) {
            cr_regex_match m;
            work.left = CR_MOST_WORK;
            if (cr_regex_find(re, run, names[i], strlen(names[i]), 0, false, &m) > 0) {
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
        cr_regex_free(re);
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
    cr_regex_run_free(run);
}
