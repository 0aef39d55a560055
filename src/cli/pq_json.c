/*
 * pq_json.c - `crank parquet --json`: writes all that a file says of itself as one JSON object in
 * one line.
 *
 * The text is written piece by piece, because a file of thousands of columns and row groups has
 * more metadata than should be held as text.
 */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "cli/pq_view.h"

typedef struct writing {
    cr_pqv *v;
    cr_buf out;
    cr_jw w;
} writing;

static void flush(writing *s, size_t above) {
    if (s->out.n <= above) return;
    cr_ui_put(s->out.data, s->out.n);
    cr_buf_reset(&s->out);
}

/* Writes a value that is JSON already. */
static void put_json(writing *s, const char *key, const char *json, size_t n) {
    cr_jw_i64(&s->w, key, 0);
    s->out.n--;
    cr_buf_add(&s->out, json, n);
}

static void put_bound(writing *s, const char *key, const cr_pq_node *n, const uint8_t *p,
                      int size) {
    cr_buf b;
    cr_buf_init(&b);
    if (p) cr_pq_value_json(n, p, size, &b);
    if (p) put_json(s, key, b.data, b.n);
    cr_buf_clear(&b);
}

static void put_bounds(writing *s, const cr_pq_node *n, const cr_pq_stats *t) {
    put_bound(s, "min", n, t->min, t->min_size);
    put_bound(s, "max", n, t->max, t->max_size);
    if (t->min && !t->min_exact) cr_jw_bool(&s->w, "min_is_exact", false);
    if (t->max && !t->max_exact) cr_jw_bool(&s->w, "max_is_exact", false);
}

static void put_encodings(writing *s, uint32_t bits) {
    cr_jw_arr(&s->w, "encodings");
    for (int i = 0; i < 32; i++)
        if (bits >> i & 1) cr_jw_str(&s->w, NULL, cr_pq_encoding_name(i));
    cr_jw_end(&s->w);
}

static void put_type(writing *s, int node) {
    char type[1024];
    cr_pq_type_text(s->v->m, node, type, sizeof type);
    cr_jw_str(&s->w, "type", type);
}

static void put_nodes(writing *s) {
    static const char *const reps[] = {"required", "optional", "repeated"};
    const cr_pq_meta *m = s->v->m;
    cr_jw *w = &s->w;
    cr_jw_arr(w, "schema");
    for (int i = 1; i < m->n_nodes; i++) {
        const cr_pq_node *n = &m->nodes[i];
        cr_jw_obj(w, NULL);
        cr_jw_str(w, "path", n->path);
        put_type(s, i);
        cr_jw_str(w, "repetition", reps[n->rep]);
        if (n->type == CR_PQ_GROUP)
            cr_jw_i64(w, "children", n->n_children);
        else
            cr_jw_str(w, "physical_type", cr_pq_type_name(n->type));
        if (n->type == CR_PQ_FIXED) cr_jw_i64(w, "type_length", n->type_length);
        if (n->field_id >= 0) cr_jw_i64(w, "field_id", n->field_id);
        cr_jw_i64(w, "max_definition_level", n->max_def);
        cr_jw_i64(w, "max_repetition_level", n->max_rep);
        cr_jw_end(w);
        flush(s, 64 << 10);
    }
    cr_jw_end(w);
}

static void put_column(writing *s, int leaf) {
    cr_jw *w = &s->w;
    const cr_pq_node *n = &s->v->m->nodes[s->v->m->leaves[leaf]];
    cr_pqv_sum sum = cr_pqv_sum_of(s->v->m, leaf);
    cr_jw_obj(w, NULL);
    cr_jw_str(w, "name", cr_pqv_name(s->v, leaf));
    cr_jw_str(w, "path", n->path);
    put_type(s, s->v->m->leaves[leaf]);
    cr_jw_bool(w, "nullable", n->max_def > n->max_rep);
    cr_jw_str(w, "codec", cr_pqv_codecs(s->v, sum.codecs));
    put_encodings(s, sum.encodings);
    cr_jw_i64(w, "values", sum.n_values);
    cr_jw_i64(w, "size", sum.size);
    cr_jw_i64(w, "uncompressed_size", sum.raw_size);
    if (sum.n_null >= 0) cr_jw_i64(w, "nulls", sum.n_null);
    if (sum.has_bounds) put_bounds(s, n, &sum.bounds);
    cr_jw_end(w);
    flush(s, 64 << 10);
}

