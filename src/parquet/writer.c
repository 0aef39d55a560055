/*
 * writer.c - writes vectors as row groups into a file that is whole or does not exist.
 *
 * Rows are processed in slices. The pages of a column wait in its buffer until the row group ends
 * (column.c), so the memory grows only with the compressed size of a row group. Page indexes follow
 * the last row group, and the footer ends the file.
 */
#include <string.h>

#include "base/file.h"
#include "parquet/encode_int.h"

#define SLICE        4096 /* rows */
#define GROUP_ROWS   ((int64_t)1 << 20)
#define GROUP_BYTES  ((size_t)128 << 20)
#define PAGE_BYTES   ((size_t)1 << 20)
#define PAGE_MOST    ((size_t)1 << 29)
#define FOOTER_MAGIC "PAR1"

/* ---- row groups ---- */

static cr_code put(cr_pq_writer *w, const void *p, size_t n, cr_err *err) {
    cr_code code = cr_outfile_write(w->f, p, n, err);
    if (code != CR_OK) w->failed = true;
    w->pos += (int64_t)n;
    return code;
}

static cr_code put_chunk(cr_pq_writer *w, cr_pq_col *c, cr_pq_chunk *out, cr_err *err) {
    CR_TRY(cr_pq_col_end_page(w, c, err));
    int64_t start = w->pos;
    if (c->encodings >> CR_PQ_RLE_DICT & 1) {
        cr_pq_page_head h = {.type = CR_PQ_DICT,
                             .n_values = (int32_t)c->dict.n,
                             .encoding = CR_PQ_PLAIN};
        cr_buf dict;
        cr_buf_init(&dict);
        cr_buf_reset(&w->raw);
        cr_buf_add(&w->raw, c->dict.plain.data, c->dict.plain.n);
        cr_code code = cr_pq_col_put_page(w, c, &h, 0, &dict, err);
        if (code == CR_OK) code = put(w, dict.data, dict.n, err);
        cr_buf_clear(&dict);
        CR_TRY(code);
        c->raw_size += (int64_t)w->head.n + h.raw_size;
        c->encodings |= 1u << CR_PQ_PLAIN;
    }
    int64_t data = w->pos;
    for (int i = 0; i < c->n_pages; i++)
        c->info[i].offset += data;
    CR_TRY(put(w, c->pages.data, c->pages.n, err));
    *out = (cr_pq_chunk){.codec = w->opts.codec,
                         .encodings = c->encodings,
                         .n_values = c->levels,
                         .start = start,
                         .size = w->pos - start,
                         .raw_size = c->raw_size,
                         .data_start = data,
                         .stats = {.n_null = -1, .n_distinct = -1}};
    if (!w->opts.no_stats) {
        out->stats.n_null = c->nulls;
        cr_pq_range_stats(&c->range, c->node, &w->arena, &out->stats);
    }
    /* for now, places are counted in the buffers: the indexes follow the last row group */
    cr_pq_index index = {c->n_pages, c->info, !c->no_index};
    out->offset_index = (int64_t)w->offset_index.n;
    out->column_index = (int64_t)w->column_index.n;
    cr_pq_put_index(&w->offset_index, &w->column_index, &index, c->node);
    out->offset_index_size = (int)(w->offset_index.n - (size_t)out->offset_index);
    out->column_index_size = (int)(w->column_index.n - (size_t)out->column_index);
    cr_pq_col_begin(w, c);
    return CR_OK;
}

static cr_code end_group(cr_pq_writer *w, cr_err *err) {
    if (w->rows == 0) return CR_OK;
    cr_pq_meta *m = &w->meta;
    if (m->n_groups == w->cap_groups) {
        int cap = w->cap_groups ? 2 * w->cap_groups : 8;
        m->groups = cr_realloc(m->groups, (size_t)w->cap_groups * sizeof(*m->groups),
                               (size_t)cap * sizeof(*m->groups), "a list of row groups");
        w->cap_groups = cap;
    }
    cr_pq_group *g = &m->groups[m->n_groups];
    *g = (cr_pq_group){.first_row = m->n_rows,
                       .n_rows = w->rows,
                       .chunks = CR_NEW_N(&w->arena, cr_pq_chunk, m->n_leaves)};
    for (int i = 0; i < m->n_leaves; i++) {
        CR_TRY(put_chunk(w, &w->cols[i], &g->chunks[i], err));
        g->raw_size += g->chunks[i].raw_size;
    }
    m->n_groups++;
    m->n_rows += w->rows;
    w->rows = 0;
    w->size = 0;
    cr_arena_reset(&w->page_mem);
    return CR_OK;
}

