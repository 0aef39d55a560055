/*
 * hdfs_native.c - HDFS by the protocol of its own clients, for reading: the name node is asked by
 * RPC (hrpc.c), and bytes come straight from data nodes (hdfs_blocks.c). No HTTP, no Java.
 *
 * Where the blocks of a file lie is asked once, at the first read, and kept. A block has a number
 * and a stamp that no other content ever gets, so all reads of an open file see one version of it:
 * when no data node has a block any more, the name node is asked again, and a file that has other
 * blocks by then was replaced (ESTALE).
 *
 * What this way cannot do is told, with the way that can: erasure-coded and encrypted files,
 * clusters with Kerberos, and writing.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/hdfs.h"
#include "store/hdfs_blocks.h"
#include "store/hdfs_conf.h"
#include "store/hrpc.h"

#define MOST_NAME 1100

static _Atomic int active; /* the name node that answered last */

static int unable(cr_fs_why *why, const char *text) {
    snprintf(why->text, sizeof why->text, "%s", text);
    snprintf(why->cure, sizeof why->cure,
             "; read it by WebHDFS: unset CRANK_HDFS, or write webhdfs://host:9870/path");
    return ENOTSUP;
}

static int no_message(cr_fs_why *why, const char *what) {
    snprintf(why->text, sizeof why->text, "the answer of the name node %s", what);
    return EPROTO;
}

/* ---- calls ---- */

/* What a refusal means; *next: the next name node may do it. */
static int refused(const cr_hrpc_answer *a, const char *who, bool *next, cr_fs_why *why) {
    *next = strcmp(a->exception, "StandbyException") == 0 ||
            strcmp(a->exception, "ObserverRetryOnActiveException") == 0;
    bool told = a->text[0] && !*next; /* what standby means is known */
    snprintf(why->text, sizeof why->text, "%.50s answers %.40s%s%.56s", who, a->exception,
             told ? ", " : "", told ? a->text : "");
    if (*next) return EAGAIN; /* all of them may be on standby for a moment */
    if (strstr(a->text, "SIMPLE authentication is not enabled")) {
        unable(why, "");
        snprintf(why->text, sizeof why->text,
                 "%.60s wants Kerberos, which the native protocol of crank does not speak", who);
        return EACCES;
    }
    int e = cr_hdfs_errno(a->exception, why);
    return e ? e : EIO;
}

/* The path as Hadoop wants it: without slashes that are doubled or at the end. */
static void add_path(cr_buf *out, const char *path) {
    cr_buf p;
    cr_buf_init(&p);
    for (const char *s = path; *s; s++)
        if (*s != '/' || p.n == 0 || p.data[p.n - 1] != '/') cr_buf_char(&p, *s);
    while (p.n > 1 && p.data[p.n - 1] == '/')
        p.n--;
    cr_pb_add_bytes(out, 1, p.data, p.n);
    cr_buf_clear(&p);
}

/* The arguments of a call behind the path; a NULL `add` is none. */
typedef struct question {
    const char *method;
    void (*add)(cr_buf *out, const void *ctx);
    const void *ctx;
} question;

/* Asks the name nodes in turn. The answer must be given back in either case. */
static int call(const char *full, const question *q, cr_hrpc_answer *a, bool *by_name,
                cr_fs_why *why) {
    cr_hdfs_place p;
    cr_buf request;
    memset(a, 0, sizeof *a);
    cr_buf_init(&a->packet);
    int e = cr_hdfs_find(&p, full, true, why), first = atomic_load(&active);
    if (e != 0) return e;
    if (p.kerberos) {
        cr_hdfs_clear(&p);
        return unable(why, "hadoop.security.authentication is kerberos, which CRANK_HDFS=native "
                           "does not speak");
    }
    if (by_name) *by_name = p.by_name;
    cr_buf_init(&request);
    add_path(&request, p.path);
    if (q->add) q->add(&request, q->ctx);
    for (int i = 0; i < p.n; i++) {
        int node = (first + i) % p.n;
        bool next = true;
        why->text[0] = why->cure[0] = 0;
        cr_hrpc_clear(a);
        e = cr_hrpc_call(p.base[node], p.user, q->method, &request, a, why);
        if (e == 0 && a->exception[0]) e = refused(a, p.base[node], &next, why);
        if (e == 0) atomic_store(&active, node);
        if (e == 0 || !next) break;
    }
    cr_buf_clear(&request);
    cr_hdfs_clear(&p);
    return e;
}

