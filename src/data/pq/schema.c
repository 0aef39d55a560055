/*
 * schema.c - finds a wanted column in the schema of a Parquet file.
 *
 * Columns are numbers and text, lists of them, lists of lists, and maps. The rules by which the
 * many types of Parquet become those (docs/guide/data.md lists them) lose nothing: a value that
 * does not fit is a bad row, and a type that has no meaning as a number or text is refused by name.
 */
#include "data/pq/pq_int.h"

/* leaf_of finds out how the values of a leaf become those of a column. It returns NULL, or why they
 * cannot. */
static const char *leaf_of(const cr_pq_node *n, cr_pqs_leaf *out) {
    const cr_pq_logical *l = &n->logical;
    *out = (cr_pqs_leaf){.leaf = n->leaf, .kind = l->kind, .unit = l->unit, .scale = l->scale};
    if (l->kind == CR_PQ_NULL) {
        out->how = CR_PQS_FROM_NULLS;
        out->made = CR_COL_STR;
    } else if (l->kind == CR_PQ_DECIMAL) {
        out->how = CR_PQS_FROM_DECIMAL;
        out->made = l->scale == 0 ? CR_COL_I64 : CR_COL_F64;
    } else if (l->kind == CR_PQ_FLOAT16) {
        out->how = CR_PQS_FROM_F16;
        out->made = CR_COL_F32;
    } else if (l->kind == CR_PQ_UUID) {
        out->how = CR_PQS_FROM_UUID;
        out->made = CR_COL_STR;
    } else if (l->kind == CR_PQ_INTERVAL || l->kind == CR_PQ_BSON) {
        return "has no meaning as a number or text; write it as one, or leave it out";
    } else {
        bool is_unsigned = l->kind == CR_PQ_INT && !l->is_signed;
        switch (n->type) {
        case CR_PQ_BOOL:
            out->how = CR_PQS_FROM_BOOL;
            out->made = CR_COL_I32;
            break;
        case CR_PQ_I32:
            out->how = is_unsigned && l->bits == 32 ? CR_PQS_FROM_U32 : CR_PQS_AS_IS;
            out->made = out->how == CR_PQS_AS_IS ? CR_COL_I32 : CR_COL_I64;
            break;
        case CR_PQ_I64:
            out->how = is_unsigned ? CR_PQS_FROM_U64 : CR_PQS_AS_IS;
            out->made = CR_COL_I64;
            break;
        case CR_PQ_I96:
            out->how = CR_PQS_FROM_I96;
            out->made = CR_COL_I64;
            break;
        case CR_PQ_F32: out->made = CR_COL_F32; break;
        case CR_PQ_F64: out->made = CR_COL_F64; break;
        case CR_PQ_BYTES: out->made = CR_COL_STR; break;
        case CR_PQ_FIXED:
            out->how = CR_PQS_FROM_FIXED;
            out->made = CR_COL_STR;
            break;
        case CR_PQ_GROUP: return "is a group";
        }
    }
    out->type = out->made;
    return NULL;
}

const char *cr_pqs_place_of(const cr_pq_meta *m, int node, cr_pqs_place *out) {
    *out = (cr_pqs_place){.node = node, .value = {.leaf = -1}, .key = {.leaf = -1}};
    bool as_item = false;
    for (;;) {
        int item, value;
        switch (cr_pq_shape_of(m, node, as_item, &item, &value)) {
        case CR_PQ_IS_LEAF:
            out->depth = m->nodes[node].max_rep;
            if (out->depth > 2) return "has more than two lists inside each other";
            return leaf_of(&m->nodes[node], &out->value);
        case CR_PQ_IS_LIST:
            as_item = item == node || item == node + 1;
            node = item;
            continue;
        case CR_PQ_IS_MAP: {
            int a, b;
            if (cr_pq_shape_of(m, item, false, &a, &b) != CR_PQ_IS_LEAF ||
                cr_pq_shape_of(m, value, false, &a, &b) != CR_PQ_IS_LEAF ||
                m->nodes[item].max_rep != 1)
                return "is not a map from single values to single values";
            out->depth = 1;
            out->map = true;
            const char *why = leaf_of(&m->nodes[item], &out->key);
            if (!why && (out->key.type == CR_COL_F32 || out->key.type == CR_COL_F64))
                why = "has keys that are neither integers nor text";
            return why ? why : leaf_of(&m->nodes[value], &out->value);
        }
        case CR_PQ_IS_STRUCT: return "is a struct; name its members with dots";
        }
    }
}

