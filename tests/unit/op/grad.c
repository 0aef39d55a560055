/*
 * grad.c - every op of the registry, over all its examples: the gradient is the slope, and the bits
 * do not depend on threads or tiles.
 */
#include "base/pool.h"
#include "graph/gradcheck.h"
#include "harness.h"
#include "kern/kern.h"
#include "op/op.h"

#define TOLERANCE 5e-3
#define OPTS(t, l, r)                                                                              \
    { .threads = t, .lanes = l, .tile_rows = r }

/* example k of an op; from EXAMPLES on the same ones over sequences, where the op takes rows of any
 * kind */
#define EXAMPLES 100
static uint64_t hash_of(cr_graph *g, cr_node *out, const cr_gradcheck_opts *o) {
    cr_grad_bits b;
    CHECK_INT(cr_grad_hash(g, out, o, &b, NULL), 0);
    return b.whole + b.rows;
}
static cr_node *example(cr_graph *g, const cr_op_type *op, int k) {
    g->feed_seq = k >= EXAMPLES;
    return g->feed_seq && !op->rowwise ? NULL : op->example(g, k % EXAMPLES);
}
static int next_example(int k, bool there) {
    return there ? k + 1 : k < EXAMPLES ? EXAMPLES : -1;
}

TEST(slopes) {
    int cases = 0, seq = 0;
    for (int o = 0; cr_ops[o]; o++) {
        for (int k = cr_ops[o]->example ? 0 : -1; k >= 0;) {
            cr_graph g;
            cr_graph_init(&g, 1 + (uint64_t)k);
            cr_node *out = example(&g, cr_ops[o], k);
            int now = k;
            k = next_example(k, out);
            if (!out) {
                cr_graph_clear(&g);
                continue;
            }
            double bad = 0;
            char worst[200];
            cr_gradcheck_opts opts = {.threads = 2, .lanes = 4, .tile_rows = 7};
            CHECK_INT(cr_gradcheck(&g, out, &opts, &bad, worst, sizeof(worst), NULL), 0);
            /* ten times the rows, ten times the steps across a kink */
            double limit = g.n_axes == 0 ? TOLERANCE : 2 * TOLERANCE;
            if (!(bad < limit)) {
                fprintf(stderr, "%s, example %d: off by %.3g: %s\n", cr_ops[o]->name, now, bad,
                        worst);
                CHECK(bad < limit);
            }
            cases++;
            seq += g.n_axes > 0;
            cr_graph_clear(&g);
        }
    }
    CHECK(cases >= 25);
    CHECK(seq >= 20);
}

/* layers with ReLUs of their own: products that skip zeros, plain ones, one behind a batch norm; a
 * layer with two users */
static cr_node *relus(cr_graph *g) {
    cr_node *W[4], *stat[3];
    static const int64_t size[][2] = {{70, 9}, {80, 70}, {33, 80}, {5, 33}};
    for (int i = 0; i < 4; i++)
        W[i] = cr_graph_param(g, (const char *[]){"w", "v", "u", "t"}[i], size[i][0], size[i][1],
                              true, NULL, 0);
    for (int i = 0; i < 3; i++)
        stat[i] = cr_graph_param(g, (const char *[]){"m", "s", "c"}[i], 1, i < 2 ? 80 : 1, false,
                                 NULL, 0);
    cr_node *x = cr_matmul(g, cr_feed(g, 9), W[0], NULL, true);
    x = cr_batch_norm(g, cr_matmul(g, x, W[1], NULL, false), NULL, NULL, stat[0], stat[1], stat[2],
                      1e-5f, 0.1f, true);
    x = cr_matmul(g, x, W[2], NULL, true);
    cr_node *y = cr_matmul(g, x, W[3], NULL, true);
    return cr_concat(g, (cr_node *[]){x, y}, 2);
}

