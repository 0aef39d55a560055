/*
 * thrift.c - the compact protocol, in which Parquet writes its metadata.
 *
 * A struct is its fields and then a stop byte; a field's header is (difference of ids, type).
 * Numbers are zigzag varints, a bool field has its value in the type. The reader checks every byte.
 * It keeps the first mistake and moves to the end, and every later read gives 0, so loops end by
 * themselves. A list never has more elements than bytes are left, as each takes at least one.
 */
#include <string.h>

#include "parquet/parquet_int.h"

#define MAX_NESTED 64

/* ---- reading ---- */

void cr_tin_init(cr_tin *t, const uint8_t *p, size_t n) {
    *t = (cr_tin){.beg = p, .p = p, .end = p + n};
}

static void fail(cr_tin *t, const char *why) {
    if (!t->bad) {
        t->bad = why;
        t->bad_at = (size_t)(t->p - t->beg);
    }
    t->p = t->end;
}

static void ended(cr_tin *t) {
    if (!t->bad) t->cut = true;
    fail(t, "it ends too early");
}

static uint8_t byte(cr_tin *t) {
    if (t->p == t->end) {
        ended(t);
        return 0;
    }
    return *t->p++;
}

static uint64_t varint(cr_tin *t) {
    uint64_t x = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        if (t->p == t->end) {
            ended(t);
            return 0;
        }
        uint8_t b = *t->p++;
        if (shift == 63 && b > 1) break;
        x |= (uint64_t)(b & 0x7f) << shift;
        if (!(b & 0x80)) return x;
    }
    fail(t, "a number has more than 64 bits");
    return 0;
}

int64_t cr_tin_int(cr_tin *t) {
    uint64_t x = varint(t);
    return (int64_t)((x >> 1) ^ (0 - (x & 1)));
}

int cr_tin_i8(cr_tin *t) {
    return (int8_t)byte(t);
}

int cr_tin_field(cr_tin *t, int *id) {
    uint8_t b = byte(t);
    int type = b & 15, step = b >> 4;
    if (t->bad || type == CR_T_STOP) return CR_T_STOP;
    int64_t next = step ? *id + step : cr_tin_int(t);
    if (t->bad) return CR_T_STOP;
    if (next < INT16_MIN || next > INT16_MAX) {
        fail(t, "a field's number is out of range");
        return CR_T_STOP;
    }
    *id = (int)next;
    return type;
}

const uint8_t *cr_tin_bytes(cr_tin *t, size_t *n) {
    uint64_t size = varint(t);
    *n = 0;
    if (t->bad) return t->p;
    if (size > (uint64_t)(t->end - t->p)) {
        /* more bytes do not help when a string is longer than any file */
        if (size > INT32_MAX)
            fail(t, "a string is longer than 2 GiB");
        else
            ended(t);
        return t->p;
    }
    const uint8_t *p = t->p;
    t->p += size;
    *n = (size_t)size;
    return p;
}

size_t cr_tin_list(cr_tin *t, int *type) {
    uint8_t b = byte(t);
    uint64_t n = b >> 4;
    *type = b & 15;
    if (n == 15) n = varint(t);
    if (t->bad) return 0;
    if (n > (uint64_t)(t->end - t->p)) {
        if (n > INT32_MAX)
            fail(t, "a list has more than 2^31 elements");
        else
            ended(t);
        return 0;
    }
    return (size_t)n;
}

bool cr_tin_enter(cr_tin *t) {
    if (t->depth >= MAX_NESTED) {
        fail(t, "its structs are nested too deeply");
        return false;
    }
    t->depth++;
    return !t->bad;
}

void cr_tin_leave(cr_tin *t) {
    t->depth--;
}

static void skip_bytes(cr_tin *t, size_t n) {
    if (n > (size_t)(t->end - t->p))
        ended(t);
    else
        t->p += n;
}

/* skip reads over a value of this type; in_list: a bool has its own byte there. */
static void skip(cr_tin *t, int type, bool in_list) {
    switch (type) {
    case CR_T_TRUE:
    case CR_T_FALSE:
        if (in_list) (void)byte(t);
        break;
    case CR_T_I8: (void)byte(t); break;
    case CR_T_I16:
    case CR_T_I32:
    case CR_T_I64: (void)varint(t); break;
    case CR_T_DOUBLE: skip_bytes(t, 8); break;
    case CR_T_UUID: skip_bytes(t, 16); break;
    case CR_T_BYTES: {
        size_t n;
        (void)cr_tin_bytes(t, &n);
        break;
    }
    case CR_T_LIST:
    case CR_T_SET: {
        if (!cr_tin_enter(t)) break;
        int of;
        size_t n = cr_tin_list(t, &of);
        for (size_t i = 0; i < n && !t->bad; i++)
            skip(t, of, true);
        cr_tin_leave(t);
        break;
    }
    case CR_T_MAP: {
        if (!cr_tin_enter(t)) break;
        uint64_t n = varint(t);
        uint8_t kinds = n ? byte(t) : 0;
        if (n > (uint64_t)(t->end - t->p)) ended(t);
        for (uint64_t i = 0; i < n && !t->bad; i++) {
            skip(t, kinds >> 4, true);
            skip(t, kinds & 15, true);
        }
        cr_tin_leave(t);
        break;
    }
    case CR_T_STRUCT: {
        if (!cr_tin_enter(t)) break;
        int id = 0, of;
        while ((of = cr_tin_field(t, &id)) != CR_T_STOP)
            skip(t, of, false);
        cr_tin_leave(t);
        break;
    }
    default: fail(t, "a value has an unknown type"); break;
    }
}

