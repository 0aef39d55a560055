/*
 * tcp.h - a TCP connection to a server of a store that does not speak HTTP: bytes go out, bytes
 * come in, and nothing waits for ever.
 *
 * The limits are those of http.h: 10 seconds to connect, and then 30 seconds with less than a
 * kilobyte per second end the connection. One thread uses a connection at a time.
 */
#ifndef CR_STORE_TCP_H
#define CR_STORE_TCP_H

#include "base/buf.h"
#include "base/fs.h"

typedef struct cr_tcp cr_tcp;

/* cr_tcp_open connects. The cause of a failure in `why` names the host. */
int cr_tcp_open(cr_tcp **out, const char *host, int port, cr_fs_why *why);
void cr_tcp_close(cr_tcp *w); /* NULL is fine */
int cr_tcp_send(cr_tcp *w, const void *p, size_t n, cr_fs_why *why);
/* cr_tcp_read waits for n bytes. ECONNRESET: the other end closed the connection before. */
int cr_tcp_read(cr_tcp *w, void *p, size_t n, cr_fs_why *why);
/* cr_tcp_varint reads a number as protobuf writes lengths; EPROTO: it is none. */
int cr_tcp_varint(cr_tcp *w, uint64_t *x, cr_fs_why *why);
/* cr_tcp_take reads n bytes into a buffer, which grows as they come: a length that is a lie takes
 * no memory. */
int cr_tcp_take(cr_tcp *w, cr_buf *out, size_t n, cr_fs_why *why);
/* cr_tcp_name: "host:port", for messages. */
const char *cr_tcp_name(const cr_tcp *w);

/* What moves the bytes. cr_tcp_use lets something else than sockets do it, for tests; before any
 * connection is made. */
typedef struct cr_tcp_plug {
    int connect_ms, idle_ms;
    int (*open)(void **c, const char *host, int port, int limit_ms, cr_fs_why *why);
    /* at least one byte and at most n; *got is 0 when the other end has closed. ETIMEDOUT: nothing
     * came in limit_ms; with 0 it does not wait */
    int (*recv)(void *c, void *p, size_t n, size_t *got, int limit_ms);
    int (*send)(void *c, const void *p, size_t n, int limit_ms);
    void (*close)(void *c);
} cr_tcp_plug;
void cr_tcp_use(const cr_tcp_plug *p); /* NULL: sockets again */

#endif