TEST(slopes_of_relus_go_along) {
    static const cr_gradcheck_opts opts = OPTS(2, 4, 14);
    uint64_t h[2];
    for (int i = 0; i < 2; i++) {
        cr_graph g;
        cr_graph_init(&g, 5);
        cr_node *out = relus(&g);
        int masked = 0;
        if (i) cr_matmul_finish(&g);
        for (int k = 0; k < g.n; k++)
            masked += g.nodes[k]->masked;
        CHECK_INT(masked,
                  i ? 2 : 0); /* the first layer and the batch norm, not what has two users */
        h[i] = hash_of(&g, out, &opts);
        cr_graph_clear(&g);
    }
    CHECK(h[0] == h[1]);
}

TEST(same_bits) {
    static const cr_gradcheck_opts opts[] = {OPTS(1, 8, 64), OPTS(2, 8, 64), OPTS(3, 8, 64),
                                             OPTS(1, 8, 1),  OPTS(2, 8, 3),  OPTS(3, 8, 14)};
    for (int o = 0; cr_ops[o]; o++) {
        for (int k = cr_ops[o]->example ? 0 : -1; k >= 0;) {
            cr_graph g;
            uint64_t want = 0;
            bool there = true;
            for (size_t i = 0; i < sizeof(opts) / sizeof(opts[0]); i++) {
                cr_graph_init(&g, 9);
                cr_node *out = example(&g, cr_ops[o], k);
                there = out != NULL;
                if (!out) {
                    cr_graph_clear(&g);
                    break;
                }
                uint64_t h = hash_of(&g, out, &opts[i]);
                if (i == 0) want = h;
                if (h != want) {
                    fprintf(stderr, "%s, example %d: other bits with %d threads, tiles of %d\n",
                            cr_ops[o]->name, k, opts[i].threads, (int)opts[i].tile_rows);
                    CHECK(h == want);
                }
                cr_graph_clear(&g);
            }
            k = next_example(k, there);
        }
    }
}

/* the hash of a matmul example on a CPU level; false: no such example */
static bool hash_of_products(cr_products p, int k, cr_cpu_level level, const cr_gradcheck_opts *o,
                             uint64_t *h) {
    setenv("CRANK_CPU", cr_cpu_level_name(level), 1);
    cr_kern_init();
    cr_graph g;
    cr_graph_init(&g, 9);
    g.products = (int)p;
    cr_node *out = cr_op_matmul.example(&g, k);
    if (out) *h = hash_of(&g, out, o);
    cr_graph_clear(&g);
    unsetenv("CRANK_CPU");
    cr_kern_init();
    return out != NULL;
}

/* every kind of products: neither threads, tiles (odd ones, too) nor the CPU's level show, but for
 * the order in pairs */
TEST(same_bits_of_products) {
    static const cr_gradcheck_opts opts[] = {OPTS(1, 8, 64), OPTS(3, 8, 64), OPTS(2, 8, 1),
                                             OPTS(2, 8, 3)};
    for (int p = CR_PRODUCTS_BF16; p < CR_PRODUCTS_KINDS; p++) {
        uint64_t want = 0, h = 0;
        for (int k = 0; hash_of_products((cr_products)p, k, CR_CPU_C, &opts[0], &want); k++)
            for (int i = 1; i < 4 * CR_CPU_LEVELS; i++) {
                cr_cpu_level level = (cr_cpu_level)(i / 4);
                if (!cr_kern_at(level)) continue;
                bool own = p == CR_PRODUCTS_BF16 && strcmp(cr_kern_order(level), "pairs") == 0;
                uint64_t first = want;
                if (own) (void)hash_of_products((cr_products)p, k, level, &opts[0], &first);
                CHECK(hash_of_products((cr_products)p, k, level, &opts[i % 4], &h));
                CHECK(h == first);
            }
        CHECK(want != 0);
    }
}

/* one weight used twice: its gradient is a sum of two uses, whose order depends on the tiles but
 * never on the threads */
