/*
 * carry.c - copies rows of reserved columns that are carried as they are stored, from vectors into
 * vectors. A row is a run of levels and a run of slots of every leaf. Text of a dictionary becomes
 * plain text, because the dictionary belongs to the block that the rows came from.
 */
#include <string.h>

#include "data/pack.h"
#include "data/pq/stored.h"
#include "data/runs.h"

enum { LEVELS, SLOTS, NULLS, TEXT, N_COUNTS };

static int n_counts(const cr_stored *shape) {
    return N_COUNTS * ((const cr_pq_stored *)shape)->n;
}

static size_t width_of(const cr_pq_vec *v) {
    static const size_t width[] = {1, 4, 8, 12, 4, 8};
    return v->type == CR_PQ_FIXED ? (size_t)v->type_length : width[v->type];
}

static inline void row_of(const int32_t *off, int64_t i, size_t *from, size_t *n) {
    *from = off ? (size_t)off[i] : (size_t)i;
    *n = off ? (size_t)off[i + 1] - *from : 1;
}

static inline bool is_null(const cr_pq_vec *v, size_t i) {
    return v->valid && !v->valid[i];
}

static inline size_t text_of(const cr_pq_vec *v, size_t i, const char **text) {
    size_t k = v->code ? v->code[i] : i;
    *text = v->bytes + v->beg[k];
    return v->end[k] - v->beg[k];
}

/* LEAF_ROWS walks the rows of leaf k: x is the vector, the row's slots are [from, from + n). */
#define LEAF_ROWS(...)                                                                             \
    CR_EACH_ROW({                                                                                  \
        (void)s;                                                                                   \
        const cr_pq_vec *x = &cr_pq_stored_of(&b->reserved[c])->v[k];                              \
        size_t from, n;                                                                            \
        row_of(x->row_slot, i, &from, &n);                                                         \
        __VA_ARGS__                                                                                \
    })

static void count_leaf(const cr_gather_plan *p, int c, int k, int64_t *counts) {
    const char *text;
    bool is_text = cr_pq_stored_of(&p->shape->reserved[c])->v[k].type == CR_PQ_BYTES;
    memset(counts, 0, N_COUNTS * sizeof(*counts));
    LEAF_ROWS({
        size_t level, n_levels;
        row_of(x->row_level, i, &level, &n_levels);
        counts[LEVELS] += (int64_t)n_levels;
        counts[SLOTS] += (int64_t)n;
        for (size_t j = from; (is_text || x->valid) && j < from + n; j++) {
            if (is_null(x, j))
                counts[NULLS]++;
            else if (is_text)
                counts[TEXT] += (int64_t)text_of(x, j, &text);
        }
    })
}

static cr_code measure(const cr_gather_plan *p, int c, int64_t *counts, size_t *size, cr_err *err) {
    const cr_pq_stored *shape = cr_pq_stored_of(&p->shape->reserved[c]);
    *size +=
        cr_region_size(sizeof(cr_pq_stored)) + cr_region_size((size_t)shape->n * sizeof(cr_pq_vec));
    for (int k = 0; k < shape->n; k++, counts += N_COUNTS) {
        const cr_pq_vec *v = &shape->v[k];
        count_leaf(p, c, k, counts);
        for (int j = 0; j < N_COUNTS; j++)
            if (counts[j] > INT32_MAX)
                return cr_gather_too_many(err,
                                          j == TEXT ? "bytes of one reserved column"
                                                    : "values of one reserved column",
                                          counts[j]);
        size_t slots = (size_t)counts[SLOTS], levels = (size_t)counts[LEVELS];
        *size += v->type == CR_PQ_BYTES
                     ? cr_region_size((size_t)counts[TEXT]) + cr_region_size((slots + 1) * 4)
                     : cr_region_size(slots * width_of(v));
        if (counts[NULLS]) *size += cr_region_size(slots);
        if (v->def) *size += cr_region_size(levels);
        if (v->rep) *size += cr_region_size(levels);
        if (v->depth > 0) *size += 2 * cr_region_size(((size_t)p->n_rows + 1) * 4);
    }
    return CR_OK;
}

static void gather_levels(cr_pq_vec *out, cr_region *mem, const cr_gather_plan *p, int c, int k,
                          const int64_t *counts) {
    const cr_pq_vec *shape = &cr_pq_stored_of(&p->shape->reserved[c])->v[k];
    size_t rows = ((size_t)p->n_rows + 1) * sizeof(int32_t);
    int32_t *level = shape->depth > 0 ? cr_region_take(mem, rows) : NULL;
    int32_t *slot = level ? cr_region_take(mem, rows) : NULL;
    uint8_t *def = cr_region_take(mem, (size_t)counts[LEVELS]);
    uint8_t *rep = shape->rep ? cr_region_take(mem, (size_t)counts[LEVELS]) : NULL;
    size_t row = 0, at = 0, slots = 0;
    LEAF_ROWS({
        size_t first, n_levels;
        row_of(x->row_level, i, &first, &n_levels);
        if (level) {
            level[row] = (int32_t)at;
            slot[row++] = (int32_t)slots;
        }
        memcpy(def + at, x->def + first, n_levels);
        if (rep) memcpy(rep + at, x->rep + first, n_levels);
        at += n_levels;
        slots += n;
    })
    if (level) {
        level[row] = (int32_t)at;
        slot[row] = (int32_t)slots;
    }
    out->n_levels = counts[LEVELS];
    out->def = def;
    out->rep = rep;
    out->row_level = level;
    out->row_slot = slot;
}

static void gather_nulls(cr_pq_vec *out, cr_region *mem, const cr_gather_plan *p, int c, int k) {
    uint8_t *valid = cr_region_take(mem, (size_t)out->n), *to = valid;
    LEAF_ROWS({
        for (size_t j = from; j < from + n; j++)
            *to++ = !is_null(x, j);
    })
    out->valid = valid;
}

