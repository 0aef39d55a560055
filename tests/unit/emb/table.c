/*
 * table.c - rows with large numbers: a table of billions of rows, of which some are touched, and
 * rows of ids that need all 64 bits.
 */
#include "emb/table.h"

#include <sys/mman.h>

#include "all_lanes.h"
#include "emb/update.h"
#include "harness.h"
#include "kern/kern.h"

static void plain_row(const void *conf, const cr_optim_step *s, float *w, float *state, float *g,
                      int64_t D) {
    (void)conf;
    for (int64_t d = 0; d < D; d++)
        w[d] -= (float)s->lr * g[d];
    *state += 1; /* updates of this row */
}
static const cr_optim_type plain = {.name = "plain", .row_state = 1, .row = plain_row};

/* Rows beyond 2^32, elements beyond 2^33: memory that is only promised holds them. */
TEST(billions_of_rows) {
    enum { D = 3, STRIDE = 4, N = 5 };
    int64_t n_rows = ((int64_t)1 << 32) + 5;
    size_t size = (size_t)n_rows * STRIDE * sizeof(float);
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    if (p == MAP_FAILED) SKIP("64 GB of addresses are not to be had here");
    float *rec = p;
    cr_pool *pool;
    CHECK_INT(cr_pool_new(&pool, 2, NULL), 0);
    cr_table t = {.name = "huge",
                  .n_rows = n_rows,
                  .D = D,
                  .stride = STRIDE,
                  .n_weights = D,
                  .records = p,
                  .trainable = true,
                  .optim = &plain};
    int64_t ids[N] = {n_rows - 1, 3, (int64_t)1 << 31, n_rows - 1, ((int64_t)1 << 32) - 1};
    float grad[N * D], y[N * D], bag[D];
    for (int i = 0; i < N; i++)
        for (int d = 0; d < D; d++) {
            rec[(size_t)ids[i] * STRIDE + (size_t)d] = (float)(10 * (ids[i] % 7) + d);
            grad[i * D + d] = (float)(i + 1);
        }
    cr_view v = cr_table_view(&t, ids);
    cr_view_rows(&v, 0, NULL, N, 0, y, D);
    cr_view_pool(&v, 1, NULL, 3, bag);
    for (int d = 0; d < D; d++) {
        float sum = 0;
        for (int i = 0; i < N; i++) {
            float w = (float)(10 * (ids[i] % 7) + d);
            CHECK(y[i * D + d] == w);
            if (i >= 1 && i < 4) sum += w;
        }
        CHECK(bag[d] == sum);
    }
    cr_updater *u = cr_updater_new(all_lanes(2), pool);
    cr_updater_add(u, &t, &(cr_use){.grad = grad, .ld = D}, 1);
    cr_jagged j = {.ids = ids, .n_ids = N};
    cr_batch b = {.n_rows = N, .n_sparse = 1, .sparse = &j};
    cr_updater_group(u, &b, NULL);
    cr_updater_apply(u, &(cr_optim_step){.lr = 1, .t = 1});
    static const float sum[N] = {1 + 4, 2, 3, 1 + 4, 5};
    for (int i = 0; i < N; i++) {
        const float *r = rec + (size_t)ids[i] * STRIDE;
        for (int d = 0; d < D; d++)
            CHECK(r[d] == (float)(10 * (ids[i] % 7) + d) - sum[i]);
        CHECK(r[D] == 1);
    }
    cr_updater_free(u);
    cr_pool_free(pool);
    munmap(p, size);
}

/* a row has the same first values wherever it lies */
TEST(first_values_of_single_rows) {
    enum { N = 300, D = 70 };
    cr_pool *pool;
    CHECK_INT(cr_pool_new(&pool, 2, NULL), 0);
    for (int half = 0; half <= CR_HALF_FP16; half++) {
        cr_table_spec spec = {"some.table", N, D, half, true, &plain, NULL};
        cr_table all, some;
        CHECK_INT(cr_table_init(&all, &spec, NULL), 0);
        CHECK_INT(cr_table_init(&some, &spec, NULL), 0);
        cr_init init = CR_INIT_N(0.1);
        cr_table_fill(&all, &init, 5, pool);
        for (int64_t row = 0; row < N; row++)
            cr_table_first(&some, row, row * 7 % N, &init, 5);
        CHECK(all.round_key == some.round_key);
        for (int64_t row = 0; row < N; row++)
            CHECK(memcmp(cr_table_row(&some, row), cr_table_row(&all, row * 7 % N),
                         (size_t)all.stride * sizeof(float)) == 0);
        cr_table_clear(&all);
        cr_table_clear(&some);
    }
    cr_pool_free(pool);
}

/* ids for whose values there are no numbers: no two rows are alike */
TEST(first_values_of_64_bit_ids) {
    enum { D = 16 };
    static const uint64_t ids[] = {0,
                                   1,
                                   INT64_MAX / D - 1,
                                   INT64_MAX / D,
                                   INT64_MAX / D + 1,
                                   (uint64_t)1 << 60, /* times D: 0 in 64 bits */
                                   ((uint64_t)1 << 60) + 1,
                                   (uint64_t)1 << 63,
                                   UINT64_MAX - 1,
                                   UINT64_MAX};
    enum { N = sizeof(ids) / sizeof(*ids) };
    cr_table t;
    CHECK_INT(cr_table_init(&t, &(cr_table_spec){"t", N, D, 0, true, &plain, NULL}, NULL), 0);
    cr_init init = CR_INIT_U(1);
    for (int64_t row = 0; row < N; row++)
        cr_table_first(&t, row, (int64_t)ids[row], &init, 1);
    for (int64_t a = 0; a < N; a++)
        for (int64_t b = 0; b < a; b++)
            for (int64_t d = 0; d < D; d++)
                CHECK(cr_table_row(&t, a)[d] != cr_table_row(&t, b)[d]);
    cr_table_clear(&t);
}

/* sizes that do not fit are refused, not cut off */
TEST(too_many_rows) {
    static const int64_t rows[] = {INT64_MAX, INT64_MAX / 16, INT64_MAX / 64 + 1,
                                   ((int64_t)1 << 60) + 1};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        cr_table t;
        cr_table_spec spec = {"t", rows[i], 16, 0, false, NULL, NULL};
        CHECK(cr_table_init(&t, &spec, NULL) != CR_OK);
    }
}

int main(int argc, char **argv) {
    static const t_case cases[] = {CASE(billions_of_rows), CASE(first_values_of_single_rows),
                                   CASE(first_values_of_64_bit_ids), CASE(too_many_rows)};
    cr_kern_init();
    return t_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
