/*
 * grow.c - a growing table beside a table in memory: the same steps give the same records, byte for
 * byte, for every rule, width and storage; keys and ids belong to each other; rows that are dropped
 * and come back; evaluation changes nothing; want of memory is told and leaves the table usable; a
 * new row touches one fresh huge page at most.
 */
#include "emb/grow.h"

#include <sys/mman.h>

#include "all_lanes.h"
#include "base/rng.h"
#include "conf_text.h"
#include "emb/grow_int.h"
#include "emb/update.h"
#include "emb/views.h"
#include "harness.h"
#include "kern/kern.h"

enum { N = 3000, ROWS = 512, STEPS = 6 };

/* the key of an id, spread over 63 bits */
static int64_t key_of(int64_t i) {
    return cr_key_of(((i << 51) | i) & INT64_MAX);
}

TEST(keys_and_ids) {
    const int64_t some[] = {0, 1, 2, 1000, INT64_MAX - 1, INT64_MAX / 3, 0x4005edb7c7b5b2dd};
    for (size_t i = 0; i < sizeof(some) / sizeof(*some); i++) {
        CHECK(cr_key_of(some[i]) >= 0 && cr_key_of(some[i]) < INT64_MAX);
        CHECK_INT(cr_key_id(cr_key_of(some[i])), some[i]);
        CHECK_INT(cr_key_of(cr_key_id(some[i])), some[i]);
    }
    int64_t below[16] = {0};
    for (int64_t id = 0; id < 16000; id++) {
        CHECK_INT(cr_key_id(cr_key_of(id)), id);
        below[cr_key_of(id) >> 59]++;
    }
    for (int k = 0; k < 16; k++)
        CHECK(below[k] > 850 && below[k] < 1150);
}

