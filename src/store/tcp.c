/*
 * tcp.c - see tcp.h. Small reads come from a buffer: a packet of a data node has three parts
 * before its data, which would be a system call each.
 */
#include "store/tcp.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BUFFER     ((size_t)16 << 10)
#define STEP       ((size_t)1 << 20) /* memory that is taken before its bytes came */
#define LEAST_RATE 1024              /* bytes per second */

struct cr_tcp {
    const cr_tcp_plug *plug;
    void *c;
    int64_t since, came; /* a stretch of idle_ms, and the bytes that came in it */
    size_t at, n;        /* of buf */
    char name[300];
    char buf[BUFFER];
};

static int64_t now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- sockets ---- */

typedef struct sock {
    int fd;
} sock;

static int wait_for(int fd, short what, int limit_ms) {
    int64_t end = now_ms() + limit_ms;
    for (;;) {
        struct pollfd p = {.fd = fd, .events = what};
        int64_t left = end - now_ms();
        int k = poll(&p, 1, left > 0 ? (int)left : 0);
        if (k > 0) return 0;
        if (k == 0) return ETIMEDOUT;
        if (errno != EINTR) return errno;
    }
}

static int dial(const struct addrinfo *x, int limit_ms, int *out) {
    int one = 1, fd = socket(x->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), e = 0;
    if (fd < 0) return errno;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
    if (connect(fd, x->ai_addr, x->ai_addrlen) != 0) {
        socklen_t size = sizeof e;
        e = errno == EINPROGRESS ? wait_for(fd, POLLOUT, limit_ms) : errno;
        if (e == 0 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &e, &size) != 0) e = errno;
    }
    if (e == 0)
        *out = fd;
    else
        (void)close(fd);
    return e;
}

static int sock_open(void **c, const char *host, int port, int limit_ms, cr_fs_why *why) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV}, *list = NULL;
    char text[16];
    int fd = -1, e = EHOSTUNREACH;
    snprintf(text, sizeof text, "%d", port);
    int g = getaddrinfo(host, text, &hints, &list);
    if (g != 0) {
        snprintf(why->text, sizeof why->text, "the name does not resolve: %s",
                 g == EAI_SYSTEM ? strerror(errno) : gai_strerror(g));
        return EHOSTUNREACH;
    }
    for (const struct addrinfo *x = list; x && fd < 0; x = x->ai_next)
        e = dial(x, limit_ms, &fd);
    freeaddrinfo(list);
    if (fd < 0) {
        snprintf(why->text, sizeof why->text, "%s",
                 e == ETIMEDOUT ? "no connection within the limit" : strerror(e));
        return e;
    }
    sock *s = cr_alloc(sizeof *s, "a connection");
    s->fd = fd;
    *c = s;
    return 0;
}

static int sock_recv(void *c, void *p, size_t n, size_t *got, int limit_ms) {
    const sock *s = c;
    for (;;) {
        ssize_t k = recv(s->fd, p, n, 0);
        if (k >= 0) {
            *got = (size_t)k;
            return 0;
        }
        if (errno == EINTR) continue;
        if (errno != EAGAIN && errno != EWOULDBLOCK) return errno;
        int e = limit_ms > 0 ? wait_for(s->fd, POLLIN, limit_ms) : ETIMEDOUT;
        if (e != 0) return e;
    }
}

static int sock_send(void *c, const void *p, size_t n, int limit_ms) {
    const sock *s = c;
    const char *from = p;
    while (n > 0) {
        ssize_t k = send(s->fd, from, n, MSG_NOSIGNAL);
        if (k >= 0) {
            from += k;
            n -= (size_t)k;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            int e = wait_for(s->fd, POLLOUT, limit_ms);
            if (e != 0) return e;
        } else if (errno != EINTR) {
            return errno;
        }
    }
    return 0;
}

static void sock_close(void *c) {
    (void)close(((sock *)c)->fd);
    cr_free(c);
}

static const cr_tcp_plug sockets = {10000, 30000, sock_open, sock_recv, sock_send, sock_close};
static const cr_tcp_plug *used = &sockets;

void cr_tcp_use(const cr_tcp_plug *p) {
    used = p ? p : &sockets;
}

