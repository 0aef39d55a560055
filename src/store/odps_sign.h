/*
 * odps_sign.h - signatures of requests to MaxCompute, versions 2 and 4. Pure functions of their
 * arguments: no clock, no environment.
 *
 * The text that is signed has the method, the digest and type of the body, the date, all headers
 * whose names begin with x-odps-, and the path with its sorted query, not encoded. Version 4
 * derives the key from day and region by SHA-256; both sign by SHA-1.
 */
#ifndef CR_STORE_ODPS_SIGN_H
#define CR_STORE_ODPS_SIGN_H

#include "base/buf.h"
#include "store/sig4.h"

typedef struct cr_odps_sign {
    const char *id, *secret;
    const char *region; /* "": version 2 */
    const char *method;
    const char *md5, *type; /* of the body; "": none */
    const char *date;       /* Wed, 01 Jan 2025 00:00:00 GMT */
    char day[9];            /* 20250101, for version 4 */
    cr_sig4_pair *headers;  /* those that begin with x-odps-, in lower case; sorted by the call */
    int n_headers;
    const char *path;    /* below the endpoint, not encoded */
    cr_sig4_pair *query; /* not encoded; sorted by the call */
    int n_query;
} cr_odps_sign;

/* cr_odps_date writes a time as the Date header has it, and its day. */
void cr_odps_date(char date[40], char day[9], int64_t seconds);
/* cr_odps_signature writes the value of the Authorization header. */
void cr_odps_signature(cr_odps_sign *s, cr_buf *out);
/* cr_odps_md5 writes the digest of a body as 32 hexadecimal digits. */
void cr_odps_md5(const void *data, size_t n, char out[33]);

#endif
