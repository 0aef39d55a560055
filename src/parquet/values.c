/*
 * values.c - reads the values of a page from where the last call stopped.
 *
 * Values that are looked up or spread over slots go through small blocks, so that codes and
 * intermediate values stay in the first-level cache.
 */
#include <string.h>

#include "parquet/decode_int.h"

#define BLOCK 1024

static const char too_short[] = "the page has fewer values than its header says";
static const char bad_code[] = "a code is beyond the end of the dictionary";

const char *cr_pq_values_codes(cr_pq_values *v, uint32_t *out, size_t n) {
    if (n == 0) return NULL;
    if (v->form != CR_PQ_F_DICT || cr_pq_rle_get32(&v->rle, out, n) < n) return too_short;
    return v->k->largest(out, n) < (uint64_t)v->dict->n ? NULL : bad_code;
}

static const char *get_bits(cr_pq_values *v, uint8_t *out, size_t n) {
    size_t bits = (size_t)(v->end - v->p) * 8;
    if (bits - v->at < n) return too_short;
    for (; n && v->at % 8; v->at++, n--)
        *out++ = v->p[v->at / 8] >> v->at % 8 & 1;
    v->k->unpack8(v->p + v->at / 8, out, n, 1);
    v->at += n;
    return NULL;
}

static const char *get_runs(cr_pq_values *v, uint8_t *out, size_t n) {
    if (cr_pq_rle_get8(&v->rle, out, n) < n) return too_short;
    for (size_t i = 0; i < n; i++)
        out[i] &= 1; /* a run stores its value in a whole byte */
    return NULL;
}

static const char *get_dict(cr_pq_values *v, uint8_t *out, size_t n) {
    uint32_t code[BLOCK + CR_PQ_PAD / 4];
    for (size_t i = 0; i < n; i += BLOCK) {
        size_t m = n - i < BLOCK ? n - i : BLOCK;
        const char *bad = cr_pq_values_codes(v, code, m);
        if (bad) return bad;
        cr_pq_gather(v->k, v->width, out + i * (size_t)v->width, v->dict->v, code, m);
    }
    return NULL;
}

/* values_get reads the next n values of a fixed width. */
static const char *values_get(cr_pq_values *v, uint8_t *out, size_t n) {
    const size_t w = (size_t)v->width;
    if (n == 0) return NULL;
    switch (v->form) {
    case CR_PQ_F_FIXED:
        if ((size_t)(v->end - v->p) / w < n) return too_short;
        memcpy(out, v->p, n * w);
        v->p += n * w;
        return NULL;
    case CR_PQ_F_BITS: return get_bits(v, out, n);
    case CR_PQ_F_RLE: return get_runs(v, out, n);
    case CR_PQ_F_DICT: return get_dict(v, out, n);
    case CR_PQ_F_DELTA:
        return w == 4 ? cr_pq_delta_get32(&v->delta, (void *)out, n)
                      : cr_pq_delta_get64(&v->delta, (void *)out, n);
    case CR_PQ_F_SPLIT:
        if (v->n - v->at < n) return too_short;
        cr_pq_unsplit(v->k, v->p, v->n, v->at, v->width, out, n);
        v->at += n;
        return NULL;
    case CR_PQ_F_TEXT:
    case CR_PQ_F_OFFSETS:
    case CR_PQ_F_NONE: break;
    }
    return too_short;
}

const char *cr_pq_values_spread(cr_pq_values *v, uint8_t *out, const uint8_t *valid, size_t n,
                                size_t n_valid) {
    const size_t w = (size_t)v->width;
    if (n_valid == n) return values_get(v, out, n);
    if (n_valid == 0) {
        memset(out, 0, n * w);
        return NULL;
    }
    if (v->form == CR_PQ_F_FIXED) {
        if ((size_t)(v->end - v->p) / w < n_valid) return too_short;
        cr_pq_expand(v->k, v->width, out, v->p, valid, n);
        v->p += n_valid * w;
        return NULL;
    }
    union { /* room for a block of the common widths; others go one by one */
        uint8_t b[BLOCK * 8 + CR_PQ_PAD];
        uint64_t align;
    } tmp;
    const size_t block = w <= 8 ? BLOCK : w <= sizeof(tmp.b) - CR_PQ_PAD ? BLOCK * 8 / w : 0;
    for (size_t i = 0; i < n;) {
        const char *bad;
        if (block == 0) {
            if (!valid[i])
                memset(out + i * w, 0, w);
            else if ((bad = values_get(v, out + i * w, 1)))
                return bad;
            i++;
            continue;
        }
        size_t m = n - i < block ? n - i : block;
        size_t held = v->k->count(valid + i, m);
        if ((bad = values_get(v, tmp.b, held))) return bad;
        memset(tmp.b + held * w, 0, CR_PQ_PAD); /* kernels read whole words */
        cr_pq_expand(v->k, v->width, out + i * w, tmp.b, valid + i, m);
        i += m;
    }
    return NULL;
}

const char *cr_pq_values_text(cr_pq_values *v, const uint8_t *page, uint32_t base, uint32_t *beg,
                              uint32_t *end, size_t n) {
    if (n == 0) return NULL;
    if (v->form == CR_PQ_F_TEXT)
        return v->k->walk(page, &v->at, v->n, base, beg, end, n) == n ? NULL : too_short;
    if (v->form == CR_PQ_F_OFFSETS) {
        if (v->n - v->at < n) return too_short;
        for (size_t i = 0; i < n; i++) {
            beg[i] = base + v->beg[v->at + i];
            end[i] = base + v->fin[v->at + i];
        }
        v->at += n;
        return NULL;
    }
    if (v->form != CR_PQ_F_DICT) return too_short;
    uint32_t code[BLOCK + CR_PQ_PAD / 4];
    for (size_t i = 0; i < n; i += BLOCK) {
        size_t m = n - i < BLOCK ? n - i : BLOCK;
        const char *bad = cr_pq_values_codes(v, code, m);
        if (bad) return bad;
        v->k->gather32(beg + i, v->dict->beg, code, m);
        v->k->gather32(end + i, v->dict->end, code, m);
    }
    return NULL;
}

const char *cr_pq_values_skip(cr_pq_values *v, const uint8_t *page, size_t n) {
    const size_t w = (size_t)v->width;
    if (n == 0) return NULL;
    if (v->form == CR_PQ_F_FIXED) {
        if ((size_t)(v->end - v->p) / w < n) return too_short;
        v->p += n * w;
        return NULL;
    }
    if (v->form == CR_PQ_F_BITS || v->form == CR_PQ_F_SPLIT || v->form == CR_PQ_F_OFFSETS) {
        size_t have = v->form == CR_PQ_F_BITS ? (size_t)(v->end - v->p) * 8 : v->n;
        if (have - v->at < n) return too_short;
        v->at += n;
        return NULL;
    }
    if (v->form == CR_PQ_F_DICT || v->form == CR_PQ_F_RLE)
        return cr_pq_rle_skip(&v->rle, n) == n ? NULL : too_short;
    uint64_t a[BLOCK + CR_PQ_PAD / 8], b[BLOCK + CR_PQ_PAD / 8];
    for (size_t i = 0; i < n; i += BLOCK) {
        size_t m = n - i < BLOCK ? n - i : BLOCK;
        const char *bad = v->form == CR_PQ_F_DELTA
                              ? values_get(v, (uint8_t *)a, m)
                              : cr_pq_values_text(v, page, 0, (uint32_t *)a, (uint32_t *)b, m);
        if (bad) return bad;
    }
    return NULL;
}
