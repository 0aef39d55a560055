/*
 * grow.c - see grow.h. A row number is a block (upper bits) and a record in it (lower bits). Blocks
 * are ordinary tables of a fixed size, so records and rules are those of every table.
 */
#include "emb/grow.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "emb/keymap.h"

#define BLOCK_BYTES ((int64_t)32 << 20) /* about; a block has at least MIN_ROWS records */
#define MIN_ROWS    1024
#define SOME        64 /* keys that are searched at a time */

struct cr_grow {
    cr_table_spec spec;
    cr_init init;
    uint64_t seed;
    bool learns;
    cr_keymap map;
    cr_table *blocks;
    int n_blocks, cap_blocks;
    int shift;       /* a block has 1 << shift records */
    int64_t n_made;  /* records that were ever used */
    int64_t *unused; /* those of dropped keys; the last one is used first */
    int64_t n_unused, cap_unused;
    cr_owner owner;
};

static cr_table *block_of(const cr_grow *g, int64_t row) {
    return &g->blocks[row >> g->shift];
}
static int64_t in_block(const cr_grow *g, int64_t row) {
    return row & (((int64_t)1 << g->shift) - 1);
}
static float *record_of(const cr_grow *g, int64_t row) {
    return cr_table_row(block_of(g, row), in_block(g, row));
}

static cr_code add_block(cr_grow *g, cr_err *err) {
    if (g->n_blocks == g->cap_blocks) {
        int cap = g->cap_blocks ? 2 * g->cap_blocks : 8;
        g->blocks = cr_realloc(g->blocks, (size_t)g->n_blocks * sizeof(cr_table),
                               (size_t)cap * sizeof(cr_table), "blocks of a table");
        g->cap_blocks = cap;
    }
    cr_table_spec spec = g->spec;
    spec.n_rows = (int64_t)1 << g->shift;
    CR_TRY(cr_table_init(&g->blocks[g->n_blocks], &spec, err));
    g->n_blocks++;
    return CR_OK;
}

/* Finds a record for a new key: one that a dropped key had, or the next. */
static cr_code take_row(cr_grow *g, int64_t *row, cr_err *err) {
    if (g->n_unused > 0) {
        *row = g->unused[g->n_unused - 1];
        return CR_OK;
    }
    int64_t most = g->spec.n_rows > 0 ? g->spec.n_rows : CR_KEYMAP_ROWS;
    if (g->n_made == most)
        return cr_fail(err, CR_ERUN, "table %s is full: it may have %lld rows; allow more",
                       g->spec.name, (long long)most);
    if (g->n_made >> g->shift == g->n_blocks) CR_TRY(add_block(g, err));
    *row = g->n_made;
    return CR_OK;
}

static cr_code make(cr_grow *g, int64_t key, int64_t *row, cr_err *err) {
    CR_TRY(take_row(g, row, err));
    CR_TRY(cr_keymap_add(&g->map, (uint64_t)key, *row, err));
    if (g->n_unused > 0)
        g->n_unused--;
    else
        g->n_made++;
    cr_table_first(block_of(g, *row), in_block(g, *row), key, &g->init, g->seed);
    return CR_OK;
}

static cr_code fetch(void *ctx, const int64_t *id, int64_t n, float *rows, int64_t stride,
                     bool asked, cr_err *err) {
    cr_grow *g = ctx;
    (void)asked;
    for (int64_t i = 0; i < n; i += SOME) {
        int64_t row[SOME], some = n - i < SOME ? n - i : SOME;
        cr_keymap_find_all(&g->map, id + i, some, row);
        for (int64_t k = 0; k < some; k++)
            if (row[k] >= 0) cr_fetch(record_of(g, row[k]), g->spec.D * 4, g->learns);
        for (int64_t k = 0; k < some; k++) {
            float *to = rows + (i + k) * stride;
            if (row[k] < 0 && g->learns) CR_TRY(make(g, id[i + k], &row[k], err));
            if (row[k] < 0)
                memset(to, 0, (size_t)stride * sizeof(float));
            else
                memcpy(to, record_of(g, row[k]),
                       (size_t)block_of(g, row[k])->n_weights * sizeof(float));
        }
    }
    return CR_OK;
}

/* Every key of a batch has its row since the fetch. */
static void take(void *ctx, const cr_row_grads *r, float *scratch) {
    const cr_grow *g = ctx;
    for (int64_t i = 0; i < r->n; i += SOME) {
        int64_t row[SOME], some = r->n - i < SOME ? r->n - i : SOME;
        cr_keymap_find_all(&g->map, r->id + i, some, row);
        for (int64_t k = 0; k < some; k++)
            if (row[k] >= 0) cr_table_fetch(block_of(g, row[k]), in_block(g, row[k]));
        for (int64_t k = 0; k < some; k++)
            if (row[k] >= 0)
                cr_table_apply(block_of(g, row[k]), in_block(g, row[k]), r->id[i + k], r->step,
                               r->g + (i + k) * g->spec.D, scratch);
    }
}

cr_code cr_grow_new(cr_grow **out, const cr_grow_opts *o, cr_err *err) {
    cr_grow *g = cr_alloc(sizeof(*g), "a growing table");
    *g = (cr_grow){.spec = *o->spec, .init = *o->init, .seed = o->seed, .learns = true};
    cr_keymap_init(&g->map, cr_rng_key(o->seed, "keys", o->spec->name));
    cr_table shape;
    cr_table_describe(&shape, o->spec, NULL);
    int64_t rows = BLOCK_BYTES / (shape.stride * (int64_t)sizeof(float));
    while ((int64_t)2 << g->shift <= (rows > MIN_ROWS ? rows : MIN_ROWS))
        g->shift++;
    g->owner = (cr_owner){.ctx = g,
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
    for (int i = 0; i < g->n_blocks; i++)
        cr_table_clear(&g->blocks[i]);
    cr_keymap_clear(&g->map);
    cr_free(g->blocks);
    cr_free(g->unused);
    cr_free(g);
}

const cr_owner *cr_grow_owner(const cr_grow *g) {
    return &g->owner;
}

void cr_grow_learns(cr_grow *g, bool learns) {
    g->learns = learns;
}

int64_t cr_grow_rows(const cr_grow *g) {
    return g->map.n;
}

static void note_key(void *ctx, uint64_t key, int64_t row) {
    int64_t **to = ctx;
    (void)row;
    *(*to)++ = (int64_t)key;
}
static int by_key(const void *a, const void *b) {
    uint64_t x = (uint64_t) * (const int64_t *)a, y = (uint64_t) * (const int64_t *)b;
    return x < y ? -1 : x > y;
}
void cr_grow_keys(const cr_grow *g, int64_t *keys) {
    int64_t *to = keys;
    cr_keymap_each(&g->map, note_key, &to);
    qsort(keys, (size_t)g->map.n, sizeof(*keys), by_key);
}

float *cr_grow_record(const cr_grow *g, int64_t key) {
    int64_t row = cr_keymap_find(&g->map, (uint64_t)key);
    return row < 0 ? NULL : record_of(g, row);
}

cr_code cr_grow_make(cr_grow *g, int64_t key, float **record, cr_err *err) {
    int64_t row = cr_keymap_find(&g->map, (uint64_t)key);
    if (row < 0) CR_TRY(make(g, key, &row, err));
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
    g->unused[g->n_unused++] = row;
    return true;
}

int64_t cr_grow_bytes(const cr_grow *g) {
    int64_t records = 0;
    for (int i = 0; i < g->n_blocks; i++)
        records += (int64_t)g->blocks[i].size;
    return records + cr_keymap_bytes(&g->map);
}
