/*
 * source.c - ArrowDataset: Arrow files and streams, blocks of their rows.
 *
 * What finds, checks and converts the wanted columns is that of the Parquet reader (pq/want.c,
 * pq/columns.c); this file gives it schemas and vectors. Opening looks at every file. A block is a
 * range of rows of one record batch, of about BLOCK bytes as columns; where blocks begin depends on
 * the file and the wanted columns alone. A batch whose buffers lie plainly in a mapped file costs
 * nothing to load, so its blocks may be read in any order; a compressed batch, or one of a store,
 * is loaded whole by the hand that comes to it, so one hand reads all its blocks.
 */
#include <pthread.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "data/arrow/vec.h"
#include "data/files.h"
#include "data/pq/pq_int.h"

#define BLOCK        ((size_t)512 << 10)
#define BLOCK_ROWS   16384
#define RUN_ROWS     131072 /* rows that one hand reads in turn */
#define RUN_MIN_ROWS 32768
#define MAX_HANDS    8
#define HANDS_BYTES  ((size_t)256 << 20)
#define MAX_BLOCKS   ((int64_t)1 << 25) /* most blocks of a file */
#define MAX_OPEN     64
#define MAX_ERRORS   20 /* after so many, other files are not looked at */

typedef struct group {
    int number; /* of the batch */
    int64_t n_rows, first_row, first_block, block_rows;
    double bytes, plain; /* of the wanted columns: in the file, in memory */
    bool whole;          /* it is loaded as a whole */
    bool asked;          /* its bytes were asked for ahead */
} group;

typedef struct ar_file {
    const char *path;
    const cr_pqs_schema *schema;
    cr_arrow_shape shape;
    bool *wanted; /* per field of its schema */
    group *groups;
    int n_groups;
    int64_t n_rows, n_blocks;
    cr_file_id id;
    cr_arrow_file *open;
    bool far;
    int users;
    int64_t last;
} ar_file;

struct cr_source {
    cr_pqs_wants w;
    cr_want *want; /* ours: every column as values */
    ar_file *files;
    int64_t n_files, n_rows;
    size_t block;
    int64_t run_rows;
    int n_hands;
    size_t hand_bytes;
    cr_arena arena;

    pthread_mutex_t lock; /* guards the list of open files */
    int n_open;
    int64_t clock;
};

/* What a hand keeps from block to block. */
typedef struct hand {
    int64_t file; /* -1: none */
    cr_arrow_file *f;
    int group; /* the batch that is loaded; -1: none */
    cr_arrow_batch batch;
    int64_t row; /* the first wanted row of the batch */
    cr_pq_vec *vecs;
    /* per slot: the entries of its dictionary, and what was made of them */
    cr_pq_vec *entries;
    int64_t *versions; /* -1: none */
    cr_arena *dicts;
    cr_memo *memos;
} hand;

static void add_error(cr_diag *diag, const cr_err *e) {
    cr_diag_add(diag, CR_SEV_ERROR, e->code, e->at, "%s", e->msg);
}

/* ---- rows and blocks ---- */

static void too_many(const ar_file *f, cr_diag *diag) {
    cr_diag_add(diag, CR_SEV_ERROR, CR_EDATA, (cr_loc){f->path, 0, 0},
                "its batches claim more rows than a file can hold; it is damaged");
}

/* Lists the batches of a file with the sizes of their wanted columns. */
static void measure(cr_source *s, ar_file *f, const cr_arrow_file *x, cr_diag *diag) {
    cr_err e;
    int n = cr_arrow_n_batches(x);
    f->groups = CR_NEW_N(&s->arena, group, n + 1);
    if (cr_file_id_read(&f->id, cr_arrow_fs(x), &e) != CR_OK) {
        add_error(diag, &e);
        return;
    }
    for (int i = 0; i < n; i++) {
        int64_t rows = cr_arrow_batch_rows(x, i);
        cr_arrow_size size;
        if (rows == 0) continue;
        if (rows > MAX_BLOCKS * BLOCK_ROWS - f->n_rows) {
            too_many(f, diag);
            return;
        }
        if (cr_arrow_measure(x, i, f->wanted, &size, &e) != CR_OK) {
            add_error(diag, &e);
            return;
        }
        f->groups[f->n_groups++] = (group){.number = i,
                                           .n_rows = rows,
                                           .first_row = f->n_rows,
                                           .bytes = size.bytes,
                                           .plain = size.plain + 1,
                                           .whole = size.compressed || f->far};
        f->n_rows += rows;
    }
}

