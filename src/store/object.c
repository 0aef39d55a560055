/*
 * object.c - see object.h: a request to an object store, signed, and what its answer means.
 */
#include "store/object.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/sha256.h"
#include "store/xml.h"

#define MOST_HEADERS (CR_OBJ_PAIRS + 8)
#define MOST_REGIONS 64
#define WRONG_S      600 /* a clock that differs so much is wrong */

const cr_cloud *cr_cloud_of(const char *path) {
    return strncasecmp(path, "oss:", 4) == 0 ? &cr_cloud_oss : &cr_cloud_s3;
}

int cr_obj_split(cr_obj_place *p, const char *path, cr_fs_why *why) {
    const char *a = strstr(path, "://"), *slash;
    a = a ? a + 3 : path;
    slash = strchr(a, '/');
    size_t n = slash ? (size_t)(slash - a) : strlen(a);
    const char *key = slash ? slash + 1 : "";
    if (n == 0 || n >= sizeof p->host || strlen(key) >= sizeof p->key) {
        snprintf(why->text, sizeof why->text, "%s",
                 n == 0 ? "the path names no bucket" : "the name is longer than a store allows");
        snprintf(why->cure, sizeof why->cure, "; write %s://bucket/folder/file",
                 cr_cloud_of(path)->scheme);
        return EINVAL;
    }
    memcpy(p->host, a, n); /* the bucket, or for OSS the bucket's host */
    p->host[n] = 0;
    snprintf(p->key, sizeof p->key, "%s", key);
    return 0;
}

int cr_obj_endpoint(const char *text, const char *variable, size_t *scheme, size_t *host,
                    cr_fs_why *why) {
    *scheme = strncmp(text, "http://", 7) == 0 ? 7 : strncmp(text, "https://", 8) == 0 ? 8 : 0;
    const char *name = text + *scheme;
    *host = strcspn(name, "/");
    bool has_path = name[*host] && name[*host + 1];
    const char *wrong = strchr(text, '@') ? "a name or a password" /* which must not be shown */
                        : !*scheme && strstr(text, "://") ? "a scheme that is not http or https"
                        : *host == 0                      ? "no host"
                        : has_path                        ? "a path behind its host"
                                                          : NULL;
    if (!wrong) return 0;
    snprintf(why->text, sizeof why->text, "the address of the store in the environment has %s",
             wrong);
    snprintf(why->cure, sizeof why->cure, "; write http://host:port or https://host into %s",
             variable);
    return EINVAL;
}

/* ---- what was learned: the clock of the store, regions of buckets ---- */

static _Atomic int64_t clock_offset;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct region { char bucket[128], name[64]; } regions[MOST_REGIONS];
static int n_regions;

static void know_region(cr_obj_place *p) {
    pthread_mutex_lock(&lock);
    for (int i = 0; i < n_regions; i++)
        if (strcmp(regions[i].bucket, p->bucket) == 0)
            snprintf(p->region, sizeof p->region, "%s", regions[i].name);
    pthread_mutex_unlock(&lock);
}

static void learn_region(const char *bucket, const char *name) {
    pthread_mutex_lock(&lock);
    int i = 0;
    while (i < n_regions && strcmp(regions[i].bucket, bucket) != 0)
        i++;
    if (i < MOST_REGIONS) {
        snprintf(regions[i].bucket, sizeof regions[i].bucket, "%s", bucket);
        snprintf(regions[i].name, sizeof regions[i].name, "%s", name);
        if (i == n_regions) n_regions++;
    }
    pthread_mutex_unlock(&lock);
}

/* Sets the clock of the store by the date of an answer; false: it was right. Stores allow a quarter
 * of an hour. */
static bool learn_clock(const char *date) {
    struct tm tm = {0};
    if (!strptime(date, "%a, %d %b %Y %H:%M:%S", &tm)) return false;
    int64_t offset = (int64_t)timegm(&tm) - (int64_t)time(NULL);
    if (llabs(offset - atomic_load(&clock_offset)) < WRONG_S) return false;
    atomic_store(&clock_offset, offset);
    return true;
}

/* ---- a request ---- */

