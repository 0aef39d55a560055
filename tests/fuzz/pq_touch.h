/*
 * pq_touch.h - reads all of a Parquet file that can be read and checks that what comes is whole.
 *
 * Whatever the bytes are: vectors have the rows they say, offsets rise, codes lie in the
 * dictionary. Every value is touched, so that a sanitizer sees where it lies. Errors have a place
 * and a cause.
 */
#ifndef CR_TESTS_PQ_TOUCH_H
#define CR_TESTS_PQ_TOUCH_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "parquet/parquet.h"

static inline void pq_must(bool x, const char *what) {
    if (x) return;
    fprintf(stderr, "parquet: %s\n", what);
    abort();
}

static volatile uint64_t pq_sink;
static inline void pq_touch_bytes(const void *p, size_t n) {
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += ((const uint8_t *)p)[i];
    pq_sink = pq_sink + sum;
}

static inline void pq_touch_vec(const cr_pq_node *node, const cr_pq_vec *v, int64_t asked) {
    static const int sizes[] = {1, 4, 8, 12, 4, 8};
    pq_must(v->n_rows >= 0 && v->n_rows <= asked, "a vector has more rows than were asked for");
    pq_must(v->type == node->type && v->depth == node->max_rep, "a vector of another column");
    int64_t n = v->n_rows;
    for (int d = 0; d < v->depth; d++) {
        const cr_pq_list *l = &v->list[d];
        pq_must(l->n == n, "lists and what they lie in differ in number");
        pq_must(n >= 0 && l->off[0] == 0, "offsets do not begin at 0");
        for (int64_t i = 0; i < n; i++)
            pq_must(l->off[i + 1] >= l->off[i], "offsets fall");
        if (l->valid) pq_touch_bytes(l->valid, (size_t)n);
        n = l->off[n];
    }
    pq_must(v->n == n, "slots and lists differ in number");
    if (v->valid) {
        int64_t nulls = 0;
        for (int64_t i = 0; i < n; i++)
            nulls += !v->valid[i];
        pq_must(nulls == v->n_null, "another number of nulls");
    } else
        pq_must(v->n_null == 0, "nulls that are not marked");
    if (v->type == CR_PQ_BYTES) {
        int64_t entries = v->code ? v->n_dict : n;
        for (int64_t i = 0; i < n && v->code; i++)
            pq_must(v->code[i] < v->n_dict || (v->valid && !v->valid[i]), "a code of no entry");
        for (int64_t i = 0; i < entries; i++) {
            pq_must(v->beg[i] <= v->end[i], "a string ends before it begins");
            pq_touch_bytes(v->bytes + v->beg[i], v->end[i] - v->beg[i]);
        }
    } else if (n) {
        int size = v->type == CR_PQ_FIXED ? v->type_length : sizes[v->type];
        pq_must(v->type != CR_PQ_FIXED || size == node->type_length, "values of another length");
        pq_touch_bytes(v->v.b8, (size_t)n * (size_t)size);
    }
    for (int64_t i = 0; i < v->n_levels && v->def; i++)
        pq_must(v->def[i] <= node->max_def, "a definition level that is too large");
    for (int64_t i = 0; i < v->n_levels && v->rep; i++)
        pq_must(v->rep[i] <= node->max_rep, "a repetition level that is too large");
}

static inline void pq_touch_err(const cr_err *err) {
    pq_must(err->code != CR_OK && err->msg[0] && strlen(err->msg) < sizeof err->msg,
            "a failure without a cause");
    pq_must(err->at.path != NULL, "a failure without a place");
    pq_must(err->code == CR_EDATA, "a failure that is not the data's");
}

/* all rows of a leaf, in pieces of different sizes, at most max; false: it failed */
static inline bool pq_touch_leaf(const cr_pq_file *f, cr_pq_cursor *c, int group, int leaf,
                                 int64_t from, int64_t max) {
    const cr_pq_meta *m = cr_pq_get_meta(f);
    const cr_pq_node *node = &m->nodes[m->leaves[leaf]];
    int64_t left = m->groups[group].n_rows - from;
    cr_err err;
    if (left > max) left = max;
    if (cr_pq_seek(c, f, group, leaf, from, &err) != CR_OK) return pq_touch_err(&err), false;
    for (int64_t piece = 1; left > 0; piece = piece * 3 + 1) {
        int64_t n = piece < left ? piece : left;
        cr_pq_vec v;
        if (cr_pq_read(c, n, piece % 2 == 0, &v, &err) != CR_OK) return pq_touch_err(&err), false;
        pq_touch_vec(node, &v, n);
        pq_must(v.n_rows == n, "fewer rows than the row group has");
        left -= n;
    }
    return true;
}

