/*
 * part.c - the lanes of a batch that several holders have: which subtrees and rows are whose, and
 * sums that have the same bits for every division.
 */
#include "graph/part.h"

#include "aborts.h"
#include "harness.h"
#include "holders.h"

#define LANES 8

static const int splits[][MAX_HOLDERS + 1] = {
    {8}, {4, 4}, {2, 2, 2, 2}, {3, 3, 2}, {1, 7}, {5, 3}, {1, 1, 1, 1, 1, 1, 1, 1}};
#define N_SPLITS ((int)(sizeof(splits) / sizeof(splits[0])))

TEST(nodes) {
    static const int lane[] = {0, 3, 6, 8}, mine[] = {0, 2, 4}, n_mine[] = {2, 2, 1};
    static const int node_lane[] = {0, 2, 3, 4, 6}, node_n[] = {2, 1, 1, 2, 2};
    cr_arena a;
    cr_arena_init(&a, 0);
    for (int self = 0; self < 3; self++) {
        cr_meet meet = {.n = 3, .self = self, .lane = lane};
        cr_lanes t;
        cr_lanes_init(&t, 8, &meet, &a);
        /* 0-1, 2 | 3, 4-5 | 6-7 */
        CHECK_INT(t.n_nodes, 5);
        CHECK_INT(t.mine, mine[self]);
        CHECK_INT(t.n_mine, n_mine[self]);
        for (int k = 0; k < 5; k++) {
            CHECK_INT(t.node[k].lane, node_lane[k]);
            CHECK_INT(t.node[k].n, node_n[k]);
        }
        /* 2+3, then 0-1 + 2-3 and 4-5 + 6-7, then both halves */
        static const int join[][2] = {{1, 2}, {0, 1}, {3, 4}, {0, 3}};
        CHECK_INT(t.n_joins, 4);
        for (int k = 0; k < 4; k++) {
            CHECK_INT(t.join[k].to, join[k][0]);
            CHECK_INT(t.join[k].from, join[k][1]);
        }
    }
    cr_arena_clear(&a);
}

TEST(one_holder) {
    cr_lanes t;
    for (int n = 1; n <= CR_MAX_LANES; n *= 2) {
        cr_lanes_init(&t, n, NULL, NULL);
        CHECK_INT(t.all, n);
        CHECK_INT(t.first, 0);
        CHECK_INT(t.n, n);
        CHECK_INT(t.n_nodes, 1); /* the whole tree is here */
        CHECK_INT(t.n_mine, 1);
        CHECK_INT(t.node[0].n, n);
        CHECK_INT(t.n_joins, 0);
        CHECK_INT(cr_lanes_row0(&t, 77), 0);
        CHECK_INT(cr_lanes_rows(&t, 77), 77);
        CHECK_INT(cr_lanes_max_rows(&t, 77), 77);
        CHECK_INT(cr_lanes_all(&t, 5, 77), 5); /* the caller knows the rows that are here */
    }
}

TEST(rows) {
    cr_arena a;
    cr_arena_init(&a, 0);
    for (int s = 0; s < N_SPLITS; s++)
        for (int64_t n = 0; n < 70; n++) {
            int lane[MAX_HOLDERS + 1] = {0}, h = 0;
            for (; h < MAX_HOLDERS && splits[s][h]; h++)
                lane[h + 1] = lane[h] + splits[s][h];
            int64_t next = 0;
            for (int k = 0; k < h; k++) {
                cr_meet meet = {.n = h, .self = k, .lane = lane};
                cr_lanes t;
                cr_lanes_init(&t, LANES, &meet, &a);
                CHECK_INT(cr_lanes_row0(&t, n), next);
                next += cr_lanes_rows(&t, n);
                CHECK_INT(cr_lanes_all(&t, cr_lanes_rows(&t, n), 123), 123);
                /* smaller batches fit as well */
                for (int64_t m = n; m < 70; m++)
                    CHECK(cr_lanes_rows(&t, n) <= cr_lanes_max_rows(&t, m));
            }
            CHECK_INT(next, n);
        }
    cr_arena_clear(&a);
}

/* rows of lanes: the same for any number of them, up to one */
TEST(lanes_cut_evenly) {
    for (int lanes = 1; lanes <= CR_MAX_LANES; lanes *= 2)
        for (int64_t n = 0; n < 200; n += 7) {
            CHECK_INT(cr_lane_begin(n, lanes, 0), 0);
            CHECK_INT(cr_lane_begin(n, lanes, lanes), n);
            for (int l = 0; l < lanes; l++) {
                int64_t rows = cr_lane_begin(n, lanes, l + 1) - cr_lane_begin(n, lanes, l);
                CHECK(rows == n / lanes || rows == n / lanes + 1);
            }
        }
}

