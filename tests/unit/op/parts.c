/*
 * parts.c - a batch whose lanes lie with several holders gives the bits of the batch in one piece:
 * loss, batch statistics, gradients of parameters and of rows, for every op of the registry.
 */
#include "graph/gradcheck.h"
#include "harness.h"
#include "holders.h"
#include "kern/kern.h"
#include "op/op.h"

#define LANES 8

static const int splits[][MAX_HOLDERS + 1] = {
    {4, 4}, {2, 2, 2, 2}, {3, 3, 2}, {1, 7}, {1, 1, 1, 1, 1, 1, 1, 1}};
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
                /* smaller batches fit as well */
                for (int64_t m = n; m < 70; m++)
                    CHECK(cr_lanes_rows(&t, n) <= cr_lanes_max_rows(&t, m));
            }
            CHECK_INT(next, n);
        }
    cr_arena_clear(&a);
}

/* ---- every op ---- */

typedef struct trial {
    const cr_op_type *op;
    int example;
    bool seq;
    int half;
    cr_grad_bits bits[MAX_HOLDERS];
    bool there[MAX_HOLDERS];
} trial;

static void step(trial *t, const cr_meet *meet, int number) {
    cr_graph g;
    cr_graph_init(&g, 9);
    g.feed_seq = t->seq;
    g.half = t->half;
    cr_node *out = t->op->example(&g, t->example);
    cr_gradcheck_opts o = {.threads = 1, .lanes = LANES, .tile_rows = 5, .meet = meet};
    t->there[number] = out && cr_grad_hash(&g, out, &o, &t->bits[number], NULL) == CR_OK;
    cr_graph_clear(&g);
}

static void hold(holder *h, void *ctx) {
    step(ctx, &h->meet, h->number);
}

static int compare(const cr_op_type *op, int example, bool seq, int half) {
    trial whole = {.op = op, .example = example, .seq = seq, .half = half};
    step(&whole, NULL, 0);
    if (!whole.there[0]) return 0;
    for (int s = 0; s < N_SPLITS; s++) {
        trial parts = {.op = op, .example = example, .seq = seq, .half = half};
        holders hs;
        holders_run(&hs, splits[s], hold, &parts);
        uint64_t rows = 0;
        bool same = true;
        for (int k = 0; k < hs.n; k++) {
            same &= parts.there[k] && parts.bits[k].whole == whole.bits[0].whole;
            rows += parts.bits[k].rows;
        }
        if (!same || rows != whole.bits[0].rows) {
            fprintf(stderr, "%s, example %d%s: other bits in %d parts (%s differ)\n", op->name,
                    example, seq ? " over sequences" : "", hs.n, same ? "rows" : "sums");
            CHECK(same && rows == whole.bits[0].rows);
        }
        CHECK(hs.meetings > 0);
    }
    return 1;
}

TEST(every_op) {
    cr_kern_init();
    int n = 0;
    for (int o = 0; cr_ops[o]; o++)
        for (int seq = 0; seq <= cr_ops[o]->rowwise; seq++)
            for (int k = 0; cr_ops[o]->example && compare(cr_ops[o], k, seq, 0); k++)
                n++;
    CHECK(n >= 60);
}

TEST(products_of_16_bit_inputs) {
    cr_kern_init();
    int n = 0;
    for (int half = CR_HALF_BF16; half <= CR_HALF_FP16; half++)
        for (int k = 0; compare(&cr_op_matmul, k, false, half); k++)
            n++;
    CHECK(n >= 4);
}

TEST_MAIN(CASE(nodes), CASE(rows), CASE(every_op), CASE(products_of_16_bit_inputs))
