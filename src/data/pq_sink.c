/*
 * pq_sink.c - columns into a Parquet file.
 *
 * Reading turned the many types of Parquet into five (pq_schema.c); here the values of a column go
 * back into the type they came from. Where nothing is known of that, or a double may have rounded a
 * decimal, the column's own type is written. Numbers and text that need no change are not copied.
 */
#include "data/pq_sink.h"

#include <math.h>
#include <string.h>

#include "data/pq_int.h"

#define EXACT_DIGITS 15 /* a decimal of so many digits survives being a double */

typedef struct leaf {
    cr_pqs_how how; /* what was done to the values, to be undone */
    cr_pq_type type;
    int length;
    cr_pq_logical logical;
} leaf;

typedef struct sink_col {
    leaf value, key;
    int depth;
    bool map;
} sink_col;

struct cr_pq_sink {
    cr_pq_writer *w;
    sink_col *cols;
    int n_cols, n_leaves;
    cr_pq_vec *vecs;
    cr_arena arena, rows; /* rows: of the write that goes on */
};

/* ---- types ---- */

static leaf plain_leaf(cr_coltype t) {
    static const cr_pq_type types[] = {[CR_COL_I32] = CR_PQ_I32,
                                       [CR_COL_I64] = CR_PQ_I64,
                                       [CR_COL_STR] = CR_PQ_BYTES,
                                       [CR_COL_F32] = CR_PQ_F32,
                                       [CR_COL_F64] = CR_PQ_F64};
    return (leaf){.type = types[t],
                  .logical = {.kind = t == CR_COL_STR ? CR_PQ_STRING : CR_PQ_PHYSICAL}};
}

static leaf decimal_leaf(const cr_pq_node *n, cr_coltype made) {
    const cr_pq_logical *l = &n->logical;
    leaf out = {.how = CR_PQS_FROM_DECIMAL, .type = CR_PQ_I64, .logical = *l};
    if (made == CR_COL_F64 && (l->precision > EXACT_DIGITS || l->scale < 0 || l->scale > 15))
        return plain_leaf(made);
    if (l->precision > 18) { /* more than an int64 may be called */
        out.type = CR_PQ_FIXED;
        out.length = 16;
    }
    return out;
}

static leaf leaf_for(cr_coltype type, const cr_pq_node *stored) {
    cr_pqs_leaf l;
    if (!stored || cr_pqs_leaf_of(stored, &l) != NULL) return plain_leaf(type);
    leaf same = {l.how, stored->type, stored->type_length, stored->logical};
    if (l.how == CR_PQS_FROM_NULLS) return same;
    if (l.made != type) return plain_leaf(type); /* another type was asked for */
    if (l.how == CR_PQS_FROM_DECIMAL) return decimal_leaf(stored, l.made);
    if (l.how == CR_PQS_FROM_I96) /* nobody should write the old form any more */
        return (leaf){.how = CR_PQS_AS_IS,
                      .type = CR_PQ_I64,
                      .logical = {.kind = CR_PQ_TIMESTAMP, .unit = CR_PQ_NANOS}};
    return same;
}

static void add_node(cr_pq_meta *m, const char *name, cr_pq_rep rep, cr_pq_kind kind,
                     int n_children) {
    m->nodes[m->n_nodes++] = (cr_pq_node){.name = name,
                                          .type = CR_PQ_GROUP,
                                          .rep = rep,
                                          .logical = {.kind = kind},
                                          .n_children = n_children,
                                          .field_id = -1};
}

static void add_leaf(cr_pq_meta *m, const char *name, cr_pq_rep rep, const leaf *l) {
    m->nodes[m->n_nodes++] = (cr_pq_node){.name = name,
                                          .type = l->type,
                                          .type_length = l->length,
                                          .rep = rep,
                                          .logical = l->logical,
                                          .field_id = -1};
}

