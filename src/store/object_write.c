/*
 * object_write.c - writing and removing in object stores.
 *
 * A small file is one request at commit. A larger one is an upload in parts, which nobody sees
 * until it is completed; one that is not completed is given up, and a killed process leaves parts
 * that the store shows nowhere (a rule of the bucket removes them after some days).
 *
 * A call that failed is made again with the same bytes (fs.h), so write sends a full buffer before
 * it takes anything new, and commit goes on where it stopped.
 */
#include <errno.h>
#include <inttypes.h>
#include <nettle/base64.h>
#include <nettle/md5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/crc64.h"
#include "store/object.h"
#include "store/xml.h"

#define PART       ((size_t)8 << 20) /* bytes of the first parts */
#define GROW_EVERY 1000 /* parts, after which parts are twice as large: 10,000 are allowed */
#define AT_ONCE    1000 /* keys that one request removes */
#define JOIN_S     300 /* S3 says that it may take minutes to put the parts of an object together */

typedef struct part {
    char etag[72];
} part;

typedef struct writer {
    cr_buf buf;
    char *upload; /* number of the upload; NULL: it has none yet */
    part *parts;
    int n_parts, cap_parts;
    int64_t size; /* bytes that were sent in parts */
    uint64_t crc; /* of all bytes */
    bool is_new, done;
    char path[];
} writer;

int cr_obj_put(void **out, const char *path, unsigned flags, cr_fs_why *why) {
    cr_obj_place p;
    cr_fs_stat st;
    int e = cr_obj_split(&p, path, why);
    if (e != 0) return e;
    if (!p.key[0]) {
        snprintf(why->text, sizeof why->text, "the path names a bucket and no file in it");
        return EISDIR;
    }
    if (flags & CR_PUT_NEW) {
        e = cr_obj_stat(path, true, &st, why);
        if (e != ENOENT) return e ? e : EEXIST;
        *why = (cr_fs_why){.tries = why->tries};
    }
    writer *w = cr_alloc(sizeof *w + strlen(path) + 1, "a file that is written");
    cr_buf_init(&w->buf);
    w->is_new = flags & CR_PUT_NEW;
    memcpy(w->path, path, strlen(path) + 1);
    *out = w;
    return 0;
}

static size_t part_bytes(const writer *w) {
    int times = w->n_parts / GROW_EVERY;
    return PART << (times < 8 ? times : 8);
}

static int begin_upload(writer *w, cr_fs_why *why) {
    cr_http_res r;
    char id[1100];
    cr_obj_req q = {.method = "POST"};
    q.query[q.n_query++] = (cr_sig4_pair){"uploads", ""};
    q.headers[q.n_headers++] = (cr_sig4_pair){"content-type", "application/octet-stream"};
    int e = cr_obj_call(w->path, &q, &r, why);
    if (e == 0 && r.body.data) {
        size_t n =
            cr_xml_text((cr_xml){r.body.data, r.body.data + r.body.n}, "UploadId", id, sizeof id);
        if (n > 0 && n < sizeof id) {
            w->upload = cr_alloc(n + 1, "an upload");
            memcpy(w->upload, id, n + 1);
        }
    }
    cr_http_clear(&r);
    if (e == 0 && !w->upload) {
        snprintf(why->text, sizeof why->text, "the answer has no number for the upload");
        return EPROTO;
    }
    return e;
}

/* Sends what is in the buffer as the next part. */
static int send_part(writer *w, cr_fs_why *why) {
    cr_http_res r;
    char number[16];
    int e = w->upload ? 0 : begin_upload(w, why);
    if (e != 0) return e;
    snprintf(number, sizeof number, "%d", w->n_parts + 1);
    cr_obj_req q = {.method = "PUT", .body = w->buf.data, .n_body = w->buf.n};
    q.query[q.n_query++] = (cr_sig4_pair){"partNumber", number};
    q.query[q.n_query++] = (cr_sig4_pair){"uploadId", w->upload};
    e = cr_obj_call(w->path, &q, &r, why);
    part sent = {""};
    if (e == 0) e = cr_obj_etag(w->path, &r, sent.etag, sizeof sent.etag, why);
    if (e == 0) {
        if (w->n_parts == w->cap_parts) {
            int more = w->cap_parts ? 2 * w->cap_parts : 16;
            w->parts = cr_realloc(w->parts, (size_t)w->cap_parts * sizeof *w->parts,
                                  (size_t)more * sizeof *w->parts, "parts of an upload");
            w->cap_parts = more;
        }
        w->parts[w->n_parts++] = sent;
        w->size += (int64_t)w->buf.n;
        cr_buf_reset(&w->buf);
    }
    cr_http_clear(&r);
    return e;
}

