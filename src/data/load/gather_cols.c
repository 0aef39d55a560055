/*
 * gather_cols.c - copies reserved columns of several batches into one: single values, lists, lists
 * of lists and maps, with nulls. Text of a dictionary becomes plain text, because the dictionary
 * belongs to the block that the rows came from. Columns that are carried as they are stored are
 * left to the format that stored them.
 */
#include "data/load/gather_int.h"

#include <string.h>

enum { LISTS, VALUES, TEXT, KEYS, N_COUNTS };

static size_t width_of(cr_coltype t) {
    return t == CR_COL_I64 || t == CR_COL_F64 ? 8 : 4;
}

/* Row i has the values [a, z), and with depth 2 the inner lists [la, lz). */
typedef struct span {
    int64_t a, z, la, lz;
} span;
static inline span span_of(const cr_column *x, int64_t i) {
    if (x->depth == 0) return (span){i, i + 1, 0, 0};
    int64_t a = x->row_off[i], z = x->row_off[i + 1];
    if (x->depth == 1) return (span){a, z, 0, 0};
    return (span){x->item_off[a], x->item_off[z], a, z};
}

static int64_t text_bytes(const cr_column *x, span w) {
    int64_t n = 0;
    for (int64_t k = w.a; k < w.z; k++) {
        size_t len;
        cr_text_at(x, k, &len);
        n += (int64_t)len;
    }
    return n;
}

typedef struct nulls {
    bool rows, lists, values;
} nulls;
static nulls find_nulls(const cr_gather_plan *p, int c) {
    nulls x = {false, false, false};
    for (int r = 0; r < p->n_runs; r++) {
        int n = p->runs[r].recs ? p->runs[r].n_srcs : 1;
        for (int s = 0; s < n; s++) {
            const cr_batch *b = p->runs[r].srcs[s];
            if (b->n_rows == 0) continue;
            x.rows |= b->reserved[c].valid != NULL;
            x.lists |= b->reserved[c].list_valid != NULL;
            x.values |= b->reserved[c].item_valid != NULL;
        }
    }
    return x;
}

static size_t leaf_size(cr_coltype t, int64_t n, int64_t bytes) {
    size_t k = (size_t)n;
    return t == CR_COL_STR ? cr_region_size((size_t)bytes) + cr_region_size((k + 1) * 4)
                           : cr_region_size(k * width_of(t));
}

int cr_gather_counts(const cr_column *shape) {
    return shape->stored ? shape->stored->type->n_counts(shape->stored) : N_COUNTS;
}

cr_code cr_gather_measure(const cr_gather_plan *p, int c, int64_t *counts, size_t *size,
                          cr_err *err) {
    const cr_column *shape = &p->shape->reserved[c];
    if (shape->stored) return shape->stored->type->measure(p, c, counts, size, err);
    memset(counts, 0, N_COUNTS * sizeof(*counts));
    CR_EACH_ROW({
        (void)s;
        const cr_column *x = &b->reserved[c];
        span w = span_of(x, i);
        counts[LISTS] += w.lz - w.la;
        counts[VALUES] += w.z - w.a;
        if (shape->type == CR_COL_STR) counts[TEXT] += text_bytes(x, w);
        if (shape->keys && shape->keys->type == CR_COL_STR) counts[KEYS] += text_bytes(x->keys, w);
    })
    for (int k = 0; k < N_COUNTS; k++)
        if (counts[k] > INT32_MAX)
            return cr_gather_too_many(err,
                                      k >= TEXT ? "bytes of one reserved column"
                                                : "values of one reserved column",
                                      counts[k]);
    size_t n = (size_t)p->n_rows;
    *size += cr_region_size(n) + leaf_size(shape->type, counts[VALUES], counts[TEXT]);
    if (shape->depth > 0)
        *size += cr_region_size((n + 1) * 4) + cr_region_size((size_t)counts[VALUES]);
    if (shape->depth > 1)
        *size +=
            cr_region_size(((size_t)counts[LISTS] + 1) * 4) + cr_region_size((size_t)counts[LISTS]);
    if (shape->keys)
        *size += cr_region_size(sizeof(cr_column)) +
                 leaf_size(shape->keys->type, counts[VALUES], counts[KEYS]);
    return CR_OK;
}

