/*
 * delta.c - see delta.h. Each process notes the distinct ids of its own batches. For a dump all
 * learn of all ids, and each writes the rows that it holds. So a dump has every row once, and its
 * rows do not depend on who had which id.
 *
 * An id of a table with zch is the value's own, and its vector is what the model has for it now:
 * its row, or the shared one when it has lost it. Of a growing table only ids with rows are there.
 */
#include "train/delta.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/log.h"
#include "data/pq/sink.h"
#include "emb/grow.h"
#include "kern/kern.h"
#include "model/model.h"
#include "op/input.h"

#define ROWS 4096 /* rows that are written at a time */
static const char what[] = "ids of changed rows";
static const char source[] = "model_delta_tracker"; /* TorchEasyRec's word for it */

/* Ids of a table, each once. */
typedef struct noted {
    cr_keymap at;
    int64_t *id;
    int64_t n, cap;
} noted;

struct cr_delta {
    cr_job *j;
    const cr_delta_conf *conf;
    cr_arena arena;
    const char *dir;
    noted *v; /* by table */
    const char **feature, **name;
    bool failed;
    cr_err err; /* of a note that had nowhere to tell it */
};

/* ---- noting ---- */

static cr_code add_id(noted *t, int64_t id, cr_err *err) {
    if (t->n == t->cap) {
        int64_t cap = t->cap ? 2 * t->cap : 1024;
        void *p;
        CR_TRY(cr_try_alloc(&p, cr_bytes(cap, sizeof(int64_t)), what, err));
        if (t->n > 0) memcpy(p, t->id, cr_bytes(t->n, sizeof(int64_t)));
        cr_free(t->id);
        t->id = p;
        t->cap = cap;
    }
    CR_TRY(cr_keymap_add(&t->at, (uint64_t)id, t->n, err));
    t->id[t->n++] = id;
    return CR_OK;
}

static cr_code add_ids(noted *t, const int64_t *id, int64_t n, cr_err *err) {
    int64_t found[256];
    for (int64_t i = 0; i < n; i += 256) {
        int64_t some = n - i < 256 ? n - i : 256;
        cr_keymap_find_all(&t->at, id + i, some, found);
        for (int64_t k = 0; k < some; k++)
            if (found[k] < 0 && cr_keymap_find(&t->at, (uint64_t)id[i + k]) < 0)
                CR_TRY(add_id(t, id[i + k], err));
    }
    return CR_OK;
}

static int number_of(const cr_delta *d, const cr_model_table *t) {
    int i = 0;
    while (d->j->model->tables[i] != t)
        i++;
    return i;
}

/* The vectors of both ids are others now. */
static void moved(void *ctx, const cr_model_table *t, int64_t came, int64_t left) {
    cr_delta *d = ctx;
    noted *to = &d->v[number_of(d, t)];
    cr_code code = add_ids(to, &came, 1, &d->err);
    if (code == CR_OK && left != INT64_MAX) code = add_ids(to, &left, 1, &d->err);
    d->failed |= code != CR_OK;
}

cr_code cr_delta_note(cr_delta *d, const cr_batch *b, const cr_updater *up, cr_err *err) {
    const cr_model *m = d->j->model;
    if (d->failed) {
        cr_err_copy(err, &d->err);
        return err->code;
    }
    for (int i = 0; i < m->n_tables; i++) {
        const cr_model_table *t = m->tables[i];
        if (t->updater < 0) continue;
        if (!t->map) {
            const cr_group *g = cr_updater_ids(up, t->updater);
            CR_TRY(add_ids(&d->v[i], g->id, g->n_uniq, err));
            continue;
        }
        for (int k = 0; k < m->n_mapped; k++)
            if (m->mapped[k].t == t)
                CR_TRY(add_ids(&d->v[i], b->sparse[m->mapped[k].slot].ids,
                               cr_group_ids(b, m->mapped[k].slot), err));
    }
    return CR_OK;
}

/* ---- all ids ---- */

