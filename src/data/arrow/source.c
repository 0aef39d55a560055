/*
 * source.c - ArrowDataset: record batches of Arrow files and streams.
 *
 * What finds, checks and converts the wanted columns is that of the Parquet reader (pq/want.c,
 * pq/columns.c), and so is what cuts batches into blocks (pq/groups.c); this file gives it schemas
 * and vectors. Opening looks at every file. A batch whose buffers lie plainly in a mapped file
 * costs nothing to load, so its blocks may be read in any order; a compressed batch, or one of a
 * store, is loaded whole by the hand that comes to it, so one hand reads all its blocks.
 */
#include "base/file.h"
#include "data/arrow/vec.h"
#include "data/pq/groups.h"

/* What is known of a file. */
typedef struct own {
    cr_arrow_shape shape;
    bool *wanted; /* per field of its schema */
} own;

struct cr_source {
    cr_pqg g;
    cr_want *want; /* every column as values */
};

/* What a hand keeps from block to block. */
typedef struct hand {
    int64_t file; /* -1: none */
    void *f;      /* a cr_arrow_file */
    int group;    /* the batch that is loaded; -1: none */
    cr_arrow_batch batch;
    int64_t row; /* the first wanted row of the batch */
    cr_pq_vec *vecs;
    /* per slot: the entries of its dictionary, and what was made of them */
    cr_pq_vec *entries;
    int64_t *versions; /* -1: none */
    cr_arena *dicts;
    cr_memo *memos;
} hand;

/* ---- opening ---- */

static const char *const exts[] = {".arrow", ".feather", ".arrows", ".ipc", NULL};

static cr_code open_one(void **out, const char *path, cr_err *err) {
    cr_arrow_file *x = NULL;
    cr_code code = cr_arrow_open(&x, path, NULL, err);
    *out = code == CR_OK ? x : NULL;
    return code;
}
static void close_one(void *x) {
    cr_arrow_close(x);
}
static cr_fs *fs_of(const void *x) {
    return cr_arrow_fs(x);
}
static const cr_pqg_type files = {.open = open_one, .close = close_one, .fs = fs_of};

/* Lists the batches of a file with the sizes of their wanted columns. */
static void measure(cr_source *s, cr_pqg_file *f, const cr_arrow_file *x, cr_diag *diag) {
    const own *o = f->own;
    cr_err e;
    int n = cr_arrow_n_batches(x);
    if (!cr_pqg_begin(&s->g, f, x, n, diag)) return;
    for (int i = 0; i < n; i++) {
        int64_t rows = cr_arrow_batch_rows(x, i);
        cr_arrow_size size;
        if (rows == 0) continue;
        cr_pqg_group *to = cr_pqg_add(f, i, rows, diag);
        if (!to) return;
        if (cr_arrow_measure(x, i, o->wanted, &size, &e) != CR_OK) {
            cr_diag_add(diag, CR_SEV_ERROR, e.code, e.at, "%s", e.msg);
            return;
        }
        to->bytes = size.bytes;
        to->plain += size.plain;
        to->whole = size.compressed || cr_fs_is_far(cr_arrow_fs(x));
        if (to->whole) to->held = to->plain;
    }
}

