/*
 * flat.c - reads and writes FlatBuffers. Numbers are little-endian, as on the machines that crank
 * runs on, and may lie unaligned.
 */
#include "data/arrow/flat.h"

#include <string.h>

/* ---- reading ---- */

static uint64_t number(const uint8_t *p, int bytes) {
    uint64_t x = 0;
    for (int i = 0; i < bytes; i++)
        x |= (uint64_t)p[i] << (8 * i);
    return x;
}

int64_t cr_flat_i64(const uint8_t *p) {
    return (int64_t)number(p, 8);
}

int32_t cr_flat_i32(const uint8_t *p) {
    return (int32_t)(uint32_t)number(p, 4);
}

/* Are n bytes at `at` inside? */
static bool inside(cr_flat *b, size_t at, size_t n) {
    bool in = at <= b->n && n <= b->n - at;
    if (!in) b->bad = true;
    return in;
}

static cr_flat_table table_at(cr_flat *b, size_t at) {
    cr_flat_table none = {0};
    if (!inside(b, at, 4)) return none;
    int64_t vtable = (int64_t)at - cr_flat_i32(b->p + at);
    if (vtable < 0 || !inside(b, (size_t)vtable, 4)) {
        b->bad = true;
        return none;
    }
    size_t bytes = number(b->p + vtable, 2), size = number(b->p + vtable + 2, 2);
    if (bytes < 4 || size < 4 || !inside(b, (size_t)vtable, bytes) || !inside(b, at, size)) {
        b->bad = true;
        return none;
    }
    return (cr_flat_table){at, size, (size_t)vtable + 4, (bytes - 4) / 2};
}

/* Follows the reference at `at`; 0: it leads nowhere. References lead forwards. */
static size_t follow(cr_flat *b, size_t at) {
    if (!inside(b, at, 4)) return 0;
    size_t by = number(b->p + at, 4);
    if (by == 0 || !inside(b, at, by)) {
        b->bad = true;
        return 0;
    }
    return at + by;
}

cr_flat_table cr_flat_root(cr_flat *b) {
    size_t at = follow(b, 0);
    return at ? table_at(b, at) : (cr_flat_table){0};
}

/* The place of a field of so many bytes; 0: it has its default. */
static size_t place_of(cr_flat *b, cr_flat_table t, int slot, size_t bytes) {
    if (t.size == 0 || (size_t)slot >= t.n_slots) return 0;
    size_t off = number(b->p + t.vtable + 2 * (size_t)slot, 2);
    if (off == 0) return 0;
    if (off < 4 || off > t.size || bytes > t.size - off) {
        b->bad = true;
        return 0;
    }
    return t.at + off;
}

bool cr_flat_has(const cr_flat *b, cr_flat_table t, int slot) {
    return t.size > 0 && (size_t)slot < t.n_slots &&
           number(b->p + t.vtable + 2 * (size_t)slot, 2) != 0;
}

int64_t cr_flat_int(cr_flat *b, cr_flat_table t, int slot, int bytes, bool is_signed, int64_t def) {
    size_t at = place_of(b, t, slot, (size_t)bytes);
    if (at == 0) return def;
    uint64_t x = number(b->p + at, bytes);
    int spare = 64 - 8 * bytes;
    return is_signed ? (int64_t)(x << spare) >> spare : (int64_t)x;
}

cr_flat_table cr_flat_sub(cr_flat *b, cr_flat_table t, int slot) {
    size_t at = place_of(b, t, slot, 4);
    size_t to = at ? follow(b, at) : 0;
    return to ? table_at(b, to) : (cr_flat_table){0};
}

cr_flat_vec cr_flat_list(cr_flat *b, cr_flat_table t, int slot, size_t each) {
    size_t at = place_of(b, t, slot, 4);
    size_t to = at ? follow(b, at) : 0;
    cr_flat_vec none = {0};
    if (to == 0 || !inside(b, to, 4)) return none;
    size_t n = number(b->p + to, 4);
    if (n > (b->n - to - 4) / each) {
        b->bad = true;
        return none;
    }
    return (cr_flat_vec){to + 4, n};
}

cr_flat_table cr_flat_item(cr_flat *b, cr_flat_vec v, size_t i) {
    size_t to = i < v.n ? follow(b, v.at + 4 * i) : 0;
    return to ? table_at(b, to) : (cr_flat_table){0};
}

const char *cr_flat_text(cr_flat *b, cr_flat_table t, int slot, size_t *n) {
    cr_flat_vec v = cr_flat_list(b, t, slot, 1);
    *n = v.n;
    return v.n ? (const char *)b->p + v.at : "";
}

/* ---- writing ---- */

static void put(cr_buf *b, uint64_t x, int bytes) {
    char c[8];
    for (int i = 0; i < bytes; i++)
        c[i] = (char)(x >> (8 * i));
    cr_buf_add(b, c, (size_t)bytes);
}

/* Writes zeros until the place is `more` bytes before a multiple of 8. */
static void pad(cr_flat_out *o, size_t more) {
    while ((o->b->n - o->start + more) % 8 != 0)
        cr_buf_char(o->b, 0);
}

void cr_flat_begin(cr_flat_out *o, cr_buf *b) {
    *o = (cr_flat_out){b, b->n};
    put(b, 0, 8);
}

size_t cr_flat_put_table(cr_flat_out *o, const cr_flat_put *f, int n, size_t *places) {
    uint16_t off[16];
    size_t end = 4;
    CR_ASSERT(n <= 16);
    for (int i = 0; i < n; i++) {
        off[i] = 0;
        if (f[i].size == 0) continue;
        size_t k = (size_t)f[i].size;
        end = (end + k - 1) / k * k;
        off[i] = (uint16_t)end;
        end += k;
    }
    pad(o, 0);
    size_t vtable = o->b->n - o->start;
    put(o->b, 4 + 2 * (uint64_t)n, 2);
    put(o->b, end, 2);
    for (int i = 0; i < n; i++)
        put(o->b, off[i], 2);
    pad(o, 0);
    size_t at = o->b->n - o->start;
    put(o->b, at - vtable, 4);
    for (size_t k = 4; k < end; k++)
        cr_buf_char(o->b, 0);
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < f[i].size; k++)
            o->b->data[o->start + at + off[i] + (size_t)k] =
                (char)((uint64_t)f[i].value >> (8 * k));
        if (places) places[i] = at + off[i];
    }
    return at;
}

size_t cr_flat_put_text(cr_flat_out *o, const char *s) {
    size_t n = strlen(s);
    pad(o, 0);
    size_t at = o->b->n - o->start;
    put(o->b, n, 4);
    cr_buf_add(o->b, s, n);
    cr_buf_char(o->b, 0);
    return at;
}

size_t cr_flat_put_list(cr_flat_out *o, size_t n, size_t each) {
    pad(o, 4);
    size_t at = o->b->n - o->start;
    put(o->b, n, 4);
    for (size_t i = 0; i < n * each; i++)
        cr_buf_char(o->b, 0);
    return at;
}

void cr_flat_link(cr_flat_out *o, size_t place, size_t target) {
    CR_ASSERT(target > place);
    for (int k = 0; k < 4; k++)
        o->b->data[o->start + place + (size_t)k] = (char)((target - place) >> (8 * k));
}

void cr_flat_set_i64(cr_flat_out *o, size_t place, int64_t x) {
    for (int k = 0; k < 8; k++)
        o->b->data[o->start + place + (size_t)k] = (char)((uint64_t)x >> (8 * k));
}
