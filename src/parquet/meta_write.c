/*
 * meta_write.c - writes footer, page headers and page indexes, with the field numbers of the
 * format's definition.
 *
 * Logical types are written twice, in the new form and in the older "converted" form where it can
 * express them, so that old readers understand them too.
 */
#include <string.h>

#include "parquet/encode_int.h"

/* ---- the schema ---- */

/* converted returns the older form, -1 when it cannot express the type. */
static int converted(const cr_pq_logical *l) {
    switch (l->kind) {
    case CR_PQ_STRING: return 0;
    case CR_PQ_MAP: return 1;
    case CR_PQ_LIST: return 3;
    case CR_PQ_ENUM: return 4;
    case CR_PQ_DECIMAL: return 5;
    case CR_PQ_DATE: return 6;
    /* the older form means times in UTC, and knows no nanoseconds */
    case CR_PQ_TIME: return l->is_utc && l->unit != CR_PQ_NANOS ? 7 + (int)l->unit : -1;
    case CR_PQ_TIMESTAMP: return l->is_utc && l->unit != CR_PQ_NANOS ? 9 + (int)l->unit : -1;
    case CR_PQ_INT: {
        int log = l->bits == 8 ? 0 : l->bits == 16 ? 1 : l->bits == 32 ? 2 : 3;
        return (l->is_signed ? 15 : 11) + log;
    }
    case CR_PQ_JSON: return 19;
    case CR_PQ_BSON: return 20;
    case CR_PQ_INTERVAL: return 21;
    default: return -1;
    }
}

/* logical_member returns the number of the member of the union; 0: the new form cannot express the
 * type. */
static int logical_member(cr_pq_kind k) {
    switch (k) {
    case CR_PQ_STRING: return 1;
    case CR_PQ_MAP: return 2;
    case CR_PQ_LIST: return 3;
    case CR_PQ_ENUM: return 4;
    case CR_PQ_DECIMAL: return 5;
    case CR_PQ_DATE: return 6;
    case CR_PQ_TIME: return 7;
    case CR_PQ_TIMESTAMP: return 8;
    case CR_PQ_INT: return 10;
    case CR_PQ_NULL: return 11;
    case CR_PQ_JSON: return 12;
    case CR_PQ_BSON: return 13;
    case CR_PQ_UUID: return 14;
    case CR_PQ_FLOAT16: return 15;
    default: return 0;
    }
}

static void put_logical(cr_buf *b, int *last, const cr_pq_logical *l) {
    int member = logical_member(l->kind), in_union = 0, f = 0;
    if (!member && !l->other) return;
    cr_tout_field(b, last, 10, CR_T_STRUCT);
    if (!member) {
        cr_buf_add(b, l->other, (size_t)l->other_size);
        return;
    }
    cr_tout_field(b, &in_union, member, CR_T_STRUCT);
    switch (l->kind) {
    case CR_PQ_DECIMAL:
        cr_tout_i32(b, &f, 1, l->scale);
        cr_tout_i32(b, &f, 2, l->precision);
        break;
    case CR_PQ_TIME:
    case CR_PQ_TIMESTAMP: {
        int unit = 0;
        cr_tout_bool(b, &f, 1, l->is_utc);
        cr_tout_field(b, &f, 2, CR_T_STRUCT);
        cr_tout_field(b, &unit, 1 + (int)l->unit, CR_T_STRUCT);
        cr_tout_stop(b); /* ends the unit, which is an empty struct */
        cr_tout_stop(b);
        break;
    }
    case CR_PQ_INT:
        cr_tout_field(b, &f, 1, CR_T_I8);
        cr_buf_char(b, (char)l->bits);
        cr_tout_bool(b, &f, 2, l->is_signed);
        break;
    default: break;
    }
    cr_tout_stop(b);
    cr_tout_stop(b);
}

static void put_node(cr_buf *b, const cr_pq_node *n, bool root) {
    int f = 0, conv = root ? -1 : converted(&n->logical);
    if (n->type != CR_PQ_GROUP) cr_tout_i32(b, &f, 1, (int32_t)n->type);
    if (n->type == CR_PQ_FIXED) cr_tout_i32(b, &f, 2, n->type_length);
    if (!root) cr_tout_i32(b, &f, 3, (int32_t)n->rep);
    cr_tout_bytes(b, &f, 4, n->name, strlen(n->name));
    if (n->type == CR_PQ_GROUP) cr_tout_i32(b, &f, 5, n->n_children);
    if (conv >= 0) cr_tout_i32(b, &f, 6, conv);
    if (conv >= 0 && n->logical.kind == CR_PQ_DECIMAL) {
        cr_tout_i32(b, &f, 7, n->logical.scale);
        cr_tout_i32(b, &f, 8, n->logical.precision);
    }
    if (!root && n->field_id >= 0) cr_tout_i32(b, &f, 9, n->field_id);
    if (!root) put_logical(b, &f, &n->logical);
    cr_tout_stop(b);
}

/* ---- row groups ---- */

