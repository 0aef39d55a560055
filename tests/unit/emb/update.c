/*
 * update.c - grouping of ids and updates of tables against a plain loop: multi-value, weighted and
 * empty rows, mean pooling, a table used by two features, two tables that share a grouping,
 * clipping; any number of threads.
 */
#include "emb/update.h"

#include "all_lanes.h"
#include "base/rng.h"
#include "emb/group.h"
#include "graph/plan.h"
#include "harness.h"
#include "kern/kern.h"

#define ROWS  301
#define VOCAB 4000

/* w -= lr * g, so that the gradient can be read off the weights */
static void plain_row(const void *conf, const cr_optim_step *s, float *w, float *state, float *g,
                      int64_t D) {
    (void)conf;
    for (int64_t d = 0; d < D; d++)
        w[d] -= (float)s->lr * g[d];
    *state += 1; /* updates of this row */
}
static const cr_optim_type plain = {.name = "plain", .row_state = 1, .row = plain_row};

typedef struct feature {
    int32_t off[ROWS + 1];
    int64_t *ids;
    float *w;
    cr_jagged j;
} feature;

static void make(feature *f, uint64_t key, int64_t vocab, bool single, bool weighted) {
    int64_t n = 0;
    f->off[0] = 0;
    f->ids = calloc(ROWS * 4, sizeof(int64_t));
    f->w = calloc(ROWS * 4, sizeof(float));
    for (int r = 0; r < ROWS; r++) {
        int64_t len = single ? 1 : (int64_t)cr_rng_below(key, (uint64_t)r, 5);
        for (int64_t k = 0; k < len; k++, n++) {
            /* skewed: small ids repeat often */
            double u = cr_rng_f64(key + 1, (uint64_t)n);
            f->ids[n] = (int64_t)(u * u * u * (double)vocab);
            f->w[n] = cr_rng_f32(key + 2, (uint64_t)n) + 0.5f;
        }
        f->off[r + 1] = (int32_t)n;
    }
    f->j = (cr_jagged){.off = single ? NULL : f->off,
                       .ids = f->ids,
                       .w = weighted ? f->w : NULL,
                       .n_ids = n};
}

static void done(feature *f) {
    free(f->ids);
    free(f->w);
}

/* Entries of ascending ids, each in the order of lanes, features and rows; a head per id, lane and
 * feature. */
static void check_group(const cr_group *g, const cr_jagged *sparse) {
    int64_t seen = 0;
    uint32_t h = 0;
    for (int64_t u = 0; u < g->n_uniq; u++) {
        CHECK(u == 0 || (uint64_t)g->id[u] > (uint64_t)g->id[u - 1]);
        CHECK_INT(g->head_seg[u], h);
        CHECK(g->seg[u] < g->seg[u + 1]);
        for (uint32_t i = g->seg[u]; i < g->seg[u + 1]; i++, seen++) {
            cr_entry e = g->entry[i], before = i > 0 ? g->entry[i - 1] : e;
            uint32_t lane = cr_entry_lane(e), slot = cr_entry_slot(e),
                     pos = g->pos ? g->pos[i] : e.row;
            const cr_jagged *j = &sparse[g->slots[slot].slot];
            CHECK_INT(j->ids[pos], g->id[u]);
            CHECK(!j->off ? pos == e.row
                          : (int)pos >= j->off[e.row] && (int)pos < j->off[e.row + 1]);
            CHECK(e.row >= ROWS * lane / 8 && e.row < ROWS * (lane + 1) / 8);
            if (i > g->seg[u] && lane == cr_entry_lane(before))
                CHECK(slot == cr_entry_slot(before) ? e.row >= before.row
                                                    : slot > cr_entry_slot(before));
            if (i > g->seg[u]) CHECK(lane >= cr_entry_lane(before));
            if (i > g->seg[u] && e.at == before.at) continue;
            CHECK(g->head[h].at == e.at && g->head[h].row == e.row);
            h++;
        }
    }
    CHECK_INT(seen, g->n);
    CHECK_INT(g->head_seg[g->n_uniq], h);
}

