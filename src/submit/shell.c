/*
 * shell.c - words of a shell: quoting a text as one word, and splitting a text into words.
 */
#include <string.h>

#include "submit/submit_int.h"

static const char plain[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=+,:@%";

const char *cr_sh(cr_arena *a, const char *text) {
    if (*text && strspn(text, plain) == strlen(text)) return text;
    cr_buf b;
    cr_buf_init(&b);
    cr_buf_char(&b, '\'');
    for (; *text; text++) {
        if (*text == '\'')
            cr_buf_str(&b, "'\\''");
        else
            cr_buf_char(&b, *text);
    }
    cr_buf_char(&b, '\'');
    const char *out = cr_arena_strdup(a, b.data);
    cr_buf_clear(&b);
    return out;
}

const char *cr_sh_double(cr_arena *a, const char *text) {
    cr_buf b;
    cr_buf_init(&b);
    cr_buf_char(&b, '"');
    for (; *text; text++) {
        if (strchr("\"\\$`", *text)) cr_buf_char(&b, '\\');
        cr_buf_char(&b, *text);
    }
    cr_buf_char(&b, '"');
    const char *out = cr_arena_strdup(a, b.data);
    cr_buf_clear(&b);
    return out;
}

/* Reads one word into b and returns the text behind it. */
static const char *read_word(const char *p, cr_buf *b) {
    char quote = 0;
    for (; *p && (quote || !strchr(" \t\n", *p)); p++) {
        if (quote ? *p == quote : *p == '\'' || *p == '"') {
            quote = quote ? 0 : *p;
            continue;
        }
        /* in double quotes a backslash is one, but before these */
        bool escape = quote == 0 || (quote == '"' && p[1] && strchr("\"\\$`", p[1]));
        if (*p == '\\' && p[1] && escape) p++;
        cr_buf_char(b, *p);
    }
    return p;
}

const char *const *cr_sh_split(cr_arena *a, const char *text, int *n) {
    const char **out = CR_NEW_N(a, const char *, (int64_t)strlen(text) + 1);
    cr_buf b;
    cr_buf_init(&b);
    *n = 0;
    for (const char *p = text + strspn(text, " \t\n"); *p; p += strspn(p, " \t\n")) {
        cr_buf_reset(&b);
        cr_buf_str(&b, "");
        p = read_word(p, &b);
        out[(*n)++] = cr_arena_strndup(a, b.data, b.n);
    }
    cr_buf_clear(&b);
    return out;
}