/* A header that is sent, and signed where that is so. */
typedef struct sent {
    cr_buf lines; /* "name: value\0" */
    cr_sig4_pair signed_[MOST_HEADERS];
    int n;
    size_t at[MOST_HEADERS];
    int n_lines;
} sent;

static void send_header(sent *s, const char *name, const char *value, bool sign) {
    if (s->n_lines == MOST_HEADERS) CR_BUG("too many headers");
    s->at[s->n_lines++] = s->lines.n;
    cr_buf_printf(&s->lines, "%s: %s", name, value);
    cr_buf_char(&s->lines, 0);
    if (sign) s->signed_[s->n++] = (cr_sig4_pair){name, value};
}

static bool is_signed(const cr_cloud *c, const char *name) {
    if (strncmp(name, c->prefix, strlen(c->prefix)) == 0) return true;
    if (c->signs_host) return strcmp(name, "range") == 0;
    return strcmp(name, "content-type") == 0 || strcmp(name, "content-md5") == 0;
}

static int make_call(const cr_cloud *c, const cr_obj_place *p, const cr_creds *keys,
                     const cr_obj_req *q, cr_http_res *r, cr_fs_why *why) {
    const char *key = q->key ? q->key : p->key;
    char payload[CR_SHA256_TEXT + 1] = "UNSIGNED-PAYLOAD", names[3][40];
    static const char *const own[] = {"content-sha256", "date", "security-token"};
    bool tls = strncmp(p->base, "https:", 6) == 0;
    if (c->signs_host && !tls) cr_sha256_text(q->body, q->n_body, payload);
    for (int i = 0; i < 3; i++)
        snprintf(names[i], sizeof names[i], "%s%s", c->prefix, own[i]);
    cr_sig4 s = {.style = c->style,
                 .id = keys->id,
                 .secret = keys->secret,
                 .region = p->region,
                 .method = q->method,
                 .payload = payload,
                 .n_query = q->n_query};
    cr_sig4_pair query[CR_OBJ_PAIRS];
    memcpy(query, q->query, sizeof query);
    s.query = query;
    cr_sig4_time(s.time, (int64_t)time(NULL) + atomic_load(&clock_offset));

    sent h = {.n = 0};
    cr_buf url, path, line;
    cr_buf_init(&h.lines);
    cr_buf_init(&url);
    cr_buf_init(&path);
    cr_buf_init(&line);
    send_header(&h, "host", p->host, c->signs_host);
    send_header(&h, names[0], payload, true);
    send_header(&h, names[1], s.time, true);
    if (keys->token[0]) send_header(&h, names[2], keys->token, true);
    for (int i = 0; i < q->n_headers; i++)
        send_header(&h, q->headers[i].name, q->headers[i].value, is_signed(c, q->headers[i].name));

    /* S3: no slash behind the bucket itself, as the SDKs write it; some servers sign it so */
    bool slash = p->in_path && (*key || !c->signs_host);
    cr_buf_printf(&path, "/%s%s%s", p->in_path ? p->bucket : "", slash ? "/" : "", key);
    cr_buf_str(&url, p->base);
    cr_http_encode(&url, path.data, path.n, true);
    if (q->n_query > 0) cr_buf_char(&url, '?');
    cr_sig4_query(c->style, query, q->n_query, &url);
    if (!c->signs_host) {
        cr_buf_reset(&path);
        cr_buf_printf(&path, "/%s/%s", p->bucket, key);
    }
    s.path = path.data;
    s.headers = h.signed_;
    s.n_headers = h.n;
    cr_sig4_header(&s, &line);

    const char *lines[MOST_HEADERS + 3];
    int n = 0;
    for (int i = 0; i < h.n_lines; i++)
        lines[n++] = h.lines.data + h.at[i];
    lines[n++] = line.data;
    bool typed = false;
    for (int i = 0; i < q->n_headers; i++)
        typed |= strcmp(q->headers[i].name, "content-type") == 0;
    if (!typed) lines[n++] = "Content-Type:"; /* none: the library would add one */
    lines[n] = NULL;
    cr_http_req hq = {.method = q->method,
                      .url = url.data,
                      .headers = lines,
                      .body = q->body,
                      .n_body = q->n_body,
                      .into = q->into,
                      .room = q->room,
                      .once = q->once,
                      .idle_s = q->idle_s};
    int e = cr_http_do(&hq, r, why);
    explicit_bzero(line.data, line.n);
    cr_buf_clear(&line);
    cr_buf_clear(&h.lines);
    cr_buf_clear(&url);
    cr_buf_clear(&path);
    return e;
}

