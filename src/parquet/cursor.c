/*
 * cursor.c - a cursor is a place in a column chunk: this file reads its bytes and pages, and moves
 * it to a row.
 *
 * The file is read through a window of a MiB, so that small pages do not cost a call each. Pages
 * before the wanted row are skipped by reading only their headers (a flat column has one row per
 * value, pages of version 2 tell their rows), or all at once where the file has an offset index.
 */
#include <string.h>

#include "parquet/decode_int.h"

#define WINDOW ((size_t)1 << 20)
#define PEEK   ((size_t)64 << 10) /* bytes read at once while pages are skipped */
/* reading the index is worth while when it skips so many bytes */
#define INDEX_GAIN ((int64_t)16 << 10)
#define SLACK      100 /* old writers left a page header out of the size of a chunk */
#define MAX_HEAD   ((size_t)16 << 20)

cr_pq_cursor *cr_pq_cursor_new(void) {
    cr_pq_cursor *c = cr_alloc(sizeof(*c), "a Parquet cursor");
    c->k = cr_pq_kern_for(cr_cpu_level_max());
    cr_arena_init(&c->arena, 0);
    return c;
}

void cr_pq_cursor_free(cr_pq_cursor *c) {
    if (!c) return;
    cr_pq_mem *const all[] = {&c->win,     &c->mem.raw,  &c->mem.text, &c->mem.beg, &c->mem.fin,
                              &c->mem.tmp, &c->dict_mem, &c->values,   &c->valid,   &c->beg,
                              &c->fin,     &c->code,     &c->def,      &c->rep};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        cr_pq_mem_free(all[i]);
    for (int i = 0; i <= CR_PQ_MAX_DEPTH; i++) {
        cr_pq_mem_free(&c->off[i]);
        cr_pq_mem_free(&c->list_valid[i]);
    }
    cr_pq_codec_state_free(c->mem.codec);
    cr_arena_clear(&c->arena);
    cr_free(c);
}

void cr_pq_cursor_reset(cr_pq_cursor *c) {
    c->f = NULL;
}

cr_pq_times cr_pq_cursor_times(const cr_pq_cursor *c) {
    return c->times;
}

cr_code cr_pq_bad_page(const cr_pq_cursor *c, const char *cause, cr_err *err) {
    return cr_pq_fail(err, c->f, c->group, c->leaf, c->page.at, "%s", cause);
}

/* placed adds the place to a cause, except to want of memory, which is the fault of no byte. */
static cr_code placed(const cr_pq_cursor *c, int64_t at, cr_code code, const cr_err *cause,
                      cr_err *err) {
    if (code == CR_OK) return CR_OK;
    int why = cause->code == CR_ENOMEM ? CR_PQ_TOLD : cause->why;
    code = cr_pq_wrong(err, c->f, c->group, c->leaf, at, why, "%s", cause->msg);
    if (cause->code == CR_ENOMEM) {
        if (err) err->code = CR_ENOMEM;
        return CR_ENOMEM;
    }
    return code;
}

/* ---- bytes ---- */

/* look makes n bytes at `at` readable (and CR_PQ_PAD after them), and reads up to `ahead` bytes at
 * once. at + n <= hard_end. */