TEST(group_sorts) {
    feature f[2];
    make(&f[0], 1, VOCAB, false, false);
    make(&f[1], 2, VOCAB, true, false);
    cr_jagged sparse[2] = {f[0].j, f[1].j};
    cr_batch b = {.n_rows = ROWS, .n_sparse = 2, .sparse = sparse};
    cr_group_slot slots[2] = {{1, 0}, {0, 0}};
    cr_group g = {.slots = slots, .n_slots = 2};
    cr_group_room room = {0};
    cr_group_run(&g, &room, &b, NULL, all_lanes(8));
    CHECK_INT(g.n, f[0].j.n_ids + ROWS);
    check_group(&g, sparse);
    cr_group_clear(&g);
    cr_group_room_clear(&room);
    done(&f[0]);
    done(&f[1]);
}

/* Passes of the sort of these few ids by their range, whatever their size; ids of 64 bits count as
 * unsigned. */
TEST(group_passes) {
    static const struct {
        uint64_t first, step;
        int passes;
    } cases[] = {
        {7, 0, 0},                            /* one id */
        {0, 1, 1},                            /* a small vocabulary */
        {(uint64_t)1 << 60, 1, 1},            /* the same, far out */
        {0xfffffffffffff000u, 5, 2},          /* 1500, as negative numbers */
        {0, (uint64_t)1 << 11, 2},            /* the lowest of three digits is the same in all */
        {0, 1000, 3},                         /* 301,000 */
        {((uint64_t)1 << 62) + 9, 100000, 4}, /* 30 million */
        {3, (uint64_t)1 << 44, 2},            /* the lower 44 bits are the same in all */
        {5, 0x00d9f1e3c5b7a921u, 2},          /* all 64 bits, of which the top ones differ */
        {0x8000000000000000u, 0x1234567u, 2}, /* 5.7 billion, the same */
        {7, ((uint64_t)1 << 62) + 1, 3},      /* four values of the top bits: both halves */
    };
    cr_group_room room = {0};
    for (size_t c = 0; c < sizeof(cases) / sizeof(*cases); c++) {
        int64_t ids[ROWS];
        for (uint64_t r = 0; r < ROWS; r++) /* every id once, in an order of its own */
            ids[r] = (int64_t)(cases[c].first + r * 100 % ROWS * cases[c].step);
        cr_jagged j = {.ids = ids, .n_ids = ROWS};
        cr_batch b = {.n_rows = ROWS, .n_sparse = 1, .sparse = &j};
        cr_group_slot slot = {0, 0};
        cr_group g = {.slots = &slot, .n_slots = 1};
        cr_group_run(&g, &room, &b, NULL, all_lanes(8));
        CHECK_INT(g.passes, cases[c].passes);
        CHECK_INT(g.n, ROWS);
        CHECK_INT(g.n_uniq, cases[c].step ? ROWS : 1);
        check_group(&g, &j);
        cr_group_clear(&g);
    }
    cr_group_room_clear(&room);
}

/* Id number r of a family whose range has more than 32 bits. */
static int64_t large_id(int family, uint64_t r) {
    switch (family) {
    case 0: return (int64_t)(cr_rng_u64(1, r * r % 97) >> 1);            /* some of them often */
    case 1: return (int64_t)(cr_rng_u64(2, r % 150) << 1 | r / 150 % 2); /* pairs but for one bit */
    case 2: return r == 17 ? 1 : r == 200 ? INT64_MAX : INT64_MAX - 1 - (r % 50 == 3);
    case 3: return (int64_t)(cr_rng_u64(3, r % 211) >> 24); /* 40 bits: words hold all of them */
    default: return (int64_t)(((r * 7 % 5) << 60) + r * 100 % ROWS); /* runs */
    }
}

