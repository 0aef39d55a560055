/*
 * http_curl.c - libcurl behind the table of http.h; the plug-in http-curl.so. The only file that
 * includes curl.h.
 *
 * A handle keeps its connections. Handles are used by one thread at a time and wait in a list for
 * the next request, the one used last in front, so that its connection is still open.
 */
#include <curl/curl.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "store/http.h"

#define MOST_HANDLES 64

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static CURL *idle[MOST_HANDLES];
static int n_idle;

static void begin(void) {
    curl_global_init(CURL_GLOBAL_DEFAULT);
}

static CURL *take_handle(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, begin);
    pthread_mutex_lock(&lock);
    CURL *h = n_idle > 0 ? idle[--n_idle] : NULL;
    pthread_mutex_unlock(&lock);
    return h ? h : curl_easy_init();
}

static void give_handle(CURL *h) {
    curl_easy_reset(h); /* connections stay */
    pthread_mutex_lock(&lock);
    if (n_idle < MOST_HANDLES) {
        idle[n_idle++] = h;
        h = NULL;
    }
    pthread_mutex_unlock(&lock);
    if (h) curl_easy_cleanup(h);
}

typedef struct state {
    cr_http_call *c;
    CURL *h;
} state;

static size_t on_head(char *p, size_t size, size_t n, void *ctx) {
    state *s = ctx;
    size_t len = size * n;
    while (len > 0 && (p[len - 1] == '\n' || p[len - 1] == '\r'))
        len--;
    if (len > 0) s->c->head(s->c->ctx, p, len);
    return size * n;
}

static size_t on_data(char *p, size_t size, size_t n, void *ctx) {
    state *s = ctx;
    long status = 0;
    curl_easy_getinfo(s->h, CURLINFO_RESPONSE_CODE, &status);
    return s->c->data(s->c->ctx, p, size * n, (int)status) ? size * n : 0;
}

static int errno_of(CURLcode code) {
    switch (code) {
    case CURLE_OK: return 0;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY: return EHOSTUNREACH;
    case CURLE_COULDNT_CONNECT: return ECONNREFUSED;
    case CURLE_OPERATION_TIMEDOUT: return ETIMEDOUT;
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM: return ECONNRESET;
    case CURLE_SSL_CONNECT_ERROR: return ECONNABORTED; /* it may pass, as a reset does */
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE: return EKEYREJECTED;
    case CURLE_OUT_OF_MEMORY: return ENOMEM;
    case CURLE_URL_MALFORMAT: return EINVAL;
    case CURLE_UNSUPPORTED_PROTOCOL: /* what answers speaks no HTTP */
    case CURLE_WEIRD_SERVER_REPLY: return EPROTO;
    default: return EIO;
    }
}

static void set_body(CURL *h, const cr_http_req *q) {
    if (strcmp(q->method, "HEAD") == 0) {
        curl_easy_setopt(h, CURLOPT_NOBODY, 1L);
        return;
    }
    if (strcmp(q->method, "GET") == 0) return;
    if (strcmp(q->method, "DELETE") != 0 || q->n_body > 0) {
        curl_easy_setopt(h, CURLOPT_POST, 1L);
        curl_easy_setopt(h, CURLOPT_POSTFIELDS, q->body ? (const char *)q->body : "");
        curl_easy_setopt(h, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)q->n_body);
    }
    curl_easy_setopt(h, CURLOPT_CUSTOMREQUEST, q->method);
}

static int call(cr_http_call *c) {
    const cr_http_req *q = c->req;
    char text[CURL_ERROR_SIZE] = "";
    CURL *h = take_handle();
    struct curl_slist *list = curl_slist_append(NULL, "Expect:"); /* no question before a body */
    if (!h || !list) {
        curl_slist_free_all(list);
        return ENOMEM;
    }
    state s = {c, h};
    for (int i = 0; q->headers && q->headers[i]; i++)
        list = curl_slist_append(list, q->headers[i]);
    curl_easy_setopt(h, CURLOPT_URL, q->url);
    curl_easy_setopt(h, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(h, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(h, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(h, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(h, CURLOPT_CONNECTTIMEOUT, (long)q->connect_s);
    curl_easy_setopt(h, CURLOPT_LOW_SPEED_LIMIT, 1024L);
    curl_easy_setopt(h, CURLOPT_LOW_SPEED_TIME, (long)q->idle_s);
    curl_easy_setopt(h, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(h, CURLOPT_BUFFERSIZE, 512L << 10);
    curl_easy_setopt(h, CURLOPT_HTTPHEADER, list);
    curl_easy_setopt(h, CURLOPT_ERRORBUFFER, text);
    curl_easy_setopt(h, CURLOPT_HEADERFUNCTION, on_head);
    curl_easy_setopt(h, CURLOPT_HEADERDATA, &s);
    curl_easy_setopt(h, CURLOPT_WRITEFUNCTION, on_data);
    curl_easy_setopt(h, CURLOPT_WRITEDATA, &s);
    if (c->ca_file) curl_easy_setopt(h, CURLOPT_CAINFO, c->ca_file);
    if (q->once) curl_easy_setopt(h, CURLOPT_FRESH_CONNECT, 1L);
    if (q->negotiate) {
        curl_easy_setopt(h, CURLOPT_HTTPAUTH, (long)CURLAUTH_NEGOTIATE);
        curl_easy_setopt(h, CURLOPT_USERPWD, ":");
        curl_easy_setopt(h, CURLOPT_COOKIEFILE, ""); /* the cookie that stands for the ticket */
    }
    set_body(h, q);
    CURLcode code = curl_easy_perform(h);
    long status = 0;
    curl_easy_getinfo(h, CURLINFO_RESPONSE_CODE, &status);
    c->status = (int)status;
    /* the library shows the whole address of a proxy that it does not understand, with its password
     */
    bool proxy = strncmp(text, "Unsupported proxy", 17) == 0;
    /* the library says so of a head that it does not keep */
    bool long_head = code == CURLE_OUT_OF_MEMORY && status > 0;
    if (long_head)
        snprintf(c->why, sizeof c->why, "the head of the answer has a line of more than 100 KB");
    else if (proxy)
        snprintf(c->why, sizeof c->why,
                 "the address of the proxy in the environment is not understood");
    else if (code != CURLE_OK)
        snprintf(c->why, sizeof c->why, "%s", text[0] ? text : curl_easy_strerror(code));
    curl_slist_free_all(list);
    give_handle(h);
    return proxy ? EDESTADDRREQ : long_head ? EPROTO : errno_of(code);
}

const cr_http_plug cr_http_plug_of = {.abi = CR_HTTP_ABI, .call = call};
