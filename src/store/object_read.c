/*
 * object_read.c - names and reading in object stores.
 *
 * A listing tells size and ETag of every object, so files that were found by a glob are opened
 * without a request of their own. What it told is kept until the object is written or removed here;
 * when another program replaces it, the first read fails, because it asks for the ETag.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/map.h"
#include "store/object.h"
#include "store/object_sum.h"
#include "store/xml.h"

#define MOST_KNOWN (1 << 20) /* objects that are kept in mind */

#define FRESH_S 10 /* stat believes a listing so long */

typedef struct object {
    int64_t size, changed, seen;
    char etag[72]; /* with its quotes */
} object;

/* ---- what listings told ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static cr_map known; /* path -> index */
static object *objects;
static int64_t n_objects, cap_objects;
static bool is_set;

static void remember(const char *path, const object *o) {
    pthread_mutex_lock(&lock);
    if (!is_set) cr_map_init(&known);
    is_set = true;
    int64_t i = cr_map_get(&known, path, strlen(path), -1);
    if (i < 0 && n_objects < MOST_KNOWN) {
        if (n_objects == cap_objects) {
            int64_t more = cap_objects ? 2 * cap_objects : 256;
            objects = cr_realloc(objects, (size_t)cap_objects * sizeof *objects,
                                 (size_t)more * sizeof *objects, "a listing");
            cap_objects = more;
        }
        i = n_objects++;
        cr_map_put(&known, path, strlen(path), i);
    }
    if (i >= 0) objects[i] = *o;
    pthread_mutex_unlock(&lock);
}

/* What is known of a path, and was seen within so many seconds; 0: ever. */
static bool recall(const char *path, int64_t within, object *o) {
    pthread_mutex_lock(&lock);
    int64_t i = is_set ? cr_map_get(&known, path, strlen(path), -1) : -1;
    if (i >= 0) *o = objects[i];
    pthread_mutex_unlock(&lock);
    return i >= 0 && o->size >= 0 && (within == 0 || (int64_t)time(NULL) - o->seen <= within);
}

void cr_obj_forget(const char *path) {
    pthread_mutex_lock(&lock);
    int64_t i = is_set ? cr_map_get(&known, path, strlen(path), -1) : -1;
    if (i >= 0) objects[i].size = -1;
    pthread_mutex_unlock(&lock);
}

/* ---- descriptions ---- */

static uint64_t version_of(const char *etag) {
    uint64_t h = 0xcbf29ce484222325u;
    for (const char *p = etag; *p; p++)
        h = (h ^ (unsigned char)*p) * 0x100000001b3u;
    return h ? h : 1;
}

static void describe(cr_fs_stat *st, const object *o) {
    *st = (cr_fs_stat){.kind = CR_FS_FILE,
                       .size = o->size,
                       .changed = o->changed,
                       .touched = o->changed,
                       .version = version_of(o->etag)};
}

static int64_t time_of(const char *text, const char *form) {
    struct tm tm = {0};
    return strptime(text, form, &tm) ? (int64_t)timegm(&tm) * 1000000000 : 0;
}

/* The answer to a HEAD has no body, so a refusal tells no cause. A GET of one byte does. */
static int why_refused(const char *path, cr_fs_why *why) {
    cr_http_res r;
    char byte;
    cr_obj_req q = {.method = "GET", .into = &byte, .room = 1};
    q.headers[q.n_headers++] = (cr_sig4_pair){"range", "bytes=0-0"};
    why->text[0] = why->cure[0] = 0;
    int e = cr_obj_call(path, &q, &r, why);
    cr_http_clear(&r);
    return e == 0 ? EAGAIN : e; /* it was allowed this time */
}

static int head(const char *path, object *o, cr_fs_why *why) {
    cr_http_res r;
    cr_obj_req q = {.method = "HEAD"};
    int e = cr_obj_call(path, &q, &r, why);
    if (e != 0 && (r.status == 403 || r.status == 400)) e = why_refused(path, why);
    if (e == 0) {
        const char *size = cr_http_header(&r, "content-length");
        memset(o, 0, sizeof *o);
        e = cr_obj_etag(path, &r, o->etag, sizeof o->etag, why);
        o->changed = time_of(cr_http_header(&r, "last-modified"), "%a, %d %b %Y %H:%M:%S");
        if (e == 0 && (!cr_parse_i64(size, strlen(size), &o->size) || o->size < 0)) {
            snprintf(why->text, sizeof why->text, "the answer does not tell the size");
            e = EPROTO;
        }
    }
    cr_http_clear(&r);
    return e;
}

