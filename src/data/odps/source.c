/*
 * source.c - OdpsDataset and OdpsDatasetV1: tables of MaxCompute, by the Storage API and by the
 * tunnel.
 *
 * A "file" is a session. Its rows are numbered, so a block is a range of BLOCK rows; RUN blocks are
 * one request, which is made ahead of its use. A block may lie in several record batches, because
 * the server cuts them as it likes: their vectors are joined. Wanted columns are found, checked and
 * converted by the code of the Parquet reader (pq/want.c, pq/columns.c).
 *
 * Every block that was read whole leaves a digest. A checkpoint keeps those of the process that
 * made the sessions; when a session is over at resume, the rows of the new one are read again and
 * compared (compare below).
 */
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "base/digest.h"
#include "base/log.h"
#include "data/odps/odps_int.h"
#include "data/pq/pq_int.h"

#define BLOCK      4096
#define RUN        16 /* blocks of a request */
#define MAX_HANDS  8
#define HAND_BYTES ((size_t)32 << 20)
#define DIGESTS    4096 /* a checkpoint keeps about so many of a session */
#define REFRESH_S  600

/* A record batch that a hand has loaded. */
typedef struct loaded {
    int piece, batch; /* -1: none */
    cr_arrow_batch b;
} loaded;

typedef struct od_file {
    cr_odps_session *x;
    cr_arrow_schema schema; /* by the types that the session names */
    cr_arrow_shape shape;
    const cr_pqs_schema *found;
    bool *wanted;
    cr_file_id id;
    int64_t n_blocks;
    uint64_t *digests; /* per block; 0: not known */
} od_file;

struct cr_source {
    cr_odps_sessions all;
    cr_pqs_wants w;
    cr_want *want;
    od_file *files;
    cr_odps_ahead *ahead;
    cr_arena arena;
    /* the thread that keeps the sessions alive */
    pthread_mutex_t lock;
    pthread_cond_t ends;
    pthread_t keeper;
    bool has_keeper, over;
};

/* What a hand keeps from block to block. */
typedef struct hand {
    int64_t file, run; /* -1: none */
    cr_odps_rows rows;
    loaded *v;
    int n;
    int64_t row; /* the first wanted row, counted in the run */
    cr_pq_vec *vecs;
    cr_memo *memos; /* always empty: texts come without dictionaries */
} hand;

/* ---- sessions ---- */