/* ids of more than 32 bits: their order is also right where the top bits do not tell it */
TEST(group_large) {
    cr_group_room room = {0};
    for (int family = 0; family < 5; family++)
        for (int lists = 0; lists < 2; lists++) {
            int64_t ids[ROWS];
            int32_t off[ROWS + 1];
            for (int r = 0; r <= ROWS; r++)
                off[r] = r;
            for (uint64_t r = 0; r < ROWS; r++)
                ids[r] = large_id(family, r);
            cr_jagged j = {.ids = ids, .n_ids = ROWS, .off = lists ? off : NULL};
            cr_batch b = {.n_rows = ROWS, .n_sparse = 1, .sparse = &j};
            cr_group_slot slot = {0, 0};
            cr_group g = {.slots = &slot, .n_slots = 1};
            cr_group_run(&g, &room, &b, NULL, all_lanes(8));
            CHECK_INT(g.n, ROWS);
            check_group(&g, &j);
            cr_group_clear(&g);
        }
    cr_group_room_clear(&room);
}

/* a feature whose rows are all empty, from the first batch on */
TEST(group_of_nothing) {
    int32_t off[ROWS + 1] = {0};
    cr_jagged none = {.off = off};
    cr_batch b = {.n_rows = ROWS, .n_sparse = 1, .sparse = &none};
    cr_group_slot slot = {0, 0};
    cr_group g = {.slots = &slot, .n_slots = 1};
    cr_group_room room = {0};
    for (int k = 0; k < 2; k++) {
        cr_group_run(&g, &room, &b, NULL, all_lanes(8));
        CHECK_INT(g.n, 0);
        CHECK_INT(g.n_uniq, 0);
        CHECK_INT(g.seg[0], 0);
    }
    cr_group_clear(&g);
    cr_group_room_clear(&room);
}

typedef struct setup {
    feature f[3];
    cr_jagged sparse[3];
    cr_batch b;
    float grad[3][ROWS * 7];
} setup;

static setup *new_setup(void) {
    setup *s = calloc(1, sizeof(*s));
    make(&s->f[0], 11, 50, false, true);
    make(&s->f[1], 12, VOCAB, true, false);
    make(&s->f[2], 13, 50, false, false);
    for (int i = 0; i < 3; i++) {
        s->sparse[i] = s->f[i].j;
        for (int k = 0; k < ROWS * 7; k++)
            s->grad[i][k] = cr_rng_f32(99 + (uint64_t)i, (uint64_t)k) * 2 - 1;
    }
    s->b = (cr_batch){.n_rows = ROWS, .n_sparse = 3, .sparse = s->sparse};
    return s;
}

static void free_setup(setup *s) {
    for (int i = 0; i < 3; i++)
        done(&s->f[i]);
    free(s);
}

/* what the sum of all gradients of each row is, in double */
static void expect(const setup *s, double *sum, int64_t D, const int *slots, const bool *mean,
                   int n, double clip) {
    for (int u = 0; u < n; u++) {
        const cr_jagged *j = &s->sparse[slots[u]];
        for (int64_t r = 0; r < ROWS; r++) {
            int64_t from = j->off ? j->off[r] : r, to = j->off ? j->off[r + 1] : r + 1;
            for (int64_t k = from; k < to; k++) {
                double c = j->w ? (double)j->w[k] : 1;
                if (mean[u]) c /= (double)(to - from);
                for (int64_t d = 0; d < D; d++) {
                    double g = (double)s->grad[slots[u]][r * 7 + d];
                    if (clip > 0) g = fmax(-clip, fmin(clip, g));
                    sum[j->ids[k] * D + d] += c * g;
                }
            }
        }
    }
}