static int by_id(const void *pa, const void *pb) {
    int64_t a = *(const int64_t *)pa, b = *(const int64_t *)pb;
    return a < b ? -1 : a > b;
}

/* Collective: lists the ids of all processes, ascending, each once. *out is freed by the caller. */
static cr_code all_ids(const cr_delta *d, int table, int64_t **out, int64_t *n, cr_err *err) {
    const cr_meet *meet = d->j->meet;
    const noted *t = &d->v[table];
    int holders = meet ? meet->n : 1, self = meet ? meet->self : 0;
    size_t *at = cr_alloc((size_t)(holders + 1) * sizeof(*at), what);
    int64_t *counts = cr_alloc((size_t)holders * sizeof(*counts), what), all = 0;
    void *p;
    for (int h = 0; h <= holders; h++)
        at[h] = (size_t)h * sizeof(*counts);
    counts[self] = t->n;
    if (meet) meet->gather(meet->ctx, counts, at);
    for (int h = 0; h < holders; h++) {
        at[h] = (size_t)all * sizeof(int64_t);
        all += counts[h];
    }
    at[holders] = (size_t)all * sizeof(int64_t);
    cr_code code = cr_try_alloc(&p, at[holders] + sizeof(int64_t), what, err);
    if (code == CR_OK) {
        int64_t *v = p, distinct = 0;
        if (t->n > 0) memcpy((char *)p + at[self], t->id, (size_t)t->n * sizeof(int64_t));
        if (meet) meet->gather(meet->ctx, p, at);
        bool keys = d->j->model->tables[table]->grows; /* files hold ids */
        for (int64_t i = 0; keys && i < all; i++)
            v[i] = cr_key_id(v[i]);
        qsort(v, (size_t)all, sizeof(*v), by_id);
        for (int64_t i = 0; i < all; i++)
            if (i == 0 || v[i] != v[i - 1]) v[distinct++] = v[i];
        *out = v;
        *n = distinct;
    }
    cr_free(counts);
    cr_free(at);
    return code;
}

/* ---- rows ---- */

/* Reads the vector of an id; false: it has none, or lies with another process. */
static bool row_of(const cr_delta *d, const cr_model_table *t, int64_t id, float *w) {
    const cr_owner *o = t->table.owner;
    const cr_meet *meet = d->j->meet;
    cr_table *tab;
    int64_t row = id;
    if (t->grows) {
        row = o->grow ? cr_grow_row(o->grow, cr_key_of(id), &tab) : -1;
        if (row >= 0) cr_table_get(tab, row, w);
        return row >= 0;
    }
    if (t->map) cr_zch_find(t->map, &id, 1, &row, NULL);
    if (!o) { /* every process has all of it */
        if (meet && meet->self != cr_meet_first(meet)) return false;
        cr_table_get(&t->table, row, w);
        return true;
    }
    for (int k = 0; k < o->n_held; k++) {
        const cr_table *h = &o->held[k];
        if (row < h->row0 || row - h->row0 >= h->n_rows) continue;
        cr_table_get(h, row - h->row0, w);
        return true;
    }
    return false;
}

bool cr_delta_pack(const float *w, int64_t n, int32_t *out) {
    const float most = 65504; /* the largest 16-bit float */
    float min = w[0], max = w[0], offset, scale, v;
    uint16_t bits[2]; /* scale, offset */
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(w[i])) return false;
        if (w[i] < min) min = w[i];
        if (w[i] > max) max = w[i];
    }
    if (fabsf(min) > most) return false;
    cr_kern->to16(&bits[1], &min, 1, CR_HALF_FP16);
    cr_kern->from16(&offset, &bits[1], 1, CR_HALF_FP16);
    if (fabs((double)max - (double)offset) > (double)most * 255) return false;
    float range = max - offset;
    v = range != 0 ? range / 255.0F : 1;
    cr_kern->to16(&bits[0], &v, 1, CR_HALF_FP16);
    cr_kern->from16(&scale, &bits[0], 1, CR_HALF_FP16);
    if (scale == 0) {
        scale = 1;
        cr_kern->to16(&bits[0], &scale, 1, CR_HALF_FP16);
    }
    for (int64_t i = 0; i < n; i++) {
        float q = rintf((w[i] - offset) / scale);
        out[i] = q < 0 ? 0 : q > 255 ? 255 : (int32_t)q;
    }
    for (int k = 0; k < 2; k++) {
        out[n + 2 * k] = bits[k] & 255;
        out[n + 2 * k + 1] = bits[k] >> 8;
    }
    return true;
}