/* Takes the message in field `number` of an answer; false: there is none. */
static bool inner(cr_pb m, uint64_t number, cr_pb *out, bool *bad) {
    cr_pb_field f;
    bool found = false;
    while (cr_pb_next(&m, &f))
        if (cr_pb_is(&f, number, CR_PB_BYTES)) {
            *out = f.b;
            found = true;
        }
    *bad = m.bad;
    return found;
}

/* ---- names ---- */

/* What the name node tells of a file. */
typedef struct info {
    cr_fs_stat st;
    bool coded, encrypted;
    char name[MOST_NAME];
} info;

static bool describe(cr_pb m, info *out) {
    cr_pb_field f;
    uint64_t type = 0, size = 0, changed = 0, id = 0;
    out->coded = out->encrypted = false;
    out->name[0] = 0;
    while (cr_pb_next(&m, &f)) {
        if (cr_pb_is(&f, 1, CR_PB_VARINT)) type = f.x;
        if (cr_pb_is(&f, 2, CR_PB_BYTES) && !cr_pb_text(f.b, out->name, sizeof out->name))
            return false;
        if (cr_pb_is(&f, 3, CR_PB_VARINT)) size = f.x;
        if (cr_pb_is(&f, 7, CR_PB_VARINT)) changed = f.x;
        if (cr_pb_is(&f, 13, CR_PB_VARINT)) id = f.x;
        if (cr_pb_is(&f, 15, CR_PB_BYTES)) out->encrypted = true;
        if (cr_pb_is(&f, 17, CR_PB_BYTES)) out->coded = true;
    }
    if (m.bad || type < 1 || size > INT64_MAX) return false;
    cr_hdfs_describe(&out->st,
                     type == 1   ? CR_FS_DIR
                     : type == 2 ? CR_FS_FILE
                     : type == 3 ? CR_FS_LINK
                                 : CR_FS_OTHER,
                     (int64_t)size, (int64_t)changed, (int64_t)id);
    return true;
}

static int look(const char *path, info *out, cr_fs_why *why) {
    cr_hrpc_answer a;
    cr_pb fs;
    bool bad = false;
    question q = {.method = "getFileInfo"};
    int e = call(path, &q, &a, NULL, why);
    if (e == 0) {
        if (!inner(a.body, 1, &fs, &bad))
            e = bad ? no_message(why, "is broken") : ENOENT;
        else if (bad || !describe(fs, out))
            e = no_message(why, "describes no file");
    }
    cr_hrpc_clear(&a);
    return e;
}

static int native_stat(const char *path, bool follow, cr_fs_stat *st, cr_fs_why *why) {
    (void)follow;
    info *i = cr_alloc(sizeof *i, "a file's description");
    int e = look(path, i, why);
    if (e == 0) *st = i->st;
    cr_free(i);
    return e;
}

static void add_after(cr_buf *out, const void *ctx) {
    const char *last = ctx;
    cr_pb_add_str(out, 2, last);
    cr_pb_add_num(out, 3, 0); /* without the places of blocks */
}

