/*
 * hdfs_web.c - HDFS by its web interface, WebHDFS, and by gateways that speak it (HttpFS); no Java.
 *
 * Data does not come from the name node: it answers with the address of a data node, and the second
 * request goes there. Redirects are followed by hand, once, and carry no name or token but the one
 * in their address. A name node on standby is left for the next one, and the one that answered is
 * asked first from then on.
 *
 * A file is written under a hidden name, in pieces that are appended, and renamed at commit. When
 * the answer to an append is lost, the length of the file tells whether it was made; when that to a
 * rename is lost, the names do.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/fs_list.h"
#include "base/json.h"
#include "store/hdfs.h"
#include "store/hdfs_conf.h"
#include "store/http.h"

#define PIECE ((size_t)32 << 20) /* bytes of an append */

static _Atomic int active; /* the name node that answered last */

/* A request: what it asks, and where the body goes or comes from. */
typedef struct request {
    const char *method, *op;
    const char *more; /* further parameters, encoded: "&offset=0" */
    const void *body;
    size_t n_body;
    void *into;
    size_t room;
    bool data;           /* a data node is asked in a second step */
    bool once;           /* the library must not send it a second time by itself */
    const char *exclude; /* a data node that failed, "host:port"; "": none */
} request;

/* ---- answers ---- */

/* What a refusal means; shown: a ticket was to be shown; *next: the next name node may do it. */
static int refused(const cr_http_res *r, const char *who, bool shown, bool *next, cr_fs_why *why) {
    cr_json *j = NULL;
    cr_err err;
    char name[80] = "", text[400] = "";
    if (r->body.n > 0 && cr_json_parse(&j, r->body.data, r->body.n, &err) == CR_OK) {
        const cr_json *e = cr_json_get(j, "RemoteException");
        const char *x = e ? cr_json_str(cr_json_get(e, "exception")) : NULL,
                   *m = e ? cr_json_str(cr_json_get(e, "message")) : NULL;
        snprintf(name, sizeof name, "%s", x ? x : "");
        snprintf(text, sizeof text, "%.*s", m ? (int)strcspn(m, "\n") : 0, m ? m : "");
        cr_json_free(j);
    }
    *next = strcmp(name, "StandbyException") == 0;
    char whole[640];
    snprintf(whole, sizeof whole, "%s answers %d%s%s%s%s", who, r->status, name[0] ? " " : "", name,
             text[0] ? ", " : "", text);
    snprintf(why->text, sizeof why->text, "%.159s", whole);
    /* 401 means that the client did not show who it is; Hadoop then names the way, and no exception
     */
    if (r->status == 401 &&
        strncasecmp(cr_http_header(r, "www-authenticate"), "Negotiate", 9) == 0) {
        snprintf(why->text, sizeof why->text, "%.60s answers 401: it wants a ticket of Kerberos%s",
                 who, shown ? ", and none that is valid was shown" : "");
        snprintf(
            why->cure, sizeof why->cure, "%s",
            shown ? "; run kinit (klist shows tickets), or give a token in HADOOP_TOKEN"
                  : "; set hadoop.security.authentication: kerberos in core-site.xml, run kinit");
        return EACCES;
    }
    int e = cr_hdfs_errno(name, why);
    if (e != 0) return e;
    if (r->status == 404) { /* Hadoop would name an exception */
        snprintf(why->text, sizeof why->text, "%.80s answers 404: no WebHDFS is there", who);
        snprintf(why->cure, sizeof why->cure,
                 "; check the address, or set CRANK_HDFS=native, which reads hdfs:// without it");
        return ENOTSUP;
    }
    return cr_http_errno(r->status) ? cr_http_errno(r->status) : EIO;
}

static const char *host_of(const char *url, char *out, size_t size) {
    const char *a = strstr(url, "://");
    a = a ? a + 3 : url;
    snprintf(out, size, "%.*s", (int)strcspn(a, "/?"), a);
    return out;
}