/* ---- a file ---- */

enum { STEP, RANK, WORLD, FEATURE, TABLE, KEY, VECTOR, SOURCE, N_COLS };

/* Rows on their way into the file. */
typedef struct out_rows {
    cr_pq_sink *sink;
    cr_column col[N_COLS];
    int64_t step[ROWS], key[ROWS], n, all;
    int32_t rank[ROWS], world[ROWS], off[ROWS + 1];
    uint32_t beg[ROWS], end[3][ROWS];
    float *f32;
    int32_t *u8;
} out_rows;

static cr_code open_file(cr_pq_sink **out, const char *path, bool int8, cr_err *err) {
    static const struct {
        const char *name;
        cr_coltype type;
    } v[N_COLS] = {{"global_step", CR_COL_I64}, {"rank", CR_COL_I32},
                   {"world_size", CR_COL_I32},  {"feature_name", CR_COL_STR},
                   {"table_fqn", CR_COL_STR},   {"key_id", CR_COL_I64},
                   {"embedding", CR_COL_F32},   {"source", CR_COL_STR}};
    cr_sink_col cols[N_COLS];
    for (int k = 0; k < N_COLS; k++)
        cols[k] = (cr_sink_col){.name = v[k].name, .kind = {.type = v[k].type, .key = -1}};
    cols[VECTOR].kind.depth = 1;
    if (int8) cols[VECTOR].kind.type = CR_COL_I32;
    cols[VECTOR].bytes = int8;
    cr_pq_write_opts o = {.codec = CR_PQ_SNAPPY};
    return cr_pq_sink_open(out, path, cols, N_COLS, &o, err);
}

static cr_code flush(out_rows *o, cr_err *err) {
    const cr_column *cols[N_COLS];
    for (int k = 0; k < N_COLS; k++)
        cols[k] = &o->col[k];
    if (o->n > 0) CR_TRY(cr_pq_sink_write(o->sink, cols, o->n, err));
    o->n = 0;
    return CR_OK;
}

static cr_column text(const out_rows *o, const char *bytes, const uint32_t *end) {
    return (cr_column){.type = CR_COL_STR, .bytes = bytes, .beg = o->beg, .end = end};
}