static uint64_t run(int threads, bool check) {
    setup *s = new_setup();
    cr_pool *pool;
    CHECK_INT(cr_pool_new(&pool, threads, NULL), 0);
    cr_optim_conf clipped = {.gradient_clipping = true, .max_gradient = 0.25};
    cr_table t[3];
    CHECK_INT(cr_table_init(&t[0], &(cr_table_spec){"shared", 50, 5, 0, true, &plain, NULL}, NULL),
              0);
    CHECK_INT(cr_table_init(&t[1], &(cr_table_spec){"deep", VOCAB, 7, 0, true, &plain, NULL}, NULL),
              0);
    CHECK_INT(cr_table_init(&t[2], &(cr_table_spec){"wide", VOCAB, 3, 0, true, &plain, &clipped},
                            NULL),
              0);
    cr_updater *u = cr_updater_new(all_lanes(8), pool);
    cr_use shared[2] = {{.grad = s->grad[0], .ld = 7},
                        {.slot = 2, .mean = true, .grad = s->grad[2], .ld = 7}};
    cr_use deep = {.slot = 1, .grad = s->grad[1], .ld = 7};
    cr_updater_add(u, &t[0], shared, 2);
    cr_updater_add(u, &t[1], &deep, 1);
    cr_updater_add(u, &t[2], &deep, 1);
    cr_optim_step step = {.lr = 1, .t = 1};
    cr_updater_group(u, &s->b, NULL);
    cr_updater_apply(u, &step);
    uint64_t hash = 0;
    for (int i = 0; i < 3; i++) {
        int64_t D = t[i].D;
        double *sum = calloc((size_t)(t[i].n_rows * D), sizeof(double));
        if (i == 0)
            expect(s, sum, D, (int[]){0, 2}, (bool[]){false, true}, 2, 0);
        else
            expect(s, sum, D, (int[]){1}, (bool[]){false}, 1, i == 2 ? 0.25 : 0);
        for (int64_t r = 0; r < t[i].n_rows; r++) {
            const float *rec = cr_table_row(&t[i], r);
            bool touched = false;
            for (int use = 0; use < (i == 0 ? 2 : 1); use++) {
                const cr_jagged *j = &s->sparse[i == 0 ? 2 * use : 1];
                for (int64_t k = 0; k < j->n_ids; k++)
                    touched |= j->ids[k] == r;
            }
            for (int64_t d = 0; d < D; d++) {
                uint32_t bits;
                memcpy(&bits, &rec[d], 4);
                hash = cr_rng_sub(hash, bits);
                if (check) CHECK_NEAR(rec[d], -sum[r * D + d], 2e-5, 1e-5);
            }
            if (check) CHECK(rec[D] == (touched ? 1.0f : 0.0f)); /* once each */
        }
        free(sum);
        cr_table_clear(&t[i]);
    }
    cr_updater_free(u);
    cr_pool_free(pool);
    free_setup(s);
    return hash;
}

TEST(sums_and_updates_once) {
    uint64_t one = run(1, true);
    CHECK(run(2, false) == one);
    CHECK(run(3, false) == one);
}

/* clipping must not hide an overflow from who measures */
TEST(overflow_of_a_clipped_table_is_seen) {
    cr_pool *pool;
    CHECK_INT(cr_pool_new(&pool, 1, NULL), 0);
    cr_optim_conf clipped = {.gradient_clipping = true, .max_gradient = 0.25};
    cr_table t;
    CHECK_INT(cr_table_init(&t, &(cr_table_spec){"t", 4, 2, 0, true, &plain, &clipped}, NULL), 0);
    int64_t ids[3] = {1, 2, 1};
    float grad[6] = {1, -1, 0.5f, 0, 0, 2};
    cr_jagged sparse = {.ids = ids, .n_ids = 3};
    cr_batch b = {.n_rows = 3, .n_sparse = 1, .sparse = &sparse};
    cr_use use = {.grad = grad, .ld = 2};
    cr_updater *u = cr_updater_new(all_lanes(8), pool);
    cr_updater_add(u, &t, &use, 1);
    cr_updater_adjust(u, (cr_adjust){0.5f, 1, 0});
    cr_updater_group(u, &b, NULL);
    static const float odd[] = {INFINITY, -INFINITY, NAN};
    double sum = 0;
    CHECK(cr_updater_measure(u, 2, &sum));
    CHECK_NEAR(sum, 0.25 * 0.25 * 2, 1e-12, 0); /* (0.25, 0) and (0.25, 0) */
    for (int i = 0; i < 3; i++) {
        grad[5] = odd[i];
        sum = 0;
        CHECK(!cr_updater_measure(u, 2, &sum));
    }
    cr_updater_free(u);
    cr_table_clear(&t);
    cr_pool_free(pool);
}