static void *keep_alive(void *arg) {
    cr_source *s = arg;
    pthread_mutex_lock(&s->lock);
    while (!s->over) {
        struct timespec t;
        clock_gettime(CLOCK_REALTIME, &t);
        t.tv_sec += REFRESH_S;
        while (!s->over && pthread_cond_timedwait(&s->ends, &s->lock, &t) == 0)
            ;
        if (s->over) break;
        pthread_mutex_unlock(&s->lock);
        for (int i = 0; i < s->all.n; i++)
            cr_odps_refresh(&s->all, &s->all.v[i]);
        pthread_mutex_lock(&s->lock);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* Makes a schema of the names and types of a session. */
static cr_code schema_of(cr_source *s, od_file *f, cr_err *err) {
    size_t n = 1;
    for (int i = 0; i < f->x->n_columns; i++)
        n += strlen(f->x->types[i]) + 1; /* a type has no more fields than letters */
    f->schema.v = CR_NEW_N(&s->arena, cr_arrow_field, (int64_t)n);
    for (int i = 0; i < f->x->n_columns; i++) {
        const char *why = cr_odps_type(&f->schema, f->x->columns[i], f->x->types[i], &s->arena);
        if (why)
            return cr_fail_at(err, CR_EDATA, ((cr_loc){f->x->path, 0, 0}),
                              "column '%s' of type %.100s %s; leave it out, or cast it in a view",
                              f->x->columns[i], f->x->types[i], why);
    }
    cr_arrow_schema_link(&f->schema);
    return cr_arrow_shape_of(&f->schema, &s->arena, &f->shape, err);
}

static int64_t blocks_of(int64_t rows) {
    return (rows + BLOCK - 1) / BLOCK;
}

static size_t digest_bytes(int64_t n_blocks) {
    return ((size_t)n_blocks + 1) * sizeof(uint64_t);
}

static cr_code open_session(cr_source *s, int i, cr_diag *diag, cr_err *err) {
    od_file *f = &s->files[i];
    cr_odps_session *x = f->x = &s->all.v[i];
    CR_TRY(schema_of(s, f, err));
    f->found = cr_pqs_wants_look(&s->w, x->path, &f->shape.meta,
                                 i > 0 ? &s->files[i - 1].shape.meta : NULL, diag);
    if (diag->n_errors) return CR_OK;
    f->wanted = CR_NEW_N(&s->arena, bool, f->schema.n + 1);
    for (int k = 0; k < f->found->n_slots; k++)
        cr_arrow_want(&f->schema, f->shape.field[f->shape.meta.leaves[f->found->leaf[k]]],
                      f->wanted);
    f->n_blocks = blocks_of(x->n_rows);
    void *p;
    CR_TRY(cr_big_alloc(&p, digest_bytes(f->n_blocks), "digests of the rows", err));
    f->digests = p;
    /* what is known of the content before it is read: which table, how many rows, which types */
    cr_digest d;
    cr_digest_init(&d);
    cr_digest_add(&d, x->path, strlen(x->path));
    cr_digest_add(&d, &x->n_rows, sizeof x->n_rows);
    for (int k = 0; k < x->n_columns; k++)
        cr_digest_add(&d, x->types[k], strlen(x->types[k]) + 1);
    f->id = (cr_file_id){.size = x->n_rows, .digest = cr_digest_end(&d)};
    return CR_OK;
}

static cr_code get_rows(void *ctx, int64_t file, int64_t number, cr_odps_rows *out, cr_err *err) {
    cr_source *s = ctx;
    od_file *f = &s->files[file];
    int64_t from = number * RUN * BLOCK, n = RUN * BLOCK;
    if (n > f->x->n_rows - from) n = f->x->n_rows - from;
    return cr_odps_fetch(&s->all, f->x, s->all.tunnel ? &f->schema : NULL, from, n, out, err);
}

static void od_close(cr_source *s) {
    if (!s) return;
    if (s->has_keeper) {
        pthread_mutex_lock(&s->lock);
        s->over = true;
        pthread_cond_broadcast(&s->ends);
        pthread_mutex_unlock(&s->lock);
        pthread_join(s->keeper, NULL);
    }
    cr_odps_ahead_free(s->ahead);
    for (int i = 0; s->files && i < s->all.n; i++)
        if (s->files[i].digests)
            cr_big_free(s->files[i].digests, digest_bytes(s->files[i].n_blocks));
    cr_odps_close(s->all.client);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->ends);
    cr_arena_clear(&s->arena);
    cr_free(s);
}

static cr_source *new_source(const cr_data_conf *conf, bool tunnel, const cr_want *want,
                             int n_want) {
    cr_source *s = cr_alloc(sizeof *s, "a data set");
    cr_arena_init(&s->arena, 0);
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->ends, NULL);
    s->all = (cr_odps_sessions){.tunnel = tunnel, .conf = conf, .arena = &s->arena};
    s->want = CR_NEW_N(&s->arena, cr_want, n_want + 1);
    for (int i = 0; i < n_want; i++) {
        s->want[i] = want[i];
        s->want[i].form = CR_WANT_VALUES;
    }
    cr_pqs_wants_init(&s->w, conf, s->want, n_want, &s->arena);
    s->w.otherwise = "name one of its columns";
    return s;
}

/* paths: what the user wrote, or "+" (this process keeps the sessions alive) or "-", and the text
 * that prepare made. */