static cr_code look(cr_pq_cursor *c, int64_t at, size_t n, size_t ahead, const uint8_t **out,
                    cr_err *err) {
    int64_t have = c->win_at + (int64_t)c->win_n;
    if (at >= c->win_at && at + (int64_t)n <= have) {
        *out = c->win.p + (at - c->win_at);
        return CR_OK;
    }
    double t = cr_now();
    /* with a far store, a window would reach beyond what was requested in advance, and wait for
     * it */
    const bool far = cr_fs_is_far(c->f->fs);
    const size_t budget = c->f->opts.budget, most = far ? 0 : ahead < budget ? ahead : budget;
    size_t want = n > most ? n : most, keep = 0;
    int64_t to_end = (at < c->end && c->end >= at + (int64_t)n ? c->end : at + (int64_t)n) - at;
    if ((uint64_t)to_end < want) want = (size_t)to_end;
    if (at >= c->win_at && at < have) {
        keep = (size_t)(have - at);
        memmove(c->win.p, c->win.p + (at - c->win_at), keep);
    }
    c->win_at = at;
    c->win_n = 0;
    cr_err cause;
    cr_code code = cr_pq_mem_need(&c->win, want, keep, budget, "the bytes of a page", &cause);
    if (code != CR_OK) return placed(c, at, code, &cause, err);
    CR_TRY(cr_pq_pread(c->f, at + (int64_t)keep, c->win.p + keep, want - keep, err));
    c->win_n = want;
    /* request the next part of this chunk, so that it arrives while this part is decoded */
    int64_t next = at + (int64_t)want;
    if (next < c->end && ahead == WINDOW && !far) {
        int64_t n_next = c->end - next < (int64_t)WINDOW ? c->end - next : (int64_t)WINDOW;
        cr_fs_will_need(c->f->fs, &(cr_fs_range){next, n_next}, 1);
    }
    c->times.read += cr_now() - t;
    c->times.bytes_read += (int64_t)(want - keep);
    *out = c->win.p;
    return CR_OK;
}

/* ---- pages ---- */

/* read_head reads the header at c->pos and checks that the page lies within the chunk. */
static cr_code read_head(cr_pq_cursor *c, size_t ahead, cr_pq_page_head *h, size_t *used,
                         cr_err *err) {
    const size_t left = (size_t)(c->hard_end - c->pos);
    cr_err cause;
    for (size_t n = 4096;; n *= 8) {
        const uint8_t *p = NULL;
        if (n > left) n = left;
        CR_TRY(look(c, c->pos, n, ahead, &p, err));
        size_t in_window = (size_t)(c->win_at + (int64_t)c->win_n - c->pos);
        cr_code code =
            cr_pq_parse_page_head(p, in_window < left ? in_window : left, h, used, &cause);
        if (code != CR_OK) return placed(c, c->pos, code, &cause, err);
        if (*used) break;
        if (n >= left || n >= MAX_HEAD)
            return cr_pq_fail(err, c->f, c->group, c->leaf, c->pos, "the page header is cut short");
    }
    if ((uint64_t)h->size > left - *used)
        return cr_pq_fail(err, c->f, c->group, c->leaf, c->pos,
                          "a page of %d bytes goes beyond its column chunk", h->size);
    return CR_OK;
}

static cr_pq_page_in page_in(cr_pq_cursor *c) {
    return (cr_pq_page_in){.k = c->k,
                           .node = c->node,
                           .codec = c->chunk->codec,
                           .dict = c->has_dict ? &c->dict : NULL,
                           .budget = c->f->opts.budget,
                           .skip_crc = c->f->opts.skip_crc,
                           .text_at = c->text_n,
                           .decompress = &c->times.decompress};
}

static cr_code open_dict(cr_pq_cursor *c, const cr_pq_page_head *h, size_t head_size, cr_err *err) {
    const uint8_t *body = NULL;
    cr_err cause;
    if (c->has_dict)
        return cr_pq_fail(err, c->f, c->group, c->leaf, c->pos,
                          "the chunk has a second dictionary");
    if (c->n_seen != 0) /* its text would overwrite the text of a vector */
        return cr_pq_fail(err, c->f, c->group, c->leaf, c->pos,
                          "the dictionary comes after values");
    CR_TRY(look(c, c->pos + (int64_t)head_size, (size_t)h->size, WINDOW, &body, err));
    cr_pq_page_in in = page_in(c);
    cr_code code =
        cr_pq_dict_open(&c->dict, h, &in, body, &c->dict_mem, &c->mem, &c->dict_text, &cause);
    if (code != CR_OK) return placed(c, c->pos, code, &cause, err);
    c->times.bytes_raw += h->raw_size;
    c->text_n = c->dict_text;
    c->has_dict = true;
    return CR_OK;
}

