/*
 * source.c - ParquetDataset: row groups of Parquet files.
 *
 * Opening reads the footer of every file (several at once) and looks for every wanted column in
 * each: a column that is missing or of another type in file 700 of 1000 is found before the first
 * step. Files with the same schema as the one before share what was found.
 *
 * `cut` chooses the rows and asks the system to read ahead; `parse` moves one cursor per column.
 * Both belong to a hand, which keeps its cursors and what was made of dictionaries.
 */
#include "data/pq/groups.h"

#include "base/buf.h"
#include "base/file.h"
#include "data/open_many.h"

#define PAGE_BYTES   1048576.0 /* the size that writers aim at */
#define WINDOW_BYTES 1048576.0 /* bytes that a cursor reads at a time, unless a page is larger */

struct cr_source {
    cr_pqg g;
    double looked; /* size of the largest row group whose pages were looked at */
};

/* What a hand keeps from block to block. */
typedef struct hand {
    int64_t file; /* -1: none */
    void *f;      /* a cr_pq_file */
    int group;
    cr_pq_cursor **cursors; /* per slot of the file's schema; NULL: not made */
    cr_pq_vec *vecs;
    cr_memo *memos;
    int64_t group_row; /* the first wanted row, counted in the row group */
    int64_t ahead;     /* the system was asked to read up to this row */
} hand;

/* ---- opening ---- */

static const char *const exts[] = {".parquet", ".parq", ".pq", NULL};

static cr_code open_one(void **out, const char *path, cr_err *err) {
    cr_pq_file *x = NULL;
    cr_code code = cr_pq_open(&x, path, NULL, err);
    *out = code == CR_OK ? x : NULL;
    return code;
}
static void close_one(void *x) {
    cr_pq_close(x);
}
static cr_fs *fs_of(const void *x) {
    return cr_pq_fs(x);
}
static const cr_pqg_type files = {.open = open_one, .close = close_one, .fs = fs_of};

/* look_at_pages reads the sizes of pages, which stand in front of each page and not in the footer.
 * The first pages of the columns of a large row group speak for the rest. */
static void look_at_pages(cr_source *s, const cr_pqg_file *f, const cr_pq_file *x, int number) {
    const cr_pq_chunk *chunks = cr_pq_get_meta(x)->groups[number].chunks;
    double large = 0;
    cr_buf head;
    cr_buf_init(&head);
    if (cr_fs_is_far(cr_pq_fs(x)))
        cr_pq_will_need(x, number, f->schema->leaf, f->schema->n_slots, 0, 1);
    for (int k = 0; k < f->schema->n_slots; k++) {
        int leaf = f->schema->leaf[k];
        if ((double)chunks[leaf].raw_size <= 2 * PAGE_BYTES) continue;
        int64_t at = 0;
        bool more = true;
        for (int i = 0; i < 2 && more; i++) { /* a dictionary, then a page */
            cr_pq_page_note p;
            /* A mistake in a page is reported when the page is read. */
            if (cr_pq_list_page(x, number, leaf, &at, &head, &p, &more, NULL) != CR_OK || !more)
                break;
            if (p.size > WINDOW_BYTES) large += p.size - WINDOW_BYTES;
            if (p.raw_size > 2 * PAGE_BYTES) large += p.raw_size - 2 * PAGE_BYTES;
        }
    }
    cr_buf_clear(&head);
    large *= 1.25; /* buffers grow by more than is needed */
    if (large > s->g.large) s->g.large = large;
}

/* measure lists the row groups with the sizes of their wanted columns. */
static void measure(cr_source *s, cr_pqg_file *f, const cr_pq_file *x, cr_diag *diag) {
    const cr_pq_meta *m = cr_pq_get_meta(x);
    double largest = 0;
    int large = -1;
    if (!cr_pqg_begin(&s->g, f, x, m->n_groups, diag)) return;
    for (int g = 0; g < m->n_groups; g++) {
        const cr_pq_group *from = &m->groups[g];
        if (from->n_rows <= 0) continue;
        cr_pqg_group *to = cr_pqg_add(f, g, from->n_rows, diag);
        if (!to) return;
        double raw_all = 0;
        for (int k = 0; k < f->schema->n_slots; k++) {
            int leaf = f->schema->leaf[k];
            const cr_pq_chunk *c = &from->chunks[leaf];
            const cr_pq_node *node = &m->nodes[m->leaves[leaf]];
            double raw = (double)c->raw_size, size = (double)c->size;
            to->bytes += size;
            raw_all += raw;
            to->plain += (double)c->n_values * cr_pqs_width(m, leaf);
            if (node->type == CR_PQ_BYTES) to->plain += raw;
            to->held += 1.25 * (size < WINDOW_BYTES ? size : WINDOW_BYTES) +
                        2 * (raw < PAGE_BYTES ? raw : PAGE_BYTES);
            if (node->max_rep > 0 || c->n_values == from->n_rows) continue;
            cr_diag_add(diag, CR_SEV_ERROR, CR_EDATA, (cr_loc){f->path, 0, 0},
                        "column '%.100s', row group %d: it has %lld values, the row group %lld "
                        "rows; the file is damaged",
                        node->path, g, (long long)c->n_values, (long long)from->n_rows);
            return;
        }
        if (raw_all > largest) {
            largest = raw_all;
            large = g;
        }
    }
    /* Each look is at a larger row group than the one before, so there are few however many files
     * there are. */
    if (large >= 0 && largest > 1.25 * s->looked) {
        s->looked = largest;
        look_at_pages(s, f, x, large);
    }
}

