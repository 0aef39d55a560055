/*
 * ctr_rows.c - growing tables whose rows have a CTR accessor (ctr.h). Brief rows and extended ones
 * lie in two tables of their own, and the row number in the key map says in which: so an id that
 * never becomes worth its second part never pays for it. Lookups copy rows, because the second part
 * of a brief one is nowhere.
 *
 * A row is extended behind the gradients of the step in which it has earned that, by one thread: a
 * push only notes its key. So the order of threads changes nothing but row numbers, on which
 * nothing depends.
 */
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "emb/grow_int.h"

#define SOME 64 /* rows that are searched at a time */
static const char what[] = "rows of a table with an accessor";

static int64_t width_x(const cr_grow *g) {
    return g->spec.D - CR_CTR_HEAD;
}
static bool is_brief(int64_t row) {
    return row >= GROW_BRIEF;
}
static cr_ctr_row row_at(const cr_grow *g, int64_t row) {
    return cr_ctr_at(&g->rules.ctr, width_x(g), is_brief(row), cr_brief_record(g, row));
}
/* The stream of an id's first values. */
static uint64_t stream_of(const cr_grow *g, int64_t key) {
    return cr_rng_sub(g->brief->key, (uint64_t)cr_key_id(key));
}

/* ---- rows ---- */

static cr_code new_brief(cr_grow *g, int64_t *row, cr_err *err) {
    grow_brief *b = g->brief;
    if (b->unused.n > 0) {
        *row = GROW_BRIEF + b->unused.row;
        grow_take_record(&b->rows, &b->unused);
        return CR_OK;
    }
    if (b->n_made > CR_KEYMAP_ROWS - GROW_BRIEF)
        return cr_fail(err, CR_ERUN,
                       "table %s is full: it has %lld rows in this process; use more ranks, or "
                       "shrink it more often",
                       g->spec.name, (long long)g->map.n);
    size_t used = grow_used(&b->rows, b->n_made + 1);
    if (cr_grow_soon(used, b->rows.size)) {
        cr_code code = cr_grow_extend(&b->rows, err);
        if (b->n_made >= b->rows.n_rows) return code;
    }
    grow_fresh fresh = grow_fresh_rows(&b->rows, b->n_made + 1, &b->touched);
    cr_grow_touch(&g->map, &fresh, 1);
    *row = GROW_BRIEF + b->n_made++;
    return CR_OK;
}

cr_code cr_brief_add(cr_grow *g, int64_t key, bool brief, int64_t *row, cr_err *err) {
    CR_TRY(brief ? new_brief(g, row, err) : cr_grow_take_row(g, row, err));
    cr_code code = cr_keymap_add(&g->map, (uint64_t)key, *row, err);
    if (code != CR_OK) {
        cr_brief_drop(g, *row);
        return code;
    }
    int64_t n = cr_ctr_floats(&g->rules.ctr, width_x(g), brief);
    memset(cr_brief_record(g, *row), 0, (size_t)n * sizeof(float));
    row_at(g, *row).days[CR_CTR_UNSEEN] = CR_CTR_UNBORN;
    return CR_OK;
}

void cr_brief_drop(cr_grow *g, int64_t row) {
    grow_brief *b = g->brief;
    if (is_brief(row))
        grow_drop_record(&b->rows, &b->unused, row - GROW_BRIEF);
    else
        grow_drop_record(&g->rows, &g->unused, row);
}

void cr_brief_copy(const cr_grow *g, const int64_t *row, int64_t n, char *rows, size_t step) {
    size_t all = (size_t)g->spec.D * sizeof(float), head = CR_CTR_HEAD * sizeof(float);
    for (int64_t k = 0; k < n; k++)
        cr_fetch(cr_brief_record(g, row[k]), (int64_t)(is_brief(row[k]) ? head : all), g->learns);
    for (int64_t k = 0; k < n; k++) {
        char *to = rows + (size_t)k * step;
        size_t has = is_brief(row[k]) ? head : all;
        memcpy(to, cr_brief_record(g, row[k]), has);
        memset(to + has, 0, all - has);
    }
}