static void put_stats(cr_buf *b, int *last, int id, const cr_pq_stats *s) {
    if (!s->min && !s->max && s->n_null < 0 && s->n_distinct < 0) return;
    int f = 0;
    cr_tout_field(b, last, id, CR_T_STRUCT);
    if (s->n_null >= 0) cr_tout_i64(b, &f, 3, s->n_null);
    if (s->n_distinct >= 0) cr_tout_i64(b, &f, 4, s->n_distinct);
    if (s->max) cr_tout_bytes(b, &f, 5, s->max, (size_t)s->max_size);
    if (s->min) cr_tout_bytes(b, &f, 6, s->min, (size_t)s->min_size);
    if (s->max) cr_tout_bool(b, &f, 7, s->max_exact);
    if (s->min) cr_tout_bool(b, &f, 8, s->min_exact);
    cr_tout_stop(b);
}

static void put_path(cr_buf *b, int *last, int id, const cr_pq_meta *m, int node) {
    size_t n = 0;
    for (int i = node; i > 0; i = m->nodes[i].parent)
        n++;
    cr_tout_list(b, last, id, CR_T_BYTES, n);
    for (size_t k = n; k-- > 0;) {
        int i = node;
        for (size_t up = 0; up < k; up++)
            i = m->nodes[i].parent;
        cr_tout_bytes(b, NULL, 0, m->nodes[i].name, strlen(m->nodes[i].name));
    }
}

static void put_chunk(cr_buf *b, const cr_pq_meta *m, int leaf, const cr_pq_chunk *c) {
    int node = m->leaves[leaf], f = 0, g = 0;
    cr_tout_i64(b, &f, 2, c->start);
    cr_tout_field(b, &f, 3, CR_T_STRUCT);
    cr_tout_i32(b, &g, 1, (int32_t)m->nodes[node].type);
    cr_tout_list(b, &g, 2, CR_T_I32, (size_t)__builtin_popcount(c->encodings));
    for (int e = 0; e < 32; e++)
        if (c->encodings >> e & 1) cr_tout_int(b, e);
    put_path(b, &g, 3, m, node);
    cr_tout_i32(b, &g, 4, (int32_t)c->codec);
    cr_tout_i64(b, &g, 5, c->n_values);
    cr_tout_i64(b, &g, 6, c->raw_size);
    cr_tout_i64(b, &g, 7, c->size);
    cr_tout_i64(b, &g, 9, c->data_start);
    if (c->start != c->data_start) cr_tout_i64(b, &g, 11, c->start);
    put_stats(b, &g, 12, &c->stats);
    cr_tout_stop(b);
    if (c->offset_index) {
        cr_tout_i64(b, &f, 4, c->offset_index);
        cr_tout_i32(b, &f, 5, c->offset_index_size);
    }
    if (c->column_index) {
        cr_tout_i64(b, &f, 6, c->column_index);
        cr_tout_i32(b, &f, 7, c->column_index_size);
    }
    cr_tout_stop(b);
}

static void put_group(cr_buf *b, const cr_pq_meta *m, int i) {
    const cr_pq_group *g = &m->groups[i];
    int f = 0;
    int64_t size = 0;
    cr_tout_list(b, &f, 1, CR_T_STRUCT, (size_t)m->n_leaves);
    for (int c = 0; c < m->n_leaves; c++) {
        put_chunk(b, m, c, &g->chunks[c]);
        size += g->chunks[c].size;
    }
    cr_tout_i64(b, &f, 2, g->raw_size);
    cr_tout_i64(b, &f, 3, g->n_rows);
    cr_tout_i64(b, &f, 5, g->chunks[0].start);
    cr_tout_i64(b, &f, 6, size);
    if (i <= INT16_MAX) {
        cr_tout_field(b, &f, 7, CR_T_I16);
        cr_tout_int(b, i);
    }
    cr_tout_stop(b);
}

void cr_pq_put_footer(cr_buf *b, const cr_pq_meta *m) {
    int f = 0;
    size_t start = b->n;
    cr_tout_i32(b, &f, 1, m->version);
    cr_tout_list(b, &f, 2, CR_T_STRUCT, (size_t)m->n_nodes);
    for (int i = 0; i < m->n_nodes; i++)
        put_node(b, &m->nodes[i], i == 0);
    cr_tout_i64(b, &f, 3, m->n_rows);
    cr_tout_list(b, &f, 4, CR_T_STRUCT, (size_t)m->n_groups);
    for (int i = 0; i < m->n_groups; i++)
        put_group(b, m, i);
    if (m->n_pairs) cr_tout_list(b, &f, 5, CR_T_STRUCT, (size_t)m->n_pairs);
    for (int i = 0; i < m->n_pairs; i++) {
        const cr_pq_pair *p = &m->pairs[i];
        int g = 0;
        cr_tout_bytes(b, &g, 1, p->key, strlen(p->key));
        if (p->value) cr_tout_bytes(b, &g, 2, p->value, strlen(p->value));
        cr_tout_stop(b);
    }
    if (m->created_by) cr_tout_bytes(b, &f, 6, m->created_by, strlen(m->created_by));
    /* readers may use min and max only where the order is given; it is always the order of the
     * type */
    cr_tout_list(b, &f, 7, CR_T_STRUCT, (size_t)m->n_leaves);
    for (int i = 0; i < m->n_leaves; i++) {
        int g = 0;
        cr_tout_field(b, &g, 1, CR_T_STRUCT);
        cr_tout_stop(b);
        cr_tout_stop(b);
    }
    cr_pq_seal(b, start, f);
    cr_tout_stop(b);
}