/* rows_of returns the rows of a page when its header tells them, else -1. */
static int64_t rows_of(const cr_pq_cursor *c, const cr_pq_page_head *h) {
    if (c->nest.max_rep == 0) return h->n_values;
    return h->type == CR_PQ_DATA2 ? h->n_rows : -1;
}

cr_code cr_pq_next_page(cr_pq_cursor *c, int64_t *skip, bool *end, cr_err *err) {
    cr_err cause;
    c->left = 0;
    *end = false;
    while (c->pos < c->end && (c->n_seen < 0 || c->n_seen < c->chunk->n_values)) {
        cr_pq_page_head *h = &c->page.head;
        size_t used = 0;
        CR_TRY(read_head(c, *skip ? PEEK : WINDOW, h, &used, err));
        int64_t at = c->pos, body_at = at + (int64_t)used, next = body_at + h->size;
        c->page.at = at;
        if (h->type == CR_PQ_DICT) CR_TRY(open_dict(c, h, used, err));
        if (h->type != CR_PQ_DATA1 && h->type != CR_PQ_DATA2) {
            c->pos = next;
            continue;
        }
        if (c->n_seen >= 0 && h->n_values > c->chunk->n_values - c->n_seen)
            return cr_pq_bad_page(c, "the pages have more values than the column chunk", err);
        int64_t rows = rows_of(c, h);
        if (h->n_values == 0 || (*skip && rows >= 0 && rows <= *skip)) {
            if (rows > 0 && *skip) *skip -= rows;
        } else {
            const uint8_t *body = NULL;
            CR_TRY(look(c, body_at, (size_t)h->size, WINDOW, &body, err));
            cr_pq_page_in in = page_in(c);
            cr_code code = cr_pq_page_open(&c->page, &in, body, &c->mem, &cause);
            if (code != CR_OK) return placed(c, at, code, &cause, err);
            c->times.bytes_raw += h->raw_size;
            if (c->page.text_n) c->text_n = c->page.text_at + c->page.text_n;
            c->left = h->n_values;
        }
        c->pos = next;
        if (c->n_seen >= 0) c->n_seen += h->n_values;
        if (c->left) return CR_OK;
    }
    *end = true;
    return CR_OK;
}

/* ---- going to a row ---- */

static cr_code start(cr_pq_cursor *c, const cr_pq_file *f, int group, int leaf, cr_err *err) {
    const cr_pq_meta *m = &f->meta;
    if (group < 0 || group >= m->n_groups || leaf < 0 || leaf >= m->n_leaves)
        return cr_fail_at(err, CR_ERUN, (cr_loc){.path = f->path},
                          "it has no row group %d with a column %d", group, leaf);
    const cr_pq_group *g = &m->groups[group];
    c->f = NULL;
    c->group = group;
    c->leaf = leaf;
    c->node = &m->nodes[m->leaves[leaf]];
    c->chunk = &g->chunks[leaf];
    c->n_rows = g->n_rows;
    c->row = 0;
    if (!cr_pq_nest_of(m, m->leaves[leaf], &c->nest))
        return cr_pq_fail(err, f, group, leaf, -1, "it lies in more than %d lists",
                          CR_PQ_MAX_DEPTH);
    if (c->nest.max_rep == 0 && c->chunk->n_values != c->n_rows)
        return cr_pq_fail(err, f, group, leaf, -1, "it has %lld values, the row group %lld rows",
                          (long long)c->chunk->n_values, (long long)c->n_rows);
    if (!cr_pq_codec_reads(c->chunk->codec))
        return cr_pq_wrong(err, f, group, leaf, -1, CR_PQ_TOLD,
                           "it is compressed with %s, which is not supported; write the file with "
                           "snappy or zstd",
                           cr_pq_codec_name(c->chunk->codec));
    const int64_t data_end = f->size - 8 - m->footer_size;
    c->pos = c->chunk->start;
    c->end = c->chunk->start + c->chunk->size;
    if (c->end > data_end) c->end = data_end;
    c->hard_end = c->end > data_end - SLACK ? data_end : c->end + SLACK;
    c->n_seen = 0;
    c->left = 0;
    c->look_at = c->look_n = 0;
    c->has_dict = c->has_index = false;
    c->text_n = c->dict_text = 0;
    c->win_at = 0; /* the window may belong to another file */
    c->win_n = 0;
    c->page.text_n = 0;
    c->f = f;
    return CR_OK;
}

