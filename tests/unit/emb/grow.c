/*
 * grow.c - a growing table beside a table in memory: the same steps give the same records, byte for
 * byte, for every rule, width and storage; keys of 64 bits; rows that are dropped and come back;
 * evaluation changes nothing; limits and want of memory are told and leave the table usable.
 */
#include "emb/grow.h"

#include "all_lanes.h"
#include "base/rng.h"
#include "conf_text.h"
#include "emb/update.h"
#include "emb/views.h"
#include "harness.h"
#include "kern/kern.h"

enum { N = 3000, ROWS = 512, STEPS = 6 };

/* the key of id i: the id itself, or spread over 64 bits in the same order */
static int64_t key_of(bool wide, int64_t i) {
    return wide ? (int64_t)(((uint64_t)i << 52) | (uint64_t)i) : i;
}

/* the same steps with a table in memory and with a growing one; keys are ids */
static void compare(const cr_optim_type *type, const void *conf, int64_t D, int half,
                    cr_pool *pool) {
    cr_table_spec spec = {"some.table", N, D, half, true, type, conf};
    cr_init init = CR_INIT_N(0.1);
    cr_table here, there;
    cr_grow *g;
    CHECK_INT(cr_table_init(&here, &spec, NULL), 0);
    cr_table_fill(&here, &init, 3, pool);
    CHECK_INT(cr_grow_new(&g, &(cr_grow_opts){&spec, &init, 3}, NULL), 0);
    cr_table_describe(&there, &spec, cr_grow_owner(g));
    float *grad = calloc((size_t)(ROWS * D), sizeof(float));
    cr_use use = {.grad = grad, .ld = D};
    cr_updater *u[2] = {cr_updater_new(all_lanes(8), pool), cr_updater_new(all_lanes(8), pool)};
    cr_updater_add(u[0], &here, &use, 1);
    cr_updater_add(u[1], &there, &use, 1);
    cr_views *v = cr_views_new(1, pool);
    cr_views_add(v, &there, &(cr_group_slot){.slot = 0}, (const int[]){0}, 1);
    for (int64_t step = 1; step <= STEPS; step++) {
        int64_t ids[ROWS];
        for (int64_t r = 0; r < ROWS; r++) {
            double x = cr_rng_f64(7 + (uint64_t)step, (uint64_t)r);
            ids[r] = (int64_t)(x * x * N);
        }
        for (int64_t i = 0; i < ROWS * D; i++)
            grad[i] = cr_rng_f32(20 + (uint64_t)step, (uint64_t)i) * 2 - 1;
        cr_jagged j = {.ids = ids, .n_ids = ROWS};
        cr_batch b = {.n_rows = ROWS, .n_sparse = 1, .sparse = &j};
        cr_optim_step s = {.lr = 0.05, .t = step};
        if (type->prepare) type->prepare(conf, &s);
        CHECK_INT(cr_views_stage(v, &b, NULL, NULL, NULL), 0);
        const cr_view *view = cr_views_get(v);
        int64_t wrong = 0;
        for (int64_t r = 0; r < ROWS; r++)
            wrong += memcmp(cr_view_row(view, r), cr_table_row(&here, ids[r]),
                            (size_t)here.n_weights * sizeof(float)) != 0;
        CHECK_INT(wrong, 0);
        for (int k = 0; k < 2; k++) {
            cr_updater_group(u[k], &b, NULL);
            cr_updater_apply(u[k], &s);
        }
    }
    int64_t seen = 0, wrong = 0;
    for (int64_t id = 0; id < N; id++) {
        const float *rec = cr_grow_record(g, id);
        seen += rec != NULL;
        wrong +=
            rec && memcmp(rec, cr_table_row(&here, id), (size_t)here.stride * sizeof(float)) != 0;
    }
    CHECK_INT(wrong, 0);
    CHECK_INT(seen, cr_grow_rows(g));
    CHECK(seen > 500 && seen < N);
    cr_views_free(v);
    cr_updater_free(u[0]);
    cr_updater_free(u[1]);
    cr_table_clear(&here);
    cr_grow_free(g);
    free(grad);
}

TEST(as_a_table_in_memory) {
    cr_kern_init();
    cr_pool *pool;
    CHECK_INT(cr_pool_new(&pool, 2, NULL), 0);
    int n = 0;
    for (const cr_oneof_member *m = cr_sparse_optim_family.members; m->key; m++) {
        void *conf = conf_text(m->msg, "");
        const cr_optim_type *type = cr_optim_of(&(cr_choice){m, conf});
        for (int half = 0; half <= CR_HALF_FP16; half++)
            compare(type, conf, half == CR_HALF_BF16 ? 7 : 16, half, pool);
        n++;
    }
    CHECK(n > 5);
    cr_pool_free(pool);
}