/* ---- its answer ---- */

/* What the store says about a failure. */
typedef struct refusal {
    char code[64], region[64];
} refusal;

/* Codes whose status does not say what can be done; e 0: the status tells what it means. */
static const struct known {
    const char *code, *cure;
    int e;
} known_codes[] = {
    {"NoSuchBucket", "; check the name of the bucket and its region", 0},
    {"InvalidBucketName", "; check the name of the bucket", EINVAL},
    {"ExpiredToken", "; the keys have ended: get new ones, with a new session token", EACCES},
    {"SecurityTokenExpired", "; the keys have ended: get new ones, with a new session token",
     EACCES},
    {"TokenRefreshRequired", "; the keys have ended: get new ones, with a new session token",
     EACCES},
    {"InvalidToken", "; check the session token: it must be of the same keys", EACCES},
    {"InvalidSecurityToken", "; check the session token: it must be of the same keys", EACCES},
    {"RequestTimeTooSkewed", "; set the clock of this machine", EACCES},
    {"InvalidObjectState", "; the object is archived: restore it first", EACCES},
    {"QuotaExceeded", "; free some space or raise the quota and run again", EDQUOT},
    {"NotImplemented", "; this store does not know the request: check AWS_ENDPOINT_URL", ENOTSUP},
};

static const struct known *known_code(const char *code) {
    for (size_t i = 0; i < sizeof known_codes / sizeof *known_codes; i++)
        if (strcmp(known_codes[i].code, code) == 0) return &known_codes[i];
    return NULL;
}

static int refused(const cr_cloud *c, const cr_obj_place *p, const cr_http_res *r, refusal *f,
                   cr_fs_why *why) {
    cr_xml x = {r->body.data, r->body.data + r->body.n};
    char message[100], id[64], id_name[40], elsewhere[100];
    if (!r->body.data) x = (cr_xml){"", ""};
    cr_xml_text(x, "Code", f->code, sizeof f->code);
    cr_xml_text(x, "Message", message, sizeof message);
    cr_xml_text(x, "RequestId", id, sizeof id);
    cr_xml_text(x, "Region", f->region, sizeof f->region);
    cr_xml_text(x, "Endpoint", elsewhere, sizeof elsewhere);
    if (c->region_name && *cr_http_header(r, c->region_name))
        snprintf(f->region, sizeof f->region, "%s", cr_http_header(r, c->region_name));
    snprintf(id_name, sizeof id_name, "%srequest-id", c->prefix);
    if (!id[0]) snprintf(id, sizeof id, "%.60s", cr_http_header(r, id_name));
    /* a long message gives way to the id of the request, by which the store's operators find it */
    char head[160], tail[80];
    snprintf(head, sizeof head, "%.48s answers %d%s%.36s", p->bucket, r->status,
             f->code[0] ? " " : "", f->code);
    snprintf(tail, sizeof tail, "%s%.48s", id[0] ? ", request " : "", id);
    int room = (int)sizeof why->text - 1 - (int)strlen(head) - (int)strlen(tail) - 2;
    if (room < (int)strlen(message) && room >= 3) memcpy(message + room - 3, "...", 4);
    char all[400];
    snprintf(all, sizeof all, "%s%s%s%s", head, message[0] && room >= 3 ? ", " : "",
             room >= 3 ? message : "", tail);
    snprintf(why->text, sizeof why->text, "%.*s", (int)sizeof why->text - 1, all);
    int e = cr_http_errno(r->status);
    if (strcmp(f->code, "SlowDown") == 0 || strcmp(f->code, "InternalError") == 0 ||
        strcmp(f->code, "RequestTimeout") == 0)
        e = EAGAIN;
    const struct known *k = known_code(f->code);
    bool away = r->status >= 300 && r->status < 400;
    if (k && k->e) e = k->e;
    if (k)
        snprintf(why->cure, sizeof why->cure, "%s", k->cure);
    else if (r->status == 407)
        snprintf(why->cure, sizeof why->cure,
                 "; the proxy wants a name and a password: http_proxy=http://name:password@host");
    else if (away && !f->code[0])
        snprintf(why->cure, sizeof why->cure,
                 "; it sends to another address: check %s and the proxies",
                 c->signs_host ? "AWS_ENDPOINT_URL" : "OSS_ENDPOINT");
    else if (elsewhere[0] && strstr(p->base, elsewhere) == NULL)
        snprintf(why->cure, sizeof why->cure, "; the bucket is at %.50s: set %s", elsewhere,
                 c->signs_host ? "AWS_REGION" : "OSS_ENDPOINT");
    else if (e == EACCES)
        snprintf(why->cure, sizeof why->cure, "; check the keys, and what they may do here");
    else if (e == ESTALE)
        snprintf(why->cure, sizeof why->cure,
                 "; the object was replaced since it was opened: run again");
    else if (e == EIO)
        snprintf(why->cure, sizeof why->cure, "; ask the operators of the store, with this answer");
    return e ? e : EIO;
}

