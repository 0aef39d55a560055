/*
 * grow.c - see grow.h. A row number is a block (upper bits) and a record in it (lower bits). Blocks
 * are ordinary tables of a fixed size, so records and rules are those of every table.
 *
 * The rows of a batch's keys are searched once, when they are fetched; the gradients that follow
 * name the same keys, at the same place in memory where one process has the whole batch.
 */
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "emb/grow_int.h"
#include "kern/kern.h"

#define BLOCK_BYTES ((int64_t)32 << 20) /* about; a block has at least MIN_ROWS records */
#define MIN_ROWS    1024
#define SOME        64   /* keys that are searched at a time */
#define PIECE       1024 /* keys that a thread takes at a time */

static cr_table *block_of(const cr_grow *g, int64_t row) {
    return &g->blocks[row >> g->shift];
}
static int64_t in_block(const cr_grow *g, int64_t row) {
    return row & (((int64_t)1 << g->shift) - 1);
}
static float *record_of(const cr_grow *g, int64_t row) {
    return cr_table_row(block_of(g, row), in_block(g, row));
}

cr_code cr_grow_room(void **p, int64_t *cap, int64_t n, size_t size, cr_err *err) {
    if (n <= *cap) return CR_OK;
    int64_t more = cr_add_i64(n, n / 4 + 64);
    void *q;
    CR_TRY(cr_try_alloc(&q, cr_bytes(more, size), "keys of a growing table", err));
    if (*cap > 0) memcpy(q, *p, cr_bytes(*cap, size));
    cr_free(*p);
    *p = q;
    *cap = more;
    return CR_OK;
}

/* ---- what is kept ---- */

static bool keeps_notes(const cr_grow_rules *r) {
    return r->counts || r->evict != CR_EVICT_NONE || r->interval > 0;
}

bool cr_grow_counts(const cr_grow_rules *r) {
    return keeps_notes(r) || r->admit > 1;
}

bool cr_grow_due(const cr_grow *g) {
    return g->learns && g->learned != g->now;
}

/* ---- rows ---- */

static cr_code add_block(cr_grow *g, cr_err *err) {
    if (g->n_blocks == g->cap_blocks) {
        int cap = g->cap_blocks ? 2 * g->cap_blocks : 8;
        g->blocks = cr_realloc(g->blocks, (size_t)g->n_blocks * sizeof(cr_table),
                               (size_t)cap * sizeof(cr_table), "blocks of a table");
        g->notes = cr_realloc(g->notes, (size_t)g->n_blocks * sizeof(grow_note *),
                              (size_t)cap * sizeof(grow_note *), "blocks of a table");
        g->cap_blocks = cap;
    }
    cr_table_spec spec = g->spec;
    void *notes = NULL;
    spec.n_rows = (int64_t)1 << g->shift;
    if (g->notes_kept)
        CR_TRY(cr_big_alloc(&notes, cr_bytes(spec.n_rows, sizeof(grow_note)), spec.name, err));
    cr_code code = cr_table_init(&g->blocks[g->n_blocks], &spec, err);
    if (code != CR_OK) {
        if (notes) cr_big_free(notes, cr_bytes(spec.n_rows, sizeof(grow_note)));
        return code;
    }
    g->notes[g->n_blocks++] = notes;
    return CR_OK;
}

/* Finds a record for a new key: one that a dropped key had, or the next. */
static cr_code take_row(cr_grow *g, int64_t *row, cr_err *err) {
    if (g->n_unused > 0) {
        *row = g->unused[g->n_unused - 1];
        return CR_OK;
    }
    if (g->n_made > CR_KEYMAP_ROWS)
        return cr_fail(err, CR_ERUN,
                       "table %s is full: it has %lld rows in this process; use more ranks, or "
                       "limit its rows",
                       g->spec.name, (long long)g->n_made);
    if (g->n_made >> g->shift == g->n_blocks) CR_TRY(add_block(g, err));
    *row = g->n_made;
    return CR_OK;
}

