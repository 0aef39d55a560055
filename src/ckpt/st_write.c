/*
 * st_write.c - writes a safetensors file as a stream.
 *
 * Sizes are known before the first value, so the header is written once, padded with spaces to a
 * multiple of 64 bytes, and the data follows in pieces of 65536 elements. Tensors whose size is a
 * multiple of a cache line come first, then those of half a line and so on. So there are no gaps,
 * which the format forbids, and still every tensor is aligned to its own type, and the rows of a
 * mapped table touch no more cache lines than necessary.
 */
#include "ckpt/safetensors.h"

#include <string.h>

#include "base/digest.h"
#include "base/file.h"
#include "base/json.h"

#define PIECE 65536
#define LINE  64 /* bytes of a cache line */

static int64_t bytes_of(const cr_st_out *t) {
    int64_t bytes = cr_dtype_size(t->dtype);
    for (int d = 0; d < t->n_dims; d++)
        bytes *= t->shape[d];
    return bytes;
}

/* Returns the largest power of two, up to a cache line, that divides the size of a tensor. */
static int64_t evenness(const cr_st_out *t) {
    int64_t bytes = bytes_of(t), even = LINE;
    while (bytes % even != 0)
        even /= 2;
    return even;
}

void cr_st_order(const cr_st_out *v, int n, int *order) {
    int m = 0;
    for (int64_t even = LINE; even >= 1; even /= 2)
        for (int i = 0; i < n; i++)
            if (evenness(&v[i]) == even) order[m++] = i;
    CR_ASSERT(m == n);
}

void cr_st_head(cr_buf *b, const cr_st_out *v, const int *order, int n, const cr_st_meta *meta,
                int n_meta) {
    cr_jw w;
    CR_ASSERT(b->n == 0);
    for (int i = 0; i < 8; i++)
        cr_buf_char(b, ' '); /* room for the length */
    cr_jw_init(&w, b);
    cr_jw_obj(&w, NULL);
    if (n_meta > 0) {
        cr_jw_obj(&w, "__metadata__");
        for (int i = 0; i < n_meta; i++)
            cr_jw_str(&w, meta[i].key, meta[i].value);
        cr_jw_end(&w);
    }
    int64_t at = 0;
    for (int i = 0; i < n; i++) {
        const cr_st_out *t = &v[order[i]];
        cr_jw_obj(&w, t->name);
        cr_jw_str(&w, "dtype", cr_dtype_name(t->dtype));
        cr_jw_arr(&w, "shape");
        for (int d = 0; d < t->n_dims; d++)
            cr_jw_i64(&w, NULL, t->shape[d]);
        cr_jw_end(&w);
        cr_jw_arr(&w, "data_offsets");
        cr_jw_i64(&w, NULL, at);
        cr_jw_i64(&w, NULL, at += bytes_of(t));
        cr_jw_end(&w);
        cr_jw_end(&w);
    }
    cr_jw_end(&w);
    while (b->n > 8 && (b->data[b->n - 1] == '\n' || b->data[b->n - 1] == ' '))
        b->data[--b->n] = 0;
    while (b->n % LINE != 0)
        cr_buf_char(b, ' ');
    for (int i = 0; i < 8; i++)
        b->data[i] = (char)(uint8_t)((uint64_t)(b->n - 8) >> (8 * i));
}

/* ---- the file ---- */

struct cr_st_stream {
    cr_outfile *f;
    int64_t size;
    cr_digest digest;
};

cr_code cr_st_begin(cr_st_stream **out, const char *path, cr_err *err) {
    cr_st_stream *s = cr_alloc(sizeof *s, "a file of tensors");
    cr_digest_init(&s->digest);
    cr_code code = cr_outfile_open(&s->f, path, err);
    if (code != CR_OK) {
        cr_free(s);
        s = NULL;
    }
    *out = s;
    return code;
}

cr_code cr_st_put(cr_st_stream *s, const void *data, size_t n, cr_err *err) {
    cr_digest_add(&s->digest, data, n);
    s->size += (int64_t)n;
    return cr_outfile_write(s->f, data, n, err);
}

cr_code cr_st_end(cr_st_stream *s, int64_t *size, uint64_t *digest, cr_err *err) {
    cr_code code = cr_outfile_commit(s->f, err);
    if (size) *size = s->size;
    if (digest) *digest = cr_digest_end(&s->digest);
    cr_free(s);
    return code;
}

void cr_st_abort(cr_st_stream *s) {
    if (!s) return;
    cr_outfile_abort(s->f);
    cr_free(s);
}

static cr_code put_all(cr_st_stream *s, const cr_st_out *v, const int *order, int n,
                       const cr_buf *head, void *piece, cr_err *err) {
    CR_TRY(cr_st_put(s, head->data, head->n, err));
    for (int i = 0; i < n; i++) {
        const cr_st_out *t = &v[order[i]];
        int64_t total = 1;
        for (int d = 0; d < t->n_dims; d++)
            total *= t->shape[d];
        for (int64_t k = 0; k < total; k += PIECE) {
            int64_t m = total - k < PIECE ? total - k : PIECE;
            t->get(t->ctx, k, m, piece);
            CR_TRY(cr_st_put(s, piece, (size_t)(m * cr_dtype_size(t->dtype)), err));
        }
    }
    return CR_OK;
}

cr_code cr_st_write(const char *path, const cr_st_out *v, int n, const cr_st_meta *meta, int n_meta,
                    int64_t *size, uint64_t *digest, cr_err *err) {
    cr_st_stream *s;
    CR_TRY(cr_st_begin(&s, path, err));
    int *order = cr_alloc(sizeof(int) * (size_t)(n + 1), "order of tensors");
    void *piece = cr_alloc(PIECE * 8, "piece of a tensor");
    cr_buf head;
    cr_buf_init(&head);
    cr_st_order(v, n, order);
    cr_st_head(&head, v, order, n, meta, n_meta);
    cr_code code = put_all(s, v, order, n, &head, piece, err);
    if (code == CR_OK)
        code = cr_st_end(s, size, digest, err);
    else
        cr_st_abort(s);
    cr_buf_clear(&head);
    cr_free(piece);
    cr_free(order);
    return code;
}