/* Copies the values themselves; with keys: the keys of a map. */
static void gather_leaf(cr_column *out, cr_region *mem, const cr_gather_plan *p, int c, bool keys,
                        int64_t n_values, int64_t n_bytes) {
    size_t at = 0;
    if (out->type == CR_COL_STR) {
        char *bytes = cr_region_take(mem, (size_t)n_bytes);
        uint32_t *off = cr_region_take(mem, ((size_t)n_values + 1) * sizeof(*off)), to = 0;
        CR_EACH_ROW({
            (void)s;
            const cr_column *rows = &b->reserved[c];
            const cr_column *x = keys ? rows->keys : rows;
            span w = span_of(rows, i);
            for (int64_t k = w.a; k < w.z; k++) {
                size_t len;
                const char *text = cr_text_at(x, k, &len);
                if (len) memcpy(bytes + to, text, len);
                off[at++] = to;
                to += (uint32_t)len;
            }
        })
        off[at] = to;
        out->bytes = bytes;
        out->beg = off;
        out->end = off + 1;
        return;
    }
    size_t width = width_of(out->type);
    char *v = cr_region_take(mem, (size_t)n_values * width);
    CR_EACH_ROW({
        (void)s;
        const cr_column *rows = &b->reserved[c];
        const cr_column *x = keys ? rows->keys : rows;
        span w = span_of(rows, i);
        size_t n = (size_t)(w.z - w.a);
        if (n) memcpy(v + width * at, (const char *)x->v.i64 + width * (size_t)w.a, width * n);
        at += n;
    })
    out->v.i64 = (const int64_t *)(const void *)v;
}

static void gather_lists(cr_column *out, cr_region *mem, const cr_gather_plan *p, int c, nulls null,
                         const int64_t *counts) {
    int32_t *row_off = cr_region_take(mem, ((size_t)p->n_rows + 1) * sizeof(*row_off));
    int32_t *item_off = NULL, row = 0, item = 0, value = 0;
    if (out->depth > 1)
        item_off = cr_region_take(mem, ((size_t)counts[LISTS] + 1) * sizeof(*item_off));
    uint8_t *valid = null.values ? cr_region_take(mem, (size_t)counts[VALUES]) : NULL;
    uint8_t *list = item_off && null.lists ? cr_region_take(mem, (size_t)counts[LISTS]) : NULL;
    CR_EACH_ROW({
        (void)s;
        const cr_column *x = &b->reserved[c];
        span w = span_of(x, i);
        row_off[row++] = item_off ? item : value;
        for (int64_t k = w.la; k < w.lz; k++) {
            if (list) list[item] = x->list_valid ? x->list_valid[k] : 1;
            item_off[item++] = value + (int32_t)(x->item_off[k] - w.a);
        }
        for (int64_t k = w.a; valid && k < w.z; k++)
            valid[value + (k - w.a)] = x->item_valid ? x->item_valid[k] : 1;
        value += (int32_t)(w.z - w.a);
    })
    row_off[row] = item_off ? item : value;
    if (item_off) item_off[item] = value;
    out->row_off = row_off;
    out->item_off = item_off;
    out->list_valid = list;
    out->item_valid = valid;
}

void cr_gather_column(cr_column *out, cr_region *mem, const cr_gather_plan *p, int c,
                      const int64_t *counts) {
    const cr_column *shape = &p->shape->reserved[c];
    if (shape->stored) {
        *out = (cr_column){.stored = shape->stored->type->gather(mem, p, c, counts)};
        return;
    }
    nulls x = find_nulls(p, c);
    *out = (cr_column){.type = shape->type, .depth = shape->depth};
    if (x.rows) {
        uint8_t *valid = cr_region_take(mem, (size_t)p->n_rows), *v = valid;
        CR_EACH_ROW({
            (void)s;
            *v++ = b->reserved[c].valid ? b->reserved[c].valid[i] : 1;
        })
        out->valid = valid;
    }
    if (shape->depth > 0) gather_lists(out, mem, p, c, x, counts);
    gather_leaf(out, mem, p, c, false, counts[VALUES], counts[TEXT]);
    if (!shape->keys) return;
    cr_column *keys = cr_region_take(mem, sizeof(*keys));
    *keys = (cr_column){.type = shape->keys->type, .depth = shape->depth, .row_off = out->row_off};
    gather_leaf(keys, mem, p, c, true, counts[VALUES], counts[KEYS]);
    out->keys = keys;
}
