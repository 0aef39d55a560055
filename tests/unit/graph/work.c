/*
 * work.c - running batches: sums of lanes, sequences, memory that grows, what nodes remember, runs
 * that are refused or fail, several callers of one plan, several holders of one batch.
 */
#include "graph/work.h"

#include <pthread.h>

#include "aborts.h"
#include "graph/plan_int.h"
#include "holders.h"
#include "unit/graph/toy.h"

#define ROWS 40
static float rows[ROWS * 3];
static const toy_input input = {{rows, rows + ROWS}};

/* ---- sums ---- */

/* one float per row, a weight: the sums over rows need an order */
static cr_node *weigh(cr_graph *g, cr_node **w) {
    cr_node *x = toy_source(g, 0, 1, true);
    *w = cr_graph_param(g, "w", 1, 1, true, NULL, 0);
    return toy_total(g, toy_bell(g, toy_times(g, x, *w)));
}

/* inside a lane in the order of rows, lanes by one balanced tree */
TEST(order_of_sums) {
    cr_graph g;
    cr_node *w, *loss;
    cr_graph_init(&g, 1);
    loss = weigh(&g, &w);
    for (int lanes = 1; lanes <= 64; lanes *= 2) {
        toy_rig k = toy_open(&g, (toy_opts){.mode = CR_TRAIN, .lanes = lanes, .tile_rows = 3});
        for (int i = 0; i < 30; i++) { /* in another order some of these sums have other bits */
            float weight = w->w[0] = 0.1f + 0.07f * (float)i;
            CHECK_INT(toy_run(&k, &input, ROWS, NULL, NULL), CR_OK);
            double sum[64] = {0};
            float dw[64] = {0};
            for (int l = 0; l < lanes; l++) {
                int64_t end = cr_lane_begin(ROWS, lanes, l + 1);
                for (int64_t r = cr_lane_begin(ROWS, lanes, l); r < end; r++) {
                    float p = rows[r] * weight, y = 1 / (1 + p * p), f = 1 + (float)r;
                    sum[l] += (double)f * (double)y;
                    dw[l] += -2 * p * y * y * f * rows[r];
                }
            }
            for (int step = 1; step < lanes; step *= 2)
                for (int l = 0; l < lanes; l += 2 * step) {
                    sum[l] += sum[l + step];
                    dw[l] += dw[l + step];
                }
            float got;
            cr_work_sum_grads(k.w, w->offset, 1, &got);
            CHECK(cr_work_whole(k.w, loss, 0) == sum[0]); /* bit for bit */
            CHECK(got == dw[0]);
        }
        toy_close(&k);
    }
    cr_graph_clear(&g);
}

TEST(threads_and_tiles_do_not_matter) {
    cr_graph g;
    cr_node *w, *loss;
    cr_graph_init(&g, 1);
    loss = weigh(&g, &w);
    double want = 0;
    float want_dw = 0;
    for (int i = 0; i < 12; i++) {
        static const int64_t tile[] = {1, 3, 7, 64};
        toy_rig k = toy_open(&g, (toy_opts){.mode = CR_TRAIN,
                                            .lanes = 8,
                                            .threads = i / 4 + 1,
                                            .tile_rows = tile[i % 4]});
        w->w[0] = 0.7f;
        CHECK_INT(toy_run(&k, &input, ROWS, NULL, NULL), CR_OK);
        float dw;
        cr_work_sum_grads(k.w, w->offset, 1, &dw);
        if (i == 0) {
            want = cr_work_whole(k.w, loss, 0);
            want_dw = dw;
        }
        CHECK(cr_work_whole(k.w, loss, 0) == want && dw == want_dw);
        toy_close(&k);
    }
    cr_graph_clear(&g);
}

