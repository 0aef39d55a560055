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

typedef struct trial {
    const cr_op_type *op;
    int example;
    bool seq;
    int products;
    cr_grad_bits bits[MAX_HOLDERS];
    bool there[MAX_HOLDERS];
} trial;

static void step(trial *t, const cr_meet *meet, int number) {
    cr_graph g;
    cr_graph_init(&g, 9);
    g.feed_seq = t->seq;
    g.products = t->products;
    cr_node *out = t->op->example(&g, t->example);
    cr_gradcheck_opts o = {.threads = 1, .lanes = LANES, .tile_rows = 5, .meet = meet};
    t->there[number] = out && cr_grad_hash(&g, out, &o, &t->bits[number], NULL) == CR_OK;
    cr_graph_clear(&g);
}

static void hold(holder *h, void *ctx) {
    step(ctx, &h->meet, h->number);
}

static int compare(const cr_op_type *op, int example, bool seq, int products) {
    trial whole = {.op = op, .example = example, .seq = seq, .products = products};
    step(&whole, NULL, 0);
    if (!whole.there[0]) return 0;
    for (int s = 0; s < N_SPLITS; s++) {
        trial parts = {.op = op, .example = example, .seq = seq, .products = products};
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

TEST(other_products) {
    cr_kern_init();
    int n = 0;
    for (int p = CR_PRODUCTS_BF16; p < CR_PRODUCTS_KINDS; p++)
        for (int seq = 0; seq < 2; seq++)
            for (int k = 0; compare(&cr_op_matmul, k, seq, p); k++)
                n++;
    CHECK(n >= 40);
}

TEST_MAIN(CASE(every_op), CASE(other_products))
