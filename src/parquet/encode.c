/*
 * encode.c - turns values into bytes: the RLE / bit-packed hybrid, booleans, the delta encodings.
 *
 * Numbers are packed from the lowest bit up. The hybrid changes between runs (a count and one
 * value) and packed groups of eight. A run begins only where a group begins, because a packed part
 * always holds whole groups.
 */
#include <string.h>

#include "parquet/encode_int.h"

/* ---- the hybrid ---- */

/* A run saves space from this length on: it costs its own head and value, and often a new head
 * after it. */
#define RUN_MIN 16

static void put_run(cr_buf *b, uint32_t value, size_t n, int width) {
    cr_tout_varint(b, (uint64_t)n << 1);
    for (int i = 0; i < width; i += 8)
        cr_buf_char(b, (char)(value >> i));
}

/* PACK defines bit-packing of n values at p. n is a multiple of eight, or the values are the last
 * ones (zeros follow). The output is written in words, so it needs room for 8 more bytes. */
#define PACK(T)                                                                                    \
    static char *pack_##T(char *o, const T *p, size_t n, int width) {                              \
        uint64_t acc = 0;                                                                          \
        int have = 0;                                                                              \
        char *end = o + (n + 7) / 8 * (size_t)width;                                               \
        for (size_t i = 0; i < n; i++) {                                                           \
            acc |= (uint64_t)p[i] << have;                                                         \
            have += width;                                                                         \
            if (have >= 32) {                                                                      \
                memcpy(o, &acc, 4);                                                                \
                o += 4;                                                                            \
                acc >>= 32;                                                                        \
                have -= 32;                                                                        \
            }                                                                                      \
        }                                                                                          \
        memset(o, 0, (size_t)(end - o)); /* the last group may not be full */                      \
        if (have) memcpy(o, &acc, (size_t)(have + 7) / 8);                                         \
        return end;                                                                                \
    }
PACK(uint8_t)
PACK(uint32_t)

static void reserve_packed(cr_buf *b, size_t n, int width) {
    cr_buf_reserve(b, (n + 7) / 8 * (size_t)width + 24);
}

