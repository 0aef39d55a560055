/*
 * http.c - see http.h: the answer is taken apart here, so that the plug-in only moves bytes.
 */
#include "store/http.h"

#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/kill_point.h"
#include "base/log.h"
#include "base/plugin.h"

#define CONNECT_S 10
#define IDLE_S    30                 /* without a kilobyte per second */
#define MOST_BODY ((size_t)64 << 20) /* of an answer that is kept in memory */
#define MOST_HEAD ((size_t)256 << 10)

static const cr_http_plug *plug;
static cr_err plug_err;

void cr_http_use(const cr_http_plug *p) {
    plug = p;
}

/* Tells with --debug which settings of the environment decide where requests go. Their values are
 * not shown: the address of a proxy may hold a password. */
static const char *const proxy_names[] = {"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy",
                                          "ALL_PROXY",  "no_proxy",    "NO_PROXY"};

static void tell_proxies(void) {
    for (size_t i = 0; i < sizeof proxy_names / sizeof *proxy_names; i++) {
        const char *v = getenv(proxy_names[i]);
        if (v && *v) CR_DEBUG("requests obey %s of the environment", proxy_names[i]);
    }
}

/* The first variable that names a proxy for this URL's scheme; NULL: none does. */
static const char *proxy_of(const char *url) {
    bool tls = strncmp(url, "https:", 6) == 0;
    for (size_t i = 0; i < 5; i++) {
        const char *v = getenv(proxy_names[i]);
        bool fits = i >= 3 || (i > 0) == tls;
        if (v && *v && fits) return proxy_names[i];
    }
    return NULL;
}

static void load(void) {
    void *entry;
    if (plug) return;
    if (cr_plugin_own("http-curl.so", "cr_http_plug_of", CR_HTTP_ABI,
                      "build crank with libcurl4-openssl-dev installed", &entry,
                      &plug_err) == CR_OK)
        plug = entry;
    tell_proxies();
}

/* What a call writes to. */
typedef struct taker {
    const cr_http_req *q;
    cr_http_res *r;
    bool too_large;
} taker;

static void take_head(void *ctx, const char *line, size_t n) {
    taker *t = ctx;
    cr_buf *h = &t->r->headers;
    if (n >= 5 && memcmp(line, "HTTP/", 5) == 0) { /* of an answer behind another one */
        cr_buf_reset(h);
        return;
    }
    const char *colon = memchr(line, ':', n);
    if (!colon || h->n + n > MOST_HEAD) return;
    for (const char *p = line; p < colon; p++)
        cr_buf_char(h, (char)tolower((unsigned char)*p));
    cr_buf_char(h, 0);
    const char *v = colon + 1, *end = line + n;
    while (v < end && isspace((unsigned char)*v))
        v++;
    while (end > v && isspace((unsigned char)end[-1]))
        end--;
    cr_buf_add(h, v, (size_t)(end - v));
    cr_buf_char(h, 0);
}

static bool take_data(void *ctx, const void *p, size_t n, int status) {
    taker *t = ctx;
    bool fine = status >= 200 && status < 300;
    if (t->q->into && fine) {
        t->too_large = n > t->q->room - t->r->got;
        if (t->too_large) return false;
        memcpy((char *)t->q->into + t->r->got, p, n);
        t->r->got += n;
        return true;
    }
    size_t most = t->q->most ? t->q->most : MOST_BODY;
    t->too_large = n > most - t->r->body.n;
    if (!t->too_large) cr_buf_add(&t->r->body, p, n);
    return !t->too_large;
}

/* What users can do where no answer came; "": what fs.c says to the errno value. */
static const char *cure_alone(int e) {
    switch (e) {
    case EKEYREJECTED:
        return "; name the store's CA file in AWS_CA_BUNDLE, CURL_CA_BUNDLE or SSL_CERT_FILE";
    case ECONNABORTED: return "; check that the store speaks TLS here, or write http://";
    case EIO: return "; check the address of the store and the proxies, and run again";
    default: return "";
    }
}

static void cure_of(int e, const char *url, char *out, size_t size) {
    const char *proxy = proxy_of(url);
    bool away = e == ECONNREFUSED || e == EHOSTUNREACH || e == ETIMEDOUT || e == EDESTADDRREQ;
    if (away && proxy)
        snprintf(out, size,
                 "; check that the store can be reached by the proxy of %s, or set no_proxy",
                 proxy);
    else
        snprintf(out, size, "%s", cure_alone(e));
}

int cr_http_do(const cr_http_req *q, cr_http_res *r, cr_fs_why *why) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    memset(r, 0, sizeof *r);
    cr_buf_init(&r->body);
    cr_buf_init(&r->headers);
    pthread_once(&once, load);
    if (!plug) {
        snprintf(why->text, sizeof why->text, "%.150s", plug_err.msg);
        return ENOTSUP;
    }
    cr_http_req with = *q;
    if (!with.connect_s) with.connect_s = CONNECT_S;
    if (!with.idle_s) with.idle_s = IDLE_S;
    taker t = {.q = q, .r = r};
    const char *ca = getenv("AWS_CA_BUNDLE");
    if (!ca || !*ca) ca = getenv("CURL_CA_BUNDLE");
    if (!ca || !*ca) ca = getenv("SSL_CERT_FILE");
    cr_http_call c = {.req = &with,
                      .ca_file = ca && *ca ? ca : NULL,
                      .head = take_head,
                      .data = take_data,
                      .ctx = &t};
    bool changes = strcmp(q->method, "GET") != 0 && strcmp(q->method, "HEAD") != 0;
    if (changes) cr_kill_point("send");
    int e = plug->call(&c);
    if (changes) cr_kill_point("sent");
    r->status = c.status;
    if (t.too_large) {
        snprintf(why->text, sizeof why->text, "the answer is longer than what was asked for");
        return EPROTO;
    }
    if (e != 0) {
        snprintf(why->text, sizeof why->text, "%s", c.why);
        cure_of(e, q->url, why->cure, sizeof why->cure);
    }
    return e;
}

void cr_http_clear(cr_http_res *r) {
    cr_buf_clear(&r->body);
    cr_buf_clear(&r->headers);
}

const char *cr_http_header(const cr_http_res *r, const char *name) {
    const char *p = r->headers.data, *end = p + r->headers.n;
    while (r->headers.n && p < end) {
        const char *value = p + strlen(p) + 1;
        if (strcmp(p, name) == 0) return value;
        p = value + strlen(value) + 1;
    }
    return "";
}

int cr_http_errno(int status) {
    switch (status) {
    case 401:
    case 403: return EACCES;
    case 404: return ENOENT;
    case 408: return ETIMEDOUT;
    case 409: return EBUSY;
    case 412: return ESTALE;
    case 429:
    case 500:
    case 502:
    case 503:
    case 504: return EAGAIN;
    default: return status >= 200 && status < 300 ? 0 : EIO;
    }
}

void cr_http_encode(cr_buf *out, const char *text, size_t n, bool path) {
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        if (isalnum(c) || strchr("-._~", c) || (path && c == '/'))
            cr_buf_char(out, (char)c);
        else
            cr_buf_printf(out, "%%%02X", c);
    }
}

static int hex(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

size_t cr_http_decode(char *text, size_t n) {
    size_t m = 0;
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '%' && n - i > 2 && hex(text[i + 1]) >= 0 && hex(text[i + 2]) >= 0) {
            text[m++] = (char)(hex(text[i + 1]) * 16 + hex(text[i + 2]));
            i += 2;
        } else {
            text[m++] = text[i];
        }
    }
    return m;
}