static cr_code write_column(cr_pq_writer *w, cr_pq_col *c, int64_t n, cr_err *err) {
    /* add the rows in pieces, so that a page is cut near its size even when rows are long */
    size_t size = c->slice, piece = w->opts.page_bytes / 4 + 1;
    int64_t step = size > piece ? (int64_t)((double)n * (double)piece / (double)size) : n;
    if (step < 1) step = 1;
    for (int64_t i = 0; i < n; i += step) {
        int64_t k = n - i < step ? n - i : step;
        size_t s = k == n ? size : cr_pq_col_size(c, c->walk.v, c->walk.row, k);
        CR_TRY(cr_pq_col_add(w, c, k, s, err));
        size_t levels = c->shape.max_def ? (size_t)c->n_levels : 0;
        if (c->plain_size + levels >= w->opts.page_bytes) CR_TRY(cr_pq_col_end_page(w, c, err));
    }
    return CR_OK;
}

static cr_code write_rows(cr_pq_writer *w, const cr_pq_vec *v, cr_err *err) {
    int n_cols = w->meta.n_leaves;
    int64_t n_rows = v[0].n_rows;
    for (int i = 0; i < n_cols; i++) {
        cr_pq_col *c = &w->cols[i];
        const char *bad = v[i].n_rows != n_rows ? "it has another number of rows than the first"
                                                : cr_pq_vec_check(&v[i], c->node);
        if (bad) return cr_pq_col_fail(w, c, err, bad);
        c->walk = (cr_pq_walk){.v = &v[i]};
    }
    for (int64_t row = 0; row < n_rows;) {
        int64_t n = n_rows - row;
        if (n > SLICE) n = SLICE;
        if (n > w->opts.group_rows - w->rows) n = w->opts.group_rows - w->rows;
        size_t all;
        for (;; n /= 2) {
            all = 0;
            for (int i = 0; i < n_cols; i++)
                all += w->cols[i].slice = cr_pq_col_size(&w->cols[i], &v[i], row, n);
            if (n == 1 || w->size + all <= w->opts.group_bytes) break;
        }
        if (w->rows > 0 && w->size + all > w->opts.group_bytes) {
            CR_TRY(end_group(w, err));
            continue;
        }
        for (int i = 0; i < n_cols; i++)
            CR_TRY(write_column(w, &w->cols[i], n, err));
        row += n;
        w->rows += n;
        w->size += all;
        if (w->rows == w->opts.group_rows) CR_TRY(end_group(w, err));
    }
    return CR_OK;
}

/* ---- the file ---- */

static char *copy_text(cr_arena *a, const char *s) {
    return s ? cr_arena_strdup(a, s) : NULL;
}

static cr_code copy_schema(cr_pq_writer *w, const cr_pq_meta *schema, cr_err *err) {
    cr_pq_meta *m = &w->meta;
    m->n_nodes = schema->n_nodes;
    m->nodes = CR_NEW_N(&w->arena, cr_pq_node, m->n_nodes > 0 ? m->n_nodes : 1);
    for (int i = 0; i < m->n_nodes; i++)
        m->nodes[i] = cr_pq_node_copy(&schema->nodes[i], &w->arena);
    CR_TRY(cr_pq_schema_finish(m, &w->arena, err));
    if (m->n_leaves == 0)
        return cr_fail(err, CR_EUSAGE, "schema: it has no columns; a file needs one at least");
    m->version = w->opts.page_version;
    m->created_by = "crank version " CR_VERSION;
    m->n_pairs = w->opts.n_pairs;
    m->pairs = CR_NEW_N(&w->arena, cr_pq_pair, m->n_pairs + 1);
    for (int i = 0; i < m->n_pairs; i++) {
        m->pairs[i].key = copy_text(&w->arena, w->opts.pairs[i].key);
        m->pairs[i].value = copy_text(&w->arena, w->opts.pairs[i].value);
    }
    w->opts.pairs = m->pairs;
    return CR_OK;
}

static void fill_opts(cr_pq_write_opts *o) {
    if (o->group_rows <= 0) o->group_rows = GROUP_ROWS;
    if (o->group_bytes == 0) o->group_bytes = GROUP_BYTES;
    if (o->page_bytes == 0) o->page_bytes = PAGE_BYTES;
    if (o->page_bytes > PAGE_MOST) o->page_bytes = PAGE_MOST;
    if (o->page_version != 2) o->page_version = 1;
}