cr_code cr_grow_new_row(cr_grow *g, int64_t key, int64_t *row, cr_err *err) {
    CR_TRY(take_row(g, row, err));
    CR_TRY(cr_keymap_add(&g->map, (uint64_t)key, *row, err));
    if (g->n_unused > 0)
        g->n_unused--;
    else
        g->n_made++;
    if (g->fill) g->fill[cr_grow_bucket(g, key)]++;
    if (g->notes_kept) *grow_note_of(g, *row) = (grow_note){0, (uint32_t)g->now};
    cr_table_first(block_of(g, *row), in_block(g, *row), cr_key_id(key), &g->init, g->seed);
    return CR_OK;
}

float *cr_grow_record(const cr_grow *g, int64_t key) {
    int64_t row = cr_keymap_find(&g->map, (uint64_t)key);
    return row < 0 ? NULL : record_of(g, row);
}

cr_code cr_grow_make(cr_grow *g, int64_t key, float **record, cr_err *err) {
    int64_t row = cr_keymap_find(&g->map, (uint64_t)key);
    if (row < 0) CR_TRY(cr_grow_new_row(g, key, &row, err));
    *record = record_of(g, row);
    return CR_OK;
}

bool cr_grow_drop(cr_grow *g, int64_t key) {
    int64_t row = cr_keymap_remove(&g->map, (uint64_t)key);
    if (row < 0) return false;
    if (g->n_unused == g->cap_unused) {
        int64_t cap = g->cap_unused ? 2 * g->cap_unused : 64;
        g->unused = cr_realloc(g->unused, (size_t)g->n_unused * sizeof(int64_t),
                               (size_t)cap * sizeof(int64_t), "unused rows of a table");
        g->cap_unused = cap;
    }
    if (g->fill) g->fill[cr_grow_bucket(g, key)]--;
    g->unused[g->n_unused++] = row;
    return true;
}

float *cr_grow_at(const cr_grow *g, int64_t row, cr_table **block, int64_t *at) {
    int64_t k = row - g->first;
    if (k < 0 || k >= g->n_order || g->order[k] < 0) return NULL;
    *block = block_of(g, g->order[k]);
    *at = in_block(g, g->order[k]);
    return record_of(g, g->order[k]);
}

/* ---- the ids of a pass ---- */

typedef struct passing {
    cr_grow *g;
    const int64_t *id;
    const uint32_t *seg;
    int64_t n;
    bool learns;
    float *rows;
    int64_t stride;
} passing;

static void find_item(void *ctx, int64_t item, int thread) {
    (void)thread;
    const passing *p = ctx;
    cr_grow *g = p->g;
    int64_t i = item * PIECE, end = p->n - i < PIECE ? p->n : i + PIECE;
    cr_keymap_find_all(&g->map, p->id + i, end - i, g->row + i);
    for (; p->learns && g->notes_kept && i < end; i++) {
        if (g->row[i] < 0) continue;
        grow_note *n = grow_note_of(g, g->row[i]);
        n->count = grow_add(n->count, grow_unit(g) * (p->seg ? p->seg[i + 1] - p->seg[i] : 1));
        n->last = (uint32_t)g->now;
    }
}

static int64_t pieces(int64_t n) {
    return (n + PIECE - 1) / PIECE;
}

/* Finds the rows of n keys, and notes that they were seen. */
static cr_code find(passing *p, cr_err *err) {
    cr_grow *g = p->g;
    void *room = g->row;
    g->n_ids = 0;
    cr_code code = cr_grow_room(&room, &g->cap_row, p->n, sizeof(int64_t), err);
    g->row = room;
    CR_TRY(code);
    cr_pool_run(g->pool, pieces(p->n), find_item, p);
    g->ids = p->id;
    g->n_ids = p->n;
    return CR_OK;
}

/* Gives rows to all keys that have none. */
static cr_code make_all(cr_grow *g, const int64_t *id, const uint32_t *seg, int64_t n,
                        cr_err *err) {
    for (int64_t i = 0; i < n; i++) {
        if (g->row[i] >= 0) continue;
        CR_TRY(cr_grow_new_row(g, id[i], &g->row[i], err));
        if (g->notes_kept)
            grow_note_of(g, g->row[i])->count = grow_unit(g) * (seg ? seg[i + 1] - seg[i] : 1);
    }
    return CR_OK;
}

