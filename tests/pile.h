/*
 * pile.h - an owner of rows for tests: a map from ids of 64 bits to records in the order in which
 * they were asked for, as a server or a growing table would have it. Gradients are collected as a
 * sender would collect them, and applied when the step is over.
 */
#ifndef CR_TESTS_PILE_H
#define CR_TESTS_PILE_H

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "emb/owner.h"

typedef struct pile {
    cr_owner owner;
    cr_table t; /* of as many rows as there can be */
    cr_init init;
    uint64_t seed;
    cr_map row; /* by id */
    int64_t n;  /* rows so far */
    /* the message of a step */
    pthread_mutex_t lock;
    int64_t *id, n_id, cap_id;
    float *g;
    cr_optim_step step;
    float *scratch;
    /* what the test wants and learns */
    int64_t fetches, fetched, fail_at; /* fail_at: the number of the fetch that fails; 0: none */
} pile;

/* the record of an id, made where there is none yet */
static inline int64_t pile_row(pile *p, int64_t id) {
    int64_t row = cr_map_get(&p->row, (const char *)&id, sizeof(id), -1);
    if (row >= 0) return row;
    if (p->n == p->t.n_rows) CR_BUG("the pile is full");
    cr_map_put(&p->row, (const char *)&id, sizeof(id), p->n);
    cr_table_first(&p->t, p->n, id, &p->init, p->seed);
    return p->n++;
}

static inline cr_code pile_fetch(void *ctx, const int64_t *id, int64_t n, float *rows,
                                 int64_t stride, bool asked, cr_err *err) {
    pile *p = ctx;
    (void)asked;
    if (++p->fetches == p->fail_at) return cr_fail(err, CR_ERUN, "the server is gone");
    p->fetched += n;
    for (int64_t k = 0; k < n; k++)
        memcpy(rows + k * stride, cr_table_row(&p->t, pile_row(p, id[k])),
               (size_t)p->t.n_weights * sizeof(float));
    return CR_OK;
}

static inline void pile_take(void *ctx, const cr_row_grads *r, float *scratch) {
    pile *p = ctx;
    (void)scratch;
    pthread_mutex_lock(&p->lock);
    if (p->n_id + r->n > p->cap_id) {
        p->cap_id = 2 * (p->n_id + r->n);
        p->id = realloc(p->id, (size_t)p->cap_id * sizeof(int64_t));
        p->g = realloc(p->g, (size_t)(p->cap_id * p->t.D) * sizeof(float));
    }
    memcpy(p->id + p->n_id, r->id, (size_t)r->n * sizeof(int64_t));
    memcpy(p->g + p->n_id * p->t.D, r->g, (size_t)(r->n * p->t.D) * sizeof(float));
    p->n_id += r->n;
    p->step = *r->step;
    pthread_mutex_unlock(&p->lock);
}

/* the other side of the message: the last row that was sent is updated first */
static inline void pile_end(void *ctx) {
    pile *p = ctx;
    for (int64_t k = p->n_id - 1; k >= 0; k--)
        cr_table_apply(&p->t, pile_row(p, p->id[k]), p->id[k], &p->step, p->g + k * p->t.D,
                       p->scratch);
    p->n_id = 0;
}

/* for rules that move every row; ids are row numbers then, and all rows are there */
static inline void pile_rest(void *ctx, int64_t first, int64_t end, const int64_t *id, int64_t n,
                             const cr_optim_step *step, float *scratch) {
    pile *p = ctx;
    (void)scratch;
    pthread_mutex_lock(&p->lock);
    float *zeros = calloc((size_t)p->t.D, sizeof(float));
    for (int64_t row = first, k = 0; row < end; row++) {
        if (k < n && id[k] == row)
            k++;
        else
            cr_table_apply(&p->t, pile_row(p, row), row, step, zeros, p->scratch);
    }
    free(zeros);
    pthread_mutex_unlock(&p->lock);
}

/* spec: of the table, with as many rows as ids can come */
static inline cr_code pile_init(pile *p, const cr_table_spec *spec, const cr_init *init,
                                uint64_t seed, cr_err *err) {
    memset(p, 0, sizeof(*p));
    CR_TRY(cr_table_init(&p->t, spec, err));
    p->init = *init;
    p->seed = seed;
    cr_map_init(&p->row);
    pthread_mutex_init(&p->lock, NULL);
    p->scratch = calloc((size_t)cr_table_scratch(&p->t) + 1, sizeof(float));
    bool every = p->t.optim && p->t.optim->every_row;
    for (int64_t row = spec->n_rows - 1; every && row >= 0; row--)
        pile_row(p, row);
    p->owner = (cr_owner){.ctx = p,
                          .fetch = pile_fetch,
                          .sink = {.ctx = p,
                                   .take = pile_take,
                                   .sweep = every ? spec->n_rows : 0,
                                   .rest = every ? pile_rest : NULL,
                                   .end = pile_end}};
    return CR_OK;
}

static inline void pile_clear(pile *p) {
    cr_table_clear(&p->t);
    cr_map_clear(&p->row);
    pthread_mutex_destroy(&p->lock);
    free(p->id);
    free(p->g);
    free(p->scratch);
}

/* pile_same: do the records of a table in memory lie in the pile, byte for byte? Rows that the pile
 * has not seen must have their first values. Returns the number of rows that differ. */
static inline int64_t pile_same(pile *p, const cr_table *t) {
    int64_t bad = 0;
    for (int64_t id = 0; id < t->n_rows; id++)
        bad += memcmp(cr_table_row(&p->t, pile_row(p, id)), cr_table_row(t, id),
                      (size_t)t->stride * sizeof(float)) != 0;
    return bad;
}

#endif
