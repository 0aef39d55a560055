/*
 * fs.c - finds the store of a path and calls it. What is alike for all stores is here: reads that
 * go on until they have everything, failures that are tried again, messages.
 */
#include "base/fs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/fs_int.h"
#include "base/fs_list.h"
#include "base/rng.h"
#include "base/scheme.h"

#define MOST_STORES 16
#define MOST_WAIT   30000 /* milliseconds */

#define ENTRY(s) &cr_store_##s,
static const cr_store *stores[MOST_STORES + 1] = {CR_STORES(ENTRY) NULL};

const cr_store *cr_store_named(const char *scheme, size_t n) {
    for (const cr_store *const *s = stores; *s; s++)
        if (strlen((*s)->scheme) == n && strncasecmp((*s)->scheme, scheme, n) == 0) return *s;
    return NULL;
}

const cr_store *cr_store_of(const char *path) {
    size_t n = strchr(path, ':') ? cr_scheme_len(path) : 0;
    return n ? cr_store_named(path, n) : &cr_store_file;
}

/* A path that no store serves is refused before anything runs. If such a path comes here all the
 * same, it goes to the local disk, which has no such file. */
static const cr_store *store_of(const char *path) {
    const cr_store *s = cr_store_of(path);
    return s ? s : &cr_store_file;
}

void cr_store_add(const cr_store *s) {
    size_t n = 0;
    while (stores[n] && strcmp(stores[n]->scheme, s->scheme) != 0)
        n++;
    if (n == MOST_STORES) CR_BUG("too many stores");
    stores[n] = s;
}

bool cr_store_can(const char *path, unsigned abilities) {
    return (store_of(path)->can & abilities) == abilities;
}

bool cr_store_moves(const char *path) {
    return store_of(path)->move != NULL;
}

/* ---- failures ---- */

static bool may_pass(int e) {
    static const int known[] = {EAGAIN,       EBUSY,     ECONNABORTED, ECONNREFUSED, ECONNRESET,
                                EHOSTUNREACH, ENETDOWN,  ENETRESET,    ENETUNREACH,  ENOTCONN,
                                EPIPE,        ETIMEDOUT, EPROTO};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i] == e) return true;
    return false;
}

bool cr_fs_again(const cr_store *s, int e, int *tries) {
    ++*tries;
    if (*tries >= s->tries || !may_pass(e)) return false;
    /* half of the wait is random, so that many processes do not try again at the same moment */
    int64_t ms = (int64_t)s->wait_ms << (*tries < 16 ? *tries - 1 : 15);
    if (ms > MOST_WAIT) ms = MOST_WAIT;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (ms > 1)
        ms = ms / 2 + (int64_t)cr_rng_below((uint64_t)now.tv_nsec, (uint64_t)*tries,
                                            (uint64_t)(ms - ms / 2 + 1));
    struct timespec wait = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};
    nanosleep(&wait, NULL);
    return true;
}

/* What users can do about a failure of a store that is far. */
static const char *far_cure(int e) {
    switch (e) {
    case EPROTO: return "; check the address of the store and the proxies, and run again";
    case EIO: return "; ask the operators of the store, with this answer";
    case EACCES:
    case EPERM: return "; check the keys, and what they may do here";
    case ESTALE: return "; it was replaced since it was opened: run again";
    default:
        return may_pass(e) ? "; check that the store can be reached, and run again"
                           : cr_errno_cure(e);
    }
}

cr_code cr_fs_fail(cr_err *err, const char *path, const char *what, int e, const cr_fs_why *why) {
    const char *cause = why && why->text[0] ? why->text : strerror(e);
    /* a store whose requests are tried again is a server, whatever else it can do */
    bool far = cr_store_can(path, CR_FS_FAR) || (why && why->tries > 1);
    const char *cure = far ? far_cure(e) : cr_errno_cure(e);
    char tried[40] = "";
    if (why && why->tries > 1) snprintf(tried, sizeof tried, " (tried %d times)", why->tries);
    if (why && why->cure[0]) cure = why->cure;
    cr_fail_at(err, CR_EIO, ((cr_loc){path, 0, 0}), "cannot %s: %s%s%s", what, cause, tried, cure);
    cr_err_cure(err, cure);
    return CR_EIO;
}

static cr_fs_why *or_own(cr_fs_why *why, cr_fs_why *own) {
    return why ? why : own;
}

/* CALL makes a call of the store until it succeeds or need not be tried again. */
#define CALL(s, why, call)                                                                         \
    cr_fs_why own_, *w_ = or_own((why), &own_);                                                    \
    *w_ = (cr_fs_why){0};                                                                          \
    int e;                                                                                         \
    do {                                                                                           \
        w_->text[0] = w_->cure[0] = 0;                                                             \
        e = (call);                                                                                \
    } while (e != 0 && cr_fs_again((s), e, &w_->tries))

/* ---- names ---- */

int cr_fs_stat_path(const char *path, bool follow, cr_fs_stat *st, cr_fs_why *why) {
    const cr_store *s = store_of(path);
    CALL(s, why, s->stat(path, follow, st, w_));
    return e;
}

int cr_fs_stat_data(const char *path, cr_fs_stat *st, cr_fs_why *why) {
    const cr_store *s = store_of(path);
    void *file;
    if (!(s->can & CR_FS_FAR)) return cr_fs_stat_path(path, true, st, why);
    CALL(s, why, s->open(&file, path, false, st, w_));
    if (e == 0) s->close(file);
    return e;
}

int cr_fs_make_dir(const char *path, cr_fs_why *why) {
    const cr_store *s = cr_store_of(path);
    if (!s || !s->make_dir) {
        if (why) *why = (cr_fs_why){0};
        return s ? 0 : ENOTSUP;
    }
    CALL(s, why, s->make_dir(path, w_));
    return e;
}