cr_code cr_grow_learn(cr_grow *g, const int64_t *id, const uint32_t *seg, int64_t n, cr_err *err) {
    passing p = {.g = g, .id = id, .seg = seg, .n = n, .learns = true};
    g->learned = g->now;
    CR_TRY(find(&p, err));
    return cr_grow_ruled(g) ? cr_grow_arrive(g, id, seg, n, g->row, err)
                            : make_all(g, id, seg, n, err);
}

/* Writes the weights of a row; row -1: those of an id without one. */
static void put_row(const cr_grow *g, int64_t row, char *to) {
    size_t bytes = (size_t)g->spec.D * (g->spec.half ? 2 : 4);
    if (row >= 0) {
        memcpy(to, record_of(g, row), bytes);
        return;
    }
    float v = g->rules.absent[g->learns];
    uint16_t small = 0;
    memset(to, 0, bytes);
    if (v == 0) return;
    if (g->spec.half) cr_kern->to16(&small, &v, 1, g->spec.half);
    for (int64_t d = 0; d < g->spec.D; d++)
        if (g->spec.half)
            memcpy(to + 2 * d, &small, sizeof(small));
        else
            memcpy(to + 4 * d, &v, sizeof(v));
}

static void copy_rows(const cr_grow *g, const int64_t *row, int64_t n, char *rows, size_t step) {
    for (int64_t k = 0; k < n; k++)
        if (row[k] >= 0) cr_fetch(record_of(g, row[k]), g->spec.D * 4, g->learns);
    for (int64_t k = 0; k < n; k++)
        put_row(g, row[k], rows + (size_t)k * step);
}

void cr_grow_copy(const cr_grow *g, const int64_t *id, int64_t n, char *rows, size_t step) {
    for (int64_t i = 0; i < n; i += SOME) {
        int64_t row[SOME], some = n - i < SOME ? n - i : SOME;
        cr_keymap_find_all(&g->map, id + i, some, row);
        copy_rows(g, row, some, rows + (size_t)i * step, step);
    }
}

static void copy_item(void *ctx, int64_t item, int thread) {
    (void)thread;
    const passing *p = ctx;
    for (int64_t i = item * PIECE, end = p->n - i < PIECE ? p->n : i + PIECE; i < end; i += SOME) {
        int64_t some = end - i < SOME ? end - i : SOME;
        size_t step = (size_t)p->stride * sizeof(float);
        char *to = (char *)p->rows + (size_t)i * step;
        if (p->learns)
            copy_rows(p->g, p->g->row + i, some, to, step);
        else
            cr_grow_copy(p->g, p->id + i, some, to, step);
    }
}

static void note_counts(void *ctx, const uint32_t *seg, bool ahead) {
    cr_grow *g = ctx;
    if (g->learns && !ahead) g->seg = seg; /* else any number of callers may be here */
}

static cr_code fetch(void *ctx, const int64_t *id, int64_t n, float *rows, int64_t stride,
                     bool asked, cr_err *err) {
    cr_grow *g = ctx;
    (void)asked;
    passing p = {.g = g, .id = id, .n = n, .rows = rows, .stride = stride, .learns = g->learns};
    /* several passes of a step have the same ids, which are learned once */
    if (cr_grow_due(g))
        CR_TRY(cr_grow_learn(g, id, g->seg, n, err));
    else if (g->learns)
        CR_TRY(find(&(passing){.g = g, .id = id, .n = n}, err));
    cr_pool_run(g->pool, pieces(n), copy_item, &p);
    return CR_OK;
}