/* ---- listings ---- */

/* A page of a listing: calls each for what is on it, and writes the token of the next page. */
typedef struct page {
    const char *path, *prefix;
    bool folders;
    cr_obj_each each;
    void *ctx;
    char token[1200];
} page;

/* Reads a key of an element; encoded: as %XX. An object that is not understood is an error: its
 * rows would be missing, and nobody would know. */
static int read_key(cr_xml in, const char *name, bool encoded, char *out, size_t size,
                    cr_fs_why *why) {
    size_t n = cr_xml_text(in, name, out, size);
    if (n > 0 && n < size) {
        if (encoded) out[cr_http_decode(out, n)] = 0;
        return 0;
    }
    snprintf(why->text, sizeof why->text, "the listing has an object with %s name",
             n ? "too long a" : "no");
    return EPROTO;
}

/* Reads the description of an object; its key goes into `key`. */
static int read_object(cr_xml in, bool encoded, object *o, char *key, size_t size, cr_fs_why *why) {
    char text[80];
    int e = read_key(in, "Key", encoded, key, size, why);
    if (e != 0) return e;
    cr_xml_text(in, "Size", text, sizeof text);
    if (!cr_parse_i64(text, strlen(text), &o->size) || o->size < 0) {
        snprintf(why->text, sizeof why->text, "the listing tells no size of '%.60s'", key);
        return EPROTO;
    }
    cr_xml_text(in, "LastModified", text, sizeof text);
    o->changed = time_of(text, "%Y-%m-%dT%H:%M:%S");
    cr_xml_text(in, "ETag", o->etag, sizeof o->etag);
    return 0;
}

/* Reads where the next page begins; "": this is the last one. */
static int read_token(cr_xml x, char *out, size_t size, cr_fs_why *why) {
    char text[8];
    out[0] = 0;
    cr_xml_text(x, "IsTruncated", text, sizeof text);
    if (strcmp(text, "true") != 0) return 0;
    size_t n = cr_xml_text(x, "NextContinuationToken", out, size);
    if (n > 0 && n < size) return 0;
    snprintf(why->text, sizeof why->text, "the listing breaks off: it does not tell its next page");
    return EPROTO;
}

static int read_page(page *p, const cr_buf *body, cr_fs_why *why) {
    cr_xml all = {body->data, body->data + body->n}, x, in;
    char key[3400], text[80], root[512], path[1600];
    if (!body->data || !cr_xml_next(&all, "ListBucketResult", &x)) {
        snprintf(why->text, sizeof why->text, "the answer is no listing");
        return EPROTO;
    }
    cr_xml_text(x, "EncodingType", text, sizeof text);
    bool encoded = strcmp(text, "url") == 0;
    int e = read_token(x, p->token, sizeof p->token, why);
    size_t n =
        strcspn(strstr(p->path, "://") + 3, "/") + (size_t)(strstr(p->path, "://") + 3 - p->path);
    snprintf(root, sizeof root, "%.*s", (int)n, p->path);
    for (cr_xml at = x; e == 0 && cr_xml_next(&at, "Contents", &in);) {
        object o = {.seen = (int64_t)time(NULL)};
        e = read_object(in, encoded, &o, key, sizeof key, why);
        if (e != 0) return e;
        bool fits = (size_t)snprintf(path, sizeof path, "%s/%s", root, key) < sizeof path;
        if (fits && o.etag[0]) remember(path, &o); /* others are asked for when they are opened */
        e = p->each(p->ctx, key, o.size);
    }
    for (cr_xml at = x; e == 0 && p->folders && cr_xml_next(&at, "CommonPrefixes", &in);) {
        e = read_key(in, "Prefix", encoded, key, sizeof key, why);
        if (e == 0) e = p->each(p->ctx, key, -1);
    }
    return e;
}