uint32_t cr_brief_shows(const cr_grow *g, int64_t row) {
    float show = cr_brief_record(g, row)[CR_CTR_SHOW];
    return show < (float)UINT32_MAX ? (uint32_t)(show > 0 ? show : 0) : UINT32_MAX;
}

/* ---- the second part ---- */

/* Gives the row of a key its second part. */
static cr_code extend_row(cr_grow *g, int64_t key, int64_t old, cr_err *err) {
    int64_t row;
    CR_TRY(cr_grow_take_row(g, &row, err));
    (void)cr_keymap_remove(&g->map, (uint64_t)key);
    CR_TRY(cr_keymap_add(&g->map, (uint64_t)key, row, err));
    cr_ctr_row from = row_at(g, old), to = row_at(g, row);
    int64_t n = cr_ctr_state(g->rules.ctr.embed.kind, 1);
    memcpy(to.head, from.head, CR_CTR_HEAD * sizeof(float));
    memcpy(to.days, from.days, CR_CTR_DAYS * sizeof(float));
    memcpy(to.embed_state, from.embed_state, (size_t)n * sizeof(float));
    cr_ctr_extend(&g->rules.ctr, width_x(g), to, stream_of(g, key));
    cr_brief_drop(g, old);
    return CR_OK;
}

cr_code cr_brief_settle(cr_grow *g, cr_err *err) {
    grow_brief *b = g->brief;
    if (b->failed.code != CR_OK) {
        if (err) cr_err_copy(err, &b->failed);
        return b->failed.code;
    }
    for (; b->n_due > 0; b->n_due--) {
        int64_t key = b->due[b->n_due - 1], row = cr_keymap_find(&g->map, (uint64_t)key);
        if (row >= 0 && is_brief(row)) CR_TRY(extend_row(g, key, row, err));
    }
    g->n_ids = 0; /* rows have other numbers now */
    return CR_OK;
}

/* Nobody here could be told of a failure: the next step tells it. */
static void end(void *ctx) {
    cr_grow *g = ctx;
    if (g->brief->n_due > 0 && g->brief->failed.code == CR_OK) {
        cr_err err = {0};
        if (cr_brief_settle(g, &err) != CR_OK) cr_err_copy(&g->brief->failed, &err);
    }
}

/* Pushes n <= SOME gradients. */
/* Notes a key whose row has earned its second part. */
static void note_due(grow_brief *b, int64_t key) {
    if (b->n_due == b->cap_due) {
        int64_t more = b->cap_due ? 2 * b->cap_due : 64;
        b->due = cr_realloc(b->due, (size_t)b->n_due * sizeof(int64_t),
                            (size_t)more * sizeof(int64_t), what);
        b->cap_due = more;
    }
    b->due[b->n_due++] = key;
}

static void push_some(cr_grow *g, const int64_t *id, const float *grad, int64_t n) {
    grow_brief *b = g->brief;
    int64_t row[SOME];
    cr_keymap_find_all(&g->map, id, n, row);
    for (int64_t k = 0; k < n; k++)
        if (row[k] >= 0)
            cr_fetch(cr_brief_record(g, row[k]),
                     (is_brief(row[k]) ? b->rows.stride : g->rows.stride) * (int64_t)sizeof(float),
                     true);
    for (int64_t k = 0; k < n; k++) {
        if (row[k] < 0) continue; /* it was dropped since it was looked up */
        if (!cr_ctr_push(&g->rules.ctr, width_x(g), row_at(g, row[k]), stream_of(g, id[k]),
                         grad + k * g->spec.D))
            continue;
        pthread_mutex_lock(&b->lock);
        note_due(b, id[k]);
        pthread_mutex_unlock(&b->lock);
    }
}

static void take(void *ctx, const cr_row_grads *r, float *scratch) {
    cr_grow *g = ctx;
    (void)scratch;
    for (int64_t i = 0; i < r->n; i += SOME)
        push_some(g, r->id + i, r->g + i * g->spec.D, r->n - i < SOME ? r->n - i : SOME);
}

/* ---- the table ---- */

