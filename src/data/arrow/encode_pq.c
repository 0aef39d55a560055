/*
 * encode_pq.c - a column that is carried as a Parquet file stores it, as Arrow arrays.
 *
 * The levels of a leaf tell everything about the lists and structs around it. An entry of the
 * levels is an instance of a node when its repetition level is at most that of the repeated node
 * around it, and its definition level says that this one has an item there; the instance is null
 * when the definition level does not reach the node. So each node is one pass over the levels of
 * any leaf below it.
 */
#include <string.h>

#include "data/arrow/body.h"

__extension__ typedef __int128 i128;

/* ---- types ---- */

static cr_arrow_unit unit_of(const cr_pq_logical *l) {
    return l->unit == CR_PQ_MILLIS   ? CR_ARROW_MILLIS
           : l->unit == CR_PQ_MICROS ? CR_ARROW_MICROS
                                     : CR_ARROW_NANOS;
}

/* The type of a leaf. */
static void type_of(const cr_pq_node *n, cr_arrow_field *f) {
    const cr_pq_logical *l = &n->logical;
    bool text = l->kind == CR_PQ_STRING || l->kind == CR_PQ_ENUM || l->kind == CR_PQ_JSON;
    if (l->kind == CR_PQ_NULL) {
        f->kind = CR_ARROW_NULL;
    } else if (l->kind == CR_PQ_DECIMAL) {
        f->kind = CR_ARROW_DECIMAL;
        f->bits = l->precision > 38 ? 256 : 128;
        f->precision = l->precision;
        f->scale = l->scale;
    } else if (l->kind == CR_PQ_DATE) {
        f->kind = CR_ARROW_DATE;
        f->bits = 32;
    } else if (l->kind == CR_PQ_TIME) {
        f->kind = CR_ARROW_TIME;
        f->bits = n->type == CR_PQ_I64 ? 64 : 32;
        f->unit = unit_of(l);
    } else if (l->kind == CR_PQ_TIMESTAMP || n->type == CR_PQ_I96) {
        f->kind = CR_ARROW_TIMESTAMP;
        f->unit = n->type == CR_PQ_I96 ? CR_ARROW_NANOS : unit_of(l);
    } else if (l->kind == CR_PQ_FLOAT16) {
        f->kind = CR_ARROW_FLOAT;
        f->bits = 16;
    } else {
        bool whole = n->type == CR_PQ_I32 || n->type == CR_PQ_I64;
        f->kind = n->type == CR_PQ_BOOL    ? CR_ARROW_BOOL
                  : whole                  ? CR_ARROW_INT
                  : n->type == CR_PQ_FIXED ? CR_ARROW_FIXED_BINARY
                  : n->type != CR_PQ_BYTES ? CR_ARROW_FLOAT
                  : text                   ? CR_ARROW_UTF8
                                           : CR_ARROW_BINARY;
        f->bits = n->type == CR_PQ_I64 || n->type == CR_PQ_F64 ? 64 : 32;
        if (n->type == CR_PQ_I32 && l->kind == CR_PQ_INT) f->bits = l->bits;
        f->is_signed = l->kind != CR_PQ_INT || l->is_signed;
        f->width = n->type_length;
    }
}

static cr_arrow_field *add(cr_arrow_schema *s, const char *name, bool nullable, cr_arrow_kind kind,
                           int n_children) {
    cr_arrow_field *f = &s->v[s->n++];
    *f = (cr_arrow_field){.name = name,
                          .nullable = nullable,
                          .kind = kind,
                          .n_children = n_children};
    return f;
}

static void fields_of(cr_arrow_schema *s, const cr_pq_meta *m, int node, bool as_item,
                      const char *name) {
    const cr_pq_node *n = &m->nodes[node];
    bool null = n->rep == CR_PQ_OPTIONAL;
    int item, value;
    switch (cr_pq_shape_of(m, node, as_item, &item, &value)) {
    case CR_PQ_IS_LEAF: type_of(n, add(s, name, null, CR_ARROW_NULL, 0)); return;
    case CR_PQ_IS_STRUCT:
        add(s, name, null, CR_ARROW_STRUCT, n->n_children);
        for (int i = node + 1; i < n->next; i = m->nodes[i].next)
            fields_of(s, m, i, false, m->nodes[i].name);
        return;
    case CR_PQ_IS_LIST:
        add(s, name, null, CR_ARROW_LIST, 1);
        fields_of(s, m, item, item == node || item == node + 1, "item");
        return;
    case CR_PQ_IS_MAP:
        add(s, name, null, CR_ARROW_MAP, 1);
        add(s, "entries", false, CR_ARROW_STRUCT, 2);
        fields_of(s, m, item, false, "key");
        fields_of(s, m, value, false, "value");
        return;
    }
}