int cr_obj_keys(const char *path, const char *prefix, bool folders, cr_obj_each each, void *ctx,
                cr_fs_why *why) {
    page p = {.path = path, .prefix = prefix, .folders = folders, .each = each, .ctx = ctx};
    for (;;) {
        cr_http_res r;
        cr_obj_req q = {.method = "GET", .key = ""};
        q.query[q.n_query++] = (cr_sig4_pair){"list-type", "2"};
        q.query[q.n_query++] = (cr_sig4_pair){"prefix", prefix};
        q.query[q.n_query++] = (cr_sig4_pair){"max-keys", "1000"};
        q.query[q.n_query++] = (cr_sig4_pair){"encoding-type", "url"};
        if (folders) q.query[q.n_query++] = (cr_sig4_pair){"delimiter", "/"};
        if (p.token[0]) q.query[q.n_query++] = (cr_sig4_pair){"continuation-token", p.token};
        int e = cr_obj_call(path, &q, &r, why);
        if (e == 0) {
            char token[sizeof p.token];
            memcpy(token, p.token, sizeof token);
            e = read_page(&p, &r.body, why);
            if (e == 0 && p.token[0] && strcmp(token, p.token) == 0) {
                snprintf(why->text, sizeof why->text, "the listing does not end");
                e = EPROTO;
            }
        }
        cr_http_clear(&r);
        if (e != 0 || !p.token[0]) return e;
    }
}

/* The prefix of what lies below a path: its key with a slash behind it; "" for a bucket. */
static int prefix_of(char *out, size_t size, const char *path, cr_fs_why *why) {
    cr_obj_place p;
    int e = cr_obj_split(&p, path, why);
    if (e != 0) return e;
    size_t n = strlen(p.key);
    while (n > 0 && p.key[n - 1] == '/')
        n--;
    snprintf(out, size, "%.*s%s", (int)n, p.key, n ? "/" : "");
    return 0;
}

typedef struct names {
    cr_fs_each each;
    void *ctx;
    size_t skip;
    bool any;
} names;

static int tell_name(void *ctx, const char *key, int64_t size) {
    names *n = ctx;
    char name[1100];
    n->any = true;
    if (strlen(key) <= n->skip) return 0; /* an object that stands for the folder itself */
    snprintf(name, sizeof name, "%s", key + n->skip);
    if (size < 0) name[strcspn(name, "/")] = 0;
    if (name[0]) n->each(n->ctx, name, size < 0 ? CR_FS_DIR : CR_FS_FILE);
    return 0;
}

int cr_obj_list(const char *path, cr_fs_each each, void *ctx, cr_fs_why *why) {
    char prefix[1110];
    int e = prefix_of(prefix, sizeof prefix, path, why);
    if (e != 0) return e;
    names n = {.each = each, .ctx = ctx, .skip = strlen(prefix)};
    e = cr_obj_keys(path, prefix, true, tell_name, &n, why);
    return e == 0 && !n.any && prefix[0] ? ENOENT : e;
}

static int tell_rest(void *ctx, const char *key, int64_t size) {
    names *n = ctx;
    (void)size;
    if (strlen(key) > n->skip) n->each(n->ctx, key + n->skip, CR_FS_FILE);
    return 0;
}

int cr_obj_list_tree(const char *prefix, cr_fs_each each, void *ctx, cr_fs_why *why) {
    cr_obj_place p;
    int e = cr_obj_split(&p, prefix, why);
    if (e != 0) return e;
    names n = {.each = each, .ctx = ctx, .skip = strlen(p.key)};
    return cr_obj_keys(prefix, p.key, false, tell_rest, &n, why);
}

static int first_only(void *ctx, const char *key, int64_t size) {
    (void)key;
    (void)size;
    *(bool *)ctx = true;
    return ECANCELED; /* one is enough */
}

int cr_obj_stat(const char *path, bool follow, cr_fs_stat *st, cr_fs_why *why) {
    object o;
    char prefix[1110];
    bool any = false;
    (void)follow;
    int e = prefix_of(prefix, sizeof prefix, path, why);
    if (e != 0) return e;
    if (prefix[0] && path[strlen(path) - 1] != '/') {
        e = recall(path, FRESH_S, &o) ? 0 : head(path, &o, why);
        if (e == 0) describe(st, &o);
        if (e != ENOENT) return e;
    }
    e = cr_obj_keys(path, prefix, true, first_only, &any, why);
    if (e != 0 && e != ECANCELED) return e;
    *st = (cr_fs_stat){.kind = CR_FS_DIR};
    return any || !prefix[0] ? 0 : ENOENT;
}

/* ---- reading ---- */

typedef struct file {
    object o;
    bool folder;
    cr_obj_sum sum;
    char path[];
} file;

