/*
 * The choice of placings: compared with the best of all plans where these can be counted, with
 * known answers, with limits of memory, and at the largest size.
 */
#include "base/cpu.h"
#include "harness.h"
#include "planner/planner_int.h"

static cr_planner_table table(int64_t rows, int64_t D, double ids) {
    return (cr_planner_table){.name = "t",
                              .n_rows = rows,
                              .D = D,
                              .ids = ids,
                              .row_bytes = 8 * D,
                              .weight_bytes = 4,
                              .trained = true,
                              .kinds = 1U << CR_DATA_PARALLEL | 1U << CR_TABLE_WISE |
                                       1U << CR_ROW_WISE | 1U << CR_TABLE_ROW_WISE};
}

static cr_planner_machine machine(int ranks, int per_node) {
    cr_planner_machine m = cr_planner_machine_default;
    m.ranks = ranks;
    m.per_node = per_node;
    return m;
}

static uint32_t next(uint32_t *x) {
    *x = *x * 1664525 + 1013904223;
    return *x >> 8;
}

/* ---- the best of all plans ---- */

static int all_ways(const cr_planner_table *t, const cr_planner_machine *m, cr_planned *v) {
    int n = 0, P = m->ranks;
    if (cr_planner_may_copy(m, t)) v[n++] = (cr_planned){CR_DATA_PARALLEL, 0, 0, 0};
    for (int r = 0; r < P; r++)
        v[n++] = (cr_planned){CR_TABLE_WISE, r, 1, 0};
    for (int r = 0; r < P; r++)
        v[n++] = (cr_planned){CR_ROW_WISE, r, t->n_rows < P ? (int)t->n_rows : P, 0};
    return n;
}

static double best_of_all(const cr_planner_job *j, const cr_planner_machine *m) {
    cr_planned ways[8][16];
    int n[8], at[8] = {0};
    for (int t = 0; t < j->n; t++)
        n[t] = all_ways(&j->tables[t], m, ways[t]);
    double best = HUGE_VAL;
    for (bool more = true; more;) {
        cr_planned plan[8];
        for (int t = 0; t < j->n; t++)
            plan[t] = ways[t][at[t]];
        cr_arena a;
        cr_arena_init(&a, 0);
        cr_planner_result r = {.tables = plan};
        cr_planner_judge(j, m, &a, &r);
        if (r.fits && r.slowest.all < best) best = r.slowest.all;
        cr_arena_clear(&a);
        more = false;
        for (int t = 0; t < j->n && !more; t++) {
            more = ++at[t] < n[t];
            if (!more) at[t] = 0;
        }
    }
    return best;
}

TEST(brute_force) {
    uint32_t x = 7;
    int exact = 0, cases = 60, none = 0;
    double worst = 1;
    for (int c = 0; c < cases; c++) {
        cr_planner_table v[4];
        int n = 1 + (int)(next(&x) % 4), P = 2 + (int)(next(&x) % 2);
        cr_planner_machine m = machine(P, P);
        double all = 0;
        for (int i = 0; i < n; i++) {
            static const int64_t sizes[] = {3, 40, 900, 20000, 300000};
            v[i] = table(sizes[next(&x) % 5] + (int64_t)(next(&x) % 50), 4 * (1 + next(&x) % 8),
                         1 + (double)(next(&x) % 4));
            v[i].zipf = (double)(next(&x) % 3) / 2;
            v[i].ordered = next(&x) % 2;
            all += (double)(v[i].n_rows * v[i].row_bytes);
        }
        cr_planner_job j = {.tables = v, .n = n, .batch = 256};
        m.memory = next(&x) % 2 ? 0 : all * 0.7 + 3e6; /* not room for all tables on each rank */
        double best = best_of_all(&j, &m);
        cr_arena a;
        cr_arena_init(&a, 0);
        cr_planner_result r;
        cr_planner_choose(&j, &m, &a, &r);
        CHECK(r.fits == isfinite(best));
        if (!isfinite(best)) {
            none++;
        } else {
            double ratio = r.slowest.all / best;
            CHECK(ratio > 1 - 1e-9);
            if (ratio < 1 + 1e-9) exact++;
            if (ratio > worst) worst = ratio;
        }
        cr_arena_clear(&a);
    }
    printf("%d of %d plans are the best there is, the worst takes %.3f of its time\n", exact,
           cases - none, worst);
    CHECK(worst < 1.1);
    CHECK(exact >= (cases - none) * 8 / 10);
}

