/*
 * word.h - texts of up to 8 bytes as one number, so that they are compared, hashed and read as
 * decimal numbers without a loop over their bytes.
 *
 * A word has the text in its lowest bytes, the first one lowest, and zeros behind it. The text "1"
 * and the two bytes "1\0" have the same word, so the length belongs to it.
 */
#ifndef CR_BASE_WORD_H
#define CR_BASE_WORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t cr_word_bytes(const void *p) {
    uint64_t w;
    memcpy(&w, p, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    w = __builtin_bswap64(w);
#endif
    return w;
}

/* cr_word_at reads a text of n bytes, at most 8; p has 8 readable bytes. */
static inline uint64_t cr_word_at(const char *p, size_t n) {
    uint64_t w = cr_word_bytes(p);
    return n < 8 ? w & ((UINT64_C(1) << (8 * n)) - 1) : w;
}

/* cr_word_of does the same without reading behind the text. */
static inline uint64_t cr_word_of(const char *p, size_t n) {
    char all[8] = {0};
    memcpy(all, p, n);
    return cr_word_bytes(all);
}

/* cr_word_digits reads n decimal digits, 1 to 8; false: a byte is no digit. */
static inline bool cr_word_digits(uint64_t w, size_t n, uint32_t *out) {
    unsigned gone = 64 - 8 * (unsigned)n; /* bits behind the number; zeros come in front */
    uint64_t v = (w << gone) | (gone ? UINT64_C(0x3030303030303030) >> (64 - gone) : 0);
    uint64_t high = v & 0xf0f0f0f0f0f0f0f0u;
    uint64_t over = ((v + 0x0606060606060606u) & 0xf0f0f0f0f0f0f0f0u) >> 4;
    if ((high | over) != 0x3333333333333333u) return false;
    v -= 0x3030303030303030u;
    v = v * 10 + (v >> 8); /* pairs */
    v = ((v & 0x000000ff000000ffu) * 0x000f424000000064u +
         ((v >> 16) & 0x000000ff000000ffu) * 0x0000271000000001u) >>
        32;
    *out = (uint32_t)v;
    return true;
}

/* A decimal number: digits, of which the last `fraction` stand behind the point. */
typedef struct cr_decimal {
    uint32_t digits;
    unsigned fraction;
    bool minus;
} cr_decimal;

/* cr_word_decimal reads a text of n bytes, 1 to 8: digits, perhaps with a minus in front and one
 * point among them; false: it is no such text, but may be a number of another form. */
static inline bool cr_word_decimal(uint64_t w, size_t n, cr_decimal *out) {
    unsigned minus = (w & 255) == '-'; /* no branch: a sign cannot be predicted */
    out->minus = minus;
    w >>= 8 * minus;
    n -= minus;
    uint64_t t = w ^ UINT64_C(0x2e2e2e2e2e2e2e2e); /* its lowest byte of zero bits is the point */
    uint64_t point = (t - UINT64_C(0x0101010101010101)) & ~t & UINT64_C(0x8080808080808080);
    out->fraction = 0;
    if (point) {
        unsigned at = (unsigned)__builtin_ctzll(point) & ~7U;
        out->fraction = (unsigned)n - 1 - at / 8;
        w = (w & ((UINT64_C(1) << at) - 1)) | (w >> at >> 8 << at);
        n--;
    }
    return n > 0 && cr_word_digits(w, n, &out->digits);
}

/* cr_decimal_value has the bits that cr_parse_f64 gives for the text. */
static inline double cr_decimal_value(cr_decimal d) {
    static const double tens[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7};
    double x = d.digits;
    uint64_t bits;
    if (d.fraction) x /= tens[d.fraction];
    memcpy(&bits, &x, sizeof x);
    bits |= (uint64_t)d.minus << 63;
    memcpy(&x, &bits, sizeof x);
    return x;
}

#endif