/* gradients of several parameters come in any range */
TEST(ranges_of_gradients) {
    cr_graph g;
    cr_graph_init(&g, 1);
    cr_node *x = toy_source(&g, 0, 1, false), *y = x, *w[3];
    for (int i = 0; i < 3; i++) {
        w[i] = cr_graph_param(&g, "w", 1, 1, true, NULL, 0);
        y = toy_times(&g, y, w[i]);
    }
    toy_total(&g, y);
    toy_rig k = toy_open(&g, (toy_opts){.mode = CR_TRAIN, .lanes = 16});
    for (int i = 0; i < 3; i++)
        w[i]->w[0] = 2 + (float)i;
    CHECK_INT(toy_run(&k, &input, 5, NULL, NULL), CR_OK);
    float all[48], one;
    cr_work_sum_grads(k.w, 0, 48, all);
    double sum = 0;
    for (int r = 0; r < 5; r++)
        sum += (1 + r) * (double)rows[r];
    for (int i = 0; i < 3; i++) {
        CHECK_NEAR(all[w[i]->offset], sum * 24 / (2 + i), 0, 1e-5);
        cr_work_sum_grads(k.w, w[i]->offset, 1, &one);
        CHECK(one == all[w[i]->offset]);
    }
    toy_close(&k);
    cr_graph_clear(&g);
}

/* ---- sequences ---- */

static const int32_t lengths[] = {3, 0, 1, 5, 0, 2};
#define SEQ_ROWS 6

/* the sum of a row's positions; remembers what the tile looked like */
static int64_t seen_positions, most_positions;
static void pool_infer(cr_node *n) {
    n->cls = CR_ROW;
    n->width = n->in[0]->width;
}
static void pool_forward(const cr_node *n, cr_tile *t) {
    const cr_node *x = n->in[0];
    const int32_t *off = cr_seq_off(t, x->axis);
    toy_note(n, t, false);
    CHECK_INT(cr_rows(t, x), off[t->n_rows] - off[0]);
    CHECK_INT(cr_row0(t, x), off[0]);
    CHECK_INT(cr_row0(t, n), t->row0);
    CHECK_INT(cr_rows(t, n), t->n_rows);
    seen_positions += cr_rows(t, x);
    if (cr_rows(t, x) > most_positions) most_positions = cr_rows(t, x);
    for (int64_t r = 0; r < t->n_rows; r++)
        for (int64_t j = 0; j < n->width; j++) {
            float y = 0;
            for (int32_t p = off[r] - off[0]; p < off[r + 1] - off[0]; p++)
                y += cr_val(t, x)[p * cr_ld(x) + j];
            cr_val(t, n)[r * cr_ld(n) + j] = y;
        }
}
static void pool_backward(const cr_node *n, cr_tile *t) {
    const cr_node *x = n->in[0];
    const int32_t *off = cr_seq_off(t, x->axis);
    bool first = cr_first_grad(t, n, 0);
    toy_note(n, t, true);
    for (int64_t r = 0; r < t->n_rows; r++)
        for (int32_t p = off[r] - off[0]; p < off[r + 1] - off[0]; p++)
            for (int64_t j = 0; j < n->width; j++)
                toy_add_grad(n, t, 0, p * cr_ld(x) + j, cr_grad(t, n)[r * cr_ld(n) + j], first);
}
static const cr_op_type pool_op = {.name = "pool",
                                   .infer = pool_infer,
                                   .forward = pool_forward,
                                   .backward = pool_backward,
                                   .seq = true};