static void put_chunk(writing *s, int group, int leaf) {
    cr_jw *w = &s->w;
    const cr_pq_chunk *c = &s->v->m->groups[group].chunks[leaf];
    const cr_pq_node *n = &s->v->m->nodes[s->v->m->leaves[leaf]];
    cr_jw_obj(w, NULL);
    cr_jw_str(w, "path", n->path);
    cr_jw_str(w, "codec", cr_pq_codec_name(c->codec));
    put_encodings(s, c->encodings);
    cr_jw_i64(w, "values", c->n_values);
    cr_jw_i64(w, "offset", c->start);
    cr_jw_i64(w, "data_offset", c->data_start);
    cr_jw_i64(w, "size", c->size);
    cr_jw_i64(w, "uncompressed_size", c->raw_size);
    if (c->stats.n_null >= 0) cr_jw_i64(w, "nulls", c->stats.n_null);
    if (c->stats.n_distinct >= 0) cr_jw_i64(w, "distinct", c->stats.n_distinct);
    put_bounds(s, n, &c->stats);
    cr_jw_bool(w, "page_index", c->offset_index > 0);
    cr_jw_bool(w, "bloom_filter", c->bloom > 0);
    cr_jw_end(w);
    flush(s, 64 << 10);
}

static void each_leaf(writing *s, int group) {
    const cr_pq_meta *m = s->v->m;
    for (int i = 0; i < s->v->n; i++)
        for (int k = s->v->nodes[i]; k < m->nodes[s->v->nodes[i]].next; k++) {
            if (m->nodes[k].leaf < 0) continue;
            if (group < 0)
                put_column(s, m->nodes[k].leaf);
            else
                put_chunk(s, group, m->nodes[k].leaf);
        }
}

static void add_row(void *ctx, int64_t row, const cr_buf *cells) {
    writing *s = ctx;
    (void)row;
    cr_jw_obj(&s->w, NULL);
    for (int i = 0; i < s->v->n; i++)
        put_json(s, s->v->m->nodes[s->v->nodes[i]].path, cells[i].data, cells[i].n);
    cr_jw_end(&s->w);
    flush(s, 64 << 10);
}

cr_code cr_pqv_json(cr_pqv *v, int64_t rows, cr_err *err) {
    writing s = {.v = v};
    const cr_pq_meta *m = v->m;
    cr_jw *w = &s.w;
    cr_buf_init(&s.out);
    cr_jw_init(w, &s.out);
    cr_jw_obj(w, NULL);
    cr_jw_str(w, "file", cr_pq_path(v->f));
    cr_jw_i64(w, "size", v->size);
    cr_jw_i64(w, "rows", m->n_rows);
    cr_jw_i64(w, "version", m->version);
    cr_jw_str(w, "created_by", m->created_by);
    cr_jw_i64(w, "footer_size", m->footer_size);
    cr_jw_arr(w, "metadata");
    for (int i = 0; i < m->n_pairs; i++) {
        cr_jw_obj(w, NULL);
        cr_jw_str(w, "key", m->pairs[i].key);
        cr_jw_str(w, "value", m->pairs[i].value);
        cr_jw_end(w);
        flush(&s, 64 << 10);
    }
    cr_jw_end(w);
    put_nodes(&s);
    cr_jw_arr(w, "columns");
    each_leaf(&s, -1);
    cr_jw_end(w);
    cr_jw_arr(w, "row_groups");
    for (int g = 0; g < m->n_groups; g++) {
        cr_jw_obj(w, NULL);
        cr_jw_i64(w, "rows", m->groups[g].n_rows);
        cr_jw_i64(w, "first_row", m->groups[g].first_row);
        cr_jw_i64(w, "uncompressed_size", m->groups[g].raw_size);
        cr_jw_arr(w, "columns");
        each_leaf(&s, g);
        cr_jw_end(w);
        cr_jw_end(w);
    }
    cr_jw_end(w);
    cr_code code = CR_OK;
    if (rows > 0) {
        cr_jw_arr(w, "first_rows");
        code = cr_pqv_each_row(v, rows, add_row, &s, err);
        if (code == CR_OK) cr_jw_end(w);
    }
    if (code == CR_OK) {
        cr_jw_end(w);
        cr_buf_char(&s.out, '\n');
        flush(&s, 0);
    }
    cr_buf_clear(&s.out);
    return code;
}