/* An id without a row keeps none: its gradient goes nowhere. */
static void take(void *ctx, const cr_row_grads *r, float *scratch) {
    const cr_grow *g = ctx;
    int64_t some, at[SOME];
    for (int64_t i = 0; i < r->n; i += some) {
        const int64_t *id = r->id + i, *row = at;
        some = r->n - i < SOME ? r->n - i : SOME;
        size_t from = ((uintptr_t)id - (uintptr_t)g->ids) / sizeof(*id);
        if ((uintptr_t)id >= (uintptr_t)g->ids && from + (size_t)some <= (size_t)g->n_ids)
            row = g->row + from;
        else
            cr_keymap_find_all(&g->map, id, some, at);
        for (int64_t k = 0; k < some; k++)
            if (row[k] >= 0) cr_table_fetch(block_of(g, row[k]), in_block(g, row[k]));
        for (int64_t k = 0; k < some; k++)
            if (row[k] >= 0)
                cr_table_apply(block_of(g, row[k]), in_block(g, row[k]), cr_key_id(id[k]), r->step,
                               r->g + (i + k) * g->spec.D, scratch);
    }
}

cr_code cr_grow_step(cr_grow *g, cr_err *err) {
    g->now++;
    g->learns = true;
    return g->rules.interval > 0 ? cr_grow_look(g, err) : CR_OK;
}

void cr_grow_rest(cr_grow *g) {
    g->learns = false;
    g->n_ids = 0;
}

/* ---- the table ---- */

cr_code cr_grow_new(cr_grow **out, const cr_grow_opts *o, cr_err *err) {
    cr_grow *g = cr_alloc(sizeof(*g), "a growing table");
    *g = (cr_grow){.spec = *o->spec, .init = *o->init, .seed = o->seed, .pool = o->pool};
    if (o->rules) g->rules = *o->rules;
    g->notes_kept = keeps_notes(&g->rules);
    cr_keymap_init_mixed(&g->map);
    cr_keymap_init_mixed(&g->waits_at);
    cr_grow_buckets(g, o->shard);
    cr_table shape;
    cr_table_describe(&shape, o->spec, NULL);
    int64_t rows = BLOCK_BYTES / (shape.stride * (int64_t)sizeof(float));
    while ((int64_t)2 << g->shift <= (rows > MIN_ROWS ? rows : MIN_ROWS))
        g->shift++;
    g->owner = (cr_owner){.ctx = g,
                          .grow = g,
                          .counts = note_counts,
                          .fetch = fetch,
                          .sink = {.ctx = g, .scratch = cr_table_scratch(&shape), .take = take}};
    cr_code code = add_block(g, err);
    if (code != CR_OK) {
        cr_grow_free(g);
        return code;
    }
    *out = g;
    return CR_OK;
}

void cr_grow_free(cr_grow *g) {
    if (!g) return;
    for (int i = 0; i < g->n_blocks; i++) {
        cr_table_clear(&g->blocks[i]);
        if (g->notes[i]) cr_big_free(g->notes[i], sizeof(grow_note) << g->shift);
    }
    cr_keymap_clear(&g->map);
    cr_keymap_clear(&g->waits_at);
    cr_free(g->blocks);
    cr_free(g->notes);
    cr_free(g->unused);
    cr_free(g->fill);
    cr_free(g->waiting);
    cr_free(g->waits);
    cr_free(g->cand);
    cr_free(g->out);
    cr_free(g->row);
    cr_free(g->order);
    cr_free(g);
}

const cr_owner *cr_grow_owner(const cr_grow *g) {
    return &g->owner;
}

int64_t cr_grow_rows(const cr_grow *g) {
    return g->map.n;
}

int64_t cr_grow_bytes(const cr_grow *g) {
    int64_t records = 0;
    for (int i = 0; i < g->n_blocks; i++)
        records +=
            (int64_t)g->blocks[i].size + (g->notes[i] ? (int64_t)sizeof(grow_note) << g->shift : 0);
    return records + cr_keymap_bytes(&g->map) + cr_keymap_bytes(&g->waits_at);
}

int64_t cr_grow_row_bytes(const cr_grow_rules *r) {
    return 16 + (keeps_notes(r) ? (int64_t)sizeof(grow_note) : 0);
}
