/*
 * op_regex_replace.c - RegexReplace: replaces every match of a pattern, in every value.
 *
 * Parameters: regex_pattern (or regex_patten, as TorchEasyRec spells it; one, or a list that is
 * applied in turn), replacement (\0 is the match, \1 to \9 are its groups), icase, replace_all
 * (true).
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "feat/ops.h"
#include "text/regex.h"

#define MOST_PATTERNS 64

typedef struct replace {
    const crank_host *host;
    int n;
    cr_regex *v[MOST_PATTERNS];
    const char *with;
    bool all;
} replace;

static void replace_close(void *self) {
    replace *x = self;
    for (int i = 0; i < x->n; i++)
        cr_regex_free(x->v[i]);
    cr_free(x);
}

static bool is_true(const char *text) {
    return text && (strcasecmp(text, "true") == 0 || strcmp(text, "1") == 0);
}

/* Accepts \0 to \9 and \\; anything else behind a backslash is a mistake. */
static bool check_with(const char *with, char *why, size_t size) {
    for (const char *p = with; *p; p++)
        if (*p == '\\' && *++p != '\\' && (*p < '0' || *p > '9')) {
            snprintf(why, size,
                     "replacement '%s': a backslash stands before a digit or a backslash; write "
                     "\\\\ for one",
                     with);
            return false;
        }
    return true;
}

static void *replace_open(const crank_host *host, const crank_params *p, char *why, size_t size) {
    const char *key = host->param(p, "regex_pattern", 0) ? "regex_pattern" : "regex_patten";
    const char *icase = host->param(p, "icase", 0), *all = host->param(p, "replace_all", 0), *text;
    replace *x = cr_alloc(sizeof(*x), "RegexReplace");
    x->host = host;
    x->with = host->param(p, "replacement", 0);
    x->all = !all || is_true(all);
    if (!x->with) x->with = "";
    cr_err err;
    bool fine = check_with(x->with, why, size);
    for (int i = 0; fine && (text = host->param(p, key, i)); i++) {
        if (i == MOST_PATTERNS) {
            snprintf(why, size, "more than %d patterns; join some with |", MOST_PATTERNS);
            fine = false;
        } else if (cr_regex_new(&x->v[i], text, is_true(icase) ? CR_REGEX_ICASE : 0, &err) !=
                   CR_OK) {
            snprintf(why, size, "%s '%s': %s", key, text, err.msg);
            fine = false;
        } else {
            x->n = i + 1;
        }
    }
    if (fine && x->n == 0) {
        snprintf(why, size, "no regex_pattern; add it to operator_params");
        fine = false;
    }
    if (fine) return x;
    replace_close(x);
    return NULL;
}

static void put_with(cr_buf *out, const replace *x, const char *text, const cr_regex_match *m) {
    for (const char *p = x->with; *p; p++) {
        if (*p != '\\') {
            cr_buf_char(out, *p);
            continue;
        }
        int k = *++p == '\\' ? -1 : *p - '0';
        if (k < 0)
            cr_buf_char(out, '\\');
        else
            cr_buf_add(out, text + m->beg[k], m->end[k] - m->beg[k]);
    }
}

/* Applies one pattern to a text; false: it takes too much work. */
static bool apply(const replace *x, const cr_regex *re, cr_regex_run *run, cr_work *work,
                  const char *text, size_t n, cr_buf *out) {
    size_t at = 0, from = 0; /* at: copied up to here; from: the search starts here */
    bool not_empty = false;
    cr_regex_match m;
    while (from <= n) {
        int found = cr_regex_find(re, run, text, n, from, not_empty, &m);
        if (found < 0) return false;
        if (!found) break;
        size_t before = out->n;
        cr_buf_add(out, text + at, m.beg[0] - at);
        put_with(out, x, text, &m);
        if (!cr_work_spend(work, out->n - before)) return false;
        at = from = m.end[0];
        /* an empty match right behind another match does not count, as in RE2 */
        not_empty = true;
        if (!x->all) break;
    }
    if (at < n) cr_buf_add(out, text + at, n - at);
    return true;
}

static int replace_run(void *self, const crank_batch *in, crank_output *out, char *why,
                       size_t size) {
    const replace *x = self;
    const crank_input *v = &in->inputs[0];
    cr_work work;
    cr_regex_run *run = cr_regex_run_new(&work);
    cr_buf a, b;
    cr_buf_init(&a);
    cr_buf_init(&b);
    (void)why;
    (void)size;
    for (int64_t r = 0; r < in->n_rows; r++) {
        bool fine = true;
        for (int64_t k = v->offsets[r]; fine && k < v->offsets[r + 1]; k++) {
            work.left = CR_MOST_WORK;
            cr_buf_reset(&a);
            cr_buf_add(&a, v->texts[k].data, v->texts[k].size);
            for (int i = 0; fine && i < x->n; i++) {
                cr_buf_reset(&b);
                fine = apply(x, x->v[i], run, &work, a.data, a.n, &b);
                cr_buf t = a;
                a = b;
                b = t;
            }
            if (fine) x->host->put_text(out, a.data, a.n);
        }
        if (fine)
            x->host->end_row(out);
        else
            x->host->bad_row(out, "the regular expression takes too long on this text");
    }
    cr_regex_run_free(run);
    cr_buf_clear(&a);
    cr_buf_clear(&b);
    return 0;
}

static const crank_type inputs[] = {CRANK_TEXT, 0};
const crank_operator cr_op_regex_replace = {
    .name = "RegexReplace",
    .min_inputs = 1,
    .max_inputs = 1,
    .inputs = inputs,
    .output = CRANK_TEXT,
    .flags = CRANK_THREAD_SAFE,
    .open = replace_open,
    .run = replace_run,
    .close = replace_close,
};
