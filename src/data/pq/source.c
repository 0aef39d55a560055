/*
 * source.c - ParquetDataset: files and blocks of rows.
 *
 * Opening reads the footer of every file (several at once) and looks for every wanted column in
 * each: a column that is missing or of another type in file 700 of 1000 is found before the first
 * step. Files with the same schema as the one before share what was found. With many files only
 * some stay open; a footer is read again when its file's turn comes.
 *
 * A block is a range of rows of one row group, of about BLOCK bytes as columns; where blocks begin
 * depends on the file and the wanted columns alone. `cut` chooses the rows and asks the system to
 * read ahead; `parse` moves one cursor per column. Both belong to a hand, which keeps its cursors
 * and what was made of dictionaries.
 */
#include "data/pq/pq_int.h"

#include <pthread.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "data/files.h"
#include "data/open_many.h"

/* The vectors and the encoded rows of a block stay in a second-level cache. */
#define BLOCK      ((size_t)512 << 10)
#define BLOCK_ROWS 16384
/* One hand reads a stretch of blocks. Longer stretches decompress fewer pages twice; shorter ones
 * mix better, and fewer rows wait in memory. */
#define RUN_ROWS     131072
#define RUN_MIN_ROWS 32768
#define RUN_BYTES    ((size_t)32 << 20)
#define MAX_HANDS    8
#define HANDS_BYTES  ((size_t)256 << 20)
#define PAGE_BYTES   1048576.0 /* the size that writers aim at */
#define WINDOW_BYTES 1048576.0 /* bytes that a cursor reads at a time, unless a page is larger */
#define MAX_BLOCKS   ((int64_t)1 << 25) /* most blocks of a file */
#define MAX_OPEN     64
#define MAX_ERRORS   20 /* after so many, other files are not looked at */

typedef struct group {
    int number;     /* in the file */
    int64_t n_rows; /* at least one */
    int64_t first_row, first_block;
    int64_t block_rows;
    /* Sizes of the wanted columns; a footer may claim any. */
    double bytes;               /* in the file */
    double decoded;             /* as columns */
    double held;                /* in the cursors of a hand */
    int64_t hint_from, hint_to; /* rows that were asked for ahead */
} group;

typedef struct pq_file {
    const char *path;
    const cr_pqs_schema *schema; /* where the wanted columns are */
    group *groups;
    int n_groups;
    int64_t n_rows, n_blocks;
    cr_file_id id;
    cr_pq_file *open;
    bool far;     /* it lies on a store that is far, so it stays open */
    int users;    /* hands that use it */
    int64_t last; /* when it was last taken */
} pq_file;

struct cr_source {
    cr_pqs_wants w;
    pq_file *files;
    int64_t n_files, n_rows;
    size_t block;
    int64_t run_rows; /* rows of a stretch, with a shuffle */
    int n_hands;
    size_t hand_bytes;
    double looked; /* size of the largest row group whose pages were looked at */
    double large;  /* what a hand holds more where pages are larger than usual */
    cr_arena arena;

    pthread_mutex_t lock; /* guards the list of open files */
    int n_open;
    int64_t clock;
};

/* What a hand keeps from block to block. */
typedef struct hand {
    int64_t file; /* -1: none */
    cr_pq_file *f;
    int group;
    cr_pq_cursor **cursors; /* per slot of the file's schema; NULL: not made */
    cr_pq_vec *vecs;
    cr_memo *memos;
    int64_t group_row; /* the first wanted row, counted in the row group */
    int64_t ahead;     /* the system was asked to read up to this row */
} hand;

static void add_error(cr_diag *diag, const cr_err *e) {
    cr_diag_add(diag, CR_SEV_ERROR, e->code, e->at, "%s", e->msg);
}

/* ---- rows and blocks ---- */

static void too_many(const pq_file *f, int64_t n_rows, cr_diag *diag) {
    cr_diag_add(diag, CR_SEV_ERROR, CR_EDATA, (cr_loc){f->path, 0, 0},
                "it has %lld rows by its footer, which is more than a file can hold; it is damaged",
                (long long)n_rows);
}

/* look_at_pages reads the sizes of pages, which stand in front of each page and not in the footer.
 * The first pages of the columns of a large row group speak for the rest. */
