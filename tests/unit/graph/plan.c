/*
 * plan.c - what a graph is compiled to: which calls are made, in which order and over which rows,
 * where gradients flow, which buffers share memory, what is packed and folded.
 */
#include "graph/plan.h"

#include "aborts.h"
#include "graph/plan_int.h"
#include "unit/graph/toy.h"

static const float rows[64] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
static const toy_input input = {{rows}};

/* without sums over the batch a tile goes through all calls, forward and back, before the next */
TEST(one_phase) {
    cr_graph g;
    cr_graph_init(&g, 1);
    cr_node *x = toy_source(&g, 0, 1, true), *y = toy_scale(&g, x, 2), *z = toy_bell(&g, y);
    toy_total(&g, z);
    toy_rig k = toy_open(&g, (toy_opts){.mode = CR_TRAIN, .tile_rows = 2});
    CHECK_INT(k.plan->n_phases, 1);
    CHECK_INT(toy_run(&k, &input, 3, NULL, NULL), CR_OK);
    CHECK_STR(toy_text(), "f0 f1 f2 f3 b3 b2 b1 b0 f0 f1 f2 f3 b3 b2 b1 b0");
    CHECK_INT(toy_calls[0].n_rows, 2);
    CHECK_INT(toy_calls[8].row0, 2);
    CHECK_INT(toy_calls[8].n_rows, 1);
    CHECK(toy_calls[0].first && !toy_calls[8].first && toy_calls[0].train);
    toy_close(&k);
    /* inference: the values of the outputs, and nothing back */
    z->output = true;
    k = toy_open(&g, (toy_opts){.mode = CR_EVAL, .tile_rows = 2});
    CHECK_INT(toy_run(&k, &input, 3, NULL, NULL), CR_OK);
    CHECK_STR(toy_text(), "f0 f1 f2 f0 f1 f2");
    CHECK(!toy_calls[0].train);
    toy_close(&k);
    cr_graph_clear(&g);
}

/* a call that reads a sum over the batch waits for all rows, and so does the gradient of the sum */
TEST(sums_begin_phases) {
    cr_graph g;
    cr_graph_init(&g, 1);
    cr_node *x = toy_source(&g, 0, 1, true), *m = toy_mean(&g, x), *y = toy_shift(&g, x, m);
    toy_total(&g, y);
    toy_rig k = toy_open(&g, (toy_opts){.mode = CR_TRAIN, .tile_rows = 2});
    CHECK_INT(k.plan->n_phases, 3);
    CHECK_INT(toy_run(&k, &input, 3, NULL, NULL), CR_OK);
    CHECK_STR(toy_text(), "f0 f1 f0 f1 "             /* the mean */
                          "f2 f3 b3 b2 f2 f3 b3 b2 " /* x - mean, the loss, the mean's gradient */
                          "b1 b0 b1 b0");            /* what comes through the mean */
    CHECK(toy_calls[4].first && !toy_calls[8].first && toy_calls[12].first);
    CHECK_NEAR(cr_work_whole(k.w, m, 0), 6, 0, 1e-9); /* the sum; finish made the mean of it */
    toy_close(&k);
    cr_graph_clear(&g);
}

/* a batch op runs once, over all rows, between phases */
TEST(batch_ops) {
    cr_graph g;
    cr_graph_init(&g, 1);
    cr_node *x = toy_source(&g, 0, 1, true), *y = toy_last(&g, x);
    toy_total(&g, toy_scale(&g, y, 3));
    toy_rig k = toy_open(&g, (toy_opts){.mode = CR_TRAIN, .tile_rows = 2, .lanes = 2});
    CHECK_INT(toy_run(&k, &input, 4, NULL, NULL), CR_OK);
    CHECK_STR(toy_text(), "f0 f0 f1 f2 f3 b3 b2 f2 f3 b3 b2 b1 b0 b0");
    CHECK_INT(toy_calls[2].n_rows, 4); /* f1 */
    CHECK_INT(toy_calls[2].row0, 0);
    CHECK_INT(toy_calls[11].n_rows, 4); /* b1 */
    CHECK_INT(toy_calls[3].n_rows, 2);
    toy_close(&k);
    cr_graph_clear(&g);
}

