/*
 * sink.c - gradients that are collected, sent and applied elsewhere give the same bits as those
 * that are applied at once: for every rule of tables, every storage, and rows that repeat over
 * lanes.
 */
#include "emb/sink.h"

#include "all_lanes.h"
#include "base/rng.h"
#include "conf_text.h"
#include "emb/update.h"
#include "harness.h"
#include "kern/kern.h"
#include "optim/list.h"
#include "pile.h"

enum { ROWS = 700, N = 500, STEPS = 3 };

static void make_ids(int64_t *ids, int64_t step) {
    for (int64_t r = 0; r < ROWS; r++) {
        double x = cr_rng_f64(7 + (uint64_t)step, (uint64_t)r);
        ids[r] = (int64_t)(x * x * N); /* small ids repeat often */
    }
}

/* the same steps with a table in memory and with an owner; adjusted: with what clipping by norm
 * does */
static void compare(const cr_optim_type *type, const void *conf, int64_t D, int half, bool adjusted,
                    cr_pool *pool) {
    cr_table_spec spec = {"some.table", N, D, half, true, type, conf};
    cr_init init = CR_INIT_N(0.1);
    cr_table here, there;
    pile p;
    CHECK_INT(cr_table_init(&here, &spec, NULL), 0);
    cr_table_fill(&here, &init, 3, pool);
    CHECK_INT(pile_init(&p, &spec, &init, 3, NULL), 0);
    cr_table_describe(&there, &spec, &p.owner);
    float *grad = calloc((size_t)(ROWS * D), sizeof(float));
    cr_use use = {.grad = grad, .ld = D};
    cr_updater *u[2] = {cr_updater_new(all_lanes(8), pool), cr_updater_new(all_lanes(8), pool)};
    cr_updater_add(u[0], &here, &use, 1);
    cr_updater_add(u[1], &there, &use, 1);
    for (int64_t step = 1; step <= STEPS; step++) {
        int64_t ids[ROWS];
        make_ids(ids, step);
        for (int64_t i = 0; i < ROWS * D; i++)
            grad[i] = cr_rng_f32(20 + (uint64_t)step, (uint64_t)i) * 2 - 1;
        cr_jagged j = {.ids = ids, .n_ids = ROWS};
        cr_batch b = {.n_rows = ROWS, .n_sparse = 1, .sparse = &j};
        cr_optim_step s = {.lr = 0.05, .t = step};
        if (type->prepare) type->prepare(conf, &s);
        for (int k = 0; k < 2; k++) {
            if (adjusted) cr_updater_adjust(u[k], (cr_adjust){0.5f, 0.75f, 0.25f});
            cr_updater_group(u[k], &b, NULL);
            cr_updater_apply(u[k], &s);
        }
    }
    CHECK(p.step.t == STEPS && p.n_id == 0);
    CHECK_INT(pile_same(&p, &here), 0);
    cr_updater_free(u[0]);
    cr_updater_free(u[1]);
    cr_table_clear(&here);
    pile_clear(&p);
    free(grad);
}

TEST(every_rule) {
    cr_arena arena;
    cr_diag diag;
    cr_pool *pool;
    cr_arena_init(&arena, 0);
    cr_diag_init(&diag);
    CHECK_INT(cr_pool_new(&pool, 2, NULL), 0);
    int n = 0, swept = 0;
    for (const cr_oneof_member *m = cr_sparse_optim_family.members; m->key; m++)
        for (int every = 0; every < 2; every++) {
            bool adam = strcmp(m->key, "adam_optimizer") == 0;
            if (every && !adam) continue;
            void *conf = conf_text(m->msg, every ? "mode: DENSE" : "");
            const cr_optim_type *type = cr_optim_of(&(cr_choice){m, conf});
            swept += type->every_row;
            n++;
            for (int half = 0; half <= CR_HALF_FP16; half++)
                for (int64_t D = 1; D <= 160; D += D < 7 ? 3 : 150)
                    compare(type, conf, D, half, D > 1, pool);
        }
    CHECK_INT(diag.n, 0);
    CHECK(n > 8);
    CHECK_INT(swept, 1);
    cr_pool_free(pool);
    cr_diag_clear(&diag);
    cr_arena_clear(&arena);
}

int main(int argc, char **argv) {
    static const t_case cases[] = {CASE(every_rule)};
    cr_kern_init();
    return t_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