static cr_code open_any(cr_source **out, const cr_data_conf *conf, const char *paths,
                        const cr_want *want, int n_want, bool tunnel, cr_diag *diag) {
    cr_source *s = new_source(conf, tunnel, want, n_want);
    cr_err err = {0};
    size_t errors = diag->n_errors;
    *out = NULL;
    bool made = (*paths == '+' || *paths == '-') && paths[1] == '{';
    s->all.owner = !made || *paths == '+';
    cr_code code = made ? cr_odps_sessions_read(&s->all, paths + 1, &err)
                        : cr_odps_sessions_make(&s->all, paths, want, n_want, NULL, &err);
    s->files = CR_NEW_N(&s->arena, od_file, s->all.n + 1);
    for (int i = 0; i < s->all.n && code == CR_OK && diag->n_errors == errors; i++)
        code = open_session(s, i, diag, &err);
    if (code != CR_OK) cr_diag_add(diag, CR_SEV_ERROR, code, err.at, "%s", err.msg);
    if (diag->n_errors > errors) {
        od_close(s);
        return cr_diag_code(diag);
    }
    cr_pqs_wants_end(&s->w);
    s->ahead = cr_odps_ahead_new(get_rows, s);
    if (s->all.owner) s->has_keeper = pthread_create(&s->keeper, NULL, keep_alive, s) == 0;
    *out = s;
    return CR_OK;
}

static cr_code od_open(cr_source **out, const cr_data_conf *conf, const char *paths,
                       const cr_want *want, int n_want, cr_diag *diag) {
    return open_any(out, conf, paths, want, n_want, false, diag);
}

static cr_code od_open_v1(cr_source **out, const cr_data_conf *conf, const char *paths,
                          const cr_want *want, int n_want, cr_diag *diag) {
    return open_any(out, conf, paths, want, n_want, true, diag);
}

/* ---- blocks ---- */

static void od_block_rows(const cr_source *s, int64_t file, int64_t block, cr_block_rows *out) {
    const od_file *f = &s->files[file];
    int64_t at = block * BLOCK, left = f->x->n_rows - at;
    *out = (cr_block_rows){.first_row = at,
                           .n_rows = left < BLOCK ? left : BLOCK,
                           .stretch = RUN - block % RUN};
    if (out->stretch > f->n_blocks - block) out->stretch = f->n_blocks - block;
    out->stretch_shuffled = out->stretch;
}

static void od_will_need(cr_source *s, int64_t file, int64_t block) {
    cr_odps_ahead_ask(s->ahead, file, block / RUN);
}

static hand *new_hand(const cr_source *s) {
    hand *h = cr_alloc(sizeof *h, "a reader of columns");
    h->vecs = cr_alloc(((size_t)s->w.n_slots + 1) * sizeof *h->vecs, "readers of columns");
    h->memos = cr_alloc(((size_t)s->w.n_slots + 1) * sizeof *h->memos, "readers of columns");
    h->file = h->run = -1;
    return h;
}

static void forget(hand *h) {
    for (int i = 0; i < h->n; i++)
        h->v[i].piece = -1;
    cr_odps_rows_clear(&h->rows);
    h->file = h->run = -1;
}

static void od_raw_clear(const cr_source *s, cr_raw *raw) {
    hand *h = raw->priv;
    if (!h) return;
    forget(h);
    for (int i = 0; i < h->n; i++)
        cr_arrow_batch_clear(&h->v[i].b);
    for (int i = 0; i <= s->w.n_slots; i++)
        cr_memo_clear(&h->memos[i]);
    cr_free(h->v);
    cr_free(h->vecs);
    cr_free(h->memos);
    cr_free(h);
    raw->priv = NULL;
}