TEST(sequences) {
    cr_graph g;
    cr_graph_init(&g, 1);
    cr_node *x = toy_source_seq(&g, 0, cr_graph_axis(&g), 1), *s = toy_scale(&g, x, 2);
    cr_node *m = toy_mean(&g, s), *y = cr_graph_op(&g, &pool_op, &s, 1, NULL, 0);
    y->output = true;
    toy_total(&g, y);
    int32_t off[SEQ_ROWS + 1] = {0};
    for (int r = 0; r < SEQ_ROWS; r++)
        off[r + 1] = off[r] + lengths[r];
    const int32_t *axes[] = {off};
    for (int64_t tile = 1; tile <= 8; tile *= 2)
        for (int mode = CR_TRAIN; mode <= CR_EVAL; mode++) {
            toy_rig k = toy_open(&g, (toy_opts){.mode = (cr_mode)mode,
                                                .tile_rows = tile,
                                                .max_rows = SEQ_ROWS});
            seen_positions = 0;
            CHECK_INT(toy_run(&k, &input, SEQ_ROWS, axes, NULL), CR_OK);
            CHECK_INT(seen_positions, 11);
            for (int r = 0; r < SEQ_ROWS; r++) {
                float want = 0;
                for (int32_t p = off[r]; p < off[r + 1]; p++)
                    want += 2 * rows[p];
                CHECK_NEAR(cr_work_val(k.w, y)[r], want, 0, 1e-6);
                for (int32_t p = off[r]; mode == CR_TRAIN && p < off[r + 1]; p++)
                    CHECK_NEAR(cr_work_grad(k.w, x)[p], 2 * (1 + r), 0, 1e-6);
            }
            /* nothing needs the mean */
            if (mode == CR_TRAIN) CHECK(!cr_plan_has_grad(k.plan, m));
            toy_close(&k);
        }
    cr_graph_clear(&g);
}

/* a mean over positions divides by all positions of the batch */
TEST(means_over_positions) {
    cr_graph g;
    cr_graph_init(&g, 1);
    cr_node *x = toy_source_seq(&g, 0, cr_graph_axis(&g), 1), *m = toy_mean(&g, x);
    cr_node *y = toy_shift(&g, x, m);
    cr_node *z = cr_graph_op(&g, &pool_op, &y, 1, NULL, 0);
    z->output = true;
    toy_total(&g, z);
    static const int32_t off[] = {0, 1, 3};
    const int32_t *axes[] = {off};
    toy_rig k = toy_open(&g, (toy_opts){.mode = CR_TRAIN, .lanes = 2});
    float v[] = {1, 2, 6};
    toy_input in = {{v}};
    CHECK_INT(toy_run(&k, &in, 2, axes, NULL), CR_OK);
    CHECK_NEAR(cr_work_val(k.w, z)[0], 1 - 3, 0, 1e-6);
    CHECK_NEAR(cr_work_val(k.w, z)[1], 2 + 6 - 2 * 3, 0, 1e-6);
    /* d loss / d y is 1, 2, 2; the mean takes -5/3 of each */
    CHECK_NEAR(cr_work_grad(k.w, x)[0], 1 - 5 / 3.0, 1e-6, 0);
    CHECK_NEAR(cr_work_grad(k.w, x)[2], 2 - 5 / 3.0, 1e-6, 0);
    toy_close(&k);
    cr_graph_clear(&g);
}

/* a tile takes fewer rows where their positions are too many for its buffers, and one row at least
 */
TEST(tiles_of_positions) {
    enum { N = 8, LONG = 5000 };
    cr_graph g;
    cr_graph_init(&g, 1);
    cr_node *x = toy_source_seq(&g, 0, cr_graph_axis(&g), 1);
    cr_node *s = toy_scale(&g, x, 1), *y = cr_graph_op(&g, &pool_op, &s, 1, NULL, 0);
    y->output = true;
    int32_t *off = calloc(N + 1, sizeof(*off));
    float *v = calloc((size_t)N * 2 * LONG, sizeof(*v));
    for (int r = 0; r < N; r++)
        off[r + 1] = off[r] + (r == 3 ? 2 * LONG : LONG);
    for (int p = 0; p < off[N]; p++)
        v[p] = 1;
    const int32_t *axes[] = {off};
    toy_input in = {{v}};
    toy_rig k = toy_open(&g, (toy_opts){.mode = CR_EVAL, .tile_rows = 8});
    most_positions = 0;
    CHECK_INT(toy_run(&k, &in, N, axes, NULL), CR_OK);
    for (int r = 0; r < N; r++)
        CHECK_NEAR(cr_work_val(k.w, y)[r], r == 3 ? 2 * LONG : LONG, 0, 0);
    CHECK_INT(most_positions, 2 * LONG); /* the longest row decides how many fit */
    int tiles = 0;
    for (int i = 0; i < toy_n_calls; i++)
        tiles += toy_calls[i].node == y->id;
    CHECK_INT(tiles, 5); /* 2 rows, 1 (the next would be too many), the long one, 2, 2 */
    toy_close(&k);
    free(off);
    free(v);
    cr_graph_clear(&g);
}