typedef struct opening {
    const cr_pqg_file *files;
    cr_pq_file **open;
    cr_err *errs;
    int64_t from, n; /* files [from, from + n) */
} opening;

static void open_nth(void *ctx, int64_t i) {
    opening *o = ctx;
    o->errs[i].code = CR_OK;
    if (cr_pq_open(&o->open[i], o->files[o->from + i].path, NULL, &o->errs[i]) != CR_OK)
        o->open[i] = NULL;
}

static void open_files(cr_source *s, cr_diag *diag) {
    cr_pqg *g = &s->g;
    size_t errors = diag->n_errors;
    opening o = {.files = g->files,
                 .open = CR_NEW_N(&g->arena, cr_pq_file *, CR_PQG_OPEN + 1),
                 .errs = cr_alloc(CR_PQG_OPEN * sizeof(cr_err), "files")};
    cr_pq_file *before = NULL; /* the file before this one stays open for its schema */
    bool kept = true;
    for (o.from = 0; o.from < g->n_files && diag->n_errors - errors <= CR_PQG_ERRORS;
         o.from += o.n) {
        o.n = g->n_files - o.from < CR_PQG_OPEN ? g->n_files - o.from : CR_PQG_OPEN;
        cr_open_many(g->files[o.from].path, o.n, open_nth, &o);
        for (int64_t i = 0; i < o.n; i++) {
            cr_pqg_file *f = &g->files[o.from + i];
            cr_pq_file *x = o.open[i];
            if (diag->n_errors - errors > CR_PQG_ERRORS) {
                cr_pq_close(x);
                continue;
            }
            if (!x) {
                const cr_err *e = &o.errs[i];
                cr_pqg_not_opened(e, e->code == CR_EDATA && e->why == CR_PQ_FOREIGN, diag);
                continue;
            }
            const cr_pq_meta *m = cr_pq_get_meta(x);
            f->schema =
                cr_pqs_wants_look(&g->w, f->path, m, before ? cr_pq_get_meta(before) : NULL, diag);
            if (diag->n_errors == errors) measure(s, f, x, diag);
            if (!kept) cr_pq_close(before);
            before = x;
            kept = cr_pqg_keep(g, f, x);
        }
    }
    if (!kept) cr_pq_close(before);
    cr_free(o.errs);
}

static void pq_close(cr_source *s) {
    if (!s) return;
    cr_pqg_clear(&s->g);
    cr_free(s);
}

static cr_code pq_open(cr_source **out, const cr_data_conf *conf, const char *paths,
                       const cr_want *want, int n_want, cr_diag *diag) {
    *out = NULL;
    size_t errors = diag->n_errors;
    cr_source *s = cr_alloc(sizeof(*s), "a data set");
    cr_pqg_init(&s->g, &files);
    cr_pqs_wants_init(&s->g.w, conf, want, n_want, &s->g.arena);
    cr_pqg_list(&s->g, conf, paths, exts, diag);
    open_files(s, diag);
    cr_code code = cr_pqg_end(&s->g, errors, diag);
    if (code == CR_OK)
        *out = s;
    else
        pq_close(s);
    return code;
}

/* ---- cut and parse ---- */

static void leave(const cr_source *s, hand *h) {
    if (!h->f) return;
    for (int i = 0; i < s->g.w.n_slots; i++)
        if (h->cursors[i]) cr_pq_cursor_reset(h->cursors[i]);
    cr_pqg_leave((cr_pqg *)(uintptr_t)&s->g, h->file);
    h->f = NULL;
    h->file = h->group = -1;
}

/* Tells a store that is far which bytes come next: the whole stretch of a block, because a request
 * for one block's part of a column would be small. Files of such stores stay open. */
static void pq_will_need(cr_source *s, int64_t file, int64_t block) {
    const cr_pqg_file *f = &s->g.files[file];
    if (!f->far || !f->open) return;
    cr_pqg_group *g = cr_pqg_of(f, block);
    int64_t b = block - g->first_block, run = cr_pqg_run(g), at = b * g->block_rows;
    int64_t end = (b - b % run + run) * g->block_rows;
    if (end > g->n_rows) end = g->n_rows;
    pthread_mutex_lock(&s->g.lock);
    bool known = at >= g->hint_from && at < g->hint_to;
    if (!known) {
        g->hint_from = at;
        g->hint_to = end;
    }
    pthread_mutex_unlock(&s->g.lock);
    if (!known) cr_pq_will_need(f->open, g->number, f->schema->leaf, f->schema->n_slots, at, end);
}

