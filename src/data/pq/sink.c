/*
 * sink.c - writes columns into a Parquet file.
 *
 * Columns that were read as they are stored bring the vectors that the writer takes. For the others
 * vectors are made; numbers and text are not copied.
 */
#include "data/pq/sink.h"

#include "data/pq/stored.h"

typedef struct sink_col {
    int n_stored; /* leaves of a column that comes as stored; 0: it has values of a cr_column */
    int depth;
    bool map;
} sink_col;

struct cr_pq_sink {
    cr_pq_writer *w;
    sink_col *cols;
    int n_cols;
    cr_pq_vec *vecs;
    cr_arena arena;
};

/* ---- types ---- */

static void add_node(cr_pq_meta *m, const char *name, cr_pq_rep rep, cr_pq_kind kind,
                     int n_children) {
    m->nodes[m->n_nodes++] = (cr_pq_node){.name = name,
                                          .type = CR_PQ_GROUP,
                                          .rep = rep,
                                          .logical = {.kind = kind},
                                          .n_children = n_children,
                                          .field_id = -1};
}

static const cr_pq_type types[] = {[CR_COL_I32] = CR_PQ_I32,
                                   [CR_COL_I64] = CR_PQ_I64,
                                   [CR_COL_STR] = CR_PQ_BYTES,
                                   [CR_COL_F32] = CR_PQ_F32,
                                   [CR_COL_F64] = CR_PQ_F64};

static void add_leaf(cr_pq_meta *m, const char *name, cr_pq_rep rep, cr_coltype t, bool bytes) {
    cr_pq_kind kind = t == CR_COL_STR ? CR_PQ_STRING : bytes ? CR_PQ_INT : CR_PQ_PHYSICAL;
    m->nodes[m->n_nodes++] = (cr_pq_node){.name = name,
                                          .type = types[t],
                                          .rep = rep,
                                          .logical = {.kind = kind, .bits = bytes ? 8 : 0},
                                          .field_id = -1};
}

static void add_column(cr_pq_meta *m, const cr_sink_col *c) {
    const cr_colkind *k = &c->kind;
    cr_pq_rep rep = c->required ? CR_PQ_REQUIRED : CR_PQ_OPTIONAL;
    const char *name = c->name;
    const cr_pq_meta *stored = k->stored;
    if (stored) {
        int top = m->n_nodes;
        for (int i = 1; i < stored->n_nodes; i++)
            m->nodes[m->n_nodes++] = stored->nodes[i];
        m->nodes[top].name = name;
        return;
    }
    if (k->key >= 0) {
        add_node(m, name, rep, CR_PQ_MAP, 1);
        add_node(m, "key_value", CR_PQ_REPEATED, CR_PQ_PHYSICAL, 2);
        add_leaf(m, "key", CR_PQ_REQUIRED, (cr_coltype)k->key, false);
        add_leaf(m, "value", rep, k->type, false);
        return;
    }
    for (int d = 0; d < k->depth; d++) {
        add_node(m, name, rep, CR_PQ_LIST, 1);
        add_node(m, "list", CR_PQ_REPEATED, CR_PQ_PHYSICAL, 1);
        name = "element";
    }
    add_leaf(m, name, rep, k->type, c->bytes);
}

cr_code cr_pq_sink_open(cr_pq_sink **out, const char *path, const cr_sink_col *cols, int n_cols,
                        const cr_pq_write_opts *opts, cr_err *err) {
    *out = NULL;
    cr_pq_sink *s = cr_alloc(sizeof(*s), "a Parquet file");
    cr_arena_init(&s->arena, 0);
    s->cols = CR_NEW_N(&s->arena, sink_col, n_cols + 1);
    s->n_cols = n_cols;
    int n_nodes = 1, n_leaves = 0;
    for (int i = 0; i < n_cols; i++) {
        const cr_colkind *k = &cols[i].kind;
        const cr_pq_meta *stored = k->stored;
        s->cols[i] = (sink_col){.n_stored = stored ? stored->n_leaves : 0,
                                .depth = k->depth,
                                .map = k->key >= 0};
        n_nodes += stored ? stored->n_nodes : 5; /* room for a list of lists */
        n_leaves += stored ? stored->n_leaves : 1 + s->cols[i].map;
    }
    s->vecs = CR_NEW_N(&s->arena, cr_pq_vec, n_leaves + 1);
    cr_pq_meta m = {.nodes = CR_NEW_N(&s->arena, cr_pq_node, n_nodes)};
    add_node(&m, "schema", CR_PQ_REQUIRED, CR_PQ_PHYSICAL, n_cols);
    for (int i = 0; i < n_cols; i++)
        add_column(&m, &cols[i]);
    cr_code code = cr_pq_writer_new(&s->w, path, &m, opts, err);
    if (code != CR_OK) {
        cr_pq_sink_free(s);
        return code;
    }
    *out = s;
    return CR_OK;
}

/* ---- values ---- */

/* Returns the vector of c, which has the values or the keys of `rows`. */
static cr_pq_vec vec_of(const sink_col *k, const cr_column *rows, const cr_column *c,
                        int64_t n_rows) {
    cr_pq_vec v = {.type = types[c->type],
                   .n_rows = n_rows,
                   .n = n_rows,
                   .depth = k->depth,
                   .bytes = c->bytes,
                   .beg = c->beg,
                   .end = c->end,
                   .code = c->code,
                   .n_dict = c->n_dict};
    v.v.i64 = c->v.i64;
    if (k->depth == 0)
        v.valid = rows->valid;
    else {
        v.list[0] = (cr_pq_list){rows->row_off, rows->valid, n_rows};
        v.n = rows->row_off[n_rows];
        if (c == rows) v.valid = rows->item_valid; /* keys have no nulls */
    }
    if (k->depth == 2) {
        v.list[1] = (cr_pq_list){rows->item_off, rows->list_valid, v.n};
        v.n = rows->item_off[v.n];
    }
    return v;
}

cr_code cr_pq_sink_write(cr_pq_sink *s, const cr_column *const *cols, int64_t n_rows, cr_err *err) {
    cr_pq_vec *v = s->vecs;
    if (n_rows == 0) return CR_OK;
    for (int i = 0; i < s->n_cols; i++) {
        const sink_col *k = &s->cols[i];
        for (int j = 0; j < k->n_stored; j++)
            *v++ = cr_pq_stored_of(cols[i])->v[j];
        if (k->n_stored) continue;
        if (k->map) *v++ = vec_of(k, cols[i], cols[i]->keys, n_rows);
        *v++ = vec_of(k, cols[i], cols[i], n_rows);
    }
    return cr_pq_write(s->w, s->vecs, err);
}

cr_code cr_pq_sink_finish(cr_pq_sink *s, cr_err *err) {
    return cr_pq_writer_finish(s->w, err);
}

void cr_pq_sink_free(cr_pq_sink *s) {
    if (!s) return;
    cr_pq_writer_free(s->w);
    cr_arena_clear(&s->arena);
    cr_free(s);
}