/* ---- requests ---- */

static void add_url(cr_buf *url, const cr_hdfs_place *p, int node, const char *path,
                    const request *q) {
    cr_buf_printf(url, "%s/webhdfs/v1", p->base[node]);
    cr_http_encode(url, path, strlen(path), true);
    cr_buf_printf(url, "?op=%s", q->op);
    if (p->token) {
        cr_buf_str(url, "&delegation=");
        cr_http_encode(url, p->token, strlen(p->token), false);
    } else if (p->user[0] && !p->kerberos) {
        cr_buf_str(url, "&user.name=");
        cr_http_encode(url, p->user, strlen(p->user), false);
    }
    if (q->exclude && q->exclude[0]) cr_buf_printf(url, "&excludedatanodes=%s", q->exclude);
    if (q->more) cr_buf_str(url, q->more);
}

/* The second step: the data node that the first one named. */
static int ask_data(const request *q, cr_http_res *r, char *failed, size_t size, cr_fs_why *why) {
    static const char *const headers[] = {"Content-Type: application/octet-stream", NULL};
    char *url = strdup(cr_http_header(r, "location")), host[300];
    bool next;
    if (!url) return ENOMEM;
    cr_http_clear(r);
    host_of(url, host, sizeof host);
    cr_http_req h = {.method = q->method,
                     .url = url,
                     .headers = headers,
                     .body = q->body,
                     .n_body = q->n_body,
                     .into = q->into,
                     .room = q->room,
                     .once = q->n_body > 0};
    int e = EPROTO;
    if (strncmp(url, "http://", 7) == 0 || strncmp(url, "https://", 8) == 0)
        e = cr_http_do(&h, r, why);
    else
        snprintf(why->text, sizeof why->text,
                 "the name node answers with no address of a data node");
    explicit_bzero(url, strlen(url)); /* it has a token */
    free(url);
    if (e == 0 && r->status >= 300) e = refused(r, host, false, &next, why);
    if (e != 0 && failed) snprintf(failed, size, "%s", host);
    return e;
}

static int call_path(const char *full, const char *path, const request *q, cr_http_res *r,
                     char *failed, size_t size, cr_fs_why *why) {
    cr_hdfs_place p;
    int e = cr_hdfs_find(&p, full, false, why), first = atomic_load(&active);
    memset(r, 0, sizeof *r);
    if (e != 0) return e;
    for (int i = 0; i < p.n; i++) {
        int node = (first + i) % p.n;
        bool next = false;
        char host[300];
        cr_buf url;
        cr_buf_init(&url);
        add_url(&url, &p, node, path ? path : p.path, q);
        cr_http_req h = {.method = q->method,
                         .url = url.data,
                         .once = q->once,
                         .negotiate = p.kerberos && !p.token};
        if (!q->data) {
            h.body = q->body;
            h.n_body = q->n_body;
        } else { /* a gateway gives the bytes at once */
            h.into = q->into;
            h.room = q->room;
        }
        why->text[0] = why->cure[0] = 0;
        cr_http_clear(r);
        e = cr_http_do(&h, r, why);
        if (url.data) explicit_bzero(url.data, url.n);
        cr_buf_clear(&url);
        host_of(p.base[node], host, sizeof host);
        if (e != 0) {
            char text[160];
            snprintf(text, sizeof text, "%.60s: %.90s", host, why->text);
            memcpy(why->text, text, sizeof text);
            continue; /* perhaps another name node lives */
        }
        if (r->status == 307 && q->data) {
            atomic_store(&active, node);
            e = ask_data(q, r, failed, size, why);
            break;
        }
        if (r->status >= 200 && r->status < 300) {
            atomic_store(&active, node);
            if (q->data && strcmp(q->method, "GET") != 0) { /* nothing was sent yet */
                snprintf(why->text, sizeof why->text,
                         "%.80s answers %d and does not say where the data goes", host, r->status);
                e = EPROTO;
            }
            break;
        }
        e = refused(r, host, h.negotiate, &next, why);
        if (!next) break;
        e = EAGAIN; /* all of them may be on standby for a moment */
    }
    bool closed = e == ECONNREFUSED || e == ETIMEDOUT || e == EHOSTUNREACH;
    if (closed && !p.gateway && strncasecmp(full, "hdfs:", 5) == 0)
        snprintf(why->cure, sizeof why->cure,
                 "; check that the store can be reached; where HTTP is closed, set "
                 "CRANK_HDFS=native");
    cr_hdfs_clear(&p);
    return e;
}