static void cut_blocks(cr_source *s) {
    double held = 0;
    s->n_rows = 0;
    for (int64_t i = 0; i < s->n_files; i++) {
        ar_file *f = &s->files[i];
        f->n_blocks = 0;
        s->n_rows += f->n_rows;
        for (int k = 0; k < f->n_groups; k++) {
            group *g = &f->groups[k];
            double n = (double)s->block / (g->plain / (double)g->n_rows);
            g->block_rows = n < 1 ? 1 : n > BLOCK_ROWS ? BLOCK_ROWS : (int64_t)n;
            if (g->block_rows > 256) g->block_rows -= g->block_rows % 256;
            g->first_block = f->n_blocks;
            f->n_blocks += (g->n_rows + g->block_rows - 1) / g->block_rows;
            if (g->whole && g->plain > held) held = g->plain;
        }
    }
    s->run_rows = s->n_rows / (2 * MAX_HANDS);
    if (s->run_rows < RUN_MIN_ROWS) s->run_rows = RUN_MIN_ROWS;
    if (s->run_rows > RUN_ROWS) s->run_rows = RUN_ROWS;
    s->hand_bytes = (held < 1e15 ? (size_t)held : (size_t)1e15) + s->block;
    size_t n = HANDS_BYTES / s->hand_bytes;
    s->n_hands = n < 2 ? 2 : n > MAX_HANDS ? MAX_HANDS : (int)n;
}

