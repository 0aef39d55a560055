/*
 * shown.c - escapes the characters that must not reach a terminal as they are.
 */
#include "base/shown.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

#define LONGEST 16 /* room for one character as it is shown: at most \u{10ffff} */

static bool is_plain(uint32_t c) {
    if (c < 0x20 || (c >= 0x7f && c < 0xa0)) return false;
    bool turns = c == 0x61c || c == 0x200e || c == 0x200f || (c >= 0x202a && c <= 0x202e) ||
                 (c >= 0x2066 && c <= 0x2069);
    return !turns && c != 0x2028 && c != 0x2029 && c != 0xfeff;
}

size_t cr_shown_char(const char *s, size_t n, uint32_t *c, bool *plain) {
    size_t len = cr_utf8_get(s, n, c);
    *plain = *c < CR_UTF8_BAD && is_plain(*c);
    return *c < CR_UTF8_BAD ? len : 0;
}

/* one writes the character at s into out, as it is shown; returns how many bytes of s it took. */
static size_t one(const char *s, size_t n, char out[LONGEST]) {
    uint32_t c = 0;
    bool plain;
    size_t len = cr_shown_char(s, n, &c, &plain);
    if (plain) {
        memcpy(out, s, len);
        out[len] = 0;
        return len;
    }
    static const char names[] = "abtnvfr"; /* escapes of the characters from 7 on */
    if (len == 0)
        snprintf(out, LONGEST, "\\x%02x", (unsigned)(unsigned char)*s);
    else if (c >= 7 && c <= 13)
        snprintf(out, LONGEST, "\\%c", names[c - 7]);
    else if (c < 0x80)
        snprintf(out, LONGEST, "\\x%02x", (unsigned)c);
    else
        snprintf(out, LONGEST, "\\u{%x}", (unsigned)c);
    return len ? len : 1;
}

/* plain_part counts the bytes at the beginning of s that need no escape. */
static size_t plain_part(const char *s, size_t n) {
    size_t i = 0;
    while (i < n) {
        uint32_t c = 0;
        bool plain;
        size_t len = cr_shown_char(s + i, n - i, &c, &plain);
        if (!plain) break;
        i += len;
    }
    return i;
}

void cr_buf_shown(cr_buf *b, const char *s, size_t n, bool lines) {
    char text[LONGEST];
    while (n > 0) {
        size_t k = plain_part(s, n);
        cr_buf_add(b, s, k);
        s += k;
        n -= k;
        if (n == 0) break;
        if (lines && (*s == '\n' || *s == '\t')) {
            cr_buf_char(b, *s);
            k = 1;
        } else {
            k = one(s, n, text);
            cr_buf_str(b, text);
        }
        s += k;
        n -= k;
    }
}

const char *cr_shown(cr_arena *a, const char *s) {
    size_t n = strlen(s);
    if (plain_part(s, n) == n) return s;
    cr_buf b;
    cr_buf_init(&b);
    cr_buf_shown(&b, s, n, false);
    const char *t = cr_arena_strndup(a, b.data, b.n);
    cr_buf_clear(&b);
    return t;
}

size_t cr_shown_into(char *out, size_t size, const char *s, size_t n) {
    size_t at = 0, from = 0;
    char text[LONGEST];
    if (size == 0) return 0;
    while (from < n) {
        size_t k = one(s + from, n - from, text), len = strlen(text);
        if (at + len + 1 > size) break;
        memcpy(out + at, text, len);
        at += len;
        from += k;
    }
    out[at] = 0;
    return from;
}

char *cr_show(char out[CR_SHOW], const char *s, size_t n) {
    if (cr_shown_into(out, CR_SHOW - 6, s, n) < n) strcat(out, "...");
    return out;
}