/* nodes of a lane: forward once before its tiles, backward once behind them */
TEST(lane_nodes) {
    cr_graph g;
    cr_graph_init(&g, 1);
    cr_node *x = toy_source(&g, 0, 1, true), *y = toy_scale(&g, x, 2);
    x->lane = true;
    toy_total(&g, y);
    toy_rig k = toy_open(&g, (toy_opts){.mode = CR_TRAIN, .tile_rows = 2, .lanes = 2});
    CHECK_INT(toy_run(&k, &input, 6, NULL, NULL), CR_OK);
    CHECK_STR(toy_text(), "f0 f1 f2 b2 b1 f1 f2 b2 b1 b0 f0 f1 f2 b2 b1 f1 f2 b2 b1 b0");
    CHECK_INT(toy_calls[0].n_rows, 3);
    CHECK_INT(toy_calls[1].n_rows, 2);
    CHECK_INT(toy_calls[5].n_rows, 1);
    CHECK_INT(toy_calls[9].n_rows, 3);
    CHECK_INT(toy_calls[10].row0, 3);
    CHECK_INT(toy_calls[10].lane, 1);
    toy_close(&k);
    /* only its backward */
    x->lane = false;
    x->lane_back = true;
    k = toy_open(&g, (toy_opts){.mode = CR_TRAIN, .tile_rows = 2});
    CHECK_INT(toy_run(&k, &input, 3, NULL, NULL), CR_OK);
    CHECK_STR(toy_text(), "f0 f1 f2 b2 b1 f0 f1 f2 b2 b1 b0");
    CHECK_INT(toy_calls[10].n_rows, 3);
    toy_close(&k);
    cr_graph_clear(&g);
}

/* a lane without rows makes no calls; the others have the rows that follow each other */
TEST(rows_of_lanes) {
    cr_graph g;
    cr_graph_init(&g, 1);
    cr_node *x = toy_source(&g, 0, 1, true);
    cr_node *loss = toy_total(&g, x);
    toy_rig k = toy_open(&g, (toy_opts){.mode = CR_TRAIN, .lanes = 4, .tile_rows = 64});
    CHECK_INT(toy_run(&k, &input, 3, NULL, NULL), CR_OK);
    CHECK_STR(toy_text(), "f0 f1 b1 b0 f0 f1 b1 b0 f0 f1 b1 b0");
    for (int i = 0; i < 3; i++) {
        CHECK_INT(toy_calls[4 * i].lane, i + 1); /* 3 rows over 4 lanes: 0, 1, 1, 1 */
        CHECK_INT(toy_calls[4 * i].row0, i);
    }
    CHECK_NEAR(cr_work_whole(k.w, loss, 0), 1 * 1 + 2 * 2 + 3 * 3, 0, 1e-12);
    CHECK_INT(toy_run(&k, &input, 0, NULL, NULL), CR_OK);
    CHECK_INT(toy_n_calls, 0);
    CHECK(cr_work_whole(k.w, loss, 0) == 0);
    toy_close(&k);
    cr_graph_clear(&g);
}

/* what only unwanted values need is left out */
TEST(outputs_decide) {
    cr_graph g;
    cr_graph_init(&g, 1);
    cr_node *x = toy_source(&g, 0, 1, true), *a = toy_scale(&g, x, 2), *b = toy_scale(&g, x, 3);
    cr_node *c = toy_scale(&g, b, 1);
    a->output = c->output = true;
    toy_total(&g, c);
    toy_rig k = toy_open(&g, (toy_opts){.mode = CR_EVAL, .tile_rows = 64});
    CHECK_INT(toy_run(&k, &input, 2, NULL, NULL), CR_OK);
    CHECK_STR(toy_text(), "f0 f1 f2 f3");
    CHECK_NEAR(cr_work_val(k.w, a)[1], 4, 0, 0);
    CHECK_NEAR(cr_work_val(k.w, c)[1], 6, 0, 0);
    toy_close(&k);
    k = toy_open(&g, (toy_opts){.mode = CR_EVAL,
                                .tile_rows = 64,
                                .outputs = (const cr_node *[]){a},
                                .n_outputs = 1});
    CHECK_INT(toy_run(&k, &input, 2, NULL, NULL), CR_OK);
    CHECK_STR(toy_text(), "f0 f1");
    toy_close(&k);
    /* no outputs at all: nothing to do in inference, the loss alone in training */
    k = toy_open(&g, (toy_opts){.mode = CR_EVAL, .outputs = (const cr_node *[]){a}});
    CHECK_INT(toy_run(&k, &input, 2, NULL, NULL), CR_OK);
    CHECK_STR(toy_text(), "");
    toy_close(&k);
    k = toy_open(&g, (toy_opts){.mode = CR_TRAIN, .outputs = (const cr_node *[]){a}});
    CHECK_INT(toy_run(&k, &input, 1, NULL, NULL), CR_OK);
    CHECK_STR(toy_text(), "f0 f2 f3 f4 b4 b3 b2 b0");
    CHECK(cr_plan_has_grad(k.plan, x) && cr_plan_has_grad(k.plan, b));
    CHECK(!cr_plan_has_grad(k.plan, a)); /* nothing of the loss comes from it */
    toy_close(&k);
    cr_graph_clear(&g);
}