/* the same steps with a table in memory and with a growing one */
static void compare(const cr_optim_type *type, const void *conf, int64_t D, int half,
                    cr_pool *pool) {
    cr_table_spec spec = {"some.table", N, D, half, true, type, conf};
    cr_init init = CR_INIT_N(0.1);
    cr_table here, there;
    cr_grow *g;
    CHECK_INT(cr_table_init(&here, &spec, NULL), 0);
    cr_table_fill(&here, &init, 3, pool);
    CHECK_INT(cr_grow_new(&g,
                          &(cr_grow_opts){.spec = &spec, .init = &init, .seed = 3, .pool = pool},
                          NULL),
              0);
    cr_table_describe(&there, &spec, cr_grow_owner(g));
    float *grad = calloc((size_t)(ROWS * D), sizeof(float));
    cr_use use = {.grad = grad, .ld = D};
    cr_updater *u[2] = {cr_updater_new(all_lanes(8), pool), cr_updater_new(all_lanes(8), pool)};
    cr_updater_add(u[0], &here, &use, 1);
    cr_updater_add(u[1], &there, &use, 1);
    cr_views *v = cr_views_new(1, pool);
    cr_views_add(v, &there, &(cr_group_slot){.slot = 0}, (const int[]){0}, 1);
    for (int64_t step = 1; step <= STEPS; step++) {
        int64_t ids[ROWS], keys[ROWS];
        for (int64_t r = 0; r < ROWS; r++) {
            double x = cr_rng_f64(7 + (uint64_t)step, (uint64_t)r);
            ids[r] = (int64_t)(x * x * N);
            keys[r] = cr_key_of(ids[r]);
        }
        for (int64_t i = 0; i < ROWS * D; i++)
            grad[i] = cr_rng_f32(20 + (uint64_t)step, (uint64_t)i) * 2 - 1;
        cr_jagged j[2] = {{.ids = ids, .n_ids = ROWS}, {.ids = keys, .n_ids = ROWS}};
        cr_batch b[2] = {{.n_rows = ROWS, .n_sparse = 1, .sparse = &j[0]},
                         {.n_rows = ROWS, .n_sparse = 1, .sparse = &j[1]}};
        cr_optim_step s = {.lr = 0.05, .t = step};
        if (type->prepare) type->prepare(conf, &s);
        CHECK_INT(cr_grow_step(g, NULL), 0);
        CHECK_INT(cr_views_stage(v, &b[1], NULL, NULL, NULL), 0);
        const cr_view *view = cr_views_get(v);
        int64_t wrong = 0;
        for (int64_t r = 0; r < ROWS; r++)
            wrong += memcmp(cr_view_row(view, r), cr_table_row(&here, ids[r]),
                            (size_t)here.n_weights * sizeof(float)) != 0;
        CHECK_INT(wrong, 0);
        for (int k = 0; k < 2; k++) {
            cr_updater_group(u[k], &b[k], NULL);
            cr_updater_apply(u[k], &s);
        }
    }
    int64_t seen = 0, wrong = 0;
    for (int64_t id = 0; id < N; id++) {
        const float *rec = cr_grow_record(g, cr_key_of(id));
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

static cr_grow *new_table(void) {
    cr_table_spec spec = {"t", 0, 4, 0, false, NULL, NULL};
    cr_init init = CR_INIT_N(0.1);
    cr_grow *g = NULL;
    CHECK_INT(cr_grow_new(&g, &(cr_grow_opts){.spec = &spec, .init = &init, .seed = 9}, NULL), 0);
    return g;
}

/* rows have the values of their ids, whatever came before; dropped ones begin anew */
TEST(first_values_belong_to_ids) {
    cr_kern_init();
    cr_grow *a = new_table(), *b = new_table();
    float *rec, first[4];
    cr_err err;
    for (int64_t i = 0; i < 5000; i++)
        CHECK_INT(cr_grow_make(a, key_of(i % 4096), &rec, &err), 0);
    for (int64_t i = 4095; i >= 0; i--)
        CHECK_INT(cr_grow_make(b, key_of(i), &rec, &err), 0);
    CHECK_INT(cr_grow_rows(a), 4096);
    int64_t wrong = 0;
    for (int64_t i = 0; i < 4096; i++)
        wrong +=
            memcmp(cr_grow_record(a, key_of(i)), cr_grow_record(b, key_of(i)), sizeof(first)) != 0;
    CHECK_INT(wrong, 0);
    rec = cr_grow_record(a, key_of(7));
    memcpy(first, rec, sizeof(first));
    rec[0] = 5;
    int64_t bytes = cr_grow_bytes(a);
    CHECK(cr_grow_drop(a, key_of(7)) && !cr_grow_drop(a, key_of(7)));
    CHECK(cr_grow_record(a, key_of(7)) == NULL && cr_grow_rows(a) == 4095);
    CHECK_INT(cr_grow_make(a, cr_key_of(5000), &rec, &err), 0); /* takes the record of key 7 */
    CHECK_INT(cr_grow_make(a, key_of(7), &rec, &err), 0);
    CHECK(memcmp(rec, first, sizeof(first)) == 0);
    CHECK(cr_grow_bytes(a) - bytes < 1 << 20);
    cr_grow_free(a);
    cr_grow_free(b);
}

TEST(evaluation_changes_nothing) {
    cr_kern_init();
    cr_grow *g = new_table();
    const cr_owner *o = cr_grow_owner(g);
    int64_t ids[] = {1, 5, 9};
    float rows[3][4], again[3][4];
    cr_err err;
    CHECK_INT(o->fetch(o->ctx, ids, 3, again[0], 4, false, &err), 0);
    CHECK_INT(cr_grow_rows(g), 0);
    CHECK_INT(cr_grow_step(g, &err), 0);
    CHECK_INT(o->fetch(o->ctx, ids, 2, rows[0], 4, false, &err), 0);
    CHECK_INT(cr_grow_rows(g), 2);
    cr_grow_rest(g);
    memset(again, 0xff, sizeof(again));
    CHECK_INT(o->fetch(o->ctx, ids, 3, again[0], 4, false, &err), 0);
    CHECK_INT(cr_grow_rows(g), 2);
    CHECK(memcmp(rows, again, 2 * sizeof(rows[0])) == 0);
    CHECK(again[2][0] == 0 && again[2][3] == 0);
    cr_grow_free(g);
}

TEST(want_of_memory) {
    cr_kern_init();
    cr_grow *g = new_table();
    cr_err err;
    float *rec;
    int64_t failed = 0;
    for (int64_t i = 0; i < 3000000; i++) {
        if (i % 50 == 0) cr_alloc_fail_after(1);
        cr_code code = cr_grow_make(g, cr_key_of(i), &rec, &err);
        cr_alloc_fail_after(0);
        if (code == CR_OK) continue;
        CHECK_INT(code, CR_ENOMEM);
        failed++;
        CHECK(cr_grow_record(g, cr_key_of(i)) == NULL && cr_grow_rows(g) == i);
        CHECK_INT(cr_grow_make(g, cr_key_of(i), &rec, &err), 0);
    }
    CHECK(failed > 0);
    CHECK_INT(cr_grow_rows(g), 3000000);
    cr_grow_free(g);
}

/* a record of which another row left weights and state is that of a new row */
TEST(dropped_state_is_gone) {
    cr_kern_init();
    for (const cr_oneof_member *m = cr_sparse_optim_family.members; m->key; m++) {
        void *conf = conf_text(m->msg, "");
        cr_table_spec spec = {"t", 0, 3, 0, true, cr_optim_of(&(cr_choice){m, conf}), conf};
        cr_init init = CR_INIT_N(0.1);
        cr_grow_opts o = {.spec = &spec, .init = &init, .seed = 9};
        cr_grow *g, *fresh;
        float *a, *b;
        CHECK_INT(cr_grow_new(&g, &o, NULL), 0);
        CHECK_INT(cr_grow_new(&fresh, &o, NULL), 0);
        size_t size = (size_t)cr_table_stride(3, 0, spec.optim) * sizeof(float);
        for (int64_t i = 0; i < 100; i++) {
            CHECK_INT(cr_grow_make(g, cr_key_of(i), &a, NULL), 0);
            memset(a, 0x41, size);
        }
        for (int64_t i = 0; i < 100; i++)
            CHECK(cr_grow_drop(g, cr_key_of(i)));
        int64_t wrong = 0;
        for (int64_t i = 100; i < 220; i++) {
            CHECK_INT(cr_grow_make(g, cr_key_of(i), &a, NULL), 0);
            CHECK_INT(cr_grow_make(fresh, cr_key_of(i), &b, NULL), 0);
            wrong += memcmp(a, b, size) != 0;
        }
        CHECK_INT(wrong, 0);
        CHECK_INT(cr_grow_rows(g), 120);
        CHECK_INT(g->n_made, 121);
        cr_grow_free(g);
        cr_grow_free(fresh);
    }
}

/* Has the system given the page at `from` of an array of `size` bytes? */
static bool given(const void *p, size_t from, size_t size) {
    unsigned char v = 0;
    if (from >= size) return false;
    CHECK_INT(mincore((char *)(uintptr_t)p + from, 1, &v), 0);
    return v & 1;
}

/* What was touched in huge pages, and whether anything lies behind it. */
typedef struct pages {
    const char *map;
    size_t in_map, in_rest;
} pages;
static pages pages_of(const cr_grow *g) {
    const cr_keymap *m = g->rules.admit > 1 ? &g->waits_at : &g->map;
    return (pages){m->now.groups, m->now.size < CR_BIG_STEP ? 0 : cr_keymap_touched(m),
                   g->rows_touched + g->notes_touched + g->waits_touched};
}
static bool beyond(const cr_grow *g) {
    const cr_keymap *m = g->rules.admit > 1 ? &g->waits_at : &g->map;
    return (m->now.size >= CR_BIG_STEP &&
            given(m->now.groups, cr_keymap_touched(m), m->now.size)) ||
           given(cr_table_row(&g->rows, 0), g->rows_touched, g->rows.size) ||
           given(g->notes, g->notes_touched, g->notes_mem.size) ||
           given(g->waits, g->waits_touched, g->waits_mem.size);
}

/* One id after the other comes, and gets a row, or waits for it. */
TEST(one_fresh_page_at_a_time) {
    enum { ALL = 1000000 };
    static const cr_grow_rules rules[] = {{.decay = 1, .counts = true},
                                          {.decay = 1, .counts = true, .admit = 2}};
    cr_kern_init();
    for (int k = 0; k < 2; k++) {
        cr_table_spec spec = {"t", 0, 4, 0, false, NULL, NULL};
        cr_init init = CR_INIT_N(0.1);
        cr_grow *g;
        cr_err err;
        int64_t several = 0, behind = 0, touched = 0;
        CHECK_INT(cr_grow_new(
                      &g,
                      &(cr_grow_opts){.spec = &spec, .init = &init, .seed = 9, .rules = &rules[k]},
                      NULL),
                  0);
        for (int64_t i = 0; i < ALL; i++) {
            pages was = pages_of(g);
            uint32_t sum;
            float *rec;
            CHECK_INT(k ? cr_grow_wait(g, cr_key_of(i), 1, 1, &sum, &err)
                        : cr_grow_make(g, cr_key_of(i), &rec, &err),
                      0);
            pages is = pages_of(g);
            size_t fresh =
                is.in_rest - was.in_rest + is.in_map - (is.map == was.map ? was.in_map : 0);
            several += fresh > CR_BIG_STEP;
            touched += fresh > 0;
            if (fresh > 0 || i % 64 == 0) behind += beyond(g);
        }
        CHECK_INT(several, 0);
        CHECK_INT(behind, 0);
        CHECK(touched > 20);
        CHECK((size_t)g->n_made * 16 <= g->rows_touched &&
              (size_t)g->n_made * 8 <= g->notes_touched);
        CHECK((size_t)g->n_waits * sizeof(grow_wait) <= g->waits_touched);
        cr_grow_free(g);
    }
}

TEST_MAIN(CASE(keys_and_ids), CASE(as_a_table_in_memory), CASE(first_values_belong_to_ids),
          CASE(evaluation_changes_nothing), CASE(want_of_memory), CASE(dropped_state_is_gone),
          CASE(one_fresh_page_at_a_time))