/* Columns of types that crank cannot read are errors when they are wanted. */
static bool check_types(const cr_source *s, const cr_pqg_file *f, const cr_arrow_schema *schema,
                        cr_diag *diag) {
    const own *o = f->own;
    bool fine = true;
    for (int i = 0; i < s->g.w.n; i++) {
        const cr_want *x = &s->want[i];
        int node = cr_pq_find(&o->shape.meta, x->name);
        int field = node < 0 ? -1 : o->shape.field[node];
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
static void mark_wanted(cr_source *s, const cr_pqg_file *f, const cr_arrow_schema *schema) {
    own *o = f->own;
    o->wanted = CR_NEW_N(&s->g.arena, bool, schema->n + 1);
    for (int i = 0; i < f->schema->n_slots; i++)
        cr_arrow_want(schema, o->shape.field[o->shape.meta.leaves[f->schema->leaf[i]]], o->wanted);
}

static void look_at(cr_source *s, cr_pqg_file *f, cr_arrow_file *x, const own *before,
                    size_t errors, cr_diag *diag) {
    own *o = f->own = CR_NEW(&s->g.arena, own);
    const cr_arrow_schema *schema = cr_arrow_get_schema(x);
    cr_arrow_schema *copy = CR_NEW(&s->g.arena, cr_arrow_schema);
    cr_err e;
    /* names live as long as the file is open, and it may be opened again */
    *copy = *schema;
    copy->v = CR_NEW_N(&s->g.arena, cr_arrow_field, schema->n + 1);
    for (int i = 0; i < schema->n; i++) {
        copy->v[i] = schema->v[i];
        copy->v[i].name = cr_arena_strdup(&s->g.arena, schema->v[i].name);
    }
    if (cr_arrow_shape_of(copy, &s->g.arena, &o->shape, &e) != CR_OK) {
        cr_diag_add(diag, CR_SEV_ERROR, e.code, (cr_loc){f->path, 0, 0}, "%s", e.msg);
        return;
    }
    if (!check_types(s, f, copy, diag)) return;
    f->schema = cr_pqs_wants_look(&s->g.w, f->path, &o->shape.meta,
                                  before ? &before->shape.meta : NULL, diag);
    if (diag->n_errors > errors) return;
    mark_wanted(s, f, copy);
    measure(s, f, x, diag);
}

static void open_files(cr_source *s, cr_diag *diag) {
    size_t errors = diag->n_errors;
    const own *before = NULL;
    for (int64_t i = 0; i < s->g.n_files && diag->n_errors - errors <= CR_PQG_ERRORS; i++) {
        cr_pqg_file *f = &s->g.files[i];
        cr_arrow_file *x;
        cr_err e = {0};
        if (cr_arrow_open(&x, f->path, NULL, &e) != CR_OK) {
            cr_pqg_not_opened(&e, e.code == CR_EDATA && e.why == CR_ARROW_FOREIGN, diag);
            continue;
        }
        look_at(s, f, x, before, errors, diag);
        if (f->schema) before = f->own;
        if (!cr_pqg_keep(&s->g, f, x)) cr_arrow_close(x);
    }
}

static void ar_close(cr_source *s) {
    if (!s) return;
    cr_pqg_clear(&s->g);
    cr_free(s);
}

static cr_code ar_open(cr_source **out, const cr_data_conf *conf, const char *paths,
                       const cr_want *want, int n_want, cr_diag *diag) {
    *out = NULL;
    size_t errors = diag->n_errors;
    cr_source *s = cr_alloc(sizeof(*s), "a data set");
    cr_pqg_init(&s->g, &files);
    s->want = CR_NEW_N(&s->g.arena, cr_want, n_want + 1);
    for (int i = 0; i < n_want; i++) {
        s->want[i] = want[i];
        s->want[i].form = CR_WANT_VALUES;
    }
    cr_pqs_wants_init(&s->g.w, conf, s->want, n_want, &s->g.arena);
    s->g.w.otherwise = "name one of its columns";
    cr_pqg_list(&s->g, conf, paths, exts, diag);
    open_files(s, diag);
    cr_code code = cr_pqg_end(&s->g, errors, diag);
    if (code == CR_OK)
        *out = s;
    else
        ar_close(s);
    return code;
}

/* ---- cut and parse ---- */

static void forget_dict(hand *h, int slot) {
    cr_memo_reset(&h->memos[slot]);
    cr_arena_reset(&h->dicts[slot]);
    h->versions[slot] = -1;
}

static void leave(const cr_source *s, hand *h) {
    if (!h->f) return;
    for (int i = 0; i < s->g.w.n_slots; i++)
        forget_dict(h, i); /* entries may point into the file */
    cr_pqg_leave((cr_pqg *)(uintptr_t)&s->g, h->file);
    h->f = NULL;
    h->file = h->group = -1;
}

/* Files of stores that are far stay open. */
static void ar_will_need(cr_source *s, int64_t file, int64_t block) {
    const cr_pqg_file *f = &s->g.files[file];
    if (!f->far || !f->open) return;
    cr_pqg_group *g = cr_pqg_of(f, block);
    pthread_mutex_lock(&s->g.lock);
    bool asked = g->hint_to > 0;
    g->hint_to = g->n_rows;
    pthread_mutex_unlock(&s->g.lock);
    if (!asked) cr_arrow_will_need(f->open, g->number, ((const own *)f->own)->wanted);
}

static hand *new_hand(const cr_source *s) {
    size_t n = (size_t)s->g.w.n_slots + 1;
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
    for (int i = 0; i <= s->g.w.n_slots; i++) {
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
    const cr_pqg_file *f = &s->g.files[file];
    *end = block >= f->n_blocks;
    if (*end) return CR_OK;
    if (!raw->priv) raw->priv = new_hand(s);
    hand *h = raw->priv;
    cr_pqg_group *g = cr_pqg_of(f, block);
    if (h->file != file) {
        leave(s, h);
        CR_TRY(cr_pqg_take(&s->g, file, &h->f, err));
        h->file = file;
    }
    CR_TRY(cr_file_id_check(&f->id, cr_arrow_fs(h->f), err));
    const own *o = f->own;
    bool begin = h->group != g->number;
    if (begin) {
        h->group = -1;
        CR_TRY(cr_arrow_load(h->f, g->number, o->wanted, &h->batch, err));
        h->group = g->number;
    }
    if (begin && f->far) { /* it is asked for again in the next epoch */
        pthread_mutex_lock(&s->g.lock);
        g->hint_to = 0;
        pthread_mutex_unlock(&s->g.lock);
    }
    h->row = (block - g->first_block) * g->block_rows + raw->from;
    cr_pqg_cut(g, file, block, h->row, raw);
    return CR_OK;
}

static cr_code read_slot(hand *h, const cr_pqg_file *f, const cr_raw *raw, int i, cr_arena *a,
                         cr_err *err) {
    const own *o = f->own;
    int leaf = f->schema->leaf[i];
    int field = o->shape.field[o->shape.meta.leaves[leaf]];
    if (cr_arrow_get_schema(h->f)->v[field].coded) {
        cr_arrow_dict d = cr_arrow_dict_of(h->f, h->group, field);
        if (d.version != h->versions[i] || d.version < 0) {
            forget_dict(h, i);
            CR_TRY(cr_arrow_entries(h->f, &o->shape, leaf, d, &h->dicts[i], &h->entries[i], err));
            h->versions[i] = d.version;
        }
    }
    return cr_arrow_vec(h->f, &o->shape, leaf, &h->batch, h->row, raw->n_rows, &h->entries[i], a,
                        &h->vecs[i], err);
}

static cr_code ar_parse(const cr_source *s, const cr_raw *raw, cr_chunk *chunk, cr_bad *bad,
                        cr_err *err) {
    const cr_pqg_file *f = &s->g.files[raw->file];
    hand *h = raw->priv;
    cr_pqg_chunk(&s->g, raw, chunk);
    for (int i = 0; i < f->schema->n_slots; i++)
        CR_TRY(read_slot(h, f, raw, i, &chunk->arena, err));
    return cr_pqs_chunk(&s->g.w, f->schema, f->path, h->vecs, h->memos, chunk, bad, err);
}

const cr_reader_type cr_reader_arrow = {
    .name = "ArrowDataset",
    .exts = exts,
    .open = ar_open,
    .close = ar_close,
    .n_files = cr_pqg_n_files,
    .path = cr_pqg_path,
    .file_id = cr_pqg_file_id,
    .n_blocks = cr_pqg_n_blocks,
    .cut = ar_cut,
    .will_need = ar_will_need,
    .parse = ar_parse,
    .set_block = cr_pqg_set_block,
    .columns = cr_pqg_columns,
    .block_rows = cr_pqg_block_rows,
    .hands = cr_pqg_hands,
    .hand_bytes = cr_pqg_hand_bytes,
    .raw_clear = ar_raw_clear,
    .kinds = cr_pqg_kinds,
    .typed = true,
};