#define PUT_RLE(T)                                                                                 \
    static void put_rle_##T(cr_buf *b, const T *v, size_t n, int width) {                          \
        size_t i = 0, from = 0; /* [from, i): waits to be packed */                                \
        while (i < n) {                                                                            \
            size_t end = i + 1;                                                                    \
            while (end < n && v[end] == v[i])                                                      \
                end++;                                                                             \
            if (end - i < RUN_MIN && !(end == n && from == i && end - i >= 8)) {                   \
                /* the values after the last whole group of this run are looked at again */        \
                size_t groups = (end - i) / 8;                                                     \
                i += 8 * (groups ? groups : 1);                                                    \
                continue;                                                                          \
            }                                                                                      \
            if (i > from) {                                                                        \
                cr_tout_varint(b, (i - from) / 8 << 1 | 1);                                        \
                reserve_packed(b, i - from, width);                                                \
                b->n = (size_t)(pack_##T(b->data + b->n, v + from, i - from, width) - b->data);    \
            }                                                                                      \
            put_run(b, v[i], end - i, width);                                                      \
            from = i = end;                                                                        \
        }                                                                                          \
        if (from < n) {                                                                            \
            cr_tout_varint(b, (n - from + 7) / 8 << 1 | 1);                                        \
            reserve_packed(b, n - from, width);                                                    \
            b->n = (size_t)(pack_##T(b->data + b->n, v + from, n - from, width) - b->data);        \
        }                                                                                          \
    }
PUT_RLE(uint8_t)
PUT_RLE(uint32_t)

void cr_pq_put_rle8(cr_buf *b, const uint8_t *v, size_t n, int width) {
    put_rle_uint8_t(b, v, n, width);
}
void cr_pq_put_rle32(cr_buf *b, const uint32_t *v, size_t n, int width) {
    put_rle_uint32_t(b, v, n, width);
}

void cr_pq_put_bools(cr_buf *b, const uint8_t *v, size_t n) {
    reserve_packed(b, n, 1);
    char *o = b->data + b->n;
    for (size_t i = 0; i < n; i += 8) {
        unsigned x = 0;
        for (size_t k = 0; k < 8 && i + k < n; k++)
            x |= (unsigned)(v[i + k] != 0) << k;
        *o++ = (char)x;
    }
    b->n = (size_t)(o - b->data);
}

/* ---- delta ---- */

#define BLOCK 128
#define MINI  32

static int bits_of(uint64_t x) {
    return x ? 64 - __builtin_clzll(x) : 0;
}

/* put_mini writes 32 values of any width, which end at a whole byte. */
static void put_mini(cr_buf *b, const uint64_t *v, int width) {
    cr_buf_reserve(b, (size_t)width * MINI / 8 + 16);
    char *o = b->data + b->n;
    uint64_t acc = 0;
    int have = 0;
    for (int i = 0; i < MINI; i++) {
        acc |= v[i] << have;
        if (have + width >= 64) {
            memcpy(o, &acc, 8);
            o += 8;
            int used = 64 - have;
            acc = used < 64 ? v[i] >> used : 0;
            have = width - used;
        } else
            have += width;
    }
    if (have) memcpy(o, &acc, (size_t)(have + 7) / 8);
    b->n += (size_t)width * MINI / 8;
}

/* Differences wrap around in the width of the type: 32 bits never need more than 32. */
static void put_block(cr_buf *b, const uint64_t *d, size_t n, bool wide) {
    uint64_t rest[BLOCK] = {0};
    int width[BLOCK / MINI] = {0};
    int64_t least = INT64_MAX;
    for (size_t i = 0; i < n; i++)
        if ((int64_t)d[i] < least) least = (int64_t)d[i];
    for (size_t i = 0; i < n; i++) {
        rest[i] = d[i] - (uint64_t)least;
        if (!wide) rest[i] = (uint32_t)rest[i];
        int w = bits_of(rest[i]);
        if (w > width[i / MINI]) width[i / MINI] = w;
    }
    cr_tout_int(b, least);
    for (int k = 0; k < BLOCK / MINI; k++)
        cr_buf_char(b, (char)width[k]);
    for (size_t k = 0; k * MINI < n; k++)
        if (width[k]) put_mini(b, rest + k * MINI, width[k]);
}

static int64_t int_at(const void *v, size_t i, bool wide) {
    return wide ? ((const int64_t *)v)[i] : ((const int32_t *)v)[i];
}

void cr_pq_put_delta(cr_buf *b, const void *v, size_t n, bool wide) {
    cr_tout_varint(b, BLOCK);
    cr_tout_varint(b, BLOCK / MINI);
    cr_tout_varint(b, n);
    cr_tout_int(b, n ? int_at(v, 0, wide) : 0);
    uint64_t d[BLOCK];
    for (size_t i = 1; i < n; i += BLOCK) {
        size_t k = n - i < BLOCK ? n - i : BLOCK;
        for (size_t j = 0; j < k; j++) {
            d[j] = (uint64_t)int_at(v, i + j, wide) - (uint64_t)int_at(v, i + j - 1, wide);
            if (!wide) d[j] = (uint64_t)(int64_t)(int32_t)d[j];
        }
        put_block(b, d, k, wide);
    }
}

void cr_pq_put_delta_length(cr_buf *b, const uint8_t *plain, size_t n) {
    int32_t *len = cr_alloc(n * sizeof(*len) + 1, "lengths of strings");
    const uint8_t *p = plain;
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++) {
        memcpy(&len[i], p, 4);
        p += 4 + (size_t)len[i];
        bytes += (size_t)len[i];
    }
    cr_pq_put_delta(b, len, n, false);
    cr_buf_reserve(b, bytes);
    p = plain;
    for (size_t i = 0; i < n; i++) {
        if (len[i]) memcpy(b->data + b->n, p + 4, (size_t)len[i]);
        b->n += (size_t)len[i];
        p += 4 + (size_t)len[i];
    }
    cr_free(len);
}