static group *group_of(const ar_file *f, int64_t block) {
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

/* The blocks of a stretch: a batch is cut into even ones of about `rows` rows. */
static int64_t run_blocks(const group *g, int64_t rows) {
    int64_t n = (g->n_rows + g->block_rows - 1) / g->block_rows;
    int64_t parts = g->whole ? 1 : (g->n_rows + rows / 2) / rows;
    return parts <= 1 ? n : (n + parts - 1) / parts;
}

static void ar_block_rows(const cr_source *s, int64_t file, int64_t block, cr_block_rows *out) {
    const group *g = group_of(&s->files[file], block);
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

static const char *const exts[] = {".arrow", ".feather", ".arrows", ".ipc", NULL};

/* Columns of types that crank cannot read are errors when they are wanted. */
static bool check_types(const cr_source *s, const ar_file *f, const cr_arrow_schema *schema,
                        cr_diag *diag) {
    bool fine = true;
    for (int i = 0; i < s->w.n; i++) {
        const cr_want *x = &s->want[i];
        int node = cr_pq_find(&f->shape.meta, x->name);
        int field = node < 0 ? -1 : f->shape.field[node];
        int bad = field < 0 ? -1 : cr_arrow_unreadable(schema, field);
        if (bad < 0) continue;
        char type[200];
        cr_arrow_type_text(schema, bad, type, sizeof type);
        cr_diag_add(diag, CR_SEV_ERROR, CR_EDATA, x->at.path ? x->at : (cr_loc){f->path, 0, 0},
                    "column '%s', which %s needs, has the type %s in %s, which is not read; write "
                    "it as a number, text, a list or a map",
                    x->name, x->why ? x->why : "the config", type, f->path);
        fine = false;
    }
    return fine;
}

/* Marks the fields of a file that the wanted columns need. */
static void mark_wanted(cr_source *s, ar_file *f, const cr_arrow_schema *schema) {
    f->wanted = CR_NEW_N(&s->arena, bool, schema->n + 1);
    for (int i = 0; i < f->schema->n_slots; i++)
        cr_arrow_want(schema, f->shape.field[f->shape.meta.leaves[f->schema->leaf[i]]], f->wanted);
}

static void not_opened(const cr_err *e, cr_diag *diag) {
    bool foreign = e->code == CR_EDATA && e->why == CR_ARROW_FOREIGN;
    cr_diag_add(diag, CR_SEV_ERROR, e->code, e->at, "%s%s", e->msg,
                foreign ? "; leave it out, or set data_config.dataset_type to what it is" : "");
}

static void look_at(cr_source *s, ar_file *f, cr_arrow_file *x, const ar_file *before,
                    size_t errors, cr_diag *diag) {
    const cr_arrow_schema *schema = cr_arrow_get_schema(x);
    cr_arrow_schema *own = CR_NEW(&s->arena, cr_arrow_schema);
    cr_err e;
    /* names live as long as the file is open, and it may be opened again */
    *own = *schema;
    own->v = CR_NEW_N(&s->arena, cr_arrow_field, schema->n + 1);
    for (int i = 0; i < schema->n; i++) {
        own->v[i] = schema->v[i];
        own->v[i].name = cr_arena_strdup(&s->arena, schema->v[i].name);
    }
    if (cr_arrow_shape_of(own, &s->arena, &f->shape, &e) != CR_OK) {
        cr_diag_add(diag, CR_SEV_ERROR, e.code, (cr_loc){f->path, 0, 0}, "%s", e.msg);
        return;
    }
    if (!check_types(s, f, own, diag)) return;
    f->schema = cr_pqs_wants_look(&s->w, f->path, &f->shape.meta,
                                  before ? &before->shape.meta : NULL, diag);
    if (diag->n_errors > errors) return;
    mark_wanted(s, f, own);
    measure(s, f, x, diag);
}

static void open_files(cr_source *s, char **paths, cr_diag *diag) {
    size_t errors = diag->n_errors;
    const ar_file *before = NULL;
    bool keep = s->n_files <= MAX_OPEN;
    for (int64_t i = 0; i < s->n_files && diag->n_errors - errors <= MAX_ERRORS; i++) {
        ar_file *f = &s->files[i];
        cr_arrow_file *x;
        cr_err e = {0};
        f->path = paths[i];
        if (cr_arrow_open(&x, f->path, NULL, &e) != CR_OK) {
            not_opened(&e, diag);
            continue;
        }
        f->far = cr_fs_is_far(cr_arrow_fs(x));
        look_at(s, f, x, before, errors, diag);
        if (f->schema) before = f;
        if (keep || f->far) {
            f->open = x;
            s->n_open += !f->far;
        } else {
            cr_arrow_close(x);
        }
    }
}

static void ar_close(cr_source *s) {
    if (!s) return;
    for (int64_t i = 0; i < s->n_files; i++)
        cr_arrow_close(s->files[i].open);
    pthread_mutex_destroy(&s->lock);
    cr_arena_clear(&s->arena);
    cr_free(s);
}

static cr_code ar_open(cr_source **out, const cr_data_conf *conf, const char *paths,
                       const cr_want *want, int n_want, cr_diag *diag) {
    *out = NULL;
    size_t errors = diag->n_errors;
    cr_source *s = cr_alloc(sizeof(*s), "a data set");
    cr_arena_init(&s->arena, 0);
    pthread_mutex_init(&s->lock, NULL);
    s->block = BLOCK;
    s->want = CR_NEW_N(&s->arena, cr_want, n_want + 1);
    for (int i = 0; i < n_want; i++) {
        s->want[i] = want[i];
        s->want[i].form = CR_WANT_VALUES;
    }
    cr_pqs_wants_init(&s->w, conf, s->want, n_want, &s->arena);
    s->w.otherwise = "name one of its columns";
    cr_err e = {0};
    char **list = NULL;
    size_t n = 0;
    if (cr_data_files(conf, &s->arena, paths, exts, &list, &n, &e) != CR_OK) add_error(diag, &e);
    s->files = CR_NEW_N(&s->arena, ar_file, n + 1);
    s->n_files = (int64_t)n;
    open_files(s, list, diag);
    if (diag->n_errors > errors) {
        ar_close(s);
        return cr_diag_code(diag);
    }
    cr_pqs_wants_end(&s->w);
    cut_blocks(s);
    for (int64_t i = 0; i < s->n_files; i++) {
        if (s->files[i].n_blocks <= MAX_BLOCKS) continue;
        too_many(&s->files[i], diag);
        ar_close(s);
        return CR_EDATA;
    }
    *out = s;
    return CR_OK;
}

/* ---- open files ---- */

static void drop_oldest(cr_source *s) {
    ar_file *old = NULL;
    for (int64_t i = 0; i < s->n_files; i++) {
        ar_file *f = &s->files[i];
        if (f->open && !f->far && f->users == 0 && (!old || f->last < old->last)) old = f;
    }
    if (!old) return; /* all are in use: each hand has one */
    cr_arrow_close(old->open);
    old->open = NULL;
    s->n_open--;
}

static cr_code take(cr_source *s, int64_t file, cr_arrow_file **out, cr_err *err) {
    ar_file *f = &s->files[file];
    cr_code code = CR_OK;
    pthread_mutex_lock(&s->lock);
    if (!f->open) {
        cr_arrow_file *x = NULL;
        if (s->n_open >= MAX_OPEN) drop_oldest(s);
        code = cr_arrow_open(&x, f->path, NULL, err);
        if (code == CR_OK) code = cr_file_id_check(&f->id, cr_arrow_fs(x), err);
        if (code == CR_OK) {
            f->open = x;
            s->n_open++;
        } else {
            cr_arrow_close(x);
        }
    }
    if (code == CR_OK) {
        f->users++;
        f->last = ++s->clock;
        *out = f->open;
    }
    pthread_mutex_unlock(&s->lock);
    return code;
}

static void forget_dict(hand *h, int slot) {
    cr_memo_reset(&h->memos[slot]);
    cr_arena_reset(&h->dicts[slot]);
    h->versions[slot] = -1;
}

static void leave(const cr_source *s, hand *h) {
    if (!h->f) return;
    for (int i = 0; i < s->w.n_slots; i++)
        forget_dict(h, i); /* entries may point into the file */
    cr_source *m = (cr_source *)(uintptr_t)s;
    pthread_mutex_lock(&m->lock);
    m->files[h->file].users--;
    pthread_mutex_unlock(&m->lock);
    h->f = NULL;
    h->file = h->group = -1;
}

/* ---- cut and parse ---- */

/* Files of stores that are far stay open. */
static void ar_will_need(cr_source *s, int64_t file, int64_t block) {
    const ar_file *f = &s->files[file];
    if (!f->far || !f->open) return;
    group *g = group_of(f, block);
    pthread_mutex_lock(&s->lock);
    bool asked = g->asked;
    g->asked = true;
    pthread_mutex_unlock(&s->lock);
    if (!asked) cr_arrow_will_need(f->open, g->number, f->wanted);
}

static hand *new_hand(const cr_source *s) {
    size_t n = (size_t)s->w.n_slots + 1;
    hand *h = cr_alloc(sizeof(*h), "a reader of columns");
    h->vecs = cr_alloc(n * sizeof(*h->vecs), "readers of columns");
    h->entries = cr_alloc(n * sizeof(*h->entries), "readers of columns");
    h->versions = cr_alloc(n * sizeof(*h->versions), "readers of columns");
    h->dicts = cr_alloc(n * sizeof(*h->dicts), "readers of columns");
    h->memos = cr_alloc(n * sizeof(*h->memos), "readers of columns");
    for (size_t i = 0; i < n; i++) {
        cr_arena_init(&h->dicts[i], 0);
        h->versions[i] = -1;
    }
    cr_arrow_batch_init(&h->batch);
    h->file = h->group = -1;
    return h;
}

static void ar_raw_clear(const cr_source *s, cr_raw *raw) {
    hand *h = raw->priv;
    if (!h) return;
    leave(s, h);
    for (int i = 0; i <= s->w.n_slots; i++) {
        cr_memo_clear(&h->memos[i]);
        cr_arena_clear(&h->dicts[i]);
    }
    cr_arrow_batch_clear(&h->batch);
    cr_free(h->vecs);
    cr_free(h->entries);
    cr_free(h->versions);
    cr_free(h->dicts);
    cr_free(h->memos);
    cr_free(h);
    raw->priv = NULL;
}

static cr_code ar_cut(cr_source *s, int64_t file, int64_t block, cr_raw *raw, bool *end,
                      cr_err *err) {
    const ar_file *f = &s->files[file];
    *end = block >= f->n_blocks;
    if (*end) return CR_OK;
    if (!raw->priv) raw->priv = new_hand(s);
    hand *h = raw->priv;
    group *g = group_of(f, block);
    if (h->file != file) {
        leave(s, h);
        CR_TRY(take(s, file, &h->f, err));
        h->file = file;
    }
    CR_TRY(cr_file_id_check(&f->id, cr_arrow_fs(h->f), err));
    bool begin = h->group != g->number;
    if (begin) {
        h->group = -1;
        CR_TRY(cr_arrow_load(h->f, g->number, f->wanted, &h->batch, err));
        h->group = g->number;
    }
    if (begin && f->far) { /* it is asked for again in the next epoch */
        pthread_mutex_lock(&s->lock);
        g->asked = false;
        pthread_mutex_unlock(&s->lock);
    }
    h->row = (block - g->first_block) * g->block_rows + raw->from;
    raw->file = file;
    raw->block = block;
    raw->first_row = g->first_row + h->row;
    raw->first_line = 0;
    raw->offset = -1;
    raw->size = (size_t)(g->bytes * (double)raw->n_rows / (double)g->n_rows);
    return CR_OK;
}

static cr_code read_slot(hand *h, const ar_file *f, const cr_raw *raw, int i, cr_arena *a,
                         cr_err *err) {
    int leaf = f->schema->leaf[i];
    int field = f->shape.field[f->shape.meta.leaves[leaf]];
    if (cr_arrow_get_schema(h->f)->v[field].coded) {
        cr_arrow_dict d = cr_arrow_dict_of(h->f, h->group, field);
        if (d.version != h->versions[i] || d.version < 0) {
            forget_dict(h, i);
            CR_TRY(cr_arrow_entries(h->f, &f->shape, leaf, d, &h->dicts[i], &h->entries[i], err));
            h->versions[i] = d.version;
        }
    }
    return cr_arrow_vec(h->f, &f->shape, leaf, &h->batch, h->row, raw->n_rows, &h->entries[i], a,
                        &h->vecs[i], err);
}

static cr_code ar_parse(const cr_source *s, const cr_raw *raw, cr_chunk *chunk, cr_bad *bad,
                        cr_err *err) {
    cr_arena *a = &chunk->arena;
    cr_arena_reset(a);
    const ar_file *f = &s->files[raw->file];
    hand *h = raw->priv;
    chunk->n_rows = raw->n_rows;
    chunk->n_cols = s->w.n;
    chunk->path = f->path;
    chunk->first_row = raw->first_row;
    chunk->lines = NULL;
    for (int i = 0; i < f->schema->n_slots; i++)
        CR_TRY(read_slot(h, f, raw, i, a, err));
    return cr_pqs_chunk(&s->w, f->schema, f->path, h->vecs, h->memos, chunk, bad, err);
}

/* ---- the reader ---- */

static int64_t ar_n_files(const cr_source *s) {
    return s->n_files;
}

static const char *ar_path(const cr_source *s, int64_t file) {
    return s->files[file].path;
}

static const cr_file_id *ar_file_id(const cr_source *s, int64_t file) {
    return &s->files[file].id;
}

static cr_code ar_n_blocks(cr_source *s, int64_t file, int64_t *out, cr_err *err) {
    (void)err;
    *out = s->files[file].n_blocks;
    return CR_OK;
}

static void ar_set_block(cr_source *s, size_t bytes) {
    s->block = bytes > 0 ? bytes : BLOCK;
    cut_blocks(s);
}

static int ar_columns(const cr_source *s, const char *const **out) {
    *out = s->w.names;
    return s->w.n_names;
}

static int ar_hands(const cr_source *s) {
    return s->n_hands;
}

static size_t ar_hand_bytes(const cr_source *s) {
    return s->hand_bytes;
}

static void ar_kinds(const cr_source *s, cr_colkind *out) {
    cr_pqs_kinds(&s->w, out);
}

const cr_reader_type cr_reader_arrow = {
    .name = "ArrowDataset",
    .exts = exts,
    .open = ar_open,
    .close = ar_close,
    .n_files = ar_n_files,
    .path = ar_path,
    .file_id = ar_file_id,
    .n_blocks = ar_n_blocks,
    .cut = ar_cut,
    .will_need = ar_will_need,
    .parse = ar_parse,
    .set_block = ar_set_block,
    .columns = ar_columns,
    .block_rows = ar_block_rows,
    .hands = ar_hands,
    .hand_bytes = ar_hand_bytes,
    .raw_clear = ar_raw_clear,
    .kinds = ar_kinds,
    .typed = true,
};