static void look_at_pages(cr_source *s, const pq_file *f, const cr_pq_file *x, int number) {
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
    if (large > s->large) s->large = large;
}

/* measure lists the row groups with the sizes of their wanted columns. */
static void measure(cr_source *s, pq_file *f, const cr_pq_file *x, cr_diag *diag) {
    const cr_pq_meta *m = cr_pq_get_meta(x);
    double largest = 0;
    int large = -1;
    f->groups = CR_NEW_N(&s->arena, group, m->n_groups + 1);
    cr_err e;
    if (cr_file_id_read(&f->id, cr_pq_fs(x), &e) != CR_OK) {
        add_error(diag, &e);
        return;
    }
    if (m->n_rows > MAX_BLOCKS * BLOCK_ROWS) { /* sums of rows must not wrap around */
        too_many(f, m->n_rows, diag);
        return;
    }
    bool fine = true;
    for (int g = 0; g < m->n_groups && fine; g++) {
        const cr_pq_group *from = &m->groups[g];
        if (from->n_rows <= 0) continue;
        group *to = &f->groups[f->n_groups++];
        *to = (group){.number = g, .n_rows = from->n_rows, .first_row = f->n_rows, .decoded = 1};
        f->n_rows += from->n_rows;
        double raw_all = 0;
        for (int k = 0; k < f->schema->n_slots; k++) {
            int leaf = f->schema->leaf[k];
            const cr_pq_chunk *c = &from->chunks[leaf];
            const cr_pq_node *node = &m->nodes[m->leaves[leaf]];
            double raw = (double)c->raw_size, size = (double)c->size;
            to->bytes += size;
            raw_all += raw;
            to->decoded += (double)c->n_values * cr_pqs_width(m, leaf);
            if (node->type == CR_PQ_BYTES) to->decoded += raw;
            to->held += 1.25 * (size < WINDOW_BYTES ? size : WINDOW_BYTES) +
                        2 * (raw < PAGE_BYTES ? raw : PAGE_BYTES);
            if (node->max_rep > 0 || c->n_values == from->n_rows) continue;
            cr_diag_add(diag, CR_SEV_ERROR, CR_EDATA, (cr_loc){f->path, 0, 0},
                        "column '%.100s', row group %d: it has %lld values, the row group %lld "
                        "rows; the file is damaged",
                        node->path, g, (long long)c->n_values, (long long)from->n_rows);
            fine = false;
            break;
        }
        if (raw_all > largest) {
            largest = raw_all;
            large = g;
        }
    }
    /* Each look is at a larger row group than the one before, so there are few however many files
     * there are. */
    if (fine && large >= 0 && largest > 1.25 * s->looked) {
        s->looked = largest;
        look_at_pages(s, f, x, large);
    }
}

/* cut_blocks decides where blocks begin, and how many of them are a stretch. */
static void cut_blocks(cr_source *s) {
    double held = 0;
    s->n_rows = 0;
    for (int64_t i = 0; i < s->n_files; i++) {
        pq_file *f = &s->files[i];
        f->n_blocks = 0;
        s->n_rows += f->n_rows;
        for (int k = 0; k < f->n_groups; k++) {
            group *g = &f->groups[k];
            double row = g->decoded / (double)g->n_rows;
            double n = (double)s->block / row;
            g->block_rows = n < 1 ? 1 : n > BLOCK_ROWS ? BLOCK_ROWS : (int64_t)n;
            if (g->block_rows > 256) g->block_rows -= g->block_rows % 256;
            g->first_block = f->n_blocks;
            f->n_blocks += (g->n_rows + g->block_rows - 1) / g->block_rows;
            if (g->held > held) held = g->held;
        }
    }
    s->run_rows = s->n_rows / (2 * MAX_HANDS);
    if (s->run_rows < RUN_MIN_ROWS) s->run_rows = RUN_MIN_ROWS;
    if (s->run_rows > RUN_ROWS) s->run_rows = RUN_ROWS;
    held += s->large;
    s->hand_bytes = (held < 1e15 ? (size_t)held : (size_t)1e15) + s->block;
    size_t n = HANDS_BYTES / s->hand_bytes;
    s->n_hands = n < 2 ? 2 : n > MAX_HANDS ? MAX_HANDS : (int)n;
}