void cr_arrow_pq_fields(cr_arrow_schema *s, const cr_pq_meta *m, const char *name) {
    fields_of(s, m, 1, false, name);
}

/* ---- arrays ---- */

/* The repeated node around: its levels; zeros: none. */
typedef struct around {
    int rep, def;
} around;

typedef struct levels {
    const cr_pq_vec *v;
    int max_def;
    int64_t n;
} levels;

typedef struct encoding {
    cr_arrow_body *b;
    const cr_pq_meta *m;
    const cr_pq_vec *leaves;
    cr_err *err;
} encoding;

/* The levels of the first leaf at or below a node. */
static levels levels_at(const encoding *e, int node) {
    while (e->m->nodes[node].leaf < 0)
        node++;
    const cr_pq_vec *v = &e->leaves[e->m->nodes[node].leaf];
    return (levels){v, e->m->nodes[node].max_def, v->def ? v->n_levels : v->n_rows};
}

static inline int def_at(const levels *l, int64_t i) {
    if (l->v->def) return l->v->def[i];
    return l->max_def - (l->v->valid && !l->v->valid[i]);
}

static inline bool is_instance(const levels *l, around a, int64_t i) {
    int rep = l->v->rep ? l->v->rep[i] : 0;
    return rep <= a.rep && def_at(l, i) >= a.def;
}

/* Appends the node of the instances; list: the levels of its items, whose offsets follow. */
static void put_instances(encoding *e, int node, around a, const around *list) {
    levels l = levels_at(e, node);
    int def = e->m->nodes[node].max_def;
    if (list && e->m->nodes[node].rep == CR_PQ_REPEATED)
        def = a.def; /* a list that is never null */
    uint8_t *valid = cr_arena_alloc(&e->b->scratch, (size_t)l.n + 1);
    int32_t *off = cr_arena_alloc(&e->b->scratch, cr_bytes(l.n + 1, 4));
    int64_t n = 0;
    int32_t items = 0;
    for (int64_t i = 0; i < l.n; i++) {
        if (is_instance(&l, a, i)) {
            off[n] = items;
            valid[n++] = def_at(&l, i) >= def;
        }
        if (list) items += is_instance(&l, *list, i);
    }
    off[n] = items;
    cr_arrow_body_node(e->b, valid, n);
    if (list) cr_arrow_body_buffer(e->b, off, n ? cr_bytes(n + 1, 4) : 0);
}

/* Big-endian bytes, or a number, as a little-endian number of w bytes; false: it is too long. */
static bool decimal(const uint8_t *p, size_t n, uint8_t *to, size_t w) {
    uint8_t sign = n && p[0] & 0x80 ? 0xff : 0;
    for (; n > w; p++, n--)
        if (*p != sign) return false;
    memset(to, sign, w);
    for (size_t i = 0; i < n; i++)
        to[i] = p[n - 1 - i];
    return true;
}

static cr_code put_decimals(encoding *e, const cr_pq_vec *v, const cr_arrow_field *f) {
    size_t w = (size_t)f->bits / 8;
    uint8_t *out = cr_arena_zalloc(&e->b->scratch, cr_bytes(v->n + 1, w));
    for (int64_t i = 0; i < v->n; i++) {
        if (v->valid && !v->valid[i]) continue;
        uint8_t *to = out + (size_t)i * w;
        bool fits = true;
        if (v->type == CR_PQ_I32 || v->type == CR_PQ_I64) {
            int64_t x = v->type == CR_PQ_I32 ? v->v.i32[i] : v->v.i64[i];
            memset(to, x < 0 ? 0xff : 0, w);
            memcpy(to, &x, sizeof x);
        } else if (v->type == CR_PQ_FIXED) {
            size_t k = (size_t)v->type_length;
            fits = decimal(v->v.b8 + (size_t)i * k, k, to, w);
        } else {
            size_t k = v->code ? v->code[i] : (size_t)i;
            fits = decimal((const uint8_t *)v->bytes + v->beg[k], v->end[k] - v->beg[k], to, w);
        }
        if (!fits) return cr_fail(e->err, CR_EDATA, "a decimal has more than %d bits", f->bits);
    }
    cr_arrow_body_buffer(e->b, out, cr_bytes(v->n, w));
    return CR_OK;
}

static cr_code put_i96(encoding *e, const cr_pq_vec *v) {
    int64_t *out = CR_NEW_N(&e->b->scratch, int64_t, v->n + 1);
    CR_ASSERT(v->n == 0 || v->v.b8);
    for (int64_t i = 0; i < v->n; i++) {
        int64_t ns;
        uint32_t day;
        if (v->valid && !v->valid[i]) continue;
        memcpy(&ns, v->v.b8 + 12 * (size_t)i, 8);
        memcpy(&day, v->v.b8 + 12 * (size_t)i + 8, 4);
        i128 x = ((i128)day - 2440588) * 86400 * 1000000000 + ns;
        if (x < INT64_MIN || x > INT64_MAX)
            return cr_fail(e->err, CR_EDATA,
                           "a time lies outside 1677 .. 2262, the years of int64 nanoseconds");
        out[i] = (int64_t)x;
    }
    cr_arrow_body_buffer(e->b, out, cr_bytes(v->n, 8));
    return CR_OK;
}