static void add_column(cr_pq_meta *m, const cr_sink_col *c, const sink_col *s) {
    cr_pq_rep rep = c->required ? CR_PQ_REQUIRED : CR_PQ_OPTIONAL;
    const char *name = c->name;
    if (s->map) {
        add_node(m, name, rep, CR_PQ_MAP, 1);
        add_node(m, "key_value", CR_PQ_REPEATED, CR_PQ_PHYSICAL, 2);
        add_leaf(m, "key", CR_PQ_REQUIRED, &s->key);
        add_leaf(m, "value", rep, &s->value);
        return;
    }
    for (int k = 0; k < s->depth; k++) {
        add_node(m, name, rep, CR_PQ_LIST, 1);
        add_node(m, "list", CR_PQ_REPEATED, CR_PQ_PHYSICAL, 1);
        name = "element";
    }
    add_leaf(m, name, rep, &s->value);
}

cr_code cr_pq_sink_open(cr_pq_sink **out, const char *path, const cr_sink_col *cols, int n_cols,
                        const cr_pq_write_opts *opts, cr_err *err) {
    *out = NULL;
    cr_pq_sink *s = cr_alloc(sizeof(*s), "a Parquet file");
    cr_arena_init(&s->arena, 0);
    cr_arena_init(&s->rows, 0);
    s->cols = CR_NEW_N(&s->arena, sink_col, n_cols + 1);
    s->vecs = CR_NEW_N(&s->arena, cr_pq_vec, 2 * n_cols + 1);
    s->n_cols = n_cols;
    cr_pq_meta m = {.nodes = CR_NEW_N(&s->arena, cr_pq_node, 5 * n_cols + 1)};
    add_node(&m, "schema", CR_PQ_REQUIRED, CR_PQ_PHYSICAL, n_cols);
    for (int i = 0; i < n_cols; i++) {
        const cr_colkind *k = &cols[i].kind;
        sink_col *c = &s->cols[i];
        c->depth = k->depth;
        c->map = k->key >= 0;
        c->value = leaf_for(k->type, k->stored);
        if (c->map) c->key = leaf_for((cr_coltype)k->key, k->stored_key);
        s->n_leaves += 1 + c->map;
        add_column(&m, &cols[i], c);
    }
    cr_code code = cr_pq_writer_new(&s->w, path, &m, opts, err);
    if (code != CR_OK) {
        cr_pq_sink_free(s);
        return code;
    }
    *out = s;
    return CR_OK;
}

/* ---- values ---- */

static void *room(cr_pq_sink *s, cr_pq_vec *v, size_t width) {
    void *p = cr_arena_zalloc(&s->rows, (size_t)(v->n + 1) * width);
    v->v.b8 = p;
    return p;
}

/* Exact: the number came from a half. */
static uint16_t half_of(float x) {
    uint32_t u;
    memcpy(&u, &x, 4);
    uint32_t sign = u >> 16 & 0x8000, e = u >> 23 & 255, f = u & 0x7fffff;
    if (e == 255) return (uint16_t)(sign | 0x7c00 | f >> 13);
    if (e < 113) return (uint16_t)(sign | (uint32_t)(fabsf(x) * 0x1p24f));
    return (uint16_t)(sign | (e - 112) << 10 | f >> 13);
}

static void to_decimal(cr_pq_sink *s, const leaf *l, const cr_column *c, cr_pq_vec *v) {
    double unit = 1;
    for (int i = 0; i < l->logical.scale; i++)
        unit *= 10;
    int64_t *small = l->type == CR_PQ_I64 ? room(s, v, 8) : NULL;
    uint8_t *big = small ? NULL : room(s, v, 16);
    for (int64_t i = 0; i < v->n; i++) {
        int64_t x = c->type == CR_COL_F64 ? llround(c->v.f64[i] * unit) : c->v.i64[i];
        if (small) {
            small[i] = x;
            continue;
        }
        uint64_t be = __builtin_bswap64((uint64_t)x); /* the highest byte first */
        memset(big + 16 * i, x < 0 ? 0xff : 0, 8);
        memcpy(big + 16 * i + 8, &be, 8);
    }
}

static int hex_digit(char c) {
    return c <= '9' ? c - '0' : (c | 32) - 'a' + 10;
}