static cr_code od_cut(cr_source *s, int64_t file, int64_t block, cr_raw *raw, bool *end,
                      cr_err *err) {
    const od_file *f = &s->files[file];
    *end = block >= f->n_blocks;
    if (*end) return CR_OK;
    if (!raw->priv) raw->priv = new_hand(s);
    hand *h = raw->priv;
    if (h->file != file || h->run != block / RUN) {
        forget(h);
        CR_TRY(cr_odps_ahead_take(s->ahead, file, block / RUN, &h->rows, err));
        h->file = file;
        h->run = block / RUN;
    }
    h->row = block % RUN * BLOCK + raw->from;
    raw->file = file;
    raw->block = block;
    raw->first_row = block * BLOCK + raw->from;
    raw->first_line = 0;
    raw->offset = -1;
    raw->size = 0;
    for (int i = 0; i < h->rows.n; i++)
        raw->size += h->rows.v[i].bytes.n;
    raw->size = (size_t)((double)raw->size * (double)raw->n_rows / (double)(h->rows.n_rows + 1));
    return CR_OK;
}

/* The streams must have the columns that the session told of. */
static cr_code check_schema(const od_file *f, const cr_odps_piece *p, cr_err *err) {
    const cr_arrow_schema *got = cr_arrow_get_schema(p->f), *want = &f->schema;
    bool same = got->n == want->n;
    int i = 0;
    for (; same && i < got->n; i++) {
        const cr_arrow_field *x = &got->v[i], *y = &want->v[i];
        same = x->kind == y->kind && x->bits == y->bits && x->n_children == y->n_children &&
               x->unit == y->unit && (x->parent >= 0 || strcasecmp(x->name, y->name) == 0) &&
               !x->coded;
    }
    if (same) return CR_OK;
    char a[100] = "nothing", b[100] = "nothing";
    if (i > 0) i--;
    if (i < got->n) cr_arrow_type_text(got, i, a, sizeof a);
    if (i < want->n) cr_arrow_type_text(want, i, b, sizeof b);
    return cr_fail_at(err, CR_EDATA, ((cr_loc){f->x->path, 0, 0}),
                      "MaxCompute sent '%s' of type %s where its session names '%s' of type %s; "
                      "read the table with OdpsDataset%s",
                      i < got->n ? got->v[i].name : "", a, i < want->n ? want->v[i].name : "", b,
                      "V1, or cast the column in a view");
}

/* Gives a record batch, loaded. The first *used of h->v are in use for this block. */
static cr_code load(hand *h, const od_file *f, int piece, int batch, int *used,
                    cr_arrow_batch **out, cr_err *err) {
    int at = -1;
    for (int i = *used; i < h->n && at < 0; i++)
        if (h->v[i].piece == piece && h->v[i].batch == batch) at = i;
    if (at < 0) {
        if (*used == h->n) {
            h->v = cr_realloc(h->v, (size_t)h->n * sizeof *h->v, ((size_t)h->n + 1) * sizeof *h->v,
                              "batches");
            h->v[h->n].piece = -1;
            cr_arrow_batch_init(&h->v[h->n++].b);
        }
        at = h->n - 1;
        h->v[at].piece = -1;
        CR_TRY(check_schema(f, &h->rows.v[piece], err));
        CR_TRY(cr_arrow_load(h->rows.v[piece].f, batch, f->wanted, &h->v[at].b, err));
        h->v[at].piece = piece;
        h->v[at].batch = batch;
    }
    loaded t = h->v[*used];
    h->v[*used] = h->v[at];
    h->v[at] = t;
    *out = &h->v[(*used)++].b;
    return CR_OK;
}

