/*
 * proto.h - protobuf messages on the wire, read and written field by field without generated code.
 *
 * The bytes come from another machine and are not believed: every length is compared with what is
 * left before it is used, and a message that is broken sets `bad` and ends the walk.
 */
#ifndef CR_BASE_PROTO_H
#define CR_BASE_PROTO_H

#include "base/buf.h"

/* A message that is read; a view of bytes that the caller keeps. */
typedef struct cr_pb {
    const unsigned char *at, *end;
    bool bad; /* the bytes are no message */
} cr_pb;

/* The wire types. */
enum { CR_PB_VARINT = 0, CR_PB_64 = 1, CR_PB_BYTES = 2, CR_PB_32 = 5 };

typedef struct cr_pb_field {
    uint64_t number;
    int wire;
    uint64_t x; /* the value of a number; 0 where the field is bytes */
    cr_pb b;    /* the bytes of a text or of a message inside; empty where it is a number */
} cr_pb_field;

cr_pb cr_pb_of(const void *data, size_t n);
/* cr_pb_next reads the next field; false: the message has ended, or is bad. */
bool cr_pb_next(cr_pb *m, cr_pb_field *f);
/* cr_pb_varint reads a bare number; false sets bad. */
bool cr_pb_varint(cr_pb *m, uint64_t *x);
/* cr_pb_part takes a message with its length in front of it; false sets bad. */
bool cr_pb_part(cr_pb *m, cr_pb *part);
/* cr_pb_text copies bytes as a text and ends it. False: they do not fit, or have a NUL. */
bool cr_pb_text(cr_pb b, char *out, size_t size);
static inline size_t cr_pb_len(cr_pb m) {
    return (size_t)(m.end - m.at);
}
/* cr_pb_is: is the field this number, with this wire type? */
static inline bool cr_pb_is(const cr_pb_field *f, uint64_t number, int wire) {
    return f->number == number && f->wire == wire;
}

/* Writing: a field each. A message inside is written to a buffer of its own first. */
void cr_pb_add_varint(cr_buf *out, uint64_t x);
void cr_pb_add_num(cr_buf *out, unsigned number, uint64_t x);
void cr_pb_add_bytes(cr_buf *out, unsigned number, const void *p, size_t n);
void cr_pb_add_str(cr_buf *out, unsigned number, const char *s);
/* cr_pb_add_part writes a message with its length in front of it, without a number. */
void cr_pb_add_part(cr_buf *out, const cr_buf *message);

#endif