int cr_obj_write(void *out, const void *data, size_t n, cr_fs_why *why) {
    writer *w = out;
    if (w->buf.n >= part_bytes(w)) {
        int e = send_part(w, why);
        if (e != 0) return e;
    }
    cr_buf_add(&w->buf, data, n);
    w->crc = cr_crc64(w->crc, data, n);
    return 0;
}

/* Has the store what was sent? */
static int check_sum(const writer *w, const cr_http_res *r, cr_fs_why *why) {
    const cr_cloud *c = cr_cloud_of(w->path);
    const char *told = c->checksum ? cr_http_header(r, c->checksum) : "";
    uint64_t crc;
    if (!*told || (cr_parse_u64(told, strlen(told), &crc) && crc == w->crc)) return 0;
    snprintf(why->text, sizeof why->text,
             "the store has other bytes than were sent: its CRC-64 is %.24s and not %" PRIu64, told,
             w->crc);
    snprintf(why->cure, sizeof why->cure, "; run again, and check the network if it stays");
    return EIO;
}

static int put_whole(writer *w, cr_fs_why *why) {
    cr_http_res r;
    cr_obj_req q = {.method = "PUT", .body = w->buf.data, .n_body = w->buf.n};
    if (w->is_new) q.headers[q.n_headers++] = (cr_sig4_pair){"if-none-match", "*"};
    int e = cr_obj_call(w->path, &q, &r, why);
    if (e == ESTALE) e = EEXIST; /* it was made meanwhile */
    char tag[72];
    if (e == 0) e = cr_obj_etag(w->path, &r, tag, sizeof tag, why);
    if (e == 0) e = check_sum(w, &r, why);
    cr_http_clear(&r);
    return e;
}

static int complete(writer *w, cr_fs_why *why) {
    cr_http_res r;
    cr_fs_stat st;
    cr_buf b;
    cr_buf_init(&b);
    cr_buf_str(&b, "<CompleteMultipartUpload>");
    for (int i = 0; i < w->n_parts; i++) {
        cr_buf_printf(&b, "<Part><PartNumber>%d</PartNumber><ETag>", i + 1);
        cr_xml_escape(&b, w->parts[i].etag);
        cr_buf_str(&b, "</ETag></Part>");
    }
    cr_buf_str(&b, "</CompleteMultipartUpload>");
    cr_obj_req q = {
        .method = "POST", .body = b.data, .n_body = b.n, .once = true, .idle_s = JOIN_S};
    q.query[q.n_query++] = (cr_sig4_pair){"uploadId", w->upload};
    q.headers[q.n_headers++] = (cr_sig4_pair){"content-type", "application/xml"};
    int e = cr_obj_call(w->path, &q, &r, why);
    cr_xml in, x = {r.body.data, r.body.data + r.body.n};
    if (e == 0 && r.body.data &&
        cr_xml_next(&x, "Error", &in)) { /* an answer that began too early */
        cr_xml_text(in, "Message", why->text, sizeof why->text);
        e = EAGAIN;
    }
    x = (cr_xml){r.body.data, r.body.data + r.body.n};
    if (e == 0 && !(r.body.data && cr_xml_next(&x, "CompleteMultipartUploadResult", &in))) {
        snprintf(why->text, sizeof why->text, "the answer does not say that the upload is whole");
        e = EPROTO;
    }
    if (e == 0) e = check_sum(w, &r, why);
    cr_http_clear(&r);
    cr_buf_clear(&b);
    /* a try before this one may have completed it, and its answer was lost */
    if (e != ENOENT || why->tries == 0) return e;
    cr_fs_why other = {.tries = why->tries};
    cr_obj_forget(w->path);
    int known = cr_obj_stat(w->path, true, &st, &other);
    if (known == 0) return st.kind == CR_FS_FILE && st.size == w->size ? 0 : e;
    if (known == ENOENT) return e;
    *why = other; /* it is not known; this cause may pass */
    return known;
}

