/*
 * table.c - the memory and the first values of a table. Filling is cut into pieces with a fixed
 * number of rows, so it scales over threads and gives the same values with any number of them.
 */
#include "emb/table.h"

#include <string.h>
#include <unistd.h>

#include "base/rng.h"
#include "base/stretch.h"
#include "kern/kern.h"

#define FILL_ROWS 4096

/* Returns how many floats of a record D weights take. */
static int64_t weight_floats(int64_t D, int half) {
    return half ? (D + 1) / 2 : D;
}

int64_t cr_table_stride(int64_t D, int half, const cr_optim_type *optim) {
    int64_t n = weight_floats(D, half);
    if (optim) n += D * optim->elem_state + optim->row_state;
    return n;
}

int64_t cr_table_state_at(const cr_table *t) {
    return t->n_weights;
}

int64_t cr_table_scratch(const cr_table *t) {
    /* D floats, and a random number of 16 bits for each column of the whole table */
    return t->half && t->optim ? t->D + (t->all_D + 1) / 2 : 0;
}

static void describe(cr_table *t, const cr_table_spec *spec, const cr_shard *s) {
    const cr_optim_type *optim = spec->trainable ? spec->optim : NULL;
    int64_t D = s ? s->col_end - s->col : spec->D;
    *t = (cr_table){.name = spec->name,
                    .n_rows = s ? s->end - s->row : spec->n_rows,
                    .D = D,
                    .stride = cr_table_stride(D, spec->half, optim),
                    .n_weights = weight_floats(D, spec->half),
                    .row0 = s ? s->row : 0,
                    .col0 = s ? s->col : 0,
                    .all_D = spec->D,
                    .half = spec->half,
                    .trainable = spec->trainable,
                    .optim = optim,
                    .optim_conf = spec->optim_conf};
}

void cr_table_describe(cr_table *t, const cr_table_spec *spec, const struct cr_owner *owner) {
    describe(t, spec, NULL);
    t->owner = owner;
}

cr_code cr_table_init(cr_table *t, const cr_table_spec *spec, cr_err *err) {
    return cr_table_init_shard(t, spec, NULL, err);
}

cr_code cr_table_init_shard(cr_table *t, const cr_table_spec *spec, const cr_shard *shard,
                            cr_err *err) {
    memset(t, 0, sizeof(*t));
    cr_table made;
    describe(&made, spec, shard);
    void *p;
    made.size = cr_bytes(cr_mul_i64(made.n_rows, made.stride), sizeof(float));
    CR_TRY(cr_big_alloc(&p, made.size, spec->name, err));
    made.records = p;
    *t = made;
    return CR_OK;
}

cr_code cr_table_open(cr_table *t, const cr_table_spec *spec, cr_err *err) {
    describe(t, spec, NULL);
    t->n_rows = 0;
    return cr_table_extend(t, 1, err);
}

cr_code cr_table_extend(cr_table *t, int64_t rows, cr_err *err) {
    size_t more = cr_bytes(cr_mul_i64(rows, t->stride), sizeof(float));
    cr_stretch s = {.p = (char *)t->records, .size = t->size, .range = t->range};
    /* no table can have more than all memory */
    if (more > (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE) - t->size)
        return cr_fail(err, CR_ENOMEM,
                       "table %s has %lld rows and would need more memory than there is for the "
                       "next ones; use more ranks, or limit its rows",
                       t->name, (long long)t->n_rows);
    cr_code code = cr_stretch_grow(&s, t->size + more, t->name, err);
    t->records = (float *)(void *)s.p;
    t->size = s.size;
    t->range = s.range;
    CR_TRY(code);
    t->n_rows = (int64_t)(t->size / sizeof(float)) / t->stride;
    return CR_OK;
}

void cr_table_map(cr_table *t, const cr_table_spec *spec, const void *rows) {
    CR_ASSERT(!spec->optim && !(spec->half && spec->D % 2));
    cr_table_describe(t, spec, NULL);
    /* the cast drops const; nothing writes to a mapped table */
    t->records = (float *)(uintptr_t)rows;
}

void cr_table_get_part(const cr_table *t, int64_t id, int64_t col, int64_t n, float *w) {
    const float *rec = cr_table_row(t, id);
    if (t->half)
        cr_kern->from16(w, (const uint16_t *)(const void *)rec + col, n, t->half);
    else
        memcpy(w, rec + col, (size_t)n * sizeof(float));
}

void cr_table_get(const cr_table *t, int64_t id, float *w) {
    cr_table_get_part(t, id, 0, t->D, w);
}

