/*
 * text_norm.c - one pass over the characters of a text: half width, simplified, case, filter, then
 * blanks.
 *
 * The tables of TorchEasyRec's library are not public. Here full-width forms of ASCII and the
 * ideographic space become ASCII; traditional characters are mapped one by one, by Unicode CLDR;
 * cases follow Unicode's simple mappings; special characters are those of Unicode's classes P, S
 * and C, unless stop_char_file lists them. The order is fixed: the filter sees the result of the
 * steps before it.
 */
#include "text/text_norm.h"

#include <utf8proc.h>

#include "base/utf8.h"

static bool has(const cr_text_norm *t, int option) {
    return t->options >> option & 1;
}

static uint32_t simplified(uint32_t c) {
    int lo = 0, hi = cr_n_cht2chs - 1;
    while (lo <= hi) {
        int k = (lo + hi) / 2;
        if (cr_cht2chs[k][0] == c) return cr_cht2chs[k][1];
        if (cr_cht2chs[k][0] < c)
            lo = k + 1;
        else
            hi = k - 1;
    }
    return c;
}

static bool dropped(const cr_text_norm *t, uint32_t c) {
    if (t->stop) {
        int64_t lo = 0, hi = t->n_stop - 1;
        while (lo <= hi) {
            int64_t k = (lo + hi) / 2;
            if (t->stop[k] == c) return true;
            if (t->stop[k] < c)
                lo = k + 1;
            else
                hi = k - 1;
        }
        return false;
    }
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') return false;
    utf8proc_category_t k = utf8proc_category((utf8proc_int32_t)c);
    return (k >= UTF8PROC_CATEGORY_PC && k <= UTF8PROC_CATEGORY_SO) ||
           (k >= UTF8PROC_CATEGORY_CC && k <= UTF8PROC_CATEGORY_CO) || k == UTF8PROC_CATEGORY_CN;
}

static bool is_chinese(uint32_t c) {
    return (c >= 0x3400 && c <= 0x9fff) || (c >= 0xf900 && c <= 0xfaff) ||
           (c >= 0x20000 && c <= 0x3ffff);
}

static bool is_blank(uint32_t c) {
    return c == ' ' || (c >= 9 && c <= 13) || c == 0x3000 || c == 0xa0;
}

static uint32_t changed(const cr_text_norm *t, uint32_t c) {
    if (has(t, CR_TEXT_SBC2DBC)) {
        if (c == 0x3000) c = ' ';
        if (c >= 0xff01 && c <= 0xff5e) c -= 0xfee0;
    }
    if (has(t, CR_TEXT_CHT2CHS)) c = simplified(c);
    if (has(t, CR_TEXT_LOWER2UPPER)) c = (uint32_t)utf8proc_toupper((utf8proc_int32_t)c);
    if (has(t, CR_TEXT_UPPER2LOWER)) c = (uint32_t)utf8proc_tolower((utf8proc_int32_t)c);
    return c;
}

static bool too_long(const cr_text_norm *t, const char *text, size_t n) {
    int64_t chars = 0;
    uint32_t c;
    if (t->max_length == 0) return false;
    for (size_t at = 0; at < n && chars <= t->max_length; chars++)
        at += cr_utf8_get(text + at, n - at, &c);
    return chars > t->max_length;
}

void cr_text_norm_apply(const cr_text_norm *t, const char *text, size_t n, cr_buf *out) {
    cr_buf_reset(out);
    if (too_long(t, text, n)) {
        cr_buf_add(out, text, n);
        return;
    }
    char bytes[4];
    uint32_t c;
    bool apart = false; /* the previous character must stand alone */
    for (size_t at = 0; at < n;) {
        at += cr_utf8_get(text + at, n - at, &c);
        if (c < CR_UTF8_BAD) {
            c = changed(t, c);
            if (has(t, CR_TEXT_FILTER) && dropped(t, c)) continue;
            if (has(t, CR_TEXT_REMOVE_SPACE) && is_blank(c)) continue;
        }
        bool alone = has(t, CR_TEXT_SPLITCHRS) && is_chinese(c);
        if ((alone || apart) && out->n && out->data[out->n - 1] != ' ' && c != ' ')
            cr_buf_char(out, ' ');
        cr_buf_add(out, bytes, cr_utf8_put(bytes, c));
        apart = alone;
    }
}