int cr_obj_open(void **out, const char *path, bool wait, cr_fs_stat *st, cr_fs_why *why) {
    object o = {0};
    (void)wait;
    int e = recall(path, 0, &o) ? 0 : head(path, &o, why);
    if (e == 0) describe(st, &o);
    if (e == ENOENT) e = cr_obj_stat(path, true, st, why); /* a folder? */
    if (e != 0) return e;
    file *f = cr_alloc(sizeof *f + strlen(path) + 1, "an open file");
    f->o = o;
    f->folder = st->kind == CR_FS_DIR;
    cr_obj_sum_init(&f->sum);
    memcpy(f->path, path, strlen(path) + 1);
    *out = f;
    return 0;
}

/* Does an answer hold the bytes that were asked for? */
static bool is_range(const cr_http_res *r, int64_t at, size_t n, int64_t size) {
    char want[80];
    snprintf(want, sizeof want, "bytes %lld-%lld/%lld", (long long)at,
             (long long)(at + (int64_t)n - 1), (long long)size);
    if (r->status == 200) return at == 0 && (int64_t)n == size && r->got == n;
    return r->status == 206 && r->got == n && strcmp(cr_http_header(r, "content-range"), want) == 0;
}

/* The ETag itself: listings of some stores leave its quotes out, and proxies call it weak. */
static const char *bare_tag(const char *tag, size_t *n) {
    if (strncmp(tag, "W/", 2) == 0) tag += 2;
    if (*tag == '"') tag++;
    *n = strcspn(tag, "\"");
    return tag;
}

/* Is the answer of the version that was opened? A store that does not know If-Match would give
 * another one without a word. */
static int check_tag(const file *f, const cr_http_res *r, cr_fs_why *why) {
    char now[sizeof f->o.etag];
    size_t n, m;
    int e = cr_obj_etag(f->path, r, now, sizeof now, why);
    if (e != 0 || !f->o.etag[0]) return e;
    const char *a = bare_tag(f->o.etag, &n), *b = bare_tag(now, &m);
    if (n == m && memcmp(a, b, n) == 0) return 0;
    snprintf(why->text, sizeof why->text, "the object was replaced since it was opened");
    snprintf(why->cure, sizeof why->cure, "; run again");
    return ESTALE;
}

/* Compares what was read, once it is the whole file, with the CRC-64 that the store tells. */
static int check_sum(file *f, const char *told, int64_t at, const void *buf, size_t n,
                     cr_fs_why *why) {
    uint64_t crc, want;
    if (!*told || !cr_parse_u64(told, strlen(told), &want)) return 0;
    if (!cr_obj_sum_add(&f->sum, at, buf, n, f->o.size, &crc) || crc == want) return 0;
    snprintf(why->text, sizeof why->text,
             "other bytes came than the store has: their CRC-64 is %" PRIu64 " and not %" PRIu64,
             crc, want);
    snprintf(why->cure, sizeof why->cure, "; run again, and check the network if it stays");
    return EIO;
}

int cr_obj_pread(void *ctx, int64_t at, void *buf, size_t n, size_t *got, cr_fs_why *why) {
    file *f = ctx;
    const cr_cloud *c = cr_cloud_of(f->path);
    char range[64];
    *got = 0;
    if (f->folder) return EISDIR;
    if (at >= f->o.size || n == 0) return 0;
    if ((int64_t)n > f->o.size - at) n = (size_t)(f->o.size - at);
    snprintf(range, sizeof range, "bytes=%lld-%lld", (long long)at,
             (long long)(at + (int64_t)n - 1));
    cr_obj_req q = {.method = "GET", .into = buf, .room = n};
    q.headers[q.n_headers++] = (cr_sig4_pair){"range", range};
    if (f->o.etag[0]) q.headers[q.n_headers++] = (cr_sig4_pair){"if-match", f->o.etag};
    if (c->range_header) q.headers[q.n_headers++] = (cr_sig4_pair){c->range_header, "standard"};
    cr_http_res r;
    int e = cr_obj_call(f->path, &q, &r, why);
    if (e == 0) e = check_tag(f, &r, why);
    if (e == 0 && !is_range(&r, at, n, f->o.size)) {
        snprintf(why->text, sizeof why->text, "the answer has other bytes than %s (status %d)",
                 range, r.status);
        e = EPROTO;
    }
    if (e == 0 && c->checksum) e = check_sum(f, cr_http_header(&r, c->checksum), at, buf, n, why);
    if (e == 0) *got = n;
    if (e == ESTALE) cr_obj_forget(f->path);
    cr_http_clear(&r);
    return e;
}

void cr_obj_close(void *ctx) {
    file *f = ctx;
    cr_obj_sum_clear(&f->sum);
    cr_free(f);
}