void cr_tin_skip(cr_tin *t, int type) {
    skip(t, type, false);
}

/* ---- fields ---- */

static bool is_int(int type) {
    return type == CR_T_I16 || type == CR_T_I32 || type == CR_T_I64;
}

/* cr_tin_get_i64 reads an integer field or skips a field of another type; values that do not fit
 * are `bad`. */
bool cr_tin_get_i64(cr_tin *t, int type, int64_t *out) {
    if (is_int(type)) {
        *out = cr_tin_int(t);
        return !t->bad;
    }
    cr_tin_skip(t, type);
    return false;
}
bool cr_tin_get_i32(cr_tin *t, int type, int *out) {
    int64_t x;
    if (!cr_tin_get_i64(t, type, &x)) return false;
    *out = x < INT32_MIN || x > INT32_MAX ? -1 : (int)x; /* no field can use such a number */
    return true;
}
bool cr_tin_get_bool(cr_tin *t, int type, bool *out) {
    if (type == CR_T_TRUE || type == CR_T_FALSE) {
        *out = type == CR_T_TRUE;
        return true;
    }
    cr_tin_skip(t, type);
    return false;
}
bool cr_tin_get_bytes(cr_tin *t, int type, const uint8_t **p, size_t *n) {
    if (type == CR_T_BYTES) {
        *p = cr_tin_bytes(t, n);
        return !t->bad;
    }
    cr_tin_skip(t, type);
    return false;
}

/* cr_tin_get_list returns the number of elements of type `want` of a list field, or -1 when it
 * skips the field. */
int64_t cr_tin_get_list(cr_tin *t, int type, int want) {
    int of;
    if (type != CR_T_LIST) {
        cr_tin_skip(t, type);
        return -1;
    }
    const uint8_t *p = t->p;
    size_t n = cr_tin_list(t, &of);
    if (t->bad) return -1;
    bool same = of == want || (is_int(want) && is_int(of)) ||
                (want == CR_T_TRUE && of == CR_T_FALSE) || n == 0;
    if (same) return (int64_t)n;
    t->p = p;
    cr_tin_skip(t, type);
    return -1;
}

/* ---- writing ---- */

void cr_tout_varint(cr_buf *b, uint64_t x) {
    char s[10];
    size_t n = 0;
    for (; x >= 0x80; x >>= 7)
        s[n++] = (char)(x | 0x80);
    s[n++] = (char)x;
    cr_buf_add(b, s, n);
}

void cr_tout_int(cr_buf *b, int64_t x) {
    cr_tout_varint(b, ((uint64_t)x << 1) ^ (x < 0 ? ~(uint64_t)0 : 0));
}

void cr_tout_field(cr_buf *b, int *last, int id, int type) {
    int step = id - *last;
    if (step > 0 && step < 16)
        cr_buf_char(b, (char)(step << 4 | type));
    else {
        cr_buf_char(b, (char)type);
        cr_tout_int(b, id);
    }
    *last = id;
}

void cr_tout_i32(cr_buf *b, int *last, int id, int32_t x) {
    cr_tout_field(b, last, id, CR_T_I32);
    cr_tout_int(b, x);
}
void cr_tout_i64(cr_buf *b, int *last, int id, int64_t x) {
    cr_tout_field(b, last, id, CR_T_I64);
    cr_tout_int(b, x);
}
void cr_tout_bool(cr_buf *b, int *last, int id, bool x) {
    cr_tout_field(b, last, id, x ? CR_T_TRUE : CR_T_FALSE);
}
void cr_tout_bytes(cr_buf *b, int *last, int id, const void *p, size_t n) {
    if (last) cr_tout_field(b, last, id, CR_T_BYTES);
    cr_tout_varint(b, n);
    cr_buf_add(b, p, n);
}
void cr_tout_list(cr_buf *b, int *last, int id, int type, size_t n) {
    cr_tout_field(b, last, id, CR_T_LIST);
    if (n < 15)
        cr_buf_char(b, (char)(n << 4 | (size_t)type));
    else {
        cr_buf_char(b, (char)(0xf0 | type));
        cr_tout_varint(b, n);
    }
}
void cr_tout_stop(cr_buf *b) {
    cr_buf_char(b, 0);
}
