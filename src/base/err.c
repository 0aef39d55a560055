/*
 * err.c - filling errors, collecting findings, aborting on our own mistakes.
 *
 * A message is always one line: control characters that came in with a user's value are escaped
 * (shown.h). Arguments of a message may point into the error being filled (wrapping err->msg), so
 * the text is built aside first.
 */
#include "base/err.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/shown.h"
#include "base/utf8.h"

/* cut_utf8 removes a character that was cut in the middle at the end of s. */
static void cut_utf8(char *s) {
    uint32_t c = 0;
    size_t n = strlen(s), back = n > 4 ? n - 4 : 0;
    for (size_t i = cr_utf8_cut(s, back); i < n;) {
        size_t len = cr_utf8_get(s + i, n - i, &c);
        if (c >= CR_UTF8_BAD + 0xc0) { /* the first byte of a character that is not whole */
            s[i] = 0;
            return;
        }
        i += len;
    }
}

/* the text of a message, safe to print */
static CR_PRINTF(3, 0) void format(char *msg, size_t size, const char *fmt, va_list ap) {
    char raw[1024];
    int len = vsnprintf(raw, sizeof(raw), fmt, ap);
    if (len < 0) snprintf(raw, sizeof(raw), "%s", fmt);
    if (len >= (int)sizeof(raw)) cut_utf8(raw);
    cr_shown_into(msg, size, raw, strlen(raw));
}

cr_code cr_fail_at_(cr_err *err, cr_code code, cr_loc at, const char *src, int src_line,
                    const char *fmt, ...) {
    if (!err) return code;
    char msg[sizeof(err->msg)], path[sizeof(err->path)], tail[sizeof(err->path)];
    va_list ap;
    va_start(ap, fmt);
    format(msg, sizeof(msg), fmt, ap);
    va_end(ap);
    path[0] = 0;
    if (at.path) {
        /* when a path is too long, its end says more than its beginning */
        size_t n = strlen(at.path);
        if (n >= sizeof(path)) {
            const char *end = at.path + n - (sizeof(path) - 4);
            while (((unsigned char)*end & 0xc0) == 0x80)
                end++;
            snprintf(tail, sizeof(tail), "...%s", end);
        }
        const char *text = n < sizeof(path) ? at.path : tail;
        cr_shown_into(path, sizeof(path), text, strlen(text));
    }
    memcpy(err->msg, msg, sizeof(msg));
    memcpy(err->path, path, sizeof(path));
    err->code = code;
    err->why = 0;
    err->n_cure = 0;
    err->at = (cr_loc){at.path ? err->path : NULL, at.line, at.col};
    err->src = src;
    err->src_line = src_line;
    return code;
}

void cr_err_text(const cr_err *err, char *out, size_t size) {
    if (size == 0) return;
    /* err may be a copy, whose at.path still points into the original: use the copy's own text */
    const char *path = err->at.path && err->path[0] ? err->path : err->at.path;
    if (!path)
        snprintf(out, size, "%s", err->msg);
    else if (err->at.line <= 0)
        snprintf(out, size, "%s: %s", path, err->msg);
    else if (err->at.col <= 0)
        snprintf(out, size, "%s:%d: %s", path, err->at.line, err->msg);
    else
        snprintf(out, size, "%s:%d:%d: %s", path, err->at.line, err->at.col, err->msg);
}

/* One table for all files and calls, so that an errno value has the same cure everywhere. */
const char *cr_errno_cure(int e) {
    static const struct {
        int e;
        const char *cure;
    } cures[] = {
        {ENOENT, "; check the path"},
        {EACCES, "; check the owner and mode of the file and of its directory"},
        {EPERM, "; check the owner and mode of the file and of its directory"},
        {ENOSPC, "; free some space and run again"},
        {EDQUOT, "; free some space or raise the quota and run again"},
        {EROFS, "; choose a directory that can be written"},
        {EISDIR, "; name a file, not a directory"},
        {ENOTDIR, "; a part of the path is a file"},
        {EMFILE, "; raise the limit of open files (ulimit -n)"},
        {ENFILE, "; raise the system's limit of open files (fs.file-max)"},
        {EFBIG, "; raise the limit of the file size (ulimit -f)"},
        {ENAMETOOLONG, "; use a shorter path"},
        {ELOOP, "; its links lead in a circle, correct them"},
        {ENOMEM, "; free some memory, or raise its limit (ulimit -v)"},
        {EAGAIN, "; raise the limits of processes (ulimit -u) and memory (ulimit -v), or use fewer "
                 "threads"},
        {EIO, "; check the disk"},
        {ESTALE, "; the file server has lost the file, run again"},
        {ENOTCONN, "; mount the file system again"},
        {ETIMEDOUT, "; check the connection to the file server"},
        {EBUSY, "; something else uses it, end that first"},
        {ETXTBSY, "; it is a program that runs, end that first"},
    };
    for (size_t i = 0; i < sizeof(cures) / sizeof(cures[0]); i++)
        if (cures[i].e == e) return cures[i].cure;
    return "";
}

void cr_err_copy(cr_err *to, const cr_err *from) {
    if (!to || to == from) return;
    *to = *from;
    if (from->at.path == from->path) to->at.path = to->path;
}