void cr_table_put_part(cr_table *t, int64_t id, int64_t col, int64_t n, const float *w) {
    float *rec = cr_table_row(t, id);
    if (t->half)
        cr_kern->to16((uint16_t *)(void *)rec + col, w, n, t->half);
    else
        memcpy(rec + col, w, (size_t)n * sizeof(float));
}

void cr_table_apply(const cr_table *t, int64_t row, int64_t id, const cr_optim_step *step, float *g,
                    float *scratch) {
    float *rec = cr_table_row(t, row), *state = rec + cr_table_state_at(t);
    int64_t D = t->D;
    if (!t->half) {
        t->optim->row(t->optim_conf, step, rec, state, g, D);
        return;
    }
    /* The rule sees floats; the results are rounded back to 16 bits at random. */
    uint16_t *w = (uint16_t *)(void *)rec, *rnd = (uint16_t *)(void *)(scratch + D);
    uint64_t key = cr_rng_sub(cr_rng_sub(t->round_key, (uint64_t)step->t), (uint64_t)id);
    cr_kern->draw16(rnd, key, t->all_D);
    cr_kern->from16(scratch, w, D, t->half);
    t->optim->row(t->optim_conf, step, scratch, state, g, D);
    cr_kern->to16_chance(w, scratch, rnd + t->col0, D, t->half);
}

void cr_table_clear(cr_table *t) {
    if (t->range > 0)
        cr_big_release(t->records, t->range);
    else if (t->size > 0)
        cr_big_free(t->records, t->size);
    memset(t, 0, sizeof(*t));
}

typedef struct fill {
    cr_table *t;
    const cr_init *init;
    uint64_t key;
} fill;

/* Returns the number of a row's first value in the stream that all rows share. A row whose number
 * would not fit gets a stream of its own in *key. */
static int64_t first_value(int64_t id, int64_t D, uint64_t *key) {
    if (id >= 0 && id < INT64_MAX / D) return id * D;
    *key = cr_rng_sub(*key, (uint64_t)id);
    return 0;
}

/* Weights are drawn 64 at a time, so that any width works without allocating memory. */
static void first_row(const fill *f, int64_t row, int64_t id) {
    cr_table *t = f->t;
    float *rec = cr_table_row(t, row), *s = rec + cr_table_state_at(t), some[64];
    uint64_t key = f->key;
    int64_t at = first_value(id, t->all_D, &key) + t->col0;
    if (!t->half) cr_init_fill(f->init, key, at, t->D, rec);
    for (int64_t d = 0; t->half && d < t->D; d += 64) {
        int64_t n = t->D - d < 64 ? t->D - d : 64;
        cr_init_fill(f->init, key, at + d, n, some);
        cr_kern->to16((uint16_t *)(void *)rec + d, some, n, t->half);
    }
    if (!t->optim || !t->optim->state_init) return;
    for (int k = 0; k < t->optim->elem_state; k++, s += t->D) {
        float v = t->optim->state_init(t->optim_conf, k);
        for (int64_t i = 0; i < t->D; i++)
            s[i] = v;
    }
    for (int k = 0; k < t->optim->row_state; k++)
        *s++ = t->optim->state_init(t->optim_conf, t->optim->elem_state + k);
}

static void fill_piece(void *ctx, int64_t item, int thread) {
    (void)thread;
    const fill *f = ctx;
    int64_t row = item * FILL_ROWS,
            end = row + FILL_ROWS < f->t->n_rows ? row + FILL_ROWS : f->t->n_rows;
    for (; row < end; row++)
        first_row(f, row, f->t->row0 + row);
}

static fill new_fill(cr_table *t, const cr_init *init, uint64_t seed) {
    t->round_key = cr_rng_key(seed, "round", t->name);
    return (fill){t, init, cr_rng_key(seed, "init", t->name)};
}

void cr_table_first(cr_table *t, int64_t row, int64_t id, const cr_init *init, uint64_t seed) {
    fill f = new_fill(t, init, seed);
    int64_t at = cr_table_state_at(t);
    /* another row may have had this record, and not all rules set the first values of the state */
    memset(cr_table_row(t, row) + at, 0, (size_t)(t->stride - at) * sizeof(float));
    first_row(&f, row, id);
}

void cr_table_fill(cr_table *t, const cr_init *init, uint64_t seed, cr_pool *pool) {
    fill f = new_fill(t, init, seed);
    cr_pool_run(pool, (t->n_rows + FILL_ROWS - 1) / FILL_ROWS, fill_piece, &f);
}