/* more features on one table than fit a byte: each sends its own gradient */
TEST(many_features_share_a_table) {
    enum { N = 300, B = 20 };
    cr_pool *pool;
    CHECK_INT(cr_pool_new(&pool, 2, NULL), 0);
    cr_table t;
    CHECK_INT(cr_table_init(&t, &(cr_table_spec){"shared", N, 1, 0, true, &plain, NULL}, NULL), 0);
    static int64_t ids[N][B];
    static float grad[N][B];
    cr_jagged sparse[N];
    cr_use uses[N];
    for (int s = 0; s < N; s++) {
        for (int r = 0; r < B; r++) {
            ids[s][r] = s;
            grad[s][r] = (float)(s + 1);
        }
        sparse[s] = (cr_jagged){.ids = ids[s], .n_ids = B};
        uses[s] = (cr_use){.slot = s, .grad = grad[s], .ld = 1};
    }
    cr_batch b = {.n_rows = B, .n_sparse = N, .sparse = sparse};
    cr_updater *u = cr_updater_new(all_lanes(8), pool);
    cr_updater_add(u, &t, uses, N);
    cr_optim_step step = {.lr = 1, .t = 1};
    cr_updater_group(u, &b, NULL);
    cr_updater_apply(u, &step);
    for (int s = 0; s < N; s++)
        CHECK(cr_table_row(&t, s)[0] == (float)(-B * (s + 1)));
    cr_updater_free(u);
    cr_table_clear(&t);
    cr_pool_free(pool);
}

/* Rows of equal ids whose gradients the lookup has summed into the first of them, the others
 * holding nothing that may be read: of no lane, of all, of some, of one feature only. Whole
 * numbers, so that the order of sums does not show. */
TEST(gradients_in_the_first_of_equal_ids) {
    enum { N = 23, B = 200, LANES = 4, D = 3 };
    cr_pool *pool;
    CHECK_INT(cr_pool_new(&pool, 2, NULL), 0);
    static const uint8_t how[][2][LANES] = {{{0, 0, 0, 0}, {0, 0, 0, 0}},
                                            {{1, 1, 1, 1}, {1, 1, 1, 1}},
                                            {{1, 0, 0, 1}, {0, 1, 0, 1}},
                                            {{1, 1, 1, 1}, {0, 0, 0, 0}}};
    static int64_t ids[2][B];
    static float grad[2][B * D];
    for (int h = 0; h < 4; h++) {
        cr_table t;
        CHECK_INT(cr_table_init(&t, &(cr_table_spec){"t", N, D, 0, true, &plain, NULL}, NULL), 0);
        float want[N * D] = {0};
        cr_jagged sparse[2];
        cr_use uses[2];
        for (int s = 0; s < 2; s++) {
            for (int64_t r = 0; r < B; r++) {
                ids[s][r] = (int64_t)cr_rng_below(5 + (uint64_t)s, (uint64_t)r, N);
                for (int64_t d = 0; d < D; d++) {
                    grad[s][r * D + d] = (float)(r - 90 + 7 * d);
                    want[ids[s][r] * D + d] -= grad[s][r * D + d];
                }
            }
            for (int64_t r = B - 1; r > 0; r--) {
                int64_t lane = 0, first = r;
                while (cr_lane_begin(B, LANES, (int)lane + 1) <= r)
                    lane++;
                for (int64_t q = cr_lane_begin(B, LANES, (int)lane); q < first; q++)
                    if (ids[s][q] == ids[s][r]) first = q;
                for (int64_t d = 0; how[h][s][lane] && first < r && d < D; d++) {
                    grad[s][first * D + d] += grad[s][r * D + d];
                    grad[s][r * D + d] = NAN;
                }
            }
            sparse[s] = (cr_jagged){.ids = ids[s], .n_ids = B};
            uses[s] = (cr_use){.slot = s, .grad = grad[s], .ld = D, .shared = how[h][s]};
        }
        cr_batch b = {.n_rows = B, .n_sparse = 2, .sparse = sparse};
        cr_updater *u = cr_updater_new(all_lanes(LANES), pool);
        cr_updater_add(u, &t, uses, 2);
        cr_updater_group(u, &b, NULL);
        cr_updater_apply(u, &(cr_optim_step){.lr = 1, .t = 1});
        for (int i = 0; i < N * D; i++)
            CHECK(cr_table_row(&t, i / D)[i % D] == want[i]);
        cr_updater_free(u);
        cr_table_clear(&t);
    }
    cr_pool_free(pool);
}