cr_code cr_brief_open(cr_grow *g, cr_err *err) {
    cr_table_spec spec = g->spec;
    CR_ASSERT(!spec.half && width_x(g) >= 0);
    spec.D = cr_ctr_floats(&g->rules.ctr, width_x(g), true);
    spec.optim = NULL;
    g->brief = cr_alloc(sizeof *g->brief, what);
    *g->brief = (grow_brief){.key = cr_rng_key(g->seed, "init", g->spec.name)};
    pthread_mutex_init(&g->brief->lock, NULL);
    CR_TRY(cr_table_open(&g->brief->rows, &spec, err));
    g->owner.find = NULL;
    g->owner.counts = NULL;
    g->owner.sink = (cr_sink){.ctx = g, .take = take, .end = end};
    return CR_OK;
}

void cr_brief_clear(cr_grow *g) {
    grow_brief *b = g->brief;
    if (!b) return;
    cr_table_clear(&b->rows);
    pthread_mutex_destroy(&b->lock);
    cr_free(b->due);
    cr_free(b);
    g->brief = NULL;
}

int64_t cr_brief_bytes(const cr_grow *g) {
    return g->brief->n_made * g->brief->rows.stride * (int64_t)sizeof(float);
}

const cr_ctr_rules *cr_grow_ctr(const cr_grow *g) {
    return g->brief ? &g->rules.ctr : NULL;
}

int64_t cr_grow_extended(const cr_grow *g) {
    return g->n_made - 1 - g->unused.n;
}

/* ---- all rows ---- */

/* Keys, or ids with their number of a file, of some rows. */
typedef struct found {
    int64_t part, id;
} found;
typedef struct looking {
    cr_grow *g;
    cr_ctr_mode mode;
    int64_t shards;
    found *v;
    int64_t n;
} looking;

static cr_code look(looking *l, void (*f)(void *, uint64_t, int64_t), cr_err *err) {
    void *p;
    CR_TRY(cr_try_alloc(&p, cr_bytes(l->g->map.n + 1, sizeof(found)), what, err));
    l->v = p;
    cr_keymap_each(&l->g->map, f, l);
    return CR_OK;
}

static void shrink_row(void *ctx, uint64_t key, int64_t row) {
    looking *l = ctx;
    cr_ctr_row r = row_at(l->g, row);
    if (cr_ctr_shrink(&l->g->rules.ctr, r) || r.days[CR_CTR_UNSEEN] == CR_CTR_UNBORN)
        l->v[l->n++].id = (int64_t)key;
}

cr_code cr_grow_shrink(cr_grow *g, int64_t *gone, cr_err *err) {
    looking l = {.g = g};
    CR_TRY(cr_brief_settle(g, err));
    CR_TRY(look(&l, shrink_row, err));
    for (int64_t i = 0; i < l.n; i++)
        (void)cr_grow_drop(g, l.v[i].id);
    cr_free(l.v);
    *gone = l.n;
    return CR_OK;
}

static void list_row(void *ctx, uint64_t key, int64_t row) {
    looking *l = ctx;
    int64_t id = cr_key_id((int64_t)key);
    if (cr_ctr_saves(&l->g->rules.ctr, row_at(l->g, row), l->mode))
        l->v[l->n++] = (found){id % l->shards, id};
}