static void put_bools(encoding *e, const cr_pq_vec *v) {
    size_t size = (size_t)(v->n + 7) / 8;
    uint8_t *bits = cr_arena_zalloc(&e->b->scratch, size + 1);
    for (int64_t i = 0; i < v->n; i++)
        if (v->v.b8[i]) bits[i >> 3] = (uint8_t)(bits[i >> 3] | 1u << (i & 7));
    cr_arrow_body_buffer(e->b, bits, size);
}

/* Whole numbers of 8 and 16 bits are stored in 32. */
static void put_narrow(encoding *e, const int32_t *from, int64_t n, size_t each) {
    char *to = cr_arena_alloc(&e->b->scratch, cr_bytes(n + 1, each));
    for (int64_t i = 0; i < n; i++)
        memcpy(to + (size_t)i * each, &from[i], each);
    cr_arrow_body_buffer(e->b, to, cr_bytes(n, each));
}

static cr_code put_leaf(encoding *e, int node) {
    const cr_pq_node *n = &e->m->nodes[node];
    const cr_pq_vec *v = &e->leaves[n->leaf];
    cr_arrow_field f = {0};
    type_of(n, &f);
    if (f.kind == CR_ARROW_NULL) { /* it has no buffers, and all its values are null */
        int64_t both[2] = {v->n, v->n};
        cr_buf_add(&e->b->nodes, both, sizeof both);
        return CR_OK;
    }
    cr_arrow_body_node(e->b, v->valid, v->n);
    size_t w = v->type == CR_PQ_FIXED                         ? (size_t)v->type_length
               : v->type == CR_PQ_I32 || v->type == CR_PQ_F32 ? 4
                                                              : 8;
    /* the values of a column of nulls may be missing */
    const void *values = v->v.b8 ? v->v.b8 : cr_arena_zalloc(&e->b->scratch, cr_bytes(v->n + 1, w));
    if (f.kind == CR_ARROW_DECIMAL) return put_decimals(e, v, &f);
    if (v->type == CR_PQ_I96) return put_i96(e, v);
    if (v->type == CR_PQ_BYTES && !v->beg) { /* nothing but nulls */
        uint32_t *none = CR_NEW_N(&e->b->scratch, uint32_t, v->n + 1);
        return cr_arrow_body_text(e->b, "", none, none, NULL, NULL, v->n, e->err);
    }
    if (v->type == CR_PQ_BYTES)
        return cr_arrow_body_text(e->b, v->bytes, v->beg, v->end, v->code, v->valid, v->n, e->err);
    if (v->type == CR_PQ_BOOL) {
        cr_pq_vec x = *v;
        x.v.b8 = values;
        put_bools(e, &x);
        return CR_OK;
    }
    if (f.kind == CR_ARROW_INT && f.bits < 32)
        put_narrow(e, values, v->n, (size_t)f.bits / 8);
    else
        cr_arrow_body_buffer(e->b, values, cr_bytes(v->n, w));
    return CR_OK;
}

static cr_code put_node(encoding *e, int node, bool as_item, around a) {
    int item, value;
    const cr_pq_node *n = &e->m->nodes[node];
    switch (cr_pq_shape_of(e->m, node, as_item, &item, &value)) {
    case CR_PQ_IS_LEAF: return put_leaf(e, node);
    case CR_PQ_IS_STRUCT:
        put_instances(e, node, a, NULL);
        for (int i = node + 1; i < n->next; i = e->m->nodes[i].next)
            CR_TRY(put_node(e, i, false, a));
        return CR_OK;
    case CR_PQ_IS_LIST: {
        const cr_pq_node *r = item == node ? n : n + 1;
        around items = {r->max_rep, r->max_def};
        put_instances(e, node, a, &items);
        return put_node(e, item, item == node || item == node + 1, items);
    }
    case CR_PQ_IS_MAP: {
        around items = {n[1].max_rep, n[1].max_def};
        put_instances(e, node, a, &items);
        put_instances(e, node + 1, items, NULL);
        CR_TRY(put_node(e, item, false, items));
        return put_node(e, value, false, items);
    }
    }
    return CR_OK;
}

cr_code cr_arrow_pq_column(cr_arrow_body *b, const cr_pq_meta *m, const cr_pq_vec *leaves,
                           int64_t n_rows, cr_err *err) {
    encoding e = {b, m, leaves, err};
    (void)n_rows;
    return put_node(&e, 1, false, (around){0, 0});
}
