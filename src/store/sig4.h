/*
 * sig4.h - signatures of version 4, as S3 and OSS want them in requests. Pure functions of their
 * arguments: no clock, no environment.
 *
 * The library's own signing is not used: that of libcurl 7.88 is wrong for keys with "=", which
 * every Hive partition has.
 */
#ifndef CR_STORE_SIG4_H
#define CR_STORE_SIG4_H

#include "base/buf.h"

/* How the two differ. */
typedef struct cr_sig4_style {
    const char *algorithm; /* AWS4-HMAC-SHA256 */
    const char *key;       /* in front of the secret: AWS4 */
    const char *service;   /* s3 */
    const char *request;   /* aws4_request */
    bool bare;             /* a parameter without a value has no "=" */
    bool names;            /* the names of signed headers are a line of their own and are sent */
} cr_sig4_style;
extern const cr_sig4_style cr_sig4_s3, cr_sig4_oss;

typedef struct cr_sig4_pair {
    const char *name, *value;
} cr_sig4_pair;

typedef struct cr_sig4 {
    const cr_sig4_style *style;
    const char *id, *secret, *region;
    char time[17];       /* 20250101T000000Z */
    const char *method;  /* GET */
    const char *path;    /* not encoded; begins with a slash */
    cr_sig4_pair *query; /* not encoded; sorted by the call */
    int n_query;
    cr_sig4_pair *headers; /* those that are signed, names in lower case; sorted by the call */
    int n_headers;
    const char *payload; /* UNSIGNED-PAYLOAD, or the digest of the body */
} cr_sig4;

/* cr_sig4_time writes a time as requests carry it. */
void cr_sig4_time(char out[17], int64_t seconds);
/* cr_sig4_sign writes the signature as 64 hexadecimal digits. */
void cr_sig4_sign(cr_sig4 *s, char out[65]);
/* cr_sig4_header adds "Authorization: ..." with the signature. */
void cr_sig4_header(cr_sig4 *s, cr_buf *out);
/* cr_sig4_query adds the encoded query, as it is signed and sent: "a=1&b=2". */
void cr_sig4_query(const cr_sig4_style *style, cr_sig4_pair *query, int n, cr_buf *out);

#endif