/* use_index jumps near the row when that saves reading; else it does nothing. */
static cr_code use_index(cr_pq_cursor *c, int64_t row, cr_err *err) {
    const cr_pq_chunk *ch = c->chunk;
    if (ch->offset_index <= 0 || c->n_rows <= 0) return CR_OK;
    double gain = (double)(row - c->row) / (double)c->n_rows * (double)ch->size;
    if (gain < (double)INDEX_GAIN) return CR_OK;
    if (!c->has_index) {
        cr_arena_reset(&c->arena);
        CR_TRY(cr_pq_read_index(c->f, c->group, c->leaf, &c->arena, &c->index, err));
        c->has_index = true;
    }
    int lo = 0, hi = c->index.n_pages; /* find the last page that begins at or before the row */
    while (hi - lo > 1) {
        int mid = lo + (hi - lo) / 2;
        *(c->index.pages[mid].first_row <= row ? &lo : &hi) = mid;
    }
    if (hi <= lo) return CR_OK;
    const cr_pq_page_info *p = &c->index.pages[lo];
    if (p->first_row <= c->row || p->first_row > row || p->offset < c->pos || p->offset >= c->end)
        return CR_OK;
    if (c->pos == ch->start && p->offset > ch->start) { /* the dictionary is needed all the same */
        cr_pq_page_head h;
        size_t used = 0;
        CR_TRY(read_head(c, PEEK, &h, &used, err));
        if (h.type == CR_PQ_DICT) CR_TRY(open_dict(c, &h, used, err));
    }
    c->pos = p->offset;
    c->left = 0;
    c->look_at = c->look_n = 0;
    c->row = p->first_row;
    c->n_seen = c->nest.max_rep == 0 ? p->first_row : -1;
    return CR_OK;
}

cr_code cr_pq_seek(cr_pq_cursor *c, const cr_pq_file *f, int group, int leaf, int64_t row,
                   cr_err *err) {
    if (c->f != f || c->group != group || c->leaf != leaf || row < c->row)
        CR_TRY(start(c, f, group, leaf, err));
    if (row < 0 || row > c->n_rows)
        return cr_fail_at(err, CR_ERUN, (cr_loc){.path = f->path}, "row group %d has no row %lld",
                          group, (long long)row);
    if (row == c->row) return CR_OK;
    cr_code code = use_index(c, row, err);
    if (code == CR_OK && row > c->row) code = cr_pq_pass(c, row - c->row, err);
    if (code != CR_OK) c->f = NULL;
    return code;
}

cr_code cr_pq_read(cr_pq_cursor *c, int64_t n_rows, int how, cr_pq_vec *out, cr_err *err) {
    *out = (cr_pq_vec){0};
    if (!c->f) return cr_fail(err, CR_ERUN, "a Parquet cursor has no position to read from");
    double t = cr_now(), other = c->times.read + c->times.decompress;
    if (n_rows > c->n_rows - c->row) n_rows = c->n_rows - c->row;
    if (n_rows < 0) n_rows = 0;
    cr_code code = cr_pq_vector(c, n_rows, how, out, err);
    if (code == CR_OK)
        c->row += n_rows;
    else
        c->f = NULL;
    c->times.decode += cr_now() - t - (c->times.read + c->times.decompress - other);
    return code;
}
