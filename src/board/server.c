/*
 * server.c - see server.h.
 *
 * Who may ask: on this machine's own addresses anybody who can reach them, but only under the name
 * of this machine. A page of another site could otherwise send its visitors' browsers here under a
 * name of its own. On any other address a token is needed: in the address once, then in a cookie.
 * Requests that change something need a header that another site's page cannot set.
 */
#include "board/server.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/plugin.h"
#include "board/httpd.h"
#include "launch/proof.h"

#define TOKEN_LEAST 16
#define MAX_CLIENTS 200
#define IDLE_S      20
#define BEAT_S      5.0       /* an event stream says something at least this often */
#define TOGETHER_NS 200000000 /* changes within this time are one event */
#define COOKIE      "crank_board="

struct cr_board_server {
    cr_board *board;
    const cr_httpd_plug *plug;
    cr_httpd *httpd;
    pthread_t follower;
    atomic_bool stops;
    bool read_only, local, own_token;
    char token[128]; /* "": none */
    char url[512];
};

/* ---- who asks ---- */

static bool same_text(const char *a, const char *b) { /* in a time that does not tell where */
    size_t n = strlen(a), m = strlen(b);
    unsigned char d = n != m;
    for (size_t i = 0; i < n; i++)
        d |= (unsigned char)(a[i] ^ b[m ? i % m : 0]);
    return d == 0;
}

static bool in_cookie(const char *cookie, const char *token) {
    if (!cookie) return false;
    for (const char *s = strstr(cookie, COOKIE); s; s = strstr(s, COOKIE)) {
        s += strlen(COOKIE);
        char value[128];
        size_t n = strcspn(s, "; ");
        if (n >= sizeof value) continue;
        memcpy(value, s, n);
        value[n] = 0;
        if (same_text(value, token)) return true;
    }
    return false;
}

static bool has_token(const cr_board_server *s, const cr_httpd_req *q, bool *in_url) {
    const char *url = q->arg(q->ctx, "token"), *head = q->header(q->ctx, "Authorization");
    *in_url = url && same_text(url, s->token);
    return *in_url || in_cookie(q->header(q->ctx, "Cookie"), s->token) ||
           (head && strncmp(head, "Bearer ", 7) == 0 && same_text(head + 7, s->token));
}

/* Is this the name of the machine itself, with any port? */
static bool is_own_name(const char *host) {
    static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};
    for (size_t i = 0; host && i < sizeof names / sizeof *names; i++) {
        size_t n = strlen(names[i]);
        if (strncmp(host, names[i], n) == 0 && (host[n] == 0 || host[n] == ':')) return true;
    }
    return false;
}

static bool is_local(const char *host) {
    return strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0;
}

/* ---- answers ---- */

static void add_header(cr_httpd_res *r, const char *name, const char *value) {
    for (int i = 0; i < CR_HTTPD_HEADERS; i++) {
        if (r->headers[i][0]) continue;
        r->headers[i][0] = name;
        r->headers[i][1] = value;
        return;
    }
    CR_BUG("too many headers of an answer");
}

static void say(cr_httpd_res *r, int status, const char *text) {
    r->status = status;
    r->body = text;
    r->n_body = strlen(text);
    add_header(r, "Content-Type", "text/plain; charset=utf-8");
}

static void free_body(void *owner) {
    cr_buf *b = owner;
    cr_buf_clear(b);
    cr_free(b);
}

static void answer(const cr_board_server *s, const cr_httpd_req *q, cr_httpd_res *r) {
    cr_board_res res = {.status = 500};
    cr_board_req req = {.method = q->method,
                        .path = q->path,
                        .body = q->body,
                        .n_body = q->n_body,
                        .arg = q->arg,
                        .ctx = q->ctx,
                        .may_write = !s->read_only};
    cr_buf_init(&res.body);
    cr_board_answer(s->board, &req, &res);
    cr_buf *own = cr_alloc(sizeof *own, "an answer");
    *own = res.body;
    r->status = res.status;
    r->body = own->data ? own->data : "";
    r->n_body = own->n;
    r->owner = own;
    r->free = free_body;
    add_header(r, "Content-Type", res.type);
}