static const group *group_of(const pq_file *f, int64_t block) {
    int a = 0, z = f->n_groups;
    while (z - a > 1) {
        int m = (a + z) / 2;
        if (f->groups[m].first_block <= block)
            a = m;
        else
            z = m;
    }
    return &f->groups[a];
}

/* Returns the blocks of a stretch: a row group is cut into even ones of about `rows` rows. */
static int64_t run_blocks(const group *g, int64_t rows) {
    double most = (double)RUN_BYTES / (g->decoded / (double)g->n_rows);
    if (most < (double)rows) rows = most < 1 ? 1 : (int64_t)most;
    int64_t n = (g->n_rows + g->block_rows - 1) / g->block_rows;
    int64_t parts = (g->n_rows + rows / 2) / rows;
    return parts <= 1 ? n : (n + parts - 1) / parts;
}

static void pq_block_rows(const cr_source *s, int64_t file, int64_t block, cr_block_rows *out) {
    const pq_file *f = &s->files[file];
    const group *g = group_of(f, block);
    int64_t b = block - g->first_block, at = b * g->block_rows, left = g->n_rows - at;
    int64_t of_group = (left + g->block_rows - 1) / g->block_rows;
    int64_t run = run_blocks(g, RUN_ROWS), mixed = run_blocks(g, s->run_rows);
    *out = (cr_block_rows){.first_row = g->first_row + at,
                           .n_rows = left < g->block_rows ? left : g->block_rows,
                           .stretch = run - b % run,
                           .stretch_shuffled = mixed - b % mixed};
    if (out->stretch > of_group) out->stretch = of_group;
    if (out->stretch_shuffled > of_group) out->stretch_shuffled = of_group;
}

/* ---- opening ---- */

static const char *const exts[] = {".parquet", ".parq", ".pq", NULL};

typedef struct opening {
    char *const *paths;
    cr_pq_file **files;
    cr_err *errs;
    int64_t from, n; /* paths [from, from + n) */
} opening;

static void open_nth(void *ctx, int64_t i) {
    opening *o = ctx;
    o->errs[i].code = CR_OK;
    if (cr_pq_open(&o->files[i], o->paths[o->from + i], NULL, &o->errs[i]) != CR_OK)
        o->files[i] = NULL;
}

static void not_opened(const cr_err *e, cr_diag *diag) {
    bool foreign = e->code == CR_EDATA && e->why == CR_PQ_FOREIGN;
    cr_diag_add(diag, CR_SEV_ERROR, e->code, e->at, "%s%s", e->msg,
                foreign ? "; leave it out, or set data_config.dataset_type to what it is" : "");
}

static void open_files(cr_source *s, char **paths, cr_diag *diag) {
    size_t errors = diag->n_errors;
    opening o = {.paths = paths,
                 .files = CR_NEW_N(&s->arena, cr_pq_file *, MAX_OPEN + 1),
                 .errs = cr_alloc(MAX_OPEN * sizeof(cr_err), "files")};
    cr_pq_file *before = NULL; /* the file before this one stays open for its schema */
    bool keep = s->n_files <= MAX_OPEN, kept = true;
    for (o.from = 0; o.from < s->n_files && diag->n_errors - errors <= MAX_ERRORS; o.from += o.n) {
        o.n = s->n_files - o.from < MAX_OPEN ? s->n_files - o.from : MAX_OPEN;
        cr_open_many(paths[o.from], o.n, open_nth, &o);
        for (int64_t i = 0; i < o.n; i++) {
            pq_file *f = &s->files[o.from + i];
            cr_pq_file *x = o.files[i];
            f->path = paths[o.from + i];
            if (diag->n_errors - errors > MAX_ERRORS) {
                cr_pq_close(x);
                continue;
            }
            if (!x) {
                not_opened(&o.errs[i], diag);
                continue;
            }
            const cr_pq_meta *m = cr_pq_get_meta(x);
            f->schema =
                cr_pqs_wants_look(&s->w, f->path, m, before ? cr_pq_get_meta(before) : NULL, diag);
            if (diag->n_errors == errors) measure(s, f, x, diag);
            f->far = cr_fs_is_far(cr_pq_fs(x));
            if (!kept) cr_pq_close(before);
            before = x;
            kept = keep || f->far;
            if (kept) {
                f->open = x;
                s->n_open += !f->far;
            }
        }
    }
    if (!kept) cr_pq_close(before);
    cr_free(o.errs);
}

