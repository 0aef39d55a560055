/*
 * weights.h - where two files of weights differ: the first tensor, the first element of it, both
 * values. For tests that promise the same bits (same_weights of run_test.h and of cli/lib.sh).
 */
#ifndef CR_TESTS_WEIGHTS_H
#define CR_TESTS_WEIGHTS_H

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "ckpt/safetensors.h"

/* where element i stands in its tensor: "[2, 7]" */
static inline void weights_place(const cr_st_tensor *t, int64_t i, char *out, size_t size) {
    int64_t at[CR_ST_MAX_DIMS];
    for (int d = t->n_dims - 1; d >= 0; d--) {
        at[d] = i % t->shape[d];
        i /= t->shape[d];
    }
    size_t n = (size_t)snprintf(out, size, "[");
    for (int d = 0; d < t->n_dims && n < size; d++)
        n += (size_t)snprintf(out + n, size - n, "%s%lld", d ? ", " : "", (long long)at[d]);
    if (n < size) snprintf(out + n, size - n, "]");
}

/* a value as a hex float, and its bytes from the highest down, because NaNs look alike */
static inline void weights_value(cr_dtype type, const void *raw, char *out, size_t size) {
    float f = 0;
    double d = 0;
    cr_dtype_to_f32(type, raw, 1, &f);
    if (type == CR_DT_F64)
        memcpy(&d, raw, sizeof(d));
    else
        d = (double)f;
    size_t n = (size_t)snprintf(out, size, "%a (0x", d);
    for (int64_t k = cr_dtype_size(type) - 1; k >= 0 && n < size; k--)
        n += (size_t)snprintf(out + n, size - n, "%02x", ((const uint8_t *)raw)[k]);
    if (n < size) snprintf(out + n, size - n, ")");
}

static inline bool weights_same_shape(const cr_st_tensor *a, const cr_st_tensor *b) {
    return a->dtype == b->dtype && a->n_dims == b->n_dims &&
           memcmp(a->shape, b->shape, (size_t)a->n_dims * sizeof(a->shape[0])) == 0;
}

/* the first element of two tensors of one shape that differs; -1: none does */
static inline int64_t weights_first(const cr_st_tensor *a, const cr_st_tensor *b) {
    if (memcmp(a->data, b->data, (size_t)a->n_bytes) == 0) return -1;
    int64_t i = 0, size = cr_dtype_size(a->dtype);
    const char *x = a->data, *y = b->data;
    while (memcmp(x + i * size, y + i * size, (size_t)size) == 0)
        i++;
    return i;
}

static inline bool weights_tensors_differ(const cr_st_file *a, const cr_st_file *b, char *says,
                                          size_t size) {
    for (int i = 0; i < a->n; i++) {
        const cr_st_tensor *x = &a->v[i], *y = cr_st_find(b, x->name);
        if (!y) {
            snprintf(says, size, "tensor '%s' of %s is not in %s", x->name, a->path, b->path);
            return true;
        }
        if (!weights_same_shape(x, y)) {
            snprintf(says, size, "tensor '%s' has another type or shape in %s than in %s", x->name,
                     b->path, a->path);
            return true;
        }
        int64_t at = weights_first(x, y), each = cr_dtype_size(x->dtype);
        if (at < 0) continue;
        char place[200], v[2][80];
        weights_place(x, at, place, sizeof(place));
        weights_value(x->dtype, (const char *)x->data + at * each, v[0], sizeof(v[0]));
        weights_value(y->dtype, (const char *)y->data + at * each, v[1], sizeof(v[1]));
        snprintf(says, size, "tensor '%s' differs first at %s: %s in %s, %s in %s", x->name, place,
                 v[0], a->path, v[1], b->path);
        return true;
    }
    for (int i = 0; i < b->n; i++)
        if (!cr_st_find(a, b->v[i].name)) {
            snprintf(says, size, "tensor '%s' of %s is not in %s", b->v[i].name, b->path, a->path);
            return true;
        }
    return false;
}

/* weights_differ compares two safetensors files byte for byte and says where they differ first. */
static inline bool weights_differ(const char *a, const char *b, char *says, size_t size) {
    cr_st_file x, y;
    cr_err err;
    if (cr_st_open(&x, a, &err) != CR_OK) {
        snprintf(says, size, "%s: %s", a, err.msg);
        return true;
    }
    if (cr_st_open(&y, b, &err) != CR_OK) {
        snprintf(says, size, "%s: %s", b, err.msg);
        cr_st_close(&x);
        return true;
    }
    bool differ = weights_tensors_differ(&x, &y, says, size);
    cr_st_close(&x);
    cr_st_close(&y);
    if (differ) return true;
    cr_buf p, q;
    cr_buf_init(&p);
    cr_buf_init(&q);
    bool same = cr_file_read(a, 0, &p, NULL) == CR_OK && cr_file_read(b, 0, &q, NULL) == CR_OK &&
                p.n == q.n && memcmp(p.data, q.data, p.n) == 0;
    if (!same) snprintf(says, size, "%s and %s have equal tensors and other headers", a, b);
    cr_buf_clear(&p);
    cr_buf_clear(&q);
    return !same;
}

#endif