/* A stream of events: the version of the board whenever it has changed. */
typedef struct events {
    cr_board_server *s;
    uint64_t version;
} events;

static ssize_t next_event(void *owner, char *out, size_t n) {
    events *e = owner;
    if (atomic_load(&e->s->stops)) return -1;
    uint64_t now = cr_board_wait(e->s->board, e->version, BEAT_S);
    if (now != e->version) { /* a run that is read changes many times a second */
        struct timespec t = {.tv_nsec = TOGETHER_NS};
        nanosleep(&t, NULL);
        now = cr_board_wait(e->s->board, e->version, 0);
    }
    if (atomic_load(&e->s->stops)) return -1;
    int k = now == e->version
                ? snprintf(out, n, ": still here\n\n")
                : snprintf(out, n, "data: {\"version\": %llu}\n\n", (unsigned long long)now);
    e->version = now;
    return k;
}

static void answer_events(cr_board_server *s, cr_httpd_res *r) {
    events *e = cr_alloc(sizeof *e, "a stream of events");
    e->s = s;
    r->status = 200;
    r->next = next_event;
    r->owner = e;
    r->free = cr_free;
    add_header(r, "Content-Type", "text/event-stream");
}

static void answer_page(cr_httpd_res *r) {
    size_t n;
    const char *page = cr_board_page(&n);
    if (!page) {
        say(r, 503, CR_BOARD_NO_PAGE ".\n");
        return;
    }
    r->status = 200;
    r->body = page;
    r->n_body = n;
    add_header(r, "Content-Type", "text/html; charset=utf-8");
}

static void take_token(const cr_board_server *s, cr_httpd_res *r) {
    cr_buf *b = cr_alloc(sizeof *b, "a cookie");
    cr_buf_init(b);
    cr_buf_printf(b, COOKIE "%s; Path=/; HttpOnly; SameSite=Strict; Max-Age=2592000", s->token);
    r->status = 303;
    r->body = "";
    r->owner = b;
    r->free = free_body;
    add_header(r, "Location", "/");
    add_header(r, "Set-Cookie", b->data);
}

static void handle(void *ctx, const cr_httpd_req *q, cr_httpd_res *r) {
    cr_board_server *s = ctx;
    bool in_url = false, is_get = strcmp(q->method, "GET") == 0;
    add_header(r, "Cache-Control", "no-store");
    add_header(r, "X-Content-Type-Options", "nosniff");
    add_header(r, "X-Frame-Options", "DENY");
    add_header(r, "Referrer-Policy", "no-referrer");
    if (s->token[0] && !has_token(s, q, &in_url)) {
        say(r, 401,
            "A token is needed here: open the address that 'crank board' printed when it started, "
            "with its ?token=...\n");
    } else if (!s->token[0] && !is_own_name(q->header(q->ctx, "Host"))) {
        say(r, 403,
            "This board answers only to localhost, 127.0.0.1 and [::1]. To reach it from another "
            "machine, start it with --host, or use ssh -L.\n");
    } else if (!is_get && strcmp(q->method, "POST") != 0) {
        say(r, 405, "only GET and POST are known here\n");
    } else if (!is_get && !q->header(q->ctx, "X-Crank")) {
        say(r, 403, "a POST needs the header X-Crank: 1\n");
    } else if (is_get && strcmp(q->path, "/") == 0) {
        if (in_url)
            take_token(s, r);
        else
            answer_page(r);
    } else if (is_get && strcmp(q->path, "/api/events") == 0) {
        answer_events(s, r);
    } else {
        answer(s, q, r);
    }
}

/* ---- life ---- */