/* ---- known answers ---- */

TEST(known) {
    cr_arena a;
    cr_arena_init(&a, 0);
    cr_planner_result r;
    /* a table of some rows: each rank keeps it; a large one is cut; one process keeps everything */
    cr_planner_table v[3] = {table(8, 16, 1), table(50000000, 16, 1), table(3, 4, 1)};
    cr_planner_job j = {.tables = v, .n = 3, .batch = 4096};
    cr_planner_machine m = machine(8, 8);
    cr_planner_choose(&j, &m, &a, &r);
    CHECK_INT(r.tables[0].kind, CR_DATA_PARALLEL);
    CHECK_INT(r.tables[1].kind, CR_ROW_WISE);
    CHECK_INT(r.tables[2].kind, CR_DATA_PARALLEL);
    m = machine(1, 1);
    cr_planner_choose(&j, &m, &a, &r);
    CHECK_INT(r.tables[1].kind, CR_DATA_PARALLEL);
    CHECK_NEAR(r.ranks[0].out[0] + r.ranks[0].out[1], 0, 0, 0);
    /* four equal tables that must stay whole, four ranks: one each */
    cr_planner_table w[4];
    for (int i = 0; i < 4; i++) {
        w[i] = table(100000, 16, 1);
        w[i].kinds = 1U << CR_TABLE_WISE;
    }
    j = (cr_planner_job){.tables = w, .n = 4, .batch = 1024};
    m = machine(4, 2);
    cr_planner_choose(&j, &m, &a, &r);
    int seen = 0;
    for (int i = 0; i < 4; i++)
        seen |= 1 << r.tables[i].first;
    CHECK_INT(seen, 15);
    cr_arena_clear(&a);
}

/* Only the allowed ways are taken, and each gives a placing that covers its table. */
TEST(kinds) {
    cr_arena a;
    cr_arena_init(&a, 0);
    for (int kind = 0; kind < CR_SHARD_KINDS; kind++)
        for (int ranks = 2; ranks <= 12; ranks += 5) {
            cr_planner_table v[3] = {table(1000, 32, 2), table(3, 6, 1), table(100000, 64, 1)};
            for (int i = 0; i < 3; i++)
                v[i].kinds = 1U << kind;
            cr_planner_job j = {.tables = v, .n = 3, .batch = 512};
            cr_planner_machine m = machine(ranks, ranks == 7 ? 3 : ranks / 2);
            cr_planner_result r;
            cr_planner_choose(&j, &m, &a, &r);
            for (int i = 0; i < 3; i++) {
                bool grid = kind == CR_GRID_SHARD && ranks == 7; /* machines are not alike */
                if (!grid) CHECK_INT(r.tables[i].kind, kind);
                cr_placing p =
                    cr_planned_placing(&a, &r.tables[i], v[i].n_rows, v[i].D, m.ranks, m.per_node);
                const char *wrong = cr_placing_check(&p, v[i].n_rows, v[i].D, m.ranks);
                CHECK_STR(wrong ? wrong : "right", "right");
                if (kind != CR_TABLE_ROW_WISE && kind != CR_TABLE_COLUMN_WISE) continue;
                for (int k = 0; k < p.n; k++)
                    CHECK_INT(p.shards[k].holder / m.per_node, p.shards[0].holder / m.per_node);
            }
        }
    cr_arena_clear(&a);
}

