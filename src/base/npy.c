/*
 * npy.c - NumPy's file format: the bytes 93 'NUMPY', a version of two bytes, the size of the header
 * (two bytes, from version 2 on four), and the header, a Python mapping with the keys descr,
 * fortran_order and shape, such as {'descr': '<i8', 'fortran_order': False, 'shape': (13, 4), }.
 * The numbers follow. The header is searched for its keys; what it says is compared with the size
 * of the file before anything is allocated.
 */
#include "base/npy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"

/* What a header says; size 0: it is none that is read here. */
typedef struct header {
    size_t begin; /* byte of the file at which the numbers begin */
    int64_t shape[2];
    size_t size; /* bytes of a number */
} header;

static const char *after(const char *text, const char *key) {
    const char *s = strstr(text, key);
    s = s ? strchr(s + strlen(key), ':') : NULL;
    return s ? s + 1 + strspn(s + 1, " ") : NULL;
}

static bool read_header(const cr_buf *b, header *h) {
    const unsigned char *p = (const unsigned char *)b->data;
    char text[512];
    if (b->n < 12 || memcmp(p, "\x93NUMPY", 6) != 0) return false;
    size_t wide = p[6] == 1 ? 2 : 4, n = 0;
    for (size_t i = wide; i-- > 0;)
        n = n << 8 | p[8 + i];
    h->begin = 8 + wide + n;
    if (h->begin > b->n) return false;
    size_t k = n < sizeof text - 1 ? n : sizeof text - 1;
    memcpy(text, b->data + 8 + wide, k);
    text[k] = 0;
    const char *descr = after(text, "'descr'"), *order = after(text, "'fortran_order'");
    const char *shape = after(text, "'shape'");
    if (!descr || !order || !shape || strncmp(order, "False", 5) != 0 || *shape != '(')
        return false;
    h->size = strncmp(descr, "'<i8'", 5) == 0 ? 8 : strncmp(descr, "'<i4'", 5) == 0 ? 4 : 0;
    char *end;
    h->shape[0] = strtoll(shape + 1, &end, 10);
    if (*end != ',') return false;
    bool list = end[1] == ')'; /* (13,) */
    h->shape[1] = list ? 1 : strtoll(end + 1, &end, 10);
    if (list) end++;
    return *end == ')' && h->size > 0 && h->shape[0] > 0 && h->shape[1] > 0;
}

cr_code cr_npy_read_i64(const char *path, cr_arena *a, int64_t **out, int64_t shape[2],
                        cr_err *err) {
    cr_buf b;
    header h = {0};
    cr_buf_init(&b);
    cr_code code = cr_file_read(path, 0, &b, err);
    cr_loc at = {path, 0, 0};
    if (code == CR_OK && !read_header(&b, &h))
        code = cr_fail_at(err, CR_EDATA, at,
                          "the file is not a matrix of whole numbers as NumPy saves it (<i8 or "
                          "<i4, two sizes); save it with numpy.save(path, x.astype('int64'))");
    size_t left = code == CR_OK && h.size > 0 ? (b.n - h.begin) / h.size : 0;
    if (code == CR_OK && ((size_t)h.shape[0] > left || (size_t)h.shape[1] > left ||
                          (size_t)h.shape[0] * (size_t)h.shape[1] != left))
        code = cr_fail_at(err, CR_EDATA, at,
                          "the header says %lld by %lld numbers, and %zu follow; the file is cut "
                          "short or damaged",
                          (long long)h.shape[0], (long long)h.shape[1], left);
    if (code == CR_OK) {
        int64_t n = h.shape[0] * h.shape[1];
        *out = CR_NEW_N(a, int64_t, n);
        for (int64_t i = 0; i < n; i++) {
            int32_t narrow;
            const char *p = b.data + h.begin + (size_t)i * h.size;
            if (h.size == 8) {
                memcpy(&(*out)[i], p, 8);
            } else {
                memcpy(&narrow, p, 4);
                (*out)[i] = narrow;
            }
        }
        memcpy(shape, h.shape, sizeof h.shape);
    }
    cr_buf_clear(&b);
    return code;
}

cr_code cr_npy_write_i64(const char *path, const int64_t *v, int64_t n, cr_err *err) {
    cr_buf b;
    char head[128];
    int k = snprintf(head, sizeof head,
                     "{'descr': '<i8', 'fortran_order': False, 'shape': (%lld,), }", (long long)n);
    size_t size = 118; /* with the ten bytes before it and the line end a multiple of 64 */
    cr_buf_init(&b);
    cr_buf_add(&b, "\x93NUMPY\1\0", 8);
    cr_buf_char(&b, (char)size);
    cr_buf_char(&b, 0);
    cr_buf_add(&b, head, (size_t)k);
    for (size_t i = (size_t)k; i + 1 < size; i++)
        cr_buf_char(&b, ' ');
    cr_buf_char(&b, '\n');
    cr_buf_add(&b, v, (size_t)n * sizeof *v);
    cr_code code = cr_file_write(path, b.data, b.n, err);
    cr_buf_clear(&b);
    return code;
}