static void pq_close(cr_source *s) {
    if (!s) return;
    for (int64_t i = 0; i < s->n_files; i++)
        cr_pq_close(s->files[i].open);
    pthread_mutex_destroy(&s->lock);
    cr_arena_clear(&s->arena);
    cr_free(s);
}

static cr_code pq_open(cr_source **out, const cr_data_conf *conf, const char *paths,
                       const cr_want *want, int n_want, cr_diag *diag) {
    *out = NULL;
    size_t errors = diag->n_errors;
    cr_source *s = cr_alloc(sizeof(*s), "a data set");
    cr_arena_init(&s->arena, 0);
    pthread_mutex_init(&s->lock, NULL);
    s->block = BLOCK;
    cr_err e = {0};
    char **list = NULL;
    size_t n = 0;
    cr_pqs_wants_init(&s->w, conf, want, n_want, &s->arena);
    if (cr_data_files(conf, &s->arena, paths, exts, &list, &n, &e) != CR_OK) add_error(diag, &e);
    s->files = CR_NEW_N(&s->arena, pq_file, n + 1);
    s->n_files = (int64_t)n;
    open_files(s, list, diag);
    if (diag->n_errors > errors) {
        pq_close(s);
        return cr_diag_code(diag);
    }
    cr_pqs_wants_end(&s->w);
    cut_blocks(s);
    for (int64_t i = 0; i < s->n_files; i++) {
        if (s->files[i].n_blocks <= MAX_BLOCKS) continue;
        too_many(&s->files[i], s->files[i].n_rows, diag);
        pq_close(s);
        return CR_EDATA;
    }
    *out = s;
    return CR_OK;
}

/* ---- open files ---- */

static void drop_oldest(cr_source *s) {
    pq_file *old = NULL;
    for (int64_t i = 0; i < s->n_files; i++) {
        pq_file *f = &s->files[i];
        if (f->open && !f->far && f->users == 0 && (!old || f->last < old->last)) old = f;
    }
    if (!old) return; /* all are in use: each hand has one */
    cr_pq_close(old->open);
    old->open = NULL;
    s->n_open--;
}

static cr_code open_again(pq_file *f, cr_err *err) {
    cr_pq_file *x;
    CR_TRY(cr_pq_open(&x, f->path, NULL, err));
    cr_code code = cr_file_id_check(&f->id, cr_pq_fs(x), err);
    if (code == CR_OK)
        f->open = x;
    else
        cr_pq_close(x);
    return code;
}

static cr_code take(cr_source *s, int64_t file, cr_pq_file **out, cr_err *err) {
    pq_file *f = &s->files[file];
    cr_code code = CR_OK;
    pthread_mutex_lock(&s->lock);
    if (!f->open) {
        if (s->n_open >= MAX_OPEN) drop_oldest(s);
        code = open_again(f, err);
        if (code == CR_OK) s->n_open++;
    }
    if (code == CR_OK) {
        f->users++;
        f->last = ++s->clock;
        *out = f->open;
    }
    pthread_mutex_unlock(&s->lock);
    return code;
}

static void leave(const cr_source *s, hand *h) {
    if (!h->f) return;
    for (int i = 0; i < s->w.n_slots; i++)
        if (h->cursors[i]) cr_pq_cursor_reset(h->cursors[i]);
    cr_source *m = (cr_source *)(uintptr_t)s;
    pthread_mutex_lock(&m->lock);
    m->files[h->file].users--;
    pthread_mutex_unlock(&m->lock);
    h->f = NULL;
    h->file = h->group = -1;
}

/* ---- cut and parse ---- */

/* Tells a store that is far which bytes come next: the whole stretch of a block, because a request
 * for one block's part of a column would be small. Files of such stores stay open. */
static void pq_will_need(cr_source *s, int64_t file, int64_t block) {
    const pq_file *f = &s->files[file];
    if (!f->far || !f->open) return;
    group *g = (group *)(uintptr_t)group_of(f, block);
    int64_t b = block - g->first_block, run = run_blocks(g, RUN_ROWS), at = b * g->block_rows;
    int64_t end = (b - b % run + run) * g->block_rows;
    if (end > g->n_rows) end = g->n_rows;
    pthread_mutex_lock(&s->lock);
    bool known = at >= g->hint_from && at < g->hint_to;
    if (!known) {
        g->hint_from = at;
        g->hint_to = end;
    }
    pthread_mutex_unlock(&s->lock);
    if (!known) cr_pq_will_need(f->open, g->number, f->schema->leaf, f->schema->n_slots, at, end);
}