static const cr_op_type train_op = {.name = "train",
                                    .infer = toy_rows_infer,
                                    .forward = toy_scale_forward,
                                    .backward = toy_scale_backward,
                                    .train_only = true};

/* sums and what is for training only have no place in inference */
TEST(inference_leaves_out) {
    cr_graph g;
    cr_graph_init(&g, 1);
    float two = 2;
    cr_node *x = toy_source(&g, 0, 1, true);
    cr_node *t = cr_graph_op(&g, &train_op, &x, 1, &two, sizeof(two));
    cr_node *y = toy_scale(&g, x, 2), *m = toy_mean(&g, x);
    t->output = y->output = m->output = true;
    toy_total(&g, y);
    toy_rig k = toy_open(&g, (toy_opts){.mode = CR_EVAL});
    CHECK_INT(toy_run(&k, &input, 2, NULL, NULL), CR_OK);
    CHECK_STR(toy_text(), "f0 f2");
    CHECK(!cr_plan_has_grad(k.plan, x));
    toy_close(&k);
    k = toy_open(&g, (toy_opts){.mode = CR_TRAIN});
    CHECK_INT(toy_run(&k, &input, 2, NULL, NULL), CR_OK);
    CHECK_STR(toy_text(), "f0 f1 f2 f3 f4 b4 b2 b0");
    toy_close(&k);
    cr_graph_clear(&g);
}

/* gradients flow towards what is trained and nowhere else */
TEST(gradients_flow_down) {
    cr_graph g;
    cr_graph_init(&g, 1);
    cr_node *fixed = toy_source(&g, 0, 1, false);
    cr_node *w = cr_graph_param(&g, "w", 1, 1, true, NULL, 0),
            *c = cr_graph_param(&g, "c", 1, 1, false, NULL, 0);
    cr_node *a = toy_times(&g, fixed, w), *b = toy_times(&g, fixed, c);
    cr_node *y = toy_plus(&g, (cr_node *[]){a, b}, 2);
    toy_total(&g, y);
    toy_rig k = toy_open(&g, (toy_opts){.mode = CR_TRAIN});
    CHECK(cr_plan_has_grad(k.plan, w) && cr_plan_has_grad(k.plan, a) &&
          cr_plan_has_grad(k.plan, y));
    CHECK(!cr_plan_has_grad(k.plan, fixed) && !cr_plan_has_grad(k.plan, b) &&
          !cr_plan_has_grad(k.plan, c));
    w->w[0] = 5;
    c->w[0] = 7;
    CHECK_INT(toy_run(&k, &input, 3, NULL, NULL), CR_OK);
    CHECK_STR(toy_text(), "f0 f3 f4 f5 f6 b6 b5 b3");
    float dw;
    cr_work_sum_grads(k.w, w->offset, 1, &dw);
    CHECK_NEAR(dw, 1 * 1 + 2 * 2 + 3 * 3, 0, 1e-6);
    CHECK(cr_work_grad(k.w, fixed) == NULL);
    toy_close(&k);
    cr_graph_clear(&g);
}