static void *follow(void *ctx) {
    cr_board_server *s = ctx;
    while (!atomic_load(&s->stops)) {
        bool more = cr_board_follow(s->board, 0.05);
        struct timespec t = {.tv_nsec = more ? 100000 : 250000000};
        nanosleep(&t, NULL);
    }
    return NULL;
}

static cr_code set_token(cr_board_server *s, const char *given, cr_err *err) {
    unsigned char bytes[16];
    if (given) {
        size_t n = strlen(given);
        if (n < TOKEN_LEAST || n >= sizeof s->token || strcspn(given, " ;,\"\\&#%+") < n)
            return cr_fail(err, CR_EUSAGE,
                           "CRANK_BOARD_TOKEN must have %d to %zu letters, digits, - and _",
                           TOKEN_LEAST, sizeof s->token - 1);
        snprintf(s->token, sizeof s->token, "%s", given);
        return CR_OK;
    }
    if (s->local) return CR_OK;
    CR_TRY(cr_random(bytes, sizeof bytes, err));
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(s->token + 2 * i, 3, "%02x", bytes[i]);
    s->own_token = true;
    return CR_OK;
}

static cr_code listen_at(cr_board_server *s, const char *host, const cr_board_serve *o,
                         cr_err *err) {
    int e;
    cr_httpd_opts h = {.host = host,
                       .port = o->port > 0    ? o->port
                               : o->port == 0 ? CR_BOARD_PORT
                                              : 0,
                       .max_clients = MAX_CLIENTS,
                       .idle_s = IDLE_S,
                       .max_body = CR_BOARD_BODY,
                       .handle = handle,
                       .ctx = s};
    s->httpd = s->plug->start(&h, &e);
    if (!s->httpd && o->port == 0 && e == EADDRINUSE) {
        h.port = 0;
        s->httpd = s->plug->start(&h, &e);
    }
    if (s->httpd) return CR_OK;
    if (e == 0)
        return cr_fail(err, CR_EUSAGE,
                       "'%s' is no address; give one of this machine in digits, as 0.0.0.0", host);
    return cr_fail(err, CR_EIO, "cannot serve at %s port %d: %s; choose another --port or --host",
                   host, h.port, strerror(e));
}

cr_code cr_board_start(cr_board_server **out, cr_board *b, const cr_board_serve *o, cr_err *err) {
    void *plug;
    const char *host = o->host && *o->host ? o->host : "127.0.0.1";
    if (strcmp(host, "localhost") == 0) host = "127.0.0.1";
    CR_TRY(cr_plugin_own("httpd.so", "cr_httpd_plug_of", CR_HTTPD_ABI,
                         "build crank with libmicrohttpd-dev installed", &plug, err));
    cr_board_server *s = cr_alloc(sizeof *s, "a server");
    s->board = b;
    s->plug = plug;
    s->read_only = o->read_only;
    s->local = is_local(host);
    cr_board_wake(b, false);
    cr_code code = set_token(s, o->token, err);
    if (code == CR_OK) code = listen_at(s, host, o, err);
    if (code == CR_OK && pthread_create(&s->follower, NULL, follow, s) != 0) {
        s->plug->stop(s->httpd);
        code = cr_fail(err, CR_EIO, "cannot start a thread; close other programs");
    }
    if (code != CR_OK) {
        cr_free(s);
        return code;
    }
    bool six = strchr(host, ':') != NULL;
    snprintf(s->url, sizeof s->url, "http://%s%s%s:%d/%s%s", six ? "[" : "", host, six ? "]" : "",
             s->plug->port(s->httpd), s->own_token ? "?token=" : "", s->own_token ? s->token : "");
    *out = s;
    return CR_OK;
}

const char *cr_board_url(const cr_board_server *s) {
    return s->url;
}

void cr_board_stop(cr_board_server *s) {
    if (!s) return;
    atomic_store(&s->stops, true);
    cr_board_wake(s->board, true);
    pthread_join(s->follower, NULL);
    s->plug->stop(s->httpd);
    cr_free(s);
}