/* The first rows of tables that are cut over all ranks lie with different ranks. */
TEST(rotation) {
    cr_arena a;
    cr_arena_init(&a, 0);
    cr_planner_table v[8];
    for (int i = 0; i < 8; i++) {
        v[i] = table(1000000, 16, 1);
        v[i].kinds = 1U << CR_ROW_WISE;
        v[i].zipf = 1.05;
        v[i].ordered = true;
    }
    cr_planner_job j = {.tables = v, .n = 8, .batch = 4096};
    cr_planner_machine m = machine(8, 8);
    cr_planner_result r;
    cr_planner_choose(&j, &m, &a, &r);
    int seen = 0;
    for (int i = 0; i < 8; i++)
        seen |= 1 << r.tables[i].first;
    CHECK_INT(seen, 255);
    double least = HUGE_VAL, most = 0; /* and so the ranks have the same work */
    for (int i = 0; i < 8; i++) {
        double t = r.ranks[i].compute + r.ranks[i].update;
        least = t < least ? t : least;
        most = t > most ? t : most;
    }
    CHECK_NEAR(least, most, 0, 0.001);
    cr_arena_clear(&a);
}

/* What leaves ranks comes to ranks, and bytes are those of the exchange. */
TEST(bytes) {
    cr_arena a;
    cr_arena_init(&a, 0);
    cr_planner_table v[1] = {table(1000000, 16, 1)};
    cr_planner_job j = {.tables = v, .n = 1, .batch = 1000, .dense_bytes = 1e6};
    cr_planner_machine m = machine(6, 2);
    static const cr_planned ways[] = {{CR_DATA_PARALLEL, 0, 0, 0}, {CR_TABLE_WISE, 4, 1, 0},
                                      {CR_ROW_WISE, 5, 6, 0},      {CR_TABLE_ROW_WISE, 3, 2, 0},
                                      {CR_COLUMN_WISE, 5, 4, 0},   {CR_TABLE_COLUMN_WISE, 2, 2, 0},
                                      {CR_GRID_SHARD, 2, 4, 2}};
    double dense = 6 * 2 * 5 / 6.0 * 1e6, u = cr_expect_distinct(1000, 1000000, 0);
    for (int w = 0; w < 7; w++) {
        cr_planned plan[1] = {ways[w]};
        cr_planner_result r = {.tables = plan};
        cr_planner_judge(&j, &m, &a, &r);
        double in[2] = {0}, out[2] = {0};
        for (int i = 0; i < 6; i++)
            for (int k = 0; k < 2; k++) {
                in[k] += r.ranks[i].in[k];
                out[k] += r.ranks[i].out[k];
                CHECK(r.ranks[i].in[k] >= 0 && r.ranks[i].out[k] >= 0);
            }
        CHECK_NEAR(in[0], out[0], 1e-3, 1e-9);
        CHECK_NEAR(in[1], out[1], 1e-3, 1e-9);
        /* an id, a row, a gradient with its id; of six ranks one in six asks itself */
        double want = (4 + 64 + 64 + 4) * u * 5;
        if (ways[w].kind == CR_DATA_PARALLEL) want = 30 * u * 68;
        if (ways[w].kind == CR_COLUMN_WISE) want = (4 * 8 + 128) * u * 5;
        if (ways[w].kind == CR_TABLE_COLUMN_WISE || ways[w].kind == CR_GRID_SHARD)
            want = (2 * 8 + 128) * u * 5;
        CHECK_NEAR(in[0] + in[1] - dense, want, 30 * 6 * 16, 0);
    }
    /* the second rank has lanes 2, 3 and 4 of 16: two nodes, and a mask with each id */
    j.lanes = 16;
    double parts =
        cr_expect_distinct(2000 / 3.0, 1000000, 0) + cr_expect_distinct(1000 / 3.0, 1000000, 0);
    CHECK_NEAR(cr_planner_table_cost(&j, &m, 0, &ways[0]).bytes, 30 * (u * 8 + parts * 64),
               30 * 6 * 16, 0);
    cr_arena_clear(&a);
}

