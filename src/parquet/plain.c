/*
 * plain.c - spreads values of any width over slots, looks them up, and puts them together from
 * split streams. Kernels handle the common widths; the others are copied.
 */
#include <string.h>

#include "parquet/decode_int.h"

int cr_pq_width(cr_pq_type t, int type_length) {
    switch (t) {
    case CR_PQ_BOOL: return 1;
    case CR_PQ_I32:
    case CR_PQ_F32: return 4;
    case CR_PQ_I64:
    case CR_PQ_F64: return 8;
    case CR_PQ_I96: return 12;
    case CR_PQ_FIXED: return type_length;
    case CR_PQ_BYTES:
    case CR_PQ_GROUP: break;
    }
    return 0;
}

void cr_pq_unsplit(const cr_pq_kern *k, const uint8_t *in, size_t stride, size_t at, int width,
                   uint8_t *out, size_t n) {
    if (width == 4) {
        k->split4(in + at, stride, out, n);
    } else if (width == 8) {
        k->split8(in + at, stride, out, n);
    } else {
        size_t w = (size_t)width;
        for (size_t b = 0; b < w; b++) {
            const uint8_t *s = in + b * stride + at;
            for (size_t i = 0; i < n; i++)
                out[i * w + b] = s[i];
        }
    }
}

size_t cr_pq_expand(const cr_pq_kern *k, int width, uint8_t *out, const uint8_t *in,
                    const uint8_t *valid, size_t n) {
    if (width == 1) return k->expand8(out, in, valid, n);
    if (width == 4) return k->expand32((void *)out, in, valid, n);
    if (width == 8) return k->expand64((void *)out, in, valid, n);
    size_t w = (size_t)width, j = 0;
    for (size_t i = 0; i < n; i++) {
        if (valid[i])
            memcpy(out + i * w, in + j++ * w, w);
        else
            memset(out + i * w, 0, w);
    }
    return j;
}

void cr_pq_gather(const cr_pq_kern *k, int width, uint8_t *out, const uint8_t *dict,
                  const uint32_t *code, size_t n) {
    size_t w = (size_t)width;
    if (width == 4) {
        k->gather32((void *)out, (const void *)dict, code, n);
    } else if (width == 8) {
        k->gather64((void *)out, (const void *)dict, code, n);
    } else {
        for (size_t i = 0; i < n; i++)
            memcpy(out + i * w, dict + code[i] * w, w);
    }
}