/* Tells the names of one page; *last is the last of them, *left how many follow. */
static int tell_page(cr_pb body, cr_fs_each each, void *ctx, info *one, char *last, uint64_t *left,
                     cr_fs_why *why) {
    cr_pb list;
    cr_pb_field f;
    bool bad = false;
    *left = 0;
    if (!inner(body, 1, &list, &bad)) return bad ? no_message(why, "is broken") : ENOENT;
    while (cr_pb_next(&list, &f)) {
        if (cr_pb_is(&f, 2, CR_PB_VARINT)) *left = f.x;
        if (!cr_pb_is(&f, 1, CR_PB_BYTES)) continue;
        if (!describe(f.b, one)) return no_message(why, "lists no file");
        if (!one->name[0] || strchr(one->name, '/')) continue;
        each(ctx, one->name, one->st.kind);
        memcpy(last, one->name, MOST_NAME);
    }
    return bad || list.bad ? no_message(why, "is no listing") : 0;
}

static int native_list(const char *path, cr_fs_each each, void *ctx, cr_fs_why *why) {
    struct {
        info one;
        char last[MOST_NAME], before[MOST_NAME];
    } *t = cr_alloc(sizeof *t, "a listing");
    uint64_t left = 0;
    int e = look(path, &t->one, why); /* a file lists itself */
    if (e == 0 && t->one.st.kind != CR_FS_DIR) e = ENOTDIR;
    while (e == 0) {
        cr_hrpc_answer a;
        question q = {"getListing", add_after, t->last};
        memcpy(t->before, t->last, MOST_NAME);
        e = call(path, &q, &a, NULL, why);
        if (e == 0) e = tell_page(a.body, each, ctx, &t->one, t->last, &left, why);
        cr_hrpc_clear(&a);
        if (e == 0 && left == 0) break;
        if (e == 0 && strcmp(t->before, t->last) == 0)
            e = no_message(why, "is a listing without an end");
    }
    cr_free(t);
    return e;
}

/* ---- blocks of a file ---- */

typedef struct entry {
    int64_t at, size; /* in the file */
    uint64_t id, stamp;
    size_t from, n; /* its description in the answer */
} entry;

typedef struct blocks {
    cr_buf raw; /* the answer of the name node */
    entry *v;
    int64_t n, cap;
} blocks;

static void blocks_clear(blocks *b) {
    if (b->raw.data) explicit_bzero(b->raw.data, b->raw.n); /* it has tokens */
    cr_buf_clear(&b->raw);
    cr_free(b->v);
    *b = (blocks){0};
    cr_buf_init(&b->raw);
}

typedef struct file {
    cr_fs_stat st;
    bool coded, encrypted, by_name, known;
    pthread_mutex_t lock; /* of `have` and `known` */
    blocks have;
    bool stale; /* a block was read from nobody: ask again */
    char path[];
} file;

static void add_range(cr_buf *out, const void *ctx) {
    const file *f = ctx;
    cr_pb_add_num(out, 2, 0);
    cr_pb_add_num(out, 3, (uint64_t)f->st.size);
}

/* Adds one block; they come in the order of the file, without gaps. */
static bool add_block(blocks *b, cr_pb m, cr_block *one) {
    int64_t end = b->n ? b->v[b->n - 1].at + b->v[b->n - 1].size : 0;
    if (!cr_block_parse(one, m, false) || one->at != end) return false;
    if (one->size == 0) return true;
    if (b->n == b->cap) {
        int64_t more = b->cap ? 2 * b->cap : 16;
        b->v = cr_realloc(b->v, (size_t)b->cap * sizeof *b->v, (size_t)more * sizeof *b->v,
                          "the blocks of a file");
        b->cap = more;
    }
    b->v[b->n++] = (entry){one->at,
                           one->size,
                           one->id,
                           one->stamp,
                           (size_t)(m.at - (const unsigned char *)b->raw.data),
                           cr_pb_len(m)};
    return true;
}