static int call(const char *full, const request *q, cr_http_res *r, cr_fs_why *why) {
    return call_path(full, NULL, q, r, NULL, 0, why);
}

/* Makes a request whose answer is {"boolean": true}; `no` is what false means. */
static int call_bool(const char *full, const request *q, int no, cr_fs_why *why) {
    cr_http_res r;
    cr_json *j = NULL;
    cr_err err;
    bool yes = false;
    int e = call(full, q, &r, why);
    if (e == 0) {
        if (r.body.n > 0 && cr_json_parse(&j, r.body.data, r.body.n, &err) == CR_OK)
            cr_json_bool(cr_json_get(j, "boolean"), &yes);
        cr_json_free(j);
        if (!yes) e = no;
    }
    cr_http_clear(&r);
    return e;
}

/* ---- names ---- */

static bool describe(const cr_json *s, cr_fs_stat *st) {
    const char *type = cr_json_str(cr_json_get(s, "type"));
    int64_t size = 0, changed = 0, id = 0;
    if (!type || !cr_json_i64(cr_json_get(s, "length"), &size) || size < 0) return false;
    cr_json_i64(cr_json_get(s, "modificationTime"), &changed);
    cr_json_i64(cr_json_get(s, "fileId"), &id);
    cr_hdfs_describe(st,
                     strcmp(type, "FILE") == 0        ? CR_FS_FILE
                     : strcmp(type, "DIRECTORY") == 0 ? CR_FS_DIR
                     : strcmp(type, "SYMLINK") == 0   ? CR_FS_LINK
                                                      : CR_FS_OTHER,
                     size, changed, id);
    return true;
}

static int hdfs_stat(const char *path, bool follow, cr_fs_stat *st, cr_fs_why *why) {
    cr_http_res r;
    cr_json *j = NULL;
    cr_err err;
    (void)follow;
    request q = {.method = "GET", .op = "GETFILESTATUS"};
    int e = call(path, &q, &r, why);
    if (e == 0) {
        bool fine = r.body.n > 0 && cr_json_parse(&j, r.body.data, r.body.n, &err) == CR_OK;
        const cr_json *s = fine ? cr_json_get(j, "FileStatus") : NULL;
        if (!s || !describe(s, st)) {
            snprintf(why->text, sizeof why->text, "the answer describes no file");
            e = EPROTO;
        }
        if (fine) cr_json_free(j);
    }
    cr_http_clear(&r);
    return e;
}

/* Tells the names of one page; *last is the last of them, *left how many follow. */
static int tell_page(const cr_http_res *r, cr_fs_each each, void *ctx, char *last, size_t size,
                     int64_t *left, cr_fs_why *why) {
    cr_json *j = NULL;
    cr_err err;
    *left = 0;
    if (r->body.n == 0 || cr_json_parse(&j, r->body.data, r->body.n, &err) != CR_OK) {
        snprintf(why->text, sizeof why->text, "the answer is no listing");
        return EPROTO;
    }
    const cr_json *d = cr_json_get(j, "DirectoryListing"),
                  *p = d ? cr_json_get(d, "partialListing") : j,
                  *all = p ? cr_json_get(p, "FileStatuses") : NULL,
                  *v = all ? cr_json_get(all, "FileStatus") : NULL;
    int e = v && cr_json_is_arr(v) ? 0 : EPROTO;
    if (e != 0) snprintf(why->text, sizeof why->text, "the answer is no listing");
    if (d) cr_json_i64(cr_json_get(d, "remainingEntries"), left);
    for (size_t i = 0; e == 0 && i < cr_json_len(v); i++) {
        cr_fs_stat st;
        const char *name = cr_json_str(cr_json_get(cr_json_at(v, i), "pathSuffix"));
        if (!name || !*name || strchr(name, '/') || strlen(name) >= size ||
            !describe(cr_json_at(v, i), &st)) {
            /* its rows would be missing in a training without a word */
            snprintf(why->text, sizeof why->text,
                     "the listing has an entry without a name, a type or a length");
            e = EPROTO;
            break;
        }
        each(ctx, name, st.kind);
        snprintf(last, size, "%s", name);
    }
    cr_json_free(j);
    return e;
}