/* Writes the rows of one table that this process holds. */
static cr_code write_table(cr_delta *d, int i, out_rows *o, cr_err *err) {
    const cr_model_table *t = d->j->model->tables[i];
    bool int8 = d->conf->quant_type == CR_DELTA_INT8;
    int64_t *id = NULL, n = 0, width = t->D + (int8 ? 4 : 0), room = ROWS * width;
    float *w = cr_alloc((size_t)(t->D + room + 1) * sizeof(float), what);
    int32_t *u8 = cr_alloc((size_t)(int8 ? room : 1) * sizeof(int32_t), what);
    cr_code code = all_ids(d, i, &id, &n, err);
    const char *texts[3] = {d->feature[i], d->name[i], source};
    for (int64_t k = 0; k < ROWS; k++) {
        for (int x = 0; x < 3; x++)
            o->end[x][k] = (uint32_t)strlen(texts[x]);
        o->off[k + 1] = (int32_t)((k + 1) * width);
    }
    o->col[FEATURE] = text(o, texts[0], o->end[0]);
    o->col[TABLE] = text(o, texts[1], o->end[1]);
    o->col[SOURCE] = text(o, texts[2], o->end[2]);
    o->col[VECTOR] = (cr_column){.depth = 1, .row_off = o->off};
    o->col[VECTOR].type = int8 ? CR_COL_I32 : CR_COL_F32;
    if (int8)
        o->col[VECTOR].v.i32 = u8;
    else
        o->col[VECTOR].v.f32 = w + t->D;
    for (int64_t k = 0; code == CR_OK && k < n; k++) {
        if (!row_of(d, t, id[k], w)) continue;
        if (!int8)
            memcpy(w + t->D + o->n * width, w, (size_t)t->D * sizeof(float));
        else if (!cr_delta_pack(w, t->D, u8 + o->n * width))
            code = cr_fail(err, CR_ERUN,
                           "delta_embedding_dump_config: the row of id %lld of table '%s' is not "
                           "finite, or too large for a scale and an offset of 16 bits; set "
                           "quant_type to DELTA_EMBEDDING_QUANT_NONE",
                           (long long)id[k], t->short_name);
        o->key[o->n++] = id[k];
        o->all++;
        if (code == CR_OK && o->n == ROWS) code = flush(o, err);
    }
    if (code == CR_OK) code = flush(o, err);
    cr_free(id);
    cr_free(u8);
    cr_free(w);
    return code;
}

/* Makes the folder of a dump, and the name of this process's file. */
static cr_code path_of(cr_delta *d, int64_t step, int rank, int world, const char **out,
                       cr_err *err) {
    const char *dir = d->dir, *prefix = d->conf->file_prefix;
    if (world > 1) dir = cr_arena_printf(&d->arena, "%s/step_%lld", dir, (long long)step);
    CR_TRY(cr_mkdirs(dir, err));
    *out = world == 1
               ? cr_arena_printf(&d->arena, "%s/%s_step_%lld.parquet", dir, prefix, (long long)step)
               : cr_arena_printf(&d->arena, "%s/%s_step_%lld_rank_%d_of_%d.parquet", dir, prefix,
                                 (long long)step, rank, world);
    return CR_OK;
}

cr_code cr_delta_write(cr_delta *d, int64_t step, cr_err *err) {
    const cr_meet *meet = d->j->meet;
    int rank = meet ? meet->self : 0, world = meet ? meet->n : 1;
    const char *path = "";
    out_rows *o = cr_alloc(sizeof(*o), what);
    cr_code code = path_of(d, step, rank, world, &path, err);
    if (code == CR_OK) code = open_file(&o->sink, path, d->conf->quant_type == CR_DELTA_INT8, err);
    for (int k = 0; k < ROWS; k++) {
        o->step[k] = step;
        o->rank[k] = rank;
        o->world[k] = world;
    }
    o->col[STEP] = (cr_column){.type = CR_COL_I64, .v.i64 = o->step};
    o->col[RANK] = (cr_column){.type = CR_COL_I32, .v.i32 = o->rank};
    o->col[WORLD] = (cr_column){.type = CR_COL_I32, .v.i32 = o->world};
    o->col[KEY] = (cr_column){.type = CR_COL_I64, .v.i64 = o->key};
    for (int i = 0; code == CR_OK && i < d->j->model->n_tables; i++)
        if (d->j->model->tables[i]->updater >= 0) code = write_table(d, i, o, err);
    /* without rows there is no file, but a set of several is whole */
    if (code == CR_OK && (o->all > 0 || world > 1)) code = cr_pq_sink_finish(o->sink, err);
    if (code == CR_OK && o->all > 0)
        CR_DEBUG("Dumped %lld delta embedding rows to %s.", (long long)o->all, path);
    cr_pq_sink_free(o->sink);
    cr_free(o);
    for (int i = 0; i < d->j->model->n_tables; i++) {
        cr_keymap_reset(&d->v[i].at);
        d->v[i].n = 0;
    }
    return code;
}

/* ---- life ---- */