/* Reads rows [h->row, h->row + n) of every slot. */
static cr_code read_rows(const od_file *f, hand *h, int64_t n, cr_arena *a, cr_err *err) {
    int n_slots = f->found->n_slots, n_parts = 0, used = 0, cap = 4;
    cr_pq_vec *parts = CR_NEW_N(a, cr_pq_vec, (int64_t)cap * (n_slots + 1));
    int64_t left = n, row = h->row;
    for (int p = 0; p < h->rows.n && left > 0; p++) {
        const cr_odps_piece *x = &h->rows.v[p];
        int64_t first = x->first_row;
        for (int b = 0; b < cr_arrow_n_batches(x->f) && left > 0; b++) {
            int64_t have = cr_arrow_batch_rows(x->f, b), from = row - first;
            first += have;
            if (from >= have) continue;
            int64_t k = have - from < left ? have - from : left;
            cr_arrow_batch *batch;
            CR_TRY(load(h, f, p, b, &used, &batch, err));
            if (n_parts == cap) {
                cr_pq_vec *more = CR_NEW_N(a, cr_pq_vec, (int64_t)cap * 2 * (n_slots + 1));
                memcpy(more, parts, (size_t)cap * (size_t)n_slots * sizeof *more);
                parts = more;
                cap *= 2;
            }
            for (int i = 0; i < n_slots; i++)
                CR_TRY(cr_arrow_vec(x->f, &f->shape, f->found->leaf[i], batch, from, k, NULL, a,
                                    &parts[n_parts * n_slots + i], err));
            n_parts++;
            row += k;
            left -= k;
        }
    }
    if (left > 0)
        return cr_fail_at(err, CR_EDATA, ((cr_loc){f->x->path, 0, 0}),
                          "MaxCompute sent too few rows; run again");
    cr_pq_vec *one = CR_NEW_N(a, cr_pq_vec, n_parts + 1);
    for (int i = 0; i < n_slots; i++) {
        for (int k = 0; k < n_parts; k++)
            one[k] = parts[k * n_slots + i];
        CR_TRY(cr_arrow_join(one, n_parts, a, &h->vecs[i], err));
    }
    return CR_OK;
}

/* A digest of what the vectors mean, however they lie in memory. */
static uint64_t digest_of(const cr_pq_vec *v, int n) {
    static const size_t width[] = {1, 4, 8, 12, 4, 8};
    cr_digest d;
    cr_digest_init(&d);
    for (int i = 0; i < n; i++) {
        const cr_pq_vec *x = &v[i];
        cr_digest_add(&d, &x->n, sizeof x->n);
        for (int k = 0; k < x->depth; k++) {
            cr_digest_add(&d, x->list[k].off, (size_t)(x->list[k].n + 1) * 4);
            if (x->list[k].valid) cr_digest_add(&d, x->list[k].valid, (size_t)x->list[k].n);
        }
        if (x->valid) cr_digest_add(&d, x->valid, (size_t)x->n);
        if (x->type == CR_PQ_BYTES)
            for (int64_t k = 0; k < x->n; k++) {
                uint32_t len = x->end[k] - x->beg[k];
                cr_digest_add(&d, &len, sizeof len);
                cr_digest_add(&d, x->bytes + x->beg[k], len);
            }
        else if (x->n)
            cr_digest_add(&d, x->v.b8,
                          (size_t)x->n *
                              (x->type == CR_PQ_FIXED ? (size_t)x->type_length : width[x->type]));
    }
    uint64_t h = cr_digest_end(&d);
    return h ? h : 1;
}

static cr_code od_parse(const cr_source *s, const cr_raw *raw, cr_chunk *chunk, cr_bad *bad,
                        cr_err *err) {
    od_file *f = &s->files[raw->file];
    hand *h = raw->priv;
    cr_arena_reset(&chunk->arena);
    chunk->n_rows = raw->n_rows;
    chunk->n_cols = s->w.n;
    chunk->path = f->x->path;
    chunk->first_row = raw->first_row;
    chunk->lines = NULL;
    CR_TRY(read_rows(f, h, raw->n_rows, &chunk->arena, err));
    int64_t whole = f->x->n_rows - raw->block * BLOCK;
    if (raw->from == 0 && raw->n_rows == (whole < BLOCK ? whole : BLOCK) && s->all.owner)
        __atomic_store_n(&f->digests[raw->block], digest_of(h->vecs, f->found->n_slots),
                         __ATOMIC_RELAXED);
    return cr_pqs_chunk(&s->w, f->found, f->x->path, h->vecs, h->memos, chunk, bad, err);
}

