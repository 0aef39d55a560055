/*
 * httpd_mhd.c - libmicrohttpd behind the table of httpd.h; the plug-in httpd.so. The only file that
 * includes microhttpd.h.
 *
 * A thread per connection: an answer may wait (events), and a client that reads slowly holds up
 * nobody else. The number of clients, the bytes of a head and the time without a byte are limited.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "board/httpd.h"

#define HEAD_BYTES  ((size_t)32 << 10)
#define STACK_BYTES ((size_t)512 << 10)
#define PIECE       4096

struct cr_httpd {
    cr_httpd_opts o;
    struct MHD_Daemon *d;
};

/* A request whose body is still coming. */
typedef struct incoming {
    char *body;
    size_t n, cap;
    int refused; /* a status */
} incoming;

static const char *arg_of(void *ctx, const char *name) {
    return MHD_lookup_connection_value(ctx, MHD_GET_ARGUMENT_KIND, name);
}

static const char *header_of(void *ctx, const char *name) {
    return MHD_lookup_connection_value(ctx, MHD_HEADER_KIND, name);
}

static void take_body(const cr_httpd *h, incoming *in, const char *data, size_t n) {
    if (in->refused) return;
    if (n > h->o.max_body - in->n) {
        in->refused = 413;
        return;
    }
    if (in->n + n + 1 > in->cap) {
        size_t cap = 2 * (in->n + n) + 1;
        char *p = realloc(in->body, cap);
        if (!p) {
            in->refused = 503;
            return;
        }
        in->body = p;
        in->cap = cap;
    }
    memcpy(in->body + in->n, data, n);
    in->n += n;
    in->body[in->n] = 0;
}

/* A stream of pieces. */
typedef struct stream {
    ssize_t (*next)(void *owner, char *out, size_t n);
    void (*free)(void *owner);
    void *owner;
} stream;

static ssize_t read_stream(void *cls, uint64_t pos, char *buf, size_t max) {
    stream *s = cls;
    (void)pos;
    ssize_t n = s->next(s->owner, buf, max);
    return n < 0 ? MHD_CONTENT_READER_END_OF_STREAM : n;
}

static void free_stream(void *cls) {
    stream *s = cls;
    if (s->free) s->free(s->owner);
    free(s);
}

static void free_nothing(void *cls) {
    (void)cls;
}

static struct MHD_Response *response_of(const cr_httpd_res *r) {
    if (!r->next)
        return MHD_create_response_from_buffer_with_free_callback_cls(
            r->n_body, (void *)(uintptr_t)r->body, r->free ? r->free : free_nothing, r->owner);
    stream *s = malloc(sizeof *s);
    if (!s) return NULL;
    *s = (stream){r->next, r->free, r->owner};
    struct MHD_Response *m =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, PIECE, read_stream, s, free_stream);
    if (!m) free(s);
    return m;
}

static enum MHD_Result send_answer(struct MHD_Connection *c, const cr_httpd_res *r) {
    struct MHD_Response *m = response_of(r);
    if (!m) {
        if (r->free) r->free(r->owner);
        return MHD_NO;
    }
    for (int i = 0; i < CR_HTTPD_HEADERS && r->headers[i][0]; i++)
        (void)MHD_add_response_header(m, r->headers[i][0], r->headers[i][1]);
    enum MHD_Result ok = MHD_queue_response(c, (unsigned)r->status, m);
    MHD_destroy_response(m);
    return ok;
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *c, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *n, void **state) {
    cr_httpd *h = cls;
    incoming *in = *state;
    (void)version;
    if (!in) {
        *state = in = calloc(1, sizeof *in);
        return in ? MHD_YES : MHD_NO;
    }
    if (*n > 0) {
        take_body(h, in, data, *n);
        *n = 0;
        return MHD_YES;
    }
    cr_httpd_res r = {.status = in->refused, .body = ""};
    cr_httpd_req q = {.method = method,
                      .path = url,
                      .body = in->body ? in->body : "",
                      .n_body = in->n,
                      .arg = arg_of,
                      .header = header_of,
                      .ctx = c};
    if (!in->refused) h->o.handle(h->o.ctx, &q, &r);
    return send_answer(c, &r);
}

static void on_done(void *cls, struct MHD_Connection *c, void **state,
                    enum MHD_RequestTerminationCode why) {
    incoming *in = *state;
    (void)cls;
    (void)c;
    (void)why;
    if (!in) return;
    free(in->body);
    free(in);
    *state = NULL;
}

static cr_httpd *start(const cr_httpd_opts *o, int *e) {
    struct addrinfo *a = NULL,
                    ask = {.ai_flags = AI_NUMERICHOST | AI_PASSIVE, .ai_socktype = SOCK_STREAM};
    *e = 0;
    if (getaddrinfo(o->host, NULL, &ask, &a) != 0 || !a) return NULL;
    uint16_t port = htons((uint16_t)o->port);
    bool six = a->ai_family == AF_INET6;
    if (six)
        ((struct sockaddr_in6 *)(void *)a->ai_addr)->sin6_port = port;
    else
        ((struct sockaddr_in *)(void *)a->ai_addr)->sin_port = port;
    cr_httpd *h = calloc(1, sizeof *h);
    if (h) {
        h->o = *o;
        errno = 0;
        unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION |
                         MHD_USE_POLL | (six ? MHD_USE_IPv6 : 0);
        h->d = MHD_start_daemon(flags, 0, NULL, NULL, on_request, h, MHD_OPTION_SOCK_ADDR,
                                a->ai_addr, MHD_OPTION_CONNECTION_LIMIT, (unsigned)o->max_clients,
                                MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)o->idle_s,
                                MHD_OPTION_CONNECTION_MEMORY_LIMIT, HEAD_BYTES,
                                MHD_OPTION_THREAD_STACK_SIZE, STACK_BYTES,
                                MHD_OPTION_NOTIFY_COMPLETED, on_done, NULL, MHD_OPTION_END);
        *e = errno;
    }
    if (!h || !h->d) {
        if (!*e) *e = EADDRINUSE; /* the library does not always say */
        free(h);
        h = NULL;
    }
    freeaddrinfo(a);
    return h;
}

static int port_of(cr_httpd *h) {
    const union MHD_DaemonInfo *i = MHD_get_daemon_info(h->d, MHD_DAEMON_INFO_BIND_PORT);
    return i ? i->port : 0;
}

static void stop(cr_httpd *h) {
    if (!h) return;
    MHD_stop_daemon(h->d);
    free(h);
}

const cr_httpd_plug cr_httpd_plug_of = {.abi = CR_HTTPD_ABI,
                                        .start = start,
                                        .port = port_of,
                                        .stop = stop};