/* buffers of a tile are used again as soon as nothing reads them */
TEST(buffers_are_shared) {
    int64_t work[2][2];
    for (int mode = CR_TRAIN; mode <= CR_EVAL; mode++)
        for (int i = 0; i < 2; i++) {
            cr_graph g;
            cr_graph_init(&g, 1);
            cr_node *x = toy_source(&g, 0, 16, true);
            for (int n = 0; n < (i ? 20 : 3); n++)
                x = toy_scale(&g, x, 1);
            x->output = mode == CR_EVAL;
            toy_total(&g, x);
            toy_rig k = toy_open(&g, (toy_opts){.mode = (cr_mode)mode});
            work[mode][i] = k.plan->spaces[0].work;
            toy_close(&k);
            cr_graph_clear(&g);
        }
    /* two at a time, 16 floats each; the source's gradient and the output are kept for the batch */
    CHECK_INT(work[CR_EVAL][0], 32);
    CHECK_INT(work[CR_EVAL][1], 32);
    CHECK_INT(work[CR_TRAIN][0], 32);
    CHECK_INT(work[CR_TRAIN][1], 32);
}

/* a value that backward reads stays until then, and one that crosses a phase lives for the batch */
TEST(buffers_live_as_long_as_needed) {
    cr_graph g;
    cr_graph_init(&g, 1);
    cr_node *x = toy_source(&g, 0, 16, true), *a = toy_bell(&g, x), *b = toy_bell(&g, a);
    cr_node *m = toy_mean(&g, b), *y = toy_shift(&g, b, m);
    toy_total(&g, y);
    toy_rig k = toy_open(&g, (toy_opts){.mode = CR_TRAIN});
    const slot *s = k.plan->slots;
    CHECK(s[x->id].val_wide && s[a->id].val_wide && s[b->id].val_wide); /* backward: last phase */
    CHECK(!s[y->id].val_wide && !s[y->id].grad_wide); /* made and used in one phase */
    CHECK(s[b->id].grad_wide);                        /* begun in phase 1, complete in phase 2 */
    CHECK(!s[a->id].grad_wide);
    CHECK(s[x->id].grad_wide); /* keep_grad */
    CHECK_INT(s[x->id].ph_f, 0);
    CHECK_INT(s[y->id].ph_f, 1);
    CHECK_INT(s[y->id].ph_b, 1);
    CHECK_INT(s[m->id].ph_b, 2);
    CHECK_INT(s[b->id].ph_b, 2);
    toy_close(&k);
    cr_graph_clear(&g);
}

/* ---- weights ---- */

/* y = x * packed: item k of prepare packs weight k, times ten in training */
static int64_t n_prepared;
static void pack_infer(cr_node *n) {
    toy_rows_infer(n);
    n->pack = n->width;
    n->n_prepare = n->width;
}
static void pack_prepare(const cr_node *n, float *packed, int64_t item, bool train) {
    __atomic_fetch_add(&n_prepared, 1, __ATOMIC_RELAXED);
    packed[item] = n->in[1]->w[item] * (train ? 10 : 1);
}
static void pack_forward(const cr_node *n, cr_tile *t) {
    for (int64_t r = 0; r < cr_rows(t, n); r++)
        for (int64_t j = 0; j < n->width; j++)
            cr_val(t, n)[r * cr_ld(n) + j] =
                cr_val(t, n->in[0])[r * cr_ld(n) + j] * cr_packed(t, n)[j];
}
static const cr_op_type pack_op = {.name = "pack",
                                   .infer = pack_infer,
                                   .forward = pack_forward,
                                   .prepare = pack_prepare};

