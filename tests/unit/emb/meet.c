/*
 * meet.c - tables updated with the lanes of each batch divided among several holders: the bytes of
 * the tables and the norms of gradients are those of one process; a gradient that is not finite is
 * known to all. Features with several ids per row, weighted ones and empty rows; two tables that
 * share a grouping, one that clips gradients, one that moves every row.
 */
#include "emb/meet.h"

#include <math.h>

#include "all_lanes.h"
#include "base/rng.h"
#include "emb/update.h"
#include "harness.h"
#include "holders.h"
#include "kern/kern.h"

enum { ROWS = 301, VOCAB = 500, LANES = 8, D = 5, STEPS = 3, TABLES = 4 };

static const int splits[][MAX_HOLDERS + 1] = {
    {4, 4}, {2, 2, 2, 2}, {3, 3, 2}, {1, 7}, {1, 1, 1, 1, 1, 1, 1, 1}};

/* w -= lr * g, and how often each row moved */
static void plain_row(const void *conf, const cr_optim_step *s, float *w, float *state, float *g,
                      int64_t n) {
    (void)conf;
    for (int64_t d = 0; d < n; d++)
        w[d] -= (float)s->lr * g[d];
    *state += 1;
}
static const cr_optim_type plain = {.name = "plain", .row_state = 1, .row = plain_row};
static const cr_optim_type every = {.name = "every",
                                    .row_state = 1,
                                    .row = plain_row,
                                    .every_row = true};
static const cr_optim_conf clipped = {.gradient_clipping = true, .max_gradient = 0.5};

/* The whole of a batch: feature 0 has one id per row, feature 1 up to four, with weights. */
typedef struct data {
    int32_t off[ROWS + 1];
    int64_t one[ROWS], *many;
    float *w, grad[3][ROWS * D]; /* grad[2]: of the table that clips */
} data;

static void fill(data *d, int step) {
    uint64_t key = 100 + (uint64_t)step;
    d->many = calloc(ROWS * 4, sizeof(int64_t));
    d->w = calloc(ROWS * 4, sizeof(float));
    d->off[0] = 0;
    for (int r = 0; r < ROWS; r++) {
        /* skewed: small ids repeat often */
        double u = cr_rng_f64(key, (uint64_t)r);
        d->one[r] = (int64_t)(u * u * u * VOCAB);
        int n = (int)cr_rng_below(key + 1, (uint64_t)r, 5), at = d->off[r];
        for (int k = 0; k < n; k++) {
            u = cr_rng_f64(key + 2, (uint64_t)(at + k));
            d->many[at + k] = (int64_t)(u * u * VOCAB);
            d->w[at + k] = cr_rng_f32(key + 3, (uint64_t)(at + k)) + 0.5f;
        }
        d->off[r + 1] = at + n;
    }
    for (int f = 0; f < 3; f++)
        for (int i = 0; i < ROWS * D; i++)
            d->grad[f][i] = cr_rng_f32(key + 4 + (uint64_t)f, (uint64_t)i) * 2 - 1;
}

static void drop(data *d) {
    free(d->many);
    free(d->w);
}

typedef struct trial {
    bool broken;  /* one gradient is infinite */
    bool starved; /* each allocation of a meeting fails once; for one holder: the others would wait
                   */
    int failures;
    struct result {
        cr_table tables[TABLES];
        double norm, most;
        bool fine;
    } by[MAX_HOLDERS];
} trial;

static void part_of(const data *d, int64_t row0, int64_t n, int32_t *off, cr_jagged sparse[2]) {
    for (int64_t r = 0; r <= n; r++)
        off[r] = d->off[row0 + r] - d->off[row0];
    sparse[0] = (cr_jagged){.ids = d->one + row0, .n_ids = n};
    sparse[1] = (cr_jagged){.off = off,
                            .ids = d->many + d->off[row0],
                            .w = d->w + d->off[row0],
                            .n_ids = off[n]};
}