/* Sequences: gradients lie by position of the axis, which may have fewer than the feature's steps;
 * steps of several ids share theirs; beside them a plain use of the same table. */
TEST(sequences) {
    enum { B = 5, LD = 3 };
    cr_pool *pool;
    CHECK_INT(cr_pool_new(&pool, 2, NULL), 0);
    static const int32_t steps[B + 1] = {0, 3, 3, 4, 8, 9};
    static const int32_t off[10] = {0, 1, 3, 4, 5, 5, 7, 8, 10, 11};
    static const int32_t cut[B + 1] = {0, 2, 2, 3, 5, 6}; /* two per row at most */
    static const int64_t ids[11] = {4, 1, 1, 2, 0, 3, 4, 4, 0, 1, 2}, one[B] = {4, 3, 2, 1, 0};
    float grad[10 * LD], rows[B * LD];
    for (int i = 0; i < 10 * LD; i++)
        grad[i] = (float)(i + 1);
    for (int i = 0; i < B * LD; i++)
        rows[i] = (float)(100 * i);
    for (int k = 0; k < 8; k++) { /* truncated, several ids per step, mean */
        const int32_t *axis = k & 1 ? cut : steps;
        bool many = k & 2, mean = k & 4;
        cr_jagged sparse[2] = {{.off = many ? off : NULL, .ids = ids, .steps = steps},
                               {.ids = one, .n_ids = B}};
        cr_batch b = {.n_rows = B, .n_sparse = 2, .sparse = sparse};
        cr_table t;
        CHECK_INT(cr_table_init(&t, &(cr_table_spec){"t", 5, 2, 0, true, &plain, NULL}, NULL), 0);
        cr_use uses[2] = {{.slot = 0, .mean = mean, .ld = LD, .seq = 1},
                          {.slot = 1, .grad = rows, .ld = LD}};
        double want[10] = {0};
        for (int r = 0; r < B; r++) {
            for (int i = 0; i < axis[r + 1] - axis[r]; i++) {
                int s = steps[r] + i, from = many ? off[s] : s, end = many ? off[s + 1] : s + 1;
                for (int e = from; e < end; e++)
                    for (int d = 0; d < 2; d++)
                        want[2 * ids[e] + d] -=
                            (double)grad[(axis[r] + i) * LD + d] / (mean ? end - from : 1);
            }
            for (int d = 0; d < 2; d++)
                want[2 * one[r] + d] -= (double)rows[r * LD + d];
        }
        cr_updater *u = cr_updater_new(all_lanes(4), pool);
        int number = cr_updater_add(u, &t, uses, 2);
        cr_updater_set_grad(u, number, 0, grad);
        cr_updater_group(u, &b, &axis);
        cr_updater_apply(u, &(cr_optim_step){.lr = 1, .t = 1});
        for (int i = 0; i < 10; i++)
            CHECK_NEAR(cr_table_row(&t, i / 2)[i % 2], want[i], 1e-4, 0);
        cr_updater_free(u);
        cr_table_clear(&t);
    }
    cr_pool_free(pool);
}

