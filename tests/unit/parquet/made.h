/*
 * made.h - made-up tables for tests of Parquet files: a schema, and vectors with every kind of
 * null and list in them; and the comparison with what a file gives back.
 */
#ifndef CR_TESTS_PQ_TABLE_H
#define CR_TESTS_PQ_TABLE_H

#include "base/rng.h"
#include "harness.h"
#include "parquet/parquet.h"

/* one column: a value in `depth` lists */
typedef struct pq_spec {
    cr_pq_type type;
    int length; /* CR_PQ_FIXED */
    cr_pq_logical logical;
    int depth;
    int nulls, list_nulls; /* percent; 0: required */
    int64_t distinct;      /* values; 0: any */
    int max_len;           /* of strings */
} pq_spec;

typedef struct pq_table {
    cr_pq_meta schema;
    cr_arena arena;
    cr_pq_vec *v; /* per leaf */
    int64_t n_rows;
    uint64_t key, at;
} pq_table;

static inline uint64_t pq_any(pq_table *t) {
    return cr_rng_u64(t->key, t->at++);
}
static inline int64_t pq_below(pq_table *t, int64_t n) {
    return (int64_t)(pq_any(t) % (uint64_t)n);
}

static inline void pq_add_node(pq_table *t, const char *name, cr_pq_type type, cr_pq_rep rep,
                               cr_pq_kind kind, int n_children) {
    t->schema.nodes[t->schema.n_nodes++] = (cr_pq_node){.name = name,
                                                        .type = type,
                                                        .rep = rep,
                                                        .logical = {.kind = kind},
                                                        .n_children = n_children,
                                                        .field_id = -1};
}

static inline void pq_add_column(pq_table *t, const pq_spec *s, int number) {
    const char *name = cr_arena_printf(&t->arena, "c%d", number);
    for (int k = 0; k < s->depth; k++) {
        pq_add_node(t, k ? "element" : name, CR_PQ_GROUP,
                    s->list_nulls ? CR_PQ_OPTIONAL : CR_PQ_REQUIRED, CR_PQ_LIST, 1);
        pq_add_node(t, "list", CR_PQ_GROUP, CR_PQ_REPEATED, CR_PQ_PHYSICAL, 1);
    }
    pq_add_node(t, s->depth ? "element" : name, s->type, s->nulls ? CR_PQ_OPTIONAL : CR_PQ_REQUIRED,
                CR_PQ_PHYSICAL, 0);
    cr_pq_node *n = &t->schema.nodes[t->schema.n_nodes - 1];
    n->type_length = s->length;
    n->logical = s->logical;
    n->field_id = s->depth ? -1 : number;
}

static inline uint8_t *pq_validity(pq_table *t, int64_t n, int percent, int64_t *n_null) {
    *n_null = 0;
    if (percent == 0) return NULL;
    uint8_t *valid = cr_arena_zalloc(&t->arena, (size_t)n + 1);
    for (int64_t i = 0; i < n; i++) {
        valid[i] = pq_below(t, 100) >= percent;
        *n_null += !valid[i];
    }
    return valid;
}

/* value number x as text: the length follows from the number */
static inline size_t pq_text(char *out, uint64_t x, int max_len) {
    size_t n = (size_t)(x * 2654435761u % (uint64_t)(max_len + 1));
    for (size_t i = 0; i < n; i++)
        out[i] = (char)('a' + cr_rng_u64(x, i) % 26);
    return n;
}

static inline void pq_fill_text(pq_table *t, const pq_spec *s, cr_pq_vec *v) {
    uint32_t *off = CR_NEW_N(&t->arena, uint32_t, v->n + 1);
    size_t cap = (size_t)v->n * (size_t)s->max_len + 1, at = 0;
    char *bytes = cr_arena_alloc(&t->arena, cap);
    for (int64_t i = 0; i < v->n; i++) {
        uint64_t x = pq_any(t);
        if (s->distinct) x %= (uint64_t)s->distinct;
        off[i] = (uint32_t)at;
        if (!v->valid || v->valid[i]) at += pq_text(bytes + at, x, s->max_len);
    }
    off[v->n] = (uint32_t)at;
    v->bytes = bytes;
    v->beg = off;
    v->end = off + 1;
}

static inline size_t pq_width(const pq_spec *s) {
    switch (s->type) {
    case CR_PQ_BOOL: return 1;
    case CR_PQ_I32:
    case CR_PQ_F32: return 4;
    case CR_PQ_I64:
    case CR_PQ_F64: return 8;
    case CR_PQ_I96: return 12;
    default: return (size_t)s->length;
    }
}