static void run(trial *t, const cr_lanes *lanes, int number) {
    struct result *res = &t->by[number];
    cr_pool *pool;
    CHECK_INT(cr_pool_new(&pool, 2, NULL), 0);
    cr_updater *u = cr_updater_new(lanes, pool);
    for (int i = 0; i < TABLES; i++) {
        /* 0 and 1 share feature 0; 2 clips feature 1; 3 has both features, and moves every row */
        cr_table_spec spec = {.name = "t",
                              .n_rows = VOCAB,
                              .D = D,
                              .trainable = true,
                              .optim = i == 3 ? &every : &plain,
                              .optim_conf = i == 2 ? &clipped : NULL};
        CHECK_INT(cr_table_init(&res->tables[i], &spec, NULL), 0);
        cr_use uses[] = {{.slot = 0, .ld = D}, {.slot = 1, .ld = D, .mean = true}};
        cr_updater_add(u, &res->tables[i], i == 2 ? uses + 1 : uses, i == 3 ? 2 : 1);
    }
    res->fine = true;
    for (int step = 0; step < STEPS; step++) {
        data d;
        fill(&d, step);
        if (t->broken) d.grad[2][ROWS / 2 * D] = INFINITY;
        int64_t row0 = cr_lanes_row0(lanes, ROWS), n = cr_lanes_rows(lanes, ROWS);
        int32_t off[ROWS + 1];
        cr_jagged sparse[2];
        part_of(&d, row0, n, off, sparse);
        cr_batch b = {.n_rows = n, .global_rows = ROWS, .n_sparse = 2, .sparse = sparse};
        for (int i = 0; i < TABLES; i++)
            for (int k = 0; k < (i == 3 ? 2 : 1); k++)
                cr_updater_set_grad(u, i, k, d.grad[i == 2 ? 2 : k] + row0 * D);
        cr_updater_group(u, &b, NULL);
        cr_updater_adjust(u, (cr_adjust){0.25f, 1, 0});
        cr_err err;
        cr_code code = CR_ENOMEM;
        /* the first one fails; then one succeeds, and the next one fails */
        for (uint64_t k = 1; t->starved && code == CR_ENOMEM; k = 2) {
            cr_alloc_fail_after(k);
            code = cr_updater_meet(u, &err);
            cr_alloc_fail_after(0);
            if (code != CR_OK) {
                CHECK_INT(code, CR_ENOMEM);
                CHECK(strstr(err.msg, "no memory for gradients of the table rows of a batch") !=
                      NULL);
                t->failures++;
            }
        }
        if (!t->starved) code = cr_updater_meet(u, &err);
        CHECK_INT(code, CR_OK);
        res->fine &= cr_updater_measure(u, 2, &res->norm);
        cr_updater_measure(u, INFINITY, &res->most);
        cr_updater_adjust(u, (cr_adjust){0.25f, 0.5f, 0.1f});
        cr_updater_apply(u, &(cr_optim_step){.lr = 1, .t = step + 1});
        drop(&d);
    }
    cr_updater_free(u);
    cr_pool_free(pool);
}

static void hold(holder *h, void *ctx) {
    cr_arena a;
    cr_lanes lanes;
    cr_arena_init(&a, 0);
    cr_lanes_init(&lanes, LANES, &h->meet, &a);
    run(ctx, &lanes, h->number);
    cr_arena_clear(&a);
}

static void clear(struct result *r) {
    for (int i = 0; i < TABLES; i++)
        cr_table_clear(&r->tables[i]);
}

static void compare(bool broken) {
    trial whole = {.broken = broken};
    run(&whole, all_lanes(LANES), 0);
    const struct result *w = &whole.by[0];
    CHECK(w->fine == !broken);
    for (size_t s = 0; s < sizeof(splits) / sizeof(splits[0]); s++) {
        trial parts = {.broken = broken};
        holders hs;
        holders_run(&hs, splits[s], hold, &parts);
        for (int h = 0; h < hs.n; h++) {
            struct result *r = &parts.by[h];
            CHECK(r->fine == w->fine);
            CHECK(memcmp(&r->norm, &w->norm, sizeof(double)) == 0);
            CHECK(memcmp(&r->most, &w->most, sizeof(double)) == 0);
            for (int i = 0; i < TABLES; i++)
                CHECK(memcmp(cr_table_row(&r->tables[i], 0), cr_table_row(&w->tables[i], 0),
                             (size_t)(VOCAB * w->tables[i].stride) * sizeof(float)) == 0);
            clear(r);
        }
    }
    clear(&whole.by[0]);
}

TEST(same_as_one) {
    cr_kern_init();
    compare(false);
}

/* Only the table that clips sees it, where it is not finite no longer. */
TEST(not_finite) {
    cr_kern_init();
    compare(true);
}

/* No memory is an error with a message, after which a meeting can be tried again. */
TEST(no_memory) {
    static const int one[MAX_HOLDERS + 1] = {LANES};
    cr_kern_init();
    trial whole = {0}, starved = {.starved = true};
    run(&whole, all_lanes(LANES), 0);
    holders hs;
    holders_run(&hs, one, hold, &starved);
    CHECK(starved.failures >= 4 * TABLES);
    for (int i = 0; i < TABLES; i++)
        CHECK(memcmp(cr_table_row(&starved.by[0].tables[i], 0),
                     cr_table_row(&whole.by[0].tables[i], 0),
                     (size_t)(VOCAB * whole.by[0].tables[i].stride) * sizeof(float)) == 0);
    clear(&starved.by[0]);
    clear(&whole.by[0]);
}

TEST_MAIN(CASE(same_as_one), CASE(not_finite), CASE(no_memory))
