/*
 * delta.c - DELTA_BINARY_PACKED stores differences to the previous value.
 *
 *   header: values per block, miniblocks per block, number of values, first value
 *   block:  least difference, a bit width per miniblock, the miniblocks
 *
 * Sums wrap around, as the format wants. page.c opens the two encodings of strings that are built
 * on it, because it has the place for their text.
 */
#include <string.h>

#include "parquet/decode_int.h"

static const char too_short[] = "delta-encoded values end too early";

/* varint returns false at the end of the input or for more than 64 bits. */
static bool varint(cr_pq_delta *d, uint64_t *out) {
    uint64_t x = 0;
    for (int shift = 0; shift < 64 && d->p < d->end; shift += 7) {
        uint8_t b = *d->p++;
        x |= (uint64_t)(b & 0x7f) << shift;
        if (b < 0x80) {
            *out = x;
            return true;
        }
    }
    return false;
}

static uint64_t unzigzag(uint64_t x) {
    return x >> 1 ^ (0 - (x & 1));
}

const char *cr_pq_delta_init(cr_pq_delta *d, const cr_pq_kern *k, const uint8_t *p, size_t n) {
    uint64_t block, first;
    d->k = k;
    d->p = d->mini_end = p;
    d->end = p + n;
    d->mini_at = d->mini_left = 0;
    d->buf_at = d->buf_n = 0;
    d->min = 0;
    d->bw = 0;
    d->bw_of = NULL;
    if (!varint(d, &block) || !varint(d, &d->n_mini) || !varint(d, &d->n_left) ||
        !varint(d, &first))
        return too_short;
    if (d->n_mini == 0 || block == 0 || block > (uint64_t)1 << 40 || block % d->n_mini ||
        block / d->n_mini % 8)
        return "delta-encoded values have no valid block size";
    d->mini = block / d->n_mini;
    d->mini_at = d->n_mini;
    d->last = unzigzag(first);
    d->at_first = d->n_left > 0;
    d->mini_end = d->p;
    return NULL;
}

uint64_t cr_pq_delta_count(const cr_pq_delta *d) {
    return d->n_left;
}

/* begin_mini goes to the next miniblock, and to the next block when the current one has no more. */
static const char *begin_mini(cr_pq_delta *d) {
    d->p = d->mini_end;
    if (d->mini_at == d->n_mini) {
        uint64_t min;
        if (!varint(d, &min) || (uint64_t)(d->end - d->p) < d->n_mini) return too_short;
        d->min = unzigzag(min);
        d->bw_of = d->p;
        d->p += d->n_mini;
        d->mini_at = 0;
    }
    d->bw = d->bw_of[d->mini_at++];
    if (d->bw > 64) return "delta-encoded values are wider than 64 bits";
    d->mini_left = d->mini;
    /* the last miniblock may end after the last value that is needed */
    uint64_t left = (uint64_t)(d->end - d->p);
    uint64_t need = d->mini / 8 * (uint64_t)d->bw;
    d->mini_end = need < left ? d->p + need : d->end;
    return NULL;
}

/* step decodes *n values to out, at most CR_PQ_DELTA_STEP; there must be some left. */
static const char *step(cr_pq_delta *d, uint64_t *out, size_t *n) {
    if (d->n_left == 0) return too_short;
    if (d->at_first) {
        d->at_first = false;
        d->n_left--;
        out[0] = d->last;
        *n = 1;
        return NULL;
    }
    if (d->mini_left == 0) {
        const char *bad = begin_mini(d);
        if (bad) return bad;
    }
    size_t m = CR_PQ_DELTA_STEP; /* a full step ends at a whole byte */
    if (m > d->mini_left) m = (size_t)d->mini_left;
    size_t bytes = m / 8 * (size_t)d->bw;
    if (m > d->n_left) m = (size_t)d->n_left;
    size_t left = (size_t)(d->mini_end - d->p);
    if ((m * (size_t)d->bw + 7) / 8 > left) return too_short;
    uint64_t last = d->last, min = d->min;
    if (d->bw == 0) {
        for (size_t i = 0; i < m; i++)
            out[i] = last += min;
    } else {
        d->k->unpack64(d->p, out, m, d->bw);
        for (size_t i = 0; i < m; i++)
            out[i] = last += out[i] + min;
    }
    d->last = last;
    d->p += bytes < left ? bytes : left;
    d->mini_left -= m;
    d->n_left -= m;
    *n = m;
    return NULL;
}

static const char *fill(cr_pq_delta *d) {
    size_t n = 0;
    const char *bad = step(d, d->buf, &n);
    d->buf_at = 0;
    d->buf_n = (unsigned)n;
    return bad;
}

const char *cr_pq_delta_get32(cr_pq_delta *d, uint32_t *out, size_t n) {
    for (size_t i = 0; i < n;) {
        if (d->buf_at == d->buf_n) {
            const char *bad = fill(d);
            if (bad) return bad;
        }
        size_t m = d->buf_n - d->buf_at;
        if (m > n - i) m = n - i;
        for (size_t j = 0; j < m; j++)
            out[i + j] = (uint32_t)d->buf[d->buf_at + j];
        d->buf_at += (unsigned)m;
        i += m;
    }
    return NULL;
}

const char *cr_pq_delta_get64(cr_pq_delta *d, uint64_t *out, size_t n) {
    for (size_t i = 0; i < n;) {
        const char *bad;
        if (d->buf_at == d->buf_n && n - i >= CR_PQ_DELTA_STEP) {
            size_t m = 0;
            if ((bad = step(d, out + i, &m))) return bad;
            i += m;
            continue;
        }
        if (d->buf_at == d->buf_n && (bad = fill(d))) return bad;
        size_t m = d->buf_n - d->buf_at;
        if (m > n - i) m = n - i;
        memcpy(out + i, d->buf + d->buf_at, m * sizeof(*out));
        d->buf_at += (unsigned)m;
        i += m;
    }
    return NULL;
}

const uint8_t *cr_pq_delta_end(const cr_pq_delta *d) {
    return d->mini_end;
}