/* ---- what ops see ---- */

/* notes what the tile says of the run */
static struct {
    int64_t step, global_row, global_rows, n_state;
    const void *input;
} seen;
static void look_infer(cr_node *n) {
    toy_rows_infer(n);
    n->state = sizeof(int64_t);
}
static void look_forward(const cr_node *n, cr_tile *t) {
    int64_t *count = cr_state(t, n);
    seen.step = cr_tile_step(t);
    seen.input = cr_tile_input(t);
    seen.global_row = cr_global_row(t);
    seen.global_rows = cr_global_rows(t, n);
    seen.n_state = ++*count;
    memset(cr_val(t, n), 0, (size_t)(t->n_rows * cr_ld(n)) * sizeof(float));
}
/* fails from the third call on */
static cr_code look_check(const cr_node *n, void *state, cr_err *err) {
    (void)n;
    if (*(const int64_t *)state < 3) return CR_OK;
    return cr_fail(err, CR_ERUN, "call %lld of %s", (long long)*(int64_t *)state, n->name);
}
static const cr_op_type look_op = {.name = "look",
                                   .infer = look_infer,
                                   .forward = look_forward,
                                   .check = look_check};

TEST(states_and_failures) {
    cr_graph g;
    cr_err err;
    cr_graph_init(&g, 1);
    cr_node *x = toy_source(&g, 0, 1, false);
    cr_node *y = cr_graph_op(&g, &look_op, &x, 1, NULL, 0),
            *z = cr_graph_op(&g, &look_op, &x, 1, NULL, 0);
    y->output = true;
    toy_rig k = toy_open(&g, (toy_opts){.mode = CR_EVAL});
    cr_work *other;
    CHECK_INT(cr_work_new(&other, k.plan, NULL, NULL), CR_OK);
    CHECK_INT(toy_run(&k, &input, 2, NULL, &err), CR_OK);
    CHECK_INT(seen.step, 7);
    CHECK(seen.input == &input);
    CHECK_INT(seen.global_row, 0);
    CHECK_INT(seen.global_rows, 2);
    CHECK_INT(seen.n_state, 1);
    CHECK_INT(toy_run(&k, &input, 2, NULL, &err), CR_OK); /* what it left is still there */
    CHECK_INT(seen.n_state, 2);
    CHECK_INT(*(int64_t *)cr_work_state(k.w, y), 2);
    CHECK_INT(*(int64_t *)cr_work_state(k.w, z), 0);   /* not used: not called */
    CHECK_INT(*(int64_t *)cr_work_state(other, y), 0); /* another caller has its own */
    CHECK_INT(toy_run(&k, &input, 2, NULL, &err), CR_ERUN);
    CHECK_STR(err.msg, "call 3 of look#1");
    cr_run run = {.input = &input, .n_rows = 2};
    CHECK_INT(cr_work_run(other, &run, &err), CR_OK);
    cr_work_free(other);
    toy_close(&k);
    cr_graph_clear(&g);
}

/* ---- memory ---- */

