/*
 * utf8.h - characters of UTF-8 text, one at a time. A byte that is no UTF-8 counts as one
 * character, so that any text can be walked.
 */
#ifndef CR_BASE_UTF8_H
#define CR_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CR_UTF8_BAD 0x110000u /* added to a byte that is no UTF-8 */

/* cr_utf8_get reads the character at s (n >= 1 bytes are left), returns its length. */
static inline size_t cr_utf8_get(const char *s, size_t n, uint32_t *out) {
    const unsigned char *p = (const unsigned char *)s;
    uint32_t c = p[0];
    size_t len = c < 0x80 ? 1 : c >= 0xc2 && c < 0xe0 ? 2 : c >= 0xe0 && c < 0xf0 ? 3 : 4;
    *out = c;
    if (len == 1) return 1;
    *out = CR_UTF8_BAD + c;
    if (c < 0xc2 || c > 0xf4 || n < len) return 1;
    c &= 0x7fu >> len;
    for (size_t i = 1; i < len; i++) {
        if ((p[i] & 0xc0) != 0x80) return 1;
        c = c << 6 | (p[i] & 0x3f);
    }
    if ((len == 3 && (c < 0x800 || (c >= 0xd800 && c < 0xe000))) ||
        (len == 4 && (c < 0x10000 || c > 0x10ffff)))
        return 1;
    *out = c;
    return len;
}

/* cr_utf8_put writes a character (or the byte that CR_UTF8_BAD stands for), returns its length. */
static inline size_t cr_utf8_put(char out[4], uint32_t c) {
    if (c >= CR_UTF8_BAD) {
        out[0] = (char)(c - CR_UTF8_BAD);
        return 1;
    }
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    size_t len = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = len; i-- > 1; c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)((0xf00u >> len & 0xff) | c);
    return len;
}

/* cr_utf8_all: is the whole text UTF-8? */
static inline bool cr_utf8_all(const char *s, size_t n) {
    uint32_t c = 0;
    for (size_t i = 0; i < n && c < CR_UTF8_BAD;)
        i += cr_utf8_get(s + i, n - i, &c);
    return c < CR_UTF8_BAD;
}

/* cr_utf8_cut returns the last place up to n where s, which is longer, can be cut between
 * characters. */
static inline size_t cr_utf8_cut(const char *s, size_t n) {
    while (n > 0 && ((unsigned char)s[n] & 0xc0) == 0x80)
        n--;
    return n;
}

#endif