/* ---- pages ---- */

void cr_pq_put_page_head(cr_buf *b, const cr_pq_page_head *h) {
    int f = 0, g = 0;
    cr_tout_i32(b, &f, 1, h->type);
    cr_tout_i32(b, &f, 2, h->raw_size);
    cr_tout_i32(b, &f, 3, h->size);
    if (h->has_crc) cr_tout_i32(b, &f, 4, (int32_t)h->crc);
    switch (h->type) {
    case CR_PQ_DICT:
        cr_tout_field(b, &f, 7, CR_T_STRUCT);
        cr_tout_i32(b, &g, 1, h->n_values);
        cr_tout_i32(b, &g, 2, h->encoding);
        break;
    case CR_PQ_DATA1:
        cr_tout_field(b, &f, 5, CR_T_STRUCT);
        cr_tout_i32(b, &g, 1, h->n_values);
        cr_tout_i32(b, &g, 2, h->encoding);
        cr_tout_i32(b, &g, 3, h->def_encoding);
        cr_tout_i32(b, &g, 4, h->rep_encoding);
        put_stats(b, &g, 5, &h->stats);
        break;
    case CR_PQ_DATA2:
        cr_tout_field(b, &f, 8, CR_T_STRUCT);
        cr_tout_i32(b, &g, 1, h->n_values);
        cr_tout_i32(b, &g, 2, h->n_nulls);
        cr_tout_i32(b, &g, 3, h->n_rows);
        cr_tout_i32(b, &g, 4, h->encoding);
        cr_tout_i32(b, &g, 5, h->def_size);
        cr_tout_i32(b, &g, 6, h->rep_size);
        cr_tout_bool(b, &g, 7, h->compressed);
        put_stats(b, &g, 8, &h->stats);
        break;
    default: CR_BUG("a page of this type is not written");
    }
    cr_tout_stop(b);
    cr_tout_stop(b);
}

static bool in_order(const cr_pq_index *x, cr_pq_order order, int sign) {
    const cr_pq_stats *last = NULL;
    for (int i = 0; i < x->n_pages; i++) {
        const cr_pq_stats *s = &x->pages[i].stats;
        if (x->pages[i].all_null) continue;
        if (last &&
            (sign * cr_pq_compare(order, last->min, last->min_size, s->min, s->min_size) > 0 ||
             sign * cr_pq_compare(order, last->max, last->max_size, s->max, s->max_size) > 0))
            return false;
        last = s;
    }
    return true;
}

static void put_bounds(cr_buf *b, int *last, int id, const cr_pq_index *x, bool max) {
    cr_tout_list(b, last, id, CR_T_BYTES, (size_t)x->n_pages);
    for (int i = 0; i < x->n_pages; i++) {
        const cr_pq_stats *s = &x->pages[i].stats;
        bool none = x->pages[i].all_null; /* then the bound is an empty text */
        cr_tout_bytes(b, NULL, 0, max ? s->max : s->min,
                      none  ? 0
                      : max ? (size_t)s->max_size
                            : (size_t)s->min_size);
    }
}

void cr_pq_put_index(cr_buf *offsets, cr_buf *columns, const cr_pq_index *x,
                     const cr_pq_node *node) {
    int f = 0;
    cr_tout_list(offsets, &f, 1, CR_T_STRUCT, (size_t)x->n_pages);
    for (int i = 0; i < x->n_pages; i++) {
        int g = 0;
        cr_tout_i64(offsets, &g, 1, x->pages[i].offset);
        cr_tout_i32(offsets, &g, 2, x->pages[i].size);
        cr_tout_i64(offsets, &g, 3, x->pages[i].first_row);
        cr_tout_stop(offsets);
    }
    cr_tout_stop(offsets);
    if (!x->has_stats) return;

    cr_pq_order order = cr_pq_order_of(node);
    f = 0;
    cr_tout_list(columns, &f, 1, CR_T_TRUE, (size_t)x->n_pages);
    for (int i = 0; i < x->n_pages; i++)
        cr_buf_char(columns, x->pages[i].all_null ? CR_T_TRUE : CR_T_FALSE);
    put_bounds(columns, &f, 2, x, false);
    put_bounds(columns, &f, 3, x, true);
    cr_tout_i32(columns, &f, 4, in_order(x, order, 1) ? 1 : in_order(x, order, -1) ? 2 : 0);
    cr_tout_list(columns, &f, 5, CR_T_I64, (size_t)x->n_pages);
    for (int i = 0; i < x->n_pages; i++)
        cr_tout_int(columns, x->pages[i].stats.n_null);
    cr_tout_stop(columns);
}
