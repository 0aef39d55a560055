/*
 * http.h - requests to web servers, for the stores that are reached by HTTP.
 *
 * The library behind it (libcurl) is a plug-in of its own, http-curl.so, which is loaded when the
 * first request is made: a crank that reads local files only never loads it. http_curl.c is the
 * only file that includes curl.h.
 *
 * A request is made once. Whether it is made again is the business of fs.c, which knows from the
 * errno value whether the cause may pass. Redirects are never followed here.
 */
#ifndef CR_STORE_HTTP_H
#define CR_STORE_HTTP_H

#include "base/buf.h"
#include "base/fs.h"

/* ---- what the stores use ---- */

typedef struct cr_http_req {
    const char *method;         /* GET, HEAD, PUT, POST or DELETE */
    const char *url;            /* encoded */
    const char *const *headers; /* "Name: value"; NULL ends the list, and may stand for it */
    const void *body;
    size_t n_body;
    /* the body of an answer with a status of 200 to 299 goes here, `room` bytes at most; NULL: into
     * the answer, as do the bodies of all others */
    void *into;
    size_t room;
    int connect_s, idle_s; /* limits in seconds; 0: those of http.c */
    /* the request must not be made twice: it gets a connection of its own, because the library
     * sends a request again when one that waited in the pool turns out to be closed */
    bool once;
    bool negotiate; /* the ticket of Kerberos is shown (SPNEGO) */
    size_t most;    /* bytes of a body that is kept in the answer; 0: those of http.c */
} cr_http_req;

typedef struct cr_http_res {
    int status;
    cr_buf body;
    size_t got;     /* bytes that went into `into` */
    cr_buf headers; /* "name\0value\0", names in lower case */
} cr_http_res;

/* cr_http_do makes a request; 0: there is an answer, whatever its status. The answer must be given
 * back by cr_http_clear in either case. */
int cr_http_do(const cr_http_req *q, cr_http_res *r, cr_fs_why *why);
void cr_http_clear(cr_http_res *r);
/* cr_http_use lets something else than the plug-in make the calls, for tests; before any call. */
struct cr_http_plug;
void cr_http_use(const struct cr_http_plug *p);
/* cr_http_header returns the value of a header, whose name is given in lower case; "": there is
 * none. */
const char *cr_http_header(const cr_http_res *r, const char *name);
/* cr_http_errno maps a status to an errno value: 404 to ENOENT, 503 to EAGAIN, and so on. */
int cr_http_errno(int status);
/* cr_http_encode adds text with every byte but A-Z a-z 0-9 - . _ ~ as %XX; slashes stay where
 * `path`. */
void cr_http_encode(cr_buf *out, const char *text, size_t n, bool path);
/* cr_http_decode turns %XX back, in place; returns the new length. */
size_t cr_http_decode(char *text, size_t n);

/* ---- what the plug-in has ---- */

#define CR_HTTP_ABI 4

typedef struct cr_http_call {
    const cr_http_req *req;
    const char *ca_file; /* NULL: that of the system */
    /* header lines without their ends, a status line too; and pieces of the body: false ends the
     * call */
    void (*head)(void *ctx, const char *line, size_t n);
    bool (*data)(void *ctx, const void *p, size_t n, int status);
    void *ctx;
    int status;
    char why[160]; /* the cause of a failure */
} cr_http_call;

typedef struct cr_http_plug {
    int abi;
    /* call returns 0 when an answer came whole, else an errno value */
    int (*call)(cr_http_call *c);
} cr_http_plug;
extern const cr_http_plug cr_http_plug_of; /* what crank looks for in the library */

#endif