int cr_fs_remove(const char *path, bool tree, cr_fs_why *why) {
    const cr_store *s = store_of(path);
    if (s->can & CR_FS_FAR) cr_kept_forget(path);
    CALL(s, why, s->remove(path, tree, w_));
    return e;
}

int cr_fs_move_path(const char *from, const char *to, cr_fs_move how, cr_fs_why *why) {
    const cr_store *s = store_of(from);
    if (s != store_of(to)) return EXDEV;
    if (!s->move) return ENOTSUP;
    if (s->can & CR_FS_FAR) {
        cr_kept_forget(from);
        cr_kept_forget(to);
    }
    CALL(s, why, s->move(from, to, how, w_));
    return e;
}

/* ---- reading ---- */

struct cr_fs {
    const cr_store *s;
    void *file;
    cr_fs_stat st;
    cr_ahead *ahead; /* reads ahead when the store is far; NULL: reads go straight to the store */
    char path[];
};

static cr_code open_file(cr_fs **out, const char *path, bool wait, cr_err *err) {
    const cr_store *s = store_of(path);
    cr_fs_stat st = {0};
    cr_fs_why why;
    void *file = NULL;
    *out = NULL;
    CALL(s, &why, s->open(&file, path, wait, &st, w_));
    if (e != 0) return cr_fs_fail(err, path, "open", e, &why);
    cr_fs *f = cr_alloc(sizeof *f + strlen(path) + 1, "an open file");
    f->s = s;
    f->file = file;
    f->st = st;
    memcpy(f->path, path, strlen(path) + 1);
    if (s->can & CR_FS_FAR && st.kind == CR_FS_FILE) f->ahead = cr_ahead_new(s, file, st.size);
    *out = f;
    return CR_OK;
}

cr_code cr_fs_open(cr_fs **out, const char *path, cr_err *err) {
    return open_file(out, path, false, err);
}

cr_code cr_fs_open_any(cr_fs **out, const char *path, cr_err *err) {
    return open_file(out, path, true, err);
}

void cr_fs_close(cr_fs *f) {
    if (!f) return;
    if (f->ahead) cr_ahead_free(f->ahead);
    f->s->close(f->file);
    cr_free(f);
}

const cr_fs_stat *cr_fs_info(const cr_fs *f) {
    return &f->st;
}

const char *cr_fs_path(const cr_fs *f) {
    return f->path;
}

bool cr_fs_is_far(const cr_fs *f) {
    return f->ahead != NULL;
}

cr_code cr_fs_restat(cr_fs *f, cr_fs_stat *out, cr_err *err) {
    cr_fs_why why;
    *out = f->st;
    if (!f->s->restat) return CR_OK;
    CALL(f->s, &why, f->s->restat(f->file, out, w_));
    return e == 0 ? CR_OK : cr_fs_fail(err, f->path, "look at it again", e, &why);
}

int cr_fs_pread_some(const cr_store *s, void *file, int64_t at, void *buf, size_t n, size_t *got,
                     cr_fs_why *why) {
    CALL(s, why, s->pread(file, at, buf, n, got, w_));
    return e;
}

cr_code cr_fs_pread(cr_fs *f, int64_t at, void *buf, size_t n, size_t *got, cr_err *err) {
    *got = 0;
    while (*got < n) {
        size_t k = 0;
        cr_fs_why why;
        int64_t from = at + (int64_t)*got;
        char *to = (char *)buf + *got;
        int e = f->ahead ? cr_ahead_read(f->ahead, from, to, n - *got, &k, &why)
                         : cr_fs_pread_some(f->s, f->file, from, to, n - *got, &k, &why);
        *got += k;
        if (e != 0) {
            char what[60];
            snprintf(what, sizeof what, "read at byte %lld", (long long)(from + (int64_t)k));
            return cr_fs_fail(err, f->path, what, e, &why);
        }
        if (k == 0) break;
    }
    return CR_OK;
}

void cr_fs_will_need(cr_fs *f, cr_fs_range *v, int n) {
    if (f->ahead) cr_ahead_hint(f->ahead, v, n);
    for (int i = 0; i < n && f->s->will_need; i++)
        if (v[i].n > 0) f->s->will_need(f->file, v[i].at, v[i].n);
}

cr_code cr_fs_map_file(cr_fs_map *out, cr_fs *f, cr_err *err) {
    size_t size = (size_t)f->st.size, got;
    *out = (cr_fs_map){.size = f->st.size};
    if (size == 0) return CR_OK;
    if (f->s->map) {
        int e = f->s->map(f->file, size, &out->data);
        if (e == 0) out->by = f->s;
        char what[60];
        snprintf(what, sizeof what, "map %zu bytes", size);
        return e == 0 ? CR_OK : cr_fs_fail(err, f->path, what, e, NULL);
    }
    void *p;
    CR_TRY(cr_big_alloc(&p, size, f->path, err));
    out->data = p;
    cr_code code = cr_fs_pread(f, 0, p, size, &got, err);
    if (code == CR_OK && got < size)
        code = cr_fail_at(err, CR_EIO, ((cr_loc){f->path, 0, 0}),
                          "the file became shorter while it was read; run again");
    if (code != CR_OK) cr_fs_unmap(out);
    return code;
}

void cr_fs_unmap(cr_fs_map *m) {
    if (m->by)
        m->by->unmap(m->data, (size_t)m->size);
    else if (m->data)
        cr_big_free((void *)(uintptr_t)m->data, (size_t)m->size);
    *m = (cr_fs_map){0};
}
