/*
 * escape.c - the characters that escapes stand for, and the text of YAML's quoted scalars.
 *
 * A quoted scalar may run over several lines: blanks around a line break are removed, a single
 * break becomes a space, and a run of n breaks becomes n - 1. Characters that an escape made are
 * text and are never removed.
 */
#include <ctype.h>
#include <string.h>

#include "base/utf8.h"
#include "conf/conf_int.h"

bool cr_conf_hex(const char *s, const char *end, int n, uint32_t *out) {
    *out = 0;
    if (end - s < n) return false;
    for (int i = 0; i < n; i++) {
        if (!isxdigit((unsigned char)s[i])) return false;
        int d = isdigit((unsigned char)s[i]) ? s[i] - '0' : (s[i] | 32) - 'a' + 10;
        *out = *out * 16 + (uint32_t)d;
    }
    return true;
}

const char *cr_conf_unicode(const char *s, const char *end, int n, uint32_t *c) {
    uint32_t low;
    if (!cr_conf_hex(s, end, n, c)) return NULL;
    s += n;
    if (*c >= 0xd800 && *c < 0xdc00 && end - s >= 6 && s[0] == '\\' && s[1] == 'u' &&
        cr_conf_hex(s + 2, end, 4, &low) && low >= 0xdc00 && low < 0xe000) {
        *c = 0x10000 + ((*c - 0xd800) << 10) + (low - 0xdc00);
        s += 6;
    }
    if (*c > 0x10ffff || (*c >= 0xd800 && *c < 0xe000)) *c = CR_UTF8_BAD;
    return s;
}

void cr_conf_put_utf8(cr_buf *b, uint32_t c) {
    char text[4];
    cr_buf_add(b, text, cr_utf8_put(text, c));
}

/* yaml_escape reads the escape at s (after the backslash) and returns the text that follows it. A
 * character that is no escape stands for itself: libfyaml has refused such text already. */
static const char *yaml_escape(const char *s, const char *end, cr_buf *b) {
    static const char from[] = "0abtnvfre \"/\\\t";
    static const char to[] = "\0\a\b\t\n\v\f\r\033 \"/\\\t";
    const char *simple = *s ? strchr(from, *s) : NULL;
    int digits = *s == 'x' ? 2 : *s == 'u' ? 4 : *s == 'U' ? 8 : 0;
    uint32_t c;
    if (simple) {
        cr_buf_char(b, to[simple - from]);
        return s + 1;
    }
    if (*s == 'N' || *s == '_' || *s == 'L' || *s == 'P') {
        cr_conf_put_utf8(b, *s == 'N' ? 0x85u : *s == '_' ? 0xa0u : *s == 'L' ? 0x2028u : 0x2029u);
        return s + 1;
    }
    const char *next = digits ? cr_conf_unicode(s + 1, end, digits, &c) : NULL;
    if (!next) {
        cr_buf_char(b, *s);
        return s + 1;
    }
    cr_conf_put_utf8(b, c == CR_UTF8_BAD ? 0xfffd : c);
    return next;
}

static bool is_break(char c) {
    return c == '\n' || c == '\r';
}

const char *cr_conf_yaml_quoted(cr_arena *arena, char quote, const char *s, size_t n, size_t *len) {
    const char *end = s + n;
    cr_buf b;
    size_t floor = 0; /* bytes that folding must not remove */
    cr_buf_init(&b);
    while (s < end) {
        bool escape = quote == '"' && *s == '\\' && end - s > 1;
        if (escape && !is_break(s[1])) {
            s = yaml_escape(s + 1, end, &b);
            floor = b.n;
        } else if (escape || is_break(*s)) {
            int breaks = 0;
            if (escape) floor = b.n; /* the blanks before an escaped break stay */
            while (b.n > floor && (b.data[b.n - 1] == ' ' || b.data[b.n - 1] == '\t'))
                b.n--;
            for (s += escape; s < end && (is_break(*s) || *s == ' ' || *s == '\t'); s++)
                breaks += *s == '\n' || (*s == '\r' && !(end - s > 1 && s[1] == '\n'));
            if (breaks == 1 && !escape) cr_buf_char(&b, ' ');
            while (--breaks > 0)
                cr_buf_char(&b, '\n');
            floor = b.n;
        } else {
            s += quote == '\'' && *s == '\'' && end - s > 1 ? 2 : 1;
            cr_buf_char(&b, s[-1]);
        }
    }
    *len = b.n;
    char *text = cr_arena_alloc(arena, b.n + 1);
    if (b.n) memcpy(text, b.data, b.n);
    text[b.n] = 0;
    cr_buf_clear(&b);
    return text;
}