static void to_fixed(cr_pq_sink *s, const leaf *l, const cr_column *c, cr_pq_vec *v) {
    size_t width = (size_t)l->length, n;
    uint8_t *out = room(s, v, width);
    for (int64_t i = 0; i < v->n; i++, out += width) {
        if (v->valid && !v->valid[i]) continue;
        const char *p = cr_text_at(c, i, &n);
        if (l->how == CR_PQS_FROM_FIXED) {
            memcpy(out, p, n < width ? n : width);
            continue;
        }
        for (size_t k = 0, at = 0; k < width && at + 1 < n; k++, at += 2) { /* a UUID's letters */
            at += p[at] == '-';
            out[k] = (uint8_t)(hex_digit(p[at]) << 4 | hex_digit(p[at + 1]));
        }
    }
}

static void undo(cr_pq_sink *s, const leaf *l, const cr_column *c, cr_pq_vec *v) {
    v->type = l->type;
    v->type_length = l->length;
    switch (l->how) {
    case CR_PQS_AS_IS:
    case CR_PQS_FROM_U64:
        v->v.i64 = c->v.i64;
        v->bytes = c->bytes;
        v->beg = c->beg;
        v->end = c->end;
        v->code = c->code;
        v->n_dict = c->n_dict;
        break;
    case CR_PQS_FROM_BOOL: {
        uint8_t *out = room(s, v, 1);
        for (int64_t i = 0; i < v->n; i++)
            out[i] = c->v.i32[i] != 0;
        break;
    }
    case CR_PQS_FROM_U32: {
        uint32_t *out = room(s, v, 4);
        for (int64_t i = 0; i < v->n; i++)
            out[i] = (uint32_t)c->v.i64[i];
        break;
    }
    case CR_PQS_FROM_F16: {
        uint16_t *out = room(s, v, 2);
        for (int64_t i = 0; i < v->n; i++)
            out[i] = half_of(c->v.f32[i]);
        break;
    }
    case CR_PQS_FROM_DECIMAL: to_decimal(s, l, c, v); break;
    case CR_PQS_FROM_UUID:
    case CR_PQS_FROM_FIXED: to_fixed(s, l, c, v); break;
    case CR_PQS_FROM_NULLS: { /* there are no values */
        uint32_t *none = room(s, v, l->type == CR_PQ_FIXED ? (size_t)l->length : 12);
        v->bytes = "";
        v->beg = v->end = none;
        break;
    }
    case CR_PQS_FROM_I96: CR_BUG("a type that is not written");
    }
}

static void add_vec(cr_pq_sink *s, const leaf *l, const sink_col *k, const cr_column *rows,
                    const cr_column *c, int64_t n_rows, cr_pq_vec *v) {
    *v = (cr_pq_vec){.n_rows = n_rows, .n = n_rows, .depth = k->depth};
    if (k->depth == 0)
        v->valid = rows->valid;
    else {
        v->list[0] = (cr_pq_list){rows->row_off, rows->valid, n_rows};
        v->n = rows->row_off[n_rows];
        if (c == rows) v->valid = rows->item_valid; /* keys have no nulls */
    }
    if (k->depth == 2) {
        v->list[1] = (cr_pq_list){rows->item_off, rows->list_valid, v->n};
        v->n = rows->item_off[v->n];
    }
    undo(s, l, c, v);
}

cr_code cr_pq_sink_write(cr_pq_sink *s, const cr_column *const *cols, int64_t n_rows, cr_err *err) {
    cr_pq_vec *v = s->vecs;
    if (n_rows == 0) return CR_OK;
    cr_arena_reset(&s->rows);
    for (int i = 0; i < s->n_cols; i++) {
        const sink_col *k = &s->cols[i];
        if (k->map) add_vec(s, &k->key, k, cols[i], cols[i]->keys, n_rows, v++);
        add_vec(s, &k->value, k, cols[i], cols[i], n_rows, v++);
    }
    CR_ASSERT(v == s->vecs + s->n_leaves);
    return cr_pq_write(s->w, s->vecs, err);
}

cr_code cr_pq_sink_finish(cr_pq_sink *s, cr_err *err) {
    return cr_pq_writer_finish(s->w, err);
}

void cr_pq_sink_free(cr_pq_sink *s) {
    if (!s) return;
    cr_pq_writer_free(s->w);
    cr_arena_clear(&s->arena);
    cr_arena_clear(&s->rows);
    cr_free(s);
}