TEST(memory_grows_and_stays) {
    cr_graph g;
    cr_err err;
    cr_graph_init(&g, 1);
    cr_node *y = toy_scale(&g, toy_source(&g, 0, 1, false), 2);
    y->output = true;
    toy_rig k = toy_open(&g, (toy_opts){.mode = CR_EVAL, .max_rows = ROWS});
    size_t none = cr_work_bytes(k.w);
    CHECK_INT(toy_run(&k, &input, 4, NULL, NULL), CR_OK);
    size_t few = cr_work_bytes(k.w);
    CHECK(few > none);
    uint64_t before = cr_alloc_count();
    CHECK_INT(toy_run(&k, &input, 3, NULL, NULL), CR_OK);
    CHECK_INT(toy_run(&k, &input, 5, NULL, NULL), CR_OK); /* a quarter more than was asked for */
    CHECK_INT(cr_alloc_count() - before, 0);
    CHECK_INT(toy_run(&k, &input, 6, NULL, NULL), CR_OK);
    CHECK(cr_alloc_count() > before);
    CHECK_INT(toy_run(&k, &input, ROWS, NULL, NULL), CR_OK);
    CHECK(cr_work_bytes(k.w) > few);
    before = cr_alloc_count();
    for (int64_t n = 0; n <= ROWS; n++) {
        CHECK_INT(toy_run(&k, &input, n, NULL, NULL), CR_OK);
        if (n > 0) CHECK_NEAR(cr_work_val(k.w, y)[n - 1], 2 * rows[n - 1], 0, 0);
    }
    CHECK_INT(cr_alloc_count() - before, 0);
    CHECK_INT(toy_run(&k, &input, ROWS + 1, NULL, &err), CR_EUSAGE);
    CHECK(strstr(err.msg, "the batch has 41 rows") != NULL);
    CHECK_INT(toy_run(&k, &input, -1, NULL, &err), CR_EUSAGE);
    CHECK_INT(toy_run(&k, &input, 2, NULL, &err), CR_OK); /* still usable */
    toy_close(&k);
    cr_graph_clear(&g);
}

TEST(training_has_its_memory_at_once) {
    cr_graph g;
    cr_node *w;
    cr_graph_init(&g, 1);
    weigh(&g, &w);
    toy_rig k = toy_open(&g, (toy_opts){.mode = CR_TRAIN, .max_rows = ROWS, .lanes = 4});
    uint64_t before = cr_alloc_count();
    CHECK_INT(toy_run(&k, &input, ROWS, NULL, NULL), CR_OK);
    CHECK_INT(cr_alloc_count() - before, 0);
    toy_close(&k);
    cr_graph_clear(&g);
}

/* every allocation fails once: an error, nothing lost, and the work stays usable */
TEST(no_memory) {
    cr_graph g;
    cr_err err;
    cr_graph_init(&g, 1);
    cr_node *x = toy_source(&g, 0, 1, true);
    cr_node *s = toy_source_seq(&g, 1, cr_graph_axis(&g), 1);
    cr_node *p = cr_graph_op(&g, &pool_op, &s, 1, NULL, 0);
    cr_node *y = toy_plus(&g, (cr_node *[]){x, p}, 2);
    y->output = true;
    toy_total(&g, y);
    static const int32_t off[] = {0, 1, 3, 4};
    const int32_t *axes[] = {off};
    for (int mode = CR_TRAIN; mode <= CR_EVAL; mode++) {
        toy_rig k = toy_open(&g, (toy_opts){.mode = (cr_mode)mode});
        int failed = 0;
        for (uint64_t n = 1; n < 50; n++) {
            cr_work *w = NULL;
            cr_alloc_fail_after(n);
            cr_code code = cr_work_new(&w, k.plan, NULL, &err);
            cr_alloc_fail_after(0);
            if (code == CR_OK) {
                cr_work_free(w);
                break;
            }
            CHECK_INT(code, CR_ENOMEM);
            CHECK(w == NULL && strstr(err.msg, "memory") != NULL);
            failed++;
        }
        CHECK_INT(failed, mode == CR_TRAIN ? 9 : 2);
        cr_plan_pack(k.plan, NULL);
        cr_run run = {.input = &input, .n_rows = 3, .axes = axes};
        failed = 0;
        for (uint64_t n = 1; n < 50; n++) {
            cr_work *w = NULL;
            CHECK_INT(cr_work_new(&w, k.plan, NULL, &err), CR_OK);
            cr_alloc_fail_after(n);
            cr_code code = cr_work_run(w, &run, &err);
            cr_alloc_fail_after(0);
            if (code != CR_OK) {
                CHECK_INT(code, CR_ENOMEM);
                CHECK_INT(cr_work_run(w, &run, &err), CR_OK);
            }
            CHECK_NEAR(cr_work_val(w, y)[1], rows[1] + rows[ROWS + 1] + rows[ROWS + 2], 0, 1e-6);
            cr_work_free(w);
            if (code == CR_OK) break;
            failed++;
        }
        CHECK_INT(failed, mode == CR_TRAIN ? 2 : 6); /* sequences; in inference everything */
        toy_close(&k);
    }
    cr_graph_clear(&g);
}

