/*
 * sig4.c - see sig4.h. The order is that of the encoded names, then of the encoded values.
 */
#include "store/sig4.h"

#include <nettle/hmac.h>
#include <nettle/sha2.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/sha256.h"
#include "store/http.h"

const cr_sig4_style cr_sig4_s3 = {.algorithm = "AWS4-HMAC-SHA256",
                                  .key = "AWS4",
                                  .service = "s3",
                                  .request = "aws4_request",
                                  .names = true};
const cr_sig4_style cr_sig4_oss = {.algorithm = "OSS4-HMAC-SHA256",
                                   .key = "aliyun_v4",
                                   .service = "oss",
                                   .request = "aliyun_v4_request",
                                   .bare = true};

void cr_sig4_time(char out[17], int64_t seconds) {
    time_t t = (time_t)seconds;
    struct tm tm;
    gmtime_r(&t, &tm);
    strftime(out, 17, "%Y%m%dT%H%M%SZ", &tm);
}

static int by_name(const void *a, const void *b) {
    const cr_sig4_pair *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : strcmp(x->value, y->value);
}

void cr_sig4_query(const cr_sig4_style *style, cr_sig4_pair *query, int n, cr_buf *out) {
    /* encoded first: "+a" comes before "a" as it is, and "%2Ba" too, but "|a" only when encoded */
    cr_buf *text = cr_alloc((size_t)n * 2 * sizeof *text + 1, "a query");
    cr_sig4_pair *v = cr_alloc((size_t)n * sizeof *v + 1, "a query");
    for (int i = 0; i < n; i++) {
        cr_buf_init(&text[2 * i]);
        cr_buf_init(&text[2 * i + 1]);
        cr_http_encode(&text[2 * i], query[i].name, strlen(query[i].name), false);
        cr_http_encode(&text[2 * i + 1], query[i].value, strlen(query[i].value), false);
        v[i] = (cr_sig4_pair){text[2 * i].n ? text[2 * i].data : "",
                              text[2 * i + 1].n ? text[2 * i + 1].data : ""};
    }
    if (n > 0) qsort(v, (size_t)n, sizeof *v, by_name);
    for (int i = 0; i < n; i++) {
        cr_buf_printf(out, "%s%s", i ? "&" : "", v[i].name);
        if (*v[i].value || !style->bare) cr_buf_printf(out, "=%s", v[i].value);
    }
    for (int i = 0; i < 2 * n; i++)
        cr_buf_clear(&text[i]);
    cr_free(text);
    cr_free(v);
}

static void hmac(uint8_t out[32], const void *key, size_t n_key, const char *text) {
    struct hmac_sha256_ctx c;
    hmac_sha256_set_key(&c, n_key, key);
    hmac_sha256_update(&c, strlen(text), (const uint8_t *)text);
    hmac_sha256_digest(&c, 32, out);
}

static void add_names(const cr_sig4 *s, cr_buf *out) {
    for (int i = 0; i < s->n_headers; i++)
        cr_buf_printf(out, "%s%s", i ? ";" : "", s->headers[i].name);
}

static void add_scope(const cr_sig4 *s, cr_buf *out) {
    cr_buf_printf(out, "%.8s/%s/%s/%s", s->time, s->region, s->style->service, s->style->request);
}

void cr_sig4_sign(cr_sig4 *s, char out[65]) {
    cr_buf c;
    cr_buf_init(&c);
    if (s->n_headers > 0) qsort(s->headers, (size_t)s->n_headers, sizeof *s->headers, by_name);
    cr_buf_printf(&c, "%s\n", s->method);
    cr_http_encode(&c, s->path, strlen(s->path), true);
    cr_buf_char(&c, '\n');
    cr_sig4_query(s->style, s->query, s->n_query, &c);
    cr_buf_char(&c, '\n');
    for (int i = 0; i < s->n_headers; i++)
        cr_buf_printf(&c, "%s:%s\n", s->headers[i].name, s->headers[i].value);
    cr_buf_char(&c, '\n');
    if (s->style->names) add_names(s, &c);
    cr_buf_printf(&c, "\n%s", s->payload);
    char digest[CR_SHA256_TEXT + 1];
    cr_sha256_text(c.data, c.n, digest);
    cr_buf_reset(&c);
    cr_buf_printf(&c, "%s\n%s\n", s->style->algorithm, s->time);
    add_scope(s, &c);
    cr_buf_printf(&c, "\n%s", digest);

    cr_buf first;
    cr_buf_init(&first);
    cr_buf_printf(&first, "%s%s", s->style->key, s->secret);
    char day[9] = "";
    memcpy(day, s->time, 8);
    uint8_t k[32];
    hmac(k, first.data, first.n, day);
    hmac(k, k, sizeof k, s->region);
    hmac(k, k, sizeof k, s->style->service);
    hmac(k, k, sizeof k, s->style->request);
    hmac(k, k, sizeof k, c.data);
    explicit_bzero(first.data, first.n);
    cr_buf_clear(&first);
    cr_buf_clear(&c);
    for (int i = 0; i < 32; i++) {
        out[2 * i] = "0123456789abcdef"[k[i] >> 4];
        out[2 * i + 1] = "0123456789abcdef"[k[i] & 15];
    }
    out[64] = 0;
}

void cr_sig4_header(cr_sig4 *s, cr_buf *out) {
    char signature[65];
    cr_sig4_sign(s, signature);
    cr_buf_printf(out, "Authorization: %s Credential=%s/", s->style->algorithm, s->id);
    add_scope(s, out);
    cr_buf_char(out, ',');
    if (s->style->names) {
        cr_buf_str(out, " SignedHeaders=");
        add_names(s, out);
        cr_buf_str(out, ", ");
    }
    cr_buf_printf(out, "Signature=%s", signature);
}