static inline void pq_fill_fixed(pq_table *t, const pq_spec *s, cr_pq_vec *v) {
    size_t w = pq_width(s);
    uint8_t *p = cr_arena_zalloc(&t->arena, (size_t)v->n * w + 64);
    v->v.b8 = p;
    for (int64_t i = 0; i < v->n; i++, p += w) {
        if (v->valid && !v->valid[i]) continue;
        uint64_t x = pq_any(t);
        if (s->distinct) x = cr_rng_u64(77, x % (uint64_t)s->distinct);
        float f = (float)((double)(int64_t)x / 1e15);
        double d = (double)f / 3;
        switch (s->type) {
        case CR_PQ_BOOL: *p = x & 1; break;
        case CR_PQ_F32: memcpy(p, &f, 4); break;
        case CR_PQ_F64: memcpy(p, &d, 8); break;
        default:
            for (size_t k = 0; k < w; k++)
                p[k] = (uint8_t)(cr_rng_u64(x, k / 8) >> k % 8 * 8);
        }
    }
}

static inline void pq_fill(pq_table *t, const pq_spec *s, cr_pq_vec *v) {
    int64_t n = t->n_rows, ignored;
    *v = (cr_pq_vec){.type = s->type,
                     .type_length = s->length,
                     .n_rows = t->n_rows,
                     .depth = s->depth};
    for (int k = 0; k < s->depth; k++) {
        cr_pq_list *l = &v->list[k];
        int32_t *off = CR_NEW_N(&t->arena, int32_t, n + 1);
        l->n = n;
        l->valid = pq_validity(t, n, s->list_nulls, &ignored);
        for (int64_t i = 0; i < n; i++) {
            bool empty = (l->valid && !l->valid[i]) || pq_below(t, 4) == 0;
            off[i + 1] = off[i] + (empty ? 0 : 1 + (int32_t)pq_below(t, 3));
        }
        l->off = off;
        n = off[n];
    }
    v->n = n;
    v->valid = pq_validity(t, n, s->nulls, &v->n_null);
    if (s->type == CR_PQ_BYTES)
        pq_fill_text(t, s, v);
    else
        pq_fill_fixed(t, s, v);
}

static inline void pq_table_init(pq_table *t, const pq_spec *specs, int n, int64_t n_rows,
                                 uint64_t seed) {
    memset(t, 0, sizeof(*t));
    cr_arena_init(&t->arena, 0);
    t->key = cr_rng_key(seed, "parquet table", "");
    t->n_rows = n_rows;
    t->v = CR_NEW_N(&t->arena, cr_pq_vec, n + 1);
    t->schema.nodes = CR_NEW_N(&t->arena, cr_pq_node, 1 + 8 * n);
    pq_add_node(t, "schema", CR_PQ_GROUP, CR_PQ_REQUIRED, CR_PQ_PHYSICAL, n);
    for (int i = 0; i < n; i++) {
        pq_add_column(t, &specs[i], i);
        pq_fill(t, &specs[i], &t->v[i]);
    }
    cr_err err = {0};
    if (cr_pq_schema_finish(&t->schema, &t->arena, &err) != CR_OK) {
        t_failed_checks++;
        fprintf(stderr, "%s: %s\n", t_name, err.msg);
    }
}

static inline void pq_table_clear(pq_table *t) {
    cr_arena_clear(&t->arena);
}

/* rows [from, from + n) of a vector; memory from arena */
static inline cr_pq_vec pq_slice(const cr_pq_vec *v, int64_t from, int64_t n, cr_arena *a) {
    cr_pq_vec out = *v;
    out.n_rows = n;
    for (int k = 0; k < v->depth; k++) {
        const cr_pq_list *l = &v->list[k];
        int32_t *off = CR_NEW_N(a, int32_t, n + 1);
        for (int64_t i = 0; i <= n; i++)
            off[i] = l->off[from + i] - l->off[from];
        out.list[k].off = off;
        out.list[k].n = n;
        if (l->valid) out.list[k].valid = l->valid + from;
        int64_t next = l->off[from];
        n = l->off[from + n] - next;
        from = next;
    }
    out.n = n;
    if (v->valid) out.valid = v->valid + from;
    if (v->type == CR_PQ_BYTES) {
        out.beg = v->beg + from;
        out.end = v->end + from;
    } else {
        pq_spec s = {.type = v->type, .length = v->type_length};
        out.v.b8 = v->v.b8 + (size_t)from * pq_width(&s);
    }
    return out;
}