static int hdfs_list(const char *path, cr_fs_each each, void *ctx, cr_fs_why *why) {
    char last[1100] = "";
    cr_fs_stat st;
    int64_t left = 0;
    bool pages = true; /* name nodes of Hadoop 2 know no LISTSTATUS_BATCH, and answer 400 */
    int e = hdfs_stat(path, true, &st, why); /* a file lists itself */
    if (e != 0) return e;
    if (st.kind != CR_FS_DIR) return ENOTDIR;
    do {
        cr_http_res r;
        cr_buf more;
        char before[1100];
        memcpy(before, last, sizeof before);
        cr_buf_init(&more);
        cr_buf_str(&more, "");
        if (last[0]) {
            cr_buf_str(&more, "&startAfter=");
            cr_http_encode(&more, last, strlen(last), false);
        }
        request q = {.method = "GET",
                     .op = pages ? "LISTSTATUS_BATCH" : "LISTSTATUS",
                     .more = more.data};
        e = call(path, &q, &r, why);
        bool again = e != 0 && pages && !last[0] && r.status == 400;
        if (again) {
            pages = false;
            left = 1;
            e = 0;
            why->text[0] = why->cure[0] = 0;
        } else if (e == 0) {
            e = tell_page(&r, each, ctx, last, sizeof last, &left, why);
        }
        cr_http_clear(&r);
        cr_buf_clear(&more);
        if (e == 0 && left > 0 && !again && strcmp(before, last) == 0) {
            snprintf(why->text, sizeof why->text, "the listing does not end");
            e = EPROTO;
        }
    } while (e == 0 && left > 0);
    return e;
}

static int hdfs_make_dir(const char *path, cr_fs_why *why) {
    cr_fs_stat st;
    request q = {.method = "PUT", .op = "MKDIRS", .more = "&permission=755"};
    if (hdfs_stat(path, true, &st, why) == 0) return EEXIST;
    why->text[0] = why->cure[0] = 0;
    return call_bool(path, &q, EIO, why);
}

static int hdfs_remove(const char *path, bool tree, cr_fs_why *why) {
    request q = {.method = "DELETE",
                 .op = "DELETE",
                 .more = tree ? "&recursive=true" : "&recursive=false"};
    return call_bool(path, &q, ENOENT, why);
}

/* What a refused rename means: a try before this one may have been carried out, and its answer was
 * lost. Then only the new name is there. */
static int after_loss(const char *from, const char *to, int e, cr_fs_why *why) {
    cr_fs_stat st;
    cr_fs_why other = {0};
    if (why->tries == 0) return e;
    int old = hdfs_stat(from, true, &st, &other);
    if (old == 0) return e;
    int new = old == ENOENT ? hdfs_stat(to, true, &st, &other) : old;
    if (new == ENOENT || new == 0) return new == 0 ? 0 : e;
    *why = (cr_fs_why){.tries = why->tries};
    memcpy(why->text, other.text, sizeof why->text);
    memcpy(why->cure, other.cure, sizeof why->cure);
    return new; /* it is not known; this cause may pass */
}