cr_code cr_pq_writer_new(cr_pq_writer **out, const char *path, const cr_pq_meta *schema,
                         const cr_pq_write_opts *opts, cr_err *err) {
    *out = NULL;
    cr_pq_writer *w = cr_alloc(sizeof(*w), "a Parquet writer");
    cr_arena_init(&w->arena, 0);
    cr_arena_init(&w->page_mem, 0);
    cr_buf *bufs[] = {&w->raw, &w->packed, &w->head, &w->offset_index, &w->column_index};
    for (size_t i = 0; i < sizeof(bufs) / sizeof(*bufs); i++)
        cr_buf_init(bufs[i]);
    w->path = copy_text(&w->arena, path);
    if (opts) w->opts = *opts;
    fill_opts(&w->opts);
    cr_code code = CR_OK;
    if (!cr_pq_codec_writes(w->opts.codec))
        code = cr_fail_at(err, CR_EUSAGE, ((cr_loc){path, 0, 0}),
                          "the codec %s cannot be written; use zstd or snappy",
                          cr_pq_codec_name(w->opts.codec));
    if (code == CR_OK && (code = copy_schema(w, schema, err)) != CR_OK && err && !err->at.path) {
        cr_err why = *err;
        code = cr_fail_at(err, why.code, ((cr_loc){path, 0, 0}), "%s", why.msg);
    }
    if (code == CR_OK) {
        w->cols = CR_NEW_N(&w->arena, cr_pq_col, w->meta.n_leaves);
        for (int i = 0; i < w->meta.n_leaves; i++)
            cr_pq_col_init(w, &w->cols[i], w->meta.leaves[i]);
        code = cr_outfile_open(&w->f, path, err);
        if (code == CR_OK && w->opts.no_sync) cr_outfile_no_sync(w->f);
    }
    if (code == CR_OK) code = put(w, FOOTER_MAGIC, 4, err);
    if (code != CR_OK) {
        cr_pq_writer_free(w);
        return code;
    }
    *out = w;
    return CR_OK;
}

cr_code cr_pq_write(cr_pq_writer *w, const cr_pq_vec *leaves, cr_err *err) {
    if (w->failed)
        return cr_fail_at(err, CR_EIO, ((cr_loc){w->path, 0, 0}),
                          "an earlier write failed; nothing more can be written");
    cr_code code = write_rows(w, leaves, err);
    if (code != CR_OK) w->failed = true;
    return code;
}

static cr_code put_end(cr_pq_writer *w, cr_err *err) {
    cr_pq_meta *m = &w->meta;
    int64_t columns = w->pos, offsets = columns + (int64_t)w->column_index.n;
    for (int g = 0; g < m->n_groups; g++)
        for (int i = 0; i < m->n_leaves; i++) {
            cr_pq_chunk *c = &m->groups[g].chunks[i];
            c->offset_index += offsets;
            c->column_index = c->column_index_size ? c->column_index + columns : 0;
        }
    CR_TRY(put(w, w->column_index.data, w->column_index.n, err));
    CR_TRY(put(w, w->offset_index.data, w->offset_index.n, err));
    cr_buf_reset(&w->raw);
    cr_pq_put_footer(&w->raw, m);
    if (w->raw.n > INT32_MAX)
        return cr_fail_at(err, CR_EDATA, ((cr_loc){w->path, 0, 0}),
                          "the footer would pass 2 GiB; write fewer columns or larger row groups");
    uint32_t size = (uint32_t)w->raw.n;
    CR_TRY(put(w, w->raw.data, w->raw.n, err));
    CR_TRY(put(w, &size, 4, err));
    return put(w, FOOTER_MAGIC, 4, err);
}

cr_code cr_pq_writer_finish(cr_pq_writer *w, cr_err *err) {
    if (w->failed || !w->f)
        return cr_fail_at(err, CR_EIO, ((cr_loc){w->path, 0, 0}),
                          "an earlier write failed; the file cannot be finished");
    cr_code code = end_group(w, err);
    if (code == CR_OK) code = put_end(w, err);
    if (code == CR_OK) {
        code = cr_outfile_commit(w->f, err);
        w->f = NULL;
    }
    if (code != CR_OK) w->failed = true;
    return code;
}

int64_t cr_pq_writer_size(const cr_pq_writer *w) {
    return w->pos;
}

void cr_pq_writer_free(cr_pq_writer *w) {
    if (!w) return;
    if (w->f) cr_outfile_abort(w->f);
    for (int i = 0; w->cols && i < w->meta.n_leaves; i++)
        cr_pq_col_clear(&w->cols[i]);
    cr_free(w->meta.groups);
    cr_free(w->seen);
    cr_free(w->names);
    cr_buf_clear(&w->raw);
    cr_buf_clear(&w->packed);
    cr_buf_clear(&w->head);
    cr_buf_clear(&w->offset_index);
    cr_buf_clear(&w->column_index);
    cr_arena_clear(&w->arena);
    cr_arena_clear(&w->page_mem);
    cr_free(w);
}