/* ---- what a checkpoint keeps ---- */

static void od_kept(const cr_source *s, cr_buf *out) {
    cr_odps_sessions copy = s->all;
    cr_arena a;
    cr_arena_init(&a, 0);
    copy.v = CR_NEW_N(&a, cr_odps_session, copy.n + 1);
    for (int i = 0; i < copy.n; i++) {
        const od_file *f = &s->files[i];
        cr_odps_session *x = &copy.v[i];
        *x = *f->x;
        x->fresh = false;
        /* those of an earlier part of the run count as well, where these blocks were not read */
        int64_t run = f->n_blocks / DIGESTS + 1, n = (f->n_blocks + run - 1) / run;
        uint64_t *v = CR_NEW_N(&a, uint64_t, n + 1);
        bool any = false;
        for (int64_t k = 0; k < n; k++) {
            bool all = true;
            cr_digest d;
            cr_digest_init(&d);
            for (int64_t b = k * run; b < (k + 1) * run && b < f->n_blocks; b++) {
                uint64_t one = __atomic_load_n(&f->digests[b], __ATOMIC_RELAXED);
                all &= one != 0;
                cr_digest_add(&d, &one, sizeof one);
            }
            v[k] = all ? cr_digest_end(&d) : 0;
            if (!all && f->x->run == run && k < f->x->n_digests) v[k] = f->x->digests[k];
            any |= v[k] != 0;
        }
        x->digests = v;
        x->n_digests = any ? n : 0;
        x->run = run;
    }
    cr_odps_sessions_text(&copy, out);
    cr_arena_clear(&a);
}

/* Reads all rows of a new session whose digests are known and compares them. */
static cr_code compare_session(cr_source *s, int i, cr_err *err) {
    od_file *f = &s->files[i];
    const cr_odps_session *x = f->x;
    cr_raw raw = {0};
    cr_chunk chunk = {0};
    cr_bad bad = {0};
    cr_code code = CR_OK;
    int64_t compared = 0;
    cr_arena_init(&chunk.arena, 0);
    for (int64_t k = 0; code == CR_OK && k < x->n_digests; k++) {
        if (x->digests[k] == 0) continue;
        cr_digest d;
        cr_digest_init(&d);
        for (int64_t b = k * x->run; code == CR_OK && b < (k + 1) * x->run && b < f->n_blocks;
             b++) {
            cr_block_rows r;
            bool end;
            od_block_rows(s, i, b, &r);
            raw.from = 0;
            raw.n_rows = r.n_rows;
            cr_bad_reset(&bad);
            od_will_need(s, i, b + RUN < f->n_blocks ? b + RUN : b);
            code = od_cut(s, i, b, &raw, &end, err);
            if (code == CR_OK) code = od_parse(s, &raw, &chunk, &bad, err);
            if (code == CR_OK) cr_digest_add(&d, &f->digests[b], sizeof f->digests[b]);
            compared += r.n_rows;
        }
        if (code == CR_OK && cr_digest_end(&d) != x->digests[k])
            code =
                cr_fail_at(err, CR_EDATA, ((cr_loc){x->path, 0, 0}),
                           "the session of the checkpoint is over, and rows %lld to %lld of a "
                           "new one differ from those that were trained on; train anew, or from "
                           "a table that does not change",
                           (long long)(k * x->run * BLOCK), (long long)((k + 1) * x->run * BLOCK));
    }
    if (code == CR_OK && compared)
        CR_INFO("%s: %lld rows of the new session are those of the old one", x->path,
                (long long)compared);
    od_raw_clear(s, &raw);
    cr_arena_clear(&chunk.arena);
    cr_bad_clear(&bad);
    return code;
}

