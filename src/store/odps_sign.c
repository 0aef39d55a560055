/*
 * odps_sign.c - see odps_sign.h.
 */
#include "store/odps_sign.h"

#include <nettle/base64.h>
#include <nettle/hmac.h>
#include <nettle/md5.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void cr_odps_date(char date[40], char day[9], int64_t seconds) {
    time_t t = (time_t)seconds;
    struct tm tm;
    gmtime_r(&t, &tm);
    /* the names of days and months are English whatever the locale, because crank sets none */
    strftime(date, 40, "%a, %d %b %Y %H:%M:%S GMT", &tm);
    strftime(day, 9, "%Y%m%d", &tm);
}

void cr_odps_md5(const void *data, size_t n, char out[33]) {
    static const char hex[] = "0123456789abcdef";
    struct md5_ctx c;
    uint8_t d[MD5_DIGEST_SIZE];
    md5_init(&c);
    md5_update(&c, n, data);
    md5_digest(&c, sizeof d, d);
    for (size_t i = 0; i < sizeof d; i++) {
        out[2 * i] = hex[d[i] >> 4];
        out[2 * i + 1] = hex[d[i] & 15];
    }
    out[32] = 0;
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const cr_sig4_pair *)a)->name, ((const cr_sig4_pair *)b)->name);
}

static void canonical(cr_odps_sign *s, cr_buf *out) {
    if (s->n_headers > 0) qsort(s->headers, (size_t)s->n_headers, sizeof *s->headers, by_name);
    if (s->n_query > 0) qsort(s->query, (size_t)s->n_query, sizeof *s->query, by_name);
    cr_buf_printf(out, "%s\n%s\n%s\n%s\n", s->method, s->md5, s->type, s->date);
    for (int i = 0; i < s->n_headers; i++)
        cr_buf_printf(out, "%s:%s\n", s->headers[i].name, s->headers[i].value);
    cr_buf_str(out, s->path);
    for (int i = 0; i < s->n_query; i++) {
        cr_buf_printf(out, "%s%s", i ? "&" : "?", s->query[i].name);
        if (*s->query[i].value) cr_buf_printf(out, "=%s", s->query[i].value);
    }
}

static void hmac256(uint8_t key[32], size_t n_key, const void *start, const char *text) {
    struct hmac_sha256_ctx c;
    hmac_sha256_set_key(&c, n_key, start);
    hmac_sha256_update(&c, strlen(text), (const uint8_t *)text);
    hmac_sha256_digest(&c, 32, key);
}

void cr_odps_signature(cr_odps_sign *s, cr_buf *out) {
    cr_buf text, secret;
    struct hmac_sha1_ctx c;
    uint8_t key[32], mac[SHA1_DIGEST_SIZE];
    char b64[BASE64_ENCODE_RAW_LENGTH(SHA1_DIGEST_SIZE) + 1];
    cr_buf_init(&text);
    cr_buf_init(&secret);
    canonical(s, &text);
    cr_buf_printf(out, "ODPS %s", s->id);
    if (*s->region) {
        cr_buf_printf(&secret, "aliyun_v4%s", s->secret);
        hmac256(key, secret.n, secret.data, s->day);
        hmac256(key, 32, key, s->region);
        hmac256(key, 32, key, "odps");
        hmac256(key, 32, key, "aliyun_v4_request");
        hmac_sha1_set_key(&c, 32, key);
        cr_buf_printf(out, "/%s/%s/odps/aliyun_v4_request", s->day, s->region);
        if (secret.data) explicit_bzero(secret.data, secret.n);
    } else {
        hmac_sha1_set_key(&c, strlen(s->secret), (const uint8_t *)s->secret);
    }
    hmac_sha1_update(&c, text.n, (const uint8_t *)text.data);
    hmac_sha1_digest(&c, sizeof mac, mac);
    base64_encode_raw(b64, sizeof mac, mac);
    b64[sizeof b64 - 1] = 0;
    cr_buf_printf(out, ":%s", b64);
    explicit_bzero(key, sizeof key);
    explicit_bzero(&c, sizeof c);
    cr_buf_clear(&text);
    cr_buf_clear(&secret);
}