TEST(packed_weights) {
    cr_graph g;
    cr_graph_init(&g, 1);
    cr_node *x = toy_source(&g, 0, 3, false);
    cr_node *w[2], *y[2], *unused;
    for (int i = 0; i < 2; i++) {
        w[i] = cr_graph_param(&g, i ? "v" : "w", 1, 3, true, NULL, 0);
        y[i] = cr_graph_op(&g, &pack_op, (cr_node *[]){x, w[i]}, 2, NULL, 0);
        y[i]->output = true;
    }
    unused = cr_graph_op(&g, &pack_op, (cr_node *[]){x, w[0]}, 2, NULL, 0);
    CHECK_INT(unused->pack, 3);
    for (int threads = 0; threads <= 2; threads++)
        for (int mode = CR_TRAIN; mode <= CR_EVAL; mode++) {
            toy_rig k = toy_open(&g, (toy_opts){.mode = (cr_mode)mode, .threads = threads});
            for (int64_t j = 0; j < 3; j++) {
                w[0]->w[j] = (float)j + 1;
                w[1]->w[j] = 5 * (float)j + 2;
            }
            n_prepared = 0;
            CHECK_INT(toy_run(&k, &input, 2, NULL, NULL), CR_OK);
            CHECK_INT(n_prepared, 6); /* the third is not used */
            float by = mode == CR_TRAIN ? 10 : 1;
            for (int i = 0; i < 2; i++)
                for (int64_t r = 0; r < 2; r++)
                    for (int64_t j = 0; j < 3; j++)
                        CHECK_NEAR(cr_work_val(k.w, y[i])[r * cr_ld(y[i]) + j],
                                   rows[3 * r + j] * w[i]->w[j] * by, 0, 1e-6);
            /* weights that change count from the next packing on */
            w[0]->w[0] = 100;
            cr_run run = {.input = &input, .n_rows = 1};
            CHECK_INT(cr_work_run(k.w, &run, NULL), CR_OK);
            CHECK_NEAR(cr_work_val(k.w, y[0])[0], 1 * by, 0, 1e-6);
            CHECK_INT(toy_run(&k, &input, 1, NULL, NULL), CR_OK);
            CHECK_NEAR(cr_work_val(k.w, y[0])[0], 100 * by, 0, 1e-6);
            toy_close(&k);
        }
    cr_graph_clear(&g);
}

/* a product of weights is made once per packing, and its gradient goes on to both factors */
TEST(folded_weights) {
    for (int lanes = 1; lanes <= 4; lanes *= 2) {
        cr_graph g;
        cr_graph_init(&g, 1);
        cr_node *x = toy_source(&g, 0, 2, false);
        cr_node *a = cr_graph_param(&g, "a", 1, 2, true, NULL, 0),
                *b = cr_graph_param(&g, "b", 1, 2, true, NULL, 0),
                *c = cr_graph_param(&g, "c", 1, 2, false, NULL, 0);
        cr_node *ab = toy_folded(&g, a, b), *abc = toy_folded(&g, ab, c);
        cr_node *y = toy_times(&g, x, abc);
        y->output = true;
        toy_total(&g, toy_plus(&g, (cr_node *[]){y, toy_times(&g, x, a)}, 2));
        toy_rig k = toy_open(&g, (toy_opts){.mode = CR_TRAIN, .lanes = lanes, .tile_rows = 2});
        for (int j = 0; j < 2; j++) {
            a->w[j] = 2 + (float)j;
            b->w[j] = 5;
            c->w[j] = 7;
        }
        for (int again = 0; again < 2; again++) { /* sums do not carry over */
            CHECK_INT(toy_run(&k, &input, 3, NULL, NULL), CR_OK);
            CHECK_NEAR(abc->w[1], 3 * 5 * 7, 0, 0);
            CHECK_NEAR(cr_work_val(k.w, y)[0], 1 * 2 * 5 * 7, 0, 0);
            float da[2], db[2];
            cr_work_sum_grads(k.w, a->offset, 2, da);
            cr_work_sum_grads(k.w, b->offset, 2, db);
            for (int j = 0; j < 2; j++) {
                float sum = 1 * rows[j] + 2 * rows[2 + j] + 3 * rows[4 + j];
                CHECK_NEAR(da[j], sum * (b->w[j] * c->w[j] + 1), 0, 1e-6);
                CHECK_NEAR(db[j], sum * a->w[j] * c->w[j], 0, 1e-6);
            }
        }
        CHECK(!cr_plan_has_grad(k.plan, c));
        toy_close(&k);
        cr_graph_clear(&g);
    }
}

/* ---- limits and mistakes ---- */