/* ---- connections ---- */

/* Puts the name of the other end in front of the cause. */
static int failed(const cr_tcp *w, int e, const char *cause, cr_fs_why *why) {
    snprintf(why->text, sizeof why->text, "%.60s: %.90s", w->name, cause);
    return e;
}

int cr_tcp_open(cr_tcp **out, const char *host, int port, cr_fs_why *why) {
    cr_tcp *w = cr_alloc(sizeof *w, "a connection");
    w->plug = used;
    snprintf(w->name, sizeof w->name, "%.250s:%d", host, port);
    why->text[0] = 0;
    int e = w->plug->open(&w->c, host, port, w->plug->connect_ms, why);
    if (e != 0) {
        char cause[sizeof why->text];
        memcpy(cause, why->text, sizeof cause);
        failed(w, e, cause[0] ? cause : strerror(e), why);
        cr_free(w);
        return e;
    }
    w->since = now_ms();
    *out = w;
    return 0;
}

void cr_tcp_close(cr_tcp *w) {
    if (!w) return;
    w->plug->close(w->c);
    explicit_bzero(w->buf, sizeof w->buf); /* tokens of blocks passed here */
    cr_free(w);
}

const char *cr_tcp_name(const cr_tcp *w) {
    return w->name;
}

int cr_tcp_send(cr_tcp *w, const void *p, size_t n, cr_fs_why *why) {
    int e = w->plug->send(w->c, p, n, w->plug->idle_ms);
    w->since = now_ms();
    w->came = 0;
    return e == 0 ? 0 : failed(w, e, strerror(e), why);
}

/* Takes what is there, or waits for it, while the other end keeps the pace. */
static int some(cr_tcp *w, void *p, size_t n, size_t *got, cr_fs_why *why) {
    int e = w->plug->recv(w->c, p, n, got, 0);
    while (e == ETIMEDOUT) { /* nothing has come yet */
        int64_t now = now_ms(), left = w->since + w->plug->idle_ms - now;
        if (left <= 0 && w->came < (int64_t)LEAST_RATE * w->plug->idle_ms / 1000)
            return failed(w, ETIMEDOUT, "the answer stopped coming", why);
        if (left <= 0) {
            w->since = now;
            w->came = 0;
            left = w->plug->idle_ms;
        }
        e = w->plug->recv(w->c, p, n, got, (int)left);
    }
    if (e != 0) return failed(w, e, strerror(e), why);
    if (*got == 0) return failed(w, ECONNRESET, "the connection was closed", why);
    w->came += (int64_t)*got;
    return 0;
}

int cr_tcp_read(cr_tcp *w, void *p, size_t n, cr_fs_why *why) {
    char *to = p;
    while (n > 0) {
        size_t k = w->n - w->at;
        int e = 0;
        if (k > 0) {
            if (k > n) k = n;
            memcpy(to, w->buf + w->at, k);
            w->at += k;
        } else if (n >= BUFFER) {
            e = some(w, to, n, &k, why);
        } else {
            w->at = w->n = 0;
            e = some(w, w->buf, BUFFER, &w->n, why);
        }
        if (e != 0) return e;
        to += k;
        n -= k;
    }
    return 0;
}

int cr_tcp_varint(cr_tcp *w, uint64_t *x, cr_fs_why *why) {
    *x = 0;
    for (int shift = 0; shift < 35; shift += 7) {
        unsigned char c;
        int e = cr_tcp_read(w, &c, 1, why);
        if (e != 0) return e;
        *x |= (uint64_t)(c & 0x7f) << shift;
        if (!(c & 0x80)) return 0;
    }
    return failed(w, EPROTO, "the answer has no length", why);
}

int cr_tcp_take(cr_tcp *w, cr_buf *out, size_t n, cr_fs_why *why) {
    cr_buf_reset(out);
    while (out->n < n) {
        size_t k = n - out->n < STEP ? n - out->n : STEP;
        cr_buf_reserve(out, k);
        int e = cr_tcp_read(w, out->data + out->n, k, why);
        if (e != 0) return e;
        out->n += k;
        out->data[out->n] = 0;
    }
    return 0;
}
