/*
 * httpd.h - a server for web pages, as a plug-in.
 *
 * The library behind it (libmicrohttpd) is in a plug-in of its own, httpd.so, which is loaded when
 * a server starts; httpd_mhd.c is the only file that knows it. The plug-in moves bytes: it takes
 * requests apart and calls the handler, on a thread per connection.
 */
#ifndef CR_BOARD_HTTPD_H
#define CR_BOARD_HTTPD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define CR_HTTPD_ABI     1
#define CR_HTTPD_HEADERS 8

typedef struct cr_httpd_req {
    const char *method, *path;
    const char *body; /* never NULL */
    size_t n_body;
    /* values of the query and of the headers; NULL: not given */
    const char *(*arg)(void *ctx, const char *name);
    const char *(*header)(void *ctx, const char *name);
    void *ctx;
} cr_httpd_req;

typedef struct cr_httpd_res {
    int status;
    const char *headers[CR_HTTPD_HEADERS][2]; /* name, value; the first NULL ends them */
    const char *body;
    size_t n_body;
    /* not NULL: the body is what it gives, piece by piece; -1 ends it. It may wait. */
    ssize_t (*next)(void *owner, char *out, size_t n);
    void (*free)(void *owner); /* called once the answer has been sent or given up; may be NULL */
    void *owner;
} cr_httpd_res;

typedef struct cr_httpd_opts {
    const char *host; /* a numeric address */
    int port;         /* 0: any free one */
    int max_clients, idle_s;
    size_t max_body; /* a larger body of a request is refused */
    void (*handle)(void *ctx, const cr_httpd_req *q, cr_httpd_res *r);
    void *ctx;
} cr_httpd_opts;

typedef struct cr_httpd cr_httpd;
typedef struct cr_httpd_plug {
    int abi;
    /* returns NULL when it cannot; *e is then an errno value, or 0 for an address that is none */
    cr_httpd *(*start)(const cr_httpd_opts *o, int *e);
    int (*port)(cr_httpd *h);
    void (*stop)(cr_httpd *h); /* waits for the answers under way */
} cr_httpd_plug;

#endif
