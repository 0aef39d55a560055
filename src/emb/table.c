/*
 * table.c - memory and first values of a table. Filling is cut into pieces of rows of a fixed size,
 * so that it scales over threads and gives the same values with any number of them.
 */
#include "emb/table.h"

#include <string.h>

#include "base/rng.h"
#include "kern/kern.h"

#define FILL_ROWS 4096
#define AHEAD     16 /* rows between fetching a record and looking it up */

/* floats that D weights take in a record */
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
    return t->half && t->optim ? t->D + (t->D + 1) / 2 : 0; /* floats, and a draw for each */
}

cr_code cr_table_init(cr_table *t, const cr_table_spec *spec, cr_err *err) {
    memset(t, 0, sizeof(*t));
    const cr_optim_type *optim = spec->trainable ? spec->optim : NULL;
    int64_t stride = cr_table_stride(spec->D, spec->half, optim);
    void *p;
    size_t size = cr_bytes(cr_mul_i64(spec->n_rows, stride), sizeof(float));
    CR_TRY(cr_big_alloc(&p, size, spec->name, err));
    *t = (cr_table){.name = spec->name,
                    .n_rows = spec->n_rows,
                    .D = spec->D,
                    .stride = stride,
                    .n_weights = weight_floats(spec->D, spec->half),
                    .data = p,
                    .size = size,
                    .half = spec->half,
                    .trainable = spec->trainable,
                    .optim = optim,
                    .optim_conf = spec->optim_conf};
    return CR_OK;
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

void cr_table_lookup(const cr_table *t, const int64_t *ids, const float *w, int64_t n, int64_t more,
                     float *y, int64_t ld) {
    if (!t->half) cr_kern->look_rows(y, ld, t->data, t->stride, ids, n, more, t->D);
    for (int64_t r = 0; t->half && r < n; r++) {
        if (r + AHEAD < n + more) cr_table_fetch(t, ids[r + AHEAD], false);
        cr_table_get(t, ids[r], y + r * ld);
    }
    for (int64_t r = 0; w && r < n; r++)
        cr_kern->scale(y + r * ld, w[r], y + r * ld, t->D);
}

void cr_table_put_part(cr_table *t, int64_t id, int64_t col, int64_t n, const float *w) {
    float *rec = cr_table_row(t, id);
    if (t->half)
        cr_kern->to16((uint16_t *)(void *)rec + col, w, n, t->half);
    else
        memcpy(rec + col, w, (size_t)n * sizeof(float));
}

void cr_table_apply(const cr_table *t, int64_t id, const cr_optim_step *step, float *g,
                    float *scratch) {
    float *rec = cr_table_row(t, id), *state = rec + cr_table_state_at(t);
    int64_t D = t->D;
    if (!t->half) {
        t->optim->row(t->optim_conf, step, rec, state, g, D);
        return;
    }
    /* the rule sees floats; they go back rounded by chance */
    uint16_t *w = (uint16_t *)(void *)rec, *rnd = (uint16_t *)(void *)(scratch + D);
    cr_kern->draw16(rnd, cr_rng_sub(cr_rng_sub(t->round_key, (uint64_t)step->t), (uint64_t)id), D);
    cr_kern->from16(scratch, w, D, t->half);
    t->optim->row(t->optim_conf, step, scratch, state, g, D);
    cr_kern->to16_chance(w, scratch, rnd, D, t->half);
}

void cr_table_clear(cr_table *t) {
    if (t->data) cr_big_free(t->data, t->size);
    memset(t, 0, sizeof(*t));
}

typedef struct fill {
    cr_table *t;
    const cr_init *init;
    uint64_t key;
} fill;

/* weights of a row are drawn a few at a time, so that any width works without memory */
static void fill_row(const fill *f, int64_t row) {
    cr_table *t = f->t;
    float *rec = cr_table_row(t, row), some[64];
    if (!t->half) {
        cr_init_fill(f->init, f->key, row * t->D, t->D, rec);
        return;
    }
    for (int64_t d = 0; d < t->D; d += 64) {
        int64_t n = t->D - d < 64 ? t->D - d : 64;
        cr_init_fill(f->init, f->key, row * t->D + d, n, some);
        cr_kern->to16((uint16_t *)(void *)rec + d, some, n, t->half);
    }
}

static void fill_piece(void *ctx, int64_t item, int thread) {
    (void)thread;
    const fill *f = ctx;
    cr_table *t = f->t;
    int64_t row = item * FILL_ROWS, end = row + FILL_ROWS < t->n_rows ? row + FILL_ROWS : t->n_rows;
    for (; row < end; row++) {
        fill_row(f, row);
        if (!t->optim || !t->optim->state_init) continue;
        float *s = cr_table_row(t, row) + cr_table_state_at(t);
        for (int k = 0; k < t->optim->elem_state; k++, s += t->D) {
            float v = t->optim->state_init(t->optim_conf, k);
            for (int64_t i = 0; i < t->D; i++)
                s[i] = v;
        }
        for (int k = 0; k < t->optim->row_state; k++)
            *s++ = t->optim->state_init(t->optim_conf, t->optim->elem_state + k);
    }
}

void cr_table_fill(cr_table *t, const cr_init *init, uint64_t seed, cr_pool *pool) {
    t->round_key = cr_rng_key(seed, "round", t->name);
    fill f = {t, init, cr_rng_key(seed, "init", t->name)};
    cr_pool_run(pool, (t->n_rows + FILL_ROWS - 1) / FILL_ROWS, fill_piece, &f);
}