static hand *new_hand(const cr_source *s) {
    size_t n = (size_t)s->w.n_slots + 1;
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
    for (int i = 0; i < s->w.n_slots; i++) {
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
    const pq_file *f = &s->files[file];
    *end = block >= f->n_blocks;
    if (*end) return CR_OK;
    if (!raw->priv) raw->priv = new_hand(s);
    hand *h = raw->priv;
    const group *g = group_of(f, block);
    int64_t b = block - g->first_block, at = b * g->block_rows;
    bool back = at + raw->from < h->group_row;
    bool begin = h->file != file || h->group != g->number || back || at >= h->ahead;
    if (h->file != file) {
        leave(s, h);
        CR_TRY(take(s, file, &h->f, err));
        h->file = file;
    }
    CR_TRY(cr_file_id_check(&f->id, cr_pq_fs(h->f), err));
    if (begin) {
        h->ahead = at + run_blocks(g, RUN_ROWS) * g->block_rows;
        if (h->ahead > g->n_rows) h->ahead = g->n_rows;
        cr_pq_will_need(h->f, g->number, f->schema->leaf, f->schema->n_slots, at, h->ahead);
    }
    if (h->group != g->number) { /* another row group has other dictionaries */
        for (int i = 0; i < s->w.n_slots; i++)
            cr_memo_reset(&h->memos[i]);
        h->group = g->number;
    }
    h->group_row = at + raw->from;
    raw->file = file;
    raw->block = block;
    raw->first_row = g->first_row + h->group_row;
    raw->first_line = 0;
    raw->offset = -1;
    raw->size = (size_t)(g->bytes * (double)raw->n_rows / (double)g->n_rows);
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
    cr_arena_reset(&chunk->arena);
    const pq_file *f = &s->files[raw->file];
    hand *h = raw->priv;
    chunk->n_rows = raw->n_rows;
    chunk->n_cols = s->w.n;
    chunk->path = f->path;
    chunk->first_row = raw->first_row;
    chunk->lines = NULL;
    for (int i = 0; i < f->schema->n_slots; i++)
        CR_TRY(read_slot(h, raw, f->schema, i, err));
    return cr_pqs_chunk(&s->w, f->schema, f->path, h->vecs, h->memos, chunk, bad, err);
}

/* ---- the reader ---- */

static int64_t pq_n_files(const cr_source *s) {
    return s->n_files;
}

static const char *pq_path(const cr_source *s, int64_t file) {
    return s->files[file].path;
}

static const cr_file_id *pq_file_id(const cr_source *s, int64_t file) {
    return &s->files[file].id;
}

static cr_code pq_n_blocks(cr_source *s, int64_t file, int64_t *out, cr_err *err) {
    (void)err;
    *out = s->files[file].n_blocks;
    return CR_OK;
}

static void pq_set_block(cr_source *s, size_t bytes) {
    s->block = bytes > 0 ? bytes : BLOCK;
    cut_blocks(s);
}

static int pq_columns(const cr_source *s, const char *const **out) {
    *out = s->w.names;
    return s->w.n_names;
}

static int pq_hands(const cr_source *s) {
    return s->n_hands;
}

static size_t pq_hand_bytes(const cr_source *s) {
    return s->hand_bytes;
}

static void pq_kinds(const cr_source *s, cr_colkind *out) {
    cr_pqs_kinds(&s->w, out);
}

const cr_reader_type cr_reader_parquet = {
    .name = "ParquetDataset",
    .exts = exts,
    .open = pq_open,
    .close = pq_close,
    .n_files = pq_n_files,
    .path = pq_path,
    .file_id = pq_file_id,
    .n_blocks = pq_n_blocks,
    .cut = pq_cut,
    .will_need = pq_will_need,
    .parse = pq_parse,
    .set_block = pq_set_block,
    .columns = pq_columns,
    .block_rows = pq_block_rows,
    .hands = pq_hands,
    .hand_bytes = pq_hand_bytes,
    .raw_clear = pq_raw_clear,
    .kinds = pq_kinds,
    .typed = true,
};