static hand *new_hand(const cr_source *s) {
    size_t n = (size_t)s->g.w.n_slots + 1;
    hand *h = cr_alloc(sizeof(*h), "a reader of columns");
    h->cursors = cr_alloc(n * sizeof(*h->cursors), "readers of columns");
    h->vecs = cr_alloc(n * sizeof(*h->vecs), "readers of columns");
    h->memos = cr_alloc(n * sizeof(*h->memos), "readers of columns");
    h->file = h->group = -1;
    return h;
}

static void pq_raw_clear(const cr_source *s, cr_raw *raw) {
    hand *h = raw->priv;
    if (!h) return;
    leave(s, h);
    for (int i = 0; i < s->g.w.n_slots; i++) {
        cr_pq_cursor_free(h->cursors[i]);
        cr_memo_clear(&h->memos[i]);
    }
    cr_free(h->cursors);
    cr_free(h->vecs);
    cr_free(h->memos);
    cr_free(h);
    raw->priv = NULL;
}

static cr_code pq_cut(cr_source *s, int64_t file, int64_t block, cr_raw *raw, bool *end,
                      cr_err *err) {
    const cr_pqg_file *f = &s->g.files[file];
    *end = block >= f->n_blocks;
    if (*end) return CR_OK;
    if (!raw->priv) raw->priv = new_hand(s);
    hand *h = raw->priv;
    const cr_pqg_group *g = cr_pqg_of(f, block);
    int64_t b = block - g->first_block, at = b * g->block_rows;
    bool back = at + raw->from < h->group_row;
    bool begin = h->file != file || h->group != g->number || back || at >= h->ahead;
    if (h->file != file) {
        leave(s, h);
        CR_TRY(cr_pqg_take(&s->g, file, &h->f, err));
        h->file = file;
    }
    CR_TRY(cr_file_id_check(&f->id, cr_pq_fs(h->f), err));
    if (begin) {
        h->ahead = at + cr_pqg_run(g) * g->block_rows;
        if (h->ahead > g->n_rows) h->ahead = g->n_rows;
        cr_pq_will_need(h->f, g->number, f->schema->leaf, f->schema->n_slots, at, h->ahead);
    }
    if (h->group != g->number) { /* another row group has other dictionaries */
        for (int i = 0; i < s->g.w.n_slots; i++)
            cr_memo_reset(&h->memos[i]);
        h->group = g->number;
    }
    h->group_row = at + raw->from;
    cr_pqg_cut(g, file, block, h->group_row, raw);
    return CR_OK;
}

static cr_code read_slot(const hand *h, const cr_raw *raw, const cr_pqs_schema *x, int i,
                         cr_err *err) {
    cr_pq_cursor **c = &h->cursors[i];
    if (!*c) *c = cr_pq_cursor_new();
    CR_TRY(cr_pq_seek(*c, h->f, h->group, x->leaf[i], h->group_row, err));
    CR_TRY(cr_pq_read(*c, raw->n_rows, CR_PQ_READ_DICT | (x->keep[i] ? CR_PQ_READ_LEVELS : 0),
                      &h->vecs[i], err));
    if (h->vecs[i].n_rows == raw->n_rows) return CR_OK;
    return cr_fail_at(err, CR_EDATA, ((cr_loc){cr_pq_path(h->f), 0, 0}),
                      "row group %d ends before its %lld rows", h->group,
                      (long long)(h->group_row + raw->n_rows));
}

static cr_code pq_parse(const cr_source *s, const cr_raw *raw, cr_chunk *chunk, cr_bad *bad,
                        cr_err *err) {
    const cr_pqg_file *f = &s->g.files[raw->file];
    hand *h = raw->priv;
    cr_pqg_chunk(&s->g, raw, chunk);
    for (int i = 0; i < f->schema->n_slots; i++)
        CR_TRY(read_slot(h, raw, f->schema, i, err));
    return cr_pqs_chunk(&s->g.w, f->schema, f->path, h->vecs, h->memos, chunk, bad, err);
}

const cr_reader_type cr_reader_parquet = {
    .name = "ParquetDataset",
    .exts = exts,
    .open = pq_open,
    .close = pq_close,
    .n_files = cr_pqg_n_files,
    .path = cr_pqg_path,
    .file_id = cr_pqg_file_id,
    .n_blocks = cr_pqg_n_blocks,
    .cut = pq_cut,
    .will_need = pq_will_need,
    .parse = pq_parse,
    .set_block = cr_pqg_set_block,
    .columns = cr_pqg_columns,
    .block_rows = cr_pqg_block_rows,
    .hands = cr_pqg_hands,
    .hand_bytes = cr_pqg_hand_bytes,
    .raw_clear = pq_raw_clear,
    .kinds = cr_pqg_kinds,
    .typed = true,
};