static void gather_text(cr_pq_vec *out, cr_region *mem, const cr_gather_plan *p, int c, int k,
                        const int64_t *counts) {
    char *bytes = cr_region_take(mem, (size_t)counts[TEXT]);
    uint32_t *off = cr_region_take(mem, ((size_t)out->n + 1) * sizeof(*off)), to = 0;
    size_t at = 0;
    LEAF_ROWS({
        for (size_t j = from; j < from + n; j++) {
            const char *text;
            size_t len = is_null(x, j) ? 0 : text_of(x, j, &text);
            off[at++] = to;
            if (len) memcpy(bytes + to, text, len);
            to += (uint32_t)len;
        }
    })
    off[at] = to;
    out->bytes = bytes;
    out->beg = off;
    out->end = off + 1;
}

static void gather_values(cr_pq_vec *out, cr_region *mem, const cr_gather_plan *p, int c, int k) {
    size_t width = width_of(out), at = 0;
    uint8_t *v = cr_region_take(mem, (size_t)out->n * width);
    LEAF_ROWS({
        if (n && x->v.b8)
            memcpy(v + width * at, x->v.b8 + width * from, width * n);
        else if (n) /* the file holds nothing but nulls */
            memset(v + width * at, 0, width * n);
        at += n;
    })
    out->v.b8 = v;
}

static const cr_stored *gather(cr_region *mem, const cr_gather_plan *p, int c,
                               const int64_t *counts) {
    const cr_pq_stored *shape = cr_pq_stored_of(&p->shape->reserved[c]);
    cr_pq_stored *out = cr_region_take(mem, sizeof(*out));
    cr_pq_vec *v = cr_region_take(mem, (size_t)shape->n * sizeof(*v));
    *out = (cr_pq_stored){{&cr_pq_stored_type}, v, shape->n};
    for (int k = 0; k < shape->n; k++, counts += N_COUNTS, v++) {
        const cr_pq_vec *from = &shape->v[k];
        *v = (cr_pq_vec){.type = from->type,
                         .type_length = from->type_length,
                         .n_rows = p->n_rows,
                         .n = counts[SLOTS],
                         .n_null = counts[NULLS],
                         .depth = from->depth};
        if (from->def) gather_levels(v, mem, p, c, k, counts);
        if (counts[NULLS]) gather_nulls(v, mem, p, c, k);
        if (from->type == CR_PQ_BYTES)
            gather_text(v, mem, p, c, k, counts);
        else
            gather_values(v, mem, p, c, k);
    }
    return &out->base;
}

/* ---- to another process ---- */

static void pack(const cr_stored *c, cr_buf *out) {
    const cr_pq_stored *x = (const cr_pq_stored *)c;
    for (int k = 0; k < x->n; k++) {
        const cr_pq_vec *v = &x->v[k];
        int64_t sizes[] = {v->n_rows, v->n, v->n_null, v->n_levels};
        size_t rows = ((size_t)v->n_rows + 1) * sizeof(int32_t), n = (size_t)v->n;
        cr_pack_bytes(out, sizes, sizeof(sizes));
        cr_pack_maybe(out, v->valid, n);
        cr_pack_maybe(out, v->def, (size_t)v->n_levels);
        cr_pack_maybe(out, v->rep, (size_t)v->n_levels);
        cr_pack_maybe(out, v->row_level, rows);
        cr_pack_maybe(out, v->row_slot, rows);
        if (v->type != CR_PQ_BYTES) {
            cr_pack_bytes(out, v->v.b8, n * width_of(v));
            continue;
        }
        /* Gathered text lies in one piece. */
        cr_pack_bytes(out, v->beg, (n + 1) * sizeof(*v->beg));
        cr_pack_bytes(out, v->bytes, v->beg[n]);
    }
}

static const cr_stored *unpack(const cr_stored *shape, const char **at, cr_arena *arena) {
    const cr_pq_stored *like = (const cr_pq_stored *)shape;
    cr_pq_stored *out = CR_NEW(arena, cr_pq_stored);
    cr_pq_vec *v = CR_NEW_N(arena, cr_pq_vec, like->n + 1);
    *out = (cr_pq_stored){{&cr_pq_stored_type}, v, like->n};
    for (int k = 0; k < like->n; k++, v++) {
        int64_t sizes[4];
        memcpy(sizes, cr_unpack_bytes(at, sizeof(sizes)), sizeof(sizes));
        size_t rows = ((size_t)sizes[0] + 1) * sizeof(int32_t), n = (size_t)sizes[1];
        *v = (cr_pq_vec){.type = like->v[k].type,
                         .type_length = like->v[k].type_length,
                         .n_rows = sizes[0],
                         .n = sizes[1],
                         .n_null = sizes[2],
                         .n_levels = sizes[3],
                         .depth = like->v[k].depth};
        v->valid = cr_unpack_maybe(at, n);
        v->def = cr_unpack_maybe(at, (size_t)sizes[3]);
        v->rep = cr_unpack_maybe(at, (size_t)sizes[3]);
        v->row_level = cr_unpack_maybe(at, rows);
        v->row_slot = cr_unpack_maybe(at, rows);
        if (v->type != CR_PQ_BYTES) {
            v->v.b8 = cr_unpack_bytes(at, n * width_of(v));
            continue;
        }
        v->beg = cr_unpack_bytes(at, (n + 1) * sizeof(*v->beg));
        v->end = v->beg + 1;
        v->bytes = cr_unpack_bytes(at, v->beg[n]);
    }
    return &out->base;
}

const cr_stored_type cr_pq_stored_type = {n_counts, measure, gather, pack, unpack};
