/*
 * proto.c - see proto.h.
 */
#include "base/proto.h"

#include <string.h>

cr_pb cr_pb_of(const void *data, size_t n) {
    static const unsigned char none;
    const unsigned char *p = n ? data : &none; /* no arithmetic on NULL */
    return (cr_pb){p, p + n, false};
}

bool cr_pb_varint(cr_pb *m, uint64_t *x) {
    *x = 0;
    for (int shift = 0; shift < 64 && m->at < m->end; shift += 7) {
        unsigned char c = *m->at++;
        *x |= (uint64_t)(c & 0x7f) << shift;
        if (!(c & 0x80)) return true;
    }
    m->bad = true;
    return false;
}

bool cr_pb_part(cr_pb *m, cr_pb *part) {
    uint64_t n;
    if (!cr_pb_varint(m, &n)) return false;
    if (n > cr_pb_len(*m)) {
        m->bad = true;
        return false;
    }
    *part = cr_pb_of(m->at, (size_t)n);
    m->at += n;
    return true;
}

bool cr_pb_next(cr_pb *m, cr_pb_field *f) {
    uint64_t tag;
    if (m->bad || m->at == m->end || !cr_pb_varint(m, &tag)) return false;
    *f = (cr_pb_field){.number = tag >> 3, .wire = (int)(tag & 7), .b = cr_pb_of(NULL, 0)};
    size_t width = f->wire == CR_PB_64 ? 8 : 4;
    switch (f->wire) {
    case CR_PB_VARINT: cr_pb_varint(m, &f->x); break;
    case CR_PB_BYTES: cr_pb_part(m, &f->b); break;
    case CR_PB_64:
    case CR_PB_32:
        m->bad = cr_pb_len(*m) < width;
        for (size_t i = 0; !m->bad && i < width; i++)
            f->x |= (uint64_t)*m->at++ << 8 * i;
        break;
    default: m->bad = true;
    }
    if (f->number == 0) m->bad = true;
    return !m->bad;
}

bool cr_pb_text(cr_pb b, char *out, size_t size) {
    size_t n = cr_pb_len(b);
    out[0] = 0;
    if (n >= size || memchr(b.at, 0, n)) return false;
    memcpy(out, b.at, n);
    out[n] = 0;
    return true;
}

void cr_pb_add_varint(cr_buf *out, uint64_t x) {
    for (; x >= 0x80; x >>= 7)
        cr_buf_char(out, (char)(unsigned char)(x | 0x80));
    cr_buf_char(out, (char)(unsigned char)x);
}

void cr_pb_add_num(cr_buf *out, unsigned number, uint64_t x) {
    cr_pb_add_varint(out, (uint64_t)number << 3 | CR_PB_VARINT);
    cr_pb_add_varint(out, x);
}

void cr_pb_add_bytes(cr_buf *out, unsigned number, const void *p, size_t n) {
    cr_pb_add_varint(out, (uint64_t)number << 3 | CR_PB_BYTES);
    cr_pb_add_varint(out, n);
    if (n) cr_buf_add(out, p, n);
}

void cr_pb_add_str(cr_buf *out, unsigned number, const char *s) {
    cr_pb_add_bytes(out, number, s, strlen(s));
}

void cr_pb_add_part(cr_buf *out, const cr_buf *message) {
    cr_pb_add_varint(out, message->n);
    if (message->n) cr_buf_add(out, message->data, message->n);
}