TEST(fill_is_a_function_of_the_seed) {
    cr_init init = CR_INIT_U(0.25);
    uint64_t want = 0;
    for (int threads = 1; threads <= 3; threads++) {
        cr_pool *pool;
        cr_table t;
        CHECK_INT(cr_pool_new(&pool, threads, NULL), 0);
        CHECK_INT(cr_table_init(&t, &(cr_table_spec){"some.table", 10000, 6, 0, true, &plain, NULL},
                                NULL),
                  0);
        cr_table_fill(&t, &init, 5, pool);
        uint64_t h = 0;
        double sum = 0;
        for (int64_t r = 0; r < t.n_rows; r++)
            for (int64_t d = 0; d < 6; d++) {
                float v = cr_table_row(&t, r)[d];
                uint32_t bits;
                memcpy(&bits, &v, 4);
                h = cr_rng_sub(h, bits);
                CHECK(v >= -0.25f && v < 0.25f);
                sum += (double)v;
            }
        CHECK_NEAR(sum / 60000, 0, 0.003, 0);
        if (threads == 1) want = h;
        CHECK(h == want);
        cr_table_clear(&t);
        cr_pool_free(pool);
    }
}

TEST(init_functions) {
    cr_init i;
    cr_err err;
    CHECK_INT(cr_init_parse(&i, "nn.init.uniform_,a=-0.01,b=0.02", 10, 20, &err), 0);
    CHECK(i.kind == CR_INIT_UNIFORM && i.a == -0.01 && i.b == 0.02);
    CHECK_INT(cr_init_parse(&i, "nn.init.normal_, mean=1, std=0.1", 10, 20, &err), 0);
    CHECK(i.kind == CR_INIT_NORMAL && i.a == 1 && i.b == 0.1);
    CHECK_INT(cr_init_parse(&i, "nn.init.xavier_uniform_", 10, 20, &err), 0);
    CHECK_NEAR(i.b, sqrt(6.0 / 30), 1e-12, 0);
    CHECK_INT(cr_init_parse(&i, "nn.init.kaiming_uniform_,a=0", 10, 20, &err), 0);
    CHECK_NEAR(i.b, sqrt(6.0 / 20), 1e-12, 0);
    CHECK_INT(cr_init_parse(&i, "nn.init.kaiming_normal_,mode='fan_out',nonlinearity=relu", 10, 20,
                            &err),
              0);
    CHECK_NEAR(i.b, sqrt(2.0 / 10), 1e-12, 0);
    CHECK(cr_init_parse(&i, "nn.init.kaiming_normal_,nonlinearity=tanh", 1, 1, &err) == CR_ECONF &&
          strstr(err.msg, "nonlinearity is 'tanh'; use leaky_relu or relu"));
    CHECK_INT(cr_init_parse(&i, "nn.init.constant_,val=0.5", 10, 20, &err), 0);
    CHECK(i.kind == CR_INIT_CONST && i.a == 0.5);
    CHECK(cr_init_parse(&i, "nn.init.unifrom_", 1, 1, &err) == CR_ECONF &&
          strstr(err.msg, "unknown function 'unifrom_'"));
    CHECK(cr_init_parse(&i, "nn.init.uniform_,c=1", 1, 1, &err) == CR_ECONF &&
          strstr(err.msg, "unknown argument 'c'"));
    CHECK(cr_init_parse(&i, "nn.init.uniform_,a=x", 1, 1, &err) == CR_ECONF &&
          strstr(err.msg, "not a number"));
    CHECK(cr_init_parse(&i, "nn.init.uniform_,a", 1, 1, &err) == CR_ECONF &&
          strstr(err.msg, "key=value"));
    /* a truncated normal stays inside */
    CHECK_INT(cr_init_parse(&i, "nn.init.trunc_normal_,std=3", 1, 1, &err), 0);
    float v[1000];
    cr_init_fill(&i, 7, 0, 1000, v);
    for (int k = 0; k < 1000; k++)
        CHECK(v[k] >= -2 && v[k] <= 2);
}

int main(int argc, char **argv) {
    static const t_case cases[] = {CASE(group_sorts),
                                   CASE(group_large),
                                   CASE(group_passes),
                                   CASE(group_of_nothing),
                                   CASE(sums_and_updates_once),
                                   CASE(overflow_of_a_clipped_table_is_seen),
                                   CASE(many_features_share_a_table),
                                   CASE(gradients_in_the_first_of_equal_ids),
                                   CASE(sequences),
                                   CASE(fill_is_a_function_of_the_seed),
                                   CASE(init_functions)};
    cr_kern_init();
    return t_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