/* ---- sums ---- */

/* numbers whose sum depends on the order of additions */
static double value(int lane, int i) {
    return (lane % 3 == 0 ? 1e16 : 1) * (1 + lane * 0.37) * (i % 2 ? -1 : 1);
}
#define N 5
typedef struct sums {
    double got[MAX_HOLDERS][N];
    double rows[MAX_HOLDERS][70];
    bool same_rows;
} sums;

static void sum_lanes(sums *s, const cr_meet *meet, int number) {
    cr_arena a;
    cr_arena_init(&a, 0);
    cr_lanes t;
    cr_lanes_init(&t, LANES, meet, &a);
    double v[2 * LANES * N];
    memset(v, 0, sizeof(v));
    for (int l = 0; l < t.n; l++)
        for (int i = 0; i < N; i++)
            v[l * N + i] = value(t.first + l, i);
    cr_lanes_sum_f64(&t, v, N);
    memcpy(s->got[number], v, sizeof(s->got[number]));
    /* rows that each has, so that all have all of them */
    int64_t row0 = cr_lanes_row0(&t, 70);
    for (int64_t r = 0; r < cr_lanes_rows(&t, 70); r++)
        s->rows[number][row0 + r] = 1.5 * (double)(row0 + r);
    cr_lanes_gather_rows(&t, s->rows[number], 70, sizeof(double));
    cr_lanes_gather(&t, v, 0, sizeof(double)); /* nothing: no meeting */
    cr_arena_clear(&a);
}
static void hold(holder *h, void *ctx) {
    sum_lanes(ctx, &h->meet, h->number);
}

TEST(same_bits_for_every_division) {
    double want[N];
    for (int i = 0; i < N; i++) {
        double v[LANES];
        for (int l = 0; l < LANES; l++)
            v[l] = value(l, i);
        want[i] = ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7]));
        double one_by_one = 0;
        for (int l = 0; l < LANES; l++)
            one_by_one += v[l];
        CHECK(one_by_one != want[i]); /* else the order would not be tested */
    }
    static sums alone, parts;
    sum_lanes(&alone, NULL, 0);
    CHECK(memcmp(alone.got[0], want, sizeof(want)) == 0);
    for (int s = 0; s < N_SPLITS; s++) {
        holders hs;
        memset(&parts, 0, sizeof(parts));
        holders_run(&hs, splits[s], hold, &parts);
        for (int h = 0; h < hs.n; h++) {
            CHECK(memcmp(parts.got[h], want, sizeof(want)) == 0);
            for (int r = 0; r < 70; r++)
                CHECK(parts.rows[h][r] == 1.5 * r);
        }
        CHECK_INT(hs.meetings, 2);
    }
}

/* the rest of the tree, alone */
TEST(joins) {
    static const int lane[] = {0, 3, 6, 8};
    cr_arena a;
    cr_arena_init(&a, 0);
    cr_meet meet = {.n = 3, .self = 1, .lane = lane};
    cr_lanes t;
    cr_lanes_init(&t, 8, &meet, &a);
    double v[] = {1, 10, 2, 20, 4, 40, 8, 80, 16, 160};
    cr_lanes_join_f64(&t, v, 2);
    CHECK(v[0] == 31 && v[1] == 310);
    CHECK(v[2] == 6 && v[3] == 60);   /* 2 + 3 */
    CHECK(v[6] == 24 && v[7] == 240); /* 4-5 + 6-7 */
    cr_arena_clear(&a);
}

static void three_lanes(void *ctx) {
    (void)ctx;
    cr_lanes t;
    cr_lanes_init(&t, 3, NULL, NULL);
}
static void lanes_left_over(void *ctx) {
    static const int lane[] = {0, 3, 7};
    cr_arena a;
    cr_arena_init(&a, 0);
    cr_meet meet = {.n = 2, .self = 0, .lane = lane};
    cr_lanes_init(ctx, 8, &meet, &a);
}

TEST(bugs) {
#ifndef NDEBUG
    cr_lanes t;
    CHECK_ABORTS(three_lanes, NULL, "(all & (all - 1)) == 0");
    CHECK_ABORTS(lanes_left_over, &t, "meet->lane[meet->n] == all");
#else
    SKIP("built without assertions");
#endif
}

TEST_MAIN(CASE(nodes), CASE(one_holder), CASE(rows), CASE(lanes_cut_evenly),
          CASE(same_bits_for_every_division), CASE(joins), CASE(bugs))
