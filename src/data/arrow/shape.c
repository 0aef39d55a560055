/*
 * shape.c - an Arrow schema in the terms of Parquet. Lists and maps get the nodes that Parquet puts
 * into them. Types that Parquet does not have become the nearest one that loses nothing: seconds
 * become milliseconds, a date of milliseconds becomes one of days.
 */
#include "data/arrow/vec.h"

int cr_arrow_unreadable(const cr_arrow_schema *s, int field) {
    for (int i = field; i < s->v[field].next; i++) {
        const cr_arrow_field *f = &s->v[i];
        switch (f->kind) {
        case CR_ARROW_INTERVAL:
        case CR_ARROW_UNION:
        case CR_ARROW_RUN_END:
        case CR_ARROW_LIST_VIEW:
        case CR_ARROW_LARGE_LIST_VIEW: return i;
        case CR_ARROW_STRUCT:
        case CR_ARROW_LIST:
        case CR_ARROW_LARGE_LIST:
        case CR_ARROW_FIXED_LIST:
        case CR_ARROW_MAP:
            if (f->coded || f->n_children == 0) return i; /* a dictionary of lists */
            break;
        case CR_ARROW_FIXED_BINARY:
            if (f->width == 0) return i;
            break;
        default: break;
        }
    }
    return -1;
}

void cr_arrow_want(const cr_arrow_schema *s, int field, bool *wanted) {
    for (int i = field; i >= 0; i = s->v[i].parent)
        wanted[i] = true;
}

typedef struct shaping {
    const cr_arrow_schema *s;
    cr_pq_meta *m;
    int *field;
} shaping;

static cr_pq_node *add(shaping *x, int field, const char *name, cr_pq_rep rep) {
    x->field[x->m->n_nodes] = field;
    cr_pq_node *n = &x->m->nodes[x->m->n_nodes++];
    *n = (cr_pq_node){.name = name, .type = CR_PQ_GROUP, .rep = rep, .field_id = -1};
    return n;
}

static void fixed(cr_pq_node *n, int bytes, cr_pq_kind kind) {
    n->type = CR_PQ_FIXED;
    n->type_length = bytes;
    n->logical.kind = kind;
}

static void leaf(const cr_arrow_field *f, cr_pq_node *n) {
    static const cr_pq_unit units[] = {CR_PQ_MILLIS, CR_PQ_MILLIS, CR_PQ_MICROS, CR_PQ_NANOS};
    cr_pq_logical *l = &n->logical;
    switch (f->kind) {
    case CR_ARROW_NULL:
        n->type = CR_PQ_I32;
        l->kind = CR_PQ_NULL;
        break;
    case CR_ARROW_INT:
        n->type = f->bits == 64 ? CR_PQ_I64 : CR_PQ_I32;
        *l = (cr_pq_logical){.kind = CR_PQ_INT, .bits = f->bits, .is_signed = f->is_signed};
        break;
    case CR_ARROW_FLOAT:
        n->type = f->bits == 64 ? CR_PQ_F64 : CR_PQ_F32;
        if (f->bits == 16) fixed(n, 2, CR_PQ_FLOAT16);
        break;
    case CR_ARROW_BOOL: n->type = CR_PQ_BOOL; break;
    case CR_ARROW_UTF8:
    case CR_ARROW_LARGE_UTF8:
    case CR_ARROW_UTF8_VIEW:
        n->type = CR_PQ_BYTES;
        l->kind = CR_PQ_STRING;
        break;
    case CR_ARROW_BINARY:
    case CR_ARROW_LARGE_BINARY:
    case CR_ARROW_BINARY_VIEW: n->type = CR_PQ_BYTES; break;
    case CR_ARROW_FIXED_BINARY: fixed(n, f->width > 0 ? f->width : 1, CR_PQ_PHYSICAL); break;
    case CR_ARROW_DECIMAL:
        fixed(n, f->bits / 8, CR_PQ_DECIMAL);
        l->precision = f->precision;
        l->scale = f->scale;
        break;
    case CR_ARROW_DATE:
        n->type = CR_PQ_I32;
        l->kind = CR_PQ_DATE;
        break;
    case CR_ARROW_TIME:
        n->type = f->bits == 64 ? CR_PQ_I64 : CR_PQ_I32;
        *l = (cr_pq_logical){.kind = CR_PQ_TIME, .unit = units[f->unit]};
        break;
    case CR_ARROW_TIMESTAMP:
        n->type = CR_PQ_I64;
        *l = (cr_pq_logical){.kind = CR_PQ_TIMESTAMP, .unit = units[f->unit], .is_utc = f->is_utc};
        break;
    case CR_ARROW_DURATION: n->type = CR_PQ_I64; break;
    default: fixed(n, 12, CR_PQ_INTERVAL); break; /* cr_arrow_unreadable tells who asks for it */
    }
}

static void shape(shaping *x, int i, const char *name) {
    const cr_arrow_field *f = &x->s->v[i];
    cr_pq_node *n = add(x, i, name, f->nullable ? CR_PQ_OPTIONAL : CR_PQ_REQUIRED);
    bool members = !f->coded && f->n_children > 0 && cr_arrow_unreadable(x->s, i) < 0;
    if (!members && (f->coded || f->n_children == 0)) {
        leaf(f, n);
        return;
    }
    switch (f->kind) {
    case CR_ARROW_STRUCT:
        n->n_children = f->n_children;
        for (int k = 0, c = i + 1; k < f->n_children; k++, c = x->s->v[c].next)
            shape(x, c, x->s->v[c].name);
        return;
    case CR_ARROW_LIST:
    case CR_ARROW_LARGE_LIST:
    case CR_ARROW_FIXED_LIST:
        n->n_children = 1;
        n->logical.kind = CR_PQ_LIST;
        add(x, -1, "list", CR_PQ_REPEATED)->n_children = 1;
        shape(x, i + 1, "element");
        return;
    case CR_ARROW_MAP:
        n->n_children = 1;
        n->logical.kind = CR_PQ_MAP;
        add(x, i + 1, "key_value", CR_PQ_REPEATED)->n_children = 2;
        shape(x, i + 2, "key");
        shape(x, x->s->v[i + 2].next, "value");
        return;
    default: leaf(f, n); return;
    }
}

cr_code cr_arrow_shape_of(const cr_arrow_schema *s, cr_arena *arena, cr_arrow_shape *out,
                          cr_err *err) {
    *out = (cr_arrow_shape){0};
    out->meta.nodes = CR_NEW_N(arena, cr_pq_node, 2 * (int64_t)s->n + 1);
    out->field = CR_NEW_N(arena, int, 2 * (int64_t)s->n + 1);
    shaping x = {s, &out->meta, out->field};
    add(&x, -1, "schema", CR_PQ_REQUIRED)->n_children = s->n_columns;
    for (int i = 0; i < s->n; i = s->v[i].next)
        shape(&x, i, s->v[i].name);
    return cr_pq_schema_finish(&out->meta, arena, err);
}