/* Takes the answer apart; its message `list` lies in b->raw. */
static int take_blocks(const file *f, blocks *b, cr_pb list, cr_fs_why *why) {
    cr_pb_field g;
    uint64_t size = ~(uint64_t)0;
    bool building = false, fine = true, coded = f->coded, encrypted = f->encrypted;
    cr_pb last = cr_pb_of(NULL, 0);
    cr_block *one = cr_alloc(sizeof *one, "a block");
    while (fine && cr_pb_next(&list, &g)) {
        if (cr_pb_is(&g, 1, CR_PB_VARINT)) size = g.x;
        if (cr_pb_is(&g, 2, CR_PB_BYTES)) fine = add_block(b, g.b, one);
        if (cr_pb_is(&g, 3, CR_PB_VARINT)) building = g.x != 0;
        if (cr_pb_is(&g, 4, CR_PB_BYTES)) last = g.b;
        if (cr_pb_is(&g, 6, CR_PB_BYTES)) encrypted = true;
        if (cr_pb_is(&g, 7, CR_PB_BYTES)) coded = true;
    }
    int64_t end = b->n ? b->v[b->n - 1].at + b->v[b->n - 1].size : 0;
    if (fine && end < f->st.size && cr_pb_len(last) > 0) { /* the one that is being written */
        fine = add_block(b, last, one);
        end = b->n ? b->v[b->n - 1].at + b->v[b->n - 1].size : 0;
    }
    cr_free(one);
    if (list.bad || !fine) return no_message(why, "has no list of blocks");
    if (coded)
        return unable(why, "the file is erasure-coded, and the native protocol reads replicas");
    if (encrypted) return unable(why, "the file lies in an encryption zone");
    if (end >= f->st.size) return 0;
    if (building) {
        snprintf(why->text, sizeof why->text, "the file is still being written");
        snprintf(why->cure, sizeof why->cure, "; run again when its writer has closed it");
        return EIO;
    }
    if (size < (uint64_t)f->st.size) {
        snprintf(why->text, sizeof why->text, "the file became shorter since it was opened");
        snprintf(why->cure, sizeof why->cure, "; run again");
        return ESTALE;
    }
    return no_message(why, "leaves out blocks of the file");
}

static bool same_blocks(const blocks *a, const blocks *b) {
    if (a->n != b->n) return false;
    for (int64_t i = 0; i < a->n; i++)
        if (a->v[i].id != b->v[i].id || a->v[i].stamp != b->v[i].stamp ||
            a->v[i].size != b->v[i].size)
            return false;
    return true;
}

static int replaced(cr_fs_why *why) {
    snprintf(why->text, sizeof why->text, "the file was replaced since it was opened");
    snprintf(why->cure, sizeof why->cure, "; run again, when nobody writes it");
    return ESTALE;
}

/* Asks where the blocks lie, the first time or once more. The caller holds the lock. */
static int locate(file *f, cr_fs_why *why) {
    cr_hrpc_answer a;
    blocks now = {0};
    cr_pb list;
    bool bad = false;
    question q = {"getBlockLocations", add_range, f};
    cr_buf_init(&now.raw);
    int e = call(f->path, &q, &a, &f->by_name, why);
    if (e == 0 && !inner(a.body, 1, &list, &bad)) e = bad ? no_message(why, "is broken") : ENOENT;
    if (e == 0) {
        now.raw = a.packet; /* moved; the message stays where it is */
        cr_buf_init(&a.packet);
        e = take_blocks(f, &now, list, why);
    }
    cr_hrpc_clear(&a);
    if (e == ENOENT && f->known) e = replaced(why);
    if (e == 0 && f->known && !same_blocks(&f->have, &now)) e = replaced(why);
    if (e != 0) {
        blocks_clear(&now);
        return e;
    }
    blocks_clear(&f->have);
    f->have = now;
    f->known = true;
    f->stale = false;
    return 0;
}

/* Copies the description of the block that has byte `at` of the file. */
static int find(file *f, int64_t at, cr_block *out, cr_fs_why *why) {
    pthread_mutex_lock(&f->lock);
    int e = f->known && !f->stale ? 0 : locate(f, why);
    if (e == 0) {
        int64_t lo = 0, hi = f->have.n;
        while (hi - lo > 1) {
            int64_t mid = (lo + hi) / 2;
            *(f->have.v[mid].at <= at ? &lo : &hi) = mid;
        }
        const entry *x = &f->have.v[lo];
        if (f->have.n == 0 || at < x->at || at - x->at >= x->size ||
            !cr_block_parse(out, cr_pb_of(f->have.raw.data + x->from, x->n), f->by_name))
            e = no_message(why, "has no list of blocks");
    }
    pthread_mutex_unlock(&f->lock);
    return e;
}