static int hdfs_move(const char *from, const char *to, cr_fs_move how, cr_fs_why *why) {
    cr_hdfs_place p;
    cr_fs_stat st;
    cr_buf more;
    if (how == CR_MOVE_SWAP) return ENOTSUP;
    int e = cr_hdfs_find(&p, to, false, why);
    if (e != 0) return e;
    cr_buf_init(&more);
    cr_buf_str(&more,
               how == CR_MOVE_OVER ? "&renameoptions=OVERWRITE&destination=" : "&destination=");
    cr_http_encode(&more, p.path, strlen(p.path), false);
    cr_hdfs_clear(&p);
    if (how == CR_MOVE_NEW && hdfs_stat(to, true, &st, why) == 0) e = EEXIST;
    request q = {.method = "PUT", .op = "RENAME", .more = more.data, .once = true};
    if (e == 0 && how == CR_MOVE_OVER) { /* this form answers nothing */
        cr_http_res r;
        e = call(from, &q, &r, why);
        if (e == 0 && r.body.n > 0 && r.body.data[0] == '<') {
            snprintf(why->text, sizeof why->text, "the answer is a web page");
            e = EPROTO;
        }
        cr_http_clear(&r);
    } else if (e == 0) {
        e = call_bool(from, &q, EEXIST, why);
    }
    cr_buf_clear(&more);
    return e == ENOENT || e == EEXIST ? after_loss(from, to, e, why) : e;
}

/* ---- reading ---- */

typedef struct file {
    cr_fs_stat st;
    char path[];
} file;

static int hdfs_open(void **out, const char *path, bool wait, cr_fs_stat *st, cr_fs_why *why) {
    (void)wait;
    int e = hdfs_stat(path, true, st, why);
    if (e != 0) return e;
    file *f = cr_alloc(sizeof *f + strlen(path) + 1, "an open file");
    f->st = *st;
    memcpy(f->path, path, strlen(path) + 1);
    *out = f;
    return 0;
}

static int hdfs_pread(void *ctx, int64_t at, void *buf, size_t n, size_t *got, cr_fs_why *why) {
    file *f = ctx;
    cr_http_res r;
    char more[80], failed[300] = "";
    *got = 0;
    if (f->st.kind == CR_FS_DIR) return EISDIR;
    if (at >= f->st.size || n == 0) return 0;
    if ((int64_t)n > f->st.size - at) n = (size_t)(f->st.size - at);
    snprintf(more, sizeof more, "&offset=%lld&length=%zu", (long long)at, n);
    request q = {.method = "GET", .op = "OPEN", .more = more, .into = buf, .room = n, .data = true};
    int e = call_path(f->path, NULL, &q, &r, failed, sizeof failed, why);
    if (e != 0 && failed[0]) { /* another data node may have it */
        cr_http_clear(&r);
        q.exclude = failed;
        why->text[0] = why->cure[0] = 0;
        e = call_path(f->path, NULL, &q, &r, NULL, 0, why);
    }
    if (e == 0 && r.got != n) {
        snprintf(why->text, sizeof why->text, "%zu bytes came and %zu were asked for", r.got, n);
        e = EPROTO;
    }
    if (e == 0) *got = n;
    cr_http_clear(&r);
    return e;
}

static void hdfs_close(void *ctx) {
    cr_free(ctx);
}

static int hdfs_restat(void *ctx, cr_fs_stat *st, cr_fs_why *why) {
    return hdfs_stat(((file *)ctx)->path, true, st, why);
}

/* ---- writing ---- */

typedef struct writer {
    cr_buf buf;
    int64_t size; /* bytes that are in the file */
    bool made, is_new, done;
    char *path, *hidden;
    char failed[300]; /* the data node that failed last; the next try asks for another one */
} writer;

