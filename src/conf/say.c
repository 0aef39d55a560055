/*
 * say.c - config text inside of messages, in the syntax of the user's file, so that a cure can be
 * pasted: `lr: 0.1` is "lr": 0.1 in a JSON file, `ema: {decay: 0.999}` is ema { decay: 0.999 } in
 * protobuf text.
 *
 * Callers write values in YAML's flow style: scalars, "texts" in quotes, [lists] and {maps}. Names
 * of enums go without quotes. The values are crank's own, so that nothing here is checked.
 */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "conf/conf.h"

typedef struct sayer {
    const char *p; /* the rest of the value */
    cr_buf *out;
    cr_syntax to;
} sayer;

static void value(sayer *s);

static void blanks(sayer *s) {
    while (*s->p == ' ')
        s->p++;
}

/* next_is: is the next character c? If so, it is skipped. */
static bool next_is(sayer *s, char c) {
    blanks(s);
    if (*s->p != c) return false;
    s->p++;
    return true;
}

static void key(sayer *s, const char *name, size_t n) {
    const char *quote = s->to == CR_SYNTAX_JSON ? "\"" : "";
    cr_buf_printf(s->out, "%s%.*s%s", quote, (int)n, name, quote);
}

/* pair writes a key and its value; in protobuf text a list of messages repeats the key for each
 * message. */
static void pair(sayer *s, const char *name, size_t n) {
    blanks(s);
    const char *in = s->p + strspn(s->p, "[ ");
    bool messages = s->to == CR_SYNTAX_PBTXT && *in == '{';
    if (messages && next_is(s, '[')) {
        for (bool more = true; more; more = next_is(s, ',')) {
            key(s, name, n);
            cr_buf_char(s->out, ' ');
            value(s);
            blanks(s);
            if (*s->p == ',') cr_buf_char(s->out, ' ');
        }
        next_is(s, ']');
        return;
    }
    key(s, name, n);
    cr_buf_str(s->out, messages ? " " : ": ");
    value(s);
}

static void map(sayer *s) {
    bool pb = s->to == CR_SYNTAX_PBTXT;
    cr_buf_str(s->out, "{");
    if (next_is(s, '}')) {
        cr_buf_str(s->out, "}");
        return;
    }
    if (pb) cr_buf_str(s->out, " ");
    for (bool more = true; more;) {
        blanks(s);
        const char *name = s->p;
        size_t n = strcspn(name, ":");
        s->p += n;
        next_is(s, ':');
        pair(s, name, n);
        more = next_is(s, ',');
        if (more) cr_buf_str(s->out, pb ? " " : ", ");
    }
    next_is(s, '}');
    cr_buf_str(s->out, pb ? " }" : "}");
}

static void list(sayer *s) {
    cr_buf_str(s->out, "[");
    for (bool more = !next_is(s, ']'); more;) {
        value(s);
        more = next_is(s, ',');
        if (more) cr_buf_str(s->out, ", ");
        if (!more) next_is(s, ']');
    }
    cr_buf_str(s->out, "]");
}

static void scalar(sayer *s) {
    size_t n = 0;
    if (*s->p == '"') {
        for (n = 1; s->p[n] && s->p[n] != '"'; n++)
            n += s->p[n] == '\\' && s->p[n + 1];
        n += s->p[n] == '"';
    } else {
        n = strcspn(s->p, ",]}");
    }
    double x;
    bool plain = *s->p == '"' || cr_parse_f64(s->p, n, &x) || strncmp(s->p, "true", n) == 0 ||
                 strncmp(s->p, "false", n) == 0;
    const char *quote = s->to == CR_SYNTAX_JSON && !plain ? "\"" : "";
    cr_buf_printf(s->out, "%s%.*s%s", quote, (int)n, s->p, quote);
    s->p += n;
}

static void value(sayer *s) {
    if (next_is(s, '{'))
        map(s);
    else if (next_is(s, '['))
        list(s);
    else
        scalar(s);
}

const char *cr_conf_say(char out[CR_CONF_SAY], const void *conf, const char *path, const char *fmt,
                        ...) {
    char text[CR_CONF_SAY];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    cr_buf b;
    cr_buf_init(&b);
    sayer s = {text, &b, ((const cr_conf_base *)conf)->from};
    const char *dot = strrchr(path, '.'), *name = dot ? dot + 1 : path;
    pair(&s, name, strlen(name));
    if (dot) cr_buf_printf(&b, " in %.*s", (int)(dot - path), path);
    snprintf(out, CR_CONF_SAY, "%s", b.data);
    cr_buf_clear(&b);
    return out;
}
