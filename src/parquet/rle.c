/*
 * rle.c - the hybrid of runs and bit-packed groups: levels, dictionary codes, booleans.
 *
 * A stream is a sequence of runs. A run is a varint header whose lowest bit tells its kind, then
 * either one value that is repeated, or groups of 8 values of bw bits (8 values are whole bytes). A
 * reader may stop inside a group; the rest of that group is then read value by value.
 */
#include <string.h>

#include "parquet/decode_int.h"

void cr_pq_rle_init(cr_pq_rle *r, const cr_pq_kern *k, const uint8_t *p, size_t n, int bw) {
    *r = (cr_pq_rle){.k = k, .p = p, .end = p + n, .bw = bw};
}

/* next_run reads a header; false at the end of the input. */
static bool next_run(cr_pq_rle *r) {
    uint64_t head = 0;
    for (int shift = 0;; shift += 7) {
        if (r->p == r->end || shift > 56) return false;
        uint8_t b = *r->p++;
        head |= (uint64_t)(b & 0x7f) << shift;
        if (b < 0x80) break;
    }
    size_t left = (size_t)(r->end - r->p);
    if (head & 1) {
        /* the last run may end after the last value that is needed */
        uint64_t groups = head >> 1, bytes = left;
        uint64_t max = bytes * 8 / (uint64_t)r->bw;
        r->packed = groups * 8 < max ? groups * 8 : max;
        r->packed_end =
            groups <= bytes / (uint64_t)r->bw ? r->p + groups * (uint64_t)r->bw : r->end;
        r->in_group = 0;
        return true;
    }
    size_t width = (size_t)(r->bw + 7) / 8;
    if (left < width) return false;
    r->value = 0;
    memcpy(&r->value, r->p, width);
    r->p += width;
    r->run = head >> 1;
    return true;
}

/* one returns value i of the group at p; bw <= 32. */
static inline uint32_t one(const cr_pq_rle *r, unsigned i) {
    uint64_t x;
    unsigned bit = i * (unsigned)r->bw;
    memcpy(&x, r->p + bit / 8, 8);
    return (uint32_t)(x >> bit % 8 & ((UINT64_C(1) << r->bw) - 1));
}

static void end_packed(cr_pq_rle *r) {
    r->p = r->packed_end;
    r->in_group = 0;
}

/* get reads values into uint32_t when wide, else into bytes. With out NULL it skips them. */
static inline __attribute__((always_inline)) size_t get(cr_pq_rle *r, uint8_t *out8,
                                                        uint32_t *out32, size_t n) {
    if (r->bw == 0) { /* there is only one value, 0, which needs no storage */
        if (out8) memset(out8, 0, n);
        if (out32) memset(out32, 0, n * sizeof(*out32));
        return n;
    }
    size_t i = 0;
    while (i < n) {
        if (r->run) {
            size_t m = r->run < n - i ? (size_t)r->run : n - i;
            /* short runs are common: one store of a fixed size is enough, and the next run
             * overwrites its end */
            if (out8 && m <= CR_PQ_PAD)
                memset(out8 + i, (uint8_t)r->value, CR_PQ_PAD);
            else if (out8)
                memset(out8 + i, (uint8_t)r->value, m);
            if (out32 && m <= CR_PQ_PAD / 4) {
                for (size_t j = 0; j < CR_PQ_PAD / 4; j++)
                    out32[i + j] = r->value;
            } else if (out32) {
                for (size_t j = 0; j < m; j++)
                    out32[i + j] = r->value;
            }
            r->run -= m;
            i += m;
        } else if (r->packed && r->in_group) {
            for (; r->in_group < 8 && r->packed && i < n; i++, r->in_group++, r->packed--) {
                if (out8) out8[i] = (uint8_t)one(r, r->in_group);
                if (out32) out32[i] = one(r, r->in_group);
            }
            if (r->packed == 0) {
                end_packed(r);
            } else if (r->in_group == 8) {
                r->p += r->bw;
                r->in_group = 0;
            }
        } else if (r->packed) {
            size_t m = r->packed < n - i ? (size_t)r->packed : n - i;
            if (out8) r->k->unpack8(r->p, out8 + i, m, r->bw);
            if (out32) r->k->unpack32(r->p, out32 + i, m, r->bw);
            i += m;
            r->packed -= m;
            r->p += m / 8 * (size_t)r->bw;
            r->in_group = (unsigned)(m % 8);
            if (r->packed == 0) end_packed(r);
        } else if (!next_run(r)) {
            break;
        }
    }
    return i;
}

size_t cr_pq_rle_get8(cr_pq_rle *r, uint8_t *out, size_t n) {
    return get(r, out, NULL, n);
}
size_t cr_pq_rle_get32(cr_pq_rle *r, uint32_t *out, size_t n) {
    return get(r, NULL, out, n);
}
size_t cr_pq_rle_skip(cr_pq_rle *r, size_t n) {
    return get(r, NULL, NULL, n);
}

uint64_t cr_pq_rle_run(cr_pq_rle *r, uint32_t *value) {
    if (r->bw == 0) {
        *value = 0;
        return UINT64_MAX;
    }
    while (!r->run && !r->packed) {
        if (!next_run(r)) return 0;
    }
    *value = r->value;
    return r->run;
}
