/*
 * pack.c - turns columns into bytes and back. Text of a dictionary becomes plain text, as it does
 * wherever rows leave the block that they came from.
 */
#include "data/pack.h"

#include <string.h>

#include "data/runs.h"

static void fill_up(cr_buf *out) {
    while (out->n % 8)
        cr_buf_char(out, 0);
}

void cr_pack_bytes(cr_buf *out, const void *p, size_t n) {
    if (n) cr_buf_add(out, p, n);
    fill_up(out);
}

const void *cr_unpack_bytes(const char **at, size_t n) {
    const void *p = *at;
    *at += (n + 7) / 8 * 8;
    return p;
}

void cr_pack_maybe(cr_buf *out, const void *p, size_t n) {
    int64_t there = p != NULL;
    cr_pack_bytes(out, &there, sizeof(there));
    if (p) cr_pack_bytes(out, p, n);
}

const void *cr_unpack_maybe(const char **at, size_t n) {
    int64_t there;
    memcpy(&there, cr_unpack_bytes(at, sizeof(there)), sizeof(there));
    return there ? cr_unpack_bytes(at, n) : NULL;
}

static size_t width_of(cr_coltype t) {
    return t == CR_COL_I64 || t == CR_COL_F64 ? 8 : 4;
}

/* Appends n values: numbers, or offsets and then text. */
static void pack_leaf(cr_buf *out, const cr_column *c, int64_t n) {
    if (c->type != CR_COL_STR) {
        cr_pack_bytes(out, c->v.i64, (size_t)n * width_of(c->type));
        return;
    }
    size_t len;
    uint32_t end = 0;
    cr_buf_add(out, &end, sizeof(end));
    for (int64_t i = 0; i < n; i++) {
        cr_text_at(c, i, &len);
        end += (uint32_t)len;
        cr_buf_add(out, &end, sizeof(end));
    }
    fill_up(out);
    for (int64_t i = 0; i < n; i++) {
        const char *text = cr_text_at(c, i, &len);
        if (len) cr_buf_add(out, text, len);
    }
    fill_up(out);
}

static void unpack_leaf(const char **at, cr_column *c, int64_t n) {
    if (c->type != CR_COL_STR) {
        c->v.i64 = cr_unpack_bytes(at, (size_t)n * width_of(c->type));
        return;
    }
    c->beg = cr_unpack_bytes(at, ((size_t)n + 1) * sizeof(*c->beg));
    c->end = c->beg + 1;
    c->bytes = cr_unpack_bytes(at, c->beg[n]);
}

static void pack_column(cr_buf *out, const cr_column *c, int64_t n_rows) {
    int64_t lists = 0, values = n_rows;
    size_t rows = (size_t)n_rows;
    if (c->stored) {
        c->stored->type->pack(c->stored, out);
        return;
    }
    cr_pack_maybe(out, c->valid, rows);
    if (c->depth > 0) {
        cr_pack_bytes(out, c->row_off, (rows + 1) * sizeof(*c->row_off));
        values = c->row_off[n_rows];
    }
    if (c->depth > 1) {
        lists = values;
        cr_pack_bytes(out, c->item_off, ((size_t)lists + 1) * sizeof(*c->item_off));
        cr_pack_maybe(out, c->list_valid, (size_t)lists);
        values = c->item_off[lists];
    }
    if (c->depth > 0) cr_pack_maybe(out, c->item_valid, (size_t)values);
    pack_leaf(out, c, values);
    if (c->keys) pack_leaf(out, c->keys, values);
}

static void unpack_column(const char **at, const cr_column *shape, int64_t n_rows, cr_column *c,
                          cr_arena *arena) {
    int64_t lists = 0, values = n_rows;
    size_t rows = (size_t)n_rows;
    if (shape->stored) {
        *c = (cr_column){.stored = shape->stored->type->unpack(shape->stored, at, arena)};
        return;
    }
    *c = (cr_column){.type = shape->type, .depth = shape->depth};
    c->valid = cr_unpack_maybe(at, rows);
    if (c->depth > 0) {
        c->row_off = cr_unpack_bytes(at, (rows + 1) * sizeof(*c->row_off));
        values = c->row_off[n_rows];
    }
    if (c->depth > 1) {
        lists = values;
        c->item_off = cr_unpack_bytes(at, ((size_t)lists + 1) * sizeof(*c->item_off));
        c->list_valid = cr_unpack_maybe(at, (size_t)lists);
        values = c->item_off[lists];
    }
    if (c->depth > 0) c->item_valid = cr_unpack_maybe(at, (size_t)values);
    unpack_leaf(at, c, values);
    if (!shape->keys) return;
    cr_column *keys = CR_NEW(arena, cr_column);
    *keys = (cr_column){.type = shape->keys->type, .depth = c->depth, .row_off = c->row_off};
    unpack_leaf(at, keys, values);
    c->keys = keys;
}

void cr_pack_columns(cr_buf *out, const cr_column *cols, int n, int64_t n_rows) {
    for (int i = 0; i < n; i++)
        pack_column(out, &cols[i], n_rows);
}

const char *cr_unpack_columns(const char *data, const cr_column *shape, int n, int64_t n_rows,
                              cr_column *cols, cr_arena *arena) {
    for (int i = 0; i < n; i++)
        unpack_column(&data, &shape[i], n_rows, &cols[i], arena);
    return data;
}