static int hdfs_put(void **out, const char *path, unsigned flags, cr_fs_why *why) {
    static _Atomic int number;
    cr_fs_stat st;
    if (flags & CR_PUT_NEW && hdfs_stat(path, true, &st, why) == 0) return EEXIST;
    why->text[0] = why->cure[0] = 0;
    const char *base = strrchr(path, '/');
    base = base ? base + 1 : path;
    char host[64] = "";
    gethostname(host, sizeof host - 1);
    writer *w = cr_alloc(sizeof *w, "a file that is written");
    size_t n = strlen(path) + strlen(host) + 64;
    w->path = cr_alloc(n, "a name");
    w->hidden = cr_alloc(n, "a name");
    snprintf(w->path, n, "%s", path);
    snprintf(w->hidden, n, "%.*s.%s.tmp-%s-%d-%d", (int)(base - path), path, base, host,
             (int)getpid(), atomic_fetch_add(&number, 1));
    w->is_new = flags & CR_PUT_NEW;
    cr_buf_init(&w->buf);
    *out = w;
    return 0;
}

/* Sends the buffer to the end of the hidden file. */
static int send(writer *w, cr_fs_why *why) {
    cr_http_res r;
    cr_fs_stat st;
    if (w->made && why->tries > 0) { /* a try before this one may have done it */
        int e = hdfs_stat(w->hidden, true, &st, why);
        if (e != 0) return e;
        if (st.size == w->size + (int64_t)w->buf.n) {
            w->size = st.size;
            cr_buf_reset(&w->buf);
            return 0;
        }
        if (st.size != w->size) {
            snprintf(why->text, sizeof why->text, "a part of what was appended arrived");
            return EIO;
        }
    }
    request q = {.method = w->made ? "POST" : "PUT",
                 .op = w->made ? "APPEND" : "CREATE",
                 .more = w->made ? NULL : "&overwrite=true&permission=644",
                 .body = w->buf.data,
                 .n_body = w->buf.n,
                 .data = true,
                 .exclude = w->failed};
    int e = call_path(w->hidden, NULL, &q, &r, w->failed, sizeof w->failed, why);
    cr_http_clear(&r);
    if (e != 0) return e;
    w->made = true;
    w->size += (int64_t)w->buf.n;
    cr_buf_reset(&w->buf);
    return 0;
}

static int hdfs_write(void *out, const void *data, size_t n, cr_fs_why *why) {
    writer *w = out;
    if (w->buf.n >= PIECE) {
        int e = send(w, why);
        if (e != 0) return e;
    }
    cr_buf_add(&w->buf, data, n);
    return 0;
}

static int hdfs_commit(void *out, bool sync, cr_fs_why *why) {
    writer *w = out;
    (void)sync;
    int e = !w->made || w->buf.n > 0 ? send(w, why) : 0;
    if (e != 0) return e;
    e = hdfs_move(w->hidden, w->path, w->is_new ? CR_MOVE_NEW : CR_MOVE_OVER, why);
    w->done = e == 0;
    return e;
}

static void hdfs_end(void *out) {
    writer *w = out;
    cr_fs_why why = {0};
    if (w->made && !w->done) (void)hdfs_remove(w->hidden, false, &why);
    cr_buf_clear(&w->buf);
    cr_free(w->path);
    cr_free(w->hidden);
    cr_free(w);
}

#define HDFS(name)                                                                                 \
    {                                                                                              \
        .scheme = name, .can = CR_FS_FAR | CR_FS_FOLDERS, .tries = 8, .wait_ms = 100,              \
        .open = hdfs_open, .pread = hdfs_pread, .close = hdfs_close, .restat = hdfs_restat,        \
        .stat = hdfs_stat, .list = hdfs_list, .make_dir = hdfs_make_dir, .remove = hdfs_remove,    \
        .move = hdfs_move, .put = hdfs_put, .write = hdfs_write, .commit = hdfs_commit,            \
        .end = hdfs_end,                                                                           \
    }
const cr_store cr_hdfs_web = HDFS("hdfs");
const cr_store cr_store_webhdfs = HDFS("webhdfs");
const cr_store cr_store_swebhdfs = HDFS("swebhdfs");