/* The features that read a table, as they stand in the config. */
static const char *features_of(const cr_delta *d, const cr_model_table *t, cr_arena *a) {
    const cr_model *m = d->j->model;
    const cr_features *fs = d->j->features;
    cr_buf b;
    cr_buf_init(&b);
    for (int i = 0; i < fs->n; i++) {
        bool reads = false;
        if (!fs->v[i]->sparse) continue;
        for (int k = 0; k < t->n_uses && !reads; k++) {
            int n;
            const cr_look *v = cr_lookup_pieces(t->uses[k].node, &n) + t->uses[k].piece;
            reads = cr_model_feature_slot(m, v->slot) == fs->v[i]->slot;
        }
        if (reads) cr_buf_printf(&b, "%s%s", b.n ? "," : "", fs->v[i]->name);
    }
    const char *text = cr_arena_strndup(a, b.data ? b.data : "", b.n);
    cr_buf_clear(&b);
    return text;
}

static cr_code check_table(const cr_delta *d, const cr_model_table *t, cr_err *err) {
    const cr_placing *p = t->placing;
    for (int k = 0; p && k < p->n; k++)
        if (p->shards[k].col != 0 || p->shards[k].col_end != t->D)
            return cr_fail_at(err, CR_ECONF,
                              cr_conf_at(d->j->root->train_config, "delta_embedding_dump_config"),
                              "delta_embedding_dump_config: table '%s' is cut by columns, and a "
                              "dump has whole rows; set global_embedding_constraints "
                              "{sharding_types: [\"table_wise\", \"row_wise\", \"data_parallel\"]}",
                              t->short_name);
    if (d->conf->quant_type == CR_DELTA_INT8 && t->D % 2 != 0)
        return cr_fail_at(err, CR_ECONF, cr_conf_at(d->conf, "quant_type"),
                          "quant_type DELTA_EMBEDDING_QUANT_INT8 needs rows of an even width, and "
                          "embedding_dim of table '%s' is %lld; change it, or write floats",
                          t->short_name, (long long)t->D);
    return CR_OK;
}

cr_code cr_delta_new(cr_delta **out, cr_job *j, cr_err *err) {
    const cr_delta_conf *conf = j->root->train_config->delta_embedding_dump_config;
    cr_model *m = j->model;
    *out = NULL;
    if (!conf) return CR_OK;
    cr_delta *d = cr_alloc(sizeof(*d), what);
    *d = (cr_delta){.j = j, .conf = conf};
    cr_arena_init(&d->arena, 0);
    d->dir = *conf->output_dir
                 ? conf->output_dir
                 : cr_path_join(&d->arena, j->root->model_dir, "delta_embedding_dump");
    d->v = CR_NEW_N(&d->arena, noted, m->n_tables + 1);
    d->feature = CR_NEW_N(&d->arena, const char *, m->n_tables + 1);
    d->name = CR_NEW_N(&d->arena, const char *, m->n_tables + 1);
    cr_code code = CR_OK;
    for (int i = 0; i < m->n_tables; i++) {
        const char *name = m->tables[i]->table.name, *end = strrchr(name, '.');
        cr_keymap_init(&d->v[i].at, j->root->train_config->seed);
        d->feature[i] = features_of(d, m->tables[i], &d->arena);
        size_t n = end && strcmp(end, ".weight") == 0 ? (size_t)(end - name) : strlen(name);
        d->name[i] = cr_arena_strndup(&d->arena, name, n);
        if (code == CR_OK) code = check_table(d, m->tables[i], err);
    }
    if (code != CR_OK) {
        cr_delta_free(d);
        return code;
    }
    m->moved = moved;
    m->moved_ctx = d;
    *out = d;
    return CR_OK;
}

void cr_delta_free(cr_delta *d) {
    if (!d) return;
    for (int i = 0; i < d->j->model->n_tables; i++) {
        cr_keymap_clear(&d->v[i].at);
        cr_free(d->v[i].id);
    }
    d->j->model->moved = NULL;
    cr_arena_clear(&d->arena);
    cr_free(d);
}