static cr_code prepare_any(cr_buf *out, const cr_data_conf *conf, const char *paths,
                           const cr_want *want, int n_want, const char *kept, bool tunnel,
                           cr_err *err) {
    cr_source *s = new_source(conf, tunnel, want, n_want), *with = NULL;
    cr_code code = cr_odps_sessions_make(&s->all, paths, want, n_want, kept, err);
    bool compare = false;
    size_t from = out->n; /* the caller may have begun the text */
    for (int i = 0; code == CR_OK && i < s->all.n; i++)
        compare |= s->all.v[i].fresh && s->all.v[i].n_digests > 0;
    if (code == CR_OK) cr_odps_sessions_text(&s->all, out);
    if (code == CR_OK && compare) {
        cr_diag diag;
        cr_diag_init(&diag);
        cr_buf text;
        cr_buf_init(&text);
        cr_buf_printf(&text, "+%s", out->data + from);
        code = open_any(&with, conf, text.data, want, n_want, tunnel, &diag);
        if (code != CR_OK) cr_diag_first(&diag, err);
        for (int i = 0; code == CR_OK && i < s->all.n; i++)
            if (s->all.v[i].fresh && s->all.v[i].n_digests > 0)
                code = compare_session(with, i, err);
        od_close(with);
        cr_buf_clear(&text);
        cr_diag_clear(&diag);
    }
    od_close(s);
    return code;
}

static cr_code od_prepare(cr_buf *out, const cr_data_conf *conf, const char *paths,
                          const cr_want *want, int n_want, const char *kept, cr_err *err) {
    return prepare_any(out, conf, paths, want, n_want, kept, false, err);
}

static cr_code od_prepare_v1(cr_buf *out, const cr_data_conf *conf, const char *paths,
                             const cr_want *want, int n_want, const char *kept, cr_err *err) {
    return prepare_any(out, conf, paths, want, n_want, kept, true, err);
}

/* ---- the readers ---- */

static int64_t od_n_files(const cr_source *s) {
    return s->all.n;
}

static const char *od_path(const cr_source *s, int64_t file) {
    return s->files[file].x->path;
}

static const cr_file_id *od_file_id(const cr_source *s, int64_t file) {
    return &s->files[file].id;
}

static cr_code od_n_blocks(cr_source *s, int64_t file, int64_t *out, cr_err *err) {
    (void)err;
    *out = s->files[file].n_blocks;
    return CR_OK;
}

static void od_set_block(cr_source *s, size_t bytes) {
    (void)s;
    (void)bytes; /* blocks are ranges of rows, the same for everybody */
}

static int od_columns(const cr_source *s, const char *const **out) {
    *out = s->w.names;
    return s->w.n_names;
}

static int od_hands(const cr_source *s) {
    (void)s;
    return MAX_HANDS;
}

static size_t od_hand_bytes(const cr_source *s) {
    (void)s;
    return HAND_BYTES;
}

static void od_kinds(const cr_source *s, cr_colkind *out) {
    cr_pqs_kinds(&s->w, out);
}

#define READER(dataset, open_, prepare_)                                                           \
    {                                                                                              \
        .name = (dataset), .open = (open_), .close = od_close, .n_files = od_n_files,              \
        .path = od_path, .file_id = od_file_id, .n_blocks = od_n_blocks, .cut = od_cut,            \
        .will_need = od_will_need, .parse = od_parse, .set_block = od_set_block,                   \
        .columns = od_columns, .block_rows = od_block_rows, .hands = od_hands,                     \
        .hand_bytes = od_hand_bytes, .raw_clear = od_raw_clear, .kinds = od_kinds,                 \
        .prepare = (prepare_), .kept = od_kept, .typed = true,                                     \
    }

const cr_reader_type cr_reader_odps = READER("OdpsDataset", od_open, od_prepare);
const cr_reader_type cr_reader_odps_v1 = READER("OdpsDatasetV1", od_open_v1, od_prepare_v1);