static inline bool pq_slot_equal(const cr_pq_vec *a, int64_t i, const cr_pq_vec *b, int64_t k) {
    bool av = !a->valid || a->valid[i], bv = !b->valid || b->valid[k];
    if (av != bv) return false;
    if (!av) return true;
    if (a->type == CR_PQ_BYTES) {
        uint32_t ai = a->code ? a->code[i] : (uint32_t)i, bi = b->code ? b->code[k] : (uint32_t)k;
        uint32_t n = a->end[ai] - a->beg[ai];
        return n == b->end[bi] - b->beg[bi] &&
               (n == 0 || memcmp(a->bytes + a->beg[ai], b->bytes + b->beg[bi], n) == 0);
    }
    pq_spec s = {.type = a->type, .length = a->type_length};
    size_t w = pq_width(&s);
    return memcmp(a->v.b8 + (size_t)i * w, b->v.b8 + (size_t)k * w, w) == 0;
}

/* item i of depth k against item j of b */
static inline bool pq_item_equal(const cr_pq_vec *a, int64_t i, const cr_pq_vec *b, int64_t j,
                                 int k) {
    if (k == a->depth) return pq_slot_equal(a, i, b, j);
    const cr_pq_list *x = &a->list[k], *y = &b->list[k];
    bool xv = !x->valid || x->valid[i], yv = !y->valid || y->valid[j];
    int32_t n = x->off[i + 1] - x->off[i];
    if (xv != yv || n != y->off[j + 1] - y->off[j]) return false;
    for (int32_t m = 0; m < n; m++)
        if (!pq_item_equal(a, x->off[i] + m, b, y->off[j] + m, k + 1)) return false;
    return true;
}

/* what a file holds, read in steps of several sizes, against the table */
static inline void pq_compare(const char *path, const pq_table *t, const cr_pq_opts *opts) {
    cr_err err = {0};
    cr_pq_file *f;
    if (cr_pq_open(&f, path, opts, &err) != CR_OK) {
        t_failed_checks++;
        fprintf(stderr, "%s: %s\n", t_name, err.msg);
        return;
    }
    const cr_pq_meta *m = cr_pq_get_meta(f);
    CHECK_INT(m->n_rows, t->n_rows);
    CHECK_INT(m->n_nodes, t->schema.n_nodes);
    CHECK_INT(m->n_leaves, t->schema.n_leaves);
    for (int i = 0; i < m->n_nodes && i < t->schema.n_nodes; i++) {
        const cr_pq_node *a = &m->nodes[i], *b = &t->schema.nodes[i];
        CHECK_STR(a->name, b->name);
        CHECK_INT(a->type, b->type);
        CHECK_INT(i ? a->rep : b->rep, b->rep);
        CHECK_INT(a->type == CR_PQ_FIXED ? a->type_length : 0,
                  a->type == CR_PQ_FIXED ? b->type_length : 0);
        CHECK_INT(a->field_id, b->field_id);
        CHECK_INT(a->logical.kind, b->logical.kind);
        CHECK_INT(a->logical.bits, b->logical.bits);
        CHECK_INT(a->logical.is_signed, b->logical.is_signed);
        CHECK_INT(a->logical.is_utc, b->logical.is_utc);
        CHECK_INT(a->logical.unit, b->logical.unit);
        CHECK_INT(a->logical.precision, b->logical.precision);
        CHECK_INT(a->logical.scale, b->logical.scale);
    }
    static const int64_t steps[] = {1 << 20, 7, 64, 1};
    for (int leaf = 0; leaf < m->n_leaves; leaf++) {
        cr_pq_cursor *c = cr_pq_cursor_new();
        int64_t row = 0;
        bool same = true;
        for (int g = 0; g < m->n_groups && same; g++) {
            int64_t step = steps[(g + leaf) % 4], left = m->groups[g].n_rows;
            CHECK_INT(m->groups[g].first_row, row);
            same = cr_pq_seek(c, f, g, leaf, 0, &err) == CR_OK;
            while (left > 0 && same) {
                cr_pq_vec v;
                int64_t want = left < step ? left : step;
                same = cr_pq_read(c, step, (g + leaf) & 1, &v, &err) == CR_OK;
                if (!same) break;
                CHECK_INT(v.n_rows, want);
                if (v.n_rows != want) break;
                for (int64_t i = 0; i < want && same; i++)
                    same = pq_item_equal(&t->v[leaf], row + i, &v, i, 0);
                if (!same) snprintf(err.msg, sizeof(err.msg), "the values differ");
                row += want;
                left -= want;
            }
        }
        if (!same) {
            t_failed_checks++;
            fprintf(stderr, "%s: %s: leaf %d (%s), near row %lld: %s\n", t_name, path, leaf,
                    m->nodes[m->leaves[leaf]].path, (long long)row, err.msg);
        }
        cr_pq_cursor_free(c);
    }
    cr_pq_close(f);
}

#endif