/* ---- several callers ---- */

typedef struct caller {
    const cr_plan *plan;
    const cr_node *out;
    cr_pool *pool;
    int number;
    bool good;
    pthread_t thread;
} caller;
static void *call(void *p) {
    caller *c = p;
    cr_work *w;
    c->good = cr_work_new(&w, c->plan, c->pool, NULL) == CR_OK;
    for (int i = 0; c->good && i < 200; i++) {
        float own[ROWS];
        int64_t n = 1 + (i * 7 + c->number) % ROWS;
        for (int64_t r = 0; r < n; r++)
            own[r] = (float)(c->number * 1000 + i) + (float)r / 64;
        toy_input in = {{own}};
        cr_run run = {.input = &in, .n_rows = n};
        c->good = cr_work_run(w, &run, NULL) == CR_OK;
        for (int64_t r = 0; c->good && r < n; r++)
            c->good = cr_work_val(w, c->out)[r] == own[r] * 3;
    }
    cr_work_free(w);
    return NULL;
}

TEST(callers_of_one_plan) {
    cr_graph g;
    cr_graph_init(&g, 1);
    cr_node *w = cr_graph_param(&g, "w", 1, 1, true, NULL, 0);
    cr_node *y = toy_times(&g, toy_source(&g, 0, 1, false), w);
    y->output = true;
    toy_rig k = toy_open(&g, (toy_opts){.mode = CR_EVAL, .threads = 2, .tile_rows = 4});
    w->w[0] = 3;
    cr_plan_pack(k.plan, NULL);
    caller c[4];
    for (int i = 0; i < 4; i++) {
        c[i] = (caller){k.plan, y, i % 2 ? k.pool : NULL, i, false, 0}; /* a shared pool, or none */
        CHECK_INT(pthread_create(&c[i].thread, NULL, call, &c[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(c[i].thread, NULL);
        CHECK(c[i].good);
    }
    toy_close(&k);
    cr_graph_clear(&g);
}

/* ---- several holders ---- */

typedef struct shared {
    double loss[MAX_HOLDERS];
    float dw[MAX_HOLDERS][2], dx[MAX_HOLDERS][ROWS];
    int64_t row0[MAX_HOLDERS], n_rows[MAX_HOLDERS];
} shared;

static void step_of(shared *s, const cr_meet *meet, int number) {
    cr_graph g;
    cr_graph_init(&g, 1);
    cr_node *x = toy_source(&g, 0, 1, true), *a = cr_graph_param(&g, "a", 1, 1, true, NULL, 0),
            *b = cr_graph_param(&g, "b", 1, 1, true, NULL, 0);
    cr_node *y = toy_last(&g, toy_times(&g, x, toy_folded(&g, a, b)));
    y = toy_shift(&g, y, toy_mean(&g, y));
    cr_node *loss = toy_total(&g, toy_bell(&g, y));
    toy_rig k = toy_open(
        &g,
        (toy_opts){.mode = CR_TRAIN, .lanes = 8, .tile_rows = 3, .max_rows = ROWS, .meet = meet});
    a->w[0] = 0.7f;
    b->w[0] = 1.3f;
    const cr_lanes *t = cr_plan_lanes(k.plan);
    int64_t row0 = cr_lanes_row0(t, ROWS);
    toy_input in = {{rows + row0}};
    cr_run run = {.input = &in, .n_rows = cr_lanes_rows(t, ROWS), .all_rows = ROWS};
    cr_plan_pack(k.plan, NULL);
    CHECK_INT(cr_work_run(k.w, &run, NULL), CR_OK);
    s->loss[number] = cr_work_whole(k.w, loss, 0);
    cr_work_sum_grads(k.w, a->offset, 1, &s->dw[number][0]);
    cr_work_sum_grads(k.w, b->offset, 1, &s->dw[number][1]);
    for (int64_t r = 0; r < run.n_rows; r++)
        s->dx[number][row0 + r] = cr_work_grad(k.w, x)[r];
    s->row0[number] = row0;
    s->n_rows[number] = run.n_rows;
    toy_close(&k);
    cr_graph_clear(&g);
}
static void hold(holder *h, void *ctx) {
    step_of(ctx, &h->meet, h->number);
}

TEST(holders_of_one_batch) {
    static const int splits[][MAX_HOLDERS + 1] = {{4, 4}, {3, 3, 2}, {1, 7}, {2, 2, 2, 2}};
    static shared whole, parts;
    step_of(&whole, NULL, 0);
    CHECK(whole.loss[0] > 0 && whole.dw[0][0] != 0);
    for (size_t s = 0; s < sizeof(splits) / sizeof(splits[0]); s++) {
        holders hs;
        memset(&parts, 0, sizeof(parts));
        holders_run(&hs, splits[s], hold, &parts);
        int64_t n = 0;
        for (int h = 0; h < hs.n; h++) {
            CHECK(parts.loss[h] == whole.loss[0]);
            CHECK(memcmp(parts.dw[h], whole.dw[0], sizeof(whole.dw[0])) == 0);
            for (int64_t r = parts.row0[h]; r < parts.row0[h] + parts.n_rows[h]; r++, n++)
                CHECK(parts.dx[h][r] == whole.dx[0][r]);
        }
        CHECK_INT(n, ROWS);
    }
}

/* ---- mistakes of the caller ---- */

static void unpacked(void *ctx) {
    cr_run run = {.input = &input, .n_rows = 1};
    (void)!cr_work_run(((toy_rig *)ctx)->w, &run, NULL);
}
static void no_output(void *ctx) {
    toy_rig *k = ctx;
    cr_run run = {.input = &input, .n_rows = 1};
    cr_plan_pack(k->plan, NULL);
    if (cr_work_run(k->w, &run, NULL) == CR_OK) cr_work_val(k->w, k->plan->g->nodes[1]);
}
static void other_lanes(void *ctx) {
    static const int lane[] = {0, 1, 2};
    static const cr_meet meet = {.n = 2, .self = 0, .lane = lane};
    cr_graph *g = ctx;
    toy_rig k = toy_open(g, (toy_opts){.mode = CR_EVAL, .lanes = 2, .meet = &meet});
    cr_run run = {.input = &input, .n_rows = 7, .all_rows = 10}; /* 5 are its own */
    cr_plan_pack(k.plan, NULL);
    (void)!cr_work_run(k.w, &run, NULL);
}

TEST(bugs) {
    cr_graph g;
    cr_graph_init(&g, 1);
    cr_node *y = toy_scale(&g, toy_scale(&g, toy_source(&g, 0, 1, false), 2), 3);
    y->output = true;
    toy_rig k = toy_open(&g, (toy_opts){.mode = CR_EVAL});
    CHECK_ABORTS(unpacked, &k, "a plan whose weights were not packed");
    CHECK_ABORTS(other_lanes, &g, "rows of other lanes");
#ifndef NDEBUG
    CHECK_ABORTS(no_output, &k, "s->used && s->val_wide");
#endif
    toy_close(&k);
    cr_graph_clear(&g);
}

int main(int argc, char **argv) {
    static const t_case cases[] = {CASE(order_of_sums),
                                   CASE(threads_and_tiles_do_not_matter),
                                   CASE(ranges_of_gradients),
                                   CASE(sequences),
                                   CASE(means_over_positions),
                                   CASE(tiles_of_positions),
                                   CASE(states_and_failures),
                                   CASE(memory_grows_and_stays),
                                   CASE(training_has_its_memory_at_once),
                                   CASE(no_memory),
                                   CASE(callers_of_one_plan),
                                   CASE(holders_of_one_batch),
                                   CASE(bugs)};
    toy_fill(rows, ROWS * 3, 3);
    return t_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