static cr_grow *new_table(int64_t most) {
    cr_table_spec spec = {"t", most, 4, 0, false, NULL, NULL};
    cr_init init = CR_INIT_N(0.1);
    cr_grow *g = NULL;
    CHECK_INT(cr_grow_new(&g, &(cr_grow_opts){&spec, &init, 9}, NULL), 0);
    return g;
}

/* rows have the values of their keys, whatever came before; dropped ones begin anew */
TEST(first_values_belong_to_keys) {
    cr_kern_init();
    cr_grow *a = new_table(0), *b = new_table(0);
    float *rec, first[4];
    cr_err err;
    for (int64_t i = 0; i < 5000; i++)
        CHECK_INT(cr_grow_make(a, key_of(true, i % 4096), &rec, &err), 0);
    for (int64_t i = 4095; i >= 0; i--)
        CHECK_INT(cr_grow_make(b, key_of(true, i), &rec, &err), 0);
    CHECK_INT(cr_grow_rows(a), 4096);
    int64_t wrong = 0;
    for (int64_t i = 0; i < 4096; i++)
        wrong += memcmp(cr_grow_record(a, key_of(true, i)), cr_grow_record(b, key_of(true, i)),
                        sizeof(first)) != 0;
    CHECK_INT(wrong, 0);
    rec = cr_grow_record(a, key_of(true, 7));
    memcpy(first, rec, sizeof(first));
    rec[0] = 5;
    int64_t bytes = cr_grow_bytes(a);
    CHECK(cr_grow_drop(a, key_of(true, 7)) && !cr_grow_drop(a, key_of(true, 7)));
    CHECK(cr_grow_record(a, key_of(true, 7)) == NULL && cr_grow_rows(a) == 4095);
    CHECK_INT(cr_grow_make(a, -5, &rec, &err), 0); /* takes the record of key 7 */
    CHECK_INT(cr_grow_make(a, key_of(true, 7), &rec, &err), 0);
    CHECK(memcmp(rec, first, sizeof(first)) == 0);
    CHECK(cr_grow_bytes(a) - bytes < 1 << 20);
    int64_t *keys = malloc((size_t)cr_grow_rows(a) * sizeof(int64_t));
    cr_grow_keys(a, keys);
    for (int64_t i = 1; i < cr_grow_rows(a); i++)
        CHECK((uint64_t)keys[i - 1] < (uint64_t)keys[i]);
    CHECK_INT(keys[cr_grow_rows(a) - 1], -5);
    free(keys);
    cr_grow_free(a);
    cr_grow_free(b);
}

TEST(evaluation_changes_nothing) {
    cr_kern_init();
    cr_grow *g = new_table(0);
    const cr_owner *o = cr_grow_owner(g);
    int64_t ids[] = {1, 5, 9};
    float rows[3][4], again[3][4];
    cr_err err;
    CHECK_INT(o->fetch(o->ctx, ids, 2, rows[0], 4, false, &err), 0);
    CHECK_INT(cr_grow_rows(g), 2);
    cr_grow_learns(g, false);
    memset(again, 0xff, sizeof(again));
    CHECK_INT(o->fetch(o->ctx, ids, 3, again[0], 4, false, &err), 0);
    CHECK_INT(cr_grow_rows(g), 2);
    CHECK(memcmp(rows, again, 2 * sizeof(rows[0])) == 0);
    CHECK(again[2][0] == 0 && again[2][3] == 0);
    cr_grow_free(g);
}

TEST(limits) {
    cr_kern_init();
    cr_grow *g = new_table(100);
    cr_err err;
    float *rec;
    for (int64_t i = 0; i < 100; i++)
        CHECK_INT(cr_grow_make(g, i, &rec, &err), 0);
    CHECK_INT(cr_grow_make(g, 100, &rec, &err), CR_ERUN);
    CHECK_STR(err.msg, "table t is full: it may have 100 rows; allow more");
    CHECK(cr_grow_drop(g, 3));
    CHECK_INT(cr_grow_make(g, 100, &rec, &err), 0);
    cr_grow_free(g);
    g = new_table(0);
    int64_t failed = 0, block = 0;
    for (int64_t i = 0; i < 3000000; i++) {
        bool try = i % 50 == 0 || i == block;
        if (try) cr_alloc_fail_after(1);
        cr_code code = cr_grow_make(g, i, &rec, &err);
        cr_alloc_fail_after(0);
        if (code == CR_OK) continue;
        CHECK_INT(code, CR_ENOMEM);
        failed++;
        CHECK(cr_grow_record(g, i) == NULL && cr_grow_rows(g) == i);
        CHECK_INT(cr_grow_make(g, i, &rec, &err), 0);
    }
    CHECK(failed > 0);
    CHECK_INT(cr_grow_rows(g), 3000000);
    cr_grow_free(g);
}

TEST_MAIN(CASE(as_a_table_in_memory), CASE(first_values_belong_to_keys),
          CASE(evaluation_changes_nothing), CASE(limits))