/* ---- reading ---- */

static int native_open(void **out, const char *path, bool wait, cr_fs_stat *st, cr_fs_why *why) {
    (void)wait;
    info *i = cr_alloc(sizeof *i, "a file's description");
    int e = look(path, i, why);
    if (e == 0) {
        file *f = cr_alloc(sizeof *f + strlen(path) + 1, "an open file");
        *st = f->st = i->st;
        f->coded = i->coded;
        f->encrypted = i->encrypted;
        pthread_mutex_init(&f->lock, NULL);
        cr_buf_init(&f->have.raw);
        memcpy(f->path, path, strlen(path) + 1);
        *out = f;
    }
    cr_free(i);
    return e;
}

static int native_pread(void *ctx, int64_t at, void *buf, size_t n, size_t *got, cr_fs_why *why) {
    file *f = ctx;
    *got = 0;
    if (f->st.kind == CR_FS_DIR) return EISDIR;
    if (at >= f->st.size || n == 0) return 0;
    if ((int64_t)n > f->st.size - at) n = (size_t)(f->st.size - at);
    cr_block *b = cr_alloc(sizeof *b, "a block");
    int e = find(f, at, b, why);
    if (e == 0) {
        int64_t from = at - b->at;
        if ((int64_t)n > b->size - from) n = (size_t)(b->size - from);
        e = cr_block_read(b, from, buf, n, got, why);
        if (e != 0 && *got > 0) e = 0; /* the rest is asked for again */
        if (*got < n) {
            pthread_mutex_lock(&f->lock);
            f->stale = true;
            pthread_mutex_unlock(&f->lock);
        }
    }
    explicit_bzero(b->token, b->n_token);
    cr_free(b);
    return e;
}

static void native_close(void *ctx) {
    file *f = ctx;
    blocks_clear(&f->have);
    pthread_mutex_destroy(&f->lock);
    cr_free(f);
}

static int native_restat(void *ctx, cr_fs_stat *st, cr_fs_why *why) {
    return native_stat(((file *)ctx)->path, true, st, why);
}

/* ---- writing, which this way cannot ---- */

static int read_only(cr_fs_why *why) {
    snprintf(why->text, sizeof why->text, "CRANK_HDFS=native reads HDFS and does not write it");
    snprintf(why->cure, sizeof why->cure,
             "; write to webhdfs://host:9870/path, to HttpFS, to another store or to a disk");
    return EROFS;
}

static int native_make_dir(const char *path, cr_fs_why *why) {
    cr_fs_stat st;
    if (native_stat(path, true, &st, why) == 0) return EEXIST;
    return read_only(why);
}

static int native_remove(const char *path, bool tree, cr_fs_why *why) {
    (void)path;
    (void)tree;
    return read_only(why);
}

static int native_move(const char *from, const char *to, cr_fs_move how, cr_fs_why *why) {
    (void)from;
    (void)to;
    (void)how;
    return read_only(why);
}

static int native_can_write(const char *path) {
    (void)path;
    return EROFS;
}

static int native_put(void **out, const char *path, unsigned flags, cr_fs_why *why) {
    (void)out;
    (void)path;
    (void)flags;
    return read_only(why);
}

/* No file is ever put, so there is nothing to write, commit or end. */
const cr_store cr_hdfs_native = {
    .scheme = "hdfs",
    .can = CR_FS_FAR | CR_FS_FOLDERS,
    .tries = 8,
    .wait_ms = 100,
    .open = native_open,
    .pread = native_pread,
    .close = native_close,
    .restat = native_restat,
    .stat = native_stat,
    .list = native_list,
    .make_dir = native_make_dir,
    .remove = native_remove,
    .move = native_move,
    .can_write = native_can_write,
    .put = native_put,
};