/* Is it worth while to make the request once more, with what the answer taught? */
static bool taught(const cr_obj_place *p, const cr_http_res *r, const refusal *f, bool *fresh) {
    static const char *const ended[] = {"ExpiredToken", "InvalidAccessKeyId",
                                        "SecurityTokenExpired", "InvalidSecurityToken",
                                        "TokenRefreshRequired"};
    /* the answer to a HEAD has no body that would tell the code */
    bool silent = !f->code[0] && (r->status == 403 || r->status == 400);
    if ((silent || strcmp(f->code, "RequestTimeTooSkewed") == 0) &&
        learn_clock(cr_http_header(r, "date")))
        return true;
    bool elsewhere = r->status == 301 || r->status == 307 || r->status == 400;
    if (elsewhere && f->region[0] && strcmp(f->region, p->region) != 0) {
        learn_region(p->bucket, f->region);
        return true;
    }
    if (silent && !*fresh) return *fresh = true;
    for (size_t i = 0; i < sizeof ended / sizeof *ended; i++)
        if (!*fresh && strcmp(f->code, ended[i]) == 0) return *fresh = true;
    return false;
}

int cr_obj_call(const char *path, const cr_obj_req *q, cr_http_res *r, cr_fs_why *why) {
    const cr_cloud *c = cr_cloud_of(path);
    bool fresh = false;
    memset(r, 0, sizeof *r);
    for (int tries = 0;; tries++) {
        cr_obj_place p = {.in_path = false};
        cr_creds keys;
        refusal f;
        int e = c->place(&p, path, why);
        if (e != 0) return e;
        know_region(&p);
        e = c->creds(&keys, fresh, why);
        if (e != 0) return e;
        cr_http_clear(r);
        e = make_call(c, &p, &keys, q, r, why);
        explicit_bzero(&keys, sizeof keys);
        if (e != 0) {
            char text[160];
            snprintf(text, sizeof text, "%.60s: %.90s", p.host, why->text);
            memcpy(why->text, text, sizeof text);
            return e;
        }
        if (r->status >= 200 && r->status < 300) return 0;
        e = refused(c, &p, r, &f, why);
        if (tries >= 3 || !taught(&p, r, &f, &fresh)) return e;
        why->text[0] = why->cure[0] = 0;
    }
}

int cr_obj_etag(const char *path, const cr_http_res *r, char *out, size_t size, cr_fs_why *why) {
    const char *tag = cr_http_header(r, "etag");
    snprintf(out, size, "%s", tag);
    if (*tag) return 0;
    bool s3 = cr_cloud_of(path) == &cr_cloud_s3;
    snprintf(why->text, sizeof why->text,
             "the answer has status %d and no ETag: it is not that of an object store", r->status);
    snprintf(why->cure, sizeof why->cure, "; check %s and the proxies",
             s3 ? "AWS_ENDPOINT_URL" : "OSS_ENDPOINT");
    return EPROTO;
}