/* ---- memory ---- */

TEST(memory) {
    cr_arena a;
    cr_arena_init(&a, 0);
    cr_planner_table v[4];
    for (int i = 0; i < 4; i++)
        v[i] = table(1000000, 16, 1); /* 128 MB each */
    cr_planner_job j = {.tables = v, .n = 4, .batch = 64};
    cr_planner_machine m = machine(4, 4);
    cr_planner_result r;
    for (double limit = 520e6; limit > 130e6; limit /= 1.4) {
        m.memory = limit;
        cr_planner_choose(&j, &m, &a, &r);
        CHECK(r.fits);
        for (int i = 0; i < 4; i++)
            CHECK(r.ranks[i].memory <= limit);
    }
    m.memory = 60e6; /* 512 MB of tables over four ranks do not fit */
    cr_planner_choose(&j, &m, &a, &r);
    CHECK(!r.fits);
    CHECK_NEAR(r.ranks[r.fullest_rank].memory, 128e6, 0, 0.01); /* nothing would be less */
    cr_planner_cures c = cr_planner_find_cures(&j, &m);
    CHECK_INT(c.ranks, 12); /* 43 MB on each of 12, 64 MB on each of 8 */
    CHECK(c.memory > 128e6 && c.memory < 130e6);
    CHECK(!c.half && !c.no_state && c.both); /* 36 MB */
    m.memory = 30e6;
    CHECK(!cr_planner_find_cures(&j, &m).both);
    m.memory = 110e6; /* 16-bit weights take 96 MB, Adagrad per row 68 MB */
    c = cr_planner_find_cures(&j, &m);
    CHECK(c.half && c.no_state && c.both);
    m.memory = 90e6;
    c = cr_planner_find_cures(&j, &m);
    CHECK(!c.half && c.no_state && c.both);
    j.buffers = 2e9; /* no number of ranks helps */
    c = cr_planner_find_cures(&j, &m);
    CHECK_INT(c.ranks, 0);
    CHECK(c.fixed >= 2e9);
    cr_arena_clear(&a);
}

/* Many tables on many ranks, and the same input gives the same plan. CRANK_TEST_LARGE=1 takes the
 * size that docs/design/planner.md speaks of. */
TEST(large) {
    bool full = getenv("CRANK_TEST_LARGE") != NULL;
    int N = full ? 10000 : 1000;
    cr_planner_table *v = malloc((size_t)N * sizeof(*v));
    uint32_t x = 3;
    for (int i = 0; i < N; i++) {
        static const int64_t sizes[] = {10, 1000, 100000, 10000000, 1000000000};
        v[i] = table(sizes[next(&x) % 5] + (int64_t)(next(&x) % 1000), 16 << next(&x) % 3, 1);
        v[i].zipf = 1.05;
        v[i].ordered = next(&x) % 2;
    }
    cr_planner_job j = {.tables = v, .n = N, .batch = 512, .dense_bytes = 1e8, .flops = 1e8};
    cr_planner_machine m = machine(full ? 4096 : 512, 8);
    m.memory = 200e9;
    cr_arena a;
    cr_arena_init(&a, 0);
    cr_planner_result one, two;
    double begin = cr_now();
    cr_planner_choose(&j, &m, &a, &one);
    double took = cr_now() - begin;
    printf("%d tables on %d ranks: planned in %.1f s\n", N, m.ranks, took);
    CHECK(one.fits);
    j.n = 100;
    m.ranks = 16;
    cr_planner_choose(&j, &m, &a, &one);
    cr_planner_choose(&j, &m, &a, &two);
    CHECK(memcmp(one.tables, two.tables, 100 * sizeof(*one.tables)) == 0);
    cr_arena_clear(&a);
    free(v);
}

TEST_MAIN(CASE(brute_force), CASE(known), CASE(kinds), CASE(rotation), CASE(bytes), CASE(memory),
          CASE(large))