/* the first rows of a top-level node as JSON */
static inline void pq_touch_rows(const cr_pq_file *f, int group, int node, int64_t max) {
    const cr_pq_meta *m = cr_pq_get_meta(f);
    cr_pq_cursor *cursors[64];
    cr_pq_vec vecs[64];
    cr_pq_pos at[64] = {{0, 0}};
    int n = 0;
    int64_t rows = m->groups[group].n_rows < max ? m->groups[group].n_rows : max;
    bool good = true;
    for (int i = node; i < m->nodes[node].next && good; i++) {
        cr_err err;
        if (m->nodes[i].leaf < 0) continue;
        if (n == 64) {
            good = false;
            break;
        }
        cursors[n] = cr_pq_cursor_new();
        if (cr_pq_seek(cursors[n], f, group, m->nodes[i].leaf, 0, &err) != CR_OK ||
            cr_pq_read(cursors[n], rows, true, &vecs[n], &err) != CR_OK) {
            pq_touch_err(&err);
            good = false;
        }
        n++;
    }
    cr_buf out;
    cr_buf_init(&out);
    for (int64_t i = 0; i < rows && good && out.n < 1 << 20; i++)
        cr_pq_row_json(m, node, vecs, at, &out);
    pq_touch_bytes(out.data, out.n);
    cr_buf_clear(&out);
    for (int i = 0; i < n; i++)
        cr_pq_cursor_free(cursors[i]);
}

/* indexes and page headers */
static inline void pq_touch_pages(const cr_pq_file *f, int group, int leaf) {
    cr_err err;
    cr_arena arena;
    cr_pq_index ix;
    cr_arena_init(&arena, 0);
    if (cr_pq_read_index(f, group, leaf, &arena, &ix, &err) != CR_OK) pq_touch_err(&err);
    for (int i = 0; i < ix.n_pages; i++) {
        const cr_pq_stats *s = &ix.pages[i].stats;
        if (s->min) pq_touch_bytes(s->min, (size_t)s->min_size);
        if (s->max) pq_touch_bytes(s->max, (size_t)s->max_size);
    }
    cr_arena_clear(&arena);
    cr_buf head;
    int64_t at = 0;
    cr_buf_init(&head);
    for (int i = 0; i < 1000; i++) {
        cr_pq_page_note p;
        bool more;
        if (cr_pq_list_page(f, group, leaf, &at, &head, &p, &more, &err) != CR_OK) {
            pq_touch_err(&err);
            break;
        }
        if (!more) break;
        if (p.stats.min) pq_touch_bytes(p.stats.min, (size_t)p.stats.min_size);
        if (p.stats.max) pq_touch_bytes(p.stats.max, (size_t)p.stats.max_size);
    }
    cr_buf_clear(&head);
}

/* everything; the number of leaves that could be read to their end */
static inline int pq_touch_file(const cr_pq_file *f, int64_t max_rows) {
    const cr_pq_meta *m = cr_pq_get_meta(f);
    cr_pq_cursor *c = cr_pq_cursor_new();
    int whole = 0;
    for (int g = 0; g < m->n_groups && g < 8; g++) {
        for (int i = 0; i < m->n_leaves && i < 64; i++) {
            const cr_pq_stats *s = &m->groups[g].chunks[i].stats;
            cr_buf out;
            cr_buf_init(&out);
            if (s->min) cr_pq_value_json(&m->nodes[m->leaves[i]], s->min, s->min_size, &out);
            if (s->max) cr_pq_value_json(&m->nodes[m->leaves[i]], s->max, s->max_size, &out);
            cr_buf_clear(&out);
            pq_touch_pages(f, g, i);
            whole += pq_touch_leaf(f, c, g, i, 0, max_rows);
            (void)pq_touch_leaf(f, c, g, i, m->groups[g].n_rows / 2, max_rows);
        }
        for (int i = 1, k = 0; i < m->n_nodes && k < 64; i = m->nodes[i].next, k++)
            pq_touch_rows(f, g, i, 50);
    }
    cr_pq_cursor_free(c);
    return whole;
}

#endif