static bool is_int(cr_coltype t) {
    return t == CR_COL_I32 || t == CR_COL_I64;
}

static bool ask(cr_pqs_leaf *l, cr_coltype type) {
    bool fits = l->how == CR_PQS_FROM_NULLS || l->made == type ||
                (l->made != CR_COL_STR && type != CR_COL_STR) ||
                (is_int(l->made) && type == CR_COL_STR);
    if (fits) l->type = type;
    return fits;
}

const char *cr_pqs_place_ask(cr_pqs_place *p, const cr_pqs_asked *asked) {
    if (asked->depth < 0) return NULL;
    if (cr_pqs_is_nulls(p)) return NULL;
    if (p->depth != asked->depth || p->map != (asked->key >= 0)) return "has another shape";
    if (!ask(&p->value, asked->type) || (asked->key >= 0 && !ask(&p->key, (cr_coltype)asked->key)))
        return "cannot be converted";
    return NULL;
}

static bool same_leaf(const cr_pqs_leaf *a, const cr_pqs_leaf *b) {
    if (a->how == CR_PQS_FROM_NULLS || b->how == CR_PQS_FROM_NULLS) return true;
    bool time = a->kind == CR_PQ_DATE || a->kind == CR_PQ_TIME || a->kind == CR_PQ_TIMESTAMP ||
                b->kind == CR_PQ_DATE || b->kind == CR_PQ_TIME || b->kind == CR_PQ_TIMESTAMP;
    if (time && (a->kind != b->kind || a->unit != b->unit)) return false;
    /* A type that was asked for can be made of any type, and bytes are the same whether they are
     * marked as text or not. */
    return a->type == b->type && (a->how == b->how || a->type != a->made || b->type != b->made ||
                                  (a->how == CR_PQS_FROM_FIXED && b->how == CR_PQS_AS_IS) ||
                                  (b->how == CR_PQS_FROM_FIXED && a->how == CR_PQS_AS_IS));
}

bool cr_pqs_is_nulls(const cr_pqs_place *p) {
    return p->depth == 0 && p->value.how == CR_PQS_FROM_NULLS;
}

void cr_pqs_nulls_as(cr_pqs_place *p, const cr_pqs_place *as) {
    if (p->value.how == CR_PQS_FROM_NULLS) p->value.type = as->value.type;
    if (p->map && p->key.how == CR_PQS_FROM_NULLS) p->key.type = as->key.type;
    if (!cr_pqs_is_nulls(p)) return;
    p->depth = as->depth;
    p->map = as->map;
    p->key.type = as->key.type;
}

bool cr_pqs_same(const cr_pqs_place *a, const cr_pqs_place *b) {
    if (cr_pqs_is_nulls(a) || cr_pqs_is_nulls(b)) return true;
    return a->depth == b->depth && a->map == b->map && same_leaf(&a->value, &b->value) &&
           (!a->map || same_leaf(&a->key, &b->key));
}

int cr_pqs_width(const cr_pq_meta *m, int leaf) {
    const cr_pq_node *n = &m->nodes[m->leaves[leaf]];
    switch (n->type) {
    case CR_PQ_BOOL:
    case CR_PQ_I32:
    case CR_PQ_F32: return 4;
    case CR_PQ_BYTES: return 8;
    case CR_PQ_FIXED: return 8 + n->type_length;
    default: return 8;
    }
}