static int by_part(const void *pa, const void *pb) {
    const found *a = pa, *b = pb;
    if (a->part != b->part) return a->part < b->part ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

cr_code cr_grow_listed(const cr_grow *g, cr_ctr_mode mode, int64_t shards, int64_t **ids,
                       int64_t *n, cr_err *err) {
    looking l = {.g = (cr_grow *)(uintptr_t)g, .mode = mode, .shards = shards};
    void *p;
    CR_TRY(look(&l, list_row, err));
    cr_code code = cr_try_alloc(&p, cr_bytes(l.n + 1, sizeof(int64_t)), what, err);
    if (code == CR_OK) {
        qsort(l.v, (size_t)l.n, sizeof(found), by_part);
        *ids = p;
        *n = l.n;
        for (int64_t i = 0; i < l.n; i++)
            (*ids)[i] = l.v[i].id;
    }
    cr_free(l.v);
    return code;
}

void cr_grow_write(const cr_grow *g, int64_t id, cr_buf *out) {
    int64_t row = cr_keymap_find(&g->map, (uint64_t)cr_key_of(id));
    CR_ASSERT(row >= 0);
    cr_ctr_write(&g->rules.ctr, width_x(g), id, row_at(g, row), out);
}

static void note_row(void *ctx, uint64_t key, int64_t row) {
    const looking *l = ctx;
    cr_ctr_row r = row_at(l->g, row);
    (void)key;
    if (cr_ctr_saves(&l->g->rules.ctr, r, l->mode)) cr_ctr_saved(r, l->mode);
}

void cr_grow_noted(cr_grow *g, cr_ctr_mode mode) {
    cr_keymap_each(&g->map, note_row, &(looking){.g = g, .mode = mode});
}

cr_code cr_grow_read(cr_grow *g, int64_t id, const float *record, bool brief, cr_err *err) {
    int64_t key = cr_key_of(id), row, X = width_x(g);
    const cr_ctr_rules *r = &g->rules.ctr;
    if (key < g->key0 || key >= g->key_end) return CR_OK;
    (void)cr_grow_drop(g, key);
    CR_TRY(cr_brief_add(g, key, brief, &row, err));
    /* the record was read as one that is not brief; it is only read here */
    cr_ctr_row to = row_at(g, row), from = cr_ctr_at(r, X, false, (float *)(uintptr_t)record);
    memcpy(to.head, from.head, CR_CTR_HEAD * sizeof(float));
    memcpy(to.days, from.days, CR_CTR_DAYS * sizeof(float));
    memcpy(to.embed_state, from.embed_state,
           (size_t)cr_ctr_state(r->embed.kind, 1) * sizeof(float));
    if (brief) return CR_OK;
    memcpy(to.embedx, from.embedx, (size_t)X * sizeof(float));
    memcpy(to.embedx_state, from.embedx_state,
           (size_t)cr_ctr_state(r->embedx.kind, X) * sizeof(float));
    return CR_OK;
}

/* ---- checkpoints ---- */

cr_ctr_plane cr_ctr_plane_of(const cr_ctr_rules *r, int64_t X, int k) {
    const cr_ctr_plane planes[CR_CTR_PLANES] = {
        {"unseen_days", 1},
        {"delta_score", 1},
        {"embed_state", cr_ctr_state(r->embed.kind, 1)},
        {"embedx_state", cr_ctr_state(r->embedx.kind, X)},
    };
    return planes[k];
}

/* Finds n floats from column col on of a plane. *has becomes how many of them there are. NULL: the
 * row does not lie here. */
static float *plane_at(const cr_grow *g, int64_t row, int plane, int64_t col, int64_t n,
                       int64_t *has) {
    int64_t k = row - g->first;
    if (k < 0 || k >= g->n_order || g->order[k] < 0) return NULL;
    cr_ctr_row r = row_at(g, g->order[k]);
    int64_t most = is_brief(g->order[k]) ? CR_CTR_HEAD - col : n;
    *has = n;
    switch (plane) {
    case 0: return r.days + CR_CTR_UNSEEN;
    case 1: return r.days + CR_CTR_DELTA;
    case 2: return r.embed_state + col;
    case 3:
        if (!r.embedx_state) *has = 0;
        return r.embedx_state ? r.embedx_state + col : r.head;
    default: *has = most < 0 ? 0 : most < n ? most : n; return r.head + (*has > 0 ? col : 0);
    }
}

bool cr_grow_get(cr_grow *g, int64_t row, int plane, int64_t col, int64_t n, float *out) {
    int64_t has;
    const float *v = plane_at(g, row, plane, col, n, &has);
    if (!v) return false;
    memcpy(out, v, (size_t)has * sizeof(float));
    memset(out + has, 0, (size_t)(n - has) * sizeof(float));
    return true;
}

bool cr_grow_put(cr_grow *g, int64_t row, int plane, int64_t col, int64_t n, const float *in) {
    int64_t has;
    float *v = plane_at(g, row, plane, col, n, &has);
    if (!v) return false;
    memcpy(v, in, (size_t)has * sizeof(float));
    return true;
}
