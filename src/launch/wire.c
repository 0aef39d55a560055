/*
 * wire.c - one writer and one parser for all messages, driven by the table of wire.h.
 */
#include "launch/wire.h"

#include <stdio.h>
#include <string.h>

#define ROW(name, fields) [CR_WIRE_##name] = {#name, fields},
static const struct { const char *name, *fields; } rows[CR_WIRE_TYPES] = {CR_WIRE_TABLE(ROW)};

const char *cr_wire_name(cr_wire_type type) {
    return type > CR_WIRE_NONE && type < CR_WIRE_TYPES ? rows[type].name : "?";
}

void cr_wire_put(cr_buf *out, const cr_msg *m) {
    int n_nums = 0, n_texts = 0;
    cr_buf_char(out, (char)m->type);
    for (const char *f = rows[m->type].fields; *f; f++) {
        if (*f == 'n') {
            uint64_t x = m->num[n_nums++];
            for (int i = 0; i < 8; i++)
                cr_buf_char(out, (char)(x >> (8 * i) & 0xff));
            continue;
        }
        size_t n = m->text[n_texts].n;
        if (n > CR_WIRE_TEXT) n = CR_WIRE_TEXT;
        cr_buf_char(out, (char)(n & 0xff));
        cr_buf_char(out, (char)(n >> 8));
        cr_buf_add(out, m->text[n_texts++].p, n);
    }
}

bool cr_wire_get(cr_msg *out, const void *data, size_t n) {
    const unsigned char *p = data, *end = p + n;
    int n_nums = 0, n_texts = 0;
    *out = (cr_msg){0};
    if (n < 1 || n > CR_WIRE_MAX || *p == CR_WIRE_NONE || *p >= CR_WIRE_TYPES) return false;
    out->type = (cr_wire_type)*p++;
    for (const char *f = rows[out->type].fields; *f; f++) {
        if (*f == 'n') {
            if (end - p < 8) return false;
            for (int i = 0; i < 8; i++)
                out->num[n_nums] |= (uint64_t)p[i] << (8 * i);
            n_nums++;
            p += 8;
            continue;
        }
        if (end - p < 2) return false;
        size_t len = (size_t)p[0] | (size_t)p[1] << 8;
        p += 2;
        if (len > CR_WIRE_TEXT || len > (size_t)(end - p) || memchr(p, 0, len)) return false;
        out->text[n_texts].p = (const char *)p;
        out->text[n_texts++].n = len;
        p += len;
    }
    return p == end;
}

void cr_wire_text(const cr_msg *m, int i, char *out, size_t size) {
    snprintf(out, size, "%.*s", (int)m->text[i].n, m->text[i].n ? m->text[i].p : "");
}