TEST(shared_weight) {
    uint64_t want = 0;
    for (int threads = 1; threads <= 3; threads++) {
        cr_graph g;
        cr_graph_init(&g, 5);
        cr_node *W = cr_graph_param(&g, "w", 9, 9, true, NULL, 0), *x = cr_feed(&g, 9);
        cr_node *y = cr_matmul(&g, cr_matmul(&g, x, W, NULL, false), W, NULL, false);
        cr_gradcheck_opts opts = OPTS(threads, 8, 3);
        double bad = 0;
        char worst[200];
        CHECK_INT(cr_gradcheck(&g, y, &opts, &bad, worst, sizeof(worst), NULL), 0);
        CHECK(bad < TOLERANCE);
        uint64_t h = hash_of(&g, y, &opts);
        if (threads == 1) want = h;
        CHECK(h == want);
        cr_graph_clear(&g);
    }
}

/* an op that needs all rows: y_i = x_i * mean over the batch of x, per column; between tile ops */
static void centre_infer(cr_node *n) {
    n->cls = CR_ROW;
    n->width = n->in[0]->width;
    n->scratch_row = n->width;
}
static void centre_forward(const cr_node *n, cr_tile *t) {
    const float *x = cr_val(t, n->in[0]);
    float *y = cr_val(t, n);
    int64_t ld = cr_ld(n);
    CHECK_INT(t->n_rows, CR_FEED_ROWS);
    for (int64_t j = 0; j < n->width; j++) {
        float mean = 0;
        for (int64_t r = 0; r < t->n_rows; r++)
            mean += x[r * ld + j] / (float)t->n_rows;
        for (int64_t r = 0; r < t->n_rows; r++)
            y[r * ld + j] = x[r * ld + j] * mean;
    }
}
static void centre_backward(const cr_node *n, cr_tile *t) {
    const float *x = cr_val(t, n->in[0]), *dy = cr_grad(t, n);
    float *dx = cr_grad(t, n->in[0]);
    bool first = cr_first_grad(t, n, 0);
    int64_t ld = cr_ld(n);
    for (int64_t j = 0; j < n->width; j++) {
        float mean = 0, d = 0;
        for (int64_t r = 0; r < t->n_rows; r++) {
            mean += x[r * ld + j] / (float)t->n_rows;
            d += dy[r * ld + j] * x[r * ld + j] / (float)t->n_rows;
        }
        for (int64_t r = 0; r < t->n_rows; r++) {
            float g = dy[r * ld + j] * mean + d;
            dx[r * ld + j] = first ? g : dx[r * ld + j] + g;
        }
    }
}
static const cr_op_type centre_op = {.name = "centre",
                                     .infer = centre_infer,
                                     .forward = centre_forward,
                                     .backward = centre_backward,
                                     .batch = true,
                                     .reads_in = true};

TEST(batch_op) {
    static const cr_gradcheck_opts opts[] = {OPTS(1, 8, 64), OPTS(2, 8, 5), OPTS(3, 8, 1)};
    uint64_t want = 0;
    for (int i = 0; i < 3; i++) {
        cr_graph g;
        cr_graph_init(&g, 6);
        cr_node *x = cr_feed(&g, 6), *a = cr_activation(&g, CR_ACT_TANH, NULL, x);
        cr_node *y = cr_graph_op(&g, &centre_op, &a, 1, NULL, 0);
        y = cr_graph_op(&g, &centre_op, &y, 1, NULL, 0);
        y = cr_add(&g, (cr_node *[]){cr_activation(&g, CR_ACT_SILU, NULL, y), a, y},
                   (float[]){1, 2, 3}, 3);
        double bad = 0;
        char worst[200];
        CHECK_INT(cr_gradcheck(&g, y, &opts[i], &bad, worst, sizeof(worst), NULL), 0);
        if (!(bad < TOLERANCE)) fprintf(stderr, "%s\n", worst);
        CHECK(bad < TOLERANCE);
        uint64_t h = hash_of(&g, y, &opts[i]);
        if (i == 0) want = h;
        CHECK(h == want);
        cr_graph_clear(&g);
    }
}

int main(int argc, char **argv) {
    static const t_case cases[] = {CASE(slopes),        CASE(slopes_of_relus_go_along),
                                   CASE(same_bits),     CASE(same_bits_of_products),
                                   CASE(shared_weight), CASE(batch_op)};
    cr_kern_init();
    return t_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
