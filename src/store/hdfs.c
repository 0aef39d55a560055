/*
 * hdfs.c - hdfs:// paths go one of two ways: by the web interface of HDFS, or, with
 * CRANK_HDFS=native, by the protocol of its own clients, for clusters that have closed the web
 * interface. The second one only reads. webhdfs:// paths always go by the web.
 */
#include "store/hdfs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs_list.h"

/* ---- what both share ---- */

int cr_hdfs_errno(const char *exception, cr_fs_why *why) {
    static const struct {
        const char *name;
        int e;
    } known[] = {
        {"FileNotFoundException", ENOENT},      {"AccessControlException", EACCES},
        {"SecurityException", EACCES},          {"AuthenticationException", EACCES},
        {"AuthorizationException", EACCES},     {"InvalidToken", EACCES},
        {"FileAlreadyExistsException", EEXIST}, {"AlreadyBeingCreatedException", EBUSY},
        {"RetriableException", EAGAIN},         {"SafeModeException", EAGAIN},
        {"ServerTooBusyException", EAGAIN},     {"PathIsNotEmptyDirectoryException", ENOTEMPTY},
        {"QuotaExceededException", EDQUOT},     {"DSQuotaExceededException", EDQUOT}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].name, exception) == 0) {
            if (known[i].e == EACCES)
                snprintf(why->cure, sizeof why->cure,
                         "; check HADOOP_USER_NAME, the token or the ticket, and the rights");
            return known[i].e;
        }
    return 0;
}

void cr_hdfs_describe(cr_fs_stat *st, cr_fs_kind kind, int64_t size, int64_t changed, int64_t id) {
    int64_t ns = changed < 0 || changed > INT64_MAX / 1000000 ? 0 : changed * 1000000;
    *st =
        (cr_fs_stat){.kind = kind, .size = size, .ino = (uint64_t)id, .changed = ns, .touched = ns};
    st->version =
        ((uint64_t)changed * 0x9E3779B97F4A7C15u ^ (uint64_t)id) * 0xBF58476D1CE4E5B9u | 1;
}

/* ---- the choice ---- */

static int choose(const cr_store **out, cr_fs_why *why) {
    const char *v = getenv("CRANK_HDFS");
    bool native = v && strcmp(v, "native") == 0;
    *out = native ? &cr_hdfs_native : &cr_hdfs_web;
    if (native || !v || !*v || strcmp(v, "web") == 0) return 0;
    snprintf(why->text, sizeof why->text, "CRANK_HDFS is '%.40s', which is no way to HDFS", v);
    snprintf(why->cure, sizeof why->cure, "; set it to web or to native");
    return EINVAL;
}

#define BY(call)                                                                                   \
    const cr_store *s;                                                                             \
    int e_ = choose(&s, why);                                                                      \
    return e_ ? e_ : s->call

/* An open file, or one that is written, and whose it is. */
typedef struct held {
    const cr_store *s;
    void *file;
} held;

static held *hold(const cr_store *s, void *file) {
    held *h = cr_alloc(sizeof *h, "an open file");
    *h = (held){s, file};
    return h;
}

static int any_stat(const char *path, bool follow, cr_fs_stat *st, cr_fs_why *why) {
    BY(stat(path, follow, st, why));
}

static int any_list(const char *path, cr_fs_each each, void *ctx, cr_fs_why *why) {
    BY(list(path, each, ctx, why));
}

static int any_make_dir(const char *path, cr_fs_why *why) {
    BY(make_dir(path, why));
}

static int any_remove(const char *path, bool tree, cr_fs_why *why) {
    BY(remove(path, tree, why));
}

static int any_move(const char *from, const char *to, cr_fs_move how, cr_fs_why *why) {
    BY(move(from, to, how, why));
}

static int any_can_write(const char *path) {
    cr_fs_why none = {0}, *why = &none;
    const cr_store *s;
    int e = choose(&s, why);
    return e ? e : s->can_write ? s->can_write(path) : 0;
}

static int any_open(void **out, const char *path, bool wait, cr_fs_stat *st, cr_fs_why *why) {
    const cr_store *s;
    void *file = NULL;
    int e = choose(&s, why);
    if (e == 0) e = s->open(&file, path, wait, st, why);
    if (e == 0) *out = hold(s, file);
    return e;
}

static int any_pread(void *ctx, int64_t at, void *buf, size_t n, size_t *got, cr_fs_why *why) {
    held *h = ctx;
    return h->s->pread(h->file, at, buf, n, got, why);
}

static void any_close(void *ctx) {
    held *h = ctx;
    h->s->close(h->file);
    cr_free(h);
}

static int any_restat(void *ctx, cr_fs_stat *st, cr_fs_why *why) {
    held *h = ctx;
    return h->s->restat(h->file, st, why);
}

static int any_put(void **out, const char *path, unsigned flags, cr_fs_why *why) {
    const cr_store *s;
    void *file = NULL;
    int e = choose(&s, why);
    if (e == 0) e = s->put(&file, path, flags, why);
    if (e == 0) *out = hold(s, file);
    return e;
}

static int any_write(void *ctx, const void *data, size_t n, cr_fs_why *why) {
    held *h = ctx;
    return h->s->write(h->file, data, n, why);
}

static int any_commit(void *ctx, bool sync, cr_fs_why *why) {
    held *h = ctx;
    return h->s->commit(h->file, sync, why);
}

static void any_end(void *ctx) {
    held *h = ctx;
    h->s->end(h->file);
    cr_free(h);
}

const cr_store cr_store_hdfs = {
    .scheme = "hdfs",
    .can = CR_FS_FAR | CR_FS_FOLDERS,
    .tries = 8,
    .wait_ms = 100,
    .open = any_open,
    .pread = any_pread,
    .close = any_close,
    .restat = any_restat,
    .stat = any_stat,
    .list = any_list,
    .make_dir = any_make_dir,
    .remove = any_remove,
    .move = any_move,
    .can_write = any_can_write,
    .put = any_put,
    .write = any_write,
    .commit = any_commit,
    .end = any_end,
};