void cr_err_cure(cr_err *err, const char *cure) {
    if (!err) return;
    size_t n = strlen(err->msg), k = strlen(cure);
    err->n_cure = k <= n && strcmp(err->msg + n - k, cure) == 0 ? (int)k : 0; /* 0: cut short */
}

int cr_exit_code(cr_code code) {
    switch (code) {
    case CR_OK: return 0;
    case CR_EUSAGE:
    case CR_ECONF: return 2;
    case CR_EDATA: return 3;
    case CR_EIO:
    case CR_ENOMEM:
    case CR_ERUN:
    case CR_ESTOP:
    case CR_ECLOSED: break;
    }
    return 1;
}

void cr_diag_init(cr_diag *d) {
    memset(d, 0, sizeof(*d));
}

void cr_diag_clear(cr_diag *d) {
    for (size_t i = 0; i < d->n; i++) {
        cr_free((void *)(uintptr_t)d->v[i].at.path);
        cr_free(d->v[i].msg);
    }
    cr_free(d->v);
    memset(d, 0, sizeof(*d));
}

static bool same_path(const char *a, const char *b) {
    if (!a || !b) return a == b;
    return strcmp(a, b) == 0;
}

static char *dup_text(const char *s) {
    size_t n = strlen(s) + 1;
    char *p = cr_alloc(n, "a finding");
    memcpy(p, s, n);
    return p;
}

void cr_diag_add_(const char *src, int src_line, cr_diag *d, cr_sev sev, cr_code code, cr_loc at,
                  const char *fmt, ...) {
    char msg[1024];
    va_list ap;
    va_start(ap, fmt);
    format(msg, sizeof(msg), fmt, ap);
    va_end(ap);
    /* an error is counted even when it is not listed again: callers see by the count that they
     * failed */
    if (sev == CR_SEV_ERROR) d->n_errors++;
    for (size_t i = 0; i < d->n; i++) {
        const cr_finding *f = &d->v[i];
        if (f->at.line == at.line && f->at.col == at.col && f->sev == sev &&
            strcmp(f->msg, msg) == 0 && same_path(f->at.path, at.path))
            return;
    }
    if (d->n == d->cap) {
        size_t cap = d->cap ? 2 * d->cap : 16;
        d->v = cr_realloc(d->v, d->cap * sizeof(*d->v), cap * sizeof(*d->v), "findings");
        d->cap = cap;
    }
    cr_loc own = {at.path ? dup_text(at.path) : NULL, at.line, at.col};
    d->v[d->n++] = (cr_finding){sev, code, own, dup_text(msg), src, src_line};
}

cr_code cr_diag_err(cr_diag *d, const cr_err *err) {
    cr_diag_add_(err->src, err->src_line, d, CR_SEV_ERROR, err->code, err->at, "%s", err->msg);
    return err->code;
}

void cr_diag_append(cr_diag *d, const cr_diag *from) {
    for (size_t i = 0; i < from->n; i++)
        cr_diag_add_(from->v[i].src, from->v[i].src_line, d, from->v[i].sev, from->v[i].code,
                     from->v[i].at, "%s", from->v[i].msg);
}

typedef struct sort_key {
    size_t path, index;
    int line, col;
} sort_key;

static int by_place(const void *x, const void *y) {
    const sort_key *a = x, *b = y;
    if (a->path != b->path) return a->path < b->path ? -1 : 1;
    if (a->line != b->line) return a->line < b->line ? -1 : 1;
    if (a->col != b->col) return a->col < b->col ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

void cr_diag_sort(cr_diag *d) {
    if (d->n < 2) return;
    sort_key *keys = cr_alloc(d->n * sizeof(*keys), "order of findings");
    for (size_t i = 0; i < d->n; i++) {
        /* a path's rank is the index of the first finding with that path, usually the previous
         * finding */
        size_t rank = i;
        if (i > 0 && same_path(d->v[i].at.path, d->v[i - 1].at.path))
            rank = keys[i - 1].path;
        else {
            for (size_t k = 0; k < i && rank == i; k++) {
                if (same_path(d->v[i].at.path, d->v[k].at.path)) rank = k;
            }
        }
        keys[i] = (sort_key){rank, i, d->v[i].at.line, d->v[i].at.col};
    }
    qsort(keys, d->n, sizeof(*keys), by_place);
    cr_finding *v = cr_alloc(d->cap * sizeof(*v), "findings");
    for (size_t i = 0; i < d->n; i++)
        v[i] = d->v[keys[i].index];
    cr_free(d->v);
    d->v = v;
    cr_free(keys);
}

static const cr_finding *first_error(const cr_diag *d) {
    for (size_t i = 0; i < d->n; i++) {
        if (d->v[i].sev == CR_SEV_ERROR) return &d->v[i];
    }
    return NULL;
}

cr_code cr_diag_code(const cr_diag *d) {
    const cr_finding *f = first_error(d);
    return f ? f->code : CR_OK;
}

cr_code cr_diag_first(const cr_diag *d, cr_err *err) {
    const cr_finding *f = first_error(d);
    if (!f) return CR_OK;
    return cr_fail_at_(err, f->code, f->at, f->src, f->src_line, "%s", f->msg);
}

void cr_bug_(const char *file, int line, const char *what) {
    fprintf(stderr, "crank: bug at %s:%d: %s; please report this line\n", file, line, what);
    fflush(stderr);
    abort();
}