int cr_obj_commit(void *out, bool sync, cr_fs_why *why) {
    writer *w = out;
    (void)sync; /* a completed upload survives anything */
    int e;
    if (!w->upload && w->buf.n <= part_bytes(w)) {
        e = put_whole(w, why);
    } else {
        e = w->buf.n > 0 ? send_part(w, why) : 0;
        if (e == 0) e = complete(w, why);
    }
    if (e == 0) w->done = true;
    if (e == 0) cr_obj_forget(w->path);
    return e;
}

void cr_obj_end(void *out) {
    writer *w = out;
    if (w->upload && !w->done) {
        cr_http_res r;
        cr_fs_why why = {0};
        cr_obj_req q = {.method = "DELETE"};
        q.query[q.n_query++] = (cr_sig4_pair){"uploadId", w->upload};
        (void)cr_obj_call(w->path, &q, &r, &why);
        cr_http_clear(&r);
    }
    cr_buf_clear(&w->buf);
    cr_free(w->upload);
    cr_free(w->parts);
    cr_free(w);
}

/* ---- removing ---- */

typedef struct doomed {
    const char *path;
    cr_buf body;
    int n;
    cr_fs_why *why;
} doomed;

static int remove_some(doomed *d) {
    cr_http_res r;
    char sum[BASE64_ENCODE_RAW_LENGTH(MD5_DIGEST_SIZE) + 1];
    uint8_t md5[MD5_DIGEST_SIZE];
    struct md5_ctx m;
    if (d->n == 0) return 0;
    cr_buf_str(&d->body, "</Delete>");
    md5_init(&m);
    md5_update(&m, d->body.n, (const uint8_t *)d->body.data);
    md5_digest(&m, sizeof md5, md5);
    base64_encode_raw(sum, sizeof md5, md5);
    sum[sizeof sum - 1] = 0;
    cr_obj_req q = {.method = "POST", .key = "", .body = d->body.data, .n_body = d->body.n};
    q.query[q.n_query++] = (cr_sig4_pair){"delete", ""};
    q.headers[q.n_headers++] = (cr_sig4_pair){"content-md5", sum};
    q.headers[q.n_headers++] = (cr_sig4_pair){"content-type", "application/xml"};
    int e = cr_obj_call(d->path, &q, &r, d->why);
    cr_xml in, x = {r.body.data, r.body.data + r.body.n};
    if (e == 0 && r.body.data && cr_xml_next(&x, "Error", &in)) {
        cr_xml_text(in, "Message", d->why->text, sizeof d->why->text);
        e = EACCES;
    }
    cr_http_clear(&r);
    cr_buf_reset(&d->body);
    d->n = 0;
    return e;
}

static int doom(void *ctx, const char *key, int64_t size) {
    doomed *d = ctx;
    (void)size;
    if (d->n == 0) cr_buf_str(&d->body, "<Delete><Quiet>true</Quiet>");
    cr_buf_str(&d->body, "<Object><Key>");
    cr_xml_escape(&d->body, key);
    cr_buf_str(&d->body, "</Key></Object>");
    return ++d->n == AT_ONCE ? remove_some(d) : 0;
}

static int remove_one(const char *path, cr_fs_why *why) {
    cr_http_res r;
    cr_obj_req q = {.method = "DELETE"};
    int e = cr_obj_call(path, &q, &r, why);
    cr_http_clear(&r);
    cr_obj_forget(path);
    return e;
}

int cr_obj_remove(const char *path, bool tree, cr_fs_why *why) {
    cr_obj_place p;
    char prefix[1110];
    int e = cr_obj_split(&p, path, why);
    if (e != 0) return e;
    if (!p.key[0]) {
        snprintf(why->text, sizeof why->text, "a whole bucket is not removed");
        return EPERM;
    }
    e = remove_one(path, why);
    if (e != 0 || !tree) return e;
    size_t n = strlen(p.key);
    snprintf(prefix, sizeof prefix, "%s%s", p.key, p.key[n - 1] == '/' ? "" : "/");
    doomed d = {.path = path, .why = why};
    cr_buf_init(&d.body);
    e = cr_obj_keys(path, prefix, false, doom, &d, why);
    if (e == 0) e = remove_some(&d);
    cr_buf_clear(&d.body);
    return e;
}