TEST(rows_that_a_plan_takes) {
    cr_graph g;
    cr_err err;
    cr_graph_init(&g, 1);
    toy_total(&g, toy_source(&g, 0, 1, true));
    toy_rig k = toy_open(&g, (toy_opts){.mode = CR_TRAIN, .max_rows = 10, .lanes = 4});
    CHECK_INT(cr_plan_takes(k.plan, 0, &err), CR_OK);
    CHECK_INT(cr_plan_takes(k.plan, 10, &err), CR_OK);
    CHECK_INT(cr_plan_takes(k.plan, 11, &err), CR_EUSAGE);
    CHECK_STR(err.msg,
              "the batch has 11 rows, but the model was prepared for at most 10; give fewer "
              "rows at a time");
    CHECK_INT(cr_plan_takes(k.plan, -1, &err), CR_EUSAGE);
    CHECK_INT(cr_plan_lanes(k.plan)->all, 4);
    CHECK(cr_work_plan(k.w) == k.plan);
    toy_close(&k);
    cr_graph_clear(&g);
}

TEST(tiles_fit_the_cache) {
    int64_t tile[2];
    for (int i = 0; i < 2; i++) {
        cr_graph g;
        cr_graph_init(&g, 1);
        cr_node *x = toy_source(&g, 0, i ? 100000 : 1, true);
        toy_total(&g, toy_scale(&g, x, 2));
        toy_rig k = toy_open(&g, (toy_opts){.mode = CR_TRAIN});
        tile[i] = k.plan->tile_rows;
        toy_close(&k);
        cr_graph_clear(&g);
    }
    CHECK_INT(tile[0], 252); /* narrow rows: the most; wide ones: the fewest; blocks of 14 */
    CHECK_INT(tile[1], 56);
}

TEST(no_memory) {
    cr_graph g;
    cr_err err;
    cr_graph_init(&g, 1);
    cr_node *x = toy_source(&g, 0, 3, false), *w = cr_graph_param(&g, "w", 1, 3, true, NULL, 0);
    cr_graph_op(&g, &pack_op, (cr_node *[]){x, w}, 2, NULL, 0)->output = true;
    CHECK_INT(cr_graph_alloc(&g, NULL), CR_OK);
    cr_plan_opts o = {.graph = &g, .mode = CR_EVAL, .max_rows = 10, .lanes = 1};
    cr_plan *p = NULL;
    cr_alloc_fail_after(1);
    CHECK_INT(cr_plan_new(&p, &o, &err), CR_ENOMEM);
    CHECK(p == NULL && strstr(err.msg, "packed weights") != NULL);
    cr_alloc_fail_after(0);
    cr_plan_free(NULL);
    cr_graph_clear(&g);
}

static void lane_reads_tiles(void *ctx) {
    cr_graph *g = ctx;
    cr_node *y = toy_scale(g, toy_source(g, 0, 1, true), 2);
    y->lane = true;
    toy_total(g, y);
    toy_open(g, (toy_opts){.mode = CR_TRAIN});
}
static void batch_with_parameter(void *ctx) {
    static const cr_op_type op = {.name = "bad",
                                  .infer = toy_rows_infer,
                                  .forward = toy_last_forward,
                                  .backward = toy_last_backward,
                                  .batch = true};
    cr_graph *g = ctx;
    cr_node *x = toy_source(g, 0, 1, true), *w = cr_graph_param(g, "w", 1, 1, true, NULL, 0);
    toy_total(g, cr_graph_op(g, &op, (cr_node *[]){x, w}, 2, NULL, 0));
    toy_open(g, (toy_opts){.mode = CR_TRAIN});
}

TEST(bugs) {
    cr_graph g;
    cr_graph_init(&g, 1);
    CHECK_ABORTS(lane_reads_tiles, &g, "a lane node reads tiles");
    CHECK_ABORTS(batch_with_parameter, &g, "a batch op cannot have parameters");
    cr_graph_clear(&g);
}

TEST_MAIN(CASE(one_phase), CASE(sums_begin_phases), CASE(batch_ops), CASE(lane_nodes),
          CASE(rows_of_lanes), CASE(outputs_decide), CASE(inference_leaves_out),
          CASE(gradients_flow_down), CASE(buffers_are_shared), CASE(buffers_live_as_long_as_needed),
          CASE(packed_weights), CASE(folded_weights), CASE(rows_that_a_plan_takes),
          CASE(tiles_fit_the_cache), CASE(no_memory), CASE(bugs))
